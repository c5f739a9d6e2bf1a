// SPDX-License-Identifier: MIT OR Apache-2.0
//! The exact sum: fixed point, wide enough for every product of two codes and two powers of two.
//!
//! Stands on [`crate::spec`] alone, so that nothing it proves is taken from what it is to prove.

use crate::machine::IS_SMALL;
use crate::spec::{FloatType, Format, Spec};

/// A code taken apart: `integer * 2^exponent`, or a special value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The significand with its sign, not normalised; of an infinity, its sign; of NaN, 0.
    pub integer: i32,
    /// The exponent of the significand's last place; [`Parts::SPECIAL`] for infinities and NaN.
    pub exponent: i32,
}

impl Parts {
    /// Nothing.
    pub(crate) const ZERO: Parts = Parts {
        integer: 0,
        exponent: 0,
    };
    /// The exponent that marks infinities and NaN.
    pub(crate) const SPECIAL: i32 = i32::MAX;

    /// Takes a code apart by its row. The significand has at most 24 bits: f32 is the widest row.
    pub(crate) const fn of(spec: &Spec, code: u64) -> Parts {
        let (negative, magnitude) = spec.split(code);
        let sign = if negative { -1 } else { 1 };
        if spec.is_nan(code) {
            return Parts::special(0);
        }
        if spec.is_infinite(code) {
            return Parts::special(sign);
        }
        let field = (magnitude >> spec.mantissa_bits) as i32;
        let fraction = (magnitude & spec.mantissa_mask()) as i32;
        let (integer, exponent) = if field == 0 && spec.zero {
            (fraction, spec.min_exponent())
        } else {
            (fraction | 1 << spec.mantissa_bits, field - spec.bias)
        };
        Parts {
            integer: sign * integer,
            exponent: exponent - spec.mantissa_bits as i32,
        }
    }

    /// The parts of an f32.
    pub(crate) const fn of_f32(value: f32) -> Parts {
        Parts::of(FloatType::F32.spec(), value.to_bits() as u64)
    }

    const fn special(sign: i32) -> Parts {
        Parts {
            integer: sign,
            exponent: Parts::SPECIAL,
        }
    }

    /// Whether it is an infinity or NaN.
    pub(crate) const fn is_special(self) -> bool {
        self.exponent == Parts::SPECIAL
    }

    /// What an infinity or NaN among two factors makes of their product.
    pub(crate) const fn product(self, other: Parts) -> Specials {
        if !self.is_special() && !other.is_special() {
            return Specials::NONE;
        }
        // NaN has integer 0, too: NaN times anything, and infinity times zero.
        match self.integer.signum() * other.integer.signum() {
            1 => Specials::PLUS,
            -1 => Specials::MINUS,
            _ => Specials::NAN,
        }
    }
}

/// The exponent of an f32 that is a power of two.
pub(crate) const fn power_of_two(value: f32) -> Option<i32> {
    let parts = Parts::of_f32(value);
    if parts.is_special() || parts.integer <= 0 || !(parts.integer as u32).is_power_of_two() {
        return None;
    }
    Some(parts.exponent + parts.integer.trailing_zeros() as i32)
}

/// Codes in a table of parts, which takes 2 KiB of stack: none on a microcontroller.
const TABULATED: usize = if IS_SMALL { 0 } else { 256 };

/// The parts of all codes of a format.
pub(crate) struct Table {
    spec: &'static Spec,
    parts: [Parts; TABULATED],
}

impl Table {
    pub(crate) fn new(format: Format) -> Table {
        let spec = format.spec();
        let mut parts = [Parts::ZERO; TABULATED];
        for (code, parts) in (0..).zip(&mut parts) {
            *parts = Parts::of(spec, code);
        }
        Table { spec, parts }
    }

    pub(crate) fn get(&self, code: u8) -> Parts {
        let tabulated = self.parts.get(code as usize).copied();
        tabulated.unwrap_or_else(|| Parts::of(self.spec, code as u64))
    }
}

/// Which infinities and NaN a sum has met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Specials(u64);

impl Specials {
    pub(crate) const NONE: Specials = Specials(0);
    const PLUS: Specials = Specials(1);
    const MINUS: Specials = Specials(2);
    pub(crate) const NAN: Specials = Specials(4);

    pub(crate) const fn with(self, other: Specials) -> Specials {
        Specials(self.0 | other.0)
    }

    /// Of one addend.
    pub(crate) const fn of(parts: Parts) -> Specials {
        parts.product(Parts {
            integer: 1,
            exponent: 0,
        })
    }

    /// What they make of the sum; `None` where it is finite.
    pub(crate) const fn resolve(self) -> Option<f32> {
        match self {
            Specials::NONE => None,
            Specials::PLUS => Some(f32::INFINITY),
            Specials::MINUS => Some(f32::NEG_INFINITY),
            _ => Some(f32::NAN),
        }
    }
}

/// The exponent of the last place of a sum: that of the smallest product of two codes and two
/// f32 powers of two.
const LAST_PLACE: i32 = {
    let f32_row = FloatType::F32.spec();
    2 * (least_exponent() + f32_row.min_exponent() - f32_row.mantissa_bits as i32)
};

/// Bits below `2^n`, where no product of two codes and two f32 powers of two reaches `2^n`.
const PRODUCT_BITS: i32 =
    2 * (largest_exponent() + 1 + FloatType::F32.spec().max_exponent()) - LAST_PLACE;

/// 64-bit words of a sum.
const WORDS: usize = 12;

// At least 2^64 products fit.
const _: () = assert!(PRODUCT_BITS + 64 <= 64 * WORDS as i32);

/// The exponent of the smallest last place among the formats.
const fn least_exponent() -> i32 {
    let (mut i, mut least) = (0, 0);
    while i < Format::ALL.len() {
        let spec = Format::ALL[i].spec();
        let exponent = spec.min_exponent() - spec.mantissa_bits as i32;
        if spec.zero && exponent < least {
            least = exponent;
        }
        i += 1;
    }
    least
}

/// The exponent of the largest value among the formats, infinity's code counted as a number.
const fn largest_exponent() -> i32 {
    let (mut i, mut largest) = (0, 0);
    while i < Format::ALL.len() {
        let spec = Format::ALL[i].spec();
        let exponent = (spec.magnitude_mask() >> spec.mantissa_bits) as i32 - spec.bias;
        if spec.zero && exponent > largest {
            largest = exponent;
        }
        i += 1;
    }
    largest
}

/// A sum of products of codes, exact: rounded only when it is read.
///
/// Adding is associative and commutative to the bit: any order, any split among threads or ranks
/// ([`ExactSum::merge`]) gives the same sum. It holds the products of any two formats that have a
/// zero, times two f32 powers of two, at least 2^64 of them. Positive and negative products are
/// summed apart, so that a sum that swings around zero costs no more than another.
///
/// The memory is plain integers ([`ExactSum::to_words`]), for messages between ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExactSum {
    positive: [u64; WORDS],
    negative: [u64; WORDS],
    specials: Specials,
}

impl Default for ExactSum {
    fn default() -> ExactSum {
        ExactSum::ZERO
    }
}

impl ExactSum {
    /// Of nothing.
    pub const ZERO: ExactSum = ExactSum {
        positive: [0; WORDS],
        negative: [0; WORDS],
        specials: Specials::NONE,
    };

    /// 64-bit words of [`ExactSum::to_words`].
    pub const WORDS: usize = 2 * WORDS + 1;

    /// Adds the product of two codes (bits above the width of a format are ignored).
    ///
    /// A format without zero (E8M0) is one for scales; its codes are taken as NaN.
    pub fn add_product(&mut self, a: (Format, u8), b: (Format, u8)) {
        let parts = |(format, code): (Format, u8)| {
            let spec = format.spec();
            if spec.zero {
                Parts::of(spec, code as u64)
            } else {
                Parts::special(0)
            }
        };
        self.add(parts(a), parts(b), 0);
    }

    /// Adds `a * b * 2^shift`, where `2^shift` is the product of two f32 powers of two.
    #[inline]
    pub(crate) fn add(&mut self, a: Parts, b: Parts, shift: i32) {
        if a.is_special() || b.is_special() {
            self.specials = self.specials.with(a.product(b));
            return;
        }
        let product = a.integer * b.integer;
        let words = if product < 0 {
            &mut self.negative
        } else {
            &mut self.positive
        };
        let place = (a.exponent + b.exponent + shift - LAST_PLACE) as usize;
        let mut rest = (product.unsigned_abs() as u128) << (place % 64);
        for word in words.iter_mut().skip(place / 64) {
            if rest == 0 {
                break;
            }
            let (sum, carry) = word.overflowing_add(rest as u64);
            *word = sum;
            rest = (rest >> 64) + carry as u128;
        }
    }

    /// Poisons the sum: a NaN scale does.
    pub(crate) fn add_nan(&mut self) {
        self.specials = self.specials.with(Specials::NAN);
    }

    /// Adds all that another sum has met.
    pub fn merge(&mut self, other: &ExactSum) {
        add_words(&mut self.positive, &other.positive);
        add_words(&mut self.negative, &other.negative);
        self.specials = self.specials.with(other.specials);
    }

    /// The sum, rounded once to nearest-even. NaN (`f32::NAN`) where it met one, infinities of
    /// both signs or infinity times zero; +0 where it is zero.
    pub fn to_f32(&self) -> f32 {
        self.scaled(1.0, 1.0)
    }

    /// The sum times two scales of any value, rounded once to nearest-even.
    pub(crate) fn scaled(&self, a: f32, b: f32) -> f32 {
        let (a, b) = (Parts::of_f32(a), Parts::of_f32(b));
        let (negative, magnitude) = self.difference();
        if let Some(special) = self.specials.resolve() {
            let sign = if special.is_nan() {
                0
            } else {
                special.signum() as i32
            };
            return scaled_special(Parts::special(sign), a, b);
        }
        if a.is_special() || b.is_special() {
            let sign = match (magnitude.iter().all(|&word| word == 0), negative) {
                (true, _) => 0,
                (false, false) => 1,
                (false, true) => -1,
            };
            let finite = Parts {
                integer: sign,
                exponent: 0,
            };
            return scaled_special(finite, a, b);
        }
        let significand = a.integer.unsigned_abs() as u64 * b.integer.unsigned_abs() as u64;
        let product = multiply(&magnitude, significand);
        let negative = negative ^ (a.integer < 0) ^ (b.integer < 0);
        round(negative, &product, LAST_PLACE + a.exponent + b.exponent)
    }

    /// The sign and the magnitude of the finite part.
    fn difference(&self) -> (bool, [u64; WORDS]) {
        let negative = self.negative.iter().rev().gt(self.positive.iter().rev());
        let (large, small) = if negative {
            (&self.negative, &self.positive)
        } else {
            (&self.positive, &self.negative)
        };
        let mut magnitude = *large;
        let mut borrow = false;
        for (word, &less) in magnitude.iter_mut().zip(small) {
            let (once, first) = word.overflowing_sub(less);
            let (twice, second) = once.overflowing_sub(borrow as u64);
            *word = twice;
            borrow = first | second;
        }
        (negative, magnitude)
    }

    /// The sum as integers: equal sums of equal terms have equal words.
    pub fn to_words(&self) -> [u64; ExactSum::WORDS] {
        let mut words = [0; ExactSum::WORDS];
        let all = self.positive.iter().chain(&self.negative);
        for (word, &part) in words.iter_mut().zip(all.chain([&self.specials.0])) {
            *word = part;
        }
        words
    }

    /// The sum of [`ExactSum::to_words`].
    pub fn from_words(words: &[u64; ExactSum::WORDS]) -> ExactSum {
        let mut sum = ExactSum::ZERO;
        let all = sum.positive.iter_mut().chain(&mut sum.negative);
        for (part, &word) in all.chain([&mut sum.specials.0]).zip(words) {
            *part = word;
        }
        sum
    }
}

/// What a product with an infinity or a NaN among three factors is.
fn scaled_special(sum: Parts, a: Parts, b: Parts) -> f32 {
    let factors = [sum, a, b];
    let is_nan = |parts: &Parts| parts.is_special() && parts.integer == 0;
    if factors.iter().any(is_nan) || factors.iter().any(|parts| parts.integer == 0) {
        return f32::NAN;
    }
    let negative = factors.iter().filter(|parts| parts.integer < 0).count() % 2 != 0;
    if negative {
        f32::NEG_INFINITY
    } else {
        f32::INFINITY
    }
}

/// `into += other`.
fn add_words(into: &mut [u64; WORDS], other: &[u64; WORDS]) {
    let mut carry = false;
    for (word, &more) in into.iter_mut().zip(other) {
        let (once, first) = word.overflowing_add(more);
        let (twice, second) = once.overflowing_add(carry as u64);
        *word = twice;
        carry = first | second;
    }
}

/// A magnitude times an integer.
fn multiply(magnitude: &[u64; WORDS], by: u64) -> [u64; WORDS + 1] {
    let mut product = [0; WORDS + 1];
    let mut carry = 0u64;
    let padded = magnitude.iter().chain([&0]);
    for (word, &of) in product.iter_mut().zip(padded) {
        let wide = of as u128 * by as u128 + carry as u128;
        *word = wide as u64;
        carry = (wide >> 64) as u64;
    }
    product
}

// An ulp of f32 lies above the last place of a scaled sum, so that some places are discarded.
const _: () = {
    let f32_row = FloatType::F32.spec();
    let mantissa_bits = f32_row.mantissa_bits as i32;
    let largest_scale = 2 * (f32_row.max_exponent() - mantissa_bits);
    assert!(LAST_PLACE + largest_scale < f32_row.min_exponent() - mantissa_bits);
};

/// The f32 nearest to `+-magnitude * 2^last_place`, ties to even; infinity beyond the largest; +0
/// for zero.
fn round(negative: bool, magnitude: &[u64; WORDS + 1], last_place: i32) -> f32 {
    let f32_row = FloatType::F32.spec();
    let mantissa_bits = f32_row.mantissa_bits as i32;
    let mut top_bit = None;
    for (place, word) in (0..).step_by(64).zip(magnitude) {
        if *word != 0 {
            top_bit = Some(place + 63 - word.leading_zeros() as i32);
        }
    }
    let Some(top_bit) = top_bit else {
        return 0.0;
    };
    let sign = if negative { -1.0 } else { 1.0 };
    let exponent = top_bit + last_place;
    if exponent > f32_row.max_exponent() {
        return f32::INFINITY.copysign(sign);
    }
    let quantum = exponent.max(f32_row.min_exponent()) - mantissa_bits;
    let discarded = (quantum - last_place) as usize;
    let kept = shifted(magnitude, discarded);
    let half = shifted(magnitude, discarded - 1) & 1 != 0;
    let sticky = has_bits_below(magnitude, discarded - 1);
    let up = half && (sticky || kept & 1 != 0);
    // Codes follow each other as values do: a carry walks into the exponent, and to infinity.
    let least_quantum = f32_row.min_exponent() - mantissa_bits;
    let code = ((quantum - least_quantum) as u64) << mantissa_bits;
    f32::from_bits((code + kept + up as u64) as u32).copysign(sign)
}

/// The low 64 bits of `magnitude >> places`.
fn shifted(magnitude: &[u64; WORDS + 1], places: usize) -> u64 {
    let word = |i: usize| magnitude.get(i).copied().unwrap_or(0);
    let (at, bits) = (places / 64, places % 64);
    let wide = (word(at + 1) as u128) << 64 | word(at) as u128;
    (wide >> bits) as u64
}

/// Whether any of the low `places` bits is set.
fn has_bits_below(magnitude: &[u64; WORDS + 1], places: usize) -> bool {
    let (at, bits) = (places / 64, places % 64);
    let partial = magnitude.get(at).copied().unwrap_or(0) & ((1 << bits) - 1);
    partial != 0 || magnitude.iter().take(at).any(|&word| word != 0)
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels in plain Rust: no branch in a loop, so that the compiler vectorises them for
//! whatever instruction set the caller enables.
//!
//! A lane is the 32 bits of an `f32`. Rounding is integer arithmetic, so that it does not depend
//! on the floating-point environment: `(significand + addend) >> discarded`, where only the
//! addend differs between roundings. A carry out of the significand walks into the exponent,
//! because the magnitudes of a format follow each other as its values do.

use super::params::{F32_MANTISSA_BITS, Params};
use super::table::Table;
use super::{Encoded, Factor};
use crate::float::Float;
use crate::policy::Rounding;
use crate::spec::FloatType;
use crate::stats::{Amax, Stats};

/// All of an `f32` but its sign.
pub(super) const ABS: u32 = u32::MAX >> 1;
/// The bits of infinity.
pub(super) const INFINITY: u32 = f32::INFINITY.to_bits();
/// The one NaN that is ever made.
const NAN: u32 = INFINITY | 1 << 22;
/// The implicit bit of a significand.
const IMPLICIT: u32 = 1 << F32_MANTISSA_BITS;
/// The furthest that a lane shifts.
const LAST_BIT: u32 = 31;

/// All ones where `condition` holds, else 0.
#[inline(always)]
fn mask(condition: bool) -> u32 {
    (condition as u32).wrapping_neg()
}

/// `yes` where `condition` holds, else `no`.
#[inline(always)]
fn select(condition: bool, yes: u32, no: u32) -> u32 {
    let mask = mask(condition);
    (yes & mask) | (no & !mask)
}

/// The source as `f32` bits: exact, but for binary64, which is rounded to odd. A format has at
/// least two bits fewer than `f32`, so that a deterministic rounding after that one gives what it
/// would have given at once; and zero, finite and infinite stay what they are.
#[inline(always)]
pub(super) fn load<S: Float>(source: &[S], bits: &mut [u32]) {
    for (&x, bits) in source.iter().zip(bits) {
        *bits = f32_bits(x);
    }
}

/// One element of [`load`].
#[inline(always)]
fn f32_bits<S: Float>(x: S) -> u32 {
    let bits = x.to_wide_bits();
    match S::TYPE {
        FloatType::F32 => bits as u32,
        FloatType::Bf16 => (bits as u32) << 16,
        FloatType::F16 => f16_to_f32(bits as u32),
        FloatType::F64 => f64_to_f32_odd(f64::from_bits(bits)),
    }
}

/// binary16 bits to `f32` bits, exactly. The one floating-point operation is exact too, and has
/// no subnormal operand.
#[inline(always)]
fn f16_to_f32(half: u32) -> u32 {
    /// Infinity, and the distance of the exponents of the two types, where `f32` has them.
    const F16_INFINITY: u32 = 0x7C00 << 13;
    const REBIAS: u32 = (127 - 15) << F32_MANTISSA_BITS;
    const MIN_NORMAL: u32 = REBIAS + IMPLICIT;
    let moved = (half & 0x7FFF) << 13;
    let normal = moved + REBIAS;
    let special = normal + REBIAS;
    let subnormal = f32::from_bits(moved + MIN_NORMAL) - f32::from_bits(MIN_NORMAL);
    let abs = select(moved >= F16_INFINITY, special, normal);
    let abs = select(moved < IMPLICIT, subnormal.to_bits() & ABS, abs);
    abs | (half & 0x8000) << 16
}

/// `x` rounded to odd: truncated, the last bit set if anything was lost.
#[inline(always)]
fn f64_to_f32_odd(x: f64) -> u32 {
    let nearest = x as f32;
    let back = nearest as f64;
    let grown = (back.abs() > x.abs()) as u32;
    let inexact = (back != x) as u32;
    (nearest.to_bits() - grown) | inexact
}

/// Applies the factor to `f32` bits.
#[inline(always)]
pub(super) fn scale(factor: Factor, loaded: &[u32], scaled: &mut [u32]) {
    match factor {
        Factor::ONE => scaled.copy_from_slice(loaded),
        Factor::Shift(k) => {
            let power = power_of_two(k);
            for (&x, scaled) in loaded.iter().zip(scaled) {
                *scaled = shift(x, power);
            }
        }
        Factor::Multiply(by) => {
            for (&x, scaled) in loaded.iter().zip(scaled) {
                *scaled = multiply(x, by);
            }
        }
        Factor::Divide(by) => {
            for (&x, scaled) in loaded.iter().zip(scaled) {
                *scaled = divide(x, by);
            }
        }
    }
}

/// One element of [`scale`]: `f32` bits in, `f32` bits out.
#[inline(always)]
pub(super) fn product(factor: Factor, x: u32) -> u32 {
    match factor {
        Factor::Multiply(by) => multiply(x, by),
        Factor::Divide(by) => divide(x, by),
        Factor::Shift(k) => shift(x, power_of_two(k)),
    }
}

/// `2^k`, for `k` from -127 (a subnormal) to 127.
#[inline(always)]
fn power_of_two(k: i32) -> f32 {
    f32::from_bits(if k < -126 {
        IMPLICIT >> 1
    } else {
        ((127 + k) as u32) << F32_MANTISSA_BITS
    })
}

#[inline(always)]
fn multiply(x: u32, by: f32) -> u32 {
    let abs = (f32::from_bits(x & ABS) * by).to_bits() & ABS;
    abs | x & !ABS
}

#[inline(always)]
fn divide(x: u32, by: f32) -> u32 {
    let abs = (f32::from_bits(x & ABS) / by).to_bits() & ABS;
    abs | x & !ABS
}

/// Times a power of two. The product is exact unless it leaves the normal range of `f32`, far
/// outside that of any format that is scaled; there only two things matter to the cast: what is
/// not zero stays so, and what is finite stays so.
#[inline(always)]
fn shift(x: u32, power: f32) -> u32 {
    let abs = x & ABS;
    let product = (f32::from_bits(abs) * power).to_bits() & ABS;
    let product = product.max((abs != 0) as u32);
    let product = product - (abs < INFINITY && product == INFINITY) as u32;
    product | x & !ABS
}

/// What a rounding looks at in a lane.
#[derive(Clone, Copy)]
struct Lane {
    /// The significand, of which the low `discarded` bits lie below one ulp.
    significand: u32,
    /// 1 to 31.
    discarded: u32,
    /// The last bit of the magnitude below.
    odd: u32,
    /// All ones where the value is negative.
    negative: u32,
    /// Random bits.
    word: u32,
}

impl Lane {
    /// Half an ulp.
    #[inline(always)]
    fn half(self) -> u32 {
        1 << (self.discarded - 1)
    }

    /// The largest fraction of an ulp: added, it moves every inexact value on.
    #[inline(always)]
    fn rest(self) -> u32 {
        (1 << self.discarded) - 1
    }

    /// The low `n` bits of the word as the addend of stochastic rounding A: a carry means away.
    #[inline(always)]
    fn random(self, word: u32, n: u32) -> u32 {
        (word << (32 - n)) >> (32 - self.discarded)
    }

    /// What has to be added to round the significand to a multiple of `2^-n` ulp, ties to even.
    #[inline(always)]
    fn preround(self, n: u32) -> u32 {
        let lost = self.discarded.saturating_sub(n);
        let unit = 1u32 << lost;
        let odd = (self.significand >> lost) & 1;
        let rounded =
            (self.significand + (unit >> 1) - ((lost != 0) as u32 & (odd ^ 1))) & !(unit - 1);
        rounded.wrapping_sub(self.significand)
    }
}

/// Encodes `f32` bits; `words` holds the random bits of a stochastic rounding. Returns how many
/// elements, infinities among them, rounded beyond the largest value.
#[inline(always)]
pub(super) fn encode(params: &Params, bits: &[u32], words: &[u32], codes: &mut [u8]) -> u64 {
    let run = Run {
        params,
        bits,
        words,
        codes,
    };
    match params.cast.rounding {
        Rounding::NearestEven => run.encode(|lane| lane.half() - 1 + lane.odd),
        Rounding::NearestAway => run.encode(Lane::half),
        Rounding::TowardZero => run.encode(|_| 0),
        Rounding::TowardPositive => run.encode(|lane| lane.rest() & !lane.negative),
        Rounding::TowardNegative => run.encode(|lane| lane.rest() & lane.negative),
        Rounding::ToOdd => run.encode(|lane| lane.rest() & lane.odd.wrapping_sub(1)),
        Rounding::StochasticA(n) => run.encode(|lane| lane.random(lane.word, n.get())),
        Rounding::StochasticB(n) => run.encode(|lane| lane.random(lane.word << 1 | 1, n.get() + 1)),
        Rounding::StochasticC(n) => run.encode(|lane| {
            let random = lane.random(lane.word, n.get());
            lane.preround(n.get()).wrapping_add(random)
        }),
    }
}

/// The slices of one call of [`encode`].
struct Run<'a> {
    params: &'a Params,
    bits: &'a [u32],
    words: &'a [u32],
    codes: &'a mut [u8],
}

impl Run<'_> {
    /// Encodes each lane with the addend of a rounding.
    #[inline(always)]
    fn encode(self, addend: impl Fn(Lane) -> u32) -> u64 {
        let params = *self.params;
        let mut beyond = 0u32;
        for ((&bits, &word), code) in self.bits.iter().zip(self.words).zip(self.codes) {
            let abs = bits & ABS;
            let negative = mask(bits & params.source_sign != 0);
            let magnitude = magnitude(&params, abs, negative, word, &addend);
            beyond += (magnitude > params.max) as u32 & (abs <= INFINITY) as u32;
            *code = finish(&params, abs, negative, magnitude);
        }
        beyond as u64
    }
}

/// The code of a rounded magnitude: its sign, its range, the special values.
#[inline(always)]
fn finish(params: &Params, abs: u32, negative: u32, magnitude: u32) -> u8 {
    let of = |pair: [u32; 2]| select(negative != 0, pair[1], pair[0]);
    let signed = negative & (params.signed_zero | mask(magnitude != 0));
    let code = (magnitude ^ (params.flip & signed)).wrapping_sub(params.borrow & signed);
    let code = code & params.code_mask;
    let code = select(magnitude > of(params.limit), of(params.overflow), code);
    let code = select(abs == INFINITY, of(params.infinite), code);
    select(abs > INFINITY, of(params.nan), code) as u8
}

/// The rounded magnitude, counted on as if the format had no largest value.
#[inline(always)]
fn magnitude(
    params: &Params,
    abs: u32,
    negative: u32,
    word: u32,
    addend: impl Fn(Lane) -> u32,
) -> u32 {
    let field = abs >> F32_MANTISSA_BITS;
    let lattice = field.max(params.min_field);
    let significand = (abs & (IMPLICIT - 1)) | (IMPLICIT & mask(field != 0));
    let discarded = params.discarded + lattice - field.max(1);
    // A value below 2^-8 of an ulp: what leaves the lane is kept as one sticky bit.
    let excess = discarded.saturating_sub(LAST_BIT).min(LAST_BIT);
    let kept = significand >> excess;
    let sticky = (kept << excess != significand) as u32;
    let significand = kept | sticky;
    let discarded = discarded.min(LAST_BIT);

    let base =
        ((lattice - params.min_field) << params.mantissa_bits).wrapping_sub(params.below_first);
    let down = base.wrapping_add(significand >> discarded);
    let lane = Lane {
        significand,
        discarded,
        odd: down & 1,
        negative,
        word,
    };
    let rounded = base.wrapping_add(significand.wrapping_add(addend(lane)) >> discarded);
    // Below the first value of a format without zero there is nothing but that value.
    (rounded as i32).max(0) as u32
}

/// What one chunk adds to the statistics. `beyond` is what [`encode`] returned for it.
#[inline(always)]
pub(super) fn stats<S: Float>(params: &Params, chunk: &Encoded<'_, S>, beyond: u64) -> Stats {
    let sign_of_zero = (params.flip & params.signed_zero) as u8;
    let has_zero = params.spec.zero as u32;
    let (mut zero, mut underflowed, mut nan, mut infinite, mut kept) = (0, 0, 0, 0, 0);
    for ((&source, &scaled), &code) in chunk.loaded.iter().zip(chunk.scaled).zip(chunk.codes) {
        let abs = source & ABS;
        let is_zero = (abs == 0) as u32;
        let is_nan = (abs > INFINITY) as u32;
        let is_infinite = (abs == INFINITY) as u32;
        let stored_zero = (code & !sign_of_zero == 0) as u32 & has_zero;
        zero += is_zero;
        nan += is_nan;
        infinite += is_infinite;
        underflowed += stored_zero & ((is_zero | is_nan) ^ 1);
        kept += is_infinite & (scaled & ABS <= INFINITY) as u32;
    }
    let (amax, min_nonzero) = range(chunk.source);
    Stats {
        count: chunk.source.len() as u64,
        zero: zero as u64,
        saturated: beyond - kept as u64,
        underflowed: underflowed as u64,
        nan: nan as u64,
        infinite: infinite as u64,
        amax,
        min_nonzero,
    }
}

/// The largest absolute value. The maximum is taken over the bits of the source's own type, which
/// are ordered as the values are, and NaN above them; rounding binary64 to `f32` keeps the order.
#[inline(always)]
pub(super) fn amax<S: Float>(source: &[S]) -> Amax {
    Amax::of(from_abs::<S>(max_abs(source)))
}

/// [`amax`], and the bits of the smallest absolute value above zero as `f32` (infinity where there
/// is none; what is above zero stays so).
#[inline(always)]
fn range<S: Float>(source: &[S]) -> (Amax, u32) {
    let infinity = S::TYPE.spec().infinity_magnitude().unwrap_or(u64::MAX);
    // Zero wraps around to the top of the order.
    let least = source.iter().fold(infinity - 1, |least, &x| {
        least.min(abs_bits(x).wrapping_sub(1))
    });
    let min_nonzero = from_abs::<S>(least + 1).to_bits().max(1);
    (amax(source), min_nonzero)
}

#[inline(always)]
fn max_abs<S: Float>(source: &[S]) -> u64 {
    source.iter().fold(0, |most, &x| most.max(abs_bits(x)))
}

/// The bits of `|x|` in its own type.
#[inline(always)]
fn abs_bits<S: Float>(x: S) -> u64 {
    x.to_wide_bits() & S::TYPE.spec().magnitude_mask()
}

#[inline(always)]
fn from_abs<S: Float>(bits: u64) -> f32 {
    S::from_wide_bits(bits).to_f32()
}

/// Decodes through a table, rounding to the target type once.
#[inline(always)]
pub(super) fn decode<T: Float>(table: &Table, codes: &[u8], target: &mut [T]) {
    for (&code, target) in codes.iter().zip(target) {
        *target = T::from_f32(f32::from_bits((table[code as usize] as u32) << 16));
    }
}

/// Decodes through a table and multiplies. A NaN that the product makes has the sign of the code.
#[inline(always)]
pub(super) fn decode_scaled<T: Float>(table: &Table, by: f32, codes: &[u8], target: &mut [T]) {
    for (&code, target) in codes.iter().zip(target) {
        let value = (table[code as usize] as u32) << 16;
        // Unlike a factor, a stored scale may be negative.
        let product = (f32::from_bits(value) * by).to_bits();
        let nan = NAN | value & !ABS;
        *target = T::from_f32(f32::from_bits(select(
            product & ABS > INFINITY,
            nan,
            product,
        )));
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels in plain Rust: no branch in a loop, so that the compiler vectorises them for
//! whatever instruction set the caller enables.
//!
//! A lane is the 32 bits of an `f32`. The rounding is done by one floating-point addition
//! ([`super::params`] says how); what it took away or added is exact too, and tells the other
//! roundings whether to step on or back. The default environment is the caller's duty.
//!
//! Integer rounding (shift the significand by a number of its own in each lane) is as exact and
//! needs no environment, but SSE2 has no such shift (2.7 times slower), and with AVX-512 it took
//! up to a third longer.

use super::factor::{Factor, Factors, Operation};
use super::isa::Isa;
use super::params::{F32_MANTISSA_BITS, Params};
use super::table::Table;
use crate::float::Float;
use crate::machine::IS_SMALL;
use crate::policy::Rounding;
use crate::spec::FloatType;

/// The level of instructions that the crate is compiled for.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Isa for Portable {
    #[inline]
    fn vectorize<R>(self, work: impl FnOnce() -> R) -> R {
        work()
    }

    #[inline]
    fn encode_bounded<S: Float>(
        self,
        params: &Params,
        factors: Factors<'_>,
        source: &[S],
        codes: &mut [u8],
    ) -> Option<u64> {
        let slow = |_: &[S], _: &mut [u8]| debug_assert!(false, "a NaN where there is none");
        encode_fast::<S, true>(params, factors, source, codes, slow)
            .then(|| self.count_zero_codes(params, codes))
    }
}

/// All of an `f32` but its sign.
pub(super) const ABS: u32 = u32::MAX >> 1;
/// The bits of infinity.
pub(super) const INFINITY: u32 = f32::INFINITY.to_bits();
/// The one NaN that is ever made.
const NAN: u32 = INFINITY | 1 << 22;
/// The implicit bit of a significand.
const IMPLICIT: u32 = 1 << F32_MANTISSA_BITS;

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
pub(super) fn f32_bits<S: Float>(x: S) -> u32 {
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
        Factor::ONE => {
            for (&x, scaled) in loaded.iter().zip(scaled) {
                *scaled = x;
            }
        }
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

/// The same with a number for each element.
#[inline(always)]
pub(super) fn scale_each(
    operation: Operation,
    numbers: &[f32],
    loaded: &[u32],
    scaled: &mut [u32],
) {
    let elements = loaded.iter().zip(numbers).zip(scaled);
    match operation {
        Operation::Multiply => {
            elements.for_each(|((&x, &by), scaled)| *scaled = multiply(x, by));
        }
        Operation::Divide => {
            elements.for_each(|((&x, &by), scaled)| *scaled = divide(x, by));
        }
        Operation::Shift => {
            elements.for_each(|((&x, &by), scaled)| *scaled = shift(x, by));
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
pub(super) fn power_of_two(k: i32) -> f32 {
    f32::from_bits(if k < -126 {
        IMPLICIT >> 1
    } else {
        ((127 + k) as u32) << F32_MANTISSA_BITS
    })
}

#[inline(always)]
pub(super) fn multiply(x: u32, by: f32) -> u32 {
    let abs = (f32::from_bits(x & ABS) * by).to_bits() & ABS;
    abs | x & !ABS
}

#[inline(always)]
pub(super) fn divide(x: u32, by: f32) -> u32 {
    let abs = (f32::from_bits(x & ABS) / by).to_bits() & ABS;
    abs | x & !ABS
}

/// Times a power of two. The product is exact unless it leaves the normal range of `f32`, far
/// outside that of any format that is scaled; there only two things matter to the cast: what is
/// not zero stays so, and what is finite stays so.
#[inline(always)]
pub(super) fn shift(x: u32, power: f32) -> u32 {
    let abs = x & ABS;
    let product = (f32::from_bits(abs) * power).to_bits() & ABS;
    let product = product.max((abs != 0) as u32);
    let product = product - (abs < INFINITY && product == INFINITY) as u32;
    product | x & !ABS
}

/// Elements that [`encode_fast`] handles at once.
const BLOCK: usize = 64;

/// Encodes a slice in one pass, where clamping and one addition are all it takes and no element
/// of a block is NaN. Blocks that do have one go to `slow`. Returns false, having done nothing,
/// where the cast needs more. Where all is bounded, nothing is clamped, nor is there a look for NaN.
#[inline(always)]
pub(super) fn encode_fast<S: Float, const BOUNDED: bool>(
    params: &Params,
    factors: Factors<'_>,
    source: &[S],
    codes: &mut [u8],
    slow: impl Fn(&[S], &mut [u8]),
) -> bool {
    let plain = params.nearest();
    let Some(plain) = plain.filter(|_| !IS_SMALL) else {
        return false;
    };
    let clamp = plain.clamp.to_bits() as i32;
    let sign = (plain.signed as u32) << plain.magnitude_bits;
    let to_sign = 31 - plain.magnitude_bits;
    // The code that is not a zero; one that no lane has where there are two zeros.
    let no_zero = if plain.one_zero { sign } else { u32::MAX };
    let params = *params;
    let is_quotient = factors.operation() == Operation::Divide;
    let mut numbers = [1.0; BLOCK];
    factors.fill(0, &mut numbers);
    let mut encode = |block: usize, source: &[S], codes: &mut [u8]| {
        let mut loaded = [0; BLOCK];
        let mut scaled = [0; BLOCK];
        load(source, &mut loaded);
        if !matches!(factors, Factors::One(_)) {
            factors.fill(block * BLOCK, &mut numbers);
        }
        let elements = scaled.iter_mut().zip(&loaded).zip(&numbers);
        match factors {
            Factors::One(Factor::ONE) => scaled = loaded,
            _ if is_quotient => elements.for_each(|((scaled, &x), by)| {
                *scaled = (f32::from_bits(x) / by).to_bits();
            }),
            _ => elements.for_each(|((scaled, &x), by)| {
                *scaled = (f32::from_bits(x) * by).to_bits();
            }),
        }
        if !BOUNDED {
            let most = scaled
                .iter()
                .fold(0, |most: i32, &x| most.max((x & ABS) as i32));
            if most > INFINITY as i32 {
                return slow(source, codes);
            }
        }
        for (&bits, code) in scaled.iter().zip(codes) {
            let abs = bits & ABS;
            let clamped = if BOUNDED {
                abs
            } else {
                (abs as i32).min(clamp) as u32
            };
            let (magnitude, ..) = nearest(&params, clamped);
            let signed = magnitude | (bits >> to_sign) & sign;
            *code = select(signed == no_zero, 0, signed) as u8;
        }
    };
    let mut from = source.chunks_exact(BLOCK);
    let mut to = codes.chunks_exact_mut(BLOCK);
    for (block, (source, codes)) in (&mut from).zip(&mut to).enumerate() {
        encode(block, source, codes);
    }
    // A smaller block: zeros take the places that are left.
    encode(source.len() / BLOCK, from.remainder(), to.into_remainder());
    true
}

/// Rounds a value that is not negative and at most `following`, given as bits: the nearest
/// magnitude, the even one of two; the sum of the addition, and what was added.
#[inline(always)]
pub(super) fn nearest(params: &Params, clamped: u32) -> (u32, f32, f32) {
    // Positive numbers are ordered as signed integers too, which more instruction sets compare.
    let power = ((clamped & !(IMPLICIT - 1)) as i32).max(params.min_normal as i32) as u32;
    let m = power + params.magic;
    let sum = f32::from_bits(clamped) + f32::from_bits(m);
    let magnitude = sum.to_bits().wrapping_add(m >> params.discarded) & 0xFFFF;
    (magnitude, sum, f32::from_bits(m))
}

/// One rounded lane: what a rounding other than nearest-even looks at.
#[derive(Clone, Copy)]
struct Lane {
    /// The magnitude nearest to the value, the even one of two.
    nearest: u32,
    /// The value less that magnitude's value: exact, and at most half an ulp.
    rest: f32,
    /// The bits of one ulp, a power of two.
    ulp: u32,
    /// 1 where the value is negative.
    negative: u32,
    /// Random bits.
    word: u32,
}

impl Lane {
    /// The magnitude at or below the value.
    #[inline(always)]
    fn down(self) -> u32 {
        self.nearest - (self.rest < 0.0) as u32
    }

    /// The magnitude at or above the value.
    #[inline(always)]
    fn up(self) -> u32 {
        self.nearest + (self.rest > 0.0) as u32
    }

    /// Nearest, away from zero where there are two.
    #[inline(always)]
    fn away(self) -> u32 {
        let half = f32::from_bits(self.ulp - IMPLICIT);
        self.nearest + (self.rest == half) as u32
    }

    #[inline(always)]
    fn odd(self) -> u32 {
        self.down() | (self.rest != 0.0) as u32
    }

    /// Away with a probability: `2^bits` times the fraction of an ulp, plus `random`, reaches
    /// `2^bits`. The fraction is rounded to an integer first: down, or to nearest-even.
    #[inline(always)]
    fn stochastic(self, bits: u32, random: u32, nearest: bool) -> u32 {
        /// 2^23: added, it leaves no fraction.
        const INTEGER: f32 = 8_388_608.0;
        const ONE_BY: u32 = 2 * (127 << F32_MANTISSA_BITS);
        let below = self.rest < 0.0;
        let ulp = f32::from_bits(select(below, self.ulp, 0));
        // Exact: both are multiples of the last place of the value, and so is their sum.
        let fraction = self.rest + ulp;
        let scale = f32::from_bits(ONE_BY - self.ulp + (bits << F32_MANTISSA_BITS));
        let scaled = fraction * scale;
        let sum = scaled + INTEGER;
        let grown = (sum - INTEGER > scaled) & !nearest;
        let integer = sum.to_bits() - INTEGER.to_bits() - grown as u32;
        let random = random & ((1 << bits) - 1);
        self.down() + ((integer + random) >> bits)
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
    if !params.spec.zero {
        return run.encode_powers();
    }
    match params.cast.rounding {
        Rounding::NearestEven => run.encode(|lane| lane.nearest),
        Rounding::NearestAway => run.encode(Lane::away),
        Rounding::TowardZero => run.encode(Lane::down),
        Rounding::TowardPositive => {
            run.encode(|lane| select(lane.negative != 0, lane.down(), lane.up()))
        }
        Rounding::TowardNegative => {
            run.encode(|lane| select(lane.negative != 0, lane.up(), lane.down()))
        }
        Rounding::ToOdd => run.encode(Lane::odd),
        Rounding::StochasticA(n) => run.encode(|lane| lane.stochastic(n.get(), lane.word, false)),
        Rounding::StochasticB(n) => {
            run.encode(|lane| lane.stochastic(n.get() + 1, lane.word << 1 | 1, false))
        }
        Rounding::StochasticC(n) => run.encode(|lane| lane.stochastic(n.get(), lane.word, true)),
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
    /// Encodes each lane with what a rounding makes of it.
    #[inline(always)]
    fn encode(self, round: impl Fn(Lane) -> u32) -> u64 {
        let params = *self.params;
        // The ulp of the format is that of `m`.
        let ulp_below = F32_MANTISSA_BITS << F32_MANTISSA_BITS;
        let mut beyond = 0u32;
        for ((&bits, &word), code) in self.bits.iter().zip(self.words).zip(self.codes) {
            let abs = bits & ABS;
            let negative = (bits & params.source_sign) >> 31;
            let clamped = (abs as i32).min(params.following as i32) as u32;
            let (nearest, sum, m) = nearest(&params, clamped);
            let lane = Lane {
                nearest,
                rest: f32::from_bits(clamped) - (sum - m),
                ulp: (m.to_bits() & !(IMPLICIT - 1)) - ulp_below,
                negative,
                word,
            };
            let magnitude = round(lane);
            beyond += (magnitude > params.max) as u32 & (abs <= INFINITY) as u32;
            *code = finish(&params, abs, mask(negative != 0), magnitude);
        }
        beyond as u64
    }

    /// E8M0: the exponent field is the magnitude, and the significand decides about the next.
    #[inline(always)]
    fn encode_powers(self) -> u64 {
        let params = *self.params;
        let half = IMPLICIT >> 1;
        // What is added is `most` where the magnitude below is even, else `most + if_odd`.
        let (most, if_odd) = match params.cast.rounding {
            Rounding::NearestEven => (half - 1, 1),
            Rounding::NearestAway => (half, 0),
            Rounding::TowardPositive => (IMPLICIT - 1, 0),
            Rounding::ToOdd => (IMPLICIT - 1, 1u32.wrapping_sub(IMPLICIT)),
            _ => (0, 0),
        };
        let mut beyond = 0u32;
        for (&bits, code) in self.bits.iter().zip(self.codes) {
            let abs = bits & ABS;
            // A subnormal has its leading bit, if it is at least 2^-127, one place further down;
            // below that there is nothing but code 0.
            let doubled = (2 * abs).saturating_sub(IMPLICIT);
            let ordered = select(abs < IMPLICIT, doubled, abs);
            let odd = mask(ordered & IMPLICIT != 0);
            let addend = most.wrapping_add(if_odd & odd);
            let magnitude = (ordered + addend) >> F32_MANTISSA_BITS;
            beyond += (magnitude > params.max) as u32 & (abs <= INFINITY) as u32;
            *code = finish(&params, abs, 0, magnitude);
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

/// Decodes through a table, rounding to the target type once.
#[inline(always)]
pub(super) fn decode<T: Float>(table: &Table, codes: &[u8], target: &mut [T]) {
    for (&code, target) in codes.iter().zip(target) {
        *target = store((table[code as usize] as u32) << 16);
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
        *target = store(select(product & ABS > INFINITY, nan, product));
    }
}

/// `f32` bits as the target type, rounded to nearest-even. A NaN is the one that the library
/// makes, of either sign.
#[inline(always)]
fn store<T: Float>(bits: u32) -> T {
    T::from_wide_bits(match T::TYPE {
        FloatType::F32 => bits as u64,
        FloatType::Bf16 => f32_to_bf16(bits) as u64,
        FloatType::F16 => f32_to_f16(bits) as u64,
        FloatType::F64 => (f32::from_bits(bits) as f64).to_bits(),
    })
}

#[inline(always)]
fn f32_to_bf16(bits: u32) -> u32 {
    let odd = (bits >> 16) & 1;
    (bits + 0x7FFF + odd) >> 16
}

/// By an addition, as [`super::params`] describes: binary16 is a format like the others.
#[inline(always)]
fn f32_to_f16(bits: u32) -> u32 {
    const DISCARDED: u32 = F32_MANTISSA_BITS - 10;
    const MIN_NORMAL: u32 = (127 - 14) << F32_MANTISSA_BITS;
    /// 2^16: what would follow the largest.
    const FOLLOWING: u32 = (127 + 16) << F32_MANTISSA_BITS;
    const LOWEST: u32 = (127 - 14 + DISCARDED) << 10;
    let abs = bits & ABS;
    let clamped = abs.min(FOLLOWING);
    let m = (clamped & !(IMPLICIT - 1)).max(MIN_NORMAL) + (DISCARDED << F32_MANTISSA_BITS);
    let sum = (f32::from_bits(clamped) + f32::from_bits(m)).to_bits();
    let magnitude = (sum & (IMPLICIT - 1)) + (m >> DISCARDED) - LOWEST;
    let magnitude = select(abs > INFINITY, 0x7E00, magnitude);
    magnitude | (bits >> 16) & 0x8000
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! From an exact value to a code: round as if the exponent had no bound, then look at the range.

use super::decode::Value;
use crate::policy::{Cast, NanPolicy, Rounding, Saturation};
use crate::spec::{Overflow, Sign, Spec};

/// The code of a value. `word` holds the random bits of a stochastic rounding (the low N are
/// used); the other roundings ignore it.
#[inline(always)]
pub const fn encode(spec: &Spec, cast: Cast, value: Value, word: u32) -> u64 {
    match value {
        Value::Zero { negative } => spec.join(negative, 0),
        Value::Nan { negative } => nan(spec, negative && matches!(cast.nan, NanPolicy::KeepSign)),
        Value::Infinite { negative } => beyond(spec, cast, negative, true),
        Value::Finite {
            negative,
            exponent,
            significand,
        } => {
            // No short circuits: they would make two copies of what follows, one for each sign.
            let negative = negative & !matches!(spec.sign, Sign::Dropped);
            let magnitude =
                round_magnitude(spec, cast.rounding, negative, exponent, significand, word);
            let below = negative & matches!(spec.sign, Sign::OutOfRange) & (magnitude != 0);
            if below | (magnitude > spec.max_magnitude()) {
                return beyond(spec, cast, negative, false);
            }
            spec.join(negative, magnitude)
        }
    }
}

/// The magnitude of `significand * 2^(exponent - 63)` (bit 63 set) after rounding, counted on as
/// if the format had no largest value: a result above [`Spec::max_magnitude`] has overflowed.
///
/// Codes of one sign follow each other as their values do, so "the next value" is "the next
/// code", and an even value is one with an even code; that holds for subnormals, for a carry
/// into the next binade and for E8M0 alike.
#[inline(always)]
pub const fn round_magnitude(
    spec: &Spec,
    rounding: Rounding,
    negative: bool,
    exponent: i32,
    significand: u64,
    word: u32,
) -> u64 {
    let lattice = if exponent > spec.min_exponent() {
        exponent
    } else {
        spec.min_exponent()
    };
    // Bits of the significand that lie below one ulp: at least 11 (binary64), since the
    // narrowest row has the fewest mantissa bits.
    let discarded = (63 - spec.mantissa_bits) as i64 + (lattice as i64 - exponent as i64);
    let (kept, fraction) = split(significand, discarded);
    let below_first = if spec.zero {
        0
    } else {
        1 << spec.mantissa_bits
    };
    let down = (((lattice - spec.min_exponent()) as i64) << spec.mantissa_bits) + kept as i64
        - below_first;
    let rounded = down + away(rounding, negative, down & 1 != 0, fraction, word) as i64;
    // Below the first value of a format without zero there is nothing but that value.
    if rounded < 0 { 0 } else { rounded as u64 }
}

/// The discarded part of an ulp: `(bits + a little more, if sticky) / 2^64`.
#[derive(Clone, Copy)]
struct Fraction {
    bits: u64,
    sticky: bool,
}

/// Splits a significand into what is kept and the fraction of an ulp that is not.
#[inline(always)]
const fn split(significand: u64, discarded: i64) -> (u64, Fraction) {
    // What lies below the fraction's own bits: all of the significand from 128 places on.
    let lost = discarded - 64;
    let (kept, bits) = if lost < 0 {
        (significand >> discarded, significand << -lost)
    } else if lost < 64 {
        (0, significand >> lost)
    } else {
        (0, 0)
    };
    let sticky = (significand.trailing_zeros() as i64) < lost;
    (kept, Fraction { bits, sticky })
}

/// Whether the magnitude moves on to the next one.
#[inline(always)]
const fn away(
    rounding: Rounding,
    negative: bool,
    odd: bool,
    fraction: Fraction,
    word: u32,
) -> bool {
    const HALF: u64 = 1 << 63;
    let Fraction { bits, sticky } = fraction;
    let inexact = bits != 0 || sticky;
    match rounding {
        Rounding::NearestEven => bits > HALF || (bits == HALF && (sticky || odd)),
        Rounding::NearestAway => bits >= HALF,
        Rounding::TowardZero => false,
        Rounding::TowardPositive => inexact && !negative,
        Rounding::TowardNegative => inexact && negative,
        Rounding::ToOdd => inexact && !odd,
        Rounding::StochasticA(n) => {
            let (n, random) = (n.get(), low_bits(word, n.get()));
            (bits >> (64 - n)) + random >= 1 << n
        }
        Rounding::StochasticB(n) => {
            let (n, random) = (n.get(), low_bits(word, n.get()));
            (bits >> (63 - n)) + 2 * random + 1 >= 1 << (n + 1)
        }
        Rounding::StochasticC(n) => {
            let (n, random) = (n.get(), low_bits(word, n.get()));
            let floor = bits >> (64 - n);
            let rest = bits << n;
            let up = rest > HALF || (rest == HALF && (sticky || floor & 1 != 0));
            floor + up as u64 + random >= 1 << n
        }
    }
}

/// The low `n` bits of a random word.
#[inline(always)]
const fn low_bits(word: u32, n: u32) -> u64 {
    word as u64 & ((1 << n) - 1)
}

/// The code of NaN; a format without one stores its largest value.
#[inline(always)]
const fn nan(spec: &Spec, negative: bool) -> u64 {
    match spec.nan_code() {
        Some(code) if negative && spec.has_negative_nan() => code | spec.sign_mask(),
        Some(code) => code,
        None => spec.join(negative, spec.max_magnitude()),
    }
}

/// The code of a value outside the range: an infinity, or a finite value that rounding took
/// there.
#[inline(always)]
const fn beyond(spec: &Spec, cast: Cast, negative: bool, infinite: bool) -> u64 {
    let clamps = match cast.saturation {
        Saturation::Finite => true,
        Saturation::Propagate => !infinite,
        Saturation::None => !infinite && stays_finite(spec, cast.rounding, negative),
    };
    if negative && matches!(spec.sign, Sign::OutOfRange) {
        // P3109 v4.0 §4.7.5: the least value of an unsigned format is zero, and there is no
        // infinity below it to propagate.
        let clamps = clamps || matches!(cast.saturation, Saturation::Propagate);
        return if clamps { 0 } else { nan(spec, false) };
    }
    let largest = spec.join(negative, spec.max_magnitude());
    if clamps {
        return largest;
    }
    match (spec.overflow, spec.infinity_magnitude()) {
        (Overflow::Infinity, Some(infinity)) => spec.join(negative, infinity),
        (Overflow::Nan, _) => nan(spec, negative),
        _ => largest,
    }
}

/// Whether a rounding never takes a finite value of that sign out of the range: one that points
/// to zero, and to odd in the unsigned P3109 formats with infinity, where the largest value is
/// odd and infinity is even (v4.0 §4.7.5; those without infinity clamp anyway).
#[inline(always)]
const fn stays_finite(spec: &Spec, rounding: Rounding, negative: bool) -> bool {
    let to_odd = matches!(rounding, Rounding::ToOdd) && matches!(spec.sign, Sign::OutOfRange);
    rounding.points_to_zero(negative) || (to_odd && !negative)
}

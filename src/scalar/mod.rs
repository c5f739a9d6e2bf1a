// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reference: one value at a time, integers only, `const`, for every format.
//!
//! A conversion is [`decode`] by the row of the source, then [`encode`] by the row of the target,
//! through an exact [`Value`]. There is one algorithm; whatever is faster must equal it bit for
//! bit on every input.
//!
//! All of it is inlined by force: a row and a cast that are known at compile time then fold away
//! (4 ns an element where plain `#[inline]` took 15, since the functions are too long for the
//! compiler to inline unasked).

mod decode;
mod encode;

pub use decode::{Value, decode};
pub use encode::{encode, round_magnitude};

use crate::policy::{Cast, NanPolicy, Rounding, Saturation};
use crate::spec::{FloatType, Format, Spec};

/// The cast by which a code becomes a wide value: rounded once to nearest-even where the type
/// cannot hold it, infinity beyond its largest, a quiet NaN that keeps its sign.
pub const DECODE_CAST: Cast = Cast {
    rounding: Rounding::NearestEven,
    saturation: Saturation::None,
    nan: NanPolicy::KeepSign,
};

/// Converts the bits of a code of `from` into a code of `to`, rounded once.
///
/// `word` holds the random bits of a stochastic rounding (the low N are used); it is ignored by
/// the others. Bits above the width of a code are ignored on input and zero on output.
#[inline(always)]
pub const fn convert(from: &Spec, to: &Spec, cast: Cast, bits: u64, word: u32) -> u64 {
    encode(to, cast, decode(from, bits), word)
}

/// Encodes the bits of a wide value, rounded once.
#[inline(always)]
pub const fn encode_bits(
    format: Format,
    cast: Cast,
    source: FloatType,
    bits: u64,
    word: u32,
) -> u8 {
    convert(source.spec(), format.spec(), cast, bits, word) as u8
}

/// Decodes a code into the bits of a wide type: exact where the type can hold the value, else
/// rounded once to nearest-even (f16 and bf16 targets only).
#[inline(always)]
pub const fn decode_bits(format: Format, code: u8, target: FloatType) -> u64 {
    convert(format.spec(), target.spec(), DECODE_CAST, code as u64, 0)
}

/// Encodes an `f32`; see [`encode_bits`].
#[inline(always)]
pub const fn encode_f32(format: Format, cast: Cast, value: f32, word: u32) -> u8 {
    encode_bits(format, cast, FloatType::F32, value.to_bits() as u64, word)
}

/// Encodes an `f64`, rounded once (never through `f32`); see [`encode_bits`].
#[inline(always)]
pub const fn encode_f64(format: Format, cast: Cast, value: f64, word: u32) -> u8 {
    encode_bits(format, cast, FloatType::F64, value.to_bits(), word)
}

/// The code whose value is exactly this one, the sign of a zero included; NaN has the canonical
/// one. `None` where the format has none: nothing is rounded, clamped or truncated.
pub const fn encode_exact(format: Format, value: f32) -> Option<u8> {
    let code = encode_f32(format, Cast::DEFAULT, value, 0);
    let stored = decode_f32(format, code);
    if stored.to_bits() == value.to_bits() || (stored.is_nan() && value.is_nan()) {
        Some(code)
    } else {
        None
    }
}

/// Decodes a code to `f32`, exactly.
#[inline(always)]
pub const fn decode_f32(format: Format, code: u8) -> f32 {
    f32::from_bits(decode_bits(format, code, FloatType::F32) as u32)
}

/// Decodes a code to `f64`, exactly.
#[inline(always)]
pub const fn decode_f64(format: Format, code: u8) -> f64 {
    f64::from_bits(decode_bits(format, code, FloatType::F64))
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! One block of f32 under an E8M0 scale, by the scalar reference, for a format that is known when it is
//! compiled: a kilobyte or two of code, for machines on which [`Recipe::quantize`], which serves every
//! recipe, is too large. No floating-point operation; the bits are the same.
//!
//! [`Recipe::quantize`]: super::Recipe::quantize

use super::ExponentRule;
use super::rule::{E8M0_ONE, Largest};
use crate::error::Error;
use crate::policy::Cast;
use crate::scalar::{DECODE_CAST, Value, decode, encode};
use crate::spec::{FloatType, Format, Spec};
use crate::stats::Amax;
use crate::types::Element;

/// Quantizes a block and returns its E8M0 scale: what [`Recipe::quantize`] gives under
/// [`Scaling::E8M0`], with the default cast and infinities and NaN poisoning the block.
///
/// `target` has the length of `source`, which may be any: 32 in the MX formats (v1.0 §5.2). The type
/// must have a sign and a zero, which is checked when this is compiled.
///
/// # Errors
/// [`Error::Recipe`] for [`ExponentRule::LeastError`], [`Error::Length`] where the lengths differ.
/// Nothing is written then.
///
/// [`Recipe::quantize`]: super::Recipe::quantize
/// [`Scaling::E8M0`]: super::Scaling::E8M0
#[inline]
pub fn quantize_block<E: Element>(
    rule: ExponentRule,
    source: &[f32],
    target: &mut [E],
) -> Result<u8, Error> {
    let spec = const { element(E::FORMAT) };
    if matches!(rule, ExponentRule::LeastError) {
        return Err(Error::Recipe);
    }
    if source.len() != target.len() {
        return Err(Error::Length);
    }
    let amax = source.iter().map(|&x| Amax::of(x));
    let amax = amax.fold(Amax::ZERO, Amax::merge);
    if !amax.is_finite() {
        target.fill(E::from_bits(const { nan(element(E::FORMAT)) }));
        return Ok(const { nan(Format::E8M0.spec()) });
    }
    let largest = const { Largest::of(element(E::FORMAT)) };
    let scale = largest.exponent_code(rule, 0, amax);
    for (x, to) in source.iter().zip(target) {
        let value = decode(FloatType::F32.spec(), x.to_bits() as u64);
        let value = value.shifted(E8M0_ONE - scale as i32);
        *to = E::from_bits(encode(spec, Cast::DEFAULT, value, 0) as u8);
    }
    Ok(scale)
}

/// Dequantizes a block: what [`Recipe::dequantize`] gives under [`Scaling::E8M0`]. A value beyond
/// the range of f32 becomes infinity.
///
/// # Errors
/// [`Error::Length`] where the lengths differ.
///
/// [`Recipe::dequantize`]: super::Recipe::dequantize
/// [`Scaling::E8M0`]: super::Scaling::E8M0
#[inline]
pub fn dequantize_block<E: Element>(
    scale: u8,
    source: &[E],
    target: &mut [f32],
) -> Result<(), Error> {
    let spec = const { element(E::FORMAT) };
    if source.len() != target.len() {
        return Err(Error::Length);
    }
    let is_nan = Format::E8M0.spec().is_nan(scale as u64);
    for (x, to) in source.iter().zip(target) {
        let value = decode(spec, x.to_bits() as u64);
        let value = if is_nan {
            poisoned(value)
        } else {
            value.shifted(scale as i32 - E8M0_ONE)
        };
        *to = f32::from_bits(encode(FloatType::F32.spec(), DECODE_CAST, value, 0) as u32);
    }
    Ok(())
}

/// The row of a format for elements.
const fn element(format: Format) -> &'static Spec {
    let spec = format.spec();
    assert!(spec.zero && spec.is_signed(), "not a format for elements");
    spec
}

/// The code of NaN, or what a format without one stores.
const fn nan(spec: &Spec) -> u8 {
    encode(spec, Cast::DEFAULT, Value::Nan { negative: false }, 0) as u8
}

/// A NaN with the sign of a value.
#[inline(always)]
fn poisoned(value: Value) -> Value {
    let (Value::Zero { negative }
    | Value::Finite { negative, .. }
    | Value::Infinite { negative }
    | Value::Nan { negative }) = value;
    Value::Nan { negative }
}

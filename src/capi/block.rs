// SPDX-License-Identifier: MIT OR Apache-2.0
//! One block under an E8M0 scale, for a format each: a firmware that calls nothing else links
//! nothing else.

use core::mem::size_of;

use super::argument::{Extent, disjoint, out, slice, slice_mut};
use super::recipe::rule_of;
use super::status::{ofp8_status, status};
use crate::scale::{dequantize_block, quantize_block};
use crate::types::{E2M1, E4M3, E5M2, Element};
use crate::views;

/// Quantizes a block. (With a closure for the fallible part, as elsewhere, the formats would share one
/// that knows nothing at compile time.)
///
/// # Safety
/// As `ofp8_e4m3_quantize_block`.
unsafe fn quantize<E: Element>(
    rule: u32,
    source: *const f32,
    count: usize,
    codes: *mut u8,
    scale: *mut u8,
) -> Result<(), ofp8_status> {
    let rule = rule_of(rule)?;
    disjoint(&[
        Extent::new(source, count, size_of::<f32>())?,
        Extent::new(codes, count, 1)?,
        Extent::new(scale, 1, 1)?,
    ])?;
    // SAFETY: this function's contract; what is written overlaps nothing.
    let (source, codes, scale) =
        unsafe { (slice(source, count)?, slice_mut(codes, count)?, out(scale)?) };
    let codes = views::from_codes_mut::<E>(codes);
    scale.write(quantize_block(rule, source, codes)?);
    Ok(())
}

/// Dequantizes a block.
///
/// # Safety
/// As `ofp8_e4m3_dequantize_block`.
unsafe fn dequantize<E: Element>(
    scale: u8,
    codes: *const u8,
    count: usize,
    target: *mut f32,
) -> Result<(), ofp8_status> {
    disjoint(&[
        Extent::new(codes, count, 1)?,
        Extent::new(target, count, size_of::<f32>())?,
    ])?;
    // SAFETY: this function's contract; what is written overlaps nothing.
    let (codes, target) = unsafe { (slice(codes, count)?, slice_mut(target, count)?) };
    Ok(dequantize_block(
        scale,
        views::from_codes::<E>(codes),
        target,
    )?)
}

/// Quantizes one block to E4M3 codes and an E8M0 scale, in integers alone: a firmware that calls
/// nothing else links two kilobytes (with `-Wl,--gc-sections`). The bits are those of `ofp8_quantize` with
/// `OFP8_SCALING_E8M0` and everything else at its default; a block with an infinity or a NaN gets
/// the scale 0xFF and the codes of NaN.
///
/// `rule` is `OFP8_EXPONENT_ROUND_UP` (0) or another, but not `OFP8_EXPONENT_LEAST_ERROR`; `count` is
/// 32 in MX, and may be any (`codes` has as many); of none the scale is 0x00.
///
/// Statuses: `OFP8_UNKNOWN_POLICY`, `OFP8_RECIPE` (that rule), `OFP8_NULL_POINTER`,
/// `OFP8_MISALIGNED`, `OFP8_OVERLAP`, `OFP8_SHAPE` (a size overflows).
///
/// # Safety
/// `source` is null or points to `count` f32, `codes` to memory for `count` bytes, `scale` to one byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_e4m3_quantize_block(
    rule: u32,
    source: *const f32,
    count: usize,
    codes: *mut u8,
    scale: *mut u8,
) -> ofp8_status {
    // SAFETY: this function's contract.
    status(unsafe { quantize::<E4M3>(rule, source, count, codes, scale) })
}

/// The values of a block of E4M3 codes under an E8M0 scale, as `ofp8_dequantize` gives them.
///
/// Statuses: `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`, `OFP8_OVERLAP`, `OFP8_SHAPE` (a size overflows).
///
/// # Safety
/// `codes` is null or points to `count` bytes, `target` to memory for `count` f32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_e4m3_dequantize_block(
    scale: u8,
    codes: *const u8,
    count: usize,
    target: *mut f32,
) -> ofp8_status {
    // SAFETY: this function's contract.
    status(unsafe { dequantize::<E4M3>(scale, codes, count, target) })
}

/// As `ofp8_e4m3_quantize_block`, to E5M2.
///
/// # Safety
/// As `ofp8_e4m3_quantize_block`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_e5m2_quantize_block(
    rule: u32,
    source: *const f32,
    count: usize,
    codes: *mut u8,
    scale: *mut u8,
) -> ofp8_status {
    // SAFETY: this function's contract.
    status(unsafe { quantize::<E5M2>(rule, source, count, codes, scale) })
}

/// As `ofp8_e4m3_dequantize_block`, of E5M2.
///
/// # Safety
/// As `ofp8_e4m3_dequantize_block`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_e5m2_dequantize_block(
    scale: u8,
    codes: *const u8,
    count: usize,
    target: *mut f32,
) -> ofp8_status {
    // SAFETY: this function's contract.
    status(unsafe { dequantize::<E5M2>(scale, codes, count, target) })
}

/// As `ofp8_e4m3_quantize_block`, to E2M1 codes, one a byte in the low bits. E2M1 has no NaN: the
/// codes of a block with an infinity or a NaN are those of the largest value.
///
/// # Safety
/// As `ofp8_e4m3_quantize_block`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_e2m1_quantize_block(
    rule: u32,
    source: *const f32,
    count: usize,
    codes: *mut u8,
    scale: *mut u8,
) -> ofp8_status {
    // SAFETY: this function's contract.
    status(unsafe { quantize::<E2M1>(rule, source, count, codes, scale) })
}

/// As `ofp8_e4m3_dequantize_block`, of E2M1.
///
/// # Safety
/// As `ofp8_e4m3_dequantize_block`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_e2m1_dequantize_block(
    scale: u8,
    codes: *const u8,
    count: usize,
    target: *mut f32,
) -> ofp8_status {
    // SAFETY: this function's contract.
    status(unsafe { dequantize::<E2M1>(scale, codes, count, target) })
}

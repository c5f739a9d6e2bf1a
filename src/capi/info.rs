// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a format can hold.

use super::argument::{format_of, out};
use super::status::{ofp8_status, status};
use crate::scalar;

/// What a format can hold. All derived from the library's one table of formats.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ofp8_format_info {
    /// Width of a code in bits, sign included; codes narrower than a byte lie in its low bits.
    pub bits: u32,
    /// Width of the exponent field; 0 for fixed point.
    pub exponent_bits: u32,
    /// Width of the mantissa field.
    pub mantissa_bits: u32,
    /// What is subtracted from the exponent field.
    pub bias: i32,
    /// 1 if negative values can be stored, else 0.
    pub is_signed: u32,
    /// 1 if there is a NaN, else 0.
    pub has_nan: u32,
    /// 1 if there is an infinity, else 0.
    pub has_infinity: u32,
    /// The canonical NaN; without one, the code that NaN is stored as: the largest value.
    pub nan_code: u32,
    /// The code of positive infinity; without one, that of the largest value.
    pub infinity_code: u32,
    /// The code of the largest value.
    pub max_code: u32,
    /// The largest value.
    pub max_value: f32,
    /// The smallest normal value.
    pub min_normal: f32,
    /// The smallest value above zero.
    pub min_positive: f32,
}

/// Writes what a format (`OFP8_E4M3`, ...) can hold.
///
/// Statuses: `OFP8_UNKNOWN_FORMAT`, `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`.
///
/// # Safety
/// `info` is null or points to memory for the structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_get_format_info(
    format: u32,
    info: *mut ofp8_format_info,
) -> ofp8_status {
    let result = || {
        let format = format_of(format)?;
        // SAFETY: this function's contract.
        let info = unsafe { out(info)? };
        let spec = format.spec();
        let max = spec.max_magnitude();
        info.write(ofp8_format_info {
            bits: spec.bits,
            exponent_bits: spec.exponent_bits,
            mantissa_bits: spec.mantissa_bits,
            bias: spec.bias,
            is_signed: spec.is_signed() as u32,
            has_nan: spec.has_nan() as u32,
            has_infinity: spec.infinity as u32,
            nan_code: spec.nan_code().unwrap_or(max) as u32,
            infinity_code: spec.infinity_magnitude().unwrap_or(max) as u32,
            max_code: max as u32,
            max_value: scalar::decode_f32(format, max as u8),
            min_normal: scalar::decode_f32(format, spec.min_normal_magnitude() as u8),
            min_positive: scalar::decode_f32(format, spec.min_positive_magnitude() as u8),
        });
        Ok(())
    };
    status(result())
}

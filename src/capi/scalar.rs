// SPDX-License-Identifier: MIT OR Apache-2.0
//! One value at a time: the scalar reference.

use super::argument::{format_of, out};
use super::status::{ofp8_status, status};
use crate::policy::{Cast, NanPolicy, Rounding, Saturation};
use crate::scalar;
use crate::spec::{FloatType, Format};

/// Rounding, saturation and NaN handling of a conversion. All zero (or a null pointer where one
/// is taken) is the default: nearest-even, everything clamps, the positive canonical NaN, which
/// is what the conversion instructions of Hopper and Blackwell do.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ofp8_cast {
    /// `OFP8_NEAREST_EVEN` (0) and the others.
    pub rounding: u32,
    /// `OFP8_SATURATE_FINITE` (0) and the others.
    pub saturation: u32,
    /// `OFP8_NAN_CANONICAL` (0) or `OFP8_NAN_KEEP_SIGN`.
    pub nan: u32,
    /// Random bits an element, 1 to 32, of a stochastic rounding; must be 0 for the others.
    /// Functions on arrays draw 16 an element (`ofp8_philox`) and refuse more
    /// (`OFP8_RANDOM_BITS`): 17 to 32 are for those on single values, which take the caller's word.
    pub random_bits: u32,
}

/// The cast that a structure describes.
pub(super) fn cast_of(cast: &ofp8_cast) -> Result<Cast, ofp8_status> {
    const UNKNOWN: ofp8_status = ofp8_status::OFP8_UNKNOWN_POLICY;
    let rounding = Rounding::from_number(cast.rounding, cast.random_bits);
    Ok(Cast {
        rounding: rounding.ok_or(UNKNOWN)?,
        saturation: Saturation::from_number(cast.saturation).ok_or(UNKNOWN)?,
        nan: NanPolicy::from_number(cast.nan).ok_or(UNKNOWN)?,
    })
}

/// The cast behind a pointer; null is the default.
///
/// # Safety
/// `cast` is null or points to an initialised structure.
pub(super) unsafe fn read_cast(cast: *const ofp8_cast) -> Result<Cast, ofp8_status> {
    if cast.is_null() {
        return Ok(Cast::DEFAULT);
    }
    if !cast.is_aligned() {
        return Err(ofp8_status::OFP8_MISALIGNED);
    }
    // SAFETY: not null, aligned; initialised by this function's contract.
    cast_of(unsafe { &*cast })
}

/// Encodes the bits of a wide value.
///
/// # Safety
/// `cast` and `code` as in the functions below.
unsafe fn encode(
    format: u32,
    cast: *const ofp8_cast,
    source: FloatType,
    bits: u64,
    random: u32,
    code: *mut u8,
) -> ofp8_status {
    let result = || {
        let format = format_of(format)?;
        // SAFETY: this function's contract.
        let (cast, code) = unsafe { (read_cast(cast)?, out(code)?) };
        code.write(scalar::encode_bits(format, cast, source, bits, random));
        Ok(())
    };
    status(result())
}

/// Decodes a code into the bits of a wide value.
///
/// # Safety
/// `value` is null or points to memory for a `T`.
unsafe fn decode<T>(
    format: u32,
    code: u8,
    target: FloatType,
    from_bits: impl Fn(u64) -> T,
    value: *mut T,
) -> ofp8_status {
    let result = || {
        let format = format_of(format)?;
        // SAFETY: this function's contract.
        let value = unsafe { out(value)? };
        value.write(from_bits(scalar::decode_bits(format, code, target)));
        Ok(())
    };
    status(result())
}

/// Encodes one f32 as a code of `format`, rounded once.
///
/// `cast` may be null for the default. `random` is the random word of a stochastic rounding (its
/// low `random_bits` bits are used); the other roundings ignore it.
///
/// Statuses: `OFP8_UNKNOWN_FORMAT`, `OFP8_UNKNOWN_POLICY`, `OFP8_NULL_POINTER`,
/// `OFP8_MISALIGNED`.
///
/// # Safety
/// `cast` is null or points to an initialised structure; `code` is null or points to a byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_encode_f32(
    format: u32,
    cast: *const ofp8_cast,
    value: f32,
    random: u32,
    code: *mut u8,
) -> ofp8_status {
    let bits = value.to_bits() as u64;
    // SAFETY: this function's contract.
    unsafe { encode(format, cast, FloatType::F32, bits, random, code) }
}

/// Encodes one f64, rounded once (never through f32); otherwise as `ofp8_encode_f32`.
///
/// # Safety
/// As `ofp8_encode_f32`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_encode_f64(
    format: u32,
    cast: *const ofp8_cast,
    value: f64,
    random: u32,
    code: *mut u8,
) -> ofp8_status {
    // SAFETY: this function's contract.
    unsafe { encode(format, cast, FloatType::F64, value.to_bits(), random, code) }
}

/// Encodes one binary16, given as its bits; otherwise as `ofp8_encode_f32`.
///
/// # Safety
/// As `ofp8_encode_f32`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_encode_f16(
    format: u32,
    cast: *const ofp8_cast,
    bits: u16,
    random: u32,
    code: *mut u8,
) -> ofp8_status {
    // SAFETY: this function's contract.
    unsafe { encode(format, cast, FloatType::F16, bits as u64, random, code) }
}

/// Encodes one bfloat16, given as its bits; otherwise as `ofp8_encode_f32`.
///
/// # Safety
/// As `ofp8_encode_f32`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_encode_bf16(
    format: u32,
    cast: *const ofp8_cast,
    bits: u16,
    random: u32,
    code: *mut u8,
) -> ofp8_status {
    // SAFETY: this function's contract.
    unsafe { encode(format, cast, FloatType::Bf16, bits as u64, random, code) }
}

/// Decodes one code of `format` to f32, exactly. NaN is quiet and keeps its sign; bits above the
/// width of a code are ignored.
///
/// Statuses: `OFP8_UNKNOWN_FORMAT`, `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`.
///
/// # Safety
/// `value` is null or points to memory for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_decode_f32(format: u32, code: u8, value: *mut f32) -> ofp8_status {
    let from_bits = |bits| f32::from_bits(bits as u32);
    // SAFETY: this function's contract.
    unsafe { decode(format, code, FloatType::F32, from_bits, value) }
}

/// Decodes one code to f64, exactly; otherwise as `ofp8_decode_f32`.
///
/// # Safety
/// As `ofp8_decode_f32`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_decode_f64(format: u32, code: u8, value: *mut f64) -> ofp8_status {
    // SAFETY: this function's contract.
    unsafe { decode(format, code, FloatType::F64, f64::from_bits, value) }
}

/// Decodes one code to the bits of a binary16, rounded once to nearest-even where it cannot hold
/// the value, infinity beyond its largest; otherwise as `ofp8_decode_f32`.
///
/// # Safety
/// As `ofp8_decode_f32`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_decode_f16(format: u32, code: u8, bits: *mut u16) -> ofp8_status {
    // SAFETY: this function's contract.
    unsafe { decode(format, code, FloatType::F16, |bits| bits as u16, bits) }
}

/// Decodes one code to the bits of a bfloat16; otherwise as `ofp8_decode_f16`.
///
/// # Safety
/// As `ofp8_decode_f32`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_decode_bf16(format: u32, code: u8, bits: *mut u16) -> ofp8_status {
    // SAFETY: this function's contract.
    unsafe { decode(format, code, FloatType::Bf16, |bits| bits as u16, bits) }
}

/// E4M3 under the default cast; a firmware that calls nothing else links nothing else (with
/// `-Wl,--gc-sections`).
#[unsafe(no_mangle)]
pub extern "C" fn ofp8_e4m3_from_f32(value: f32) -> u8 {
    scalar::encode_f32(Format::E4M3, Cast::DEFAULT, value, 0)
}

/// The value of an E4M3 code.
#[unsafe(no_mangle)]
pub extern "C" fn ofp8_e4m3_to_f32(code: u8) -> f32 {
    scalar::decode_f32(Format::E4M3, code)
}

/// E5M2 under the default cast; a firmware that calls nothing else links nothing else.
#[unsafe(no_mangle)]
pub extern "C" fn ofp8_e5m2_from_f32(value: f32) -> u8 {
    scalar::encode_f32(Format::E5M2, Cast::DEFAULT, value, 0)
}

/// The value of an E5M2 code.
#[unsafe(no_mangle)]
pub extern "C" fn ofp8_e5m2_to_f32(code: u8) -> f32 {
    scalar::decode_f32(Format::E5M2, code)
}

/// E4M3Fnuz under the default cast.
#[unsafe(no_mangle)]
pub extern "C" fn ofp8_e4m3fnuz_from_f32(value: f32) -> u8 {
    scalar::encode_f32(Format::E4M3Fnuz, Cast::DEFAULT, value, 0)
}

/// The value of an E4M3Fnuz code.
#[unsafe(no_mangle)]
pub extern "C" fn ofp8_e4m3fnuz_to_f32(code: u8) -> f32 {
    scalar::decode_f32(Format::E4M3Fnuz, code)
}

/// E5M2Fnuz under the default cast.
#[unsafe(no_mangle)]
pub extern "C" fn ofp8_e5m2fnuz_from_f32(value: f32) -> u8 {
    scalar::encode_f32(Format::E5M2Fnuz, Cast::DEFAULT, value, 0)
}

/// The value of an E5M2Fnuz code.
#[unsafe(no_mangle)]
pub extern "C" fn ofp8_e5m2fnuz_to_f32(code: u8) -> f32 {
    scalar::decode_f32(Format::E5M2Fnuz, code)
}

/// E8M0 under the default cast: the nearest power of two, a tie to the even code.
#[unsafe(no_mangle)]
pub extern "C" fn ofp8_e8m0_from_f32(value: f32) -> u8 {
    scalar::encode_f32(Format::E8M0, Cast::DEFAULT, value, 0)
}

/// The value of an E8M0 code; 0 is 2^-127 (a subnormal f32), 255 is NaN.
#[unsafe(no_mangle)]
pub extern "C" fn ofp8_e8m0_to_f32(code: u8) -> f32 {
    scalar::decode_f32(Format::E8M0, code)
}

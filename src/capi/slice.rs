// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many values at a time.

use core::ffi::c_void;

use super::argument::{Extent, disjoint, float_type, format_of, out, slice, slice_mut};
use super::scalar::{ofp8_cast, read_cast};
use super::status::{ofp8_status, status};
use crate::float::{Bf16, F16, Float};
use crate::pack::Packing;
use crate::policy::Cast;
use crate::random::{Philox, Random};
use crate::slice;
use crate::spec::{FloatType, Format};
use crate::stats::Amax;

/// A stream of random bits for stochastic rounding: Philox4x32-10 under `seed`, 16 bits an
/// element, addressed by the number of the element, so that chunks, threads and ranks agree.
///
/// Element number n (`first_index` and its place in the source, modulo 2^64) takes half-word n mod 8,
/// the least significant first, of the four words of block n / 8: the key is `seed`, the counter is the
/// number of the block (two words) and `stream` (two words), low words first.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ofp8_philox {
    /// The key.
    pub seed: u64,
    /// Which of 2^64 independent streams under that key.
    pub stream: u64,
    /// The number of the first element of the call.
    pub first_index: u64,
}

impl ofp8_philox {
    /// The stream in the library's own type.
    fn stream(&self) -> Philox {
        Philox::new(self.seed, self.stream).at(self.first_index)
    }
}

/// The stream behind a pointer; null is none.
///
/// # Safety
/// `random` is null or points to an initialised structure.
pub(super) unsafe fn philox_of(random: *const ofp8_philox) -> Result<Option<Philox>, ofp8_status> {
    if random.is_null() {
        return Ok(None);
    }
    if !random.is_aligned() {
        return Err(ofp8_status::OFP8_MISALIGNED);
    }
    // SAFETY: not null, aligned; initialised by this function's contract.
    Ok(Some(unsafe { &*random }.stream()))
}

/// Encodes with random bits where there are some.
fn encode<S: Float>(
    format: Format,
    cast: Cast,
    random: Option<Random<'_>>,
    source: &[S],
    codes: &mut [u8],
) -> Result<(), ofp8_status> {
    match random {
        Some(random) => slice::encode_stochastic(format, cast, random, source, codes)?,
        None => slice::encode(format, cast, source, codes)?,
    }
    Ok(())
}

/// Encodes `count` wide values of type `source_type` (`OFP8_F32`, ...) as codes of `format`, one
/// a byte, each rounded once.
///
/// `cast` may be null for the default. `random` is read for a stochastic rounding only and may
/// be null otherwise; it serves 16 bits an element. A count of 0 does nothing.
///
/// Statuses: `OFP8_UNKNOWN_FORMAT`, `OFP8_UNKNOWN_TYPE`, `OFP8_UNKNOWN_POLICY`,
/// `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`, `OFP8_SHAPE` (the size overflows), `OFP8_OVERLAP`,
/// `OFP8_RANDOM_BITS`.
///
/// # Safety
/// `source` points to `count` values and `codes` to `count` bytes; `cast` and `random` are null
/// or point to initialised structures.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_encode(
    format: u32,
    cast: *const ofp8_cast,
    random: *const ofp8_philox,
    source_type: u32,
    source: *const c_void,
    count: usize,
    codes: *mut u8,
) -> ofp8_status {
    let result = || {
        let format = format_of(format)?;
        let source_type = float_type(source_type)?;
        // SAFETY: this function's contract.
        let (cast, random) = unsafe { (read_cast(cast)?, philox_of(random)?) };
        let random = random.map(Random::Philox);
        disjoint(&[
            Extent::new(source, count, source_type.size())?,
            Extent::new(codes, count, 1)?,
        ])?;
        // SAFETY: this function's contract; the buffers are disjoint.
        let codes = unsafe { slice_mut(codes, count)? };
        match source_type {
            FloatType::F32 => {
                // SAFETY: this function's contract.
                let source = unsafe { slice(source.cast::<f32>(), count)? };
                encode(format, cast, random, source, codes)?;
            }
            FloatType::F64 => {
                // SAFETY: this function's contract.
                let source = unsafe { slice(source.cast::<f64>(), count)? };
                encode(format, cast, random, source, codes)?;
            }
            FloatType::F16 => {
                // SAFETY: this function's contract; F16 is a transparent u16.
                let source = unsafe { slice(source.cast::<F16>(), count)? };
                encode(format, cast, random, source, codes)?;
            }
            FloatType::Bf16 => {
                // SAFETY: this function's contract; Bf16 is a transparent u16.
                let source = unsafe { slice(source.cast::<Bf16>(), count)? };
                encode(format, cast, random, source, codes)?;
            }
        }
        Ok(())
    };
    status(result())
}

/// Decodes `count` codes of `format`, one a byte, to wide values of type `target_type`; f16 and
/// bf16 are rounded once to nearest-even where they cannot hold a value. A count of 0 does
/// nothing.
///
/// Statuses: `OFP8_UNKNOWN_FORMAT`, `OFP8_UNKNOWN_TYPE`, `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`,
/// `OFP8_SHAPE` (the size overflows), `OFP8_OVERLAP`.
///
/// # Safety
/// `codes` points to `count` bytes and `target` to memory for `count` values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_decode(
    format: u32,
    codes: *const u8,
    count: usize,
    target_type: u32,
    target: *mut c_void,
) -> ofp8_status {
    let result = || {
        let format = format_of(format)?;
        let target_type = float_type(target_type)?;
        disjoint(&[
            Extent::new(target, count, target_type.size())?,
            Extent::new(codes, count, 1)?,
        ])?;
        // SAFETY: this function's contract.
        let codes = unsafe { slice(codes, count)? };
        match target_type {
            FloatType::F32 => {
                // SAFETY: this function's contract; the buffers are disjoint.
                let target = unsafe { slice_mut(target.cast::<f32>(), count)? };
                slice::decode(format, codes, target)?;
            }
            FloatType::F64 => {
                // SAFETY: this function's contract; the buffers are disjoint.
                let target = unsafe { slice_mut(target.cast::<f64>(), count)? };
                slice::decode(format, codes, target)?;
            }
            FloatType::F16 => {
                // SAFETY: as above; F16 is a transparent u16.
                let target = unsafe { slice_mut(target.cast::<F16>(), count)? };
                slice::decode(format, codes, target)?;
            }
            FloatType::Bf16 => {
                // SAFETY: as above; Bf16 is a transparent u16.
                let target = unsafe { slice_mut(target.cast::<Bf16>(), count)? };
                slice::decode(format, codes, target)?;
            }
        }
        Ok(())
    };
    status(result())
}

/// Writes the largest absolute value of `count` wide values, as the integer whose maximum is the
/// merge: the bits of `|x|` as f32, with one pattern for NaN above infinity. 0 for no values. An
/// f64 is first rounded to f32, to nearest-even.
///
/// Statuses: `OFP8_UNKNOWN_TYPE`, `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`, `OFP8_SHAPE` (the size
/// overflows), `OFP8_OVERLAP`.
///
/// # Safety
/// `source` points to `count` values and `amax` to memory for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_amax(
    source_type: u32,
    source: *const c_void,
    count: usize,
    amax: *mut u32,
) -> ofp8_status {
    let result = || {
        let source_type = float_type(source_type)?;
        disjoint(&[
            Extent::new(source, count, source_type.size())?,
            Extent::new(amax, 1, size_of::<u32>())?,
        ])?;
        // SAFETY: this function's contract.
        let amax = unsafe { out(amax)? };
        // SAFETY: this function's contract; F16 and Bf16 are transparent u16.
        let seen = unsafe {
            match source_type {
                FloatType::F32 => slice::amax(slice(source.cast::<f32>(), count)?),
                FloatType::F64 => slice::amax(slice(source.cast::<f64>(), count)?),
                FloatType::F16 => slice::amax(slice(source.cast::<F16>(), count)?),
                FloatType::Bf16 => slice::amax(slice(source.cast::<Bf16>(), count)?),
            }
        };
        amax.write(seen.to_bits());
        Ok(())
    };
    status(result())
}

/// The amax of two: the larger integer. NaN stays. What `MPI_MAX` on `MPI_UINT32_T` gives.
#[unsafe(no_mangle)]
pub extern "C" fn ofp8_merge_amax(a: u32, b: u32) -> u32 {
    Amax::from_bits(a).merge(Amax::from_bits(b)).to_bits()
}

/// The value of an amax: non-negative, infinite or NaN.
#[unsafe(no_mangle)]
pub extern "C" fn ofp8_amax_to_f32(amax: u32) -> f32 {
    Amax::from_bits(amax).to_f32()
}

/// Writes the number of bytes that `count` codes take in a packing (`OFP8_PACKING_FP4_LOW_FIRST`,
/// ...): ceil(count / 2) for FP4, ceil(6 count / 8) for FP6.
///
/// Statuses: `OFP8_UNKNOWN_PACKING`, `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`.
///
/// # Safety
/// `bytes` is null or points to memory for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_packed_size(
    packing: u32,
    count: usize,
    bytes: *mut usize,
) -> ofp8_status {
    let result = || {
        let packing = packing_of(packing)?;
        // SAFETY: this function's contract.
        let bytes = unsafe { out(bytes)? };
        bytes.write(packing.packed_len(count));
        Ok(())
    };
    status(result())
}

/// Packs `count` codes, one a byte (their high bits are ignored), into as many bytes as
/// `ofp8_packed_size` says; bits of the last byte that hold no code are zero.
///
/// Statuses: `OFP8_UNKNOWN_PACKING`, `OFP8_NULL_POINTER`, `OFP8_SHAPE` (the size overflows),
/// `OFP8_OVERLAP`.
///
/// # Safety
/// `codes` points to `count` bytes, `packed` to memory for the packed ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_pack(
    packing: u32,
    codes: *const u8,
    count: usize,
    packed: *mut u8,
) -> ofp8_status {
    let result = || {
        let packing = packing_of(packing)?;
        let bytes = packing.packed_len(count);
        disjoint(&[
            Extent::new(codes, count, 1)?,
            Extent::new(packed, bytes, 1)?,
        ])?;
        // SAFETY: this function's contract; the buffers are disjoint.
        let (codes, packed) = unsafe { (slice(codes, count)?, slice_mut(packed, bytes)?) };
        Ok(packing.pack(codes, packed)?)
    };
    status(result())
}

/// Unpacks `count` codes, one a byte, their high bits zero; the inverse of `ofp8_pack`.
///
/// Statuses: as `ofp8_pack`.
///
/// # Safety
/// `packed` points to as many bytes as `ofp8_packed_size` says, `codes` to memory for `count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_unpack(
    packing: u32,
    packed: *const u8,
    count: usize,
    codes: *mut u8,
) -> ofp8_status {
    let result = || {
        let packing = packing_of(packing)?;
        let bytes = packing.packed_len(count);
        disjoint(&[
            Extent::new(codes, count, 1)?,
            Extent::new(packed, bytes, 1)?,
        ])?;
        // SAFETY: this function's contract; the buffers are disjoint.
        let (packed, codes) = unsafe { (slice(packed, bytes)?, slice_mut(codes, count)?) };
        Ok(packing.unpack(packed, codes)?)
    };
    status(result())
}

/// The packing with a number.
fn packing_of(number: u32) -> Result<Packing, ofp8_status> {
    Packing::from_number(number).ok_or(ofp8_status::OFP8_UNKNOWN_PACKING)
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gradients over many micro-batches.

use core::ffi::c_void;
use core::mem::size_of;

use super::accumulate::check_tensor_scale;
use super::argument::{self, Descriptor, Extent, disjoint, float_type, matrix, matrix_mut, span};
use super::inspect::ofp8_stats;
use super::quantize::{ScaleBuffer, ScaleBufferMut, optional, scale_size};
use super::recipe::{ofp8_recipe, recipe_of};
use super::slice::{ofp8_philox, philox_of};
use super::status::{ofp8_status, status};
use crate::accumulate::Gradient;
use crate::float::{Bf16, F16};
use crate::spec::FloatType;

/// A gradient that is summed in f32 over micro-batches. Begin with the memory set to zero and a
/// count of 0. What is there can be saved and restored as it is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ofp8_gradient {
    /// `sizeof(ofp8_gradient)`.
    pub struct_size: usize,
    /// Rows of the gradient.
    pub rows: usize,
    /// Columns of the gradient.
    pub cols: usize,
    /// The sum: `rows * cols` f32.
    pub sum: *mut f32,
    /// As many f32 again for what rounding loses (Neumaier's compensation), or null.
    pub lost: *mut f32,
    /// Micro-batches added, up to 2^64 - 1.
    pub count: u64,
}

// SAFETY: repr(C), begins with its size as usize, integers and pointers only. On 32-bit targets
// with 8-byte alignment of u64 there are four bytes of padding, which nobody reads.
unsafe impl Descriptor for ofp8_gradient {}

/// The gradient behind a pointer, and the memory that it writes.
struct Buffer<'a> {
    gradient: Gradient<'a>,
    extents: [Extent; 3],
    rows: usize,
    cols: usize,
}

/// The structure behind a pointer, and the memory that it writes.
///
/// # Safety
/// As [`argument::sized`].
unsafe fn given_of(
    pointer: *mut ofp8_gradient,
) -> Result<(ofp8_gradient, [Extent; 3]), ofp8_status> {
    // SAFETY: this function's contract.
    let given = unsafe { argument::sized(pointer.cast_const())? };
    if given.struct_size < size_of::<ofp8_gradient>() {
        // The count is written back.
        return Err(ofp8_status::OFP8_STRUCT_SIZE);
    }
    let len = span(given.rows, given.cols, given.cols)?;
    let of_lost = if given.lost.is_null() { 0 } else { len };
    let extents = [
        Extent::new(given.sum, len, size_of::<f32>())?,
        Extent::new(given.lost, of_lost, size_of::<f32>())?,
        Extent::new(pointer, 1, size_of::<ofp8_gradient>())?,
    ];
    disjoint(&extents)?;
    Ok((given, extents))
}

/// The gradient behind a pointer.
///
/// # Safety
/// As [`argument::sized`]; the buffers are as large as the structure says, and nothing else uses
/// them.
unsafe fn gradient_of<'a>(pointer: *mut ofp8_gradient) -> Result<Buffer<'a>, ofp8_status> {
    // SAFETY: this function's contract.
    let (given, extents) = unsafe { given_of(pointer)? };
    let (rows, cols) = (given.rows, given.cols);
    // SAFETY: this function's contract; the two are disjoint.
    let (sum, lost) = unsafe {
        let sum = matrix_mut(given.sum, rows, cols, cols)?;
        let lost = match given.lost.is_null() {
            true => None,
            false => Some(matrix_mut(given.lost, rows, cols, cols)?),
        };
        (sum, lost)
    };
    Ok(Buffer {
        gradient: Gradient::resume(sum, lost, given.count)?,
        extents,
        rows,
        cols,
    })
}

impl Buffer<'_> {
    /// Refuses overlap with other memory.
    fn apart_from(&self, others: &[Extent]) -> Result<(), ofp8_status> {
        for mine in self.extents {
            for &other in others {
                disjoint(&[mine, other])?;
            }
        }
        Ok(())
    }

    /// Writes the count back.
    ///
    /// # Safety
    /// `pointer` is the one that this buffer came from.
    unsafe fn store_count(&self, pointer: *mut ofp8_gradient) {
        // SAFETY: not null, aligned and large enough, since the whole structure was read.
        unsafe { (*pointer).count = self.gradient.count() };
    }

    fn or_cols(&self, stride: usize) -> usize {
        if stride == 0 { self.cols } else { stride }
    }
}

/// Adds a micro-batch: sum += scale * source, the product rounded to f32, then the sum.
/// `wide_type` is `OFP8_F32`, `OFP8_F16` or `OFP8_BF16`; rows of `source` are `stride` elements
/// apart, 0 for `cols`.
///
/// Statuses: `OFP8_STRUCT_SIZE`, `OFP8_UNKNOWN_TYPE`, `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`,
/// `OFP8_OVERLAP`, `OFP8_SHAPE`.
///
/// # Safety
/// `gradient` is null or points to a structure whose buffers are as large as it says; `source`
/// points to as many values as the gradient's shape spans.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_accumulate_gradient(
    gradient: *mut ofp8_gradient,
    wide_type: u32,
    source: *const c_void,
    stride: usize,
    scale: f32,
) -> ofp8_status {
    let call = || {
        // SAFETY: this function's contract.
        let mut buffer = unsafe { gradient_of(gradient)? };
        let wide_type = float_type(wide_type)?;
        if wide_type == FloatType::F64 {
            return Err(ofp8_status::OFP8_UNKNOWN_TYPE);
        }
        let (rows, cols, stride) = (buffer.rows, buffer.cols, buffer.or_cols(stride));
        let len = span(rows, cols, stride)?;
        buffer.apart_from(&[Extent::new(source, len, wide_type.size())?])?;
        let sum = &mut buffer.gradient;
        // SAFETY: this function's contract; F16 and Bf16 are transparent u16.
        unsafe {
            match wide_type {
                FloatType::F16 => sum.add(matrix(source.cast::<F16>(), rows, cols, stride)?, scale),
                FloatType::Bf16 => {
                    sum.add(matrix(source.cast::<Bf16>(), rows, cols, stride)?, scale)
                }
                _ => sum.add(matrix(source.cast::<f32>(), rows, cols, stride)?, scale),
            }?;
            buffer.store_count(gradient);
        }
        Ok(())
    };
    status(call())
}

/// Adds a micro-batch that was quantized by a recipe: sum += scale * decode(code). Rows of
/// `codes` are `code_stride` bytes apart, 0 for `cols`; scales as `ofp8_dequantize` takes them.
///
/// Statuses: those of a recipe; `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`, `OFP8_OVERLAP`,
/// `OFP8_SHAPE`, `OFP8_LENGTH` (of the scales).
///
/// # Safety
/// As `ofp8_accumulate_gradient` and `ofp8_dequantize`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_accumulate_gradient_codes(
    gradient: *mut ofp8_gradient,
    recipe: *const ofp8_recipe,
    codes: *const u8,
    code_stride: usize,
    scales: *const c_void,
    scale_count: usize,
    tensor_scale: *const f32,
) -> ofp8_status {
    let call = || {
        // SAFETY: this function's contract.
        let (mut buffer, recipe) = unsafe { (gradient_of(gradient)?, recipe_of(recipe)?) };
        let (rows, cols, stride) = (buffer.rows, buffer.cols, buffer.or_cols(code_stride));
        let tensors = check_tensor_scale(&recipe, tensor_scale)?;
        buffer.apart_from(&[
            Extent::new(codes, span(rows, cols, stride)?, 1)?,
            Extent::new(scales, scale_count, scale_size(&recipe))?,
            Extent::new(tensor_scale, tensors, size_of::<f32>())?,
        ])?;
        // SAFETY: this function's contract.
        unsafe {
            let codes = matrix(codes, rows, cols, stride)?;
            let scales = ScaleBuffer::new(&recipe, scales, scale_count, tensor_scale, tensors)?;
            let scales = scales.part(0, scale_count);
            buffer.gradient.add_codes(&recipe, codes, scales)?;
            buffer.store_count(gradient);
        }
        Ok(())
    };
    status(call())
}

/// Adds all of another gradient of the same shape, and its count.
///
/// Statuses: `OFP8_STRUCT_SIZE`, `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`, `OFP8_OVERLAP`,
/// `OFP8_SHAPE`.
///
/// # Safety
/// As `ofp8_accumulate_gradient`, for both.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_merge_gradient(
    into: *mut ofp8_gradient,
    other: *mut ofp8_gradient,
) -> ofp8_status {
    let call = || {
        // SAFETY: this function's contract. No slice is made before the overlap is looked for.
        let (mine, others) = unsafe { (given_of(into)?.1, given_of(other)?.1) };
        for extent in mine {
            for other in others {
                disjoint(&[extent, other])?;
            }
        }
        // SAFETY: this function's contract; all buffers are disjoint.
        let (mut buffer, other) = unsafe { (gradient_of(into)?, gradient_of(other)?) };
        buffer.gradient.merge(&other.gradient)?;
        // SAFETY: the pointer that the buffer came from.
        unsafe { buffer.store_count(into) };
        Ok(())
    };
    status(call())
}

/// Divides the sum by the count: one f32 addition of what was lost, one division. The gradient
/// then counts as one micro-batch; an empty one stays as it is.
///
/// Statuses: `OFP8_STRUCT_SIZE`, `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`, `OFP8_OVERLAP`,
/// `OFP8_SHAPE`.
///
/// # Safety
/// As `ofp8_accumulate_gradient`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_average_gradient(gradient: *mut ofp8_gradient) -> ofp8_status {
    let call = || {
        // SAFETY: this function's contract.
        let mut buffer = unsafe { gradient_of(gradient)? };
        buffer.gradient.average();
        // SAFETY: the pointer that the buffer came from.
        unsafe { buffer.store_count(gradient) };
        Ok(())
    };
    status(call())
}

/// Averages as `ofp8_average_gradient` and quantizes by a recipe. Rows of `codes` are
/// `code_stride` bytes apart, 0 for `cols`. `random` is read for a stochastic rounding only;
/// `stats` may be null.
///
/// Statuses: as `ofp8_average_gradient` and `ofp8_quantize`.
///
/// # Safety
/// As `ofp8_accumulate_gradient` and `ofp8_quantize`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_quantize_gradient(
    gradient: *mut ofp8_gradient,
    recipe: *const ofp8_recipe,
    random: *const ofp8_philox,
    codes: *mut u8,
    code_stride: usize,
    scales: *mut c_void,
    scale_count: usize,
    tensor_scale: *mut f32,
    stats: *mut ofp8_stats,
) -> ofp8_status {
    let call = || {
        // SAFETY: this function's contract.
        let (mut buffer, recipe) = unsafe { (gradient_of(gradient)?, recipe_of(recipe)?) };
        // SAFETY: this function's contract.
        let random = unsafe { philox_of(random)? };
        let (rows, cols, stride) = (buffer.rows, buffer.cols, buffer.or_cols(code_stride));
        let tensors = check_tensor_scale(&recipe, tensor_scale)?;
        let written = [
            Extent::new(codes, span(rows, cols, stride)?, 1)?,
            Extent::new(scales, scale_count, scale_size(&recipe))?,
            Extent::new(tensor_scale, tensors, size_of::<f32>())?,
            Extent::new(stats, !stats.is_null() as usize, size_of::<ofp8_stats>())?,
        ];
        disjoint(&written)?;
        buffer.apart_from(&written)?;
        // SAFETY: this function's contract; what is written overlaps nothing.
        unsafe {
            let stats = optional(stats)?;
            let codes = matrix_mut(codes, rows, cols, stride)?;
            let mut scales =
                ScaleBufferMut::new(&recipe, scales, scale_count, tensor_scale, tensors)?;
            let scales = scales.part(0, scale_count)?;
            let seen = buffer.gradient.quantize(&recipe, random, codes, scales)?;
            buffer.store_count(gradient);
            if let Some(stats) = stats {
                stats.write(seen.into());
            }
        }
        Ok(())
    };
    status(call())
}

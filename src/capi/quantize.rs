// SPDX-License-Identifier: MIT OR Apache-2.0
//! Matrices under a recipe.

use core::ffi::c_void;
use core::mem::size_of;

use super::argument::{
    self, Descriptor, Extent, disjoint, float_type, matrix, matrix_mut, out, slice, slice_mut, span,
};
use super::recipe::{ofp8_recipe, recipe_of};
use super::slice::{ofp8_philox, philox_of};
use super::status::{ofp8_status, status};
use crate::float::{Bf16, F16, FitsF32};
use crate::matrix::{Matrix, MatrixMut};
use crate::monitor::{self, Measure};
use crate::random::Philox;
use crate::scale::{self, NotFinite, Recipe, Scales, ScalesMut, Scaling};
use crate::spec::FloatType;
use crate::stats::{Amax, Stats};

/// The shape of a call: a row-major matrix of wide values and one of codes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ofp8_shape {
    /// `sizeof(ofp8_shape)`.
    pub struct_size: usize,
    /// Rows of the matrix.
    pub rows: usize,
    /// Columns of the matrix.
    pub cols: usize,
    /// Elements between the beginnings of two rows of wide values; 0 means `cols`.
    pub stride: usize,
    /// Bytes between the beginnings of two rows of codes; 0 means `cols`.
    pub code_stride: usize,
    /// The type of the wide values: `OFP8_F32`, `OFP8_F16` or `OFP8_BF16`.
    pub wide_type: u32,
    /// Must be 0.
    pub reserved: u32,
}

// SAFETY: repr(C), begins with its size as usize, integers only, without padding on 64-bit and
// 32-bit targets.
unsafe impl Descriptor for ofp8_shape {}

/// What a pass of quantization saw: integers, so that every cut of the work adds up to the same
/// (`ofp8_merge_stats`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ofp8_stats {
    /// Elements seen.
    pub count: u64,
    /// Source elements that are zero.
    pub zero: u64,
    /// Finite source elements that rounded to beyond the largest value of the format.
    pub saturated: u64,
    /// Source elements that are neither zero nor NaN and were stored as zero.
    pub underflowed: u64,
    /// Source elements that are NaN.
    pub nan: u64,
    /// Source elements that are infinite.
    pub infinite: u64,
    /// The amax of the source, as `ofp8_amax` writes it.
    pub amax: u32,
    /// The bits of the smallest nonzero absolute value as f32; those of infinity where there was
    /// none.
    pub min_nonzero: u32,
}

impl From<Stats> for ofp8_stats {
    fn from(stats: Stats) -> ofp8_stats {
        ofp8_stats {
            count: stats.count,
            zero: stats.zero,
            saturated: stats.saturated,
            underflowed: stats.underflowed,
            nan: stats.nan,
            infinite: stats.infinite,
            amax: stats.amax.to_bits(),
            min_nonzero: stats.min_nonzero,
        }
    }
}

impl From<ofp8_stats> for Stats {
    fn from(stats: ofp8_stats) -> Stats {
        Stats {
            count: stats.count,
            zero: stats.zero,
            saturated: stats.saturated,
            underflowed: stats.underflowed,
            nan: stats.nan,
            infinite: stats.infinite,
            amax: Amax::from_bits(stats.amax),
            min_nonzero: stats.min_nonzero,
        }
    }
}

/// The first element that is an infinity or a NaN.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ofp8_not_finite {
    /// Its row.
    pub row: usize,
    /// Its column.
    pub col: usize,
    /// Its value.
    pub value: f32,
    /// 1 if there is one; 0 if all elements are finite, and then the rest is zero.
    pub found: u32,
}

/// The error of a quantization, over the elements where source and result are finite.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ofp8_measured {
    /// Elements compared.
    pub count: u64,
    /// Sum of the squares of the source.
    pub signal: f64,
    /// Sum of the squares of the differences.
    pub noise: f64,
    /// Sum of the absolute differences.
    pub absolute: f64,
    /// Largest absolute difference.
    pub max_absolute: f64,
    /// Largest |difference| / |source| over the elements that are not zero.
    pub max_relative: f64,
}

impl From<Measure> for ofp8_measured {
    fn from(measure: Measure) -> ofp8_measured {
        ofp8_measured {
            count: measure.count,
            signal: measure.signal,
            noise: measure.noise,
            absolute: measure.absolute,
            max_absolute: measure.max_absolute,
            max_relative: measure.max_relative,
        }
    }
}

/// A checked shape.
struct Shape {
    rows: usize,
    cols: usize,
    stride: usize,
    code_stride: usize,
    wide_type: FloatType,
}

impl Shape {
    /// Bytes of the wide matrix, as a range of addresses.
    fn wide<T>(&self, pointer: *const T) -> Result<Extent, ofp8_status> {
        let len = span(self.rows, self.cols, self.stride)?;
        Extent::new(pointer, len, self.wide_type.size())
    }

    /// Bytes of the matrix of codes, as a range of addresses.
    fn codes(&self, pointer: *const u8) -> Result<Extent, ofp8_status> {
        Extent::new(pointer, span(self.rows, self.cols, self.code_stride)?, 1)
    }
}

/// The shape behind a pointer.
///
/// # Safety
/// As [`argument::sized`].
unsafe fn shape_of(pointer: *const ofp8_shape) -> Result<Shape, ofp8_status> {
    // SAFETY: this function's contract.
    let given = unsafe { argument::sized(pointer)? };
    let wide_type = float_type(given.wide_type)?;
    if wide_type == FloatType::F64 {
        return Err(ofp8_status::OFP8_UNKNOWN_TYPE);
    }
    if given.reserved != 0 {
        return Err(ofp8_status::OFP8_STRUCT_SIZE);
    }
    let or_cols = |stride| if stride == 0 { given.cols } else { stride };
    let shape = Shape {
        rows: given.rows,
        cols: given.cols,
        stride: or_cols(given.stride),
        code_stride: or_cols(given.code_stride),
        wide_type,
    };
    given
        .rows
        .checked_mul(given.cols)
        .ok_or(ofp8_status::OFP8_SHAPE)?;
    Ok(shape)
}

/// Bytes of one scale.
fn scale_size(recipe: &Recipe) -> usize {
    match recipe.scaling() {
        Scaling::E8M0(_) => 1,
        _ => size_of::<f32>(),
    }
}

/// Scales to read.
///
/// # Safety
/// `scales` points to `count` scales of the recipe's kind that nothing writes.
unsafe fn scales_of<'a>(
    recipe: &Recipe,
    scales: *const c_void,
    count: usize,
) -> Result<Scales<'a>, ofp8_status> {
    // SAFETY: this function's contract.
    unsafe {
        Ok(match recipe.scaling() {
            Scaling::E8M0(_) => Scales::E8M0(slice(scales.cast(), count)?),
            _ => Scales::F32(slice(scales.cast(), count)?),
        })
    }
}

/// Scales to write.
///
/// # Safety
/// `scales` points to memory for `count` scales of the recipe's kind that nothing else uses.
unsafe fn scales_mut_of<'a>(
    recipe: &Recipe,
    scales: *mut c_void,
    count: usize,
) -> Result<ScalesMut<'a>, ofp8_status> {
    // SAFETY: this function's contract.
    unsafe {
        Ok(match recipe.scaling() {
            Scaling::E8M0(_) => ScalesMut::E8M0(slice_mut(scales.cast(), count)?),
            _ => ScalesMut::F32(slice_mut(scales.cast(), count)?),
        })
    }
}

/// The amaxes of the blocks.
///
/// # Safety
/// As [`argument::slice_mut`].
unsafe fn amaxes<'a>(pointer: *mut u32, count: usize) -> Result<&'a mut [Amax], ofp8_status> {
    // SAFETY: this function's contract; `Amax` is a transparent u32.
    unsafe { slice_mut(pointer.cast::<Amax>(), count) }
}

/// An output that may be left out.
///
/// # Safety
/// As [`argument::out`].
unsafe fn optional<'a, T>(
    pointer: *mut T,
) -> Result<Option<&'a mut core::mem::MaybeUninit<T>>, ofp8_status> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: this function's contract.
    unsafe { out(pointer) }.map(Some)
}

/// Runs the quantizer on one source type.
fn quantize<S: FitsF32>(
    recipe: &Recipe,
    random: Option<Philox>,
    source: Matrix<'_, S>,
    amax: Option<&[Amax]>,
    codes: MatrixMut<'_, u8>,
    scales: ScalesMut<'_>,
) -> Result<Stats, ofp8_status> {
    Ok(match (amax, random) {
        (Some(amax), random) => recipe.quantize_from_amax(random, source, amax, codes, scales)?,
        (None, None) => recipe.quantize(source, codes, scales)?,
        (None, Some(random)) => recipe.quantize_stochastic(random, source, codes, scales)?,
    })
}

/// Quantizes a matrix: codes (one a byte), one scale a block, and what was seen.
///
/// `scales` holds `scale_count` f32 or, for `OFP8_SCALING_E8M0`, bytes: exactly as many as
/// `ofp8_scale_grid` says, row-major. `amax` is null, or holds the amax of each block computed
/// before, perhaps over more data than this (other ranks'); then the blocks are not searched.
/// `random` is read for a stochastic rounding only and may be null otherwise: the number of an
/// element is `first_index + row * cols + col`. `stats` may be null.
///
/// Statuses: those of a recipe (`OFP8_STRUCT_SIZE`, `OFP8_UNKNOWN_FORMAT`,
/// `OFP8_UNKNOWN_POLICY`, `OFP8_RECIPE`), `OFP8_UNKNOWN_TYPE`, `OFP8_NULL_POINTER`,
/// `OFP8_MISALIGNED`, `OFP8_OVERLAP`, `OFP8_SHAPE`, `OFP8_LENGTH` (of the scales),
/// `OFP8_RANDOM_BITS`, `OFP8_NOT_FINITE` (a given amax under `OFP8_SPECIAL_IGNORE`).
///
/// # Safety
/// Structures are null or as large as their `struct_size`; `source`, `codes` and `scales` point
/// to as many elements as the shape and the counts say, `amax` to `scale_count` integers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_quantize(
    recipe: *const ofp8_recipe,
    shape: *const ofp8_shape,
    random: *const ofp8_philox,
    source: *const c_void,
    amax: *const u32,
    codes: *mut u8,
    scales: *mut c_void,
    scale_count: usize,
    stats: *mut ofp8_stats,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let (recipe, shape, random) =
            unsafe { (recipe_of(recipe)?, shape_of(shape)?, philox_of(random)?) };
        let amax_count = if amax.is_null() { 0 } else { scale_count };
        let written = [
            shape.codes(codes)?,
            Extent::new(scales, scale_count, scale_size(&recipe))?,
            Extent::new(stats, !stats.is_null() as usize, size_of::<ofp8_stats>())?,
        ];
        for read in [
            shape.wide(source)?,
            Extent::new(amax, amax_count, size_of::<u32>())?,
        ] {
            disjoint(&[read, written[0], written[1], written[2]])?;
        }
        // SAFETY: this function's contract; what is written overlaps nothing.
        let stats = unsafe { optional(stats)? };
        // SAFETY: as above; `Amax` is a transparent u32.
        let amax = unsafe { slice(amax.cast::<Amax>(), amax_count)? };
        let amax = (!amax.is_empty()).then_some(amax);
        // SAFETY: as above.
        let codes = unsafe { matrix_mut(codes, shape.rows, shape.cols, shape.code_stride)? };
        // SAFETY: as above.
        let scales = unsafe { scales_mut_of(&recipe, scales, scale_count)? };
        let (rows, cols, stride) = (shape.rows, shape.cols, shape.stride);
        // SAFETY: as above; F16 and Bf16 are transparent u16.
        let seen = unsafe {
            match shape.wide_type {
                FloatType::F16 => {
                    let source = matrix(source.cast::<F16>(), rows, cols, stride)?;
                    quantize(&recipe, random, source, amax, codes, scales)?
                }
                FloatType::Bf16 => {
                    let source = matrix(source.cast::<Bf16>(), rows, cols, stride)?;
                    quantize(&recipe, random, source, amax, codes, scales)?
                }
                _ => {
                    let source = matrix(source.cast::<f32>(), rows, cols, stride)?;
                    quantize(&recipe, random, source, amax, codes, scales)?
                }
            }
        };
        if let Some(stats) = stats {
            stats.write(seen.into());
        }
        Ok(())
    };
    status(result())
}

/// Writes the amax of each block (as `ofp8_amax` writes it), row-major over the grid: what ranks
/// merge (`ofp8_merge_amax`, or `MPI_MAX` on `MPI_UINT32_T`) before they pass it to
/// `ofp8_quantize`. Under `OFP8_SPECIAL_IGNORE`, of the finite elements.
///
/// Statuses: those of a recipe; `OFP8_UNKNOWN_TYPE`, `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`,
/// `OFP8_OVERLAP`, `OFP8_SHAPE`, `OFP8_LENGTH` (of the amaxes).
///
/// # Safety
/// As `ofp8_quantize`; `amax` points to memory for `amax_count` integers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_amax_blocks(
    recipe: *const ofp8_recipe,
    shape: *const ofp8_shape,
    source: *const c_void,
    amax: *mut u32,
    amax_count: usize,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let (recipe, shape) = unsafe { (recipe_of(recipe)?, shape_of(shape)?) };
        disjoint(&[
            shape.wide(source)?,
            Extent::new(amax, amax_count, size_of::<u32>())?,
        ])?;
        let (rows, cols, stride) = (shape.rows, shape.cols, shape.stride);
        // SAFETY: this function's contract; the buffers are disjoint; F16 and Bf16 are
        // transparent u16.
        unsafe {
            let amax = amaxes(amax, amax_count)?;
            match shape.wide_type {
                FloatType::F16 => {
                    recipe.amax(matrix(source.cast::<F16>(), rows, cols, stride)?, amax)?;
                }
                FloatType::Bf16 => {
                    recipe.amax(matrix(source.cast::<Bf16>(), rows, cols, stride)?, amax)?;
                }
                _ => recipe.amax(matrix(source.cast::<f32>(), rows, cols, stride)?, amax)?,
            }
        }
        Ok(())
    };
    status(result())
}

/// Multiplies every code by the scale of its block: one f32 product, rounded once more to
/// nearest-even for f16 and bf16 targets. `shape` says the type and stride of the target.
///
/// Statuses: as `ofp8_quantize`.
///
/// # Safety
/// As `ofp8_quantize`; `target` points to memory for as many values as the shape spans.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_dequantize(
    recipe: *const ofp8_recipe,
    shape: *const ofp8_shape,
    codes: *const u8,
    scales: *const c_void,
    scale_count: usize,
    target: *mut c_void,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let (recipe, shape) = unsafe { (recipe_of(recipe)?, shape_of(shape)?) };
        let written = shape.wide(target)?;
        disjoint(&[written, shape.codes(codes)?])?;
        let scale_extent = Extent::new(scales, scale_count, scale_size(&recipe))?;
        disjoint(&[written, scale_extent])?;
        let (rows, cols, stride) = (shape.rows, shape.cols, shape.stride);
        // SAFETY: this function's contract; what is written overlaps nothing; F16 and Bf16 are
        // transparent u16.
        unsafe {
            let codes = matrix(codes, rows, cols, shape.code_stride)?;
            let scales = scales_of(&recipe, scales, scale_count)?;
            match shape.wide_type {
                FloatType::F16 => {
                    let target = matrix_mut(target.cast::<F16>(), rows, cols, stride)?;
                    recipe.dequantize(codes, scales, target)?;
                }
                FloatType::Bf16 => {
                    let target = matrix_mut(target.cast::<Bf16>(), rows, cols, stride)?;
                    recipe.dequantize(codes, scales, target)?;
                }
                _ => {
                    let target = matrix_mut(target.cast::<f32>(), rows, cols, stride)?;
                    recipe.dequantize(codes, scales, target)?;
                }
            }
        }
        Ok(())
    };
    status(result())
}

/// Looks for infinities and NaN before anything is quantized: writes the first in row-major
/// order, or that there is none.
///
/// Statuses: `OFP8_STRUCT_SIZE`, `OFP8_UNKNOWN_TYPE`, `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`,
/// `OFP8_OVERLAP`, `OFP8_SHAPE`.
///
/// # Safety
/// As `ofp8_quantize`; `first` is null or points to memory for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_validate(
    shape: *const ofp8_shape,
    source: *const c_void,
    first: *mut ofp8_not_finite,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let shape = unsafe { shape_of(shape)? };
        disjoint(&[
            shape.wide(source)?,
            Extent::new(first, 1, size_of::<ofp8_not_finite>())?,
        ])?;
        // SAFETY: this function's contract; the two are disjoint.
        let first = unsafe { out(first)? };
        let (rows, cols, stride) = (shape.rows, shape.cols, shape.stride);
        // SAFETY: this function's contract; F16 and Bf16 are transparent u16.
        let found = unsafe {
            match shape.wide_type {
                FloatType::F16 => {
                    scale::validate(matrix(source.cast::<F16>(), rows, cols, stride)?)
                }
                FloatType::Bf16 => {
                    scale::validate(matrix(source.cast::<Bf16>(), rows, cols, stride)?)
                }
                _ => scale::validate(matrix(source.cast::<f32>(), rows, cols, stride)?),
            }
        };
        first.write(match found {
            Ok(()) => ofp8_not_finite {
                row: 0,
                col: 0,
                value: 0.0,
                found: 0,
            },
            Err(NotFinite { row, col, value }) => ofp8_not_finite {
                row,
                col,
                value,
                found: 1,
            },
        });
        Ok(())
    };
    status(result())
}

/// Compares a matrix with what was stored of it, dequantized to f32 (rows `dequantized_stride`
/// elements apart, 0 for `cols`). The order of the sums is fixed: see the Rust documentation of
/// `Measure`.
///
/// Statuses: as `ofp8_validate`.
///
/// # Safety
/// As `ofp8_quantize`; `dequantized` points to as many values as the matrix spans.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_measure(
    shape: *const ofp8_shape,
    source: *const c_void,
    dequantized: *const f32,
    dequantized_stride: usize,
    measured: *mut ofp8_measured,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let shape = unsafe { shape_of(shape)? };
        let (rows, cols, stride) = (shape.rows, shape.cols, shape.stride);
        let other_stride = if dequantized_stride == 0 {
            cols
        } else {
            dequantized_stride
        };
        let other_extent = Extent::new(
            dequantized,
            span(rows, cols, other_stride)?,
            size_of::<f32>(),
        )?;
        let written = Extent::new(measured, 1, size_of::<ofp8_measured>())?;
        disjoint(&[written, shape.wide(source)?])?;
        disjoint(&[written, other_extent])?;
        // SAFETY: this function's contract; what is written overlaps nothing.
        let measured = unsafe { out(measured)? };
        // SAFETY: this function's contract; F16 and Bf16 are transparent u16.
        let seen = unsafe {
            let other = matrix(dequantized, rows, cols, other_stride)?;
            match shape.wide_type {
                FloatType::F16 => {
                    monitor::measure(matrix(source.cast::<F16>(), rows, cols, stride)?, other)?
                }
                FloatType::Bf16 => {
                    monitor::measure(matrix(source.cast::<Bf16>(), rows, cols, stride)?, other)?
                }
                _ => monitor::measure(matrix(source.cast::<f32>(), rows, cols, stride)?, other)?,
            }
        };
        measured.write(seen.into());
        Ok(())
    };
    status(result())
}

/// Adds the counts of two passes into the first.
///
/// Statuses: `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`.
///
/// # Safety
/// Each pointer is null or points to an initialised structure; they may be the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_merge_stats(
    into: *mut ofp8_stats,
    other: *const ofp8_stats,
) -> ofp8_status {
    if into.is_null() || other.is_null() {
        return ofp8_status::OFP8_NULL_POINTER;
    }
    if !into.is_aligned() || !other.is_aligned() {
        return ofp8_status::OFP8_MISALIGNED;
    }
    // SAFETY: not null, aligned; initialised by this function's contract. Both are read before
    // the first is written.
    unsafe {
        let merged = Stats::from(*into).merge(Stats::from(*other));
        into.write(merged.into());
    }
    ofp8_status::OFP8_OK
}

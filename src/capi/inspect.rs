// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a pass saw, what it lost, and whether its input is finite.

use core::ffi::c_void;
use core::mem::size_of;

use super::argument::{Extent, disjoint, out, slice};
use super::shape::{Shape, Strides, WithSource, ofp8_shape, shape_of, with_source};
use super::status::{ofp8_status, status};
use crate::float::FitsF32;
use crate::monitor::{self, Measure};
use crate::scale::{self, NotFinite};
use crate::stats::{Amax, Stats};

/// What a pass of quantization saw: integers, so that every cut of the work adds up to the same
/// (`ofp8_merge_stats`). All zero is a valid beginning.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ofp8_stats {
    /// Elements seen.
    pub count: u64,
    /// Source elements that are zero.
    pub zero: u64,
    /// Finite source elements that rounded to beyond the largest value of the format.
    pub saturated: u64,
    /// Source elements that are neither zero nor NaN and were stored as zero, or under a scale of
    /// zero.
    pub underflowed: u64,
    /// Source elements that are NaN.
    pub nan: u64,
    /// Source elements that are infinite.
    pub infinite: u64,
    /// The amax of the source, as `ofp8_amax` writes it.
    pub amax: u32,
    /// The bits of the smallest nonzero absolute value as f32; those of infinity where there was
    /// none (not looked at where `count` is 0).
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
        if stats.count == 0 {
            return Stats::EMPTY;
        }
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
    /// The matrix of the batch that it is in.
    pub batch: usize,
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

impl From<ofp8_measured> for Measure {
    fn from(measured: ofp8_measured) -> Measure {
        Measure {
            count: measured.count,
            signal: measured.signal,
            noise: measured.noise,
            absolute: measured.absolute,
            max_absolute: measured.max_absolute,
            max_relative: measured.max_relative,
        }
    }
}

/// Looks for the first infinity or NaN: which matrix, and where.
struct Validate(Shape);

impl WithSource for Validate {
    type Result = Option<(usize, NotFinite)>;

    fn run<S: FitsF32>(self, source: &[S]) -> Result<Self::Result, ofp8_status> {
        for batch in 0..self.0.occupied(0) {
            let source = self.0.matrix(source, self.0.wide, batch)?;
            if let Err(found) = scale::validate(source) {
                return Ok(Some((batch, found)));
            }
        }
        Ok(None)
    }
}

/// Looks for infinities and NaN before anything is quantized: writes the first, matrix by matrix
/// in row-major order, or that there is none.
///
/// Statuses: `OFP8_STRUCT_SIZE`, `OFP8_UNKNOWN_TYPE`, `OFP8_UNKNOWN_POLICY`, `OFP8_NULL_POINTER`,
/// `OFP8_MISALIGNED`, `OFP8_OVERLAP`, `OFP8_SHAPE`.
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
            shape.wide_extent(source)?,
            Extent::new(first, 1, size_of::<ofp8_not_finite>())?,
        ])?;
        // SAFETY: this function's contract; the two are disjoint.
        let (first, found) =
            unsafe { (out(first)?, with_source(&shape, source, Validate(shape))?) };
        first.write(match found {
            None => ofp8_not_finite {
                batch: 0,
                row: 0,
                col: 0,
                value: 0.0,
                found: 0,
            },
            Some((batch, NotFinite { row, col, value })) => ofp8_not_finite {
                batch,
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

/// Compares the matrices of a batch with what was stored of them.
struct MeasureAll<'a> {
    shape: Shape,
    dequantized: &'a [f32],
    strides: Strides,
}

impl WithSource for MeasureAll<'_> {
    type Result = Measure;

    fn run<S: FitsF32>(self, source: &[S]) -> Result<Measure, ofp8_status> {
        let mut total = Measure::default();
        for batch in 0..self.shape.occupied(0) {
            let source = self.shape.matrix(source, self.shape.wide, batch)?;
            let other = self.shape.matrix(self.dequantized, self.strides, batch)?;
            total = total.merge(monitor::measure(source, other)?);
        }
        Ok(total)
    }
}

/// Compares a matrix with what was stored of it, dequantized to f32: rows `dequantized_stride`
/// elements apart (0 for `cols`), matrices of a batch without gaps between them. The order of the
/// sums is fixed: see the Rust documentation of `Measure`.
///
/// Statuses: as `ofp8_validate`.
///
/// # Safety
/// As `ofp8_quantize`; `dequantized` points to as many values as the shape spans with that
/// stride.
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
        let row = if dequantized_stride == 0 {
            shape.cols
        } else {
            dequantized_stride
        };
        if shape.shard.is_some() && row != shape.cols {
            return Err(ofp8_status::OFP8_SHAPE);
        }
        let batch = shape.rows.checked_mul(row).ok_or(ofp8_status::OFP8_SHAPE)?;
        let strides = Strides { row, batch };
        let len = shape.span(strides)?;
        let written = Extent::new(measured, 1, size_of::<ofp8_measured>())?;
        disjoint(&[written, shape.wide_extent(source)?])?;
        disjoint(&[written, Extent::new(dequantized, len, size_of::<f32>())?])?;
        // SAFETY: this function's contract; what is written overlaps nothing.
        let (measured, seen) = unsafe {
            let work = MeasureAll {
                shape,
                dequantized: slice(dequantized, len)?,
                strides,
            };
            (out(measured)?, with_source(&shape, source, work)?)
        };
        measured.write(seen.into());
        Ok(())
    };
    status(result())
}

/// Merges a second structure into the first.
///
/// # Safety
/// Each pointer is null or points to an initialised structure; they may be the same.
unsafe fn merge<C: Copy + From<T>, T: From<C>>(
    into: *mut C,
    other: *const C,
    merged: impl Fn(T, T) -> T,
) -> ofp8_status {
    if into.is_null() || other.is_null() {
        return ofp8_status::OFP8_NULL_POINTER;
    }
    if !into.is_aligned() || !other.is_aligned() {
        return ofp8_status::OFP8_MISALIGNED;
    }
    // SAFETY: not null, aligned; initialised by this function's contract. Both are read before
    // the first is written.
    unsafe { into.write(merged((*into).into(), (*other).into()).into()) };
    ofp8_status::OFP8_OK
}

/// Adds the counts of two passes into the first. They stop at 2^64 - 1.
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
    // SAFETY: this function's contract.
    unsafe { merge(into, other, Stats::merge) }
}

/// Adds a second error, of another part, to the first. Sums are of f64: shards that are merged in the
/// same order give the same bits. The count stops at 2^64 - 1. All zero is a valid beginning.
///
/// Statuses: `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`.
///
/// # Safety
/// Each pointer is null or points to an initialised structure; they may be the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_merge_measured(
    into: *mut ofp8_measured,
    other: *const ofp8_measured,
) -> ofp8_status {
    // SAFETY: this function's contract.
    unsafe { merge(into, other, Measure::merge) }
}

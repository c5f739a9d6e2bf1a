// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two quantized copies from one read of a matrix, each as it lies or transposed.

use core::ffi::c_void;
use core::mem::{MaybeUninit, size_of};

use super::argument::{Descriptor, Extent, disjoint, sized, slice_mut};
use super::inspect::ofp8_stats;
use super::quantize::{
    ScaleBufferMut, check_random, has_tensor_scale, optional, scale_size, tensor_count,
};
use super::recipe::{ofp8_recipe, recipe_of};
use super::shape::{Shape, Strides, WithSource, ofp8_shape, shape_of, with_source};
use super::slice::{ofp8_philox, philox_of};
use super::status::{ofp8_status, status};
use crate::float::FitsF32;
use crate::random::Philox;
use crate::scale::{CopyMut, Recipe};
use crate::stats::Stats;

/// One quantized copy of a matrix, to be written. What is not needed stays zero.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ofp8_copy {
    /// `sizeof(ofp8_copy)`.
    pub struct_size: usize,
    /// The codes, one a byte.
    pub codes: *mut u8,
    /// The scales of the blocks.
    pub scales: *mut c_void,
    /// Their number; see `ofp8_quantize_copies`.
    pub scale_count: usize,
    /// The scale of each tensor under two levels, else null.
    pub tensor_scale: *mut f32,
    /// What was seen, or null.
    pub stats: *mut ofp8_stats,
    /// Random bits of a stochastic rounding, or null: for each copy another stream.
    pub random: *const ofp8_philox,
    /// Bytes between the beginnings of two rows of codes; 0 means no gaps.
    pub code_stride: usize,
    /// Bytes between the beginnings of two matrices of codes; 0 means no gaps.
    pub code_batch_stride: usize,
    /// 1 if codes and scales are those of the transposed matrix: a row of codes is a column of the
    /// source, and scales lie as those of the transposed matrix.
    pub is_transposed: u32,
    /// Must be 0.
    pub reserved: u32,
}

// SAFETY: repr(C), begins with its size as usize, integers and pointers only; without padding on
// 64-bit and 32-bit targets.
unsafe impl Descriptor for ofp8_copy {}

/// A copy whose arguments have been checked.
struct Output<'a> {
    /// The recipe, with blocks as they lie in the source.
    recipe: Recipe,
    /// The shape of the codes.
    shape: Shape,
    is_transposed: bool,
    random: Option<Philox>,
    codes: &'a mut [u8],
    scales: ScaleBufferMut<'a>,
    grid: usize,
    stats: Option<&'a mut MaybeUninit<ofp8_stats>>,
    seen: Stats,
}

impl Output<'_> {
    /// The copy of matrix number `batch`.
    fn copy(&mut self, batch: usize) -> Result<CopyMut<'_>, ofp8_status> {
        let codes = self.shape.matrix_mut(self.codes, self.shape.codes, batch)?;
        let scales = self.scales.part(batch, self.grid)?;
        let copy = if self.is_transposed {
            CopyMut::transposed(codes, scales)
        } else {
            CopyMut::new(codes, scales)
        };
        let before = (batch as u64).wrapping_mul(self.shape.elements());
        Ok(match self.random {
            Some(random) => copy.with_random(random.at(random.first_index.wrapping_add(before))),
            None => copy,
        })
    }
}

/// A copy as given, and the shape and extents of what it writes.
struct Given {
    copy: ofp8_copy,
    recipe: Recipe,
    shape: Shape,
    /// Scales that are stored for one matrix.
    grid: usize,
    extents: [Extent; 4],
}

impl Given {
    /// Checks a copy by this recipe; null is none.
    ///
    /// # Safety
    /// As [`ofp8_quantize_copies`].
    unsafe fn new(
        copy: *const ofp8_copy,
        recipe: Recipe,
        source: &Shape,
    ) -> Result<Option<Given>, ofp8_status> {
        const SHAPE: ofp8_status = ofp8_status::OFP8_SHAPE;
        if copy.is_null() {
            return Ok(None);
        }
        // SAFETY: this function's contract.
        let copy = unsafe { sized(copy)? };
        if copy.reserved != 0 {
            return Err(ofp8_status::OFP8_UNKNOWN_POLICY);
        }
        let (rows, cols) = match copy.is_transposed {
            0 => (source.rows, source.cols),
            1 if source.shard.is_none() => (source.cols, source.rows),
            1 => return Err(SHAPE),
            _ => return Err(ofp8_status::OFP8_UNKNOWN_POLICY),
        };
        let or = |given: usize, default: usize| if given == 0 { default } else { given };
        let row = or(copy.code_stride, cols);
        let batch = match copy.code_batch_stride {
            0 => rows.checked_mul(row).ok_or(SHAPE)?,
            given => given,
        };
        if source.shard.is_some() && row != cols {
            return Err(SHAPE);
        }
        let shape = Shape {
            rows,
            cols,
            codes: Strides { row, batch },
            ..*source
        };
        // Of a transposed copy the blocks are those of its own matrix.
        let own = if copy.is_transposed == 1 {
            recipe.turned()
        } else {
            recipe
        };
        let grid = shape.scales(&own, copy.scale_count)?;
        let tensors = tensor_count(&recipe, source, copy.tensor_scale)?;
        let extents = [
            shape.code_extent(copy.codes)?,
            Extent::new(copy.scales, copy.scale_count, scale_size(&recipe))?,
            Extent::new(copy.tensor_scale, tensors, size_of::<f32>())?,
            Extent::new(copy.stats, 1, size_of::<ofp8_stats>())?,
        ];
        Ok(Some(Given {
            copy,
            recipe,
            shape,
            grid,
            extents,
        }))
    }

    /// Makes references of its pointers.
    ///
    /// # Safety
    /// As [`ofp8_quantize_copies`]; what is written overlaps nothing.
    unsafe fn output<'a>(&self) -> Result<Output<'a>, ofp8_status> {
        let Given {
            copy,
            recipe,
            shape,
            grid,
            ..
        } = self;
        // SAFETY: this function's contract.
        unsafe {
            let random = philox_of(copy.random)?;
            check_random(recipe, random)?;
            let stats = optional(copy.stats)?;
            let (count, tensor) = (copy.scale_count, copy.tensor_scale);
            Ok(Output {
                recipe: *recipe,
                shape: *shape,
                is_transposed: copy.is_transposed == 1,
                random,
                codes: slice_mut(copy.codes, shape.span(shape.codes)?)?,
                scales: ScaleBufferMut::new(recipe, copy.scales, count, tensor, shape.batches)?,
                grid: *grid,
                stats,
                seen: Stats::EMPTY,
            })
        }
    }
}

/// Two copies, or one, whose arguments have been checked.
struct Copies<'a, 'b> {
    shape: Shape,
    recipe: Recipe,
    rowwise: Option<&'a mut Output<'b>>,
    columnwise: Option<&'a mut Output<'b>>,
}

impl WithSource for Copies<'_, '_> {
    type Result = ();

    fn run<S: FitsF32>(mut self, source: &[S]) -> Result<(), ofp8_status> {
        for batch in 0..self.shape.occupied(has_tensor_scale(&self.recipe) as usize) {
            let source = self.shape.matrix(source, self.shape.wide, batch)?;
            match (&mut self.rowwise, &mut self.columnwise) {
                (Some(row), Some(column)) => {
                    let (of_row, of_column) = (row.copy(batch)?, column.copy(batch)?);
                    let both = self.recipe.quantize_both(source, of_row, of_column)?;
                    let [of_row, of_column] = both;
                    row.seen = row.seen.merge(of_row);
                    column.seen = column.seen.merge(of_column);
                }
                (Some(one), None) | (None, Some(one)) => {
                    let recipe = one.recipe;
                    let seen = recipe.quantize_copy(source, one.copy(batch)?)?;
                    one.seen = one.seen.merge(seen);
                }
                (None, None) => {}
            }
        }
        Ok(())
    }
}

/// Quantizes a matrix twice from one read of it: `rowwise` by the recipe, `columnwise` with its
/// blocks turned (32x1 for 1x32). Each copy is what a call of its own would give; each may be
/// transposed, or left out (null). For Blackwell: MX blocks of 1x32, both copies as they lie. For
/// Hopper: blocks of 1x128, the columnwise copy transposed, so that both have 1x128 blocks along K.
///
/// `scale_count` is what `ofp8_scale_count` says of the copy's own matrix and blocks (times the
/// batch): for a columnwise copy that is transposed, exchange `rows` and `cols`; for one that is not,
/// the recipe's `block_rows` and `block_cols`; for a rowwise copy that is transposed, both. The
/// number of an element for `random`
/// is `first_index + (batch * rows + row) * cols + col` by its place in the source, in both.
/// `shape` says the type, the shape and the strides of the source; its `code_stride` and
/// `code_batch_stride` say nothing here, and stay 0. A copy of a shard cannot be transposed.
///
/// Statuses: those of `ofp8_quantize`, of either copy; `OFP8_STRUCT_SIZE` of a copy;
/// `OFP8_UNKNOWN_POLICY` where `is_transposed` is neither 0 nor 1; `OFP8_NULL_POINTER` where both
/// copies are null.
///
/// # Safety
/// As `ofp8_quantize`; `rowwise` and `columnwise` are null or as large as their `struct_size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_quantize_copies(
    recipe: *const ofp8_recipe,
    shape: *const ofp8_shape,
    source: *const c_void,
    rowwise: *const ofp8_copy,
    columnwise: *const ofp8_copy,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let (recipe, shape) = unsafe { (recipe_of(recipe)?, shape_of(shape)?) };
        if rowwise.is_null() && columnwise.is_null() {
            return Err(ofp8_status::OFP8_NULL_POINTER);
        }
        if !shape.has_compact_codes() {
            return Err(ofp8_status::OFP8_SHAPE);
        }
        // SAFETY: this function's contract.
        let (row, column) = unsafe {
            (
                Given::new(rowwise, recipe, &shape)?,
                Given::new(columnwise, recipe.turned(), &shape)?,
            )
        };
        let nothing = [Extent::EMPTY; 4];
        let [a, b, c, d] = row.as_ref().map_or(nothing, |given| given.extents);
        let [e, f, g, h] = column.as_ref().map_or(nothing, |given| given.extents);
        disjoint(&[shape.wide_extent(source)?, a, b, c, d, e, f, g, h])?;
        // SAFETY: this function's contract; what is written overlaps nothing.
        let (mut row, mut column) = unsafe {
            let output = |given: Option<Given>| given.map(|given| given.output()).transpose();
            (output(row)?, output(column)?)
        };
        let work = Copies {
            shape,
            recipe,
            rowwise: row.as_mut(),
            columnwise: column.as_mut(),
        };
        // SAFETY: this function's contract.
        unsafe { with_source(&shape, source, work)? };
        for output in [row, column].into_iter().flatten() {
            if let Some(stats) = output.stats {
                stats.write(output.seen.into());
            }
        }
        Ok(())
    };
    status(result())
}

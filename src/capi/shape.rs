// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shape of a call: matrices, batches of them, shards.

use core::ffi::c_void;

use super::argument::{self, Descriptor, Extent, float_type, slice, span};
use super::status::ofp8_status;
use crate::float::{Bf16, F16, FitsF32};
use crate::matrix::{Matrix, MatrixMut};
use crate::scale::Recipe;
use crate::spec::FloatType;

/// The shape of a call: a row-major matrix of wide values and one of codes; or a batch of them;
/// or a shard of them. What is not needed stays zero.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ofp8_shape {
    /// `sizeof(ofp8_shape)`.
    pub struct_size: usize,
    /// Rows of the matrix.
    pub rows: usize,
    /// Columns of the matrix.
    pub cols: usize,
    /// Elements between the beginnings of two rows of wide values; 0 means `cols`. At least `cols`
    /// where there is a second row.
    pub stride: usize,
    /// Bytes between the beginnings of two rows of codes; otherwise as `stride`.
    pub code_stride: usize,
    /// The type of the wide values: `OFP8_F32`, `OFP8_F16` or `OFP8_BF16`.
    pub wide_type: u32,
    /// 1 if the buffers hold a shard: the elements `shard_first` to `shard_first + shard_len - 1`
    /// of one matrix without gaps, which may begin and end in the middle of a row or a block.
    pub is_shard: u32,
    /// The first element of the shard.
    pub shard_first: usize,
    /// Elements of the shard.
    pub shard_len: usize,
    /// Matrices of this shape, one after another; 0 means 1.
    pub batch_count: usize,
    /// Elements between the beginnings of two matrices of wide values; 0 means `rows * stride`.
    pub batch_stride: usize,
    /// Bytes between the beginnings of two matrices of codes; 0 means `rows * code_stride`.
    pub code_batch_stride: usize,
}

// SAFETY: repr(C), begins with its size as usize, integers only, without padding on 64-bit and
// 32-bit targets.
unsafe impl Descriptor for ofp8_shape {}

/// A checked shape.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) wide: Strides,
    pub(super) codes: Strides,
    pub(super) batches: usize,
    pub(super) shard: Option<(usize, usize)>,
    pub(super) wide_type: FloatType,
}

/// Where the rows and the matrices of a buffer begin.
#[derive(Clone, Copy)]
pub(super) struct Strides {
    pub(super) row: usize,
    pub(super) batch: usize,
}

impl Shape {
    /// Elements from the first to the last of a buffer.
    pub(super) fn span(&self, strides: Strides) -> Result<usize, ofp8_status> {
        if let Some((_, len)) = self.shard {
            return Ok(len);
        }
        let one = span(self.rows, self.cols, strides.row)?;
        if self.batches == 0 || one == 0 {
            return Ok(0);
        }
        if self.batches > 1 && strides.batch < one {
            return Err(ofp8_status::OFP8_SHAPE);
        }
        (self.batches - 1)
            .checked_mul(strides.batch)
            .and_then(|before| before.checked_add(one))
            .ok_or(ofp8_status::OFP8_SHAPE)
    }

    /// Bytes of the wide buffer, as a range of addresses.
    pub(super) fn wide_extent<T>(&self, pointer: *const T) -> Result<Extent, ofp8_status> {
        Extent::new(pointer, self.span(self.wide)?, self.wide_type.size())
    }

    /// Bytes of the buffer of codes, as a range of addresses.
    pub(super) fn code_extent(&self, pointer: *const u8) -> Result<Extent, ofp8_status> {
        Extent::new(pointer, self.span(self.codes)?, 1)
    }

    /// The matrix number `batch` of a buffer.
    pub(super) fn matrix<'a, T>(
        &self,
        data: &'a [T],
        strides: Strides,
        batch: usize,
    ) -> Result<Matrix<'a, T>, ofp8_status> {
        let (rows, cols) = (self.rows, self.cols);
        if let Some((first, _)) = self.shard {
            return Ok(Matrix::shard(data, rows, cols, first)?);
        }
        let from = data.get(batch.wrapping_mul(strides.batch)..);
        let from = from.unwrap_or_default();
        Ok(Matrix::with_stride(from, rows, cols, strides.row)?)
    }

    /// The matrix number `batch` of a buffer to write.
    pub(super) fn matrix_mut<'a, T>(
        &self,
        data: &'a mut [T],
        strides: Strides,
        batch: usize,
    ) -> Result<MatrixMut<'a, T>, ofp8_status> {
        let (rows, cols) = (self.rows, self.cols);
        if let Some((first, _)) = self.shard {
            return Ok(MatrixMut::shard(data, rows, cols, first)?);
        }
        let from = data.get_mut(batch.wrapping_mul(strides.batch)..);
        let from = from.unwrap_or_default();
        Ok(MatrixMut::with_stride(from, rows, cols, strides.row)?)
    }

    /// Whether there are no gaps between rows or matrices of codes.
    pub(super) fn has_compact_codes(&self) -> bool {
        self.codes.row == self.cols && self.codes.batch as u64 == self.elements()
    }

    /// Matrices that there is something to do for, if each has so many tensor scales: of empty ones there may be
    /// any number, which no memory bounds.
    pub(super) fn occupied(&self, tensor_scales: usize) -> usize {
        if self.elements() == 0 && tensor_scales == 0 {
            0
        } else {
            self.batches
        }
    }

    /// Elements of one matrix.
    pub(super) fn elements(&self) -> u64 {
        (self.rows as u64).wrapping_mul(self.cols as u64)
    }

    /// Scales that are stored for one matrix; for all there must be `count`.
    pub(super) fn scales(&self, recipe: &Recipe, count: usize) -> Result<usize, ofp8_status> {
        let of_one = recipe.scale_layout(self.rows, self.cols)?.size();
        match of_one.checked_mul(self.batches) {
            Some(all) if all == count => Ok(of_one),
            Some(_) => Err(ofp8_status::OFP8_LENGTH),
            None => Err(ofp8_status::OFP8_SHAPE),
        }
    }

    /// Blocks of one matrix and of all.
    pub(super) fn blocks(&self, recipe: &Recipe) -> Result<(usize, usize), ofp8_status> {
        let (down, across) = recipe.block().grid(self.rows, self.cols);
        let of_one = down.checked_mul(across);
        let of_all = of_one.and_then(|blocks| blocks.checked_mul(self.batches));
        of_one.zip(of_all).ok_or(ofp8_status::OFP8_SHAPE)
    }
}

/// The shape behind a pointer.
///
/// # Safety
/// As [`argument::sized`].
pub(super) unsafe fn shape_of(pointer: *const ofp8_shape) -> Result<Shape, ofp8_status> {
    const SHAPE: ofp8_status = ofp8_status::OFP8_SHAPE;
    // SAFETY: this function's contract.
    let given = unsafe { argument::sized(pointer)? };
    let wide_type = float_type(given.wide_type)?;
    if wide_type == FloatType::F64 {
        return Err(ofp8_status::OFP8_UNKNOWN_TYPE);
    }
    let elements = given.rows.checked_mul(given.cols).ok_or(SHAPE)?;
    let strides = |row: usize, batch: usize| {
        let row = if row == 0 { given.cols } else { row };
        let batch = match batch {
            0 => given.rows.checked_mul(row).ok_or(SHAPE)?,
            batch => batch,
        };
        Ok::<_, ofp8_status>(Strides { row, batch })
    };
    let shard = match given.is_shard {
        0 if given.shard_first == 0 && given.shard_len == 0 => None,
        0 => return Err(SHAPE),
        1 => Some((given.shard_first, given.shard_len)),
        _ => return Err(ofp8_status::OFP8_UNKNOWN_POLICY),
    };
    let shape = Shape {
        rows: given.rows,
        cols: given.cols,
        wide: strides(given.stride, given.batch_stride)?,
        codes: strides(given.code_stride, given.code_batch_stride)?,
        batches: given.batch_count.max(1),
        shard,
        wide_type,
    };
    if let Some((first, len)) = shard {
        let is_compact = shape.wide.row == given.cols && shape.codes.row == given.cols;
        let is_inside = first.checked_add(len).is_some_and(|end| end <= elements);
        if !is_compact || !is_inside || shape.batches != 1 {
            return Err(SHAPE);
        }
    }
    shape.span(shape.wide)?;
    Ok(shape)
}

/// Something that is done with wide values of any type.
pub(super) trait WithSource {
    type Result;

    fn run<S: FitsF32>(self, source: &[S]) -> Result<Self::Result, ofp8_status>;
}

/// Does it with the values at `pointer`.
///
/// # Safety
/// `pointer` points to as many values as the shape spans, which nothing writes.
pub(super) unsafe fn with_source<W: WithSource>(
    shape: &Shape,
    pointer: *const c_void,
    work: W,
) -> Result<W::Result, ofp8_status> {
    let len = shape.span(shape.wide)?;
    // SAFETY: this function's contract; F16 and Bf16 are transparent u16.
    unsafe {
        match shape.wide_type {
            FloatType::F16 => work.run(slice(pointer.cast::<F16>(), len)?),
            FloatType::Bf16 => work.run(slice(pointer.cast::<Bf16>(), len)?),
            _ => work.run(slice(pointer.cast::<f32>(), len)?),
        }
    }
}

/// The `batch`th run of `size` elements; empty beyond the end.
pub(super) fn part_of<T>(data: &[T], batch: usize, size: usize) -> &[T] {
    let start = batch.wrapping_mul(size);
    data.get(start..start.wrapping_add(size))
        .unwrap_or_default()
}

/// [`part_of`], to write.
pub(super) fn part_of_mut<T>(data: &mut [T], batch: usize, size: usize) -> &mut [T] {
    let start = batch.wrapping_mul(size);
    data.get_mut(start..start.wrapping_add(size))
        .unwrap_or_default()
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Row-major matrices over slices, with a stride: the shape in which tensors come.

use core::ops::Range;

use crate::error::Error;

/// The number of elements from the first to the last of a matrix, both included.
const fn span(rows: usize, cols: usize, stride: usize) -> Option<usize> {
    if rows == 0 || cols == 0 {
        return Some(0);
    }
    match (rows - 1).checked_mul(stride) {
        Some(before) => before.checked_add(cols),
        None => None,
    }
}

/// Whether `len` elements hold a matrix of that shape.
fn check(len: usize, rows: usize, cols: usize, stride: usize) -> Result<(), Error> {
    if rows > 1 && stride < cols {
        return Err(Error::Shape);
    }
    match (span(rows, cols, stride), rows.checked_mul(cols)) {
        (Some(needed), Some(_)) if needed <= len => Ok(()),
        (Some(_), Some(_)) => Err(Error::Length),
        _ => Err(Error::Shape),
    }
}

/// A matrix to read: `rows` rows of `cols` elements, each row `stride` elements after the one
/// before.
#[derive(Debug)]
pub struct Matrix<'a, T> {
    data: &'a [T],
    rows: usize,
    cols: usize,
    stride: usize,
}

impl<T> Clone for Matrix<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Matrix<'_, T> {}

impl<'a, T> Matrix<'a, T> {
    /// A matrix without gaps between rows. [`Error::Length`] where `data` is too short,
    /// [`Error::Shape`] where the size overflows.
    pub fn new(data: &'a [T], rows: usize, cols: usize) -> Result<Matrix<'a, T>, Error> {
        Matrix::with_stride(data, rows, cols, cols)
    }

    /// A matrix whose rows begin `stride` elements apart, `stride >= cols`.
    pub fn with_stride(
        data: &'a [T],
        rows: usize,
        cols: usize,
        stride: usize,
    ) -> Result<Matrix<'a, T>, Error> {
        check(data.len(), rows, cols, stride)?;
        Ok(Matrix {
            data,
            rows,
            cols,
            stride,
        })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Elements between the beginnings of two rows.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The rows that hold elements: none where there are no columns, so that a row number times
    /// the stride never overflows.
    pub(crate) fn filled_rows(&self) -> Range<usize> {
        if self.cols == 0 { 0..0 } else { 0..self.rows }
    }

    /// Part of a row: the elements of row `row` in columns `from..to`; empty where there is no
    /// such part (the library asks for none; a panic would have to be linked into firmware).
    #[inline]
    pub(crate) fn segment(&self, row: usize, from: usize, to: usize) -> &'a [T] {
        let begin = row * self.stride;
        self.data.get(begin + from..begin + to).unwrap_or_default()
    }
}

/// A matrix to write; otherwise as [`Matrix`].
#[derive(Debug)]
pub struct MatrixMut<'a, T> {
    data: &'a mut [T],
    rows: usize,
    cols: usize,
    stride: usize,
}

impl<'a, T> MatrixMut<'a, T> {
    /// A matrix without gaps between rows; errors as [`Matrix::new`].
    pub fn new(data: &'a mut [T], rows: usize, cols: usize) -> Result<MatrixMut<'a, T>, Error> {
        MatrixMut::with_stride(data, rows, cols, cols)
    }

    /// A matrix whose rows begin `stride` elements apart, `stride >= cols`.
    pub fn with_stride(
        data: &'a mut [T],
        rows: usize,
        cols: usize,
        stride: usize,
    ) -> Result<MatrixMut<'a, T>, Error> {
        check(data.len(), rows, cols, stride)?;
        Ok(MatrixMut {
            data,
            rows,
            cols,
            stride,
        })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Elements between the beginnings of two rows.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Part of a row, as [`Matrix::segment`].
    #[inline]
    pub(crate) fn segment(&mut self, row: usize, from: usize, to: usize) -> &mut [T] {
        let begin = row * self.stride;
        self.data
            .get_mut(begin + from..begin + to)
            .unwrap_or_default()
    }
}

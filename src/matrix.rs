// SPDX-License-Identifier: MIT OR Apache-2.0
//! Row-major matrices over slices, with a stride: the shape in which tensors come.
//!
//! A *shard* is a run of the elements of a larger matrix, which may begin and end in the middle
//! of a row (sharded master weights). It has the shape of the whole; the elements that are not
//! there are passed over.

use core::ops::Range;

use crate::error::Error;

/// The number of elements from the first to the last of a matrix, both included. [`Error::Shape`]
/// where a stride is shorter than a row, or the number overflows.
pub(crate) fn span(rows: usize, cols: usize, stride: usize) -> Result<usize, Error> {
    if rows == 0 || cols == 0 {
        return Ok(0);
    }
    if rows > 1 && stride < cols {
        return Err(Error::Shape);
    }
    (rows - 1)
        .checked_mul(stride)
        .and_then(|before| before.checked_add(cols))
        .ok_or(Error::Shape)
}

/// Whether `len` elements hold a matrix of that shape.
fn check(len: usize, rows: usize, cols: usize, stride: usize) -> Result<(), Error> {
    let needed = span(rows, cols, stride)?;
    rows.checked_mul(cols).ok_or(Error::Shape)?;
    if needed > len {
        return Err(Error::Length);
    }
    Ok(())
}

/// Whether a run of `len` elements from element `first` on lies in a matrix of that shape.
fn check_shard(len: usize, rows: usize, cols: usize, first: usize) -> Result<(), Error> {
    let elements = rows.checked_mul(cols).ok_or(Error::Shape)?;
    match first.checked_add(len) {
        Some(end) if end <= elements => Ok(()),
        _ => Err(Error::Length),
    }
}

/// The elements of a matrix that are there: all, or those of a shard. (`Range` is not `Copy`.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct There {
    start: usize,
    end: usize,
}

const ALL: There = There {
    start: 0,
    end: usize::MAX,
};

/// The part of the columns `from..to` of the row that begins at element `begin` which lies in
/// `there`: as places in what is there, and the column of the first of them.
#[inline]
fn present(begin: usize, from: usize, to: usize, there: There) -> (Range<usize>, usize) {
    let start = (begin + from).max(there.start);
    let end = (begin + to).min(there.end).max(start);
    (start - there.start..end - there.start, start - begin)
}

/// A matrix to read: `rows` rows of `cols` elements, each row `stride` elements after the one
/// before.
#[derive(Debug)]
pub struct Matrix<'a, T> {
    data: &'a [T],
    rows: usize,
    cols: usize,
    stride: usize,
    /// The elements that are there: all, or those of a shard.
    there: There,
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
            there: ALL,
        })
    }

    /// Elements `first..first + data.len()` of a matrix without gaps between rows.
    /// [`Error::Length`] where the matrix has no such elements.
    pub fn shard(
        data: &'a [T],
        rows: usize,
        cols: usize,
        first: usize,
    ) -> Result<Matrix<'a, T>, Error> {
        check_shard(data.len(), rows, cols, first)?;
        Ok(Matrix {
            there: There {
                start: first,
                end: first + data.len(),
            },
            data,
            rows,
            cols,
            stride: cols,
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

    /// Whether the same elements of the same shape are there in both.
    pub(crate) fn is_like<U>(&self, other: &MatrixMut<'_, U>) -> bool {
        (self.rows, self.cols) == (other.rows, other.cols) && self.there == other.there
    }

    /// Whether there are no gaps between rows.
    pub(crate) fn is_dense(&self) -> bool {
        self.rows <= 1 || self.stride == self.cols
    }

    /// All rows as one, where there are no gaps between them.
    pub(crate) fn joined(self) -> Self {
        let cols = self.rows * self.cols;
        Self {
            rows: self.rows.min(1),
            cols,
            stride: cols,
            ..self
        }
    }

    /// Whether all elements are there.
    pub(crate) fn is_whole(&self) -> bool {
        self.there == ALL
    }

    /// The first column of [`Matrix::segment`].
    #[inline]
    pub(crate) fn first_column(&self, row: usize, from: usize, to: usize) -> usize {
        present(row * self.stride, from, to, self.there).1
    }

    /// The number of the first element of [`Matrix::segment`], row-major without gaps.
    pub(crate) fn number(&self, row: usize, from: usize, to: usize) -> u64 {
        (row as u64)
            .wrapping_mul(self.cols as u64)
            .wrapping_add(self.first_column(row, from, to) as u64)
    }

    /// Part of a row: the elements of row `row` in columns `from..to`, so far as they are there;
    /// empty where there is no such part (a panic would have to be linked into firmware).
    #[inline]
    pub(crate) fn segment(&self, row: usize, from: usize, to: usize) -> &'a [T] {
        let (places, _) = present(row * self.stride, from, to, self.there);
        self.data.get(places).unwrap_or_default()
    }
}

/// A matrix to write; otherwise as [`Matrix`].
#[derive(Debug)]
pub struct MatrixMut<'a, T> {
    data: &'a mut [T],
    rows: usize,
    cols: usize,
    stride: usize,
    /// The elements that are there: all, or those of a shard.
    there: There,
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
            there: ALL,
        })
    }

    /// Elements `first..first + data.len()` of a matrix without gaps between rows.
    /// [`Error::Length`] where the matrix has no such elements.
    pub fn shard(
        data: &'a mut [T],
        rows: usize,
        cols: usize,
        first: usize,
    ) -> Result<MatrixMut<'a, T>, Error> {
        check_shard(data.len(), rows, cols, first)?;
        Ok(MatrixMut {
            there: There {
                start: first,
                end: first + data.len(),
            },
            data,
            rows,
            cols,
            stride: cols,
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
        let (places, _) = present(row * self.stride, from, to, self.there);
        self.data.get_mut(places).unwrap_or_default()
    }

    /// The same matrix to read.
    pub(crate) fn as_matrix(&self) -> Matrix<'_, T> {
        Matrix {
            data: self.data,
            rows: self.rows,
            cols: self.cols,
            stride: self.stride,
            there: self.there,
        }
    }

    /// Whether there are no gaps between rows.
    pub(crate) fn is_dense(&self) -> bool {
        self.rows <= 1 || self.stride == self.cols
    }

    /// All rows as one, where there are no gaps between them.
    pub(crate) fn joined(self) -> Self {
        let cols = self.rows * self.cols;
        Self {
            rows: self.rows.min(1),
            cols,
            stride: cols,
            ..self
        }
    }

    /// Whether all elements are there.
    pub(crate) fn is_whole(&self) -> bool {
        self.there == ALL
    }

    /// Some of the rows of a whole matrix; none where there are no such rows.
    pub(crate) fn part(&mut self, rows: Range<usize>) -> MatrixMut<'_, T> {
        let data = self.data.get_mut(rows.start * self.stride..);
        MatrixMut {
            rows: if data.is_some() { rows.len() } else { 0 },
            data: data.unwrap_or_default(),
            cols: self.cols,
            stride: self.stride,
            there: self.there,
        }
    }

    /// The elements of a whole matrix from row `row`, column `col` on.
    #[inline]
    pub(crate) fn from(&mut self, row: usize, col: usize) -> &mut [T] {
        self.data
            .get_mut(row * self.stride + col..)
            .unwrap_or_default()
    }
}

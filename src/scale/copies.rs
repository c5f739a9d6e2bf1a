// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transposed copies, and two copies of a matrix from one read of it: products of a training step
//! read a matrix along its rows here and along its columns there, and scales must follow.

use core::ops::Range;

use super::grid::{Grid, next_part};
use super::pass::{Origin, Output, Pass};
use super::quantize::ScalesMut;
use super::{Block, Recipe};
use crate::error::Error;
use crate::float::FitsF32;
use crate::kernel::{self, Buffers, COLUMNS, FETCHED_TILE};
use crate::matrix::{Matrix, MatrixMut};
use crate::random::Philox;
use crate::stats::Stats;

/// A quantized copy of a matrix, to be written.
#[derive(Debug)]
pub struct CopyMut<'a> {
    codes: MatrixMut<'a, u8>,
    scales: ScalesMut<'a>,
    random: Option<Philox>,
    transposed: bool,
}

impl<'a> CopyMut<'a> {
    /// A copy that lies as the source does.
    pub const fn new(codes: MatrixMut<'a, u8>, scales: ScalesMut<'a>) -> CopyMut<'a> {
        CopyMut {
            codes,
            scales,
            random: None,
            transposed: false,
        }
    }

    /// A transposed copy: `codes` has as many rows as the source has columns; the scales are those
    /// of its own blocks, and lie as those of a matrix of its shape.
    pub const fn transposed(codes: MatrixMut<'a, u8>, scales: ScalesMut<'a>) -> CopyMut<'a> {
        CopyMut {
            transposed: true,
            ..CopyMut::new(codes, scales)
        }
    }

    /// The same copy with random bits for a stochastic rounding: for each copy another stream. The
    /// number of an element is `random.first_index + row * cols + col`, by its place in the source.
    pub const fn with_random(self, random: Philox) -> CopyMut<'a> {
        CopyMut {
            random: Some(random),
            ..self
        }
    }

    /// How the blocks of a recipe, whose rows are those of the source, lie in it; and where the copy
    /// goes. Errors as [`Recipe::quantize`].
    fn prepare<S: FitsF32>(
        self,
        recipe: &Recipe,
        source: Matrix<'_, S>,
    ) -> Result<(Grid, Output<'a>), Error> {
        let (rows, cols) = (source.rows(), source.cols());
        let is_like = if self.transposed {
            (self.codes.rows(), self.codes.cols()) == (cols, rows)
                && source.is_whole()
                && self.codes.is_whole()
        } else {
            source.is_like(&self.codes)
        };
        if !is_like {
            return Err(Error::Shape);
        }
        let grid = if self.transposed {
            Grid::transposed(recipe, rows, cols)?
        } else {
            Grid::new(recipe, rows, cols)?
        };
        recipe.check_target(&grid, self.random, Some(&self.scales))?;
        let output = Output {
            codes: self.codes,
            scales: Some(self.scales),
        };
        Ok((grid, output))
    }
}

impl Recipe {
    /// The same recipe with its blocks turned: 32x1 for 1x32. What the columnwise copy of a matrix
    /// is quantized by.
    pub const fn turned(self) -> Recipe {
        let Block { rows, cols } = self.block;
        self.with_block(Block::new(cols, rows))
    }

    /// [`Recipe::quantize`] of the transposed matrix: codes and scales are what that gives, without
    /// the transposed source. `codes` has as many rows as `source` has columns.
    ///
    /// `random` is for a stochastic rounding, and may otherwise be `None`; the number of an element
    /// is `random.first_index + row * cols + col` by its place in `source`. Sums of errors
    /// ([`super::ExponentRule::LeastError`]) have the order of `source` too.
    ///
    /// # Errors
    /// As [`Recipe::quantize`]; [`Error::Shape`] for a shard too.
    pub fn quantize_transposed<S: FitsF32>(
        &self,
        random: Option<Philox>,
        source: Matrix<'_, S>,
        codes: MatrixMut<'_, u8>,
        scales: ScalesMut<'_>,
    ) -> Result<Stats, Error> {
        let copy = CopyMut {
            random,
            ..CopyMut::transposed(codes, scales)
        };
        self.turned().quantize_copy(source, copy)
    }

    /// One copy, by this recipe, whose rows are those of the source.
    pub(crate) fn quantize_copy<S: FitsF32>(
        &self,
        source: Matrix<'_, S>,
        copy: CopyMut<'_>,
    ) -> Result<Stats, Error> {
        let random = copy.random;
        let (grid, output) = copy.prepare(self, source)?;
        Ok(self.quantize_grid(grid, Origin::Search, random, source, output))
    }

    /// Two copies from one read of the source: the rowwise one by this recipe, the columnwise one
    /// with its blocks turned ([`Recipe::turned`]). Either may be transposed. Each is, with its
    /// statistics, what a call of its own would give; neither follows from the other.
    ///
    /// - Blackwell: [`Recipe::MXFP8`]; 1x32 blocks in one copy, 32x1 in the other.
    /// - Hopper: [`Recipe::DEEPSEEK_ACTIVATION`], the columnwise copy transposed, so that both have
    ///   1x128 blocks along K.
    ///
    /// The source is read once where blocks are narrow and low. Those of whole rows or columns need
    /// all of it before their first code, as does the scale of the tensor under two levels (unless
    /// [`Recipe::with_tensor_amax`] says it).
    ///
    /// # Errors
    /// As [`Recipe::quantize`], of either copy; [`Error::Shape`] for a transposed copy of a shard.
    pub fn quantize_both<S: FitsF32>(
        &self,
        source: Matrix<'_, S>,
        rowwise: CopyMut<'_>,
        columnwise: CopyMut<'_>,
    ) -> Result<[Stats; 2], Error> {
        let turned = self.turned();
        let randoms = [rowwise.random, columnwise.random];
        let (row_grid, mut row) = rowwise.prepare(self, source)?;
        let (column_grid, mut column) = columnwise.prepare(&turned, source)?;
        Ok(kernel::with_default_environment(|| {
            const SEARCH: Origin<'static> = Origin::Search;
            let [random, column_random] = randoms;
            let by_row = Pass::begin(self, row_grid, SEARCH, random, source, &mut row);
            let by_column = Pass::begin(
                &turned,
                column_grid,
                SEARCH,
                column_random,
                source,
                &mut column,
            );
            // The next part is fetched once.
            let part = part(self.block, by_row.is_fetched() || by_column.is_fetched());
            let ahead = next_part(part, source.cols(), source.stride());
            let of_column = if by_row.is_fetched() { 0 } else { ahead };
            let by_row = by_row.with_next_part(ahead);
            let by_column = by_column.with_next_part(of_column);
            let mut stats = [Stats::EMPTY; 2];
            let mut buffers = [const { Buffers::new() }; 2];
            each_part(part, source.rows(), source.cols(), |rows, cols| {
                let regions = [
                    row_grid.region(rows.clone(), cols.clone()),
                    column_grid.region(rows, cols),
                ];
                let outputs = [&mut row, &mut column];
                let both =
                    by_row.quantize_both(&by_column, source, outputs, &regions, &mut buffers);
                let [of_row, of_column] = both.unwrap_or_else(|| {
                    let [rowwise, columnwise] = &regions;
                    let [buffers, _] = &mut buffers;
                    [
                        by_row.quantize(source, &mut row, rowwise, buffers),
                        by_column.quantize(source, &mut column, columnwise, buffers),
                    ]
                });
                let [rowwise, columnwise] = stats;
                stats = [rowwise.merge(of_row), columnwise.merge(of_column)];
            });
            by_row.settle();
            by_column.settle();
            stats
        }))
    }
}

/// The rows and columns of a part of a matrix that stays in the cache for a second look, and ends
/// between blocks of that shape and between such blocks turned; of a matrix that is fetched part by
/// part, or is not.
fn part(block: Block, is_fetched: bool) -> (usize, usize) {
    let side = common_multiple(block.rows, block.cols);
    let columns = match FETCHED_TILE.checked_div(side) {
        Some(columns) if is_fetched => columns.min(COLUMNS),
        _ => COLUMNS,
    };
    match columns.checked_div(side) {
        Some(times) if times > 0 => (side, times * side),
        _ => (usize::MAX, usize::MAX),
    }
}

/// Visits a matrix part by part.
fn each_part(
    (high, wide): (usize, usize),
    rows: usize,
    cols: usize,
    mut visit: impl FnMut(Range<usize>, Range<usize>),
) {
    let step = |extent: usize, size: usize| (0..extent).step_by(size.min(extent).max(1));
    for row in step(if cols == 0 { 0 } else { rows }, high) {
        for col in step(cols, wide) {
            visit(
                row..rows.min(row.saturating_add(high)),
                col..cols.min(col.saturating_add(wide)),
            );
        }
    }
}

/// The least number that both divide, 0 where one is; the largest number there is where that is
/// larger still.
const fn common_multiple(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    match a.checked_div(x) {
        Some(times) => times.saturating_mul(b),
        None => 0,
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a matrix is cut into blocks, and those into parts that are worked on at a time.

use core::ops::Range;

use super::{Block, Recipe};
use crate::error::Error;
use crate::kernel::{COLUMNS, FETCHED_ROW_TILE, FETCHED_TILE, ROW_TILE, Tile};
use crate::layout::{Layout, Steps};
use crate::machine::IS_SMALL;
use crate::stats::Extremes;

/// The blocks of a matrix, and the order of their scales.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// The shape of the matrix.
    pub rows: usize,
    pub cols: usize,
    /// That of a block.
    pub block: Block,
    /// Whether codes and scales are those of the transposed matrix.
    pub transposed: bool,
    /// Blocks down and across.
    down: usize,
    across: usize,
    /// Where the scales lie, and what a block down and one across add to that.
    layout: Layout,
    steps: (Steps, Steps),
    /// Blocks before these, where this is a band of the matrix whose scales they are.
    first: usize,
}

/// One block: the place of its scale, its number in row-major order, and its elements.
pub(super) struct Cell {
    pub index: usize,
    pub number: usize,
    pub rows: Range<usize>,
    pub cols: Range<usize>,
    /// What was seen of them, if they were looked at.
    pub seen: Option<Extremes>,
}

/// Blocks by their places: how far down, and how far across.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub down: Range<usize>,
    pub across: Range<usize>,
}

/// How a region is cut into parts that are worked on at a time, of at least one block.
#[derive(Clone, Copy, Debug)]
pub(super) enum Parts {
    /// One block high, and at most so many columns wide.
    Blocks { columns: usize },
    /// As many rows of blocks as so many elements have.
    Rows { elements: usize },
}

impl Parts {
    /// Parts that are neither fetched nor handled by rows.
    pub const BLOCKS: Parts = Parts::Blocks { columns: COLUMNS };

    /// Parts one block high, of a matrix that is fetched part by part, or is not.
    pub fn blocks(block: Block, is_fetched: bool) -> Parts {
        /// Narrower ones spend more on the beginning of each row than they save.
        const NARROWEST: usize = COLUMNS / 4;
        match FETCHED_TILE.checked_div(block.rows) {
            Some(columns) if is_fetched => Parts::Blocks {
                columns: columns.clamp(NARROWEST, COLUMNS),
            },
            _ => Parts::BLOCKS,
        }
    }

    /// Parts of many rows, likewise.
    pub fn rows(is_fetched: bool) -> Parts {
        Parts::Rows {
            elements: if is_fetched {
                FETCHED_ROW_TILE
            } else {
                ROW_TILE
            },
        }
    }

    /// Whether parts have many rows of blocks.
    pub fn is_rows(self) -> bool {
        matches!(self, Parts::Rows { .. })
    }

    /// Blocks down and across a part, of a region so many blocks wide; the columns of a block.
    fn shape(self, width: usize, across: usize) -> (usize, usize) {
        let blocks = |elements: usize| (elements / width.max(1)).max(1);
        match self {
            Parts::Blocks { columns } => (1, blocks(columns)),
            Parts::Rows { elements } => {
                let wide = blocks(elements);
                ((wide / across.max(1)).max(1), wide)
            }
        }
    }
}

impl Region {
    /// How many blocks.
    pub fn len(&self) -> usize {
        self.down.len() * self.across.len()
    }

    /// The blocks, row-major.
    pub fn blocks(&self) -> impl Iterator<Item = (usize, usize)> + use<'_> {
        let row = |i| self.across.clone().map(move |j| (i, j));
        self.down.clone().flat_map(row)
    }

    /// Its rows of blocks.
    pub fn rows(&self) -> impl Iterator<Item = Region> + use<'_> {
        self.down.clone().map(|i| Region {
            down: i..i + 1,
            across: self.across.clone(),
        })
    }

    /// Some of its columns of blocks.
    pub fn part(&self, across: Range<usize>) -> Region {
        let start = self.across.start;
        Region {
            down: self.down.clone(),
            across: start + across.start..start + across.end,
        }
    }
}

impl Grid {
    /// Of a matrix of that shape. [`Error::Shape`] where the number of scales overflows.
    pub fn new(recipe: &Recipe, rows: usize, cols: usize) -> Result<Grid, Error> {
        let layout = recipe.scale_layout(rows, cols)?;
        Ok(Grid::of(recipe, rows, cols, layout))
    }

    /// Of a matrix of which a transposed copy is made; errors as [`Grid::new`].
    pub fn transposed(recipe: &Recipe, rows: usize, cols: usize) -> Result<Grid, Error> {
        let layout = recipe.turned().scale_layout(cols, rows)?;
        let (down, across) = layout.steps();
        Ok(Grid {
            transposed: true,
            steps: (across, down),
            ..Grid::of(recipe, rows, cols, layout)
        })
    }

    /// Of the rows of a larger matrix of `all` rows that begin `first` blocks down; errors as
    /// [`Grid::new`].
    pub fn band(
        recipe: &Recipe,
        rows: usize,
        cols: usize,
        all: usize,
        first: usize,
    ) -> Result<Grid, Error> {
        let layout = recipe.scale_layout(all, cols)?;
        Ok(Grid {
            first,
            ..Grid::of(recipe, rows, cols, layout)
        })
    }

    fn of(recipe: &Recipe, rows: usize, cols: usize, layout: Layout) -> Grid {
        let block = recipe.block();
        let (down, across) = block.grid(rows, cols);
        Grid {
            rows,
            cols,
            block,
            transposed: false,
            down,
            across,
            layout,
            steps: layout.steps(),
            first: 0,
        }
    }

    /// All blocks. Without columns there are none, although the rows may be any number.
    pub fn all(&self) -> Region {
        Region {
            down: if self.across == 0 { 0..0 } else { 0..self.down },
            across: 0..self.across,
        }
    }

    /// The blocks that begin in these rows and columns.
    pub fn region(&self, rows: Range<usize>, cols: Range<usize>) -> Region {
        Region {
            down: blocks(rows, self.block.rows),
            across: blocks(cols, self.block.cols),
        }
    }

    /// The block in row `i`, column `j` of the grid.
    pub fn cell(&self, i: usize, j: usize) -> Cell {
        Cell {
            index: self.index(i, j),
            number: i * self.across + j,
            rows: part(i, self.block.rows, self.rows),
            cols: part(j, self.block.cols, self.cols),
            seen: None,
        }
    }

    /// Where its scale lies.
    pub fn index(&self, i: usize, j: usize) -> usize {
        let (down, across) = &self.steps;
        down.offset(self.first + i) + across.offset(j)
    }

    /// The distance between the scales of blocks side by side, where it is the same for all.
    pub fn step(&self) -> Option<usize> {
        let step = if self.transposed { self.down } else { 1 };
        self.layout.order().is_row_major().then_some(step)
    }

    /// Whether this is where the scales of the matrix begin, and there are places among them for
    /// none.
    pub fn begins_with_padding(&self) -> bool {
        self.first == 0 && self.layout.grid_size() != self.layout.rows() * self.layout.cols()
    }

    /// The number of places for scales.
    pub fn places(&self) -> usize {
        self.layout.grid_size()
    }

    /// Columns of a block.
    pub fn width(&self) -> usize {
        match self.block.cols {
            0 => self.cols,
            cols => cols.min(self.cols),
        }
    }

    /// Whether blocks are handled many at a time, in tiles.
    pub fn is_narrow(&self) -> bool {
        !IS_SMALL && self.width() <= COLUMNS
    }

    /// Visits the blocks, row-major.
    pub fn each_cell(&self, mut visit: impl FnMut(Cell)) {
        let Region { down, across } = self.all();
        for i in down {
            for j in across.clone() {
                visit(self.cell(i, j));
            }
        }
    }

    /// Visits a region part by part.
    pub fn each_part(&self, region: &Region, parts: Parts, mut visit: impl FnMut(Region)) {
        let Region { down, across } = region;
        let (high, wide) = parts.shape(self.width(), across.len());
        for i in down.clone().step_by(high) {
            for j in across.clone().step_by(wide) {
                visit(Region {
                    down: i..down.end.min(i + high),
                    across: j..across.end.min(j + wide),
                });
            }
        }
    }

    /// How many elements lie from one in a part of all to the same one in the next part; 0 where the
    /// cache does not hold two. Rows begin `stride` elements apart.
    pub fn next_part(&self, parts: Parts, stride: usize) -> usize {
        let (high, wide) = parts.shape(self.width(), self.across);
        let rows = match self.block.rows {
            0 => self.rows,
            rows => rows.saturating_mul(high),
        };
        let cols = wide.saturating_mul(self.width());
        next_part((rows, cols), self.cols, stride)
    }

    /// The elements of such a part.
    pub fn tile(&self, region: &Region) -> Tile {
        let extent = |blocks: &Range<usize>, size, extent| {
            let last = part(blocks.end.saturating_sub(1), size, extent);
            part(blocks.start, size, extent).start..last.end
        };
        Tile {
            rows: extent(&region.down, self.block.rows, self.rows),
            cols: extent(&region.across, self.block.cols, self.cols),
        }
    }
}

/// [`Grid::next_part`] of parts of that shape, in a matrix of so many columns.
pub(super) fn next_part((rows, cols): (usize, usize), all_cols: usize, stride: usize) -> usize {
    if rows.saturating_mul(cols.min(all_cols)) > FETCHED_TILE {
        0
    } else if cols < all_cols {
        cols
    } else {
        rows.saturating_mul(stride)
    }
}

/// The elements of part `i` of an extent cut into parts of `size` (0: one part).
fn part(i: usize, size: usize, extent: usize) -> Range<usize> {
    if size == 0 {
        return 0..extent;
    }
    let start = i * size;
    start..extent.min(start.saturating_add(size))
}

/// The parts that begin in a range of elements.
fn blocks(range: Range<usize>, size: usize) -> Range<usize> {
    let before = |end: usize| match size {
        0 => (end > 0) as usize,
        _ => end.div_ceil(size),
    };
    before(range.start)..before(range.end)
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a scale lies in memory: the orders that tensor cores and their libraries read.
//!
//! A quantizer makes a grid of scales, `rows` x `cols`, one a block. Hardware does not read that
//! grid row by row. Every [`ScaleOrder`] here cuts it into tiles, pads it to whole tiles, and says in
//! which order the tiles follow one another; inside a tile, the bits of the offset are the bits of
//! the coordinates, moved. So an order is a row of data, and there is one algorithm for all.
//!
//! Offsets count scales: bytes for E8M0 and UE4M3, f32 for f32.
//!
//! **Padding is zero.** Padding that nobody wrote has given wrong products and NaN losses in more
//! than one library, so whatever writes a layout writes all of it. (Zero is what cuBLAS asks for.
//! As E8M0 it is 2^-127, there being no true zero: pad the data with zeros, too.)
//!
//! **Column-wise scales** (blocks of 32x1 or 128x1) make a grid with one row a *block of rows*.
//! Hardware counts its outer index along the columns then: [`Layout::columnwise`] is the same order
//! with the roles of row and column exchanged. `row` and `col` stay those of the grid.
//!
//! **Ranks.** Shards of a tile order cannot be put one after another: gather row-major scales, then
//! convert ([`Layout::convert`]).

use crate::error::Error;

/// The order of the scales of one matrix. Written for row-wise scales: a row of the grid is a row
/// of the matrix (M of A, N of B), a column is a block along K.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ScaleOrder {
    /// Row by row, without padding: what [`crate::Recipe::quantize`] writes unless its recipe says
    /// otherwise ([`crate::Recipe::with_scale_order`]), checkpoints hold, and hipBLASLt and gfx1250
    /// read.
    #[default]
    RowMajor,
    /// Row by row, each row padded to a multiple of 4: cuBLASLt's `BLK128x128_32F`,
    /// TransformerEngine's scales of 128x128 blocks.
    RowMajorPadded,
    /// Column by column, each column padded to a multiple of 4 ("MN-major"): cuBLASLt's
    /// `VEC128_32F`, TransformerEngine's and DeepGEMM's f32 scales of 1x128 tiles.
    MnMajorPadded,
    /// Tiles of 128 x 4, which tcgen05 reads: cuBLASLt's `VEC32_UE8M0` and `VEC16_UE4M3`
    /// (CUTLASS's `Sm1xxBlockScaledConfig`, torchao's `to_blocked`). Rows r, r+32, r+64 and r+96 of
    /// a tile lie side by side, four scales each.
    Tile128x4,
    /// DeepGEMM's words for SM100: four scales along K make a little-endian 32-bit word, the first
    /// in the lowest byte; the words lie MN-major, each column padded to a multiple of 4 words.
    PackedWords,
    /// AMD's pre-swizzle for gfx950 (aiter's `e8m0_shuffle`): tiles of 32 x 8.
    Gfx950,
}

/// A run of the bits of a coordinate, the next `bits` of it, and where they lie in the offset.
#[derive(Clone, Copy, Debug)]
struct Field {
    bits: u32,
    at: u32,
}

const fn field(bits: u32, at: u32) -> Field {
    Field { bits, at }
}

const fn mask(bits: u32) -> usize {
    (1 << bits) - 1
}

/// How one coordinate takes part in a tile: its low field, then its high one.
#[derive(Clone, Copy, Debug)]
struct Axis(Field, Field);

impl Axis {
    /// Bits of the coordinate inside a tile.
    const fn bits(&self) -> u32 {
        self.0.bits + self.1.bits
    }

    /// Puts the coordinate's bits where the offset has them.
    const fn spread(&self, coordinate: usize) -> usize {
        let low = coordinate & mask(self.0.bits);
        let high = (coordinate >> self.0.bits) & mask(self.1.bits);
        low << self.0.at | high << self.1.at
    }

    /// Takes them back.
    const fn gather(&self, offset: usize) -> usize {
        let low = (offset >> self.0.at) & mask(self.0.bits);
        let high = (offset >> self.1.at) & mask(self.1.bits);
        high << self.0.bits | low
    }

    /// The number of tiles that hold `extent` coordinates.
    const fn tiles(&self, extent: usize) -> usize {
        extent.div_ceil(1 << self.bits())
    }
}

/// What one coordinate adds to the offset: that of a scale is the sum of its row's and its column's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    axis: Axis,
    /// Scales between the beginnings of two tiles.
    tile: usize,
}

impl Steps {
    /// The offset of a coordinate.
    pub(crate) const fn offset(&self, coordinate: usize) -> usize {
        (coordinate >> self.axis.bits()) * self.tile + self.axis.spread(coordinate)
    }
}

/// An order as data.
#[derive(Clone, Copy)]
struct Tile {
    row: Axis,
    col: Axis,
    /// Whether the next tile is the one below; else it is the one to the right.
    down_first: bool,
}

const NONE: Field = field(0, 0);

impl ScaleOrder {
    const fn tile(self) -> Tile {
        match self {
            ScaleOrder::RowMajor => Tile {
                row: Axis(NONE, NONE),
                col: Axis(NONE, NONE),
                down_first: false,
            },
            ScaleOrder::RowMajorPadded => Tile {
                row: Axis(NONE, NONE),
                col: Axis(field(2, 0), NONE),
                down_first: false,
            },
            ScaleOrder::MnMajorPadded => Tile {
                row: Axis(field(2, 0), NONE),
                col: Axis(NONE, NONE),
                down_first: true,
            },
            ScaleOrder::Tile128x4 => Tile {
                row: Axis(field(5, 4), field(2, 2)),
                col: Axis(field(2, 0), NONE),
                down_first: false,
            },
            ScaleOrder::PackedWords => Tile {
                row: Axis(field(2, 2), NONE),
                col: Axis(field(2, 0), NONE),
                down_first: true,
            },
            ScaleOrder::Gfx950 => Tile {
                row: Axis(field(4, 2), field(1, 0)),
                col: Axis(field(2, 6), field(1, 1)),
                down_first: false,
            },
        }
    }

    /// Whether it is [`ScaleOrder::RowMajor`].
    pub(crate) const fn is_row_major(self) -> bool {
        matches!(self, ScaleOrder::RowMajor)
    }

    /// The rows and columns of a tile: what the grid is padded to multiples of.
    pub const fn tile_shape(self) -> (usize, usize) {
        let tile = self.tile();
        (1 << tile.row.bits(), 1 << tile.col.bits())
    }
}

/// Where each scale of a grid lies: an order, a size, and how often (batches of matrices of one
/// shape, experts). Its size is known not to overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    order: ScaleOrder,
    columnwise: bool,
    rows: usize,
    cols: usize,
    batches: usize,
    batch_stride: usize,
}

impl Layout {
    /// A grid of `rows` x `cols` row-wise scales. [`Error::Shape`] where its size overflows.
    pub const fn new(order: ScaleOrder, rows: usize, cols: usize) -> Result<Layout, Error> {
        Layout {
            order,
            columnwise: false,
            rows,
            cols,
            batches: 1,
            batch_stride: 0,
        }
        .checked()
    }

    /// A grid of column-wise scales: `rows` blocks of rows, `cols` columns. Errors as
    /// [`Layout::new`].
    pub const fn columnwise(order: ScaleOrder, rows: usize, cols: usize) -> Result<Layout, Error> {
        Layout {
            order,
            columnwise: true,
            rows,
            cols,
            batches: 1,
            batch_stride: 0,
        }
        .checked()
    }

    /// The same, `batches` times, one padded grid every `batch_stride` scales; a stride of 0 is
    /// the size of a grid. [`Error::Shape`] where the grids would overlap or the size overflows.
    ///
    /// A gap between two grids is not padding: it belongs to the caller and is left alone.
    pub const fn with_batches(self, batches: usize, batch_stride: usize) -> Result<Layout, Error> {
        Layout {
            batches,
            batch_stride,
            ..self
        }
        .checked()
    }

    /// The layout with its stride made explicit, if nothing overflows.
    const fn checked(mut self) -> Result<Layout, Error> {
        let (down, across) = self.tiles();
        let tile = self.order.tile();
        let Some(tiles) = down.checked_mul(across) else {
            return Err(Error::Shape);
        };
        let Some(grid) = tiles.checked_mul(1 << (tile.row.bits() + tile.col.bits())) else {
            return Err(Error::Shape);
        };
        if self.batch_stride == 0 {
            self.batch_stride = grid;
        }
        if self.batches > 1 && self.batch_stride < grid {
            return Err(Error::Shape);
        }
        let Some(before) = self
            .batches
            .saturating_sub(1)
            .checked_mul(self.batch_stride)
        else {
            return Err(Error::Shape);
        };
        match before.checked_add(grid) {
            // No object is larger, not even of bytes.
            Some(size) if size <= isize::MAX as usize => Ok(self),
            _ => Err(Error::Shape),
        }
    }

    /// The order.
    pub const fn order(&self) -> ScaleOrder {
        self.order
    }

    /// Whether it holds column-wise scales.
    pub const fn is_columnwise(&self) -> bool {
        self.columnwise
    }

    /// Rows of the grid.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Columns of the grid.
    pub const fn cols(&self) -> usize {
        self.cols
    }

    /// The number of grids.
    pub const fn batches(&self) -> usize {
        self.batches
    }

    /// Scales between the beginnings of two grids.
    pub const fn batch_stride(&self) -> usize {
        self.batch_stride
    }

    /// The coordinates as the order counts them; its own inverse.
    const fn as_rowwise(&self, row: usize, col: usize) -> (usize, usize) {
        if self.columnwise {
            (col, row)
        } else {
            (row, col)
        }
    }

    /// Tiles down and across.
    const fn tiles(&self) -> (usize, usize) {
        let (rows, cols) = self.as_rowwise(self.rows, self.cols);
        let tile = self.order.tile();
        (tile.row.tiles(rows), tile.col.tiles(cols))
    }

    /// Scales of one grid, padding included.
    pub const fn grid_size(&self) -> usize {
        let (down, across) = self.tiles();
        let tile = self.order.tile();
        (down * across) << (tile.row.bits() + tile.col.bits())
    }

    /// Scales of all grids, padding and gaps between grids included: the length of the buffer.
    pub const fn size(&self) -> usize {
        match self.batches {
            0 => 0,
            batches => (batches - 1) * self.batch_stride + self.grid_size(),
        }
    }

    /// The offset of a scale from the beginning of its grid; `None` outside the grid. The grid of
    /// batch `b` begins at `b * batch_stride()`.
    pub const fn index(&self, row: usize, col: usize) -> Option<usize> {
        if row >= self.rows || col >= self.cols {
            return None;
        }
        let (rows, cols) = self.steps();
        Some(rows.offset(row) + cols.offset(col))
    }

    /// What rows and columns of the grid add to an offset.
    pub(crate) const fn steps(&self) -> (Steps, Steps) {
        let (down, across) = self.tiles();
        let tile = self.order.tile();
        let size: usize = 1 << (tile.row.bits() + tile.col.bits());
        // An empty grid may be of any length the other way: then nothing is ever stepped over.
        let (below, right) = if tile.down_first {
            (size, down.wrapping_mul(size))
        } else {
            (across.wrapping_mul(size), size)
        };
        let rows = Steps {
            axis: tile.row,
            tile: below,
        };
        let cols = Steps {
            axis: tile.col,
            tile: right,
        };
        if self.columnwise {
            (cols, rows)
        } else {
            (rows, cols)
        }
    }

    /// Which scale lies at an offset from the beginning of a grid: its row and column; `None` for
    /// padding and beyond the end.
    pub const fn inverse(&self, offset: usize) -> Option<(usize, usize)> {
        if offset >= self.grid_size() {
            return None;
        }
        let (down, across) = self.tiles();
        let tile = self.order.tile();
        let number = offset >> (tile.row.bits() + tile.col.bits());
        let line = if tile.down_first { down } else { across };
        // Checked, so that no code for a division by zero is linked.
        let (Some(outer), Some(inner)) = (number.checked_div(line), number.checked_rem(line))
        else {
            return None;
        };
        let (i, j) = if tile.down_first {
            (inner, outer)
        } else {
            (outer, inner)
        };
        let row = i << tile.row.bits() | tile.row.gather(offset);
        let col = j << tile.col.bits() | tile.col.gather(offset);
        let (row, col) = self.as_rowwise(row, col);
        if row < self.rows && col < self.cols {
            Some((row, col))
        } else {
            None
        }
    }

    /// Writes the scales of this layout, `source`, in the layout `to`. Padding becomes
    /// `T::default()`, which is zero for numbers.
    ///
    /// [`Error::Shape`] where the two differ in rows, columns or batches; [`Error::Length`] where
    /// a slice is not as long as the size of its layout.
    pub fn convert<T: Copy + Default>(
        &self,
        source: &[T],
        to: &Layout,
        target: &mut [T],
    ) -> Result<(), Error> {
        self.check(source, to, target)?;
        self.write(source, to, target, |scale| scale);
        Ok(())
    }

    /// [`Layout::convert`] through a function: from f32 scales to bytes and back. Where it fails
    /// for any scale, its error is returned and nothing is written.
    pub fn convert_with<S: Copy, T: Copy + Default>(
        &self,
        source: &[S],
        to: &Layout,
        target: &mut [T],
        map: impl Fn(S) -> Result<T, Error>,
    ) -> Result<(), Error> {
        self.check(source, to, target)?;
        for batch in 0..self.occupied() {
            let from = self.grid(source, batch);
            for row in 0..self.rows {
                for col in 0..self.cols {
                    if let Some(&scale) = self.index(row, col).and_then(|i| from.get(i)) {
                        map(scale)?;
                    }
                }
            }
        }
        self.write(source, to, target, |scale| map(scale).unwrap_or_default());
        Ok(())
    }

    /// Whether scales of one can be written in the other.
    fn check<S, T>(&self, source: &[S], to: &Layout, target: &[T]) -> Result<(), Error> {
        if (self.rows, self.cols, self.batches) != (to.rows, to.cols, to.batches) {
            return Err(Error::Shape);
        }
        if source.len() != self.size() || target.len() != to.size() {
            return Err(Error::Length);
        }
        Ok(())
    }

    /// Grids that there is something to do for: of empty ones there may be any number, which no memory bounds.
    fn occupied(&self) -> usize {
        if self.grid_size() == 0 {
            0
        } else {
            self.batches
        }
    }

    /// The grid of a batch.
    fn grid<'a, T>(&self, buffer: &'a [T], batch: usize) -> &'a [T] {
        let begin = batch * self.batch_stride;
        buffer
            .get(begin..begin + self.grid_size())
            .unwrap_or_default()
    }

    /// Writes every scale and the padding.
    fn write<S: Copy, T: Copy + Default>(
        &self,
        source: &[S],
        to: &Layout,
        target: &mut [T],
        map: impl Fn(S) -> T,
    ) {
        let ((of_rows, of_cols), (to_rows, to_cols)) = (self.steps(), to.steps());
        for batch in 0..self.occupied() {
            let from = self.grid(source, batch);
            let begin = batch * to.batch_stride;
            let into = target
                .get_mut(begin..begin + to.grid_size())
                .unwrap_or_default();
            into.fill(T::default());
            for row in 0..self.rows {
                let (from_row, into_row) = (of_rows.offset(row), to_rows.offset(row));
                for col in 0..self.cols {
                    let scale = from.get(from_row + of_cols.offset(col));
                    let place = into.get_mut(into_row + to_cols.offset(col));
                    if let (Some(&scale), Some(place)) = (scale, place) {
                        *place = map(scale);
                    }
                }
            }
        }
    }
}

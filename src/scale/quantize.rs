// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one quantizer: every block shape, scaling and rule goes through it.
//!
//! A block is visited row by row, in the order of its elements in memory: once for its amax, once
//! for its codes. All arguments are checked before the first byte is written.

use super::grid::Grid;
use super::pass::{Origin, Output, Pass};
use super::rule::{self, TensorScale};
use super::{Block, BlockScale, Kind, Recipe, Scaling, Special};
use crate::error::Error;
use crate::float::FitsF32;
use crate::kernel::{self, Buffers, Decoding};
use crate::machine::buffered;
use crate::matrix::{Matrix, MatrixMut};
use crate::random::Philox;
use crate::scalar;
use crate::slice;
use crate::spec::Format;
use crate::stats::{Amax, Stats};
use core::fmt;

/// Scales to read: one a block, row-major over the grid of blocks ([`super::Block::grid`]), or as
/// [`Recipe::scale_layout`] says.
#[derive(Clone, Copy, Debug)]
pub enum Scales<'a> {
    /// f32 multipliers.
    F32(&'a [f32]),
    /// E8M0 bytes.
    E8M0(&'a [u8]),
    /// Bytes of the format that [`Scaling::TwoLevel`] names, under an f32 for the tensor.
    TwoLevel {
        /// The scale of the tensor.
        tensor: f32,
        /// The scales of the blocks.
        blocks: &'a [u8],
    },
}

/// Scales to write; otherwise as [`Scales`].
#[derive(Debug)]
pub enum ScalesMut<'a> {
    /// f32 multipliers.
    F32(&'a mut [f32]),
    /// E8M0 bytes.
    E8M0(&'a mut [u8]),
    /// Bytes of the format that [`Scaling::TwoLevel`] names, under an f32 for the tensor.
    TwoLevel {
        /// The scale of the tensor.
        tensor: &'a mut f32,
        /// The scales of the blocks.
        blocks: &'a mut [u8],
    },
}

/// Scales that were computed elsewhere: by delayed scaling, for a static checkpoint, by another
/// rank. The name says which way round they are.
#[derive(Clone, Copy, Debug)]
pub enum GivenScales<'a> {
    /// What elements are multiplied by: one f32 a block (a power of two under
    /// [`Scaling::PowerOfTwo`]). Not for scales that are stored as bytes.
    Quantize(&'a [f32]),
    /// What decoded elements are multiplied by, as it is stored.
    Dequantize(Scales<'a>),
}

impl Scales<'_> {
    fn len(&self) -> usize {
        match self {
            Scales::F32(scales) => scales.len(),
            Scales::E8M0(scales) => scales.len(),
            Scales::TwoLevel { blocks, .. } => blocks.len(),
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Scales::F32(_) => Kind::F32,
            Scales::E8M0(_) => Kind::E8M0,
            Scales::TwoLevel { .. } => Kind::TwoLevel,
        }
    }
}

impl GivenScales<'_> {
    fn len(&self) -> usize {
        match self {
            GivenScales::Quantize(scales) => scales.len(),
            GivenScales::Dequantize(scales) => scales.len(),
        }
    }
}

impl ScalesMut<'_> {
    fn len(&self) -> usize {
        match self {
            ScalesMut::F32(scales) => scales.len(),
            ScalesMut::E8M0(scales) => scales.len(),
            ScalesMut::TwoLevel { blocks, .. } => blocks.len(),
        }
    }

    fn kind(&self) -> Kind {
        match self {
            ScalesMut::F32(_) => Kind::F32,
            ScalesMut::E8M0(_) => Kind::E8M0,
            ScalesMut::TwoLevel { .. } => Kind::TwoLevel,
        }
    }

    /// The same place, once more.
    fn again(&mut self) -> ScalesMut<'_> {
        match self {
            ScalesMut::F32(scales) => ScalesMut::F32(scales),
            ScalesMut::E8M0(scales) => ScalesMut::E8M0(scales),
            ScalesMut::TwoLevel { tensor, blocks } => ScalesMut::TwoLevel { tensor, blocks },
        }
    }

    /// Writes zero everywhere.
    pub(super) fn clear(&mut self) {
        match self {
            ScalesMut::F32(scales) => scales.fill(0.0),
            ScalesMut::E8M0(scales) | ScalesMut::TwoLevel { blocks: scales, .. } => scales.fill(0),
        }
    }

    /// Stores the scale of the tensor, where there is a place for it.
    pub(super) fn store_tensor(&mut self, scale: &TensorScale) {
        if let ScalesMut::TwoLevel { tensor, .. } = self {
            **tensor = scale.dequantize;
        }
    }

    /// Stores the scale of a block.
    pub(super) fn store(&mut self, index: usize, scale: &BlockScale) {
        match self {
            ScalesMut::F32(scales) => {
                if let Some(place) = scales.get_mut(index) {
                    *place = scale.dequantize;
                }
            }
            ScalesMut::E8M0(scales) | ScalesMut::TwoLevel { blocks: scales, .. } => {
                if let Some(place) = scales.get_mut(index) {
                    *place = scale.code;
                }
            }
        }
    }
}

/// The first element that is an infinity or a NaN, in row-major order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotFinite {
    /// Its row.
    pub row: usize,
    /// Its column.
    pub col: usize,
    /// Its value.
    pub value: f32,
}

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at row {}, column {}", self.value, self.row, self.col)
    }
}

impl core::error::Error for NotFinite {}

/// Looks for infinities and NaN before anything is written: a pass of its own.
pub fn validate<S: FitsF32>(source: Matrix<'_, S>) -> Result<(), NotFinite> {
    for row in source.filled_rows() {
        let elements = source.segment(row, 0, source.cols());
        if slice::amax(elements).is_finite() {
            continue;
        }
        for (col, element) in elements.iter().enumerate() {
            let value = element.to_f32();
            if !value.is_finite() {
                return Err(NotFinite { row, col, value });
            }
        }
    }
    Ok(())
}

impl Recipe {
    /// Quantizes a matrix: codes (one a byte, in the low bits), scales, and what was seen.
    ///
    /// Of a shard ([`Matrix::shard`]) every scale is written too, from the elements that are there:
    /// where blocks are cut, merge amaxes first ([`Recipe::quantize_from_amax`]).
    ///
    /// `codes` has the shape of `source`; `scales` has one entry a block and the kind of the
    /// recipe's scaling, or as many as [`Recipe::scale_layout`] says.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Length`] or [`Error::Recipe`] (the kind of the scales) where
    /// they do not, [`Error::RandomBits`] where the rounding is stochastic
    /// ([`Recipe::quantize_stochastic`] is for that).
    pub fn quantize<S: FitsF32>(
        &self,
        source: Matrix<'_, S>,
        codes: MatrixMut<'_, u8>,
        scales: ScalesMut<'_>,
    ) -> Result<Stats, Error> {
        self.quantize_by(Origin::Search, None, source, codes, Some(scales))
    }

    /// [`Recipe::quantize`] with a stochastic rounding of at most 16 bits. The number of an
    /// element is `random.first_index + row * cols + col`.
    pub fn quantize_stochastic<S: FitsF32>(
        &self,
        random: Philox,
        source: Matrix<'_, S>,
        codes: MatrixMut<'_, u8>,
        scales: ScalesMut<'_>,
    ) -> Result<Stats, Error> {
        self.quantize_by(Origin::Search, Some(random), source, codes, Some(scales))
    }

    /// The amax of each block, row-major: what ranks or threads merge ([`Amax::merge`]) before
    /// [`Recipe::quantize_from_amax`]. Under [`Special::Ignore`], of the finite elements. Of a
    /// shard ([`Matrix::shard`]), of the elements that are there.
    ///
    /// # Errors
    /// [`Error::Length`] where there is not one amax a block.
    pub fn amax<S: FitsF32>(&self, source: Matrix<'_, S>, amax: &mut [Amax]) -> Result<(), Error> {
        self.check_blocks(source.rows(), source.cols(), amax.len())?;
        let grid = Grid::new(self, source.rows(), source.cols())?;
        kernel::with_default_environment(|| {
            self.each_amax(grid, source, |number, of_block| {
                if let Some(place) = amax.get_mut(number) {
                    *place = of_block;
                }
            });
        });
        Ok(())
    }

    /// [`Recipe::quantize`] with the amax of each block computed before, perhaps over more data
    /// than this: other ranks' rows, or the rest of a matrix of which this is a shard.
    ///
    /// Under two levels the amax of the tensor is that of the finite ones among `amax`, unless
    /// [`Recipe::with_tensor_amax`] says it.
    ///
    /// # Errors
    /// As [`Recipe::quantize`]; [`Error::NotFinite`] where [`Special::Ignore`] meets an amax that
    /// is not finite.
    pub fn quantize_from_amax<S: FitsF32>(
        &self,
        random: Option<Philox>,
        source: Matrix<'_, S>,
        amax: &[Amax],
        codes: MatrixMut<'_, u8>,
        scales: ScalesMut<'_>,
    ) -> Result<Stats, Error> {
        self.check_blocks(source.rows(), source.cols(), amax.len())?;
        if self.special == Special::Ignore && !amax.iter().all(|amax| amax.is_finite()) {
            return Err(Error::NotFinite);
        }
        self.quantize_by(Origin::Amax(amax), random, source, codes, Some(scales))
    }

    /// Quantizes with scales that were computed elsewhere. Infinities and NaN are stored as the
    /// cast says, and counted; no block is poisoned. What was seen holds the amax.
    ///
    /// # Errors
    /// As [`Recipe::quantize`]; [`Error::Scale`] where a scale is not positive and finite (a
    /// block's scale under two levels may be zero), or not one that the recipe could have made.
    pub fn quantize_given<S: FitsF32>(
        &self,
        random: Option<Philox>,
        source: Matrix<'_, S>,
        scales: GivenScales<'_>,
        codes: MatrixMut<'_, u8>,
    ) -> Result<Stats, Error> {
        self.check_given(source.rows(), source.cols(), &scales)?;
        self.quantize_by(Origin::Given(scales), random, source, codes, None)
    }

    /// Multiplies every code by the scale of its block: one f32 product (under two levels, after
    /// the product of the two scales), rounded once more to nearest-even for f16 and bf16
    /// targets.
    ///
    /// # Errors
    /// Shapes, lengths and kinds as [`Recipe::quantize`].
    pub fn dequantize<T: FitsF32>(
        &self,
        codes: Matrix<'_, u8>,
        scales: Scales<'_>,
        target: MatrixMut<'_, T>,
    ) -> Result<(), Error> {
        let (rows, cols) = (codes.rows(), codes.cols());
        if !codes.is_like(&target) {
            return Err(Error::Shape);
        }
        self.check_stored(rows, cols, &scales)?;
        let (codes, mut target) = self.joined(codes, target);
        let (rows, cols) = (codes.rows(), codes.cols());
        let grid = Grid::new(self, rows, cols)?;
        let decoding = Decoding::new(self.element).for_values::<T>(rows * cols);
        kernel::with_default_environment(|| {
            if let Scales::E8M0(scales) = scales
                && self.block == Block::new(1, kernel::GROUP)
                && grid.step() == Some(1)
                && codes.is_whole()
            {
                let (down, across) = self.block.grid(rows, cols);
                for row in 0..if across == 0 { 0 } else { down } {
                    let places = row * across..(row + 1) * across;
                    let scales = scales.get(places).unwrap_or_default();
                    let from = codes.segment(row, 0, cols);
                    let to = target.segment(row, 0, cols);
                    kernel::decode_groups(&decoding, scales, from, to);
                }
                return;
            }
            grid.each_cell(|cell| {
                let scale = self.stored_scale(&scales, cell.index);
                for row in cell.rows.clone() {
                    let from = codes.segment(row, cell.cols.start, cell.cols.end);
                    let to = target.segment(row, cell.cols.start, cell.cols.end);
                    kernel::decode_scaled(&decoding, scale, from, to);
                }
            });
        });
        decoding.settle();
        Ok(())
    }

    /// Shows what [`Recipe::dequantize`] gives as f32, a piece of a row at a time: the row, the
    /// first column, the values. The order is that of the blocks.
    pub(crate) fn each_dequantized(
        &self,
        codes: Matrix<'_, u8>,
        scales: Scales<'_>,
        mut visit: impl FnMut(usize, usize, &[f32]),
    ) -> Result<(), Error> {
        let (rows, cols) = (codes.rows(), codes.cols());
        self.check_stored(rows, cols, &scales)?;
        let grid = Grid::new(self, rows, cols)?;
        let mut values = [0.0; CHUNK];
        let decoding = Decoding::new(self.element);
        kernel::with_default_environment(|| {
            grid.each_cell(|cell| {
                let scale = self.stored_scale(&scales, cell.index);
                for row in cell.rows.clone() {
                    for start in cell.cols.clone().step_by(CHUNK) {
                        let end = cell.cols.end.min(start + CHUNK);
                        let from = codes.segment(row, start, end);
                        let values = values.get_mut(..from.len()).unwrap_or_default();
                        kernel::decode_scaled(&decoding, scale, from, values);
                        visit(row, start, values);
                    }
                }
            });
        });
        Ok(())
    }

    /// The quantizer: checks, then one pass over all blocks.
    fn quantize_by<S: FitsF32>(
        &self,
        origin: Origin<'_>,
        random: Option<Philox>,
        source: Matrix<'_, S>,
        codes: MatrixMut<'_, u8>,
        scales: Option<ScalesMut<'_>>,
    ) -> Result<Stats, Error> {
        if !source.is_like(&codes) {
            return Err(Error::Shape);
        }
        let grid = Grid::new(self, source.rows(), source.cols())?;
        self.check_target(&grid, random, scales.as_ref())?;
        let (source, codes) = self.joined(source, codes);
        let grid = Grid::new(self, source.rows(), source.cols())?;
        Ok(self.quantize_grid(grid, origin, random, source, Output { codes, scales }))
    }

    /// Quantizes some of the rows of a matrix of `all` rows, which begin `first` blocks down.
    /// `codes` is for those rows, `scales` for the whole matrix.
    pub(crate) fn quantize_band(
        &self,
        (all, first): (usize, usize),
        random: Option<Philox>,
        source: Matrix<'_, f32>,
        codes: MatrixMut<'_, u8>,
        scales: &mut ScalesMut<'_>,
    ) -> Result<Stats, Error> {
        let grid = Grid::band(self, source.rows(), source.cols(), all, first)?;
        self.check_target(&grid, random, Some(scales))?;
        let output = Output {
            codes,
            scales: Some(scales.again()),
        };
        Ok(self.quantize_grid(grid, Origin::Search, random, source, output))
    }

    /// One pass over all blocks of a grid; everything has been checked.
    pub(super) fn quantize_grid<S: FitsF32>(
        &self,
        grid: Grid,
        origin: Origin<'_>,
        random: Option<Philox>,
        source: Matrix<'_, S>,
        mut output: Output<'_>,
    ) -> Stats {
        kernel::with_default_environment(|| {
            let pass = Pass::begin(self, grid, origin, random, source, &mut output);
            let stats = pass.quantize(source, &mut output, &grid.all(), &mut Buffers::new());
            pass.settle();
            stats
        })
    }

    /// Rows without gaps between them as one, where blocks are the same elements then: longer runs
    /// for the kernels.
    fn joined<'a, 'b, A, B>(
        &self,
        a: Matrix<'a, A>,
        b: MatrixMut<'b, B>,
    ) -> (Matrix<'a, A>, MatrixMut<'b, B>) {
        let Block { rows, cols } = self.block;
        let are_parts_of_rows = rows == 1 && cols > 0 && a.cols().is_multiple_of(cols);
        let are_the_same =
            self.block == Block::TENSOR || are_parts_of_rows && self.scale_order.is_row_major();
        if are_the_same && a.is_dense() && b.is_dense() {
            (a.joined(), b.joined())
        } else {
            (a, b)
        }
    }

    /// The multiplier of a block; NaN beyond the end.
    pub(crate) fn stored_scale(&self, scales: &Scales<'_>, index: usize) -> f32 {
        let decode = |format, codes: &[u8]| {
            codes
                .get(index)
                .map_or(f32::NAN, |&code| scalar::decode_f32(format, code))
        };
        match (scales, self.scaling) {
            (Scales::F32(scales), _) => scales.get(index).copied().unwrap_or(f32::NAN),
            (Scales::TwoLevel { tensor, blocks }, Scaling::TwoLevel(format)) => {
                tensor * decode(format, blocks)
            }
            (Scales::E8M0(codes) | Scales::TwoLevel { blocks: codes, .. }, _) => {
                decode(Format::E8M0, codes)
            }
        }
    }

    /// A given scale, if the recipe can use it. The caller has set the floating-point environment: one
    /// that takes subnormals for zeros would refuse them.
    pub(super) fn given_scale(&self, scales: &GivenScales<'_>, index: usize) -> Option<BlockScale> {
        let is_positive = |scale: f32| scale > 0.0 && scale < f32::INFINITY;
        match (scales, self.scaling) {
            (GivenScales::Quantize(scales), Scaling::F32(_)) => {
                let scale = scales
                    .get(index)
                    .copied()
                    .filter(|&scale| is_positive(scale))?;
                Some(BlockScale::from_quantize(scale))
            }
            (GivenScales::Quantize(scales), _) => {
                // The inverse of a power of two in the range is one, exactly.
                BlockScale::from_power_of_two(1.0 / scales.get(index)?)
            }
            (GivenScales::Dequantize(Scales::F32(scales)), Scaling::F32(convention)) => {
                let scale = scales
                    .get(index)
                    .copied()
                    .filter(|&scale| is_positive(scale))?;
                Some(rule::divide_by(convention, scale))
            }
            (GivenScales::Dequantize(Scales::F32(scales)), _) => {
                BlockScale::from_power_of_two(*scales.get(index)?)
            }
            (GivenScales::Dequantize(Scales::E8M0(codes)), _) => {
                let code = codes.get(index).copied()?;
                (!Format::E8M0.spec().is_nan(code as u64)).then(|| BlockScale::from_e8m0(code))
            }
            (
                GivenScales::Dequantize(Scales::TwoLevel { tensor, blocks }),
                Scaling::TwoLevel(format),
            ) => {
                let code = blocks.get(index).copied()?;
                let is_usable = is_positive(*tensor) && !format.spec().is_nan(code as u64);
                is_usable.then(|| TensorScale::from_dequantize(*tensor).block(format, code))
            }
            (GivenScales::Dequantize(Scales::TwoLevel { .. }), _) => None,
        }
    }

    /// Whether all given scales of a matrix of that shape are of the recipe's kind and can be used.
    pub(crate) fn check_given(
        &self,
        rows: usize,
        cols: usize,
        scales: &GivenScales<'_>,
    ) -> Result<(), Error> {
        let grid = Grid::new(self, rows, cols)?;
        if grid.places() != scales.len() {
            return Err(Error::Length);
        }
        self.check_kind(match scales {
            GivenScales::Quantize(_) => Kind::F32,
            GivenScales::Dequantize(scales) => scales.kind(),
        })?;
        let mut are_usable = true;
        kernel::with_default_environment(|| {
            grid.each_cell(|cell| are_usable &= self.given_scale(scales, cell.index).is_some());
        });
        if are_usable {
            Ok(())
        } else {
            Err(Error::Scale)
        }
    }

    /// Whether a matrix of that shape can be quantized into these scales.
    pub(crate) fn can_quantize(
        &self,
        rows: usize,
        cols: usize,
        random: Option<Philox>,
        scales: &ScalesMut<'_>,
    ) -> Result<(), Error> {
        self.check_target(&Grid::new(self, rows, cols)?, random, Some(scales))
    }

    /// Whether the matrix of a grid can be quantized into these scales.
    pub(super) fn check_target(
        &self,
        grid: &Grid,
        random: Option<Philox>,
        scales: Option<&ScalesMut<'_>>,
    ) -> Result<(), Error> {
        if let Some(scales) = scales {
            self.check_room(grid, scales)?;
        }
        if self.cast.rounding.random_bits() > random.map_or(0, |_| Philox::BITS) {
            return Err(Error::RandomBits);
        }
        Ok(())
    }

    /// Whether the scales of a grid can be written there.
    pub(super) fn check_room(&self, grid: &Grid, scales: &ScalesMut<'_>) -> Result<(), Error> {
        self.check_kind(scales.kind())?;
        if grid.places() == scales.len() {
            Ok(())
        } else {
            Err(Error::Length)
        }
    }

    /// Whether these are the scales of a matrix of that shape.
    pub(crate) fn check_stored(
        &self,
        rows: usize,
        cols: usize,
        scales: &Scales<'_>,
    ) -> Result<(), Error> {
        self.check_kind(scales.kind())?;
        if self.scale_layout(rows, cols)?.size() == scales.len() {
            Ok(())
        } else {
            Err(Error::Length)
        }
    }

    /// Whether the kind of the scales is the recipe's.
    fn check_kind(&self, kind: Kind) -> Result<(), Error> {
        if kind == self.scaling.kind() {
            Ok(())
        } else {
            Err(Error::Recipe)
        }
    }

    /// Whether there is one entry a block.
    fn check_blocks(&self, rows: usize, cols: usize, entries: usize) -> Result<(), Error> {
        let (down, across) = self.block.grid(rows, cols);
        match down.checked_mul(across) {
            Some(blocks) if blocks == entries => Ok(()),
            Some(_) => Err(Error::Length),
            None => Err(Error::Shape),
        }
    }
}

/// Elements that are decoded at a time, on the stack.
const CHUNK: usize = buffered(256);

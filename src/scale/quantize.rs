// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one quantizer: every block shape, scaling and rule goes through it.
//!
//! A block is visited row by row, in the order of its elements in memory: once for its amax, once
//! for its codes. All arguments are checked before the first byte is written.

use core::fmt;
use core::ops::Range;

use super::{BlockScale, Recipe, Scaling, Special};
use crate::error::Error;
use crate::float::FitsF32;
use crate::kernel::{self, Factor};
use crate::matrix::{Matrix, MatrixMut};
use crate::random::{Philox, Random};
use crate::scalar;
use crate::slice;
use crate::spec::Format;
use crate::stats::{Amax, Stats};

/// Scales to read: one a block, row-major over the grid of blocks ([`super::Block::grid`]).
#[derive(Clone, Copy, Debug)]
pub enum Scales<'a> {
    /// f32 multipliers.
    F32(&'a [f32]),
    /// E8M0 bytes.
    E8M0(&'a [u8]),
}

/// Scales to write; otherwise as [`Scales`].
#[derive(Debug)]
pub enum ScalesMut<'a> {
    /// f32 multipliers.
    F32(&'a mut [f32]),
    /// E8M0 bytes.
    E8M0(&'a mut [u8]),
}

impl Scales<'_> {
    fn len(&self) -> usize {
        match self {
            Scales::F32(scales) => scales.len(),
            Scales::E8M0(scales) => scales.len(),
        }
    }

    /// The multiplier of a block; NaN beyond the end.
    fn dequantize_scale(&self, index: usize) -> f32 {
        match self {
            Scales::F32(scales) => scales.get(index).copied().unwrap_or(f32::NAN),
            Scales::E8M0(scales) => scales
                .get(index)
                .map_or(f32::NAN, |&code| scalar::decode_f32(Format::E8M0, code)),
        }
    }
}

impl ScalesMut<'_> {
    fn len(&self) -> usize {
        match self {
            ScalesMut::F32(scales) => scales.len(),
            ScalesMut::E8M0(scales) => scales.len(),
        }
    }

    fn store(&mut self, index: usize, scale: &BlockScale) {
        match self {
            ScalesMut::F32(scales) => {
                if let Some(place) = scales.get_mut(index) {
                    *place = scale.dequantize;
                }
            }
            ScalesMut::E8M0(scales) => {
                if let Some(place) = scales.get_mut(index) {
                    *place = scale.e8m0();
                }
            }
        }
    }
}

/// One block: its place in the grid and its elements.
struct Cell {
    index: usize,
    rows: Range<usize>,
    cols: Range<usize>,
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
    /// `codes` has the shape of `source`; `scales` has one entry a block and the kind of the
    /// recipe's scaling. [`Error::Shape`], [`Error::Length`] or [`Error::Recipe`] (the kind of
    /// the scales) where they do not, [`Error::RandomBits`] where the rounding is stochastic
    /// ([`Recipe::quantize_stochastic`] is for that).
    pub fn quantize<S: FitsF32>(
        &self,
        source: Matrix<'_, S>,
        codes: MatrixMut<'_, u8>,
        scales: ScalesMut<'_>,
    ) -> Result<Stats, Error> {
        self.quantize_by(None, source, codes, scales, |cell| {
            self.scale_here(self.cell_amax(source, cell))
        })
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
        self.quantize_by(Some(random), source, codes, scales, |cell| {
            self.scale_here(self.cell_amax(source, cell))
        })
    }

    /// The amax of each block: what ranks or threads merge ([`Amax::merge`]) before
    /// [`Recipe::quantize_from_amax`]. Under [`Special::Ignore`], of the finite elements.
    pub fn amax<S: FitsF32>(&self, source: Matrix<'_, S>, amax: &mut [Amax]) -> Result<(), Error> {
        self.check_grid(source.rows(), source.cols(), amax.len())?;
        self.each_block(source.rows(), source.cols(), |cell| {
            if let Some(place) = amax.get_mut(cell.index) {
                *place = self.cell_amax(source, &cell);
            }
        });
        Ok(())
    }

    /// [`Recipe::quantize`] with the amax of each block computed before, perhaps over more data
    /// than this. [`Error::NotFinite`] where [`Special::Ignore`] meets an amax that is not
    /// finite.
    pub fn quantize_from_amax<S: FitsF32>(
        &self,
        random: Option<Philox>,
        source: Matrix<'_, S>,
        amax: &[Amax],
        codes: MatrixMut<'_, u8>,
        scales: ScalesMut<'_>,
    ) -> Result<Stats, Error> {
        self.check_grid(source.rows(), source.cols(), amax.len())?;
        if self.special == Special::Ignore && !amax.iter().all(|amax| amax.is_finite()) {
            return Err(Error::NotFinite);
        }
        self.quantize_by(random, source, codes, scales, |cell| {
            let amax = amax.get(cell.index).copied();
            self.scale_here(amax.unwrap_or(Amax::NAN))
        })
    }

    /// Multiplies every code by the scale of its block: one f32 product, rounded once more to
    /// nearest-even for f16 and bf16 targets.
    ///
    /// Shapes, lengths and errors as [`Recipe::quantize`].
    pub fn dequantize<T: FitsF32>(
        &self,
        codes: Matrix<'_, u8>,
        scales: Scales<'_>,
        mut target: MatrixMut<'_, T>,
    ) -> Result<(), Error> {
        let (rows, cols) = (codes.rows(), codes.cols());
        if target.rows() != rows || target.cols() != cols {
            return Err(Error::Shape);
        }
        self.check_kind(matches!(scales, Scales::E8M0(_)))?;
        self.check_grid(rows, cols, scales.len())?;
        kernel::with_default_environment(|| {
            self.each_block(rows, cols, |cell| {
                let scale = scales.dequantize_scale(cell.index);
                for row in cell.rows.clone() {
                    let from = codes.segment(row, cell.cols.start, cell.cols.end);
                    let to = target.segment(row, cell.cols.start, cell.cols.end);
                    kernel::decode_scaled(self.element, scale, from, to);
                }
            });
        });
        Ok(())
    }

    /// The quantizer: checks, then for each block its scale, its codes and its counts.
    fn quantize_by<S: FitsF32>(
        &self,
        random: Option<Philox>,
        source: Matrix<'_, S>,
        mut codes: MatrixMut<'_, u8>,
        mut scales: ScalesMut<'_>,
        mut scale_of: impl FnMut(&Cell) -> BlockScale,
    ) -> Result<Stats, Error> {
        let (rows, cols) = (source.rows(), source.cols());
        if codes.rows() != rows || codes.cols() != cols {
            return Err(Error::Shape);
        }
        self.check_kind(matches!(scales, ScalesMut::E8M0(_)))?;
        self.check_grid(rows, cols, scales.len())?;
        let bits = self.cast.rounding.random_bits();
        if bits > random.map_or(0, |_| Philox::BITS) {
            return Err(Error::RandomBits);
        }
        let mut stats = Stats::EMPTY;
        kernel::with_default_environment(|| {
            self.each_block(rows, cols, |cell| {
                let scale = scale_of(&cell);
                scales.store(cell.index, &scale);
                stats = stats.merge(self.encode_cell(random, source, &mut codes, &cell, &scale));
            });
        });
        Ok(stats)
    }

    /// Writes the codes of one block.
    fn encode_cell<S: FitsF32>(
        &self,
        random: Option<Philox>,
        source: Matrix<'_, S>,
        codes: &mut MatrixMut<'_, u8>,
        cell: &Cell,
        scale: &BlockScale,
    ) -> Stats {
        let poisoned = scale.is_nan();
        let mut stats = Stats::EMPTY;
        for row in cell.rows.clone() {
            let from = source.segment(row, cell.cols.start, cell.cols.end);
            let to = codes.segment(row, cell.cols.start, cell.cols.end);
            let first = (row as u64)
                .wrapping_mul(source.cols() as u64)
                .wrapping_add(cell.cols.start as u64);
            let random = random.map(|p| Random::Philox(p.at(p.first_index.wrapping_add(first))));
            let factor = if poisoned {
                Factor::Shift(0)
            } else {
                scale.factor
            };
            let of_row =
                kernel::encode_with_stats(self.element, self.cast, factor, random, from, to);
            stats = stats.merge(of_row);
            if poisoned {
                to.fill(scalar::encode_f32(self.element, self.cast, f32::NAN, 0));
            }
        }
        if poisoned {
            // No element of a poisoned block was rounded.
            stats.saturated = 0;
            stats.underflowed = 0;
        }
        stats
    }

    /// The amax of one block.
    fn cell_amax<S: FitsF32>(&self, source: Matrix<'_, S>, cell: &Cell) -> Amax {
        let mut amax = Amax::ZERO;
        for row in cell.rows.clone() {
            let elements = source.segment(row, cell.cols.start, cell.cols.end);
            let mut of_row = slice::amax(elements);
            if !of_row.is_finite() && self.special == Special::Ignore {
                of_row = finite_amax(elements);
            }
            amax = amax.merge(of_row);
        }
        amax
    }

    /// Visits the blocks of a matrix, row-major.
    fn each_block(&self, rows: usize, cols: usize, mut visit: impl FnMut(Cell)) {
        let (down, across) = self.block.grid(rows, cols);
        if across == 0 {
            // Without elements the rows may be any number.
            return;
        }
        for i in 0..down {
            for j in 0..across {
                visit(Cell {
                    index: i * across + j,
                    rows: part(i, self.block.rows, rows),
                    cols: part(j, self.block.cols, cols),
                });
            }
        }
    }

    /// Whether the kind of the scales is the recipe's.
    fn check_kind(&self, is_e8m0: bool) -> Result<(), Error> {
        if is_e8m0 == matches!(self.scaling, Scaling::E8M0(_)) {
            Ok(())
        } else {
            Err(Error::Recipe)
        }
    }

    /// Whether there is one entry a block.
    fn check_grid(&self, rows: usize, cols: usize, entries: usize) -> Result<(), Error> {
        let (down, across) = self.block.grid(rows, cols);
        match down.checked_mul(across) {
            Some(blocks) if blocks == entries => Ok(()),
            Some(_) => Err(Error::Length),
            None => Err(Error::Shape),
        }
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

/// The amax of the finite elements.
fn finite_amax<S: FitsF32>(elements: &[S]) -> Amax {
    let mut amax = Amax::ZERO;
    for element in elements {
        let of_one = Amax::of(element.to_f32());
        if of_one.is_finite() {
            amax = amax.merge(of_one);
        }
    }
    amax
}

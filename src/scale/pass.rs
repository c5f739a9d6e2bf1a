// SPDX-License-Identifier: MIT OR Apache-2.0
//! One pass of the quantizer over a matrix, or a part of it: amaxes, scales, codes, counts.
//!
//! Narrow blocks are handled many at a time, in tiles ([`kernel::encode_tile`]); wide ones, and the
//! few that are out of the ordinary, one at a time, row by row. Which way a block goes changes
//! nothing but speed.

use core::ops::Range;

use super::batch::BatchRule;
use super::grid::{Cell, Grid, Parts, Region};
use super::quantize::{GivenScales, ScalesMut};
use super::rule::TensorScale;
use super::{Block, BlockScale, Convention, ExponentRule, Kind, Recipe, Scaling, Special};
use crate::float::FitsF32;
use crate::kernel::{
    self, Blocks, Buffers, COLUMNS, Copies, Decoding, Factor, Operation, Params, ScaleBuffers, Tile,
};
use crate::machine::{IS_SMALL, buffered};
use crate::matrix::{Matrix, MatrixMut};
use crate::random::{Philox, Random};
use crate::scalar;
use crate::stats::{Amax, Extremes, Stats};

/// Where the scale of a block comes from.
#[derive(Clone, Copy)]
pub(super) enum Origin<'a> {
    /// From the elements.
    Search,
    /// From amaxes computed before.
    Amax(&'a [Amax]),
    /// It is given.
    Given(GivenScales<'a>),
}

/// Where a pass writes.
pub(super) struct Output<'a> {
    /// The codes, in the shape of the source or transposed.
    pub codes: MatrixMut<'a, u8>,
    /// The scales, unless they are given.
    pub scales: Option<ScalesMut<'a>>,
}

impl Output<'_> {
    fn store(&mut self, index: usize, scale: &BlockScale) {
        if let Some(scales) = &mut self.scales {
            scales.store(index, scale);
        }
    }

    /// Fills a block of codes.
    fn fill(&mut self, cell: &Cell, transposed: bool, code: u8) {
        let (rows, cols) = if transposed {
            (&cell.cols, &cell.rows)
        } else {
            (&cell.rows, &cell.cols)
        };
        for row in rows.clone() {
            self.codes.segment(row, cols.start, cols.end).fill(code);
        }
    }

    /// Stores the scales of the blocks of a region.
    fn store_f32(&mut self, grid: &Grid, region: &Region, scales: &[f32]) {
        if let Some(ScalesMut::F32(places)) = &mut self.scales {
            store_region(places, grid, region, scales);
        }
    }

    /// The same for bytes.
    fn store_codes(&mut self, grid: &Grid, region: &Region, codes: &[u8]) {
        if let Some(ScalesMut::E8M0(places)) = &mut self.scales {
            store_region(places, grid, region, codes);
        }
    }
}

/// Stores values of the blocks of a region.
fn store_region<T: Copy>(places: &mut [T], grid: &Grid, region: &Region, values: &[T]) {
    let Some(step) = grid.step() else {
        for ((i, j), &value) in region.blocks().zip(values) {
            if let Some(place) = places.get_mut(grid.index(i, j)) {
                *place = value;
            }
        }
        return;
    };
    let rows = values.chunks(region.across.len().max(1));
    for (i, values) in region.down.clone().zip(rows) {
        let index = grid.index(i, region.across.start);
        store_apart(places.get_mut(index..), step, values);
    }
}

/// Stores values, `step` places apart.
fn store_apart<T: Copy>(places: Option<&mut [T]>, step: usize, values: &[T]) {
    let places = places.unwrap_or_default().iter_mut();
    if step == 1 {
        places
            .zip(values)
            .for_each(|(place, &value)| *place = value);
    } else {
        let places = places.step_by(step.max(1));
        places
            .zip(values)
            .for_each(|(place, &value)| *place = value);
    }
}

/// What all blocks of a pass share.
pub(super) struct Pass<'a> {
    recipe: &'a Recipe,
    grid: Grid,
    origin: Origin<'a>,
    random: Option<Philox>,
    params: Params,
    tensor: TensorScale,
    /// The rule of the scales, where many can be computed at once.
    rule: Option<BatchRule>,
    /// Whether blocks are handled many at a time.
    in_tiles: bool,
    /// How the matrix is cut.
    parts: Parts,
    /// Whether no other pass works on the same parts.
    is_alone: bool,
}

impl<'a> Pass<'a> {
    /// A pass over `source`, for callers that have set the floating-point environment. Where there
    /// is a scale of the tensor, it is computed and stored; where there is padding, it is written.
    pub fn begin<S: FitsF32>(
        recipe: &'a Recipe,
        grid: Grid,
        origin: Origin<'a>,
        random: Option<Philox>,
        source: Matrix<'_, S>,
        output: &mut Output<'_>,
    ) -> Pass<'a> {
        let tensor = recipe.tensor_scale(recipe.whole_amax(grid, origin, source));
        if let Some(scales) = &mut output.scales {
            scales.store_tensor(&tensor);
            if grid.begins_with_padding() {
                scales.clear();
            }
        }
        // A transposed copy is written from elsewhere.
        let codes = match grid.transposed {
            true => 0,
            false => grid.rows.saturating_mul(grid.cols),
        };
        let rule = match origin {
            Origin::Search if !IS_SMALL => BatchRule::new(recipe),
            _ => None,
        };
        let in_tiles = grid.is_narrow() && !tries_scales(recipe, origin);
        let params = Params::new(recipe.element, recipe.cast).for_codes(codes);
        // The rows of a shard may begin in the middle of a block.
        let is_row = grid.block.rows == 1 && kernel::is_row_width(grid.width());
        let parts = if in_tiles && is_row && source.is_whole() && !grid.transposed {
            Parts::rows(params.stream)
        } else {
            Parts::blocks(grid.block, params.stream)
        };
        Pass {
            recipe,
            grid,
            origin,
            random: random.filter(|_| recipe.cast.rounding.is_stochastic()),
            params: params.with_next_part(grid.next_part(parts, source.stride())),
            tensor,
            rule,
            in_tiles,
            parts,
            is_alone: true,
        }
    }

    /// Whether the matrix is fetched part by part.
    pub fn is_fetched(&self) -> bool {
        self.params.stream
    }

    /// The same pass where it is not the only one over each part of the matrix: how many elements lie
    /// from one to the same one in the next part, 0 where another pass fetches that.
    pub fn with_next_part(mut self, ahead: usize) -> Pass<'a> {
        self.params = self.params.with_next_part(ahead);
        self.is_alone = false;
        self
    }

    /// Ends the pass.
    pub fn settle(&self) {
        kernel::settle(self.params.stream);
    }

    /// Quantizes the blocks of a region.
    pub fn quantize<S: FitsF32>(
        &self,
        source: Matrix<'_, S>,
        output: &mut Output<'_>,
        region: &Region,
        buffers: &mut Buffers,
    ) -> Stats {
        let mut stats = Stats::EMPTY;
        self.grid.each_part(region, self.parts, |part| {
            // A microcontroller has no tiles: named here so that their code is left out.
            let of_part = if self.in_tiles && !IS_SMALL {
                self.tile(source, output, &part, buffers)
            } else {
                self.cells(source, output, &part)
            };
            stats = stats.merge(of_part);
        });
        stats
    }

    /// The blocks of a tile at once, but for those whose scale is zero or NaN.
    fn tile<S: FitsF32>(
        &self,
        source: Matrix<'_, S>,
        output: &mut Output<'_>,
        region: &Region,
        buffers: &mut Buffers,
    ) -> Stats {
        let width = self.grid.width();
        let tile = self.grid.tile(region);
        let min_nonzero = match self.parts.is_rows() {
            true => kernel::row_ranges(source, &tile, width, &mut buffers.amaxes),
            false => kernel::block_ranges(source, &tile, width, &mut buffers.amaxes),
        };
        let all_ordinary = self.scales(source, output, region, buffers);
        if !all_ordinary && region.down.len() > 1 {
            let rows = region.rows();
            let of_row = |row| self.tile(source, output, &row, buffers);
            return rows.map(of_row).fold(Stats::EMPTY, Stats::merge);
        }
        let amaxes = buffers.amaxes.get(..region.len()).unwrap_or_default();
        let amax = largest(amaxes);
        let of_tile = match all_ordinary {
            true => self.encode_blocks(source, output, region, 0..region.len(), buffers),
            false => self.encode_parts(source, output, region, buffers),
        };
        of_tile.merge(Stats {
            amax,
            min_nonzero,
            ..Stats::EMPTY
        })
    }

    /// Quantizes a part of the matrix in both passes from one look at it, where that is faster than one
    /// after the other: this one's blocks are 1x32, the other's 32x1, and their scales are E8M0.
    pub fn quantize_both<S: FitsF32>(
        &self,
        columnwise: &Pass<'_>,
        source: Matrix<'_, S>,
        outputs: [&mut Output<'_>; 2],
        regions: &[Region; 2],
        buffers: &mut [Buffers; 2],
    ) -> Option<[Stats; 2]> {
        const ROW: Block = Block::new(1, kernel::GROUP);
        const COLUMN: Block = Block::new(kernel::GROUP, 1);
        let blocks = [self.grid.block, columnwise.grid.block];
        let is_whole = source.is_whole() && blocks == [ROW, COLUMN];
        if !is_whole || self.grid.transposed || !self.is_bounded() || !columnwise.is_bounded() {
            return None;
        }
        let [row_region, column_region] = regions;
        let [row_output, column_output] = outputs;
        let [row_buffers, column_buffers] = buffers;
        let tile = self.grid.tile(row_region);
        let amaxes = [&mut row_buffers.amaxes, &mut column_buffers.amaxes];
        let least = kernel::both_ranges(source, &tile, amaxes)?;
        if !self.scales(source, row_output, row_region, row_buffers)
            || !columnwise.scales(source, column_output, column_region, column_buffers)
        {
            return None;
        }
        let amaxes = column_buffers.amaxes.get(..column_region.len());
        let amax = largest(amaxes.unwrap_or_default());
        let copies = Copies {
            rowwise: &mut row_output.codes,
            columnwise: &mut column_output.codes,
            transposed: columnwise.grid.transposed,
        };
        let buffers = [row_buffers, column_buffers];
        let stats = kernel::encode_both(&self.params, buffers, least, source, &tile, copies)?;
        Some(stats.map(|stats| Stats {
            amax,
            min_nonzero: least.nonzero,
            ..stats
        }))
    }

    /// Whether blocks are handled many at a time, by the fastest of casts, and nothing finite is beyond the
    /// largest value after its factor.
    fn is_bounded(&self) -> bool {
        let is_plain = self.in_tiles && self.params.is_plain();
        match self.rule {
            Some(BatchRule::E8M0(rule)) if is_plain => self.params.holds(rule.largest()),
            _ => false,
        }
    }

    /// Encodes a tile one block high, of which some blocks are out of the ordinary.
    fn encode_parts<S: FitsF32>(
        &self,
        source: Matrix<'_, S>,
        output: &mut Output<'_>,
        region: &Region,
        buffers: &mut Buffers,
    ) -> Stats {
        let mut stats = Stats::EMPTY;
        let mut first = 0;
        while first < region.len() {
            let rest = buffers.factors.get(first..region.len()).unwrap_or_default();
            let is_special = rest.first().is_some_and(|factor| factor.is_nan());
            let alike = rest.iter().take_while(|by| by.is_nan() == is_special);
            let end = first + alike.count().max(1);
            let part = region.part(first..end);
            let of_part = match is_special {
                true => self.cells(source, output, &part),
                false => self.encode_blocks(source, output, &part, first..end, buffers),
            };
            stats = stats.merge(of_part);
            first = end;
        }
        stats
    }

    /// Encodes a region of ordinary blocks; their places in the buffers.
    fn encode_blocks<S: FitsF32>(
        &self,
        source: Matrix<'_, S>,
        output: &mut Output<'_>,
        region: &Region,
        places: Range<usize>,
        buffers: &mut Buffers,
    ) -> Stats {
        let blocks = Blocks {
            width: self.grid.width(),
            of_row: match region.down.len() {
                1 => 0,
                _ => region.across.len(),
            },
            amaxes: buffers.amaxes.get(places.clone()).unwrap_or_default(),
            operation: self.operation(),
            factors: buffers.factors.get(places).unwrap_or_default(),
            random: self.random,
        };
        let tile = self.grid.tile(region);
        self.encode_tile(source, output, &tile, blocks, &mut buffers.scratch)
    }

    /// Stores the scales of blocks with these amaxes, and says by what their elements are divided:
    /// NaN for those that must be looked at one at a time. Returns whether there are none of these.
    fn scales<S: FitsF32>(
        &self,
        source: Matrix<'_, S>,
        output: &mut Output<'_>,
        region: &Region,
        buffers: &mut Buffers,
    ) -> bool {
        let amaxes = buffers.amaxes.get(..region.len()).unwrap_or_default();
        let factors = buffers.factors.get_mut(..region.len()).unwrap_or_default();
        if self.scales_of_batch(output, region, amaxes, factors, &mut buffers.scales) {
            return true;
        }
        let mut all_ordinary = true;
        let unknown = region.blocks().zip(amaxes).zip(factors);
        for (((i, j), &amax), factor) in unknown.filter(|(_, factor)| factor.is_nan()) {
            let mut cell = self.grid.cell(i, j);
            let scale = self.scale(source, &mut cell, Some(Amax::from_bits(amax)));
            output.store(cell.index, &scale);
            if !scale.is_nan() && scale.dequantize != 0.0 {
                *factor = scale.factor.number();
            } else {
                all_ordinary = false;
            }
        }
        all_ordinary
    }

    /// The same for all blocks whose scales can be computed at once: those whose amax is finite, if
    /// the rule is one for that. Returns whether these are all.
    fn scales_of_batch(
        &self,
        output: &mut Output<'_>,
        region: &Region,
        amaxes: &[u32],
        factors: &mut [f32],
        scales: &mut ScaleBuffers,
    ) -> bool {
        match self.rule {
            Some(BatchRule::E8M0(rule)) => {
                let codes = scales.codes.get_mut(..amaxes.len()).unwrap_or_default();
                let all_finite = rule.scales(amaxes, codes, factors);
                output.store_codes(&self.grid, region, codes);
                all_finite
            }
            Some(BatchRule::F32(rule)) => {
                let scales = scales.f32.get_mut(..amaxes.len()).unwrap_or_default();
                let all_finite = rule.scales(amaxes, scales, factors);
                output.store_f32(&self.grid, region, scales);
                all_finite
            }
            None => {
                factors.fill(f32::NAN);
                false
            }
        }
    }

    /// What the numbers of all factors mean.
    fn operation(&self) -> Operation {
        match (self.recipe.scaling, self.origin) {
            (Scaling::PowerOfTwo(_) | Scaling::E8M0(_), _) => Operation::Shift,
            (Scaling::F32(_), Origin::Given(GivenScales::Quantize(_))) => Operation::Multiply,
            (Scaling::F32(Convention::DeepSeek), _) => Operation::Divide,
            (Scaling::F32(_) | Scaling::TwoLevel(_), _) => Operation::Multiply,
        }
    }

    /// Encodes blocks with ordinary scales.
    fn encode_tile<S: FitsF32>(
        &self,
        source: Matrix<'_, S>,
        output: &mut Output<'_>,
        tile: &Tile,
        blocks: Blocks<'_>,
        scratch: &mut [f32; COLUMNS],
    ) -> Stats {
        let codes = &mut output.codes;
        if self.grid.transposed {
            let params = &self.params;
            kernel::encode_tile_transposed(params, blocks, source, tile, scratch, codes)
        } else {
            let params = &self
                .params
                .with_next_part(self.after(tile, source.stride()));
            kernel::encode_tile(params, blocks, source, tile, scratch, codes)
        }
    }

    /// How many elements lie from one in a tile to the same one in the next tile, if that is fetched.
    fn after(&self, tile: &Tile, stride: usize) -> usize {
        if self.params.ahead == 0 || !self.is_alone {
            self.params.ahead
        } else if tile.cols.end < self.grid.cols {
            tile.cols.len()
        } else {
            // Down, and back to the first column.
            tile.rows
                .len()
                .wrapping_mul(stride)
                .wrapping_sub(tile.cols.start)
        }
    }

    /// Blocks one at a time.
    fn cells<S: FitsF32>(
        &self,
        source: Matrix<'_, S>,
        output: &mut Output<'_>,
        region: &Region,
    ) -> Stats {
        let mut stats = Stats::EMPTY;
        for (i, j) in region.blocks() {
            let mut cell = self.grid.cell(i, j);
            let scale = self.scale(source, &mut cell, None);
            let scale = self.with_least_error(source, &cell, scale);
            output.store(cell.index, &scale);
            stats = stats.merge(self.encode_cell(source, output, &cell, &scale));
        }
        stats
    }

    /// The scale of a block, whose amax may be known.
    fn scale<S: FitsF32>(
        &self,
        source: Matrix<'_, S>,
        cell: &mut Cell,
        amax: Option<Amax>,
    ) -> BlockScale {
        let amax = match self.origin {
            Origin::Search => self.recipe.cell_amax(source, cell, amax),
            Origin::Amax(amax) => amax.get(cell.number).copied().unwrap_or(Amax::NAN),
            Origin::Given(given) => {
                let given = self.recipe.given_scale(&given, cell.index);
                return given.unwrap_or(BlockScale::ONE);
            }
        };
        self.recipe.scale_here(&self.tensor, amax)
    }

    /// Under [`ExponentRule::LeastError`], the better of a block's scale and the one below it.
    fn with_least_error<S: FitsF32>(
        &self,
        source: Matrix<'_, S>,
        cell: &Cell,
        scale: BlockScale,
    ) -> BlockScale {
        if !tries_scales(self.recipe, self.origin) || scale.is_nan() || scale.code == 0 {
            return scale;
        }
        let smaller = BlockScale::from_e8m0(scale.code - 1);
        let error = |scale| self.cell_error(source, cell, scale);
        if error(&smaller) < error(&scale) {
            smaller
        } else {
            scale
        }
    }

    /// The sum of the squared errors of a block under a scale, over its finite elements.
    fn cell_error<S: FitsF32>(
        &self,
        source: Matrix<'_, S>,
        cell: &Cell,
        scale: &BlockScale,
    ) -> f64 {
        let (mut codes, mut back) = ([0; CHUNK], [0.0; CHUNK]);
        let decoding = Decoding::new(self.recipe.element);
        let mut sum = 0.0;
        for row in cell.rows.clone() {
            for start in cell.cols.clone().step_by(CHUNK) {
                let end = cell.cols.end.min(start + CHUNK);
                let from = source.segment(row, start, end);
                let codes = codes.get_mut(..from.len()).unwrap_or_default();
                let back = back.get_mut(..from.len()).unwrap_or_default();
                let random = self.random_of(source, row, start, end);
                kernel::encode_scaled(&self.params, scale.factor, random, from, codes);
                kernel::decode_scaled(&decoding, scale.dequantize, codes, back);
                for (x, y) in from.iter().zip(back) {
                    let error = x.to_f32() as f64 - *y as f64;
                    sum += if error.is_finite() {
                        error * error
                    } else {
                        0.0
                    };
                }
            }
        }
        sum
    }

    /// Writes the codes of one block.
    fn encode_cell<S: FitsF32>(
        &self,
        source: Matrix<'_, S>,
        output: &mut Output<'_>,
        cell: &Cell,
        scale: &BlockScale,
    ) -> Stats {
        let poisoned = scale.is_nan();
        let factor = if poisoned { Factor::ONE } else { scale.factor };
        let mut stats = if self.grid.transposed {
            self.encode_transposed(source, output, cell, factor)
        } else {
            self.encode_rows(source, output, cell, factor)
        };
        if poisoned {
            let nan = scalar::encode_f32(self.recipe.element, self.recipe.cast, f32::NAN, 0);
            output.fill(cell, self.grid.transposed, nan);
        }
        if scale.dequantize == 0.0 {
            // Under two levels: whatever is stored, every element dequantizes to zero.
            stats.saturated = 0;
            stats.underflowed = stats.count - stats.zero - stats.nan;
        }
        if poisoned {
            // No element of a poisoned block was rounded.
            stats.saturated = 0;
            stats.underflowed = 0;
        }
        stats
    }

    /// The codes of one block, row by row.
    fn encode_rows<S: FitsF32>(
        &self,
        source: Matrix<'_, S>,
        output: &mut Output<'_>,
        cell: &Cell,
        factor: Factor,
    ) -> Stats {
        let (start, end) = (cell.cols.start, cell.cols.end);
        let mut stats = Stats::EMPTY;
        for row in cell.rows.clone() {
            let from = source.segment(row, start, end);
            let to = output.codes.segment(row, start, end);
            let random = self.random_of(source, row, start, end);
            let of_row =
                kernel::encode_with_stats(&self.params, cell.seen, factor, random, from, to);
            stats = stats.merge(of_row);
        }
        stats
    }

    /// The codes of one block, transposed. Not inlined, for the sake of the stack of all other blocks.
    #[inline(never)]
    fn encode_transposed<S: FitsF32>(
        &self,
        source: Matrix<'_, S>,
        output: &mut Output<'_>,
        cell: &Cell,
        factor: Factor,
    ) -> Stats {
        let mut stats = Stats::EMPTY;
        let Buffers {
            amaxes, scratch, ..
        } = &mut Buffers::new();
        for start in cell.cols.clone().step_by(COLUMNS) {
            let tile = Tile {
                rows: cell.rows.clone(),
                cols: start..cell.cols.end.min(start + COLUMNS),
            };
            let width = tile.cols.len();
            let min_nonzero = kernel::block_ranges(source, &tile, width, amaxes);
            let [amax, ..] = *amaxes;
            let blocks = Blocks {
                width,
                of_row: 0,
                amaxes: &[amax],
                operation: factor.operation(),
                factors: &[factor.number()],
                random: self.random,
            };
            let of_tile = Stats {
                amax: Amax::from_bits(amax),
                min_nonzero,
                ..self.encode_tile(source, output, &tile, blocks, scratch)
            };
            stats = stats.merge(of_tile);
        }
        stats
    }

    /// The random bits of a part of a row.
    fn random_of<S>(
        &self,
        source: Matrix<'_, S>,
        row: usize,
        start: usize,
        end: usize,
    ) -> Option<Random<'static>> {
        let random = self.random?;
        let number = source.number(row, start, end);
        Some(Random::Philox(
            random.at(random.first_index.wrapping_add(number)),
        ))
    }
}

/// The largest of the amaxes with these bits.
fn largest(amaxes: &[u32]) -> Amax {
    let most = || amaxes.iter().fold(0, |most: u32, &amax| most.max(amax));
    Amax::from_bits(kernel::vectorize(most))
}

/// Whether scales are tried out on their blocks.
fn tries_scales(recipe: &Recipe, origin: Origin<'_>) -> bool {
    let (Scaling::PowerOfTwo(rule) | Scaling::E8M0(rule)) = recipe.scaling else {
        return false;
    };
    rule == ExponentRule::LeastError && !matches!(origin, Origin::Given(_))
}

impl Recipe {
    /// Shows the amax of each block, and its number.
    pub(super) fn each_amax<S: FitsF32>(
        &self,
        grid: Grid,
        source: Matrix<'_, S>,
        mut visit: impl FnMut(usize, Amax),
    ) {
        grid.each_part(&grid.all(), Parts::BLOCKS, |part| {
            let mut amaxes = [0; COLUMNS];
            if grid.is_narrow() {
                kernel::block_ranges(source, &grid.tile(&part), grid.width(), &mut amaxes);
            }
            for ((i, j), &amax) in part.blocks().zip(&amaxes) {
                let mut cell = grid.cell(i, j);
                let known = grid.is_narrow().then_some(Amax::from_bits(amax));
                visit(cell.number, self.cell_amax(source, &mut cell, known));
            }
        });
    }

    /// The amax that the scale of the tensor comes from, under two levels.
    fn whole_amax<S: FitsF32>(
        &self,
        grid: Grid,
        origin: Origin<'_>,
        source: Matrix<'_, S>,
    ) -> Amax {
        if let Some(amax) = self.tensor_amax {
            return amax;
        }
        let mut whole = Amax::ZERO;
        let mut add = |amax: Amax| {
            if amax.is_finite() {
                whole = whole.merge(amax);
            }
        };
        match (self.scaling.kind(), origin) {
            (Kind::TwoLevel, Origin::Search) => {
                self.each_amax(grid, source, |_, amax| add(amax));
            }
            (Kind::TwoLevel, Origin::Amax(amax)) => amax.iter().copied().for_each(add),
            _ => {}
        }
        whole
    }

    /// The amax of one block, where it is not known already: of its finite elements, if others
    /// are to be ignored. A block that is looked at keeps what was seen.
    fn cell_amax<S: FitsF32>(
        &self,
        source: Matrix<'_, S>,
        cell: &mut Cell,
        known: Option<Amax>,
    ) -> Amax {
        let ignores = self.special == Special::Ignore;
        match known {
            Some(amax) if amax.is_finite() || !ignores => return amax,
            _ => {}
        }
        let (mut amax, mut seen) = (Amax::ZERO, Extremes::EMPTY);
        for row in cell.rows.clone() {
            let elements = source.segment(row, cell.cols.start, cell.cols.end);
            let of_row = kernel::extremes(elements);
            seen = seen.merge(of_row);
            amax = amax.merge(if ignores && !of_row.amax.is_finite() {
                finite_amax(elements)
            } else {
                of_row.amax
            });
        }
        cell.seen = Some(seen);
        amax
    }
}

/// Elements that a scale is tried on at a time, on the stack.
const CHUNK: usize = buffered(256);

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

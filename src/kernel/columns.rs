// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks of any shape, a tile of the matrix at a time: the rows of a block, and as many columns as
//! stay in the cache until they are read again.
//!
//! Down a tile everything is a vector over its columns: first the amax of each column, and from
//! those the amax of each block; then, with a factor for each column, the codes of one row after
//! another. Blocks of 32x1 take the same time as those of 128x128. Blocks of one row that are whole
//! vectors wide are looked at along the row, some rows a tile.

use core::ops::Range;

use super::encode::{Encoded, zeros};
use super::factor::{Factors, Operation};
use super::isa::Isa;
use super::params::Params;
use super::portable::{self, INFINITY};
use super::statistics;
use super::transpose::{self, Strip};
use crate::float::FitsF32;
use crate::machine::buffered;
use crate::matrix::{Matrix, MatrixMut};
use crate::random::Philox;
use crate::stats::Stats;

/// The most columns of a tile: the buffers of all steps take 17 KiB of stack on 64-bit machines (twice
/// that for two copies, and 32 KiB more for a transposed one), 1 KiB (2 KiB more) elsewhere. Narrower
/// ones read memory in pieces too short to be fetched ahead.
pub(crate) const COLUMNS: usize = if cfg!(target_pointer_width = "64") {
    1024
} else {
    64
};

/// The most elements of a tile of whole rows whose blocks lie in one row each: as many of the narrowest
/// blocks as there is room for.
pub(crate) const ROW_TILE: usize = Factors::LANES * COLUMNS;

/// The same where the next tile is fetched while this one is encoded ([`Params::with_next_part`]).
/// Larger ones took a third longer.
pub(crate) const FETCHED_ROW_TILE: usize = 4 * COLUMNS;

/// The most elements of a tile of columns of which the next one is fetched: two of f32 take half of a
/// second-level cache of 1 MiB.
pub(crate) const FETCHED_TILE: usize = 64 * COLUMNS;

/// Whether blocks of one row and of that width can be handled in such tiles.
pub(crate) fn is_row_width(width: usize) -> bool {
    Factors::groups(Operation::Shift, width, &[]).is_some()
}

/// Elements a chunk where a cast needs all steps.
const CHUNK: usize = buffered(256);

/// A part of a matrix, at most [`COLUMNS`] wide.
#[derive(Clone, Debug)]
pub(crate) struct Tile {
    /// Its rows.
    pub rows: Range<usize>,
    /// Its columns.
    pub cols: Range<usize>,
}

impl Tile {
    /// The elements of a row that are there, and the column of the tile where they begin.
    #[inline(always)]
    fn row<'a, S>(&self, source: Matrix<'a, S>, row: usize) -> (usize, &'a [S]) {
        let (start, end) = (self.cols.start, self.cols.end);
        let first = source.first_column(row, start, end);
        (first - start, source.segment(row, start, end))
    }
}

/// The blocks of a tile: each as wide as the others, but the last, which may be narrower.
#[derive(Clone, Copy)]
pub(crate) struct Blocks<'a> {
    /// Columns of a block.
    pub width: usize,
    /// Blocks of each row, where rows have their own; else 0.
    pub of_row: usize,
    /// The bits of the amax of each, as `f32`; above infinity where there is a NaN.
    pub amaxes: &'a [u32],
    /// What is done to their elements.
    pub operation: Operation,
    /// And by which number, positive and finite.
    pub factors: &'a [f32],
    /// The random bits of a stochastic cast, by the number of the element.
    pub random: Option<Philox>,
}

/// Memory for the work on tiles, to be used again and again.
pub(crate) struct Buffers {
    /// The bits of the amax of each block.
    pub amaxes: [u32; COLUMNS],
    /// By what its elements are multiplied or divided.
    pub factors: [f32; COLUMNS],
    /// Its scale.
    pub scales: ScaleBuffers,
    /// The factor of each column, while encoding.
    pub scratch: [f32; COLUMNS],
}

/// Memory for the scales of blocks, of one kind or the other.
pub(crate) struct ScaleBuffers {
    /// Bytes.
    pub codes: [u8; COLUMNS],
    /// f32 scales.
    pub f32: [f32; COLUMNS],
}

impl Buffers {
    pub(crate) const fn new() -> Buffers {
        Buffers {
            amaxes: [0; COLUMNS],
            factors: [0.0; COLUMNS],
            scales: ScaleBuffers {
                codes: [0; COLUMNS],
                f32: [0.0; COLUMNS],
            },
            scratch: [0.0; COLUMNS],
        }
    }
}

/// See [`super::block_ranges`].
pub(super) fn ranges<I: Isa, S: FitsF32>(
    isa: I,
    source: Matrix<'_, S>,
    tile: &Tile,
    width: usize,
    amaxes: &mut [u32; COLUMNS],
) -> u32 {
    let columns = tile.cols.len();
    if width >= LANES && tile.rows.len() == 1 {
        let (_, row) = tile.row(source, tile.rows.start);
        if row.len() == columns {
            return isa.row_extremes(row, width, amaxes);
        }
    }
    isa.vectorize(|| {
        let least = column_ranges(source, tile, amaxes);
        if width > 1 {
            statistics::join_amaxes(amaxes, columns, width);
        }
        least
    })
}

/// Blocks of one row from which on each is looked at along the row.
const LANES: usize = 16;

/// See [`super::row_ranges`].
pub(super) fn row_ranges<I: Isa, S: FitsF32>(
    isa: I,
    source: Matrix<'_, S>,
    tile: &Tile,
    width: usize,
    amaxes: &mut [u32; COLUMNS],
) -> u32 {
    let blocks = tile.cols.len().div_ceil(width.max(1));
    let mut least = INFINITY;
    for (number, row) in tile.rows.clone().enumerate() {
        let (_, row) = tile.row(source, row);
        let amaxes = amaxes.get_mut(number * blocks..).unwrap_or_default();
        least = least.min(isa.row_extremes(row, width, amaxes));
    }
    least
}

/// The same for blocks of one column.
#[inline(always)]
fn column_ranges<S: FitsF32>(
    source: Matrix<'_, S>,
    tile: &Tile,
    amaxes: &mut [u32; COLUMNS],
) -> u32 {
    let amaxes = amaxes.get_mut(..tile.cols.len()).unwrap_or_default();
    amaxes.fill(0);
    let mut least = u32::MAX;
    for first in tile.rows.clone().step_by(AT_ONCE) {
        let rows = first..tile.rows.end.min(first + AT_ONCE);
        if let Some([a, b, c, d]) = whole_rows(source, tile, &rows) {
            let rows = a.iter().zip(b).zip(c).zip(d);
            for ((((&a, &b), &c), &d), amax) in rows.zip(&mut *amaxes) {
                let four = [a, b, c, d].map(abs_bits);
                *amax = four.iter().fold(*amax, |most, &abs| most.max(abs));
                least = four
                    .iter()
                    .fold(least, |least, &abs| least.min(abs.wrapping_sub(1)));
            }
            continue;
        }
        for row in rows {
            let (first, row) = tile.row(source, row);
            let amaxes = amaxes.get_mut(first..).unwrap_or_default();
            for (&x, amax) in row.iter().zip(amaxes) {
                let abs = abs_bits(x);
                *amax = (*amax).max(abs);
                least = least.min(abs.wrapping_sub(1));
            }
        }
    }
    let to_f32 = |bits: u32| portable::f32_bits(S::from_wide_bits(bits as u64));
    for amax in amaxes {
        *amax = to_f32(*amax);
    }
    let infinity = S::TYPE.spec().infinity_magnitude().unwrap_or_default() as u32;
    to_f32(least.min(infinity - 1) + 1)
}

/// Rows that are folded at once, so that the amaxes are stored less often.
const AT_ONCE: usize = 4;

/// The rows of a tile that are to be folded at once, if there are so many of them and each has all its
/// columns. (No other row is so much as located: its number times the stride may overflow.)
#[inline(always)]
fn whole_rows<'a, S: FitsF32>(
    source: Matrix<'a, S>,
    tile: &Tile,
    rows: &Range<usize>,
) -> Option<[&'a [S]; AT_ONCE]> {
    if rows.len() < AT_ONCE {
        return None;
    }
    let four = core::array::from_fn(|i| tile.row(source, rows.start + i).1);
    let is_whole = |row: &&[S]| row.len() == tile.cols.len();
    four.iter().all(is_whole).then_some(four)
}

/// The bits of an absolute value in its own type, which are ordered as the values are; zero less 1 is
/// the largest.
#[inline(always)]
fn abs_bits<S: FitsF32>(x: S) -> u32 {
    x.to_wide_bits() as u32 & S::TYPE.spec().magnitude_mask() as u32
}

/// See [`super::encode_tile`].
pub(super) fn encode<I: Isa, S: FitsF32>(
    isa: I,
    params: &Params,
    blocks: Blocks<'_>,
    source: Matrix<'_, S>,
    tile: &Tile,
    scratch: &mut [f32; COLUMNS],
    codes: &mut MatrixMut<'_, u8>,
) -> Stats {
    let columns = Columns::new(isa, params, blocks, source, tile, scratch);
    let mut stats = Stats::EMPTY;
    for row in tile.rows.clone() {
        let to = codes.segment(row, tile.cols.start, tile.cols.end);
        stats = stats.merge(columns.encode(isa, source, tile, row, to));
    }
    stats
}

/// See [`super::encode_tile_transposed`].
pub(super) fn encode_transposed<I: Isa, S: FitsF32>(
    isa: I,
    params: &Params,
    blocks: Blocks<'_>,
    source: Matrix<'_, S>,
    tile: &Tile,
    scratch: &mut [f32; COLUMNS],
    codes: &mut MatrixMut<'_, u8>,
) -> Stats {
    let columns = Columns::new(isa, params, blocks, source, tile, scratch);
    let mut stats = Stats::EMPTY;
    let mut strip = Strip::new();
    for first in tile.rows.clone().step_by(transpose::ROWS) {
        let rows = first..tile.rows.end.min(first + transpose::ROWS);
        for (row, to) in rows.clone().zip(strip.rows()) {
            let to = to.get_mut(..tile.cols.len()).unwrap_or_default();
            stats = stats.merge(columns.encode(isa, source, tile, row, to));
        }
        strip.store(isa, rows, tile.cols.clone(), codes);
    }
    stats
}

/// The factors of a tile, and what else all its rows share.
struct Columns<'a> {
    params: &'a Params,
    factors: Factors<'a>,
    /// How many of them a row has for itself.
    of_row: usize,
    random: Option<Philox>,
    /// The bits of the largest absolute value after its factor.
    largest: u32,
    /// Whether the one-pass loop does: the cast is a plain one, and all elements are finite.
    is_plain: bool,
}

impl<'a> Columns<'a> {
    fn new<I: Isa, S: FitsF32>(
        isa: I,
        params: &'a Params,
        blocks: Blocks<'a>,
        source: Matrix<'_, S>,
        tile: &Tile,
        scratch: &'a mut [f32; COLUMNS],
    ) -> Columns<'a> {
        let (most, largest) = isa.vectorize(|| {
            let (mut most, mut largest) = (0, 0);
            for (&amax, &by) in blocks.amaxes.iter().zip(blocks.factors) {
                most = amax.max(most);
                largest = blocks.operation.of_abs(amax, by).max(largest);
            }
            (most, largest)
        });
        let as_they_are = match blocks.width {
            1 => Some(Factors::Each(blocks.operation, blocks.factors)),
            // Rows of a shard may begin in the middle of a group.
            width => Factors::groups(blocks.operation, width, blocks.factors)
                .filter(|_| source.is_whole()),
        };
        let factors = as_they_are.unwrap_or_else(|| {
            let scratch = scratch.get_mut(..tile.cols.len()).unwrap_or_default();
            let columns = scratch.chunks_mut(blocks.width.max(1));
            for (columns, &by) in columns.zip(blocks.factors) {
                columns.fill(by);
            }
            Factors::Each(blocks.operation, scratch)
        });
        let is_plain = params.is_plain();
        Columns {
            params,
            factors,
            of_row: blocks.of_row,
            random: blocks.random,
            largest,
            is_plain: is_plain && most < INFINITY,
        }
    }

    // Inlined, so that the counts of a row stay in registers: adding them up from memory takes as long as
    // the codes of 64 elements.
    /// Encodes one row of the tile. Where the loop is the plain one, the statistics lack amax and
    /// minimum.
    #[inline(always)]
    fn encode<I: Isa, S: FitsF32>(
        &self,
        isa: I,
        source: Matrix<'_, S>,
        tile: &Tile,
        row: usize,
        codes: &mut [u8],
    ) -> Stats {
        let (first, from) = tile.row(source, row);
        let before = match self.factors {
            Factors::Groups { .. } => self.of_row * (row - tile.rows.start),
            _ => first,
        };
        let factors = match before {
            0 => self.factors,
            _ => self.factors.skip(before),
        };
        if self.is_plain
            && let Some(stats) = self.encode_plain(isa, factors, from, codes)
        {
            return stats;
        }
        let number = source.number(row, tile.cols.start, tile.cols.end);
        let random = self
            .random
            .map(|random| random.at(random.first_index.wrapping_add(number)));
        self.encode_general(isa, random, factors, from, codes)
    }

    /// Encodes a row in one pass, if there is such a loop for the cast.
    #[inline(always)]
    fn encode_plain<I: Isa, S: FitsF32>(
        &self,
        isa: I,
        factors: Factors<'_>,
        source: &[S],
        codes: &mut [u8],
    ) -> Option<Stats> {
        let (params, beyond) = (self.params, self.params.beyond);
        let mut saturated = 0;
        let zero_codes = if self.largest < beyond {
            isa.encode_bounded(params, factors, source, codes)?
        } else {
            // There is no NaN, which is all that would be slow.
            let slow = |_: &[S], _: &mut [u8]| debug_assert!(false, "a NaN below the amax");
            if !isa.encode_fast(params, factors, source, codes, slow) {
                return None;
            }
            saturated = isa.vectorize(|| statistics::count_beyond(beyond, factors, source));
            isa.count_zero_codes(params, codes)
        };
        let (zero, underflowed) = zeros(isa, zero_codes, source);
        Some(Stats {
            count: source.len() as u64,
            zero,
            saturated,
            underflowed,
            ..Stats::EMPTY
        })
    }

    /// Encodes a row by any cast.
    #[inline(never)]
    fn encode_general<I: Isa, S: FitsF32>(
        &self,
        isa: I,
        random: Option<Philox>,
        factors: Factors<'_>,
        source: &[S],
        codes: &mut [u8],
    ) -> Stats {
        let mut loaded = [0; CHUNK];
        let mut scaled = [0; CHUNK];
        let mut words = [0; CHUNK];
        let mut numbers = [1.0; CHUNK];
        let mut stats = Stats::EMPTY;
        let chunks = source.chunks(CHUNK).zip(codes.chunks_mut(CHUNK));
        for (number, (source, codes)) in chunks.enumerate() {
            let loaded = loaded.get_mut(..source.len()).unwrap_or_default();
            let scaled = scaled.get_mut(..source.len()).unwrap_or_default();
            isa.load(source, loaded);
            isa.vectorize(|| {
                factors.fill(number * CHUNK, &mut numbers);
                portable::scale_each(factors.operation(), &numbers, loaded, scaled);
            });
            if let Some(random) = random {
                let mut bits = [0; CHUNK];
                let bits = bits.get_mut(..source.len()).unwrap_or_default();
                isa.random(&random, (number * CHUNK) as u64, bits);
                for (word, &bits) in words.iter_mut().zip(&*bits) {
                    *word = bits as u32;
                }
            }
            let beyond = isa.encode_bits(self.params, scaled, &words, codes);
            let chunk = Encoded {
                source,
                loaded,
                scaled,
                codes,
            };
            stats = stats.merge(isa.vectorize(|| statistics::stats(self.params, &chunk, beyond)));
        }
        stats
    }
}

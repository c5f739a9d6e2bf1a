// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two copies of a tile from one read of it: blocks of one row in one copy, of one column in the other,
//! their scales powers of two.
//!
//! A power of two moves the exponent of an element and nothing else. So instead of two products for
//! every element, what the cast compares it with is moved the other way, once a block: the smallest
//! normal value, and what is taken from the exponent afterwards. The element is then split once for both.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;

use super::columns::{Buffers, COLUMNS, Tile};
use super::factor::Operation;
use super::groups::GROUP;
use super::isa::Isa;
use super::params::{F32_BIAS, F32_MANTISSA_BITS, Params};
use super::transpose::Strip;
use crate::float::FitsF32;
use crate::matrix::{Matrix, MatrixMut};
use crate::stats::Stats;

/// Tiles are as high as a block of the columnwise copy, and so many columns wide, or a multiple of that:
/// one register of codes.
pub(super) const WIDTH: usize = 64;

/// Where two copies go.
pub(crate) struct Copies<'a, 'b> {
    /// The one whose blocks are of one row.
    pub rowwise: &'a mut MatrixMut<'b, u8>,
    /// The one whose blocks are of one column.
    pub columnwise: &'a mut MatrixMut<'b, u8>,
    /// Whether that is the transposed matrix.
    pub transposed: bool,
}

/// Where the codes of a tile go.
pub(super) struct Target<'a> {
    /// The rows of the tile.
    pub codes: MatrixMut<'a, u8>,
    /// Its first column.
    pub column: usize,
    /// Whether codes are stored past the caches.
    pub stream: bool,
}

impl<'a> Target<'a> {
    fn new(codes: &'a mut MatrixMut<'_, u8>, tile: &Tile, stream: bool) -> Target<'a> {
        Target {
            codes: codes.part(tile.rows.clone()),
            column: tile.cols.start,
            stream,
        }
    }
}

/// The small end of the absolute values of a tile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Least {
    /// How many are zero.
    pub zeros: u64,
    /// The bits of the least above zero as `f32`, of infinity if there is none.
    pub nonzero: u32,
}

/// What an element of each block is compared with as it is, without its factor.
#[derive(Clone, Copy)]
pub(super) struct Moved<'a> {
    /// The smallest normal value over the factor, a power of two.
    pub min_normal: &'a [f32],
    /// What is added to a sum whose exponent and significand are in place, the magnitude in byte 1, so
    /// that the exponent of the format begins at 0.
    pub bias: &'a [u32],
    /// The bits of the largest of `min_normal`.
    most: u32,
}

impl<'a> Moved<'a> {
    /// From the amaxes and factors of blocks, in whose places it is written; `None`, with these lost,
    /// where an amax or a number is so large or so small that a step might leave the range of f32, or
    /// something may round beyond the largest value.
    #[inline(always)]
    fn from_blocks<I: Isa>(
        isa: I,
        params: &Params,
        amaxes: &'a mut [u32],
        factors: &'a mut [f32],
    ) -> Option<Moved<'a>> {
        const ONE: u32 = (F32_BIAS as u32) << F32_MANTISSA_BITS;
        const MIN_NORMAL: u32 = 1 << F32_MANTISSA_BITS;
        const LARGEST_FIELD: u32 = 254;
        // From its place in f32 to byte 1.
        let shift = params.discarded - 8;
        let moved_discarded = params.discarded << (F32_MANTISSA_BITS - shift);
        let (largest, largest_amax, most, least) = isa.vectorize(|| {
            let (mut largest, mut largest_amax, mut most, mut least) = (0, 0, 0, u32::MAX);
            for (amax, factor) in amaxes.iter_mut().zip(factors.iter_mut()) {
                largest = Operation::Shift.of_abs(*amax, *factor).max(largest);
                largest_amax = (*amax).max(largest_amax);
                // A block of zeros has no smallest normal value: any will do.
                let by = if *amax == 0 { ONE } else { factor.to_bits() };
                let min_normal = (params.min_normal + ONE).wrapping_sub(by);
                most = min_normal.max(most);
                least = min_normal.min(least);
                *factor = f32::from_bits(min_normal);
                *amax = (moved_discarded + (min_normal >> shift)).wrapping_neg();
            }
            (largest, largest_amax, most, least)
        });
        // A sum is less than twice `m`.
        let top = (LARGEST_FIELD - params.discarded) << F32_MANTISSA_BITS;
        let fits = largest < params.beyond && largest_amax.max(most) < top && least >= MIN_NORMAL;
        fits.then_some(Moved {
            min_normal: factors,
            bias: amaxes,
            most,
        })
    }

    /// Both, so many at a time.
    pub(super) fn numbers<const N: usize>(
        self,
    ) -> impl Iterator<Item = (&'a [f32; N], &'a [u32; N])> + use<'a, N> {
        let bias = self.bias.as_chunks().0;
        self.min_normal.as_chunks().0.iter().zip(bias)
    }

    /// Whether a value with these bits may become zero in some block: half of the smallest subnormal one
    /// does.
    fn may_underflow(&self, params: &Params, bits: u32) -> bool {
        let mantissa_bits = F32_MANTISSA_BITS - params.discarded;
        let half_step = self
            .most
            .wrapping_sub((mantissa_bits + 1) << F32_MANTISSA_BITS) as i32;
        bits as i32 <= half_step
    }

    /// Those of a row with so many groups.
    #[inline(always)]
    pub(super) fn of_row(self, row: usize, groups: usize) -> Moved<'a> {
        let places = row * groups..(row + 1) * groups;
        Moved {
            min_normal: self.min_normal.get(places.clone()).unwrap_or_default(),
            bias: self.bias.get(places).unwrap_or_default(),
            ..self
        }
    }
}

/// See [`super::both_ranges`].
pub(super) fn ranges<I: Isa, S: FitsF32>(
    isa: I,
    source: Matrix<'_, S>,
    tile: &Tile,
    amaxes: [&mut [u32; COLUMNS]; 2],
) -> Option<Least> {
    isa.both_extremes(&rows(source, tile)?, amaxes)
}

/// The rows of a tile of the right shape, if they all are there.
fn rows<'a, S>(source: Matrix<'a, S>, tile: &Tile) -> Option<[&'a [S]; GROUP]> {
    let width = tile.cols.len();
    if tile.rows.len() != GROUP || !width.is_multiple_of(WIDTH) || width > COLUMNS {
        return None;
    }
    let row = |i| source.segment(tile.rows.start + i, tile.cols.start, tile.cols.end);
    let rows = core::array::from_fn(row);
    let is_there = |row: &&[S]| row.len() == width;
    rows.iter().all(is_there).then_some(rows)
}

/// See [`super::encode_both`].
pub(super) fn encode<I: Isa, S: FitsF32>(
    isa: I,
    params: &Params,
    [rowwise, columnwise]: [&mut Buffers; 2],
    least: Least,
    source: Matrix<'_, S>,
    tile: &Tile,
    copies: Copies<'_, '_>,
) -> Option<[Stats; 2]> {
    let rows = rows(source, tile)?;
    let blocks = tile.rows.len() * tile.cols.len() / GROUP;
    let of_rows = rowwise.moved(isa, params, blocks)?;
    let of_columns = columnwise.moved(isa, params, tile.cols.len())?;
    let moved = [of_rows, of_columns];
    let underflows = |moved: &Moved<'_>| moved.may_underflow(params, least.nonzero);
    let counts = least.zeros > 0 || moved.iter().any(underflows);
    let encode = |targets| isa.encode_both(params, counts, moved, &rows, targets);
    let rowwise = Target::new(copies.rowwise, tile, params.stream);
    let stored = if copies.transposed {
        let mut strip = Strip::new();
        let upright = Target {
            codes: strip.matrix()?,
            column: 0,
            stream: false,
        };
        let stored = encode([rowwise, upright])?;
        strip.store(isa, tile.rows.clone(), tile.cols.clone(), copies.columnwise);
        stored
    } else {
        let columnwise = Target::new(copies.columnwise, tile, params.stream);
        encode([rowwise, columnwise])?
    };
    Some(stored.map(|stored| Stats {
        count: (tile.rows.len() * tile.cols.len()) as u64,
        zero: least.zeros,
        underflowed: stored - least.zeros,
        ..Stats::EMPTY
    }))
}

impl Buffers {
    /// What the first `count` amaxes and factors become.
    #[inline(always)]
    fn moved<I: Isa>(&mut self, isa: I, params: &Params, count: usize) -> Option<Moved<'_>> {
        let amaxes = self.amaxes.get_mut(..count)?;
        let factors = self.factors.get_mut(..count)?;
        Moved::from_blocks(isa, params, amaxes, factors)
    }
}

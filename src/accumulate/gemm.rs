// SPDX-License-Identifier: MIT OR Apache-2.0
//! The matrix product.
//!
//! The sequential order goes tile by tile: two panels of columns of B are decoded once for all rows of A, a
//! panel of rows of A once for each such pair. The panels lie on the stack; nothing is allocated.

use core::ops::Range;

use super::dot::Entries;
use super::operand::{Operand, Segments, joint_scale, scaled};
use super::{Order, canonical};
use crate::error::Error;
use crate::kernel;
use crate::kernel::gemm::{COLS, DEPTH, PanelA, PanelB, ROWS, multiply_add};
use crate::matrix::{Matrix, MatrixMut};
use crate::random::Philox;
use crate::scale::{Recipe, ScalesMut};
use crate::stats::Stats;

/// `c[i][j]` = the sum over k of `a[i][k] * b[j][k]`, scales included: M x N from M vectors of A
/// and N vectors of B.
///
/// [`Error::Shape`] where the three do not fit, [`Error::Recipe`] as [`super::dot`]. On an error
/// nothing has been written.
///
/// `Sequential` runs at the speed of f32 arithmetic and takes 72 KiB of stack (64-bit machines; 6
/// KiB elsewhere). The other orders take each entry by itself, and so does `Sequential` where scales
/// change along K in steps of more than 128 (32 on machines of less than 64 bits).
pub fn gemm(
    a: Operand<'_>,
    b: Operand<'_>,
    order: Order,
    mut c: MatrixMut<'_, f32>,
) -> Result<(), Error> {
    let fits = c.rows() == a.vectors() && c.cols() == b.vectors() && c.is_whole();
    if a.depth() != b.depth() || !fits {
        return Err(Error::Shape);
    }
    order.check(&a, &b)?;
    if c.cols() == 0 {
        // Without entries the rows may be any number.
        return Ok(());
    }
    kernel::with_default_environment(|| {
        if order == Order::Sequential && fits_panels(&a, &b) {
            sequential(&a, &b, &mut c);
        } else {
            one_by_one(a, b, order, &mut c);
        }
    });
    Ok(())
}

/// Where [`gemm_quantized`] writes, and by which recipe.
#[derive(Debug)]
pub struct Quantized<'a> {
    /// The recipe.
    pub recipe: Recipe,
    /// The random bits of a stochastic rounding: the number of an entry is
    /// `first_index + i * N + j`.
    pub random: Option<Philox>,
    /// Room for f32 results: at least one row of the recipe's blocks, that is `block.rows x N`, or
    /// `M x N` where a block spans all rows or there is a scale for the tensor; with more, fewer
    /// turns are taken. What is in it afterwards is not specified.
    pub workspace: &'a mut [f32],
    /// Codes, M x N.
    pub codes: MatrixMut<'a, u8>,
    /// One scale a block, as [`Recipe::quantize`] writes them.
    pub scales: ScalesMut<'a>,
}

/// [`gemm`], quantized: the same codes, scales and counts as [`Recipe::quantize`] gives for its
/// result.
///
/// Errors as [`gemm`] and [`Recipe::quantize`]; [`Error::Length`], too, where the workspace is too
/// short. On an error nothing has been written.
pub fn gemm_quantized(
    a: Operand<'_>,
    b: Operand<'_>,
    order: Order,
    target: Quantized<'_>,
) -> Result<Stats, Error> {
    let Quantized {
        recipe,
        random,
        workspace,
        mut codes,
        mut scales,
    } = target;
    let (rows, cols) = (a.vectors(), b.vectors());
    let fits = codes.rows() == rows && codes.cols() == cols && codes.is_whole();
    if a.depth() != b.depth() || !fits {
        return Err(Error::Shape);
    }
    order.check(&a, &b)?;
    recipe.can_quantize(rows, cols, random, &scales)?;
    if rows == 0 || cols == 0 {
        return Ok(Stats::EMPTY);
    }
    let block_rows = match recipe.block().rows {
        0 => rows,
        size => size.min(rows),
    };
    let mut band = workspace.len() / cols / block_rows * block_rows;
    if recipe.is_two_level() && band < rows {
        // The scale of the tensor comes from all of it.
        band = 0;
    }
    if band == 0 {
        return Err(Error::Length);
    }
    let mut stats = Stats::EMPTY;
    for first in (0..rows).step_by(band) {
        let part = first..rows.min(first + band);
        let height = part.len();
        gemm(
            a.part(part.clone())?,
            b,
            order,
            MatrixMut::new(workspace, height, cols)?,
        )?;
        let results = Matrix::new(workspace, height, cols)?;
        let number = (first as u64).wrapping_mul(cols as u64);
        let random = random.map(|philox| philox.at(philox.first_index.wrapping_add(number)));
        let band = (rows, first / block_rows);
        let codes = codes.part(part);
        let of_part = recipe.quantize_band(band, random, results, codes, &mut scales)?;
        stats = stats.merge(of_part);
    }
    Ok(stats)
}

/// Each entry by itself.
fn one_by_one(a: Operand<'_>, b: Operand<'_>, order: Order, c: &mut MatrixMut<'_, f32>) {
    let entries = Entries::new(a, b);
    let cols = c.cols();
    for i in 0..c.rows() {
        for (j, entry) in c.segment(i, 0, cols).iter_mut().enumerate() {
            *entry = entries.entry(order, i, j);
        }
    }
}

/// Whether the segments between changes of scale fit a panel, or there is one scale a vector.
fn fits_panels(a: &Operand<'_>, b: &Operand<'_>) -> bool {
    let segments = Segments::new(a, b);
    segments.is_one() || segments.longest() <= DEPTH
}

/// The sequential order, tile by tile.
fn sequential(a: &Operand<'_>, b: &Operand<'_>, c: &mut MatrixMut<'_, f32>) {
    let (rows, cols) = (c.rows(), c.cols());
    for i in 0..rows {
        c.segment(i, 0, cols).fill(0.0);
    }
    if a.depth() == 0 {
        return;
    }
    let segments = Segments::new(a, b);
    let mut panels_b = [[[0.0; COLS]; DEPTH]; PANELS];
    for part in panels(&segments, a.depth()) {
        for j in (0..cols).step_by(PANELS * COLS) {
            let of_b = j..cols.min(j + PANELS * COLS);
            for (panel, of_b) in panels_b.iter_mut().zip(pieces(of_b.clone())) {
                load_columns(b, of_b, part.clone(), panel);
            }
            if segments.is_one() {
                add_columns(a, part.clone(), 0, &panels_b, of_b, None, c);
                continue;
            }
            for segment in segments.within(part.clone()) {
                let mut scales = [[1.0; COLS]; PANELS];
                for (scales, of_b) in scales.iter_mut().zip(pieces(of_b.clone())) {
                    *scales = scales_of(b, of_b, segment.start);
                }
                let first = segment.start - part.start;
                add_columns(a, segment, first, &panels_b, of_b.clone(), Some(&scales), c);
            }
        }
    }
    for j in (0..cols).step_by(COLS) {
        let of_b = j..cols.min(j + COLS);
        finish_columns(a, b, of_b, segments.is_one(), c);
    }
}

/// Multiplies some columns of the result by the scales of whole vectors, where it is still to be
/// done, and leaves one NaN.
fn finish_columns(
    a: &Operand<'_>,
    b: &Operand<'_>,
    cols: Range<usize>,
    scales_are_left: bool,
    c: &mut MatrixMut<'_, f32>,
) {
    let is_scaled = scales_are_left && (a.is_scaled() || b.is_scaled());
    let of_b: [f32; COLS] = scales_of(b, cols.clone(), 0);
    for i in 0..c.rows() {
        let entries = c.segment(i, cols.start, cols.end);
        if is_scaled {
            let sums: [f32; COLS] = padded(entries);
            entries.fill(0.0);
            add_terms(a.scale(i, 0), &of_b, &sums, entries);
        }
        for entry in entries {
            *entry = canonical(*entry);
        }
    }
}

/// The values, and zeros.
fn padded<const LEN: usize>(values: &[f32]) -> [f32; LEN] {
    let mut padded = [0.0; LEN];
    for (padded, &value) in padded.iter_mut().zip(values) {
        *padded = value;
    }
    padded
}

/// Adds to each entry its sum, times the scales of the row and of the column.
fn add_terms(of_row: f32, of_cols: &[f32; COLS], sums: &[f32; COLS], entries: &mut [f32]) {
    // Where f32 holds the joint scale as a normal number, one f32 product is what `scaled` gives.
    let products = of_cols.map(|of_col| of_row * of_col);
    let is_usual = products.iter().all(|product| product.is_normal());
    let terms = entries.iter_mut().zip(sums);
    if is_usual {
        for ((entry, sum), scale) in terms.zip(&products) {
            *entry += scale * sum;
        }
    } else {
        for ((entry, sum), &of_col) in terms.zip(of_cols) {
            *entry += scaled(joint_scale(of_row, of_col), *sum);
        }
    }
}

/// Panels of B that rows of A, once decoded, are multiplied by. (With one, decoding A was a tenth of the
/// time.)
const PANELS: usize = if cfg!(target_pointer_width = "64") {
    2
} else {
    1
};

/// Columns, cut to what a panel holds.
fn pieces(cols: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let Range { start, end } = cols;
    (start..end)
        .step_by(COLS)
        .map(move |first| first..end.min(first + COLS))
}

/// Adds the products of a part of K, which begins in row `first` of the panels, to some columns of the
/// result, for all rows: as they are, or times the scales of the rows and these scales of the columns.
fn add_columns(
    a: &Operand<'_>,
    part: Range<usize>,
    first: usize,
    panels: &[PanelB; PANELS],
    cols: Range<usize>,
    scales: Option<&[[f32; COLS]; PANELS]>,
    c: &mut MatrixMut<'_, f32>,
) {
    let mut panel = [0.0; ROWS * DEPTH];
    for i in (0..a.vectors()).step_by(ROWS) {
        let rows = i..a.vectors().min(i + ROWS);
        load_rows(a, rows.clone(), part.clone(), &mut panel);
        for (i, (of_b, cols)) in panels.iter().zip(pieces(cols.clone())).enumerate() {
            let of_b = of_b.get(first..first + part.len()).unwrap_or_default();
            let rows = rows.clone();
            let tile = Tile { rows, cols };
            match scales.and_then(|scales| scales.get(i)) {
                None => tile.add(&panel, of_b, c),
                Some(of_cols) => {
                    let of_rows = scales_of(a, tile.rows.clone(), part.start);
                    tile.add_scaled(&panel, of_b, &of_rows, of_cols, c);
                }
            }
        }
    }
}

/// The scales of some vectors at one `k`; 1 beyond the last.
fn scales_of<const LEN: usize>(
    operand: &Operand<'_>,
    vectors: Range<usize>,
    k: usize,
) -> [f32; LEN] {
    let mut scales = [1.0; LEN];
    for (scale, vector) in scales.iter_mut().zip(vectors) {
        *scale = operand.scale(vector, k);
    }
    scales
}

/// K cut into parts that fit a panel, at changes of scale where there are some.
fn panels(segments: &Segments, depth: usize) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    core::iter::from_fn(move || {
        if start >= depth {
            return None;
        }
        let end = if segments.is_one() {
            depth.min(start + DEPTH)
        } else {
            let rest = segments.within(start..depth);
            let fitting = rest.take_while(|segment| segment.end - start <= DEPTH);
            fitting.last().map_or(depth, |segment| segment.end)
        };
        let part = start..end;
        start = end;
        Some(part)
    })
}

/// Some entries of the product: at most `ROWS` x `COLS`.
struct Tile {
    rows: Range<usize>,
    cols: Range<usize>,
}

impl Tile {
    /// Adds the products of a panel to the entries.
    fn add(&self, a: &PanelA, b: &[[f32; COLS]], c: &mut MatrixMut<'_, f32>) {
        let stride = c.stride();
        if self.rows.len() == ROWS && self.cols.len() == COLS {
            multiply_add(a, b, c.from(self.rows.start, self.cols.start), stride);
            return;
        }
        let mut sums = [[0.0; COLS]; ROWS];
        for (row, sums) in self.rows.clone().zip(&mut sums) {
            let entries = c.segment(row, self.cols.start, self.cols.end);
            for (sum, entry) in sums.iter_mut().zip(entries) {
                *sum = *entry;
            }
        }
        multiply_add(a, b, sums.as_flattened_mut(), COLS);
        for (row, sums) in self.rows.clone().zip(&sums) {
            let entries = c.segment(row, self.cols.start, self.cols.end);
            for (entry, sum) in entries.iter_mut().zip(sums) {
                *entry = *sum;
            }
        }
    }

    /// Adds the products of a segment, times their scales.
    fn add_scaled(
        &self,
        a: &PanelA,
        b: &[[f32; COLS]],
        of_a: &[f32; ROWS],
        of_b: &[f32; COLS],
        c: &mut MatrixMut<'_, f32>,
    ) {
        let mut sums = [[0.0; COLS]; ROWS];
        multiply_add(a, b, sums.as_flattened_mut(), COLS);
        for ((row, sums), &of_row) in self.rows.clone().zip(&sums).zip(of_a) {
            let entries = c.segment(row, self.cols.start, self.cols.end);
            add_terms(of_row, of_b, sums, entries);
        }
    }
}

/// Decodes a part of some vectors of A, one after another; missing vectors are zero.
fn load_rows(a: &Operand<'_>, vectors: Range<usize>, part: Range<usize>, panel: &mut PanelA) {
    let mut codes = [0; ROWS * DEPTH];
    let depth = part.len();
    // A part is never empty; `max` keeps a panic out of the archive.
    for (vector, codes) in vectors.zip(codes.chunks_mut(depth.max(1))) {
        if a.is_k_contiguous() {
            let from = a.codes(vector, part.clone(), &mut []);
            for (code, &from) in codes.iter_mut().zip(from) {
                *code = from;
            }
        } else {
            a.codes(vector, part.clone(), codes);
        }
    }
    if let (Some(codes), Some(panel)) = (codes.get(..ROWS * depth), panel.get_mut(..ROWS * depth)) {
        kernel::decode(a.format(), codes, panel);
    }
}

/// Codes that are transposed together.
const SQUARE: usize = 8;

/// Decodes a part of some vectors of B, k by k; the rest of the panel's columns is zero.
fn load_columns(b: &Operand<'_>, vectors: Range<usize>, part: Range<usize>, panel: &mut PanelB) {
    let (squares, _) = panel.as_chunks_mut::<SQUARE>();
    for (k, target) in part.clone().step_by(SQUARE).zip(squares) {
        let part = k..part.end.min(k + SQUARE);
        let mut codes = [[0; COLS]; SQUARE];
        if b.is_k_contiguous() {
            for first in vectors.clone().step_by(SQUARE) {
                let square = square(b, first..vectors.end.min(first + SQUARE), part.clone());
                for (codes, of_k) in codes.iter_mut().zip(square) {
                    let at = first - vectors.start;
                    if let Some(codes) = codes.get_mut(at..).and_then(|c| c.first_chunk_mut()) {
                        *codes = of_k.to_le_bytes();
                    }
                }
            }
        } else {
            for (k, codes) in part.zip(&mut codes) {
                let from = b.across(k, vectors.clone());
                for (code, &from) in codes.iter_mut().zip(from) {
                    *code = from;
                }
            }
        }
        kernel::decode(b.format(), codes.as_flattened(), target.as_flattened_mut());
    }
}

/// At most 8 codes of at most 8 vectors, transposed: byte `v` of word `k` is code `k` of vector `v`.
fn square(b: &Operand<'_>, vectors: Range<usize>, part: Range<usize>) -> [u64; SQUARE] {
    let mut words = [0; SQUARE];
    for (word, vector) in words.iter_mut().zip(vectors) {
        let from = b.codes(vector, part.clone(), &mut []);
        let mut bytes = [0; SQUARE];
        for (byte, &code) in bytes.iter_mut().zip(from) {
            *byte = code;
        }
        *word = u64::from_le_bytes(bytes);
    }
    transpose(words)
}

/// Transposes 8 x 8 bytes: quarters, then their quarters, then single bytes change places.
fn transpose(mut words: [u64; SQUARE]) -> [u64; SQUARE] {
    exchange::<4>(&mut words, 0x0000_0000_FFFF_FFFF);
    exchange::<2>(&mut words, 0x0000_FFFF_0000_FFFF);
    exchange::<1>(&mut words, 0x00FF_00FF_00FF_00FF);
    words
}

/// In words `DISTANCE` apart: the bytes of the first that `mask` leaves out, for those of the second
/// that it keeps.
fn exchange<const DISTANCE: usize>(words: &mut [u64; SQUARE], mask: u64) {
    for pair in words.chunks_exact_mut(2 * DISTANCE) {
        let (low, high) = pair.split_at_mut(DISTANCE);
        for (low, high) in low.iter_mut().zip(high) {
            let moved = (*low >> (8 * DISTANCE) ^ *high) & mask;
            *high ^= moved;
            *low ^= moved << (8 * DISTANCE);
        }
    }
}

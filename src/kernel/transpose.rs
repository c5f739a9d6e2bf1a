// SPDX-License-Identifier: MIT OR Apache-2.0
//! Codes on their way from the rows of a tile to the rows of the transposed matrix.

use core::ops::Range;

use super::columns::COLUMNS;
use super::isa::Isa;
use crate::matrix::MatrixMut;

/// Rows of a strip: what a row of the transposed matrix receives at a time.
pub(super) const ROWS: usize = 32;

/// Columns that are turned at a time: as many as make a vector.
const GROUP: usize = 64;

/// Bytes of a word: a square of so many rows and columns is turned within words.
const SIDE: usize = 8;

/// Some rows of codes.
pub(super) struct Strip([[u8; COLUMNS]; ROWS]);

/// The columns of a group, each one row of the transposed matrix.
type Turned = [[[u8; SIDE]; ROWS / SIDE]; GROUP];

impl Strip {
    pub(super) fn new() -> Strip {
        Strip([[0; COLUMNS]; ROWS])
    }

    /// The rows, to write.
    pub(super) fn rows(&mut self) -> impl Iterator<Item = &mut [u8; COLUMNS]> {
        self.0.iter_mut()
    }

    /// Writes the first of the rows as columns `rows` of the rows `cols` of the transposed matrix.
    pub(super) fn store<I: Isa>(
        &self,
        isa: I,
        rows: Range<usize>,
        cols: Range<usize>,
        target: &mut MatrixMut<'_, u8>,
    ) {
        let mut turned = [[[0; SIDE]; ROWS / SIDE]; GROUP];
        for (group, first) in cols.clone().step_by(GROUP).enumerate() {
            isa.vectorize(|| self.turn(group, &mut turned));
            for (col, from) in (first..cols.end).zip(&turned) {
                let from = from.as_flattened();
                let to = target.segment(col, rows.start, rows.end);
                if let (Some(to), Some(from)) = (to.first_chunk_mut(), from.first_chunk::<ROWS>()) {
                    *to = *from;
                } else {
                    to.iter_mut().zip(from).for_each(|(to, &from)| *to = from);
                }
            }
        }
    }

    /// Turns a group of columns, a square at a time, all squares side by side.
    #[inline(always)]
    fn turn(&self, group: usize, turned: &mut Turned) {
        for (rank, rows) in self.0.as_chunks::<SIDE>().0.iter().enumerate() {
            let mut words = [[0u64; GROUP / SIDE]; SIDE];
            for (words, row) in words.iter_mut().zip(rows) {
                let squares = row
                    .as_chunks::<SIDE>()
                    .0
                    .iter()
                    .skip(group * (GROUP / SIDE));
                for (word, &bytes) in words.iter_mut().zip(squares) {
                    *word = u64::from_le_bytes(bytes);
                }
            }
            exchange::<4>(&mut words, 0x0000_0000_FFFF_FFFF);
            exchange::<2>(&mut words, 0x0000_FFFF_0000_FFFF);
            exchange::<1>(&mut words, 0x00FF_00FF_00FF_00FF);
            for (row, words) in words.iter().enumerate() {
                let columns = turned.iter_mut().skip(row).step_by(SIDE);
                for (column, word) in columns.zip(words) {
                    if let Some(place) = column.get_mut(rank) {
                        *place = word.to_le_bytes();
                    }
                }
            }
        }
    }
}

/// In rows `DISTANCE` apart: the bytes of the first that `low` leaves out, for those of the second
/// that it keeps.
#[inline(always)]
fn exchange<const DISTANCE: usize>(words: &mut [[u64; GROUP / SIDE]; SIDE], low: u64) {
    let shift = (8 * DISTANCE) as u32;
    for pair in words.chunks_exact_mut(2 * DISTANCE) {
        let (first, second) = pair.split_at_mut(DISTANCE);
        for (first, second) in first.iter_mut().zip(second) {
            for (a, b) in first.iter_mut().zip(second) {
                let (x, y) = (*a, *b);
                *a = x & low | (y & low) << shift;
                *b = (x >> shift) & low | y & !low;
            }
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Codes on their way from the rows of a tile to the rows of the transposed matrix.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;

use core::ops::Range;

use super::columns::COLUMNS;
use super::isa::Isa;
use crate::matrix::MatrixMut;

/// Rows of a strip: what a row of the transposed matrix receives at a time.
pub(super) const ROWS: usize = 32;

/// Columns that are turned at a time: as many as make a vector.
pub(super) const GROUP: usize = 64;

/// Bytes of a word: a square of so many rows and columns is turned within words.
const SIDE: usize = 8;

/// Some rows of codes.
pub(super) struct Strip([[u8; COLUMNS]; ROWS]);

/// The columns of a group, each a piece of a row of the transposed matrix.
pub(super) type Turned = [[u8; ROWS]; GROUP];

impl Strip {
    pub(super) fn new() -> Strip {
        Strip([[0; COLUMNS]; ROWS])
    }

    /// The rows, to write.
    pub(super) fn rows(&mut self) -> impl Iterator<Item = &mut [u8; COLUMNS]> {
        self.0.iter_mut()
    }

    /// The same as a matrix, to write.
    pub(super) fn matrix(&mut self) -> Option<MatrixMut<'_, u8>> {
        MatrixMut::new(self.0.as_flattened_mut(), ROWS, COLUMNS).ok()
    }

    /// Writes the first of the rows as columns `rows` of the rows `cols` of the transposed matrix.
    pub(super) fn store<'a, I: Isa>(
        &'a self,
        isa: I,
        rows: Range<usize>,
        cols: Range<usize>,
        target: &mut MatrixMut<'_, u8>,
    ) {
        let mut turned = [[0; ROWS]; GROUP];
        for (group, first) in cols.clone().step_by(GROUP).enumerate() {
            let part = |row: &'a [u8; COLUMNS]| row.as_chunks().0.get(group).unwrap_or(&[0; GROUP]);
            isa.turn(&self.0.each_ref().map(part), &mut turned);
            for (col, from) in (first..cols.end).zip(&turned) {
                let to = target.from(col, rows.start);
                match to.first_chunk_mut() {
                    Some(to) if rows.len() == ROWS => *to = *from,
                    _ => {
                        let codes = from.iter().take(rows.len());
                        to.iter_mut().zip(codes).for_each(|(to, &from)| *to = from);
                    }
                }
            }
        }
    }
}

/// Turns a group of columns, a square at a time, all squares side by side.
#[inline(always)]
pub(super) fn turn(rows: &[&[u8; GROUP]; ROWS], turned: &mut Turned) {
    for (rank, rows) in rows.as_chunks::<SIDE>().0.iter().enumerate() {
        let mut words = [[0u64; GROUP / SIDE]; SIDE];
        for (words, row) in words.iter_mut().zip(rows) {
            for (word, &bytes) in words.iter_mut().zip(row.as_chunks::<SIDE>().0) {
                *word = u64::from_le_bytes(bytes);
            }
        }
        exchange::<4>(&mut words, 0x0000_0000_FFFF_FFFF);
        exchange::<2>(&mut words, 0x0000_FFFF_0000_FFFF);
        exchange::<1>(&mut words, 0x00FF_00FF_00FF_00FF);
        for (row, words) in words.iter().enumerate() {
            let columns = turned.iter_mut().skip(row).step_by(SIDE);
            for (column, word) in columns.zip(words) {
                if let Some(place) = column.as_chunks_mut().0.get_mut(rank) {
                    *place = word.to_le_bytes();
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

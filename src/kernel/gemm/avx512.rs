// SPDX-License-Identifier: MIT OR Apache-2.0
//! AVX-512: the whole tile in 24 registers, four more for a row of B; the values of A are broadcast
//! from memory by the multiply-add itself.

use core::arch::x86_64::*;

use super::{COLS, PanelA, ROWS, Tile};

/// Elements of a register.
const LANES: usize = 16;
/// Registers of a row of the tile.
const VECTORS: usize = COLS / LANES;

#[target_feature(enable = "avx512f")]
pub(super) fn multiply_add(a: &PanelA, b: &[[f32; COLS]], mut c: Tile<'_>) {
    let depth = b.len();
    let mut sums = [[_mm512_setzero_ps(); VECTORS]; ROWS];
    for (row, sums) in sums.iter_mut().enumerate() {
        let entries = c.row(row).as_ptr();
        for (v, sum) in sums.iter_mut().enumerate() {
            // SAFETY: a row of the tile has `COLS` entries.
            *sum = unsafe { _mm512_loadu_ps(entries.add(v * LANES)) };
        }
    }
    let a = a.as_ptr();
    for (k, of_b) in b.iter().enumerate() {
        let mut vectors = [_mm512_setzero_ps(); VECTORS];
        for (v, vector) in vectors.iter_mut().enumerate() {
            // SAFETY: a row of B has `COLS` values.
            *vector = unsafe { _mm512_loadu_ps(of_b.as_ptr().add(v * LANES)) };
        }
        for (row, sums) in sums.iter_mut().enumerate() {
            // SAFETY: the panel has room for `ROWS` runs of `depth` values (`super::multiply_add`
            // checked that), and k lies below `depth`.
            let x = _mm512_set1_ps(unsafe { *a.add(row * depth + k) });
            for (sum, y) in sums.iter_mut().zip(&vectors) {
                *sum = _mm512_fmadd_ps(x, *y, *sum);
            }
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        let entries = c.row(row).as_mut_ptr();
        for (v, sum) in sums.iter().enumerate() {
            // SAFETY: as above.
            unsafe { _mm512_storeu_ps(entries.add(v * LANES), *sum) };
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! AVX2 with FMA: 16 columns of the tile at a time in 12 registers.

use core::arch::x86_64::*;

use super::{COLS, PanelA, ROWS, Tile};

/// Elements of a register.
const LANES: usize = 8;
/// Registers of a row of a strip.
const VECTORS: usize = 2;
/// Columns that are summed at a time.
const STRIP: usize = VECTORS * LANES;

#[target_feature(enable = "avx2,fma")]
pub(super) fn multiply_add(a: &PanelA, b: &[[f32; COLS]], mut c: Tile<'_>) {
    let depth = b.len();
    let a = a.as_ptr();
    for first in (0..COLS).step_by(STRIP) {
        let mut sums = [[_mm256_setzero_ps(); VECTORS]; ROWS];
        for (row, sums) in sums.iter_mut().enumerate() {
            let entries = c.row(row).as_ptr();
            for (v, sum) in sums.iter_mut().enumerate() {
                // SAFETY: a row of the tile has `COLS` entries, a multiple of a strip.
                *sum = unsafe { _mm256_loadu_ps(entries.add(first + v * LANES)) };
            }
        }
        for (k, of_b) in b.iter().enumerate() {
            let mut vectors = [_mm256_setzero_ps(); VECTORS];
            for (v, vector) in vectors.iter_mut().enumerate() {
                // SAFETY: a row of B has `COLS` values, a multiple of a strip.
                *vector = unsafe { _mm256_loadu_ps(of_b.as_ptr().add(first + v * LANES)) };
            }
            for (row, sums) in sums.iter_mut().enumerate() {
                // SAFETY: the panel has room for `ROWS` runs of `depth` values
                // (`super::multiply_add` checked that), and k lies below `depth`.
                let x = _mm256_set1_ps(unsafe { *a.add(row * depth + k) });
                for (sum, y) in sums.iter_mut().zip(&vectors) {
                    *sum = _mm256_fmadd_ps(x, *y, *sum);
                }
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            let entries = c.row(row).as_mut_ptr();
            for (v, sum) in sums.iter().enumerate() {
                // SAFETY: as above.
                unsafe { _mm256_storeu_ps(entries.add(first + v * LANES), *sum) };
            }
        }
    }
}

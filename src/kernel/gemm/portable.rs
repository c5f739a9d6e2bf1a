// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plain Rust, for any machine: the compiler keeps a strip of columns in vector registers.

use super::{COLS, PanelA, ROWS, Tile};

/// Columns that are summed at a time.
const STRIP: usize = 8;

pub(super) fn multiply_add(a: &PanelA, b: &[[f32; COLS]], mut c: Tile<'_>) {
    for (row, of_a) in a.chunks(b.len().max(1)).take(ROWS).enumerate() {
        let (strips, _) = c.row(row).as_chunks_mut::<STRIP>();
        for (place, sums) in strips.iter_mut().enumerate() {
            let mut of_strip = *sums;
            for (x, of_b) in of_a.iter().zip(b) {
                let (of_b, _) = of_b.as_chunks::<STRIP>();
                let of_b = of_b.get(place).copied().unwrap_or_default();
                for (sum, y) in of_strip.iter_mut().zip(of_b) {
                    *sum += x * y;
                }
            }
            *sums = of_strip;
        }
    }
}

const _: () = assert!(COLS.is_multiple_of(STRIP));

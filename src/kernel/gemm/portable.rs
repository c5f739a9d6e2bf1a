// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plain Rust, for any machine: the compiler keeps a strip of columns in vector registers.

use super::{COLS, PanelA, ROWS};

/// Columns that are summed at a time.
const STRIP: usize = 8;

pub(super) fn multiply_add(a: &PanelA, b: &[[f32; COLS]], c: &mut [f32], stride: usize) {
    if b.is_empty() {
        return;
    }
    for first in (0..COLS).step_by(STRIP) {
        for (row, of_a) in a.chunks(b.len()).take(ROWS).enumerate() {
            let Some(entries) = strip_mut(c, row * stride + first) else {
                return;
            };
            let mut sums = *entries;
            for (x, of_b) in of_a.iter().zip(b) {
                let of_b = of_b.get(first..).and_then(|rest| rest.first_chunk());
                for (sum, y) in sums.iter_mut().zip(of_b.unwrap_or(&[0.0; STRIP])) {
                    *sum += x * y;
                }
            }
            *entries = sums;
        }
    }
}

fn strip_mut(c: &mut [f32], from: usize) -> Option<&mut [f32; STRIP]> {
    c.get_mut(from..)?.first_chunk_mut()
}

const _: () = assert!(COLS.is_multiple_of(STRIP));

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The inner loop of the f32 matrix product: a tile of entries, each summed in the order of K.
//!
//! Every kernel adds the same products to an entry in the same order, and products of codes are
//! exact in f32, so that fused and separate multiply-add agree: the bits do not depend on it.

mod portable;

/// Rows of a tile.
pub(crate) const ROWS: usize = 6;
/// Columns of a tile.
pub(crate) const COLS: usize = if cfg!(target_pointer_width = "64") {
    64
} else {
    16
};
/// The most of K in a panel: 38 KiB of stack for two panels and a tile on 64-bit machines, 3 KiB
/// elsewhere.
pub(crate) const DEPTH: usize = if cfg!(target_pointer_width = "64") {
    128
} else {
    32
};

/// Room for rows of A, decoded.
pub(crate) type PanelA = [f32; ROWS * DEPTH];
/// Room for columns of B, decoded, one row for each k.
pub(crate) type PanelB = [[f32; COLS]; DEPTH];

/// Adds to each of `ROWS` x `COLS` entries of `c` (rows `stride` apart) its products, in the order
/// of k. `b` has one row for each k; `a` begins with `ROWS` runs of as many values. Nothing happens
/// where something is too short for that.
pub(crate) fn multiply_add(a: &PanelA, b: &[[f32; COLS]], c: &mut [f32], stride: usize) {
    if b.len() > DEPTH || c.len() < (ROWS - 1) * stride + COLS {
        return;
    }
    portable::multiply_add(a, b, c, stride);
}

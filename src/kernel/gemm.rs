// SPDX-License-Identifier: MIT OR Apache-2.0
//! The inner loop of the f32 matrix product: a tile of entries, each summed in the order of K.
//!
//! Every kernel adds the same products to an entry in the same order, and products of codes are
//! exact in f32, so that fused and separate multiply-add agree: the bits do not depend on it.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;
#[cfg(test)]
mod tests;

use super::Kernel;

/// Rows of a tile.
pub(crate) const ROWS: usize = 6;
/// Columns of a tile.
pub(crate) const COLS: usize = if cfg!(target_pointer_width = "64") {
    64
} else {
    16
};
/// The most of K in a panel: 32 KiB of stack for one of B on 64-bit machines, 2 KiB
/// elsewhere.
pub(crate) const DEPTH: usize = if cfg!(target_pointer_width = "64") {
    128
} else {
    32
};

/// Room for rows of A, decoded.
pub(crate) type PanelA = [f32; ROWS * DEPTH];
/// Columns of B, decoded, one row for each k.
pub(crate) type PanelB = [[f32; COLS]; DEPTH];

/// `ROWS` x `COLS` entries in a matrix whose rows are `stride` apart.
struct Tile<'a> {
    entries: &'a mut [f32],
    stride: usize,
}

impl<'a> Tile<'a> {
    /// The tile that `entries` begins with, if it is as large as that.
    fn new(entries: &'a mut [f32], stride: usize) -> Option<Tile<'a>> {
        let needed = stride.checked_mul(ROWS - 1)?.checked_add(COLS)?;
        (entries.len() >= needed).then_some(Tile { entries, stride })
    }

    /// A row of the tile.
    #[inline(always)]
    fn row(&mut self, row: usize) -> &mut [f32; COLS] {
        let rest = self.entries.get_mut(row * self.stride..);
        let row = rest.and_then(|rest| rest.first_chunk_mut());
        // SAFETY: `Tile::new` has seen that `ROWS` rows are there, and no other is asked for.
        unsafe { row.unwrap_unchecked() }
    }
}

/// Adds to each of `ROWS` x `COLS` entries of `c` (rows `stride` apart) its products, in the order
/// of k. `b` has one row for each k; `a` begins with `ROWS` runs of as many values. Nothing happens
/// where something is too short for that.
pub(crate) fn multiply_add(a: &PanelA, b: &[[f32; COLS]], c: &mut [f32], stride: usize) {
    let Some(tile) = Tile::new(c, stride).filter(|_| b.len() <= DEPTH) else {
        return;
    };
    match Kernel::current() {
        // SAFETY: a kernel becomes current only if it is available.
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx512 => unsafe { avx512::multiply_add(a, b, tile) },
        // SAFETY: the same.
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx2 => unsafe { avx2::multiply_add(a, b, tile) },
        _ => portable::multiply_add(a, b, tile),
    }
}

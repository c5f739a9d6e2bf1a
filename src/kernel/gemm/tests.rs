// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every kernel against a loop that says what it means.

use std::vec;
use std::vec::Vec;

use super::*;

/// Small integers times powers of two: products are exact, sums are not.
fn values(seed: u64, len: usize) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let mantissa = (state >> 40) as i32 % 16;
        mantissa as f32 * 2f32.powi((state >> 50) as i32 % 16 - 8)
    };
    (0..len).map(|_| next()).collect()
}

/// What every kernel provides.
type MultiplyAdd = fn(&PanelA, &[[f32; COLS]], Tile<'_>);

/// The kernels of this machine, by name.
fn kernels() -> Vec<(&'static str, MultiplyAdd)> {
    let portable: MultiplyAdd = portable::multiply_add;
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
    let mut kernels = vec![("portable", portable)];
    #[cfg(target_arch = "x86_64")]
    {
        if Kernel::Avx2.is_available() {
            // SAFETY: the kernel is available.
            kernels.push(("avx2", |a, b, c| unsafe { avx2::multiply_add(a, b, c) }));
        }
        if Kernel::Avx512.is_available() {
            // SAFETY: the kernel is available.
            kernels.push(("avx512", |a, b, c| unsafe { avx512::multiply_add(a, b, c) }));
        }
    }
    kernels
}

#[test]
fn every_kernel_gives_the_same_bits() {
    for depth in [0, 1, 2, 31, 32, 33, DEPTH - 1, DEPTH] {
        for stride in [COLS, COLS + 1, COLS + 37] {
            let mut panel = [f32::NAN; ROWS * DEPTH];
            let a = values(1, ROWS * depth);
            panel[..a.len()].copy_from_slice(&a);
            let b = values(2, depth * COLS);
            let (rows, _) = b.as_chunks::<COLS>();
            let start = values(3, ROWS * stride);
            let mut expected = start.clone();
            for row in 0..ROWS {
                for col in 0..COLS {
                    for k in 0..depth {
                        expected[row * stride + col] += a[row * depth + k] * b[k * COLS + col];
                    }
                }
            }
            for (name, kernel) in kernels() {
                let mut c = start.clone();
                kernel(&panel, rows, Tile::new(&mut c, stride).unwrap());
                assert_eq!(c, expected, "{name}, depth {depth}, stride {stride}");
            }
        }
    }
}

#[test]
fn too_short_memory_is_left_alone() {
    let panel = [1.0; ROWS * DEPTH];
    let b = vec![[1.0; COLS]; DEPTH + 1];
    let mut c = vec![5.0; (ROWS - 1) * 100 + COLS];
    multiply_add(&panel, &b, &mut c, 100);
    let short = c.len() - 1;
    multiply_add(&panel, &b[..DEPTH], &mut c[..short], 100);
    multiply_add(&panel, &b[..DEPTH], &mut c, usize::MAX);
    assert!(c.iter().all(|&entry| entry == 5.0));
    multiply_add(&panel, &b[..DEPTH], &mut c, 100);
    assert_eq!(
        (c[0], c[COLS - 1]),
        (5.0 + DEPTH as f32, 5.0 + DEPTH as f32)
    );
    assert_eq!(c[COLS], 5.0);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one thing that threads share is the choice of kernel: the first calls of a process, from 64 threads at once, and
//! calls while another thread forces one kernel after the other. The results are those of the reference.
//!
//! One test alone: a second one could make the first call.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ofp8::kernel::Kernel;
use ofp8::{Cast, Format, Matrix, MatrixMut, Recipe, ScalesMut, scalar, slice};

const THREADS: usize = 64;
const CALLS: usize = 500;
const ROWS: usize = 5;
/// Whole vectors of every kernel, and a rest.
const COLS: usize = 32 * 9 + 7;
const COUNT: usize = ROWS * COLS;
const BLOCKS: usize = ROWS * COLS.div_ceil(32);

/// Numbers of every exponent, infinities and NaN among them.
fn source() -> Vec<f32> {
    (0..COUNT as u32)
        .map(|number| f32::from_bits(number.wrapping_mul(0x9E37_79B9)))
        .collect()
}

/// What calls give.
#[derive(Debug, PartialEq)]
struct Results {
    codes: Vec<u8>,
    decoded: Vec<u32>,
    block_codes: Vec<u8>,
    scales: Vec<u8>,
}

/// Encodes, decodes and quantizes.
fn results(source: &[f32]) -> Results {
    let mut codes = vec![0; COUNT];
    slice::encode(Format::E4M3, Cast::default(), source, &mut codes).unwrap();
    let mut decoded = vec![0.0f32; COUNT];
    slice::decode(Format::E4M3, &codes, &mut decoded).unwrap();
    let (mut block_codes, mut scales) = (vec![0; COUNT], vec![0; BLOCKS]);
    Recipe::MXFP8
        .quantize(
            Matrix::new(source, ROWS, COLS).unwrap(),
            MatrixMut::new(&mut block_codes, ROWS, COLS).unwrap(),
            ScalesMut::E8M0(&mut scales),
        )
        .unwrap();
    Results {
        codes,
        decoded: decoded.into_iter().map(f32::to_bits).collect(),
        block_codes,
        scales,
    }
}

#[test]
fn first_calls_and_forced_kernels_change_nothing() {
    let source = source();
    let (together, running) = (Barrier::new(THREADS), AtomicUsize::new(THREADS));
    let mut forced = 0;
    let (first, later): (Vec<Results>, Vec<Results>) = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    together.wait();
                    let first = results(&source);
                    // From here on the main thread forces kernels.
                    running.fetch_sub(1, Ordering::Relaxed);
                    let mut later = results(&source);
                    for _ in 1..CALLS {
                        let next = results(&source);
                        assert_eq!(next, later, "another kernel, another result");
                        later = next;
                    }
                    (first, later)
                })
            })
            .collect();
        let finished = |some: usize| threads.iter().filter(|one| one.is_finished()).count() >= some;
        while running.load(Ordering::Relaxed) > 0 && !finished(1) {
            thread::yield_now();
        }
        let available = || Kernel::ALL.iter().filter(|kernel| kernel.is_available());
        while !finished(THREADS) {
            for &kernel in available() {
                Kernel::force(Some(kernel)).unwrap();
                forced += 1;
                thread::yield_now();
            }
        }
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .unzip()
    });
    println!("kernels were forced {forced} times");
    assert!(forced > 0);

    Kernel::force(Some(Kernel::Portable)).unwrap();
    let expected = results(&source);
    Kernel::force(None).unwrap();
    let reference = source
        .iter()
        .map(|&x| scalar::encode_f32(Format::E4M3, Cast::default(), x, 0));
    assert!(reference.eq(expected.codes.iter().copied()));
    for (number, result) in first.iter().chain(&later).enumerate() {
        assert_eq!(result, &expected, "call {number}");
    }
}

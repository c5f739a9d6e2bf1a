// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums under every rounding mode of the caller, with and without flushing: the same bytes, and the
//! caller's register is as it was.

use ofp8::accumulate::{ExactSum, Gradient, Model, Operand, Order, Promotion, dot, gemm};
use ofp8::{Bf16, Format, Matrix, MatrixMut, Philox, Recipe, Scales, ScalesMut};

use crate::register::check;

const ROWS: usize = 7;
const COLS: usize = 5;
const DEPTH: usize = 160;

/// Codes without a NaN, subnormals among them.
fn codes(format: Format, seed: u64, len: usize) -> Vec<u8> {
    let philox = Philox::new(seed, 0);
    let code = |i: usize| {
        let code = philox.bits(i as u64) as u8 & format.spec().code_mask() as u8;
        if format.spec().is_nan(code as u64) {
            0
        } else {
            code
        }
    };
    (0..len).map(code).collect()
}

/// An operand with E8M0 scales so small that products of them are subnormal in f32, or large.
fn operand<'a>(codes: &'a [u8], scales: &'a [u8], vectors: usize) -> Operand<'a> {
    let codes = Matrix::new(codes, vectors, DEPTH).unwrap();
    Operand::quantized(&Recipe::MXFP8, codes, Scales::E8M0(scales)).unwrap()
}

fn scales(seed: u64, vectors: usize) -> Vec<u8> {
    let philox = Philox::new(seed, 1);
    let around = [40, 64, 127, 200];
    let scale = |i: usize| around[i % 4] + (philox.bits(i as u64) % 20) as u8;
    (0..vectors * DEPTH / 32).map(scale).collect()
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|x| x.to_bits().to_le_bytes())
        .collect()
}

fn orders() -> Vec<Order> {
    let models = Model::ALL.iter();
    let models = models.map(|&model| Order::TensorCore(model, Promotion::DEFAULT));
    [Order::Sequential, Order::Exact]
        .into_iter()
        .chain(models)
        .collect()
}

#[test]
fn products_do_not_depend_on_it() {
    let (a, b) = (
        codes(Format::E4M3, 1, ROWS * DEPTH),
        codes(Format::E4M3, 2, COLS * DEPTH),
    );
    let (of_a, of_b) = (scales(3, ROWS), scales(4, COLS));
    let mut taken = 0;
    for order in orders() {
        for scaled in [false, true] {
            let both = || {
                let plain = |codes, vectors| {
                    let codes = Matrix::new(codes, vectors, DEPTH).unwrap();
                    Operand::new(Format::E4M3, codes).unwrap()
                };
                if scaled {
                    (operand(&a, &of_a, ROWS), operand(&b, &of_b, COLS))
                } else {
                    (plain(&a, ROWS), plain(&b, COLS))
                }
            };
            let product = || {
                let mut c = vec![0.0; ROWS * COLS];
                let (a, b) = both();
                let done = gemm(a, b, order, MatrixMut::new(&mut c, ROWS, COLS).unwrap());
                let (x, y) = (a.part(1..2).unwrap(), b.part(2..3).unwrap());
                c.push(dot(x, y, order).unwrap_or(-1.0));
                if done.is_ok() { bytes(&c) } else { vec![0] }
            };
            taken += (product().len() > 1) as usize;
            check(&format!("{order:?}, scaled {scaled}"), &product);
        }
    }
    // All take plain operands; some take scales.
    assert!(taken > orders().len());
}

#[test]
fn exact_sums_and_single_instructions_do_not_depend_on_it() {
    let (a, b) = (codes(Format::E5M2, 5, 32), codes(Format::E4M3, 6, 32));
    check("exact sum", &|| {
        let mut sum = ExactSum::default();
        let mut all = Vec::new();
        for (&x, &y) in a.iter().zip(&b) {
            sum.add_product((Format::E5M2, x), (Format::E4M3, y));
            all.push(sum.to_f32());
        }
        bytes(&all)
    });
    let (of_a, of_b) = (scales(7, 1), scales(8, 1));
    let (x, y) = (
        codes(Format::E4M3, 9, DEPTH),
        codes(Format::E4M3, 10, DEPTH),
    );
    check("exact dot with tiny scales", &|| {
        let mut sum = ExactSum::default();
        sum.add_dot(operand(&x, &of_a, 1), operand(&y, &of_b, 1))
            .unwrap();
        bytes(&[sum.to_f32()])
    });
    let array = |codes: &[u8]| -> [u8; 32] { codes[..32].try_into().unwrap() };
    for &model in Model::ALL {
        check(&format!("{model:?}"), &|| {
            let mut all = vec![0.0];
            for scale in [0, 1, 30, 64, 127, 254] {
                for c in [0.0, 1.5e-42, -3.0, 1e30] {
                    let (a, b) = ((Format::E4M3, array(&x)), (Format::E4M3, array(&y)));
                    all.extend(model.mma(a, b, c));
                    all.extend(model.mma_scaled(a, b, (scale, 127), c));
                    all.extend(model.mma_scaled(a, b, (scale, scale), c));
                }
            }
            bytes(&all)
        });
    }
}

#[test]
fn gradients_do_not_depend_on_it() {
    let f32 =
        |i: usize| f32::from_bits((i as u32).wrapping_mul(0x9E37_79B9) & 0x807F_FFFF | 1 << 20);
    let tiny: Vec<f32> = (0..ROWS * COLS).map(f32).collect();
    let brain: Vec<Bf16> = tiny
        .iter()
        .map(|&x| Bf16((x.to_bits() >> 16) as u16))
        .collect();
    let stored = codes(Format::E4M3, 11, ROWS * COLS);
    for compensated in [false, true] {
        check("gradient", &|| {
            let (mut sum, mut lost) = (vec![0.0; ROWS * COLS], vec![0.0; ROWS * COLS]);
            let (mut codes, mut scale) = (vec![0; ROWS * COLS], [0.0]);
            let matrix = MatrixMut::new(&mut sum, ROWS, COLS).unwrap();
            let place = MatrixMut::new(&mut lost, ROWS, COLS).unwrap();
            let mut gradient = Gradient::new(matrix, compensated.then_some(place)).unwrap();
            for factor in [1.0, 1e-3, 1e30] {
                gradient
                    .add(Matrix::new(&tiny, ROWS, COLS).unwrap(), factor)
                    .unwrap();
                gradient
                    .add(Matrix::new(&brain, ROWS, COLS).unwrap(), factor)
                    .unwrap();
            }
            let of_codes = Matrix::new(&stored, ROWS, COLS).unwrap();
            gradient
                .add_codes(&Recipe::TENSOR, of_codes, Scales::F32(&[1e-39]))
                .unwrap();
            let target = MatrixMut::new(&mut codes, ROWS, COLS).unwrap();
            let scales = ScalesMut::F32(&mut scale);
            gradient
                .quantize(&Recipe::TENSOR, None, target, scales)
                .unwrap();
            let mut all = bytes(&sum);
            all.extend(bytes(&scale));
            all.extend(codes);
            all
        });
    }
}

/// A count is a u64: f32 has to round it.
#[test]
fn averages_of_many_do_not_depend_on_it() {
    for count in [3, (1 << 24) + 1, (1 << 25) + 3, u64::MAX - 1] {
        check(&format!("average of {count}"), &|| {
            let mut sum = [1.0, -3e30, 1e-39, 7.0];
            let matrix = MatrixMut::new(&mut sum, 1, 4).unwrap();
            let mut gradient = Gradient::resume(matrix, None, count).unwrap();
            gradient.average();
            bytes(&sum)
        });
    }
}

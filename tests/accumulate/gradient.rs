// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gradient buffers against f64 and against their definition, and what adding in FP8 loses.

use num_bigint::BigInt;
use ofp8::accumulate::Gradient;
use ofp8::float::Bf16;
use ofp8::scalar::{decode_f32, encode_f32};
use ofp8::{Block, Cast, Error, Format, Matrix, MatrixMut, Philox, Recipe, Rounding};
use ofp8::{Float, RandomBits, Scales, ScalesMut};

use crate::oracle::{Dice, nearest, units};

const ROWS: usize = 3;
const COLS: usize = 150;
const LEN: usize = ROWS * COLS;

fn matrix<T>(data: &[T]) -> Matrix<'_, T> {
    Matrix::new(data, ROWS, COLS).unwrap()
}

fn matrix_mut<T>(data: &mut [T]) -> MatrixMut<'_, T> {
    MatrixMut::new(data, ROWS, COLS).unwrap()
}

/// Values around zero with a full significand.
fn values(dice: &mut Dice, len: usize) -> Vec<f32> {
    let value = |dice: &mut Dice| {
        if dice.below(2) == 0 {
            dice.scale()
        } else {
            -dice.scale()
        }
    };
    (0..len).map(|_| value(dice)).collect()
}

#[test]
fn additions_follow_the_definition() {
    let mut dice = Dice(31);
    let (mut sum, mut expected) = (vec![9.0; LEN], vec![0.0f32; LEN]);
    let mut gradient = Gradient::new(matrix_mut(&mut sum), None).unwrap();
    for turn in 0..6 {
        let source = values(&mut dice, LEN);
        let scale = dice.scale();
        if turn % 2 == 0 {
            gradient.add(matrix(&source), scale).unwrap();
            for (sum, x) in expected.iter_mut().zip(&source) {
                *sum += scale * x;
            }
        } else {
            let source: Vec<Bf16> = source.iter().map(|&x| Bf16::from_f32(x)).collect();
            gradient.add(matrix(&source), scale).unwrap();
            for (sum, x) in expected.iter_mut().zip(&source) {
                *sum += scale * x.to_f32();
            }
        }
    }
    assert_eq!(gradient.count(), 6);
    let average = gradient.average();
    assert_eq!((average.rows(), average.cols()), (ROWS, COLS));
    assert_eq!(gradient.count(), 1);
    let expected: Vec<f32> = expected.iter().map(|sum| sum / 6.0).collect();
    assert_eq!(sum, expected);
}

#[test]
fn a_full_count_stays_full() {
    let source = vec![1.0; LEN];
    let (mut sum, mut other_sum) = (vec![0.0; LEN], vec![0.0; LEN]);
    let of = |sum| Gradient::resume(matrix_mut(sum), None, u64::MAX - 1).unwrap();
    let (mut gradient, other) = (of(&mut sum), of(&mut other_sum));
    for _ in 0..2 {
        gradient.add(matrix(&source), 1.0).unwrap();
        assert_eq!(gradient.count(), u64::MAX);
    }
    let codes = vec![0; LEN];
    let scales = Scales::F32(&[1.0]);
    gradient
        .add_codes(&Recipe::TENSOR, matrix(&codes), scales)
        .unwrap();
    assert_eq!(gradient.count(), u64::MAX);
    gradient.merge(&other).unwrap();
    assert_eq!(gradient.count(), u64::MAX);
    // What was added is divided by no less: the mean of two ones over 2^64.
    gradient.average();
    assert_eq!(sum[0], 2.0 / 2f32.powi(64));
}

#[test]
fn codes_are_added_as_they_dequantize() {
    let mut dice = Dice(32);
    for recipe in [
        Recipe::TENSOR,
        Recipe::MXFP8_E5M2,
        Recipe::DEEPSEEK_WEIGHT,
        Recipe::ROW,
    ] {
        let (mut sum, mut expected) = (vec![0.0; LEN], vec![0.0f32; LEN]);
        let mut gradient = Gradient::new(matrix_mut(&mut sum), None).unwrap();
        for _ in 0..3 {
            let source = values(&mut dice, LEN);
            let (down, across) = recipe.block().grid(ROWS, COLS);
            let (mut codes, mut dequantized) = (vec![0; LEN], vec![0.0f32; LEN]);
            let (mut f32s, mut bytes) = (vec![0.0; down * across], vec![0; down * across]);
            let is_mx = recipe.block() == Block::new(1, 32);
            let scales = if is_mx {
                ScalesMut::E8M0(&mut bytes)
            } else {
                ScalesMut::F32(&mut f32s)
            };
            recipe
                .quantize(matrix(&source), matrix_mut(&mut codes), scales)
                .unwrap();
            let scales = if is_mx {
                Scales::E8M0(&bytes)
            } else {
                Scales::F32(&f32s)
            };
            recipe
                .dequantize(matrix(&codes), scales, matrix_mut(&mut dequantized))
                .unwrap();
            gradient.add_codes(&recipe, matrix(&codes), scales).unwrap();
            for (sum, x) in expected.iter_mut().zip(&dequantized) {
                *sum += x;
            }
        }
        assert_eq!(gradient.count(), 3);
        assert_eq!(sum, expected);
    }
}

/// Compensated sums are those of a big integer, rounded.
#[test]
fn compensation_keeps_what_rounding_loses() {
    let mut dice = Dice(33);
    let (mut sum, mut lost) = (vec![1.0; LEN], vec![1.0; LEN]);
    let mut plain = vec![0.0f32; LEN];
    let mut exact = vec![BigInt::from(0); LEN];
    let of_lost = Some(matrix_mut(&mut lost));
    let mut gradient = Gradient::new(matrix_mut(&mut sum), of_lost).unwrap();
    for turn in 0..1000 {
        let mut source = values(&mut dice, LEN);
        if turn == 500 {
            // Something large, that will go again: what it pushed out must not be lost.
            source.fill(1e6);
        } else if turn == 900 {
            source.fill(-1e6);
        }
        gradient.add(matrix(&source), 1.0).unwrap();
        for ((exact, plain), &x) in exact.iter_mut().zip(&mut plain).zip(&source) {
            *exact += units(x as f64);
            *plain += x;
        }
    }
    gradient.average();
    let mut differing = 0;
    // Neumaier's bound: one rounding of the sum (and here the division and the product below), and
    // terms of second order.
    let second_order = 1000.0 * 2f32.powi(-48) * 2e6;
    for ((sum, plain), exact) in sum.iter().zip(&plain).zip(&exact) {
        let right = nearest(exact);
        let bound = 1.5 * f32::EPSILON * right.abs() + second_order;
        let error = (sum * 1000.0 - right).abs();
        assert!(error <= bound, "{sum} for {right} / 1000");
        differing += ((plain - right).abs() > 100.0 * bound) as usize;
    }
    assert!(
        differing > LEN / 2,
        "without compensation the sums must be wrong: {differing}"
    );
}

#[test]
fn infinities_and_nan_stay() {
    for compensated in [false, true] {
        let (mut sum, mut lost) = ([0.0; 3], [0.0; 3]);
        let three = |data| MatrixMut::new(data, 1, 3).unwrap();
        let of_lost = compensated.then(|| three(&mut lost));
        let mut gradient = Gradient::new(three(&mut sum), of_lost).unwrap();
        for values in [
            [1.0, f32::INFINITY, f32::NAN],
            [f32::MAX, 1.0, 1.0],
            [f32::MAX, -1.0, 0.0],
        ] {
            gradient
                .add(Matrix::new(&values, 1, 3).unwrap(), 1.0)
                .unwrap();
        }
        gradient.average();
        assert_eq!(sum[..2], [f32::INFINITY; 2]);
        assert_eq!(sum[2].to_bits(), f32::NAN.to_bits());
    }
}

/// The stride of a single row says nothing, whatever it is.
#[test]
fn one_row_may_say_any_stride() {
    const ROW: usize = 40;
    let values = values(&mut Dice(35), ROW);
    let run = |stride: usize| {
        let (mut sum, mut lost, mut other) = ([0.0; ROW], [0.0; ROW], [0.0; ROW]);
        let (mut codes, mut scales) = ([0; ROW], [0; 2]);
        let row = |data| MatrixMut::with_stride(data, 1, ROW, stride).unwrap();
        let mut gradient = Gradient::new(row(&mut sum), Some(row(&mut lost))).unwrap();
        let mut of_other = Gradient::new(row(&mut other), None).unwrap();
        let source = Matrix::with_stride(&values, 1, ROW, stride).unwrap();
        gradient.add(source, 0.5).unwrap();
        of_other.add(source, 3.0).unwrap();
        gradient.merge(&of_other).unwrap();
        let to = MatrixMut::with_stride(&mut codes, 1, ROW, stride).unwrap();
        let scales_mut = ScalesMut::E8M0(&mut scales);
        let stats = gradient.quantize(&Recipe::MXFP8, None, to, scales_mut);
        let stored = Matrix::with_stride(&codes, 1, ROW, stride).unwrap();
        gradient
            .add_codes(&Recipe::MXFP8, stored, Scales::E8M0(&scales))
            .unwrap();
        (sum, lost, codes, scales, stats)
    };
    assert_eq!(run(usize::MAX), run(ROW));
    assert_eq!(run(0), run(ROW));
}

#[test]
fn ranks_merge_and_memory_resumes() {
    let mut dice = Dice(34);
    let batches: Vec<Vec<f32>> = (0..8).map(|_| values(&mut dice, LEN)).collect();
    let (mut whole, mut lost_whole) = (vec![0.0; LEN], vec![0.0; LEN]);
    let (mut left, mut lost_left) = (vec![0.0; LEN], vec![0.0; LEN]);
    let (mut right, mut lost_right) = (vec![0.0; LEN], vec![0.0; LEN]);
    let mut all = Gradient::new(matrix_mut(&mut whole), Some(matrix_mut(&mut lost_whole))).unwrap();
    for batch in &batches {
        all.add(matrix(batch), 0.5).unwrap();
    }
    {
        let lost = Some(matrix_mut(&mut lost_left));
        let mut left = Gradient::new(matrix_mut(&mut left), lost).unwrap();
        left.add(matrix(&batches[0]), 0.5).unwrap();
        left.add(matrix(&batches[1]), 0.5).unwrap();
    }
    let lost = Some(matrix_mut(&mut lost_left));
    let mut left = Gradient::resume(matrix_mut(&mut left), lost, 2).unwrap();
    let lost = Some(matrix_mut(&mut lost_right));
    let mut right = Gradient::new(matrix_mut(&mut right), lost).unwrap();
    for batch in &batches[2..] {
        right.add(matrix(batch), 0.5).unwrap();
    }
    left.merge(&right).unwrap();
    assert_eq!(left.count(), 8);
    left.average();
    all.average();
    for (a, b) in all
        .average()
        .cloned_rows()
        .iter()
        .zip(&left.average().cloned_rows())
    {
        assert!((a - b).abs() <= f32::EPSILON * a.abs());
    }
}

/// The elements of a matrix; the library gives slices of rows to itself only.
trait ClonedRows {
    fn cloned_rows(&self) -> Vec<f32>;
}

impl ClonedRows for Matrix<'_, f32> {
    fn cloned_rows(&self) -> Vec<f32> {
        let (mut sum, len) = (
            vec![0.0; self.rows() * self.cols()],
            self.rows() * self.cols(),
        );
        let copy = MatrixMut::new(&mut sum, self.rows(), self.cols()).unwrap();
        Gradient::new(copy, None).unwrap().add(*self, 1.0).unwrap();
        assert_eq!(sum.len(), len);
        sum
    }
}

#[test]
fn quantized_once_at_the_end() {
    let mut dice = Dice(35);
    let source = values(&mut dice, LEN);
    let average: Vec<f32> = source.iter().map(|x| (x + x) / 2.0).collect();
    let stochastic =
        Recipe::MXFP8.with_cast(Cast::DEFAULT.rounding(Rounding::StochasticA(RandomBits::SIXTEEN)));
    for (recipe, random) in [
        (Recipe::MXFP8, None),
        (stochastic, Some(Philox::new(5, 6).at(1000))),
    ] {
        let mut sum = vec![0.0; LEN];
        let mut gradient = Gradient::new(matrix_mut(&mut sum), None).unwrap();
        gradient.add(matrix(&source), 1.0).unwrap();
        gradient.add(matrix(&source), 1.0).unwrap();
        let (mut codes, mut scales) = (vec![0; LEN], vec![0; ROWS * 5]);
        let of_scales = ScalesMut::E8M0(&mut scales);
        let stats = gradient
            .quantize(&recipe, random, matrix_mut(&mut codes), of_scales)
            .unwrap();
        let (mut codes_too, mut scales_too) = (vec![0; LEN], vec![0; ROWS * 5]);
        let of_scales = ScalesMut::E8M0(&mut scales_too);
        let (from, to) = (matrix(&average), matrix_mut(&mut codes_too));
        let expected = match random {
            None => recipe.quantize(from, to, of_scales),
            Some(random) => recipe.quantize_stochastic(random, from, to, of_scales),
        };
        assert_eq!(Ok(stats), expected);
        assert_eq!((codes, scales), (codes_too, scales_too));
    }
}

#[test]
fn bad_arguments_change_nothing() {
    let (mut sum, mut lost, mut other) = ([0.0; 6], [0.0; 6], [0.0; 4]);
    fn two_by_three(data: &mut [f32]) -> MatrixMut<'_, f32> {
        MatrixMut::new(data, 2, 3).unwrap()
    }
    let narrow = Some(MatrixMut::new(&mut lost, 3, 2).unwrap());
    assert_eq!(
        Gradient::new(two_by_three(&mut sum), narrow).err(),
        Some(Error::Shape)
    );
    let mut gradient = Gradient::new(two_by_three(&mut sum), None).unwrap();
    gradient
        .add(Matrix::new(&[1.0f32; 6], 2, 3).unwrap(), 1.0)
        .unwrap();
    let wrong = Matrix::new(&[1.0f32; 6], 3, 2).unwrap();
    assert_eq!(gradient.add(wrong, 1.0), Err(Error::Shape));
    let codes = Matrix::new(&[0x38; 6], 2, 3).unwrap();
    let recipe = Recipe::TENSOR;
    assert_eq!(
        gradient.add_codes(&recipe, codes, Scales::F32(&[1.0; 2])),
        Err(Error::Length)
    );
    assert_eq!(
        gradient.add_codes(&recipe, codes, Scales::E8M0(&[1])),
        Err(Error::Recipe)
    );
    let square = Gradient::new(MatrixMut::new(&mut other, 2, 2).unwrap(), None).unwrap();
    assert_eq!(gradient.merge(&square), Err(Error::Shape));
    let (mut target, mut f32s) = ([7; 6], [5.0; 2]);
    let mut quantize = |recipe: Recipe, rows, cols, count: usize| {
        let codes = MatrixMut::new(&mut target, rows, cols).unwrap();
        let scales = ScalesMut::F32(&mut f32s[..count]);
        gradient.quantize(&recipe, None, codes, scales).err()
    };
    assert_eq!(quantize(recipe, 3, 2, 1), Some(Error::Shape));
    assert_eq!(quantize(recipe, 2, 3, 2), Some(Error::Length));
    let random = Cast::DEFAULT.rounding(Rounding::StochasticA(RandomBits::SIXTEEN));
    let stochastic = recipe.with_cast(random);
    assert_eq!(quantize(stochastic, 2, 3, 1), Some(Error::RandomBits));
    assert_eq!((gradient.count(), f32s), (1, [5.0; 2]));
    assert_eq!((target, sum), ([7; 6], [1.0; 6]));
}

/// A thousand micro-batches, added in f32 and quantized once, against a sum that is kept in FP8:
/// small gradients vanish there.
#[test]
fn adding_in_fp8_loses_small_gradients() {
    const BATCHES: usize = 1000;
    let mut dice = Dice(36);
    let mean: Vec<f32> = (0..LEN).map(|_| dice.scale() * 2f32.powi(-10)).collect();
    let mut exact = vec![0.0f64; LEN];
    let mut sum = vec![0.0; LEN];
    let mut in_fp8 = [
        (Format::E4M3, vec![0u8; LEN]),
        (Format::E5M2, vec![0u8; LEN]),
    ];
    let mut gradient = Gradient::new(matrix_mut(&mut sum), None).unwrap();
    for _ in 0..BATCHES {
        let noise = |dice: &mut Dice| 0.5 + dice.below(1 << 20) as f32 / (1 << 20) as f32;
        let batch: Vec<f32> = mean.iter().map(|mean| mean * noise(&mut dice)).collect();
        gradient.add(matrix(&batch), 1.0).unwrap();
        for (exact, &x) in exact.iter_mut().zip(&batch) {
            *exact += x as f64;
        }
        for (format, codes) in &mut in_fp8 {
            for (code, x) in codes.iter_mut().zip(&batch) {
                *code = encode_f32(*format, Cast::DEFAULT, decode_f32(*format, *code) + x, 0);
            }
        }
    }
    let relative = |sums: &[f64]| {
        let squares = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>();
        let mut differences = sums.iter().zip(&exact).map(|(a, b)| a - b);
        (squares(&mut differences) / squares(&mut exact.iter().copied())).sqrt()
    };
    let (mut codes, mut scales) = (vec![0; LEN], vec![0; ROWS * 5]);
    let target = ScalesMut::E8M0(&mut scales);
    gradient
        .quantize(&Recipe::MXFP8, None, matrix_mut(&mut codes), target)
        .unwrap();
    let mut once = vec![0.0f32; LEN];
    let scales = Scales::E8M0(&scales);
    Recipe::MXFP8
        .dequantize(matrix(&codes), scales, matrix_mut(&mut once))
        .unwrap();
    let once: Vec<f64> = once.iter().map(|&x| x as f64 * BATCHES as f64).collect();
    let error = relative(&once);
    assert!(error < 0.04, "quantized once: {error}");
    println!("relative error, quantized once: {error:.4}");
    for (format, codes) in in_fp8 {
        let sums: Vec<f64> = codes
            .iter()
            .map(|&code| decode_f32(format, code) as f64)
            .collect();
        let error = relative(&sums);
        assert!(error > 0.5, "{format:?} accumulated: {error}");
        println!("relative error, accumulated in {format:?}: {error:.4}");
    }
}

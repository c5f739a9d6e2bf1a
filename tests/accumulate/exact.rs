// SPDX-License-Identifier: MIT OR Apache-2.0
//! The exact order against big integers.

use num_bigint::BigInt;
use ofp8::accumulate::{ExactSum, Operand, Order, dot, gemm};
use ofp8::{Block, Convention, Error, Format, Matrix, MatrixMut, Recipe, Scales, Scaling};

use crate::oracle::{Dice, formats, nearest, product_units, units, value};

fn operand(format: Format, codes: &[u8]) -> Operand<'_> {
    Operand::new(format, Matrix::new(codes, 1, codes.len()).unwrap()).unwrap()
}

/// A vector with scales.
fn scaled<'a>(format: Format, codes: &'a [u8], block: Block, scales: Scales<'a>) -> Operand<'a> {
    let scaling = match scales {
        Scales::E8M0(_) => Recipe::MXFP8.scaling(),
        _ => Scaling::F32(Convention::DeepSeek),
    };
    let recipe = Recipe::new(format, block, scaling).unwrap();
    Operand::quantized(&recipe, Matrix::new(codes, 1, codes.len()).unwrap(), scales).unwrap()
}

/// The exact sum of products in units.
fn sum(a: (Format, &[u8]), b: (Format, &[u8])) -> BigInt {
    let products = a.1.iter().zip(b.1);
    let product = |(&x, &y): (&u8, &u8)| units(value(a.0, x) * value(b.0, y));
    products.map(product).sum()
}

fn check(a: (Format, &[u8]), b: (Format, &[u8])) {
    let exact = dot(operand(a.0, a.1), operand(b.0, b.1), Order::Exact).unwrap();
    let expected = nearest(&sum(a, b));
    assert_eq!(exact.to_bits(), expected.to_bits(), "{a:?} {b:?}");
}

#[test]
fn random_sums_of_every_pair_of_formats() {
    let mut dice = Dice(1);
    for a in formats() {
        for b in formats() {
            for len in [1, 2, 31, 33, 200] {
                let (x, y) = (dice.codes(a, len), dice.codes(b, len));
                check((a, &x), (b, &y));
            }
        }
    }
}

#[test]
fn cancellation_leaves_the_smallest_term() {
    for format in [Format::E4M3, Format::E5M2, Format::E5M2Fnuz] {
        let spec = format.spec();
        let (largest, least) = (spec.max_magnitude() as u8, 1);
        let minus = |code: u8| code | spec.sign_mask() as u8;
        let a = [largest, least, minus(largest), minus(least), least];
        let b = [largest, least, largest, least, minus(least)];
        check((format, &a), (format, &b));
        let exact = dot(operand(format, &a), operand(format, &b), Order::Exact).unwrap();
        let square = value(format, least) * value(format, least);
        assert_eq!(exact as f64, -square);
    }
    // Nothing is left: +0.
    let (a, b) = ([0x7E, 0xFE], [0x38, 0x38]);
    let zero = dot(
        operand(Format::E4M3, &a),
        operand(Format::E4M3, &b),
        Order::Exact,
    )
    .unwrap();
    assert_eq!(zero.to_bits(), 0);
}

#[test]
fn a_million_terms() {
    const TERMS: usize = 1 << 20;
    let mut dice = Dice(2);
    for (a, b) in [
        (Format::E4M3, Format::E4M3),
        (Format::E5M2, Format::E4M3),
        (Format::Binary8p3uf, Format::Binary8p3uf),
    ] {
        // The largest product over and over.
        let (x, y) = (
            a.spec().max_magnitude() as u8,
            b.spec().max_magnitude() as u8,
        );
        let (x, y) = (vec![x; TERMS], vec![y; TERMS]);
        let exact = dot(operand(a, &x), operand(b, &y), Order::Exact).unwrap();
        let expected = units(value(a, x[0]) * value(b, y[0])) * TERMS;
        assert_eq!(exact, nearest(&expected), "{a:?} {b:?}");
        // And anything.
        let (x, y) = (dice.codes(a, TERMS), dice.codes(b, TERMS));
        check((a, &x), (b, &y));
    }
}

/// Sums that end on a tie, just above, just below.
#[test]
fn ties_go_to_even() {
    // 2^24 + 1 lies half-way between two f32.
    let (big, one, tiny) = (0x78, 0x38, 0x01);
    let terms = (1 << 24) / (256 * 256);
    for (extra, expected) in [
        (&[][..], 16777216.0),
        (&[(one, one)][..], 16777216.0),
        (&[(one, one), (tiny, tiny)][..], 16777218.0),
        (&[(one, one), (tiny, tiny | 0x80)][..], 16777216.0),
        (&[(one, one), (one, one), (one, one)][..], 16777220.0),
        (
            &[(one, one), (one, one), (one, one), (tiny, 0x81)][..],
            16777218.0,
        ),
    ] {
        let mut products = vec![(big, big); terms];
        products.extend(extra);
        let (a, b): (Vec<u8>, Vec<u8>) = products.into_iter().unzip();
        check((Format::E4M3, &a), (Format::E4M3, &b));
        let exact = dot(
            operand(Format::E4M3, &a),
            operand(Format::E4M3, &b),
            Order::Exact,
        );
        assert_eq!(exact, Ok(expected));
    }
}

#[test]
fn any_order_and_any_split_give_the_same_words() {
    let mut dice = Dice(3);
    for (a, b) in [
        (Format::E4M3, Format::E5M2),
        (Format::MxInt8, Format::Binary8p3uf),
    ] {
        let (x, y) = (dice.codes(a, 1000), dice.codes(b, 1000));
        let mut whole = ExactSum::ZERO;
        whole.add_dot(operand(a, &x), operand(b, &y)).unwrap();
        for _ in 0..20 {
            // A permutation, dealt to seven ranks, which are merged in another order.
            let mut order: Vec<usize> = (0..1000).collect();
            for i in (1..order.len()).rev() {
                order.swap(i, dice.below(i as u64 + 1) as usize);
            }
            let mut ranks = [ExactSum::ZERO; 7];
            for k in order {
                ranks[dice.below(7) as usize].add_product((a, x[k]), (b, y[k]));
            }
            let mut merged = ExactSum::ZERO;
            for rank in ranks.iter().rev() {
                merged.merge(&ExactSum::from_words(&rank.to_words()));
            }
            assert_eq!(merged.to_words(), whole.to_words());
            assert_eq!(merged.to_f32(), whole.to_f32());
        }
        assert_eq!(whole.to_f32(), nearest(&sum((a, &x), (b, &y))));
    }
}

#[test]
fn powers_of_two_fold_in_exactly() {
    let mut dice = Dice(4);
    let (a, b) = (Format::E4M3, Format::E5M2);
    for (round, len) in [64, 70, 96, 320].into_iter().cycle().take(80).enumerate() {
        let (x, y) = (dice.codes(a, len), dice.codes(b, len));
        let blocks = len.div_ceil(32);
        // All exponents together, ever wider apart; code 0xFF is NaN.
        let spread = 1 + round as u64 * 3;
        let mut exponents = || -> Vec<u8> {
            let around =
                |dice: &mut Dice| (127 + dice.below(spread) as i64 - spread as i64 / 2) as u8;
            (0..blocks).map(|_| around(&mut dice).min(254)).collect()
        };
        let (of_x, of_y) = (exponents(), exponents());
        let block = Block::new(1, 32);
        let left = scaled(a, &x, block, Scales::E8M0(&of_x));
        let right = scaled(b, &y, block, Scales::E8M0(&of_y));
        let mut expected = BigInt::from(0);
        for k in 0..len {
            let scale = |codes: &[u8]| 2f64.powi(codes[k / 32] as i32 - 127);
            let factors = [value(a, x[k]) * value(b, y[k]), scale(&of_x), scale(&of_y)];
            expected += product_units(&factors);
        }
        let exact = dot(left, right, Order::Exact).unwrap();
        assert_eq!(exact, nearest(&expected), "{of_x:?} {of_y:?}");
        let mut sum = ExactSum::ZERO;
        sum.add_dot(left, right).unwrap();
        assert_eq!(sum.to_f32(), exact);
    }
}

/// The ends of f32: subnormal results, results that round to infinity, zero.
#[test]
fn scales_reach_both_ends_of_f32() {
    let format = Format::E5M2;
    let mut dice = Dice(5);
    for exponents in [
        [0, 0],
        [0, 127],
        [0, 120],
        [0, 105],
        [0, 95],
        [20, 10],
        [100, 5],
        [254, 254],
        [254, 127],
        [250, 110],
    ] {
        for _ in 0..20 {
            let (x, y) = (dice.codes(format, 40), dice.codes(format, 40));
            let of_x = scaled(format, &x, Block::TENSOR, Scales::E8M0(&exponents[..1]));
            let of_y = scaled(format, &y, Block::TENSOR, Scales::E8M0(&exponents[1..]));
            let exact = dot(of_x, of_y, Order::Exact).unwrap();
            let shift = exponents[0] as i32 + exponents[1] as i32 - 254;
            let scale = [2f64.powi(shift / 2), 2f64.powi(shift - shift / 2)];
            let expected = (sum((format, &x), (format, &y)) * units(scale[0])) >> 1100u32;
            let expected = nearest(&((expected * units(scale[1])) >> 1100u32));
            assert_eq!(
                exact.to_bits(),
                expected.to_bits(),
                "{exponents:?} {x:?} {y:?}"
            );
        }
    }
}

/// One scale a vector: rounded once. Scales that change along K: once a block, then f32 additions.
#[test]
fn other_scales_round_once_a_block() {
    let mut dice = Dice(6);
    let (a, b) = (Format::E4M3, Format::E4M3);
    for len in [5, 128, 129, 300, 512] {
        for depth in [0, 128, 48] {
            let (x, y) = (dice.codes(a, len), dice.codes(b, len));
            let blocks = len.checked_div(depth).map_or(1, |_| len.div_ceil(depth));
            let of_x: Vec<f32> = (0..blocks).map(|_| dice.scale()).collect();
            let of_y: Vec<f32> = (0..blocks).map(|_| dice.scale()).collect();
            let block = Block::new(1, depth);
            let left = scaled(a, &x, block, Scales::F32(&of_x));
            let right = scaled(b, &y, block, Scales::F32(&of_y));
            let mut expected = 0.0f32;
            let step = if depth == 0 { len } else { depth };
            for (i, start) in (0..len).step_by(step).enumerate() {
                let part = start..len.min(start + step);
                let exact = sum((a, &x[part.clone()]), (b, &y[part]));
                // Two f32 factors are exact in f64.
                let scale = of_x[i] as f64 * of_y[i] as f64;
                expected += nearest(&((exact * units(scale)) >> 1100u32));
            }
            let exact = dot(left, right, Order::Exact).unwrap();
            assert_eq!(exact.to_bits(), expected.to_bits());
            let mut c = [0.0];
            gemm(
                left,
                right,
                Order::Exact,
                MatrixMut::new(&mut c, 1, 1).unwrap(),
            )
            .unwrap();
            assert_eq!(c[0].to_bits(), expected.to_bits());
            assert_eq!(
                ExactSum::ZERO.clone().add_dot(left, right),
                Err(Error::Scale)
            );
        }
    }
}

#[test]
fn special_values() {
    let (infinity, minus, nan, zero, one) = (0x7C, 0xFC, 0x7E, 0x00, 0x3C);
    let run = |terms: &[(u8, u8)]| {
        let (a, b): (Vec<u8>, Vec<u8>) = terms.iter().copied().unzip();
        dot(
            operand(Format::E5M2, &a),
            operand(Format::E5M2, &b),
            Order::Exact,
        )
        .unwrap()
    };
    assert_eq!(run(&[(infinity, one), (one, one)]), f32::INFINITY);
    assert_eq!(run(&[(minus, one), (one, one)]), f32::NEG_INFINITY);
    assert_eq!(run(&[(minus, minus), (infinity, one)]), f32::INFINITY);
    for terms in [
        &[(nan, one)][..],
        &[(one, nan), (infinity, one)],
        &[(infinity, zero)],
        &[(infinity, one), (minus, one)],
        &[(infinity, one), (infinity, minus)],
    ] {
        assert_eq!(run(terms).to_bits(), f32::NAN.to_bits(), "{terms:?}");
    }
    // E8M0 is for scales: as an element it is refused, in a sum of products it is NaN.
    let codes = Matrix::new(&[0x7F], 1, 1).unwrap();
    assert_eq!(Operand::new(Format::E8M0, codes).err(), Some(Error::Recipe));
    let mut sum = ExactSum::default();
    sum.add_product((Format::E8M0, 0x7F), (Format::E4M3, 0x38));
    assert!(sum.to_f32().is_nan());
}

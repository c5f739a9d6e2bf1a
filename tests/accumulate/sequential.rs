// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sequential order against its definition, written out in f32, and its error bound against
//! big integers.

use ofp8::accumulate::{Operand, Order, dot};
use ofp8::{Block, Format, Matrix, Recipe, Scales};

use crate::oracle::{Dice, formats, units, value};
use crate::product::{Factor, SCALINGS, product, segments};

/// One entry of a matrix product, by the definition.
fn entry(a: &Factor, b: &Factor, i: usize, j: usize) -> f32 {
    let mut total = 0.0f32;
    for part in segments(a, b) {
        let scale = a.scale(i, part.start) * b.scale(j, part.start);
        let mut sum = 0.0f32;
        for k in part {
            sum += a.value(i, k) * b.value(j, k);
        }
        total += scale * sum;
    }
    total
}

/// A dot product, by the definition.
fn in_lanes(a: &Factor, b: &Factor) -> f32 {
    let mut total = 0.0f32;
    for part in segments(a, b) {
        let scale = a.scale(0, part.start) * b.scale(0, part.start);
        let mut lanes = vec![0.0f32; 16];
        for (i, k) in part.enumerate() {
            lanes[i % 16] += a.value(0, k) * b.value(0, k);
        }
        while lanes.len() > 1 {
            let half = lanes.len() / 2;
            lanes = (0..half).map(|l| lanes[l] + lanes[l + half]).collect();
        }
        total += scale * lanes[0];
    }
    total
}

#[test]
fn products_follow_the_definition() {
    let mut dice = Dice(11);
    let formats = formats();
    let mut turn = 0;
    for (m, n, k) in [
        (1, 1, 1),
        (3, 5, 40),
        (6, 64, 128),
        (7, 65, 129),
        (13, 66, 300),
        (12, 9, 7),
        (2, 64, 512),
        (20, 3, 33),
    ] {
        for (of_a, of_b) in SCALINGS {
            for (a_transposed, b_transposed) in
                [(false, false), (true, false), (false, true), (true, true)]
            {
                turn += 1;
                let format = |at: usize| formats[at % formats.len()];
                let a = Factor::random(&mut dice, format(turn), (m, k), a_transposed, of_a);
                let b = Factor::random(&mut dice, format(turn * 5 + 3), (n, k), b_transposed, of_b);
                let c = product(a.operand(), b.operand(), Order::Sequential).unwrap();
                for (at, c) in c.iter().enumerate() {
                    let (i, j) = (at / n, at % n);
                    let expected = entry(&a, &b, i, j);
                    assert_eq!(
                        c.to_bits(),
                        expected.to_bits(),
                        "({i}, {j}) of {m}x{n}x{k}, {:?} x {:?}, {of_a:?} x {of_b:?}, \
                         transposed {a_transposed} {b_transposed}: {c} for {expected}",
                        a.format,
                        b.format
                    );
                }
            }
        }
    }
}

#[test]
fn dot_products_follow_the_definition() {
    let mut dice = Dice(12);
    let formats = formats();
    for (turn, k) in [1, 15, 17, 130, 300]
        .into_iter()
        .cycle()
        .take(300)
        .enumerate()
    {
        let (of_a, of_b) = SCALINGS[turn % SCALINGS.len()];
        let format = |at: usize| formats[at % formats.len()];
        let a = Factor::random(&mut dice, format(turn), (1, k), turn % 3 == 0, of_a);
        let b = Factor::random(&mut dice, format(turn / 7), (1, k), turn % 5 == 0, of_b);
        let sum = dot(a.operand(), b.operand(), Order::Sequential).unwrap();
        assert_eq!(
            sum.to_bits(),
            in_lanes(&a, &b).to_bits(),
            "{of_a:?} x {of_b:?}"
        );
    }
}

/// The documented bound: n u / (1 - n u) times the sum of magnitudes.
#[test]
fn error_stays_within_the_bound() {
    let mut dice = Dice(13);
    let mut closest = 0.0f64;
    for (a, b) in [
        (Format::E4M3, Format::E4M3),
        (Format::E4M3, Format::E5M2),
        (Format::E3M4, Format::MxInt8),
    ] {
        for k in [10, 100, 1000, 4096] {
            for positive in [false, true] {
                let mut x = dice.codes(a, k);
                let mut y = dice.codes(b, k);
                if positive {
                    // The worst case for a sum: it only grows.
                    x = x.iter().map(|code| code & 0x7F).collect();
                    y = y.iter().map(|code| code & 0x7F).collect();
                }
                let (mut exact, mut magnitudes) = (units(0.0), 0.0);
                for (&x, &y) in x.iter().zip(&y) {
                    let product = value(a, x) * value(b, y);
                    exact += units(product);
                    magnitudes += product.abs();
                }
                let operand = |format, codes| {
                    Operand::new(format, Matrix::new(codes, 1, k).unwrap()).unwrap()
                };
                let (left, right) = (operand(a, &x), operand(b, &y));
                let entry = product(left, right, Order::Sequential).unwrap()[0];
                let dot = dot(left, right, Order::Sequential).unwrap();
                for (result, additions) in [(entry, k), (dot, k.div_ceil(16) + 4)] {
                    let difference = units(result as f64) - &exact;
                    let nu = additions as f64 * 2f64.powi(-24);
                    let bound = nu / (1.0 - nu) * magnitudes;
                    let limit = units(bound);
                    assert!(
                        difference <= limit && difference >= -limit,
                        "{a:?} x {b:?}, K = {k}"
                    );
                    let shown = result as f64 - (result as f64 - bound);
                    assert!(shown >= 0.0);
                    let exact = crate::oracle::nearest(&exact) as f64;
                    closest = closest.max((result as f64 - exact).abs() / bound);
                }
            }
        }
    }
    // The bound is no empty promise: some sum comes within three orders of magnitude of it.
    assert!(closest > 1e-3, "{closest}");
    println!("largest error seen, of the bound: {closest}");
}

/// Two scales whose product f32 cannot hold fold in exactly, where they are powers of two.
#[test]
fn scales_beyond_f32_fold_in() {
    let codes = [0x7E; 40];
    let run = |a: u8, b: u8, block: Block| {
        let (a, b) = (vec![a; 2], vec![b; 2]);
        let count = block.grid(1, 40).1;
        let of = |scales| {
            let codes = Matrix::new(&codes, 1, 40).unwrap();
            let recipe = Recipe::MXFP8.with_block(block);
            Operand::quantized(&recipe, codes, Scales::E8M0(scales)).unwrap()
        };
        let (a, b) = (of(&a[..count]), of(&b[..count]));
        let c = product(a, b, Order::Sequential).unwrap()[0];
        for order in [Order::Sequential, Order::Exact] {
            assert_eq!(dot(a, b, order).unwrap().to_bits(), c.to_bits());
        }
        c as f64
    };
    for block in [Block::TENSOR, Block::new(1, 32)] {
        let sum = 40.0 * 448.0 * 448.0;
        assert_eq!(run(127, 127, block), sum);
        // 2^-160 is no f32; 40 * 448^2 * 2^-160 is, rounded to a multiple of 2^-149 once.
        let expected = (sum * 2f64.powi(-160)) as f32 as f64;
        if block == Block::TENSOR {
            assert_eq!(run(47, 47, block), expected);
        }
        assert_eq!(run(0, 254, block), sum);
        assert!(run(0, 254, block) > 0.0 && run(0, 0, block) == 0.0);
        assert_eq!(run(254, 254, block), f64::INFINITY);
        assert!(run(255, 0, block).is_nan());
    }
}

/// Zero times a joint scale beyond f32 is zero, not NaN.
#[test]
fn zero_under_large_scales_is_zero() {
    let (codes, scales) = ([0; 64], [254; 2]);
    let codes = Matrix::new(&codes, 1, 64).unwrap();
    let operand = Operand::quantized(&Recipe::MXFP8, codes, Scales::E8M0(&scales)).unwrap();
    let zero = product(operand, operand, Order::Sequential).unwrap();
    assert_eq!(zero[0].to_bits(), 0);
}

#[test]
fn special_values() {
    let run = |terms: &[(u8, u8)]| {
        let (a, b): (Vec<u8>, Vec<u8>) = terms.iter().copied().unzip();
        let operand = |codes| {
            Operand::new(Format::E5M2, Matrix::new(codes, 1, terms.len()).unwrap()).unwrap()
        };
        let (a, b) = (operand(&a), operand(&b));
        let entry = product(a, b, Order::Sequential).unwrap()[0];
        let dot = dot(a, b, Order::Sequential).unwrap();
        assert_eq!(entry.to_bits(), dot.to_bits());
        entry
    };
    let (infinity, minus, nan, zero, one) = (0x7C, 0xFC, 0xFE, 0x00, 0x3C);
    assert_eq!(run(&[(infinity, one), (one, one)]), f32::INFINITY);
    assert_eq!(run(&[(minus, one), (one, one)]), f32::NEG_INFINITY);
    for terms in [
        [(nan, one), (one, one)],
        [(infinity, zero), (one, one)],
        [(infinity, one), (minus, one)],
    ] {
        assert_eq!(run(&terms).to_bits(), f32::NAN.to_bits());
    }
    assert_eq!(run(&[(0x80, one), (one, 0x80)]).to_bits(), 0);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tensor-core models against an emulation in f64, which holds every aligned sum exactly, and
//! the chains of instructions of a product.

use std::ops::Range;

use ofp8::accumulate::{MMA_K, Model, Operand, Order, Promotion, dot};
use ofp8::{Block, Error, FloatType, Format, Matrix, MatrixMut, Recipe, Scales, ScalesMut};

use crate::oracle::{Dice, value};
use crate::product::{Factor, Scaling, product, segments};

/// The numbers of a model, from the published table.
struct Numbers {
    fraction_bits: i32,
    /// Fraction bits of an f32 result, or none for f16.
    f32_bits: Option<i32>,
    /// The steps, as the products of each.
    steps: Vec<Vec<usize>>,
    c_in_sum: bool,
}

fn numbers(model: Model) -> Numbers {
    let all = || vec![(0..32).collect()];
    let halves = || vec![(0..16).collect(), (16..32).collect()];
    let interleaved = || {
        let pick = |low: bool| (0..32).filter(|k| (k % 4 < 2) == low).collect();
        vec![pick(true), pick(false)]
    };
    let row = |fraction_bits, f32_bits, steps, c_in_sum| Numbers {
        fraction_bits,
        f32_bits,
        steps,
        c_in_sum,
    };
    match model {
        Model::HopperWgmma => row(13, Some(13), all(), true),
        Model::HopperMmaF16 => row(25, None, interleaved(), false),
        Model::AdaMma => row(13, Some(13), halves(), true),
        Model::AdaMmaF16 => row(13, None, halves(), true),
        Model::BlackwellMma => row(25, Some(23), all(), false),
        Model::BlackwellMmaF16 => row(25, None, interleaved(), false),
        Model::Tcgen05 | Model::Tcgen05Mx => row(25, Some(23), all(), true),
        _ => unreachable!("a model without numbers here"),
    }
}

/// floor(log2 |x|), not below the least exponent of the type.
fn exponent(x: f64, least: i32) -> i32 {
    if x == 0.0 {
        return least;
    }
    // All that comes here is normal in f64.
    ((x.to_bits() >> 52 & 0x7FF) as i32 - 1023).max(least)
}

/// The least exponent of a normal value.
fn least(format: Format) -> i32 {
    match format {
        Format::E4M3 => -6,
        Format::E5M2 => -14,
        Format::E2M3 | Format::E2M1 => 0,
        Format::E3M2 => -2,
        _ => unreachable!("no format of a tensor core"),
    }
}

/// To the nearest f16 through its own spacing; ties to even.
fn f16(x: f64) -> f64 {
    if !x.is_finite() {
        return x;
    }
    let quantum = 2f64.powi(exponent(x, -14) - 10);
    let rounded = (x / quantum).round_ties_even() * quantum;
    if rounded.abs() >= 65536.0 {
        f64::INFINITY.copysign(x)
    } else {
        rounded
    }
}

/// One instruction on finite values.
fn emulate(model: Model, a: (Format, &[u8]), b: (Format, &[u8]), scale: i32, c: f32) -> f64 {
    let numbers = numbers(model);
    let half = numbers.f32_bits.is_none();
    let c = if half { f16(c as f64) } else { c as f64 };
    if !c.is_finite() {
        // An infinite sum stays, whatever finite products come; so does NaN.
        return c;
    }
    let least_c = if half { -14 } else { -126 };
    let mut sum = if numbers.c_in_sum { c } else { 0.0 };
    for step in &numbers.steps {
        if sum.is_infinite() {
            continue;
        }
        // Terms as (value, exponent).
        let mut terms = vec![(sum, exponent(sum, least_c))];
        for &k in step {
            let (Some(&x), Some(&y)) = (a.1.get(k), b.1.get(k)) else {
                continue;
            };
            let (x, y) = (value(a.0, x), value(b.0, y));
            let e = exponent(x, least(a.0)) + exponent(y, least(b.0)) + scale;
            terms.push((x * y * 2f64.powi(scale), e));
        }
        terms.retain(|term| term.0 != 0.0);
        let largest = terms.iter().map(|term| term.1).max().unwrap_or(0).max(-133);
        let unit = 2f64.powi(largest - numbers.fraction_bits);
        let aligned: f64 = terms.iter().map(|term| (term.0 / unit).trunc()).sum();
        let total = aligned * unit;
        sum = match numbers.f32_bits {
            None => f16(total),
            Some(bits) => {
                let quantum = 2f64.powi(exponent(total, -126) - bits);
                let cut = (total / quantum).trunc() * quantum;
                if cut.abs() >= 2f64.powi(128) {
                    f64::INFINITY.copysign(cut)
                } else {
                    cut
                }
            }
        };
    }
    match (numbers.c_in_sum, half) {
        (true, _) => sum,
        (false, true) => f16(sum + c),
        (false, false) => (sum as f32 + c as f32) as f64,
    }
}

/// The bits of a result, without the sign of a zero, with the one NaN of tensor cores.
fn bits(x: f32) -> u32 {
    if x.is_nan() {
        0x7FFF_FFFF
    } else {
        (x + 0.0).to_bits()
    }
}

fn formats(model: Model) -> Vec<Format> {
    let all = [
        Format::E4M3,
        Format::E5M2,
        Format::E2M3,
        Format::E3M2,
        Format::E2M1,
    ];
    let count = if matches!(model, Model::Tcgen05 | Model::Tcgen05Mx) {
        5
    } else {
        2
    };
    all[..count].to_vec()
}

/// Codes of which few are large, so that alignment cuts in many ways.
fn codes(dice: &mut Dice, format: Format) -> [u8; 32] {
    let spread = 1 + dice.below(200) as u8;
    std::array::from_fn(|_| {
        loop {
            let code = dice.finite(format);
            let magnitude = code & format.spec().magnitude_mask() as u8;
            if magnitude <= spread.max(7) {
                return if dice.below(8) == 0 { 0 } else { code };
            }
        }
    })
}

#[test]
fn the_worked_vector() {
    let e4m3 = |first: u8, rest: u8| {
        let mut codes = [rest; 32];
        codes[0] = first;
        (Format::E4M3, codes)
    };
    // A = [128, 1 x 31], B = [64, 0.5 x 31]: the sum is 8207.5.
    let (a, b) = (e4m3(0x70, 0x38), e4m3(0x68, 0x30));
    assert_eq!(
        value(Format::E4M3, 0x70) * value(Format::E4M3, 0x68),
        8192.0
    );
    for (model, expected) in [
        (Model::HopperWgmma, 8192.0),
        (Model::AdaMma, 8192.0),
        (Model::Tcgen05, 8207.5),
        (Model::Tcgen05Mx, 8207.5),
        (Model::BlackwellMma, 8207.5),
    ] {
        assert_eq!(model.mma(a, b, 0.0), Some(expected), "{model:?}");
    }
}

#[test]
fn models_equal_the_emulation() {
    let mut dice = Dice(21);
    for &model in Model::ALL {
        for a in formats(model) {
            for b in formats(model) {
                for round in 0..150 {
                    let (x, y) = (codes(&mut dice, a), codes(&mut dice, b));
                    // C of nothing, of any size, of a size that cancels, and subnormal.
                    let like = emulate(model, (a, &x), (b, &y), 0, 0.0) as f32;
                    let c = match round % 5 {
                        0 => 0.0,
                        1 => dice.scale() * 2f32.powi(dice.below(60) as i32 - 40),
                        2 if like.is_finite() => -like * (1.0 + dice.scale() * 2f32.powi(-14)),
                        3 => f32::from_bits(dice.next() as u32 & 0x807F_FFFF),
                        _ => -dice.scale(),
                    };
                    let expected = emulate(model, (a, &x), (b, &y), 0, c);
                    let d = model.mma((a, x), (b, y), c).unwrap();
                    assert_eq!(
                        bits(d),
                        bits(expected as f32),
                        "{model:?} {a:?} {x:?} {b:?} {y:?} {c:e}: {d:e} for {expected:e}"
                    );
                    if model.is_scaled() {
                        let scales = (dice.below(255) as u8, dice.below(255) as u8);
                        let shift = scales.0 as i32 + scales.1 as i32 - 254;
                        let expected = emulate(model, (a, &x), (b, &y), shift, c);
                        let d = model.mma_scaled((a, x), (b, y), scales, c).unwrap();
                        assert_eq!(
                            bits(d),
                            bits(expected as f32),
                            "{model:?} {a:?} {x:?} {b:?} {y:?} {scales:?} {c:e}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn special_values() {
    let one = (Format::E5M2, [0x3C; 32]);
    let with = |codes: &[u8]| {
        let mut all = [0x3C; 32];
        all[20..][..codes.len()].copy_from_slice(codes);
        (Format::E5M2, all)
    };
    let nan = 0x7FFF_FFFF;
    for &model in Model::ALL {
        let run = |a, b, c| model.mma(a, b, c).unwrap();
        assert_eq!(run(with(&[0x7C]), one, -1.0), f32::INFINITY, "{model:?}");
        assert_eq!(run(with(&[0xFC]), one, -1.0), f32::NEG_INFINITY);
        assert_eq!(run(one, one, f32::NEG_INFINITY), f32::NEG_INFINITY);
        for (a, b, c) in [
            (with(&[0x7E]), one, 0.0),
            (with(&[0x7C, 0xFC]), one, 0.0),
            (with(&[0x7C]), with(&[0x00]), 0.0),
            (with(&[0x7C]), one, f32::NEG_INFINITY),
            (one, one, f32::NAN),
        ] {
            assert_eq!(run(a, b, c).to_bits(), nan, "{model:?}");
        }
        let zero = (Format::E5M2, [0x80; 32]);
        assert_eq!(run(zero, one, 0.0).to_bits(), 0);
        if model.is_scaled() {
            let d = model.mma_scaled(one, one, (0xFF, 0x7F), 0.0).unwrap();
            assert_eq!(d.to_bits(), nan);
        } else {
            assert_eq!(model.mma_scaled(one, one, (0x80, 0x7F), 0.0), None);
        }
        // 57344^2 is beyond f16; 2^127 twice is beyond f32.
        let large = (Format::E5M2, [0x7B; 32]);
        let sum = run(large, large, 0.0);
        assert_eq!(sum.is_infinite(), numbers(model).f32_bits.is_none());
    }
    let beyond = Model::Tcgen05Mx.mma_scaled(one, one, (254, 254), 0.0);
    assert_eq!(beyond, Some(f32::INFINITY));
}

/// One entry of a product: instructions chained, promoted, scaled.
fn entry(model: Model, promotion: usize, a: &Factor, b: &Factor, i: usize, j: usize) -> f32 {
    let (x, y) = (a.codes(i), b.codes(j));
    let mut parts = segments(a, b);
    if model.is_scaled() {
        parts = vec![Range {
            start: 0,
            end: a.depth,
        }];
    }
    let per_block = parts.len() > 1;
    let (mut main, mut sum, mut summed) = (0.0f32, 0.0f32, 0);
    for part in parts {
        let scale = if per_block {
            a.scale(i, part.start) * b.scale(j, part.start)
        } else {
            1.0
        };
        for start in part.clone().step_by(32) {
            let chunk = start..part.end.min(start + 32);
            let joint = a.scale(i, start) * b.scale(j, start);
            let shift = if model.is_scaled() {
                joint.log2() as i32
            } else {
                0
            };
            let (of_a, of_b) = (&x[chunk.clone()], &y[chunk]);
            sum = emulate(model, (a.format, of_a), (b.format, of_b), shift, sum) as f32;
            summed += 32;
            if summed == promotion {
                main = scale.mul_add(sum, main);
                (sum, summed) = (0.0, 0);
            }
        }
        if per_block {
            main = scale.mul_add(sum, main);
            (sum, summed) = (0.0, 0);
        }
    }
    let total = main + sum;
    if per_block || model.is_scaled() {
        total
    } else {
        a.scale(i, 0) * b.scale(j, 0) * total
    }
}

#[test]
fn products_chain_promote_and_scale() {
    let mut dice = Dice(22);
    let per_vector = (Scaling::F32(Block::ROW), Scaling::F32(Block::TENSOR));
    let deepseek = (
        Scaling::F32(Block::new(1, 128)),
        Scaling::F32(Block::new(128, 128)),
    );
    let mx = (
        Scaling::E8M0(Block::new(1, 32)),
        Scaling::E8M0(Block::new(1, 32)),
    );
    let none = (Scaling::None, Scaling::None);
    for &model in Model::ALL {
        let scalings = if model.is_scaled() {
            [
                none,
                mx,
                (Scaling::E8M0(Block::ROW), Scaling::E8M0(Block::new(2, 64))),
            ]
        } else {
            [none, per_vector, deepseek]
        };
        for (of_a, of_b) in scalings {
            for (k, promotion) in [(32, 128), (500, 128), (320, 64), (300, 0), (1024, 128)] {
                let formats = formats(model);
                let format = |dice: &mut Dice| formats[dice.below(formats.len() as u64) as usize];
                let (f, g) = (format(&mut dice), format(&mut dice));
                let a = Factor::random(&mut dice, f, (2, k), k == 500, of_a);
                let b = Factor::random(&mut dice, g, (3, k), k == 320, of_b);
                let of = match promotion {
                    0 => Promotion::OFF,
                    128 => Promotion::default(),
                    n => Promotion::every(n).unwrap(),
                };
                assert_eq!(of.products(), promotion);
                let order = Order::TensorCore(model, of);
                let c = product(a.operand(), b.operand(), order).unwrap();
                for (at, c) in c.iter().enumerate() {
                    let expected = entry(model, promotion, &a, &b, at / 3, at % 3);
                    assert_eq!(
                        bits(*c),
                        bits(expected),
                        "{model:?} {f:?} x {g:?}, K = {k}, promotion {promotion}, {of_a:?} x {of_b:?}"
                    );
                }
                let (a, b) = (a.operand().part(1..2), b.operand().part(2..3));
                let single = dot(a.unwrap(), b.unwrap(), order).unwrap();
                assert_eq!(single.to_bits(), c[5].to_bits());
            }
        }
    }
}

/// What DeepSeek-V3 saw: without promotion the error grows with K, with it it does not.
#[test]
fn promotion_keeps_the_error_small() {
    let mut dice = Dice(23);
    let k = 4096;
    let positive =
        |dice: &mut Dice| -> Vec<u8> { (0..k).map(|_| 0x28 + dice.below(16) as u8).collect() };
    let (x, y) = (positive(&mut dice), positive(&mut dice));
    let operand = |codes| {
        let codes = ofp8::Matrix::new(codes, 1, k).unwrap();
        ofp8::accumulate::Operand::new(Format::E4M3, codes).unwrap()
    };
    let run = |order| dot(operand(&x), operand(&y), order).unwrap() as f64;
    let exact = run(Order::Exact);
    let error = |promotion| (run(Order::TensorCore(Model::HopperWgmma, promotion)) - exact) / exact;
    let (plain, promoted) = (error(Promotion::OFF).abs(), error(Promotion::DEFAULT).abs());
    assert!(plain > 0.01 && promoted < 0.002, "{plain} {promoted}");
}

/// MX takes any block of ones to 256 under 2^-8: a product of two is more than an f16 holds.
#[test]
fn f16_models_overflow_with_mx_operands() {
    let (mut codes, mut scales) = ([0; MMA_K], [0]);
    let stats = Recipe::MXFP8.quantize(
        Matrix::new(&[1f32; MMA_K], 1, MMA_K).unwrap(),
        MatrixMut::new(&mut codes, 1, MMA_K).unwrap(),
        ScalesMut::E8M0(&mut scales),
    );
    assert_eq!(stats.unwrap().saturated, 0);
    let codes = Matrix::new(&codes, 1, MMA_K).unwrap();
    let ones = Operand::quantized(&Recipe::MXFP8, codes, Scales::E8M0(&scales)).unwrap();
    for &model in Model::ALL {
        let result = dot(ones, ones, Order::TensorCore(model, Promotion::OFF)).unwrap();
        let expected = match model.accumulator() {
            FloatType::F16 => f32::INFINITY,
            _ => MMA_K as f32,
        };
        assert_eq!(result, expected, "{model:?}");
    }
}

#[test]
fn what_a_model_does_not_take() {
    let mut dice = Dice(24);
    let order = |model| Order::TensorCore(model, Promotion::OFF);
    let mut run = |format, scaling, model| {
        let a = Factor::random(&mut dice, format, (1, 64), false, scaling);
        dot(a.operand(), a.operand(), order(model)).err()
    };
    let refused = Some(Error::Recipe);
    for &model in Model::ALL {
        assert_eq!(run(Format::E4M3, Scaling::None, model), None);
        assert_eq!(run(Format::E4M3Fnuz, Scaling::None, model), refused);
        let narrow = run(Format::E2M1, Scaling::None, model);
        let takes = matches!(model, Model::Tcgen05 | Model::Tcgen05Mx);
        assert_eq!(narrow, if takes { None } else { refused });
        let f32_scales = run(Format::E5M2, Scaling::F32(Block::ROW), model);
        assert_eq!(f32_scales, if model.is_scaled() { refused } else { None });
        let short = run(Format::E5M2, Scaling::E8M0(Block::new(1, 16)), model);
        assert_eq!(short, if model.is_scaled() { refused } else { None });
        assert_eq!(Model::from_number(model as u32), Some(model));
        let codes = [0; MMA_K];
        assert_eq!(
            model.mma((Format::E3M4, codes), (Format::E4M3, codes), 0.0),
            None
        );
    }
    assert_eq!(Model::from_number(0), None);
    assert_eq!(Promotion::every(0), Err(Error::Shape));
    assert_eq!(Promotion::every(100), Err(Error::Shape));
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way back: one product, one more rounding for narrow targets; and how far a value comes back
//! from where it was.

use ofp8::{
    Bf16, Block, Convention, ExponentRule, F16, Format, Matrix, MatrixMut, Recipe, Scales,
    ScalesMut, Scaling, scalar,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::data::{Generator, Profile, Specials, Strided, Wide, element, power_of_two};
use crate::model::{ELEMENTS, Element, Plan, RULES, parts, scalings};

/// One product: exact in f64 (8 bits by 24), so that `as` is its only rounding. A NaN has the sign
/// of its code.
fn product(format: Format, code: u8, scale: f32) -> f32 {
    let value = scalar::decode_f64(format, code);
    let product = value * scale as f64;
    if product.is_nan() {
        return if value.is_sign_negative() {
            -f32::NAN
        } else {
            f32::NAN
        };
    }
    product as f32
}

fn scale_of(code: u8) -> f32 {
    match code {
        0xFF => f32::NAN,
        code => power_of_two(code as i32 - 127) as f32,
    }
}

#[derive(Clone, Debug)]
struct Case {
    rows: usize,
    cols: usize,
    element: Format,
    block: Block,
    scaling: Scaling,
    gaps: (usize, usize),
    seed: u64,
}

fn check<T: Wide>(case: &Case) {
    let mut random = Generator(case.seed);
    let mut codes = Strided::new(case.rows, case.cols, case.gaps.0, 0x80u8);
    for row in 0..case.rows {
        for col in 0..case.cols {
            codes.set(row, col, random.next() as u8);
        }
    }
    let down = parts(case.rows, case.block.rows);
    let across = parts(case.cols, case.block.cols);
    let blocks = down.len() * across.len();
    let bytes: Vec<u8> = (0..blocks).map(|_| random.next() as u8).collect();
    // Any scale that a file may hold: also negative, zero, infinite, NaN.
    let wide: Vec<f32> = (0..blocks)
        .map(|_| match random.below(4) {
            0 => element(&mut random, Profile::AnyBits, Specials::Few),
            1 => element(&mut random, Profile::Sparse, Specials::Many),
            _ => element(&mut random, Profile::Around(3), Specials::None).abs(),
        })
        .collect();

    let recipe = Recipe::new(case.element, case.block, case.scaling).unwrap();
    let is_e8m0 = matches!(case.scaling, Scaling::E8M0(_));
    let scales = match is_e8m0 {
        true => Scales::E8M0(&bytes),
        false => Scales::F32(&wide),
    };
    let guard = T::nearest(-7.25);
    let mut target = Strided::new(case.rows, case.cols, case.gaps.1, guard);
    recipe
        .dequantize(codes.matrix(), scales, target.matrix_mut())
        .unwrap();

    let mut expected = Strided::new(case.rows, case.cols, case.gaps.1, guard);
    for (i, in_rows) in down.iter().enumerate() {
        for (j, in_cols) in across.iter().enumerate() {
            let block = i * across.len() + j;
            let scale = if is_e8m0 {
                scale_of(bytes[block])
            } else {
                wide[block]
            };
            for row in in_rows.clone() {
                for col in in_cols.clone() {
                    let code = codes.get(row, col);
                    let value = T::nearest(product(case.element, code, scale));
                    expected.set(row, col, value);
                    let got = target.get(row, col);
                    assert_eq!(
                        got.bits(),
                        value.bits(),
                        "{code:#x} times {scale:e}: {got:?}"
                    );
                }
            }
        }
    }
    let bits = |target: &Strided<T>| -> Vec<u32> { target.data.iter().map(|x| x.bits()).collect() };
    assert_eq!(bits(&target), bits(&expected), "between rows");
}

prop_compose! {
    fn cases()(
        rows in prop_oneof![Just(0usize), Just(1), 0usize..12, 120usize..140],
        cols in prop_oneof![Just(0usize), Just(1), 0usize..70, 250usize..300],
        element in select(ELEMENTS.to_vec()),
        block in select(vec![
            Block::TENSOR, Block::ROW, Block::COLUMN, Block::new(1, 128), Block::new(128, 128),
            Block::new(1, 32), Block::new(3, 7),
        ]),
        scaling in select(scalings()),
        gaps in (0usize..4, 0usize..4),
        seed in any::<u64>(),
    ) -> Case {
        Case { rows, cols, element, block, scaling, gaps, seed }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn dequantizing_is_one_product_and_one_rounding(case in cases()) {
        check::<f32>(&case);
        check::<F16>(&case);
        check::<Bf16>(&case);
    }
}

/// Every code of every format, under scales that take the product to every end of the targets.
#[test]
fn every_code_dequantizes_to_one_rounded_product() {
    let codes: Vec<u8> = (0..=255).collect();
    let mut scales = vec![
        1.0f32,
        0.1,
        1e-38,
        1e-45,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
        0.0,
    ];
    let mut random = Generator(3);
    scales.extend((0..200).map(|_| element(&mut random, Profile::AnyBits, Specials::None)));
    scales.extend((0..200).map(|_| element(&mut random, Profile::Around(-20), Specials::None)));
    for format in ELEMENTS {
        let scaling = Scaling::F32(Convention::DeepSeek);
        let recipe = Recipe::new(format, Block::TENSOR, scaling).unwrap();
        for &scale in &scales {
            each_type::<f32>(&recipe, &codes, scale);
            each_type::<F16>(&recipe, &codes, scale);
            each_type::<Bf16>(&recipe, &codes, scale);
        }
    }
}

fn each_type<T: Wide>(recipe: &Recipe, codes: &[u8], scale: f32) {
    let mut target = vec![T::default(); codes.len()];
    let matrix = MatrixMut::new(&mut target, 1, codes.len()).unwrap();
    let source = Matrix::new(codes, 1, codes.len()).unwrap();
    recipe
        .dequantize(source, Scales::F32(&[scale]), matrix)
        .unwrap();
    for (&code, got) in codes.iter().zip(target) {
        let expected = T::nearest(product(recipe.element(), code, scale));
        let format = recipe.element();
        assert_eq!(
            got.bits(),
            expected.bits(),
            "{format:?} {code:#x} times {scale:e}: {got:?}"
        );
    }
}

/// A value that a block can hold comes back within half an ulp of its own binade, or half the
/// smallest step of the block; with f32 scales, but for the few roundings of the scale.
#[test]
fn a_round_trip_loses_at_most_half_an_ulp() {
    const COLS: usize = 512;
    let mut random = Generator(4);
    for format in ELEMENTS {
        let facts = Element::of(format);
        let half_ulp = power_of_two(-facts.mantissa_bits - 1);
        for scaling in scalings() {
            let slack = match scaling {
                Scaling::F32(_) => 4.0 * power_of_two(-24),
                _ => 0.0,
            };
            for exponent in [-60, -3, 0, 9, 70] {
                let profile = Profile::Around(exponent);
                let source: Vec<f32> = (0..COLS)
                    .map(|_| element(&mut random, profile, Specials::None))
                    .collect();
                let plan = Plan::new(format, Block::new(1, 32), scaling);
                let (back, scales) = round_trip(&plan, &source);
                for (i, (&x, &y)) in source.iter().zip(&back).enumerate() {
                    let (x, y, scale) = (x as f64, y as f64, scales[i / 32] as f64);
                    let within = x.abs() <= facts.max * scale * (1.0 + slack);
                    if !within {
                        // Only these rules let the largest elements saturate.
                        assert!(matches!(
                            scaling,
                            Scaling::PowerOfTwo(ExponentRule::Floor | ExponentRule::Even)
                                | Scaling::E8M0(ExponentRule::Floor | ExponentRule::Even)
                        ));
                        assert_eq!(y.abs(), facts.max * scale);
                        continue;
                    }
                    let bound = (x.abs() * half_ulp).max(facts.min_positive * scale / 2.0);
                    let bound = bound + x.abs() * slack;
                    assert!(
                        (x - y).abs() <= bound,
                        "{format:?} {scaling:?}: {x:e} came back as {y:e}, scale {scale:e}"
                    );
                }
            }
        }
    }
}

/// Quantizes a row and dequantizes it: what came back, and the scales.
fn round_trip(plan: &Plan, source: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let (recipe, cols) = (plan.recipe(), source.len());
    let blocks = cols.div_ceil(32);
    let mut codes = vec![0; cols];
    let mut back = vec![0.0; cols];
    let matrix = Matrix::new(source, 1, cols).unwrap();
    let target = MatrixMut::new(&mut codes, 1, cols).unwrap();
    let (mut wide, mut bytes) = (vec![0.0; blocks], vec![0; blocks]);
    let scales = match plan.is_e8m0() {
        true => ScalesMut::E8M0(&mut bytes),
        false => ScalesMut::F32(&mut wide),
    };
    recipe.quantize(matrix, target, scales).unwrap();
    let scales = match plan.is_e8m0() {
        true => Scales::E8M0(&bytes),
        false => Scales::F32(&wide),
    };
    let target = MatrixMut::new(&mut back, 1, cols).unwrap();
    recipe
        .dequantize(Matrix::new(&codes, 1, cols).unwrap(), scales, target)
        .unwrap();
    if plan.is_e8m0() {
        wide = bytes.iter().map(|&byte| scale_of(byte)).collect();
    }
    (back, wide)
}

/// Values that the block holds exactly come back exactly, whatever the power of two.
#[test]
fn what_a_block_can_hold_comes_back_exactly() {
    for format in ELEMENTS {
        let largest = Element::of(format).max;
        let values: Vec<f64> = (0..=255u8)
            .map(|code| scalar::decode_f64(format, code))
            .filter(|value| value.is_finite() && value.abs() <= largest)
            .collect();
        for rule in RULES {
            for k in [-90, -1, 0, 13, 90] {
                let plan = Plan::new(format, Block::new(1, 32), Scaling::PowerOfTwo(rule));
                // The largest value leads every block, so that each has the scale 2^k (or, by the
                // ceiling, twice that).
                let source: Vec<f32> = values
                    .chunks(31)
                    .flat_map(|part| {
                        let mut block = vec![largest; 32];
                        block[1..=part.len()].copy_from_slice(part);
                        block
                    })
                    .map(|value| (value * power_of_two(k)) as f32)
                    .collect();
                let (back, _) = round_trip(&plan, &source);
                let lossless = rule != ExponentRule::Ceil;
                for (&x, &y) in source.iter().zip(&back) {
                    if lossless {
                        assert_eq!(x, y, "{format:?} {rule:?} 2^{k}");
                    }
                }
            }
        }
    }
}

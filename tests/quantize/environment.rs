// SPDX-License-Identifier: MIT OR Apache-2.0
//! Under every rounding mode of the caller, with and without flushing: the same bytes, and the
//! caller's register is as it was.

use std::hint::black_box;

use ofp8::monitor::measure;
use ofp8::scale::GivenScales;
use ofp8::{
    Amax, Bf16, Block, Cast, Convention, CopyMut, E4M3, ExponentRule, F16, Format, Matrix,
    MatrixMut, Philox, RandomBits, Recipe, Rounding, Scales, ScalesMut, Scaling, Special,
};

use crate::data::{Generator, Profile, Specials, Wide, element};
use crate::model::{Plan, scalings};
use crate::register::check;

/// Values at every exponent, subnormals among them.
fn source<S: Wide>(len: usize, seed: u64) -> Vec<S> {
    let mut random = Generator(seed);
    let profiles = [
        Profile::AnyBits,
        Profile::Around(2),
        Profile::Subnormal,
        Profile::Coarse,
        Profile::Around(-122),
    ];
    (0..len)
        .map(|i| {
            // Blocks of 32, each of its kind.
            let profile = profiles[i / 32 % profiles.len()];
            S::nearest(element(&mut random, profile, Specials::Few))
        })
        .collect()
}

const ROWS: usize = 10;
const COLS: usize = 97;

/// Codes, scales and statistics.
fn quantize<S: Wide>(plan: &Plan, data: &[S]) -> Vec<u8> {
    let recipe = plan.recipe();
    let matrix = Matrix::new(data, ROWS, COLS).unwrap();
    let (down, across) = plan.block.grid(ROWS, COLS);
    let mut codes = vec![0; ROWS * COLS];
    let target = MatrixMut::new(&mut codes, ROWS, COLS).unwrap();
    let mut wide = vec![0.0f32; down * across];
    let mut bytes = vec![0u8; down * across];
    let scales = match plan.is_e8m0() {
        true => ScalesMut::E8M0(&mut bytes),
        false => ScalesMut::F32(&mut wide),
    };
    let random = Philox::new(5, 6);
    let stats = recipe
        .quantize_stochastic(random, matrix, target, scales)
        .unwrap();
    let mut amax = vec![Amax::ZERO; down * across];
    recipe.amax(matrix, &mut amax).unwrap();
    let mut all = codes;
    all.extend(wide.iter().flat_map(|scale| scale.to_bits().to_le_bytes()));
    all.extend(bytes);
    all.extend(amax.iter().flat_map(|amax| amax.to_bits().to_le_bytes()));
    all.extend(format!("{stats:?}").into_bytes());
    all.extend(format!("{:?}", ofp8::scale::validate(matrix).is_ok()).into_bytes());
    all
}

#[test]
fn quantizing_does_not_depend_on_the_environment() {
    let wide = source::<f32>(ROWS * COLS, 1);
    let half = source::<F16>(ROWS * COLS, 2);
    let brain = source::<Bf16>(ROWS * COLS, 3);
    let stochastic = Rounding::StochasticC(RandomBits::SIXTEEN);
    let directed = Rounding::TowardPositive;
    for format in [Format::E4M3, Format::E5M2, Format::E2M1, Format::MxInt8] {
        for scaling in scalings() {
            for rounding in [Rounding::NearestEven, stochastic, directed] {
                for block in [
                    Block::new(1, 32),
                    Block::new(4, 1),
                    Block::new(3, 0),
                    Block::TENSOR,
                ] {
                    for (margin, epsilon) in [(0, 0.0), (30, 1e-40), (-60, 0.0)] {
                        let plan = Plan {
                            cast: Cast::DEFAULT.rounding(rounding),
                            special: Special::Ignore,
                            margin,
                            epsilon,
                            ..Plan::new(format, block, scaling)
                        };
                        let what = format!("{plan:?}");
                        check(&what, &|| quantize(&plan, &wide));
                        check(&what, &|| quantize(&plan, &half));
                        check(&what, &|| quantize(&plan, &brain));
                    }
                }
            }
        }
    }
}

#[test]
fn scales_do_not_depend_on_the_environment() {
    for scaling in scalings() {
        let mut plan = Plan::new(Format::E4M3, Block::TENSOR, scaling);
        for margin in [-64, 0, 64] {
            plan.margin = margin;
            let recipe = plan.recipe();
            check(&format!("{plan:?}"), &|| {
                let bits = (0..0x7F80_0000u32).step_by(0x0003_0D41);
                let bits = bits.chain([1, 2, 0x7F_FFFF, 0x7F7F_FFFF, 0x7F80_0000, 0x7FC0_0000]);
                bits.flat_map(|bits| {
                    let scale = recipe.scale(Amax::from_bits(bits));
                    let mut bytes = scale.dequantize.to_bits().to_le_bytes().to_vec();
                    bytes.push(scale.code);
                    bytes.push(scale.is_nan() as u8);
                    bytes
                })
                .collect()
            });
        }
    }
}

#[test]
fn limits_do_not_depend_on_the_environment() {
    let limits = [0u32, 1, 0x007F_FFFF, 0x0080_0000, 0x7F80_0000, 0x7FC0_0000];
    let limits = limits.into_iter().flat_map(|bits| [bits, bits | 1 << 31]);
    let limits: Vec<f32> = limits.map(f32::from_bits).collect();
    check("limits", &|| {
        let mut bytes = Vec::new();
        for &limit in &limits {
            let recipe = black_box(ofp8::Recipe::TENSOR);
            bytes.push(recipe.with_epsilon(black_box(limit)).is_ok() as u8);
            bytes.push(recipe.with_amax_bound(black_box(limit)).is_ok() as u8);
        }
        bytes
    });
}

#[test]
fn dequantizing_does_not_depend_on_the_environment() {
    let codes: Vec<u8> = (0..=255).cycle().take(ROWS * COLS).collect();
    let mut scales = source::<f32>(ROWS * 4, 4);
    scales.extend([1e-45, f32::MAX, 0.0, f32::NAN]);
    let bytes: Vec<u8> = (0..ROWS * 4).map(|i| (i * 7) as u8).collect();
    let wide = Scaling::F32(Convention::DeepSeek);
    for format in [Format::E4M3, Format::E5M2, Format::E2M1, Format::MxInt8] {
        let plan = Plan::new(format, Block::new(1, 32), wide);
        let byte = Plan::new(format, Block::new(1, 32), ofp8::Recipe::MXFP8.scaling());
        check(&format!("{plan:?}"), &|| {
            let mut all = Vec::new();
            for scales in [&scales[..ROWS * 4], &scales[4..]] {
                all.extend(dequantize::<f32>(&plan, &codes, Scales::F32(scales)));
                all.extend(dequantize::<F16>(&plan, &codes, Scales::F32(scales)));
                all.extend(dequantize::<Bf16>(&plan, &codes, Scales::F32(scales)));
            }
            all.extend(dequantize::<f32>(&byte, &codes, Scales::E8M0(&bytes)));
            all.extend(dequantize::<F16>(&byte, &codes, Scales::E8M0(&bytes)));
            all.extend(dequantize::<Bf16>(&byte, &codes, Scales::E8M0(&bytes)));
            all
        });
    }
}

fn dequantize<T: Wide>(plan: &Plan, codes: &[u8], scales: Scales<'_>) -> Vec<u8> {
    let mut target = vec![T::default(); ROWS * COLS];
    let codes = Matrix::new(codes, ROWS, COLS).unwrap();
    let matrix = MatrixMut::new(&mut target, ROWS, COLS).unwrap();
    plan.recipe().dequantize(codes, scales, matrix).unwrap();
    target.iter().flat_map(|x| x.bits().to_le_bytes()).collect()
}

#[test]
fn measures_do_not_depend_on_the_environment() {
    let wide = source::<f32>(ROWS * COLS, 5);
    let half = source::<F16>(ROWS * COLS, 6);
    let back = source::<f32>(ROWS * COLS, 7);
    check("measure", &|| {
        let back = Matrix::new(&back, ROWS, COLS).unwrap();
        let of_wide = measure(Matrix::new(&wide, ROWS, COLS).unwrap(), back).unwrap();
        let of_half = measure(Matrix::new(&half, ROWS, COLS).unwrap(), back).unwrap();
        let merged = of_wide.merge(of_half);
        let mut bytes = Vec::new();
        for m in [of_wide, of_half, merged] {
            bytes.extend(m.count.to_le_bytes());
            let ratio = m.signal_to_noise();
            for x in [
                m.signal,
                m.noise,
                m.absolute,
                m.max_absolute,
                m.max_relative,
                ratio,
            ] {
                bytes.extend(x.to_bits().to_le_bytes());
            }
        }
        bytes
    });
}

/// Which of these scales can be given, and the codes that they make.
fn given(recipe: Recipe, data: &[f32], scales: &[GivenScales<'_>]) -> Vec<u8> {
    let source = Matrix::new(data, 1, data.len()).unwrap();
    let mut all = Vec::new();
    for &scales in scales {
        let mut codes = vec![0; data.len()];
        let target = MatrixMut::new(&mut codes, 1, data.len()).unwrap();
        let done = recipe.quantize_given(None, source, scales, target);
        all.push(done.is_ok() as u8);
        all.extend(codes);
    }
    all
}

#[test]
fn given_scales_do_not_depend_on_the_environment() {
    let data = source::<f32>(160, 8);
    let powers = (-149..128).map(|k| f64::from(k).exp2() as f32);
    let others = [
        0.0,
        -1.0,
        0.7,
        3e-39,
        1e38,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
    ];
    let numbers: Vec<[f32; 1]> = powers.chain(others).map(|scale| [scale]).collect();
    let quantize = numbers.iter().map(|scale| GivenScales::Quantize(scale));
    let stored = numbers.iter().map(|scale| Scales::F32(scale));
    let wide: Vec<_> = quantize
        .chain(stored.map(GivenScales::Dequantize))
        .collect();
    let conventions = [Convention::TransformerEngine, Convention::DeepSeek];
    let scalings = conventions.map(Scaling::F32).into_iter();
    for scaling in scalings.chain([Scaling::PowerOfTwo(ExponentRule::RoundUp)]) {
        let recipe = Recipe::TENSOR.with_scaling(scaling).unwrap();
        check(&format!("{scaling:?}"), &|| given(recipe, &data, &wide));
    }
    let blocks: Vec<u8> = (0..10).map(|i| i * 14).collect();
    let two_level = |tensor: &[f32; 1]| Scales::TwoLevel {
        tensor: tensor[0],
        blocks: &blocks,
    };
    let two_level: Vec<_> = numbers.iter().map(two_level).collect();
    let two_level: Vec<_> = two_level.into_iter().map(GivenScales::Dequantize).collect();
    check("NVFP4", &|| given(Recipe::NVFP4, &data, &two_level));
}

#[test]
fn two_levels_do_not_depend_on_the_environment() {
    let wide = source::<f32>(ROWS * COLS, 9);
    let tame: Vec<f32> = wide
        .iter()
        .map(|x| if x.abs() < 1e3 { *x } else { 1.0 })
        .collect();
    let (down, across) = Recipe::NVFP4.block().grid(ROWS, COLS);
    for data in [&wide, &tame] {
        check("NVFP4", &|| {
            let (mut codes, mut values) = (vec![0; ROWS * COLS], vec![0.0f32; ROWS * COLS]);
            let (mut tensor, mut blocks) = (0.0, vec![0; down * across]);
            let scales = ScalesMut::TwoLevel {
                tensor: &mut tensor,
                blocks: &mut blocks,
            };
            let target = MatrixMut::new(&mut codes, ROWS, COLS).unwrap();
            let source = Matrix::new(data, ROWS, COLS).unwrap();
            Recipe::NVFP4.quantize(source, target, scales).unwrap();
            let scales = Scales::TwoLevel {
                tensor,
                blocks: &blocks,
            };
            let codes_of = Matrix::new(&codes, ROWS, COLS).unwrap();
            let target = MatrixMut::new(&mut values, ROWS, COLS).unwrap();
            Recipe::NVFP4.dequantize(codes_of, scales, target).unwrap();
            let mut all = codes;
            all.extend(tensor.to_bits().to_le_bytes());
            all.extend(blocks);
            all.extend(values.iter().flat_map(|x| x.to_bits().to_le_bytes()));
            all
        });
    }
}

#[test]
fn copies_and_expanded_scales_do_not_depend_on_the_environment() {
    fn both<S: Wide>(data: &[S]) -> Vec<u8> {
        let source = Matrix::new(data, ROWS, COLS).unwrap();
        let (mut row, mut column) = (vec![0; ROWS * COLS], vec![0; ROWS * COLS]);
        let (mut of_rows, mut of_columns) = (vec![0; ROWS * COLS.div_ceil(32)], vec![0; COLS]);
        let rowwise = MatrixMut::new(&mut row, ROWS, COLS).unwrap();
        let columnwise = MatrixMut::new(&mut column, COLS, ROWS).unwrap();
        let stats = Recipe::MXFP8
            .quantize_both(
                source,
                CopyMut::new(rowwise, ScalesMut::E8M0(&mut of_rows)),
                CopyMut::transposed(columnwise, ScalesMut::E8M0(&mut of_columns)),
            )
            .unwrap();
        let mut expanded = vec![0.0; of_rows.len()];
        let to = Recipe::MXFP8
            .with_scaling(Scaling::F32(Convention::DeepSeek))
            .unwrap();
        let scales = (Scales::E8M0(&of_rows), ScalesMut::F32(&mut expanded));
        Recipe::MXFP8
            .expand_scales(&to, ROWS, COLS, scales.0, scales.1)
            .unwrap();
        let mut all: Vec<u8> = [row, column, of_rows, of_columns].concat();
        all.extend(expanded.iter().flat_map(|x| x.to_bits().to_le_bytes()));
        all.extend(stats.iter().flat_map(|stats| stats.saturated.to_le_bytes()));
        all
    }
    let (wide, half, brain) = (
        source::<f32>(ROWS * COLS, 10),
        source::<F16>(ROWS * COLS, 11),
        source::<Bf16>(ROWS * COLS, 12),
    );
    check("f32", &|| both(&wide));
    check("f16", &|| both(&half));
    check("bf16", &|| both(&brain));
}

#[test]
fn strings_do_not_depend_on_the_environment() {
    let ties = [
        "0.1",
        "-1.0625",
        "1.1875e0",
        "464",
        "464.0000001",
        "9.765625e-4",
        "1e-400",
        "1e400",
    ];
    check("strings", &|| {
        let parsed = ties.iter().map(|text| text.parse::<E4M3>().unwrap());
        parsed
            .flat_map(|x| [x.to_bits()].into_iter().chain(x.to_string().into_bytes()))
            .collect()
    });
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two levels, the nearest and the least-error rule, given scales, shards: each against the
//! formula or the plain way of getting there.

use ofp8::scale::GivenScales;
use ofp8::{
    Amax, Block, Cast, ExponentRule, Format, Matrix, MatrixMut, Recipe, Scales, ScalesMut, Scaling,
    Special, Stats, scalar,
};

use crate::data::{Generator, Profile, Specials, element, power_of_two};

const ROWS: usize = 7;
const COLS: usize = 50;

/// A matrix of a profile.
fn source(seed: u64, profile: Profile, specials: Specials) -> Vec<f32> {
    let mut random = Generator(seed);
    let mut next = || element(&mut random, profile, specials);
    (0..ROWS * COLS).map(|_| next()).collect()
}

fn matrix<T>(data: &[T]) -> Matrix<'_, T> {
    Matrix::new(data, ROWS, COLS).unwrap()
}

fn matrix_mut<T>(data: &mut [T]) -> MatrixMut<'_, T> {
    MatrixMut::new(data, ROWS, COLS).unwrap()
}

/// What quantizing gives: codes, bytes of scales, the tensor's scale, statistics.
#[derive(Debug, PartialEq)]
struct Outcome {
    codes: Vec<u8>,
    scales: Vec<u8>,
    tensor: f32,
    stats: Stats,
}

fn quantize(recipe: &Recipe, source: &[f32]) -> Outcome {
    let (down, across) = recipe.block().grid(ROWS, COLS);
    let mut codes = vec![0xEE; ROWS * COLS];
    let mut scales = vec![0xEE; down * across];
    let mut tensor = 0.0;
    let places = match recipe.scaling() {
        Scaling::E8M0(_) => ScalesMut::E8M0(&mut scales),
        _ => ScalesMut::TwoLevel {
            tensor: &mut tensor,
            blocks: &mut scales,
        },
    };
    let stats = recipe.quantize(matrix(source), matrix_mut(&mut codes), places);
    Outcome {
        codes,
        scales,
        tensor,
        stats: stats.unwrap(),
    }
}

/// The first and the last column after, of each block of a row.
fn blocks(width: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..COLS)
        .step_by(width)
        .map(move |start| (start, COLS.min(start + width)))
}

fn amax(elements: &[f32]) -> f32 {
    elements.iter().fold(0.0, |most, x| x.abs().max(most))
}

/// TransformerEngine's formulas in f32, as the documentation of `Scaling::TwoLevel` has them.
#[test]
fn two_levels_follow_the_formulas() {
    let profiles = [
        Profile::AnyBits,
        Profile::Around(0),
        Profile::Around(-120),
        Profile::Around(127),
        Profile::Coarse,
        Profile::Subnormal,
        Profile::Sparse,
    ];
    for (format, scale_max) in [(Format::UE4M3, 448.0f32), (Format::UE5M3, 114688.0)] {
        let recipe = Recipe::NVFP4
            .with_scaling(Scaling::TwoLevel(format))
            .unwrap();
        for (seed, profile) in profiles.into_iter().enumerate() {
            let source = source(seed as u64, profile, Specials::None);
            let whole = amax(&source);
            let quantize_scale = match scale_max * 6.0 / whole {
                _ if whole == 0.0 => 1.0,
                quotient => quotient.min(f32::MAX),
            };
            let tensor = 1.0 / quantize_scale;
            let outcome = quantize(&recipe, &source);
            assert_eq!(outcome.tensor, tensor, "{profile:?}");
            let mut scales = outcome.scales.iter();
            for (row, codes) in source.chunks(COLS).zip(outcome.codes.chunks(COLS)) {
                for (start, end) in blocks(16) {
                    let wanted = amax(&row[start..end]) * (quantize_scale * (1.0 / 6.0));
                    let wanted = wanted.min(f32::MAX);
                    let code = scalar::encode_f32(format, Cast::DEFAULT, wanted, 0);
                    assert_eq!(*scales.next().unwrap(), code, "{profile:?}");
                    let block = scalar::decode_f32(format, code);
                    let factor = (1.0 / (block * tensor)).min(f32::MAX);
                    for (x, code) in row[start..end].iter().zip(&codes[start..end]) {
                        let expected =
                            scalar::encode_f32(Format::E2M1, Cast::DEFAULT, x * factor, 0);
                        assert_eq!(
                            *code, expected,
                            "{profile:?}: {x:e} under {block} * {tensor:e}"
                        );
                    }
                }
            }
            let mut back = vec![0f32; ROWS * COLS];
            let stored = Scales::TwoLevel {
                tensor,
                blocks: &outcome.scales,
            };
            let target = matrix_mut(&mut back);
            recipe
                .dequantize(matrix(&outcome.codes), stored, target)
                .unwrap();
            for (i, y) in back.iter().enumerate() {
                let block = outcome.scales[i / COLS * COLS.div_ceil(16) + i % COLS / 16];
                let scale = tensor * scalar::decode_f32(format, block);
                let value = scalar::decode_f32(Format::E2M1, outcome.codes[i]);
                assert_eq!(*y, scale * value, "{profile:?}");
            }
        }
    }
}

/// A block that holds an infinity or a NaN takes no part in the tensor's scale; its own is what
/// the policy says.
#[test]
fn two_levels_and_special_blocks() {
    let mut source = vec![1.0f32; ROWS * COLS];
    source[0] = f32::INFINITY;
    source[COLS] = f32::NAN;
    source[2 * COLS..3 * COLS].fill(0.0);
    source[3 * COLS] = 1e-6;
    source[3 * COLS + 1..3 * COLS + 16].fill(-1e-6);
    let expected = 1.0 / (448.0 * 6.0f32);
    for (special, first) in [(Special::Poison, 0x7F), (Special::Clamp, 0x7E)] {
        let outcome = quantize(&Recipe::NVFP4.with_special(special), &source);
        assert_eq!(outcome.tensor, expected);
        let across = COLS.div_ceil(16);
        assert_eq!(outcome.scales[0], first, "{special:?}");
        assert_eq!(outcome.scales[across], first, "{special:?}");
        assert_eq!(outcome.scales[2 * across], 0);
        // Too small for the scale's format: all of it is lost, and counted as such.
        assert_eq!(outcome.scales[3 * across], 0);
        assert_eq!(outcome.stats.underflowed, 16, "{special:?}");
        assert_eq!((outcome.stats.infinite, outcome.stats.nan), (1, 1));
    }
    let ignored = quantize(&Recipe::NVFP4.with_special(Special::Ignore), &source);
    assert_eq!((ignored.tensor, ignored.scales[0]), (expected, 0x7E));
}

/// 1.5 times the largest element is half-way to the next power of two.
#[test]
fn nearest_is_the_nearest_power_of_two() {
    for format in [Format::E4M3, Format::E5M2, Format::E2M1, Format::MxInt8] {
        let recipe = Recipe::MXFP8.with_element(format).unwrap();
        let recipe = recipe
            .with_scaling(Scaling::E8M0(ExponentRule::Nearest))
            .unwrap();
        let spec = format.spec();
        let max = scalar::decode_f64(format, spec.max_magnitude() as u8);
        for exponent in [-140, -130, -127, -126, -3, 0, 5, 100] {
            for step in 0..64 {
                let x = (power_of_two(exponent) * (1.0 + step as f64 / 64.0)) as f32;
                let quotient = x as f64 / max;
                let mut nearest = quotient.log2().floor() as i32;
                if quotient >= 1.5 * power_of_two(nearest) {
                    nearest += 1;
                }
                let code = recipe.scale(Amax::of(x)).code as i32;
                assert_eq!(code, (nearest + 127).clamp(0, 254), "{format:?} {x:e}");
            }
        }
    }
}

/// The sum of the squared errors of a block under a power of two, and the codes.
fn squared_error(format: Format, elements: &[f32], code: u8) -> (f64, Vec<u8>) {
    let scale = scalar::decode_f64(Format::E8M0, code);
    let mut sum = 0.0;
    let codes = elements.iter().map(|&x| {
        let stored = scalar::encode_f64(format, Cast::DEFAULT, x as f64 / scale, 0);
        let back = (scalar::decode_f64(format, stored) * scale) as f32;
        let error = x as f64 - back as f64;
        sum += error * error;
        stored
    });
    let codes = codes.collect();
    (sum, codes)
}

#[test]
fn least_error_is_the_better_of_two() {
    let mut smaller = 0;
    for format in [Format::E4M3, Format::E2M1, Format::E2M3] {
        let round_up = Recipe::MXFP8.with_element(format).unwrap();
        let least = Scaling::E8M0(ExponentRule::LeastError);
        let least = round_up.with_scaling(least).unwrap();
        for seed in 0..20 {
            let source = source(seed, Profile::Around(3), Specials::None);
            let (up, chosen) = (quantize(&round_up, &source), quantize(&least, &source));
            let mut scales = up.scales.iter().zip(&chosen.scales);
            for (row, codes) in source.chunks(COLS).zip(chosen.codes.chunks(COLS)) {
                for (start, end) in blocks(32) {
                    let (&up, &chosen) = scales.next().unwrap();
                    let above = squared_error(format, &row[start..end], up);
                    let below = squared_error(format, &row[start..end], up - 1);
                    let is_below = below.0 < above.0;
                    let best = if is_below {
                        (up - 1, below.1)
                    } else {
                        (up, above.1)
                    };
                    assert_eq!((chosen, &codes[start..end]), (best.0, &best.1[..]));
                    smaller += usize::from(is_below);
                }
            }
        }
    }
    assert!(smaller > 20, "the smaller scale wins sometimes: {smaller}");
}

/// What was stored, given back, makes the same codes, for every kind of scale.
#[test]
fn given_scales_make_the_same_codes() {
    let source = source(5, Profile::Around(0), Specials::Few);
    for recipe in [Recipe::MXFP8, Recipe::MXFP4, Recipe::NVFP4] {
        // Without special blocks, whose scale nobody would give.
        let recipe = recipe.with_special(Special::Clamp);
        let outcome = quantize(&recipe, &source);
        let stored = match recipe.scaling() {
            Scaling::E8M0(_) => Scales::E8M0(&outcome.scales),
            _ => Scales::TwoLevel {
                tensor: outcome.tensor,
                blocks: &outcome.scales,
            },
        };
        let mut codes = vec![0xEE; ROWS * COLS];
        let given = GivenScales::Dequantize(stored);
        let target = matrix_mut(&mut codes);
        let stats = recipe.quantize_given(None, matrix(&source), given, target);
        assert_eq!(stats.unwrap().amax, outcome.stats.amax);
        assert_eq!(codes, outcome.codes, "{recipe:?}");
    }
}

/// Shards of any cut, with merged amaxes, give the bytes and the counts of the whole.
#[test]
fn shards_give_the_bytes_of_the_whole() {
    let mut random = Generator(9);
    for recipe in [
        Recipe::MXFP8,
        Recipe::NVFP4,
        Recipe::NVFP4_WEIGHT,
        Recipe::MXFP8.with_block(Block::new(4, 8)),
        Recipe::MXFP8.with_block(Block::TENSOR),
    ] {
        for seed in 0..10 {
            let source = source(seed, Profile::Around(2), Specials::None);
            let whole = quantize(&recipe, &source);
            let cut = random.below((ROWS * COLS) as u64 + 1) as usize;
            let parts = [(0, &source[..cut]), (cut, &source[cut..])];
            let mut amaxes = vec![Amax::ZERO; whole.scales.len()];
            for (first, part) in parts {
                let mut of_part = vec![Amax::NAN; amaxes.len()];
                let shard = Matrix::shard(part, ROWS, COLS, first).unwrap();
                recipe.amax(shard, &mut of_part).unwrap();
                for (amax, part) in amaxes.iter_mut().zip(of_part) {
                    *amax = amax.merge(part);
                }
            }
            let mut stats = Stats::EMPTY;
            let mut codes = Vec::new();
            for (first, part) in parts {
                let mut of_part = vec![0xEE; part.len()];
                let mut scales = vec![0xEE; amaxes.len()];
                let mut tensor = 0.0;
                let places = match recipe.scaling() {
                    Scaling::E8M0(_) => ScalesMut::E8M0(&mut scales),
                    _ => ScalesMut::TwoLevel {
                        tensor: &mut tensor,
                        blocks: &mut scales,
                    },
                };
                let shard = Matrix::shard(part, ROWS, COLS, first).unwrap();
                let target = MatrixMut::shard(&mut of_part, ROWS, COLS, first).unwrap();
                let seen = recipe.quantize_from_amax(None, shard, &amaxes, target, places);
                stats = stats.merge(seen.unwrap());
                codes.extend(of_part);
                assert_eq!(
                    (&scales, tensor),
                    (&whole.scales, whole.tensor),
                    "cut at {cut}"
                );
            }
            assert_eq!((codes, stats), (whole.codes, whole.stats), "cut at {cut}");
        }
    }
}

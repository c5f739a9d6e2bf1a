// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of special blocks in the documentation of `ofp8::scale`, written out.

use ofp8::{Block, Cast, Convention, Format, Matrix, MatrixMut, ScalesMut, Scaling, Special};

use crate::model::{Plan, RULES, Scale};

/// The three columns of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    F32(Convention),
    PowerOfTwo,
    E8M0,
}

/// What must be stored as the elements.
#[derive(Clone, Copy, Debug)]
enum Elements {
    /// These codes.
    Codes([u8; 4]),
    /// The code of NaN.
    Nan,
    /// As the scale divides them.
    By(Scale),
}

const POLICIES: [Special; 3] = [Special::Poison, Special::Ignore, Special::Clamp];
const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;
/// 2^-127 and 2^127.
const LEAST: u32 = 0x0040_0000;
const MOST: u32 = 0x7F00_0000;
const ONE: u32 = 0x3F80_0000;
const MAX: u32 = 0x7F7F_FFFF;
const QUIET_NAN: u32 = 0x7FC0_0000;

fn kinds() -> Vec<(Kind, Vec<Scaling>)> {
    let one = |convention| (Kind::F32(convention), vec![Scaling::F32(convention)]);
    vec![
        one(Convention::TransformerEngine),
        one(Convention::DeepSeek),
        one(Convention::DeepGemm),
        (Kind::PowerOfTwo, RULES.map(Scaling::PowerOfTwo).to_vec()),
        (Kind::E8M0, RULES.map(Scaling::E8M0).to_vec()),
    ]
}

/// The largest scale and how it divides.
fn largest(kind: Kind) -> (u32, Elements) {
    match kind {
        Kind::F32(Convention::DeepSeek) => (MAX, Elements::By(Scale::Divide { by: f32::MAX })),
        Kind::F32(_) => (MAX, Elements::By(multiply(1.0 / f32::MAX))),
        Kind::PowerOfTwo => (MOST, Elements::By(Scale::Power(127))),
        Kind::E8M0 => (0xFE, Elements::By(Scale::Power(127))),
    }
}

fn multiply(by: f32) -> Scale {
    Scale::Multiply { by, stored: 0.0 }
}

/// Quantizes one block of four and compares the stored scale (its f32 bits, or its byte) and the
/// codes.
fn check(plan: Plan, block: [f32; 4], expected_scale: u32, expected: Elements) {
    let what = format!("{plan:?} {block:?}");
    let source = Matrix::new(&block, 1, 4).unwrap();
    let mut codes = [0x55; 4];
    let target = MatrixMut::new(&mut codes, 1, 4).unwrap();
    let (mut wide, mut byte) = ([0.5f32], [0x55u8]);
    let scale = if plan.is_e8m0() {
        let scales = ScalesMut::E8M0(&mut byte);
        plan.recipe().quantize(source, target, scales).unwrap();
        byte[0] as u32
    } else {
        let scales = ScalesMut::F32(&mut wide);
        plan.recipe().quantize(source, target, scales).unwrap();
        wide[0].to_bits()
    };
    assert_eq!(scale, expected_scale, "scale {scale:#x}, {what}");
    let expected_codes = match expected {
        Elements::Codes(codes) => codes,
        Elements::Nan => [nan_code(plan.element); 4],
        Elements::By(scale) => block.map(|x| plan.encode(&scale, x, 0).0),
    };
    assert_eq!(codes, expected_codes, "{what}");
}

/// Published: OFP8's canonical codes, the one NaN of FNUZ, the largest value of FP4.
fn nan_code(format: Format) -> u8 {
    match format {
        Format::E4M3 | Format::E5M2 => 0x7F,
        Format::E4M3Fnuz => 0x80,
        Format::E2M1 => 0x07,
        other => panic!("{other:?} is not in this table"),
    }
}

/// Calls for every format, scaling and policy of the table.
fn each(mut visit: impl FnMut(Kind, Plan)) {
    for format in [Format::E4M3, Format::E5M2, Format::E4M3Fnuz, Format::E2M1] {
        for (kind, scalings) in kinds() {
            for scaling in scalings {
                for special in POLICIES {
                    let mut plan = Plan::new(format, Block::TENSOR, scaling);
                    plan.special = special;
                    visit(kind, plan);
                }
            }
        }
    }
}

#[test]
fn zero() {
    each(|kind, plan| {
        let scale = match kind {
            Kind::F32(_) | Kind::PowerOfTwo => ONE,
            Kind::E8M0 => 0x00,
        };
        let minus = match plan.element {
            Format::E4M3Fnuz => 0x00,
            Format::E2M1 => 0x08,
            _ => 0x80,
        };
        let zeros = Elements::Codes([0, minus, 0, 0]);
        check(plan, [0.0, -0.0, 0.0, 0.0], scale, zeros);
    });
}

/// With a margin that brings the scale into range: 0.75 * 2^-127 is 1.5 * 2^-128.
#[test]
fn subnormal() {
    let block = [0x0030_0000u32, 0x8018_0000, 1, 0].map(f32::from_bits);
    each(|kind, plan| {
        let plan = Plan { margin: 40, ..plan };
        let (emax, max) = match plan.element {
            Format::E4M3 => (8, 448.0f32),
            Format::E5M2 => (15, 57344.0),
            Format::E4M3Fnuz => (7, 240.0),
            _ => (2, 6.0),
        };
        let up = match plan.scaling {
            Scaling::PowerOfTwo(rule) | Scaling::E8M0(rule) => match rule {
                ofp8::ExponentRule::Ceil => 1,
                // 1.5 rounds to 2 with one mantissa bit only if it lies above a tie: it does not.
                _ => 0,
            },
            Scaling::F32(_) | Scaling::TwoLevel(_) => 0,
        };
        let k = -128 - emax + up + 40;
        let power = Scale::Power(k);
        let amax = block[0];
        let max = max * 2f32.powi(-40);
        let (scale, elements) = match kind {
            Kind::F32(Convention::TransformerEngine) => {
                ((1.0 / (max / amax)).to_bits(), multiply(max / amax))
            }
            Kind::F32(Convention::DeepSeek) => {
                ((amax / max).to_bits(), Scale::Divide { by: amax / max })
            }
            Kind::F32(Convention::DeepGemm) => {
                ((amax / max).to_bits(), multiply(1.0 / (amax / max)))
            }
            Kind::PowerOfTwo => (2f32.powi(k).to_bits(), power),
            Kind::E8M0 => ((k + 127) as u32, power),
        };
        check(plan, block, scale, Elements::By(elements));
    });
}

#[test]
fn scale_underflows() {
    let block = [0x0000_0001u32, 0x8000_0001, 0, 0].map(f32::from_bits);
    each(|kind, plan| {
        let (scale, elements) = match kind {
            Kind::F32(Convention::TransformerEngine) => (0x0020_0000, multiply(f32::MAX)),
            Kind::F32(Convention::DeepSeek) => (
                1,
                Scale::Divide {
                    by: f32::from_bits(1),
                },
            ),
            Kind::F32(Convention::DeepGemm) => (0x0080_0000, multiply(2f32.powi(126))),
            Kind::PowerOfTwo => (LEAST, Scale::Power(-127)),
            Kind::E8M0 => (0x00, Scale::Power(-127)),
        };
        check(plan, block, scale, Elements::By(elements));
    });
}

#[test]
fn scale_overflows() {
    let block = [f32::MAX, -f32::MAX, 1e38, 1.0];
    each(|kind, plan| {
        let plan = Plan { margin: 64, ..plan };
        let (scale, elements) = largest(kind);
        check(plan, block, scale, elements);
    });
}

/// Nothing but the largest scale is used, and elements above its reach saturate.
#[test]
fn elements_beyond_the_reach_of_the_scale_saturate() {
    let block = [f32::MAX, -f32::MAX, 1e38, 1.0];
    each(|kind, plan| {
        if !matches!(kind, Kind::PowerOfTwo | Kind::E8M0) {
            return;
        }
        let plan = Plan { bound: 1.0, ..plan };
        let (largest, negative) = match plan.element {
            Format::E4M3 => (0x7E, 0xFE),
            Format::E5M2 => (0x7B, 0xFB),
            Format::E4M3Fnuz => (0x7F, 0xFF),
            _ => (0x07, 0x0F),
        };
        let Scale::Power(k) = plan.scale(1.0) else {
            panic!("a power of two");
        };
        let scale = match kind {
            Kind::E8M0 => (k + 127) as u32,
            _ => 2f32.powi(k).to_bits(),
        };
        let (one, _) = plan.encode(&Scale::Power(k), 1.0, 0);
        let codes = Elements::Codes([largest, negative, largest, one]);
        check(plan, block, scale, codes);
    });
}

/// The scale of a poisoned block.
fn poison(kind: Kind) -> u32 {
    match kind {
        Kind::F32(_) | Kind::PowerOfTwo => QUIET_NAN,
        Kind::E8M0 => 0xFF,
    }
}

#[test]
fn infinity_and_nan() {
    for block in [
        [1.0, INF, -2.0, 0.25],
        [-INF, 1.0, -2.0, 0.25],
        [1.0, -2.0, NAN, 0.25],
        [1.0, -2.0, NAN, INF],
    ] {
        each(|kind, plan| match plan.special {
            Special::Poison => check(plan, block, poison(kind), Elements::Nan),
            Special::Clamp => {
                let (scale, elements) = largest(kind);
                check(plan, block, scale, elements);
            }
            Special::Ignore => {
                // The scale of the same block without them.
                let scale = plan.scale(2.0);
                let stored = match kind {
                    Kind::E8M0 => scale.e8m0() as u32,
                    _ => scale.f32_bits(),
                };
                check(plan, block, stored, Elements::By(scale));
            }
        });
    }
}

#[test]
fn nothing_but_nan() {
    let block = [NAN; 4];
    each(|kind, plan| {
        let scale = match (plan.special, kind) {
            (Special::Poison, _) => poison(kind),
            (Special::Clamp, _) => largest(kind).0,
            (Special::Ignore, Kind::E8M0) => 0x00,
            (Special::Ignore, _) => ONE,
        };
        check(plan, block, scale, Elements::Nan);
    });
}

/// Infinities and NaN "by the cast" means by the one that the recipe has.
#[test]
fn ignored_specials_are_cast_as_the_recipe_says() {
    use ofp8::{NanPolicy, Saturation};
    let cast = Cast::DEFAULT
        .saturation(Saturation::None)
        .nan(NanPolicy::KeepSign);
    for special in [Special::Ignore, Special::Clamp] {
        each(|kind, plan| {
            if plan.element != Format::E5M2 {
                return;
            }
            let plan = Plan {
                special,
                cast,
                ..plan
            };
            let block = [INF, -INF, -NAN, NAN];
            let scale = match (special, kind) {
                (Special::Clamp, _) => largest(kind).0,
                (_, Kind::E8M0) => 0x00,
                _ => ONE,
            };
            let codes = Elements::Codes([0x7C, 0xFC, 0xFF, 0x7F]);
            check(plan, block, scale, codes);
        });
    }
}

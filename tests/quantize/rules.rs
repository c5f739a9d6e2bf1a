// SPDX-License-Identifier: MIT OR Apache-2.0
//! From amax to scale.

use ofp8::{Amax, Block, Convention, ExponentRule, Format, Recipe, Scaling};

use crate::data::{Generator, power_of_two};
use crate::model::{CONVENTIONS, ELEMENTS, Element, Plan, RULES};

fn code(recipe: &Recipe, amax_bits: u32) -> u8 {
    recipe.scale(Amax::from_bits(amax_bits)).code
}

/// Checks the scale of one amax against the definition of its rule, whose products are exact in
/// f64: the power serves the amax, and half of it would not.
struct Definition {
    format: Format,
    rule: ExponentRule,
    recipe: Recipe,
    limit: f64,
    inclusive: bool,
    powers: Vec<f64>,
}

impl Definition {
    fn new(format: Format, rule: ExponentRule) -> Definition {
        let (limit, inclusive) = Element::of(format).served(rule);
        Definition {
            format,
            rule,
            recipe: Recipe::new(format, Block::TENSOR, Scaling::E8M0(rule)).unwrap(),
            limit,
            inclusive,
            powers: (-128..=127).map(power_of_two).collect(),
        }
    }

    /// Whether 2^(code - 127) serves, for codes from -1.
    fn serves(&self, code: i32, amax: f64) -> bool {
        let limit = self.limit * self.powers[(code + 1) as usize];
        amax < limit || (self.inclusive && amax == limit)
    }

    fn check(&self, amax_bits: u32) {
        let code = code(&self.recipe, amax_bits) as i32;
        let amax = f32::from_bits(amax_bits) as f64;
        let enough = code == 254 || (code < 254 && self.serves(code, amax));
        let least = code == 0 || !self.serves(code - 1, amax);
        assert!(
            enough && least,
            "{:?} {:?} amax {amax_bits:#010x}: code {code:#x}",
            self.format,
            self.rule
        );
    }
}

/// Every significand, at an exponent field (0: the subnormals).
fn check_binade(format: Format, rule: ExponentRule, field: u32) {
    let definition = Definition::new(format, rule);
    for significand in 0..1 << 23 {
        definition.check(field << 23 | significand);
    }
}

/// Formats whose limits lie at different significands: for the others nothing but the exponent
/// differs, and that is swept below.
fn with_different_limits(rule: ExponentRule) -> Vec<Format> {
    let significand = |format| (Element::of(format).served(rule).0.to_bits() << 12) >> 12;
    let mut formats = ELEMENTS.to_vec();
    formats.sort_by_key(|&format| significand(format));
    formats.dedup_by_key(|&mut format| significand(format));
    formats
}

#[test]
fn every_significand_obeys_round_up() {
    let formats = with_different_limits(ExponentRule::RoundUp);
    assert!(formats.len() > 4, "{formats:?}");
    for format in formats {
        check_binade(format, ExponentRule::RoundUp, 127);
    }
}

#[test]
fn every_significand_obeys_the_other_rules() {
    for rule in [ExponentRule::Floor, ExponentRule::Ceil, ExponentRule::Even] {
        for format in with_different_limits(rule) {
            check_binade(format, rule, 130);
        }
    }
}

#[test]
fn every_subnormal_obeys_its_rule() {
    // Of all element formats, MX INT8 has the smallest exponent: its scales of subnormals are the
    // only ones that are not all clamped.
    for rule in RULES {
        check_binade(Format::MxInt8, rule, 0);
    }
    // The binade in which the scale of E4M3 leaves the clamp.
    check_binade(Format::E4M3, ExponentRule::RoundUp, 8);
}

/// Every exponent, with every significand of 8 bits (the limits have no more) and its neighbours.
#[test]
fn every_format_obeys_every_rule_at_every_exponent() {
    for format in ELEMENTS {
        for rule in RULES {
            let definition = Definition::new(format, rule);
            for field in 0..=254u32 {
                for top in 0..1u32 << 7 {
                    for near in [0, 1, 0xFFFF] {
                        definition.check(field << 23 | top << 16 | near);
                    }
                }
            }
            for tiny in (1..23).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]) {
                definition.check(tiny);
            }
        }
    }
}

#[test]
fn a_power_of_two_scale_is_the_value_of_the_e8m0_scale() {
    for format in ELEMENTS {
        for rule in RULES {
            for margin in [-64, -3, 0, 1, 64] {
                let mut plan = Plan::new(format, Block::TENSOR, Scaling::PowerOfTwo(rule));
                plan.margin = margin;
                let power = plan.recipe();
                plan.scaling = Scaling::E8M0(rule);
                let byte = plan.recipe();
                let without = Plan { margin: 0, ..plan }.recipe();
                for field in 1..=254u32 {
                    let amax = field << 23 | 0x0063_1234;
                    let scale = power.scale(Amax::from_bits(amax));
                    let code = code(&byte, amax) as i32;
                    assert_eq!(scale.dequantize as f64, power_of_two(code - 127));
                    assert_eq!(scale.code as i32, code);
                    let unshifted = self::code(&without, amax) as i32;
                    if (1..254).contains(&unshifted) {
                        let shifted = (unshifted + margin).clamp(0, 254);
                        assert_eq!(code, shifted, "{format:?} {rule:?} {margin} {amax:#x}");
                    }
                }
            }
        }
    }
}

/// The table of examples that the rules are published with: amax 6 to 480, E4M3 and E2M1.
#[test]
fn published_examples() {
    #[rustfmt::skip]
    let examples = [
        // amax, then Floor, Ceil, Even, RoundUp for E4M3 and for E2M1.
        (448.0f32, [0x7F, 0x80, 0x7F, 0x7F], [0x85, 0x86, 0x86, 0x86]),
        (449.0, [0x7F, 0x80, 0x7F, 0x80], [0x85, 0x86, 0x86, 0x86]),
        (6.0, [0x79, 0x7A, 0x79, 0x79], [0x7F, 0x80, 0x7F, 0x7F]),
        (1.75, [0x77, 0x78, 0x77, 0x77], [0x7D, 0x7E, 0x7E, 0x7E]),
        (2.0 - 1.1920929e-7, [0x77, 0x78, 0x78, 0x78], [0x7D, 0x7E, 0x7E, 0x7E]),
        (480.0, [0x7F, 0x80, 0x7F, 0x80], [0x85, 0x86, 0x86, 0x86]),
    ];
    for (amax, e4m3, e2m1) in examples {
        for (format, codes) in [(Format::E4M3, e4m3), (Format::E2M1, e2m1)] {
            for (rule, expected) in RULES.into_iter().zip(codes) {
                let recipe = Recipe::new(format, Block::TENSOR, Scaling::E8M0(rule)).unwrap();
                let code = code(&recipe, amax.to_bits());
                assert_eq!(code, expected, "{format:?} {rule:?} {amax}");
            }
        }
    }
}

/// The second opinion. Skipped, loudly, where the folder is missing, unless `OFP8_VECTORS` is
/// `required`.
#[test]
fn shared_vectors_agree() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../shared/vectors/formats/mx_shared_scale.csv"
    );
    let table = match std::fs::read_to_string(path) {
        Ok(table) => table,
        Err(error) => {
            let required = std::env::var_os("OFP8_VECTORS").is_some_and(|v| v == "required");
            assert!(!required, "{path}: {error}");
            eprintln!("SKIPPED: {path}: {error}");
            return;
        }
    };
    let byte = |text: &str| u8::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    let mut rows = 0;
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let amax = u32::from_str_radix(fields[0].trim_start_matches("0x"), 16).unwrap();
        let format = match fields[2] {
            "e4m3fn" => Format::E4M3,
            "e5m2" => Format::E5M2,
            "e2m3fn" => Format::E2M3,
            "e3m2fn" => Format::E3M2,
            "e2m1fn" => Format::E2M1,
            "mxint8" => Format::MxInt8,
            other => panic!("unknown element type {other}"),
        };
        for (rule, text) in RULES.into_iter().zip(&fields[3..]) {
            let recipe = Recipe::new(format, Block::TENSOR, Scaling::E8M0(rule)).unwrap();
            assert_eq!(code(&recipe, amax), byte(text), "{rule:?} {line}");
        }
        rows += 1;
    }
    assert!(rows >= 6 * 30, "only {rows} rows in {path}");
}

/// The f32 scale of every exponent with random significands, and the ends of the range, under
/// every margin, epsilon and bound that changes it.
#[test]
fn f32_scales_are_their_formula() {
    let mut random = Generator(1);
    let mut amaxes = vec![0u32, 1, 2, 3, 0x007F_FFFF, 0x0080_0000, 0x7F7F_FFFF];
    for field in 0..=254u32 {
        amaxes.push(field << 23);
        amaxes.extend((0..8).map(|_| field << 23 | random.next() as u32 & 0x007F_FFFF));
    }
    let largest = f32::MAX;
    let smallest = f32::from_bits(1);
    for format in ELEMENTS {
        for convention in CONVENTIONS {
            for margin in [-64, -7, 0, 1, 64] {
                let limits = [
                    (0.0, f32::INFINITY),
                    (1e-4, 1e4),
                    (smallest, 1e-39),
                    (9.0, largest),
                ];
                for (epsilon, bound) in limits {
                    let mut plan = Plan::new(format, Block::TENSOR, Scaling::F32(convention));
                    plan.margin = margin;
                    plan.epsilon = epsilon;
                    plan.bound = bound;
                    let recipe = plan.recipe();
                    for &bits in &amaxes {
                        let scale = recipe.scale(Amax::from_bits(bits)).dequantize;
                        let expected = plan.scale(f32::from_bits(bits)).f32_bits();
                        assert_eq!(
                            scale.to_bits(),
                            expected,
                            "{plan:?} amax {bits:#010x}: {scale:e}"
                        );
                        assert!(scale > 0.0 && scale.is_finite());
                    }
                }
            }
        }
    }
}

/// The same with constants worked out by hand, so that the model cannot be wrong alone.
#[test]
fn f32_scales_at_the_ends_of_the_range() {
    use Convention::{DeepGemm, DeepSeek, TransformerEngine};
    let scale = |convention, amax: f32, margin| {
        let mut plan = Plan::new(Format::E4M3, Block::TENSOR, Scaling::F32(convention));
        plan.margin = margin;
        plan.recipe().scale(Amax::of(amax)).dequantize.to_bits()
    };
    let min = f32::from_bits(1);
    // 448 / 2^-149 overflows: q is f32::MAX, and 1 / f32::MAX rounds to 2^-128.
    assert_eq!(scale(TransformerEngine, min, 0), 0x0020_0000);
    assert_eq!(scale(DeepSeek, min, 0), 1);
    assert_eq!(scale(DeepGemm, min, 0), 0x0080_0000);
    for convention in CONVENTIONS {
        assert_eq!(scale(convention, 0.0, 0), 1.0f32.to_bits());
        assert_eq!(scale(convention, 0.0, 9), 1.0f32.to_bits());
        assert_eq!(scale(convention, 448.0, 0), 1.0f32.to_bits());
        assert_eq!(scale(convention, 448.0, 3), 8.0f32.to_bits());
        assert_eq!(scale(convention, 448.0, -3), 0.125f32.to_bits());
        assert_eq!(scale(convention, f32::MAX, 64), f32::MAX.to_bits());
    }
    // 1 / (448 / 3) and 3 / 448 differ in the last place: 448 / 3 is rounded first.
    assert_ne!(scale(TransformerEngine, 3.3, 0), scale(DeepSeek, 3.3, 0));
}

#[test]
fn only_formats_with_a_sign_and_a_zero_are_for_elements() {
    for &format in Format::ALL {
        for scaling in crate::model::scalings() {
            let recipe = Recipe::new(format, Block::ROW, scaling);
            assert_eq!(recipe.is_ok(), ELEMENTS.contains(&format), "{format:?}");
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The naive quantizer.

use std::sync::LazyLock;

use ofp8::{
    Amax, Block, Cast, Convention, ExponentRule, Format, Philox, Recipe, Rounding, Scaling,
    Special, Stats, scalar,
};

use crate::data::{Strided, Wide, power_of_two};

/// The formats that elements may have: signed, with a zero.
pub const ELEMENTS: [Format; 17] = [
    Format::E4M3,
    Format::E5M2,
    Format::E4M3Fnuz,
    Format::E5M2Fnuz,
    Format::E4M3B11Fnuz,
    Format::E4M3Ieee,
    Format::E3M4,
    Format::E2M3,
    Format::E3M2,
    Format::E2M1,
    Format::MxInt8,
    Format::Binary8p3se,
    Format::Binary8p3sf,
    Format::Binary8p4se,
    Format::Binary8p4sf,
    Format::Binary8p5se,
    Format::Binary8p5sf,
];

pub const RULES: [ExponentRule; 4] = [
    ExponentRule::Floor,
    ExponentRule::Ceil,
    ExponentRule::Even,
    ExponentRule::RoundUp,
];

pub const CONVENTIONS: [Convention; 3] = [
    Convention::TransformerEngine,
    Convention::DeepSeek,
    Convention::DeepGemm,
];

/// Every scaling.
pub fn scalings() -> Vec<Scaling> {
    let conventions = CONVENTIONS.into_iter().map(Scaling::F32);
    let powers = RULES.into_iter().map(Scaling::PowerOfTwo);
    let bytes = RULES.into_iter().map(Scaling::E8M0);
    conventions.chain(powers).chain(bytes).collect()
}

/// What the rules need of an element format, read off its decoded codes.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Its largest value, whether the code of that is odd, and the distance to the one below.
    pub max: f64,
    pub max_is_odd: bool,
    pub top_ulp: f64,
    /// The exponent of `max`, and the mantissa bits there.
    pub max_exponent: i32,
    pub mantissa_bits: i32,
    /// The smallest value above zero.
    pub min_positive: f64,
}

impl Element {
    pub fn of(format: Format) -> &'static Element {
        static ALL: LazyLock<[Element; 17]> = LazyLock::new(|| ELEMENTS.map(Element::read));
        let place = ELEMENTS.iter().position(|&element| element == format);
        &ALL[place.expect("a format for elements")]
    }

    fn read(format: Format) -> Element {
        let value = |code: u8| scalar::decode_f64(format, code);
        let mut positive: Vec<u8> = (0..=255u8 >> (8 - format.spec().bits))
            .filter(|&code| value(code) > 0.0 && value(code).is_finite())
            .collect();
        positive.sort_by(|&a, &b| value(a).total_cmp(&value(b)));
        let &[least, .., below, top] = positive.as_slice() else {
            panic!("{format:?} has too few values");
        };
        let exponent_of = |x: f64| (x.to_bits() >> 52) as i32 - 1023;
        let top_ulp = value(top) - value(below);
        Element {
            max: value(top),
            max_is_odd: top % 2 == 1,
            top_ulp,
            max_exponent: exponent_of(value(top)),
            mantissa_bits: exponent_of(value(top)) - exponent_of(top_ulp),
            min_positive: value(least),
        }
    }

    /// The largest amax that the power of two 1 serves under a rule, and whether that one itself
    /// is still served: a rule is then "the smallest power that serves". All products with powers
    /// of two are exact in f64.
    pub fn served(&self, rule: ExponentRule) -> (f64, bool) {
        let top = power_of_two(self.max_exponent);
        match rule {
            ExponentRule::Floor => (2.0 * top, false),
            ExponentRule::Ceil => (top, true),
            // Half an ulp below the next power of two: from there on, ties up, amax rounds to it.
            ExponentRule::Even => {
                let half_ulp = top * power_of_two(-self.mantissa_bits - 1);
                (2.0 * top - half_ulp, false)
            }
            // What a search over the block starts from.
            ExponentRule::RoundUp | ExponentRule::LeastError => (self.max, true),
            ExponentRule::Nearest => (1.5 * self.max, false),
        }
    }

    /// The exponent of a scale by its definition, by trial: not clamped.
    pub fn scale_exponent(&self, rule: ExponentRule, amax: f32) -> i32 {
        let (limit, inclusive) = self.served(rule);
        let serves = |&k: &i32| {
            let limit = limit * power_of_two(k);
            (amax as f64) < limit || (inclusive && amax as f64 == limit)
        };
        (-300..300).find(serves).expect("no power of two serves")
    }

    /// Whether a value rounds beyond the largest one, as if there were more.
    pub fn is_beyond(&self, rounding: Rounding, value: f64, word: u16) -> bool {
        let excess = (value.abs() - self.max) / self.top_ulp;
        if excess <= 0.0 {
            return false;
        }
        if excess >= 1.0 {
            return true;
        }
        // The fraction of an ulp has few bits, so that the products are exact.
        let random = |n: u32| (word as u32 & ((1 << n) - 1)) as f64;
        let whole = |n: u32| (1u64 << n) as f64;
        match rounding {
            Rounding::NearestEven => excess > 0.5 || (excess == 0.5 && self.max_is_odd),
            Rounding::NearestAway => excess >= 0.5,
            Rounding::TowardZero => false,
            Rounding::TowardPositive => value > 0.0,
            Rounding::TowardNegative => value < 0.0,
            Rounding::ToOdd => !self.max_is_odd,
            Rounding::StochasticA(bits) => {
                let n = bits.get();
                (excess * whole(n)).floor() + random(n) >= whole(n)
            }
            Rounding::StochasticB(bits) => {
                let n = bits.get();
                (excess * whole(n + 1)).floor() + 2.0 * random(n) + 1.0 >= whole(n + 1)
            }
            Rounding::StochasticC(bits) => {
                let n = bits.get();
                (excess * whole(n)).round_ties_even() + random(n) >= whole(n)
            }
        }
    }
}

/// All that a recipe says.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub element: Format,
    pub block: Block,
    pub scaling: Scaling,
    pub cast: Cast,
    pub special: Special,
    pub epsilon: f32,
    pub bound: f32,
    pub margin: i32,
}

impl Plan {
    pub fn new(element: Format, block: Block, scaling: Scaling) -> Plan {
        Plan {
            element,
            block,
            scaling,
            cast: Cast::DEFAULT,
            special: Special::Poison,
            epsilon: 0.0,
            bound: f32::INFINITY,
            margin: 0,
        }
    }

    pub fn recipe(&self) -> Recipe {
        let recipe = Recipe::new(self.element, self.block, self.scaling).unwrap();
        let recipe = recipe.with_cast(self.cast).with_special(self.special);
        let recipe = recipe.with_epsilon(self.epsilon).unwrap();
        let recipe = recipe.with_amax_bound(self.bound).unwrap();
        recipe.with_margin(self.margin).unwrap()
    }

    pub fn is_e8m0(&self) -> bool {
        matches!(self.scaling, Scaling::E8M0(_))
    }

    /// The scale of a block whose elements have this amax: a non-negative number, infinity or
    /// NaN.
    pub fn scale(&self, amax: f32) -> Scale {
        if !amax.is_finite() {
            return match self.special {
                Special::Clamp => self.largest(),
                _ => Scale::Poison,
            };
        }
        let amax = if amax < self.epsilon {
            self.epsilon
        } else {
            amax
        };
        let amax = if amax > self.bound { self.bound } else { amax };
        let element = Element::of(self.element);
        match self.scaling {
            Scaling::F32(_) if amax == 0.0 => Scale::Multiply {
                by: 1.0,
                stored: 1.0,
            },
            Scaling::F32(convention) => {
                let max = (element.max * power_of_two(-self.margin)) as f32;
                self.f32_scale(convention, amax, max)
            }
            Scaling::PowerOfTwo(_) if amax == 0.0 => Scale::Power(0),
            Scaling::E8M0(_) if amax == 0.0 => Scale::Power(-127),
            Scaling::PowerOfTwo(rule) | Scaling::E8M0(rule) => {
                let exponent = element.scale_exponent(rule, amax) + self.margin;
                Scale::Power(exponent.clamp(-127, 127))
            }
            Scaling::TwoLevel(_) => unreachable!("two levels have a model of their own"),
        }
    }

    fn f32_scale(&self, convention: Convention, amax: f32, max: f32) -> Scale {
        match convention {
            Convention::TransformerEngine => {
                let mut by = max / amax;
                if by == f32::INFINITY {
                    by = f32::MAX;
                }
                let stored = 1.0 / by;
                if stored == f32::INFINITY {
                    return self.largest();
                }
                Scale::Multiply { by, stored }
            }
            _ if amax / max == f32::INFINITY => self.largest(),
            Convention::DeepSeek => {
                let smallest = f32::from_bits(1);
                let stored = if amax / max == 0.0 {
                    smallest
                } else {
                    amax / max
                };
                Scale::Divide { by: stored }
            }
            Convention::DeepGemm => {
                let smallest = power_of_two(-126) as f32;
                let stored = if amax / max < smallest {
                    smallest
                } else {
                    amax / max
                };
                Scale::Multiply {
                    by: 1.0 / stored,
                    stored,
                }
            }
        }
    }

    fn largest(&self) -> Scale {
        match self.scaling {
            Scaling::F32(Convention::DeepSeek) => Scale::Divide { by: f32::MAX },
            Scaling::F32(_) => Scale::Multiply {
                by: 1.0 / f32::MAX,
                stored: f32::MAX,
            },
            _ => Scale::Power(127),
        }
    }

    /// The amax that the scale of a block comes from.
    pub fn amax<S: Wide>(&self, elements: impl Iterator<Item = S>) -> f32 {
        let mut amax = 0.0f32;
        for x in elements {
            let x = x.value().abs();
            if self.special == Special::Ignore && !x.is_finite() {
                continue;
            }
            if x.is_nan() || amax.is_nan() {
                amax = f32::NAN;
            } else if x > amax {
                amax = x;
            }
        }
        amax
    }

    /// The code of one element, and what it adds to the statistics.
    pub fn encode(&self, scale: &Scale, x: f32, word: u16) -> (u8, Stats) {
        let negative = x.is_sign_negative();
        let nan = if negative { -f64::NAN } else { f64::NAN };
        let scaled = match *scale {
            Scale::Poison => f64::NAN,
            Scale::Multiply { by, .. } => (x * by) as f64,
            Scale::Divide { by } => (x / by) as f64,
            Scale::Power(k) => x as f64 * power_of_two(-k),
        };
        // The sign of a NaN that an operation makes is the platform's affair.
        let scaled = if matches!(scale, Scale::Poison) || !scaled.is_nan() {
            scaled
        } else {
            nan
        };
        let code = scalar::encode_f64(self.element, self.cast, scaled, word as u32);
        let mut stats = Stats::EMPTY;
        stats.count = 1;
        stats.amax = Amax::ZERO;
        if x.is_nan() {
            stats.nan = 1;
            stats.amax = Amax::NAN;
            return (code, stats);
        }
        stats.amax = Amax::from_bits(x.abs().to_bits());
        if x == 0.0 {
            stats.zero = 1;
            return (code, stats);
        }
        stats.infinite = x.is_infinite() as u64;
        stats.min_nonzero = x.abs().to_bits();
        if !matches!(scale, Scale::Poison) {
            let element = Element::of(self.element);
            let beyond = element.is_beyond(self.cast.rounding, scaled, word);
            stats.saturated = (x.is_finite() && beyond) as u64;
            stats.underflowed = (scalar::decode_f64(self.element, code) == 0.0) as u64;
        }
        (code, stats)
    }

    /// Quantizes a matrix.
    pub fn quantize<S: Wide>(&self, random: Option<Philox>, source: &Strided<S>) -> Quantized {
        let (rows, cols) = (source.rows, source.cols);
        let down = parts(rows, self.block.rows);
        let across = parts(cols, self.block.cols);
        let mut result = Quantized {
            codes: vec![0; rows * cols],
            scales: Vec::new(),
            amax: Vec::new(),
            stats: Stats::EMPTY,
        };
        for in_rows in &down {
            for in_cols in &across {
                let places = in_rows
                    .clone()
                    .flat_map(|row| in_cols.clone().map(move |col| (row, col)));
                let amax = self.amax(places.clone().map(|(row, col)| source.get(row, col)));
                let scale = self.scale(amax);
                result.amax.push(amax);
                result.scales.push(scale);
                for (row, col) in places {
                    let word = random.map_or(0, |random| word(random, row * cols + col));
                    let x = source.get(row, col).value();
                    let (code, stats) = self.encode(&scale, x, word);
                    result.codes[row * cols + col] = code;
                    result.stats = add(result.stats, stats);
                }
            }
        }
        result
    }
}

/// How an element is divided, and what is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    Poison,
    /// One f32 product.
    Multiply {
        by: f32,
        stored: f32,
    },
    /// One f32 quotient; what is stored is the divisor.
    Divide {
        by: f32,
    },
    /// Exactly, by 2^k.
    Power(i32),
}

impl Scale {
    /// The bits of the stored f32.
    pub fn f32_bits(&self) -> u32 {
        match *self {
            Scale::Poison => f32::NAN.to_bits(),
            Scale::Multiply { stored, .. } => stored.to_bits(),
            Scale::Divide { by } => by.to_bits(),
            Scale::Power(k) => (power_of_two(k) as f32).to_bits(),
        }
    }

    /// The stored E8M0 byte.
    pub fn e8m0(&self) -> u8 {
        match *self {
            Scale::Poison => 0xFF,
            Scale::Power(k) => (127 + k) as u8,
            _ => panic!("{self:?} is no power of two"),
        }
    }
}

/// What quantizing gives: codes and scales row-major, without gaps.
pub struct Quantized {
    pub codes: Vec<u8>,
    pub scales: Vec<Scale>,
    pub amax: Vec<f32>,
    pub stats: Stats,
}

/// The ranges that an extent is cut into.
pub fn parts(extent: usize, size: usize) -> Vec<std::ops::Range<usize>> {
    let size = if size == 0 { extent } else { size };
    let mut parts = Vec::new();
    let mut start = 0;
    while start < extent {
        let end = (start + size).min(extent);
        parts.push(start..end);
        start = end;
    }
    parts
}

/// The 16 random bits of an element: eight elements a block of four words, low halves first.
fn word(random: Philox, element: usize) -> u16 {
    let number = random.first_index.wrapping_add(element as u64);
    let [a, b, c, d] = random.block(number / 8);
    let bits = (a as u128) | (b as u128) << 32 | (c as u128) << 64 | (d as u128) << 96;
    (bits >> (16 * (number % 8))) as u16
}

/// Both counted together.
fn add(a: Stats, b: Stats) -> Stats {
    Stats {
        count: a.count + b.count,
        zero: a.zero + b.zero,
        saturated: a.saturated + b.saturated,
        underflowed: a.underflowed + b.underflowed,
        nan: a.nan + b.nan,
        infinite: a.infinite + b.infinite,
        amax: Amax::from_bits(a.amax.to_bits().max(b.amax.to_bits())),
        min_nonzero: a.min_nonzero.min(b.min_nonzero),
    }
}

#[test]
fn the_model_knows_the_published_facts() {
    // OCP OFP8 v1.0 table 2; MX v1.0 tables 1 to 5 and section 5.3.
    let facts = [
        (Format::E4M3, 448.0, 8, 3, power_of_two(-9)),
        (Format::E5M2, 57344.0, 15, 2, power_of_two(-16)),
        (Format::E2M3, 7.5, 2, 3, 0.125),
        (Format::E3M2, 28.0, 4, 2, 0.0625),
        (Format::E2M1, 6.0, 2, 1, 0.5),
        (Format::MxInt8, 1.984375, 0, 6, 0.015625),
    ];
    for (format, max, exponent, mantissa_bits, min_positive) in facts {
        let element = Element::of(format);
        assert_eq!(element.max, max, "{format:?}");
        assert_eq!(element.max_exponent, exponent, "{format:?}");
        assert_eq!(element.mantissa_bits, mantissa_bits, "{format:?}");
        assert_eq!(element.min_positive, min_positive, "{format:?}");
    }
}

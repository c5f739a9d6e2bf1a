// SPDX-License-Identifier: MIT OR Apache-2.0
//! The exact oracle: what every format, rounding and saturation gives, from tables of values.
//!
//! It shares no code and no idea with the product. A format is a few published facts
//! ([`TABLE`]): its smallest value, how many codes a binade has, its largest code, its special
//! codes. From them the values of all codes are added up step by step ([`Ladder`]); rounding is
//! then a comparison of the input with one exact limit between two neighbours ([`Limit`]).
//!
//! All of that is done in `f64`, and exactly: a value has at most 7 significant bits, a limit at
//! most 33 more, and every exponent that occurs is far inside the range. `f64` serves as a store
//! of exact numbers here; nothing ever rounds.
//!
//! From the product come only names: of formats, roundings, saturations, source types.

// Each test program uses its own part of this module.
#![allow(dead_code)]

use std::ops::RangeInclusive;

use ofp8::{Cast, FloatType, Format, NanPolicy, RandomBits, Rounding, Saturation};

/// `2^exponent`.
pub const fn pow2(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// How a format holds what is below zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Negative {
    /// By a sign bit, given here.
    SignBit(u8),
    /// As the two's complement of the positive code.
    TwosComplement,
    /// Not at all: the absolute value is stored.
    Magnitude,
    /// Not at all: it is out of range (P3109).
    BelowRange,
}

/// What overflow is where nothing clamps it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Overflow {
    Infinity(u8),
    Nan,
    Largest,
}

/// The published facts of one format.
#[derive(Debug)]
pub struct Row {
    pub format: Format,
    /// Bits of a code.
    pub width: u32,
    /// The exponent of the smallest value above zero.
    pub smallest: i32,
    /// Codes with the same distance to the next one, from the smallest normal value on.
    pub per_binade: usize,
    /// The code of the largest finite value.
    pub last: u8,
    /// That value: not used to build the table, but to check it.
    pub largest: f64,
    /// The positive NaN codes.
    pub nan: Option<RangeInclusive<u8>>,
    /// The one that is written.
    pub canonical: u8,
    pub negative: Negative,
    pub overflow: Overflow,
}

/// Nothing written: the format has no NaN.
const NO_NAN: u8 = 0;
const SIGN: Negative = Negative::SignBit(0x80);

/// A row. Arguments: format, smallest (exponent), codes a binade, last code, largest value, NaN
/// codes, canonical NaN, overflow.
#[allow(clippy::too_many_arguments)]
const fn row(
    format: Format,
    smallest: i32,
    per_binade: usize,
    last: u8,
    largest: f64,
    nan: Option<RangeInclusive<u8>>,
    canonical: u8,
    overflow: Overflow,
) -> Row {
    Row {
        format,
        width: 8,
        smallest,
        per_binade,
        last,
        largest,
        nan,
        canonical,
        negative: SIGN,
        overflow,
    }
}

impl Row {
    const fn with(self, width: u32, negative: Negative) -> Row {
        Row {
            width,
            negative,
            ..self
        }
    }
}

/// Every format. The sources: OCP OFP8 1.0 and MX 1.0, ml_dtypes and LLVM for FNUZ, B11FNUZ and
/// the IEEE-style formats, CUDA for the unsigned ones, the P3109 interim report for Binary8*.
#[rustfmt::skip]
pub const TABLE: &[Row] = {
    use Format::*;
    use Negative::{BelowRange, Magnitude, SignBit, TwosComplement};
    use Overflow::{Infinity, Largest, Nan};
    &[
        row(E4M3,        -9,   8,   0x7E, 448.0,           Some(0x7F..=0x7F), 0x7F, Nan),
        row(E5M2,        -16,  4,   0x7B, 57344.0,         Some(0x7D..=0x7F), 0x7F, Infinity(0x7C)),
        row(E4M3Fnuz,    -10,  8,   0x7F, 240.0,           Some(0x80..=0x80), 0x80, Nan),
        row(E5M2Fnuz,    -17,  4,   0x7F, 57344.0,         Some(0x80..=0x80), 0x80, Nan),
        row(E8M0,        -127, 1,   0xFE, pow2(127),       Some(0xFF..=0xFF), 0xFF, Nan).with(8, Magnitude),
        row(E4M3B11Fnuz, -13,  8,   0x7F, 30.0,            Some(0x80..=0x80), 0x80, Nan),
        row(E4M3Ieee,    -9,   8,   0x77, 240.0,           Some(0x79..=0x7F), 0x7C, Infinity(0x78)),
        row(E3M4,        -6,   16,  0x6F, 15.5,            Some(0x71..=0x7F), 0x78, Infinity(0x70)),
        row(UE4M3,       -9,   8,   0x7E, 448.0,           Some(0x7F..=0x7F), 0x7F, Nan).with(7, Magnitude),
        row(UE5M3,       -17,  8,   0xFE, 114688.0,        Some(0xFF..=0xFF), 0xFF, Nan).with(8, Magnitude),
        row(E2M3,        -3,   8,   0x1F, 7.5,             None, NO_NAN, Largest).with(6, SignBit(0x20)),
        row(E3M2,        -4,   4,   0x1F, 28.0,            None, NO_NAN, Largest).with(6, SignBit(0x20)),
        row(E2M1,        -1,   2,   0x07, 6.0,             None, NO_NAN, Largest).with(4, SignBit(0x08)),
        row(MxInt8,      -6,   128, 0x7F, 127.0 / 64.0,    None, NO_NAN, Largest).with(8, TwosComplement),
        row(Binary8p3se, -17,  4,   0x7E, 49152.0,         Some(0x80..=0x80), 0x80, Infinity(0x7F)),
        row(Binary8p3sf, -17,  4,   0x7F, 57344.0,         Some(0x80..=0x80), 0x80, Largest),
        row(Binary8p3ue, -33,  4,   0xFD, 2684354560.0,    Some(0xFF..=0xFF), 0xFF, Infinity(0xFE)).with(8, BelowRange),
        row(Binary8p3uf, -33,  4,   0xFE, 3221225472.0,    Some(0xFF..=0xFF), 0xFF, Largest).with(8, BelowRange),
        row(Binary8p4se, -10,  8,   0x7E, 224.0,           Some(0x80..=0x80), 0x80, Infinity(0x7F)),
        row(Binary8p4sf, -10,  8,   0x7F, 240.0,           Some(0x80..=0x80), 0x80, Largest),
        row(Binary8p4ue, -18,  8,   0xFD, 53248.0,         Some(0xFF..=0xFF), 0xFF, Infinity(0xFE)).with(8, BelowRange),
        row(Binary8p4uf, -18,  8,   0xFE, 57344.0,         Some(0xFF..=0xFF), 0xFF, Largest).with(8, BelowRange),
        row(Binary8p5se, -7,   16,  0x7E, 15.0,            Some(0x80..=0x80), 0x80, Infinity(0x7F)),
        row(Binary8p5sf, -7,   16,  0x7F, 15.5,            Some(0x80..=0x80), 0x80, Largest),
        row(Binary8p5ue, -11,  16,  0xFD, 232.0,           Some(0xFF..=0xFF), 0xFF, Infinity(0xFE)).with(8, BelowRange),
        row(Binary8p5uf, -11,  16,  0xFE, 240.0,           Some(0xFF..=0xFF), 0xFF, Largest).with(8, BelowRange),
    ]
};

/// The values of one sign in ascending order, so that the place of a value is its code; one more
/// at the end, which is the first that is out of range.
pub struct Ladder(Vec<f64>);

impl Ladder {
    /// The values from zero up. The first binade above the subnormals has their distance, after
    /// it the distance doubles with each binade.
    fn from_zero(smallest: i32, per_binade: usize, last: usize) -> Ladder {
        let (mut value, mut step) = (0.0, pow2(smallest));
        let mut values = vec![value];
        for code in 1..=last + 1 {
            value += step;
            values.push(value);
            if code >= 2 * per_binade && code % per_binade == 0 {
                step *= 2.0;
            }
        }
        Ladder(values)
    }

    /// The powers of two from the smallest value up: E8M0, which has no zero.
    fn powers(smallest: i32, last: usize) -> Ladder {
        Ladder((0..=last as i32 + 1).map(|n| pow2(smallest + n)).collect())
    }

    /// The place of the first value out of range.
    fn beyond(&self) -> usize {
        self.0.len() - 1
    }

    /// The limit between `values[place]` and the next value, as an exact number.
    fn limit(&self, place: usize, rounding: Rounding, negative: bool, word: u32) -> (f64, Limit) {
        let (low, high) = (self.0[place], self.0[place + 1]);
        let limit = Limit::new(rounding, place % 2 == 1, negative, word);
        let fraction = limit.numerator() as f64 / pow2(DENOMINATOR_BITS);
        (low + (high - low) * fraction, limit)
    }

    /// The place that a finite `x >= 0` rounds to; `beyond()` where it leaves the range.
    fn round(&self, x: f64, rounding: Rounding, negative: bool, word: u32) -> usize {
        let above = self.0.partition_point(|&value| value <= x);
        if above == 0 {
            return 0; // Below the first value of a format without zero.
        }
        if above == self.0.len() {
            return self.beyond();
        }
        let (bound, limit) = self.limit(above - 1, rounding, negative, word);
        let away = match limit {
            Limit::From(_) => x >= bound,
            Limit::Above(_) => x > bound,
        };
        above - 1 + away as usize
    }
}

/// From where on an input between two neighbours goes to the upper one (in magnitude): a fraction
/// of their distance, counted in `2^-DENOMINATOR_BITS`.
#[derive(Clone, Copy, Debug)]
enum Limit {
    /// That fraction and all above it.
    From(u64),
    /// Only what lies above it.
    Above(u64),
}

/// The finest limit there is: variant B with 32 random bits.
const DENOMINATOR_BITS: i32 = 33;
const ONE: u64 = 1 << DENOMINATOR_BITS;
const HALF: u64 = ONE / 2;

impl Limit {
    const NEVER: Limit = Limit::From(ONE);
    const IF_INEXACT: Limit = Limit::Above(0);

    /// `odd` is whether the lower neighbour has an odd code.
    fn new(rounding: Rounding, odd: bool, negative: bool, word: u32) -> Limit {
        // P3109's definitions, solved for the fraction nu, with R the low N bits of the word.
        let n = rounding.random_bits();
        let r = u64::from(word) % (1 << n);
        match rounding {
            Rounding::NearestEven if odd => Limit::From(HALF),
            Rounding::NearestEven => Limit::Above(HALF),
            Rounding::NearestAway => Limit::From(HALF),
            Rounding::TowardZero => Limit::NEVER,
            Rounding::TowardPositive if negative => Limit::NEVER,
            Rounding::TowardPositive => Limit::IF_INEXACT,
            Rounding::TowardNegative if negative => Limit::IF_INEXACT,
            Rounding::TowardNegative => Limit::NEVER,
            Rounding::ToOdd if odd => Limit::NEVER,
            Rounding::ToOdd => Limit::IF_INEXACT,
            // floor(nu 2^N) >= 2^N - R, a whole number: so nu 2^N is at least that.
            Rounding::StochasticA(_) => Limit::From((ONE >> n) * ((1 << n) - r)),
            // floor(nu 2^(N+1)) >= 2^(N+1) - 2R - 1: the same.
            Rounding::StochasticB(_) => Limit::From((HALF >> n) * ((2 << n) - 2 * r - 1)),
            // nearest_even(nu 2^N) >= k: nu 2^N is above k - 1/2, or is that and k is even.
            Rounding::StochasticC(_) => {
                let k = (1 << n) - r;
                let limit = (HALF >> n) * (2 * k - 1);
                if k.is_multiple_of(2) {
                    Limit::From(limit)
                } else {
                    Limit::Above(limit)
                }
            }
        }
    }

    fn numerator(self) -> u64 {
        match self {
            Limit::From(numerator) | Limit::Above(numerator) => numerator,
        }
    }
}

/// An input: a sign and a magnitude, which may be infinite or NaN. (Two things, since not every
/// machine keeps the sign of a NaN.)
#[derive(Clone, Copy, Debug)]
pub struct Input {
    pub negative: bool,
    pub magnitude: f64,
}

/// A run of `f32` bit patterns that have the same code.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub first: u32,
    pub last: u32,
    pub code: u8,
}

/// What one format gives.
pub struct Oracle {
    pub row: &'static Row,
    ladder: Ladder,
}

impl Oracle {
    pub fn new(format: Format) -> Oracle {
        let row = TABLE.iter().find(|row| row.format == format);
        let row = row.unwrap_or_else(|| panic!("{format:?} is not in the oracle's table"));
        let last = row.last as usize;
        let ladder = match format {
            Format::E8M0 => Ladder::powers(row.smallest, last),
            _ => Ladder::from_zero(row.smallest, row.per_binade, last),
        };
        assert_eq!(ladder.0[last], row.largest, "{format:?}");
        Oracle { row, ladder }
    }

    pub fn all() -> impl Iterator<Item = Oracle> {
        Format::ALL.iter().map(|&format| Oracle::new(format))
    }

    /// Whether there is a NaN of each sign.
    pub fn has_two_nans(&self) -> bool {
        matches!(self.row.negative, Negative::SignBit(bit) if self.row.canonical & bit == 0)
            && self.row.nan.is_some()
    }

    /// Whether the code of negative zero is something else or does not exist.
    fn has_one_zero(&self) -> bool {
        match self.row.negative {
            Negative::SignBit(bit) => self.row.canonical == bit,
            _ => true,
        }
    }

    /// The value of a code: its sign apart, which NaN has too.
    pub fn decode(&self, code: u8) -> Input {
        let code = (u32::from(code) % (1 << self.row.width)) as u8;
        if self.row.nan.as_ref().is_some_and(|nan| nan.contains(&code)) {
            return Input {
                negative: false,
                magnitude: f64::NAN,
            };
        }
        let (negative, place) = match self.row.negative {
            Negative::SignBit(bit) if code & bit != 0 => (true, code & !bit),
            Negative::TwosComplement if code >= 0x80 => (true, code.wrapping_neg()),
            _ => (false, code),
        };
        let is_nan = self.has_two_nans() && self.row.nan.as_ref().unwrap().contains(&place);
        let magnitude = if is_nan {
            f64::NAN
        } else if self.row.overflow == Overflow::Infinity(place) {
            f64::INFINITY
        } else {
            // (0x80 of MX INT8 is the first value out of range, which is 2.)
            self.ladder.0[place as usize]
        };
        Input {
            negative,
            magnitude,
        }
    }

    /// The code of an input.
    pub fn encode(&self, cast: Cast, input: Input, word: u32) -> u8 {
        let Input {
            negative,
            magnitude,
        } = input;
        let negative = negative && self.row.negative != Negative::Magnitude;
        if magnitude.is_nan() {
            return self.nan(negative && cast.nan == NanPolicy::KeepSign);
        }
        let infinite = magnitude.is_infinite();
        let place = if infinite {
            self.ladder.beyond()
        } else {
            self.ladder.round(magnitude, cast.rounding, negative, word)
        };
        if negative && self.row.negative == Negative::BelowRange {
            return self.below_range(cast, place == 0, infinite);
        }
        if place < self.ladder.beyond() {
            return self.signed(negative, place as u8);
        }
        let clamps = match cast.saturation {
            Saturation::Finite => true,
            Saturation::Propagate => !infinite,
            Saturation::None => !infinite && self.rounds_back(cast.rounding, negative),
        };
        match self.row.overflow {
            Overflow::Infinity(code) if !clamps => self.signed(negative, code),
            Overflow::Nan if !clamps => self.nan(negative),
            _ => self.signed(negative, self.row.last),
        }
    }

    /// Whether a finite value out of range goes to the largest one in any case. To odd does in
    /// P3109's unsigned formats only (§4.7.5).
    fn rounds_back(&self, rounding: Rounding, negative: bool) -> bool {
        match rounding {
            Rounding::TowardZero => true,
            Rounding::TowardPositive => negative,
            Rounding::TowardNegative => !negative,
            Rounding::ToOdd => self.row.negative == Negative::BelowRange,
            _ => false,
        }
    }

    /// What is negative in P3109's unsigned formats (§4.7.5).
    fn below_range(&self, cast: Cast, is_zero: bool, infinite: bool) -> u8 {
        let up = matches!(
            cast.rounding,
            Rounding::TowardZero | Rounding::TowardPositive
        );
        let clamps = cast.saturation != Saturation::None || (up && !infinite);
        if is_zero || clamps {
            0
        } else {
            self.row.canonical
        }
    }

    fn nan(&self, negative: bool) -> u8 {
        match self.row.negative {
            _ if self.row.nan.is_none() => self.signed(negative, self.row.last),
            Negative::SignBit(bit) if negative && self.has_two_nans() => self.row.canonical | bit,
            _ => self.row.canonical,
        }
    }

    fn signed(&self, negative: bool, code: u8) -> u8 {
        if !negative || (code == 0 && self.has_one_zero()) {
            return code;
        }
        match self.row.negative {
            Negative::SignBit(bit) => code | bit,
            Negative::TwosComplement => code.wrapping_neg(),
            Negative::Magnitude | Negative::BelowRange => code,
        }
    }

    /// All values, the first one out of range, and all ties between neighbours.
    pub fn values_and_ties(&self) -> Vec<f64> {
        let ties = self
            .ladder
            .0
            .windows(2)
            .map(|pair| (pair[0] + pair[1]) / 2.0);
        self.ladder.0.iter().copied().chain(ties).collect()
    }

    /// Where the code changes under a rounding and a random word.
    pub fn limits(&self, rounding: Rounding, negative: bool, word: u32) -> Vec<f64> {
        (0..self.ladder.beyond())
            .map(|place| self.ladder.limit(place, rounding, negative, word).0)
            .collect()
    }

    /// The step function over all `f32` bit patterns, in ascending order of the patterns.
    pub fn runs(&self, cast: Cast, word: u32) -> Vec<Run> {
        let source = Source::new(FloatType::F32);
        let mut firsts = vec![];
        for sign in [0, source.sign] {
            let place = |bits| {
                let negative = sign != 0 && self.row.negative != Negative::Magnitude;
                let x = source.input(bits).magnitude;
                self.ladder.round(x, cast.rounding, negative, word)
            };
            firsts.push(sign);
            for step in 1..=self.ladder.beyond() {
                firsts.push(sign | first_where(source.infinity, |bits| place(bits) >= step));
            }
            firsts.extend([sign | source.infinity, (sign | source.infinity) + 1]);
        }
        firsts.dedup();
        let ends = firsts[1..].iter().copied().chain([1 << 32]);
        firsts
            .iter()
            .zip(ends)
            .map(|(&first, end)| Run {
                first: first as u32,
                last: (end - 1) as u32,
                code: self.encode(cast, source.input(first), word),
            })
            .collect()
    }
}

/// The first number below `end` with a property that all after it have too, else `end`.
fn first_where(end: u64, mut property: impl FnMut(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, end);
    while low < high {
        let middle = low + (high - low) / 2;
        if property(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// How a wide type lays out its bits: only as much as is needed to walk them in order.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    pub float: FloatType,
    /// The bits of infinity; what is above, below the sign, is NaN.
    pub infinity: u64,
    /// The sign bit.
    pub sign: u64,
}

impl Source {
    pub const fn new(float: FloatType) -> Source {
        let (infinity, sign) = match float {
            FloatType::F32 => (0x7F80_0000, 1 << 31),
            FloatType::F64 => (0x7FF0_0000_0000_0000, 1 << 63),
            FloatType::F16 => (0x7C00, 1 << 15),
            FloatType::Bf16 => (0x7F80, 1 << 15),
        };
        Source {
            float,
            infinity,
            sign,
        }
    }

    pub fn input(self, bits: u64) -> Input {
        let magnitude = bits & !self.sign;
        Input {
            negative: bits & self.sign != 0,
            magnitude: match self.float {
                _ if magnitude > self.infinity => f64::NAN,
                FloatType::F32 => f64::from(f32::from_bits(magnitude as u32)),
                FloatType::Bf16 => f64::from(f32::from_bits((magnitude as u32) << 16)),
                FloatType::F64 => f64::from_bits(magnitude),
                FloatType::F16 if magnitude == self.infinity => f64::INFINITY,
                FloatType::F16 if magnitude < 0x400 => magnitude as f64 * pow2(-24),
                FloatType::F16 => {
                    (magnitude % 0x400 + 0x400) as f64 * pow2((magnitude / 0x400) as i32 - 25)
                }
            },
        }
    }

    /// The bits of the least magnitude that is at least `x`.
    pub fn first_from(self, x: f64) -> u64 {
        first_where(self.infinity, |bits| self.input(bits).magnitude >= x)
    }

    /// The distance between the bits of `x` and `2x`.
    fn binade(self) -> u64 {
        self.infinity & self.infinity.wrapping_neg()
    }

    /// The nearest bits to a value, ties to even, infinity beyond the range: what decoding gives.
    /// NaN is quiet.
    pub fn nearest(self, value: Input) -> u64 {
        let Input {
            negative,
            magnitude,
        } = value;
        let sign = if negative { self.sign } else { 0 };
        if magnitude.is_nan() {
            return sign | self.infinity | (self.binade() / 2);
        }
        let up = self.first_from(magnitude);
        if self.input(up).magnitude == magnitude || up == 0 {
            return sign | up;
        }
        let low = self.input(up - 1).magnitude;
        let high = match up {
            _ if up == self.infinity => 2.0 * self.input(up - self.binade()).magnitude,
            _ => self.input(up).magnitude,
        };
        let tie = low + (high - low) / 2.0;
        let goes_up = magnitude > tie || (magnitude == tie && up.is_multiple_of(2));
        sign | (up - !goes_up as u64)
    }
}

/// The six roundings without random bits.
pub const DETERMINISTIC: [Rounding; 6] = [
    Rounding::NearestEven,
    Rounding::NearestAway,
    Rounding::TowardZero,
    Rounding::TowardPositive,
    Rounding::TowardNegative,
    Rounding::ToOdd,
];

pub const SATURATIONS: [Saturation; 3] =
    [Saturation::Finite, Saturation::Propagate, Saturation::None];

pub const NAN_POLICIES: [NanPolicy; 2] = [NanPolicy::Canonical, NanPolicy::KeepSign];

/// The three stochastic roundings with `bits` random bits.
pub fn stochastic(bits: u32) -> [Rounding; 3] {
    let n = RandomBits::new(bits).unwrap();
    [
        Rounding::StochasticA(n),
        Rounding::StochasticB(n),
        Rounding::StochasticC(n),
    ]
}

/// Each saturation and NaN handling with one rounding.
pub fn casts(rounding: Rounding) -> impl Iterator<Item = Cast> {
    SATURATIONS.into_iter().flat_map(move |saturation| {
        NAN_POLICIES.into_iter().map(move |nan| Cast {
            rounding,
            saturation,
            nan,
        })
    })
}

/// A generator of test inputs (SplitMix64): the same ones on every run.
pub struct Bits(pub u64);

impl Bits {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

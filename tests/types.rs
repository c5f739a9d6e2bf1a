// SPDX-License-Identifier: MIT OR Apache-2.0
//! The types: constants against published ones, predicates and order against those of `f64`,
//! decimal strings against exact arithmetic. That a code has the right value, and `f32` the right
//! code, is shown by the tests of the scalar reference.

use std::cmp::Ordering;
use std::fmt::LowerExp;
use std::num::{FpCategory, ParseFloatError};
use std::str::FromStr;

use num_bigint::BigUint;
use ofp8::{
    Binary8p3se, Binary8p3sf, Binary8p3ue, Binary8p3uf, Binary8p4se, Binary8p4sf, Binary8p4ue,
    Binary8p4uf, Binary8p5se, Binary8p5sf, Binary8p5ue, Binary8p5uf, Cast, E2M1, E2M3, E3M2, E3M4,
    E4M3, E4M3B11Fnuz, E4M3Fnuz, E4M3Ieee, E5M2, E5M2Fnuz, E8M0, Element, Format, MxInt8,
    NanPolicy, RandomBits, Rounding, Saturation, UE4M3, UE5M3, scalar, views,
};
use proptest::prelude::*;

/// Hands the list of all types to a macro, after its own arguments.
macro_rules! with_types {
    ($macro:ident $arguments:tt) => {
        $macro! {
            $arguments
            E4M3 E5M2 E4M3Fnuz E5M2Fnuz E8M0 E4M3B11Fnuz E4M3Ieee E3M4 UE4M3 UE5M3 E2M3 E3M2 E2M1
            MxInt8 Binary8p3se Binary8p3sf Binary8p3ue Binary8p3uf Binary8p4se Binary8p4sf
            Binary8p4ue Binary8p4uf Binary8p5se Binary8p5sf Binary8p5ue Binary8p5uf
        }
    };
}

/// Runs a generic function for every type: `for_every_type!(check(arguments))`.
macro_rules! for_every_type {
    ($check:ident $arguments:tt) => {
        with_types!(call_each ($check $arguments))
    };
}

macro_rules! call_each {
    (($check:ident $arguments:tt) $($name:ident)*) => { $($check::<$name> $arguments;)* };
}

/// The inherent items of a type, for tests that run on every type.
trait Number: Element + LowerExp + FromStr<Err = ParseFloatError> {
    const CONSTANTS: Constants<Self>;
    fn from_f32_with(value: f32, cast: Cast, word: u32) -> Self;
    fn from_f64_with(value: f64, cast: Cast, word: u32) -> Self;
    fn from_f16_bits_with(bits: u16, cast: Cast, word: u32) -> Self;
    fn from_bf16_bits_with(bits: u16, cast: Cast, word: u32) -> Self;
    fn from_i64_with(value: i64, cast: Cast, word: u32) -> Self;
    fn from_str_with(text: &str, cast: Cast, word: u32) -> Result<Self, ParseFloatError>;
    fn by_every_default(value: i8) -> [Self; 11];
    fn to_f32(self) -> f32;
    fn to_f64(self) -> f64;
    fn to_f16_bits(self) -> u16;
    fn to_bf16_bits(self) -> u16;
    fn into_floats(self) -> (f32, f64);
    fn kinds(self) -> Kinds;
    fn abs(self) -> Self;
    fn next_up(self) -> Self;
    fn next_down(self) -> Self;
    fn total_cmp(&self, other: &Self) -> Ordering;

    /// Every code.
    fn all() -> impl Iterator<Item = Self> + Clone {
        let bits = Self::FORMAT.spec().bits;
        (0..1u32 << bits).map(|code| Self::from_bits(code as u8))
    }
}

/// The constants that every type has.
struct Constants<T> {
    max: T,
    min: T,
    min_positive: T,
    one: T,
    epsilon: T,
}

/// What the predicates say.
#[derive(Debug, PartialEq)]
struct Kinds {
    category: FpCategory,
    nan: bool,
    infinite: bool,
    finite: bool,
    zero: bool,
    subnormal: bool,
    normal: bool,
    negative: bool,
    positive: bool,
}

macro_rules! numbers {
    (() $($name:ident)*) => {$(
        impl Number for $name {
            const CONSTANTS: Constants<$name> = Constants {
                max: $name::MAX,
                min: $name::MIN,
                min_positive: $name::MIN_POSITIVE,
                one: $name::ONE,
                epsilon: $name::EPSILON,
            };
            fn from_f32_with(value: f32, cast: Cast, word: u32) -> $name {
                $name::from_f32_with(value, cast, word)
            }
            fn from_f64_with(value: f64, cast: Cast, word: u32) -> $name {
                $name::from_f64_with(value, cast, word)
            }
            fn from_f16_bits_with(bits: u16, cast: Cast, word: u32) -> $name {
                $name::from_f16_bits_with(bits, cast, word)
            }
            fn from_bf16_bits_with(bits: u16, cast: Cast, word: u32) -> $name {
                $name::from_bf16_bits_with(bits, cast, word)
            }
            fn from_i64_with(value: i64, cast: Cast, word: u32) -> $name {
                $name::from_i64_with(value, cast, word)
            }
            fn from_str_with(text: &str, cast: Cast, word: u32) -> Result<$name, ParseFloatError> {
                $name::from_str_with(text, cast, word)
            }
            fn by_every_default(value: i8) -> [$name; 11] {
                let (f16, bf16) = half_bits(value);
                [
                    $name::from_f32(value.into()),
                    $name::from_f64(value.into()),
                    $name::from_f16_bits(f16),
                    $name::from_bf16_bits(bf16),
                    $name::from_i64(value.into()),
                    f32::from(value).into(),
                    f64::from(value).into(),
                    value.into(),
                    i16::from(value).into(),
                    i32::from(value).into(),
                    i64::from(value).into(),
                ]
            }
            fn to_f32(self) -> f32 { self.to_f32() }
            fn to_f64(self) -> f64 { self.to_f64() }
            fn to_f16_bits(self) -> u16 { self.to_f16_bits() }
            fn to_bf16_bits(self) -> u16 { self.to_bf16_bits() }
            fn into_floats(self) -> (f32, f64) { (self.into(), self.into()) }
            fn kinds(self) -> Kinds {
                Kinds {
                    category: self.classify(),
                    nan: self.is_nan(),
                    infinite: self.is_infinite(),
                    finite: self.is_finite(),
                    zero: self.is_zero(),
                    subnormal: self.is_subnormal(),
                    normal: self.is_normal(),
                    negative: self.is_sign_negative(),
                    positive: self.is_sign_positive(),
                }
            }
            fn abs(self) -> $name { self.abs() }
            fn next_up(self) -> $name { self.next_up() }
            fn next_down(self) -> $name { self.next_down() }
            fn total_cmp(&self, other: &$name) -> Ordering { self.total_cmp(other) }
        }
    )*};
}

with_types!(numbers());

/// The bits of a small integer as binary16 and bfloat16, which hold it exactly.
fn half_bits(value: i8) -> (u16, u16) {
    let bits = f32::from(value).to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let without_sign = bits & 0x7FFF_FFFF;
    let f16 = match without_sign {
        0 => 0,
        _ => ((without_sign - ((127 - 15) << 23)) >> 13) as u16,
    };
    (sign | f16, (bits >> 16) as u16)
}

#[test]
fn there_is_a_type_for_every_format() {
    let mut formats = Vec::new();
    macro_rules! collect {
        (() $($name:ident)*) => { $(formats.push($name::FORMAT);)* };
    }
    with_types!(collect());
    assert_eq!(formats, Format::ALL);
}

/// Largest, smallest normal, smallest above zero, and distance from one to the next, as the
/// standards, ml_dtypes and P3109 print them.
#[test]
fn constants_are_the_published_ones() {
    let two = |exponent: i32| 2f64.powi(exponent);
    let published = [
        (Format::E4M3, 448.0, two(-6), two(-9), 0.125),
        (Format::E5M2, 57344.0, two(-14), two(-16), 0.25),
        (Format::E4M3Fnuz, 240.0, two(-7), two(-10), 0.125),
        (Format::E5M2Fnuz, 57344.0, two(-15), two(-17), 0.25),
        (Format::E8M0, two(127), two(-127), two(-127), 1.0),
        (Format::E4M3B11Fnuz, 30.0, two(-10), two(-13), 0.125),
        (Format::E4M3Ieee, 240.0, two(-6), two(-9), 0.125),
        (Format::E3M4, 15.5, two(-2), two(-6), 0.0625),
        (Format::UE4M3, 448.0, two(-6), two(-9), 0.125),
        (Format::UE5M3, 114688.0, two(-14), two(-17), 0.125),
        (Format::E2M3, 7.5, 1.0, 0.125, 0.125),
        (Format::E3M2, 28.0, 0.25, 0.0625, 0.25),
        (Format::E2M1, 6.0, 1.0, 0.5, 0.5),
        (Format::MxInt8, 1.984375, two(-6), two(-6), two(-6)),
        (Format::Binary8p3se, 49152.0, two(-15), two(-17), 0.25),
        (Format::Binary8p3sf, 57344.0, two(-15), two(-17), 0.25),
        (Format::Binary8p3ue, 2684354560.0, two(-31), two(-33), 0.25),
        (Format::Binary8p3uf, 3221225472.0, two(-31), two(-33), 0.25),
        (Format::Binary8p4se, 224.0, two(-7), two(-10), 0.125),
        (Format::Binary8p4sf, 240.0, two(-7), two(-10), 0.125),
        (Format::Binary8p4ue, 53248.0, two(-15), two(-18), 0.125),
        (Format::Binary8p4uf, 57344.0, two(-15), two(-18), 0.125),
        (Format::Binary8p5se, 15.0, 0.125, two(-7), 0.0625),
        (Format::Binary8p5sf, 15.5, 0.125, two(-7), 0.0625),
        (Format::Binary8p5ue, 232.0, two(-7), two(-11), 0.0625),
        (Format::Binary8p5uf, 240.0, two(-7), two(-11), 0.0625),
    ];
    assert_eq!(published.len(), Format::ALL.len());

    fn check<T: Number>(published: &[(Format, f64, f64, f64, f64)]) {
        let (format, max, min_positive, smallest, epsilon) =
            *published.iter().find(|row| row.0 == T::FORMAT).unwrap();
        let constants = T::CONSTANTS;
        assert_eq!(constants.max.to_f64(), max, "{format:?}");
        assert_eq!(constants.min_positive.to_f64(), min_positive, "{format:?}");
        assert_eq!(constants.one.to_f64(), 1.0, "{format:?}");
        assert_eq!(constants.epsilon.to_f64(), epsilon, "{format:?}");
        let next = constants.one.next_up().to_f64();
        assert_eq!(next - 1.0, epsilon, "{format:?}");
        let finite = T::all()
            .map(|x| x.to_f64())
            .filter(|value| value.is_finite());
        let least = finite.clone().fold(f64::INFINITY, f64::min);
        assert_eq!(constants.min.to_f64(), least, "{format:?}");
        let above_zero = finite.filter(|&value| value > 0.0);
        assert_eq!(
            above_zero.fold(f64::INFINITY, f64::min),
            smallest,
            "{format:?}"
        );
    }
    for_every_type!(check(&published));
}

#[test]
fn constants_that_only_some_types_have() {
    macro_rules! zero {
        (() $($name:ident)*) => {$(
            assert_eq!($name::ZERO.to_f64(), 0.0);
            assert!($name::ZERO.is_sign_positive());
            assert_eq!($name::default(), $name::ZERO);
        )*};
    }
    zero!(() E4M3 E5M2 E4M3Fnuz E5M2Fnuz E4M3B11Fnuz E4M3Ieee E3M4 UE4M3 UE5M3 E2M3 E3M2 E2M1
        MxInt8 Binary8p3se Binary8p4uf);
    macro_rules! nan {
        ($($name:ident $code:literal)*) => { $(assert_eq!($name::NAN.to_bits(), $code);)* };
    }
    nan!(E4M3 0x7F E5M2 0x7F E4M3Fnuz 0x80 E5M2Fnuz 0x80 E8M0 0xFF E4M3B11Fnuz 0x80 E4M3Ieee 0x7C
        E3M4 0x78 UE4M3 0x7F UE5M3 0xFF Binary8p3se 0x80 Binary8p5sf 0x80 Binary8p3ue 0xFF
        Binary8p4uf 0xFF);
    macro_rules! infinity {
        ($($name:ident $positive:literal $negative:literal)*) => {$(
            assert_eq!($name::INFINITY.to_bits(), $positive);
            assert_eq!($name::INFINITY.to_f64(), f64::INFINITY);
            assert_eq!($name::NEG_INFINITY.to_bits(), $negative);
            assert_eq!($name::NEG_INFINITY.to_f64(), f64::NEG_INFINITY);
        )*};
    }
    infinity!(E5M2 0x7C 0xFC E4M3Ieee 0x78 0xF8 E3M4 0x70 0xF0 Binary8p3se 0x7F 0xFF
        Binary8p4se 0x7F 0xFF Binary8p5se 0x7F 0xFF);
    assert_eq!(Binary8p4ue::INFINITY.to_bits(), 0xFE);
    assert_eq!(E4M3::MIN_POSITIVE_SUBNORMAL.to_f64(), 2f64.powi(-9));
    assert_eq!(E2M1::MIN_POSITIVE_SUBNORMAL.to_f64(), 0.5);
}

#[test]
fn conversions_are_const() {
    const HALF: E4M3 = E4M3::from_f32(0.5);
    const UP: E8M0 = E8M0::from_f64_with(3.0, Cast::DEFAULT.rounding(Rounding::NearestAway), 0);
    const TEN: E5M2 = E5M2::from_i64(10);
    const BACK: f32 = TEN.next_up().abs().to_f32();
    const CATEGORY: FpCategory = HALF.classify();
    const ORDER: Ordering = HALF.total_cmp(&E4M3::ONE);
    assert_eq!(HALF.to_bits(), 0x30);
    assert_eq!(UP.to_bits(), 0x81);
    assert_eq!(BACK, 12.0);
    assert_eq!(CATEGORY, FpCategory::Normal);
    assert_eq!(ORDER, Ordering::Less);
}

#[test]
fn bits_above_the_width_are_ignored() {
    fn check<T: Number>() {
        let mask = ((1u32 << T::FORMAT.spec().bits) - 1) as u8;
        let stored: Vec<u8> = (0..=255).collect();
        for (bits, x) in (0..=255).zip(views::from_codes::<T>(&stored)) {
            let clean = T::from_bits(bits);
            assert_eq!(clean.to_bits(), bits & mask);
            assert_eq!(x.to_bits(), bits & mask);
            assert_eq!(x.kinds(), clean.kinds());
            assert_eq!(x.total_cmp(&clean), Ordering::Equal);
            assert_eq!(x.to_f64().to_bits(), clean.to_f64().to_bits());
            assert_eq!(x.next_up().to_bits(), clean.next_up().to_bits());
            assert_eq!(x.abs().to_bits(), clean.abs().to_bits());
        }
    }
    for_every_type!(check());
}

#[test]
fn predicates_agree_with_those_of_f64() {
    fn check<T: Number>() {
        for x in T::all() {
            let wide = x.to_f64();
            let category = match wide.classify() {
                FpCategory::Normal if wide.abs() < T::CONSTANTS.min_positive.to_f64() => {
                    FpCategory::Subnormal
                }
                category => category,
            };
            let expected = Kinds {
                category,
                nan: wide.is_nan(),
                infinite: wide.is_infinite(),
                finite: wide.is_finite(),
                zero: wide == 0.0,
                subnormal: category == FpCategory::Subnormal,
                normal: category == FpCategory::Normal,
                negative: wide.is_sign_negative(),
                positive: wide.is_sign_positive(),
            };
            assert_eq!(x.kinds(), expected, "{x:?} {:#04x}", x.to_bits());
        }
    }
    for_every_type!(check());
}

#[test]
fn order_agrees_with_that_of_f64() {
    fn check<T: Number>() {
        for (a, b) in T::all().flat_map(|a| T::all().map(move |b| (a, b))) {
            let (x, y) = (a.to_f64(), b.to_f64());
            assert_eq!(a.partial_cmp(&b), x.partial_cmp(&y), "{a:?} {b:?}");
            assert_eq!(a == b, x == y, "{a:?} {b:?}");
            let same_nan = x.is_nan() && y.is_nan() && x.is_sign_negative() == y.is_sign_negative();
            let expected = match same_nan {
                true if x.is_sign_negative() => b.to_bits().cmp(&a.to_bits()),
                true => a.to_bits().cmp(&b.to_bits()),
                false => x.total_cmp(&y),
            };
            assert_eq!(a.total_cmp(&b), expected, "{a:?} {b:?}");
        }
    }
    for_every_type!(check());
}

#[test]
fn neighbours_are_the_nearest_values() {
    fn check<T: Number>() {
        let values: Vec<f64> = T::all()
            .map(|x| x.to_f64())
            .filter(|v| !v.is_nan())
            .collect();
        for x in T::all() {
            let wide = x.to_f64();
            if wide.is_nan() {
                assert_eq!(x.next_up().to_bits(), x.to_bits());
                assert_eq!(x.next_down().to_bits(), x.to_bits());
                continue;
            }
            let above = values.iter().filter(|&&v| v > wide);
            let above = above.copied().reduce(f64::min).unwrap_or(wide);
            let below = values.iter().filter(|&&v| v < wide);
            let below = below.copied().reduce(f64::max).unwrap_or(wide);
            assert_eq!(x.next_up().to_f64(), above, "{x:?}");
            assert_eq!(x.next_down().to_f64(), below, "{x:?}");
            if above == 0.0 && wide < 0.0 && T::FORMAT.spec().has_negative_zero() {
                assert!(x.next_up().to_f64().is_sign_negative(), "{x:?}");
            }
            if below == 0.0 && wide > 0.0 {
                assert!(x.next_down().to_f64().is_sign_positive(), "{x:?}");
            }
        }
    }
    for_every_type!(check());
}

#[test]
fn abs_and_neg_act_on_the_sign_alone() {
    fn abs<T: Number>() {
        for x in T::all() {
            let expected = x.to_f64().abs().min(match x.kinds().infinite {
                true => f64::INFINITY,
                false => T::CONSTANTS.max.to_f64(),
            });
            match x.kinds().nan {
                true => assert!(x.abs().kinds().nan),
                false => assert_eq!(x.abs().to_f64(), expected, "{x:?}"),
            }
            assert!(x.abs().kinds().positive, "{x:?}");
        }
    }
    for_every_type!(abs());

    fn neg<T: Number + std::ops::Neg<Output = T>>() {
        for x in T::all() {
            let wide = x.to_f64();
            if wide.is_nan() {
                assert!((-x).kinds().nan);
            } else if wide == -2.0 && T::FORMAT == Format::MxInt8 {
                assert_eq!(-x, T::CONSTANTS.max);
                continue;
            } else {
                assert_eq!((-x).to_f64(), -wide, "{x:?}");
            }
            let alone = (wide == 0.0 && !T::FORMAT.spec().has_negative_zero())
                || (wide.is_nan() && !T::FORMAT.spec().has_negative_nan());
            assert_eq!((-x).kinds().negative != x.kinds().negative, !alone, "{x:?}");
            assert_eq!((-(-x)).to_bits(), x.to_bits(), "{x:?}");
        }
    }
    call_each!((neg ()) E4M3 E5M2 E4M3Fnuz E5M2Fnuz E4M3B11Fnuz E4M3Ieee E3M4 E2M3 E3M2 E2M1
        MxInt8 Binary8p3se Binary8p3sf Binary8p4se Binary8p4sf Binary8p5se Binary8p5sf);
}

#[test]
fn text_of_a_value_is_that_value() {
    fn check<T: Number>() {
        for x in T::all().filter(|&x| x.to_f64() != -2.0 || T::FORMAT != Format::MxInt8) {
            for text in [
                format!("{x}"),
                format!("{x:e}"),
                format!("{:.800}", x.to_f64()),
            ] {
                let parsed: T = text.parse().unwrap();
                match x.kinds().nan {
                    true => assert!(parsed.kinds().nan, "{text}"),
                    false => assert_eq!(parsed.to_bits(), x.to_bits(), "{text}"),
                }
            }
            assert_eq!(x.into_floats().1.to_bits(), x.to_f64().to_bits());
            assert_eq!(x.into_floats().0.to_bits(), x.to_f32().to_bits());
        }
    }
    for_every_type!(check());
    assert_eq!(format!("{:?}", E4M3::from_f32(-1.5)), "E4M3(-1.5)");
    assert_eq!(
        format!("{:8.2}|{:e}|{:E}", E5M2::ONE, E5M2::ONE, E5M2::ONE),
        "    1.00|1e0|1E0"
    );
}

#[test]
fn strings_beyond_every_number() {
    let overflow = [
        "1e400",
        "1e99999999999999999999",
        "2e9",
        "99999999999999999999999999999",
    ];
    for text in overflow {
        assert_eq!(text.parse::<E5M2>().unwrap(), E5M2::MAX, "{text}");
        let none = Cast::DEFAULT.saturation(Saturation::None);
        let unclamped = E5M2::from_str_with(text, none, 0).unwrap();
        assert_eq!(unclamped, E5M2::INFINITY, "{text}");
        let down = none.rounding(Rounding::TowardZero);
        assert_eq!(
            E5M2::from_str_with(text, down, 0).unwrap(),
            E5M2::MAX,
            "{text}"
        );
    }
    let underflow = [
        "1e-400",
        "1e-99999999999999999999",
        "0.000000000000000000001",
    ];
    for text in underflow {
        assert_eq!(text.parse::<E5M2>().unwrap().to_bits(), 0x00, "{text}");
        let up = Cast::DEFAULT.rounding(Rounding::TowardPositive);
        let above = E5M2::from_str_with(text, up, 0).unwrap();
        assert_eq!(above, E5M2::MIN_POSITIVE_SUBNORMAL, "{text}");
    }
    for text in [
        "0",
        "-0",
        "0e5",
        "-.0e-99999999999999999999",
        "0.e99999999999999999999",
    ] {
        let zero: E5M2 = text.parse().unwrap();
        assert_eq!(zero.is_sign_negative(), text.starts_with('-'), "{text}");
        assert_eq!(zero, E5M2::ZERO, "{text}");
    }
    let up = Cast::DEFAULT.rounding(Rounding::TowardPositive);
    let below_all = E8M0::from_str_with("1e-400", up, 0).unwrap();
    assert_eq!(below_all.to_bits(), 0x00);
    assert_eq!("-inf".parse::<E5M2>().unwrap(), E5M2::NEG_INFINITY);
    assert_eq!("Infinity".parse::<E2M1>().unwrap(), E2M1::MAX);
    assert!("inf".parse::<E4M3>().unwrap().is_nan());
    assert_eq!("-nan".parse::<E4M3>().unwrap().to_bits(), 0x7F);
    for text in [
        "", "-", ".", "1e", "1.2.3", "0x10", " 1", "1 ", "nanny", "e5", "१",
    ] {
        assert!(text.parse::<E4M3>().is_err(), "{text:?}");
    }
}

/// A decimal string as `numerator / denominator`, by nothing but its characters.
struct Rational {
    numerator: BigUint,
    denominator: BigUint,
}

/// Every `f64` is an integer over two to this power.
const F64_SCALE: u32 = 1074;

impl Rational {
    fn new(text: &str) -> Rational {
        let (significand, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let (integer, fraction) = significand.split_once('.').unwrap_or((significand, ""));
        let digits = format!("{integer}{fraction}");
        let digits = BigUint::parse_bytes(digits.as_bytes(), 10).unwrap();
        let exponent = exponent.parse::<i64>().unwrap() - fraction.len() as i64;
        let power = BigUint::from(10u32).pow(exponent.unsigned_abs() as u32);
        let one = BigUint::from(1u32);
        let (factor, denominator) = match exponent < 0 {
            true => (one, power),
            false => (power, one),
        };
        Rational {
            numerator: digits * factor,
            denominator,
        }
    }

    /// The order of the number and a non-negative `f64`, exactly.
    fn compare(&self, wide: f64) -> Ordering {
        let field = wide.to_bits() >> 52;
        let fraction = wide.to_bits() & ((1 << 52) - 1);
        let scaled = match field {
            0 => BigUint::from(fraction),
            _ => BigUint::from(fraction | 1 << 52) << (field - 1),
        };
        (&self.numerator << F64_SCALE).cmp(&(scaled * &self.denominator))
    }
}

/// Where a positive number lies among the values of a format.
struct Place {
    /// The code of the largest value that is not above it; `None` below the first of E8M0.
    down: Option<u8>,
    exact: bool,
    /// Its order to the midpoint between that value and the next.
    middle: Ordering,
}

impl Place {
    /// Of a number that is not above the largest value, by comparing it with values and midpoint.
    fn new<T: Number>(number: &Rational) -> Place {
        let value = |code: u8| T::from_bits(code).to_f64();
        let codes: Vec<u8> = (0..=T::CONSTANTS.max.to_bits()).collect();
        let not_above = codes.partition_point(|&code| number.compare(value(code)).is_ge());
        let Some(down) = not_above.checked_sub(1).map(|index| codes[index]) else {
            return Place {
                down: None,
                exact: false,
                middle: Ordering::Greater,
            };
        };
        let exact = number.compare(value(down)).is_eq();
        let middle = match exact {
            true => Ordering::Less,
            false => number.compare((value(down) + value(down + 1)) / 2.0),
        };
        Place {
            down: Some(down),
            exact,
            middle,
        }
    }

    fn round(&self, rounding: Rounding) -> u8 {
        let Some(down) = self.down else {
            return 0;
        };
        let odd = down % 2 != 0;
        let away = !self.exact
            && match rounding {
                Rounding::NearestEven => self.middle.is_gt() || (self.middle.is_eq() && odd),
                Rounding::NearestAway => self.middle.is_ge(),
                Rounding::TowardPositive => true,
                Rounding::TowardZero | Rounding::TowardNegative => false,
                Rounding::ToOdd => !odd,
                _ => unreachable!("a deterministic rounding"),
            };
        down + away as u8
    }
}

const DETERMINISTIC: [Rounding; 6] = [
    Rounding::NearestEven,
    Rounding::NearestAway,
    Rounding::TowardZero,
    Rounding::TowardPositive,
    Rounding::TowardNegative,
    Rounding::ToOdd,
];

/// The other direction, for the negative of a value.
fn mirrored(rounding: Rounding) -> Rounding {
    match rounding {
        Rounding::TowardPositive => Rounding::TowardNegative,
        Rounding::TowardNegative => Rounding::TowardPositive,
        other => other,
    }
}

/// Parses a string that lies in the range of the format, in each rounding and with each sign.
fn check_string<T: Number>(text: &str) {
    let place = Place::new::<T>(&Rational::new(text));
    for rounding in DETERMINISTIC {
        let cast = Cast::DEFAULT
            .rounding(rounding)
            .saturation(Saturation::None);
        let expected = place.round(rounding);
        let parsed = T::from_str_with(text, cast, 0).unwrap();
        assert_eq!(
            parsed.to_bits(),
            expected,
            "{text} {:?} {rounding:?}",
            T::FORMAT
        );
        if T::FORMAT.spec().is_signed() {
            let cast = cast.rounding(mirrored(rounding));
            let parsed = T::from_str_with(&format!("-{text}"), cast, 0).unwrap();
            assert_eq!(
                parsed.abs().to_bits(),
                expected,
                "-{text} {:?} {rounding:?}",
                T::FORMAT
            );
            assert!(expected == 0 || parsed.kinds().negative);
        }
    }
    let parsed: T = text.parse().unwrap();
    assert_eq!(
        parsed.to_bits(),
        place.round(Rounding::NearestEven),
        "{text}"
    );
}

#[test]
fn strings_beside_every_value_and_midpoint() {
    fn check<T: Number>() {
        let codes = T::FORMAT.spec().max_magnitude() as u8;
        for code in 0..codes {
            let low = T::from_bits(code).to_f64();
            let high = T::from_bits(code + 1).to_f64();
            for point in [low, (low + high) / 2.0] {
                // The exact decimal, with zeros to spare; then a little more and a little less,
                // further away than any float can see.
                let exact = format!("{point:.200}");
                check_string::<T>(&exact);
                check_string::<T>(&format!("{exact}{:0>700}1", ""));
                if point > 0.0 {
                    let last = exact.rfind(|c| c != '0' && c != '.').unwrap();
                    let lowered = exact.as_bytes()[last] - 1;
                    let less = format!("{}{}", &exact[..last], char::from(lowered));
                    let rest = exact[last + 1..].replace('0', "9");
                    check_string::<T>(&format!("{less}{rest}{:9>700}", ""));
                }
            }
        }
    }
    // The others differ in the row alone; these have a wide range, few bits, one bit, none signed,
    // and fixed point.
    call_each!((check ()) E4M3 E5M2 E2M1 E8M0 UE5M3 MxInt8);
}

proptest! {
    #[test]
    fn any_decimal_string_is_rounded_once(
        integer in "[0-9]{0,30}", fraction in "[0-9]{1,60}", exponent in -60i32..60,
    ) {
        let text = format!("{integer}.{fraction}e{exponent}");
        fn check<T: Number>(text: &str) {
            if Rational::new(text).compare(T::CONSTANTS.max.to_f64()).is_le() {
                check_string::<T>(text);
            }
        }
        for_every_type!(check(&text));
    }

    #[test]
    fn integers_are_rounded_once(value: i64, shift in 0u32..63) {
        let value = value >> shift;
        fn check<T: Number>(value: i64) {
            let number = Rational::new(&value.unsigned_abs().to_string());
            let in_range = number.compare(T::CONSTANTS.max.to_f64()).is_le();
            if !in_range || (value < 0 && !T::FORMAT.spec().is_signed()) {
                return;
            }
            let place = Place::new::<T>(&number);
            for rounding in DETERMINISTIC {
                let of_magnitude = if value < 0 { mirrored(rounding) } else { rounding };
                let encoded = T::from_i64_with(value, Cast::DEFAULT.rounding(rounding), 0);
                assert_eq!(encoded.abs().to_bits(), place.round(of_magnitude), "{value}");
                assert_eq!(encoded.kinds().negative, value < 0, "{value}");
            }
        }
        for_every_type!(check(value));
    }

    #[test]
    fn every_way_in_is_the_reference(bits: u64, word: u32, cast in any_cast()) {
        fn check<T: Number>(bits: u64, word: u32, cast: Cast) {
            use ofp8::FloatType::{Bf16, F16, F32, F64};
            let reference = |source, bits| scalar::encode_bits(T::FORMAT, cast, source, bits, word);
            let single = f32::from_bits(bits as u32);
            assert_eq!(
                T::from_f32_with(single, cast, word).to_bits(),
                reference(F32, single.to_bits().into())
            );
            let double = f64::from_bits(bits);
            assert_eq!(T::from_f64_with(double, cast, word).to_bits(), reference(F64, bits));
            let short = bits as u16;
            let f16 = T::from_f16_bits_with(short, cast, word);
            assert_eq!(f16.to_bits(), reference(F16, short.into()));
            let bf16 = T::from_bf16_bits_with(short, cast, word);
            assert_eq!(bf16.to_bits(), reference(Bf16, short.into()));
        }
        for_every_type!(check(bits, word, cast));
    }
}

fn any_cast() -> impl Strategy<Value = Cast> {
    (0u32..9, 1u32..=32, 0u32..3, 0u32..2).prop_map(|(rounding, bits, saturation, nan)| Cast {
        rounding: Rounding::from_number(rounding, if rounding < 6 { 0 } else { bits }).unwrap(),
        saturation: Saturation::from_number(saturation).unwrap(),
        nan: NanPolicy::from_number(nan).unwrap(),
    })
}

#[test]
fn every_plain_conversion_is_the_default_cast() {
    fn check<T: Number>() {
        for value in i8::MIN..=i8::MAX {
            let expected = scalar::encode_f32(T::FORMAT, Cast::DEFAULT, value.into(), 0);
            for encoded in T::by_every_default(value) {
                assert_eq!(encoded.to_bits(), expected, "{value} {:?}", T::FORMAT);
            }
        }
        for x in T::all() {
            let (f16, bf16) = (ofp8::FloatType::F16, ofp8::FloatType::Bf16);
            let code = x.to_bits();
            assert_eq!(
                x.to_f16_bits() as u64,
                scalar::decode_bits(T::FORMAT, code, f16)
            );
            assert_eq!(
                x.to_bf16_bits() as u64,
                scalar::decode_bits(T::FORMAT, code, bf16)
            );
        }
    }
    for_every_type!(check());
}

#[test]
fn policy_numbers_are_fixed() {
    let n = RandomBits::SIXTEEN;
    let roundings = [
        Rounding::NearestEven,
        Rounding::NearestAway,
        Rounding::TowardZero,
        Rounding::TowardPositive,
        Rounding::TowardNegative,
        Rounding::ToOdd,
        Rounding::StochasticA(n),
        Rounding::StochasticB(n),
        Rounding::StochasticC(n),
    ];
    for (number, rounding) in (0..).zip(roundings) {
        assert_eq!(rounding.number(), number);
        let bits = rounding.random_bits();
        assert_eq!(Rounding::from_number(number, bits), Some(rounding));
        let wrong_bits = if rounding.is_stochastic() {
            [0, 33]
        } else {
            [1, 16]
        };
        for bits in wrong_bits {
            assert_eq!(Rounding::from_number(number, bits), None);
        }
    }
    assert_eq!(Rounding::from_number(9, 0), None);
    let saturations = [Saturation::Finite, Saturation::Propagate, Saturation::None];
    for (number, saturation) in (0..).zip(saturations) {
        assert_eq!(saturation.number(), number);
        assert_eq!(Saturation::from_number(number), Some(saturation));
    }
    assert_eq!(Saturation::from_number(3), None);
    for (number, nan) in (0..).zip([NanPolicy::Canonical, NanPolicy::KeepSign]) {
        assert_eq!(nan.number(), number);
        assert_eq!(NanPolicy::from_number(number), Some(nan));
    }
    assert_eq!(NanPolicy::from_number(2), None);
    let defaults = (
        Rounding::default(),
        Saturation::default(),
        NanPolicy::default(),
    );
    assert_eq!(
        (
            defaults.0.number(),
            defaults.1.number(),
            defaults.2.number()
        ),
        (0, 0, 0)
    );
}

#[test]
fn views_share_the_memory() {
    let mut codes = [0x38, 0x40, 0xFF];
    let values: &[E4M3] = views::from_codes(&codes);
    assert_eq!(values[..2], [E4M3::ONE, E4M3::from_f32(2.0)]);
    assert_eq!(views::as_codes(values).as_ptr(), codes.as_ptr());
    views::from_codes_mut::<E4M3>(&mut codes)[0] = E4M3::MAX;
    assert_eq!(codes, [0x7E, 0x40, 0xFF]);
    let mut values = [E2M1::ONE; 2];
    views::as_codes_mut(&mut values)[1] = 0x7;
    assert_eq!(values, [E2M1::ONE, E2M1::MAX]);
    assert!(views::from_codes::<E5M2>(&[]).is_empty());
}

#[cfg(feature = "half")]
#[test]
fn half_types_convert_as_their_bits() {
    fn check<T: Number + From<half::f16> + From<half::bf16>>()
    where
        half::f16: From<T>,
        half::bf16: From<T>,
    {
        for bits in 0..=u16::MAX {
            let f16 = T::from(half::f16::from_bits(bits));
            let expected = T::from_f16_bits_with(bits, Cast::DEFAULT, 0);
            assert_eq!(f16.to_bits(), expected.to_bits());
            let bf16 = T::from(half::bf16::from_bits(bits));
            let expected = T::from_bf16_bits_with(bits, Cast::DEFAULT, 0);
            assert_eq!(bf16.to_bits(), expected.to_bits());
        }
        for x in T::all() {
            assert_eq!(half::f16::from(x).to_bits(), x.to_f16_bits());
            assert_eq!(half::bf16::from(x).to_bits(), x.to_bf16_bits());
        }
    }
    call_each!((check ()) E4M3 E8M0 E2M1 Binary8p4ue);
}

#[cfg(feature = "bytemuck")]
#[test]
fn bytemuck_casts_slices() {
    fn check<T: Number + bytemuck::Pod>() {
        let codes: Vec<u8> = (0..=255).collect();
        let values: &[T] = bytemuck::cast_slice(&codes);
        assert_eq!(bytemuck::cast_slice::<T, u8>(values), codes);
        let zero: T = bytemuck::Zeroable::zeroed();
        assert_eq!(zero.to_bits(), 0);
    }
    for_every_type!(check());
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of codes from the definition of each format, exact sums in big integers, and a rounding
//! by search: nothing of it comes from the library.

use num_bigint::BigInt;
use ofp8::Format;

/// Formats of the tests: exponent bits, mantissa bits, bias, sign, and what the top codes are.
const LAYOUTS: [(Format, u32, u32, i32, bool, Top); 12] = [
    (Format::E4M3, 4, 3, 7, true, Top::Nan),
    (Format::E5M2, 5, 2, 15, true, Top::InfinityAndNans),
    (Format::E4M3Fnuz, 4, 3, 8, true, Top::NanAtNegativeZero),
    (Format::E5M2Fnuz, 5, 2, 16, true, Top::NanAtNegativeZero),
    (Format::E3M4, 3, 4, 3, true, Top::InfinityAndNans),
    (Format::E2M3, 2, 3, 1, true, Top::Numbers),
    (Format::E3M2, 3, 2, 3, true, Top::Numbers),
    (Format::E2M1, 2, 1, 1, true, Top::Numbers),
    (Format::UE4M3, 4, 3, 7, false, Top::Nan),
    (Format::UE5M3, 5, 3, 15, false, Top::Nan),
    (Format::Binary8p3uf, 6, 2, 32, false, Top::Nan),
    (Format::Binary8p5sf, 3, 4, 4, true, Top::NanAtNegativeZero),
];

/// What the largest codes are.
#[derive(Clone, Copy, PartialEq)]
enum Top {
    Numbers,
    Nan,
    InfinityAndNans,
    NanAtNegativeZero,
}

/// The formats with a value here.
pub fn formats() -> Vec<Format> {
    let known = LAYOUTS.iter().map(|layout| layout.0);
    known.chain([Format::MxInt8]).collect()
}

/// The value of a code; exact, since f64 holds it.
pub fn value(format: Format, code: u8) -> f64 {
    if format == Format::MxInt8 {
        return code as i8 as f64 / 64.0;
    }
    let layout = LAYOUTS.iter().find(|layout| layout.0 == format);
    let &(_, exponent_bits, mantissa_bits, bias, signed, top) = layout.expect("a known format");
    let magnitude_bits = exponent_bits + mantissa_bits;
    let magnitude = code as u32 % (1 << magnitude_bits);
    let negative = signed && (code as u32 >> magnitude_bits) % 2 == 1;
    let (field, fraction) = (magnitude >> mantissa_bits, magnitude % (1 << mantissa_bits));
    let largest = (1 << magnitude_bits) - 1;
    match top {
        Top::Nan if magnitude == largest => return f64::NAN,
        Top::NanAtNegativeZero if negative && magnitude == 0 => return f64::NAN,
        Top::InfinityAndNans if field == (1 << exponent_bits) - 1 => {
            return match (fraction, negative) {
                (0, false) => f64::INFINITY,
                (0, true) => f64::NEG_INFINITY,
                _ => f64::NAN,
            };
        }
        _ => {}
    }
    let fraction = fraction as f64 / (1 << mantissa_bits) as f64;
    let value = if field == 0 {
        fraction * 2f64.powi(1 - bias)
    } else {
        (1.0 + fraction) * 2f64.powi(field as i32 - bias)
    };
    if negative { -value } else { value }
}

/// The place of the unit in which exact sums are counted: 2^-UNIT.
const UNIT: i32 = 1100;

/// A finite f64 in units of 2^-UNIT.
pub fn units(x: f64) -> BigInt {
    let bits = x.to_bits();
    let field = (bits >> 52 & 0x7FF) as i32;
    let fraction = (bits & ((1 << 52) - 1)) as i64;
    assert!(field != 0x7FF, "{x} is not finite");
    let (integer, exponent) = if field == 0 {
        (fraction, -1074)
    } else {
        (fraction | 1 << 52, field - 1075)
    };
    let units = BigInt::from(integer) << (exponent + UNIT) as u32;
    if x < 0.0 { -units } else { units }
}

/// The f32 nearest to a number of units, ties to even, by search over all f32.
pub fn nearest(units_of_x: &BigInt) -> f32 {
    let zero = BigInt::from(0);
    if *units_of_x < zero {
        return -nearest(&-units_of_x);
    }
    let at = |bits: u32| units(f32::from_bits(bits) as f64);
    let (mut low, mut high) = (0, f32::MAX.to_bits());
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if at(middle) <= *units_of_x {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    // Beyond the largest value IEEE 754 rounds as if 2^128 followed.
    let next = if low == f32::MAX.to_bits() {
        units(2f64.powi(128))
    } else {
        at(low + 1)
    };
    let (below, above) = (units_of_x - at(low), next - units_of_x);
    let up = below > above || (below == above && low % 2 == 1);
    f32::from_bits(low + up as u32)
}

/// A product of finite factors in units.
pub fn product_units(factors: &[f64]) -> BigInt {
    let mut product = units(1.0);
    for &factor in factors {
        product = (product * units(factor)) >> UNIT as u32;
    }
    product
}

/// Numbers that look random: SplitMix64.
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A finite code.
    pub fn finite(&mut self, format: Format) -> u8 {
        loop {
            let code = self.next() as u8;
            if value(format, code).is_finite() {
                return code;
            }
        }
    }

    /// Finite codes.
    pub fn codes(&mut self, format: Format, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.finite(format)).collect()
    }

    /// A positive f32 between 2^-8 and 2^8 with a full significand.
    pub fn scale(&mut self) -> f32 {
        let exponent = 127 - 8 + self.below(16) as u32;
        f32::from_bits(exponent << 23 | self.next() as u32 >> 9)
    }
}

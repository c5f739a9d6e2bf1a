// SPDX-License-Identifier: MIT OR Apache-2.0
//! `include/ofp8_constants.h`.

use std::fmt::{Debug, Write};

use crate::table::{decimal, overflow_threshold};
use ofp8::spec::{NanCodes, Overflow, Sign};
use ofp8::{FloatType, Format, NanPolicy, Packing, Rounding, Saturation, Spec, scalar};

const HEAD: &str = "\
/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Numbers of the ofp8 library: formats, types, policies, and what follows from the format table.
 * For C99, C++ and CUDA. Generated from src/spec.rs and src/policy.rs; do not edit.
 *
 * Numbers without a prefix of a format (OFP8_E4M3, OFP8_F32, OFP8_NEAREST_EVEN, ...) cross the
 * ABI and never change. Of a format or type F there are:
 *
 *   OFP8_F                        its number
 *   OFP8_F_BITS                   width of a code, sign included
 *   OFP8_F_EXPONENT_BITS          width of the exponent field; 0 for fixed point
 *   OFP8_F_MANTISSA_BITS          width of the mantissa field
 *   OFP8_F_BIAS                   what is subtracted from the exponent field
 *   OFP8_F_SIGN                   OFP8_SIGN_...: how the sign is stored
 *   OFP8_F_NAN_CODES              OFP8_NAN_CODES_...: which codes are NaN
 *   OFP8_F_OVERFLOW               OFP8_OVERFLOW_...: what overflow gives where nothing clamps
 *   OFP8_F_HAS_ZERO               1 if code 0 is zero, with evenly spaced values above it
 *   OFP8_F_HAS_NEGATIVE_ZERO      1 if there is a zero of each sign
 *   OFP8_F_HAS_INFINITY           1 if there is an infinity
 *   OFP8_F_HAS_NAN                1 if there is a NaN
 *   OFP8_F_HAS_NEGATIVE_NAN       1 if there is a NaN of each sign
 *   OFP8_F_CODE_MASK              the bits that a code uses
 *   OFP8_F_SIGN_MASK              the sign bit; 0 without one
 *   OFP8_F_MAGNITUDE_MASK         the others
 *   OFP8_F_MIN_EXPONENT           exponent of the lowest binade: smaller values are spaced as in it
 *   OFP8_F_MAX_EXPONENT           exponent of the largest value (emax of the MX specification)
 *   OFP8_F_MAX_MAGNITUDE          magnitude of the largest value (a magnitude is a code without
 *                                 its sign)
 *   OFP8_F_MIN_NORMAL_MAGNITUDE   magnitude of the smallest normal value
 *   OFP8_F_INFINITY_MAGNITUDE     magnitude of infinity; without one, of the largest value
 *   OFP8_F_NAN_CODE               the canonical NaN; without one, the largest value
 *
 * and of a format, as the bits of an f32:
 *
 *   OFP8_F_MAX_F32_BITS           the largest value
 *   OFP8_F_MIN_NORMAL_F32_BITS    the smallest normal value
 *   OFP8_F_MIN_POSITIVE_F32_BITS  the smallest value above zero
 *   OFP8_F_OVERFLOW_F32_BITS      the smallest f32 that overflows at nearest-even
 *
 * OFP8_FOR_EACH_FORMAT(X) and OFP8_FOR_EACH_TYPE(X) expand X(E4M3) X(E5M2) ... and X(F32) ...
 */
#ifndef OFP8_CONSTANTS_H
#define OFP8_CONSTANTS_H
";

/// The whole header.
pub fn text() -> String {
    let mut out = HEAD.to_string();
    policies(&mut out);
    kinds(&mut out);
    let types = FloatType::ALL
        .iter()
        .map(|&float| (float.spec().name.to_uppercase(), float.spec(), "ull"));
    let formats = Format::ALL
        .iter()
        .map(|&format| (format.spec().name.to_uppercase(), format.spec(), "u"));
    for_each(&mut out, "FORMAT", formats.clone().map(|(name, ..)| name));
    for_each(&mut out, "TYPE", types.clone().map(|(name, ..)| name));
    for ((name, spec, suffix), &float) in types.zip(FloatType::ALL) {
        section(&mut out, &format!("Type {}.", spec.name));
        define(&mut out, &name, format!("{}u", float as u32));
        row(&mut out, &name, spec, suffix);
    }
    for ((name, spec, suffix), &format) in formats.zip(Format::ALL) {
        section(&mut out, &format!("Format {}.", spec.name));
        define(&mut out, &name, format!("{}u", format as u32));
        row(&mut out, &name, spec, suffix);
        values(&mut out, &name, format);
    }
    out + "\n#endif\n"
}

fn policies(out: &mut String) {
    section(out, "Roundings.");
    for rounding in (0..).map_while(rounding) {
        define(out, &name(rounding), format!("{}u", rounding.number()));
    }
    section(out, "Saturations.");
    for saturation in (0..).map_while(Saturation::from_number) {
        let name = format!("SATURATE_{}", name(saturation));
        define(out, &name, format!("{}u", saturation.number()));
    }
    section(out, "What a NaN input becomes.");
    for nan in (0..).map_while(NanPolicy::from_number) {
        define(
            out,
            &format!("NAN_{}", name(nan)),
            format!("{}u", nan.number()),
        );
    }
    section(out, "Packings of codes narrower than a byte.");
    for packing in (1..).map_while(Packing::from_number) {
        define(
            out,
            &format!("PACKING_{}", name(packing)),
            format!("{}u", packing.number()),
        );
    }
}

/// The rounding with a number, whether it needs random bits or not.
fn rounding(number: u32) -> Option<Rounding> {
    Rounding::from_number(number, 0).or(Rounding::from_number(number, 1))
}

fn kinds(out: &mut String) {
    section(out, "How a format stores the sign.");
    for sign in [
        Sign::Bit,
        Sign::TwosComplement,
        Sign::Dropped,
        Sign::OutOfRange,
    ] {
        define(out, sign_name(sign), format!("{}u", sign as u32));
    }
    section(
        out,
        "Which codes are NaN: none, all-ones magnitudes, that of -0, all above infinity.",
    );
    let nan_codes = [
        NanCodes::None,
        NanCodes::AllOnes,
        NanCodes::NegativeZero,
        NanCodes::AboveInfinity,
    ];
    for nan in nan_codes {
        define(out, nan_codes_name(nan), format!("{}u", nan as u32));
    }
    section(out, "What overflow gives where nothing clamps.");
    for overflow in [Overflow::Nan, Overflow::Infinity, Overflow::Maximum] {
        define(
            out,
            overflow_name(overflow),
            format!("{}u", overflow as u32),
        );
    }
}

fn sign_name(sign: Sign) -> &'static str {
    match sign {
        Sign::Bit => "SIGN_BIT",
        Sign::TwosComplement => "SIGN_TWOS_COMPLEMENT",
        Sign::Dropped => "SIGN_DROPPED",
        Sign::OutOfRange => "SIGN_OUT_OF_RANGE",
    }
}

/// Which of the codes above infinity is canonical shows in `NAN_CODE`.
fn nan_codes_name(nan: NanCodes) -> &'static str {
    match nan {
        NanCodes::None => "NAN_CODES_NONE",
        NanCodes::AllOnes => "NAN_CODES_ALL_ONES",
        NanCodes::NegativeZero => "NAN_CODES_NEGATIVE_ZERO",
        NanCodes::AboveInfinity | NanCodes::AboveInfinityQuiet => "NAN_CODES_ABOVE_INFINITY",
    }
}

fn overflow_name(overflow: Overflow) -> &'static str {
    match overflow {
        Overflow::Nan => "OVERFLOW_NAN",
        Overflow::Infinity => "OVERFLOW_INFINITY",
        Overflow::Maximum => "OVERFLOW_MAXIMUM",
    }
}

fn for_each(out: &mut String, what: &str, names: impl Iterator<Item = String>) {
    section(out, &format!("Every {}.", what.to_lowercase()));
    write!(out, "#define OFP8_FOR_EACH_{what}(X)").unwrap();
    for name in names {
        write!(out, " \\\n    X({name})").unwrap();
    }
    out.push('\n');
}

/// What the row states and what follows from it.
fn row(out: &mut String, name: &str, spec: &Spec, suffix: &str) {
    let max = spec.max_magnitude();
    let mut number = |what: &str, value: i64| {
        let value = if value < 0 {
            format!("({value})")
        } else {
            value.to_string()
        };
        define(out, &format!("{name}_{what}"), value);
    };
    number("BITS", spec.bits.into());
    number("EXPONENT_BITS", spec.exponent_bits.into());
    number("MANTISSA_BITS", spec.mantissa_bits.into());
    number("BIAS", spec.bias.into());
    number("MIN_EXPONENT", spec.min_exponent().into());
    number("MAX_EXPONENT", spec.max_exponent().into());
    number("HAS_ZERO", spec.zero.into());
    number("HAS_NEGATIVE_ZERO", spec.has_negative_zero().into());
    number("HAS_INFINITY", spec.infinity.into());
    number("HAS_NAN", spec.has_nan().into());
    number("HAS_NEGATIVE_NAN", spec.has_negative_nan().into());
    let kinds = [
        ("SIGN", sign_name(spec.sign)),
        ("NAN_CODES", nan_codes_name(spec.nan)),
        ("OVERFLOW", overflow_name(spec.overflow)),
    ];
    for (what, kind) in kinds {
        define(out, &format!("{name}_{what}"), format!("OFP8_{kind}"));
    }
    let mut code = |what: &str, value: u64| {
        let digits = spec.bits.div_ceil(4) as usize;
        define(
            out,
            &format!("{name}_{what}"),
            format!("0x{value:0digits$X}{suffix}"),
        );
    };
    code("CODE_MASK", spec.code_mask());
    code("SIGN_MASK", spec.sign_mask());
    code("MAGNITUDE_MASK", spec.magnitude_mask());
    code("MAX_MAGNITUDE", max);
    code("MIN_NORMAL_MAGNITUDE", spec.min_normal_magnitude());
    code(
        "INFINITY_MAGNITUDE",
        spec.infinity_magnitude().unwrap_or(max),
    );
    code("NAN_CODE", spec.nan_code().unwrap_or(max));
}

fn values(out: &mut String, name: &str, format: Format) {
    let spec = format.spec();
    let decode = |magnitude: u64| scalar::decode_f32(format, magnitude as u8);
    let values = [
        ("MAX", decode(spec.max_magnitude())),
        ("MIN_NORMAL", decode(spec.min_normal_magnitude())),
        ("MIN_POSITIVE", decode(spec.min_positive_magnitude())),
        ("OVERFLOW", overflow_threshold(format)),
    ];
    for (what, value) in values {
        let bits = value.to_bits();
        let value = format!(
            "0x{bits:08X}u /* {} = {} */",
            hexadecimal(value),
            decimal(value)
        );
        define(out, &format!("{name}_{what}_F32_BITS"), value);
    }
}

/// A positive `f32` as a hexadecimal floating constant of C.
fn hexadecimal(value: f32) -> String {
    let wide = f64::from(value).to_bits();
    let exponent = (wide >> 52) as i64 - 1023;
    let digits = format!("{:013x}", wide & ((1 << 52) - 1));
    match digits.trim_end_matches('0') {
        "" => format!("0x1p{exponent:+}"),
        digits => format!("0x1.{digits}p{exponent:+}"),
    }
}

fn section(out: &mut String, title: &str) {
    write!(out, "\n/* {title} */\n").unwrap();
}

fn define(out: &mut String, name: &str, value: String) {
    let name = format!("OFP8_{name}");
    writeln!(out, "#define {name:<43} {value}").unwrap();
}

/// `StochasticA(..)` as `STOCHASTIC_A`, `Fp4LowFirst` as `FP4_LOW_FIRST`.
fn name(variant: impl Debug) -> String {
    let variant = format!("{variant:?}");
    let variant = variant.split('(').next().unwrap();
    let mut name = String::new();
    for letter in variant.chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(letter.to_uppercase());
    }
    name
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of formats, for the README and the documentation.

use std::fmt::Write;

use ofp8::scalar::{self, Value};
use ofp8::spec::Overflow;
use ofp8::{FloatType, Format, Rounding, Spec};

const PAGE_HEAD: &str = "\
<!-- SPDX-License-Identifier: MIT OR Apache-2.0 -->
<!-- Generated from src/spec.rs by tests/generated; do not edit. -->
# Formats

";

const LEGEND: &str = "
Names are Rust's; C and C++ have them in capitals (`Format::E4M3Fnuz`, `OFP8_E4M3FNUZ`,
`ofp8::Format::E4M3FNUZ`). Codes narrower than a byte lie in the low bits. *Overflows from* is the
smallest `f32` magnitude that rounding to nearest-even takes beyond the largest value; *overflow
gives* is what such a value becomes under `Saturation::None` (under the default, `Finite`, it is
always the largest value).
E8M0 has no zero and no subnormals. It, UE4M3 and UE5M3 drop the sign: -2 is stored as 2. The
unsigned Binary8 formats take a negative value for one below their range: 0, under
`Saturation::None` NaN. MX INT8 is fixed point, so that all its values are
normal; its code 0x80 decodes to -2, which no encoding gives. The Binary8 formats are those of IEEE
P3109, an unapproved draft (v4.0, June 2026).
";

/// `docs/formats.md`.
pub fn page() -> String {
    format!("{PAGE_HEAD}{}", text())
}

/// The table and what it means.
pub fn text() -> String {
    let mut out = String::from(
        "| format | bits | largest | smallest normal | smallest subnormal | zeros | infinities \
         | NaN | overflows from | overflow gives |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for &format in Format::ALL {
        row(&mut out, format);
    }
    out + LEGEND
}

fn row(out: &mut String, format: Format) {
    let spec = format.spec();
    let value = |magnitude: u64| number(scalar::decode_f32(format, magnitude as u8));
    let subnormal = match spec.has_subnormals() {
        true => value(spec.min_positive_magnitude()),
        false => NONE.to_string(),
    };
    let threshold = overflow_threshold(format);
    let overflow = match spec.overflow {
        Overflow::Nan => "NaN",
        Overflow::Infinity => "infinity",
        Overflow::Maximum => "largest",
    };
    let is_zero = |code| matches!(scalar::decode(spec, code), Value::Zero { .. });
    writeln!(
        out,
        "| {} | {} | {} | {} | {subnormal} | {} | {} | {} | {} (0x{:08X}) | {overflow} |",
        spec.name,
        layout(spec),
        value(spec.max_magnitude()),
        value(spec.min_normal_magnitude()),
        codes(spec, is_zero),
        codes(spec, |code| spec.is_infinite(code)),
        codes(spec, |code| spec.is_nan(code)),
        number(threshold),
        threshold.to_bits(),
    )
    .unwrap();
}

/// What stands where a format has nothing to show.
const NONE: &str = "-";

/// The width, and of it the sign, exponent and mantissa fields.
fn layout(spec: &Spec) -> String {
    if spec.is_fixed_point() {
        return format!("{} (two's complement)", spec.bits);
    }
    let sign = spec.bits - spec.exponent_bits - spec.mantissa_bits;
    format!(
        "{} ({sign}-{}-{})",
        spec.bits, spec.exponent_bits, spec.mantissa_bits
    )
}

/// The smallest `f32` that overflows at nearest-even, by bisection: rounding is monotonic.
pub fn overflow_threshold(format: Format) -> f32 {
    let spec = format.spec();
    let overflows = |bits: u32| match scalar::decode(FloatType::F32.spec(), bits.into()) {
        Value::Finite {
            exponent,
            significand,
            ..
        } => {
            let rounding = Rounding::NearestEven;
            let rounded = scalar::round_magnitude(spec, rounding, false, exponent, significand, 0);
            rounded > spec.max_magnitude()
        }
        _ => false,
    };
    let (mut low, mut high) = (0, f32::MAX.to_bits());
    assert!(overflows(high), "f32 is wider than {}", spec.name);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match overflows(middle) {
            true => high = middle,
            false => low = middle,
        }
    }
    f32::from_bits(high)
}

/// A positive number, shortly: powers of two far from one as such.
fn number(value: f32) -> String {
    let wide = f64::from(value).to_bits();
    let exponent = (wide >> 52) as i32 - 1023;
    if wide << 12 == 0 && !(-3..=16).contains(&exponent) {
        return format!("2^{exponent}");
    }
    decimal(value)
}

/// The shortest decimal that is this `f32`, but every digit of a whole number that is not long.
pub fn decimal(value: f32) -> String {
    match value {
        _ if value.fract() == 0.0 && value < 1e12 => f64::from(value).to_string(),
        1e-3..1e6 => value.to_string(),
        _ => format!("{value:e}"),
    }
}

/// The codes with a property, runs as ranges.
fn codes(spec: &Spec, has: impl Fn(u64) -> bool) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for code in (0..=spec.code_mask()).filter(|&code| has(code)) {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == code => *last = code,
            _ => runs.push((code, code)),
        }
    }
    let runs = runs.iter().map(|&(first, last)| match first == last {
        true => format!("0x{first:02X}"),
        false => format!("0x{first:02X} to 0x{last:02X}"),
    });
    let text = runs.collect::<Vec<_>>().join(", ");
    if text.is_empty() {
        NONE.to_string()
    } else {
        text
    }
}

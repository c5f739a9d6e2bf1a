// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the types forward to: constants, predicates, order and neighbours of a code.

use core::cmp::Ordering;
use core::num::FpCategory;

use crate::policy::Cast;
use crate::scalar::{Value, decode, encode};
use crate::spec::{Format, Sign, Spec};

pub(super) const fn max(format: Format) -> u8 {
    format.spec().max_magnitude() as u8
}

pub(super) const fn min(format: Format) -> u8 {
    let spec = format.spec();
    match spec.sign {
        Sign::Bit => spec.join(true, spec.max_magnitude()) as u8,
        Sign::TwosComplement => spec.sign_mask() as u8,
        Sign::Dropped | Sign::OutOfRange => 0,
    }
}

pub(super) const fn min_positive(format: Format) -> u8 {
    format.spec().min_normal_magnitude() as u8
}

pub(super) const fn min_positive_subnormal(format: Format) -> u8 {
    format.spec().min_positive_magnitude() as u8
}

pub(super) const fn one(format: Format) -> u8 {
    encode(format.spec(), Cast::DEFAULT, Value::from_i64(1), 0) as u8
}

pub(super) const fn epsilon(format: Format) -> u8 {
    let spec = format.spec();
    let binade_of_one = if spec.min_exponent() > 0 {
        spec.min_exponent()
    } else {
        0
    };
    let ulp = Value::new(false, 1, binade_of_one - spec.mantissa_bits as i32);
    encode(spec, Cast::DEFAULT, ulp, 0) as u8
}

pub(super) const fn nan(format: Format) -> u8 {
    match format.spec().nan_code() {
        Some(code) => code as u8,
        None => panic!("the format has no NaN"),
    }
}

pub(super) const fn infinity(format: Format, negative: bool) -> u8 {
    match format.spec().infinity_magnitude() {
        Some(magnitude) => format.spec().join(negative, magnitude) as u8,
        None => panic!("the format has no infinity"),
    }
}

/// Stops the compiler where the parts a type is declared with are not those its row has.
pub(super) const fn check_parts(format: Format, parts: &[&str]) {
    let spec = format.spec();
    assert!(has(parts, "signed") == spec.is_signed());
    assert!(has(parts, "zero") == spec.zero);
    assert!(has(parts, "subnormal") == spec.has_subnormals());
    assert!(has(parts, "nan") == spec.has_nan());
    assert!(has(parts, "infinity") == spec.infinity);
    assert!(has(parts, "negative_infinity") == (spec.infinity && spec.is_signed()));
}

const fn has(parts: &[&str], part: &str) -> bool {
    let mut i = 0;
    while i < parts.len() {
        if equal(parts[i].as_bytes(), part.as_bytes()) {
            return true;
        }
        i += 1;
    }
    false
}

/// `==` of slices is not `const` yet.
const fn equal(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

pub(super) const fn classify(format: Format, code: u8) -> FpCategory {
    let spec = format.spec();
    let (_, magnitude) = spec.split(code as u64);
    match decode(spec, code as u64) {
        Value::Nan { .. } => FpCategory::Nan,
        Value::Infinite { .. } => FpCategory::Infinite,
        Value::Zero { .. } => FpCategory::Zero,
        Value::Finite { .. } if magnitude < spec.min_normal_magnitude() => FpCategory::Subnormal,
        Value::Finite { .. } => FpCategory::Normal,
    }
}

pub(super) const fn is_negative(format: Format, code: u8) -> bool {
    match decode(format.spec(), code as u64) {
        Value::Nan { negative }
        | Value::Infinite { negative }
        | Value::Zero { negative }
        | Value::Finite { negative, .. } => negative,
    }
}

/// The code with its sign replaced, where the format has the result. It is an operation on bits,
/// as IEEE 754 has `abs` and `negate`: the payload of a NaN stays.
pub(super) const fn with_sign(format: Format, code: u8, negative: bool) -> u8 {
    let spec = format.spec();
    if spec.is_nan(code as u64) && !spec.has_negative_nan() {
        return code;
    }
    let (_, magnitude) = spec.split(code as u64);
    let two = matches!(spec.sign, Sign::TwosComplement) && magnitude > spec.max_magnitude();
    let magnitude = if two && !negative {
        spec.max_magnitude()
    } else {
        magnitude
    };
    spec.join(negative, magnitude) as u8
}

/// The place of a value among the others: the magnitude with its sign. The order of places is the
/// order of values, both zeros are at 0, and neighbours are 1 apart.
const fn place(spec: &Spec, code: u8) -> i32 {
    let (negative, magnitude) = spec.split(code as u64);
    if negative {
        -(magnitude as i32)
    } else {
        magnitude as i32
    }
}

pub(super) const fn partial_cmp(format: Format, a: u8, b: u8) -> Option<Ordering> {
    let spec = format.spec();
    if spec.is_nan(a as u64) || spec.is_nan(b as u64) {
        return None;
    }
    Some(compare(place(spec, a), place(spec, b)))
}

pub(super) const fn total_cmp(format: Format, a: u8, b: u8) -> Ordering {
    compare(total_place(format, a), total_place(format, b))
}

/// As [`place`], with -0 just below 0 and NaN beyond all numbers.
const fn total_place(format: Format, code: u8) -> i32 {
    let spec = format.spec();
    let (_, magnitude) = spec.split(code as u64);
    if spec.is_nan(code as u64) && !spec.has_negative_nan() {
        return spec.code_mask() as i32 + 1;
    }
    if is_negative(format, code) {
        -1 - magnitude as i32
    } else {
        magnitude as i32
    }
}

/// `Ord::cmp` of integers is not `const` yet.
const fn compare(a: i32, b: i32) -> Ordering {
    if a < b {
        Ordering::Less
    } else if a > b {
        Ordering::Greater
    } else {
        Ordering::Equal
    }
}

/// The neighbour above or below; NaN and the outermost value stay as they are.
pub(super) const fn step(format: Format, code: u8, up: bool) -> u8 {
    let spec = format.spec();
    let beyond = match spec.infinity_magnitude() {
        Some(infinity) => infinity as i32,
        None => spec.max_magnitude() as i32,
    };
    let (least, greatest) = match spec.sign {
        Sign::Bit => (-beyond, beyond),
        Sign::TwosComplement => (place(spec, min(format)), beyond),
        Sign::Dropped | Sign::OutOfRange => (0, beyond),
    };
    let from = place(spec, code);
    let last = if up { greatest } else { least };
    if spec.is_nan(code as u64) || from == last {
        return code;
    }
    let to = if up { from + 1 } else { from - 1 };
    // A step onto zero keeps the sign it comes from, as IEEE 754 `nextUp` does.
    let negative = to < 0 || (to == 0 && from < 0);
    spec.join(negative, to.unsigned_abs() as u64) as u8
}

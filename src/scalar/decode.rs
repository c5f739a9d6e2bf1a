// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a code to the exact value it stands for.

use crate::spec::Spec;

/// An exact number, or what stands beside the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Zero; the sign is kept.
    Zero {
        /// Whether it is -0.
        negative: bool,
    },
    /// `significand * 2^(exponent - 63)` with bit 63 of the significand set, so that `exponent`
    /// is `floor(log2 |x|)`.
    Finite {
        /// Whether it is below zero.
        negative: bool,
        /// The exponent of the leading bit.
        exponent: i32,
        /// The significand, its leading bit in bit 63.
        significand: u64,
    },
    /// An infinity.
    Infinite {
        /// Whether it is minus infinity.
        negative: bool,
    },
    /// Not a number; the sign is kept, a payload is not.
    Nan {
        /// Whether the sign bit is set.
        negative: bool,
    },
}

impl Value {
    /// The number `+-integer * 2^exponent`.
    #[inline(always)]
    pub const fn new(negative: bool, integer: u64, exponent: i32) -> Value {
        if integer == 0 {
            return Value::Zero { negative };
        }
        let shift = integer.leading_zeros();
        Value::Finite {
            negative,
            exponent: exponent + 63 - shift as i32,
            significand: integer << shift,
        }
    }

    /// Times 2^`power`, exactly.
    #[inline(always)]
    pub const fn shifted(self, power: i32) -> Value {
        match self {
            Value::Finite {
                negative,
                exponent,
                significand,
            } => Value::Finite {
                negative,
                exponent: exponent + power,
                significand,
            },
            other => other,
        }
    }

    /// The integer `value`.
    #[inline(always)]
    pub const fn from_i64(value: i64) -> Value {
        Value::new(value < 0, value.unsigned_abs(), 0)
    }
}

/// The exact value of a code. Bits above its width are ignored.
#[inline(always)]
pub const fn decode(spec: &Spec, code: u64) -> Value {
    let code = code & spec.code_mask();
    if spec.is_nan(code) {
        let negative = spec.has_negative_nan() && spec.is_negative(code);
        return Value::Nan { negative };
    }
    let (negative, magnitude) = spec.split(code);
    if spec.is_infinite(code) {
        return Value::Infinite { negative };
    }
    let field = (magnitude >> spec.mantissa_bits) as i32;
    let fraction = magnitude & spec.mantissa_mask();
    let (integer, exponent) = if field == 0 && spec.zero {
        (fraction, spec.min_exponent())
    } else {
        (fraction | 1 << spec.mantissa_bits, field - spec.bias)
    };
    Value::new(negative, integer, exponent - spec.mantissa_bits as i32)
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a kernel knows about a format and a cast: one set of run-time constants for all of them.

use crate::policy::Cast;
use crate::scalar::{self, Value};
use crate::spec::{Format, Sign, Spec};

/// Mantissa bits of `f32`, the type that lanes hold.
pub(super) const F32_MANTISSA_BITS: u32 = 23;
/// Exponent bias of `f32`.
pub(super) const F32_BIAS: i32 = 127;

/// The constants of one encoding. Codes of special values come from the scalar reference, so that
/// no rule is written twice. Where there are two, the second is for a negative input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Params {
    /// The row.
    pub spec: &'static Spec,
    /// Rounding, saturation, NaN handling.
    pub cast: Cast,
    /// Mantissa bits of the format.
    pub mantissa_bits: u32,
    /// The `f32` exponent field of the smallest normal value.
    pub min_field: u32,
    /// Bits of an `f32` significand below one ulp of a normal value.
    pub discarded: u32,
    /// What a magnitude is less than the count of ulps: 1 in E8M0, which has no zero.
    pub below_first: u32,
    /// The largest finite magnitude.
    pub max: u32,
    /// The largest magnitude a value of that sign may round to.
    pub limit: [u32; 2],
    /// The bit of an input that is its sign; 0 where the format drops it.
    pub source_sign: u32,
    /// A negative code is `(magnitude ^ flip) - borrow`, cut to `code_mask`.
    pub flip: u32,
    /// See `flip`: all ones for two's complement, else 0.
    pub borrow: u32,
    /// The bits that a code uses.
    pub code_mask: u32,
    /// All ones where zero has a sign, else 0.
    pub signed_zero: u32,
    /// The code of a finite value beyond `limit`.
    pub overflow: [u32; 2],
    /// The code of an infinity.
    pub infinite: [u32; 2],
    /// The code of NaN.
    pub nan: [u32; 2],
}

impl Params {
    pub(super) const fn new(format: Format, cast: Cast) -> Params {
        let spec = format.spec();
        let max = spec.max_magnitude() as u32;
        let (flip, borrow) = match spec.sign {
            Sign::Bit => (spec.sign_mask() as u32, 0),
            Sign::TwosComplement => (u32::MAX, u32::MAX),
            Sign::Dropped | Sign::OutOfRange => (0, 0),
        };
        Params {
            spec,
            cast,
            mantissa_bits: spec.mantissa_bits,
            min_field: (spec.min_exponent() + F32_BIAS) as u32,
            discarded: F32_MANTISSA_BITS - spec.mantissa_bits,
            below_first: if spec.zero {
                0
            } else {
                1 << spec.mantissa_bits
            },
            max,
            limit: [
                max,
                match spec.sign {
                    Sign::OutOfRange => 0,
                    _ => max,
                },
            ],
            source_sign: match spec.sign {
                Sign::Dropped => 0,
                _ => 1 << 31,
            },
            flip,
            borrow,
            code_mask: spec.code_mask() as u32,
            signed_zero: if spec.has_negative_zero() {
                u32::MAX
            } else {
                0
            },
            overflow: both(spec, cast, Special::Overflow),
            infinite: both(spec, cast, Special::Infinite),
            nan: both(spec, cast, Special::Nan),
        }
    }
}

enum Special {
    Overflow,
    Infinite,
    Nan,
}

/// The codes of a special value of either sign, asked from the reference.
const fn both(spec: &Spec, cast: Cast, special: Special) -> [u32; 2] {
    const BEYOND_ANY_FORMAT: i32 = 1024;
    let mut codes = [0; 2];
    let mut i = 0;
    while i < 2 {
        let negative = i == 1;
        let value = match special {
            Special::Overflow => Value::Finite {
                negative,
                exponent: BEYOND_ANY_FORMAT,
                significand: 1 << 63,
            },
            Special::Infinite => Value::Infinite { negative },
            Special::Nan => Value::Nan { negative },
        };
        codes[i] = scalar::encode(spec, cast, value, 0) as u32;
        i += 1;
    }
    codes
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the amax of a block to its scale.

use super::{Convention, ExponentRule, Recipe, Scaling, Special};
use crate::kernel::{self, Factor};
use crate::scalar::{self, Value};
use crate::spec::{FloatType, Format, Spec};
use crate::stats::Amax;

/// The scale of one block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockScale {
    /// What a decoded element is multiplied by. For E8M0 scales, the value of the byte.
    pub dequantize: f32,
    /// How an element is divided by it.
    pub(crate) factor: Factor,
}

impl BlockScale {
    /// The scale of a poisoned block.
    const NAN: BlockScale = BlockScale {
        dequantize: f32::NAN,
        factor: Factor::Multiply(f32::NAN),
    };

    /// The power of two with this E8M0 code, applied as an exact shift.
    pub(crate) const fn from_e8m0(code: u8) -> BlockScale {
        BlockScale {
            dequantize: scalar::decode_f32(Format::E8M0, code),
            factor: Factor::Shift(Format::E8M0.spec().bias - code as i32),
        }
    }

    /// The E8M0 byte of the scale: exact for what E8M0 scaling makes.
    pub const fn e8m0(&self) -> u8 {
        let cast = crate::policy::Cast::DEFAULT;
        scalar::encode_f32(Format::E8M0, cast, self.dequantize, 0)
    }

    /// Whether the block is poisoned.
    pub const fn is_nan(&self) -> bool {
        self.dequantize.is_nan()
    }
}

/// The largest E8M0 code that is a number: 2^127.
const E8M0_MAX: i32 = Format::E8M0.spec().max_magnitude() as i32;

impl Recipe {
    /// The scale of a block with this amax.
    ///
    /// An amax that is infinite or NaN gives what [`Special`] says; under [`Special::Ignore`],
    /// where the finite amax is not known here, it poisons.
    pub fn scale(&self, amax: Amax) -> BlockScale {
        kernel::with_default_environment(|| self.scale_here(amax))
    }

    /// [`Recipe::scale`] for callers that have set the floating-point environment.
    pub(crate) fn scale_here(&self, amax: Amax) -> BlockScale {
        if !amax.is_finite() {
            return match self.special {
                Special::Poison | Special::Ignore => BlockScale::NAN,
                Special::Clamp => self.largest(),
            };
        }
        let amax = amax.to_f32().max(self.epsilon).min(self.amax_bound);
        match self.scaling {
            Scaling::F32(convention) => self.f32_scale(convention, amax),
            Scaling::PowerOfTwo(_) if amax == 0.0 => BlockScale::from_e8m0(127),
            Scaling::PowerOfTwo(rule) | Scaling::E8M0(rule) => {
                BlockScale::from_e8m0(self.exponent_code(rule, amax))
            }
        }
    }

    /// The largest scale there is.
    fn largest(&self) -> BlockScale {
        match self.scaling {
            Scaling::F32(convention) => divide_by(convention, f32::MAX),
            _ => BlockScale::from_e8m0(E8M0_MAX as u8),
        }
    }

    /// The E8M0 code for a finite amax by an integer rule; zero gives the smallest.
    fn exponent_code(&self, rule: ExponentRule, amax: f32) -> u8 {
        let f32_row = FloatType::F32.spec();
        let Value::Finite {
            exponent,
            significand,
            ..
        } = scalar::decode(f32_row, amax.to_bits() as u64)
        else {
            return 0;
        };
        let spec = self.element.spec();
        let carry = match rule {
            ExponentRule::Floor => false,
            ExponentRule::Ceil => significand != 1 << 63,
            ExponentRule::Even => significand.checked_add(half_ulp(spec)).is_none(),
            ExponentRule::RoundUp => significand > max_significand(spec),
        };
        let power = exponent - spec.max_exponent() + carry as i32 + self.margin;
        (power + Format::E8M0.spec().bias).clamp(0, E8M0_MAX) as u8
    }

    /// The f32 scale for a finite amax.
    fn f32_scale(&self, convention: Convention, amax: f32) -> BlockScale {
        if amax == 0.0 {
            return BlockScale {
                dequantize: 1.0,
                factor: Factor::Multiply(1.0),
            };
        }
        let spec = self.element.spec();
        let max = scalar::decode_f32(self.element, spec.max_magnitude() as u8);
        // Exact: the margin is small against the range of f32.
        let max = max * power_of_two(-self.margin);
        match convention {
            Convention::TransformerEngine => {
                // A large margin takes the quotient down to where its reciprocal overflows, and
                // on to zero, which would lose the block: the largest scale has a reciprocal.
                let quantize = (max / amax).clamp(1.0 / f32::MAX, f32::MAX);
                BlockScale {
                    dequantize: (1.0 / quantize).min(f32::MAX),
                    factor: Factor::Multiply(quantize),
                }
            }
            Convention::DeepSeek | Convention::DeepGemm => divide_by(convention, amax / max),
        }
    }
}

/// The scale that is stored as `scale`, brought into the range in which its use stays finite.
fn divide_by(convention: Convention, scale: f32) -> BlockScale {
    let scale = scale.min(f32::MAX);
    match convention {
        Convention::TransformerEngine => BlockScale {
            dequantize: scale,
            factor: Factor::Multiply(1.0 / scale),
        },
        Convention::DeepSeek => {
            let dequantize = scale.max(f32::from_bits(1));
            BlockScale {
                dequantize,
                factor: Factor::Divide(dequantize),
            }
        }
        Convention::DeepGemm => {
            let dequantize = scale.max(f32::MIN_POSITIVE);
            BlockScale {
                dequantize,
                factor: Factor::Multiply(1.0 / dequantize),
            }
        }
    }
}

/// 2^`power` for a power that is normal in f32.
const fn power_of_two(power: i32) -> f32 {
    f32::from_bits(((power + f32::MAX_EXP - 1) as u32) << (f32::MANTISSA_DIGITS - 1))
}

/// Half an ulp of an element, against a significand with its leading bit in bit 63.
const fn half_ulp(spec: &Spec) -> u64 {
    1 << (62 - element_mantissa_bits(spec))
}

/// The mantissa width of the top binade: for fixed point, what lies below the top bit.
const fn element_mantissa_bits(spec: &Spec) -> u32 {
    if spec.exponent_bits == 0 {
        spec.mantissa_bits - 1
    } else {
        spec.mantissa_bits
    }
}

/// The significand of the largest value, its leading bit in bit 63.
const fn max_significand(spec: &Spec) -> u64 {
    match scalar::decode(spec, spec.max_magnitude()) {
        Value::Finite { significand, .. } => significand,
        _ => u64::MAX,
    }
}

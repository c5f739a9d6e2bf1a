// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the amax of a block to its scale.

use super::batch::PowerRule;
use super::{Convention, ExponentRule, Recipe, Scaling, Special};
use crate::kernel::{self, Factor};
use crate::policy::Cast;
use crate::scalar::{self, Value};
use crate::spec::{FloatType, Format, Spec};
use crate::stats::Amax;

/// The scale of one block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockScale {
    /// What a decoded element is multiplied by.
    pub dequantize: f32,
    /// The byte that is stored, where the scale is one: E8M0, or the format of a block's scale
    /// under two levels. 0 for f32 scales that are no power of two.
    pub code: u8,
    /// How an element is divided by it.
    pub(crate) factor: Factor,
}

impl BlockScale {
    /// The scale of a poisoned block, with this byte.
    const fn nan(code: u8) -> BlockScale {
        BlockScale {
            dequantize: f32::NAN,
            code,
            factor: Factor::Multiply(f32::NAN),
        }
    }

    /// No scale.
    pub(super) const ONE: BlockScale = BlockScale::from_e8m0(E8M0_ONE as u8);

    /// The scale whose quantizing multiplier is given.
    pub(super) fn from_quantize(quantize: f32) -> BlockScale {
        let dequantize = (1.0 / quantize).min(f32::MAX);
        BlockScale::f32(dequantize, Factor::Multiply(quantize))
    }

    /// A scale that must be a power of two within E8M0's range.
    pub(super) fn from_power_of_two(dequantize: f32) -> Option<BlockScale> {
        let code = scalar::encode_f32(Format::E8M0, Cast::DEFAULT, dequantize, 0);
        let scale = BlockScale::from_e8m0(code);
        (scale.dequantize == dequantize).then_some(scale)
    }

    /// An f32 scale.
    const fn f32(dequantize: f32, factor: Factor) -> BlockScale {
        BlockScale {
            dequantize,
            code: 0,
            factor,
        }
    }

    /// An f32 scale by a convention.
    fn from_numbers(convention: Convention, numbers: Numbers) -> BlockScale {
        let factor = match convention {
            Convention::DeepSeek => Factor::Divide(numbers.by),
            Convention::TransformerEngine | Convention::DeepGemm => Factor::Multiply(numbers.by),
        };
        BlockScale::f32(numbers.stored, factor)
    }

    /// The power of two with this E8M0 code, applied as an exact shift.
    pub(crate) const fn from_e8m0(code: u8) -> BlockScale {
        BlockScale {
            dequantize: scalar::decode_f32(Format::E8M0, code),
            code,
            factor: Factor::Shift(E8M0_ONE - code as i32),
        }
    }

    /// Whether the block is poisoned.
    pub const fn is_nan(&self) -> bool {
        self.dequantize.is_nan()
    }
}

/// The largest E8M0 code that is a number: 2^127.
const E8M0_MAX: i32 = Format::E8M0.spec().max_magnitude() as i32;
/// The E8M0 code of 1.
pub(super) const E8M0_ONE: i32 = Format::E8M0.spec().bias;

impl Recipe {
    /// The scale of a block with this amax.
    ///
    /// An amax that is infinite or NaN gives what [`Special`] says; under [`Special::Ignore`],
    /// where the finite amax is not known here, it poisons.
    pub fn scale(&self, amax: Amax) -> BlockScale {
        kernel::with_default_environment(|| {
            let tensor = self.tensor_scale(self.tensor_amax.unwrap_or(amax));
            self.scale_here(&tensor, amax)
        })
    }

    /// [`Recipe::scale`] for callers that have set the floating-point environment.
    pub(crate) fn scale_here(&self, tensor: &TensorScale, amax: Amax) -> BlockScale {
        if !amax.is_finite() {
            return match self.special {
                Special::Poison | Special::Ignore => BlockScale::nan(self.nan_code()),
                Special::Clamp => self.largest(tensor),
            };
        }
        let amax = self.bounded(amax);
        match self.scaling {
            Scaling::F32(convention) => self.f32_scale(convention, amax),
            Scaling::PowerOfTwo(_) if amax == 0.0 => BlockScale::from_e8m0(E8M0_ONE as u8),
            Scaling::PowerOfTwo(rule) | Scaling::E8M0(rule) => {
                let largest = Largest::of(self.element.spec());
                BlockScale::from_e8m0(largest.exponent_code(rule, self.margin, Amax::of(amax)))
            }
            Scaling::TwoLevel(format) => {
                let reciprocal = 1.0 / largest_of(self.element);
                let scale = (amax * (tensor.quantize * reciprocal)).min(f32::MAX);
                tensor.block(format, scalar::encode_f32(format, Cast::DEFAULT, scale, 0))
            }
        }
    }

    /// A finite amax within the recipe's bounds.
    fn bounded(&self, amax: Amax) -> f32 {
        amax.to_f32().max(self.epsilon).min(self.amax_bound)
    }

    /// The scale of the tensor, for two levels.
    pub(crate) fn tensor_scale(&self, amax: Amax) -> TensorScale {
        let Scaling::TwoLevel(format) = self.scaling else {
            return TensorScale::ONE;
        };
        if !amax.is_finite() {
            return TensorScale {
                quantize: f32::NAN,
                dequantize: f32::NAN,
            };
        }
        let amax = self.bounded(amax);
        if amax == 0.0 {
            return TensorScale::ONE;
        }
        let range = largest_of(format) * self.largest_element();
        let quantize = (range / amax).min(f32::MAX);
        TensorScale {
            quantize,
            dequantize: 1.0 / quantize,
        }
    }

    /// The byte of a poisoned block's scale.
    fn nan_code(&self) -> u8 {
        let format = match self.scaling {
            Scaling::TwoLevel(format) => format,
            _ => Format::E8M0,
        };
        scalar::encode_f32(format, Cast::DEFAULT, f32::NAN, 0)
    }

    /// The largest scale there is.
    fn largest(&self, tensor: &TensorScale) -> BlockScale {
        match self.scaling {
            Scaling::F32(convention) => divide_by(convention, f32::MAX),
            Scaling::TwoLevel(format) => tensor.block(format, format.spec().max_magnitude() as u8),
            _ => BlockScale::from_e8m0(E8M0_MAX as u8),
        }
    }

    /// The largest element, less the margin. Exact: the margin is small against f32's range.
    pub(super) fn largest_element(&self) -> f32 {
        largest_of(self.element) * power_of_two(-self.margin)
    }

    /// [`Largest::exponent_code`] as numbers by which many are computed at once; `None` for the rules
    /// that are not of that kind, or where its short way with subnormals would not hold.
    pub(super) fn power_rule(&self, rule: ExponentRule) -> Option<PowerRule> {
        /// The implicit bit of an `f32`, and how far below that of a 64-bit significand it lies.
        const IMPLICIT: u32 = 1 << (f32::MANTISSA_DIGITS - 1);
        const BELOW: u32 = u64::BITS - f32::MANTISSA_DIGITS;
        let largest = Largest::of(self.element.spec());
        let carry = match rule {
            ExponentRule::Floor => 0,
            ExponentRule::Ceil => IMPLICIT - 1,
            ExponentRule::Even => (largest.half_ulp >> BELOW) as u32,
            ExponentRule::RoundUp => 2 * IMPLICIT - 1 - (largest.significand >> BELOW) as u32,
            ExponentRule::Nearest | ExponentRule::LeastError => return None,
        };
        let offset = self.margin - largest.exponent;
        (offset < 0).then_some(PowerRule {
            carry,
            offset,
            least: self.epsilon.to_bits(),
            most: self.amax_bound.to_bits(),
        })
    }

    /// The f32 scale for a finite amax.
    fn f32_scale(&self, convention: Convention, amax: f32) -> BlockScale {
        let numbers = numbers_from_amax(convention, self.largest_element(), amax);
        BlockScale::from_numbers(convention, numbers)
    }
}

/// The scale that is stored as `scale`, brought into the range in which its use stays finite.
pub(super) fn divide_by(convention: Convention, scale: f32) -> BlockScale {
    BlockScale::from_numbers(convention, numbers_from_scale(convention, scale))
}

/// An f32 scale by a convention.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    /// By what elements are divided, or multiplied.
    pub by: f32,
    /// What is stored.
    pub stored: f32,
}

/// From a finite amax; 1 from zero.
#[inline(always)]
pub(super) fn numbers_from_amax(convention: Convention, max: f32, amax: f32) -> Numbers {
    let Numbers { by, stored } = match convention {
        Convention::TransformerEngine => {
            // A large margin takes the quotient down to where its reciprocal overflows, and
            // on to zero, which would lose the block: the largest scale has a reciprocal.
            let by = (max / amax).clamp(1.0 / f32::MAX, f32::MAX);
            Numbers {
                by,
                stored: (1.0 / by).min(f32::MAX),
            }
        }
        Convention::DeepSeek | Convention::DeepGemm => numbers_from_scale(convention, amax / max),
    };
    let or_one = |number| if amax == 0.0 { 1.0 } else { number };
    Numbers {
        by: or_one(by),
        stored: or_one(stored),
    }
}

/// From what would be stored.
#[inline(always)]
fn numbers_from_scale(convention: Convention, scale: f32) -> Numbers {
    let scale = scale.min(f32::MAX);
    match convention {
        Convention::TransformerEngine => Numbers {
            by: (1.0 / scale).min(f32::MAX),
            stored: scale,
        },
        Convention::DeepSeek => {
            let scale = scale.max(f32::from_bits(1));
            Numbers {
                by: scale,
                stored: scale,
            }
        }
        Convention::DeepGemm => {
            let scale = scale.max(f32::MIN_POSITIVE);
            Numbers {
                by: 1.0 / scale,
                stored: scale,
            }
        }
    }
}

/// The scale of a tensor under two levels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorScale {
    /// What a block's scale is multiplied by before it is encoded.
    quantize: f32,
    /// What a decoded block scale is multiplied by.
    pub(crate) dequantize: f32,
}

impl TensorScale {
    /// No scale.
    pub(super) const ONE: TensorScale = TensorScale {
        quantize: 1.0,
        dequantize: 1.0,
    };

    /// The scale that is stored as `dequantize`.
    pub(super) fn from_dequantize(dequantize: f32) -> TensorScale {
        TensorScale {
            quantize: 1.0 / dequantize,
            dequantize,
        }
    }

    /// The block scale with this code.
    pub(super) fn block(&self, format: Format, code: u8) -> BlockScale {
        let dequantize = self.dequantize * scalar::decode_f32(format, code);
        BlockScale {
            dequantize,
            code: if dequantize.is_nan() {
                scalar::encode_f32(format, Cast::DEFAULT, f32::NAN, 0)
            } else {
                code
            },
            factor: Factor::Multiply((1.0 / dequantize).min(f32::MAX)),
        }
    }
}

/// The largest value of a format.
fn largest_of(format: Format) -> f32 {
    const NUMBERS: usize = u8::MAX as usize + 1;
    static LARGEST: [f32; NUMBERS] = {
        let mut largest = [f32::NAN; NUMBERS];
        let mut i = 0;
        while i < Format::ALL.len() {
            let format = Format::ALL[i];
            let max = format.spec().max_magnitude() as u8;
            largest[format as usize] = scalar::decode_f32(format, max);
            i += 1;
        }
        largest
    };
    LARGEST.get(format as usize).copied().unwrap_or(f32::NAN)
}

/// What the rules ask of an element format: its largest value, and half an ulp there.
#[derive(Clone, Copy)]
pub(super) struct Largest {
    /// `floor(log2)` of the largest value.
    exponent: i32,
    /// Its significand, the leading bit in bit 63.
    significand: u64,
    /// Half an ulp, against a significand with its leading bit in bit 63.
    half_ulp: u64,
}

impl Largest {
    /// Of a format.
    pub(super) const fn of(spec: &Spec) -> Largest {
        let significand = match scalar::decode(spec, spec.max_magnitude()) {
            Value::Finite { significand, .. } => significand,
            _ => u64::MAX,
        };
        Largest {
            exponent: spec.max_exponent(),
            significand,
            half_ulp: 1 << (62 - element_mantissa_bits(spec)),
        }
    }

    /// The E8M0 code of a scale for a finite amax by an integer rule; zero gives the smallest.
    #[inline(always)]
    pub(super) fn exponent_code(&self, rule: ExponentRule, margin: i32, amax: Amax) -> u8 {
        let f32_row = FloatType::F32.spec();
        let Value::Finite {
            exponent,
            significand,
            ..
        } = scalar::decode(f32_row, amax.to_bits() as u64)
        else {
            return 0;
        };
        let max = self.significand;
        let carry = match rule {
            ExponentRule::Floor => 0,
            ExponentRule::Ceil => (significand != 1 << 63) as i32,
            ExponentRule::Even => significand.checked_add(self.half_ulp).is_none() as i32,
            ExponentRule::RoundUp | ExponentRule::LeastError => (significand > max) as i32,
            ExponentRule::Nearest => nearest_carry(significand, max),
        };
        let power = exponent - self.exponent + carry + margin;
        (power + E8M0_ONE).clamp(0, E8M0_MAX) as u8
    }
}

/// The carry of [`ExponentRule::Nearest`]: the power of two nearest to the quotient of two
/// significands in [1, 2), half-way up, as an exponent: -1 below 3/4, 1 from 3/2 on, else 0.
const fn nearest_carry(significand: u64, max: u64) -> i32 {
    // Both come from f32 and from codes, with zeros in the low half.
    let (a, m) = (significand >> 32, max >> 32);
    (2 * a >= 3 * m) as i32 - (4 * a < 3 * m) as i32
}

/// 2^`power` for a power that is normal in f32.
const fn power_of_two(power: i32) -> f32 {
    f32::from_bits(((power + f32::MAX_EXP - 1) as u32) << (f32::MANTISSA_DIGITS - 1))
}

/// The mantissa width of the top binade: for fixed point, what lies below the top bit.
const fn element_mantissa_bits(spec: &Spec) -> u32 {
    if spec.exponent_bits == 0 {
        spec.mantissa_bits - 1
    } else {
        spec.mantissa_bits
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scales of many blocks at once, in vectors, where their rule is one for that: what
//! [`super::rule`] says of one block, for all whose amax is finite.

use super::rule::{Numbers, numbers_from_amax};
use super::{Convention, Recipe, Scaling};
use crate::kernel;

/// A rule for many blocks. The number by which the elements of a block are multiplied or divided is
/// NaN where its amax is not finite.
#[derive(Clone, Copy, Debug)]
pub(super) enum BatchRule {
    /// E8M0 codes.
    E8M0(PowerRule),
    /// f32 scales.
    F32(F32Rule),
}

/// The bits of infinity.
const INFINITY: u32 = f32::INFINITY.to_bits();
/// Mantissa bits of `f32`.
const MANTISSA_BITS: u32 = f32::MANTISSA_DIGITS - 1;

impl BatchRule {
    /// That of a recipe.
    pub fn new(recipe: &Recipe) -> Option<BatchRule> {
        match recipe.scaling {
            Scaling::E8M0(rule) => recipe.power_rule(rule).map(BatchRule::E8M0),
            Scaling::F32(convention) => Some(BatchRule::F32(F32Rule {
                convention,
                max: recipe.largest_element(),
                least: recipe.epsilon.to_bits(),
                most: recipe.amax_bound.to_bits(),
            })),
            Scaling::PowerOfTwo(_) | Scaling::TwoLevel(_) => None,
        }
    }
}

/// How the E8M0 code of a block follows from the bits of its amax: they are brought into a range, a
/// number is added that carries into the exponent where the rule rounds up, and the exponent field
/// is moved by an offset.
///
/// The offset is negative, so that a subnormal amax gives code 0, as it should.
#[derive(Clone, Copy, Debug)]
pub(super) struct PowerRule {
    /// Added to the bits: `2^23` less the smallest significand field that rounds up.
    pub carry: u32,
    /// Added to the exponent field.
    pub offset: i32,
    /// The bits of the least amax.
    pub least: u32,
    /// The bits of the largest amax.
    pub most: u32,
}

impl PowerRule {
    /// The largest code that is a number.
    const LARGEST: u32 = 254;

    /// The bits of the largest absolute value that an element has after its factor, where no bound holds
    /// its amax down.
    pub fn largest(&self) -> u32 {
        const FIELD_OF_ONE: i32 = 127;
        const SIGNIFICANDS: u32 = 1 << MANTISSA_BITS;
        let field = (FIELD_OF_ONE - self.offset) as u32;
        // A larger significand carries, and is halved.
        (field << MANTISSA_BITS) + (SIGNIFICANDS - 1).saturating_sub(self.carry)
    }

    /// The codes of blocks with these amaxes, and what their elements are multiplied by. Returns
    /// whether all amaxes are finite.
    pub fn scales(&self, amaxes: &[u32], codes: &mut [u8], factors: &mut [f32]) -> bool {
        kernel::vectorize(|| {
            let mut most = 0;
            for ((&amax, factor), code) in amaxes.iter().zip(factors).zip(codes) {
                *code = self.code(amax);
                let by = f32::from_bits(Self::reciprocal(*code));
                *factor = if amax < INFINITY { by } else { f32::NAN };
                most = amax.max(most);
            }
            most < INFINITY
        })
    }

    #[inline(always)]
    fn code(&self, amax: u32) -> u8 {
        let bounded = amax.max(self.least).min(self.most);
        let field = (bounded + self.carry) >> MANTISSA_BITS;
        (field as i32 + self.offset).clamp(0, Self::LARGEST as i32) as u8
    }

    /// The bits of `2^(127 - code)`.
    #[inline(always)]
    fn reciprocal(code: u8) -> u32 {
        const SUBNORMAL: u32 = 1 << (MANTISSA_BITS - 1);
        let field = Self::LARGEST.wrapping_sub(code as u32);
        (field << MANTISSA_BITS).max(SUBNORMAL)
    }
}

/// An f32 scale.
#[derive(Clone, Copy, Debug)]
pub(super) struct F32Rule {
    convention: Convention,
    /// The largest element, less the margin.
    max: f32,
    /// The bits of the least amax.
    least: u32,
    /// The bits of the largest amax.
    most: u32,
}

impl F32Rule {
    /// The scales of blocks with these amaxes, and what their elements are multiplied or divided by.
    /// Returns whether all amaxes are finite.
    pub fn scales(&self, amaxes: &[u32], scales: &mut [f32], factors: &mut [f32]) -> bool {
        // The convention is told apart outside of the loop.
        let mut of =
            |convention| kernel::vectorize(|| self.scales_by(convention, amaxes, scales, factors));
        match self.convention {
            Convention::TransformerEngine => of(Convention::TransformerEngine),
            Convention::DeepSeek => of(Convention::DeepSeek),
            Convention::DeepGemm => of(Convention::DeepGemm),
        }
    }

    #[inline(always)]
    fn scales_by(
        &self,
        convention: Convention,
        amaxes: &[u32],
        scales: &mut [f32],
        factors: &mut [f32],
    ) -> bool {
        let mut most = 0;
        for ((&amax, factor), scale) in amaxes.iter().zip(factors).zip(scales) {
            let bounded = f32::from_bits(amax.max(self.least).min(self.most));
            let Numbers { by, stored } = numbers_from_amax(convention, self.max, bounded);
            *scale = stored;
            *factor = if amax < INFINITY { by } else { f32::NAN };
            most = amax.max(most);
        }
        most < INFINITY
    }
}

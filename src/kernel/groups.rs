// SPDX-License-Identifier: MIT OR Apache-2.0
//! MX blocks of 1x32: scale and codes in one pass over a chunk that stays in the first-level cache.

use super::decode::{Decoding, decode_scaled};
use super::encode::zeros;
use super::isa::Isa;
use super::params::{F32_MANTISSA_BITS, Params};
use super::portable::INFINITY;
use super::statistics;
use crate::float::Float;
use crate::machine::buffered;
use crate::stats::{Amax, Stats};

/// Elements that share a scale.
pub(crate) const GROUP: usize = 32;
/// Groups that are handled at once.
pub(crate) const GROUPS: usize = buffered(32);

/// How the E8M0 code of a group follows from the bits of its amax: they are brought into a range, a
/// number is added that carries into the exponent where the rule rounds up, and the exponent field
/// is moved by an offset.
///
/// The offset is negative, so that a subnormal amax gives code 0, as it should.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupRule {
    /// Added to the bits: `2^23` less the smallest significand field that rounds up.
    pub carry: u32,
    /// Added to the exponent field.
    pub offset: i32,
    /// The bits of the least amax.
    pub least: u32,
    /// The bits of the largest amax.
    pub most: u32,
}

impl GroupRule {
    /// The largest code that is a number.
    const LARGEST: i32 = 254;

    #[inline(always)]
    pub(super) fn code(&self, amax: u32) -> u8 {
        let bounded = amax.max(self.least).min(self.most);
        let field = (bounded + self.carry) >> F32_MANTISSA_BITS;
        (field as i32 + self.offset).clamp(0, Self::LARGEST) as u8
    }
}

/// The bits of `2^(127 - code)`: what an element is multiplied by.
#[inline(always)]
pub(super) fn quantize_scale(code: u8) -> u32 {
    const SUBNORMAL: u32 = 1 << (F32_MANTISSA_BITS - 1);
    let field = (GroupRule::LARGEST as u32).wrapping_sub(code as u32);
    (field << F32_MANTISSA_BITS).max(SUBNORMAL)
}

/// The code of an E8M0 scale that is NaN.
const NAN_SCALE: u8 = u8::MAX;

/// The bits of `2^(code - 127)`: what a decoded element is multiplied by. Not for NaN.
#[inline(always)]
pub(super) fn dequantize_scale(code: u8) -> u32 {
    const SUBNORMAL: u32 = 1 << (F32_MANTISSA_BITS - 1);
    ((code as u32) << F32_MANTISSA_BITS).max(SUBNORMAL)
}

/// See [`super::encode_groups`].
pub(super) fn encode<I: Isa, S: Float>(
    isa: I,
    params: &Params,
    rule: GroupRule,
    source: &[S],
    codes: &mut [u8],
    scales: &mut [u8],
) -> Option<Stats> {
    let mut amaxes = [0u32; GROUPS];
    let mut factors = [1f32; GROUPS];
    let amaxes = amaxes.get_mut(..scales.len())?;
    let min_nonzero = isa.group_extremes(source, amaxes);
    let amax = amaxes.iter().fold(0, |most: u32, &amax| most.max(amax));
    if amax >= INFINITY {
        return None;
    }
    let largest = isa.vectorize(|| {
        let mut largest = 0;
        for ((&amax, factor), scale) in amaxes.iter().zip(&mut factors).zip(&mut *scales) {
            *scale = rule.code(amax);
            *factor = f32::from_bits(quantize_scale(*scale));
            largest = largest.max((f32::from_bits(amax) * *factor).to_bits());
        }
        largest
    });
    let bounded = largest < params.beyond;
    let zero_codes = isa.encode_groups(params, &factors, bounded, source, codes)?;
    let mut saturated = 0;
    if !bounded {
        for (source, factor) in source.chunks(GROUP).zip(factors) {
            saturated += isa.vectorize(|| statistics::count_beyond(params.beyond, factor, source));
        }
    }
    let (zero, underflowed) = zeros(isa, zero_codes, source);
    Some(Stats {
        count: source.len() as u64,
        zero,
        saturated,
        underflowed,
        amax: Amax::from_bits(amax),
        min_nonzero,
        ..Stats::EMPTY
    })
}

/// See [`super::decode_groups`].
pub(super) fn decode<I: Isa, T: Float>(
    isa: I,
    decoding: &Decoding,
    scales: &[u8],
    codes: &[u8],
    target: &mut [T],
) {
    /// Groups that share the fate of one whose scale is NaN.
    const CHUNK: usize = 256;
    let chunks = codes
        .chunks(CHUNK * GROUP)
        .zip(target.chunks_mut(CHUNK * GROUP));
    for ((codes, target), scales) in chunks.zip(scales.chunks(CHUNK)) {
        let largest = scales
            .iter()
            .fold(0, |largest: u8, &scale| largest.max(scale));
        if largest == NAN_SCALE || !isa.decode_groups(decoding, scales, codes, target) {
            let groups = codes.chunks(GROUP).zip(target.chunks_mut(GROUP));
            for ((codes, target), &scale) in groups.zip(scales) {
                let by = match scale {
                    NAN_SCALE => f32::NAN,
                    _ => f32::from_bits(dequantize_scale(scale)),
                };
                decode_scaled(isa, decoding, by, codes, target);
            }
        }
    }
}

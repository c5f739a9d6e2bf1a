// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decoding MX blocks of 1x32.

use super::decode::{Decoding, decode_scaled};
use super::isa::Isa;
use super::params::F32_MANTISSA_BITS;
use crate::float::Float;

/// Elements that share a scale.
pub(crate) const GROUP: usize = 32;

/// The code of an E8M0 scale that is NaN.
const NAN_SCALE: u8 = u8::MAX;

/// The bits of `2^(code - 127)`: what a decoded element is multiplied by. Not for NaN.
#[inline(always)]
pub(super) fn dequantize_scale(code: u8) -> u32 {
    const SUBNORMAL: u32 = 1 << (F32_MANTISSA_BITS - 1);
    ((code as u32) << F32_MANTISSA_BITS).max(SUBNORMAL)
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

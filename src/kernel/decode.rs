// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decoding: through a table of the format, and with a product where there is a scale.

use super::isa::Isa;
use super::table::{self, Table};
use crate::float::Float;
use crate::spec::Format;

/// What a kernel knows about the decoding of a format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decoding {
    /// The bfloat16 bits of every code.
    pub table: &'static Table,
    /// Whether bit 7 of a code is the sign of the value, for all codes.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub is_symmetric: bool,
    /// Whether bit 7 of a code is none of its bits.
    #[cfg(target_arch = "aarch64")]
    pub is_narrow: bool,
    /// Bits of the significand that are stored.
    #[cfg(target_arch = "x86_64")]
    pub mantissa_bits: u32,
}

impl Decoding {
    pub(super) fn new(format: Format) -> Decoding {
        Decoding {
            table: table::bf16(format),
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            is_symmetric: format.spec().bits == 8 && format.spec().has_negative_zero(),
            #[cfg(target_arch = "aarch64")]
            is_narrow: format.spec().bits < 8,
            #[cfg(target_arch = "x86_64")]
            mantissa_bits: format.spec().mantissa_bits,
        }
    }

    /// Whether a product with this scale is NaN only where the code is, and then has its sign.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub(super) fn keeps_nan(&self, scale: f32) -> bool {
        scale.is_finite() && scale != 0.0
    }
}

/// `target[i] = decode(codes[i])`.
pub(super) fn decode<I: Isa, T: Float>(
    isa: I,
    decoding: &Decoding,
    codes: &[u8],
    target: &mut [T],
) {
    if !isa.decode_fast(decoding, 1.0, codes, target) {
        isa.decode(decoding, codes, target);
    }
}

/// `target[i] = scale * decode(codes[i])`.
pub(super) fn decode_scaled<I: Isa, T: Float>(
    isa: I,
    decoding: &Decoding,
    scale: f32,
    codes: &[u8],
    target: &mut [T],
) {
    if !isa.decode_fast(decoding, scale, codes, target) {
        isa.decode_scaled(decoding, scale, codes, target);
    }
}

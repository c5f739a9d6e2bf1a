// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decoding: through a table of the format, and with a product where there is a scale.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;

use super::isa::Isa;
use super::params::STREAM_FROM;
use super::table::{self, Table};
use crate::float::Float;
use crate::spec::Format;

/// What a kernel knows about the decoding of a format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decoding {
    /// The bfloat16 bits of every code.
    pub(super) table: &'static Table,
    /// Whether bit 7 of a code is the sign of the value, for all codes.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub(super) is_symmetric: bool,
    /// Whether bit 7 of a code is none of its bits.
    #[cfg(target_arch = "aarch64")]
    pub(super) is_narrow: bool,
    /// Bits of the significand that are stored.
    #[cfg(target_arch = "x86_64")]
    pub(super) mantissa_bits: u32,
    /// Whether values go past the caches: see [`Decoding::for_values`].
    pub(super) stream: bool,
}

impl Decoding {
    pub(crate) fn new(format: Format) -> Decoding {
        Decoding {
            table: table::bf16(format),
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            is_symmetric: format.spec().bits == 8 && format.spec().has_negative_zero(),
            #[cfg(target_arch = "aarch64")]
            is_narrow: format.spec().bits < 8,
            #[cfg(target_arch = "x86_64")]
            mantissa_bits: format.spec().mantissa_bits,
            stream: false,
        }
    }

    /// The same for work that writes so many values of a type. Many are stored past the caches, as
    /// codes are ([`super::Params::for_codes`]). [`Decoding::settle`] must follow.
    pub(crate) fn for_values<T>(mut self, values: usize) -> Decoding {
        self.stream = values.saturating_mul(size_of::<T>()) >= STREAM_FROM;
        self
    }

    /// Ends work with [`Decoding::for_values`].
    pub(crate) fn settle(&self) {
        super::settle(self.stream);
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

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The wide types that slices hold: `f32`, `f64`, and the bits of binary16 and bfloat16.

use crate::scalar;
use crate::spec::FloatType;

mod sealed {
    pub trait Sealed {}
}

/// A wide element type: the source of an encoding, the target of a decoding.
///
/// Implemented for `f32`, `f64`, [`F16`], [`Bf16`] and, with the feature `half`, for the types of
/// that crate. Sealed: the library knows each by its row.
pub trait Float: sealed::Sealed + Copy + Default + Send + Sync + 'static {
    /// Which wide type it is.
    const TYPE: FloatType;

    /// The bits, in the low end of the word.
    fn to_wide_bits(self) -> u64;

    /// The value with these bits (the low [`FloatType::size`] bytes).
    fn from_wide_bits(bits: u64) -> Self;

    /// The value as `f32`: exact, but for `f64`, which is rounded once to nearest-even.
    #[inline]
    fn to_f32(self) -> f32 {
        let f32_row = FloatType::F32.spec();
        let bits = scalar::convert(
            Self::TYPE.spec(),
            f32_row,
            scalar::DECODE_CAST,
            self.to_wide_bits(),
            0,
        );
        f32::from_bits(bits as u32)
    }

    /// The nearest value to an `f32`, ties to even.
    #[inline]
    fn from_f32(value: f32) -> Self {
        let f32_row = FloatType::F32.spec();
        Self::from_wide_bits(scalar::convert(
            f32_row,
            Self::TYPE.spec(),
            scalar::DECODE_CAST,
            value.to_bits() as u64,
            0,
        ))
    }
}

/// A wide type whose every value is exact in `f32`: what tensors are made of. All but `f64`,
/// which a scale in `f32` would round twice.
pub trait FitsF32: Float {}

impl FitsF32 for f32 {}
impl sealed::Sealed for f32 {}
impl Float for f32 {
    const TYPE: FloatType = FloatType::F32;

    #[inline]
    fn to_wide_bits(self) -> u64 {
        self.to_bits() as u64
    }

    #[inline]
    fn from_wide_bits(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }

    #[inline]
    fn to_f32(self) -> f32 {
        self
    }

    #[inline]
    fn from_f32(value: f32) -> f32 {
        value
    }
}

impl sealed::Sealed for f64 {}
impl Float for f64 {
    const TYPE: FloatType = FloatType::F64;

    #[inline]
    fn to_wide_bits(self) -> u64 {
        self.to_bits()
    }

    #[inline]
    fn from_wide_bits(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
}

/// The bits of an IEEE 754 binary16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct F16(pub u16);

impl FitsF32 for F16 {}
impl sealed::Sealed for F16 {}
impl Float for F16 {
    const TYPE: FloatType = FloatType::F16;

    #[inline]
    fn to_wide_bits(self) -> u64 {
        self.0 as u64
    }

    #[inline]
    fn from_wide_bits(bits: u64) -> F16 {
        F16(bits as u16)
    }
}

/// The bits of a bfloat16: the upper half of an `f32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bf16(pub u16);

impl FitsF32 for Bf16 {}
impl sealed::Sealed for Bf16 {}
impl Float for Bf16 {
    const TYPE: FloatType = FloatType::Bf16;

    #[inline]
    fn to_wide_bits(self) -> u64 {
        self.0 as u64
    }

    #[inline]
    fn from_wide_bits(bits: u64) -> Bf16 {
        Bf16(bits as u16)
    }

    #[inline]
    fn to_f32(self) -> f32 {
        f32::from_bits((self.0 as u32) << 16)
    }
}

#[cfg(feature = "half")]
mod half_types {
    use super::{FitsF32, Float, FloatType, sealed};

    impl FitsF32 for half::f16 {}
    impl sealed::Sealed for half::f16 {}
    impl Float for half::f16 {
        const TYPE: FloatType = FloatType::F16;

        #[inline]
        fn to_wide_bits(self) -> u64 {
            self.to_bits() as u64
        }

        #[inline]
        fn from_wide_bits(bits: u64) -> half::f16 {
            half::f16::from_bits(bits as u16)
        }
    }

    impl FitsF32 for half::bf16 {}
    impl sealed::Sealed for half::bf16 {}
    impl Float for half::bf16 {
        const TYPE: FloatType = FloatType::Bf16;

        #[inline]
        fn to_wide_bits(self) -> u64 {
            self.to_bits() as u64
        }

        #[inline]
        fn from_wide_bits(bits: u64) -> half::bf16 {
            half::bf16::from_bits(bits as u16)
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each format as a type: one byte that knows what it means.
//!
//! The types follow the names of the `half` crate. Everything is a `const fn` where the language
//! allows it, and everything forwards to the scalar reference: a type adds no arithmetic.
//!
//! - **Bits.** A code narrower than a byte lies in the low bits; higher bits are ignored.
//! - **Encoding** rounds once, from `f32`, `f64`, binary16, bfloat16, integers or a decimal
//!   string. The plain functions use the default cast (nearest-even, everything clamps); the
//!   `_with` forms take a [`Cast`] and the word whose low bits a stochastic rounding uses
//!   (other roundings ignore it).
//! - **Decoding** to `f32` and `f64` is exact. To binary16 and bfloat16 it is rounded once to
//!   nearest-even where those cannot hold the value, and too large a value becomes infinity.
//! - **Order.** `==`, `<` compare by value: `-0 == 0`, and NaN is unordered. `total_cmp` orders
//!   everything, as IEEE 754 `totalOrder`.
//! - **Constants** stand only on the types that have them: E4M3 has no `INFINITY`, E8M0 no
//!   `ZERO`. That the list below agrees with the rows is checked when this file is compiled.
//!
//! ```
//! use ofp8::{Cast, E4M3, E5M2, Saturation};
//!
//! const HALF: E4M3 = E4M3::from_f32(0.5);
//! assert_eq!(HALF.to_bits(), 0x30);
//! assert_eq!(E4M3::from_f32(1e9), E4M3::MAX);
//! assert_eq!("-0.1".parse::<E4M3>().unwrap().to_f32(), -0.1015625);
//!
//! let none = Cast::DEFAULT.saturation(Saturation::None);
//! assert_eq!(E5M2::from_f32_with(1e9, none, 0), E5M2::INFINITY);
//! ```

mod decimal;
mod number;

use core::cmp::Ordering;
use core::fmt;
use core::num::{FpCategory, ParseFloatError};
use core::str::FromStr;

use crate::policy::{Cast, Saturation};
use crate::scalar::{self, Value};
use crate::spec::{FloatType, Format};

mod sealed {
    pub trait Sealed {}
}

/// A type whose values are the codes of one format: what slices and kernels are generic over.
///
/// Sealed: every implementor is `repr(transparent)` over `u8` and gives every byte a meaning.
pub trait Element:
    sealed::Sealed + Copy + PartialEq + PartialOrd + fmt::Debug + fmt::Display + Send + Sync + 'static
{
    /// The format.
    const FORMAT: Format;

    /// The value with this code; bits above its width are ignored.
    fn from_bits(bits: u8) -> Self;

    /// The code; bits above its width are zero.
    fn to_bits(self) -> u8;
}

/// The cast of a decimal string: the default, but a written infinity stays one where the format
/// has it.
const PARSE_CAST: Cast = Cast::DEFAULT.saturation(Saturation::Propagate);

/// Declares a type: nothing but names that forward.
macro_rules! element {
    ($name:ident) => {
        #[doc = concat!("A value of [`Format::", stringify!($name), "`].")]
        ///
        /// See the [module](crate::types) for what the types have in common.
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// The format.
            pub const FORMAT: Format = Format::$name;
            /// The largest finite value.
            pub const MAX: $name = $name(number::max(Format::$name));
            /// The least finite value: the negative of `MAX` in most formats, -2 in MX INT8 (which
            /// no encoding gives), the smallest magnitude in unsigned ones.
            pub const MIN: $name = $name(number::min(Format::$name));
            /// The smallest normal value above zero.
            pub const MIN_POSITIVE: $name = $name(number::min_positive(Format::$name));
            /// One.
            pub const ONE: $name = $name(number::one(Format::$name));
            /// The distance from one to the next larger value.
            pub const EPSILON: $name = $name(number::epsilon(Format::$name));

            /// The value with this code; bits above its width are ignored.
            #[inline]
            pub const fn from_bits(bits: u8) -> $name {
                $name(bits & Format::$name.spec().code_mask() as u8)
            }

            /// The code; bits above its width are zero.
            #[inline]
            pub const fn to_bits(self) -> u8 {
                self.0 & Format::$name.spec().code_mask() as u8
            }

            /// The nearest value, by the default cast.
            #[inline]
            pub const fn from_f32(value: f32) -> $name {
                $name::from_f32_with(value, Cast::DEFAULT, 0)
            }

            /// The value by `cast`; `word` holds the random bits of a stochastic rounding.
            #[inline]
            pub const fn from_f32_with(value: f32, cast: Cast, word: u32) -> $name {
                $name(scalar::encode_f32(Format::$name, cast, value, word))
            }

            /// The nearest value, rounded once (never through `f32`), by the default cast.
            #[inline]
            pub const fn from_f64(value: f64) -> $name {
                $name::from_f64_with(value, Cast::DEFAULT, 0)
            }

            /// The value by `cast`; `word` holds the random bits of a stochastic rounding.
            #[inline]
            pub const fn from_f64_with(value: f64, cast: Cast, word: u32) -> $name {
                $name(scalar::encode_f64(Format::$name, cast, value, word))
            }

            /// The nearest value to a binary16 with these bits, by the default cast.
            #[inline]
            pub const fn from_f16_bits(bits: u16) -> $name {
                $name::from_f16_bits_with(bits, Cast::DEFAULT, 0)
            }

            /// The value by `cast`; `word` holds the random bits of a stochastic rounding.
            #[inline]
            pub const fn from_f16_bits_with(bits: u16, cast: Cast, word: u32) -> $name {
                let bits = bits as u64;
                $name(scalar::encode_bits(Format::$name, cast, FloatType::F16, bits, word))
            }

            /// The nearest value to a bfloat16 with these bits, by the default cast.
            #[inline]
            pub const fn from_bf16_bits(bits: u16) -> $name {
                $name::from_bf16_bits_with(bits, Cast::DEFAULT, 0)
            }

            /// The value by `cast`; `word` holds the random bits of a stochastic rounding.
            #[inline]
            pub const fn from_bf16_bits_with(bits: u16, cast: Cast, word: u32) -> $name {
                let bits = bits as u64;
                $name(scalar::encode_bits(Format::$name, cast, FloatType::Bf16, bits, word))
            }

            /// The nearest value to an integer, by the default cast.
            #[inline]
            pub const fn from_i64(value: i64) -> $name {
                $name::from_i64_with(value, Cast::DEFAULT, 0)
            }

            /// The value by `cast`; `word` holds the random bits of a stochastic rounding.
            #[inline]
            pub const fn from_i64_with(value: i64, cast: Cast, word: u32) -> $name {
                let spec = Format::$name.spec();
                $name(scalar::encode(spec, cast, Value::from_i64(value), word) as u8)
            }

            /// The value of a decimal string by `cast`, rounded once; `word` holds the random bits
            /// of a stochastic rounding. The grammar is that of `f64`'s `FromStr`, any length.
            pub fn from_str_with(
                text: &str,
                cast: Cast,
                word: u32,
            ) -> Result<$name, ParseFloatError> {
                let value = decimal::parse(text)?;
                Ok($name(scalar::encode(Format::$name.spec(), cast, value, word) as u8))
            }

            /// The value, exactly.
            #[inline]
            pub const fn to_f32(self) -> f32 {
                scalar::decode_f32(Format::$name, self.0)
            }

            /// The value, exactly.
            #[inline]
            pub const fn to_f64(self) -> f64 {
                scalar::decode_f64(Format::$name, self.0)
            }

            /// The bits of the nearest binary16; infinity where the value is too large for it.
            #[inline]
            pub const fn to_f16_bits(self) -> u16 {
                scalar::decode_bits(Format::$name, self.0, FloatType::F16) as u16
            }

            /// The bits of the nearest bfloat16.
            #[inline]
            pub const fn to_bf16_bits(self) -> u16 {
                scalar::decode_bits(Format::$name, self.0, FloatType::Bf16) as u16
            }

            /// Whether it is NaN.
            #[inline]
            pub const fn is_nan(self) -> bool {
                Format::$name.spec().is_nan(self.0 as u64)
            }

            /// Whether it is an infinity.
            #[inline]
            pub const fn is_infinite(self) -> bool {
                Format::$name.spec().is_infinite(self.0 as u64)
            }

            /// Whether it is neither infinite nor NaN.
            #[inline]
            pub const fn is_finite(self) -> bool {
                !self.is_nan() && !self.is_infinite()
            }

            /// Whether it is a zero, of either sign.
            #[inline]
            pub const fn is_zero(self) -> bool {
                matches!(self.classify(), FpCategory::Zero)
            }

            /// Whether it lies between zero and the smallest normal value.
            #[inline]
            pub const fn is_subnormal(self) -> bool {
                matches!(self.classify(), FpCategory::Subnormal)
            }

            /// Whether it is neither zero, subnormal, infinite nor NaN. Every nonzero value of
            /// E8M0 and of MX INT8 is normal.
            #[inline]
            pub const fn is_normal(self) -> bool {
                matches!(self.classify(), FpCategory::Normal)
            }

            /// What kind of number it is.
            #[inline]
            pub const fn classify(self) -> FpCategory {
                number::classify(Format::$name, self.0)
            }

            /// Whether it has a minus sign: -0 and negative NaN too. A NaN that is the only one
            /// of its format has none.
            #[inline]
            pub const fn is_sign_negative(self) -> bool {
                number::is_negative(Format::$name, self.0)
            }

            /// Whether it has no minus sign.
            #[inline]
            pub const fn is_sign_positive(self) -> bool {
                !self.is_sign_negative()
            }

            /// The magnitude. MX INT8's -2 becomes `MAX`, since it has no 2.
            #[inline]
            pub const fn abs(self) -> $name {
                $name(number::with_sign(Format::$name, self.0, false))
            }

            /// The least value greater than this one; the greatest value (infinity, where there is
            /// one) and NaN stay as they are.
            #[inline]
            pub const fn next_up(self) -> $name {
                $name(number::step(Format::$name, self.0, true))
            }

            /// The greatest value less than this one; the least value (minus infinity, where there
            /// is one) and NaN stay as they are.
            #[inline]
            pub const fn next_down(self) -> $name {
                $name(number::step(Format::$name, self.0, false))
            }

            /// The order of all codes: negative NaN, -infinity, finite values with -0 below 0,
            /// infinity, NaN (also the only NaN of a format). NaNs of one sign follow their codes.
            #[inline]
            pub const fn total_cmp(&self, other: &$name) -> Ordering {
                number::total_cmp(Format::$name, self.0, other.0)
            }
        }

        impl sealed::Sealed for $name {}

        impl Element for $name {
            const FORMAT: Format = Format::$name;

            #[inline]
            fn from_bits(bits: u8) -> $name {
                $name::from_bits(bits)
            }

            #[inline]
            fn to_bits(self) -> u8 {
                $name::to_bits(self)
            }
        }

        impl PartialEq for $name {
            #[inline]
            fn eq(&self, other: &$name) -> bool {
                self.partial_cmp(other) == Some(Ordering::Equal)
            }
        }

        impl PartialOrd for $name {
            #[inline]
            fn partial_cmp(&self, other: &$name) -> Option<Ordering> {
                number::partial_cmp(Format::$name, self.0, other.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.to_f32()).finish()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f32(), f)
            }
        }

        impl fmt::LowerExp for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::LowerExp::fmt(&self.to_f32(), f)
            }
        }

        impl fmt::UpperExp for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::UpperExp::fmt(&self.to_f32(), f)
            }
        }

        /// Rounds once, to nearest-even. A finite number too large clamps; a written infinity
        /// becomes infinity where the format has one, else what [`Saturation::Propagate`] gives.
        impl FromStr for $name {
            type Err = ParseFloatError;

            fn from_str(text: &str) -> Result<$name, ParseFloatError> {
                $name::from_str_with(text, PARSE_CAST, 0)
            }
        }

        from_wide!($name: f32 => from_f32, f64 => from_f64);
        from_integer!($name: i8, i16, i32, i64);

        /// Exact.
        impl From<$name> for f32 {
            #[inline]
            fn from(value: $name) -> f32 {
                value.to_f32()
            }
        }

        /// Exact.
        impl From<$name> for f64 {
            #[inline]
            fn from(value: $name) -> f64 {
                value.to_f64()
            }
        }

        #[cfg(feature = "half")]
        from_half!($name);

        crate::views::plain_old_data!($name);
    };
}

/// `From` a wide type: by the default cast.
macro_rules! from_wide {
    ($name:ident: $($wide:ty => $from:ident),*) => {$(
        /// Rounds once, by the default cast.
        impl From<$wide> for $name {
            #[inline]
            fn from(value: $wide) -> $name {
                $name::$from(value)
            }
        }
    )*};
}

/// `From` an integer type: by the default cast.
macro_rules! from_integer {
    ($name:ident: $($integer:ty),*) => {$(
        /// Rounds once, by the default cast.
        impl From<$integer> for $name {
            #[inline]
            fn from(value: $integer) -> $name {
                $name::from_i64(value.into())
            }
        }
    )*};
}

/// From and to the types of the `half` crate.
#[cfg(feature = "half")]
macro_rules! from_half {
    ($name:ident) => {
        /// Rounds once, by the default cast.
        impl From<half::f16> for $name {
            #[inline]
            fn from(value: half::f16) -> $name {
                $name::from_f16_bits(value.to_bits())
            }
        }

        /// Rounds once, by the default cast.
        impl From<half::bf16> for $name {
            #[inline]
            fn from(value: half::bf16) -> $name {
                $name::from_bf16_bits(value.to_bits())
            }
        }

        /// The nearest value; infinity where it is too large.
        impl From<$name> for half::f16 {
            #[inline]
            fn from(value: $name) -> half::f16 {
                half::f16::from_bits(value.to_f16_bits())
            }
        }

        /// The nearest value.
        impl From<$name> for half::bf16 {
            #[inline]
            fn from(value: $name) -> half::bf16 {
                half::bf16::from_bits(value.to_bf16_bits())
            }
        }
    };
}

/// What only formats with a sign have.
macro_rules! signed {
    ($name:ident) => {
        /// The other sign. A zero or NaN that is the only one of its format keeps it, and MX
        /// INT8's -2 becomes `MAX`, since it has no 2.
        impl core::ops::Neg for $name {
            type Output = $name;

            #[inline]
            fn neg(self) -> $name {
                let negative = !self.is_sign_negative();
                $name(number::with_sign(Format::$name, self.0, negative))
            }
        }
    };
}

/// What only formats with a zero have.
macro_rules! zero {
    ($name:ident) => {
        impl $name {
            /// Zero.
            pub const ZERO: $name = $name(0);
        }

        impl Default for $name {
            #[inline]
            fn default() -> $name {
                $name::ZERO
            }
        }
    };
}

/// What only formats with subnormals have.
macro_rules! subnormal {
    ($name:ident) => {
        impl $name {
            /// The smallest value above zero.
            pub const MIN_POSITIVE_SUBNORMAL: $name =
                $name(number::min_positive_subnormal(Format::$name));
        }
    };
}

/// What only formats with a NaN have.
macro_rules! nan {
    ($name:ident) => {
        impl $name {
            /// The canonical NaN.
            pub const NAN: $name = $name(number::nan(Format::$name));
        }
    };
}

/// What only formats with an infinity have.
macro_rules! infinity {
    ($name:ident) => {
        impl $name {
            /// Infinity.
            pub const INFINITY: $name = $name(number::infinity(Format::$name, false));
        }
    };
}

/// What only formats with two infinities have.
macro_rules! negative_infinity {
    ($name:ident) => {
        impl $name {
            /// Minus infinity.
            pub const NEG_INFINITY: $name = $name(number::infinity(Format::$name, true));
        }
    };
}

/// Declares the types, each with the parts that its format has.
macro_rules! elements {
    ($($name:ident: $($part:ident)*;)*) => {$(
        element!($name);
        $($part!($name);)*
        const _: () = number::check_parts(Format::$name, &[$(stringify!($part)),*]);
    )*};
}

elements! {
    E4M3: signed zero subnormal nan;
    E5M2: signed zero subnormal nan infinity negative_infinity;
    E4M3Fnuz: signed zero subnormal nan;
    E5M2Fnuz: signed zero subnormal nan;
    E8M0: nan;
    E4M3B11Fnuz: signed zero subnormal nan;
    E4M3Ieee: signed zero subnormal nan infinity negative_infinity;
    E3M4: signed zero subnormal nan infinity negative_infinity;
    UE4M3: zero subnormal nan;
    UE5M3: zero subnormal nan;
    E2M3: signed zero subnormal;
    E3M2: signed zero subnormal;
    E2M1: signed zero subnormal;
    MxInt8: signed zero;
    Binary8p3se: signed zero subnormal nan infinity negative_infinity;
    Binary8p3sf: signed zero subnormal nan;
    Binary8p3ue: zero subnormal nan infinity;
    Binary8p3uf: zero subnormal nan;
    Binary8p4se: signed zero subnormal nan infinity negative_infinity;
    Binary8p4sf: signed zero subnormal nan;
    Binary8p4ue: zero subnormal nan infinity;
    Binary8p4uf: zero subnormal nan;
    Binary8p5se: signed zero subnormal nan infinity negative_infinity;
    Binary8p5sf: signed zero subnormal nan;
    Binary8p5ue: zero subnormal nan infinity;
    Binary8p5uf: zero subnormal nan;
}

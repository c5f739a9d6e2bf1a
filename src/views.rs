// SPDX-License-Identifier: MIT OR Apache-2.0
//! A slice of codes as a slice of a type, and back, without copying.
//!
//! ```
//! use ofp8::{E4M3, views};
//!
//! let weights: &[E4M3] = views::from_codes(&[0x38, 0x40]);
//! assert_eq!(weights, [E4M3::ONE, E4M3::from_f32(2.0)]);
//! ```

use core::slice;

use crate::types::Element;

/// The codes of a slice of values.
#[inline]
pub const fn as_codes<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: an `Element` is `repr(transparent)` over `u8` (the trait is sealed), so the memory
    // is `len` initialised bytes; the lifetime is that of the input.
    unsafe { slice::from_raw_parts(values.as_ptr().cast(), values.len()) }
}

/// The codes of a slice of values, to write to.
#[inline]
pub const fn as_codes_mut<T: Element>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `as_codes`; the borrow is exclusive, and every byte that may be written is a
    // valid `Element`.
    unsafe { slice::from_raw_parts_mut(values.as_mut_ptr().cast(), values.len()) }
}

/// Codes as values of the type. Bits above the width of a code are ignored.
#[inline]
pub const fn from_codes<T: Element>(codes: &[u8]) -> &[T] {
    // SAFETY: an `Element` is `repr(transparent)` over `u8` (the trait is sealed) and every byte
    // is a valid one; the lifetime is that of the input.
    unsafe { slice::from_raw_parts(codes.as_ptr().cast(), codes.len()) }
}

/// Codes as values of the type, to write to.
#[inline]
pub const fn from_codes_mut<T: Element>(codes: &mut [u8]) -> &mut [T] {
    // SAFETY: as in `from_codes`; the borrow is exclusive, and an `Element` that may be written
    // is an initialised byte.
    unsafe { slice::from_raw_parts_mut(codes.as_mut_ptr().cast(), codes.len()) }
}

/// `bytemuck`'s word for what the functions above rely on.
macro_rules! plain_old_data {
    ($name:ident) => {
        // SAFETY: `repr(transparent)` over `u8`; the zero byte is a valid value.
        #[cfg(feature = "bytemuck")]
        unsafe impl bytemuck::Zeroable for $name {}

        // SAFETY: `repr(transparent)` over `u8`: no padding, and every byte is a valid value.
        #[cfg(feature = "bytemuck")]
        unsafe impl bytemuck::Pod for $name {}
    };
}

pub(crate) use plain_old_data;

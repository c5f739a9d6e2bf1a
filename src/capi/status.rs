// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statuses and versions.

use core::ffi::{CStr, c_char};

use crate::error::Error;

/// The result of a fallible function. Numbers are append-only.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ofp8_status {
    /// Done.
    OFP8_OK = 0,
    /// A pointer that must not be null is null.
    OFP8_NULL_POINTER = 1,
    /// A pointer is not aligned for its element type.
    OFP8_MISALIGNED = 2,
    /// Two buffers overlap, one of which would be written.
    OFP8_OVERLAP = 3,
    /// Not the number of a format.
    OFP8_UNKNOWN_FORMAT = 4,
    /// Not the number of a wide type, or not one that this function takes.
    OFP8_UNKNOWN_TYPE = 5,
    /// Not the number of a rounding, saturation, NaN policy, scaling, convention, rule,
    /// special-block policy, layout, algorithm, order, model, promotion or kernel; random bits
    /// outside 1 to 32; a flag that is neither 0 nor 1; a reserved member that is not 0.
    OFP8_UNKNOWN_POLICY = 6,
    /// `struct_size` is too small, too large, ends inside a member, or the excess is not zero.
    OFP8_STRUCT_SIZE = 7,
    /// A number of elements is not what the shape asks for.
    OFP8_LENGTH = 8,
    /// A stride is shorter than a row, a place lies outside, or a size overflows.
    OFP8_SHAPE = 9,
    /// The rounding is stochastic and no random bits were given, or too few.
    OFP8_RANDOM_BITS = 10,
    /// The members of a recipe cannot go together (element format, scaling, and what must be zero
    /// for it), one is out of its range (margin, epsilon, bound), or the kind of the scales is not
    /// the recipe's.
    OFP8_RECIPE = 11,
    /// A scale is not positive and finite, or its format cannot hold it.
    OFP8_SCALE = 12,
    /// The input holds a NaN or an infinity where none is allowed.
    OFP8_NOT_FINITE = 13,
    /// Not the number of a packing.
    OFP8_UNKNOWN_PACKING = 14,
    /// This machine cannot run the kernel.
    OFP8_KERNEL = 15,
    /// Memory is not a state of this kind, version and shape.
    OFP8_STATE = 16,
}

impl From<Error> for ofp8_status {
    fn from(error: Error) -> ofp8_status {
        match error {
            Error::Length => ofp8_status::OFP8_LENGTH,
            Error::Shape => ofp8_status::OFP8_SHAPE,
            Error::RandomBits => ofp8_status::OFP8_RANDOM_BITS,
            Error::Recipe => ofp8_status::OFP8_RECIPE,
            Error::Scale => ofp8_status::OFP8_SCALE,
            Error::Kernel => ofp8_status::OFP8_KERNEL,
            Error::NotFinite => ofp8_status::OFP8_NOT_FINITE,
            Error::State => ofp8_status::OFP8_STATE,
        }
    }
}

/// The status of a result.
pub(super) fn status(result: Result<(), ofp8_status>) -> ofp8_status {
    match result {
        Ok(()) => ofp8_status::OFP8_OK,
        Err(status) => status,
    }
}

/// The ABI that this header describes; compare with `ofp8_abi_version()`.
pub const OFP8_ABI_VERSION: u32 = 1;

/// The ABI version of the library that is linked: equal to `OFP8_ABI_VERSION` of the header it
/// was built with. A library serves headers of its own ABI version and older.
#[unsafe(no_mangle)]
pub extern "C" fn ofp8_abi_version() -> u32 {
    OFP8_ABI_VERSION
}

/// The version of the library as text, such as "0.1.0". Never null, lives for ever.
#[unsafe(no_mangle)]
pub extern "C" fn ofp8_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(text) => text,
            Err(_) => panic!("a version without NUL"),
        };
    VERSION.as_ptr()
}

/// One line in English for a status. Never null, lives for ever.
#[unsafe(no_mangle)]
pub extern "C" fn ofp8_status_text(status: u32) -> *const c_char {
    let text = match status {
        0 => c"ok",
        1 => c"a pointer is null",
        2 => c"a pointer is not aligned for its element type",
        3 => c"buffers overlap",
        4 => c"unknown format",
        5 => c"unknown or unsuitable wide type",
        6 => c"unknown policy or flag, or a reserved member is not zero",
        7 => c"struct_size does not fit",
        8 => c"a number of elements is not what the shape asks for",
        9 => c"a stride is shorter than a row, a place lies outside, or a size overflows",
        10 => c"stochastic rounding without random bits, or with too few",
        11 => c"members of the recipe cannot go together, or one is out of its range",
        12 => c"a scale is not positive and finite, or its format cannot hold it",
        13 => c"the input holds a NaN or an infinity",
        14 => c"unknown packing",
        15 => c"this machine cannot run that kernel",
        16 => c"memory is not a state of this kind, version and shape",
        _ => c"unknown status",
    };
    text.as_ptr()
}

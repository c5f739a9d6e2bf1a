// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be wrong with a call. On an error nothing has been written.

use core::fmt;

/// Why a call was refused. Each has a status of its own in the C ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// A slice is shorter or longer than the shape asks for.
    Length,
    /// Rows, columns, strides or batches do not fit each other, or their product overflows.
    Shape,
    /// The rounding is stochastic and no random bits were given, or too few.
    RandomBits,
    /// Element format, scaling and rule cannot go together, a bound or margin is out of its range,
    /// or the kind of the scales is not the recipe's.
    Recipe,
    /// A scale is zero, negative, infinite or NaN, or not one that its format can hold.
    Scale,
    /// The input holds a NaN or an infinity where none is allowed.
    NotFinite,
    /// This machine cannot run the kernel.
    Kernel,
    /// Memory is not a state of this kind, version and shape.
    State,
}

impl Error {
    /// One line for a person.
    pub const fn as_str(self) -> &'static str {
        match self {
            Error::Length => "a slice does not have the length that the shape asks for",
            Error::Shape => "rows, columns and strides do not fit each other",
            Error::RandomBits => "stochastic rounding without random bits, or with too few",
            Error::Recipe => "parts of the recipe cannot go together, or one is out of its range",
            Error::Scale => "a scale is not positive and finite, or its format cannot hold it",
            Error::Kernel => "this machine cannot run that kernel",
            Error::NotFinite => "the input holds a NaN or an infinity",
            Error::State => "memory is not a state of this kind, version and shape",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl core::error::Error for Error {}

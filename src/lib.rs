// SPDX-License-Identifier: MIT OR Apache-2.0
//! FP8 formats, conversion and scaling: exact on every input, without `std`, without
//! dependencies, with a C ABI.
#![no_std]

#[cfg(any(feature = "std", test))]
extern crate std;

pub mod error;
pub mod float;
mod kernel;
pub mod policy;
pub mod random;
pub mod scalar;
pub mod slice;
pub mod spec;
pub mod stats;

pub use error::Error;
pub use float::{Bf16, F16, Float};
pub use policy::{Cast, NanPolicy, RandomBits, Rounding, Saturation};
pub use random::{Philox, Random};
pub use spec::{FloatType, Format, Spec};
pub use stats::{Amax, Stats};

// SPDX-License-Identifier: MIT OR Apache-2.0
//! FP8 formats, conversion and scaling: exact on every input, without `std`, without
//! dependencies, with a C ABI.
#![no_std]

#[cfg(any(feature = "std", test))]
extern crate std;

#[cfg(feature = "capi")]
pub mod capi;
pub mod error;
pub mod float;
mod kernel;
pub mod matrix;
pub mod monitor;
pub mod policy;
pub mod random;
pub mod scalar;
pub mod scale;
pub mod slice;
pub mod spec;
pub mod stats;

pub use error::Error;
pub use float::{Bf16, F16, Float};
pub use matrix::{Matrix, MatrixMut};
pub use policy::{Cast, NanPolicy, RandomBits, Rounding, Saturation};
pub use random::{Philox, Random};
pub use scale::{Block, Convention, ExponentRule, Recipe, Scales, ScalesMut, Scaling, Special};
pub use spec::{FloatType, Format, Spec};
pub use stats::{Amax, Stats};

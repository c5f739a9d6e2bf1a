// SPDX-License-Identifier: MIT OR Apache-2.0
//! FP8 formats, conversion and scaling: exact on every input, without `std`, without
//! dependencies, with a C ABI.
//!
#![doc = include_str!("../docs/formats.md")]
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
pub mod pack;
pub mod policy;
pub mod random;
pub mod scalar;
pub mod scale;
pub mod slice;
pub mod spec;
pub mod stats;
pub mod types;
pub mod views;

pub use error::Error;
pub use float::{Bf16, F16, Float};
pub use matrix::{Matrix, MatrixMut};
pub use pack::Packing;
pub use policy::{Cast, NanPolicy, RandomBits, Rounding, Saturation};
pub use random::{Philox, Random};
pub use scale::{Block, Convention, ExponentRule, Recipe, Scales, ScalesMut, Scaling, Special};
pub use spec::{FloatType, Format, Spec};
pub use stats::{Amax, Stats};
pub use types::{
    Binary8p3se, Binary8p3sf, Binary8p3ue, Binary8p3uf, Binary8p4se, Binary8p4sf, Binary8p4ue,
    Binary8p4uf, Binary8p5se, Binary8p5sf, Binary8p5ue, Binary8p5uf, E2M1, E2M3, E3M2, E3M4, E4M3,
    E4M3B11Fnuz, E4M3Fnuz, E4M3Ieee, E5M2, E5M2Fnuz, E8M0, Element, MxInt8, UE4M3, UE5M3,
};

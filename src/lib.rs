// SPDX-License-Identifier: MIT OR Apache-2.0
//! FP8 formats, conversion and scaling: exact on every input, without `std`, without
//! dependencies, with a C ABI.
//!
//! Where to look:
//!
//! - one value: the [`types`], such as [`E4M3`]; or [`scalar`], for a [`Format`] chosen at run time;
//! - many values: [`mod@slice`]; a matrix with scales: [`scale`] and its [`Recipe`];
//! - sums of products, and gradients over micro-batches: [`accumulate`];
//! - rounding, saturation, NaN: [`Cast`]; random bits: [`random`];
//! - what a pass saw and lost: [`Stats`], [`Amax`], [`monitor`];
//! - codes narrower than a byte, packed: [`pack`]; slices of codes as slices of a type: [`views`].
//!
//! A format is a row of data in [`spec`]; the scalar reference serves every row by one algorithm
//! in integer arithmetic; the kernels behind [`mod@slice`] and [`scale`] equal it bit for bit, on every
//! machine, under every floating-point environment, however the work is cut.
//!
//! # Features
//!
//! None is on by default, and none changes a number.
//!
//! - `std`: what needs the standard library, such as decibels in [`monitor::Measure`].
//! - `half`, `bytemuck`: interoperation with the crates of these names.
//! - `capi`: the C ABI, `include/ofp8.h`. A static library needs a panic handler too, which
//!   `--cfg ofp8_staticlib` adds (a feature would break every `std` user whose graph turns it on);
//!   `std` has one of its own, so that the two exclude each other.
//!
#![doc = include_str!("../docs/formats.md")]
#![no_std]

#[cfg(any(feature = "std", test))]
extern crate std;

pub mod accumulate;
#[cfg(feature = "capi")]
pub mod capi;
pub mod error;
pub mod float;
pub mod kernel;
pub mod layout;
mod machine;
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
pub use layout::{Layout, ScaleOrder};
pub use matrix::{Matrix, MatrixMut};
pub use pack::Packing;
pub use policy::{Cast, NanPolicy, RandomBits, Rounding, Saturation};
pub use random::{Philox, Random};
pub use scale::delayed::{AmaxAlgorithm, AmaxHistory, Delayed, NonFiniteAmax};
pub use scale::{
    Block, Convention, CopyMut, ExponentRule, Recipe, Scales, ScalesMut, Scaling, Special,
};
pub use spec::{FloatType, Format, Spec};
pub use stats::{Amax, Stats};
pub use types::{
    Binary8p3se, Binary8p3sf, Binary8p3ue, Binary8p3uf, Binary8p4se, Binary8p4sf, Binary8p4ue,
    Binary8p4uf, Binary8p5se, Binary8p5sf, Binary8p5ue, Binary8p5uf, E2M1, E2M3, E3M2, E3M4, E4M3,
    E4M3B11Fnuz, E4M3Fnuz, E4M3Ieee, E5M2, E5M2Fnuz, E8M0, Element, MxInt8, UE4M3, UE5M3,
};

/// The examples of the README, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

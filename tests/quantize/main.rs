// SPDX-License-Identifier: MIT OR Apache-2.0
//! The quantizer against a naive model: one element at a time, one block at a time.
//!
//! `model` knows the rules as the documentation states them, in exact arithmetic, and shares no
//! code with `src/scale`, `src/kernel` or `src/stats`; the code of an exact value comes from the
//! scalar reference, which has an oracle of its own.

mod arguments;
mod block;
mod choices;
mod copies;
mod data;
mod dequantize;
#[cfg(target_arch = "x86_64")]
mod environment;
mod expand;
mod measure;
mod model;
mod order;
#[cfg(target_arch = "x86_64")]
#[path = "../register/mod.rs"]
mod register;
mod rules;
mod shapes;
mod special;

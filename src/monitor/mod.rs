// SPDX-License-Identifier: MIT OR Apache-2.0
//! Watching a quantization: how much was lost.

mod measure;

pub use measure::{Measure, measure};

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What fuzz targets share: the modules of examples/quantize, and a count of outcomes.
#![allow(
    dead_code,
    missing_docs,
    reason = "of the example's modules the targets call a few functions"
)]

pub mod tally;

// The example's modules name each other, and the type of its results, from the root of its crate.
#[path = "../../examples/quantize/args.rs"]
pub mod args;
#[path = "../../examples/quantize/checkpoint.rs"]
mod checkpoint;
#[path = "../../examples/quantize/convert.rs"]
pub mod convert;
#[path = "../../examples/quantize/keep.rs"]
mod keep;
#[path = "../../examples/quantize/output.rs"]
mod output;
#[path = "../../examples/quantize/plan.rs"]
mod plan;
#[path = "../../examples/quantize/report.rs"]
mod report;
#[path = "../../examples/quantize/tensor.rs"]
mod tensor;

type Result<T> = std::result::Result<T, String>;

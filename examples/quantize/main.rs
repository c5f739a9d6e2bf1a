// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quantizes a safetensors checkpoint to FP8, FP6 or FP4.
//!
//! ```text
//! cargo run --release --example quantize -- IN OUT [--recipe block128]
//! cargo run --release --example quantize
//! ```
//!
//! `IN` is a safetensors file or a model directory (shards with their index, or one file), `OUT`
//! becomes the same kind of thing. Without arguments every recipe runs over demonstration
//! weights, and the comparison is printed.
//!
//! - `args`: the command line
//! - `checkpoint`: the input, memory-mapped and checked
//! - `keep`: which tensors keep their precision
//! - `plan`: what becomes of each tensor; every error that needs no data is found here
//! - `tensor`: one tensor through the library, in bands of rows, on all threads
//! - `convert`: the whole run
//! - `output`: files under a temporary name until they are whole
//! - `report`: the table and the JSON file
//! - `demo`: the demonstration

mod args;
mod checkpoint;
mod convert;
mod demo;
mod keep;
mod output;
mod plan;
mod report;
mod tensor;

use std::process::ExitCode;

use clap::Parser;

/// What can go wrong, as one line for a person.
type Result<T> = std::result::Result<T, String>;

fn main() -> ExitCode {
    let args = args::Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &args::Args) -> Result<()> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(args.threads.map_or(0, |n| n.get().into()))
        .build_global()
        .map_err(|error| format!("threads: {error}"))?;
    match (&args.input, &args.output) {
        (Some(input), Some(output)) => convert::run(args, input, output),
        _ => demo::run(),
    }
}

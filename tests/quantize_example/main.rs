// SPDX-License-Identifier: MIT OR Apache-2.0
//! The example `quantize`, run as a program: what it writes, and what it refuses.
//!
//! That its numbers are right is checked elsewhere, against numpy and ml_dtypes
//! (`ffi-tests/tests/checkpoint.rs`); here codes are only held against the source.

mod directories;
mod files;
mod fixtures;
mod refusals;

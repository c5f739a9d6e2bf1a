// SPDX-License-Identifier: MIT OR Apache-2.0
//! The work that is measured, the same for the table (`src/main.rs`) and for criterion
//! (`benches/kernels.rs`).

mod memory;
mod timing;
pub mod work;

pub use memory::{Pages, Plain};
pub use timing::{Timing, measure};

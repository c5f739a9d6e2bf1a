// SPDX-License-Identifier: MIT OR Apache-2.0
//! The C ABI: checks its arguments, calls the safe API, translates the answer. No arithmetic.
//!
//! Rules that hold for every function:
//! - a fallible one returns an [`ofp8_status`]; results go through out-pointers; on an error
//!   nothing is written;
//! - enumerations cross as `uint32_t` and are checked;
//! - structures that may grow begin with their size: a shorter one means that the missing tail is
//!   zero, which is the default; a longer one is accepted only if its excess is zero;
//! - no allocation, no callbacks, no state beside the choice of kernel; re-entrant; never unwinds.
#![allow(non_camel_case_types)]

mod accumulate;
mod argument;
mod block;
mod copies;
mod delayed;
mod expand;
mod gradient;
mod info;
mod inspect;
mod kernel;
mod layout;
mod quantize;
mod recipe;
mod scalar;
mod shape;
mod slice;
mod status;

pub use accumulate::*;
pub use block::*;
pub use copies::*;
pub use delayed::*;
pub use expand::*;
pub use gradient::*;
pub use info::*;
pub use inspect::*;
pub use kernel::*;
pub use layout::*;
pub use quantize::*;
pub use recipe::*;
pub use scalar::*;
pub use shape::*;
pub use slice::*;
pub use status::*;

#[cfg(ofp8_staticlib)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // Never reached: the library has no panicking path (a test looks at the archive).
    loop {}
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums of products, against big integers, an emulation of the tensor cores in rationals, and
//! measurements on hardware.

#[cfg(target_arch = "x86_64")]
mod environment;
mod exact;
mod gradient;
mod measured;
mod oracle;
mod product;
mod quantized;
#[cfg(target_arch = "x86_64")]
#[path = "../register/mod.rs"]
mod register;
mod sequential;
mod tensor_core;

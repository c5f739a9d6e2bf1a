// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums of products, against big integers, an emulation of the tensor cores in rationals, and
//! measurements on hardware.

mod exact;
mod gradient;
mod measured;
mod oracle;
mod product;
mod quantized;
mod sequential;
mod tensor_core;

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which kernel runs. It changes nothing but speed.

use core::ffi::c_char;

use super::status::ofp8_status;
use crate::kernel::Kernel;

/// Whatever is the fastest on this machine.
pub const OFP8_KERNEL_DETECT: u32 = 0;
/// Plain code, for any machine.
pub const OFP8_KERNEL_PORTABLE: u32 = 1;
/// x86-64 with AVX2, F16C, FMA and POPCNT.
pub const OFP8_KERNEL_AVX2: u32 = 2;
/// x86-64 with AVX-512 F, BW, DQ, VL, VBMI and VNNI.
pub const OFP8_KERNEL_AVX512: u32 = 3;
/// AArch64 with Advanced SIMD.
pub const OFP8_KERNEL_NEON: u32 = 4;

/// The kernel that runs: the forced one, else the one that was detected (`OFP8_KERNEL_AVX512`,
/// ...), or where the library is part of a Rust program with the feature `std` what the environment
/// variable `OFP8_KERNEL` names. No result depends on it, only speed.
#[unsafe(no_mangle)]
pub extern "C" fn ofp8_current_kernel() -> u32 {
    Kernel::current() as u32
}

/// The name of a kernel, such as "avx512"; "unknown" for any other number. Never null, lives for
/// ever.
#[unsafe(no_mangle)]
pub extern "C" fn ofp8_kernel_name(kernel: u32) -> *const c_char {
    let name = match kernel {
        OFP8_KERNEL_DETECT => c"detect",
        OFP8_KERNEL_PORTABLE => c"portable",
        OFP8_KERNEL_AVX2 => c"avx2",
        OFP8_KERNEL_AVX512 => c"avx512",
        OFP8_KERNEL_NEON => c"neon",
        _ => c"unknown",
    };
    name.as_ptr()
}

/// Makes a kernel the one that runs, in all threads, or with `OFP8_KERNEL_DETECT` what would run had
/// none been forced. May be called at any time, also while other threads are at work.
///
/// Statuses: `OFP8_UNKNOWN_POLICY` for no kernel's number, `OFP8_KERNEL` where this machine cannot
/// run it; then nothing has changed.
#[unsafe(no_mangle)]
pub extern "C" fn ofp8_force_kernel(kernel: u32) -> ofp8_status {
    let choice = match (kernel, Kernel::from_number(kernel)) {
        (OFP8_KERNEL_DETECT, _) => None,
        (_, Some(kernel)) => Some(kernel),
        _ => return ofp8_status::OFP8_UNKNOWN_POLICY,
    };
    match Kernel::force(choice) {
        Ok(()) => ofp8_status::OFP8_OK,
        Err(error) => error.into(),
    }
}

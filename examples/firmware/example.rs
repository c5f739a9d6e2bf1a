// SPDX-License-Identifier: MIT OR Apache-2.0
//! Thirty-two readings as one MXFP8 block: 33 bytes instead of 128. No allocator, no standard library;
//! a board's start-up code calls `main`, which returns 0 where all comes back as near as it should.
#![cfg_attr(target_os = "none", no_std)]

use ofp8::scale::{dequantize_block, quantize_block};
use ofp8::{E4M3, ExponentRule};

const COUNT: usize = 32;

fn round_trip(readings: &[f32; COUNT]) -> Result<[f32; COUNT], ofp8::Error> {
    let (mut codes, mut back) = ([E4M3::ZERO; COUNT], [0.0; COUNT]);
    let scale = quantize_block(ExponentRule::RoundUp, readings, &mut codes)?;
    dequantize_block(scale, &codes, &mut back)?;
    Ok(back)
}

/// The program.
#[unsafe(no_mangle)]
pub extern "C" fn main() -> i32 {
    let readings = core::array::from_fn(|i| 20.0 + 0.37 * i as f32);
    let Ok(back) = round_trip(&readings) else {
        return 1;
    };
    // E4M3 keeps four significant bits: the error is at most 1/16 of a reading.
    let is_near = |(x, y): (&f32, &f32)| (x - y).abs() <= x / 16.0;
    !readings.iter().zip(&back).all(is_near) as i32
}

#[cfg(target_os = "none")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work under every floating-point environment that a caller may have set: for tests that include this
//! file.

use std::arch::asm;
use std::hint::black_box;

/// MXCSR: exceptions masked.
const DEFAULT: u32 = 0x1F80;
/// Of these, the one that C does not know: an operand is subnormal. The others unmasked, each of them
/// kills the program.
const DENORMAL_MASKED: u32 = 1 << 8;
const FLAGS: u32 = 0x3F;
const DENORMALS_ARE_ZERO: u32 = 1 << 6;
const FLUSH_TO_ZERO: u32 = 1 << 15;
const ROUNDING: u32 = 13;

fn read() -> u32 {
    let mut mxcsr = 0u32;
    // SAFETY: stores MXCSR to a local variable.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack)) };
    mxcsr
}

fn write(mxcsr: u32) {
    // SAFETY: only defined bits are set. What runs under another environment than the default is
    // the code under test, and code here that has no floating-point operation.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const mxcsr, options(nostack)) };
}

/// Runs `work` with this register; also says whether it left it so.
#[inline(never)]
fn under<R>(mxcsr: u32, work: &dyn Fn() -> R) -> (R, bool) {
    let saved = read();
    write(mxcsr);
    let result = work();
    let kept = read() & !FLAGS == mxcsr;
    write(saved);
    (result, kept)
}

/// The environments, other than the default.
fn environments() -> Vec<u32> {
    let mut all = Vec::new();
    for rounding in 0..4 {
        for flush in [
            0,
            FLUSH_TO_ZERO,
            DENORMALS_ARE_ZERO,
            FLUSH_TO_ZERO | DENORMALS_ARE_ZERO,
        ] {
            all.push(DEFAULT | rounding << ROUNDING | flush);
        }
        all.push(DENORMAL_MASKED | rounding << ROUNDING);
    }
    all.retain(|&mxcsr| mxcsr != DEFAULT);
    all
}

/// Runs under every environment; the bytes must be those of the default one. After a signal, what
/// trapped is the last that `--nocapture` shows.
pub fn check(what: &str, work: &dyn Fn() -> Vec<u8>) {
    let (expected, kept) = under(DEFAULT, work);
    assert!(kept && !expected.is_empty());
    eprintln!("{what}");
    for mxcsr in environments() {
        let (bytes, kept) = under(mxcsr, work);
        assert!(kept, "{what}: MXCSR {mxcsr:#x} was changed");
        let differs = bytes.iter().zip(&expected).position(|(a, b)| a != b);
        assert_eq!(differs, None, "{what}: byte under MXCSR {mxcsr:#x}");
        assert_eq!(bytes.len(), expected.len());
    }
}

/// The tests below could not fail if the register were not set.
#[test]
fn the_environment_is_what_it_says() {
    let product = |a: f32, b: f32| {
        move || {
            let product: f32 = black_box(a) * black_box(b);
            black_box(product).to_bits()
        }
    };
    let smallest = f32::MIN_POSITIVE;
    assert_eq!(under(DEFAULT, &product(smallest, 0.5)).0, 0x0040_0000);
    assert_eq!(under(DEFAULT | FLUSH_TO_ZERO, &product(smallest, 0.5)).0, 0);
    let subnormal = f32::from_bits(1 << 20);
    let flushed = under(DEFAULT | DENORMALS_ARE_ZERO, &product(subnormal, 1e30));
    assert_eq!(flushed.0, 0);
    let up = under(
        DEFAULT | 2 << ROUNDING,
        &product(1.0 + f32::EPSILON, 1.0 + f32::EPSILON),
    );
    assert_eq!(up.0, 0x3F80_0003);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The floating-point environment: what the caller's control register says must not reach a
//! result.

/// Runs `work` with rounding to nearest-even, without flushing of subnormals and with all
/// exceptions masked; then puts the caller's control register back, where it differed. Flags of
/// exceptions that the work raises may stay, and depend on the kernel: to save and restore them too
/// would cost every caller two writes to the register.
///
/// All floating-point arithmetic of the library runs inside, checks and set-up included: twice
/// an operation was left outside that "could not matter" (an addition of two constants, a comparison
/// with zero), and raised a signal or refused a subnormal scale.
///
/// x86-64, AArch64 and Arm with hardware floating point have such a register. RISC-V with it has one
/// too, but stable Rust does not say whether it is there: there and elsewhere the environment is taken
/// to be the default, as Rust itself takes it.
#[inline]
pub(crate) fn with_default_environment<R>(work: impl FnOnce() -> R) -> R {
    let saved = register::read();
    if register::is_default(saved) {
        return apart(work);
    }
    register::write(register::default_for(saved));
    let result = apart(work);
    register::write(saved);
    result
}

/// A call that stays one, so that no floating-point operation moves to the other side of a write
/// to the register.
#[inline(never)]
fn apart<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[cfg(target_arch = "x86_64")]
mod register {
    use core::arch::asm;

    /// All exceptions masked, nearest-even, no flushing.
    const DEFAULT: u32 = 0x1F80;
    /// The flags of exceptions that have happened: not ours to look at.
    const FLAGS: u32 = 0x3F;

    pub(super) fn is_default(mxcsr: u32) -> bool {
        mxcsr & !FLAGS == DEFAULT
    }

    pub(super) fn default_for(_: u32) -> u32 {
        DEFAULT
    }

    pub(super) fn read() -> u32 {
        let mut mxcsr = 0u32;
        // SAFETY: stores MXCSR to a local variable; SSE is part of x86-64.
        unsafe {
            asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack, preserves_flags));
        }
        mxcsr
    }

    pub(super) fn write(mxcsr: u32) {
        // SAFETY: the value was read from the register or is its default, so that no reserved bit
        // is set. Between the two writes only `work` runs, under the environment that Rust
        // assumes.
        unsafe {
            asm!("ldmxcsr [{}]", in(reg) &raw const mxcsr, options(nostack, preserves_flags));
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod register {
    use core::arch::asm;

    /// Nearest-even, no flushing, no traps, no alternative NaN or half-precision behaviour.
    const DEFAULT: u64 = 0;

    pub(super) fn is_default(fpcr: u64) -> bool {
        fpcr == DEFAULT
    }

    pub(super) fn default_for(_: u64) -> u64 {
        DEFAULT
    }

    pub(super) fn read() -> u64 {
        let fpcr;
        // SAFETY: FPCR can be read at every exception level that runs floating-point code.
        unsafe { asm!("mrs {}, fpcr", out(reg) fpcr, options(nostack, preserves_flags)) };
        fpcr
    }

    pub(super) fn write(fpcr: u64) {
        // SAFETY: as above; the value was read from the register or is its default.
        unsafe { asm!("msr fpcr, {}", in(reg) fpcr, options(nostack, preserves_flags)) };
    }
}

#[cfg(all(target_arch = "arm", target_abi = "eabihf"))]
mod register {
    use core::arch::asm;

    /// Rounding, flushing (of binary16 too), the default NaN, the other binary16, traps. What else is in
    /// FPSCR, flags and the length of vectors, is as it was.
    const CONTROL: u32 = 3 << 22 | 1 << 24 | 1 << 19 | 1 << 25 | 1 << 26 | 1 << 15 | 0x1F << 8;

    pub(super) fn is_default(fpscr: u32) -> bool {
        fpscr & CONTROL == 0
    }

    pub(super) fn default_for(fpscr: u32) -> u32 {
        fpscr & !CONTROL
    }

    pub(super) fn read() -> u32 {
        let fpscr;
        // SAFETY: the ABI passes numbers in the registers of the unit whose state this is.
        unsafe { asm!("vmrs {}, fpscr", out(reg) fpscr, options(nostack, preserves_flags)) };
        fpscr
    }

    pub(super) fn write(fpscr: u32) {
        // SAFETY: as above; the value was read from the register, with bits of `CONTROL` cleared or not.
        unsafe { asm!("vmsr fpscr, {}", in(reg) fpscr, options(nostack, preserves_flags)) };
    }
}

#[cfg(not(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    all(target_arch = "arm", target_abi = "eabihf")
)))]
mod register {
    pub(super) fn is_default((): ()) -> bool {
        true
    }

    pub(super) fn default_for((): ()) {}

    pub(super) fn read() {}

    pub(super) fn write((): ()) {}
}

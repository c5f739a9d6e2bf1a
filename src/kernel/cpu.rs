// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which kernel runs: asked from the processor once, or chosen by the caller. It changes nothing
//! but speed.

use core::fmt;
use core::sync::atomic::{AtomicU8, Ordering};

use crate::error::Error;

/// A set of kernels for one level of instructions. The numbers are those of the C ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Kernel {
    /// Plain Rust, for any machine.
    Portable = 1,
    /// x86-64 with AVX2, F16C, FMA and POPCNT (Haswell and Zen, and later).
    Avx2 = 2,
    /// x86-64 with AVX-512 F, BW, DQ, VL, VBMI and VNNI (Ice Lake and Zen 4, and later).
    Avx512 = 3,
    /// AArch64 with Advanced SIMD, where the crate is compiled for it (little-endian), as it is for
    /// every operating system.
    Neon = 4,
}

/// The choice in force, as its number; 0 where there is none yet.
static CURRENT: AtomicU8 = AtomicU8::new(0);

impl Kernel {
    /// Every kernel, the fastest of a machine last.
    pub const ALL: &'static [Kernel] =
        &[Kernel::Portable, Kernel::Avx2, Kernel::Avx512, Kernel::Neon];

    /// The kernel with this number, if there is one.
    pub const fn from_number(number: u32) -> Option<Kernel> {
        match number {
            1 => Some(Kernel::Portable),
            2 => Some(Kernel::Avx2),
            3 => Some(Kernel::Avx512),
            4 => Some(Kernel::Neon),
            _ => None,
        }
    }

    /// The name, in lower case: what the environment variable `OFP8_KERNEL` takes.
    pub const fn name(self) -> &'static str {
        match self {
            Kernel::Portable => "portable",
            Kernel::Avx2 => "avx2",
            Kernel::Avx512 => "avx512",
            Kernel::Neon => "neon",
        }
    }

    /// Whether this machine (processor and operating system) can run it.
    pub fn is_available(self) -> bool {
        match self {
            Kernel::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => x86::has_avx2(),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => x86::has_avx512(),
            Kernel::Neon => cfg!(all(
                target_arch = "aarch64",
                target_feature = "neon",
                target_endian = "little"
            )),
            #[allow(unreachable_patterns)]
            _ => false,
        }
    }

    /// The fastest that this machine can run.
    pub fn detect() -> Kernel {
        let available = Kernel::ALL
            .iter()
            .rev()
            .find(|kernel| kernel.is_available());
        available.copied().unwrap_or(Kernel::Portable)
    }

    /// The one that runs: the forced one, else the detected one. With the feature `std`, the
    /// environment variable `OFP8_KERNEL` may name another at the first call; a name that is
    /// unknown, or that the machine cannot run, is ignored.
    #[inline]
    pub fn current() -> Kernel {
        // Relaxed: the number is all there is to see. Threads that race to the first call find
        // the same answer.
        match Kernel::from_number(CURRENT.load(Ordering::Relaxed) as u32) {
            Some(kernel) => kernel,
            None => choose(),
        }
    }

    /// Makes `kernel` the one that runs, in all threads, or with `None` what would run had none been
    /// forced: with the feature `std` perhaps what the environment variable names.
    ///
    /// # Errors
    /// [`Error::Kernel`] if this machine cannot run it; then nothing has changed.
    pub fn force(kernel: Option<Kernel>) -> Result<(), Error> {
        if kernel.is_some_and(|kernel| !kernel.is_available()) {
            return Err(Error::Kernel);
        }
        CURRENT.store(kernel.map_or(0, |kernel| kernel as u8), Ordering::Relaxed);
        Ok(())
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The first call: it looks which kernel this machine has, and keeps the answer, unless another one
/// was forced meanwhile. (A plain store took that back.) Cores that cannot compare and exchange have one
/// kernel alone, and no need to keep anything.
#[cold]
fn choose() -> Kernel {
    let kernel = from_environment().unwrap_or_else(Kernel::detect);
    #[cfg(target_has_atomic = "8")]
    if let Err(forced) =
        CURRENT.compare_exchange(0, kernel as u8, Ordering::Relaxed, Ordering::Relaxed)
    {
        return Kernel::from_number(forced as u32).unwrap_or(kernel);
    }
    kernel
}

#[cfg(feature = "std")]
fn from_environment() -> Option<Kernel> {
    let name = std::env::var("OFP8_KERNEL").ok()?;
    let mut all = Kernel::ALL.iter().copied();
    all.find(|kernel| kernel.name() == name && kernel.is_available())
}

#[cfg(not(feature = "std"))]
fn from_environment() -> Option<Kernel> {
    None
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::asm;
    use core::arch::x86_64::{__cpuid, __cpuid_count};

    /// The parts of the register state that the operating system saves, in XCR0.
    const YMM: u64 = 0b110;
    const ZMM: u64 = YMM | 0b1110_0000;

    /// Bits of CPUID leaf 1, ECX.
    const OSXSAVE: u32 = 1 << 27;
    const FMA: u32 = 1 << 12;
    const POPCNT: u32 = 1 << 23;
    const F16C: u32 = 1 << 29;
    /// Bits of CPUID leaf 7, EBX.
    const AVX2: u32 = 1 << 5;
    const AVX512: u32 = 1 << 16 | 1 << 17 | 1 << 30 | 1 << 31; // F, DQ, BW, VL
    /// Bits of CPUID leaf 7, ECX.
    const VBMI: u32 = 1 << 1 | 1 << 11; // VBMI, VNNI

    /// CPUID of a leaf, as `[ebx, ecx]`; zeros beyond the highest leaf.
    #[allow(unused_unsafe)] // safe to call since Rust 1.94
    fn cpuid(leaf: u32) -> [u32; 2] {
        // SAFETY: every x86-64 processor has CPUID.
        unsafe {
            if leaf > __cpuid(0).eax {
                return [0, 0];
            }
            let answer = __cpuid_count(leaf, 0);
            [answer.ebx, answer.ecx]
        }
    }

    /// XCR0, or 0 where the operating system does not save extended state.
    fn saved_state() -> u64 {
        if cpuid(1)[1] & OSXSAVE == 0 {
            return 0;
        }
        let (low, high): (u32, u32);
        // SAFETY: OSXSAVE says that XGETBV is there, and register 0 always is.
        unsafe {
            asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high,
                options(nomem, nostack, preserves_flags));
        }
        (high as u64) << 32 | low as u64
    }

    pub(super) fn has_avx2() -> bool {
        saved_state() & YMM == YMM
            && cpuid(1)[1] & (F16C | FMA | POPCNT) == F16C | FMA | POPCNT
            && cpuid(7)[0] & AVX2 != 0
    }

    pub(super) fn has_avx512() -> bool {
        let [ebx, ecx] = cpuid(7);
        has_avx2() && saved_state() & ZMM == ZMM && ebx & AVX512 == AVX512 && ecx & VBMI == VBMI
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a pass sees: extremes and counts, in loops that the compiler vectorises.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;

use super::encode::Encoded;
use super::factor::Factors;
use super::isa::Isa;
use super::params::Params;
use super::portable::{ABS, INFINITY, f32_bits};
use crate::float::Float;
use crate::stats::{Amax, Extremes, Stats};

/// What one chunk adds to the statistics. `beyond` is what [`encode`] returned for it.
#[inline(always)]
pub(super) fn stats<S: Float>(params: &Params, chunk: &Encoded<'_, S>, beyond: u64) -> Stats {
    let sign_of_zero = (params.flip & params.signed_zero) as u8;
    let has_zero = params.spec.zero as u32;
    let (mut zero, mut underflowed, mut nan, mut infinite, mut kept) = (0, 0, 0, 0, 0);
    for ((&source, &scaled), &code) in chunk.loaded.iter().zip(chunk.scaled).zip(chunk.codes) {
        let abs = source & ABS;
        let is_zero = (abs == 0) as u32;
        let is_nan = (abs > INFINITY) as u32;
        let is_infinite = (abs == INFINITY) as u32;
        let stored_zero = (code & !sign_of_zero == 0) as u32 & has_zero;
        zero += is_zero;
        nan += is_nan;
        infinite += is_infinite;
        underflowed += stored_zero & ((is_zero | is_nan) ^ 1);
        kept += is_infinite & (scaled & ABS <= INFINITY) as u32;
    }
    let extremes = extremes(chunk.source);
    Stats {
        count: chunk.source.len() as u64,
        zero: zero as u64,
        saturated: beyond - kept as u64,
        underflowed: underflowed as u64,
        nan: nan as u64,
        infinite: infinite as u64,
        amax: extremes.amax,
        min_nonzero: extremes.min_nonzero,
    }
}

/// The bits of `|x|` in the source's own type: ordered as the values are, and NaN above them. In
/// vectors of the source's own width, an element costs a maximum and a minimum.
trait Abs: Copy + Ord + Into<u64> {
    const LEAST: Self;
    const MOST: Self;
    fn of<S: Float>(x: S) -> Self;
    /// Less 1; zero wraps around to the top of the order.
    fn below(self) -> Self;
}

impl Abs for u16 {
    const LEAST: u16 = 0;
    const MOST: u16 = u16::MAX;
    #[inline(always)]
    fn of<S: Float>(x: S) -> u16 {
        abs_bits(x) as u16
    }
    #[inline(always)]
    fn below(self) -> u16 {
        self.wrapping_sub(1)
    }
}

impl Abs for u32 {
    const LEAST: u32 = 0;
    const MOST: u32 = u32::MAX;
    #[inline(always)]
    fn of<S: Float>(x: S) -> u32 {
        abs_bits(x) as u32
    }
    #[inline(always)]
    fn below(self) -> u32 {
        self.wrapping_sub(1)
    }
}

impl Abs for u64 {
    const LEAST: u64 = 0;
    const MOST: u64 = u64::MAX;
    #[inline(always)]
    fn of<S: Float>(x: S) -> u64 {
        abs_bits(x)
    }
    #[inline(always)]
    fn below(self) -> u64 {
        self.wrapping_sub(1)
    }
}

/// The largest absolute value.
#[inline(always)]
pub(super) fn amax<S: Float>(source: &[S]) -> Amax {
    #[inline(always)]
    fn most<A: Abs, S: Float>(source: &[S]) -> u64 {
        let most = source.iter().fold(A::LEAST, |most, &x| most.max(A::of(x)));
        most.into()
    }
    Amax::of(from_abs::<S>(match S::TYPE.size() {
        2 => most::<u16, S>(source),
        4 => most::<u32, S>(source),
        _ => most::<u64, S>(source),
    }))
}

/// The extremes of the absolute values.
#[inline(always)]
pub(super) fn extremes<S: Float>(source: &[S]) -> Extremes {
    #[inline(always)]
    fn both<A: Abs, S: Float>(source: &[S]) -> (u64, u64) {
        let (mut most, mut least) = (A::LEAST, A::MOST);
        for &x in source {
            let abs = A::of(x);
            most = most.max(abs);
            least = least.min(abs.below());
        }
        (most.into(), least.into())
    }
    let (most, least) = match S::TYPE.size() {
        2 => both::<u16, S>(source),
        4 => both::<u32, S>(source),
        _ => both::<u64, S>(source),
    };
    Extremes {
        amax: Amax::of(from_abs::<S>(most)),
        min_nonzero: min_nonzero::<S>(least),
    }
}

/// Elements of the groups that [`group_extremes`] looks at.
pub(super) const GROUP: usize = 32;

/// The bits of the amax of each whole group as `f32`, above infinity where there is a NaN, and those
/// of the smallest absolute value above zero of all.
#[inline(always)]
pub(super) fn group_extremes<S: Float>(source: &[S], amaxes: &mut [u32]) -> u32 {
    #[inline(always)]
    fn of<A: Abs, S: Float>(source: &[S], amaxes: &mut [u32]) -> u64 {
        let mut least = [A::MOST; GROUP];
        for (group, amax) in source.chunks_exact(GROUP).zip(amaxes) {
            let mut most = A::LEAST;
            for (&x, least) in group.iter().zip(&mut least) {
                let abs = A::of(x);
                most = most.max(abs);
                *least = (*least).min(abs.below());
            }
            *amax = f32_bits(S::from_wide_bits(most.into()));
        }
        let least = least.iter().fold(A::MOST, |least, &of| least.min(of));
        least.into()
    }
    min_nonzero::<S>(match S::TYPE.size() {
        2 => of::<u16, S>(source, amaxes),
        4 => of::<u32, S>(source, amaxes),
        _ => of::<u64, S>(source, amaxes),
    })
}

/// The same of groups of any width, the last one perhaps smaller, at any level of instructions. There
/// is room for the amaxes of groups of [`GROUP`] elements.
pub(super) fn row_extremes<I: Isa, S: Float>(
    isa: I,
    source: &[S],
    width: usize,
    amaxes: &mut [u32],
) -> u32 {
    if width.is_multiple_of(GROUP) && source.len().is_multiple_of(width) {
        let least = isa.group_extremes(source, amaxes);
        if width > GROUP {
            join_amaxes(amaxes, source.len() / GROUP, width / GROUP);
        }
        return least;
    }
    let mut seen = Extremes::EMPTY;
    for (group, amax) in source.chunks(width.max(1)).zip(amaxes) {
        let of_group = isa.extremes(group);
        *amax = of_group.amax.to_bits();
        seen = seen.merge(of_group);
    }
    seen.min_nonzero
}

/// Of each `width` of the first `count` amaxes the largest, at the beginning.
#[inline(always)]
pub(super) fn join_amaxes(amaxes: &mut [u32], count: usize, width: usize) {
    // The place of a group lies in none of the groups after it.
    for (group, first) in (0..count).step_by(width.max(1)).enumerate() {
        let of_group = amaxes.get(first..count.min(first + width));
        let most = of_group.unwrap_or_default().iter();
        let most = most.fold(0, |most: u32, &amax| most.max(amax));
        if let Some(place) = amaxes.get_mut(group) {
            *place = most;
        }
    }
}

/// The bits, as `f32`, of what is 1 above the least of [`Abs::below`]; of infinity where all is zero.
/// What is above zero stays so.
#[inline(always)]
pub(super) fn min_nonzero<S: Float>(least: u64) -> u32 {
    let infinity = S::TYPE.spec().infinity_magnitude().unwrap_or(u64::MAX);
    let bits = least.min(infinity - 1) + 1;
    from_abs::<S>(bits).to_bits().max(1)
}

/// How many elements have at least these bits after their factors.
#[inline(always)]
pub(super) fn count_beyond<S: Float>(beyond: u32, factors: Factors<'_>, source: &[S]) -> u64 {
    const PART: usize = 64;
    let operation = factors.operation();
    let mut numbers = [1.0; PART];
    let mut count = 0;
    for (part, source) in source.chunks(PART).enumerate() {
        factors.fill(part * PART, &mut numbers);
        let of_part = source.iter().zip(&numbers).fold(0u32, |count, (&x, &by)| {
            count + (operation.of_abs(f32_bits(x) & ABS, by) >= beyond) as u32
        });
        count += of_part as u64;
    }
    count
}

/// How many codes are zero, of either sign where `sign` is its bit.
#[inline(always)]
pub(super) fn count_zero_codes(sign: u8, codes: &[u8]) -> u64 {
    /// Counters of a byte each do not overflow within a chunk.
    const LANES: usize = 64;
    let mut total = 0;
    for chunk in codes.chunks(LANES * u8::MAX as usize) {
        let mut counts = [0u8; LANES];
        let mut blocks = chunk.chunks_exact(LANES);
        for block in &mut blocks {
            for (count, &code) in counts.iter_mut().zip(block) {
                *count += (code & !sign == 0) as u8;
            }
        }
        for (count, &code) in counts.iter_mut().zip(blocks.remainder()) {
            *count += (code & !sign == 0) as u8;
        }
        total += counts.iter().map(|&count| count as u64).sum::<u64>();
    }
    total
}

/// How many elements are zero.
#[inline(always)]
pub(super) fn count_zeros<S: Float>(source: &[S]) -> u64 {
    #[inline(always)]
    fn of<A: Abs, S: Float>(source: &[S]) -> u32 {
        let mut count = 0;
        for &x in source {
            count += (A::of(x) == A::LEAST) as u32;
        }
        count
    }
    let count = match S::TYPE.size() {
        2 => of::<u16, S>(source),
        4 => of::<u32, S>(source),
        _ => of::<u64, S>(source),
    };
    count as u64
}

/// The bits of `|x|` in its own type.
#[inline(always)]
fn abs_bits<S: Float>(x: S) -> u64 {
    x.to_wide_bits() & S::TYPE.spec().magnitude_mask()
}

#[inline(always)]
fn from_abs<S: Float>(bits: u64) -> f32 {
    S::from_wide_bits(bits).to_f32()
}

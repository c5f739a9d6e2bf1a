// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a pass over data saw, as integers that merge in any order to the same bits.

/// The largest absolute value seen, as an integer whose maximum is the merge.
///
/// The integer is the bits of `|x|` as `f32`, with one pattern for NaN that lies above infinity:
/// an unsigned integer maximum (in any kernel, any order, or an all-reduce with `MPI_UINT32_T`
/// and `MPI_MAX`) keeps the largest value and never loses a NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Amax(u32);

/// Bits of `|x|`: everything but the sign of an `f32`.
const ABS: u32 = u32::MAX >> 1;
const INFINITY: u32 = f32::INFINITY.to_bits();
const NAN: u32 = INFINITY | 1 << 22;

impl Amax {
    /// Of nothing, or of zeros.
    pub const ZERO: Amax = Amax(0);
    /// An infinity was seen and no NaN.
    pub const INFINITY: Amax = Amax(INFINITY);
    /// A NaN was seen.
    pub const NAN: Amax = Amax(NAN);

    /// Of one value.
    #[inline]
    pub const fn of(value: f32) -> Amax {
        let bits = value.to_bits() & ABS;
        Amax(if bits > INFINITY { NAN } else { bits })
    }

    /// From the integer view; anything that is not the bits of a non-negative number or the one
    /// NaN pattern is taken as NaN.
    #[inline]
    pub const fn from_bits(bits: u32) -> Amax {
        Amax(if bits > INFINITY { NAN } else { bits })
    }

    /// The integer view: what an all-reduce takes the maximum of.
    #[inline]
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// The value: non-negative, infinite or a quiet NaN.
    #[inline]
    pub const fn to_f32(self) -> f32 {
        f32::from_bits(self.0)
    }

    /// Whether neither infinity nor NaN was seen.
    #[inline]
    pub const fn is_finite(self) -> bool {
        self.0 < INFINITY
    }

    /// Whether a NaN was seen.
    #[inline]
    pub const fn is_nan(self) -> bool {
        self.0 > INFINITY
    }

    /// Whether nothing but zeros was seen.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Of both: associative, commutative, and NaN stays.
    #[inline]
    pub const fn merge(self, other: Amax) -> Amax {
        if self.0 >= other.0 { self } else { other }
    }
}

/// The amax, and the smallest absolute value above zero: what a pass that looks for the one can see
/// of the other for nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extremes {
    /// The largest absolute value.
    pub amax: Amax,
    /// As [`Stats::min_nonzero`].
    pub min_nonzero: u32,
}

impl Extremes {
    /// Of nothing: the neutral element of [`Extremes::merge`].
    pub(crate) const EMPTY: Extremes = Extremes {
        amax: Amax::ZERO,
        min_nonzero: INFINITY,
    };

    /// Of both.
    pub(crate) fn merge(self, other: Extremes) -> Extremes {
        Extremes {
            amax: self.amax.merge(other.amax),
            min_nonzero: self.min_nonzero.min(other.min_nonzero),
        }
    }
}

/// Counts of one pass of quantization. All are integers, so that every cut of the work merges to
/// the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stats {
    /// Elements seen.
    pub count: u64,
    /// Source elements that are zero.
    pub zero: u64,
    /// Finite source elements that rounded (as if the format had no largest value) to beyond the
    /// largest value.
    pub saturated: u64,
    /// Source elements that are neither zero nor NaN and were stored as zero, or under a scale of
    /// zero.
    pub underflowed: u64,
    /// Source elements that are NaN.
    pub nan: u64,
    /// Source elements that are infinite.
    pub infinite: u64,
    /// The largest absolute value of the source.
    pub amax: Amax,
    /// The bits of the smallest absolute value above zero (as `f32`); the bits of infinity where
    /// there was none.
    pub min_nonzero: u32,
}

impl Default for Stats {
    fn default() -> Stats {
        Stats::EMPTY
    }
}

impl Stats {
    /// Of nothing: the neutral element of [`Stats::merge`].
    pub const EMPTY: Stats = Stats {
        count: 0,
        zero: 0,
        saturated: 0,
        underflowed: 0,
        nan: 0,
        infinite: 0,
        amax: Amax::ZERO,
        min_nonzero: INFINITY,
    };

    /// Of both; counts stop at 2^64 - 1.
    pub const fn merge(self, other: Stats) -> Stats {
        Stats {
            count: self.count.saturating_add(other.count),
            zero: self.zero.saturating_add(other.zero),
            saturated: self.saturated.saturating_add(other.saturated),
            underflowed: self.underflowed.saturating_add(other.underflowed),
            nan: self.nan.saturating_add(other.nan),
            infinite: self.infinite.saturating_add(other.infinite),
            amax: self.amax.merge(other.amax),
            min_nonzero: if self.min_nonzero < other.min_nonzero {
                self.min_nonzero
            } else {
                other.min_nonzero
            },
        }
    }
}

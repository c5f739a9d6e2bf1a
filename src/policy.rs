// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a value that a format cannot hold is stored: the [`Cast`].
//!
//! Rounding, saturation and NaN handling are given with each call, never set globally.
//!
//! Each choice has a number, by which it crosses the C ABI: explicit, append-only, 0 the default.

/// Number of random bits of a stochastic rounding: 1 to 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RandomBits(u8);

impl RandomBits {
    /// 16 bits: what the built-in generator serves an element.
    pub const SIXTEEN: RandomBits = RandomBits(16);

    /// `bits` random bits, or `None` outside 1 to 32.
    pub const fn new(bits: u32) -> Option<RandomBits> {
        if bits >= 1 && bits <= 32 {
            Some(RandomBits(bits as u8))
        } else {
            None
        }
    }

    /// The number of bits.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0 as u32
    }
}

/// Which neighbour a value between two representable ones becomes.
///
/// The value lies `nu` of an ulp above its lower neighbour in magnitude, `0 <= nu < 1`; "away"
/// means to the upper one. In **E8M0**, whose significand has one bit, nearest-away is "ties up"
/// (CUDA, PyTorch), nearest-even is "ties to the even code" (P3109), and toward negative is
/// toward zero.
///
/// The stochastic roundings are those of IEEE P3109 (draft v4.0, §4.6): `R` is the low N bits of
/// the random word. A is what the hardware does (PTX `cvt.rs`, AMD `v_cvt_sr`: add `R` below the
/// kept bits and take the carry).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To the nearest; a tie goes to the even code.
    #[default]
    NearestEven,
    /// To the nearest; a tie goes away from zero.
    NearestAway,
    /// Never away.
    TowardZero,
    /// Away where the value is positive.
    TowardPositive,
    /// Away where the value is negative.
    TowardNegative,
    /// To the odd code of the two, where the value is not exact.
    ToOdd,
    /// Away where `floor(nu * 2^N) + R >= 2^N`.
    StochasticA(RandomBits),
    /// Away where `floor(nu * 2^(N+1)) + 2R + 1 >= 2^(N+1)`.
    StochasticB(RandomBits),
    /// Away where `nearest_even(nu * 2^N) + R >= 2^N`.
    StochasticC(RandomBits),
}

impl Rounding {
    /// The number of random bits an element needs: 0 for a deterministic rounding.
    pub const fn random_bits(self) -> u32 {
        match self {
            Rounding::StochasticA(n) | Rounding::StochasticB(n) | Rounding::StochasticC(n) => {
                n.get()
            }
            _ => 0,
        }
    }

    /// The number of the rounding in the C ABI; the count of random bits travels beside it.
    pub const fn number(self) -> u32 {
        match self {
            Rounding::NearestEven => 0,
            Rounding::NearestAway => 1,
            Rounding::TowardZero => 2,
            Rounding::TowardPositive => 3,
            Rounding::TowardNegative => 4,
            Rounding::ToOdd => 5,
            Rounding::StochasticA(_) => 6,
            Rounding::StochasticB(_) => 7,
            Rounding::StochasticC(_) => 8,
        }
    }

    /// The rounding with this number, if there is one. A stochastic one takes 1 to 32 random bits,
    /// the others none.
    pub const fn from_number(number: u32, random_bits: u32) -> Option<Rounding> {
        Some(match (number, RandomBits::new(random_bits)) {
            (6, Some(bits)) => Rounding::StochasticA(bits),
            (7, Some(bits)) => Rounding::StochasticB(bits),
            (8, Some(bits)) => Rounding::StochasticC(bits),
            _ if random_bits != 0 => return None,
            (0, _) => Rounding::NearestEven,
            (1, _) => Rounding::NearestAway,
            (2, _) => Rounding::TowardZero,
            (3, _) => Rounding::TowardPositive,
            (4, _) => Rounding::TowardNegative,
            (5, _) => Rounding::ToOdd,
            _ => return None,
        })
    }

    /// Whether the rounding needs random bits.
    pub const fn is_stochastic(self) -> bool {
        self.random_bits() != 0
    }

    /// Whether a value of that sign is never rounded away from zero: then it cannot overflow
    /// (IEEE 754-2019 §7.4).
    #[inline]
    pub const fn points_to_zero(self, negative: bool) -> bool {
        match self {
            Rounding::TowardZero => true,
            Rounding::TowardPositive => negative,
            Rounding::TowardNegative => !negative,
            _ => false,
        }
    }
}

/// What a value beyond the largest becomes: P3109's three modes. The value is rounded first,
/// as if the exponent had no bound, and then compared with the maximum.
///
/// Below an unsigned P3109 format lies nothing to overflow to: there, what clamps gives zero (under
/// `Propagate` minus infinity too), and what does not gives NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Saturation {
    /// Everything clamps, infinities too (OFP8 saturating, CUDA `__NV_SATFINITE`).
    #[default]
    Finite = 0,
    /// Finite overflow clamps; an infinity becomes what it becomes under [`Saturation::None`].
    Propagate = 1,
    /// Nothing clamps: the format's own overflow ([`Overflow`](crate::spec::Overflow); OFP8
    /// non-saturating, CUDA `__NV_NOSAT`), which is infinity where there is one, else NaN, and the
    /// largest value where there is neither and in P3109's finite formats.
    None = 2,
}

impl Saturation {
    /// The number of the choice in the C ABI.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The choice with this number, if there is one.
    pub const fn from_number(number: u32) -> Option<Saturation> {
        Some(match number {
            0 => Saturation::Finite,
            1 => Saturation::Propagate,
            2 => Saturation::None,
            _ => return None,
        })
    }
}

/// What a NaN input becomes. Payloads are never kept.
///
/// A format without NaN stores its largest value: positive, or with the input's sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum NanPolicy {
    /// The format's positive canonical NaN.
    #[default]
    Canonical = 0,
    /// The same with the input's sign, where the format has two.
    KeepSign = 1,
}

impl NanPolicy {
    /// The number of the choice in the C ABI.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The choice with this number, if there is one.
    pub const fn from_number(number: u32) -> Option<NanPolicy> {
        Some(match number {
            0 => NanPolicy::Canonical,
            1 => NanPolicy::KeepSign,
            _ => return None,
        })
    }
}

/// Rounding, saturation and NaN handling of one conversion.
///
/// The default (nearest-even, finite, canonical) is what the conversion instructions of Hopper
/// and Blackwell do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cast {
    /// Which neighbour a value between two representable ones becomes.
    pub rounding: Rounding,
    /// What a value beyond the largest becomes.
    pub saturation: Saturation,
    /// What NaN becomes.
    pub nan: NanPolicy,
}

impl Cast {
    /// Nearest-even, finite, canonical: the same as `Cast::default()`, for constants.
    pub const DEFAULT: Cast = Cast {
        rounding: Rounding::NearestEven,
        saturation: Saturation::Finite,
        nan: NanPolicy::Canonical,
    };

    /// The same cast with another rounding.
    pub const fn rounding(self, rounding: Rounding) -> Cast {
        Cast { rounding, ..self }
    }

    /// The same cast with another saturation.
    pub const fn saturation(self, saturation: Saturation) -> Cast {
        Cast { saturation, ..self }
    }

    /// The same cast with another NaN policy.
    pub const fn nan(self, nan: NanPolicy) -> Cast {
        Cast { nan, ..self }
    }
}

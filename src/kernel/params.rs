// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a kernel knows about a format and a cast: one set of run-time constants for all of them.
//!
//! # Rounding by an addition
//! Let `m` be a power of two so large that its ulp is that of the format at `x`: `2^discarded`
//! times the power of two at or below `|x|`, and for subnormals times that of the smallest normal
//! value. Then `|x| + m`, rounded to nearest-even, has rounded `x` as the format would, and the
//! low bits of the sum hold the significand. `m` carries a constant in its own low bits (an even
//! one, so that ties are kept), chosen so that the low 16 bits of
//! `bits(|x| + m) + (bits(m) >> discarded)` are the magnitude, exponent and all.
//!
//! Every format with a zero is encoded so; only the numbers differ. E8M0, which is an exponent
//! alone, needs no rounding of a significand and has a loop of its own.

use crate::policy::{Cast, Rounding};
use crate::scalar::{self, Value};
use crate::spec::{FloatType, Format, Sign, Spec};

/// Mantissa bits of `f32`, the type that lanes hold.
pub(super) const F32_MANTISSA_BITS: u32 = 23;
/// Exponent bias of `f32`.
pub(super) const F32_BIAS: i32 = 127;

/// Bytes of a result from which on it is stored past the caches: more than the share of a last-level
/// cache that a core can hope for, so that nobody finds it there anyway.
pub(super) const STREAM_FROM: usize = 8 << 20;

/// The constants of one encoding. Codes of special values come from the scalar reference, so that
/// no rule is written twice. Where there are two, the second is for a negative input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Params {
    /// The row.
    pub(super) spec: &'static Spec,
    /// Rounding, saturation, NaN handling.
    pub(super) cast: Cast,
    /// Bits of an `f32` significand below one ulp of a normal value.
    pub(super) discarded: u32,
    /// The bits of the smallest normal value: below it the ulp stays the same.
    pub(super) min_normal: u32,
    /// The bits of the value that would follow the largest: overflow rounds to it.
    pub(super) following: u32,
    /// What is added to the bits of the power of two at or below `|x|` to make `m`.
    pub(super) magic: u32,
    /// The largest finite magnitude.
    pub(super) max: u32,
    /// The largest magnitude a value of that sign may round to.
    pub(super) limit: [u32; 2],
    /// The bit of an input that is its sign; 0 where the format drops it.
    pub(super) source_sign: u32,
    /// A negative code is `(magnitude ^ flip) - borrow`, cut to `code_mask`.
    pub(super) flip: u32,
    /// See `flip`: all ones for two's complement, else 0.
    pub(super) borrow: u32,
    /// The bits that a code uses.
    pub(super) code_mask: u32,
    /// All ones where zero has a sign, else 0.
    pub(super) signed_zero: u32,
    /// The code of a finite value beyond `limit`.
    pub(super) overflow: [u32; 2],
    /// The code of an infinity.
    pub(super) infinite: [u32; 2],
    /// The code of NaN.
    pub(super) nan: [u32; 2],
    /// The bits of the smallest value that nearest-even takes beyond the largest.
    pub(super) beyond: u32,
    /// For the fastest loops, where the cast allows them.
    pub(super) plain: Option<Plain>,
    /// Whether codes go past the caches: see [`Params::for_codes`].
    pub(crate) stream: bool,
    /// How far ahead of itself the source is fetched, in elements; 0 for not at all.
    pub(crate) ahead: usize,
}

impl Params {
    pub(crate) const fn new(format: Format, cast: Cast) -> Params {
        let spec = format.spec();
        let max = spec.max_magnitude() as u32;
        let (flip, borrow) = match spec.sign {
            Sign::Bit => (spec.sign_mask() as u32, 0),
            Sign::TwosComplement => (u32::MAX, u32::MAX),
            Sign::Dropped | Sign::OutOfRange => (0, 0),
        };
        let discarded = F32_MANTISSA_BITS - spec.mantissa_bits;
        let min_field = (spec.min_exponent() + F32_BIAS) as u32;
        let min_normal = min_field << F32_MANTISSA_BITS;
        let lowest = (min_field + discarded) << spec.mantissa_bits;
        let following = following(spec, min_field);
        let half_step = (following - max_value(spec).to_bits()) / 2;
        let mut params = Params {
            spec,
            cast,
            discarded,
            min_normal,
            following,
            magic: (discarded << F32_MANTISSA_BITS) + (lowest.wrapping_neg() & 0xFFFF),
            max,
            limit: [
                max,
                match spec.sign {
                    Sign::OutOfRange => 0,
                    _ => max,
                },
            ],
            source_sign: match spec.sign {
                Sign::Dropped => 0,
                _ => 1 << 31,
            },
            flip,
            borrow,
            code_mask: spec.code_mask() as u32,
            signed_zero: if spec.has_negative_zero() {
                u32::MAX
            } else {
                0
            },
            overflow: both(spec, cast, Special::Overflow),
            infinite: both(spec, cast, Special::Infinite),
            nan: both(spec, cast, Special::Nan),
            // The tie belongs to the even magnitude.
            beyond: following - half_step + 1 - (max & 1),
            plain: None,
            stream: false,
            ahead: 0,
        };
        params.plain = Plain::new(&params);
        params
    }

    /// Times the power of two at or below `|x|`, it makes `m`: one fused multiplication adds it to `|x|`.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub(super) fn m_factor(&self) -> f32 {
        f32::from_bits(1f32.to_bits() + self.magic)
    }

    /// What the fastest loops need, if the cast is one for them and nearest-even.
    pub(super) fn nearest(&self) -> Option<Plain> {
        self.plain.filter(|plain| plain.random_bits == 0)
    }

    /// Whether there is that.
    pub(crate) fn is_plain(&self) -> bool {
        self.nearest().is_some()
    }

    /// Whether nothing up to the value with these bits rounds beyond the largest.
    pub(crate) fn holds(&self, bits: u32) -> bool {
        bits < self.beyond
    }

    /// The same for work that writes so many codes. Many are stored past the caches, where the kernel
    /// can: a store into a cache first reads the line that it is about to overwrite.
    /// [`super::settle`] must follow.
    pub(crate) const fn for_codes(mut self, codes: usize) -> Params {
        self.stream = codes >= STREAM_FROM;
        self
    }

    /// The same for work on parts of a matrix that are looked at and then encoded: how many elements
    /// lie from one in a part to the same one in the next part, which may be a negative number that
    /// wraps around (0: that is not known). Where codes are stored past the caches, the next part is
    /// fetched into the second level while one is encoded, if the kernel can: nothing else asks the
    /// memory for anything meanwhile. (With half of it fetched during the first look, blocks of 1x128
    /// took half as long again.)
    pub(crate) const fn with_next_part(mut self, ahead: usize) -> Params {
        self.ahead = if self.stream { ahead } else { 0 };
        self
    }
}

/// What a kernel that only clamps, adds and looks for NaN needs beside [`Params`]: for nearest-even
/// and stochastic rounding A of at most 16 bits, and formats of a sign bit (kept or dropped), at most 7 bits of magnitude, and a zero, where
/// overflow and infinities give the same code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain {
    /// The value to which larger ones are clamped: the largest, or what would follow it.
    pub(super) clamp: f32,
    /// The magnitude's bits; the sign lies above them.
    pub(super) magnitude_bits: u32,
    /// Whether the sign is stored.
    pub(super) signed: bool,
    /// Whether zero has no sign although other values do.
    pub(super) one_zero: bool,
    /// Random bits of stochastic rounding A, the only one beside nearest-even (0).
    pub(super) random_bits: u32,
}

impl Plain {
    const fn new(params: &Params) -> Option<Plain> {
        let spec = params.spec;
        let signed = matches!(spec.sign, Sign::Bit);
        let too_wide = spec.magnitude_bits() > 7;
        if !spec.zero || too_wide || !(signed || matches!(spec.sign, Sign::Dropped)) {
            return None;
        }
        let random_bits = match params.cast.rounding {
            Rounding::NearestEven => 0,
            Rounding::StochasticA(n) if n.get() <= 16 => n.get(),
            _ => return None,
        };
        let largest = pair(spec, params.max);
        let following = pair(spec, params.max + 1);
        let clamp = if same(params.overflow, largest) && same(params.infinite, largest) {
            max_value(spec)
        } else if params.max < spec.magnitude_mask() as u32
            && same(params.overflow, following)
            && same(params.infinite, following)
        {
            f32::from_bits(params.following)
        } else {
            return None;
        };
        Some(Plain {
            clamp,
            magnitude_bits: spec.magnitude_bits(),
            signed,
            one_zero: signed && !spec.has_negative_zero(),
            random_bits,
        })
    }
}

/// The codes of a magnitude, of either sign.
const fn pair(spec: &Spec, magnitude: u32) -> [u32; 2] {
    [magnitude, spec.join(true, magnitude as u64) as u32]
}

const fn same(a: [u32; 2], b: [u32; 2]) -> bool {
    a[0] == b[0] && a[1] == b[1]
}

/// The largest value of a format.
const fn max_value(spec: &Spec) -> f32 {
    let f32_row = FloatType::F32.spec();
    let bits = scalar::convert(spec, f32_row, scalar::DECODE_CAST, spec.max_magnitude(), 0);
    f32::from_bits(bits as u32)
}

/// The bits of the value that would follow the largest one (infinity for E8M0). Integers alone: this runs
/// under the caller's floating-point environment.
const fn following(spec: &Spec, min_field: u32) -> u32 {
    let max = max_value(spec).to_bits();
    let field = max >> F32_MANTISSA_BITS;
    let normal_field = if field > min_field { field } else { min_field };
    let ulp_field = normal_field - spec.mantissa_bits;
    max + (1 << (F32_MANTISSA_BITS + ulp_field - field))
}

enum Special {
    Overflow,
    Infinite,
    Nan,
}

/// The codes of a special value of either sign, asked from the reference.
const fn both(spec: &Spec, cast: Cast, special: Special) -> [u32; 2] {
    const BEYOND_ANY_FORMAT: i32 = 1024;
    let mut codes = [0; 2];
    let mut i = 0;
    while i < 2 {
        let negative = i == 1;
        let value = match special {
            Special::Overflow => Value::Finite {
                negative,
                exponent: BEYOND_ANY_FORMAT,
                significand: 1 << 63,
            },
            Special::Infinite => Value::Infinite { negative },
            Special::Nan => Value::Nan { negative },
        };
        codes[i] = scalar::encode(spec, cast, value, 0) as u32;
        i += 1;
    }
    codes
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each set of kernels provides: the same list for all.

use super::columns::COLUMNS;
use super::copies::{Least, Moved, Target};
use super::decode::Decoding;
use super::factor::{Factor, Factors};
use super::groups::GROUP;
use super::params::Params;
use super::portable;
use super::statistics;
use super::transpose::{self, Turned};
use crate::float::Float;
use crate::random::Philox;
use crate::stats::{Amax, Extremes};

/// One level of instructions. A value of it proves that the machine has them.
///
/// Everything has a portable body, which [`Isa::vectorize`] compiles for the level; a level writes
/// by hand only what measured faster than that.
pub(super) trait Isa: Copy {
    /// Runs `work` compiled for the level, as far as it is inlined.
    fn vectorize<R>(self, work: impl FnOnce() -> R) -> R;

    /// The source as `f32` bits, see [`portable::load`].
    #[inline]
    fn load<S: Float>(self, source: &[S], bits: &mut [u32]) {
        self.vectorize(|| portable::load(source, bits));
    }

    /// Applies the factor to `f32` bits.
    #[inline]
    fn scale(self, factor: Factor, loaded: &[u32], scaled: &mut [u32]) {
        self.vectorize(|| portable::scale(factor, loaded, scaled));
    }

    /// Encodes `f32` bits, see [`portable::encode`].
    #[inline]
    fn encode_bits(self, params: &Params, bits: &[u32], words: &[u32], codes: &mut [u8]) -> u64 {
        self.vectorize(|| portable::encode(params, bits, words, codes))
    }

    /// Encodes a slice in one pass, if there is a loop for this combination; see
    /// [`portable::encode_fast`].
    #[inline]
    fn encode_fast<S: Float>(
        self,
        params: &Params,
        factors: Factors<'_>,
        source: &[S],
        codes: &mut [u8],
        slow: impl Fn(&[S], &mut [u8]),
    ) -> bool {
        self.vectorize(|| portable::encode_fast::<S, false>(params, factors, source, codes, slow))
    }

    /// [`Isa::encode_fast`] for a source none of which is NaN or, multiplied, rounds beyond the largest
    /// value. Returns how many codes are zero, or `None`, having done nothing, where there is no loop.
    #[inline]
    fn encode_bounded<S: Float>(
        self,
        params: &Params,
        factors: Factors<'_>,
        source: &[S],
        codes: &mut [u8],
    ) -> Option<u64> {
        let slow = |_: &[S], _: &mut [u8]| debug_assert!(false, "a NaN where there is none");
        self.encode_fast(params, factors, source, codes, slow)
            .then(|| self.count_zero_codes(params, codes))
    }

    /// Whether [`Isa::encode_random`] ever does something: else nobody draws random bits for it.
    const HAS_RANDOM: bool = false;

    /// Encodes a slice with the low bits of a half-word an element, if there is a loop for this
    /// combination and no element is NaN; else returns false, and what is in `codes` is void.
    #[inline]
    fn encode_random<S: Float>(
        self,
        _params: &Params,
        _factor: Factor,
        _source: &[S],
        _random: &[u16],
        _codes: &mut [u8],
    ) -> bool {
        false
    }

    /// Decodes, see [`portable::decode`].
    #[inline]
    fn decode<T: Float>(self, decoding: &Decoding, codes: &[u8], target: &mut [T]) {
        self.vectorize(|| portable::decode(decoding.table, codes, target));
    }

    /// Decodes with a scale, see [`portable::decode_scaled`].
    #[inline]
    fn decode_scaled<T: Float>(
        self,
        decoding: &Decoding,
        scale: f32,
        codes: &[u8],
        target: &mut [T],
    ) {
        self.vectorize(|| portable::decode_scaled(decoding.table, scale, codes, target));
    }

    /// Decodes with a scale (1 for none) in vectors, if there is a loop for this combination;
    /// else returns false, having done nothing.
    #[inline]
    fn decode_fast<T: Float>(
        self,
        _decoding: &Decoding,
        _scale: f32,
        _codes: &[u8],
        _target: &mut [T],
    ) -> bool {
        false
    }

    /// Decodes groups of [`super::groups::GROUP`] elements, the last one perhaps smaller, each with its E8M0 scale,
    /// which is not NaN, if there is a loop for this combination; else returns false, having done
    /// nothing.
    #[inline]
    fn decode_groups<T: Float>(
        self,
        _decoding: &Decoding,
        _scales: &[u8],
        _codes: &[u8],
        _target: &mut [T],
    ) -> bool {
        false
    }

    /// The largest absolute value.
    #[inline]
    fn amax<S: Float>(self, source: &[S]) -> Amax {
        self.vectorize(|| statistics::amax(source))
    }

    /// The extremes of the absolute values.
    #[inline]
    fn extremes<S: Float>(self, source: &[S]) -> Extremes {
        self.vectorize(|| statistics::extremes(source))
    }

    /// The bits of the amax of each group, and those of the smallest absolute value above zero; see
    /// [`statistics::group_extremes`].
    #[inline]
    fn group_extremes<S: Float>(self, source: &[S], amaxes: &mut [u32]) -> u32 {
        self.vectorize(|| statistics::group_extremes(source, amaxes))
    }

    /// The same of groups of so many elements, the last one perhaps smaller; see
    /// [`statistics::row_extremes`].
    #[inline]
    fn row_extremes<S: Float>(self, source: &[S], width: usize, amaxes: &mut [u32]) -> u32 {
        statistics::row_extremes(self, source, width, amaxes)
    }

    /// The bits of the amaxes of a tile ([`super::copies`]), of each group of a row and of each column,
    /// and the small end; `None`, having done nothing, where two looks are not slower.
    #[inline]
    fn both_extremes<S: Float>(
        self,
        _rows: &[&[S]; GROUP],
        _amaxes: [&mut [u32; COLUMNS]; 2],
    ) -> Option<Least> {
        None
    }

    /// Encodes a tile twice; returns how many codes of each copy are zero, or `None`, having done nothing,
    /// where there is no loop for the cast. `counts` is whether any may be.
    #[inline]
    fn encode_both<S: Float>(
        self,
        _params: &Params,
        _counts: bool,
        _moved: [Moved<'_>; 2],
        _rows: &[&[S]; GROUP],
        _targets: [Target<'_>; 2],
    ) -> Option<[u64; 2]> {
        None
    }

    /// Turns columns of codes into rows.
    #[inline]
    fn turn(self, rows: &[&[u8; transpose::GROUP]; transpose::ROWS], turned: &mut Turned) {
        self.vectorize(|| transpose::turn(rows, turned));
    }

    /// How many codes are zero, of either sign.
    #[inline]
    fn count_zero_codes(self, params: &Params, codes: &[u8]) -> u64 {
        let sign = params.flip & params.signed_zero;
        self.vectorize(|| statistics::count_zero_codes(sign as u8, codes))
    }

    /// The random bits of the elements from number `offset` of the stream on.
    #[inline]
    fn random(self, philox: &Philox, offset: u64, bits: &mut [u16]) {
        self.vectorize(|| philox.fill(offset, bits));
    }
}

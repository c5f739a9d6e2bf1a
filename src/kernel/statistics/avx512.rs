// SPDX-License-Identifier: MIT OR Apache-2.0
//! Extremes of groups by AVX-512.

use core::arch::x86_64::*;

use super::min_nonzero;
use crate::float::Float;
use crate::kernel::avx512::{LANES, load, widen_bf16};
use crate::spec::FloatType;

/// [`Isa::row_extremes`] of whole groups of `f32`, or of types of half its width, whose width is a multiple of 16.
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
pub(in crate::kernel) fn group_extremes<S: Float, const WIDTH: usize>(
    source: &[S],
    amaxes: &mut [u32],
) -> u32 {
    let groups = source.as_chunks::<WIDTH>().0;
    let amaxes = amaxes.get_mut(..groups.len()).unwrap_or_default();
    if S::TYPE.size() == 2 {
        return half_extremes(groups, amaxes);
    }
    let mut least = _mm512_set1_epi32(-1);
    let (of_lanes, rest) = groups.as_chunks::<LANES>();
    let (places, rest_of_places) = amaxes.as_chunks_mut::<LANES>();
    for (groups, places) in of_lanes.iter().zip(places) {
        let mut most = [_mm512_setzero_si512(); LANES];
        for (most, group) in most.iter_mut().zip(groups) {
            (*most, least) = vector_extremes(group, least);
        }
        let most = max_of_each(most, |a, b| _mm512_max_epu32(a, b));
        // SAFETY: 16 places are written.
        unsafe { _mm512_storeu_epi32(places.as_mut_ptr().cast(), most) };
    }
    for (group, place) in rest.iter().zip(rest_of_places) {
        let most;
        (most, least) = vector_extremes(group, least);
        *place = _mm512_reduce_max_epu32(most);
    }
    min_nonzero::<S>(_mm512_reduce_min_epu32(least).into())
}

/// The lanes' largest absolute values of a group, and the least of `least` and of its absolute values
/// less 1.
#[inline]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
fn vector_extremes<S: Float, const WIDTH: usize>(
    group: &[S; WIDTH],
    mut least: __m512i,
) -> (__m512i, __m512i) {
    let mut most = _mm512_setzero_si512();
    for i in 0..WIDTH / LANES {
        // SAFETY: 16 elements, at a multiple of 16 within a group.
        let x = unsafe { load::<S>(group.as_ptr().add(LANES * i)) };
        let x = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(i32::MAX));
        most = _mm512_max_epu32(most, x);
        // Zero wraps around to the top of the order.
        least = _mm512_min_epu32(least, _mm512_sub_epi32(x, _mm512_set1_epi32(1)));
    }
    (most, least)
}

/// [`group_extremes`] of types of 16 bits: two groups share a register, in the low and in the high halves of its lanes.
#[inline]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
fn half_extremes<S: Float, const WIDTH: usize>(groups: &[[S; WIDTH]], amaxes: &mut [u32]) -> u32 {
    const MANY: usize = 2 * LANES;
    let low_half = _mm512_set1_epi32(0xFFFF);
    let mut least = _mm512_set1_epi32(-1);
    let (of_lanes, rest) = groups.as_chunks::<MANY>();
    let (places, rest_of_places) = amaxes.as_chunks_mut::<MANY>();
    for (groups, places) in of_lanes.iter().zip(places) {
        let mut most = [_mm512_setzero_si512(); LANES];
        for (most, [a, b]) in most.iter_mut().zip(groups.as_chunks().0) {
            (*most, least) = halves_extremes(a, b, least);
        }
        let most = max_of_each(most, |a, b| _mm512_max_epu16(a, b));
        let low = widen_bits::<S>(_mm512_castsi512_si256(most));
        let high = widen_bits::<S>(_mm512_extracti64x4_epi64::<1>(most));
        // SAFETY: 32 places are written.
        unsafe {
            _mm512_storeu_epi32(places.as_mut_ptr().cast(), low);
            _mm512_storeu_epi32(places.as_mut_ptr().add(LANES).cast(), high);
        }
    }
    for (group, place) in rest.iter().zip(rest_of_places) {
        let most;
        (most, least) = halves_extremes(group, group, least);
        let most = _mm512_reduce_max_epu32(_mm512_and_si512(most, low_half));
        *place = S::from_wide_bits(most.into()).to_f32().to_bits();
    }
    least = _mm512_min_epu16(least, _mm512_srli_epi32::<16>(least));
    let least = _mm512_reduce_min_epu32(_mm512_and_si512(least, low_half));
    min_nonzero::<S>(least.into())
}

/// [`vector_extremes`] of two groups of 16-bit elements, the first in the low halves of lanes.
#[inline]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
fn halves_extremes<S: Float, const WIDTH: usize>(
    a: &[S; WIDTH],
    b: &[S; WIDTH],
    mut least: __m512i,
) -> (__m512i, __m512i) {
    let abs = _mm512_set1_epi16(i16::MAX);
    let mut seen = |x| {
        let x = _mm512_and_si512(x, abs);
        // Zero wraps around to the top of the order.
        least = _mm512_min_epu16(least, _mm512_sub_epi16(x, _mm512_set1_epi16(1)));
        x
    };
    if WIDTH == LANES {
        // SAFETY: 16 elements of 2 bytes each.
        let [a, b] = [a, b].map(|x| unsafe { _mm256_loadu_si256(x.as_ptr().cast()) });
        let b = _mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(b));
        let both = _mm512_or_si512(_mm512_cvtepu16_epi32(a), b);
        return (seen(both), least);
    }
    let [a, b] = [a, b].map(|group| {
        let mut most = _mm512_setzero_si512();
        for i in 0..WIDTH / (2 * LANES) {
            // SAFETY: 32 elements of 2 bytes, at a multiple of 32 within a group.
            let x = unsafe { _mm512_loadu_si512(group.as_ptr().add(2 * LANES * i).cast()) };
            most = _mm512_max_epu16(most, seen(x));
        }
        most
    });
    let (low, high) = (_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b));
    (_mm512_max_epu16(low, high), least)
}

/// Bits of a type of 16 bits as those of `f32`.
#[inline]
#[target_feature(enable = "avx512f")]
fn widen_bits<S: Float>(bits: __m256i) -> __m512i {
    let widened = match S::TYPE {
        FloatType::F16 => _mm512_cvtph_ps(bits),
        _ => widen_bf16(bits),
    };
    _mm512_castps_si512(widened)
}

/// Lane i is the largest lane of vector i, or each half of it by itself, as `max` says. Each step halves the vectors, whose lanes then are the
/// maxima of halves of what they came from.
#[inline]
#[target_feature(enable = "avx512f")]
pub(in crate::kernel) fn max_of_each(
    of: [__m512i; LANES],
    max: impl Fn(__m512i, __m512i) -> __m512i,
) -> __m512i {
    let zero = _mm512_setzero_si512();
    let (mut eight, mut four, mut two) = ([zero; 8], [zero; 4], [zero; 2]);
    for i in 0..8 {
        let (a, b) = (of[i], of[i + 8]);
        let low = _mm512_shuffle_i64x2::<0b01_00_01_00>(a, b);
        let high = _mm512_shuffle_i64x2::<0b11_10_11_10>(a, b);
        eight[i] = max(low, high);
    }
    for i in 0..4 {
        let (a, b) = (eight[i], eight[i + 4]);
        let even = _mm512_shuffle_i64x2::<0b10_00_10_00>(a, b);
        let odd = _mm512_shuffle_i64x2::<0b11_01_11_01>(a, b);
        four[i] = max(even, odd);
    }
    for i in 0..2 {
        let (a, b) = (four[i], four[i + 2]);
        let (low, high) = (_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
        two[i] = max(low, high);
    }
    let [a, b] = two.map(|x| _mm512_castsi512_ps(x));
    let even = _mm512_castps_si512(_mm512_shuffle_ps::<0b10_00_10_00>(a, b));
    let odd = _mm512_castps_si512(_mm512_shuffle_ps::<0b11_01_11_01>(a, b));
    let order = _mm512_setr_epi32(0, 2, 1, 3, 8, 10, 9, 11, 4, 6, 5, 7, 12, 14, 13, 15);
    _mm512_permutexvar_epi32(order, max(even, odd))
}

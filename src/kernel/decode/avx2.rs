// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decoding by AVX2, 32 codes at a time.

use core::arch::x86_64::*;

use super::Decoding;
use crate::float::Float;
use crate::kernel::avx2::{BLOCK, LANES};
use crate::kernel::groups::{GROUP, dequantize_scale};
use crate::spec::FloatType;

#[target_feature(enable = "avx2,f16c,fma,popcnt")]
pub(in crate::kernel) fn decode_fast<T: Float>(
    decoding: &Decoding,
    scale: f32,
    codes: &[u8],
    target: &mut [T],
) -> bool {
    if codes.len() < BLOCK || !decoding.keeps_nan(scale) {
        return false;
    }
    let Some(line) = Line::new::<T>(decoding) else {
        return false;
    };
    let by = _mm256_set1_ps(scale);
    if scale == 1.0 {
        decode::<T, false>(&line, |_| by, codes, target);
    } else {
        decode::<T, true>(&line, |_| by, codes, target);
    }
    true
}

#[target_feature(enable = "avx2,f16c,fma,popcnt")]
pub(in crate::kernel) fn decode_groups<T: Float>(
    decoding: &Decoding,
    scales: &[u8],
    codes: &[u8],
    target: &mut [T],
) -> bool {
    const { assert!(BLOCK == GROUP) };
    let Some(line) = Line::new::<T>(decoding) else {
        return false;
    };
    let by = |block: usize| {
        let code = scales.get(block).copied().unwrap_or_default();
        _mm256_set1_ps(f32::from_bits(dequantize_scale(code)))
    };
    decode::<T, true>(&line, by, codes, target);
    true
}

/// The bfloat16 bits of magnitudes of 7 bits lie on a line but for the first 16 of them, among which
/// the subnormals are, and the last 16, among which the special values are. There a table says by
/// which bits they differ from it.
struct Line {
    /// A step of the line is this power of two.
    step: __m128i,
    /// Where it begins.
    start: __m256i,
    /// The low and the high byte of the differences of the first magnitudes, and of the last.
    first: [__m256i; 2],
    last: [__m256i; 2],
}

/// Magnitudes in a table: what a shuffle of bytes can look up.
const LOOKED_UP: usize = 16;
/// The first magnitude of the second table.
const LAST: usize = 128 - LOOKED_UP;

impl Line {
    /// None for a format that is not like that, and for a target of 64 bits.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new<T: Float>(decoding: &Decoding) -> Option<Line> {
        /// A magnitude on the line.
        const MIDDLE: usize = 64;
        let step = 7u32.checked_sub(decoding.mantissa_bits)?;
        // The subnormals number `2^mantissa_bits`, less zero.
        let looks_up_subnormals = 1 << decoding.mantissa_bits <= LOOKED_UP;
        if !decoding.is_symmetric || !looks_up_subnormals || matches!(T::TYPE, FloatType::F64) {
            return None;
        }
        let start = decoding.table[MIDDLE].wrapping_sub((MIDDLE as u16) << step);
        let differences = |from: usize| {
            let (mut low, mut high) = ([0u8; LOOKED_UP], [0u8; LOOKED_UP]);
            let entries = decoding.table.iter().enumerate().skip(from);
            for ((low, high), (magnitude, entry)) in low.iter_mut().zip(&mut high).zip(entries) {
                let line = start.wrapping_add((magnitude as u16) << step);
                [*low, *high] = (entry ^ line).to_le_bytes();
            }
            [low, high].map(|bytes| {
                // SAFETY: 16 bytes are read from an array of 16.
                _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
            })
        };
        Some(Line {
            step: _mm_cvtsi32_si128(step as i32),
            start: _mm256_set1_epi16(start as i16),
            first: differences(0),
            last: differences(LAST),
        })
    }

    /// The bfloat16 bits of 32 codes: those that interleaving takes from the low halves of the
    /// register's lanes, and those from the high halves.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn look_up(&self, codes: __m256i) -> (__m256i, __m256i) {
        let sign = _mm256_set1_epi8(i8::MIN);
        let last = _mm256_set1_epi8(LAST as i8);
        let magnitudes = _mm256_andnot_si256(sign, codes);
        // A shuffle gives 0 for what has bit 7 set: what is not in the table.
        let in_first = _mm256_adds_epu8(magnitudes, last);
        let in_last = _mm256_adds_epu8(_mm256_xor_si256(magnitudes, last), last);
        let difference = |i: usize| {
            _mm256_xor_si256(
                _mm256_shuffle_epi8(self.first[i], in_first),
                _mm256_shuffle_epi8(self.last[i], in_last),
            )
        };
        let low = difference(0);
        let high = _mm256_xor_si256(difference(1), _mm256_and_si256(codes, sign));
        let on_line =
            |magnitudes| _mm256_add_epi16(_mm256_sll_epi16(magnitudes, self.step), self.start);
        let zero = _mm256_setzero_si256();
        (
            _mm256_xor_si256(
                on_line(_mm256_unpacklo_epi8(magnitudes, zero)),
                _mm256_unpacklo_epi8(low, high),
            ),
            _mm256_xor_si256(
                on_line(_mm256_unpackhi_epi8(magnitudes, zero)),
                _mm256_unpackhi_epi8(low, high),
            ),
        )
    }
}

/// The loop over blocks; the last one goes through a padded copy.
#[inline]
#[target_feature(enable = "avx2,f16c,fma,popcnt")]
fn decode<T: Float, const SCALED: bool>(
    line: &Line,
    by: impl Fn(usize) -> __m256,
    codes: &[u8],
    target: &mut [T],
) {
    let blocks = codes.len() / BLOCK;
    let mut from = codes.chunks_exact(BLOCK);
    let mut to = target.chunks_exact_mut(BLOCK);
    for (block, (from, to)) in (&mut from).zip(&mut to).enumerate() {
        // SAFETY: a block of 32 codes and one of 32 elements.
        unsafe {
            let codes = _mm256_loadu_si256(from.as_ptr().cast());
            decode_block::<T, SCALED>(line, by(block), codes, to.as_mut_ptr());
        }
    }
    let (from, to) = (from.remainder(), to.into_remainder());
    if from.is_empty() {
        return;
    }
    let mut padded = [0u8; BLOCK];
    for (to, &from) in padded.iter_mut().zip(from) {
        *to = from;
    }
    let mut block = [T::default(); BLOCK];
    // SAFETY: arrays of 32 codes and of 32 elements.
    unsafe {
        let codes = _mm256_loadu_si256(padded.as_ptr().cast());
        decode_block::<T, SCALED>(line, by(blocks), codes, block.as_mut_ptr());
    }
    for (to, from) in to.iter_mut().zip(block) {
        *to = from;
    }
}

/// Decodes 32 codes, with a scale.
///
/// # Safety
/// 32 elements can be written at `target`.
#[inline]
#[target_feature(enable = "avx2,f16c,fma,popcnt")]
unsafe fn decode_block<T: Float, const SCALED: bool>(
    line: &Line,
    by: __m256,
    codes: __m256i,
    target: *mut T,
) {
    if !SCALED && matches!(T::TYPE, FloatType::Bf16) {
        // Interleaving works within 128 bits: eight codes of each half for the first register.
        let codes = _mm256_permute4x64_epi64::<0b11_01_10_00>(codes);
        let (low, high) = line.look_up(codes);
        // SAFETY: the caller's promise: twice 16 elements.
        unsafe {
            _mm256_storeu_si256(target.cast(), low);
            _mm256_storeu_si256(target.add(16).cast(), high);
        }
        return;
    }
    // Likewise, four codes of each half for each of four registers.
    let order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    let codes = _mm256_permutevar8x32_epi32(codes, order);
    let (low, high) = line.look_up(codes);
    let zero = _mm256_setzero_si256();
    let values = [
        _mm256_unpacklo_epi16(zero, low),
        _mm256_unpackhi_epi16(zero, low),
        _mm256_unpacklo_epi16(zero, high),
        _mm256_unpackhi_epi16(zero, high),
    ];
    for (i, value) in values.into_iter().enumerate() {
        let mut value = _mm256_castsi256_ps(value);
        if SCALED {
            value = _mm256_mul_ps(value, by);
        }
        // SAFETY: the caller's promise: four times 8 elements.
        unsafe { store(target.add(LANES * i), value) };
    }
}

/// Stores 8 elements, rounded to nearest-even.
///
/// # Safety
/// They can be written.
#[inline]
#[target_feature(enable = "avx2,f16c,fma,popcnt")]
unsafe fn store<T: Float>(target: *mut T, value: __m256) {
    // SAFETY: the caller's promise; the stores take 8 times the size of `T`.
    unsafe {
        match T::TYPE {
            FloatType::F32 => _mm256_storeu_ps(target.cast(), value),
            FloatType::Bf16 => _mm_storeu_si128(target.cast(), narrow_bf16(value)),
            FloatType::F16 => {
                let half = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(value);
                _mm_storeu_si128(target.cast(), half);
            }
            FloatType::F64 => {}
        }
    }
}

/// Rounds to bfloat16, ties to even. A NaN comes from a table and has zeros where it is cut.
#[inline]
#[target_feature(enable = "avx2")]
fn narrow_bf16(value: __m256) -> __m128i {
    let bits = _mm256_castps_si256(value);
    let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
    let sum = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF)), odd);
    let words = _mm256_srli_epi32::<16>(sum);
    let packed = _mm256_packus_epi32(words, words);
    _mm256_castsi256_si128(_mm256_permute4x64_epi64::<0b10_00>(packed))
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decoding by AVX-512, 64 codes at a time.

use core::arch::x86_64::*;

use super::Decoding;
use crate::float::Float;
use crate::kernel::avx512::{BLOCK, LANES, select, store_register};
use crate::kernel::encode::LINE;
use crate::kernel::groups::dequantize_scale;
use crate::spec::FloatType;

#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
pub(in crate::kernel) fn decode_fast<T: Float>(
    decoding: &Decoding,
    scale: f32,
    codes: &[u8],
    target: &mut [T],
) -> bool {
    if matches!(T::TYPE, FloatType::F64) || !decoding.keeps_nan(scale) {
        return false;
    }
    let tables = Tables::new(decoding);
    let by = [_mm512_set1_ps(scale); 2];
    match (decoding.is_symmetric, scale == 1.0) {
        (true, true) => decode::<T, true, false>(&tables, |_| by, codes, target),
        (true, false) => decode::<T, true, true>(&tables, |_| by, codes, target),
        (false, true) => decode::<T, false, false>(&tables, |_| by, codes, target),
        (false, false) => decode::<T, false, true>(&tables, |_| by, codes, target),
    }
    true
}

#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
pub(in crate::kernel) fn decode_groups<T: Float>(
    decoding: &Decoding,
    scales: &[u8],
    codes: &[u8],
    target: &mut [T],
) -> bool {
    if matches!(T::TYPE, FloatType::F64) {
        return false;
    }
    let tables = Tables::new(decoding);
    let scale = |group: usize| {
        let code = scales.get(group).copied().unwrap_or_default();
        _mm512_set1_ps(f32::from_bits(dequantize_scale(code)))
    };
    let by = |block: usize| [scale(2 * block), scale(2 * block + 1)];
    if decoding.is_symmetric {
        decode::<T, true, true>(&tables, by, codes, target);
    } else {
        decode::<T, false, true>(&tables, by, codes, target);
    }
    true
}

/// The bytes of the bfloat16 table of a format, 64 codes a register.
struct Tables {
    low: [__m512i; 4],
    high: [__m512i; 4],
    /// Whether values are stored past the caches.
    stream: bool,
}

impl Tables {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn new(decoding: &Decoding) -> Tables {
        let mut even = [0u8; BLOCK];
        for (i, place) in even.iter_mut().enumerate() {
            *place = 2 * i as u8;
        }
        // SAFETY: 64 bytes are read from an array of 64.
        let even = unsafe { _mm512_loadu_si512(even.as_ptr().cast()) };
        let odd = _mm512_or_si512(even, _mm512_set1_epi8(1));
        let mut tables = Tables {
            low: [even; 4],
            high: [even; 4],
            stream: decoding.stream,
        };
        for i in 0..4 {
            // SAFETY: twice 32 entries of a table of 256, from entry 64 i on.
            let (first, second) = unsafe {
                let start = decoding.table.as_ptr().add(BLOCK * i);
                (
                    _mm512_loadu_si512(start.cast()),
                    _mm512_loadu_si512(start.add(BLOCK / 2).cast()),
                )
            };
            tables.low[i] = _mm512_permutex2var_epi8(first, even, second);
            tables.high[i] = _mm512_permutex2var_epi8(first, odd, second);
        }
        tables
    }

    /// The low and the high bytes of the values of 64 codes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn look_up<const SYMMETRIC: bool>(&self, codes: __m512i) -> (__m512i, __m512i) {
        let low = _mm512_permutex2var_epi8(self.low[0], codes, self.low[1]);
        let high = _mm512_permutex2var_epi8(self.high[0], codes, self.high[1]);
        if SYMMETRIC {
            // Bit 7 of the code is the sign of the value.
            let sign = _mm512_set1_epi8(i8::MIN);
            return (low, select(sign, codes, high));
        }
        let upper = _mm512_movepi8_mask(codes);
        let low_of_upper = _mm512_permutex2var_epi8(self.low[2], codes, self.low[3]);
        let high_of_upper = _mm512_permutex2var_epi8(self.high[2], codes, self.high[3]);
        (
            _mm512_mask_blend_epi8(upper, low, low_of_upper),
            _mm512_mask_blend_epi8(upper, high, high_of_upper),
        )
    }
}

/// The loop over blocks; the last one goes through a padded copy.
#[inline]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
fn decode<T: Float, const SYMMETRIC: bool, const SCALED: bool>(
    tables: &Tables,
    by: impl Fn(usize) -> [__m512; 2],
    codes: &[u8],
    target: &mut [T],
) {
    let stream = tables.stream && target.as_ptr().align_offset(LINE) == 0;
    let blocks = codes.len() / BLOCK;
    let mut from = codes.chunks_exact(BLOCK);
    let mut to = target.chunks_exact_mut(BLOCK);
    for (block, (from, to)) in (&mut from).zip(&mut to).enumerate() {
        // SAFETY: a block of 64 codes and one of 64 elements, which lies at a multiple of 64 bytes where
        // it must.
        unsafe {
            let codes = _mm512_loadu_si512(from.as_ptr().cast());
            let to = to.as_mut_ptr();
            if stream {
                decode_block::<T, SYMMETRIC, SCALED, true>(tables, by(block), codes, to);
            } else {
                decode_block::<T, SYMMETRIC, SCALED, false>(tables, by(block), codes, to);
            }
        }
    }
    let (from, to) = (from.remainder(), to.into_remainder());
    if from.is_empty() {
        return;
    }
    let mut block = [T::default(); BLOCK];
    let mask = u64::MAX >> (BLOCK - from.len());
    // SAFETY: only the codes there are are read; an array of 64 elements is written.
    unsafe {
        let codes = _mm512_maskz_loadu_epi8(mask, from.as_ptr().cast());
        let to = block.as_mut_ptr();
        decode_block::<T, SYMMETRIC, SCALED, false>(tables, by(blocks), codes, to);
    }
    for (to, from) in to.iter_mut().zip(block) {
        *to = from;
    }
}

/// Decodes 64 codes, with a scale for each half of them.
///
/// # Safety
/// 64 elements can be written at `target`, a multiple of 64 bytes where they are stored past the caches.
#[inline]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
unsafe fn decode_block<T: Float, const SYMMETRIC: bool, const SCALED: bool, const STREAM: bool>(
    tables: &Tables,
    by: [__m512; 2],
    codes: __m512i,
    target: *mut T,
) {
    if !SCALED && matches!(T::TYPE, FloatType::Bf16) {
        // Interleaving works within 128 bits: eight codes for the first register, eight for the
        // second.
        let order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
        let codes = _mm512_permutexvar_epi64(order, codes);
        let (low, high) = tables.look_up::<SYMMETRIC>(codes);
        let values = [
            _mm512_unpacklo_epi8(low, high),
            _mm512_unpackhi_epi8(low, high),
        ];
        for (i, value) in values.into_iter().enumerate() {
            // SAFETY: the caller's promise: twice 32 elements.
            unsafe { store_register::<STREAM>(target.add(32 * i).cast(), value) };
        }
        return;
    }
    // Likewise, four codes for each of four registers.
    let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    let codes = _mm512_permutexvar_epi32(order, codes);
    let (low, high) = tables.look_up::<SYMMETRIC>(codes);
    let zero = _mm512_setzero_si512();
    let first = _mm512_unpacklo_epi8(low, high);
    let second = _mm512_unpackhi_epi8(low, high);
    let values = [
        _mm512_unpacklo_epi16(zero, first),
        _mm512_unpackhi_epi16(zero, first),
        _mm512_unpacklo_epi16(zero, second),
        _mm512_unpackhi_epi16(zero, second),
    ];
    for (i, value) in values.into_iter().enumerate() {
        let mut value = _mm512_castsi512_ps(value);
        if SCALED {
            value = _mm512_mul_ps(value, by[i / 2]);
        }
        // SAFETY: the caller's promise: four times 16 elements.
        unsafe { store::<T, STREAM>(target.add(LANES * i), value) };
    }
}

/// Stores 16 elements, rounded to nearest-even.
///
/// # Safety
/// They can be written, at a multiple of their size where they are stored past the caches.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,f16c")]
unsafe fn store<T: Float, const STREAM: bool>(target: *mut T, value: __m512) {
    let half = match T::TYPE {
        // SAFETY: the caller's promise.
        FloatType::F32 => unsafe {
            return store_register::<STREAM>(target.cast(), _mm512_castps_si512(value));
        },
        FloatType::F64 => return,
        FloatType::Bf16 => narrow_bf16(value),
        FloatType::F16 => _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(value),
    };
    // SAFETY: the caller's promise: 32 bytes.
    unsafe {
        if STREAM {
            _mm256_stream_si256(target.cast(), half);
        } else {
            _mm256_storeu_si256(target.cast(), half);
        }
    }
}

/// Rounds to bfloat16, ties to even; AVX512-BF16's instruction flushes subnormals.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn narrow_bf16(value: __m512) -> __m256i {
    let bits = _mm512_castps_si512(value);
    let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
    let sum = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7FFF)), odd);
    _mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(sum))
}

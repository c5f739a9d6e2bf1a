// SPDX-License-Identifier: MIT OR Apache-2.0
//! AVX2 and F16C, 32 elements at a time: what measured faster than the portable code compiled for
//! it.

use core::arch::x86_64::*;

use super::Factor;
use super::isa::Isa;
use super::params::{Params, Plain};
use super::portable::power_of_two;
use crate::float::Float;
use crate::spec::FloatType;

/// Proof that the machine has what [`super::Kernel::Avx2`] names.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

/// Elements of a block: one register of codes.
const BLOCK: usize = 32;
/// Elements of a register of `f32`.
const LANES: usize = 8;

impl Avx2 {
    /// # Safety
    /// [`super::Kernel::Avx2`] is available.
    pub(super) unsafe fn new_unchecked() -> Avx2 {
        Avx2(())
    }
}

impl Isa for Avx2 {
    #[inline]
    fn vectorize<R>(self, work: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "avx2,f16c")]
        fn with_features<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        // SAFETY: `self` proves that the features are there.
        unsafe { with_features(work) }
    }

    #[inline]
    fn encode_fast<S: Float>(
        self,
        params: &Params,
        factor: Factor,
        source: &[S],
        codes: &mut [u8],
        slow: impl Fn(&[S], &mut [u8]),
    ) -> bool {
        // SAFETY: `self` proves that the features are there.
        unsafe { encode_fast(params, factor, source, codes, slow) }
    }
}

#[target_feature(enable = "avx2,f16c")]
fn encode_fast<S: Float>(
    params: &Params,
    factor: Factor,
    source: &[S],
    codes: &mut [u8],
    slow: impl Fn(&[S], &mut [u8]),
) -> bool {
    let Some(plain) = params.plain.filter(|plain| plain.random_bits == 0) else {
        return false;
    };
    if matches!(S::TYPE, FloatType::F64) {
        return false;
    }
    let constants = Constants::new(params, &plain);
    match factor {
        Factor::ONE => encode(&constants, source, codes, |x| x, slow),
        Factor::Shift(k) => {
            let by = _mm256_set1_ps(power_of_two(k));
            let times = |x| _mm256_mul_ps(x, by);
            encode(&constants, source, codes, times, slow);
        }
        Factor::Multiply(by) => {
            let by = _mm256_set1_ps(by);
            let times = |x| _mm256_mul_ps(x, by);
            encode(&constants, source, codes, times, slow);
        }
        Factor::Divide(by) => {
            let by = _mm256_set1_ps(by);
            let over = |x| _mm256_div_ps(x, by);
            encode(&constants, source, codes, over, slow);
        }
    }
    true
}

/// [`Plain`] in registers.
struct Constants {
    clamp: __m256,
    min_normal: __m256i,
    magic: __m256i,
    discarded: __m128i,
    /// What has the sign in bit 7 of each byte is cut to that bit (or to nothing, where the sign
    /// is dropped), and shifted to its place.
    sign: __m256i,
    sign_shift: __m128i,
    /// The code that is to become 0: negative zero where there is one zero, else 0 itself.
    no_zero: __m256i,
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(params: &Params, plain: &Plain) -> Constants {
        let no_zero = (plain.one_zero as u8) << plain.magnitude_bits;
        Constants {
            clamp: _mm256_set1_ps(plain.clamp),
            min_normal: _mm256_set1_epi32(params.min_normal as i32),
            magic: _mm256_set1_epi32(params.magic as i32),
            discarded: _mm_cvtsi32_si128(params.discarded as i32),
            sign: _mm256_set1_epi8(if plain.signed { i8::MIN } else { 0 }),
            sign_shift: _mm_cvtsi32_si128(7 - plain.magnitude_bits as i32),
            no_zero: _mm256_set1_epi8(no_zero as i8),
        }
    }
}

/// The loop over blocks; the last one goes through a padded copy.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn encode<S: Float>(
    constants: &Constants,
    source: &[S],
    codes: &mut [u8],
    factor: impl Fn(__m256) -> __m256,
    slow: impl Fn(&[S], &mut [u8]),
) {
    let mut from = source.chunks_exact(BLOCK);
    let mut to = codes.chunks_exact_mut(BLOCK);
    for (from, to) in (&mut from).zip(&mut to) {
        let mut x = [_mm256_setzero_ps(); 4];
        for (i, x) in x.iter_mut().enumerate() {
            // SAFETY: four times 8 elements of a block of 32.
            *x = factor(unsafe { load::<S>(from.as_ptr().add(LANES * i)) });
        }
        if has_nan(x) {
            slow(from, to);
            continue;
        }
        let block = encode_block(constants, x);
        // SAFETY: 32 bytes into a block of 32.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), block) };
    }
    let (from, to) = (from.remainder(), to.into_remainder());
    if from.is_empty() {
        return;
    }
    let mut padded = [S::default(); BLOCK];
    for (to, &from) in padded.iter_mut().zip(from) {
        *to = from;
    }
    let mut x = [_mm256_setzero_ps(); 4];
    for (i, x) in x.iter_mut().enumerate() {
        // SAFETY: four times 8 elements of an array of 32.
        *x = factor(unsafe { load::<S>(padded.as_ptr().add(LANES * i)) });
    }
    if has_nan(x) {
        return slow(from, to);
    }
    let mut block = [0u8; BLOCK];
    // SAFETY: 32 bytes into an array of 32.
    unsafe { _mm256_storeu_si256(block.as_mut_ptr().cast(), encode_block(constants, x)) };
    for (to, from) in to.iter_mut().zip(block) {
        *to = from;
    }
}

/// Whether one of 32 elements is NaN.
#[inline]
#[target_feature(enable = "avx2")]
fn has_nan(x: [__m256; 4]) -> bool {
    let low = _mm256_cmp_ps::<_CMP_UNORD_Q>(x[0], x[1]);
    let high = _mm256_cmp_ps::<_CMP_UNORD_Q>(x[2], x[3]);
    _mm256_movemask_ps(_mm256_or_ps(low, high)) != 0
}

/// The codes of 32 elements that are not NaN.
#[inline]
#[target_feature(enable = "avx2")]
fn encode_block(constants: &Constants, x: [__m256; 4]) -> __m256i {
    let abs = _mm256_castsi256_ps(_mm256_set1_epi32(i32::MAX));
    let exponent = _mm256_set1_epi32(!0 << 23);
    let byte = _mm256_set1_epi32(0xFF);
    let mut magnitudes = [_mm256_setzero_si256(); 4];
    let mut signs = magnitudes;
    for i in 0..4 {
        let y = _mm256_min_ps(_mm256_and_ps(x[i], abs), constants.clamp);
        let power = _mm256_and_si256(_mm256_castps_si256(y), exponent);
        let power = _mm256_max_epi32(power, constants.min_normal);
        let m = _mm256_add_epi32(power, constants.magic);
        let sum = _mm256_add_ps(y, _mm256_castsi256_ps(m));
        let magnitude = _mm256_add_epi32(
            _mm256_castps_si256(sum),
            _mm256_srl_epi32(m, constants.discarded),
        );
        magnitudes[i] = _mm256_and_si256(magnitude, byte);
        signs[i] = _mm256_castps_si256(x[i]);
    }
    let magnitudes = _mm256_packus_epi16(
        _mm256_packus_epi32(magnitudes[0], magnitudes[1]),
        _mm256_packus_epi32(magnitudes[2], magnitudes[3]),
    );
    // Saturation keeps the sign, in bit 7 at last.
    let signs = _mm256_packs_epi16(
        _mm256_packs_epi32(signs[0], signs[1]),
        _mm256_packs_epi32(signs[2], signs[3]),
    );
    let signs = _mm256_and_si256(signs, constants.sign);
    let signs = _mm256_srl_epi16(signs, constants.sign_shift);
    let codes = _mm256_or_si256(magnitudes, signs);
    let zeros = _mm256_cmpeq_epi8(codes, constants.no_zero);
    let codes = _mm256_andnot_si256(zeros, codes);
    // Packing has interleaved the halves of the registers.
    _mm256_permutevar8x32_epi32(codes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
}

/// 8 elements as `f32`.
///
/// # Safety
/// They can be read.
#[inline]
#[target_feature(enable = "avx2,f16c")]
unsafe fn load<S: Float>(source: *const S) -> __m256 {
    // SAFETY: the caller's promise; the loads take 8 times the size of `S`.
    unsafe {
        match S::TYPE {
            FloatType::F32 => _mm256_loadu_ps(source.cast()),
            FloatType::Bf16 => widen_bf16(_mm_loadu_si128(source.cast())),
            FloatType::F16 => _mm256_cvtph_ps(_mm_loadu_si128(source.cast())),
            FloatType::F64 => _mm256_setzero_ps(),
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn widen_bf16(bits: __m128i) -> __m256 {
    _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(bits)))
}

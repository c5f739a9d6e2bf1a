// SPDX-License-Identifier: MIT OR Apache-2.0
//! AVX2 and F16C, 32 elements at a time: what measured faster than the portable code compiled for
//! it.

use core::arch::asm;
use core::arch::x86_64::*;

use super::decode::{self, Decoding};
use super::encode::LINE;
use super::factor::{Factor, Factors, Operation};
use super::isa::Isa;
use super::params::{F32_MANTISSA_BITS, Params, Plain};
use super::portable::nearest;
use super::statistics;
use crate::float::Float;
use crate::random::{LAST_BLOCK, MULTIPLIER, Philox, ROUNDS, WEYL};
use crate::spec::FloatType;

/// Proof that the machine has what [`super::Kernel::Avx2`] names.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

/// Elements of a block: one register of codes.
pub(super) const BLOCK: usize = 32;
/// Elements of a register of `f32`.
pub(super) const LANES: usize = 8;

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
        #[target_feature(enable = "avx2,f16c,fma,popcnt")]
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
        factors: Factors<'_>,
        source: &[S],
        codes: &mut [u8],
        slow: impl Fn(&[S], &mut [u8]),
    ) -> bool {
        // SAFETY: `self` proves that the features are there.
        unsafe { encode_by::<S, false>(params, factors, source, codes, slow).is_some() }
    }

    #[inline]
    fn encode_bounded<S: Float>(
        self,
        params: &Params,
        factors: Factors<'_>,
        source: &[S],
        codes: &mut [u8],
    ) -> Option<u64> {
        let slow = |_: &[S], _: &mut [u8]| debug_assert!(false, "a NaN where there is none");
        // SAFETY: `self` proves that the features are there.
        unsafe { encode_by::<S, true>(params, factors, source, codes, slow) }
    }

    #[inline]
    fn group_extremes<S: Float>(self, source: &[S], amaxes: &mut [u32]) -> u32 {
        // What is passed to [`Isa::vectorize`] is not always inlined, being this long.
        #[target_feature(enable = "avx2,f16c,fma,popcnt")]
        fn with_features<S: Float>(source: &[S], amaxes: &mut [u32]) -> u32 {
            statistics::group_extremes(source, amaxes)
        }
        // SAFETY: `self` proves that the features are there.
        unsafe { with_features(source, amaxes) }
    }

    const HAS_RANDOM: bool = true;

    #[inline]
    fn encode_random<S: Float>(
        self,
        params: &Params,
        factor: Factor,
        source: &[S],
        random: &[u16],
        codes: &mut [u8],
    ) -> bool {
        // SAFETY: `self` proves that the features are there.
        unsafe { encode_random(params, factor, source, random, codes) }
    }

    #[inline]
    fn random(self, philox: &Philox, offset: u64, bits: &mut [u16]) {
        // SAFETY: `self` proves that the features are there.
        philox.fill_by(offset, bits, |block, bits| unsafe {
            philox_group(philox, block, bits);
        });
    }

    #[inline]
    fn decode_fast<T: Float>(
        self,
        decoding: &Decoding,
        scale: f32,
        codes: &[u8],
        target: &mut [T],
    ) -> bool {
        // SAFETY: `self` proves that the features are there.
        unsafe { decode::avx2::decode_fast(decoding, scale, codes, target) }
    }

    #[inline]
    fn decode_groups<T: Float>(
        self,
        decoding: &Decoding,
        scales: &[u8],
        codes: &[u8],
        target: &mut [T],
    ) -> bool {
        // SAFETY: `self` proves that the features are there.
        unsafe { decode::avx2::decode_groups(decoding, scales, codes, target) }
    }
}

/// Encodes with any factors; returns what [`encode`] does, or `None`, having done nothing, where
/// there is no loop for it.
#[target_feature(enable = "avx2,f16c,fma,popcnt")]
fn encode_by<S: Float, const BOUNDED: bool>(
    params: &Params,
    factors: Factors<'_>,
    source: &[S],
    codes: &mut [u8],
    slow: impl Fn(&[S], &mut [u8]),
) -> Option<u64> {
    let plain = params.nearest()?;
    if matches!(S::TYPE, FloatType::F64) {
        return None;
    }
    let codes = codes.get_mut(..source.len())?;
    let constants = Constants::new(params, &plain);
    let run = Run {
        constants: &constants,
        source,
        in_pairs: matches!(S::TYPE, FloatType::Bf16) && factors.are_uniform(2 * LANES),
    };
    let operation = factors.operation();
    Some(match factors {
        Factors::One(Factor::ONE) => run.encode::<BOUNDED>(codes, |_, x| x, slow),
        Factors::One(factor) => {
            let by = _mm256_set1_ps(factor.number());
            run.scale::<BOUNDED>(codes, operation, |_| by, slow)
        }
        Factors::Each(_, numbers) => {
            let by = |first| load_numbers(numbers, first);
            run.scale::<BOUNDED>(codes, operation, by, slow)
        }
        Factors::Groups { log, numbers, .. } => {
            let by = |first: usize| _mm256_set1_ps(*numbers.get(first >> log).unwrap_or(&1.0));
            run.scale::<BOUNDED>(codes, operation, by, slow)
        }
    })
}

/// 8 numbers from number `first` on; where there are no more, 1.
#[inline]
#[target_feature(enable = "avx2")]
fn load_numbers(numbers: &[f32], first: usize) -> __m256 {
    let numbers = numbers.get(first..).unwrap_or_default();
    if numbers.len() >= LANES {
        // SAFETY: there are 8 of them.
        return unsafe { _mm256_loadu_ps(numbers.as_ptr()) };
    }
    let mut padded = [1.0; LANES];
    padded
        .iter_mut()
        .zip(numbers)
        .for_each(|(to, &by)| *to = by);
    // SAFETY: 8 numbers are read from an array of 8.
    unsafe { _mm256_loadu_ps(padded.as_ptr()) }
}

/// A run.
struct Run<'a, S> {
    constants: &'a Constants,
    source: &'a [S],
    /// Whether blocks are loaded by pairs: see [`load_block`].
    in_pairs: bool,
}

impl<S: Float> Run<'_, S> {
    /// [`encode`] of products or quotients with the numbers of the 8 elements from one on.
    #[inline]
    #[target_feature(enable = "avx2,f16c,fma,popcnt")]
    fn scale<const BOUNDED: bool>(
        self,
        codes: &mut [u8],
        operation: Operation,
        by: impl Fn(usize) -> __m256,
        slow: impl Fn(&[S], &mut [u8]),
    ) -> u64 {
        if operation == Operation::Divide {
            self.encode::<BOUNDED>(codes, |first, x| _mm256_div_ps(x, by(first)), slow)
        } else {
            self.encode::<BOUNDED>(codes, |first, x| _mm256_mul_ps(x, by(first)), slow)
        }
    }

    /// [`encode`], by pairs or not.
    #[inline]
    #[target_feature(enable = "avx2,f16c,fma,popcnt")]
    fn encode<const BOUNDED: bool>(
        self,
        codes: &mut [u8],
        factor: impl Fn(usize, __m256) -> __m256,
        slow: impl Fn(&[S], &mut [u8]),
    ) -> u64 {
        let Run {
            constants, source, ..
        } = self;
        if self.in_pairs {
            encode::<S, BOUNDED, true>(constants, source, codes, factor, slow)
        } else {
            encode::<S, BOUNDED, false>(constants, source, codes, factor, slow)
        }
    }
}

/// [`Plain`] in registers.
struct Constants {
    /// The magnitude to which larger ones are clamped.
    most: __m256i,
    min_normal: __m256i,
    /// Times the power of two at or below a value, it makes `m`, with the constant in its low bits.
    m_factor: __m256,
    /// What the halves of a sum are multiplied by, to become the magnitude, from bit `below` on.
    place: __m256i,
    /// The bits below a magnitude.
    below: __m128i,
    /// What has the sign in bit 7 of each byte is cut to that bit (or to nothing, where the sign
    /// is dropped), and shifted to its place.
    sign: __m256i,
    sign_shift: __m128i,
    /// The code that is to become 0: negative zero where there is one zero, else 0 itself.
    no_zero: __m256i,
    /// Whether the sign stays in bit 7, there are two zeros, and codes are stored into the caches.
    is_usual: bool,
    /// Whether codes are stored past the caches.
    stream: bool,
    /// See [`Params::with_next_part`].
    ahead: usize,
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(params: &Params, plain: &Plain) -> Constants {
        let no_zero = (plain.one_zero as u8) << plain.magnitude_bits;
        // Exponent fields begin at bit 7 of a half, and at bit `mantissa_bits` of a magnitude.
        let mantissa_bits = F32_MANTISSA_BITS - params.discarded;
        let below = 7 - mantissa_bits;
        let (most, ..) = nearest(params, plain.clamp.to_bits());
        Constants {
            most: _mm256_set1_epi8(most as i8),
            min_normal: _mm256_set1_epi32(params.min_normal as i32),
            m_factor: _mm256_set1_ps(params.m_factor()),
            place: _mm256_set1_epi32(1 << 16 | 1 << below),
            below: _mm_cvtsi32_si128(below as i32),
            sign: _mm256_set1_epi8(if plain.signed { i8::MIN } else { 0 }),
            sign_shift: _mm_cvtsi32_si128(7 - plain.magnitude_bits as i32),
            no_zero: _mm256_set1_epi8(no_zero as i8),
            is_usual: plain.magnitude_bits == 7 && !plain.one_zero && !params.stream,
            stream: params.stream,
            ahead: params.ahead,
        }
    }
}

/// The loop over blocks; the last one goes through a padded copy. Where all is bounded, there is no
/// look for NaN; then it returns how many codes are zero. `factor` is told the number of the first of 8
/// elements.
#[inline]
#[target_feature(enable = "avx2,f16c,fma,popcnt")]
fn encode<S: Float, const BOUNDED: bool, const PAIRS: bool>(
    constants: &Constants,
    source: &[S],
    codes: &mut [u8],
    factor: impl Fn(usize, __m256) -> __m256,
    slow: impl Fn(&[S], &mut [u8]),
) -> u64 {
    let (mut from, last) = source.as_chunks::<BLOCK>();
    let (mut to, last_codes) = codes.as_chunks_mut::<BLOCK>();
    let blocks = from.len();
    let mut zeros = 0;
    // The loop ends at a NaN: a call inside it would have its constants in memory.
    loop {
        let first = BLOCK * (blocks - from.len());
        let (done, zero) = if constants.is_usual {
            encode_blocks::<S, BOUNDED, true, PAIRS>(constants, first, from, to, &factor)
        } else {
            encode_blocks::<S, BOUNDED, false, PAIRS>(constants, first, from, to, &factor)
        };
        zeros += zero;
        let (Some((block, next)), Some((place, places))) = (
            from.get(done..).and_then(<[_]>::split_first),
            to.get_mut(done..).and_then(<[_]>::split_first_mut),
        ) else {
            break;
        };
        slow(block, place);
        (from, to) = (next, places);
    }
    let (from, to) = (last, last_codes);
    if from.is_empty() {
        return zeros;
    }
    let mut padded = [S::default(); BLOCK];
    for (to, &from) in padded.iter_mut().zip(from) {
        *to = from;
    }
    let (mut x, signs) = load_block::<S, PAIRS>(&padded);
    for (i, x) in x.iter_mut().enumerate() {
        *x = factor(BLOCK * blocks + first_of::<PAIRS>(i), *x);
    }
    let Some((codes, zero)) = encode_block::<BOUNDED, false, PAIRS>(constants, x, signs) else {
        slow(from, to);
        return zeros;
    };
    let mut block = [0u8; BLOCK];
    // SAFETY: 32 bytes into an array of 32.
    unsafe { _mm256_storeu_si256(block.as_mut_ptr().cast(), codes) };
    for (to, from) in to.iter_mut().zip(block) {
        *to = from;
    }
    let mask = u32::MAX >> (BLOCK - from.len());
    zeros + (zero & mask).count_ones() as u64
}

/// The blocks up to the first with a NaN: how many, and how many of their codes are zero.
#[inline]
#[target_feature(enable = "avx2,f16c,fma,popcnt")]
fn encode_blocks<S: Float, const BOUNDED: bool, const USUAL: bool, const PAIRS: bool>(
    constants: &Constants,
    first: usize,
    source: &[[S; BLOCK]],
    codes: &mut [[u8; BLOCK]],
    factor: &impl Fn(usize, __m256) -> __m256,
) -> (usize, u64) {
    let stream = constants.stream && codes.as_ptr().align_offset(BLOCK) == 0;
    let mut zeros = 0;
    for (block, (from, to)) in source.iter().zip(codes).enumerate() {
        let (mut x, signs) = load_block::<S, PAIRS>(from);
        for (i, x) in x.iter_mut().enumerate() {
            *x = factor(first + BLOCK * block + first_of::<PAIRS>(i), *x);
        }
        let encoded = encode_block::<BOUNDED, USUAL, PAIRS>(constants, x, signs);
        let Some((block_codes, zero)) = encoded else {
            return (block, zeros);
        };
        zeros += zero.count_ones() as u64;
        // SAFETY: 32 bytes into a block of 32, which lies at a multiple of 32 where it must.
        unsafe {
            if !USUAL && stream {
                _mm256_stream_si256(to.as_mut_ptr().cast(), block_codes);
                if constants.ahead != 0 {
                    fetch_block(from.as_ptr().wrapping_add(constants.ahead));
                }
            } else {
                _mm256_storeu_si256(to.as_mut_ptr().cast(), block_codes);
            }
        }
    }
    (source.len(), zeros)
}

/// Fetches 32 elements into the second-level cache. A hint: there need not be any.
#[inline]
#[target_feature(enable = "avx2")]
fn fetch_block<S>(place: *const S) {
    for line in 0..BLOCK * size_of::<S>() / LINE {
        _mm_prefetch::<_MM_HINT_T1>(place.cast::<i8>().wrapping_add(LINE * line));
    }
}

/// Whether a comparison came true in any lane.
#[inline]
#[target_feature(enable = "avx2")]
fn is_any(compared: __m256) -> bool {
    let mask: u32;
    // In place of `_mm256_movemask_ps`, which the compiler turns into VTESTPS: 3 % of the loop.
    // SAFETY: reads one register and writes another.
    unsafe {
        asm!(
            "vmovmskps {mask:e}, {compared}",
            mask = out(reg) mask,
            compared = in(ymm_reg) compared,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    mask != 0
}

/// The codes of 32 elements, and, where all is bounded, which of them are zero; `None` where there is
/// a NaN. For any format, or for the usual ones ([`Constants::is_usual`]).
///
/// `m` is a product of the power of two at or below a value, exact or infinite: one fused instruction adds
/// it. The dot product of the sum's halves, seen as signed numbers, with two powers of two joins the exponent
/// and the rounded significand: the constant in `m` takes away where exponents begin. Packing stops
/// at 255, no matter how large a magnitude is.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn encode_block<const BOUNDED: bool, const USUAL: bool, const PAIRS: bool>(
    constants: &Constants,
    x: [__m256; 4],
    signs: __m256i,
) -> Option<(__m256i, u32)> {
    let abs = _mm256_castsi256_ps(_mm256_set1_epi32(i32::MAX));
    let exponent = _mm256_set1_epi32(!0 << F32_MANTISSA_BITS);
    let mut joined = [_mm256_setzero_si256(); 4];
    let mut sums = x;
    for i in 0..4 {
        let y = _mm256_and_ps(x[i], abs);
        let power = _mm256_and_si256(_mm256_castps_si256(y), exponent);
        let power = _mm256_max_epi32(power, constants.min_normal);
        sums[i] = _mm256_fmadd_ps(_mm256_castsi256_ps(power), constants.m_factor, y);
        joined[i] = _mm256_madd_epi16(_mm256_castps_si256(sums[i]), constants.place);
    }
    if !BOUNDED {
        // Numbers above zero and infinities, multiplied and added, do not make a NaN.
        let three = _mm256_fmadd_ps(sums[0], sums[1], sums[2]);
        if is_any(_mm256_cmp_ps::<_CMP_UNORD_Q>(three, sums[3])) {
            return None;
        }
    }
    let words = |a, b| _mm256_srl_epi16(_mm256_packs_epi32(a, b), constants.below);
    let magnitudes = _mm256_packus_epi16(words(joined[0], joined[1]), words(joined[2], joined[3]));
    let magnitudes = _mm256_min_epu8(magnitudes, constants.most);
    let magnitudes = unpair::<PAIRS>(magnitudes);
    let codes = in_order::<PAIRS>(join_signs::<USUAL>(constants, signs, magnitudes));
    if !BOUNDED {
        return Some((codes, 0));
    }
    let zeros = _mm256_cmpeq_epi8(in_order::<PAIRS>(magnitudes), _mm256_setzero_si256());
    Some((codes, _mm256_movemask_epi8(zeros) as u32))
}

/// Magnitudes with the signs of their elements, both in the same order.
#[inline]
#[target_feature(enable = "avx2")]
fn join_signs<const USUAL: bool>(
    constants: &Constants,
    signs: __m256i,
    magnitudes: __m256i,
) -> __m256i {
    let signs = _mm256_and_si256(signs, constants.sign);
    if USUAL {
        return _mm256_or_si256(magnitudes, signs);
    }
    let signs = _mm256_srl_epi16(signs, constants.sign_shift);
    let codes = _mm256_or_si256(magnitudes, signs);
    _mm256_andnot_si256(_mm256_cmpeq_epi8(codes, constants.no_zero), codes)
}

/// Bytes whose first bits are the signs of 32 elements, in the order in which packing four registers leaves them.
#[inline]
#[target_feature(enable = "avx2")]
fn pack_signs(x: [__m256; 4]) -> __m256i {
    // Saturation keeps the sign.
    let [a, b, c, d] = x.map(|x| _mm256_castps_si256(x));
    _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d))
}

/// Of what was packed from elements with even and with odd numbers, those pairs side by side.
#[inline]
#[target_feature(enable = "avx2")]
fn unpair<const PAIRS: bool>(bytes: __m256i) -> __m256i {
    if !PAIRS {
        return bytes;
    }
    let order = _mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
    _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(order))
}

/// Bytes in the order of their elements: packing has interleaved the halves of four registers, or of two by pairs.
#[inline]
#[target_feature(enable = "avx2")]
fn in_order<const PAIRS: bool>(bytes: __m256i) -> __m256i {
    if PAIRS {
        return _mm256_permute4x64_epi64::<0b11_01_10_00>(bytes);
    }
    _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
}

/// The random bits of 64 elements, from a block on, with four blocks a register: a lane of 64 bits
/// holds a word in its low half, as the product of two words wants it. Twice as many registers do not fit: what
/// then lies on the stack crosses lines of the cache or not from one process to the next, and the function takes from
/// as long to four times as long.
#[inline]
#[target_feature(enable = "avx2")]
fn philox_group(philox: &Philox, first: u64, bits: &mut [u16; 64]) {
    const REGISTERS: usize = 2;
    let multiplier = MULTIPLIER.map(|m| _mm256_set1_epi64x(m as i64));
    let mut key = [philox.seed as u32, (philox.seed >> 32) as u32];
    // Interleaving puts even lanes into one register and odd ones into the other.
    let order = _mm256_setr_epi64x(0, 2, 1, 3);
    let last = _mm256_set1_epi64x(LAST_BLOCK as i64);
    let mut a = [order; REGISTERS];
    let mut b = a;
    let mut c = [_mm256_set1_epi64x(philox.stream as i64); REGISTERS];
    let mut d = [_mm256_set1_epi64x((philox.stream >> 32) as i64); REGISTERS];
    for i in 0..REGISTERS {
        let start = _mm256_set1_epi64x(first.wrapping_add(4 * i as u64) as i64);
        a[i] = _mm256_and_si256(_mm256_add_epi64(start, order), last);
        b[i] = _mm256_srli_epi64::<32>(a[i]);
    }
    for _ in 0..ROUNDS {
        let keys = key.map(|k| _mm256_set1_epi64x(k as i64));
        for i in 0..REGISTERS {
            let p = _mm256_mul_epu32(a[i], multiplier[0]);
            let q = _mm256_mul_epu32(c[i], multiplier[1]);
            let high_p = _mm256_srli_epi64::<32>(p);
            let high_q = _mm256_srli_epi64::<32>(q);
            a[i] = _mm256_xor_si256(_mm256_xor_si256(high_q, b[i]), keys[0]);
            c[i] = _mm256_xor_si256(_mm256_xor_si256(high_p, d[i]), keys[1]);
            (b[i], d[i]) = (q, p);
        }
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    for i in 0..REGISTERS {
        let low =
            |words, other| _mm256_blend_epi32::<0b1010_1010>(words, _mm256_slli_epi64::<32>(other));
        let (first, second) = (low(a[i], b[i]), low(c[i], d[i]));
        // SAFETY: 16 of the 64 half-words at each of four places.
        unsafe {
            let place = bits.as_mut_ptr().add(32 * i);
            _mm256_storeu_si256(place.cast(), _mm256_unpacklo_epi64(first, second));
            _mm256_storeu_si256(place.add(16).cast(), _mm256_unpackhi_epi64(first, second));
        }
    }
}

/// Stochastic rounding A: a random fraction of an ulp is added to the significand, in integers, and the
/// sum truncated.
#[target_feature(enable = "avx2,f16c,fma,popcnt")]
fn encode_random<S: Float>(
    params: &Params,
    factor: Factor,
    source: &[S],
    random: &[u16],
    codes: &mut [u8],
) -> bool {
    let Some(plain) = params.plain.filter(|plain| plain.random_bits > 0) else {
        return false;
    };
    if matches!(S::TYPE, FloatType::F64) {
        return false;
    }
    let run = Noisy {
        constants: &Constants::new(params, &plain),
        noise: &Noise::new(params, &plain),
        random,
    };
    let by = _mm256_set1_ps(factor.number());
    match factor {
        Factor::ONE => run.encode(source, codes, |x| x),
        Factor::Shift(_) | Factor::Multiply(_) => {
            run.encode(source, codes, |x| _mm256_mul_ps(x, by))
        }
        Factor::Divide(_) => run.encode(source, codes, |x| _mm256_div_ps(x, by)),
    }
}

/// How random bits become a fraction of an ulp.
struct Noise {
    /// The distance of the bits from the bottom of the significand, and where they then are.
    place: __m128i,
    used: __m256i,
    /// The smallest exponent field, and one less than it in its place.
    min_field: __m256i,
    below_min: __m256i,
    /// The bits of the significand that are truncated.
    discarded: __m128i,
}

impl Noise {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(params: &Params, plain: &Plain) -> Noise {
        let place = params.discarded - plain.random_bits;
        Noise {
            place: _mm_cvtsi32_si128(place as i32),
            used: _mm256_set1_epi32(((1 << plain.random_bits) - 1) << place),
            min_field: _mm256_set1_epi32((params.min_normal >> F32_MANTISSA_BITS) as i32),
            below_min: _mm256_set1_epi32(params.min_normal as i32 - IMPLICIT),
            discarded: _mm_cvtsi32_si128(params.discarded as i32),
        }
    }

    /// The magnitudes of 8 absolute values, each with a half-word; not clamped.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn round(&self, abs: __m256i, bits: __m256i) -> __m256i {
        let significand = _mm256_and_si256(abs, _mm256_set1_epi32(IMPLICIT - 1));
        let significand = _mm256_or_si256(significand, _mm256_set1_epi32(IMPLICIT));
        // Below the smallest exponent the significand is shifted, and what that loses is less than any
        // sum lacks to the next magnitude. Above it the shift is negative, which gives zero.
        let field = _mm256_srli_epi32::<{ F32_MANTISSA_BITS as i32 }>(abs);
        let shift = _mm256_sub_epi32(self.min_field, field);
        let subnormal = _mm256_srlv_epi32(significand, shift);
        let normal = _mm256_sub_epi32(abs, self.below_min);
        let noise = _mm256_and_si256(_mm256_sll_epi32(bits, self.place), self.used);
        let sum = _mm256_add_epi32(_mm256_max_epi32(normal, subnormal), noise);
        _mm256_srl_epi32(sum, self.discarded)
    }
}

/// The implicit bit of a significand of `f32`.
const IMPLICIT: i32 = 1 << F32_MANTISSA_BITS;

/// A run with random bits.
struct Noisy<'a> {
    constants: &'a Constants,
    noise: &'a Noise,
    random: &'a [u16],
}

impl Noisy<'_> {
    /// The loop over blocks; the last one goes through padded copies. False if it met a NaN.
    #[inline]
    #[target_feature(enable = "avx2,f16c,fma,popcnt")]
    fn encode<S: Float>(
        &self,
        source: &[S],
        codes: &mut [u8],
        factor: impl Fn(__m256) -> __m256,
    ) -> bool {
        let (from, last) = source.as_chunks::<BLOCK>();
        let (to, last_codes) = codes.as_chunks_mut::<BLOCK>();
        let (random, last_random) = self.random.as_chunks::<BLOCK>();
        for ((from, random), to) in from.iter().zip(random).zip(to) {
            let Some(codes) = self.encode_block(from, random, &factor) else {
                return false;
            };
            // SAFETY: 32 bytes into a block of 32.
            unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), codes) };
        }
        let (mut padded, mut bits) = ([S::default(); BLOCK], [0; BLOCK]);
        for (to, &from) in padded.iter_mut().zip(last) {
            *to = from;
        }
        for (to, &from) in bits.iter_mut().zip(last_random) {
            *to = from;
        }
        let Some(codes) = self.encode_block(&padded, &bits, &factor) else {
            return false;
        };
        let mut block = [0u8; BLOCK];
        // SAFETY: 32 bytes into an array of 32.
        unsafe { _mm256_storeu_si256(block.as_mut_ptr().cast(), codes) };
        for (to, from) in last_codes.iter_mut().zip(block) {
            *to = from;
        }
        true
    }

    /// The codes of 32 elements; `None` where there is a NaN.
    #[inline]
    #[target_feature(enable = "avx2,f16c,fma,popcnt")]
    fn encode_block<S: Float>(
        &self,
        source: &[S; BLOCK],
        random: &[u16; BLOCK],
        factor: impl Fn(__m256) -> __m256,
    ) -> Option<__m256i> {
        let mut x = [_mm256_setzero_ps(); 4];
        let mut rounded = [_mm256_setzero_si256(); 4];
        for i in 0..4 {
            // SAFETY: four times 8 elements of 32, and as many half-words.
            let half = unsafe {
                x[i] = factor(load::<S>(source.as_ptr().add(LANES * i)));
                _mm_loadu_si128(random.as_ptr().add(LANES * i).cast())
            };
            let abs = _mm256_and_si256(_mm256_castps_si256(x[i]), _mm256_set1_epi32(i32::MAX));
            rounded[i] = self.noise.round(abs, _mm256_cvtepu16_epi32(half));
        }
        let low = _mm256_cmp_ps::<_CMP_UNORD_Q>(x[0], x[1]);
        let high = _mm256_cmp_ps::<_CMP_UNORD_Q>(x[2], x[3]);
        if is_any(_mm256_or_ps(low, high)) {
            return None;
        }
        let [a, b, c, d] = rounded;
        let magnitudes = _mm256_packus_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
        let magnitudes = _mm256_min_epu8(magnitudes, self.constants.most);
        let codes = join_signs::<false>(self.constants, pack_signs(x), magnitudes);
        Some(in_order::<false>(codes))
    }
}

/// The number of the first element of which register `i` of a block has some: see [`load_block`].
#[inline]
fn first_of<const PAIRS: bool>(i: usize) -> usize {
    if PAIRS {
        2 * LANES * (i / 2)
    } else {
        LANES * i
    }
}

/// A block as `f32`, 8 elements after 8, and their signs, as [`pack_signs`] has them; or, of bf16 by pairs, of 16
/// elements those with even numbers and those with odd ones, which takes half as many instructions, and the signs as
/// packing leaves two registers.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn load_block<S: Float, const PAIRS: bool>(source: &[S; BLOCK]) -> ([__m256; 4], __m256i) {
    let source = source.as_ptr();
    if PAIRS {
        // SAFETY: 32 elements of 2 bytes are two registers.
        let [low, high] = [source, source.wrapping_add(2 * LANES)]
            .map(|x| unsafe { _mm256_loadu_si256(x.cast()) });
        let odd = _mm256_set1_epi32(!0 << 16);
        let x = [
            _mm256_slli_epi32::<16>(low),
            _mm256_and_si256(low, odd),
            _mm256_slli_epi32::<16>(high),
            _mm256_and_si256(high, odd),
        ];
        let x = x.map(|x| _mm256_castsi256_ps(x));
        return (x, _mm256_packs_epi16(low, high));
    }
    let mut x = [_mm256_setzero_ps(); 4];
    for (i, x) in x.iter_mut().enumerate() {
        // SAFETY: four times 8 elements of 32.
        *x = unsafe { load::<S>(source.add(LANES * i)) };
    }
    (x, pack_signs(x))
}

/// 8 elements as `f32`.
///
/// # Safety
/// They can be read.
#[inline]
#[target_feature(enable = "avx2,f16c,fma,popcnt")]
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

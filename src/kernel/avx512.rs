// SPDX-License-Identifier: MIT OR Apache-2.0
//! AVX-512, 64 elements at a time: what measured faster than the portable code compiled for it.

use core::arch::asm;
use core::arch::x86_64::*;

use super::columns::COLUMNS;
use super::copies::{self, Least, Moved, Target};
use super::decode::{self, Decoding};
use super::encode::LINE;
use super::factor::{Factor, Factors, Operation};
use super::groups::GROUP;
use super::isa::Isa;
use super::params::{F32_MANTISSA_BITS, Params, Plain};
use super::portable::power_of_two;
use super::statistics;
use super::transpose::{self, Turned};
use crate::float::Float;
use crate::random::{LAST_BLOCK, MULTIPLIER, Philox, ROUNDS, WEYL};
use crate::spec::FloatType;

/// Proof that the machine has what [`super::Kernel::Avx512`] names.
#[derive(Clone, Copy)]
pub(super) struct Avx512(());

/// Elements of a block: one register of codes.
pub(super) const BLOCK: usize = 64;
/// Elements of a register of `f32`.
pub(super) const LANES: usize = 16;

/// Operations of VRANGEPS: the absolute minimum or maximum, with the sign of the first operand.
const ABS_MIN: i32 = 0b0010;
pub(super) const ABS_MAX: i32 = 0b0011;

impl Avx512 {
    /// # Safety
    /// [`super::Kernel::Avx512`] is available.
    pub(super) unsafe fn new_unchecked() -> Avx512 {
        Avx512(())
    }
}

impl Isa for Avx512 {
    const HAS_RANDOM: bool = true;

    #[inline]
    fn vectorize<R>(self, work: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
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
        unsafe { encode_fast(params, factors, source, codes, slow) }
    }

    #[inline]
    fn encode_bounded<S: Float>(
        self,
        params: &Params,
        factors: Factors<'_>,
        source: &[S],
        codes: &mut [u8],
    ) -> Option<u64> {
        // SAFETY: `self` proves that the features are there.
        unsafe { encode_bounded(params, factors, source, codes) }
    }

    #[inline]
    fn row_extremes<S: Float>(self, source: &[S], width: usize, amaxes: &mut [u32]) -> u32 {
        let is_whole = source.len().is_multiple_of(width.max(1));
        if matches!(S::TYPE, FloatType::F64) || !is_whole {
            return statistics::row_extremes(self, source, width, amaxes);
        }
        // SAFETY: `self` proves that the features are there.
        unsafe {
            match width {
                16 => statistics::avx512::group_extremes::<S, 16>(source, amaxes),
                32 => statistics::avx512::group_extremes::<S, 32>(source, amaxes),
                128 => statistics::avx512::group_extremes::<S, 128>(source, amaxes),
                _ => statistics::row_extremes(self, source, width, amaxes),
            }
        }
    }

    #[inline]
    fn both_extremes<S: Float>(
        self,
        rows: &[&[S]; GROUP],
        amaxes: [&mut [u32; COLUMNS]; 2],
    ) -> Option<Least> {
        // SAFETY: `self` proves that the features are there.
        Some(unsafe { copies::avx512::extremes(rows, amaxes) })
    }

    #[inline]
    fn encode_both<S: Float>(
        self,
        params: &Params,
        counts: bool,
        moved: [Moved<'_>; 2],
        rows: &[&[S]; GROUP],
        targets: [Target<'_>; 2],
    ) -> Option<[u64; 2]> {
        use copies::avx512::encode;
        // SAFETY: `self` proves that the features are there.
        unsafe {
            match counts {
                true => encode::<S, true>(params, moved, rows, targets),
                false => encode::<S, false>(params, moved, rows, targets),
            }
        }
    }

    #[inline]
    fn turn(self, rows: &[&[u8; transpose::GROUP]; transpose::ROWS], turned: &mut Turned) {
        // SAFETY: `self` proves that the features are there.
        unsafe { transpose::avx512::turn(rows, turned) }
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
        unsafe { decode::avx512::decode_groups(decoding, scales, codes, target) }
    }

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
        unsafe { decode::avx512::decode_fast(decoding, scale, codes, target) }
    }
}

#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
fn encode_fast<S: Float>(
    params: &Params,
    factors: Factors<'_>,
    source: &[S],
    codes: &mut [u8],
    slow: impl Fn(&[S], &mut [u8]),
) -> bool {
    encode_by::<S, false>(params, factors, source, codes, slow).is_some()
}

#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
fn encode_bounded<S: Float>(
    params: &Params,
    factors: Factors<'_>,
    source: &[S],
    codes: &mut [u8],
) -> Option<u64> {
    let slow = |_: &[S], _: &mut [u8]| debug_assert!(false, "a NaN where there is none");
    encode_by::<S, true>(params, factors, source, codes, slow)
}

/// Encodes with any factors; returns what [`encode`] does, or `None`, having done nothing, where
/// there is no loop for it.
#[inline]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
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
    let in_pairs = matches!(S::TYPE, FloatType::Bf16) && factors.are_uniform(2 * LANES);
    let constants = Constants::new(params, &plain, in_pairs);
    let run = Run {
        constants: &constants,
        source,
        in_pairs,
    };
    let operation = factors.operation();
    Some(match factors {
        Factors::One(Factor::ONE) => run.encode::<BOUNDED>(codes, |_, _, x| x, slow),
        Factors::One(factor) => {
            let by = _mm512_set1_ps(factor.number());
            run.scale::<BOUNDED>(codes, operation, |_, _| by, slow)
        }
        Factors::Each(_, numbers) => {
            let numbers = numbers.get(..source.len())?;
            // SAFETY: there are as many numbers as elements.
            let by = |first, count| unsafe { load_numbers(numbers, first, count) };
            run.scale::<BOUNDED>(codes, operation, by, slow)
        }
        Factors::Groups { log, numbers, .. } => {
            let by = |first, _| _mm512_set1_ps(*numbers.get(first >> log).unwrap_or(&1.0));
            run.scale::<BOUNDED>(codes, operation, by, slow)
        }
    })
}

/// The first `count` (at most 16) of the numbers from number `first` on, then 1.
///
/// # Safety
/// There are so many.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn load_numbers(numbers: &[f32], first: usize, count: usize) -> __m512 {
    // SAFETY: the caller's promise; lanes that are masked off are not read.
    unsafe {
        let numbers = numbers.as_ptr().add(first);
        if count == LANES {
            return _mm512_loadu_ps(numbers);
        }
        let mask = ((1u32 << count) - 1) as u16;
        _mm512_mask_loadu_ps(_mm512_set1_ps(1.0), mask, numbers)
    }
}

/// A run.
struct Run<'a, S> {
    constants: &'a Constants,
    source: &'a [S],
    /// Whether blocks are loaded by pairs: see [`load_block`].
    in_pairs: bool,
}

impl<S: Float> Run<'_, S> {
    /// [`encode`] of products or quotients with the numbers of so many (at most 16) elements from one on.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
    fn scale<const BOUNDED: bool>(
        self,
        codes: &mut [u8],
        operation: Operation,
        by: impl Fn(usize, usize) -> __m512,
        slow: impl Fn(&[S], &mut [u8]),
    ) -> u64 {
        if operation == Operation::Divide {
            let over = |first, count, x| _mm512_div_ps(x, by(first, count));
            self.encode::<BOUNDED>(codes, over, slow)
        } else {
            let times = |first, count, x| _mm512_mul_ps(x, by(first, count));
            self.encode::<BOUNDED>(codes, times, slow)
        }
    }

    /// [`encode`], by pairs or not.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
    fn encode<const BOUNDED: bool>(
        self,
        codes: &mut [u8],
        factor: impl Fn(usize, usize, __m512) -> __m512,
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
pub(super) struct Constants {
    clamp: __m512,
    min_normal: __m512,
    /// Times the power of two at or below a value, it makes `m`.
    pub(super) m_factor: __m512,
    /// What the halves of a sum are multiplied by, so that its exponent and its significand fall
    /// into place, the magnitude in byte 1.
    pub(super) place: __m512i,
    /// Added to that: the exponent of the format begins at 0.
    bias: __m512i,
    /// Where in two registers the bytes with the magnitudes are, and then those with the signs.
    order: __m512i,
    /// The bit of a code that is its sign; 0 where the format drops it.
    sign: __m512i,
    /// Whether zero has no sign although other values do.
    one_zero: bool,
    /// Whether codes are stored past the caches.
    pub(super) stream: bool,
    /// See [`Params::with_next_part`].
    pub(super) ahead: usize,
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn new(params: &Params, plain: &Plain, in_pairs: bool) -> Constants {
        let mut order = [0u8; BLOCK];
        for (i, place) in order.iter_mut().enumerate() {
            let (element, byte) = (i % 32, if i < 32 { 1 } else { 3 });
            let dword = if in_pairs {
                LANES * (element % 2) + element / 2
            } else {
                element
            };
            *place = (4 * dword + byte) as u8;
        }
        let mantissa_bits = F32_MANTISSA_BITS - params.discarded;
        // Exponent fields begin at bit 7 of a half, and at bit `mantissa_bits` of a magnitude.
        let place = (2 << mantissa_bits) << 16 | 1 << 8;
        // The low bits of `magic` are less the magnitude at which the exponent of `m` is 0.
        let lowest = params.magic.wrapping_neg() & 0xFFFF;
        let sign = (plain.signed as i8) << plain.magnitude_bits;
        Constants {
            clamp: _mm512_set1_ps(plain.clamp),
            min_normal: _mm512_set1_ps(f32::from_bits(params.min_normal)),
            m_factor: _mm512_set1_ps(power_of_two(params.discarded as i32)),
            place: _mm512_set1_epi32(place),
            bias: _mm512_set1_epi32(-((lowest as i32) << 8)),
            // SAFETY: 64 bytes are read from an array of 64.
            order: unsafe { _mm512_loadu_si512(order.as_ptr().cast()) },
            sign: _mm512_set1_epi8(sign),
            one_zero: plain.one_zero,
            stream: params.stream,
            ahead: params.ahead,
        }
    }
}

/// The loop over blocks; the last one is masked. Where all is bounded, nothing is clamped, nor is there
/// a look for NaN; then it returns how many codes are zero. `factor` is told the number of the first of
/// 16 elements, and how many of them there are.
#[inline]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
fn encode<S: Float, const BOUNDED: bool, const PAIRS: bool>(
    constants: &Constants,
    source: &[S],
    codes: &mut [u8],
    factor: impl Fn(usize, usize, __m512) -> __m512,
    slow: impl Fn(&[S], &mut [u8]),
) -> u64 {
    let stream = constants.stream && codes.as_ptr().align_offset(BLOCK) == 0;
    let mut zeros = 0;
    let blocks = source.len() / BLOCK;
    let mut from = source.chunks_exact(BLOCK);
    let mut to = codes.chunks_exact_mut(BLOCK);
    for (block, (from, to)) in (&mut from).zip(&mut to).enumerate() {
        // SAFETY: a block has 64 elements.
        let mut x = unsafe { load_block::<S, PAIRS>(from.as_ptr()) };
        for (i, x) in x.iter_mut().enumerate() {
            *x = factor(BLOCK * block + first_of::<PAIRS>(i), LANES, *x);
        }
        if !BOUNDED && has_nan(x) {
            slow(from, to);
            continue;
        }
        let (block, zero) = encode_block::<BOUNDED>(constants, x, |_, y, power| {
            _mm512_fmadd_ps(_mm512_castsi512_ps(power), constants.m_factor, y)
        });
        zeros += zero.count_ones() as u64;
        // SAFETY: 64 bytes into a block of 64, which lies at a multiple of 64 where it must.
        unsafe {
            if stream {
                _mm512_stream_si512(to.as_mut_ptr().cast(), block);
                if constants.ahead != 0 {
                    fetch_block(from.as_ptr().wrapping_add(constants.ahead));
                }
            } else {
                _mm512_storeu_si512(to.as_mut_ptr().cast(), block);
            }
        }
    }
    let (from, to) = (from.remainder(), to.into_remainder());
    if from.is_empty() {
        return zeros;
    }
    // SAFETY: so many elements can be read.
    let mut x = unsafe { load_part::<S, PAIRS>(from.as_ptr(), from.len()) };
    for (i, x) in x.iter_mut().enumerate() {
        let first = first_of::<PAIRS>(i);
        let left = from.len().saturating_sub(first).min(LANES);
        *x = factor((BLOCK * blocks + first).min(source.len()), left, *x);
    }
    if !BOUNDED && has_nan(x) {
        slow(from, to);
        return zeros;
    }
    let (block, zero) = encode_block::<BOUNDED>(constants, x, |_, y, power| {
        _mm512_fmadd_ps(_mm512_castsi512_ps(power), constants.m_factor, y)
    });
    let mask = u64::MAX >> (BLOCK - from.len());
    // SAFETY: only the `from.len()` first bytes are written, the length of `to`.
    unsafe { _mm512_mask_storeu_epi8(to.as_mut_ptr().cast(), mask, block) };
    zeros + (zero & mask).count_ones() as u64
}

/// Fetches 64 elements into the second-level cache. A hint: there need not be any.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn fetch_block<S>(source: *const S) {
    for line in 0..BLOCK * size_of::<S>() / LINE {
        _mm_prefetch::<_MM_HINT_T1>(source.cast::<i8>().wrapping_add(LINE * line));
    }
}

/// Whether one of 64 elements is NaN.
#[inline]
#[target_feature(enable = "avx512f")]
fn has_nan(x: [__m512; 4]) -> bool {
    let low = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x[0], x[1]);
    let high = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x[2], x[3]);
    low | high != 0
}

/// The codes of 64 elements that are not NaN, and which of them are zero;
/// `rounded` adds `m` to a value, given the power of two at or below it, whose exact product with
/// another one `m` is: one fused instruction.
///
/// The sum has the exponent of `m` and, in its low bits, the rounded significand: the dot product of
/// its halves with two powers of two brings both to their places in byte 1, and leaves the sign in
/// byte 3. (Shifting `m` and adding it to the sum, and joining the signs by VPSHLDD, took eight
/// instructions more for 64 elements.)
#[inline]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
fn encode_block<const BOUNDED: bool>(
    constants: &Constants,
    x: [__m512; 4],
    rounded: impl Fn(usize, __m512, __m512i) -> __m512,
) -> (__m512i, u64) {
    let exponent = _mm512_set1_epi32(!0 << 23);
    let mut placed = [_mm512_setzero_si512(); 4];
    for i in 0..4 {
        let y = if BOUNDED {
            x[i]
        } else {
            _mm512_range_ps::<ABS_MIN>(x[i], constants.clamp)
        };
        let power = _mm512_range_ps::<ABS_MAX>(y, constants.min_normal);
        let power = _mm512_and_si512(_mm512_castps_si512(power), exponent);
        let sum = _mm512_castps_si512(rounded(i, y, power));
        placed[i] = _mm512_dpwssd_epi32(constants.bias, sum, constants.place);
    }
    let (magnitudes, signs) = gather(constants, placed);
    let codes = join(constants, magnitudes, signs);
    (codes, _mm512_testn_epi8_mask(magnitudes, magnitudes))
}

/// The bytes 1, the magnitudes, and the bytes 3, whose first bits are the signs.
#[inline]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
pub(super) fn gather(constants: &Constants, placed: [__m512i; 4]) -> (__m512i, __m512i) {
    let low = pick_bytes(placed[0], constants.order, placed[1]);
    let high = pick_bytes(placed[2], constants.order, placed[3]);
    let magnitudes = _mm512_shuffle_i64x2::<0b01_00_01_00>(low, high);
    let signs = _mm512_shuffle_i64x2::<0b11_10_11_10>(low, high);
    (magnitudes, signs)
}

/// Bytes of two registers by their numbers. Where only half of the result is used, the compiler takes four
/// instructions for one.
#[inline]
#[target_feature(enable = "avx512vbmi")]
fn pick_bytes(mut a: __m512i, numbers: __m512i, b: __m512i) -> __m512i {
    // SAFETY: one instruction on registers, which the function's features have.
    unsafe {
        asm!(
            "vpermt2b {a}, {numbers}, {b}",
            a = inout(zmm_reg) a,
            numbers = in(zmm_reg) numbers,
            b = in(zmm_reg) b,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    a
}

/// The codes.
#[inline]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
pub(super) fn join(constants: &Constants, magnitudes: __m512i, signs: __m512i) -> __m512i {
    // magnitude | sign & signs
    let codes = _mm512_ternarylogic_epi32::<0b1111_1000>(magnitudes, signs, constants.sign);
    if constants.one_zero {
        let numbers = _mm512_test_epi8_mask(magnitudes, magnitudes);
        return _mm512_maskz_mov_epi8(numbers, codes);
    }
    codes
}

/// The bits of `a` where `mask` has ones, else those of `b`.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn select(mask: __m512i, a: __m512i, b: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0b1100_1010>(mask, a, b)
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

/// A block as `f32`, 16 elements after 16; or, of bf16 by pairs, of 32 elements those with even numbers and
/// those with odd ones, which takes half as many instructions.
///
/// # Safety
/// 64 elements can be read.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn load_block<S: Float, const PAIRS: bool>(source: *const S) -> [__m512; 4] {
    let mut x = [_mm512_setzero_ps(); 4];
    // SAFETY: the caller's promise; in pairs, 64 elements of 2 bytes are two registers.
    unsafe {
        if PAIRS {
            let [low, high] = [source, source.add(2 * LANES)].map(|x| x.cast());
            return split_pairs(_mm512_loadu_si512(low), _mm512_loadu_si512(high));
        }
        for (i, x) in x.iter_mut().enumerate() {
            *x = load::<S>(source.add(LANES * i));
        }
    }
    x
}

/// The first `count` (at most 64) elements of a block, and zeros, as [`load_block`] has them.
///
/// # Safety
/// `count` elements can be read.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn load_part<S: Float, const PAIRS: bool>(source: *const S, count: usize) -> [__m512; 4] {
    let mut x = [_mm512_setzero_ps(); 4];
    // SAFETY: the caller's promise; elements that are masked off are not read.
    unsafe {
        if PAIRS {
            let mask = u64::MAX.checked_shr((BLOCK - count) as u32).unwrap_or(0);
            let low = _mm512_maskz_loadu_epi16(mask as u32, source.cast());
            let high = source.wrapping_add(2 * LANES).cast();
            let high = _mm512_maskz_loadu_epi16((mask >> 32) as u32, high);
            return split_pairs(low, high);
        }
        for (i, x) in x.iter_mut().enumerate() {
            let left = count.saturating_sub(LANES * i).min(LANES);
            *x = load_masked::<S>(source.wrapping_add(LANES * i), left);
        }
    }
    x
}

/// See [`load_block`].
#[inline]
#[target_feature(enable = "avx512f")]
fn split_pairs(low: __m512i, high: __m512i) -> [__m512; 4] {
    let odd = _mm512_set1_epi32(!0 << 16);
    [
        _mm512_slli_epi32::<16>(low),
        _mm512_and_si512(low, odd),
        _mm512_slli_epi32::<16>(high),
        _mm512_and_si512(high, odd),
    ]
    .map(|x| _mm512_castsi512_ps(x))
}

/// 16 elements as `f32`.
///
/// # Safety
/// They can be read.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) unsafe fn load<S: Float>(source: *const S) -> __m512 {
    // SAFETY: the caller's promise; the loads take 16 times the size of `S`.
    unsafe {
        match S::TYPE {
            FloatType::F32 => _mm512_loadu_ps(source.cast()),
            FloatType::Bf16 => widen_bf16(_mm256_loadu_si256(source.cast())),
            FloatType::F16 => _mm512_cvtph_ps(_mm256_loadu_si256(source.cast())),
            FloatType::F64 => _mm512_setzero_ps(),
        }
    }
}

/// The first `count` (at most 16) of 16 elements as `f32`, zeros after them.
///
/// # Safety
/// `count` elements can be read.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn load_masked<S: Float>(source: *const S, count: usize) -> __m512 {
    let mask = ((1u32 << count) - 1) as u16;
    // SAFETY: the caller's promise; lanes that are masked off are not read.
    unsafe {
        match S::TYPE {
            FloatType::F32 => _mm512_maskz_loadu_ps(mask, source.cast()),
            FloatType::Bf16 => widen_bf16(_mm256_maskz_loadu_epi16(mask, source.cast())),
            FloatType::F16 => _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, source.cast())),
            FloatType::F64 => _mm512_setzero_ps(),
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn widen_bf16(bits: __m256i) -> __m512 {
    _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(bits)))
}

/// Stores a register.
///
/// # Safety
/// 64 bytes can be written, at a multiple of 64 where they are stored past the caches.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn store_register<const STREAM: bool>(target: *mut __m512i, value: __m512i) {
    // SAFETY: the caller's promise.
    unsafe {
        if STREAM {
            _mm512_stream_si512(target, value);
        } else {
            _mm512_storeu_si512(target, value);
        }
    }
}

/// Blocks of random bits side by side, eight a register: with half as many the processor waits for
/// the products of one round before it can begin the next.
const PHILOX_REGISTERS: usize = 4;

/// The random bits of some blocks, with eight blocks a register: a lane of 64 bits holds a word in
/// its low half, as the product of two words wants it.
#[inline]
#[target_feature(enable = "avx512f")]
fn philox_group(philox: &Philox, first: u64, bits: &mut [u16; 64 * PHILOX_REGISTERS]) {
    /// `a ^ b ^ c`.
    const XOR3: i32 = 0b1001_0110;
    let multiplier = MULTIPLIER.map(|m| _mm512_set1_epi64(m as i64));
    let mut key = [philox.seed as u32, (philox.seed >> 32) as u32];
    // Interleaving puts even lanes into one register and odd ones into the other.
    let order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    let mut a = [order; PHILOX_REGISTERS];
    let mut b = a;
    let mut c = [_mm512_set1_epi64(philox.stream as i64); PHILOX_REGISTERS];
    let mut d = [_mm512_set1_epi64((philox.stream >> 32) as i64); PHILOX_REGISTERS];
    for i in 0..PHILOX_REGISTERS {
        let start = _mm512_set1_epi64(first.wrapping_add(8 * i as u64) as i64);
        let last = _mm512_set1_epi64(LAST_BLOCK as i64);
        a[i] = _mm512_and_si512(_mm512_add_epi64(start, order), last);
        b[i] = _mm512_srli_epi64::<32>(a[i]);
    }
    for _ in 0..ROUNDS {
        let keys = key.map(|k| _mm512_set1_epi64(k as i64));
        for i in 0..PHILOX_REGISTERS {
            let p = _mm512_mul_epu32(a[i], multiplier[0]);
            let q = _mm512_mul_epu32(c[i], multiplier[1]);
            let high_p = _mm512_srli_epi64::<32>(p);
            let high_q = _mm512_srli_epi64::<32>(q);
            a[i] = _mm512_ternarylogic_epi64::<XOR3>(high_q, b[i], keys[0]);
            c[i] = _mm512_ternarylogic_epi64::<XOR3>(high_p, d[i], keys[1]);
            (b[i], d[i]) = (q, p);
        }
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    for i in 0..PHILOX_REGISTERS {
        let low = _mm512_set1_epi64(u32::MAX as i64);
        let first = select(low, a[i], _mm512_slli_epi64::<32>(b[i]));
        let second = select(low, c[i], _mm512_slli_epi64::<32>(d[i]));
        // SAFETY: 32 half-words at each of eight places, 256 in all.
        unsafe {
            let place = bits.as_mut_ptr().add(64 * i);
            _mm512_storeu_si512(place.cast(), _mm512_unpacklo_epi64(first, second));
            _mm512_storeu_si512(place.add(32).cast(), _mm512_unpackhi_epi64(first, second));
        }
    }
}

/// Stochastic rounding A. A random fraction of an ulp is added and the sum truncated: by two
/// additions that round toward zero, of which the first may lose only what the second would lose.
/// The fraction comes as a number from 1 to 2 ulp, whose one ulp too many the bias takes away.
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
fn encode_random<S: Float>(
    params: &Params,
    factor: Factor,
    source: &[S],
    random: &[u16],
    codes: &mut [u8],
) -> bool {
    let Some(plain) = &params.plain else {
        return false;
    };
    if matches!(S::TYPE, FloatType::F64) || plain.random_bits == 0 {
        return false;
    }
    let mut constants = Constants::new(params, plain, false);
    constants.bias = _mm512_sub_epi32(constants.bias, _mm512_set1_epi32(1 << 8));
    let mantissa_bits = F32_MANTISSA_BITS - params.discarded;
    let noise = Noise {
        place: _mm512_set1_epi32((F32_MANTISSA_BITS - plain.random_bits) as i32),
        used: _mm512_set1_epi32((1 << F32_MANTISSA_BITS) - 1),
        ulp_below: _mm512_set1_epi32((mantissa_bits << F32_MANTISSA_BITS) as i32),
    };
    match factor {
        Factor::ONE => encode_noisy(&constants, &noise, source, random, codes, |x| x),
        Factor::Shift(k) => {
            let by = _mm512_set1_ps(power_of_two(k));
            let times = |x| _mm512_mul_ps(x, by);
            encode_noisy(&constants, &noise, source, random, codes, times)
        }
        Factor::Multiply(by) => {
            let by = _mm512_set1_ps(by);
            let times = |x| _mm512_mul_ps(x, by);
            encode_noisy(&constants, &noise, source, random, codes, times)
        }
        Factor::Divide(by) => {
            let by = _mm512_set1_ps(by);
            let over = |x| _mm512_div_ps(x, by);
            encode_noisy(&constants, &noise, source, random, codes, over)
        }
    }
}

/// How random bits become a fraction of an ulp.
struct Noise {
    /// The distance of the bits from the top of the significand.
    place: __m512i,
    /// The significand: what is used of bits moved there.
    used: __m512i,
    /// An ulp is less than the power of two at or below a value by this, as bits.
    ulp_below: __m512i,
}

/// The loop over blocks of [`encode_random`]; false if it met a NaN.
#[inline]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
fn encode_noisy<S: Float>(
    constants: &Constants,
    noise: &Noise,
    source: &[S],
    random: &[u16],
    codes: &mut [u8],
    factor: impl Fn(__m512) -> __m512,
) -> bool {
    const TRUNCATE: i32 = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
    let blocks = source.chunks(BLOCK).zip(random.chunks(BLOCK));
    for ((from, random), to) in blocks.zip(codes.chunks_mut(BLOCK)) {
        let mut x = [_mm512_setzero_ps(); 4];
        let mut bits = [_mm512_setzero_si512(); 4];
        if from.len() == BLOCK {
            for i in 0..4 {
                // SAFETY: four times 16 elements of a block of 64, and of as many half-words.
                unsafe {
                    x[i] = load(from.as_ptr().add(LANES * i));
                    let half = _mm256_loadu_si256(random.as_ptr().add(LANES * i).cast());
                    bits[i] = _mm512_cvtepu16_epi32(half);
                }
            }
        } else {
            for i in 0..4 {
                let left = from.len().saturating_sub(LANES * i).min(LANES);
                // SAFETY: the `left` elements from there on are in the slices, which have the same
                // length, and no others are read.
                unsafe {
                    x[i] = load_masked(from.as_ptr().wrapping_add(LANES * i), left);
                    bits[i] = load_bits(random.as_ptr().wrapping_add(LANES * i), left);
                }
            }
        }
        let x = x.map(&factor);
        if has_nan(x) {
            return false;
        }
        let (block, _) = encode_block::<false>(constants, x, |i, y, power| {
            let ulp = _mm512_sub_epi32(power, noise.ulp_below);
            let fraction = select(noise.used, _mm512_sllv_epi32(bits[i], noise.place), ulp);
            let noisy = _mm512_add_round_ps::<TRUNCATE>(y, _mm512_castsi512_ps(fraction));
            let power = _mm512_castsi512_ps(power);
            _mm512_fmadd_round_ps::<TRUNCATE>(power, constants.m_factor, noisy)
        });
        let mask = u64::MAX >> (BLOCK - from.len());
        // SAFETY: only the `from.len()` first bytes are written, the length of `to`.
        unsafe {
            if from.len() == BLOCK {
                _mm512_storeu_si512(to.as_mut_ptr().cast(), block);
            } else {
                _mm512_mask_storeu_epi8(to.as_mut_ptr().cast(), mask, block);
            }
        }
    }
    true
}

/// The first `count` (at most 16) of 16 half-words, zeros after them.
///
/// # Safety
/// `count` half-words can be read.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn load_bits(source: *const u16, count: usize) -> __m512i {
    let mask = ((1u32 << count) - 1) as u16;
    // SAFETY: the caller's promise; lanes that are masked off are not read.
    _mm512_cvtepu16_epi32(unsafe { _mm256_maskz_loadu_epi16(mask, source.cast()) })
}

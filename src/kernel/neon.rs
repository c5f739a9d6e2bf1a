// SPDX-License-Identifier: MIT OR Apache-2.0
//! Advanced SIMD of AArch64, 32 elements at a time: what takes clearly fewer instructions than the
//! portable code compiled for it. They were counted (`bench/instructions.sh`), not timed: there was
//! no such machine.
//!
//! This module is there only where the crate is compiled for these instructions, which every AArch64
//! processor with an operating system has.

use core::arch::aarch64::*;
use core::arch::asm;

use super::decode::Decoding;
use super::factor::{Factor, Factors, Operation};
use super::groups::{GROUP, dequantize_scale};
use super::isa::Isa;
use super::params::{F32_MANTISSA_BITS, Params, Plain};
use crate::float::Float;
use crate::spec::FloatType;

/// The level of instructions that the crate is compiled for.
#[derive(Clone, Copy)]
pub(super) struct Neon;

/// Elements of a block: a group, two registers of codes.
const BLOCK: usize = GROUP;
/// Elements of a register of codes.
const CODES: usize = 16;
/// Elements of a register of `f32`.
const LANES: usize = 4;

impl Isa for Neon {
    #[inline]
    fn vectorize<R>(self, work: impl FnOnce() -> R) -> R {
        work()
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
        // SAFETY: the crate is compiled for the feature.
        unsafe { encode_fast(params, factors, source, codes, slow) }
    }

    #[inline]
    fn decode_fast<T: Float>(
        self,
        decoding: &Decoding,
        scale: f32,
        codes: &[u8],
        target: &mut [T],
    ) -> bool {
        // SAFETY: the crate is compiled for the feature.
        unsafe { decode_fast(decoding, scale, codes, target) }
    }

    #[inline]
    fn decode_groups<T: Float>(
        self,
        decoding: &Decoding,
        scales: &[u8],
        codes: &[u8],
        target: &mut [T],
    ) -> bool {
        // SAFETY: the crate is compiled for the feature.
        unsafe { decode_groups(decoding, scales, codes, target) }
    }
}

#[target_feature(enable = "neon")]
fn encode_fast<S: Float>(
    params: &Params,
    factors: Factors<'_>,
    source: &[S],
    codes: &mut [u8],
    slow: impl Fn(&[S], &mut [u8]),
) -> bool {
    let Some(constants) = Constants::new::<S>(params) else {
        return false;
    };
    let run = Run {
        constants: &constants,
        source,
        is_quotient: factors.operation() == Operation::Divide,
    };
    match factors {
        Factors::One(Factor::ONE) => encode(&constants, source, codes, |_, x| x, slow),
        Factors::One(factor) => {
            let by = vdupq_n_f32(factor.number());
            run.encode(codes, |_| by, slow);
        }
        Factors::Each(_, numbers) => {
            run.encode(codes, |first| load_numbers(numbers, first), slow);
        }
        Factors::Groups { log, numbers, .. } => {
            let by = |first: usize| vdupq_n_f32(*numbers.get(first >> log).unwrap_or(&1.0));
            run.encode(codes, by, slow);
        }
    }
    true
}

/// 4 numbers from number `first` on; where there are no more, 1.
#[inline]
#[target_feature(enable = "neon")]
fn load_numbers(numbers: &[f32], first: usize) -> float32x4_t {
    let numbers = numbers.get(first..).unwrap_or_default();
    let mut padded = [1.0; LANES];
    let from = match numbers.first_chunk() {
        Some(whole) => whole,
        None => {
            padded
                .iter_mut()
                .zip(numbers)
                .for_each(|(to, &by)| *to = by);
            &padded
        }
    };
    // SAFETY: 4 numbers are read from an array of 4.
    unsafe { vld1q_f32(from.as_ptr()) }
}

/// A run that is multiplied or divided.
struct Run<'a, S> {
    constants: &'a Constants,
    source: &'a [S],
    is_quotient: bool,
}

impl<S: Float> Run<'_, S> {
    /// [`encode`] with the numbers of the 4 elements from one on.
    #[inline]
    #[target_feature(enable = "neon")]
    fn encode(
        self,
        codes: &mut [u8],
        by: impl Fn(usize) -> float32x4_t,
        slow: impl Fn(&[S], &mut [u8]),
    ) {
        let Run {
            constants, source, ..
        } = self;
        if self.is_quotient {
            let over = |first, x| vdivq_f32(x, by(first));
            encode(constants, source, codes, over, slow);
        } else {
            let times = |first, x| vmulq_f32(x, by(first));
            encode(constants, source, codes, times, slow);
        }
    }
}

/// [`Plain`] in registers.
struct Constants {
    clamp: float32x4_t,
    min_normal: uint32x4_t,
    /// Times the power of two at or below a value, it makes `m`, with the constant in its low bits.
    m_factor: float32x4_t,
    /// The lowest bit of the exponent field of a code.
    exponent_step: uint8x16_t,
    /// Brings bit 7 to the place of the sign.
    sign_shift: int8x16_t,
    /// The sign, or nothing where it is dropped.
    sign: uint8x16_t,
    /// The code that is to become 0: negative zero where there is one zero, else 0 itself.
    no_zero: uint8x16_t,
}

impl Constants {
    /// `None` where the cast, or the type of the source, is not one for this.
    #[inline]
    #[target_feature(enable = "neon")]
    fn new<S: Float>(params: &Params) -> Option<Constants> {
        let plain: Plain = params.nearest()?;
        if matches!(S::TYPE, FloatType::F64) {
            return None;
        }
        let sign = 1u8 << plain.magnitude_bits;
        Some(Constants {
            clamp: vdupq_n_f32(plain.clamp),
            min_normal: vdupq_n_u32(params.min_normal),
            m_factor: vdupq_n_f32(params.m_factor()),
            exponent_step: vdupq_n_u8(1 << (F32_MANTISSA_BITS - params.discarded)),
            sign_shift: vdupq_n_s8(plain.magnitude_bits as i8 - 7),
            sign: vdupq_n_u8(if plain.signed { sign } else { 0 }),
            no_zero: vdupq_n_u8(if plain.one_zero { sign } else { 0 }),
        })
    }
}

/// The loop over blocks; the last one goes through a padded copy. `factor` is told the number of the
/// first of 4 elements.
#[inline]
#[target_feature(enable = "neon")]
fn encode<S: Float>(
    constants: &Constants,
    source: &[S],
    codes: &mut [u8],
    factor: impl Fn(usize, float32x4_t) -> float32x4_t,
    slow: impl Fn(&[S], &mut [u8]),
) {
    let (blocks, rest) = source.as_chunks::<BLOCK>();
    let (to, rest_of_codes) = codes.as_chunks_mut::<BLOCK>();
    for (i, (from, to)) in blocks.iter().zip(to).enumerate() {
        if !encode_block(constants, from, to, |at, x| factor(BLOCK * i + at, x)) {
            slow(from, to);
        }
    }
    if rest.is_empty() {
        return;
    }
    let mut padded = [S::default(); BLOCK];
    for (to, &from) in padded.iter_mut().zip(rest) {
        *to = from;
    }
    let mut block = [0; BLOCK];
    let first = BLOCK * blocks.len();
    if !encode_block(constants, &padded, &mut block, |at, x| {
        factor(first + at, x)
    }) {
        return slow(rest, rest_of_codes);
    }
    for (to, from) in rest_of_codes.iter_mut().zip(block) {
        *to = from;
    }
}

/// Encodes a block; false, having written nothing, if an element is NaN.
#[inline]
#[target_feature(enable = "neon")]
fn encode_block<S: Float>(
    constants: &Constants,
    source: &[S; BLOCK],
    codes: &mut [u8; BLOCK],
    factor: impl Fn(usize, float32x4_t) -> float32x4_t,
) -> bool {
    // The upper half of infinity.
    const INFINITY: u16 = (f32::INFINITY.to_bits() >> 16) as u16;
    let mut encoded = [vdupq_n_u8(0); BLOCK / CODES];
    let mut most = vdupq_n_u16(0);
    for (i, encoded) in encoded.iter_mut().enumerate() {
        let mut x = [vdupq_n_f32(0.0); CODES / LANES];
        for (j, x) in x.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            let at = CODES * i + 2 * LANES * j;
            // SAFETY: four times 8 elements of a block of 32.
            let [first, second] = unsafe { load(source.as_ptr().add(at)) };
            *x = [factor(at, first), factor(at + LANES, second)];
        }
        let high;
        (*encoded, high) = encode_codes(constants, x);
        most = vmaxq_u16(most, high);
    }
    if vmaxvq_u16(most) >= INFINITY {
        return false;
    }
    for (i, encoded) in encoded.into_iter().enumerate() {
        // SAFETY: twice 16 bytes of a block of 32.
        unsafe { vst1q_u8(codes.as_mut_ptr().add(CODES * i), encoded) };
    }
    true
}

/// The codes of 16 elements, and what exceeds the upper half of infinity where one of them is NaN:
/// then they are void.
#[inline]
#[target_feature(enable = "neon")]
fn encode_codes(constants: &Constants, x: [float32x4_t; 4]) -> (uint8x16_t, uint16x8_t) {
    let exponent = vdupq_n_u32(f32::INFINITY.to_bits());
    // This minimum keeps NaN.
    let sums = x.map(|x| {
        let y = vminq_f32(vabsq_f32(x), constants.clamp);
        let power = vandq_u32(vreinterpretq_u32_f32(y), exponent);
        let power = vmaxq_u32(power, constants.min_normal);
        vfmaq_f32(y, vreinterpretq_f32_u32(power), constants.m_factor)
    });
    // The sum has the exponent of `m`: what a magnitude takes from `m` is that times a step.
    let low = vuzp1q_u8(low_halves(sums[0], sums[1]), low_halves(sums[2], sums[3]));
    let first = high_halves(sums[0], sums[1]);
    let second = high_halves(sums[2], sums[3]);
    let exponents = vshrn_high_n_u16::<7>(vshrn_n_u16::<7>(first), second);
    let magnitudes = vmlaq_u8(low, exponents, constants.exponent_step);
    let signs = vuzp2q_u8(
        vreinterpretq_u8_u16(high_halves(x[0], x[1])),
        vreinterpretq_u8_u16(high_halves(x[2], x[3])),
    );
    let signs = vshlq_u8(signs, constants.sign_shift);
    let codes = vbslq_u8(constants.sign, signs, magnitudes);
    let codes = vbicq_u8(codes, vceqq_u8(codes, constants.no_zero));
    (codes, vmaxq_u16(first, second))
}

/// The lower halves of the bits of eight numbers.
#[inline]
#[target_feature(enable = "neon")]
fn low_halves(a: float32x4_t, b: float32x4_t) -> uint8x16_t {
    let halves = vuzp1q_u16(vreinterpretq_u16_f32(a), vreinterpretq_u16_f32(b));
    vreinterpretq_u8_u16(halves)
}

/// The upper halves of the bits of eight numbers.
#[inline]
#[target_feature(enable = "neon")]
fn high_halves(a: float32x4_t, b: float32x4_t) -> uint16x8_t {
    vuzp2q_u16(vreinterpretq_u16_f32(a), vreinterpretq_u16_f32(b))
}

/// 8 elements as `f32`.
///
/// # Safety
/// They can be read.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn load<S: Float>(source: *const S) -> [float32x4_t; 2] {
    // SAFETY: the caller's promise; the loads take 8 times the size of `S`.
    unsafe {
        match S::TYPE {
            FloatType::F32 => {
                let source = source.cast();
                [vld1q_f32(source), vld1q_f32(source.add(LANES))]
            }
            FloatType::Bf16 => widen_bf16(vld1q_u16(source.cast())),
            FloatType::F16 => widen_f16(vld1q_u16(source.cast())),
            FloatType::F64 => [vdupq_n_f32(0.0); 2],
        }
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn widen_bf16(bits: uint16x8_t) -> [float32x4_t; 2] {
    [
        vreinterpretq_f32_u32(vshll_n_u16::<16>(vget_low_u16(bits))),
        vreinterpretq_f32_u32(vshll_high_n_u16::<16>(bits)),
    ]
}

/// By the instruction itself: its intrinsic takes `f16`, which is not stable.
#[inline]
#[target_feature(enable = "neon")]
fn widen_f16(bits: uint16x8_t) -> [float32x4_t; 2] {
    let (low, high): (float32x4_t, float32x4_t);
    // SAFETY: arithmetic on registers; the environment is the default one.
    unsafe {
        asm!("fcvtl {low:v}.4s, {bits:v}.4h", "fcvtl2 {high:v}.4s, {bits:v}.8h",
            bits = in(vreg) bits, low = out(vreg) low, high = out(vreg) high,
            options(pure, nomem, nostack, preserves_flags));
    }
    [low, high]
}

#[target_feature(enable = "neon")]
fn decode_fast<T: Float>(decoding: &Decoding, scale: f32, codes: &[u8], target: &mut [T]) -> bool {
    if matches!(T::TYPE, FloatType::F64) || !decoding.keeps_nan(scale) {
        return false;
    }
    let by = |_| scale;
    let is_halved = decoding.is_symmetric || decoding.is_narrow;
    match (is_halved, scale == 1.0) {
        (true, true) => decode::<T, HALF, false>(decoding, by, codes, target),
        (true, false) => decode::<T, HALF, true>(decoding, by, codes, target),
        (false, true) => decode::<T, WHOLE, false>(decoding, by, codes, target),
        (false, false) => decode::<T, WHOLE, true>(decoding, by, codes, target),
    }
    true
}

#[target_feature(enable = "neon")]
fn decode_groups<T: Float>(
    decoding: &Decoding,
    scales: &[u8],
    codes: &[u8],
    target: &mut [T],
) -> bool {
    if matches!(T::TYPE, FloatType::F64) {
        return false;
    }
    let by = |group: usize| {
        let scale = scales.get(group).copied().unwrap_or_default();
        f32::from_bits(dequantize_scale(scale))
    };
    if decoding.is_symmetric || decoding.is_narrow {
        decode::<T, HALF, true>(decoding, by, codes, target);
    } else {
        decode::<T, WHOLE, true>(decoding, by, codes, target);
    }
    true
}

/// Codes that one instruction looks up among.
const QUAD: usize = 64;
/// Quads of all codes.
const WHOLE: usize = 4;
/// Quads where the upper half of the codes is the lower one over again, but perhaps for the sign.
const HALF: usize = 2;

/// The bytes of the bfloat16 table of a format, or of its lower half.
struct Tables<const QUADS: usize> {
    low: [[u8; QUAD]; QUADS],
    high: [[u8; QUAD]; QUADS],
    /// What the high byte of a value takes from the code where there is half a table.
    sign: uint8x16_t,
}

impl<const QUADS: usize> Tables<QUADS> {
    #[inline]
    #[target_feature(enable = "neon")]
    fn new(decoding: &Decoding) -> Self {
        let mut tables = Tables {
            low: [[0; QUAD]; QUADS],
            high: [[0; QUAD]; QUADS],
            sign: vdupq_n_u8(if decoding.is_symmetric { 1 << 7 } else { 0 }),
        };
        let entries = decoding.table.as_chunks::<CODES>().0.iter();
        let low = tables.low.as_flattened_mut().as_chunks_mut::<CODES>().0;
        let high = tables.high.as_flattened_mut().as_chunks_mut::<CODES>().0;
        for ((entries, low), high) in entries.zip(low).zip(high) {
            // SAFETY: 16 entries, of which the first byte is the low one, and twice 16 bytes.
            unsafe {
                let bytes = vld2q_u8(entries.as_ptr().cast());
                vst1q_u8(low.as_mut_ptr(), bytes.0);
                vst1q_u8(high.as_mut_ptr(), bytes.1);
            }
        }
        tables
    }

    /// The low and the high bytes of the values of 16 codes, twice.
    #[inline]
    #[target_feature(enable = "neon")]
    fn look_up(&self, codes: [uint8x16_t; 2]) -> [(uint8x16_t, uint8x16_t); 2] {
        let index = codes.map(|codes| match QUADS {
            HALF => vandq_u8(codes, vdupq_n_u8(0x7F)),
            _ => codes,
        });
        let low = look_up(&self.low, index);
        let mut high = look_up(&self.high, index);
        if QUADS == HALF {
            for (high, codes) in high.iter_mut().zip(codes) {
                *high = vbslq_u8(self.sign, codes, *high);
            }
        }
        [(low[0], high[0]), (low[1], high[1])]
    }
}

/// 16 bytes of a table, twice. An index outside of a quad gives 0, or what was there before.
#[inline]
#[target_feature(enable = "neon")]
fn look_up(table: &[[u8; QUAD]], index: [uint8x16_t; 2]) -> [uint8x16_t; 2] {
    let mut bytes = [vdupq_n_u8(0); 2];
    for (i, quad) in table.iter().enumerate() {
        let mut quad = quad.as_ptr();
        // SAFETY: nothing is done. It hides that the table is the same each time: the compiler
        // would keep it in registers that are not in a row, and bring them together by copies.
        unsafe { asm!("/* {quad} */", quad = inout(reg) quad, options(nostack, preserves_flags)) };
        // SAFETY: 64 bytes.
        let quad = unsafe { vld1q_u8_x4(quad) };
        for (bytes, index) in bytes.iter_mut().zip(index) {
            let index = vsubq_u8(index, vdupq_n_u8((QUAD * i) as u8));
            *bytes = match i {
                0 => vqtbl4q_u8(quad, index),
                _ => vqtbx4q_u8(*bytes, quad, index),
            };
        }
    }
    bytes
}

/// The loop over blocks; the last one goes through a padded copy. `by` is told the number of the
/// block.
#[inline]
#[target_feature(enable = "neon")]
fn decode<T: Float, const QUADS: usize, const SCALED: bool>(
    decoding: &Decoding,
    by: impl Fn(usize) -> f32,
    codes: &[u8],
    target: &mut [T],
) {
    let tables = Tables::<QUADS>::new(decoding);
    let (blocks, rest) = codes.as_chunks::<BLOCK>();
    let (to, rest_of_target) = target.as_chunks_mut::<BLOCK>();
    for (i, (from, to)) in blocks.iter().zip(to).enumerate() {
        decode_block::<T, QUADS, SCALED>(&tables, by(i), from, to);
    }
    if rest.is_empty() {
        return;
    }
    let mut padded = [0; BLOCK];
    for (to, &from) in padded.iter_mut().zip(rest) {
        *to = from;
    }
    let mut block = [T::default(); BLOCK];
    decode_block::<T, QUADS, SCALED>(&tables, by(blocks.len()), &padded, &mut block);
    for (to, from) in rest_of_target.iter_mut().zip(block) {
        *to = from;
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn decode_block<T: Float, const QUADS: usize, const SCALED: bool>(
    tables: &Tables<QUADS>,
    by: f32,
    codes: &[u8; BLOCK],
    target: &mut [T; BLOCK],
) {
    // SAFETY: twice 16 bytes of a block of 32.
    let codes = [0, CODES].map(|first| unsafe { vld1q_u8(codes.as_ptr().add(first)) });
    for (i, (low, high)) in tables.look_up(codes).into_iter().enumerate() {
        for (j, bits) in [vzip1q_u8(low, high), vzip2q_u8(low, high)]
            .into_iter()
            .enumerate()
        {
            let bits = vreinterpretq_u16_u8(bits);
            // SAFETY: four times 8 elements of a block of 32.
            unsafe {
                let target = target.as_mut_ptr().add(CODES * i + 2 * LANES * j);
                if !SCALED && matches!(T::TYPE, FloatType::Bf16) {
                    vst1q_u16(target.cast(), bits);
                    continue;
                }
                let mut values = widen_bf16(bits);
                if SCALED {
                    values = values.map(|x| vmulq_n_f32(x, by));
                }
                store(target, values);
            }
        }
    }
}

/// Stores 8 elements, rounded to nearest-even.
///
/// # Safety
/// They can be written.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn store<T: Float>(target: *mut T, values: [float32x4_t; 2]) {
    // SAFETY: the caller's promise; the stores take 8 times the size of `T`.
    unsafe {
        match T::TYPE {
            FloatType::F32 => {
                let target = target.cast();
                vst1q_f32(target, values[0]);
                vst1q_f32(target.add(LANES), values[1]);
            }
            FloatType::Bf16 => vst1q_u16(target.cast(), narrow_bf16(values)),
            FloatType::F16 => vst1q_u16(target.cast(), narrow_f16(values)),
            FloatType::F64 => {}
        }
    }
}

/// Rounds to bfloat16, ties to even: added is one less than half of the last place, or half where
/// the last bit is set.
#[inline]
#[target_feature(enable = "neon")]
fn narrow_bf16(values: [float32x4_t; 2]) -> uint16x8_t {
    let [(first, a), (second, b)] = values.map(|x| {
        let bits = vreinterpretq_u32_f32(x);
        let odd = vtstq_u32(bits, vdupq_n_u32(1 << 16));
        (bits, vsubq_u32(vdupq_n_u32(0x7FFF), odd))
    });
    vaddhn_high_u32(vaddhn_u32(first, a), second, b)
}

/// By the instruction itself, as [`widen_f16`].
#[inline]
#[target_feature(enable = "neon")]
fn narrow_f16(values: [float32x4_t; 2]) -> uint16x8_t {
    let bits: uint16x8_t;
    // SAFETY: arithmetic on registers; the environment is the default one.
    unsafe {
        asm!("fcvtn {bits:v}.4h, {first:v}.4s", "fcvtn2 {bits:v}.8h, {second:v}.4s",
            bits = out(vreg) bits, first = in(vreg) values[0], second = in(vreg) values[1],
            options(pure, nomem, nostack, preserves_flags));
    }
    bits
}

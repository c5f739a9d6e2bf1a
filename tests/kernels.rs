// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every kernel that this machine can run, against the scalar reference: bit for bit, at every
//! length and offset, under every floating-point environment.
//!
//! `cargo test --release --test kernels -- --ignored` takes every one of the 2^32 `f32`.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ofp8::float::FitsF32;
use ofp8::kernel::Kernel;
use ofp8::{
    Amax, Bf16, Block, Cast, CopyMut, Error, ExponentRule, F16, Float, Format, Matrix, MatrixMut,
    NanPolicy, Philox, Random, RandomBits, Recipe, Rounding, Saturation, Scales, ScalesMut,
    Scaling, Stats, scalar, slice,
};

/// Runs `test` with each kernel forced; where the variable `OFP8_TEST_KERNEL` names one, with that
/// alone. The choice is one for the whole program, so that tests take turns.
fn each_kernel(mut test: impl FnMut(Kernel)) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let asked = std::env::var("OFP8_TEST_KERNEL").ok();
    for &kernel in Kernel::ALL {
        if asked.as_ref().is_some_and(|asked| asked != kernel.name()) {
            eprintln!("not asked for: {kernel}");
        } else if kernel.is_available() {
            Kernel::force(Some(kernel)).unwrap();
            assert_eq!(Kernel::current(), kernel);
            test(kernel);
        } else {
            eprintln!("not on this machine: {kernel}");
        }
    }
    Kernel::force(None).unwrap();
}

const ROUNDINGS: [Rounding; 6] = [
    Rounding::NearestEven,
    Rounding::NearestAway,
    Rounding::TowardZero,
    Rounding::TowardPositive,
    Rounding::TowardNegative,
    Rounding::ToOdd,
];

/// Every cast that needs no random bits.
fn casts() -> impl Iterator<Item = Cast> {
    ROUNDINGS.into_iter().flat_map(|rounding| {
        [Saturation::Finite, Saturation::Propagate, Saturation::None]
            .into_iter()
            .flat_map(move |saturation| {
                [NanPolicy::Canonical, NanPolicy::KeepSign].map(|nan| Cast {
                    rounding,
                    saturation,
                    nan,
                })
            })
    })
}

/// Patterns of `f32`: each exponent and sign with significands at and around the ties of every
/// mantissa width.
fn patterns() -> Vec<f32> {
    let mut lows = vec![0, 1, 0x7F_FFFF];
    for bit in 15..23 {
        let place = 1u32 << bit;
        for top in [0, place << 1, 3 * place, 0x7F_FFFF & !(2 * place - 1)] {
            let tie = (top | place) & 0x7F_FFFF;
            lows.extend([tie - 1, tie, tie + 1]);
        }
    }
    lows.sort_unstable();
    lows.dedup();
    let fields = (0..512u32).map(|field| field << 23);
    fields
        .flat_map(|field| lows.iter().map(move |low| f32::from_bits(field | low)))
        .collect()
}

fn reference<S: Float>(format: Format, cast: Cast, x: S, word: u32) -> u8 {
    scalar::encode_bits(format, cast, S::TYPE, x.to_wide_bits(), word)
}

/// Compares a whole slice and names the first difference so that it can be repeated.
fn assert_codes<S: Float + std::fmt::Debug>(
    what: &str,
    source: &[S],
    codes: &[u8],
    expected: &[u8],
) {
    if let Some(i) = (0..codes.len()).find(|&i| codes[i] != expected[i]) {
        panic!(
            "{what}: element {i}, {:?} (bits {:#x}): {:#04x} instead of {:#04x}",
            source[i],
            source[i].to_wide_bits(),
            codes[i],
            expected[i]
        );
    }
}

#[test]
fn every_format_and_cast() {
    let source = patterns();
    let mut codes = vec![0; source.len()];
    for &format in Format::ALL {
        for (turn, cast) in casts().enumerate() {
            // Each cast meets its part of the patterns; the default one meets all.
            let (skip, step) = if cast == Cast::DEFAULT {
                (0, 1)
            } else {
                (turn % 7, 7)
            };
            let source: Vec<f32> = source[skip..].iter().copied().step_by(step).collect();
            let expected: Vec<u8> = source
                .iter()
                .map(|&x| reference(format, cast, x, 0))
                .collect();
            let codes = &mut codes[..source.len()];
            each_kernel(|kernel| {
                slice::encode(format, cast, &source, codes).unwrap();
                assert_codes(
                    &format!("{kernel} {format:?} {cast:?}"),
                    &source,
                    codes,
                    &expected,
                );
            });
        }
    }
}

/// A loop that finds a NaN by its bits must not be led astray by the payload: every high half of a payload
/// with low halves around each power of two, alone among ordinary values and beside each other.
#[test]
fn nans_of_every_payload() {
    let lows = (0..16).flat_map(|bit| [1u32 << bit, (1 << bit) - 1, !(1 << bit) & 0xFFFF]);
    let lows: Vec<u32> = lows.collect();
    let payloads = (0..0x80u32).flat_map(|high| lows.iter().map(move |low| high << 16 | low));
    let infinity = f32::INFINITY.to_bits();
    let nans = payloads
        .filter(|&payload| payload != 0)
        .flat_map(|payload| [0, 1 << 31].map(|sign| f32::from_bits(sign | infinity | payload)));
    let nans: Vec<f32> = nans.collect();
    let alone = |(i, &nan): (usize, &f32)| {
        let mut block = [0.75; 37];
        block[i % 37] = nan;
        block
    };
    let mut source: Vec<f32> = nans.iter().enumerate().flat_map(alone).collect();
    source.extend(&nans);
    let mut codes = vec![0; source.len()];
    for format in [
        Format::E4M3,
        Format::E5M2,
        Format::E4M3Fnuz,
        Format::E2M1,
        Format::E3M4,
    ] {
        let expected: Vec<u8> = source
            .iter()
            .map(|&x| reference(format, Cast::DEFAULT, x, 0))
            .collect();
        each_kernel(|kernel| {
            slice::encode(format, Cast::DEFAULT, &source, &mut codes).unwrap();
            assert_codes(&format!("{kernel} {format:?}"), &source, &codes, &expected);
        });
    }
}

#[test]
fn all_halves() {
    fn check<S: Float + std::fmt::Debug>() {
        let source: Vec<S> = (0..1 << 16).map(S::from_wide_bits).collect();
        let mut codes = vec![0; source.len()];
        for &format in Format::ALL {
            for cast in [
                Cast::DEFAULT,
                Cast::DEFAULT.saturation(Saturation::None),
                Cast::DEFAULT
                    .rounding(Rounding::ToOdd)
                    .nan(NanPolicy::KeepSign),
            ] {
                let expected: Vec<u8> = source
                    .iter()
                    .map(|&x| reference(format, cast, x, 0))
                    .collect();
                each_kernel(|kernel| {
                    slice::encode(format, cast, &source, &mut codes).unwrap();
                    assert_codes(
                        &format!("{kernel} {format:?} {cast:?} {:?}", S::TYPE),
                        &source,
                        &codes,
                        &expected,
                    );
                });
            }
        }
    }
    check::<F16>();
    check::<Bf16>();
}

/// binary64 is rounded once: around each tie, by less than an `f32` can tell.
#[test]
fn binary64_is_rounded_once() {
    let wide = patterns().into_iter().flat_map(|x| {
        let x = x as f64;
        [x, x * 1e300, x * 1e-300, x.next_up(), x.next_down()]
    });
    let source: Vec<f64> = wide.collect();
    let mut codes = vec![0; source.len()];
    for format in [
        Format::E4M3,
        Format::E5M2,
        Format::E8M0,
        Format::MxInt8,
        Format::Binary8p3ue,
    ] {
        for cast in casts() {
            let expected: Vec<u8> = source
                .iter()
                .map(|&x| reference(format, cast, x, 0))
                .collect();
            each_kernel(|kernel| {
                slice::encode(format, cast, &source, &mut codes).unwrap();
                assert_codes(
                    &format!("{kernel} {format:?} {cast:?}"),
                    &source,
                    &codes,
                    &expected,
                );
            });
        }
    }
}

#[test]
fn all_codes() {
    fn check<T: Float + PartialEq + std::fmt::Debug>() {
        // Four times over, turned, so that every code meets every lane of a vector.
        let codes: Vec<u8> = (0..4 * 257u32).map(|i| i as u8).collect();
        let mut target = vec![T::default(); codes.len()];
        for &format in Format::ALL {
            let expected: Vec<u64> = codes
                .iter()
                .map(|&code| scalar::decode_bits(format, code, T::TYPE))
                .collect();
            each_kernel(|kernel| {
                slice::decode(format, &codes, &mut target).unwrap();
                for ((&code, value), &expected) in codes.iter().zip(&target).zip(&expected) {
                    let what = format!("{kernel} {format:?} {:?} code {code:#04x}", T::TYPE);
                    assert_eq!(value.to_wide_bits(), expected, "{what}");
                }
            });
        }
    }
    check::<f32>();
    check::<f64>();
    check::<F16>();
    check::<Bf16>();
}

/// Lengths from nothing to four vectors and one element, at every offset from an aligned address:
/// what is written is right, and nothing else is written.
#[test]
fn every_length_and_offset() {
    const VECTOR: usize = 64;
    const MOST: usize = 4 * VECTOR + 1;
    const GUARD: u8 = 0xA5;
    fn check<S: Float + PartialEq + std::fmt::Debug>(offsets: impl Iterator<Item = usize> + Clone) {
        let numbers = patterns();
        let step = numbers.len() / (MOST + VECTOR);
        let source: Vec<S> = (0..MOST + VECTOR)
            .map(|i| S::from_f32(numbers[i * step]))
            .collect();
        let encode = |&x: &S| reference(Format::E4M3, Cast::DEFAULT, x, 0);
        let expected: Vec<u8> = source.iter().map(encode).collect();
        let decode =
            |&code: &u8| S::from_wide_bits(scalar::decode_bits(Format::E4M3, code, S::TYPE));
        let decoded: Vec<S> = expected.iter().map(decode).collect();
        let guard = S::from_wide_bits(0x3C3C);
        each_kernel(|kernel| {
            for offset in offsets.clone() {
                for len in 0..=MOST {
                    let here = offset..offset + len;
                    let what = format!("{kernel} {:?} offset {offset} length {len}", S::TYPE);

                    let mut codes = [GUARD; MOST + 2 * VECTOR];
                    slice::encode(
                        Format::E4M3,
                        Cast::DEFAULT,
                        &source[here.clone()],
                        &mut codes[here.clone()],
                    )
                    .unwrap();
                    assert!(codes[here.clone()] == expected[here.clone()], "{what}");
                    assert!(
                        codes[..offset].iter().all(|&code| code == GUARD),
                        "{what}: before"
                    );
                    assert!(
                        codes[here.end..].iter().all(|&code| code == GUARD),
                        "{what}: after"
                    );

                    let mut target = [guard; MOST + 2 * VECTOR];
                    slice::decode(
                        Format::E4M3,
                        &expected[here.clone()],
                        &mut target[here.clone()],
                    )
                    .unwrap();
                    let same = |i: usize| target[i].to_wide_bits() == decoded[i].to_wide_bits();
                    assert!(here.clone().all(same), "{what}: decoded");
                    assert!(
                        target[..offset].iter().all(|&x| x == guard),
                        "{what}: before"
                    );
                    assert!(
                        target[here.end..].iter().all(|&x| x == guard),
                        "{what}: after"
                    );

                    let amax = source[here.clone()]
                        .iter()
                        .fold(Amax::ZERO, |amax, x| amax.merge(Amax::of(x.to_f32())));
                    assert_eq!(slice::amax(&source[here]), amax, "{what}");
                }
            }
        });
    }
    check::<f32>(0..VECTOR);
    check::<Bf16>((0..VECTOR).step_by(3));
    check::<F16>((0..VECTOR).step_by(5));
    check::<f64>((0..VECTOR).step_by(31));
}

fn stochastic() -> impl Iterator<Item = Rounding> {
    [1, 3, 8, 16, 17, 22, 23, 32].into_iter().flat_map(|bits| {
        let bits = RandomBits::new(bits).unwrap();
        [
            Rounding::StochasticA(bits),
            Rounding::StochasticB(bits),
            Rounding::StochasticC(bits),
        ]
    })
}

#[test]
fn stochastic_roundings_with_words() {
    let source: Vec<f32> = patterns().into_iter().step_by(23).collect();
    let philox = Philox::new(3, 5);
    let words: Vec<u32> = (0..source.len() as u64)
        .map(|i| philox.block(i)[1])
        .collect();
    let mut codes = vec![0; source.len()];
    for &format in Format::ALL {
        for rounding in stochastic() {
            for saturation in [Saturation::Finite, Saturation::None] {
                let cast = Cast::DEFAULT.rounding(rounding).saturation(saturation);
                let pairs = source.iter().zip(&words);
                let expected: Vec<u8> = pairs
                    .map(|(&x, &word)| reference(format, cast, x, word))
                    .collect();
                each_kernel(|kernel| {
                    let random = Random::Words(&words);
                    slice::encode_stochastic(format, cast, random, &source, &mut codes).unwrap();
                    assert_codes(
                        &format!("{kernel} {format:?} {cast:?}"),
                        &source,
                        &codes,
                        &expected,
                    );
                });
            }
        }
    }
}

/// However the work is cut, an element has its own random bits.
#[test]
fn stochastic_roundings_with_philox() {
    let source: Vec<f32> = patterns().into_iter().step_by(17).collect();
    for rounding in stochastic().filter(|rounding| rounding.random_bits() <= 16) {
        let cast = Cast::DEFAULT.rounding(rounding);
        for first in [0, 3, u64::MAX - 1000] {
            let philox = Philox::new(11, 13).at(first);
            let expected: Vec<u8> = (0..)
                .zip(&source)
                .map(|(i, &x)| reference(Format::E4M3, cast, x, philox.bits(i) as u32))
                .collect();
            each_kernel(|kernel| {
                for cut in [source.len(), 1000, 77] {
                    let mut codes = vec![0; source.len()];
                    for (i, (source, codes)) in
                        source.chunks(cut).zip(codes.chunks_mut(cut)).enumerate()
                    {
                        let at = first.wrapping_add((i * cut) as u64);
                        let random = Random::Philox(philox.at(at));
                        slice::encode_stochastic(Format::E4M3, cast, random, source, codes)
                            .unwrap();
                    }
                    let what = format!("{kernel} {rounding:?} first {first} cut {cut}");
                    assert_codes(&what, &source, &codes, &expected);
                }
            });
        }
    }
}

/// The control register of the floating-point unit, set for the length of a call.
#[cfg(target_arch = "x86_64")]
mod environment {
    use std::arch::asm;

    /// Flushing of subnormal results and operands, exceptions that trap, and the four roundings.
    pub fn all() -> Vec<u32> {
        const MASKED: u32 = 0x1F80;
        const FLUSH: u32 = 1 << 15 | 1 << 6;
        let roundings = (0..4).map(|rounding| rounding << 13);
        let all = roundings.flat_map(|mxcsr| [mxcsr | MASKED, mxcsr | MASKED | FLUSH, mxcsr]);
        all.collect()
    }

    pub fn under<R>(environment: u32, work: impl FnOnce() -> R) -> (R, u32) {
        let before = get();
        set(environment);
        let result = work();
        let after = get();
        set(before);
        // Without the flags, which may be raised.
        (result, after & !0x3F)
    }

    fn get() -> u32 {
        let mut mxcsr = 0u32;
        // SAFETY: stores the register to a local variable.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack)) };
        mxcsr
    }

    fn set(mxcsr: u32) {
        // SAFETY: no reserved bit is set; the caller does no floating-point arithmetic of its own until
        // the register is back. No flag is set either, so that nothing traps here.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const mxcsr, options(nostack)) };
    }
}

#[cfg(target_arch = "aarch64")]
mod environment {
    use std::arch::asm;

    /// Flushing of subnormals (also of binary16, where the processor computes with that), the default
    /// NaN, the other binary16, exceptions that trap (where the processor has that), and the four
    /// roundings.
    pub fn all() -> Vec<u32> {
        const FLUSH: u32 = 1 << 24 | 1 << 19;
        const OTHERS: u32 = 1 << 25 | 1 << 26;
        const TRAP: u32 = 1 << 15 | 0x1F << 8;
        let roundings = (0..4u32).map(|rounding| rounding << 22);
        let all = roundings.flat_map(|fpcr| [fpcr, fpcr | FLUSH, fpcr | OTHERS, fpcr | TRAP]);
        all.map(|fpcr| under(fpcr, || ()).1).collect()
    }

    pub fn under<R>(environment: u32, work: impl FnOnce() -> R) -> (R, u32) {
        let before = get();
        set(environment as u64);
        let result = work();
        let after = get();
        set(before);
        (result, after as u32)
    }

    fn get() -> u64 {
        let fpcr;
        // SAFETY: reads the register.
        unsafe { asm!("mrs {}, fpcr", out(reg) fpcr, options(nostack)) };
        fpcr
    }

    fn set(fpcr: u64) {
        // SAFETY: the caller does no floating-point arithmetic of its own until it is back.
        unsafe { asm!("msr fpcr, {}", in(reg) fpcr, options(nostack)) };
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[test]
fn the_caller_s_floating_point_environment_does_not_matter() {
    let source: Vec<f32> = patterns().into_iter().step_by(29).collect();
    let halves: Vec<F16> = (0..=u16::MAX).step_by(37).map(F16).collect();
    let wide: Vec<f64> = source.iter().map(|&x| x as f64 * 1.0000001).collect();
    let words: Vec<u32> = (0..source.len() as u32)
        .map(|i| i.wrapping_mul(0x9E37_79B9))
        .collect();
    let all_codes: Vec<u8> = (0..=255).collect();
    let casts = [
        Cast::DEFAULT,
        Cast::DEFAULT.rounding(Rounding::NearestAway),
        Cast::DEFAULT
            .rounding(Rounding::TowardPositive)
            .saturation(Saturation::None),
        Cast::DEFAULT.rounding(Rounding::StochasticA(RandomBits::SIXTEEN)),
    ];
    for &format in Format::ALL {
        let run = || {
            let mut results = Vec::new();
            for cast in casts {
                let mut codes = vec![0; source.len()];
                let random = Random::Words(&words);
                slice::encode_stochastic(format, cast, random, &source, &mut codes).unwrap();
                results.extend_from_slice(&codes);
            }
            slice::encode::<f32>(format, Cast::DEFAULT, &[], &mut []).unwrap();
            let mut codes = vec![0; halves.len()];
            slice::encode(format, Cast::DEFAULT, &halves, &mut codes).unwrap();
            results.extend_from_slice(&codes);
            let mut codes = vec![0; wide.len()];
            slice::encode(format, Cast::DEFAULT, &wide, &mut codes).unwrap();
            results.extend_from_slice(&codes);
            let mut values = [0f32; 256];
            slice::decode(format, &all_codes, &mut values).unwrap();
            results.extend(values.iter().flat_map(|x| x.to_bits().to_le_bytes()));
            let mut values = [F16(0); 256];
            slice::decode(format, &all_codes, &mut values).unwrap();
            results.extend(values.iter().flat_map(|x| x.0.to_le_bytes()));
            let mut values = [0f64; 256];
            slice::decode(format, &all_codes, &mut values).unwrap();
            results.extend(values.iter().flat_map(|x| x.to_bits().to_le_bytes()));
            results.extend(slice::amax(&wide).to_bits().to_le_bytes());
            results
        };
        each_kernel(|kernel| {
            let expected = run();
            for environment in environment::all() {
                let (results, after) = environment::under(environment, run);
                assert!(
                    results == expected,
                    "{kernel} {format:?} under {environment:#x}"
                );
                assert_eq!(
                    after, environment,
                    "{kernel}: the register was not put back"
                );
            }
        });
    }
}

/// Quantizing many groups at once equals quantizing them one by one (from given amaxes, which takes
/// the general path), with any kernel.
#[test]
fn groups_equal_blocks() {
    // Groups of every magnitude, one value in many far from the others, ragged at the end.
    let (rows, cols) = (24, 2 * 1024 + 3 * 32 + 5);
    let source: Vec<f32> = (0..rows * cols)
        .map(|i| {
            let bits = Philox::new(17, 0).block(i as u64)[0];
            let field = (i / 32 % 250) as u32;
            let spread = if bits.is_multiple_of(7) {
                bits >> 28
            } else {
                0
            };
            f32::from_bits((field.saturating_sub(spread)) << 23 | bits & 0x807F_FFFF)
        })
        .collect();
    let mut special = source.clone();
    special[40] = f32::NAN;
    special[cols + 1200] = f32::INFINITY;
    special[2 * cols + 64..2 * cols + 96].fill(-0.0);
    for source in [&source, &special] {
        for rule in [
            ExponentRule::RoundUp,
            ExponentRule::Floor,
            ExponentRule::Ceil,
            ExponentRule::Even,
        ] {
            for element in [Format::E4M3, Format::E5M2, Format::E2M1, Format::E4M3Fnuz] {
                let recipe = Recipe::new(element, Block::new(1, 32), Scaling::E8M0(rule)).unwrap();
                let blocks = rows * cols.div_ceil(32);
                let matrix = Matrix::new(source, rows, cols).unwrap();
                let mut amax = vec![Amax::ZERO; blocks];
                recipe.amax(matrix, &mut amax).unwrap();
                let (mut codes, mut scales) = (vec![0; source.len()], vec![0; blocks]);
                let target = MatrixMut::new(&mut codes, rows, cols).unwrap();
                let places = ScalesMut::E8M0(&mut scales);
                let stats = recipe
                    .quantize_from_amax(None, matrix, &amax, target, places)
                    .unwrap();
                let mut expected = vec![0f32; source.len()];
                for (i, expected) in expected.iter_mut().enumerate() {
                    let block = i / cols * cols.div_ceil(32) + i % cols / 32;
                    let scale = scalar::decode_f32(Format::E8M0, scales[block]);
                    let value = scalar::decode_f32(element, codes[i]);
                    let product = value * scale;
                    *expected = if product.is_nan() {
                        f32::NAN.copysign(value)
                    } else {
                        product
                    };
                }
                each_kernel(|kernel| {
                    let what = format!("{kernel} {element:?} {rule:?}");
                    let (mut own, mut own_scales) = (vec![0; source.len()], vec![0; blocks]);
                    let target = MatrixMut::new(&mut own, rows, cols).unwrap();
                    let places = ScalesMut::E8M0(&mut own_scales);
                    assert_eq!(
                        recipe.quantize(matrix, target, places).unwrap(),
                        stats,
                        "{what}"
                    );
                    assert!(own_scales == scales, "{what}: scales");
                    assert_codes(&what, source, &own, &codes);
                    let mut back = vec![0f32; source.len()];
                    let from = Matrix::new(&own, rows, cols).unwrap();
                    let target = MatrixMut::new(&mut back, rows, cols).unwrap();
                    recipe
                        .dequantize(from, Scales::E8M0(&own_scales), target)
                        .unwrap();
                    let differ = |i: &usize| back[*i].to_bits() != expected[*i].to_bits();
                    assert_eq!((0..back.len()).find(differ), None, "{what}: dequantized");
                });
            }
        }
    }
}

/// Bytes of a line of the caches: what is stored past them begins at a multiple of that.
const LINE: usize = 64;

/// So many elements of a buffer, from a line on.
fn aligned<T>(memory: &mut [T], len: usize) -> &mut [T] {
    let start = memory.as_ptr().align_offset(LINE);
    &mut memory[start..start + len]
}

/// Many decoded values, too, are stored past the caches.
#[test]
fn many_values_equal_their_parts() {
    const PART: usize = 1 << 16;
    fn check<T: FitsF32 + PartialEq + Default>(kernel: Kernel, codes: &[u8]) {
        let len = codes.len();
        let mut memory = vec![T::default(); len + LINE];
        // At a line, and at none.
        for start in [0, 1] {
            for format in [Format::E4M3, Format::E4M3Fnuz] {
                let values = &mut aligned(&mut memory, len)[start..];
                let codes = &codes[start..];
                slice::decode(format, codes, values).unwrap();
                let mut part = vec![T::default(); PART.min(len)];
                let parts = codes.chunks(PART).zip(values.chunks(PART));
                for (codes, values) in parts {
                    let part = &mut part[..codes.len()];
                    slice::decode(format, codes, part).unwrap();
                    let equal = |(a, b): (&T, &T)| a.to_wide_bits() == b.to_wide_bits();
                    assert!(values.iter().zip(&*part).all(equal), "{kernel} {format:?}");
                }
                let (rows, cols) = (2, codes.len() / 64 * 32);
                let recipe = Recipe::MXFP8.with_element(format).unwrap();
                let scales: Vec<u8> = (0..rows * cols / 32).map(|i| 100 + i as u8 % 50).collect();
                let source = Matrix::new(&codes[..rows * cols], rows, cols).unwrap();
                let target = MatrixMut::new(&mut values[..rows * cols], rows, cols).unwrap();
                recipe
                    .dequantize(source, Scales::E8M0(&scales), target)
                    .unwrap();
                for (group, &scale) in scales.iter().enumerate().step_by(997) {
                    let place = 32 * group..32 * (group + 1);
                    let part = &mut part[..32];
                    let source = Matrix::new(&codes[place.clone()], 1, 32).unwrap();
                    let target = MatrixMut::new(&mut *part, 1, 32).unwrap();
                    recipe
                        .dequantize(source, Scales::E8M0(&[scale]), target)
                        .unwrap();
                    let equal = |(a, b): (&T, &T)| a.to_wide_bits() == b.to_wide_bits();
                    assert!(
                        values[place].iter().zip(&*part).all(equal),
                        "{kernel} {format:?}"
                    );
                }
            }
        }
    }
    let codes: Vec<u8> = (0..(4 << 20) + 77)
        .map(|i| (i * 7 + i / 256) as u8)
        .collect();
    each_kernel(|kernel| {
        check::<f32>(kernel, &codes);
        check::<F16>(kernel, &codes);
        check::<Bf16>(kernel, &codes);
    });
}

/// Where many codes are written they are stored past the caches, and the source is fetched part by part
/// in other sizes: the same as in bands that are too small for that.
#[test]
fn large_matrices_equal_their_bands() {
    // 8.6 Mi elements; the last blocks of a row are cut.
    const ROWS: usize = 2176;
    const COLS: usize = 4144;
    const GAP: usize = 16;
    const BAND: usize = 640;
    let seed = Philox::new(5, 6);
    let source: Vec<Bf16> = (0..ROWS * (COLS + GAP))
        .map(|i| match seed.bits(i as u64) {
            // Infinities and NaN in a block or two of each band.
            bits if i % 1_000_003 == 77 => Bf16(0x7F80 | bits & 0x7F),
            bits => Bf16(bits & 0x81FF | 0x3E00),
        })
        .collect();
    let rows = |from: usize, to: usize| {
        let source = &source[from * (COLS + GAP)..];
        Matrix::with_stride(source, to - from, COLS, COLS + GAP).unwrap()
    };
    let recipes = [
        Recipe::MXFP8,
        Recipe::MXFP8.turned(),
        Recipe::DEEPSEEK_ACTIVATION,
        Recipe::DEEPSEEK_ACTIVATION.turned(),
        Recipe::DEEPSEEK_WEIGHT,
        Recipe::TENSOR.with_block(Block::ROW),
        Recipe::TENSOR.with_block(Block::new(1, 16)),
    ];
    let quantize = |recipe: &Recipe, from: usize, to: usize| {
        let (down, across) = recipe.block().grid(to - from, COLS);
        let mut memory = vec![0; (to - from) * COLS + LINE];
        let codes = aligned(&mut memory, (to - from) * COLS);
        let mut bytes = vec![0; down * across];
        let mut floats = vec![0.0; down * across];
        let target = MatrixMut::new(codes, to - from, COLS).unwrap();
        let scales = match recipe.scaling() {
            Scaling::E8M0(_) => ScalesMut::E8M0(&mut bytes),
            _ => ScalesMut::F32(&mut floats),
        };
        let stats = recipe.quantize(rows(from, to), target, scales).unwrap();
        let floats = floats.iter().map(|scale: &f32| scale.to_bits());
        (codes.to_vec(), bytes, floats.collect::<Vec<_>>(), stats)
    };
    each_kernel(|kernel| {
        for recipe in &recipes {
            let whole = quantize(recipe, 0, ROWS);
            let mut bands = (Vec::new(), Vec::new(), Vec::new(), Stats::EMPTY);
            for from in (0..ROWS).step_by(BAND) {
                let band = quantize(recipe, from, ROWS.min(from + BAND));
                bands.0.extend(band.0);
                bands.1.extend(band.1);
                bands.2.extend(band.2);
                bands.3 = bands.3.merge(band.3);
            }
            assert!(whole == bands, "{kernel} {:?}", recipe.block());
        }
        // Two copies: each what it is alone.
        let (rowwise, columnwise) = (Recipe::MXFP8, Recipe::MXFP8.turned());
        let expected = [quantize(&rowwise, 0, ROWS), quantize(&columnwise, 0, ROWS)];
        let mut memory = [(); 2].map(|()| vec![0; ROWS * COLS + LINE]);
        let codes = memory.each_mut().map(|memory| aligned(memory, ROWS * COLS));
        let mut scales = expected
            .each_ref()
            .map(|expected| vec![0; expected.1.len()]);
        let ([a, b], [c, d]) = (codes, &mut scales);
        let copy = |codes, scales| {
            let codes = MatrixMut::new(codes, ROWS, COLS).unwrap();
            CopyMut::new(codes, ScalesMut::E8M0(scales))
        };
        let stats = rowwise.quantize_both(rows(0, ROWS), copy(a, c), copy(b, d));
        let stats = stats.unwrap();
        let codes = memory.each_mut().map(|memory| aligned(memory, ROWS * COLS));
        for (i, expected) in expected.iter().enumerate() {
            assert!(*codes[i] == expected.0, "{kernel}: codes of copy {i}");
            assert!(scales[i] == expected.1, "{kernel}: scales of copy {i}");
            assert_eq!(stats[i], expected.3, "{kernel}");
        }
    });
}

#[test]
fn a_kernel_can_be_asked_and_forced() {
    each_kernel(|kernel| {
        assert_eq!(Kernel::from_number(kernel as u32), Some(kernel));
        assert_eq!(kernel.to_string(), kernel.name());
        Kernel::force(None).unwrap();
        assert!(Kernel::current().is_available());
        Kernel::force(Some(kernel)).unwrap();
        for &other in Kernel::ALL.iter().filter(|other| !other.is_available()) {
            assert_eq!(Kernel::force(Some(other)), Err(Error::Kernel));
            assert_eq!(Kernel::current(), kernel);
        }
    });
    assert!(Kernel::Portable.is_available());
    assert!(Kernel::detect().is_available());
    assert_eq!(Kernel::from_number(0), None);
}

/// A kernel that is forced while another thread's first call still looks for the fastest stays forced.
#[test]
fn a_first_call_takes_no_forced_kernel_back() {
    const ROUNDS: usize = 300;
    each_kernel(|kernel| {
        let (calls, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    Kernel::current();
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            });
            // A call that begins from now on sees what has been done before, and has ended after two.
            let wait = || {
                let before = calls.load(Ordering::Relaxed);
                while calls.load(Ordering::Relaxed) < before + 2 {
                    std::thread::yield_now();
                }
            };
            let kept = (0..ROUNDS).filter(|round| {
                Kernel::force(None).unwrap();
                for _ in 0..round % 50 {
                    std::hint::spin_loop();
                }
                Kernel::force(Some(kernel)).unwrap();
                wait();
                Kernel::current() == kernel
            });
            let kept = kept.count();
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(kept, ROUNDS);
        });
    });
}

/// Threads that race to the first call agree.
#[test]
fn first_calls_may_race() {
    each_kernel(|_| {
        Kernel::force(None).unwrap();
        let all: Vec<Kernel> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(Kernel::current)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert!(all.iter().all(|&kernel| kernel == all[0]));
    });
}

#[test]
fn bad_lengths_and_missing_bits_write_nothing() {
    let source = [1.0f32; 3];
    let mut codes = [0xA5; 3];
    let stochastic = Cast::DEFAULT.rounding(Rounding::StochasticA(RandomBits::new(17).unwrap()));
    let philox = Random::Philox(Philox::new(0, 0));
    let e4m3 = Format::E4M3;
    assert_eq!(
        slice::encode(e4m3, Cast::DEFAULT, &source, &mut codes[..2]),
        Err(Error::Length)
    );
    assert_eq!(
        slice::encode(e4m3, stochastic, &source, &mut codes),
        Err(Error::RandomBits)
    );
    assert_eq!(
        slice::encode_stochastic(e4m3, stochastic, philox, &source, &mut codes),
        Err(Error::RandomBits)
    );
    assert_eq!(
        slice::encode_stochastic(
            e4m3,
            stochastic,
            Random::Words(&[0; 2]),
            &source,
            &mut codes
        ),
        Err(Error::Length)
    );
    let mut target = [7.0f32; 2];
    assert_eq!(slice::decode(e4m3, &codes, &mut target), Err(Error::Length));
    assert_eq!((codes, target), ([0xA5; 3], [7.0; 2]));
}

/// Every `f32`, under the default cast, for the two formats that matter most.
#[test]
#[ignore = "minutes"]
fn all_f32() {
    const CHUNK: u32 = 1 << 20;
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    for format in [Format::E4M3, Format::E5M2] {
        each_kernel(|kernel| {
            let check = |chunk: u32| {
                let bits = (0..CHUNK).map(|i| chunk << 20 | i);
                let source: Vec<f32> = bits.map(f32::from_bits).collect();
                let encode = |&x: &f32| reference(format, Cast::DEFAULT, x, 0);
                let expected: Vec<u8> = source.iter().map(encode).collect();
                let mut codes = vec![0; CHUNK as usize];
                slice::encode(format, Cast::DEFAULT, &source, &mut codes).unwrap();
                assert_codes(&format!("{kernel} {format:?}"), &source, &codes, &expected);
            };
            std::thread::scope(|scope| {
                for thread in 0..threads {
                    scope.spawn(move || (0..1 << 12).skip(thread).step_by(threads).for_each(check));
                }
            });
        });
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Encoding: in one pass where the kernel has a loop for it, else in chunks that stay in the
//! first-level cache (load, scale, encode, count), else by the scalar reference.

use super::factor::{Factor, Factors};
use super::isa::Isa;
use super::params::Params;
use super::{portable, statistics};
use crate::float::Float;
use crate::machine::{IS_SMALL, buffered};
use crate::policy::Rounding;
use crate::random::Random;
use crate::scalar::{self, Value};
use crate::spec::{FloatType, Sign, Spec};
use crate::stats::{Extremes, Stats};

/// Bytes of a line of the caches.
pub(super) const LINE: usize = 64;

/// Elements a chunk where it needs no buffers.
const LARGE_CHUNK: usize = 2048;

/// Elements a chunk of a stochastic cast: random bits of 2 KiB of stack.
const RANDOM_CHUNK: usize = buffered(1024);

/// Elements a chunk: the three buffers of a chunk take 3 KiB of stack.
const CHUNK: usize = buffered(256);

/// Stochastic roundings with more random bits than this go through the scalar reference: the
/// fraction of an ulp, counted in units of theirs, must be an integer that `f32` can hold.
const LANE_RANDOM_BITS: u32 = 22;

/// One encoded chunk, for the statistics.
pub(super) struct Encoded<'a, S> {
    /// The source.
    pub source: &'a [S],
    /// The same as `f32` bits (see [`portable::load`]).
    pub loaded: &'a [u32],
    /// And after the factor.
    pub scaled: &'a [u32],
    /// What was stored.
    pub codes: &'a [u8],
}

/// `codes[i] = cast(factor(source[i]))`.
pub(super) fn encode<I: Isa, S: Float>(
    isa: I,
    params: &Params,
    factor: Factor,
    random: Option<Random<'_>>,
    source: &[S],
    codes: &mut [u8],
) {
    if let Some(random) = random
        && params.cast.rounding.is_stochastic()
    {
        return encode_stochastic(isa, params, factor, random, source, codes);
    }
    let slow = |source: &[S], codes: &mut [u8]| {
        encode_chunks(isa, params, factor, None, source, codes, |_, _| {});
    };
    if isa.encode_fast(params, Factors::One(factor), source, codes, slow) {
        return;
    }
    encode_chunks(isa, params, factor, None, source, codes, |_, _| {});
}

/// The same for a stochastic cast.
fn encode_stochastic<I: Isa, S: Float>(
    isa: I,
    params: &Params,
    factor: Factor,
    random: Random<'_>,
    source: &[S],
    codes: &mut [u8],
) {
    if !I::HAS_RANDOM {
        return encode_chunks(isa, params, factor, Some(random), source, codes, |_, _| {});
    }
    let mut bits = [0; RANDOM_CHUNK];
    let mut first = 0;
    for (source, codes) in source
        .chunks(RANDOM_CHUNK)
        .zip(codes.chunks_mut(RANDOM_CHUNK))
    {
        let random = part(random, first, source.len());
        let bits = bits.get_mut(..source.len()).unwrap_or_default();
        match random {
            Random::Philox(philox) => isa.random(&philox, 0, bits),
            Random::Words(words) => isa.vectorize(|| {
                for (bits, &word) in bits.iter_mut().zip(words) {
                    *bits = word as u16;
                }
            }),
        }
        if !isa.encode_random(params, factor, source, bits, codes) {
            encode_chunks(isa, params, factor, Some(random), source, codes, |_, _| {});
        }
        first += source.len();
    }
}

/// What serves `len` elements from number `first` on.
fn part(random: Random<'_>, first: usize, len: usize) -> Random<'_> {
    match random {
        Random::Philox(philox) => {
            Random::Philox(philox.at(philox.first_index.wrapping_add(first as u64)))
        }
        Random::Words(words) => Random::Words(words.get(first..first + len).unwrap_or_default()),
    }
}

/// The same as [`encode`], and what the pass saw.
pub(super) fn encode_with_stats<I: Isa, S: Float>(
    isa: I,
    params: &Params,
    seen: Option<Extremes>,
    factor: Factor,
    random: Option<Random<'_>>,
    source: &[S],
    codes: &mut [u8],
) -> Stats {
    let mut stats = Stats::EMPTY;
    if params.cast.rounding != Rounding::NearestEven || IS_SMALL {
        encode_chunks(
            isa,
            params,
            factor,
            random,
            source,
            codes,
            |chunk, beyond| {
                let of_chunk = isa.vectorize(|| statistics::stats(params, &chunk, beyond));
                stats = stats.merge(of_chunk);
            },
        );
        return stats;
    }
    // What is stored past the caches begins at a whole line of them.
    let head = if params.stream {
        codes.as_ptr().align_offset(LINE).min(codes.len())
    } else {
        0
    };
    let (source, codes) = (
        source.split_at_checked(head),
        codes.split_at_mut_checked(head),
    );
    let (Some((first, source)), Some((first_codes, codes))) = (source, codes) else {
        return stats;
    };
    let chunks = source
        .chunks(LARGE_CHUNK)
        .zip(codes.chunks_mut(LARGE_CHUNK));
    for (source, codes) in core::iter::once((first, first_codes)).chain(chunks) {
        let of_chunk = encode_large_chunk(isa, params, seen, factor, source, codes);
        stats = stats.merge(of_chunk);
    }
    stats
}

/// One chunk of [`encode_with_stats`] for nearest-even. A factor keeps the order of absolute values,
/// so that what the amax becomes tells whether anything is beyond the range, infinite or NaN;
/// then the counting is left to the general path.
fn encode_large_chunk<I: Isa, S: Float>(
    isa: I,
    params: &Params,
    seen: Option<Extremes>,
    factor: Factor,
    source: &[S],
    codes: &mut [u8],
) -> Stats {
    let Extremes { amax, min_nonzero } = seen.unwrap_or_else(|| isa.extremes(source));
    let is_bounded = amax.is_finite() && portable::product(factor, amax.to_bits()) < params.beyond;
    let zero_codes = if is_bounded {
        isa.encode_bounded(params, Factors::One(factor), source, codes)
    } else {
        None
    };
    let Some(zero_codes) = zero_codes else {
        let mut stats = Stats::EMPTY;
        encode_chunks(isa, params, factor, None, source, codes, |chunk, beyond| {
            let of_chunk = isa.vectorize(|| statistics::stats(params, &chunk, beyond));
            stats = stats.merge(of_chunk);
        });
        return stats;
    };
    let (zero, underflowed) = zeros(isa, zero_codes, source);
    Stats {
        count: source.len() as u64,
        zero,
        underflowed,
        amax,
        min_nonzero,
        ..Stats::EMPTY
    }
}

/// How many elements are zero, and how many became so, of so many that were stored as zero.
pub(super) fn zeros<I: Isa, S: Float>(isa: I, stored: u64, source: &[S]) -> (u64, u64) {
    if stored == 0 {
        return (0, 0);
    }
    let zero = isa.vectorize(|| statistics::count_zeros(source));
    (zero, stored - zero)
}

/// Encodes chunk by chunk and shows each one to `seen`, with the number of its elements,
/// infinities among them, that rounded beyond the largest value.
fn encode_chunks<I: Isa, S: Float>(
    isa: I,
    params: &Params,
    factor: Factor,
    random: Option<Random<'_>>,
    source: &[S],
    codes: &mut [u8],
    mut seen: impl FnMut(Encoded<'_, S>, u64),
) {
    let random_bits = params.cast.rounding.random_bits();
    let is_wide = matches!(S::TYPE, FloatType::F64);
    // Where a lane does not hold what is needed: long random numbers, binary64 that keeps all its
    // bits for them, and E8M0, whose range ends where that of `f32` does.
    let exact = random_bits > LANE_RANDOM_BITS
        || (random_bits > 0 && (is_wide || !params.spec.zero))
        || (!params.spec.zero && matches!(factor, Factor::Shift(k) if k != 0));
    let mut loaded = [0u32; CHUNK];
    let mut scaled = [0u32; CHUNK];
    let mut words = [0u32; CHUNK];
    let mut first = 0;
    for (source, codes) in source.chunks(CHUNK).zip(codes.chunks_mut(CHUNK)) {
        let len = source.len();
        let (loaded, scaled) = (&mut loaded[..len], &mut scaled[..len]);
        let words = &mut words[..len];
        if random_bits > 0 {
            fill_words(isa, random, first, words);
        }
        isa.load(source, loaded);
        isa.scale(factor, loaded, scaled);
        let beyond = if exact {
            encode_exact(params, factor, source, words, codes)
        } else {
            isa.encode_bits(params, scaled, words, codes)
        };
        let chunk = Encoded {
            source,
            loaded,
            scaled,
            codes,
        };
        seen(chunk, beyond);
        first += len;
    }
}

/// The random words of the elements from number `first` on.
fn fill_words<I: Isa>(isa: I, random: Option<Random<'_>>, first: usize, words: &mut [u32]) {
    match random {
        Some(Random::Words(all)) => {
            let from = all.get(first..).unwrap_or_default();
            for (word, &from) in words.iter_mut().zip(from) {
                *word = from;
            }
        }
        Some(Random::Philox(philox)) => {
            let mut bits = [0; CHUNK];
            let bits = bits.get_mut(..words.len()).unwrap_or_default();
            isa.random(&philox, first as u64, bits);
            for (word, &bits) in words.iter_mut().zip(&*bits) {
                *word = bits as u32;
            }
        }
        None => words.fill(0),
    }
}

/// One element at a time through the scalar reference; returns what [`portable::encode`] does.
fn encode_exact<S: Float>(
    params: &Params,
    factor: Factor,
    source: &[S],
    words: &[u32],
    codes: &mut [u8],
) -> u64 {
    let (spec, cast) = (params.spec, params.cast);
    let mut beyond = 0;
    for ((&x, &word), code) in source.iter().zip(words).zip(codes) {
        let value = exact_product(factor, x);
        *code = scalar::encode(spec, cast, value, word) as u8;
        beyond += is_beyond(spec, cast.rounding, value, word) as u64;
    }
    beyond
}

/// Whether a value is infinite or rounds beyond the largest one.
pub(super) fn is_beyond(spec: &Spec, rounding: Rounding, value: Value, word: u32) -> bool {
    match value {
        Value::Finite {
            negative,
            exponent,
            significand,
        } => {
            let negative = negative && !matches!(spec.sign, Sign::Dropped);
            scalar::round_magnitude(spec, rounding, negative, exponent, significand, word)
                > spec.max_magnitude()
        }
        Value::Infinite { .. } => true,
        Value::Zero { .. } | Value::Nan { .. } => false,
    }
}

/// An element times its factor: exact for a shift, else one `f32` operation.
fn exact_product<S: Float>(factor: Factor, x: S) -> Value {
    if let Factor::Shift(k) = factor {
        return scalar::decode(S::TYPE.spec(), x.to_wide_bits()).shifted(k);
    }
    let product = portable::product(factor, x.to_f32().to_bits());
    scalar::decode(FloatType::F32.spec(), product as u64)
}

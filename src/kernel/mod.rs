// SPDX-License-Identifier: MIT OR Apache-2.0
//! Slices at full speed: what [`crate::slice`] and the quantizer stand on.
//!
//! Every function here equals the scalar reference bit for bit on every input. The work is done
//! in chunks that stay in the first-level cache, in three steps: the source becomes `f32` bits
//! ([`portable::load`], exact), the factor is applied, the bits become codes
//! ([`portable::encode`]). All formats share that code, driven by one [`Params`].

mod environment;
pub(crate) mod gemm;
mod params;
mod portable;
mod table;

pub(crate) use environment::with_default_environment;
use params::Params;

#[cfg(test)]
mod tests;

use crate::float::{FitsF32, Float};
use crate::policy::{Cast, Rounding};
use crate::random::Random;
use crate::scalar::{self, Value};
use crate::spec::{FloatType, Format, Sign, Spec};
use crate::stats::{Amax, Stats};

/// What is done to an element before it is cast.
///
/// Factors are positive (or NaN, or infinite, where a block is poisoned): the sign of an element
/// never changes, not even that of a NaN that the operation makes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(dead_code)]
pub enum Factor {
    /// One `f32` product, rounded to nearest-even, and then the cast.
    Multiply(f32),
    /// One `f32` quotient, rounded to nearest-even, and then the cast.
    Divide(f32),
    /// Times `2^k`, exactly: the cast is the only rounding. `k` lies in `-127..=127`.
    Shift(i32),
}

impl Factor {
    /// Leaves an element as it is.
    pub(crate) const ONE: Factor = Factor::Shift(0);
}

/// Elements a chunk: the three buffers of a chunk take 3 KiB of stack.
const CHUNK: usize = 256;

/// Stochastic roundings with more random bits than this go through the scalar reference: a lane
/// of 32 bits cannot hold what they need of a tiny value.
const LANE_RANDOM_BITS: u32 = 24;

/// `codes[i] = cast(source[i])`. The slices have the same length; a stochastic cast has its random
/// bits (see [`Random::serves`]).
pub(crate) fn encode<S: Float>(
    format: Format,
    cast: Cast,
    random: Option<Random<'_>>,
    source: &[S],
    codes: &mut [u8],
) {
    let params = Params::new(format, cast);
    with_default_environment(|| {
        encode_chunks(&params, Factor::ONE, random, source, codes, |_, _| {});
    });
}

/// `codes[i] = cast(factor(source[i]))`; otherwise as [`encode`], but for callers that have set the
/// floating-point environment ([`with_default_environment`]).
#[allow(dead_code)]
pub(crate) fn encode_scaled<S: FitsF32>(
    format: Format,
    cast: Cast,
    factor: Factor,
    random: Option<Random<'_>>,
    source: &[S],
    codes: &mut [u8],
) {
    let params = Params::new(format, cast);
    encode_chunks(&params, factor, random, source, codes, |_, _| {});
}

/// [`encode_scaled`], and what the pass saw.
#[allow(dead_code)]
pub(crate) fn encode_with_stats<S: FitsF32>(
    format: Format,
    cast: Cast,
    factor: Factor,
    random: Option<Random<'_>>,
    source: &[S],
    codes: &mut [u8],
) -> Stats {
    let params = Params::new(format, cast);
    let mut stats = Stats::EMPTY;
    encode_chunks(&params, factor, random, source, codes, |chunk, beyond| {
        stats = stats.merge(portable::stats(&params, &chunk, beyond));
    });
    stats
}

/// `target[i] = decode(codes[i])`, rounded once where the type cannot hold the value. The slices
/// have the same length.
pub(crate) fn decode<T: Float>(format: Format, codes: &[u8], target: &mut [T]) {
    with_default_environment(|| portable::decode(table::bf16(format), codes, target));
}

/// `target[i] = scale * decode(codes[i])`: one `f32` product, then, for the other types, one
/// nearest-even rounding. A NaN has the sign of its code. The slices have the same length; the
/// caller has set the floating-point environment.
#[allow(dead_code)]
pub(crate) fn decode_scaled<T: FitsF32>(
    format: Format,
    scale: f32,
    codes: &[u8],
    target: &mut [T],
) {
    portable::decode_scaled(table::bf16(format), scale, codes, target);
}

/// The largest absolute value.
pub(crate) fn amax<S: Float>(source: &[S]) -> Amax {
    portable::amax(source)
}

/// One encoded chunk, for the statistics.
struct Encoded<'a, S> {
    /// The source.
    source: &'a [S],
    /// The same as `f32` bits (see [`portable::load`]).
    loaded: &'a [u32],
    /// And after the factor.
    scaled: &'a [u32],
    /// What was stored.
    codes: &'a [u8],
}

/// Encodes chunk by chunk and shows each one to `seen`, with the number of its elements,
/// infinities among them, that rounded beyond the largest value.
fn encode_chunks<S: Float>(
    params: &Params,
    factor: Factor,
    random: Option<Random<'_>>,
    source: &[S],
    codes: &mut [u8],
    mut seen: impl FnMut(Encoded<'_, S>, u64),
) {
    let random_bits = params.cast.rounding.random_bits();
    let is_wide = matches!(S::TYPE, FloatType::F64);
    // Where 32 bits a lane are too few: long random numbers, binary64 that keeps all its bits for
    // them, and E8M0, whose range ends where that of `f32` does.
    let exact = random_bits > LANE_RANDOM_BITS
        || (random_bits > 0 && is_wide)
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
            fill_words(random, first, words);
        }
        portable::load(source, loaded);
        portable::scale(factor, loaded, scaled);
        let beyond = if exact {
            encode_exact(params, factor, source, words, codes)
        } else {
            portable::encode(params, scaled, words, codes)
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
fn fill_words(random: Option<Random<'_>>, first: usize, words: &mut [u32]) {
    match random {
        Some(Random::Words(all)) => {
            for (word, &given) in words.iter_mut().zip(all.iter().skip(first)) {
                *word = given;
            }
        }
        Some(Random::Philox(philox)) => {
            for (offset, word) in (first as u64..).zip(words) {
                *word = philox.bits(offset) as u32;
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
fn is_beyond(spec: &Spec, rounding: Rounding, value: Value, word: u32) -> bool {
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
        let value = scalar::decode(S::TYPE.spec(), x.to_wide_bits());
        return match value {
            Value::Finite {
                negative,
                exponent,
                significand,
            } => Value::Finite {
                negative,
                exponent: exponent + k,
                significand,
            },
            other => other,
        };
    }
    let product = portable::product(factor, x.to_f32().to_bits());
    scalar::decode(FloatType::F32.spec(), product as u64)
}

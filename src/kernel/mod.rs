// SPDX-License-Identifier: MIT OR Apache-2.0
//! Slices at full speed: what [`crate::slice`] and the quantizer stand on.
//!
//! Every function here equals the scalar reference bit for bit on every input. The work is done
//! in chunks that stay in the first-level cache, in three steps: the source becomes `f32` bits,
//! exactly, the factor is applied, the bits become codes. All formats share that code, driven by
//! one set of run-time constants.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod columns;
// No kernel but AVX-512 has loops of its own for two copies.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
mod copies;
mod cpu;
mod decode;
mod encode;
mod environment;
mod factor;
pub(crate) mod gemm;
mod groups;
mod isa;
#[cfg(all(
    target_arch = "aarch64",
    target_feature = "neon",
    target_endian = "little"
))]
mod neon;
mod packing;
mod params;
mod portable;
mod statistics;
mod table;
#[cfg(test)]
mod tests;
mod transpose;

pub(crate) use columns::{
    Blocks, Buffers, COLUMNS, FETCHED_ROW_TILE, FETCHED_TILE, ROW_TILE, ScaleBuffers, Tile,
    is_row_width,
};
pub(crate) use copies::{Copies, Least};
pub use cpu::Kernel;
pub(crate) use decode::Decoding;
pub(crate) use environment::with_default_environment;
pub use factor::Factor;
pub(crate) use factor::Operation;
pub(crate) use groups::GROUP;
use isa::Isa;
pub(crate) use params::Params;

use crate::float::{FitsF32, Float};
use crate::matrix::{Matrix, MatrixMut};
use crate::pack::Packing;
use crate::policy::Cast;
use crate::random::Random;
use crate::spec::Format;
use crate::stats::{Amax, Extremes, Stats};

/// Calls a generic function with the proof of the kernel that runs as its first argument.
macro_rules! dispatch {
    ($function:path $(, $argument:expr)* $(,)?) => {
        match Kernel::current() {
            // SAFETY: a kernel becomes current only if it is available.
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => $function(unsafe { avx512::Avx512::new_unchecked() } $(, $argument)*),
            // SAFETY: the same.
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => $function(unsafe { avx2::Avx2::new_unchecked() } $(, $argument)*),
            #[cfg(all(
                target_arch = "aarch64",
                target_feature = "neon",
                target_endian = "little"
            ))]
            Kernel::Neon => $function(neon::Neon $(, $argument)*),
            _ => $function(portable::Portable $(, $argument)*),
        }
    };
}

/// `codes[i] = cast(source[i])`. The slices have the same length; a stochastic cast has its random
/// bits (see [`Random::serves`]).
pub(crate) fn encode<S: Float>(
    format: Format,
    cast: Cast,
    random: Option<Random<'_>>,
    source: &[S],
    codes: &mut [u8],
) {
    let params = Params::new(format, cast).for_codes(codes.len());
    with_default_environment(|| {
        dispatch!(encode::encode, &params, Factor::ONE, random, source, codes);
    });
    settle(params.stream);
}

/// `target[i] = decode(codes[i])`, rounded once where the type cannot hold the value. The slices
/// have the same length.
pub(crate) fn decode<T: Float>(format: Format, codes: &[u8], target: &mut [T]) {
    let decoding = Decoding::new(format).for_values::<T>(target.len());
    with_default_environment(|| dispatch!(decode::decode, &decoding, codes, target));
    decoding.settle();
}

/// `codes[i] = cast(factor(source[i]))`; otherwise as [`encode`], but for callers that have set the
/// floating-point environment ([`with_default_environment`]).
pub(crate) fn encode_scaled<S: FitsF32>(
    params: &Params,
    factor: Factor,
    random: Option<Random<'_>>,
    source: &[S],
    codes: &mut [u8],
) {
    dispatch!(encode::encode, params, factor, random, source, codes);
}

/// [`encode_scaled`], and what the pass saw. `seen` is what is known of the source already: extremes of
/// it, or of more than it.
pub(crate) fn encode_with_stats<S: FitsF32>(
    params: &Params,
    seen: Option<Extremes>,
    factor: Factor,
    random: Option<Random<'_>>,
    source: &[S],
    codes: &mut [u8],
) -> Stats {
    dispatch!(
        encode::encode_with_stats,
        params,
        seen,
        factor,
        random,
        source,
        codes
    )
}

/// `target[i] = scale * decode(codes[i])`: one `f32` product, then, for the other types, one
/// nearest-even rounding. A NaN has the sign of its code. The slices have the same length; the
/// caller has set the floating-point environment.
pub(crate) fn decode_scaled<T: FitsF32>(
    decoding: &Decoding,
    scale: f32,
    codes: &[u8],
    target: &mut [T],
) {
    dispatch!(decode::decode_scaled, decoding, scale, codes, target);
}

/// [`decode_scaled`] with an E8M0 scale for each group of [`GROUP`] elements, the last one perhaps
/// smaller.
pub(crate) fn decode_groups<T: FitsF32>(
    decoding: &Decoding,
    scales: &[u8],
    codes: &[u8],
    target: &mut [T],
) {
    dispatch!(groups::decode, decoding, scales, codes, target);
}

/// Packs codes; `packed` has the length that they take.
pub(crate) fn pack(packing: Packing, codes: &[u8], packed: &mut [u8]) {
    dispatch!(packing::pack, packing, codes, packed);
}

/// Unpacks as many codes as `codes` is long.
pub(crate) fn unpack(packing: Packing, packed: &[u8], codes: &mut [u8]) {
    dispatch!(packing::unpack, packing, packed, codes);
}

/// The extremes of the absolute values.
pub(crate) fn extremes<S: Float>(source: &[S]) -> Extremes {
    dispatch!(Isa::extremes, source)
}

/// Ends work whose results were, perhaps, stored past the caches ([`Params::for_codes`]): they come
/// before whatever this thread stores next, as all other stores do. Whichever kernel it was: another
/// thread may have forced one since.
pub(crate) fn settle(past_caches: bool) {
    #[cfg(target_arch = "x86_64")]
    if past_caches {
        // SAFETY: SSE is part of x86-64.
        unsafe { core::arch::x86_64::_mm_sfence() };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = past_caches;
}

/// The bits of the amax of each block of a tile as `f32` (above infinity where there is a NaN; the
/// blocks are all rows high and `width` columns wide), and those of the smallest absolute value
/// above zero of all (infinity where there is none).
pub(crate) fn block_ranges<S: FitsF32>(
    source: Matrix<'_, S>,
    tile: &Tile,
    width: usize,
    amaxes: &mut [u32; COLUMNS],
) -> u32 {
    dispatch!(columns::ranges, source, tile, width, amaxes)
}

/// The same for blocks of one row ([`is_row_width`]), one row of blocks after another. The tile has at
/// most [`ROW_TILE`] elements, all of which are there.
pub(crate) fn row_ranges<S: FitsF32>(
    source: Matrix<'_, S>,
    tile: &Tile,
    width: usize,
    amaxes: &mut [u32; COLUMNS],
) -> u32 {
    dispatch!(columns::row_ranges, source, tile, width, amaxes)
}

/// Runs `work` compiled for the kernel, as far as it is inlined.
pub(crate) fn vectorize<R>(work: impl FnOnce() -> R) -> R {
    dispatch!(Isa::vectorize, work)
}

/// `codes[i][j] = cast(factor(source[i][j]))` over a tile, with the factor of the block, and what
/// the pass saw, perhaps without amax and minimum, which the caller has. The caller has set the
/// floating-point environment.
pub(crate) fn encode_tile<S: FitsF32>(
    params: &Params,
    blocks: Blocks<'_>,
    source: Matrix<'_, S>,
    tile: &Tile,
    scratch: &mut [f32; COLUMNS],
    codes: &mut MatrixMut<'_, u8>,
) -> Stats {
    dispatch!(
        columns::encode,
        params,
        blocks,
        source,
        tile,
        scratch,
        codes
    )
}

/// [`encode_tile`] into the transposed matrix, `codes[j][i]`. Of shards there is none.
pub(crate) fn encode_tile_transposed<S: FitsF32>(
    params: &Params,
    blocks: Blocks<'_>,
    source: Matrix<'_, S>,
    tile: &Tile,
    scratch: &mut [f32; COLUMNS],
    codes: &mut MatrixMut<'_, u8>,
) -> Stats {
    dispatch!(
        columns::encode_transposed,
        params,
        blocks,
        source,
        tile,
        scratch,
        codes
    )
}

/// The bits of the amaxes of two copies of a tile, the blocks of one row and [`GROUP`] columns, of
/// the other [`GROUP`] rows and one column, and the small end of all. `None`, having done nothing, where the
/// tile is not one for that or two looks are not slower.
pub(crate) fn both_ranges<S: FitsF32>(
    source: Matrix<'_, S>,
    tile: &Tile,
    amaxes: [&mut [u32; COLUMNS]; 2],
) -> Option<Least> {
    dispatch!(copies::ranges, source, tile, amaxes)
}

/// [`encode_tile`] for both of these copies, by their amaxes and factors, which are powers of two and are
/// lost. `None`, having encoded nothing, where one at a time is the way: for other casts, other kernels, and
/// where something may saturate or comes near the limits of f32.
pub(crate) fn encode_both<S: FitsF32>(
    params: &Params,
    buffers: [&mut Buffers; 2],
    least: Least,
    source: Matrix<'_, S>,
    tile: &Tile,
    copies: Copies<'_, '_>,
) -> Option<[Stats; 2]> {
    dispatch!(copies::encode, params, buffers, least, source, tile, copies)
}

/// The largest absolute value.
pub(crate) fn amax<S: Float>(source: &[S]) -> Amax {
    dispatch!(Isa::amax, source)
}

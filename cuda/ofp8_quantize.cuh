// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Kernels that quantize at the speed of memory, and their launchers: cast with a given scale, per-tensor scaling, MX
// rowwise and columnwise from one read, 1x128 and 128x128 blocks, NVFP4, the way back, amax, delayed scaling.
//
// The bits are those of the library on the host (ofp8_quantize and its like), with the same special values. Launchers
// return the error of the launch alone: they neither synchronise nor allocate, so they can be captured in a graph.
// Memory is read in 16-byte pieces where the address allows it; any stride and alignment of elements works. Pointers
// are to memory that the device reads and writes. A matrix without elements gives what it gives on the host: no code and
// no scale, but that of an NVFP4 tensor.
//
// cudaErrorInvalidValue, and no launch, where
// - a matrix has more than 2^41 elements, or, with a scale a block, more than 2^30 rows or columns;
// - a cast is stochastic and has not 1 to 16 random bits;
// - a recipe has ExponentRule::LeastError (which looks at elements, not only their amax) or Scaling::TwoLevel.
//
// A kernel takes one structure, its arguments. The ones of rounding and statistics that few use cost little: the cast
// is a template argument (the default one, by instructions, or any), statistics are a null pointer.
#ifndef OFP8_QUANTIZE_CUH
#define OFP8_QUANTIZE_CUH

#include "ofp8.cuh"

#if !defined(OFP8_EMULATED_DEVICE)
#include <cuda_runtime.h>
#endif

namespace ofp8 {

// A row-major matrix of wide values and one of codes. Strides are in elements from row to row.
struct Shape {
    u64 rows;
    u64 cols;
    u64 stride;
    u64 code_stride;
};

// Where scales go or come from: f32 or E8M0 bytes, as the scaling of the recipe says.
struct ScaleBuffer {
    void *data;
    ScaleOrder order;
};

namespace kernel {

// ---------------------------------------------------------------------------------------------------------------------
// Chunks: what a thread reads in one piece of 16 bytes
// ---------------------------------------------------------------------------------------------------------------------

// Elements of a chunk.
template <class S> inline constexpr u32 CHUNK = 16 / sizeof(S);

OFP8_DEVICE bool is_aligned(const void *pointer, u32 bytes) { return reinterpret_cast<size_t>(pointer) % bytes == 0; }

// The elements of a chunk as f32.
template <class S> OFP8_DEVICE void unpack_chunk(uint4 raw, float (&v)[CHUNK<S>])
{
    const u32 words[4] = {raw.x, raw.y, raw.z, raw.w};
    OFP8_UNROLL
    for (u32 i = 0; i < 4; ++i) {
        if constexpr (sizeof(S) == 4) {
            v[i] = float_of(words[i]);
        } else {
            v[2 * i] = widen(S{static_cast<u16>(words[i])});
            v[2 * i + 1] = widen(S{static_cast<u16>(words[i] >> 16)});
        }
    }
}

OFP8_DEVICE u32 element_bits(float value) { return bits_of(value); }
OFP8_DEVICE u32 element_bits(F16 value) { return value.bits; }
OFP8_DEVICE u32 element_bits(BF16 value) { return value.bits; }

// The first `valid` elements of a chunk as they lie in memory; the others are zero.
template <class S> OFP8_DEVICE uint4 load_chunk(const S *from, u32 valid)
{
    if (valid == CHUNK<S> && is_aligned(from, 16)) {
        return *reinterpret_cast<const uint4 *>(from);
    }
    u32 words[4] = {};
    OFP8_UNROLL
    for (u32 i = 0; i < CHUNK<S>; ++i) {
        const u32 bits = i < valid ? element_bits(from[i]) : 0;
        words[i * 4 / CHUNK<S>] |= bits << (sizeof(S) == 4 ? 0 : 16 * (i % 2));
    }
    return uint4{words[0], words[1], words[2], words[3]};
}

// Writes the first `valid` of N codes, four to a word.
template <u32 N> OFP8_DEVICE void store_codes(u8 *to, u32 valid, const u32 (&words)[N / 4])
{
    if (valid == N && is_aligned(to, N)) {
        if constexpr (N == 8) {
            *reinterpret_cast<uint2 *>(to) = uint2{words[0], words[1]};
        } else {
            *reinterpret_cast<u32 *>(to) = words[0];
        }
        return;
    }
    OFP8_UNROLL
    for (u32 i = 0; i < N; ++i) {
        if (i < valid) {
            to[i] = static_cast<u8>(words[i / 4] >> (8 * (i % 4)));
        }
    }
}

// How many of N elements from `col` on lie in a row.
OFP8_DEVICE u32 valid_from(u64 col, u64 cols, u32 n)
{
    return col >= cols ? 0 : cols - col < n ? static_cast<u32>(cols - col) : n;
}

// The amax of the valid elements; of the finite ones under Ignore. (The others are zero.)
template <u32 N> OFP8_DEVICE u32 chunk_amax(const float (&v)[N], Special special)
{
    u32 amax = 0;
    OFP8_UNROLL
    for (u32 i = 0; i < N; ++i) {
        const u32 of_one = amax_of(v[i]);
        amax = merge_amax(amax, special == Special::Ignore && !amax_is_finite(of_one) ? 0 : of_one);
    }
    return amax;
}

// Random words of elements one after another.
struct RandomRun {
    Philox random;
    u64 index;
    Words block;

    OFP8_DEVICE RandomRun(const Philox &philox, u64 first)
        : random(philox), index(philox.first_index + first), block(random_block(philox, index / 8))
    {
    }
    OFP8_DEVICE u32 next()
    {
        // Chosen without an index that only run time knows: that would put the words into local memory.
        const u32 pair = static_cast<u32>(index / 2 % 4);
        const u32 low = pair % 2 == 0 ? block.word[0] : block.word[1];
        const u32 high = pair % 2 == 0 ? block.word[2] : block.word[3];
        const u32 word = (pair < 2 ? low : high) >> (16 * (index % 2)) & 0xFFFF;
        index += 1;
        if (index % 8 == 0) {
            block = random_block(random, index / 8);
        }
        return word;
    }
};

// Counts an element that was stored as `code`; no element of a poisoned block was rounded.
template <Format F>
OFP8_DEVICE void count(ThreadStats &seen, float source, bool poisoned, float scaled, u32 code, Cast cast, u32 word)
{
    constexpr Spec s = spec(F);
    const bool beyond = detail::lane_rounds_beyond(s, overflow_f32_bits(F), cast, bits_of(scaled), word);
    count_element<F>(seen, source, static_cast<u8>(poisoned ? 1 : code), !poisoned && beyond);
}

// Divides a chunk by the scales that `scale_of` gives and encodes it; `counts` the first `valid` elements into
// `seen`. `index` is the number of the first element.
template <Format F, bool DEFAULT, u32 N, class ScaleOf>
OFP8_DEVICE void quantize_chunk(const float (&source)[N], u32 valid, ScaleOf scale_of, Cast cast, const Philox &random,
                                u64 index, bool counts, ThreadStats &seen, u32 (&words)[N / 4])
{
    const auto scaled_of = [&](u32 i) {
        const BlockScale scale = scale_of(i);
        return is_poisoned(scale) ? float_of(F32_NAN) : apply(scale.factor, source[i]);
    };
    if constexpr (DEFAULT) {
        OFP8_UNROLL
        for (u32 i = 0; i < N; i += 4) {
            const float scaled[4] = {scaled_of(i), scaled_of(i + 1), scaled_of(i + 2), scaled_of(i + 3)};
            words[i / 4] = encode_x4<F>(scaled);
            OFP8_UNROLL
            for (u32 j = 0; j < 4; ++j) {
                if (counts && i + j < valid) {
                    const u32 code = words[i / 4] >> (8 * j);
                    count<F>(seen, source[i + j], is_poisoned(scale_of(i + j)), scaled[j], code, Cast{}, 0);
                }
            }
        }
    } else {
        constexpr Spec s = spec(F);
        const bool stochastic = is_stochastic(cast.rounding);
        RandomRun run(random, index);
        OFP8_UNROLL
        for (u32 i = 0; i < N; ++i) {
            const float scaled = scaled_of(i);
            const u32 word = stochastic ? run.next() : 0;
            const u32 code = detail::encode_lane(s, cast, bits_of(scaled), word);
            words[i / 4] = i % 4 == 0 ? code : words[i / 4] | code << (8 * (i % 4));
            if (counts && i < valid) {
                count<F>(seen, source[i], is_poisoned(scale_of(i)), scaled, code, cast, word);
            }
        }
    }
}

// Writes the scale of a place, or zero where the place is padding.
OFP8_DEVICE void store_scale(const ScaleBuffer &to, Scaling scaling, u64 rows, u64 cols, Place at, float dequantize)
{
    const Place extent = layout_extent(to.order, rows, cols);
    if (at.row >= extent.row || at.col >= extent.col) {
        return;
    }
    const bool is_padding = at.row >= rows || at.col >= cols;
    const u64 offset = layout_offset(to.order, rows, cols, at);
    if (scaling == Scaling::E8M0) {
        static_cast<u8 *>(to.data)[offset] = is_padding ? 0 : scale_to_e8m0(dequantize);
    } else {
        static_cast<float *>(to.data)[offset] = is_padding ? 0.0f : dequantize;
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Element by element: amax, cast with one scale
// ---------------------------------------------------------------------------------------------------------------------

inline constexpr u32 THREADS = 256;
// Chunks that a thread has in flight.
inline constexpr u32 UNROLL = 4;

// Blocks of a kernel that fit on a multiprocessor, at least (0: as the compiler likes). Kernels of any cast may take 128
// registers a thread: left alone, ptxas aims at 64 and spills one to reach them.
OFP8_FUNCTION u32 blocks_at_least(u32 threads, bool is_default) { return is_default ? 0 : 512 / threads; }

template <class S> struct AmaxArguments {
    const S *source;
    Shape shape;
    Special special;
    u32 *amax;
};

// Merges the amax of a matrix into *amax: of all elements (BLOCK 0), or of those in blocks of 1 x BLOCK without an
// infinity or a NaN.
template <class S, u32 BLOCK> __global__ void __launch_bounds__(THREADS) amax(const AmaxArguments<S> a)
{
    __shared__ u32 shared[THREADS / WARP];
    u32 seen = 0;
    for (u64 row = blockIdx.y; row < a.shape.rows; row += gridDim.y) {
        const S *from = a.source + row * a.shape.stride;
        uint4 raw[UNROLL];
        OFP8_UNROLL
        for (u32 k = 0; k < UNROLL; ++k) {
            const u64 col = ((u64{blockIdx.x} * UNROLL + k) * THREADS + threadIdx.x) * CHUNK<S>;
            raw[k] = load_chunk(from + col, valid_from(col, a.shape.cols, CHUNK<S>));
        }
        OFP8_UNROLL
        for (u32 k = 0; k < UNROLL; ++k) {
            float v[CHUNK<S>];
            unpack_chunk<S>(raw[k], v);
            u32 of_chunk = chunk_amax(v, a.special);
            if constexpr (BLOCK != 0) {
                const u32 of_block = group_amax<BLOCK / CHUNK<S>>(of_chunk);
                of_chunk = amax_is_finite(of_block) ? of_block : 0;
            }
            seen = merge_amax(seen, of_chunk);
        }
    }
    seen = block_amax(seen, shared);
    if (threadIdx.x == 0) {
        merge_amax_atomic(a.amax, seen);
    }
}

template <class S> struct CastArguments {
    const S *source;
    u8 *codes;
    Shape shape;
    Cast cast;
    Philox random;
    const float *quantize_scale; // positive; null: 1, or what follows from `tensor_amax`
    const u32 *tensor_amax;      // null, or the amax that `recipe` makes the scale of
    Recipe recipe;
    float *dequantize_scale; // null, or where the scale is stored
    u32 *amax;               // null, or where the amax of the source is merged
    Stats *stats;            // null, or where the statistics are merged
};

template <Format F, class S> OFP8_DEVICE BlockScale tensor_scale(const CastArguments<S> &a)
{
    if (a.tensor_amax != nullptr) {
        return scale_from_amax<F>(a.recipe, *a.tensor_amax);
    }
    const float scale = a.quantize_scale != nullptr ? *a.quantize_scale : 1.0f;
    return BlockScale{detail::divide(1.0f, scale), Factor{Factor::Multiply, scale}};
}

// Encodes a matrix under one scale.
template <Format F, class S, bool DEFAULT>
__global__ void __launch_bounds__(THREADS, blocks_at_least(THREADS, DEFAULT)) cast(const CastArguments<S> a)
{
    constexpr u32 N = CHUNK<S>;
    __shared__ u32 shared[THREADS / WARP];
    const BlockScale scale = tensor_scale<F>(a);
    const bool is_first = blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0;
    if (is_first && a.dequantize_scale != nullptr) {
        *a.dequantize_scale = scale.dequantize;
    }
    u32 amax = 0;
    ThreadStats seen;
    for (u64 row = blockIdx.y; row < a.shape.rows; row += gridDim.y) {
        const S *from = a.source + row * a.shape.stride;
        u8 *to = a.codes + row * a.shape.code_stride;
        // Software takes too many registers to have more in flight.
        constexpr u32 FLIGHT = !DEFAULT ? 1 : ptx::has_encode<F>() ? UNROLL : UNROLL / 2;
        for (u32 first = 0; first < UNROLL; first += FLIGHT) {
            uint4 raw[FLIGHT];
            const u64 col = ((u64{blockIdx.x} * UNROLL + first) * THREADS + threadIdx.x) * N;
            OFP8_UNROLL
            for (u32 k = 0; k < FLIGHT; ++k) {
                const u64 at = col + u64{k} * THREADS * N;
                raw[k] = load_chunk(from + at, valid_from(at, a.shape.cols, N));
            }
            OFP8_UNROLL
            for (u32 k = 0; k < FLIGHT; ++k) {
                const u64 at = col + u64{k} * THREADS * N;
                const u32 valid = valid_from(at, a.shape.cols, N);
                float v[N];
                u32 words[N / 4];
                unpack_chunk<S>(raw[k], v);
                amax = merge_amax(amax, chunk_amax(v, Special::Poison));
                quantize_chunk<F, DEFAULT>(
                    v, valid, [&](u32) { return scale; }, a.cast, a.random, row * a.shape.cols + at,
                    a.stats != nullptr, seen, words);
                store_codes<N>(to + at, valid, words);
            }
        }
    }
    if (a.amax != nullptr) {
        amax = block_amax(amax, shared);
        if (threadIdx.x == 0) {
            merge_amax_atomic(a.amax, amax);
        }
    }
    if (a.stats != nullptr) {
        merge_stats_atomic(a.stats, seen);
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Tiles of 32 rows x 128 columns: blocks of 1x32 and 32x1 (MX), 1x128
// ---------------------------------------------------------------------------------------------------------------------

inline constexpr u32 TILE_ROWS = 32;
inline constexpr u32 TILE_COLS = 128;
inline constexpr u32 TILE_THREADS = 128;

template <class S> struct TileArguments {
    const S *source;
    Shape shape;
    Recipe recipe;
    Philox random;        // of the rowwise copy
    Philox column_random; // of the columnwise copy: another stream
    u8 *codes;            // rowwise; null: none
    ScaleBuffer scales;
    u8 *column_codes; // columnwise, not transposed; null: none
    ScaleBuffer column_scales;
    Stats *stats;        // null, or where the statistics of the rowwise copy are merged
    Stats *column_stats; // the same of the columnwise copy
    u32 tiles_across;
};

// Blocks of 1 x BLOCK and, for E8M0 scales (BLOCK 32), of 32 x 1, from one read of the source.
//
// A thread reads a chunk of each row that it visits, all in flight at once, and keeps them in shared memory for itself:
// in registers they would have to be unrolled through everything below, which took three times the registers.
template <Format F, class S, u32 BLOCK, bool DEFAULT>
__global__ void __launch_bounds__(TILE_THREADS, blocks_at_least(TILE_THREADS, DEFAULT)) tile(const TileArguments<S> a)
{
    constexpr u32 N = CHUNK<S>;
    constexpr u32 ACROSS = TILE_COLS / N;           // threads to a row
    constexpr u32 DOWN = TILE_THREADS / ACROSS;     // rows of one pass
    constexpr u32 PASSES = TILE_ROWS / DOWN;
    __shared__ uint4 chunks[PASSES][TILE_THREADS];
    __shared__ u32 partial[DOWN][TILE_COLS];
    __shared__ u32 column_code[TILE_COLS];

    const u64 first_row = u64{blockIdx.x / a.tiles_across} * TILE_ROWS + threadIdx.x / ACROSS;
    const u32 col_in_tile = threadIdx.x % ACROSS * N;
    const u64 first_col = u64{blockIdx.x % a.tiles_across} * TILE_COLS;
    const u64 col = first_col + col_in_tile;
    const u64 rows = a.shape.rows, cols = a.shape.cols;
    const u64 blocks = divide_up(cols, BLOCK);
    Recipe recipe = a.recipe;
    if constexpr (BLOCK == 32) {
        recipe.scaling = Scaling::E8M0;
    }

    OFP8_UNROLL
    for (u32 pass = 0; pass < PASSES; ++pass) {
        const u64 row = first_row + pass * DOWN;
        const u32 valid = row < rows ? valid_from(col, cols, N) : 0;
        chunks[pass][threadIdx.x] = load_chunk(a.source + row * a.shape.stride + col, valid);
    }

    if (a.codes != nullptr) {
        ThreadStats seen;
        OFP8_ROLL
        for (u32 pass = 0; pass < PASSES; ++pass) {
            const u64 row = first_row + pass * DOWN;
            const u32 valid = row < rows ? valid_from(col, cols, N) : 0;
            float v[N];
            unpack_chunk<S>(chunks[pass][threadIdx.x], v);
            const u32 amax = group_amax<BLOCK / N>(chunk_amax(v, recipe.special));
            const BlockScale scale = scale_from_amax<F>(recipe, amax);
            u32 words[N / 4];
            quantize_chunk<F, DEFAULT>(
                v, valid, [&](u32) { return scale; }, recipe.cast, a.random, row * cols + col,
                a.stats != nullptr, seen, words);
            store_codes<N>(a.codes + row * a.shape.code_stride + col, valid, words);
            if (col_in_tile % BLOCK == 0) {
                store_scale(a.scales, recipe.scaling, rows, blocks, Place{row, col / BLOCK}, scale.dequantize);
            }
        }
        if (a.stats != nullptr) {
            merge_stats_atomic(a.stats, seen);
        }
    }

    if constexpr (BLOCK == 32) {
        if (a.column_codes == nullptr) {
            return;
        }
        // The amax of each column: of the rows of a thread, then over the threads of a column.
        u32 amaxes[N] = {};
        OFP8_ROLL
        for (u32 pass = 0; pass < PASSES; ++pass) {
            float v[N];
            unpack_chunk<S>(chunks[pass][threadIdx.x], v);
            OFP8_UNROLL
            for (u32 i = 0; i < N; ++i) {
                const float one[1] = {v[i]};
                amaxes[i] = merge_amax(amaxes[i], chunk_amax(one, recipe.special));
            }
        }
        OFP8_UNROLL
        for (u32 i = 0; i < N; ++i) {
            partial[threadIdx.x / ACROSS][col_in_tile + i] = amaxes[i];
        }
        __syncthreads();
        {
            u32 amax = 0;
            OFP8_UNROLL
            for (u32 part = 0; part < DOWN; ++part) {
                amax = merge_amax(amax, partial[part][threadIdx.x]);
            }
            const float dequantize = scale_from_amax<F>(recipe, amax).dequantize;
            column_code[threadIdx.x] = scale_to_e8m0(dequantize);
            // In tiles the outer index of a columnwise scale is its column.
            const u64 block = u64{blockIdx.x / a.tiles_across};
            const u64 column = first_col + threadIdx.x;
            const u64 down = divide_up(rows, TILE_ROWS);
            if (a.column_scales.order == ScaleOrder::RowMajor) {
                store_scale(a.column_scales, recipe.scaling, down, cols, Place{block, column}, dequantize);
            } else {
                store_scale(a.column_scales, recipe.scaling, cols, down, Place{column, block}, dequantize);
            }
        }
        __syncthreads();
        ThreadStats seen;
        OFP8_ROLL
        for (u32 pass = 0; pass < PASSES; ++pass) {
            const u64 row = first_row + pass * DOWN;
            const u32 valid = row < rows ? valid_from(col, cols, N) : 0;
            float v[N];
            unpack_chunk<S>(chunks[pass][threadIdx.x], v);
            u32 words[N / 4];
            quantize_chunk<F, DEFAULT>(
                v, valid, [&](u32 i) { return scale_from_e8m0(static_cast<u8>(column_code[col_in_tile + i])); },
                recipe.cast, a.column_random, row * cols + col, a.column_stats != nullptr, seen, words);
            store_codes<N>(a.column_codes + row * a.shape.code_stride + col, valid, words);
        }
        if (a.column_stats != nullptr) {
            merge_stats_atomic(a.column_stats, seen);
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Blocks of 128x128
// ---------------------------------------------------------------------------------------------------------------------

template <class S> struct SquareArguments {
    const S *source;
    u8 *codes;
    Shape shape;
    Recipe recipe;
    Philox random;
    ScaleBuffer scales;
    Stats *stats;
    u32 blocks_across; // of the grid, which reaches over the padding
};

// One block of 128 x 128 elements a thread block: read for its amax, and again, out of the cache, for its codes.
template <Format F, class S, bool DEFAULT>
__global__ void __launch_bounds__(THREADS, blocks_at_least(THREADS, DEFAULT)) square(const SquareArguments<S> a)
{
    constexpr u32 N = CHUNK<S>;
    constexpr u32 SIDE = 128;
    constexpr u32 ACROSS = SIDE / N;
    constexpr u32 DOWN = THREADS / ACROSS;
    __shared__ u32 shared[THREADS / WARP];

    const Place block = {u64{blockIdx.x / a.blocks_across}, u64{blockIdx.x % a.blocks_across}};
    const u64 first_row = block.row * SIDE + threadIdx.x / ACROSS;
    const u64 col = block.col * SIDE + threadIdx.x % ACROSS * N;
    const u64 rows = a.shape.rows, cols = a.shape.cols;

    u32 amax = 0;
    OFP8_UNROLL_BY(4)
    for (u32 pass = 0; pass < SIDE / DOWN; ++pass) {
        const u64 row = first_row + pass * DOWN;
        const u32 valid = row < rows ? valid_from(col, cols, N) : 0;
        float v[N];
        unpack_chunk<S>(load_chunk(a.source + row * a.shape.stride + col, valid), v);
        amax = merge_amax(amax, chunk_amax(v, a.recipe.special));
    }
    const BlockScale scale = scale_from_amax<F>(a.recipe, block_amax(amax, shared));
    if (threadIdx.x == 0) {
        store_scale(a.scales, a.recipe.scaling, divide_up(rows, SIDE), divide_up(cols, SIDE), block, scale.dequantize);
    }
    ThreadStats seen;
    OFP8_UNROLL_BY(DEFAULT ? 2 : 1)
    for (u32 pass = 0; pass < SIDE / DOWN; ++pass) {
        const u64 row = first_row + pass * DOWN;
        const u32 valid = row < rows ? valid_from(col, cols, N) : 0;
        float v[N];
        unpack_chunk<S>(load_chunk(a.source + row * a.shape.stride + col, valid), v);
        u32 words[N / 4];
        quantize_chunk<F, DEFAULT>(
            v, valid, [&](u32) { return scale; }, a.recipe.cast, a.random, row * cols + col,
            a.stats != nullptr, seen, words);
        store_codes<N>(a.codes + row * a.shape.code_stride + col, valid, words);
    }
    if (a.stats != nullptr) {
        merge_stats_atomic(a.stats, seen);
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// NVFP4
// ---------------------------------------------------------------------------------------------------------------------

inline constexpr u32 NVFP4_BLOCK = 16;

template <class S> struct Nvfp4Arguments {
    const S *source;
    u8 *codes; // two to a byte, the first in the low half; code_stride is in bytes
    Shape shape;
    const u32 *tensor_amax;
    ScaleBuffer scales;      // UE4M3 bytes
    float *tensor_dequantize; // null, or where fl(1 / tensor scale) is stored
    u32 tiles_across;
};

// Blocks of 1x16, in tiles as above.
template <class S> __global__ void __launch_bounds__(TILE_THREADS) nvfp4(const Nvfp4Arguments<S> a)
{
    constexpr u32 N = CHUNK<S>;
    constexpr u32 BLOCK = NVFP4_BLOCK;
    constexpr u32 ACROSS = TILE_COLS / N;
    constexpr u32 DOWN = TILE_THREADS / ACROSS;
    const u64 first_row = u64{blockIdx.x / a.tiles_across} * TILE_ROWS + threadIdx.x / ACROSS;
    const u64 col = u64{blockIdx.x % a.tiles_across} * TILE_COLS + threadIdx.x % ACROSS * N;
    const u64 rows = a.shape.rows, cols = a.shape.cols;
    const u64 blocks = divide_up(cols, BLOCK);
    const float tensor_scale = nvfp4_tensor_scale(*a.tensor_amax);
    if (blockIdx.x == 0 && threadIdx.x == 0 && a.tensor_dequantize != nullptr) {
        *a.tensor_dequantize = detail::divide(1.0f, tensor_scale);
    }
    const Place extent = layout_extent(a.scales.order, rows, blocks);
    OFP8_UNROLL_BY(2)
    for (u32 pass = 0; pass < TILE_ROWS / DOWN; ++pass) {
        const u64 row = first_row + pass * DOWN;
        const u32 valid = row < rows ? valid_from(col, cols, N) : 0;
        float v[N];
        unpack_chunk<S>(load_chunk(a.source + row * a.shape.stride + col, valid), v);
        const u32 amax = group_amax<BLOCK / N>(chunk_amax(v, Special::Poison));
        const u8 code = nvfp4_block_code(tensor_scale, amax);
        const BlockScale scale = nvfp4_scale(tensor_scale, code);
        u8 *to = a.codes + row * a.shape.code_stride + col / 2;
        OFP8_UNROLL
        for (u32 i = 0; i < N / 4; ++i) {
            float scaled[4];
            OFP8_UNROLL
            for (u32 j = 0; j < 4; ++j) {
                scaled[j] = is_poisoned(scale) ? float_of(F32_NAN) : apply(scale.factor, v[4 * i + j]);
                scaled[j] = 4 * i + j < valid ? scaled[j] : 0.0f;
            }
            const u16 packed = encode_fp4_packed_x4(scaled);
            if (4 * i + 2 < valid && is_aligned(to, 2)) {
                *reinterpret_cast<u16 *>(to + 2 * i) = packed;
                continue;
            }
            OFP8_UNROLL
            for (u32 j = 0; j < 2; ++j) {
                if (4 * i + 2 * j < valid) {
                    to[2 * i + j] = static_cast<u8>(packed >> (8 * j));
                }
            }
        }
        const Place place = {row, col / BLOCK};
        if (col % BLOCK == 0 && place.row < extent.row && place.col < extent.col) {
            const bool is_padding = place.row >= rows || place.col >= blocks;
            const u64 offset = layout_offset(a.scales.order, rows, blocks, place);
            static_cast<u8 *>(a.scales.data)[offset] = is_padding ? u8{0} : code;
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Back, and the next scales
// ---------------------------------------------------------------------------------------------------------------------

template <class T> struct DequantizeArguments {
    const u8 *codes;
    T *target;
    Shape shape;      // stride is that of the target
    Scaling scaling;  // E8M0: bytes, else f32
    ScaleBuffer scales;
    u32 block_rows; // 0: all
    u32 block_cols;
    u64 down; // blocks
    u64 across;
};

// The scale of an element. Rows and columns are below 2^32: a division of 64 bits costs a call.
template <class T> OFP8_DEVICE float scale_at(const DequantizeArguments<T> &a, u64 row, u64 col)
{
    const Place place = {a.block_rows == 0 ? 0 : u64{static_cast<u32>(row) / a.block_rows},
                         a.block_cols == 0 ? 0 : u64{static_cast<u32>(col) / a.block_cols}};
    // Scales of columns, but in row-major order: the outer index is the column.
    const bool by_column = a.block_rows > 1 && a.block_cols == 1 && a.scales.order != ScaleOrder::RowMajor;
    const u64 offset = by_column ? layout_offset(a.scales.order, a.across, a.down, Place{place.col, place.row})
                                 : layout_offset(a.scales.order, a.down, a.across, place);
    return a.scaling == Scaling::E8M0 ? e8m0_value(static_cast<const u8 *>(a.scales.data)[offset])
                                      : static_cast<const float *>(a.scales.data)[offset];
}

template <class T> OFP8_DEVICE void store_chunk(T *to, const float (&v)[CHUNK<T>])
{
    u32 words[4] = {};
    OFP8_UNROLL
    for (u32 i = 0; i < CHUNK<T>; ++i) {
        words[i * 4 / CHUNK<T>] |= element_bits(narrow<T>(v[i])) << (sizeof(T) == 4 ? 0 : 16 * (i % 2));
    }
    *reinterpret_cast<uint4 *>(to) = uint4{words[0], words[1], words[2], words[3]};
}

// Each code times the scale of its block.
template <Format F, class T> __global__ void __launch_bounds__(THREADS) dequantize(const DequantizeArguments<T> a)
{
    constexpr u32 N = CHUNK<T>;
    for (u64 row = blockIdx.y; row < a.shape.rows; row += gridDim.y) {
        OFP8_ROLL
        for (u32 k = 0; k < UNROLL; ++k) {
            const u64 col = ((u64{blockIdx.x} * UNROLL + k) * THREADS + threadIdx.x) * N;
            const u32 valid = valid_from(col, a.shape.cols, N);
            const u8 *from = a.codes + row * a.shape.code_stride + col;
            T *to = a.target + row * a.shape.stride + col;
            if (valid == N && a.block_cols % N == 0 && is_aligned(from, 4) && is_aligned(to, 16)) {
                const float scale = scale_at(a, row, col);
                float v[N];
                OFP8_UNROLL
                for (u32 i = 0; i < N; i += 4) {
                    float decoded[4];
                    decode_x4<F>(*reinterpret_cast<const u32 *>(from + i), decoded);
                    OFP8_UNROLL
                    for (u32 j = 0; j < 4; ++j) {
                        v[i + j] = scale_decoded(scale, decoded[j]);
                    }
                }
                store_chunk(to, v);
                continue;
            }
            OFP8_ROLL
            for (u32 i = 0; i < valid; ++i) {
                to[i] = narrow<T>(scale_decoded(scale_at(a, row, col + i), decode_x1<F>(from[i])));
            }
        }
    }
}

template <class T> struct Nvfp4DequantizeArguments {
    const u8 *codes; // two to a byte, as nvfp4 writes them
    T *target;
    Shape shape; // stride is that of the target, code_stride is in bytes
    ScaleBuffer scales;
    const float *tensor_dequantize;
};

// Each code times the scale of its block, which is a byte times that of the tensor.
template <class T> __global__ void __launch_bounds__(THREADS) dequantize_nvfp4(const Nvfp4DequantizeArguments<T> a)
{
    constexpr u32 N = CHUNK<T>;
    const float tensor = *a.tensor_dequantize;
    const u64 blocks = divide_up(a.shape.cols, NVFP4_BLOCK);
    for (u64 row = blockIdx.y; row < a.shape.rows; row += gridDim.y) {
        OFP8_ROLL
        for (u32 k = 0; k < UNROLL; ++k) {
            const u64 col = ((u64{blockIdx.x} * UNROLL + k) * THREADS + threadIdx.x) * N;
            const u32 valid = valid_from(col, a.shape.cols, N);
            if (valid == 0) {
                continue;
            }
            const u64 offset = layout_offset(a.scales.order, a.shape.rows, blocks, Place{row, col / NVFP4_BLOCK});
            const u8 block = static_cast<const u8 *>(a.scales.data)[offset];
            const float scale = detail::multiply(tensor, decode<Format::UE4M3>(block));
            const u8 *from = a.codes + row * a.shape.code_stride + col / 2;
            T *to = a.target + row * a.shape.stride + col;
            float v[N];
            OFP8_UNROLL
            for (u32 i = 0; i < N; i += 2) {
                const u32 both = i < valid ? from[i / 2] : 0;
                const u16 codes = static_cast<u16>((both & 0xF) | (both & 0xF0) << 4);
                const Pair<float> decoded = decode_x2<Format::E2M1>(codes);
                v[i] = scale_decoded(scale, decoded.first);
                v[i + 1] = scale_decoded(scale, decoded.second);
            }
            if (valid == N && is_aligned(to, 16)) {
                store_chunk(to, v);
                continue;
            }
            OFP8_UNROLL
            for (u32 i = 0; i < N; ++i) {
                if (i < valid) {
                    to[i] = narrow<T>(v[i]);
                }
            }
        }
    }
}

struct DelayedArguments {
    u32 *words; // the state without its header: history, amaxes in use, entries, counts of infinities and NaN
    u64 length;
    u64 tensors;
    bool most_recent;
    NonFinite non_finite;
    Recipe recipe;
    float *quantize_scale;   // null, or a scale a tensor
    float *dequantize_scale; // null, or a scale a tensor
};

// Statistics of nothing: what merging begins with.
template <class Counts> __global__ void __launch_bounds__(WARP) reset_stats(Counts *stats)
{
    if (threadIdx.x == 0) {
        *stats = Counts{};
    }
}

// The scales of the next step for all tensors: a thread a tensor.
template <Format F> __global__ void __launch_bounds__(THREADS) update_scales(const DelayedArguments a)
{
    const u64 i = u64{blockIdx.x} * THREADS + threadIdx.x;
    if (i >= a.tensors) {
        return;
    }
    u32 *beside = a.words + a.length * a.tensors + i;
    const DelayedWords of = {a.words + i, beside,   beside + a.tensors, beside + 2 * a.tensors,
                             a.length,    a.tensors};
    update_delayed(of, a.most_recent, a.non_finite);
    const BlockScale scale = scale_from_amax<F>(a.recipe, *of.in_use);
    if (a.quantize_scale != nullptr) {
        a.quantize_scale[i] = scale.factor.by;
    }
    if (a.dequantize_scale != nullptr) {
        a.dequantize_scale[i] = scale.dequantize;
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Launching
// ---------------------------------------------------------------------------------------------------------------------

#if !defined(OFP8_EMULATED_DEVICE)
template <class Arguments>
cudaError_t launch(void (*kernel)(Arguments), dim3 grid, dim3 block, cudaStream_t stream, Arguments arguments)
{
    void *list[] = {&arguments};
    return cudaLaunchKernel(reinterpret_cast<const void *>(kernel), grid, block, list, 0, stream);
}
#endif

// Blocks for kernels that go element by element. A matrix without gaps is one long row, which keeps the numbers of its
// elements.
inline bool is_contiguous(const Shape &shape) { return shape.stride == shape.cols && shape.code_stride == shape.cols; }

inline Shape flattened(const Shape &shape)
{
    const u64 count = shape.rows * shape.cols;
    return is_contiguous(shape) ? Shape{1, count, count, count} : shape;
}

inline dim3 element_grid(const Shape &shape, u32 chunk)
{
    const u64 across = divide_up(shape.cols, u64{THREADS} * UNROLL * chunk);
    return dim3(static_cast<u32>(across), static_cast<u32>(shape.rows < 65535 ? shape.rows : 65535));
}

// The most elements: the thread blocks of a grid are numbered in 31 bits, and one has 4096 elements and more.
inline constexpr u64 MOST_ELEMENTS = u64{1} << 41;
// The most rows, and columns, of kernels with a scale a block: these number them and the blocks in 32 bits.
inline constexpr u64 MOST_LINES = u64{1} << 30;

inline bool is_too_large(const Shape &shape) { return shape.rows != 0 && shape.cols > MOST_ELEMENTS / shape.rows; }

inline bool is_too_large_for_blocks(const Shape &shape)
{
    return shape.rows > MOST_LINES || shape.cols > MOST_LINES || is_too_large(shape);
}

// Whether kernels know the cast, and the recipe.
inline bool is_known(const Cast &cast)
{
    return !is_stochastic(cast.rounding) || (cast.random_bits >= 1 && cast.random_bits <= 16);
}

inline bool is_known(const Recipe &recipe)
{
    return recipe.scaling != Scaling::TwoLevel && recipe.rule != ExponentRule::LeastError && is_known(recipe.cast);
}

inline bool is_empty(const Shape &shape) { return shape.rows == 0 || shape.cols == 0; }

// Rows and columns that tiles have to cover so that every place of a layout, padding included, is written.
inline Place covered(const Shape &shape, ScaleOrder order, u64 block_cols)
{
    const Place extent = layout_extent(order, shape.rows, divide_up(shape.cols, block_cols));
    return Place{extent.row < shape.rows ? shape.rows : extent.row, extent.col * block_cols};
}

} // namespace kernel

// ---------------------------------------------------------------------------------------------------------------------
// Launchers
// ---------------------------------------------------------------------------------------------------------------------

// Sets statistics to those of nothing.
inline cudaError_t launch_reset_stats(Stats *stats, cudaStream_t stream)
{
    return kernel::launch(kernel::reset_stats<Stats>, dim3(1), WARP, stream, stats);
}

// Merges the amax of a matrix into *amax (set it to 0 before). Under Ignore, of the finite elements.
template <class S>
cudaError_t launch_amax(const S *source, const Shape &shape, Special special, u32 *amax, cudaStream_t stream)
{
    if (kernel::is_too_large(shape)) {
        return cudaErrorInvalidValue;
    }
    if (kernel::is_empty(shape)) {
        return cudaSuccess;
    }
    const Shape flat = kernel::flattened(Shape{shape.rows, shape.cols, shape.stride, shape.cols});
    const kernel::AmaxArguments<S> arguments = {source, flat, special, amax};
    return kernel::launch(kernel::amax<S, 0>, kernel::element_grid(flat, kernel::CHUNK<S>), kernel::THREADS, stream,
                          arguments);
}

// The same for launch_quantize_nvfp4: of the blocks of 1x16 without an infinity or a NaN, which poison no other block.
template <class S> cudaError_t launch_amax_nvfp4(const S *source, const Shape &shape, u32 *amax, cudaStream_t stream)
{
    if (kernel::is_too_large(shape)) {
        return cudaErrorInvalidValue;
    }
    if (kernel::is_empty(shape)) {
        return cudaSuccess;
    }
    const Shape dense = {shape.rows, shape.cols, shape.stride, shape.cols};
    const Shape flat = shape.cols % kernel::NVFP4_BLOCK == 0 ? kernel::flattened(dense) : dense;
    const kernel::AmaxArguments<S> arguments = {source, flat, Special::Poison, amax};
    return kernel::launch(kernel::amax<S, kernel::NVFP4_BLOCK>, kernel::element_grid(flat, kernel::CHUNK<S>),
                          kernel::THREADS, stream, arguments);
}

// Encodes a matrix: element * *quantize_scale (positive; null: 1), then the cast. Merges the amax of the source into
// *amax and the statistics into *stats, where they are not null. `random` serves a stochastic cast, of at most 16 bits.
template <Format F, class S>
cudaError_t launch_cast(const S *source, const Shape &shape, u8 *codes, const float *quantize_scale, const Cast &cast,
                        const Philox &random, u32 *amax, Stats *stats, cudaStream_t stream)
{
    if (kernel::is_too_large(shape) || !kernel::is_known(cast)) {
        return cudaErrorInvalidValue;
    }
    if (kernel::is_empty(shape)) {
        return cudaSuccess;
    }
    const Shape flat = kernel::flattened(shape);
    const kernel::CastArguments<S> arguments = {source,  codes,    flat,    cast, random, quantize_scale,
                                                nullptr, Recipe{}, nullptr, amax, stats};
    const auto kernel = is_default(cast) ? kernel::cast<F, S, true> : kernel::cast<F, S, false>;
    return kernel::launch(kernel, kernel::element_grid(flat, kernel::CHUNK<S>), kernel::THREADS, stream, arguments);
}

// Quantizes a matrix under one scale that follows from its amax (current scaling): two passes. *amax is scratch, and
// holds the amax afterwards (0 of an empty matrix); *dequantize_scale is the scale.
template <Format F, class S>
cudaError_t launch_quantize_tensor(const S *source, const Shape &shape, u8 *codes, const Recipe &recipe,
                                   const Philox &random, u32 *amax, float *dequantize_scale, Stats *stats,
                                   cudaStream_t stream)
{
    if (kernel::is_too_large(shape) || !kernel::is_known(recipe)) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = cudaMemsetAsync(amax, 0, sizeof *amax, stream);
    if (error == cudaSuccess) {
        error = launch_amax(source, shape, recipe.special, amax, stream);
    }
    if (error != cudaSuccess || kernel::is_empty(shape)) {
        return error;
    }
    const Shape flat = kernel::flattened(shape);
    const kernel::CastArguments<S> arguments = {source, codes,  flat,             recipe.cast, random, nullptr,
                                                amax,   recipe, dequantize_scale, nullptr,     stats};
    const auto kernel = is_default(recipe.cast) ? kernel::cast<F, S, true> : kernel::cast<F, S, false>;
    return kernel::launch(kernel, kernel::element_grid(flat, kernel::CHUNK<S>), kernel::THREADS, stream, arguments);
}

// One copy of a matrix in blocks.
struct Copy {
    u8 *codes = nullptr; // null: this copy is not made
    ScaleBuffer scales = {nullptr, ScaleOrder::RowMajor};
    Philox random = {0, 0, 0};
    Stats *stats = nullptr;
};

namespace kernel {

template <Format F, class S, u32 BLOCK>
cudaError_t launch_tile(const S *source, const Shape &shape, const Recipe &recipe, const Copy &row, const Copy &column,
                        cudaStream_t stream)
{
    if (is_too_large_for_blocks(shape) || !is_known(recipe)) {
        return cudaErrorInvalidValue;
    }
    if (is_empty(shape) || (row.codes == nullptr && column.codes == nullptr)) {
        return cudaSuccess;
    }
    Place reach = {shape.rows, shape.cols};
    const auto extend = [&](u64 rows, u64 cols) {
        reach = Place{rows < reach.row ? reach.row : rows, cols < reach.col ? reach.col : cols};
    };
    if (row.codes != nullptr) {
        const Place covers = covered(shape, row.scales.order, BLOCK);
        extend(covers.row, covers.col);
    }
    if (column.codes != nullptr && column.scales.order != ScaleOrder::RowMajor) {
        const Shape turned = {shape.cols, shape.rows, 0, 0};
        const Place covers = covered(turned, column.scales.order, TILE_ROWS);
        extend(covers.col, covers.row);
    }
    const u64 across = divide_up(reach.col, TILE_COLS);
    const TileArguments<S> arguments = {source,     shape,      recipe,       row.random,    column.random,
                                        row.codes,  row.scales, column.codes, column.scales, row.stats,
                                        column.stats, static_cast<u32>(across)};
    const auto kernel = is_default(recipe.cast) ? tile<F, S, BLOCK, true> : tile<F, S, BLOCK, false>;
    const u64 tiles = divide_up(reach.row, TILE_ROWS) * across;
    return launch(kernel, dim3(static_cast<u32>(tiles)), TILE_THREADS, stream, arguments);
}

} // namespace kernel

// MX: blocks of 1x32 (`row`) and of 32x1 (`column`, not transposed), either or both, from one read of the source, with
// E8M0 scales by recipe.rule. Both copies are quantized from the source: neither follows from the other.
template <Format F, class S>
cudaError_t launch_quantize_mx(const S *source, const Shape &shape, const Recipe &recipe, const Copy &row,
                               const Copy &column, cudaStream_t stream)
{
    return kernel::launch_tile<F, S, 32>(source, shape, recipe, row, column, stream);
}

// Blocks of 1x128 (DeepSeek's activations), with scales by recipe.scaling.
template <Format F, class S>
cudaError_t launch_quantize_1x128(const S *source, const Shape &shape, const Recipe &recipe, const Copy &row,
                                  cudaStream_t stream)
{
    return kernel::launch_tile<F, S, 128>(source, shape, recipe, row, Copy{}, stream);
}

// Blocks of 128x128 (DeepSeek's weights), with scales by recipe.scaling.
template <Format F, class S>
cudaError_t launch_quantize_128x128(const S *source, const Shape &shape, const Recipe &recipe, const Copy &copy,
                                    cudaStream_t stream)
{
    if (kernel::is_too_large_for_blocks(shape) || !kernel::is_known(recipe)) {
        return cudaErrorInvalidValue;
    }
    if (kernel::is_empty(shape)) {
        return cudaSuccess;
    }
    const Place extent = layout_extent(copy.scales.order, divide_up(shape.rows, 128), divide_up(shape.cols, 128));
    const kernel::SquareArguments<S> arguments = {source,      copy.codes,  shape,      recipe,
                                                  copy.random, copy.scales, copy.stats, static_cast<u32>(extent.col)};
    const auto kernel = is_default(recipe.cast) ? kernel::square<F, S, true> : kernel::square<F, S, false>;
    return kernel::launch(kernel, dim3(static_cast<u32>(extent.row * extent.col)), kernel::THREADS, stream, arguments);
}

// NVFP4: blocks of 1x16 under the scale that follows from *tensor_amax. launch_amax_nvfp4 finds what ofp8_quantize
// finds by itself; an amax that is not finite poisons the whole tensor. Codes lie two to a byte; shape.code_stride is in
// bytes. *tensor_dequantize (may be null) is what the scale of a block is multiplied by.
template <class S>
cudaError_t launch_quantize_nvfp4(const S *source, const Shape &shape, const u32 *tensor_amax, u8 *codes,
                                  const ScaleBuffer &scales, float *tensor_dequantize, cudaStream_t stream)
{
    if (kernel::is_too_large_for_blocks(shape)) {
        return cudaErrorInvalidValue;
    }
    // A matrix without elements has one tile, which writes the scale of the tensor.
    const bool is_empty = kernel::is_empty(shape);
    const Place reach = kernel::covered(shape, scales.order, kernel::NVFP4_BLOCK);
    const u64 across = is_empty ? 1 : divide_up(reach.col, kernel::TILE_COLS);
    const kernel::Nvfp4Arguments<S> arguments = {source, codes,  shape,            tensor_amax,
                                                 scales, tensor_dequantize, static_cast<u32>(across)};
    const u64 tiles = is_empty ? 1 : divide_up(reach.row, kernel::TILE_ROWS) * across;
    return kernel::launch(kernel::nvfp4<S>, dim3(static_cast<u32>(tiles)), kernel::TILE_THREADS, stream, arguments);
}

// Each code times the scale of its block of block_rows x block_cols elements (0: all), rounded once more for F16 and
// BF16 targets. shape.stride is that of the target.
template <Format F, class T>
cudaError_t launch_dequantize(const u8 *codes, const Shape &shape, Scaling scaling, const ScaleBuffer &scales,
                              u64 block_rows, u64 block_cols, T *target, cudaStream_t stream)
{
    const bool one_scale = block_rows == 0 && block_cols == 0;
    if (one_scale ? kernel::is_too_large(shape) : kernel::is_too_large_for_blocks(shape)) {
        return cudaErrorInvalidValue;
    }
    if (kernel::is_empty(shape)) {
        return cudaSuccess;
    }
    // A block that is larger than every matrix.
    block_rows = block_rows < kernel::MOST_LINES ? block_rows : kernel::MOST_LINES;
    block_cols = block_cols < kernel::MOST_LINES ? block_cols : kernel::MOST_LINES;
    const Shape flat = one_scale ? kernel::flattened(shape) : shape;
    const u64 down = block_rows == 0 ? 1 : divide_up(shape.rows, block_rows);
    const u64 across = block_cols == 0 ? 1 : divide_up(shape.cols, block_cols);
    const kernel::DequantizeArguments<T> arguments = {
        codes, target, flat, scaling, scales, static_cast<u32>(block_rows), static_cast<u32>(block_cols), down, across};
    return kernel::launch(kernel::dequantize<F, T>, kernel::element_grid(flat, kernel::CHUNK<T>), kernel::THREADS,
                          stream, arguments);
}

// Back from NVFP4: each code times (decode(block scale) * *tensor_dequantize), rounded once more for F16 and BF16
// targets. shape.stride is that of the target, shape.code_stride is in bytes.
template <class T>
cudaError_t launch_dequantize_nvfp4(const u8 *codes, const Shape &shape, const ScaleBuffer &scales,
                                    const float *tensor_dequantize, T *target, cudaStream_t stream)
{
    if (kernel::is_too_large_for_blocks(shape)) {
        return cudaErrorInvalidValue;
    }
    if (kernel::is_empty(shape)) {
        return cudaSuccess;
    }
    const kernel::Nvfp4DequantizeArguments<T> arguments = {codes, target, shape, scales, tensor_dequantize};
    return kernel::launch(kernel::dequantize_nvfp4<T>, kernel::element_grid(shape, kernel::CHUNK<T>), kernel::THREADS,
                          stream, arguments);
}

// Delayed scaling: takes what was staged into the histories of all tensors and writes their next scales, in one launch.
// Casts merge their amax into the staging slots, the first words (launch_cast). The recipe is one whose elements are
// multiplied: a power of two, or TransformerEngine's convention.
template <Format F> cudaError_t launch_update_scales(const kernel::DelayedArguments &arguments, cudaStream_t stream)
{
    if (arguments.tensors == 0 || arguments.length == 0) {
        return cudaSuccess;
    }
    const u64 blocks = divide_up(arguments.tensors, kernel::THREADS);
    return kernel::launch(kernel::update_scales<F>, dim3(static_cast<u32>(blocks)), kernel::THREADS, stream, arguments);
}

} // namespace ofp8

#endif // OFP8_QUANTIZE_CUH

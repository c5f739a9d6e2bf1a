/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * ofp8: FP8 formats, conversion and scaling. C99 and later, C++11 and later, CUDA.
 *
 * Every fallible function returns an ofp8_status; results go through out-pointers; on an error
 * nothing is written. Enumerations cross as uint32_t and are checked. Structures that may grow
 * begin with their size, struct_size: set it to sizeof and the rest to zero for the defaults.
 * A number that is not in its list is OFP8_UNKNOWN_FORMAT, OFP8_UNKNOWN_TYPE or
 * OFP8_UNKNOWN_PACKING where it names one of these, and OFP8_UNKNOWN_POLICY everywhere else: so
 * is a flag that is neither 0 nor 1, and a reserved member that is not 0.
 * No allocation, no callbacks, re-entrant, never unwinds.
 *
 * Nothing depends on the floating-point environment (rounding, flushing of subnormals, exceptions
 * that trap) on x86-64, AArch64 and Arm, and a call leaves that as it was; but for exception flags,
 * of which any may be raised: they differ between kernels. RISC-V's must be the default.
 *
 * A buffer that is written may not overlap one that is read, or another that is written; that is
 * checked (OFP8_OVERLAP). Nor may it overlap the structures of the call, which is not checked.
 *
 * Codes narrower than a byte lie in the low bits; higher bits are ignored on input and zero on
 * output. Numbers of formats, types and policies are in ofp8_constants.h.
 *
 * An amax is an unsigned integer: the bits of |x| as f32; anything above those of infinity is NaN.
 *
 * Link libofp8.a. Written for, but not tested on: Windows, big-endian machines.
 */

#ifndef OFP8_H
#define OFP8_H

/* Written by cbindgen from src/capi: do not edit. */

#include <stddef.h>
#include <stdint.h>
#include "ofp8_constants.h"

/**
 * Bytes of the state of delayed scaling for so many tensors; ofp8_delayed_size checks for overflow.
 */
#define OFP8_DELAYED_SIZE(history, tensors) (4 * (8 + ((size_t)(history) + 3) * (size_t)(tensors)))

/**
 * The ABI that this header describes; compare with ofp8_abi_version().
 */
#define OFP8_ABI_VERSION 1

/**
 * Whatever is the fastest on this machine.
 */
#define OFP8_KERNEL_DETECT 0

/**
 * Plain code, for any machine.
 */
#define OFP8_KERNEL_PORTABLE 1

/**
 * x86-64 with AVX2, F16C, FMA and POPCNT.
 */
#define OFP8_KERNEL_AVX2 2

/**
 * x86-64 with AVX-512 F, BW, DQ, VL, VBMI and VNNI.
 */
#define OFP8_KERNEL_AVX512 3

/**
 * AArch64 with Advanced SIMD.
 */
#define OFP8_KERNEL_NEON 4

/**
 * Scales are f32.
 */
#define OFP8_SCALING_F32 0

/**
 * Scales are f32, but powers of two, applied exactly.
 */
#define OFP8_SCALING_POWER_OF_TWO 1

/**
 * Scales are E8M0 bytes, applied exactly.
 */
#define OFP8_SCALING_E8M0 2

/**
 * Scales are bytes of the format block_scale, under one f32 for the tensor (NVFP4).
 */
#define OFP8_SCALING_TWO_LEVEL 3

/**
 * q = max / amax, elements x * q, stored 1 / q.
 */
#define OFP8_CONVENTION_TRANSFORMER_ENGINE 0

/**
 * s = amax / max, elements x / s, stored s.
 */
#define OFP8_CONVENTION_DEEPSEEK 1

/**
 * s = amax / max, elements x * (1 / s), stored s.
 */
#define OFP8_CONVENTION_DEEPGEMM 2

/**
 * The smallest power of two that keeps the block within the range (RCEIL).
 */
#define OFP8_EXPONENT_ROUND_UP 0

/**
 * floor(log2 amax) - emax (OCP MX).
 */
#define OFP8_EXPONENT_FLOOR 1

/**
 * ceil(log2 amax) - emax.
 */
#define OFP8_EXPONENT_CEIL 2

/**
 * As floor, of the amax rounded to the element's mantissa width, ties up.
 */
#define OFP8_EXPONENT_EVEN 3

/**
 * The nearest to amax / max, half-way up; about half of all blocks saturate.
 */
#define OFP8_EXPONENT_NEAREST 4

/**
 * Of round-up's and the one below it, that with the smaller squared error over the block.
 */
#define OFP8_EXPONENT_LEAST_ERROR 5

/**
 * A block with an infinity or a NaN: scale NaN, elements NaN.
 */
#define OFP8_SPECIAL_POISON 0

/**
 * Its scale comes from the finite elements.
 */
#define OFP8_SPECIAL_IGNORE 1

/**
 * It gets the largest scale: the largest f32, 2^127, 0xFE, or the largest of block_scale.
 */
#define OFP8_SPECIAL_CLAMP 2

/**
 * ofp8_quantize_given: the scales are what elements are multiplied by.
 */
#define OFP8_GIVEN_QUANTIZE_SCALE 0

/**
 * ofp8_quantize_given: the scales are what decoded elements are multiplied by.
 */
#define OFP8_GIVEN_DEQUANTIZE_SCALE 1

/**
 * Row by row, without padding.
 */
#define OFP8_LAYOUT_ROW_MAJOR 0

/**
 * Row by row, each row padded to a multiple of 4 (cuBLASLt's BLK128x128_32F).
 */
#define OFP8_LAYOUT_ROW_MAJOR_PADDED 1

/**
 * Column by column, each column padded to a multiple of 4 (cuBLASLt's VEC128_32F; DeepGEMM's
 * f32 scales).
 */
#define OFP8_LAYOUT_MN_MAJOR_PADDED 2

/**
 * Tiles of 128 x 4 (cuBLASLt's VEC32_UE8M0 and VEC16_UE4M3; tcgen05).
 */
#define OFP8_LAYOUT_TILE_128X4 3

/**
 * DeepGEMM's little-endian words of four scales along K, MN-major, columns padded to a multiple
 * of 4 words.
 */
#define OFP8_LAYOUT_PACKED_WORDS 4

/**
 * AMD's pre-swizzle for gfx950: tiles of 32 x 8.
 */
#define OFP8_LAYOUT_GFX950 5

/**
 * The largest of the history.
 */
#define OFP8_AMAX_MAX 0

/**
 * That of the last step in which the tensor ran.
 */
#define OFP8_AMAX_MOST_RECENT 1

/**
 * An amax that is infinite or NaN is counted; the amax in use stays.
 */
#define OFP8_NON_FINITE_HOLD 0

/**
 * It is counted; until the next finite one the amax in use is the largest f32.
 */
#define OFP8_NON_FINITE_CLAMP 1

/**
 * It is counted; until the next finite one the amax in use is NaN.
 */
#define OFP8_NON_FINITE_POISON 2

/**
 * What the memory of a state is aligned to.
 */
#define OFP8_DELAYED_ALIGN 4

/**
 * In f32: an entry of a product in the order of K, a dot product in 16 lanes. The same bits on
 * every machine.
 */
#define OFP8_ORDER_SEQUENTIAL 0

/**
 * Exactly, rounded once.
 */
#define OFP8_ORDER_EXACT 1

/**
 * As a tensor core does it, bit for bit.
 */
#define OFP8_ORDER_TENSOR_CORE 2

/**
 * Hopper's wgmma on FP8 into f32. Measured for C = 0.
 */
#define OFP8_MODEL_HOPPER_WGMMA 1

/**
 * Hopper's mma.sync on FP8 into f16. Measured. See ofp8_order.
 */
#define OFP8_MODEL_HOPPER_MMA_F16 2

/**
 * Ada's mma.sync.m16n8k32 on FP8 into f32. Measured.
 */
#define OFP8_MODEL_ADA_MMA 3

/**
 * Ada's mma.sync.m16n8k32 on FP8 into f16. Measured. See ofp8_order.
 */
#define OFP8_MODEL_ADA_MMA_F16 4

/**
 * B200's mma.sync on FP8 into f32. Measured.
 */
#define OFP8_MODEL_BLACKWELL_MMA 5

/**
 * B200's mma.sync on FP8 into f16. Measured. See ofp8_order.
 */
#define OFP8_MODEL_BLACKWELL_MMA_F16 6

/**
 * B200's tcgen05.mma kind::f8f6f4 into f32. From an emulator, not measured.
 */
#define OFP8_MODEL_TCGEN05 7

/**
 * B200's tcgen05.mma kind::mxf8f6f4 with E8M0 scales, into f32. From an emulator, not
 * measured.
 */
#define OFP8_MODEL_TCGEN05_MX 8

/**
 * No promotion: what plain wgmma does.
 */
#define OFP8_PROMOTION_OFF 4294967295

/**
 * Products of one tensor-core instruction.
 */
#define OFP8_MMA_K 32

/**
 * 64-bit words of an exact sum.
 */
#define OFP8_EXACT_WORDS 25

/**
 * The result of a fallible function. Numbers are append-only.
 */
enum ofp8_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * Done.
     */
    OFP8_OK = 0,
    /**
     * A pointer that must not be null is null.
     */
    OFP8_NULL_POINTER = 1,
    /**
     * A pointer is not aligned for its element type.
     */
    OFP8_MISALIGNED = 2,
    /**
     * Two buffers overlap, one of which would be written.
     */
    OFP8_OVERLAP = 3,
    /**
     * Not the number of a format.
     */
    OFP8_UNKNOWN_FORMAT = 4,
    /**
     * Not the number of a wide type, or not one that this function takes.
     */
    OFP8_UNKNOWN_TYPE = 5,
    /**
     * Not the number of a rounding, saturation, NaN policy, scaling, convention, rule,
     * special-block policy, layout, algorithm, order, model, promotion or kernel; random bits
     * outside 1 to 32; a flag that is neither 0 nor 1; a reserved member that is not 0.
     */
    OFP8_UNKNOWN_POLICY = 6,
    /**
     * struct_size is too small, too large, ends inside a member, or the excess is not zero.
     */
    OFP8_STRUCT_SIZE = 7,
    /**
     * A number of elements is not what the shape asks for.
     */
    OFP8_LENGTH = 8,
    /**
     * A stride is shorter than a row, a place lies outside, or a size overflows.
     */
    OFP8_SHAPE = 9,
    /**
     * The rounding is stochastic and no random bits were given, or too few.
     */
    OFP8_RANDOM_BITS = 10,
    /**
     * The members of a recipe cannot go together (element format, scaling, and what must be zero
     * for it), one is out of its range (margin, epsilon, bound), or the kind of the scales is not
     * the recipe's.
     */
    OFP8_RECIPE = 11,
    /**
     * A scale is not positive and finite, or its format cannot hold it.
     */
    OFP8_SCALE = 12,
    /**
     * The input holds a NaN or an infinity where none is allowed.
     */
    OFP8_NOT_FINITE = 13,
    /**
     * Not the number of a packing.
     */
    OFP8_UNKNOWN_PACKING = 14,
    /**
     * This machine cannot run the kernel.
     */
    OFP8_KERNEL = 15,
    /**
     * Memory is not a state of this kind, version and shape.
     */
    OFP8_STATE = 16,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum ofp8_status ofp8_status;
#else
typedef uint32_t ofp8_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What a format can hold. All derived from the library's one table of formats.
 */
typedef struct ofp8_format_info {
    /**
     * Width of a code in bits, sign included; codes narrower than a byte lie in its low bits.
     */
    uint32_t bits;
    /**
     * Width of the exponent field; 0 for fixed point.
     */
    uint32_t exponent_bits;
    /**
     * Width of the mantissa field.
     */
    uint32_t mantissa_bits;
    /**
     * What is subtracted from the exponent field.
     */
    int32_t bias;
    /**
     * 1 if negative values can be stored, else 0.
     */
    uint32_t is_signed;
    /**
     * 1 if there is a NaN, else 0.
     */
    uint32_t has_nan;
    /**
     * 1 if there is an infinity, else 0.
     */
    uint32_t has_infinity;
    /**
     * The canonical NaN; without one, the code that NaN is stored as: the largest value.
     */
    uint32_t nan_code;
    /**
     * The code of positive infinity; without one, that of the largest value.
     */
    uint32_t infinity_code;
    /**
     * The code of the largest value.
     */
    uint32_t max_code;
    /**
     * The largest value.
     */
    float max_value;
    /**
     * The smallest normal value.
     */
    float min_normal;
    /**
     * The smallest value above zero.
     */
    float min_positive;
} ofp8_format_info;

/**
 * Rounding, saturation and NaN handling of a conversion. All zero (or a null pointer where one
 * is taken) is the default: nearest-even, everything clamps, the positive canonical NaN, which
 * is what the conversion instructions of Hopper and Blackwell do.
 */
typedef struct ofp8_cast {
    /**
     * OFP8_NEAREST_EVEN (0) and the others.
     */
    uint32_t rounding;
    /**
     * OFP8_SATURATE_FINITE (0) and the others.
     */
    uint32_t saturation;
    /**
     * OFP8_NAN_CANONICAL (0) or OFP8_NAN_KEEP_SIGN.
     */
    uint32_t nan;
    /**
     * Random bits an element, 1 to 32, of a stochastic rounding; must be 0 for the others.
     * Functions on arrays draw 16 an element (ofp8_philox) and refuse more
     * (OFP8_RANDOM_BITS): 17 to 32 are for those on single values, which take the caller's word.
     */
    uint32_t random_bits;
} ofp8_cast;

/**
 * A stream of random bits for stochastic rounding: Philox4x32-10 under seed, 16 bits an
 * element, addressed by the number of the element, so that chunks, threads and ranks agree.
 *
 * Element number n (first_index and its place in the source, modulo 2^64) takes half-word n mod 8,
 * the least significant first, of the four words of block n / 8: the key is seed, the counter is the
 * number of the block (two words) and stream (two words), low words first.
 */
typedef struct ofp8_philox {
    /**
     * The key.
     */
    uint64_t seed;
    /**
     * Which of 2^64 independent streams under that key.
     */
    uint64_t stream;
    /**
     * The number of the first element of the call.
     */
    uint64_t first_index;
} ofp8_philox;

/**
 * How a matrix is quantized. Set struct_size and element; everything else may stay zero:
 * one block, f32 scales as TransformerEngine has them, the default cast, special blocks
 * poisoned, no epsilon, no bound, no margin.
 *
 * The recipes people know, as element, block_rows x block_cols, scaling:
 * - per tensor: OFP8_E4M3, 0 x 0, OFP8_SCALING_F32; per row: 1 x 0;
 * - DeepSeek-V3: OFP8_E4M3, 1 x 128 (activations) or 128 x 128 (weights), OFP8_SCALING_F32
 *   with OFP8_CONVENTION_DEEPSEEK, or OFP8_SCALING_E8M0;
 * - MXFP8, MXFP6, MXFP4, MXINT8: OFP8_E4M3 or OFP8_E5M2, OFP8_E2M3 or OFP8_E3M2,
 *   OFP8_E2M1, OFP8_MXINT8, 1 x 32, OFP8_SCALING_E8M0;
 * - NVFP4: OFP8_E2M1, 1 x 16, OFP8_SCALING_TWO_LEVEL, block_scale OFP8_UE4M3. With A the
 *   amax of the blocks without an infinity or a NaN (under OFP8_SPECIAL_IGNORE: of the finite
 *   elements) or tensor_amax, S = 448 * 6 / A in f32 (1 where A is 0), the tensor's scale is
 *   1 / S, a block's the UE4M3 code of amax * (S * (1 / 6)), an element
 *   x * (1 / (block * (1 / S))).
 *
 * Blocks out of the ordinary: of zeros (and no epsilon), the f32 scale is 1, E8M0 0x00, two-level
 * 0; where a scale would overflow it is the largest number, where it would underflow the smallest:
 * E8M0 0xFE and 0x00, f32 the largest f32 and what the convention has (TransformerEngine 2^-128,
 * DeepSeek 2^-149, DeepGEMM 2^-126); with an infinity or a NaN, what special says.
 */
typedef struct ofp8_recipe {
    /**
     * sizeof(ofp8_recipe).
     */
    size_t struct_size;
    /**
     * Rows of a block; 0 means all rows.
     */
    size_t block_rows;
    /**
     * Columns of a block; 0 means all columns.
     */
    size_t block_cols;
    /**
     * The element format: signed, with a zero.
     */
    uint32_t element;
    /**
     * OFP8_SCALING_F32 (0) and the others.
     */
    uint32_t scaling;
    /**
     * How f32 scales are computed and applied; 0 for the other scalings.
     */
    uint32_t convention;
    /**
     * Which power of two; 0 for f32 scales.
     */
    uint32_t exponent_rule;
    /**
     * What becomes of a block with an infinity or a NaN.
     */
    uint32_t special;
    /**
     * 2^margin is what values may grow by before they saturate; -64 to 64.
     */
    int32_t margin;
    /**
     * Lower bound on amax, 0 for none; where it is above amax_bound, that one holds.
     */
    float epsilon;
    /**
     * Upper bound on amax, 0 for none.
     */
    float amax_bound;
    /**
     * Rounding, saturation and NaN handling of the elements.
     */
    struct ofp8_cast cast;
    /**
     * The format of the blocks' scales under OFP8_SCALING_TWO_LEVEL (OFP8_UE4M3,
     * OFP8_UE5M3); 0 for the other scalings.
     */
    uint32_t block_scale;
    /**
     * 1 if tensor_amax is the amax of the tensor of which this matrix is a part; 0 if it is
     * to be that of the matrix. Only OFP8_SCALING_TWO_LEVEL looks at it.
     */
    uint32_t has_tensor_amax;
    /**
     * The amax of the tensor, as ofp8_amax writes it.
     */
    uint32_t tensor_amax;
    /**
     * The order of the scales in memory, wherever they are written or read by this recipe:
     * OFP8_LAYOUT_ROW_MAJOR (0) and the others. ofp8_scale_count says how many there are then;
     * padding is written zero. Blocks of one column and several rows, or all (32 x 1, 0 x 1), have
     * column-wise scales (columnwise 1 in an ofp8_layout), but in OFP8_LAYOUT_ROW_MAJOR, which is
     * always that of the grid of blocks (columnwise 0).
     */
    uint32_t scale_order;
} ofp8_recipe;

/**
 * The shape of a call: a row-major matrix of wide values and one of codes; or a batch of them;
 * or a shard of them. What is not needed stays zero.
 */
typedef struct ofp8_shape {
    /**
     * sizeof(ofp8_shape).
     */
    size_t struct_size;
    /**
     * Rows of the matrix.
     */
    size_t rows;
    /**
     * Columns of the matrix.
     */
    size_t cols;
    /**
     * Elements between the beginnings of two rows of wide values; 0 means cols. At least cols
     * where there is a second row.
     */
    size_t stride;
    /**
     * Bytes between the beginnings of two rows of codes; otherwise as stride.
     */
    size_t code_stride;
    /**
     * The type of the wide values: OFP8_F32, OFP8_F16 or OFP8_BF16.
     */
    uint32_t wide_type;
    /**
     * 1 if the buffers hold a shard: the elements shard_first to shard_first + shard_len - 1
     * of one matrix without gaps, which may begin and end in the middle of a row or a block.
     */
    uint32_t is_shard;
    /**
     * The first element of the shard.
     */
    size_t shard_first;
    /**
     * Elements of the shard.
     */
    size_t shard_len;
    /**
     * Matrices of this shape, one after another; 0 means 1.
     */
    size_t batch_count;
    /**
     * Elements between the beginnings of two matrices of wide values; 0 means rows * stride.
     */
    size_t batch_stride;
    /**
     * Bytes between the beginnings of two matrices of codes; 0 means rows * code_stride.
     */
    size_t code_batch_stride;
} ofp8_shape;

/**
 * What a pass of quantization saw: integers, so that every cut of the work adds up to the same
 * (ofp8_merge_stats). All zero is a valid beginning.
 */
typedef struct ofp8_stats {
    /**
     * Elements seen.
     */
    uint64_t count;
    /**
     * Source elements that are zero.
     */
    uint64_t zero;
    /**
     * Finite source elements that rounded to beyond the largest value of the format.
     */
    uint64_t saturated;
    /**
     * Source elements that are neither zero nor NaN and were stored as zero, or under a scale of
     * zero.
     */
    uint64_t underflowed;
    /**
     * Source elements that are NaN.
     */
    uint64_t nan;
    /**
     * Source elements that are infinite.
     */
    uint64_t infinite;
    /**
     * The amax of the source, as ofp8_amax writes it.
     */
    uint32_t amax;
    /**
     * The bits of the smallest nonzero absolute value as f32; those of infinity where there was
     * none (not looked at where count is 0).
     */
    uint32_t min_nonzero;
} ofp8_stats;

/**
 * The arguments of ofp8_quantize, for a list of calls. What is not needed stays zero.
 */
typedef struct ofp8_quantize_call {
    /**
     * sizeof(ofp8_quantize_call).
     */
    size_t struct_size;
    /**
     * How the matrix is quantized.
     */
    const struct ofp8_recipe *recipe;
    /**
     * Its shape.
     */
    const struct ofp8_shape *shape;
    /**
     * Random bits of a stochastic rounding, or null.
     */
    const struct ofp8_philox *random;
    /**
     * The wide values.
     */
    const void *source;
    /**
     * The amax of each block, or null.
     */
    const uint32_t *amax;
    /**
     * The codes, one a byte.
     */
    uint8_t *codes;
    /**
     * The scales of the blocks.
     */
    void *scales;
    /**
     * Their number: ofp8_scale_count, times the batch.
     */
    size_t scale_count;
    /**
     * The scale of each tensor under two levels, else null.
     */
    float *tensor_scale;
    /**
     * What was seen, or null.
     */
    struct ofp8_stats *stats;
} ofp8_quantize_call;

/**
 * One quantized copy of a matrix, to be written. What is not needed stays zero.
 */
typedef struct ofp8_copy {
    /**
     * sizeof(ofp8_copy).
     */
    size_t struct_size;
    /**
     * The codes, one a byte.
     */
    uint8_t *codes;
    /**
     * The scales of the blocks.
     */
    void *scales;
    /**
     * Their number; see ofp8_quantize_copies.
     */
    size_t scale_count;
    /**
     * The scale of each tensor under two levels, else null.
     */
    float *tensor_scale;
    /**
     * What was seen, or null.
     */
    struct ofp8_stats *stats;
    /**
     * Random bits of a stochastic rounding, or null: for each copy another stream.
     */
    const struct ofp8_philox *random;
    /**
     * Bytes between the beginnings of two rows of codes; 0 means no gaps.
     */
    size_t code_stride;
    /**
     * Bytes between the beginnings of two matrices of codes; 0 means no gaps.
     */
    size_t code_batch_stride;
    /**
     * 1 if codes and scales are those of the transposed matrix: a row of codes is a column of the
     * source, and scales lie as those of the transposed matrix.
     */
    uint32_t is_transposed;
    /**
     * Must be 0.
     */
    uint32_t reserved;
} ofp8_copy;

/**
 * The first element that is an infinity or a NaN.
 */
typedef struct ofp8_not_finite {
    /**
     * The matrix of the batch that it is in.
     */
    size_t batch;
    /**
     * Its row.
     */
    size_t row;
    /**
     * Its column.
     */
    size_t col;
    /**
     * Its value.
     */
    float value;
    /**
     * 1 if there is one; 0 if all elements are finite, and then the rest is zero.
     */
    uint32_t found;
} ofp8_not_finite;

/**
 * The error of a quantization, over the elements where source and result are finite.
 */
typedef struct ofp8_measured {
    /**
     * Elements compared.
     */
    uint64_t count;
    /**
     * Sum of the squares of the source.
     */
    double signal;
    /**
     * Sum of the squares of the differences.
     */
    double noise;
    /**
     * Sum of the absolute differences.
     */
    double absolute;
    /**
     * Largest absolute difference.
     */
    double max_absolute;
    /**
     * Largest |difference| / |source| over the elements that are not zero.
     */
    double max_relative;
} ofp8_measured;

/**
 * Where the scales of a grid lie. Set struct_size, rows and cols; everything else may stay
 * zero: one grid, row-major.
 *
 * The grid is that of ofp8_scale_grid: one scale a block. Offsets and sizes count scales: bytes
 * or f32. Padding is written zero, always.
 */
typedef struct ofp8_layout {
    /**
     * sizeof(ofp8_layout).
     */
    size_t struct_size;
    /**
     * Rows of the grid.
     */
    size_t rows;
    /**
     * Columns of the grid.
     */
    size_t cols;
    /**
     * The number of grids, one after another; 0 means 1.
     */
    size_t batches;
    /**
     * Scales between the beginnings of two grids; 0 means the size of a padded grid. What lies
     * between two grids is left alone.
     */
    size_t batch_stride;
    /**
     * OFP8_LAYOUT_ROW_MAJOR (0) and the others.
     */
    uint32_t order;
    /**
     * 1 for column-wise scales (blocks of 32x1, 128x1): hardware's outer index then runs along
     * the columns. 0 for all others.
     */
    uint32_t columnwise;
} ofp8_layout;

/**
 * The rules of delayed scaling, which are TransformerEngine's. Set struct_size and history;
 * everything else may stay zero: the largest of the history, updated every step.
 *
 * A step of training: ofp8_delayed_record what passes saw; quantize with the amax that
 * ofp8_delayed_amax gives (ofp8_quantize takes it, ofp8_scale_from_amax makes the scale of
 * it); if ofp8_delayed_is_due, all-reduce the integers of ofp8_delayed_staging by maximum
 * over all ranks; ofp8_delayed_update.
 *
 * The state lies in memory of the caller, OFP8_DELAYED_SIZE(history, tensors) bytes aligned to
 * OFP8_DELAYED_ALIGN. It begins with a version word and holds 32-bit words only: saving it is
 * copying it, restoring is copying it back, on a machine of the same byte order. history is
 * the state's for ever; the other rules may change between calls.
 */
typedef struct ofp8_delayed {
    /**
     * sizeof(ofp8_delayed).
     */
    size_t struct_size;
    /**
     * Entries of a tensor's history, at least 1.
     */
    size_t history;
    /**
     * OFP8_AMAX_MAX (0) or OFP8_AMAX_MOST_RECENT.
     */
    uint32_t algorithm;
    /**
     * OFP8_NON_FINITE_HOLD (0) and the others. No such amax enters the history.
     */
    uint32_t non_finite;
    /**
     * Every so many updates one does something; 0 means 1.
     */
    uint32_t interval;
    /**
     * Until a tensor has so many entries, its amax is the largest of its history and of what was
     * recorded in this step.
     */
    uint32_t calibration;
} ofp8_delayed;

/**
 * One factor of a product: vectors of codes, one code a byte, and their scales. The vectors are
 * the rows of the matrix (K contiguous), or its columns. What is not needed stays zero.
 */
typedef struct ofp8_operand {
    /**
     * sizeof(ofp8_operand).
     */
    size_t struct_size;
    /**
     * The codes.
     */
    const uint8_t *codes;
    /**
     * Rows of the matrix as it is stored.
     */
    size_t rows;
    /**
     * Columns of the matrix as it is stored.
     */
    size_t cols;
    /**
     * Bytes between the beginnings of two rows; 0 means cols. Of a single row it does not matter.
     */
    size_t stride;
    /**
     * The recipe by which the matrix was quantized, or null if there are no scales.
     */
    const struct ofp8_recipe *recipe;
    /**
     * The scales, as ofp8_quantize writes them; null without a recipe.
     */
    const void *scales;
    /**
     * Their number; 0 without a recipe.
     */
    size_t scale_count;
    /**
     * The scale of the tensor under two levels, else null.
     */
    const float *tensor_scale;
    /**
     * The format of the codes. Where there is a recipe, which says it: 0 or the same.
     */
    uint32_t format;
    /**
     * 1 if the vectors are the columns, 0 if they are the rows.
     */
    uint32_t is_transposed;
} ofp8_operand;

/**
 * How products are summed. All zero (or a null pointer) is sequential.
 */
typedef struct ofp8_order {
    /**
     * sizeof(ofp8_order).
     */
    size_t struct_size;
    /**
     * OFP8_ORDER_SEQUENTIAL (0) and the others.
     */
    uint32_t kind;
    /**
     * The tensor core (OFP8_MODEL_HOPPER_WGMMA, ...); 0 for the other orders.
     *
     * Those that sum in f16 are infinite above 65504, which one product of two large elements
     * can exceed: under MX scales, which take the elements of each block near the largest value
     * of their format and are applied after the block is summed, expect infinities.
     */
    uint32_t model;
    /**
     * How many products a tensor core sums before its accumulator is added to a second one in
     * f32 and starts again from zero: a multiple of 32; 0 means 128 (what DeepSeek does on Hopper),
     * OFP8_PROMOTION_OFF never (what a plain chain of instructions gives, on any machine).
     * 0 for the other orders.
     */
    uint32_t promotion;
    /**
     * Must be 0.
     */
    uint32_t reserved;
} ofp8_order;

/**
 * A sum of products of codes, exact. All zero is the empty sum. Integers only: it can be saved,
 * sent, and merged in any order to the same bits.
 */
typedef struct ofp8_exact_sum {
    /**
     * The words.
     */
    uint64_t words[25];
} ofp8_exact_sum;

/**
 * A gradient that is summed in f32 over micro-batches. Begin with the memory set to zero and a
 * count of 0. What is there can be saved and restored as it is.
 */
typedef struct ofp8_gradient {
    /**
     * sizeof(ofp8_gradient).
     */
    size_t struct_size;
    /**
     * Rows of the gradient.
     */
    size_t rows;
    /**
     * Columns of the gradient.
     */
    size_t cols;
    /**
     * The sum: rows * cols f32.
     */
    float *sum;
    /**
     * As many f32 again for what rounding loses (Neumaier's compensation), or null.
     */
    float *lost;
    /**
     * Micro-batches added, up to 2^64 - 1.
     */
    uint64_t count;
} ofp8_gradient;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The ABI version of the library that is linked: equal to OFP8_ABI_VERSION of the header it
 * was built with. A library serves headers of its own ABI version and older.
 */
uint32_t ofp8_abi_version(void);

/**
 * The version of the library as text, such as "0.1.0". Never null, lives for ever.
 */
const char *ofp8_version(void);

/**
 * One line in English for a status. Never null, lives for ever.
 */
const char *ofp8_status_text(uint32_t status);

/**
 * The kernel that runs: the forced one, else the one that was detected (OFP8_KERNEL_AVX512,
 * ...), or where the library is part of a Rust program with the feature std what the environment
 * variable OFP8_KERNEL names. No result depends on it, only speed.
 */
uint32_t ofp8_current_kernel(void);

/**
 * The name of a kernel, such as "avx512"; "unknown" for any other number. Never null, lives for
 * ever.
 */
const char *ofp8_kernel_name(uint32_t kernel);

/**
 * Makes a kernel the one that runs, in all threads, or with OFP8_KERNEL_DETECT what would run had
 * none been forced. May be called at any time, also while other threads are at work.
 *
 * Statuses: OFP8_UNKNOWN_POLICY for no kernel's number, OFP8_KERNEL where this machine cannot
 * run it; then nothing has changed.
 */
ofp8_status ofp8_force_kernel(uint32_t kernel);

/**
 * Writes what a format (OFP8_E4M3, ...) can hold.
 *
 * Statuses: OFP8_UNKNOWN_FORMAT, OFP8_NULL_POINTER, OFP8_MISALIGNED.
 *
 * The caller guarantees:
 * info is null or points to memory for the structure.
 */
ofp8_status ofp8_get_format_info(uint32_t format, struct ofp8_format_info *info);

/**
 * Encodes one f32 as a code of format, rounded once.
 *
 * cast may be null for the default. random is the random word of a stochastic rounding (its
 * low random_bits bits are used); the other roundings ignore it.
 *
 * Statuses: OFP8_UNKNOWN_FORMAT, OFP8_UNKNOWN_POLICY, OFP8_NULL_POINTER,
 * OFP8_MISALIGNED.
 *
 * The caller guarantees:
 * cast is null or points to an initialised structure; code is null or points to a byte.
 */
ofp8_status ofp8_encode_f32(uint32_t format,
                            const struct ofp8_cast *cast,
                            float value,
                            uint32_t random,
                            uint8_t *code);

/**
 * Encodes one f64, rounded once (never through f32); otherwise as ofp8_encode_f32.
 *
 * The caller guarantees:
 * As ofp8_encode_f32.
 */
ofp8_status ofp8_encode_f64(uint32_t format,
                            const struct ofp8_cast *cast,
                            double value,
                            uint32_t random,
                            uint8_t *code);

/**
 * Encodes one binary16, given as its bits; otherwise as ofp8_encode_f32.
 *
 * The caller guarantees:
 * As ofp8_encode_f32.
 */
ofp8_status ofp8_encode_f16(uint32_t format,
                            const struct ofp8_cast *cast,
                            uint16_t bits,
                            uint32_t random,
                            uint8_t *code);

/**
 * Encodes one bfloat16, given as its bits; otherwise as ofp8_encode_f32.
 *
 * The caller guarantees:
 * As ofp8_encode_f32.
 */
ofp8_status ofp8_encode_bf16(uint32_t format,
                             const struct ofp8_cast *cast,
                             uint16_t bits,
                             uint32_t random,
                             uint8_t *code);

/**
 * Decodes one code of format to f32, exactly. NaN is quiet and keeps its sign; bits above the
 * width of a code are ignored.
 *
 * Statuses: OFP8_UNKNOWN_FORMAT, OFP8_NULL_POINTER, OFP8_MISALIGNED.
 *
 * The caller guarantees:
 * value is null or points to memory for the result.
 */
ofp8_status ofp8_decode_f32(uint32_t format, uint8_t code, float *value);

/**
 * Decodes one code to f64, exactly; otherwise as ofp8_decode_f32.
 *
 * The caller guarantees:
 * As ofp8_decode_f32.
 */
ofp8_status ofp8_decode_f64(uint32_t format, uint8_t code, double *value);

/**
 * Decodes one code to the bits of a binary16, rounded once to nearest-even where it cannot hold
 * the value, infinity beyond its largest; otherwise as ofp8_decode_f32.
 *
 * The caller guarantees:
 * As ofp8_decode_f32.
 */
ofp8_status ofp8_decode_f16(uint32_t format, uint8_t code, uint16_t *bits);

/**
 * Decodes one code to the bits of a bfloat16; otherwise as ofp8_decode_f16.
 *
 * The caller guarantees:
 * As ofp8_decode_f32.
 */
ofp8_status ofp8_decode_bf16(uint32_t format, uint8_t code, uint16_t *bits);

/**
 * E4M3 under the default cast; a firmware that calls nothing else links nothing else (with
 * -Wl,--gc-sections).
 */
uint8_t ofp8_e4m3_from_f32(float value);

/**
 * The value of an E4M3 code.
 */
float ofp8_e4m3_to_f32(uint8_t code);

/**
 * E5M2 under the default cast; a firmware that calls nothing else links nothing else.
 */
uint8_t ofp8_e5m2_from_f32(float value);

/**
 * The value of an E5M2 code.
 */
float ofp8_e5m2_to_f32(uint8_t code);

/**
 * E4M3Fnuz under the default cast.
 */
uint8_t ofp8_e4m3fnuz_from_f32(float value);

/**
 * The value of an E4M3Fnuz code.
 */
float ofp8_e4m3fnuz_to_f32(uint8_t code);

/**
 * E5M2Fnuz under the default cast.
 */
uint8_t ofp8_e5m2fnuz_from_f32(float value);

/**
 * The value of an E5M2Fnuz code.
 */
float ofp8_e5m2fnuz_to_f32(uint8_t code);

/**
 * E8M0 under the default cast: the nearest power of two, a tie to the even code.
 */
uint8_t ofp8_e8m0_from_f32(float value);

/**
 * The value of an E8M0 code; 0 is 2^-127 (a subnormal f32), 255 is NaN.
 */
float ofp8_e8m0_to_f32(uint8_t code);

/**
 * Encodes count wide values of type source_type (OFP8_F32, ...) as codes of format, one
 * a byte, each rounded once.
 *
 * cast may be null for the default. random is read for a stochastic rounding only and may
 * be null otherwise; it serves 16 bits an element. A count of 0 does nothing.
 *
 * Statuses: OFP8_UNKNOWN_FORMAT, OFP8_UNKNOWN_TYPE, OFP8_UNKNOWN_POLICY,
 * OFP8_NULL_POINTER, OFP8_MISALIGNED, OFP8_SHAPE (the size overflows), OFP8_OVERLAP,
 * OFP8_RANDOM_BITS.
 *
 * The caller guarantees:
 * source points to count values and codes to count bytes; cast and random are null
 * or point to initialised structures.
 */
ofp8_status ofp8_encode(uint32_t format,
                        const struct ofp8_cast *cast,
                        const struct ofp8_philox *random,
                        uint32_t source_type,
                        const void *source,
                        size_t count,
                        uint8_t *codes);

/**
 * Decodes count codes of format, one a byte, to wide values of type target_type; f16 and
 * bf16 are rounded once to nearest-even where they cannot hold a value. A count of 0 does
 * nothing.
 *
 * Statuses: OFP8_UNKNOWN_FORMAT, OFP8_UNKNOWN_TYPE, OFP8_NULL_POINTER, OFP8_MISALIGNED,
 * OFP8_SHAPE (the size overflows), OFP8_OVERLAP.
 *
 * The caller guarantees:
 * codes points to count bytes and target to memory for count values.
 */
ofp8_status ofp8_decode(uint32_t format,
                        const uint8_t *codes,
                        size_t count,
                        uint32_t target_type,
                        void *target);

/**
 * Writes the largest absolute value of count wide values, as the integer whose maximum is the
 * merge: the bits of |x| as f32, with one pattern for NaN above infinity. 0 for no values. An
 * f64 is first rounded to f32, to nearest-even.
 *
 * Statuses: OFP8_UNKNOWN_TYPE, OFP8_NULL_POINTER, OFP8_MISALIGNED, OFP8_SHAPE (the size
 * overflows), OFP8_OVERLAP.
 *
 * The caller guarantees:
 * source points to count values and amax to memory for the result.
 */
ofp8_status ofp8_amax(uint32_t source_type, const void *source, size_t count, uint32_t *amax);

/**
 * The amax of two: the larger integer. NaN stays. What MPI_MAX on MPI_UINT32_T gives.
 */
uint32_t ofp8_merge_amax(uint32_t a, uint32_t b);

/**
 * The value of an amax: non-negative, infinite or NaN.
 */
float ofp8_amax_to_f32(uint32_t amax);

/**
 * Writes the number of bytes that count codes take in a packing (OFP8_PACKING_FP4_LOW_FIRST,
 * ...): ceil(count / 2) for FP4, ceil(6 count / 8) for FP6.
 *
 * Statuses: OFP8_UNKNOWN_PACKING, OFP8_NULL_POINTER, OFP8_MISALIGNED.
 *
 * The caller guarantees:
 * bytes is null or points to memory for the result.
 */
ofp8_status ofp8_packed_size(uint32_t packing, size_t count, size_t *bytes);

/**
 * Packs count codes, one a byte (their high bits are ignored), into as many bytes as
 * ofp8_packed_size says; bits of the last byte that hold no code are zero.
 *
 * Statuses: OFP8_UNKNOWN_PACKING, OFP8_NULL_POINTER, OFP8_SHAPE (the size overflows),
 * OFP8_OVERLAP.
 *
 * The caller guarantees:
 * codes points to count bytes, packed to memory for the packed ones.
 */
ofp8_status ofp8_pack(uint32_t packing, const uint8_t *codes, size_t count, uint8_t *packed);

/**
 * Unpacks count codes, one a byte, their high bits zero; the inverse of ofp8_pack.
 *
 * Statuses: as ofp8_pack.
 *
 * The caller guarantees:
 * packed points to as many bytes as ofp8_packed_size says, codes to memory for count.
 */
ofp8_status ofp8_unpack(uint32_t packing, const uint8_t *packed, size_t count, uint8_t *codes);

/**
 * Writes the number of blocks of a matrix of rows x cols: down, across (0 along an extent of 0).
 * Each has a scale; they are stored row-major, without gaps, unless the recipe has another
 * scale_order.
 *
 * Statuses: those of a recipe (OFP8_STRUCT_SIZE, OFP8_UNKNOWN_FORMAT,
 * OFP8_UNKNOWN_POLICY, OFP8_RECIPE), OFP8_NULL_POINTER, OFP8_MISALIGNED.
 *
 * The caller guarantees:
 * recipe is null or points to as many bytes as its struct_size says; down and across
 * are null or point to memory for the results, apart from each other.
 */
ofp8_status ofp8_scale_grid(const struct ofp8_recipe *recipe,
                            size_t rows,
                            size_t cols,
                            size_t *down,
                            size_t *across);

/**
 * Writes the number of scales that are stored for a matrix of rows x cols, padding included:
 * one a block in row-major order, more in the others.
 *
 * Statuses: those of a recipe; OFP8_SHAPE where the number overflows; OFP8_NULL_POINTER,
 * OFP8_MISALIGNED.
 *
 * The caller guarantees:
 * recipe as in ofp8_scale_grid; count is null or points to memory for the result.
 */
ofp8_status ofp8_scale_count(const struct ofp8_recipe *recipe,
                             size_t rows,
                             size_t cols,
                             size_t *count);

/**
 * Writes the scale of a block with this amax (the integer that ofp8_amax writes): the
 * dequantizing multiplier, and the byte that is stored (E8M0 for a power-of-two scale, the
 * format block_scale under two levels, where the tensor's amax is the recipe's or this one).
 * Either pointer may be null if the result is not wanted; for f32 scaling code must be null.
 *
 * An amax that is infinite or NaN gives what the recipe's special says; under
 * OFP8_SPECIAL_IGNORE, where the finite amax is not known here, the scale is NaN.
 *
 * Statuses: those of a recipe; OFP8_MISALIGNED; OFP8_OVERLAP; OFP8_SCALE for the byte of an f32
 * scale.
 *
 * The caller guarantees:
 * recipe as in ofp8_scale_grid; dequantize_scale and code are null or point to memory
 * for the results.
 */
ofp8_status ofp8_scale_from_amax(const struct ofp8_recipe *recipe,
                                 uint32_t amax,
                                 float *dequantize_scale,
                                 uint8_t *code);

/**
 * Quantizes a matrix: codes (one a byte), one scale a block, and what was seen.
 *
 * scales holds scale_count f32 or, for OFP8_SCALING_E8M0 and OFP8_SCALING_TWO_LEVEL,
 * bytes: exactly as many as ofp8_scale_count says (times the batch), in the recipe's
 * scale_order. tensor_scale receives one f32 a matrix under two levels and must be null
 * otherwise.
 *
 * amax is null, or holds the amax of each block (row-major) computed before, perhaps over more
 * data than this (other ranks', the rest of a matrix of which this is a shard); then the blocks are
 * not searched. Of a shard every scale is written too: without merged amaxes, from the elements that
 * are there. random is read for a stochastic rounding only and may be null otherwise: the
 * number of an element is first_index + (batch * rows + row) * cols + col. stats may be
 * null.
 *
 * Statuses: those of a recipe (OFP8_STRUCT_SIZE, OFP8_UNKNOWN_FORMAT,
 * OFP8_UNKNOWN_POLICY, OFP8_RECIPE), OFP8_UNKNOWN_TYPE, OFP8_NULL_POINTER,
 * OFP8_MISALIGNED, OFP8_OVERLAP, OFP8_SHAPE, OFP8_LENGTH (of the scales),
 * OFP8_RANDOM_BITS, OFP8_NOT_FINITE (a given amax under OFP8_SPECIAL_IGNORE).
 *
 * The caller guarantees:
 * Structures are null or as large as their struct_size; source, codes and scales point
 * to as many elements as the shape and the counts say, amax to one integer a block.
 */
ofp8_status ofp8_quantize(const struct ofp8_recipe *recipe,
                          const struct ofp8_shape *shape,
                          const struct ofp8_philox *random,
                          const void *source,
                          const uint32_t *amax,
                          uint8_t *codes,
                          void *scales,
                          size_t scale_count,
                          float *tensor_scale,
                          struct ofp8_stats *stats);

/**
 * Quantizes count matrices of different shapes: experts, the tensors of an optimizer. All
 * calls are checked before the first is carried out, each as ofp8_quantize would; where one is
 * refused, its number is written to failed (which may be null) and nothing else anywhere; where none
 * is, failed stays as it was.
 *
 * Statuses: as ofp8_quantize.
 *
 * The caller guarantees:
 * As ofp8_quantize, for each call; buffers of different calls do not overlap where one of them
 * is written. failed is null or points to memory for the result, apart from all buffers.
 */
ofp8_status ofp8_quantize_list(const struct ofp8_quantize_call *calls,
                               size_t count,
                               size_t *failed);

/**
 * Quantizes with scales that were computed elsewhere: by delayed scaling, for a static
 * checkpoint, by another rank. which says which way round they are:
 * OFP8_GIVEN_QUANTIZE_SCALE (f32 kinds only: what elements are multiplied by) or
 * OFP8_GIVEN_DEQUANTIZE_SCALE (as ofp8_quantize stores them). Infinities and NaN are stored
 * as the cast says; no block is poisoned. stats holds the amax.
 *
 * Statuses: as ofp8_quantize; OFP8_SCALE where a scale is not positive and finite (a block's
 * under two levels may be zero) or not one that the recipe could have made.
 *
 * The caller guarantees:
 * As ofp8_quantize.
 */
ofp8_status ofp8_quantize_given(const struct ofp8_recipe *recipe,
                                const struct ofp8_shape *shape,
                                const struct ofp8_philox *random,
                                const void *source,
                                uint32_t which,
                                const void *scales,
                                size_t scale_count,
                                const float *tensor_scale,
                                uint8_t *codes,
                                struct ofp8_stats *stats);

/**
 * Writes the amax of each block (as ofp8_amax writes it), row-major over the grid, whatever the
 * order of the scales: what ranks
 * merge (ofp8_merge_amax, or MPI_MAX on MPI_UINT32_T) before they pass it to
 * ofp8_quantize. Under OFP8_SPECIAL_IGNORE, of the finite elements; of a shard, of the
 * elements that are there.
 *
 * Statuses: those of a recipe; OFP8_UNKNOWN_TYPE, OFP8_NULL_POINTER, OFP8_MISALIGNED,
 * OFP8_OVERLAP, OFP8_SHAPE, OFP8_LENGTH (of the amaxes).
 *
 * The caller guarantees:
 * As ofp8_quantize; amax points to memory for amax_count integers.
 */
ofp8_status ofp8_amax_blocks(const struct ofp8_recipe *recipe,
                             const struct ofp8_shape *shape,
                             const void *source,
                             uint32_t *amax,
                             size_t amax_count);

/**
 * Multiplies every code by the scale of its block: one f32 product (under two levels after the
 * product of the two scales), rounded once more to nearest-even for f16 and bf16 targets.
 * shape says the type and strides of the target.
 *
 * Statuses: as ofp8_quantize.
 *
 * The caller guarantees:
 * As ofp8_quantize; target points to memory for as many values as the shape spans.
 */
ofp8_status ofp8_dequantize(const struct ofp8_recipe *recipe,
                            const struct ofp8_shape *shape,
                            const uint8_t *codes,
                            const void *scales,
                            size_t scale_count,
                            const float *tensor_scale,
                            void *target);

/**
 * Quantizes a matrix twice from one read of it: rowwise by the recipe, columnwise with its
 * blocks turned (32x1 for 1x32). Each copy is what a call of its own would give; each may be
 * transposed, or left out (null). For Blackwell: MX blocks of 1x32, both copies as they lie. For
 * Hopper: blocks of 1x128, the columnwise copy transposed, so that both have 1x128 blocks along K.
 *
 * scale_count is what ofp8_scale_count says of the copy's own matrix and blocks (times the
 * batch): for a columnwise copy that is transposed, exchange rows and cols; for one that is not,
 * the recipe's block_rows and block_cols; for a rowwise copy that is transposed, both. The
 * number of an element for random
 * is first_index + (batch * rows + row) * cols + col by its place in the source, in both.
 * shape says the type, the shape and the strides of the source; its code_stride and
 * code_batch_stride say nothing here, and stay 0. A copy of a shard cannot be transposed.
 *
 * Statuses: those of ofp8_quantize, of either copy; OFP8_STRUCT_SIZE of a copy;
 * OFP8_UNKNOWN_POLICY where is_transposed is neither 0 nor 1; OFP8_NULL_POINTER where both
 * copies are null.
 *
 * The caller guarantees:
 * As ofp8_quantize; rowwise and columnwise are null or as large as their struct_size.
 */
ofp8_status ofp8_quantize_copies(const struct ofp8_recipe *recipe,
                                 const struct ofp8_shape *shape,
                                 const void *source,
                                 const struct ofp8_copy *rowwise,
                                 const struct ofp8_copy *columnwise);

/**
 * Quantizes one block to E4M3 codes and an E8M0 scale, in integers alone: a firmware that calls
 * nothing else links two kilobytes (with -Wl,--gc-sections). The bits are those of ofp8_quantize with
 * OFP8_SCALING_E8M0 and everything else at its default; a block with an infinity or a NaN gets
 * the scale 0xFF and the codes of NaN.
 *
 * rule is OFP8_EXPONENT_ROUND_UP (0) or another, but not OFP8_EXPONENT_LEAST_ERROR; count is
 * 32 in MX, and may be any (codes has as many); of none the scale is 0x00.
 *
 * Statuses: OFP8_UNKNOWN_POLICY, OFP8_RECIPE (that rule), OFP8_NULL_POINTER,
 * OFP8_MISALIGNED, OFP8_OVERLAP, OFP8_SHAPE (a size overflows).
 *
 * The caller guarantees:
 * source is null or points to count f32, codes to memory for count bytes, scale to one byte.
 */
ofp8_status ofp8_e4m3_quantize_block(uint32_t rule,
                                     const float *source,
                                     size_t count,
                                     uint8_t *codes,
                                     uint8_t *scale);

/**
 * The values of a block of E4M3 codes under an E8M0 scale, as ofp8_dequantize gives them.
 *
 * Statuses: OFP8_NULL_POINTER, OFP8_MISALIGNED, OFP8_OVERLAP, OFP8_SHAPE (a size overflows).
 *
 * The caller guarantees:
 * codes is null or points to count bytes, target to memory for count f32.
 */
ofp8_status ofp8_e4m3_dequantize_block(uint8_t scale,
                                       const uint8_t *codes,
                                       size_t count,
                                       float *target);

/**
 * As ofp8_e4m3_quantize_block, to E5M2.
 *
 * The caller guarantees:
 * As ofp8_e4m3_quantize_block.
 */
ofp8_status ofp8_e5m2_quantize_block(uint32_t rule,
                                     const float *source,
                                     size_t count,
                                     uint8_t *codes,
                                     uint8_t *scale);

/**
 * As ofp8_e4m3_dequantize_block, of E5M2.
 *
 * The caller guarantees:
 * As ofp8_e4m3_dequantize_block.
 */
ofp8_status ofp8_e5m2_dequantize_block(uint8_t scale,
                                       const uint8_t *codes,
                                       size_t count,
                                       float *target);

/**
 * As ofp8_e4m3_quantize_block, to E2M1 codes, one a byte in the low bits. E2M1 has no NaN: the
 * codes of a block with an infinity or a NaN are those of the largest value.
 *
 * The caller guarantees:
 * As ofp8_e4m3_quantize_block.
 */
ofp8_status ofp8_e2m1_quantize_block(uint32_t rule,
                                     const float *source,
                                     size_t count,
                                     uint8_t *codes,
                                     uint8_t *scale);

/**
 * As ofp8_e4m3_dequantize_block, of E2M1.
 *
 * The caller guarantees:
 * As ofp8_e4m3_dequantize_block.
 */
ofp8_status ofp8_e2m1_dequantize_block(uint8_t scale,
                                       const uint8_t *codes,
                                       size_t count,
                                       float *target);

/**
 * Looks for infinities and NaN before anything is quantized: writes the first, matrix by matrix
 * in row-major order, or that there is none.
 *
 * Statuses: OFP8_STRUCT_SIZE, OFP8_UNKNOWN_TYPE, OFP8_UNKNOWN_POLICY, OFP8_NULL_POINTER,
 * OFP8_MISALIGNED, OFP8_OVERLAP, OFP8_SHAPE.
 *
 * The caller guarantees:
 * As ofp8_quantize; first is null or points to memory for the result.
 */
ofp8_status ofp8_validate(const struct ofp8_shape *shape,
                          const void *source,
                          struct ofp8_not_finite *first);

/**
 * Compares a matrix with what was stored of it, dequantized to f32: rows dequantized_stride
 * elements apart (0 for cols), matrices of a batch without gaps between them. The order of the
 * sums is fixed: see the Rust documentation of Measure.
 *
 * Statuses: as ofp8_validate.
 *
 * The caller guarantees:
 * As ofp8_quantize; dequantized points to as many values as the shape spans with that
 * stride.
 */
ofp8_status ofp8_measure(const struct ofp8_shape *shape,
                         const void *source,
                         const float *dequantized,
                         size_t dequantized_stride,
                         struct ofp8_measured *measured);

/**
 * Adds the counts of two passes into the first. They stop at 2^64 - 1.
 *
 * Statuses: OFP8_NULL_POINTER, OFP8_MISALIGNED.
 *
 * The caller guarantees:
 * Each pointer is null or points to an initialised structure; they may be the same.
 */
ofp8_status ofp8_merge_stats(struct ofp8_stats *into, const struct ofp8_stats *other);

/**
 * Adds a second error, of another part, to the first. Sums are of f64: shards that are merged in the
 * same order give the same bits. The count stops at 2^64 - 1. All zero is a valid beginning.
 *
 * Statuses: OFP8_NULL_POINTER, OFP8_MISALIGNED.
 *
 * The caller guarantees:
 * Each pointer is null or points to an initialised structure; they may be the same.
 */
ofp8_status ofp8_merge_measured(struct ofp8_measured *into,
                                const struct ofp8_measured *other);

/**
 * Writes the number of scales in a buffer of this layout, padding included: of all grids, and
 * of one. Either pointer may be null if the result is not wanted.
 *
 * Statuses: those of a layout (OFP8_NULL_POINTER, OFP8_MISALIGNED, OFP8_STRUCT_SIZE,
 * OFP8_UNKNOWN_POLICY, OFP8_SHAPE: the size overflows or grids overlap); OFP8_OVERLAP.
 *
 * The caller guarantees:
 * layout is null or points to as many bytes as its struct_size says; size and grid_size
 * are null or point to memory for the results.
 */
ofp8_status ofp8_layout_size(const struct ofp8_layout *layout, size_t *size, size_t *grid_size);

/**
 * Writes the offset of the scale in row row and column col of the grid, counted in scales
 * from the beginning of its grid.
 *
 * Statuses: those of a layout; OFP8_SHAPE for a place outside the grid.
 *
 * The caller guarantees:
 * layout as in ofp8_layout_size; offset is null or points to memory for the result.
 */
ofp8_status ofp8_layout_index(const struct ofp8_layout *layout,
                              size_t row,
                              size_t col,
                              size_t *offset);

/**
 * Writes which scale lies at an offset from the beginning of a grid: its row and column, and 1;
 * or, for padding, three times 0.
 *
 * Statuses: those of a layout; OFP8_SHAPE for an offset beyond the grid; OFP8_OVERLAP.
 *
 * The caller guarantees:
 * layout as in ofp8_layout_size; row, col and is_scale are null or point to memory
 * for the results.
 */
ofp8_status ofp8_layout_inverse(const struct ofp8_layout *layout,
                                size_t offset,
                                size_t *row,
                                size_t *col,
                                uint32_t *is_scale);

/**
 * Converts scales of one byte (E8M0, UE4M3, ...) between any two layouts of the same rows,
 * columns and batches. All padding of the target is written zero.
 *
 * Statuses: those of a layout; OFP8_OVERLAP; OFP8_SHAPE where the two grids differ;
 * OFP8_LENGTH where a count is not what ofp8_layout_size says.
 *
 * The caller guarantees:
 * from and to as layout in ofp8_layout_size; source points to source_count scales,
 * target to memory for target_count.
 */
ofp8_status ofp8_convert_scales_u8(const struct ofp8_layout *from,
                                   const uint8_t *source,
                                   size_t source_count,
                                   const struct ofp8_layout *to,
                                   uint8_t *target,
                                   size_t target_count);

/**
 * Converts f32 scales; otherwise as ofp8_convert_scales_u8.
 *
 * The caller guarantees:
 * As ofp8_convert_scales_u8.
 */
ofp8_status ofp8_convert_scales_f32(const struct ofp8_layout *from,
                                    const float *source,
                                    size_t source_count,
                                    const struct ofp8_layout *to,
                                    float *target,
                                    size_t target_count);

/**
 * Converts f32 scales that are powers of two to E8M0 bytes: what DeepGEMM packs for SM100. NaN
 * (the scale of a poisoned block) becomes 0xFF; any other scale that E8M0 does not have is
 * refused, nothing is truncated. Otherwise as ofp8_convert_scales_u8.
 *
 * Statuses: as ofp8_convert_scales_u8, and OFP8_SCALE.
 *
 * The caller guarantees:
 * As ofp8_convert_scales_u8.
 */
ofp8_status ofp8_convert_scales_f32_to_e8m0(const struct ofp8_layout *from,
                                            const float *source,
                                            size_t source_count,
                                            const struct ofp8_layout *to,
                                            uint8_t *target,
                                            size_t target_count);

/**
 * Converts E8M0 bytes to the f32 that they stand for; otherwise as ofp8_convert_scales_u8.
 *
 * The caller guarantees:
 * As ofp8_convert_scales_u8.
 */
ofp8_status ofp8_convert_scales_e8m0_to_f32(const struct ofp8_layout *from,
                                            const uint8_t *source,
                                            size_t source_count,
                                            const struct ofp8_layout *to,
                                            float *target,
                                            size_t target_count);

/**
 * Writes the scales by which the recipe to dequantizes codes that were quantized by from, to the
 * same values, where the blocks of to are parts of those of from: each is the scale of the block
 * that it lies in. From 128 x 128 blocks to 1 x 128, from 1 x 128 to 1 x 32; from f32 to E8M0 where
 * every scale is a power of two that E8M0 has (NaN becomes 0xFF), and back. Both lie in the
 * scale_order of their recipes; their numbers are what ofp8_scale_count says.
 *
 * Statuses: those of a recipe; OFP8_RECIPE, too, for two element formats, for blocks that are not
 * parts of the others, and under two levels; OFP8_SCALE for a scale that to cannot store;
 * OFP8_LENGTH, OFP8_SHAPE, OFP8_NULL_POINTER, OFP8_MISALIGNED, OFP8_OVERLAP.
 *
 * The caller guarantees:
 * from and to as recipe in ofp8_scale_grid; source points to source_count scales of the
 * kind of from, target to memory for target_count of the kind of to.
 */
ofp8_status ofp8_expand_scales(const struct ofp8_recipe *from,
                               const struct ofp8_recipe *to,
                               size_t rows,
                               size_t cols,
                               const void *source,
                               size_t source_count,
                               void *target,
                               size_t target_count);

/**
 * Writes the bytes that the state of so many tensors takes: OFP8_DELAYED_SIZE, checked.
 *
 * Statuses: those of the rules (OFP8_NULL_POINTER, OFP8_MISALIGNED, OFP8_STRUCT_SIZE,
 * OFP8_UNKNOWN_POLICY, OFP8_RECIPE: no history); OFP8_SHAPE where the size overflows.
 *
 * The caller guarantees:
 * rules is null or points to as many bytes as its struct_size says; size is null or points
 * to memory for the result.
 */
ofp8_status ofp8_delayed_size(const struct ofp8_delayed *rules, size_t tensors, size_t *size);

/**
 * Makes memory a new state: no step, no history, amax 0 in use, for which an f32 scale is 1.
 *
 * Statuses: those of the rules; OFP8_SHAPE; OFP8_LENGTH where state_size is not what
 * ofp8_delayed_size says.
 *
 * The caller guarantees:
 * rules as in ofp8_delayed_size; state points to memory for state_size bytes.
 */
ofp8_status ofp8_delayed_init(const struct ofp8_delayed *rules,
                              size_t tensors,
                              void *state,
                              size_t state_size);

/**
 * Merges the amax that a pass over a tensor saw (as ofp8_amax writes it) into the tensor's
 * staging slot.
 *
 * Statuses: those of the rules; OFP8_STATE; OFP8_LENGTH for a state of another size or a
 * tensor that is not there.
 *
 * The caller guarantees:
 * rules as in ofp8_delayed_size; state points to state_size bytes of a state.
 */
ofp8_status ofp8_delayed_record(const struct ofp8_delayed *rules,
                                void *state,
                                size_t state_size,
                                size_t tensor,
                                uint32_t amax);

/**
 * Writes where the staging slots lie inside the state: one integer a tensor, whose maximum is
 * the merge (MPI_MAX on MPI_UINT32_T), in place.
 *
 * Statuses: as ofp8_delayed_amax.
 *
 * The caller guarantees:
 * As ofp8_delayed_amax; the pointer is good for as long as the state stays where it is.
 */
ofp8_status ofp8_delayed_staging(const struct ofp8_delayed *rules,
                                 void *state,
                                 size_t state_size,
                                 uint32_t **staging);

/**
 * Writes 1 if the next update does something (ranks reduce the staging slots then), else 0.
 *
 * Statuses: as ofp8_delayed_amax.
 *
 * The caller guarantees:
 * As ofp8_delayed_amax.
 */
ofp8_status ofp8_delayed_is_due(const struct ofp8_delayed *rules,
                                void *state,
                                size_t state_size,
                                uint32_t *is_due);

/**
 * Ends a step. If it was due: of each tensor with something staged, the history rolls and the
 * amax in use is chosen anew; the staging slots are emptied. An amax of 0 is as good as none: a tensor
 * of zeros leaves its history alone.
 *
 * Statuses: as ofp8_delayed_record.
 *
 * The caller guarantees:
 * As ofp8_delayed_record.
 */
ofp8_status ofp8_delayed_update(const struct ofp8_delayed *rules,
                                void *state,
                                size_t state_size);

/**
 * Writes the amax that a tensor is to be quantized with now, for ofp8_quantize and
 * ofp8_scale_from_amax; 0 before anything is known, NaN only under
 * OFP8_NON_FINITE_POISON.
 *
 * Statuses: those of the rules; OFP8_OVERLAP; OFP8_STATE; OFP8_LENGTH for a state of
 * another size or a tensor that is not there.
 *
 * The caller guarantees:
 * rules as in ofp8_delayed_size; state points to state_size bytes of a state; the last
 * pointer is null or points to memory for the result.
 */
ofp8_status ofp8_delayed_amax(const struct ofp8_delayed *rules,
                              void *state,
                              size_t state_size,
                              size_t tensor,
                              uint32_t *amax);

/**
 * Writes how many updates of a tensor met an infinity or a NaN, up to 2^32 - 1.
 *
 * Statuses: as ofp8_delayed_amax.
 *
 * The caller guarantees:
 * As ofp8_delayed_amax.
 */
ofp8_status ofp8_delayed_not_finite(const struct ofp8_delayed *rules,
                                    void *state,
                                    size_t state_size,
                                    size_t tensor,
                                    uint32_t *count);

/**
 * Writes the dot product of two operands of one vector each, of the same length.
 *
 * Statuses: OFP8_STRUCT_SIZE, OFP8_UNKNOWN_FORMAT, OFP8_UNKNOWN_POLICY, OFP8_RECIPE
 * (scales without a recipe, a format that is not for elements, or what a tensor core does not
 * take), OFP8_NULL_POINTER, OFP8_MISALIGNED, OFP8_OVERLAP, OFP8_SHAPE, OFP8_LENGTH (of
 * the scales).
 *
 * The caller guarantees:
 * Structures are null or as large as their struct_size, and what they point to is as large as
 * they say; result is null or points to memory for the result.
 */
ofp8_status ofp8_dot(const struct ofp8_operand *a,
                     const struct ofp8_operand *b,
                     const struct ofp8_order *order,
                     float *result);

/**
 * Writes the product of two operands: entry (i, j) is the sum over k of a[i][k] * b[j][k],
 * scales included, for each vector i of a and j of b. Rows of c are stride elements
 * apart, 0 for as many as b has vectors.
 *
 * Statuses: as ofp8_dot.
 *
 * The caller guarantees:
 * As ofp8_dot; c points to memory for the entries.
 */
ofp8_status ofp8_gemm(const struct ofp8_operand *a,
                      const struct ofp8_operand *b,
                      const struct ofp8_order *order,
                      float *c,
                      size_t stride);

/**
 * ofp8_gemm, quantized by a recipe: the same codes, scales and counts as ofp8_quantize gives
 * for its result.
 *
 * workspace is room for f32 results: at least one row of the recipe's blocks (block_rows x
 * columns), or all of them where a block spans all rows or there is a scale for the tensor. What
 * is in it afterwards is not specified. Rows of codes are code_stride bytes apart, 0 for as
 * many as b has vectors. random is read for a stochastic rounding only; stats may be null.
 *
 * Statuses: as ofp8_dot and ofp8_quantize; OFP8_LENGTH, too, where the workspace is too
 * short.
 *
 * The caller guarantees:
 * As ofp8_dot and ofp8_quantize; workspace points to memory for workspace_len f32.
 */
ofp8_status ofp8_gemm_quantized(const struct ofp8_operand *a,
                                const struct ofp8_operand *b,
                                const struct ofp8_order *order,
                                const struct ofp8_recipe *recipe,
                                const struct ofp8_philox *random,
                                float *workspace,
                                size_t workspace_len,
                                uint8_t *codes,
                                size_t code_stride,
                                void *scales,
                                size_t scale_count,
                                float *tensor_scale,
                                struct ofp8_stats *stats);

/**
 * Writes what one tensor-core instruction gives for 32 products and an accumulator c: a and
 * b point to 32 codes each. a_scale and b_scale are E8M0 codes, 0x7F (1) for a model that
 * takes no scales. NaN is 0x7FFFFFFF. An f16 accumulator travels as the f32 of the same value; a
 * c that it cannot hold is first rounded to nearest-even.
 *
 * Statuses: OFP8_UNKNOWN_POLICY (the model), OFP8_UNKNOWN_FORMAT, OFP8_RECIPE (formats or
 * scales that the instruction does not take), OFP8_NULL_POINTER, OFP8_MISALIGNED,
 * OFP8_OVERLAP.
 *
 * The caller guarantees:
 * a and b are null or point to 32 codes, d to memory for the result.
 */
ofp8_status ofp8_mma(uint32_t model,
                     uint32_t a_format,
                     const uint8_t *a,
                     uint32_t b_format,
                     const uint8_t *b,
                     uint8_t a_scale,
                     uint8_t b_scale,
                     float c,
                     float *d);

/**
 * Adds the dot product of two vectors, scales included, to an exact sum.
 *
 * Statuses: as ofp8_dot; OFP8_SCALE where a scale is neither a power of two nor NaN.
 *
 * The caller guarantees:
 * As ofp8_dot; sum is null or points to an initialised structure.
 */
ofp8_status ofp8_accumulate_exact(struct ofp8_exact_sum *sum,
                                  const struct ofp8_operand *a,
                                  const struct ofp8_operand *b);

/**
 * Adds one exact sum to another.
 *
 * Statuses: OFP8_NULL_POINTER, OFP8_MISALIGNED.
 *
 * The caller guarantees:
 * Each pointer is null or points to an initialised structure; they may be the same.
 */
ofp8_status ofp8_merge_exact(struct ofp8_exact_sum *into, const struct ofp8_exact_sum *other);

/**
 * Writes an exact sum, rounded once to nearest-even.
 *
 * Statuses: OFP8_NULL_POINTER, OFP8_MISALIGNED, OFP8_OVERLAP.
 *
 * The caller guarantees:
 * sum is null or points to an initialised structure, result to memory for the result.
 */
ofp8_status ofp8_exact_to_f32(const struct ofp8_exact_sum *sum, float *result);

/**
 * Adds a micro-batch: sum += scale * source, the product rounded to f32, then the sum.
 * wide_type is OFP8_F32, OFP8_F16 or OFP8_BF16; rows of source are stride elements
 * apart, 0 for cols.
 *
 * Statuses: OFP8_STRUCT_SIZE, OFP8_UNKNOWN_TYPE, OFP8_NULL_POINTER, OFP8_MISALIGNED,
 * OFP8_OVERLAP, OFP8_SHAPE.
 *
 * The caller guarantees:
 * gradient is null or points to a structure whose buffers are as large as it says; source
 * points to as many values as the gradient's shape spans.
 */
ofp8_status ofp8_accumulate_gradient(struct ofp8_gradient *gradient,
                                     uint32_t wide_type,
                                     const void *source,
                                     size_t stride,
                                     float scale);

/**
 * Adds a micro-batch that was quantized by a recipe: sum += scale * decode(code). Rows of
 * codes are code_stride bytes apart, 0 for cols; scales as ofp8_dequantize takes them.
 *
 * Statuses: those of a recipe; OFP8_NULL_POINTER, OFP8_MISALIGNED, OFP8_OVERLAP,
 * OFP8_SHAPE, OFP8_LENGTH (of the scales).
 *
 * The caller guarantees:
 * As ofp8_accumulate_gradient and ofp8_dequantize.
 */
ofp8_status ofp8_accumulate_gradient_codes(struct ofp8_gradient *gradient,
                                           const struct ofp8_recipe *recipe,
                                           const uint8_t *codes,
                                           size_t code_stride,
                                           const void *scales,
                                           size_t scale_count,
                                           const float *tensor_scale);

/**
 * Adds all of another gradient of the same shape, and its count.
 *
 * Statuses: OFP8_STRUCT_SIZE, OFP8_NULL_POINTER, OFP8_MISALIGNED, OFP8_OVERLAP,
 * OFP8_SHAPE.
 *
 * The caller guarantees:
 * As ofp8_accumulate_gradient, for both.
 */
ofp8_status ofp8_merge_gradient(struct ofp8_gradient *into, struct ofp8_gradient *other);

/**
 * Divides the sum by the count: one f32 addition of what was lost, one division. The gradient
 * then counts as one micro-batch; an empty one stays as it is.
 *
 * Statuses: OFP8_STRUCT_SIZE, OFP8_NULL_POINTER, OFP8_MISALIGNED, OFP8_OVERLAP,
 * OFP8_SHAPE.
 *
 * The caller guarantees:
 * As ofp8_accumulate_gradient.
 */
ofp8_status ofp8_average_gradient(struct ofp8_gradient *gradient);

/**
 * Averages as ofp8_average_gradient and quantizes by a recipe. Rows of codes are
 * code_stride bytes apart, 0 for cols. random is read for a stochastic rounding only;
 * stats may be null.
 *
 * Statuses: as ofp8_average_gradient and ofp8_quantize.
 *
 * The caller guarantees:
 * As ofp8_accumulate_gradient and ofp8_quantize.
 */
ofp8_status ofp8_quantize_gradient(struct ofp8_gradient *gradient,
                                   const struct ofp8_recipe *recipe,
                                   const struct ofp8_philox *random,
                                   uint8_t *codes,
                                   size_t code_stride,
                                   void *scales,
                                   size_t scale_count,
                                   float *tensor_scale,
                                   struct ofp8_stats *stats);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* OFP8_H */

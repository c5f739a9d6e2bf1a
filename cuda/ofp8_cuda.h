/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * ofp8 on CUDA devices, for C: launchers of the kernels in ofp8_quantize.cuh. C99 and later, C++11 and later.
 *
 * Compile ofp8_cuda.cu with your nvcc, for your architectures, and link it with libofp8 (which checks the recipes):
 *
 *     nvcc -std=c++17 -arch=sm_90a -I include -I cuda -c cuda/ofp8_cuda.cu
 *
 * The structures are those of ofp8.h; so are their checks and statuses. Structures lie in host memory and are read
 * before the call returns; every other pointer is to device memory. Work is put on the stream and nothing more: no
 * synchronisation, no allocation, so that calls can be captured in a graph. The bits are those of ofp8_quantize and its
 * like on the host.
 *
 * Elements: OFP8_E4M3 and OFP8_E5M2. Wide types: OFP8_F32, OFP8_F16, OFP8_BF16. A format, type or block shape that has
 * no kernel gives OFP8_UNKNOWN_FORMAT, OFP8_UNKNOWN_TYPE or OFP8_RECIPE. Rows and columns must be below 2^31 where
 * there is a scale a block (OFP8_SHAPE).
 */
#ifndef OFP8_CUDA_H
#define OFP8_CUDA_H

#include "ofp8.h"

/* A launch failed: cudaPeekAtLastError() says why. (Beside the statuses of ofp8.h.) */
#define OFP8_CUDA_FAILED 1000u

/* Where scales lie; rows x cols scales, padding filled with zero. */
#define OFP8_CUDA_ROW_MAJOR 0u        /* without gaps */
#define OFP8_CUDA_TILES_128X4 1u      /* 512-byte tiles of Blackwell's block-scaled tensor cores */
#define OFP8_CUDA_ROW_MAJOR_PADDED 2u /* rows padded to 4 (cuBLAS BLK128x128_32F) */
#define OFP8_CUDA_MN_MAJOR_PADDED 3u  /* transposed, padded to 4 (cuBLAS VEC128_32F, DeepGEMM) */
#define OFP8_CUDA_PACKED_E8M0 4u      /* DeepGEMM's 32-bit words of four bytes */
#define OFP8_CUDA_AMD_PRE_SWIZZLE 5u  /* gfx950 */

#ifdef __cplusplus
extern "C" {
#endif

/* A cudaStream_t. Null: the default stream. */
typedef struct CUstream_st *ofp8_cuda_stream;

/* One quantized copy of a matrix. Set struct_size, codes and scales; the rest may stay zero. */
typedef struct ofp8_cuda_copy {
    size_t struct_size; /* sizeof(ofp8_cuda_copy) */
    uint8_t *codes;     /* device; rows are shape.code_stride bytes apart */
    void *scales;       /* device; f32, or bytes for OFP8_SCALING_E8M0; ofp8_cuda_scale_count of them */
    uint32_t layout;    /* OFP8_CUDA_ROW_MAJOR (0) and the others; of a single scale it must be 0 */
    uint32_t reserved;  /* must be 0 */
    ofp8_philox random; /* of a stochastic cast; a stream of its own for each copy */
    ofp8_stats *stats;  /* device, or null; statistics are merged into it: begin with ofp8_cuda_reset_stats */
} ofp8_cuda_copy;

/* Writes how many scales a matrix of rows x cols has in a layout, padding included. For the columnwise copy (blocks of
 * 32x1) in any layout but OFP8_CUDA_ROW_MAJOR, whose outer index is the column, set by_column to 1. */
ofp8_status ofp8_cuda_scale_count(const ofp8_recipe *recipe, size_t rows, size_t cols, uint32_t layout,
                                  uint32_t by_column, size_t *count);

/* Sets statistics to those of nothing. */
ofp8_status ofp8_cuda_reset_stats(ofp8_stats *stats, ofp8_cuda_stream stream);

/* Merges the amax of a matrix into *amax (see ofp8_amax); set that to 0 before the first. special: OFP8_SPECIAL_IGNORE
 * leaves infinities and NaN out. */
ofp8_status ofp8_cuda_amax(const ofp8_shape *shape, const void *source, uint32_t special, uint32_t *amax,
                           ofp8_cuda_stream stream);

/* Encodes a matrix under a given scale: element * *quantize_scale (null: 1), then the cast. amax and stats may be null;
 * otherwise what the source holds is merged into them, for delayed scaling. random may be null where the cast is not
 * stochastic. */
ofp8_status ofp8_cuda_cast(uint32_t format, const ofp8_cast *cast, const ofp8_philox *random, const ofp8_shape *shape,
                           const void *source, const float *quantize_scale, uint8_t *codes, uint32_t *amax,
                           ofp8_stats *stats, ofp8_cuda_stream stream);

/* Quantizes a matrix by a recipe. Block shapes:
 *   0 x 0      one scale (scaling OFP8_SCALING_F32 or POWER_OF_TWO), two passes; amax is scratch, and the amax after;
 *   1 x 32     E8M0 scales (MX), one read for `row`, `column` (blocks of 32x1, not transposed) or both;
 *   1 x 128    any scaling;
 *   128 x 128  any scaling.
 * column must be null except for 1 x 32; amax must be null except for 0 x 0. */
ofp8_status ofp8_cuda_quantize(const ofp8_recipe *recipe, const ofp8_shape *shape, const void *source,
                               const ofp8_cuda_copy *row, const ofp8_cuda_copy *column, uint32_t *amax,
                               ofp8_cuda_stream stream);

/* NVFP4: E2M1 in blocks of 1x16, UE4M3 scale bytes, one f32 for the tensor that follows from *tensor_amax. Codes lie two
 * to a byte, the first in the low half; shape.code_stride is in bytes, 0 for half of cols, rounded up. A value is
 * decode(code) * decode(scale) * *tensor_dequantize. tensor_dequantize may be null. */
ofp8_status ofp8_cuda_quantize_nvfp4(const ofp8_shape *shape, const void *source, const uint32_t *tensor_amax,
                                     uint8_t *codes, uint8_t *scales, uint32_t layout, float *tensor_dequantize,
                                     ofp8_cuda_stream stream);

/* Multiplies every code by the scale of its block, of any shape; shape says the type and stride of the target. */
ofp8_status ofp8_cuda_dequantize(const ofp8_recipe *recipe, const ofp8_shape *shape, const uint8_t *codes,
                                 const void *scales, uint32_t layout, void *target, ofp8_cuda_stream stream);

/* Delayed scaling: the next scales of count tensors in one launch. history is length x count amaxes, row 0 the staging
 * row into which the casts of a step merge theirs. A tensor whose staging entry is 0 keeps its history. Entries that are
 * not finite are left out and counted into not_finite (null, or count integers). most_recent: 0 takes the largest entry,
 * 1 the last. quantize_scale is read (the previous scales) and written, dequantize_scale written. */
ofp8_status ofp8_cuda_update_scales(uint32_t format, uint32_t *history, size_t length, size_t count,
                                    uint32_t most_recent, int32_t margin, float *quantize_scale,
                                    float *dequantize_scale, uint32_t *not_finite, ofp8_cuda_stream stream);

#ifdef __cplusplus
}
#endif

#endif /* OFP8_CUDA_H */

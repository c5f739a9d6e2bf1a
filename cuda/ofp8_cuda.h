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
 * there is a scale a block, and there are no batches and no shards (OFP8_SHAPE). Overlap is not checked.
 */
#ifndef OFP8_CUDA_H
#define OFP8_CUDA_H

#include "ofp8.h"

/* A launch failed: cudaPeekAtLastError() says why. (Beside the statuses of ofp8.h.) */
#define OFP8_CUDA_FAILED 1000u

#ifdef __cplusplus
extern "C" {
#endif

/* A cudaStream_t. Null: the default stream. */
typedef struct CUstream_st *ofp8_cuda_stream;

/* One quantized copy of a matrix. Set struct_size, codes and scales; the rest may stay zero. */
typedef struct ofp8_cuda_copy {
    size_t struct_size; /* sizeof(ofp8_cuda_copy) */
    uint8_t *codes;     /* device; rows are shape.code_stride bytes apart */
    void *scales;       /* device; f32, or bytes for OFP8_SCALING_E8M0; ofp8_layout_size of them */
    uint32_t order;     /* OFP8_LAYOUT_...; 0: the recipe's scale_order. A single scale has OFP8_LAYOUT_ROW_MAJOR */
    uint32_t reserved;  /* must be 0 */
    ofp8_philox random; /* of a stochastic cast; a stream of its own for each copy */
    ofp8_stats *stats;  /* device, or null; statistics are merged into it: begin with ofp8_cuda_reset_stats or zeros */
} ofp8_cuda_copy;

/* Sets statistics to those of nothing. */
ofp8_status ofp8_cuda_reset_stats(ofp8_stats *stats, ofp8_cuda_stream stream);

/* Merges the amax of a matrix into *amax (see ofp8_amax); set that to 0 before the first. special: OFP8_SPECIAL_IGNORE
 * leaves infinities and NaN out. */
ofp8_status ofp8_cuda_amax(const ofp8_shape *shape, const void *source, uint32_t special, uint32_t *amax,
                           ofp8_cuda_stream stream);

/* Encodes a matrix under a given scale: element * *quantize_scale (positive; null: 1), then the cast. amax and stats may
 * be null; otherwise what the source holds is merged into them, for delayed scaling. random may be null where the cast
 * is not stochastic. */
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
                                     uint8_t *codes, uint8_t *scales, uint32_t order, float *tensor_dequantize,
                                     ofp8_cuda_stream stream);

/* Multiplies every code by the scale of its block, of any shape; shape says the type and stride of the target. order: as
 * that of a copy. */
ofp8_status ofp8_cuda_dequantize(const ofp8_recipe *recipe, const ofp8_shape *shape, const uint8_t *codes,
                                 const void *scales, uint32_t order, void *target, ofp8_cuda_stream stream);

/* Delayed scaling: ends a step of all tensors in one launch, as ofp8_delayed_update does, and writes the scales of the
 * next one. words is the state of ofp8_delayed_init without its first 8 words, copied to the device; its first `tensors`
 * words are the staging slots, into which the casts of a step merge their amax (and ranks theirs, by integer maximum).
 * The header counts steps, which is the host's business: call this in the steps that are due. Calibration
 * (rules.calibration) must be 0.
 *
 * recipe gives the element, margin and bounds; its scaling must be one by which elements are multiplied
 * (OFP8_SCALING_F32 with OFP8_CONVENTION_TRANSFORMER_ENGINE, or OFP8_SCALING_POWER_OF_TWO). Either of the scales may be
 * null. */
ofp8_status ofp8_cuda_update_scales(const ofp8_delayed *rules, const ofp8_recipe *recipe, uint32_t *words,
                                    size_t tensors, float *quantize_scale, float *dequantize_scale,
                                    ofp8_cuda_stream stream);

#ifdef __cplusplus
}
#endif

#endif /* OFP8_CUDA_H */

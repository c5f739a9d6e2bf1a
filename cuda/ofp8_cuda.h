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
 * Elements: OFP8_E4M3 and OFP8_E5M2; for MX, and back, also OFP8_E2M1, OFP8_E2M3 and OFP8_E3M2, one code a byte. Wide
 * types: OFP8_F32, OFP8_F16, OFP8_BF16. A matrix has at most 2^41 elements and, with a scale a block, at most 2^30 rows
 * and as many columns; there are no batches and no shards (OFP8_SHAPE). Stochastic casts have at most 16 random bits
 * (OFP8_RANDOM_BITS). A matrix without elements may have null pointers to them, and gives what it gives on the host.
 * Overlap is not checked.
 *
 * "Those of a shape" are OFP8_NULL_POINTER, OFP8_MISALIGNED (a structure, elements, a scale, an amax or statistics at
 * an address that their type may not have), OFP8_STRUCT_SIZE, OFP8_UNKNOWN_TYPE (also of a type without a kernel) and
 * OFP8_SHAPE (a stride shorter than a row, a matrix too large, a batch, a shard). "Those of a recipe" are
 * OFP8_UNKNOWN_FORMAT (also of an element without a kernel), OFP8_UNKNOWN_POLICY and OFP8_RECIPE (also of
 * OFP8_SCALING_TWO_LEVEL, and of what a function says). Every function may return OFP8_CUDA_FAILED; on any other error
 * nothing is written.
 */
#ifndef OFP8_CUDA_H
#define OFP8_CUDA_H

#include "ofp8.h"

/* A launch failed: cudaPeekAtLastError() says why. (Beside the statuses of ofp8.h, whose ofp8_status_text does not know
 * it: ofp8_cuda_status_text does.) */
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
    void *scales;       /* device; f32, or bytes for OFP8_SCALING_E8M0; ofp8_layout_size of them; at a multiple of 16
                           bytes for OFP8_LAYOUT_TILE_128X4, which is how tensor cores read them */
    uint32_t order;     /* OFP8_LAYOUT_...; 0: the recipe's scale_order. A single scale has OFP8_LAYOUT_ROW_MAJOR */
    uint32_t reserved;  /* must be 0 */
    ofp8_philox random; /* of a stochastic cast; a stream of its own for each copy */
    ofp8_stats *stats;  /* device, or null; statistics are merged into it: begin with ofp8_cuda_reset_stats or zeros */
} ofp8_cuda_copy;

/* A static text for a status, OFP8_CUDA_FAILED too. */
const char *ofp8_cuda_status_text(uint32_t status);

/* Sets statistics to those of nothing.
 *
 * Statuses: OFP8_NULL_POINTER, OFP8_MISALIGNED. */
ofp8_status ofp8_cuda_reset_stats(ofp8_stats *stats, ofp8_cuda_stream stream);

/* Merges the amax of a matrix into *amax (see ofp8_amax); set that to 0 before the first. special: OFP8_SPECIAL_IGNORE
 * leaves infinities and NaN out.
 *
 * Statuses: those of a shape; OFP8_UNKNOWN_POLICY of special. */
ofp8_status ofp8_cuda_amax(const ofp8_shape *shape, const void *source, uint32_t special, uint32_t *amax,
                           ofp8_cuda_stream stream);

/* The same for NVFP4: of the blocks of 1x16 that hold no infinity and no NaN, as ofp8_quantize finds the amax of a
 * tensor by itself. (The others are poisoned, and say nothing of the rest.)
 *
 * Statuses: those of a shape. */
ofp8_status ofp8_cuda_amax_nvfp4(const ofp8_shape *shape, const void *source, uint32_t *amax, ofp8_cuda_stream stream);

/* Encodes a matrix under a given scale: element * *quantize_scale (positive, on the device; null: 1), then the cast.
 * amax and stats may be null; otherwise what the source holds is merged into them, for delayed scaling. random may be
 * null where the cast is not stochastic; cast may be null for the default one.
 *
 * Statuses: those of a shape; OFP8_UNKNOWN_FORMAT (also of one without a kernel), OFP8_UNKNOWN_POLICY,
 * OFP8_RANDOM_BITS. */
ofp8_status ofp8_cuda_cast(uint32_t format, const ofp8_cast *cast, const ofp8_philox *random, const ofp8_shape *shape,
                           const void *source, const float *quantize_scale, uint8_t *codes, uint32_t *amax,
                           ofp8_stats *stats, ofp8_cuda_stream stream);

/* Quantizes a matrix by a recipe. Block shapes:
 *   0 x 0      one scale (scaling OFP8_SCALING_F32 or POWER_OF_TWO), two passes; amax is scratch, and the amax after;
 *   1 x 32     E8M0 scales (MX), one read for `row`, `column` (blocks of 32x1, not transposed) or both;
 *   1 x 128    any scaling;
 *   128 x 128  any scaling.
 * column must be null except for 1 x 32; amax must be null except for 0 x 0.
 *
 * Statuses: those of a shape and of a recipe (OFP8_RECIPE also of another block shape and of OFP8_EXPONENT_LEAST_ERROR,
 * which has no kernel); OFP8_NULL_POINTER, OFP8_MISALIGNED, OFP8_STRUCT_SIZE and OFP8_UNKNOWN_POLICY of a copy;
 * OFP8_RANDOM_BITS. */
ofp8_status ofp8_cuda_quantize(const ofp8_recipe *recipe, const ofp8_shape *shape, const void *source,
                               const ofp8_cuda_copy *row, const ofp8_cuda_copy *column, uint32_t *amax,
                               ofp8_cuda_stream stream);

/* NVFP4: E2M1 in blocks of 1x16, UE4M3 scale bytes, one f32 for the tensor that follows from *tensor_amax:
 * ofp8_cuda_amax_nvfp4 gives the bits of ofp8_quantize; one that is not finite poisons the whole tensor, as a
 * recipe.tensor_amax does. The cast is the default one, blocks with an infinity or a NaN are poisoned. Codes lie two to
 * a byte, the first in the low half; shape.code_stride is in bytes, 0 for half of cols, rounded up. Scales in 128x4
 * tiles begin at a multiple of 16 bytes. A value is decode(code) * (decode(scale) * *tensor_dequantize).
 * tensor_dequantize may be null; of a matrix without elements it is written, too.
 *
 * Statuses: those of a shape; OFP8_UNKNOWN_POLICY of order. */
ofp8_status ofp8_cuda_quantize_nvfp4(const ofp8_shape *shape, const void *source, const uint32_t *tensor_amax,
                                     uint8_t *codes, uint8_t *scales, uint32_t order, float *tensor_dequantize,
                                     ofp8_cuda_stream stream);

/* Multiplies every code by the scale of its block, of any shape; shape says the type and stride of the target. Of the
 * recipe it takes the element, the block, the scaling and the order; order: as that of a copy.
 *
 * Statuses: those of a shape and of a recipe; OFP8_UNKNOWN_POLICY of order. */
ofp8_status ofp8_cuda_dequantize(const ofp8_recipe *recipe, const ofp8_shape *shape, const uint8_t *codes,
                                 const void *scales, uint32_t order, void *target, ofp8_cuda_stream stream);

/* Back from NVFP4, as ofp8_cuda_quantize_nvfp4 writes it; shape says the type and stride of the target, and code_stride
 * is in bytes.
 *
 * Statuses: those of a shape; OFP8_UNKNOWN_POLICY of order. */
ofp8_status ofp8_cuda_dequantize_nvfp4(const ofp8_shape *shape, const uint8_t *codes, const uint8_t *scales,
                                       uint32_t order, const float *tensor_dequantize, void *target,
                                       ofp8_cuda_stream stream);

/* Delayed scaling: ends a step of all tensors in one launch, as ofp8_delayed_update does, and writes the scales of the
 * next one. words is the state of ofp8_delayed_init without its first 8 words, copied to the device; its first `tensors`
 * words are the staging slots, into which the casts of a step merge their amax (and ranks theirs, by integer maximum).
 * The header counts steps, which is the host's business: call this in the steps that are due. Calibration
 * (rules.calibration) must be 0.
 *
 * recipe gives the element, margin and bounds; its scaling must be one by which elements are multiplied
 * (OFP8_SCALING_F32 with OFP8_CONVENTION_TRANSFORMER_ENGINE, or OFP8_SCALING_POWER_OF_TWO). Either of the scales may be
 * null.
 *
 * Statuses: those of ofp8_delayed_size and of a recipe (OFP8_RECIPE also of another scaling, and of calibration);
 * OFP8_NULL_POINTER, OFP8_MISALIGNED. */
ofp8_status ofp8_cuda_update_scales(const ofp8_delayed *rules, const ofp8_recipe *recipe, uint32_t *words,
                                    size_t tensors, float *quantize_scale, float *dequantize_scale,
                                    ofp8_cuda_stream stream);

#ifdef __cplusplus
}
#endif

#endif /* OFP8_CUDA_H */

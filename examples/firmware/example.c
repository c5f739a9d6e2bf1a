/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Thirty-two readings as one MXFP8 block: 33 bytes instead of 128. No allocator, no C library; a
 * board's start-up code calls main, which returns 0 where all comes back as near as it should.
 */
#include "ofp8.h"

enum { COUNT = 32 };

static float readings[COUNT], back[COUNT];
static uint8_t codes[COUNT], scale;

static const ofp8_recipe mxfp8 = {.struct_size = sizeof mxfp8,
                                  .block_rows = 1,
                                  .block_cols = 32,
                                  .element = OFP8_E4M3,
                                  .scaling = OFP8_SCALING_E8M0};
static const ofp8_shape shape = {
    .struct_size = sizeof shape, .rows = 1, .cols = COUNT, .wide_type = OFP8_F32};

int main(void)
{
    for (int i = 0; i < COUNT; ++i) {
        readings[i] = 20.0f + 0.37f * (float)i;
    }
    if (ofp8_quantize(&mxfp8, &shape, NULL, readings, NULL, codes, &scale, 1, NULL, NULL) != OFP8_OK
        || ofp8_dequantize(&mxfp8, &shape, codes, &scale, 1, NULL, back) != OFP8_OK) {
        return 1;
    }
    for (int i = 0; i < COUNT; ++i) {
        const float error = readings[i] - back[i];
        if (error > readings[i] / 16 || -error > readings[i] / 16) {
            return 1; /* E4M3 keeps four significant bits: the error is at most 1/16 of a reading. */
        }
    }
    return 0;
}

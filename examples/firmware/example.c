/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Thirty-two readings as one MXFP8 block: 33 bytes instead of 128. No allocator, no C library; a
 * board's start-up code calls main, which returns 0 where all comes back as near as it should.
 */
#include "ofp8.h"

enum { COUNT = 32 };

static float readings[COUNT], back[COUNT];
static uint8_t codes[COUNT], scale;

int main(void)
{
    for (int i = 0; i < COUNT; ++i) {
        readings[i] = 20.0f + 0.37f * (float)i;
    }
    if (ofp8_e4m3_quantize_block(OFP8_EXPONENT_ROUND_UP, readings, COUNT, codes, &scale) != OFP8_OK
        || ofp8_e4m3_dequantize_block(scale, codes, COUNT, back) != OFP8_OK) {
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

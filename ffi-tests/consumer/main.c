/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Quantizes a matrix to MXFP8 and back, and says how far off it is. */
#include <ofp8.h>
#include <stdio.h>

enum { ROWS = 8, COLS = 96, BLOCKS = ROWS * 3 };

static int failed(const char *what, ofp8_status status)
{
    fprintf(stderr, "%s: %s\n", what, ofp8_status_text((uint32_t)status));
    return 1;
}

int main(void)
{
    float weights[ROWS * COLS], back[ROWS * COLS], worst = 0;
    uint8_t codes[ROWS * COLS], scales[BLOCKS];
    const ofp8_recipe recipe = {.struct_size = sizeof recipe,
                                .block_rows = 1,
                                .block_cols = 32,
                                .element = OFP8_E4M3,
                                .scaling = OFP8_SCALING_E8M0};
    const ofp8_shape shape = {.struct_size = sizeof shape, .rows = ROWS, .cols = COLS, .wide_type = OFP8_F32};
    ofp8_stats stats;
    ofp8_status status;
    int i;

    if (ofp8_abi_version() != OFP8_ABI_VERSION) {
        fprintf(stderr, "ofp8.h is of ABI %u, the library of ABI %u\n", (unsigned)OFP8_ABI_VERSION,
                (unsigned)ofp8_abi_version());
        return 1;
    }
    for (i = 0; i < ROWS * COLS; ++i) {
        weights[i] = (float)(i % 37 - 18) / 64.0f;
    }
    status = ofp8_quantize(&recipe, &shape, NULL, weights, NULL, codes, scales, BLOCKS, NULL, &stats);
    if (status != OFP8_OK) {
        return failed("ofp8_quantize", status);
    }
    status = ofp8_dequantize(&recipe, &shape, codes, scales, BLOCKS, NULL, back);
    if (status != OFP8_OK) {
        return failed("ofp8_dequantize", status);
    }
    for (i = 0; i < ROWS * COLS; ++i) {
        const float error = weights[i] < back[i] ? back[i] - weights[i] : weights[i] - back[i];
        worst = error > worst ? error : worst;
    }
    printf("ofp8 %s, kernel %s: %u values, off by at most %g\n", ofp8_version(),
           ofp8_kernel_name(ofp8_current_kernel()), (unsigned)stats.count, (double)worst);
    /* Half of the distance between codes in the top binade of a block whose largest value is below 1/2. */
    return stats.count == ROWS * COLS && stats.saturated == 0 && worst > 0 && worst <= 1.0f / 64 ? 0 : 1;
}

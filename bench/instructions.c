/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * One piece of work of a kernel, once, for bench/instructions.sh to count the instructions of:
 *
 *     instructions KERNEL WORK FORMAT TYPE COUNT
 *
 * with the numbers of ofp8.h; WORK is encode, decode, amax, quantize or dequantize (the last two in
 * groups of 32 with E8M0 scales).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ofp8.h"

enum { MOST = 1 << 16, GROUP = 32 };

static uint32_t source[MOST], target[MOST];
static uint8_t codes[MOST], scales[MOST / GROUP];

/* Numbers of either sign between 2^-4 and 2^4, in the bits of their type. */
static void fill(uint32_t type)
{
    uint16_t *halves = (uint16_t *)source;
    uint32_t state = 1;
    for (int i = 0; i < MOST; ++i) {
        state = state * 1664525u + 1013904223u;
        uint32_t sign = state & 1u << 31, exponent = state >> 28 & 7, rest = state & 0x7FFFFF;
        switch (type) {
        case OFP8_F32:
            source[i] = sign | (123 + exponent) << 23 | rest;
            break;
        case OFP8_BF16:
            halves[i] = (uint16_t)(sign >> 16 | (123 + exponent) << 7 | rest >> 16);
            break;
        default:
            halves[i] = (uint16_t)(sign >> 16 | (11 + exponent) << 10 | rest >> 13);
        }
        codes[i] = (uint8_t)(state >> 24) & 0xF7;
    }
    memset(scales, 127, sizeof scales);
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        return 2;
    }
    uint32_t kernel = (uint32_t)atoi(argv[1]), format = (uint32_t)atoi(argv[3]), type = (uint32_t)atoi(argv[4]);
    size_t count = (size_t)atoi(argv[5]);
    uint32_t amax;
    ofp8_recipe recipe = {.struct_size = sizeof recipe, .element = format, .block_rows = 1, .block_cols = GROUP,
                          .scaling = OFP8_SCALING_E8M0};
    ofp8_shape shape = {.struct_size = sizeof shape, .rows = 1, .cols = count, .wide_type = type};
    if (count > MOST || ofp8_force_kernel(kernel) != OFP8_OK) {
        return 2;
    }
    fill(type);
    switch (argv[2][0]) {
    case 'e':
        return (int)ofp8_encode(format, NULL, NULL, type, source, count, codes);
    case 'a':
        return (int)ofp8_amax(type, source, count, &amax);
    case 'q':
        return (int)ofp8_quantize(&recipe, &shape, NULL, source, NULL, codes, scales, count / GROUP, NULL, NULL);
    default:
        if (strcmp(argv[2], "decode") == 0) {
            return (int)ofp8_decode(format, codes, count, type, target);
        }
        return (int)ofp8_dequantize(&recipe, &shape, codes, scales, count / GROUP, NULL, target);
    }
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Everything once, from C99 (and, compiled as such, C++11): known answers. */
#include <math.h>
#include <stdlib.h>

#include "check.h"

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void versions(void)
{
    CHECK(ofp8_abi_version() == OFP8_ABI_VERSION);
    CHECK(strlen(ofp8_version()) >= 5);
    for (uint32_t status = 0; status <= 16; ++status) {
        CHECK(strcmp(ofp8_status_text(status), ofp8_status_text(9999)) != 0);
    }
}

/* Every kernel that this machine has gives the same bytes. */
static void kernels(void)
{
    float source[100];
    uint8_t codes[100], others[100];
    for (int i = 0; i < 100; ++i) {
        source[i] = ldexpf((float)(i - 50), i % 13 - 6);
    }
    const uint32_t detected = ofp8_current_kernel();
    CHECK(detected >= OFP8_KERNEL_PORTABLE && detected <= OFP8_KERNEL_NEON);
    CHECK(strcmp(ofp8_kernel_name(detected), "unknown") != 0);
    CHECK(strcmp(ofp8_kernel_name(99), "unknown") == 0);
    CHECK(ofp8_encode(OFP8_E4M3, NULL, NULL, OFP8_F32, source, 100, codes) == OFP8_OK);
    for (uint32_t kernel = OFP8_KERNEL_PORTABLE; kernel <= OFP8_KERNEL_NEON; ++kernel) {
        const uint32_t before = ofp8_current_kernel();
        const ofp8_status status = ofp8_force_kernel(kernel);
        CHECK(status == OFP8_OK || status == OFP8_KERNEL);
        CHECK(ofp8_current_kernel() == (status == OFP8_OK ? kernel : before));
        CHECK(ofp8_encode(OFP8_E4M3, NULL, NULL, OFP8_F32, source, 100, others) == OFP8_OK);
        CHECK(memcmp(codes, others, 100) == 0);
    }
    CHECK(ofp8_force_kernel(99) == OFP8_UNKNOWN_POLICY);
    CHECK(ofp8_force_kernel(OFP8_KERNEL_DETECT) == OFP8_OK);
    CHECK(ofp8_current_kernel() == detected);
}

static void format_info(void)
{
    ofp8_format_info info;
    CHECK(ofp8_get_format_info(OFP8_E4M3, &info) == OFP8_OK);
    CHECK(info.bits == 8 && info.exponent_bits == 4 && info.mantissa_bits == 3 && info.bias == 7);
    CHECK(info.is_signed == 1 && info.has_nan == 1 && info.has_infinity == 0);
    CHECK(info.nan_code == 0x7F && info.max_code == 0x7E && info.max_value == 448.0f);
    CHECK(info.min_normal == ldexpf(1.0f, -6) && info.min_positive == ldexpf(1.0f, -9));
    CHECK(ofp8_get_format_info(OFP8_E5M2, &info) == OFP8_OK);
    CHECK(info.infinity_code == 0x7C && info.max_value == 57344.0f);
    CHECK(ofp8_get_format_info(OFP8_E8M0, &info) == OFP8_OK);
    CHECK(info.is_signed == 0 && info.nan_code == 0xFF && info.min_positive == ldexpf(1.0f, -127));
}

/* Every code of the small entry points comes back from its value. */
static void small_entry_points(void)
{
    for (unsigned code = 0; code < 256; ++code) {
        const uint8_t byte = (uint8_t)code;
        const float e4m3 = ofp8_e4m3_to_f32(byte);
        const float e5m2 = ofp8_e5m2_to_f32(byte);
        const float e4m3fnuz = ofp8_e4m3fnuz_to_f32(byte);
        const float e5m2fnuz = ofp8_e5m2fnuz_to_f32(byte);
        const float e8m0 = ofp8_e8m0_to_f32(byte);
        CHECK(isnan(e4m3) ? (code & 0x7F) == 0x7F : ofp8_e4m3_from_f32(e4m3) == code);
        CHECK(isnan(e5m2) || isinf(e5m2) ? (code & 0x7F) >= 0x7C : ofp8_e5m2_from_f32(e5m2) == code);
        CHECK(isnan(e4m3fnuz) ? code == 0x80 : ofp8_e4m3fnuz_from_f32(e4m3fnuz) == code);
        CHECK(isnan(e5m2fnuz) ? code == 0x80 : ofp8_e5m2fnuz_from_f32(e5m2fnuz) == code);
        CHECK(isnan(e8m0) ? code == 0xFF : ofp8_e8m0_from_f32(e8m0) == code);
    }
    CHECK(ofp8_e4m3_from_f32(464.0f) == 0x7E);
    CHECK(ofp8_e4m3_from_f32(1e9f) == 0x7E);
    CHECK(ofp8_e8m0_to_f32(0) == from_bits(0x00400000));
}

static void scalar(void)
{
    const ofp8_cast none = {OFP8_NEAREST_EVEN, OFP8_SATURATE_NONE, OFP8_NAN_KEEP_SIGN, 0};
    const ofp8_cast random = {OFP8_STOCHASTIC_A, OFP8_SATURATE_FINITE, OFP8_NAN_CANONICAL, 1};
    uint8_t code = 0;
    float f32 = 0;
    double f64 = 0;
    uint16_t half = 0;
    CHECK(ofp8_encode_f32(OFP8_E4M3, NULL, 0.1f, 0, &code) == OFP8_OK && code == 0x1D);
    CHECK(ofp8_encode_f32(OFP8_E4M3, &none, 1000.0f, 0, &code) == OFP8_OK && code == 0x7F);
    CHECK(ofp8_encode_f32(OFP8_E5M2, &none, -1e6f, 0, &code) == OFP8_OK && code == 0xFC);
    /* Just above a tie in f64, a tie after f32: 1.0625 + 2^-40 rounds up once. */
    CHECK(ofp8_encode_f64(OFP8_E4M3, NULL, 1.0625 + ldexp(1.0, -40), 0, &code) == OFP8_OK);
    CHECK(code == 0x39);
    CHECK(ofp8_encode_f16(OFP8_E5M2, NULL, 0x3C00, 0, &code) == OFP8_OK && code == 0x3C);
    CHECK(ofp8_encode_bf16(OFP8_E5M2, NULL, 0x3F80, 0, &code) == OFP8_OK && code == 0x3C);
    /* 1.0625 lies half-way: one random bit decides. */
    CHECK(ofp8_encode_f32(OFP8_E4M3, &random, 1.0625f, 0, &code) == OFP8_OK && code == 0x38);
    CHECK(ofp8_encode_f32(OFP8_E4M3, &random, 1.0625f, 1, &code) == OFP8_OK && code == 0x39);
    CHECK(ofp8_decode_f32(OFP8_E4M3, 0x7E, &f32) == OFP8_OK && f32 == 448.0f);
    CHECK(ofp8_decode_f64(OFP8_E8M0, 0x00, &f64) == OFP8_OK && f64 == ldexp(1.0, -127));
    CHECK(ofp8_decode_f16(OFP8_E5M2, 0x7B, &half) == OFP8_OK && half == 0x7B00);
    CHECK(ofp8_decode_bf16(OFP8_E4M3, 0x38, &half) == OFP8_OK && half == 0x3F80);
}

static void bulk(void)
{
    enum { N = 1000 };
    const ofp8_cast random = {OFP8_STOCHASTIC_A, OFP8_SATURATE_FINITE, OFP8_NAN_CANONICAL, 16};
    ofp8_philox stream = {42, 7, 0};
    float source[N], back[N];
    uint8_t codes[N], chunked[N];
    for (int i = 0; i < N; ++i) {
        source[i] = ldexpf((float)(i - N / 2) / 37.0f, i % 9 - 4);
    }
    CHECK(ofp8_encode(OFP8_E4M3, NULL, NULL, OFP8_F32, source, N, codes) == OFP8_OK);
    CHECK(ofp8_decode(OFP8_E4M3, codes, N, OFP8_F32, back) == OFP8_OK);
    for (int i = 0; i < N; ++i) {
        CHECK(codes[i] == ofp8_e4m3_from_f32(source[i]));
        CHECK(back[i] == ofp8_e4m3_to_f32(codes[i]));
    }
    /* Random bits belong to the element's number: two calls give what one gives. */
    CHECK(ofp8_encode(OFP8_E4M3, &random, &stream, OFP8_F32, source, N, codes) == OFP8_OK);
    CHECK(ofp8_encode(OFP8_E4M3, &random, &stream, OFP8_F32, source, 333, chunked) == OFP8_OK);
    stream.first_index = 333;
    CHECK(ofp8_encode(OFP8_E4M3, &random, &stream, OFP8_F32, source + 333, N - 333, chunked + 333)
          == OFP8_OK);
    CHECK(memcmp(codes, chunked, N) == 0);

    uint32_t amax = 1, other = 0;
    CHECK(ofp8_amax(OFP8_F32, source, N, &amax) == OFP8_OK);
    float largest = 0;
    for (int i = 0; i < N; ++i) {
        largest = fmaxf(largest, fabsf(source[i]));
    }
    CHECK(ofp8_amax_to_f32(amax) == largest);
    source[3] = nanf("");
    CHECK(ofp8_amax(OFP8_F32, source, 10, &other) == OFP8_OK);
    CHECK(isnan(ofp8_amax_to_f32(ofp8_merge_amax(amax, other))));
    CHECK(isnan(ofp8_amax_to_f32(ofp8_merge_amax(other, amax))));
}

static void packing(void)
{
    const uint8_t codes[5] = {1, 2, 3, 4, 5};
    uint8_t packed[4] = {0}, back[5] = {0};
    size_t bytes = 0;
    CHECK(ofp8_packed_size(OFP8_PACKING_FP4_LOW_FIRST, 5, &bytes) == OFP8_OK && bytes == 3);
    CHECK(ofp8_pack(OFP8_PACKING_FP4_LOW_FIRST, codes, 5, packed) == OFP8_OK);
    CHECK(packed[0] == 0x21 && packed[1] == 0x43 && packed[2] == 0x05);
    CHECK(ofp8_unpack(OFP8_PACKING_FP4_LOW_FIRST, packed, 5, back) == OFP8_OK);
    CHECK(memcmp(codes, back, 5) == 0);
    CHECK(ofp8_packed_size(OFP8_PACKING_FP6, 5, &bytes) == OFP8_OK && bytes == 4);
    CHECK(ofp8_pack(OFP8_PACKING_FP6, codes, 5, packed) == OFP8_OK);
    CHECK(ofp8_unpack(OFP8_PACKING_FP6, packed, 5, back) == OFP8_OK);
    CHECK(memcmp(codes, back, 5) == 0);
}

/* A 3 x 70 matrix in rows of 80, as MXFP8: three blocks a row, the last one ragged. */
static void quantizer(void)
{
    enum { ROWS = 3, COLS = 70, STRIDE = 80, BLOCKS = 9 };
    float source[ROWS * STRIDE], back[ROWS * COLS];
    uint8_t codes[ROWS * COLS], again[ROWS * COLS];
    uint8_t scales[BLOCKS], scales_again[BLOCKS];
    uint32_t amax[BLOCKS];
    size_t down = 0, across = 0;
    ofp8_recipe recipe;
    ofp8_shape shape, packed;
    ofp8_stats stats, sum;
    ofp8_not_finite first;
    ofp8_measured measured;
    memset(&recipe, 0, sizeof recipe);
    memset(&shape, 0, sizeof shape);
    recipe.struct_size = sizeof recipe;
    recipe.element = OFP8_E4M3;
    recipe.block_rows = 1;
    recipe.block_cols = 32;
    recipe.scaling = OFP8_SCALING_E8M0;
    shape.struct_size = sizeof shape;
    shape.rows = ROWS;
    shape.cols = COLS;
    shape.stride = STRIDE;
    shape.wide_type = OFP8_F32;
    for (int i = 0; i < ROWS * STRIDE; ++i) {
        source[i] = i % STRIDE < COLS ? (float)(i % 100 - 50) / 8.0f : 1e30f;
    }
    source[5] = 0.0f;
    CHECK(ofp8_scale_grid(&recipe, ROWS, COLS, &down, &across) == OFP8_OK);
    CHECK(down == 3 && across == 3);
    CHECK(ofp8_quantize(&recipe, &shape, NULL, source, NULL, codes, scales, BLOCKS, NULL, &stats)
          == OFP8_OK);
    CHECK(stats.count == ROWS * COLS && stats.saturated == 0 && stats.nan == 0);
    CHECK(stats.zero >= 1 && ofp8_amax_to_f32(stats.amax) < 7.0f);

    /* The largest of a block decides its scale, alone and through the amaxes. */
    CHECK(ofp8_amax_blocks(&recipe, &shape, source, amax, BLOCKS) == OFP8_OK);
    for (int i = 0; i < BLOCKS; ++i) {
        float dequantize = 0;
        uint8_t e8m0 = 0;
        CHECK(ofp8_scale_from_amax(&recipe, amax[i], &dequantize, &e8m0) == OFP8_OK);
        CHECK(e8m0 == scales[i] && dequantize == ofp8_e8m0_to_f32(scales[i]));
        CHECK(ofp8_amax_to_f32(amax[i]) <= 448.0f * dequantize);
        CHECK(ofp8_amax_to_f32(amax[i]) > 224.0f * dequantize);
    }
    CHECK(ofp8_quantize(&recipe, &shape, NULL, source, amax, again, scales_again, BLOCKS, NULL,
                        NULL)
          == OFP8_OK);
    CHECK(memcmp(codes, again, sizeof codes) == 0 && memcmp(scales, scales_again, BLOCKS) == 0);

    packed = shape;
    packed.stride = 0;
    CHECK(ofp8_dequantize(&recipe, &packed, codes, scales, BLOCKS, NULL, back) == OFP8_OK);
    for (int r = 0; r < ROWS; ++r) {
        for (int c = 0; c < COLS; ++c) {
            const float x = source[r * STRIDE + c], y = back[r * COLS + c];
            CHECK(fabsf(x - y) <= fabsf(x) / 16.0f + ldexpf(1.0f, -16));
        }
    }
    CHECK(ofp8_measure(&shape, source, back, 0, &measured) == OFP8_OK);
    CHECK(measured.count == ROWS * COLS && measured.noise > 0);
    CHECK(10 * log10(measured.signal / measured.noise) > 28);

    CHECK(ofp8_validate(&shape, source, &first) == OFP8_OK && first.found == 0);
    source[2 * STRIDE + 3] = (float)HUGE_VAL;
    CHECK(ofp8_validate(&shape, source, &first) == OFP8_OK);
    CHECK(first.found == 1 && first.row == 2 && first.col == 3 && isinf(first.value));
    CHECK(ofp8_quantize(&recipe, &shape, NULL, source, NULL, codes, scales, BLOCKS, NULL, &stats)
          == OFP8_OK);
    CHECK(stats.infinite == 1 && scales[6] == 0xFF && codes[2 * COLS] == 0x7F);
    memset(&sum, 0, sizeof sum);
    CHECK(ofp8_merge_stats(&sum, &stats) == OFP8_OK);
    CHECK(memcmp(&sum, &stats, sizeof sum) == 0);
    CHECK(ofp8_merge_stats(&stats, &stats) == OFP8_OK && stats.infinite == 2);
}

int main(void)
{
    versions();
    kernels();
    format_info();
    small_entry_points();
    scalar();
    bulk();
    packing();
    quantizer();
    return finish("smoke");
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Layouts of scales from C: known answers, and each bad argument with its outputs untouched. */
#include "check.h"

enum { ROWS = 200, COLS = 9, COUNT = ROWS * COLS, TILED = 256 * 12, PATTERN = 0xA5 };

static ofp8_layout row_major(size_t rows, size_t cols)
{
    ofp8_layout layout;
    memset(&layout, 0, sizeof layout);
    layout.struct_size = sizeof layout;
    layout.rows = rows;
    layout.cols = cols;
    return layout;
}

static ofp8_layout ordered(uint32_t order, size_t rows, size_t cols)
{
    ofp8_layout layout = row_major(rows, cols);
    layout.order = order;
    return layout;
}

static void index_and_inverse(void)
{
    static const size_t table[][3] = {
        {0, 0, 0},     {0, 3, 3},     {1, 0, 16},     {31, 3, 499},   {32, 0, 4},
        {33, 1, 21},   {64, 0, 8},    {96, 0, 12},    {127, 3, 511},  {0, 4, 512},
        {128, 0, 1536}, {129, 5, 2065}, {199, 8, 2680},
    };
    const ofp8_layout layout = ordered(OFP8_LAYOUT_TILE_128X4, ROWS, COLS);
    size_t size = 0, grid_size = 0, offset = 0, row = 1, col = 1;
    uint32_t is_scale = 9;
    CHECK(ofp8_layout_size(&layout, &size, &grid_size) == OFP8_OK);
    CHECK(size == TILED && grid_size == TILED);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i) {
        CHECK(ofp8_layout_index(&layout, table[i][0], table[i][1], &offset) == OFP8_OK);
        CHECK(offset == table[i][2]);
        CHECK(ofp8_layout_inverse(&layout, offset, &row, &col, &is_scale) == OFP8_OK);
        CHECK(row == table[i][0] && col == table[i][1] && is_scale == 1);
    }
    CHECK(ofp8_layout_inverse(&layout, TILED - 1, &row, &col, &is_scale) == OFP8_OK);
    CHECK(row == 0 && col == 0 && is_scale == 0);
}

/* The size of every order, row-wise and column-wise, and with batches. */
static void sizes(void)
{
    static const size_t rowwise[] = {200 * 9, 200 * 12, 200 * 9, 256 * 12, 200 * 12, 224 * 16};
    static const size_t columnwise[] = {200 * 9, 200 * 9, 200 * 12, 200 * 128, 200 * 12, 200 * 32};
    for (uint32_t order = 0; order < 6; ++order) {
        ofp8_layout layout = ordered(order, ROWS, COLS);
        size_t size = 0, grid_size = 0;
        CHECK(ofp8_layout_size(&layout, &size, NULL) == OFP8_OK);
        CHECK(size == rowwise[order]);
        layout.columnwise = 1;
        CHECK(ofp8_layout_size(&layout, NULL, &grid_size) == OFP8_OK);
        CHECK(grid_size == columnwise[order]);
        layout.batches = 3;
        CHECK(ofp8_layout_size(&layout, &size, &grid_size) == OFP8_OK);
        CHECK(size == 3 * grid_size);
        layout.batch_stride = grid_size + 7;
        CHECK(ofp8_layout_size(&layout, &size, &grid_size) == OFP8_OK);
        CHECK(size == 3 * grid_size + 14);
    }
}

/* There and back through every order, over poison: scales arrive, padding is zero. */
static void convert(void)
{
    static uint8_t bytes[COUNT], back[COUNT], tiled[1 << 15];
    static float floats[COUNT], floats_back[COUNT], floats_tiled[1 << 15];
    const ofp8_layout compact = row_major(ROWS, COLS);
    for (size_t i = 0; i < COUNT; ++i) {
        bytes[i] = (uint8_t)(1 + i % 253);
        floats[i] = ofp8_e8m0_to_f32(bytes[i]);
    }
    for (uint32_t variant = 0; variant < 12; ++variant) {
        ofp8_layout other = ordered(variant / 2, ROWS, COLS);
        size_t size = 0, zeros = 0, float_zeros = 0;
        other.columnwise = variant % 2;
        CHECK(ofp8_layout_size(&other, &size, NULL) == OFP8_OK);

        memset(tiled, 0xFF, sizeof tiled);
        memset(floats_tiled, 0xFF, sizeof floats_tiled);
        CHECK(ofp8_convert_scales_u8(&compact, bytes, COUNT, &other, tiled, size) == OFP8_OK);
        CHECK(ofp8_convert_scales_f32(&compact, floats, COUNT, &other, floats_tiled, size)
              == OFP8_OK);
        for (size_t i = 0; i < size; ++i) {
            zeros += tiled[i] == 0;
            float_zeros += floats_tiled[i] == 0.0f;
        }
        CHECK(zeros == size - COUNT && float_zeros == size - COUNT && tiled[size] == 0xFF);
        CHECK(ofp8_convert_scales_u8(&other, tiled, size, &compact, back, COUNT) == OFP8_OK);
        CHECK(memcmp(bytes, back, sizeof bytes) == 0);
        CHECK(ofp8_convert_scales_f32(&other, floats_tiled, size, &compact, floats_back, COUNT)
              == OFP8_OK);
        CHECK(memcmp(floats, floats_back, sizeof floats) == 0);

        CHECK(ofp8_convert_scales_f32_to_e8m0(&compact, floats, COUNT, &other, tiled, size)
              == OFP8_OK);
        CHECK(ofp8_convert_scales_e8m0_to_f32(&other, tiled, size, &compact, floats_back, COUNT)
              == OFP8_OK);
        CHECK(memcmp(floats, floats_back, sizeof floats) == 0);
    }
}

/* DeepGEMM's words: four scales along K, the first in the lowest byte. */
static void packed_words(void)
{
    const float scales[5] = {1.0f, 2.0f, 0.5f, 4.0f, 8.0f};
    const ofp8_layout compact = row_major(1, 5);
    const ofp8_layout packed = ordered(OFP8_LAYOUT_PACKED_WORDS, 1, 5);
    uint8_t bytes[32];
    memset(bytes, PATTERN, sizeof bytes);
    CHECK(ofp8_convert_scales_f32_to_e8m0(&compact, scales, 5, &packed, bytes, 32) == OFP8_OK);
    CHECK(bytes[0] == 127 && bytes[1] == 128 && bytes[2] == 126 && bytes[3] == 129);
    CHECK(bytes[16] == 130);
    for (int i = 0; i < 32; ++i) {
        CHECK(i < 4 || i == 16 || bytes[i] == 0);
    }
}

/* What a call could write, and what it must look like after a refusal. */
static struct world {
    uint8_t bytes[64];
    float floats[64];
    size_t size, grid_size;
    uint32_t is_scale;
} world, before;
static ofp8_layout from, to;

static void reset(void)
{
    memset(&world, PATTERN, sizeof world);
    memcpy(&before, &world, sizeof world);
    from = row_major(4, 4);
    to = row_major(4, 4);
}

static void refused_at(ofp8_status got, ofp8_status want, const char *call, int line)
{
    check_at(got == want, call, __FILE__, line);
    check_at(memcmp(&world, &before, sizeof world) == 0, "nothing is written", __FILE__, line);
    reset();
}

#define REFUSED(status, call) refused_at((call), (status), #call, __LINE__)

static void *odd(void *pointer)
{
    return (char *)pointer + 1;
}

/* A call of each function that takes a layout. */
static ofp8_status call(int which, const ofp8_layout *layout)
{
    uint8_t *bytes = world.bytes;
    float *floats = world.floats;
    switch (which) {
    case 0:
        return ofp8_layout_size(layout, &world.size, &world.grid_size);
    case 1:
        return ofp8_layout_index(layout, 0, 0, &world.size);
    case 2:
        return ofp8_layout_inverse(layout, 0, &world.size, &world.grid_size, &world.is_scale);
    case 3:
        return ofp8_convert_scales_u8(layout, bytes, 16, &to, bytes + 16, 16);
    case 4:
        return ofp8_convert_scales_u8(&from, bytes, 16, layout, bytes + 16, 16);
    case 5:
        return ofp8_convert_scales_f32(layout, floats, 16, &to, floats + 16, 16);
    case 6:
        return ofp8_convert_scales_f32_to_e8m0(&from, floats, 16, layout, bytes, 16);
    default:
        return ofp8_convert_scales_e8m0_to_f32(&from, bytes, 16, layout, floats, 16);
    }
}

static void bad_layouts(void)
{
    const size_t huge = (size_t)1 << (sizeof(size_t) * 8 - 2);
    for (int which = 0; which < 8; ++which) {
        ofp8_layout bad = row_major(4, 4);
        REFUSED(OFP8_NULL_POINTER, call(which, NULL));
        REFUSED(OFP8_MISALIGNED, call(which, (ofp8_layout *)odd(&bad)));
        bad.struct_size = 1;
        REFUSED(OFP8_STRUCT_SIZE, call(which, &bad));
        bad = ordered(6, 4, 4);
        REFUSED(OFP8_UNKNOWN_POLICY, call(which, &bad));
        bad = row_major(4, 4);
        bad.columnwise = 2;
        REFUSED(OFP8_UNKNOWN_POLICY, call(which, &bad));
        bad = row_major(huge, huge);
        REFUSED(OFP8_SHAPE, call(which, &bad));
        bad = row_major(4, 4);
        bad.batches = 2;
        bad.batch_stride = 15;
        REFUSED(OFP8_SHAPE, call(which, &bad));
        bad.batches = huge;
        bad.batch_stride = 16;
        REFUSED(OFP8_SHAPE, call(which, &bad));
        if (which >= 3) {
            bad = row_major(2, 8);
            REFUSED(OFP8_SHAPE, call(which, &bad));
            bad = ordered(OFP8_LAYOUT_TILE_128X4, 4, 4);
            REFUSED(OFP8_LENGTH, call(which, &bad));
        }
    }
}

static void bad_pointers(void)
{
    uint8_t *bytes = world.bytes;
    float *floats = world.floats;
    size_t *size = &world.size, *other = &world.grid_size;
    REFUSED(OFP8_OVERLAP, ofp8_layout_size(&from, size, size));
    REFUSED(OFP8_MISALIGNED, ofp8_layout_size(&from, (size_t *)odd(size), NULL));
    REFUSED(OFP8_MISALIGNED, ofp8_layout_size(&from, NULL, (size_t *)odd(size)));
    REFUSED(OFP8_NULL_POINTER, ofp8_layout_index(&from, 0, 0, NULL));
    REFUSED(OFP8_MISALIGNED, ofp8_layout_index(&from, 0, 0, (size_t *)odd(size)));
    REFUSED(OFP8_SHAPE, ofp8_layout_index(&from, 4, 0, size));
    REFUSED(OFP8_SHAPE, ofp8_layout_index(&from, 0, 4, size));
    REFUSED(OFP8_NULL_POINTER, ofp8_layout_inverse(&from, 0, NULL, other, &world.is_scale));
    REFUSED(OFP8_NULL_POINTER, ofp8_layout_inverse(&from, 0, size, NULL, &world.is_scale));
    REFUSED(OFP8_NULL_POINTER, ofp8_layout_inverse(&from, 0, size, other, NULL));
    REFUSED(OFP8_MISALIGNED,
            ofp8_layout_inverse(&from, 0, size, other, (uint32_t *)odd(&world.is_scale)));
    REFUSED(OFP8_OVERLAP, ofp8_layout_inverse(&from, 0, size, size, &world.is_scale));
    REFUSED(OFP8_SHAPE, ofp8_layout_inverse(&from, 16, size, other, &world.is_scale));

    REFUSED(OFP8_NULL_POINTER, ofp8_convert_scales_u8(&from, NULL, 16, &to, bytes, 16));
    REFUSED(OFP8_NULL_POINTER, ofp8_convert_scales_u8(&from, bytes, 16, &to, NULL, 16));
    REFUSED(OFP8_OVERLAP, ofp8_convert_scales_u8(&from, bytes, 16, &to, bytes + 15, 16));
    REFUSED(OFP8_LENGTH, ofp8_convert_scales_u8(&from, bytes, 15, &to, bytes + 16, 16));
    REFUSED(OFP8_LENGTH, ofp8_convert_scales_u8(&from, bytes, 16, &to, bytes + 16, 17));
    REFUSED(OFP8_MISALIGNED,
            ofp8_convert_scales_f32(&from, (float *)odd(floats), 16, &to, floats + 20, 16));
    REFUSED(OFP8_MISALIGNED,
            ofp8_convert_scales_f32(&from, floats, 16, &to, (float *)odd(floats + 20), 16));
    REFUSED(OFP8_SHAPE,
            ofp8_convert_scales_f32(&from, floats, (size_t)-1 / 2, &to, floats + 20, 16));
}

/* A scale that is not a power of two, zero, negative or infinite is refused, wherever it is. */
static void bad_scales(void)
{
    const float bad[] = {1.5f, 0.0f, -1.0f, (float)(1e30 * 1e30)};
    for (size_t which = 0; which < sizeof bad / sizeof bad[0]; ++which) {
        for (int place = 0; place < 16; ++place) {
            float scales[16];
            for (int i = 0; i < 16; ++i) {
                scales[i] = i == place ? bad[which] : 0.125f;
            }
            REFUSED(OFP8_SCALE, ofp8_convert_scales_f32_to_e8m0(&from, scales, 16, &to,
                                                                world.bytes, 16));
        }
    }
}

/* A batch of two matrices, quantized straight into an order: as row-major scales converted to it. */
static void quantized_in_order(void)
{
    enum { DOWN = 130, WIDE = 160, ACROSS = 5, BATCHES = 2, ELEMENTS = BATCHES * DOWN * WIDE, MOST = BATCHES * 256 * 8 };
    static float source[ELEMENTS], values[ELEMENTS], same_values[ELEMENTS];
    static uint8_t codes[ELEMENTS], same_codes[ELEMENTS];
    static uint8_t scales[BATCHES * DOWN * ACROSS], expected[MOST], found[MOST];
    static uint32_t amax[BATCHES * DOWN * ACROSS];
    ofp8_recipe recipe, plain;
    ofp8_shape shape;
    ofp8_layout compact = row_major(DOWN, ACROSS);
    for (int i = 0; i < ELEMENTS; ++i) {
        source[i] = (float)(i % 1009 - 504) * (i / 32 % 3 == 0 ? 0.001f : 10.0f);
    }
    memset(&plain, 0, sizeof plain);
    plain.struct_size = sizeof plain;
    plain.element = OFP8_E4M3;
    plain.block_rows = 1;
    plain.block_cols = 32;
    plain.scaling = OFP8_SCALING_E8M0;
    memset(&shape, 0, sizeof shape);
    shape.struct_size = sizeof shape;
    shape.rows = DOWN;
    shape.cols = WIDE;
    shape.wide_type = OFP8_F32;
    shape.batch_count = BATCHES;
    compact.batches = BATCHES;
    CHECK(ofp8_quantize(&plain, &shape, NULL, source, NULL, codes, scales, sizeof scales, NULL, NULL) == OFP8_OK);
    CHECK(ofp8_amax_blocks(&plain, &shape, source, amax, sizeof scales) == OFP8_OK);
    CHECK(ofp8_dequantize(&plain, &shape, codes, scales, sizeof scales, NULL, values) == OFP8_OK);
    for (uint32_t order = 0; order <= OFP8_LAYOUT_GFX950; ++order) {
        ofp8_layout layout = ordered(order, DOWN, ACROSS);
        size_t count = 0, size = 0;
        layout.batches = BATCHES;
        recipe = plain;
        recipe.scale_order = order;
        CHECK(ofp8_scale_count(&recipe, DOWN, WIDE, &count) == OFP8_OK);
        count *= BATCHES;
        CHECK(ofp8_layout_size(&layout, &size, NULL) == OFP8_OK && size == count && size <= MOST);
        CHECK(ofp8_convert_scales_u8(&compact, scales, sizeof scales, &layout, expected, size) == OFP8_OK);
        for (int with_amax = 0; with_amax < 2; ++with_amax) {
            memset(found, PATTERN, sizeof found);
            CHECK(ofp8_quantize(&recipe, &shape, NULL, source, with_amax ? amax : NULL, same_codes, found, count, NULL,
                                NULL) == OFP8_OK);
            CHECK(memcmp(codes, same_codes, sizeof codes) == 0 && memcmp(expected, found, count) == 0);
        }
        CHECK(ofp8_dequantize(&recipe, &shape, codes, found, count, NULL, same_values) == OFP8_OK);
        CHECK(memcmp(values, same_values, sizeof values) == 0);
        memset(same_codes, 0, sizeof same_codes);
        CHECK(ofp8_quantize_given(&recipe, &shape, NULL, source, OFP8_GIVEN_DEQUANTIZE_SCALE, found, count, NULL,
                                  same_codes, NULL) == OFP8_OK);
        CHECK(memcmp(codes, same_codes, sizeof codes) == 0);
        CHECK(ofp8_quantize(&recipe, &shape, NULL, source, NULL, same_codes, found, count - 1, NULL, NULL) ==
              OFP8_LENGTH);
    }
}

/* Two copies from one read, the columnwise one either way: each with the scales of its own matrix in that order. */
static void copies_in_order(void)
{
    enum { DOWN = 64, WIDE = 160, MOST = 512 * 4 };
    static float source[DOWN * WIDE];
    static uint8_t codes[2][DOWN * WIDE], scales[2][MOST], plain[2][MOST], expected[MOST];
    for (int i = 0; i < DOWN * WIDE; ++i) {
        source[i] = (float)(i % 1009 - 504) * (i / 32 % 3 == 0 ? 0.001f : 10.0f);
    }
    for (uint32_t order = 0; order <= OFP8_LAYOUT_GFX950; ++order) {
        for (uint32_t is_transposed = 0; is_transposed < 2; ++is_transposed) {
            ofp8_recipe recipe, column;
            ofp8_shape shape;
            ofp8_copy copy[2];
            ofp8_layout from, to;
            size_t size = 0;
            memset(&recipe, 0, sizeof recipe);
            recipe.struct_size = sizeof recipe;
            recipe.element = OFP8_E4M3;
            recipe.block_rows = 1;
            recipe.block_cols = 32;
            recipe.scaling = OFP8_SCALING_E8M0;
            memset(&shape, 0, sizeof shape);
            shape.struct_size = sizeof shape;
            shape.rows = DOWN;
            shape.cols = WIDE;
            shape.wide_type = OFP8_F32;
            memset(copy, 0, sizeof copy);
            for (int i = 0; i < 2; ++i) {
                copy[i].struct_size = sizeof copy[i];
                copy[i].codes = codes[i];
                copy[i].scales = plain[i];
                copy[i].scale_count = DOWN * WIDE / 32;
            }
            copy[1].is_transposed = is_transposed;
            CHECK(ofp8_quantize_copies(&recipe, &shape, source, &copy[0], &copy[1]) == OFP8_OK);
            recipe.scale_order = order;
            column = recipe;
            column.block_rows = is_transposed ? 1 : 32;
            column.block_cols = is_transposed ? 32 : 1;
            for (int i = 0; i < 2; ++i) {
                copy[i].scales = scales[i];
            }
            CHECK(ofp8_scale_count(&recipe, DOWN, WIDE, &copy[0].scale_count) == OFP8_OK);
            CHECK(ofp8_scale_count(&column, is_transposed ? WIDE : DOWN, is_transposed ? DOWN : WIDE,
                                   &copy[1].scale_count) == OFP8_OK);
            CHECK(copy[0].scale_count <= MOST && copy[1].scale_count <= MOST);
            memset(scales, PATTERN, sizeof scales);
            CHECK(ofp8_quantize_copies(&recipe, &shape, source, &copy[0], &copy[1]) == OFP8_OK);
            for (int i = 0; i < 2; ++i) {
                const size_t rows = i == 0 ? DOWN : is_transposed ? WIDE : DOWN / 32;
                const size_t cols = DOWN * WIDE / 32 / rows;
                from = row_major(rows, cols);
                to = ordered(order, rows, cols);
                to.columnwise = i == 1 && !is_transposed && order != OFP8_LAYOUT_ROW_MAJOR ? 1 : 0;
                CHECK(ofp8_layout_size(&to, &size, NULL) == OFP8_OK && size == copy[i].scale_count);
                CHECK(ofp8_convert_scales_u8(&from, plain[i], rows * cols, &to, expected, size) == OFP8_OK);
                CHECK(memcmp(expected, scales[i], size) == 0);
            }
        }
    }
}

/* From 128 x 128 blocks with f32 scales to 1 x 32 with E8M0, in tiles; and what E8M0 does not have. */
static void expanded(void)
{
    float coarse[4] = {1.0f, 2.0f, 0.5f, 4.0f};
    uint8_t fine[256 * 8];
    ofp8_recipe from, to;
    size_t count = 0, offset = 0;
    ofp8_layout layout = ordered(OFP8_LAYOUT_TILE_128X4, 130, 5);
    memset(&from, 0, sizeof from);
    from.struct_size = sizeof from;
    from.element = OFP8_E4M3;
    from.block_rows = from.block_cols = 128;
    to = from;
    to.block_rows = 1;
    to.block_cols = 32;
    to.scaling = OFP8_SCALING_E8M0;
    to.scale_order = OFP8_LAYOUT_TILE_128X4;
    CHECK(ofp8_scale_count(&to, 130, 160, &count) == OFP8_OK && count == sizeof fine);
    memset(fine, PATTERN, sizeof fine);
    CHECK(ofp8_expand_scales(&from, &to, 130, 160, coarse, 4, fine, count) == OFP8_OK);
    for (size_t row = 0; row < 130; ++row) {
        for (size_t col = 0; col < 5; ++col) {
            static const uint8_t codes[4] = {127, 128, 126, 129};
            CHECK(ofp8_layout_index(&layout, row, col, &offset) == OFP8_OK);
            CHECK(fine[offset] == codes[row / 128 * 2 + col / 4]);
        }
    }
    CHECK(fine[sizeof fine - 1] == 0);
    memset(fine, PATTERN, sizeof fine);
    coarse[3] = 3.0f;
    CHECK(ofp8_expand_scales(&from, &to, 130, 160, coarse, 4, fine, count) == OFP8_SCALE);
    coarse[3] = 4.0f;
    CHECK(ofp8_expand_scales(&from, &to, 130, 160, coarse, 3, fine, count) == OFP8_LENGTH);
    from.block_cols = 48;
    CHECK(ofp8_expand_scales(&from, &to, 130, 96, coarse, 4, fine, 256 * 4) == OFP8_RECIPE);
    from.block_cols = 128;
    from.scaling = OFP8_SCALING_TWO_LEVEL;
    from.block_scale = OFP8_UE4M3;
    CHECK(ofp8_expand_scales(&from, &to, 130, 160, coarse, 4, fine, count) == OFP8_RECIPE);
    CHECK(fine[0] == PATTERN && fine[sizeof fine - 1] == PATTERN);
}

int main(void)
{
    expanded();
    index_and_inverse();
    sizes();
    convert();
    packed_words();
    quantized_in_order();
    copies_in_order();
    reset();
    bad_layouts();
    bad_pointers();
    bad_scales();
    return finish("layout");
}

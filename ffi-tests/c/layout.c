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

int main(void)
{
    index_and_inverse();
    sizes();
    convert();
    packed_words();
    reset();
    bad_layouts();
    bad_pointers();
    bad_scales();
    return finish("layout");
}

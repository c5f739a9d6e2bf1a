/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Two levels, given scales, batches, shards and lists: known answers, that every way gives the
 * bytes of the plain one, and each bad argument with its status and untouched outputs.
 */
#include <math.h>

#include "check.h"

enum { ROWS = 6, COLS = 40, COUNT = ROWS * COLS, BLOCKS = ROWS * 3, PATTERN = 0x5A };

static ofp8_recipe recipe;
static ofp8_shape shape;

/* 6 x 40 in 1x16 blocks under one f32, as NVFP4. */
static void reset(void)
{
    memset(&recipe, 0, sizeof recipe);
    recipe.struct_size = sizeof recipe;
    recipe.element = OFP8_E2M1;
    recipe.block_rows = 1;
    recipe.block_cols = 16;
    recipe.scaling = OFP8_SCALING_TWO_LEVEL;
    recipe.block_scale = OFP8_UE4M3;
    memset(&shape, 0, sizeof shape);
    shape.struct_size = sizeof shape;
    shape.rows = ROWS;
    shape.cols = COLS;
    shape.wide_type = OFP8_F32;
}

static void fill(float *source, int count)
{
    for (int i = 0; i < count; ++i) {
        source[i] = ldexpf((float)(i * 37 % 101 - 50) / 16.0f, i / 16 % 5 - 2);
    }
}

/* One block of one tensor, by hand: amax 6, S = 448 * 6 / 6 = 448, block scale 448 -> 0x7E. */
static void two_levels(void)
{
    const float source[4] = {6.0f, -3.0f, 0.5f, 0.25f};
    float tensor = 0, back[4];
    uint8_t codes[4], scale = 0;
    shape.rows = 1;
    shape.cols = 4;
    CHECK(ofp8_quantize(&recipe, &shape, NULL, source, NULL, codes, &scale, 1, &tensor, NULL)
          == OFP8_OK);
    CHECK(scale == 0x7E && tensor == 1.0f / 448.0f);
    CHECK(codes[0] == 0x7 && codes[1] == 0xD && codes[2] == 0x1 && codes[3] == 0x0);
    CHECK(ofp8_dequantize(&recipe, &shape, codes, &scale, 1, &tensor, back) == OFP8_OK);
    CHECK(back[0] == 6.0f && back[1] == -3.0f && back[2] == 0.5f && back[3] == 0.0f);
    reset();
}

/* Given back what was stored, the same codes; a power of two either way round. */
static void given(void)
{
    float source[COUNT], tensor = 0, powers[ROWS], inverses[ROWS];
    uint8_t codes[COUNT], again[COUNT], scales[BLOCKS];
    ofp8_stats stats;
    fill(source, COUNT);
    CHECK(ofp8_quantize(&recipe, &shape, NULL, source, NULL, codes, scales, BLOCKS, &tensor, NULL)
          == OFP8_OK);
    CHECK(ofp8_quantize_given(&recipe, &shape, NULL, source, OFP8_GIVEN_DEQUANTIZE_SCALE, scales,
                              BLOCKS, &tensor, again, &stats)
          == OFP8_OK);
    CHECK(memcmp(codes, again, COUNT) == 0 && stats.count == COUNT);

    recipe.element = OFP8_E4M3;
    recipe.block_cols = 0;
    recipe.scaling = OFP8_SCALING_POWER_OF_TWO;
    recipe.block_scale = 0;
    CHECK(ofp8_quantize(&recipe, &shape, NULL, source, NULL, codes, powers, ROWS, NULL, NULL)
          == OFP8_OK);
    for (int i = 0; i < ROWS; ++i) {
        inverses[i] = 1.0f / powers[i];
    }
    CHECK(ofp8_quantize_given(&recipe, &shape, NULL, source, OFP8_GIVEN_QUANTIZE_SCALE, inverses,
                              ROWS, NULL, again, NULL)
          == OFP8_OK);
    CHECK(memcmp(codes, again, COUNT) == 0);
    reset();
}

/* A batch of two with gaps is two calls; a list of the two is the batch. */
static void batches_and_lists(void)
{
    enum { GAP = 7 };
    float source[2 * COUNT + GAP], tensors[2], one_tensor = 0;
    uint8_t codes[2 * COUNT], one[COUNT], scales[2 * BLOCKS], one_scales[BLOCKS];
    ofp8_stats stats, one_stats, sum;
    ofp8_quantize_call calls[2];
    ofp8_shape batch = shape;
    size_t failed = 99;
    fill(source, 2 * COUNT + GAP);
    batch.batch_count = 2;
    batch.batch_stride = COUNT + GAP;
    CHECK(ofp8_quantize(&recipe, &batch, NULL, source, NULL, codes, scales, 2 * BLOCKS, tensors,
                        &stats)
          == OFP8_OK);
    memset(&sum, 0, sizeof sum);
    for (int i = 0; i < 2; ++i) {
        CHECK(ofp8_quantize(&recipe, &shape, NULL, source + i * (COUNT + GAP), NULL, one,
                            one_scales, BLOCKS, &one_tensor, &one_stats)
              == OFP8_OK);
        CHECK(memcmp(one, codes + i * COUNT, COUNT) == 0);
        CHECK(memcmp(one_scales, scales + i * BLOCKS, BLOCKS) == 0 && one_tensor == tensors[i]);
        sum.count += one_stats.count;
        sum.saturated += one_stats.saturated;
    }
    CHECK(stats.count == sum.count && stats.saturated == sum.saturated);

    memset(calls, 0, sizeof calls);
    for (int i = 0; i < 2; ++i) {
        calls[i].struct_size = sizeof calls[i];
        calls[i].recipe = &recipe;
        calls[i].shape = &shape;
        calls[i].source = source + i * (COUNT + GAP);
        calls[i].codes = codes + i * COUNT;
        calls[i].scales = scales + i * BLOCKS;
        calls[i].scale_count = BLOCKS;
        calls[i].tensor_scale = tensors + i;
    }
    memset(codes, 0, sizeof codes);
    CHECK(ofp8_quantize_list(calls, 2, &failed) == OFP8_OK && failed == 99);
    CHECK(memcmp(one, codes + COUNT, COUNT) == 0);

    /* The second is refused: nothing of the first is done. */
    memset(codes, PATTERN, sizeof codes);
    calls[1].scale_count = BLOCKS - 1;
    CHECK(ofp8_quantize_list(calls, 2, &failed) == OFP8_LENGTH && failed == 1);
    calls[1].scale_count = BLOCKS;
    calls[0].struct_size = sizeof calls[0] - 1;
    CHECK(ofp8_quantize_list(calls, 2, &failed) == OFP8_STRUCT_SIZE && failed == 0);
    CHECK(ofp8_quantize_list(NULL, 2, &failed) == OFP8_NULL_POINTER);
    CHECK(ofp8_quantize_list(calls, (size_t)-1, &failed) == OFP8_SHAPE);
    CHECK(ofp8_quantize_list(NULL, 0, NULL) == OFP8_OK);
    for (size_t i = 0; i < sizeof codes; ++i) {
        CHECK(codes[i] == PATTERN);
    }
}

/* Two ranks, the cut in the middle of a block: partial amaxes, merged, give the bytes of one. */
static void shards(void)
{
    enum { CUT = 2 * COLS + 21 };
    float source[COUNT], tensor = 0, part_tensor = 0;
    uint8_t codes[COUNT], parts[COUNT], scales[BLOCKS], part_scales[BLOCKS];
    uint32_t amax[BLOCKS], other[BLOCKS];
    ofp8_shape first = shape, second = shape;
    fill(source, COUNT);
    first.is_shard = second.is_shard = 1;
    first.shard_len = CUT;
    second.shard_first = CUT;
    second.shard_len = COUNT - CUT;
    CHECK(ofp8_quantize(&recipe, &shape, NULL, source, NULL, codes, scales, BLOCKS, &tensor, NULL)
          == OFP8_OK);
    CHECK(ofp8_amax_blocks(&recipe, &first, source, amax, BLOCKS) == OFP8_OK);
    CHECK(ofp8_amax_blocks(&recipe, &second, source + CUT, other, BLOCKS) == OFP8_OK);
    for (int i = 0; i < BLOCKS; ++i) {
        amax[i] = ofp8_merge_amax(amax[i], other[i]);
    }
    CHECK(ofp8_quantize(&recipe, &first, NULL, source, amax, parts, part_scales, BLOCKS,
                        &part_tensor, NULL)
          == OFP8_OK);
    CHECK(memcmp(scales, part_scales, BLOCKS) == 0 && tensor == part_tensor);
    CHECK(ofp8_quantize(&recipe, &second, NULL, source + CUT, amax, parts + CUT, part_scales,
                        BLOCKS, &part_tensor, NULL)
          == OFP8_OK);
    CHECK(memcmp(scales, part_scales, BLOCKS) == 0 && tensor == part_tensor);
    CHECK(memcmp(codes, parts, COUNT) == 0);
}

static uint8_t codes_out[COUNT];
static ofp8_stats stats_out;

/* The call must have been refused with this status, and have written nothing. */
static void refused(ofp8_status got, ofp8_status want, int line)
{
    uint8_t pattern[COUNT];
    ofp8_stats stats_pattern;
    memset(pattern, PATTERN, sizeof pattern);
    memset(&stats_pattern, PATTERN, sizeof stats_pattern);
    if (got != want) {
        printf("line %d: %u (%s), not %u\n", line, (unsigned)got, ofp8_status_text(got),
               (unsigned)want);
    }
    CHECK(got == want);
    CHECK(memcmp(codes_out, pattern, sizeof pattern) == 0);
    CHECK(memcmp(&stats_out, &stats_pattern, sizeof stats_pattern) == 0);
    reset();
}

#define REFUSED(status, call) refused((call), (status), __LINE__)

static void bad_arguments(void)
{
    static float source[COUNT + 1];
    static uint8_t scales[BLOCKS];
    static float rows[ROWS + 1];
    float tensor = 1.0f;
    ofp8_philox philox = {0, 0, 0};
    void *odd = (char *)source + 1;
    fill(source, COUNT);
    memset(scales, 0x38, sizeof scales);
    memset(codes_out, PATTERN, sizeof codes_out);
    memset(&stats_out, PATTERN, sizeof stats_out);

#define GIVEN(source_, which, scales_, count, tensor_, codes_, stats_)                            \
    ofp8_quantize_given(&recipe, &shape, NULL, source_, which, scales_, count, tensor_, codes_,   \
                        stats_)
    REFUSED(OFP8_UNKNOWN_POLICY, GIVEN(source, 2, scales, BLOCKS, &tensor, codes_out, &stats_out));
    /* Bytes are never quantizing scales. */
    REFUSED(OFP8_RECIPE, GIVEN(source, 0, scales, BLOCKS, &tensor, codes_out, &stats_out));
    REFUSED(OFP8_NULL_POINTER, GIVEN(NULL, 1, scales, BLOCKS, &tensor, codes_out, &stats_out));
    REFUSED(OFP8_NULL_POINTER, GIVEN(source, 1, NULL, BLOCKS, &tensor, codes_out, &stats_out));
    REFUSED(OFP8_NULL_POINTER, GIVEN(source, 1, scales, BLOCKS, NULL, codes_out, &stats_out));
    REFUSED(OFP8_NULL_POINTER, GIVEN(source, 1, scales, BLOCKS, &tensor, NULL, &stats_out));
    REFUSED(OFP8_MISALIGNED, GIVEN(odd, 1, scales, BLOCKS, &tensor, codes_out, &stats_out));
    REFUSED(OFP8_LENGTH, GIVEN(source, 1, scales, BLOCKS - 1, &tensor, codes_out, &stats_out));
    REFUSED(OFP8_OVERLAP, GIVEN(codes_out, 1, scales, BLOCKS, &tensor, codes_out, &stats_out));
    REFUSED(OFP8_OVERLAP, GIVEN(source, 1, codes_out, BLOCKS, &tensor, codes_out, &stats_out));
    REFUSED(OFP8_OVERLAP, GIVEN(source, 1, scales, BLOCKS, &tensor, codes_out,
                                (ofp8_stats *)(void *)codes_out));
    scales[BLOCKS - 1] = 0x7F; /* NaN in UE4M3 */
    REFUSED(OFP8_SCALE, GIVEN(source, 1, scales, BLOCKS, &tensor, codes_out, &stats_out));
    scales[BLOCKS - 1] = 0x38;
    tensor = -1.0f;
    REFUSED(OFP8_SCALE, GIVEN(source, 1, scales, BLOCKS, &tensor, codes_out, &stats_out));
    tensor = 1.0f;
    recipe.cast.rounding = OFP8_STOCHASTIC_A;
    recipe.cast.random_bits = 8;
    REFUSED(OFP8_RANDOM_BITS, GIVEN(source, 1, scales, BLOCKS, &tensor, codes_out, &stats_out));
    REFUSED(OFP8_MISALIGNED,
            ofp8_quantize_given(&recipe, &shape, (ofp8_philox *)((char *)&philox + 1), source, 1,
                                scales, BLOCKS, &tensor, codes_out, &stats_out));
    REFUSED(OFP8_NULL_POINTER, ofp8_quantize_given(NULL, &shape, NULL, source, 1, scales, BLOCKS,
                                                   &tensor, codes_out, &stats_out));
    REFUSED(OFP8_NULL_POINTER, ofp8_quantize_given(&recipe, NULL, NULL, source, 1, scales, BLOCKS,
                                                   &tensor, codes_out, &stats_out));

    /* f32 scales: each that is not positive and finite, and a tensor's where there is none. */
    for (int i = 0; i < 5; ++i) {
        const float bad[5] = {0.0f, -1.0f, (float)HUGE_VAL, nanf(""), 3.0f};
        for (int j = 0; j < ROWS; ++j) {
            rows[j] = 1.0f;
        }
        rows[ROWS - 1] = bad[i];
        recipe.block_cols = 0;
        recipe.block_scale = 0;
        /* 3 is a scale, but no power of two. */
        recipe.scaling = i == 4 ? OFP8_SCALING_POWER_OF_TWO : OFP8_SCALING_F32;
        REFUSED(OFP8_SCALE, GIVEN(source, i % 2, rows, ROWS, NULL, codes_out, &stats_out));
    }
    recipe.block_cols = 0;
    recipe.block_scale = 0;
    recipe.scaling = OFP8_SCALING_F32;
    REFUSED(OFP8_RECIPE, GIVEN(source, 1, rows, ROWS, &tensor, codes_out, &stats_out));
    recipe.block_cols = 0;
    recipe.block_scale = 0;
    recipe.scaling = OFP8_SCALING_F32;
    REFUSED(OFP8_MISALIGNED,
            GIVEN(source, 1, (char *)rows + 1, ROWS, NULL, codes_out, &stats_out));

    /* Two levels without a place for the tensor's scale, or a misaligned or overlapping one. */
    REFUSED(OFP8_NULL_POINTER, ofp8_quantize(&recipe, &shape, NULL, source, NULL, codes_out,
                                             scales, BLOCKS, NULL, &stats_out));
    REFUSED(OFP8_MISALIGNED,
            ofp8_quantize(&recipe, &shape, NULL, source, NULL, codes_out, scales, BLOCKS,
                          (float *)((char *)rows + 1), &stats_out));
    REFUSED(OFP8_OVERLAP, ofp8_quantize(&recipe, &shape, NULL, source, NULL, codes_out, scales,
                                        BLOCKS, source, &stats_out));
}

/* Codes of a matrix, rows for columns. */
static void transpose(const uint8_t *from, uint8_t *to)
{
    for (int row = 0; row < ROWS; ++row) {
        for (int col = 0; col < COLS; ++col) {
            to[col * ROWS + row] = from[row * COLS + col];
        }
    }
}

/* Two copies from one call are those of two calls; transposed, they are those of the transposed
 * matrix; either may be left out. A batch of two, with gaps. */
static void copies(void)
{
    enum { GAP = 5, DOWN = 2, COLUMN_BLOCKS = DOWN * COLS, ROW_BLOCKS = ROWS * 10 };
    float source[2 * COUNT];
    uint8_t codes[2 * (COUNT + GAP)], scales[2 * ROW_BLOCKS], column_codes[2 * COUNT];
    uint8_t column_scales[2 * COLUMN_BLOCKS], turned[2][COUNT];
    uint8_t expected[COUNT], expected_scales[COLUMN_BLOCKS];
    ofp8_stats stats, column_stats, one, sum;
    ofp8_copy row, column;
    ofp8_recipe by_column;
    fill(source, 2 * COUNT);
    recipe.element = OFP8_E4M3;
    recipe.scaling = OFP8_SCALING_E8M0;
    recipe.block_scale = 0;
    recipe.block_cols = 4;
    by_column = recipe;
    by_column.block_rows = 4;
    by_column.block_cols = 1;
    shape.batch_count = 2;
    memset(&row, 0, sizeof row);
    row.struct_size = sizeof row;
    row.codes = codes;
    row.code_batch_stride = COUNT + GAP;
    row.scales = scales;
    row.scale_count = sizeof scales;
    row.stats = &stats;
    memset(&column, 0, sizeof column);
    column.struct_size = sizeof column;
    column.codes = column_codes;
    column.scales = column_scales;
    column.scale_count = sizeof column_scales;
    column.stats = &column_stats;
    for (int transposed = 0; transposed < 2; ++transposed) {
        memset(codes, PATTERN, sizeof codes);
        memset(column_codes, PATTERN, sizeof column_codes);
        column.is_transposed = (uint32_t)transposed;
        CHECK(ofp8_quantize_copies(&recipe, &shape, source, &row, &column) == OFP8_OK);
        CHECK(codes[COUNT] == PATTERN && codes[sizeof codes - 1] == PATTERN);
        shape.batch_count = 1;
        memset(&sum, 0, sizeof sum);
        for (int i = 0; i < 2; ++i) {
            CHECK(ofp8_quantize(&recipe, &shape, NULL, source + i * COUNT, NULL, expected,
                                expected_scales, ROW_BLOCKS, NULL, &one)
                  == OFP8_OK);
            CHECK(memcmp(codes + i * (COUNT + GAP), expected, COUNT) == 0);
            CHECK(memcmp(scales + i * ROW_BLOCKS, expected_scales, ROW_BLOCKS) == 0);
            CHECK(ofp8_quantize(&by_column, &shape, NULL, source + i * COUNT, NULL, expected,
                                expected_scales, COLUMN_BLOCKS, NULL, &one)
                  == OFP8_OK);
            CHECK(ofp8_merge_stats(&sum, &one) == OFP8_OK);
            transpose(expected, turned[i]);
            CHECK(memcmp(column_codes + i * COUNT, transposed ? turned[i] : expected, COUNT) == 0);
            for (int col = 0; col < COLS; ++col) {
                for (int down = 0; down < DOWN; ++down) {
                    int place = transposed ? col * DOWN + down : down * COLS + col;
                    CHECK(column_scales[i * COLUMN_BLOCKS + place]
                          == expected_scales[down * COLS + col]);
                }
            }
        }
        CHECK(memcmp(&column_stats, &sum, sizeof sum) == 0);
        shape.batch_count = 2;
    }

    memset(column_codes, PATTERN, sizeof column_codes);
    CHECK(ofp8_quantize_copies(&recipe, &shape, source, NULL, &column) == OFP8_OK);
    CHECK(memcmp(column_codes, turned, sizeof turned) == 0);
    memcpy(expected, codes, COUNT);
    memset(codes, PATTERN, sizeof codes);
    CHECK(ofp8_quantize_copies(&recipe, &shape, source, &row, NULL) == OFP8_OK);
    CHECK(memcmp(expected, codes, COUNT) == 0);
    shape.rows = 0;
    row.scale_count = column.scale_count = 0;
    CHECK(ofp8_quantize_copies(&recipe, &shape, NULL, &row, &column) == OFP8_OK);
    CHECK(stats.count == 0 && column_stats.count == 0);
    reset();
}

/* Errors of two shards, merged, are those of the whole where sums are exact. */
static void merged_errors(void)
{
    const float source[4] = {1.0f, -2.0f, 3.0f, 5.0f}, stored[4] = {1.5f, -2.0f, 2.0f, 5.25f};
    ofp8_measured whole, sum, part;
    memset(&sum, 0, sizeof sum);
    shape.rows = 1;
    shape.cols = 4;
    CHECK(ofp8_measure(&shape, source, stored, 0, &whole) == OFP8_OK);
    shape.cols = 2;
    for (int i = 0; i < 2; ++i) {
        CHECK(ofp8_measure(&shape, source + 2 * i, stored + 2 * i, 0, &part) == OFP8_OK);
        CHECK(ofp8_merge_measured(&sum, &part) == OFP8_OK);
    }
    CHECK(sum.count == 4 && sum.signal == 39.0 && sum.noise == 1.3125 && sum.absolute == 1.75);
    CHECK(sum.max_absolute == 1.0 && sum.max_relative == 0.5);
    CHECK(memcmp(&sum, &whole, sizeof sum) == 0);
    reset();
}

int main(void)
{
    reset();
    two_levels();
    copies();
    merged_errors();
    given();
    batches_and_lists();
    shards();
    bad_arguments();
    return finish("recipes");
}

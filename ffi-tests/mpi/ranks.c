/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Ranks that each hold some rows of a matrix agree to the byte with one that holds all of it:
 * codes, scales, statistics, and the state of delayed scaling. Amaxes are merged by MPI_MAX on
 * MPI_UINT32_T, statistics by an operation of MPI_Op_create.
 *
 *     mpicc ranks.c libofp8.a -o ranks && mpirun -n 4 ./ranks
 *
 * Every rank computes the whole as well and compares what the ranks made together with it.
 */
#include <math.h>
#include <mpi.h>
#include <stdlib.h>

#include "../c/check.h"

enum { ROWS = 1000, COLS = 200, COUNT = ROWS * COLS, SPECIALS = 4 };

static int rank, ranks;
static float source[COUNT];

/* The recipes, and by how many rows a shard of rows may be cut (0: not at all): a block that no
 * other rank has part of needs no agreement. */
struct test {
    const char *name;
    size_t block_rows, block_cols, cut;
    uint32_t scaling, special, rounding;
};

static const struct test tests[] = {
    {"tensor", 0, 0, 1, OFP8_SCALING_F32, OFP8_SPECIAL_POISON, OFP8_NEAREST_EVEN},
    {"tensor, stochastic", 0, 0, 1, OFP8_SCALING_F32, OFP8_SPECIAL_POISON, OFP8_STOCHASTIC_A},
    {"tensor, finite amax", 0, 0, 1, OFP8_SCALING_F32, OFP8_SPECIAL_IGNORE, OFP8_NEAREST_EVEN},
    {"tensor, clamp", 0, 0, 1, OFP8_SCALING_F32, OFP8_SPECIAL_CLAMP, OFP8_NEAREST_EVEN},
    {"tensor, power of two", 0, 0, 1, OFP8_SCALING_POWER_OF_TWO, OFP8_SPECIAL_POISON,
     OFP8_NEAREST_EVEN},
    {"column", 0, 1, 1, OFP8_SCALING_F32, OFP8_SPECIAL_POISON, OFP8_STOCHASTIC_B},
    {"columns of 32", 0, 32, 1, OFP8_SCALING_E8M0, OFP8_SPECIAL_POISON, OFP8_NEAREST_EVEN},
    {"row", 1, 0, 1, OFP8_SCALING_F32, OFP8_SPECIAL_POISON, OFP8_NEAREST_EVEN},
    {"1x32", 1, 32, 1, OFP8_SCALING_E8M0, OFP8_SPECIAL_POISON, OFP8_STOCHASTIC_A},
    {"NVFP4", 1, 16, 0, OFP8_SCALING_TWO_LEVEL, OFP8_SPECIAL_POISON, OFP8_NEAREST_EVEN},
    {"128x128", 128, 128, 128, OFP8_SCALING_F32, OFP8_SPECIAL_POISON, OFP8_NEAREST_EVEN},
};

/* Values of all magnitudes that depend on their place and the kind of data alone: 0 finite, 1
 * with an infinity in the last rank's rows, 2 with a NaN in the second's, 3 with both. */
static void fill(int special)
{
    uint32_t state = 12345;
    for (int i = 0; i < COUNT; ++i) {
        state = state * 1664525u + 1013904223u;
        source[i] = ldexpf((float)(int32_t)state, (int)(state >> 7 & 31) - 60);
    }
    if (special & 1) {
        source[COUNT - 7] = -INFINITY;
    }
    if (special & 2) {
        source[COUNT * 3 / 8] = NAN;
    }
}

/* The first row of a rank's shard: uneven shards; the last rank's end is the end of the matrix. */
static size_t first_row(int of, size_t cut)
{
    const size_t even = (size_t)(ROWS * of / ranks);
    if (of == 0 || of == ranks) {
        return of == 0 ? 0 : ROWS;
    }
    return (even + (size_t)of * 13) / cut * cut;
}

static ofp8_recipe recipe_of(const struct test *test)
{
    ofp8_recipe recipe;
    memset(&recipe, 0, sizeof recipe);
    recipe.struct_size = sizeof recipe;
    recipe.element = test->scaling == OFP8_SCALING_TWO_LEVEL ? OFP8_E2M1 : OFP8_E4M3;
    recipe.block_scale = test->scaling == OFP8_SCALING_TWO_LEVEL ? OFP8_UE4M3 : 0;
    recipe.block_rows = test->block_rows;
    recipe.block_cols = test->block_cols;
    recipe.scaling = test->scaling;
    recipe.special = test->special;
    recipe.cast.rounding = test->rounding;
    recipe.cast.random_bits = test->rounding == OFP8_NEAREST_EVEN ? 0 : 16;
    return recipe;
}

static ofp8_shape shape_of(size_t rows)
{
    ofp8_shape shape;
    memset(&shape, 0, sizeof shape);
    shape.struct_size = sizeof shape;
    shape.rows = rows;
    shape.cols = COLS;
    shape.wide_type = OFP8_F32;
    return shape;
}

/* What quantizing gives. */
struct result {
    uint8_t codes[COUNT];
    float tensor_scale;
    uint8_t scales[COUNT * 4];
    size_t scale_bytes;
    ofp8_stats stats;
};

static struct result whole, mine, together;

/* Quantizes what a shape describes into `result`, from its beginning. With `merge`, by the
 * amaxes of all ranks. */
static void quantize(const struct test *test, const ofp8_shape *shape, const float *from,
                     uint64_t first_index, int merge, struct result *result)
{
    static uint32_t amax[COUNT];
    const ofp8_recipe recipe = recipe_of(test);
    const ofp8_philox random = {42, 7, first_index};
    const int two_level = test->scaling == OFP8_SCALING_TWO_LEVEL;
    const int bytes = two_level || test->scaling == OFP8_SCALING_E8M0;
    size_t down = 0, across = 0, blocks;
    CHECK(ofp8_scale_grid(&recipe, shape->rows, COLS, &down, &across) == OFP8_OK);
    blocks = down * across;
    if (merge) {
        CHECK(ofp8_amax_blocks(&recipe, shape, from, amax, blocks) == OFP8_OK);
        MPI_Allreduce(MPI_IN_PLACE, amax, (int)blocks, MPI_UINT32_T, MPI_MAX, MPI_COMM_WORLD);
    }
    CHECK(ofp8_quantize(&recipe, shape, &random, from, merge ? amax : NULL, result->codes,
                        result->scales, blocks, two_level ? &result->tensor_scale : NULL,
                        &result->stats) == OFP8_OK);
    result->scale_bytes = blocks * (bytes ? 1 : 4);
}

static void merge_stats(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const ofp8_stats *other = (const ofp8_stats *)in;
    ofp8_stats *into = (ofp8_stats *)inout;
    (void)type;
    for (int i = 0; i < *count; ++i) {
        CHECK(ofp8_merge_stats(&into[i], &other[i]) == OFP8_OK);
    }
}

/* All ranks' bytes one after another, on all ranks; returns how many. */
static size_t gather(const uint8_t *bytes, size_t count, uint8_t *all)
{
    int counts[64], offsets[64], own = (int)count;
    size_t total = 0;
    MPI_Allgather(&own, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; ++i) {
        offsets[i] = (int)total;
        total += (size_t)counts[i];
    }
    MPI_Allgatherv(bytes, own, MPI_BYTE, all, counts, offsets, MPI_BYTE, MPI_COMM_WORLD);
    return total;
}

/* Codes and statistics of all ranks together against those of the whole. */
static void compare(size_t codes, MPI_Op op, MPI_Datatype type)
{
    CHECK(gather(mine.codes, codes, together.codes) == COUNT);
    CHECK(memcmp(together.codes, whole.codes, COUNT) == 0);
    MPI_Allreduce(&mine.stats, &together.stats, 1, type, op, MPI_COMM_WORLD);
    CHECK(memcmp(&together.stats, &whole.stats, sizeof whole.stats) == 0);
    CHECK(whole.stats.count == COUNT);
}

/* All scales of the whole are on this rank. */
static void compare_scales(void)
{
    CHECK(mine.scale_bytes == whole.scale_bytes);
    CHECK(memcmp(mine.scales, whole.scales, whole.scale_bytes) == 0);
    CHECK(memcmp(&mine.tensor_scale, &whole.tensor_scale, sizeof(float)) == 0);
}

/* Shards of whole rows, each a matrix of its own. */
static void shards_of_rows(const struct test *test, MPI_Op op, MPI_Datatype type)
{
    const size_t first = first_row(rank, test->cut);
    const size_t rows = first_row(rank + 1, test->cut) - first;
    const ofp8_shape shape = shape_of(rows);
    const int shared = test->block_rows == 0;
    quantize(test, &shape, source + first * COLS, first * COLS, shared, &mine);
    compare(rows * COLS, op, type);
    if (shared) {
        compare_scales();
    } else {
        CHECK(gather(mine.scales, mine.scale_bytes, together.scales) == whole.scale_bytes);
        CHECK(memcmp(together.scales, whole.scales, whole.scale_bytes) == 0);
    }
}

/* Shards that begin and end anywhere, in the middle of rows and blocks. */
static void flat_shards(const struct test *test, MPI_Op op, MPI_Datatype type)
{
    const size_t begin = rank == 0 ? 0 : first_row(rank, 1) * COLS + 77;
    const size_t end = rank + 1 == ranks ? COUNT : first_row(rank + 1, 1) * COLS + 77;
    ofp8_shape shape = shape_of(ROWS);
    shape.is_shard = 1;
    shape.shard_first = begin;
    shape.shard_len = end - begin;
    quantize(test, &shape, source + begin, 0, 1, &mine);
    compare(end - begin, op, type);
    compare_scales();
}

static void shards(const struct test *test, MPI_Op op, MPI_Datatype type)
{
    const ofp8_shape shape = shape_of(ROWS);
    const int before = failures;
    memset(&whole, 0, sizeof whole);
    quantize(test, &shape, source, 0, 0, &whole);
    if (test->cut > 0) {
        memset(&mine, 0, sizeof mine);
        shards_of_rows(test, op, type);
    }
    memset(&mine, 0, sizeof mine);
    flat_shards(test, op, type);
    if (failures > before) {
        printf("rank %d: %s\n", rank, test->name);
    }
}

/* A hundred steps of delayed scaling over shards: each rank's state is that of one rank that saw
 * everything, and so are the codes. */
static void delayed(uint32_t interval)
{
    enum { HISTORY = 8, TENSORS = 3, SIZE = OFP8_DELAYED_SIZE(HISTORY, TENSORS) };
    static uint32_t own[SIZE / 4], alone[SIZE / 4];
    const size_t first = first_row(rank, 1), rows = first_row(rank + 1, 1) - first;
    ofp8_delayed rules;
    memset(&rules, 0, sizeof rules);
    rules.struct_size = sizeof rules;
    rules.history = HISTORY;
    rules.interval = interval;
    CHECK(ofp8_delayed_init(&rules, TENSORS, own, SIZE) == OFP8_OK);
    CHECK(ofp8_delayed_init(&rules, TENSORS, alone, SIZE) == OFP8_OK);
    for (int step = 0; step < 100; ++step) {
        uint32_t is_due = 0, *staging = NULL;
        for (size_t tensor = 0; tensor < TENSORS; ++tensor) {
            const size_t cols = COLS / TENSORS / 2;
            const size_t skipped = (size_t)(step * 31 % 200);
            uint32_t amax = 0;
            if ((step + (int)tensor) % 5 == 0) {
                continue; /* does not run */
            }
            /* Some elements of each row, different ones each step. */
            for (size_t row = 0; row < ROWS; ++row) {
                const float *some = source + row * COLS + skipped % (COLS - cols);
                CHECK(ofp8_amax(OFP8_F32, some, cols, &amax) == OFP8_OK);
                CHECK(ofp8_delayed_record(&rules, alone, SIZE, tensor, amax) == OFP8_OK);
                if (row >= first && row < first + rows) {
                    CHECK(ofp8_delayed_record(&rules, own, SIZE, tensor, amax) == OFP8_OK);
                }
            }
        }
        CHECK(ofp8_delayed_is_due(&rules, own, SIZE, &is_due) == OFP8_OK);
        if (is_due) {
            CHECK(ofp8_delayed_staging(&rules, own, SIZE, &staging) == OFP8_OK);
            MPI_Allreduce(MPI_IN_PLACE, staging, TENSORS, MPI_UINT32_T, MPI_MAX, MPI_COMM_WORLD);
        }
        CHECK(ofp8_delayed_update(&rules, own, SIZE) == OFP8_OK);
        CHECK(ofp8_delayed_update(&rules, alone, SIZE) == OFP8_OK);
        if (is_due) {
            CHECK(memcmp(own, alone, SIZE) == 0);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Op op;
    MPI_Datatype type;
    int local[2], all[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Type_contiguous((int)sizeof(ofp8_stats), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(merge_stats, 1, &op);
    for (int special = 0; special < SPECIALS; ++special) {
        fill(special);
        for (size_t i = 0; i < sizeof tests / sizeof tests[0]; ++i) {
            shards(&tests[i], op, type);
        }
        delayed(1);
        delayed(7);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    local[0] = checks;
    local[1] = failures;
    MPI_Allreduce(local, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("mpi: %d ranks, %d checks, %d failed\n", ranks, all[0], all[1]);
    }
    MPI_Finalize();
    return all[1] == 0 && all[0] > 0 ? 0 : 1;
}

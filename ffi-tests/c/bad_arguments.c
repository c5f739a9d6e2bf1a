/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Each bad argument of each function: its status, and outputs untouched. Before each call every
 * output holds a pattern; after it, the pattern must still be there.
 */
#include <stdlib.h>

#include "check.h"

enum { ROWS = 4, COLS = 64, COUNT = ROWS * COLS, BLOCKS = 8, PATTERN = 0xA5 };

/* One of everything that a call may read or write, in memory that nothing else shares. */
struct world {
    float source[COUNT + 1]; /* room for a pointer that is off by one */
    float target[COUNT + 1];
    uint8_t codes[COUNT];
    uint8_t scales[BLOCKS];
    float f32_scales[BLOCKS];
    uint32_t amax[BLOCKS];
    uint8_t code;
    float f32;
    double f64;
    uint16_t half;
    size_t down, across;
    ofp8_stats stats;
    ofp8_not_finite first; /* room for a pointer that is off by one, here too */
    uint8_t column_codes[COUNT];
    uint8_t column_scales[COLS];
    ofp8_stats column_stats;
    ofp8_measured measured;
    ofp8_format_info info;
};

static struct world before, world;
static ofp8_recipe recipe;
static ofp8_shape shape;
static ofp8_cast cast;
static ofp8_philox philox;
static ofp8_copy row, column;

/* Good arguments, and a pattern in every output. */
static void reset(void)
{
    memset(&world, PATTERN, sizeof world);
    for (int i = 0; i < COUNT; ++i) {
        world.source[i] = (float)i;
    }
    memcpy(&before, &world, sizeof world);
    memset(&recipe, 0, sizeof recipe);
    recipe.struct_size = sizeof recipe;
    recipe.element = OFP8_E4M3;
    recipe.block_rows = 1;
    recipe.block_cols = 32;
    recipe.scaling = OFP8_SCALING_E8M0;
    memset(&shape, 0, sizeof shape);
    shape.struct_size = sizeof shape;
    shape.rows = ROWS;
    shape.cols = COLS;
    shape.wide_type = OFP8_F32;
    memset(&cast, 0, sizeof cast);
    memset(&philox, 0, sizeof philox);
    memset(&row, 0, sizeof row);
    row.struct_size = sizeof row;
    row.codes = world.codes;
    row.scales = world.scales;
    row.scale_count = BLOCKS;
    row.stats = &world.stats;
    column = row;
    column.codes = world.column_codes;
    column.scales = world.column_scales;
    column.scale_count = COLS;
    column.stats = &world.column_stats;
}

static void refused_at(ofp8_status got, ofp8_status want, const char *call, int line)
{
    checks += 1;
    if (got != want) {
        failures += 1;
        printf("%s:%d: %s gives %u (%s), not %u\n", __FILE__, line, call, (unsigned)got,
               ofp8_status_text((uint32_t)got), (unsigned)want);
    }
    if (memcmp(&before, &world, sizeof world) != 0) {
        failures += 1;
        printf("%s:%d: %s wrote something\n", __FILE__, line, call);
    }
    reset();
}

/* The call must be refused with this status, and have written nothing. */
#define REFUSED(status, call) refused_at((call), (status), #call, __LINE__)

static void *odd(void *pointer)
{
    return (char *)pointer + 1;
}

static void scalar(void)
{
    uint16_t *half = &world.half;
    REFUSED(OFP8_UNKNOWN_FORMAT, ofp8_get_format_info(0, &world.info));
    REFUSED(OFP8_UNKNOWN_FORMAT, ofp8_get_format_info(9999, &world.info));
    REFUSED(OFP8_NULL_POINTER, ofp8_get_format_info(OFP8_E4M3, NULL));
    REFUSED(OFP8_MISALIGNED,
            ofp8_get_format_info(OFP8_E4M3, (ofp8_format_info *)odd(&world.info)));

    REFUSED(OFP8_UNKNOWN_FORMAT, ofp8_encode_f32(0, NULL, 1.0f, 0, &world.code));
    REFUSED(OFP8_UNKNOWN_FORMAT, ofp8_encode_f64(0, NULL, 1.0, 0, &world.code));
    REFUSED(OFP8_UNKNOWN_FORMAT, ofp8_encode_f16(77, NULL, 1, 0, &world.code));
    REFUSED(OFP8_UNKNOWN_FORMAT, ofp8_encode_bf16(77, NULL, 1, 0, &world.code));
    REFUSED(OFP8_NULL_POINTER, ofp8_encode_f32(OFP8_E4M3, NULL, 1.0f, 0, NULL));
    REFUSED(OFP8_NULL_POINTER, ofp8_encode_f64(OFP8_E4M3, NULL, 1.0, 0, NULL));
    REFUSED(OFP8_NULL_POINTER, ofp8_encode_f16(OFP8_E4M3, NULL, 1, 0, NULL));
    REFUSED(OFP8_NULL_POINTER, ofp8_encode_bf16(OFP8_E4M3, NULL, 1, 0, NULL));
    REFUSED(OFP8_MISALIGNED, ofp8_encode_f32(OFP8_E4M3, (ofp8_cast *)odd(&cast), 1.0f, 0,
                                             &world.code));

    REFUSED(OFP8_UNKNOWN_FORMAT, ofp8_decode_f32(0, 1, &world.f32));
    REFUSED(OFP8_UNKNOWN_FORMAT, ofp8_decode_f64(0, 1, &world.f64));
    REFUSED(OFP8_UNKNOWN_FORMAT, ofp8_decode_f16(0, 1, half));
    REFUSED(OFP8_UNKNOWN_FORMAT, ofp8_decode_bf16(0, 1, half));
    REFUSED(OFP8_NULL_POINTER, ofp8_decode_f32(OFP8_E4M3, 1, NULL));
    REFUSED(OFP8_NULL_POINTER, ofp8_decode_f64(OFP8_E4M3, 1, NULL));
    REFUSED(OFP8_NULL_POINTER, ofp8_decode_f16(OFP8_E4M3, 1, NULL));
    REFUSED(OFP8_NULL_POINTER, ofp8_decode_bf16(OFP8_E4M3, 1, NULL));
    REFUSED(OFP8_MISALIGNED, ofp8_decode_f32(OFP8_E4M3, 1, (float *)odd(&world.f32)));
    REFUSED(OFP8_MISALIGNED, ofp8_decode_f64(OFP8_E4M3, 1, (double *)odd(&world.f64)));
    REFUSED(OFP8_MISALIGNED, ofp8_decode_f16(OFP8_E4M3, 1, (uint16_t *)odd(half)));
    REFUSED(OFP8_MISALIGNED, ofp8_decode_bf16(OFP8_E4M3, 1, (uint16_t *)odd(half)));
}

/* Every field of a cast, through every function that takes one. */
static void casts(void)
{
    static const ofp8_cast bad[] = {
        {9, 0, 0, 0},                       /* no such rounding */
        {0, 3, 0, 0},                       /* no such saturation */
        {0, 0, 2, 0},                       /* no such NaN policy */
        {0, 0, 0, 8},                       /* random bits of a deterministic rounding */
        {OFP8_STOCHASTIC_A, 0, 0, 0},       /* none of a stochastic one */
        {OFP8_STOCHASTIC_B, 0, 0, 33},      /* too many */
        {0xFFFFFFFFu, 0xFFFFFFFFu, 0xFFFFFFFFu, 0xFFFFFFFFu},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        const ofp8_cast *one = &bad[i];
        REFUSED(OFP8_UNKNOWN_POLICY, ofp8_encode_f32(OFP8_E4M3, one, 1.0f, 0, &world.code));
        REFUSED(OFP8_UNKNOWN_POLICY, ofp8_encode_f64(OFP8_E4M3, one, 1.0, 0, &world.code));
        REFUSED(OFP8_UNKNOWN_POLICY, ofp8_encode_f16(OFP8_E4M3, one, 1, 0, &world.code));
        REFUSED(OFP8_UNKNOWN_POLICY, ofp8_encode_bf16(OFP8_E4M3, one, 1, 0, &world.code));
        REFUSED(OFP8_UNKNOWN_POLICY, ofp8_encode(OFP8_E4M3, one, NULL, OFP8_F32, world.source,
                                                 COUNT, world.codes));
        recipe.cast = *one;
        REFUSED(OFP8_UNKNOWN_POLICY,
                ofp8_quantize(&recipe, &shape, NULL, world.source, NULL, world.codes,
                              world.scales, BLOCKS, NULL, &world.stats));
    }
}

static void bulk(void)
{
    const ofp8_cast stochastic = {OFP8_STOCHASTIC_A, 0, 0, 16};
    const ofp8_cast many_bits = {OFP8_STOCHASTIC_A, 0, 0, 17};
    const size_t huge = (size_t)-1 / 2;
    uint8_t *codes = world.codes;
    float *source = world.source, *target = world.target;
    REFUSED(OFP8_UNKNOWN_FORMAT, ofp8_encode(0, NULL, NULL, OFP8_F32, source, COUNT, codes));
    REFUSED(OFP8_UNKNOWN_TYPE, ofp8_encode(OFP8_E4M3, NULL, NULL, 0, source, COUNT, codes));
    REFUSED(OFP8_UNKNOWN_TYPE, ofp8_encode(OFP8_E4M3, NULL, NULL, 99, source, COUNT, codes));
    REFUSED(OFP8_NULL_POINTER, ofp8_encode(OFP8_E4M3, NULL, NULL, OFP8_F32, NULL, COUNT, codes));
    REFUSED(OFP8_NULL_POINTER, ofp8_encode(OFP8_E4M3, NULL, NULL, OFP8_F32, source, COUNT, NULL));
    REFUSED(OFP8_MISALIGNED,
            ofp8_encode(OFP8_E4M3, NULL, NULL, OFP8_F32, odd(source), COUNT - 1, codes));
    REFUSED(OFP8_MISALIGNED,
            ofp8_encode(OFP8_E4M3, NULL, NULL, OFP8_F64, odd(source), 2, codes));
    REFUSED(OFP8_MISALIGNED,
            ofp8_encode(OFP8_E4M3, NULL, NULL, OFP8_F16, odd(source), 2, codes));
    REFUSED(OFP8_MISALIGNED,
            ofp8_encode(OFP8_E4M3, NULL, NULL, OFP8_BF16, odd(source), 2, codes));
    REFUSED(OFP8_MISALIGNED, ofp8_encode(OFP8_E4M3, &stochastic, (ofp8_philox *)odd(&philox),
                                         OFP8_F32, source, COUNT, codes));
    REFUSED(OFP8_SHAPE, ofp8_encode(OFP8_E4M3, NULL, NULL, OFP8_F32, source, huge, codes));
    REFUSED(OFP8_OVERLAP,
            ofp8_encode(OFP8_E4M3, NULL, NULL, OFP8_F32, source, COUNT, (uint8_t *)source));
    REFUSED(OFP8_OVERLAP, ofp8_encode(OFP8_E4M3, NULL, NULL, OFP8_F32, source, COUNT,
                                      (uint8_t *)(source + COUNT) - 1));
    REFUSED(OFP8_RANDOM_BITS,
            ofp8_encode(OFP8_E4M3, &stochastic, NULL, OFP8_F32, source, COUNT, codes));
    REFUSED(OFP8_RANDOM_BITS,
            ofp8_encode(OFP8_E4M3, &many_bits, &philox, OFP8_F32, source, COUNT, codes));

    REFUSED(OFP8_UNKNOWN_FORMAT, ofp8_decode(0, codes, COUNT, OFP8_F32, target));
    REFUSED(OFP8_UNKNOWN_TYPE, ofp8_decode(OFP8_E4M3, codes, COUNT, 0, target));
    REFUSED(OFP8_UNKNOWN_TYPE, ofp8_decode(OFP8_E4M3, codes, COUNT, 5, target));
    REFUSED(OFP8_NULL_POINTER, ofp8_decode(OFP8_E4M3, NULL, COUNT, OFP8_F32, target));
    REFUSED(OFP8_NULL_POINTER, ofp8_decode(OFP8_E4M3, codes, COUNT, OFP8_F32, NULL));
    REFUSED(OFP8_MISALIGNED, ofp8_decode(OFP8_E4M3, codes, 4, OFP8_F32, odd(target)));
    REFUSED(OFP8_MISALIGNED, ofp8_decode(OFP8_E4M3, codes, 4, OFP8_F64, odd(target)));
    REFUSED(OFP8_MISALIGNED, ofp8_decode(OFP8_E4M3, codes, 4, OFP8_F16, odd(target)));
    REFUSED(OFP8_MISALIGNED, ofp8_decode(OFP8_E4M3, codes, 4, OFP8_BF16, odd(target)));
    REFUSED(OFP8_SHAPE, ofp8_decode(OFP8_E4M3, codes, huge, OFP8_F32, target));
    REFUSED(OFP8_OVERLAP, ofp8_decode(OFP8_E4M3, (uint8_t *)target, COUNT, OFP8_F32, target));

    REFUSED(OFP8_UNKNOWN_TYPE, ofp8_amax(0, source, COUNT, world.amax));
    REFUSED(OFP8_NULL_POINTER, ofp8_amax(OFP8_F32, NULL, COUNT, world.amax));
    REFUSED(OFP8_NULL_POINTER, ofp8_amax(OFP8_F32, source, COUNT, NULL));
    REFUSED(OFP8_MISALIGNED, ofp8_amax(OFP8_F32, odd(source), COUNT - 1, world.amax));
    REFUSED(OFP8_MISALIGNED, ofp8_amax(OFP8_F32, source, COUNT, (uint32_t *)odd(world.amax)));
    REFUSED(OFP8_SHAPE, ofp8_amax(OFP8_F32, source, huge, world.amax));
    REFUSED(OFP8_OVERLAP, ofp8_amax(OFP8_F32, source, COUNT, (uint32_t *)source));
}

static void packing(void)
{
    const size_t huge = (size_t)-1;
    uint8_t *codes = world.codes, *packed = world.scales;
    REFUSED(OFP8_UNKNOWN_PACKING, ofp8_packed_size(0, 1, &world.down));
    REFUSED(OFP8_NULL_POINTER, ofp8_packed_size(OFP8_PACKING_FP6, 1, NULL));
    REFUSED(OFP8_MISALIGNED, ofp8_packed_size(OFP8_PACKING_FP6, 1, (size_t *)odd(&world.down)));
    REFUSED(OFP8_UNKNOWN_PACKING, ofp8_pack(99, codes, 4, packed));
    REFUSED(OFP8_NULL_POINTER, ofp8_pack(OFP8_PACKING_FP6, NULL, 4, packed));
    REFUSED(OFP8_NULL_POINTER, ofp8_pack(OFP8_PACKING_FP6, codes, 4, NULL));
    REFUSED(OFP8_SHAPE, ofp8_pack(OFP8_PACKING_FP6, codes, huge, packed));
    REFUSED(OFP8_OVERLAP, ofp8_pack(OFP8_PACKING_FP6, codes, 4, codes + 3));
    REFUSED(OFP8_UNKNOWN_PACKING, ofp8_unpack(99, packed, 4, codes));
    REFUSED(OFP8_NULL_POINTER, ofp8_unpack(OFP8_PACKING_FP6, NULL, 4, codes));
    REFUSED(OFP8_NULL_POINTER, ofp8_unpack(OFP8_PACKING_FP6, packed, 4, NULL));
    REFUSED(OFP8_SHAPE, ofp8_unpack(OFP8_PACKING_FP6, packed, huge, codes));
    REFUSED(OFP8_OVERLAP, ofp8_unpack(OFP8_PACKING_FP6, codes + 2, 4, codes));
}

/* A call of each function that takes a recipe, as the world stands. */
static ofp8_status call_with_recipe(int which, const ofp8_recipe *one)
{
    switch (which) {
    case 0:
        return ofp8_scale_grid(one, ROWS, COLS, &world.down, &world.across);
    case 1:
        return ofp8_scale_from_amax(one, 0, &world.f32, &world.code);
    case 2:
        return ofp8_amax_blocks(one, &shape, world.source, world.amax, BLOCKS);
    case 3:
        return ofp8_dequantize(one, &shape, world.codes, world.scales, BLOCKS, NULL, world.target);
    default:
        return ofp8_quantize(one, &shape, NULL, world.source, NULL, world.codes, world.scales,
                             BLOCKS, NULL, &world.stats);
    }
}

static void recipes(void)
{
    struct {
        ofp8_recipe known;
        uint8_t excess[16];
    } larger;
    for (int which = 0; which < 5; ++which) {
        REFUSED(OFP8_NULL_POINTER, call_with_recipe(which, NULL));
        REFUSED(OFP8_MISALIGNED, call_with_recipe(which, (ofp8_recipe *)odd(&recipe)));
        recipe.struct_size = 0;
        REFUSED(OFP8_STRUCT_SIZE, call_with_recipe(which, &recipe));
        recipe.struct_size = (size_t)-1;
        REFUSED(OFP8_STRUCT_SIZE, call_with_recipe(which, &recipe));
        /* A shorter one ends before the element: the default of a format is "unknown". */
        recipe.struct_size = sizeof(size_t);
        REFUSED(OFP8_UNKNOWN_FORMAT, call_with_recipe(which, &recipe));
        memset(&larger, 0, sizeof larger);
        larger.known = recipe;
        larger.known.struct_size = sizeof larger;
        larger.excess[15] = 1;
        REFUSED(OFP8_STRUCT_SIZE, call_with_recipe(which, &larger.known));
        recipe.element = 0;
        REFUSED(OFP8_UNKNOWN_FORMAT, call_with_recipe(which, &recipe));
        recipe.element = OFP8_E8M0;
        REFUSED(OFP8_RECIPE, call_with_recipe(which, &recipe));
        recipe.scaling = 4;
        REFUSED(OFP8_UNKNOWN_POLICY, call_with_recipe(which, &recipe));
        recipe.exponent_rule = 6;
        REFUSED(OFP8_UNKNOWN_POLICY, call_with_recipe(which, &recipe));
        recipe.scale_order = OFP8_LAYOUT_GFX950 + 1;
        REFUSED(OFP8_UNKNOWN_POLICY, call_with_recipe(which, &recipe));
        recipe.has_tensor_amax = 2;
        REFUSED(OFP8_UNKNOWN_POLICY, call_with_recipe(which, &recipe));
        recipe.block_scale = OFP8_UE4M3; /* of no two-level recipe */
        REFUSED(OFP8_RECIPE, call_with_recipe(which, &recipe));
        recipe.scaling = OFP8_SCALING_TWO_LEVEL;
        REFUSED(OFP8_UNKNOWN_FORMAT, call_with_recipe(which, &recipe));
        recipe.scaling = OFP8_SCALING_TWO_LEVEL;
        recipe.block_scale = OFP8_E4M3; /* signed */
        REFUSED(OFP8_RECIPE, call_with_recipe(which, &recipe));
        recipe.convention = 1;
        REFUSED(OFP8_RECIPE, call_with_recipe(which, &recipe));
        recipe.scaling = OFP8_SCALING_F32;
        recipe.convention = 3;
        REFUSED(OFP8_UNKNOWN_POLICY, call_with_recipe(which, &recipe));
        recipe.scaling = OFP8_SCALING_F32;
        recipe.exponent_rule = 1;
        REFUSED(OFP8_RECIPE, call_with_recipe(which, &recipe));
        recipe.special = 3;
        REFUSED(OFP8_UNKNOWN_POLICY, call_with_recipe(which, &recipe));
        recipe.margin = 65;
        REFUSED(OFP8_RECIPE, call_with_recipe(which, &recipe));
        recipe.epsilon = -1.0f;
        REFUSED(OFP8_RECIPE, call_with_recipe(which, &recipe));
        recipe.amax_bound = -1.0f;
        REFUSED(OFP8_RECIPE, call_with_recipe(which, &recipe));
    }
    REFUSED(OFP8_NULL_POINTER, ofp8_scale_grid(&recipe, 1, 1, NULL, &world.across));
    REFUSED(OFP8_NULL_POINTER, ofp8_scale_grid(&recipe, 1, 1, &world.down, NULL));
    REFUSED(OFP8_OVERLAP, ofp8_scale_grid(&recipe, 1, 1, &world.down, &world.down));
    REFUSED(OFP8_MISALIGNED,
            ofp8_scale_grid(&recipe, 1, 1, (size_t *)odd(&world.down), &world.across));
    REFUSED(OFP8_MISALIGNED,
            ofp8_scale_grid(&recipe, 1, 1, &world.down, (size_t *)odd(&world.across)));
    REFUSED(OFP8_MISALIGNED,
            ofp8_scale_from_amax(&recipe, 0, (float *)odd(&world.f32), &world.code));
    recipe.scaling = OFP8_SCALING_F32;
    REFUSED(OFP8_SCALE, ofp8_scale_from_amax(&recipe, 0, &world.f32, &world.code));
}

/* A call of each function that takes a shape, as the world stands. */
static ofp8_status call_with_shape(int which, const ofp8_shape *one)
{
    switch (which) {
    case 0:
        return ofp8_validate(one, world.source, &world.first);
    case 1:
        return ofp8_measure(one, world.source, world.target, 0, &world.measured);
    case 2:
        return ofp8_amax_blocks(&recipe, one, world.source, world.amax, BLOCKS);
    case 3:
        return ofp8_dequantize(&recipe, one, world.codes, world.scales, BLOCKS, NULL, world.target);
    default:
        return ofp8_quantize(&recipe, one, NULL, world.source, NULL, world.codes, world.scales,
                             BLOCKS, NULL, &world.stats);
    }
}

static void shapes(void)
{
    const size_t huge = (size_t)1 << (sizeof(size_t) * 8 - 2);
    for (int which = 0; which < 5; ++which) {
        REFUSED(OFP8_NULL_POINTER, call_with_shape(which, NULL));
        REFUSED(OFP8_MISALIGNED, call_with_shape(which, (ofp8_shape *)odd(&shape)));
        shape.struct_size = 1;
        REFUSED(OFP8_STRUCT_SIZE, call_with_shape(which, &shape));
        shape.is_shard = 2;
        REFUSED(OFP8_UNKNOWN_POLICY, call_with_shape(which, &shape));
        shape.shard_len = 1; /* of no shard */
        REFUSED(OFP8_SHAPE, call_with_shape(which, &shape));
        shape.is_shard = 1;
        shape.shard_len = COUNT + 1;
        REFUSED(OFP8_SHAPE, call_with_shape(which, &shape));
        shape.is_shard = 1;
        shape.shard_first = (size_t)-1;
        shape.shard_len = 2;
        REFUSED(OFP8_SHAPE, call_with_shape(which, &shape));
        shape.is_shard = 1;
        shape.stride = COLS + 1;
        REFUSED(OFP8_SHAPE, call_with_shape(which, &shape));
        shape.is_shard = 1;
        shape.batch_count = 2;
        REFUSED(OFP8_SHAPE, call_with_shape(which, &shape));
        shape.batch_count = 2;
        shape.batch_stride = COUNT - 1;
        REFUSED(OFP8_SHAPE, call_with_shape(which, &shape));
        shape.batch_count = huge;
        REFUSED(OFP8_SHAPE, call_with_shape(which, &shape));
        shape.wide_type = 0;
        REFUSED(OFP8_UNKNOWN_TYPE, call_with_shape(which, &shape));
        shape.wide_type = OFP8_F64;
        REFUSED(OFP8_UNKNOWN_TYPE, call_with_shape(which, &shape));
        shape.stride = COLS - 1;
        REFUSED(OFP8_SHAPE, call_with_shape(which, &shape));
        shape.rows = huge;
        REFUSED(OFP8_SHAPE, call_with_shape(which, &shape));
        shape.cols = huge;
        REFUSED(OFP8_SHAPE, call_with_shape(which, &shape));
        shape.stride = huge;
        REFUSED(OFP8_SHAPE, call_with_shape(which, &shape));
    }
    shape.code_stride = COLS - 1;
    REFUSED(OFP8_SHAPE, call_with_shape(3, &shape));
    shape.code_stride = COLS - 1;
    REFUSED(OFP8_SHAPE, call_with_shape(4, &shape));
    for (int which = 2; which < 5; ++which) {
        shape.rows = ROWS - 1;
        REFUSED(OFP8_LENGTH, call_with_shape(which, &shape));
    }
}

/* Every pointer of the functions on matrices: null, misaligned, overlapping. */
static void matrices(void)
{
    const ofp8_cast stochastic = {OFP8_STOCHASTIC_A, 0, 0, 16};
    uint8_t *codes = world.codes, *scales = world.scales;
    float *source = world.source, *target = world.target;
    uint32_t *amax = world.amax;
    ofp8_stats *stats = &world.stats;
    REFUSED(OFP8_NULL_POINTER, ofp8_validate(&shape, NULL, &world.first));
    REFUSED(OFP8_NULL_POINTER, ofp8_validate(&shape, source, NULL));
    REFUSED(OFP8_MISALIGNED, ofp8_validate(&shape, odd(source), &world.first));
    REFUSED(OFP8_MISALIGNED, ofp8_validate(&shape, source, (ofp8_not_finite *)odd(&world.first)));
    REFUSED(OFP8_OVERLAP, ofp8_validate(&shape, source, (ofp8_not_finite *)(void *)source));

    REFUSED(OFP8_NULL_POINTER, ofp8_measure(&shape, NULL, target, 0, &world.measured));
    REFUSED(OFP8_NULL_POINTER, ofp8_measure(&shape, source, NULL, 0, &world.measured));
    REFUSED(OFP8_NULL_POINTER, ofp8_measure(&shape, source, target, 0, NULL));
    REFUSED(OFP8_SHAPE, ofp8_measure(&shape, source, target, COLS - 1, &world.measured));
    REFUSED(OFP8_MISALIGNED, ofp8_measure(&shape, odd(source), target, 0, &world.measured));
    REFUSED(OFP8_MISALIGNED,
            ofp8_measure(&shape, source, (float *)odd(target), 0, &world.measured));
    REFUSED(OFP8_OVERLAP,
            ofp8_measure(&shape, source, target, 0, (ofp8_measured *)(void *)target));
    REFUSED(OFP8_OVERLAP,
            ofp8_measure(&shape, source, target, 0, (ofp8_measured *)(void *)source));

    REFUSED(OFP8_NULL_POINTER, ofp8_merge_stats(NULL, stats));
    REFUSED(OFP8_NULL_POINTER, ofp8_merge_stats(stats, NULL));
    REFUSED(OFP8_MISALIGNED, ofp8_merge_stats((ofp8_stats *)odd(stats), stats));
    REFUSED(OFP8_MISALIGNED, ofp8_merge_stats(stats, (ofp8_stats *)odd(stats)));

    REFUSED(OFP8_NULL_POINTER, ofp8_amax_blocks(&recipe, &shape, NULL, amax, BLOCKS));
    REFUSED(OFP8_NULL_POINTER, ofp8_amax_blocks(&recipe, &shape, source, NULL, BLOCKS));
    REFUSED(OFP8_MISALIGNED,
            ofp8_amax_blocks(&recipe, &shape, source, (uint32_t *)odd(amax), BLOCKS));
    REFUSED(OFP8_MISALIGNED, ofp8_amax_blocks(&recipe, &shape, odd(source), amax, BLOCKS));
    REFUSED(OFP8_OVERLAP,
            ofp8_amax_blocks(&recipe, &shape, source, (uint32_t *)(void *)source, BLOCKS));
    REFUSED(OFP8_LENGTH, ofp8_amax_blocks(&recipe, &shape, source, amax, BLOCKS - 1));

    REFUSED(OFP8_NULL_POINTER, ofp8_dequantize(&recipe, &shape, NULL, scales, BLOCKS, NULL, target));
    REFUSED(OFP8_NULL_POINTER, ofp8_dequantize(&recipe, &shape, codes, NULL, BLOCKS, NULL, target));
    REFUSED(OFP8_NULL_POINTER, ofp8_dequantize(&recipe, &shape, codes, scales, BLOCKS, NULL, NULL));
    REFUSED(OFP8_MISALIGNED,
            ofp8_dequantize(&recipe, &shape, codes, scales, BLOCKS, NULL, odd(target)));
    REFUSED(OFP8_OVERLAP, ofp8_dequantize(&recipe, &shape, (uint8_t *)target, scales, BLOCKS, NULL,
                                          target));
    REFUSED(OFP8_OVERLAP, ofp8_dequantize(&recipe, &shape, codes, target, BLOCKS, NULL, target));
    REFUSED(OFP8_LENGTH, ofp8_dequantize(&recipe, &shape, codes, scales, BLOCKS + 1, NULL, target));

    REFUSED(OFP8_NULL_POINTER,
            ofp8_quantize(&recipe, &shape, NULL, NULL, NULL, codes, scales, BLOCKS, NULL, stats));
    REFUSED(OFP8_NULL_POINTER,
            ofp8_quantize(&recipe, &shape, NULL, source, NULL, NULL, scales, BLOCKS, NULL, stats));
    REFUSED(OFP8_NULL_POINTER,
            ofp8_quantize(&recipe, &shape, NULL, source, NULL, codes, NULL, BLOCKS, NULL, stats));
    REFUSED(OFP8_MISALIGNED,
            ofp8_quantize(&recipe, &shape, NULL, odd(source), NULL, codes, scales, BLOCKS, NULL, stats));
    REFUSED(OFP8_MISALIGNED, ofp8_quantize(&recipe, &shape, NULL, source, (uint32_t *)odd(amax),
                                           codes, scales, BLOCKS, NULL, stats));
    REFUSED(OFP8_MISALIGNED, ofp8_quantize(&recipe, &shape, NULL, source, NULL, codes, scales,
                                           BLOCKS, NULL, (ofp8_stats *)odd(stats)));
    REFUSED(OFP8_MISALIGNED,
            ofp8_quantize(&recipe, &shape, (ofp8_philox *)odd(&philox), source, NULL, codes,
                          scales, BLOCKS, NULL, stats));
    REFUSED(OFP8_OVERLAP, ofp8_quantize(&recipe, &shape, NULL, source, NULL, (uint8_t *)source,
                                        scales, BLOCKS, NULL, stats));
    REFUSED(OFP8_OVERLAP,
            ofp8_quantize(&recipe, &shape, NULL, source, NULL, codes, source, BLOCKS, NULL, stats));
    REFUSED(OFP8_OVERLAP,
            ofp8_quantize(&recipe, &shape, NULL, source, NULL, codes, codes, BLOCKS, NULL, stats));
    REFUSED(OFP8_OVERLAP, ofp8_quantize(&recipe, &shape, NULL, source, NULL, codes, scales, BLOCKS, NULL,
                                        (ofp8_stats *)(void *)source));
    REFUSED(OFP8_OVERLAP,
            ofp8_quantize(&recipe, &shape, NULL, source, amax, codes, amax, BLOCKS, NULL, stats));
    REFUSED(OFP8_LENGTH,
            ofp8_quantize(&recipe, &shape, NULL, source, NULL, codes, scales, BLOCKS - 1, NULL, stats));
    recipe.cast = stochastic;
    REFUSED(OFP8_RANDOM_BITS,
            ofp8_quantize(&recipe, &shape, NULL, source, NULL, codes, scales, BLOCKS, NULL, stats));
    /* f32 scales in a buffer that is aligned for bytes only. */
    recipe.scaling = OFP8_SCALING_F32;
    REFUSED(OFP8_MISALIGNED, ofp8_quantize(&recipe, &shape, NULL, source, NULL, codes,
                                           odd(world.f32_scales), BLOCKS, NULL, stats));
    /* The pattern in amax is a NaN: without a finite amax, ignoring has nothing to go by. */
    memset(world.amax, 0xFF, sizeof world.amax);
    memcpy(&before, &world, sizeof world);
    recipe.special = OFP8_SPECIAL_IGNORE;
    REFUSED(OFP8_NOT_FINITE,
            ofp8_quantize(&recipe, &shape, NULL, source, amax, codes, scales, BLOCKS, NULL, stats));
}

/* Every member of a copy: of the first and of the second. */
static void copies(void)
{
    const ofp8_cast stochastic = {OFP8_STOCHASTIC_A, 0, 0, 16};
    float *source = world.source;
    for (int which = 0; which < 2; ++which) {
        ofp8_copy *one = which == 0 ? &row : &column, *other = which == 0 ? &column : &row;
        struct {
            ofp8_copy known;
            uint8_t excess[16];
        } larger;
#define COPIES() ofp8_quantize_copies(&recipe, &shape, source, &row, &column)
        one->struct_size = 0;
        REFUSED(OFP8_STRUCT_SIZE, COPIES());
        /* A shorter one ends before its codes. */
        one->struct_size = sizeof(size_t);
        REFUSED(OFP8_LENGTH, COPIES());
        memset(&larger, 0, sizeof larger);
        larger.known = *one;
        larger.known.struct_size = sizeof larger;
        larger.excess[15] = 1;
        REFUSED(OFP8_STRUCT_SIZE,
                ofp8_quantize_copies(&recipe, &shape, source, which == 0 ? &larger.known : &row,
                                     which == 1 ? &larger.known : &column));
        REFUSED(OFP8_MISALIGNED,
                ofp8_quantize_copies(&recipe, &shape, source,
                                     which == 0 ? (ofp8_copy *)odd(&row) : &row,
                                     which == 1 ? (ofp8_copy *)odd(&column) : &column));
        one->reserved = 1;
        REFUSED(OFP8_UNKNOWN_POLICY, COPIES());
        one->is_transposed = 2;
        REFUSED(OFP8_UNKNOWN_POLICY, COPIES());
        one->codes = NULL;
        REFUSED(OFP8_NULL_POINTER, COPIES());
        one->scales = NULL;
        REFUSED(OFP8_NULL_POINTER, COPIES());
        one->scale_count -= 1;
        REFUSED(OFP8_LENGTH, COPIES());
        one->tensor_scale = &world.f32; /* of no two-level recipe */
        REFUSED(OFP8_RECIPE, COPIES());
        recipe.scaling = OFP8_SCALING_TWO_LEVEL;
        recipe.block_scale = OFP8_UE4M3;
        other->tensor_scale = &world.f32;
        REFUSED(OFP8_NULL_POINTER, COPIES());
        one->stats = (ofp8_stats *)odd(one->stats);
        REFUSED(OFP8_MISALIGNED, COPIES());
        one->random = (ofp8_philox *)odd(&philox);
        REFUSED(OFP8_MISALIGNED, COPIES());
        recipe.cast = stochastic;
        other->random = &philox;
        REFUSED(OFP8_RANDOM_BITS, COPIES());
        one->code_stride = COLS - 1;
        REFUSED(OFP8_SHAPE, COPIES());
        one->is_transposed = 1;
        one->code_stride = ROWS - 1;
        REFUSED(OFP8_SHAPE, COPIES());
        shape.batch_count = 2;
        one->code_batch_stride = COUNT - 1;
        one->scale_count *= 2;
        other->scale_count *= 2;
        REFUSED(OFP8_SHAPE, COPIES());
        one->is_transposed = 1;
        shape.is_shard = 1;
        shape.shard_len = COUNT;
        REFUSED(OFP8_SHAPE, COPIES());
        one->code_stride = COLS + 1;
        shape.is_shard = 1;
        shape.shard_len = COUNT;
        REFUSED(OFP8_SHAPE, COPIES());
        one->codes = (uint8_t *)source;
        REFUSED(OFP8_OVERLAP, COPIES());
        one->scales = source;
        REFUSED(OFP8_OVERLAP, COPIES());
        one->stats = (ofp8_stats *)(void *)source;
        REFUSED(OFP8_OVERLAP, COPIES());
        one->codes = other->codes + 1;
        REFUSED(OFP8_OVERLAP, COPIES());
        one->scales = other->codes;
        REFUSED(OFP8_OVERLAP, COPIES());
        one->scales = one->codes;
        REFUSED(OFP8_OVERLAP, COPIES());
        one->stats = other->stats;
        REFUSED(OFP8_OVERLAP, COPIES());
        shape.code_stride = COLS + 1;
        REFUSED(OFP8_SHAPE, COPIES());
        shape.code_batch_stride = COUNT + 1;
        REFUSED(OFP8_SHAPE, COPIES());
    }
    REFUSED(OFP8_NULL_POINTER, ofp8_quantize_copies(NULL, &shape, source, &row, &column));
    REFUSED(OFP8_NULL_POINTER, ofp8_quantize_copies(&recipe, NULL, source, &row, &column));
    REFUSED(OFP8_NULL_POINTER, ofp8_quantize_copies(&recipe, &shape, NULL, &row, &column));
    REFUSED(OFP8_NULL_POINTER, ofp8_quantize_copies(&recipe, &shape, source, NULL, NULL));
    REFUSED(OFP8_MISALIGNED, ofp8_quantize_copies(&recipe, &shape, odd(source), &row, &column));
    REFUSED(OFP8_NULL_POINTER, ofp8_merge_measured(NULL, &world.measured));
    REFUSED(OFP8_NULL_POINTER, ofp8_merge_measured(&world.measured, NULL));
    REFUSED(OFP8_MISALIGNED, ofp8_merge_measured((ofp8_measured *)odd(&world.measured),
                                                 &world.measured));
    REFUSED(OFP8_MISALIGNED, ofp8_merge_measured(&world.measured,
                                                 (ofp8_measured *)odd(&world.measured)));
}

/* What looks odd and is allowed: empty calls with null pointers, larger structures of zeros. */
static void allowed(void)
{
    struct {
        ofp8_recipe known;
        uint8_t excess[16];
    } larger;
    CHECK(ofp8_encode(OFP8_E4M3, NULL, NULL, OFP8_F32, NULL, 0, NULL) == OFP8_OK);
    CHECK(ofp8_decode(OFP8_E4M3, NULL, 0, OFP8_F32, NULL) == OFP8_OK);
    CHECK(ofp8_amax(OFP8_F32, NULL, 0, &world.amax[0]) == OFP8_OK && world.amax[0] == 0);
    shape.rows = 0;
    CHECK(ofp8_quantize(&recipe, &shape, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL) == OFP8_OK);
    CHECK(ofp8_dequantize(&recipe, &shape, NULL, NULL, 0, NULL, NULL) == OFP8_OK);
    reset();
    memset(&larger, 0, sizeof larger);
    larger.known = recipe;
    larger.known.struct_size = sizeof larger;
    CHECK(ofp8_scale_grid(&larger.known, ROWS, COLS, &world.down, &world.across) == OFP8_OK);
    CHECK(world.down == ROWS && world.across == 2);
    CHECK(ofp8_scale_from_amax(&recipe, 0, NULL, NULL) == OFP8_OK);
}

int main(void)
{
    reset();
    scalar();
    casts();
    bulk();
    packing();
    recipes();
    shapes();
    matrices();
    copies();
    allowed();
    return finish("bad_arguments");
}

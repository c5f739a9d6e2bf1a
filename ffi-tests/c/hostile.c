/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Every hostile value of every argument of every function, and of every member of the structures behind them: the
 * status, and nothing written. One list, `functions`, says what each argument is; what is hostile for it follows, but
 * for what few have, which stands beside them. Every status of the header must come up.
 *
 * Then every function under every floating-point environment that C can set: the same status and bytes.
 *
 * Without an argument: runs the table and prints how much was tried. With "list": prints the arguments and members
 * that have a row, with "statuses" the number of statuses; the test `hostile` compares both with the header.
 */
#define _GNU_SOURCE /* feenableexcept */
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>

#include "check.h"

enum { ROWS = 4, COLS = 64, COUNT = ROWS * COLS, BLOCKS = 8, GRID = 4 * 8, STATE = 4 * (8 + (4 + 3) * 2) };

/* An argument: a function takes from it what its type is. */
union value {
    void *p;
    size_t n;
    uint32_t u;
    uint16_t half;
    uint8_t byte;
    float f;
    double d;
};

/* Structures, each with bytes behind it that are not zero: what a struct_size that is too large would read. */
#define FOLLOWED(type, name)      \
    struct {                      \
        type it;                  \
        unsigned char excess[16]; \
    } name

/*
 * Everything that a call may read or write. After a refused call it must be as it was before. Behind each buffer lies
 * an element that no call uses: room for a pointer that is off by one.
 */
static struct world {
    float source[COUNT + 1];
    float target[COUNT + 1];
    float scales[GRID + 1];
    float f32[2];
    double f64[2];
    uint64_t state[STATE / 8 + 1];
    uint8_t codes[COUNT + 1];
    uint8_t more_codes[COUNT + 1];
    uint8_t packed[COUNT + 1];
    float more_scales[GRID + 1];
    uint32_t amax[GRID + 1];
    uint32_t u32[2];
    uint16_t half[4];
    size_t size[2], more_size[2];
    uint32_t *place[2];
    ofp8_stats stats[2], more_stats[2];
    ofp8_not_finite first[2];
    ofp8_measured measured[2], more_measured[2];
    ofp8_format_info info[2];
    ofp8_exact_sum sum[2], more_sum[2];
    float sums[COUNT + 1], lost[COUNT + 1], more_sums[COUNT + 1], more_lost[COUNT + 1];
    ofp8_philox random[2];
    FOLLOWED(ofp8_cast, cast);
    FOLLOWED(ofp8_recipe, recipe);
    FOLLOWED(ofp8_recipe, bytes_recipe); /* of E8M0 scales */
    FOLLOWED(ofp8_shape, shape);
    FOLLOWED(ofp8_quantize_call, call);
    FOLLOWED(ofp8_copy, rowwise);
    FOLLOWED(ofp8_copy, columnwise);
    FOLLOWED(ofp8_layout, layout);
    FOLLOWED(ofp8_layout, more_layout);
    FOLLOWED(ofp8_delayed, rules);
    FOLLOWED(ofp8_operand, a);
    FOLLOWED(ofp8_operand, b);
    FOLLOWED(ofp8_order, order);
    FOLLOWED(ofp8_gradient, gradient);
    FOLLOWED(ofp8_gradient, more_gradient);
    union value arguments[13];
} world, before;

static size_t failed[2]; /* ofp8_quantize_list writes it where it refuses */

/* What an argument or a member is. */
enum kind {
    NUMBER,  /* one of a few: a format, a type, a policy */
    INTEGER, /* with a sign, in a range */
    FLOAT,   /* not negative */
    FREE,    /* any value is taken */
    SIZE,
    SIZE_OF_STRUCTURE,
    INPUT,
    OUTPUT,
    STRUCTURE
};

/* Statuses that are right, as bits. */
typedef uint32_t statuses;
#define S(status) ((statuses)1 << OFP8_##status)

/* What is hostile for few arguments, or only with another: the last one has no name. */
struct special {
    const char *what;
    void (*prepare)(unsigned char *place); /* where the argument stands */
    statuses right;
};

struct argument {
    const char *name;
    enum kind kind;
    size_t at;     /* of a member: where it lies */
    size_t align;  /* of a pointer */
    size_t width;  /* of anything else */
    void *pointer; /* of an argument: good values */
    size_t number;
    statuses null, zero, unknown, overflow;
    int may_alias; /* of an output: it may be another argument */
    int is_apart;  /* of an output: the caller sees to it that it overlaps nothing */
    const struct structure *structure;
    const struct special *special;
};

struct structure {
    const char *name;
    struct argument members[17];
};

/* Arguments. Where zero or null is fine, OK is the status. */
#define NUMBER_OF(called, good, status) \
    {.name = #called, .kind = NUMBER, .width = 4, .number = (good), .zero = S(status), .unknown = S(status)}
#define FREE_OF(called, width_) {.name = #called, .kind = FREE, .width = (width_)}
#define SIZE_OF(called, good, zero_, overflow_) \
    {.name = #called, .kind = SIZE, .width = sizeof(size_t), .number = (good), .zero = (zero_), .overflow = (overflow_)}
#define POINTER(kind_, called, to, align_, null_) \
    {.name = #called, .kind = (kind_), .pointer = (to), .align = (align_), .null = S(null_)}
#define IN(called, to, align) POINTER(INPUT, called, to, align, NULL_POINTER)
#define OUT(called, to, align) POINTER(OUTPUT, called, to, align, NULL_POINTER)
#define MAYBE_OUT(called, to, align) POINTER(OUTPUT, called, to, align, OK)
/* Both may point to the same. */
#define INTO(called, to) {.name = #called, .kind = OUTPUT, .pointer = (to), .align = 8, .null = S(NULL_POINTER), .may_alias = 1}
#define STRUCT(called, to, null_, of) \
    {.name = #called, .kind = STRUCTURE, .pointer = (to), .align = 4, .null = S(null_), .structure = &(of)}
/* A pointer that this recipe leaves no room for: null is good, anything else is refused. */
#define NOTHING(called) {.name = #called, .kind = NUMBER, .width = sizeof(void *), .zero = S(OK), .unknown = S(RECIPE)}

/* Members: the same, at a place; their good values are in `reset`. */
#define WIDTH(type, member) sizeof(((type *)0)->member)
#define M_NUMBER(type, member, zero_, unknown_)                                                          \
    {.name = #member, .kind = NUMBER, .at = offsetof(type, member), .width = 4, .zero = (zero_), .unknown = (unknown_)}
#define M_FREE(type, member) \
    {.name = #member, .kind = FREE, .at = offsetof(type, member), .width = WIDTH(type, member)}
#define M_SIZE(type, member, zero_, overflow_)                                                               \
    {.name = #member, .kind = SIZE, .at = offsetof(type, member), .width = sizeof(size_t), .zero = (zero_), \
     .overflow = (overflow_)}
#define M_STRUCT_SIZE(type) {.name = "struct_size", .kind = SIZE_OF_STRUCTURE, .number = sizeof(type)}
#define M_POINTER(kind_, type, member, align_, null_) \
    {.name = #member, .kind = (kind_), .at = offsetof(type, member), .align = (align_), .null = (null_)}
#define M_STRUCT(type, member, null_, of)                                                                      \
    {.name = #member, .kind = STRUCTURE, .at = offsetof(type, member), .align = 4, .null = (null_), .structure = &(of)}
#define M_NOTHING(type, member)                                                                              \
    {.name = #member, .kind = NUMBER, .at = offsetof(type, member), .width = sizeof(void *), .zero = S(OK), \
     .unknown = S(RECIPE)}

static void *read_pointer(const unsigned char *place)
{
    void *pointer;
    memcpy(&pointer, place, sizeof pointer);
    return pointer;
}

static void write_pointer(unsigned char *place, void *pointer)
{
    memcpy(place, &pointer, sizeof pointer);
}

/* Every cast that a call may read: a stochastic one that wants so many bits. */
static void make_stochastic(uint32_t bits)
{
    world.cast.it.rounding = world.recipe.it.cast.rounding = OFP8_STOCHASTIC_A;
    world.cast.it.random_bits = world.recipe.it.cast.random_bits = bits;
}

static void no_random_bits(unsigned char *place)
{
    make_stochastic(16);
    write_pointer(place, NULL);
}

static void too_few_random_bits(unsigned char *place)
{
    (void)place;
    make_stochastic(17);
}

static void infinite_amax(unsigned char *place)
{
    (void)place;
    world.recipe.it.special = OFP8_SPECIAL_IGNORE;
    world.amax[BLOCKS - 1] = 0x7F800000;
}

/* The first scale, which is f32. */
static void zero_scale(unsigned char *place) { *(float *)read_pointer(place) = 0.0f; }
static void negative_scale(unsigned char *place) { *(float *)read_pointer(place) = -1.0f; }
static void infinite_scale(unsigned char *place) { *(float *)read_pointer(place) = INFINITY; }

static void not_a_state(unsigned char *place)
{
    (void)place;
    memset(world.state, 0, sizeof world.state);
}

static void of_another_version(unsigned char *place)
{
    (void)place;
    *(unsigned char *)world.state += 1;
}

static void of_another_machine(unsigned char *place)
{
#if defined(__aarch64__)
    const uint32_t kernel = OFP8_KERNEL_AVX2;
#else
    const uint32_t kernel = OFP8_KERNEL_NEON;
#endif
    memcpy(place, &kernel, sizeof kernel);
}

static const struct special of_random[] = {
    {"is null under a stochastic rounding", no_random_bits, S(RANDOM_BITS)},
    {"has too few bits", too_few_random_bits, S(RANDOM_BITS)},
    {0},
};
static const struct special of_amax[] = {{"is infinite where that is ignored", infinite_amax, S(NOT_FINITE)}, {0}};
static const struct special of_scales[] = {
    {"begins with zero", zero_scale, S(SCALE)},
    {"begins with a negative one", negative_scale, S(SCALE)},
    {"begins with infinity", infinite_scale, S(SCALE)},
    {0},
};
static const struct special of_state[] = {
    {"is zero", not_a_state, S(STATE)},
    {"is of another version", of_another_version, S(STATE)},
    {0},
};
static const struct special of_kernel[] = {{"is another machine's", of_another_machine, S(KERNEL)}, {0}};

#define M_RANDOM(type)                                                                                      \
    {.name = "random", .kind = STRUCTURE, .at = offsetof(type, random), .align = 4, .null = S(OK), \
     .structure = &of_philox, .special = of_random}

static const struct structure of_cast = {"ofp8_cast", {
    M_NUMBER(ofp8_cast, rounding, S(OK), S(UNKNOWN_POLICY)),
    M_NUMBER(ofp8_cast, saturation, S(OK), S(UNKNOWN_POLICY)),
    M_NUMBER(ofp8_cast, nan, S(OK), S(UNKNOWN_POLICY)),
    M_NUMBER(ofp8_cast, random_bits, S(OK), S(UNKNOWN_POLICY)),
}};

static const struct structure of_philox = {"ofp8_philox", {
    M_FREE(ofp8_philox, seed),
    M_FREE(ofp8_philox, stream),
    M_FREE(ofp8_philox, first_index),
}};

/* Other blocks are another number of scales; where no scales are given, any block is fine. */
static const struct structure of_recipe = {"ofp8_recipe", {
    M_STRUCT_SIZE(ofp8_recipe),
    M_SIZE(ofp8_recipe, block_rows, S(OK) | S(LENGTH), S(OK) | S(LENGTH)),
    M_SIZE(ofp8_recipe, block_cols, S(OK) | S(LENGTH), S(OK) | S(LENGTH)),
    M_NUMBER(ofp8_recipe, element, S(UNKNOWN_FORMAT), S(UNKNOWN_FORMAT)),
    M_NUMBER(ofp8_recipe, scaling, S(OK) | S(RECIPE) | S(SCALE), S(UNKNOWN_POLICY)),
    M_NUMBER(ofp8_recipe, convention, S(OK), S(UNKNOWN_POLICY)),
    M_NUMBER(ofp8_recipe, exponent_rule, S(OK), S(UNKNOWN_POLICY)),
    M_NUMBER(ofp8_recipe, special, S(OK), S(UNKNOWN_POLICY)),
    {.name = "margin", .kind = INTEGER, .at = offsetof(ofp8_recipe, margin)},
    {.name = "epsilon", .kind = FLOAT, .at = offsetof(ofp8_recipe, epsilon)},
    {.name = "amax_bound", .kind = FLOAT, .at = offsetof(ofp8_recipe, amax_bound)},
    {.name = "cast", .kind = STRUCTURE, .at = offsetof(ofp8_recipe, cast), .structure = &of_cast},
    M_NUMBER(ofp8_recipe, block_scale, S(OK), S(RECIPE)),
    M_NUMBER(ofp8_recipe, has_tensor_amax, S(OK), S(UNKNOWN_POLICY)),
    M_FREE(ofp8_recipe, tensor_amax),
    M_NUMBER(ofp8_recipe, scale_order, S(OK), S(UNKNOWN_POLICY)),
}};

static const struct structure of_shape = {"ofp8_shape", {
    M_STRUCT_SIZE(ofp8_shape),
    M_SIZE(ofp8_shape, rows, S(OK) | S(LENGTH), S(SHAPE)),
    M_SIZE(ofp8_shape, cols, S(OK) | S(LENGTH) | S(SHAPE), S(SHAPE)),
    M_SIZE(ofp8_shape, stride, S(OK), S(SHAPE)),
    /* Checked by the functions with codes, and by all where it overflows. */
    M_SIZE(ofp8_shape, code_stride, S(OK), S(SHAPE)),
    M_NUMBER(ofp8_shape, wide_type, S(UNKNOWN_TYPE), S(UNKNOWN_TYPE)),
    M_NUMBER(ofp8_shape, is_shard, S(OK), S(UNKNOWN_POLICY)),
    M_SIZE(ofp8_shape, shard_first, S(OK), S(SHAPE)),
    M_SIZE(ofp8_shape, shard_len, S(OK), S(SHAPE)),
    M_SIZE(ofp8_shape, batch_count, S(OK), S(SHAPE)),
    /* Of one matrix nobody looks at it. */
    M_SIZE(ofp8_shape, batch_stride, S(OK), S(OK)),
    M_SIZE(ofp8_shape, code_batch_stride, S(OK), S(OK) | S(SHAPE)),
}};

static const struct structure of_call = {"ofp8_quantize_call", {
    M_STRUCT_SIZE(ofp8_quantize_call),
    M_STRUCT(ofp8_quantize_call, recipe, S(NULL_POINTER), of_recipe),
    M_STRUCT(ofp8_quantize_call, shape, S(NULL_POINTER), of_shape),
    M_RANDOM(ofp8_quantize_call),
    M_POINTER(INPUT, ofp8_quantize_call, source, 4, S(NULL_POINTER)),
    {.name = "amax", .kind = INPUT, .at = offsetof(ofp8_quantize_call, amax), .align = 4, .null = S(OK),
     .special = of_amax},
    M_POINTER(OUTPUT, ofp8_quantize_call, codes, 1, S(NULL_POINTER)),
    M_POINTER(OUTPUT, ofp8_quantize_call, scales, 4, S(NULL_POINTER)),
    M_SIZE(ofp8_quantize_call, scale_count, S(LENGTH), S(LENGTH)),
    M_NOTHING(ofp8_quantize_call, tensor_scale),
    M_POINTER(OUTPUT, ofp8_quantize_call, stats, 8, S(OK)),
}};

static const struct structure of_copy = {"ofp8_copy", {
    M_STRUCT_SIZE(ofp8_copy),
    M_POINTER(OUTPUT, ofp8_copy, codes, 1, S(NULL_POINTER)),
    M_POINTER(OUTPUT, ofp8_copy, scales, 4, S(NULL_POINTER)),
    M_SIZE(ofp8_copy, scale_count, S(LENGTH), S(LENGTH)),
    M_NOTHING(ofp8_copy, tensor_scale),
    M_POINTER(OUTPUT, ofp8_copy, stats, 8, S(OK)),
    M_RANDOM(ofp8_copy),
    M_SIZE(ofp8_copy, code_stride, S(OK), S(SHAPE)),
    M_SIZE(ofp8_copy, code_batch_stride, S(OK), S(OK)),
    M_NUMBER(ofp8_copy, is_transposed, S(OK), S(UNKNOWN_POLICY)),
    M_NUMBER(ofp8_copy, reserved, S(OK), S(UNKNOWN_POLICY)),
}};

/* Of a conversion, the counts or the other grid say LENGTH or SHAPE. */
static const struct structure of_layout = {"ofp8_layout", {
    M_STRUCT_SIZE(ofp8_layout),
    M_SIZE(ofp8_layout, rows, S(OK) | S(LENGTH) | S(SHAPE), S(SHAPE)),
    M_SIZE(ofp8_layout, cols, S(OK) | S(LENGTH) | S(SHAPE), S(SHAPE)),
    M_SIZE(ofp8_layout, batches, S(OK), S(SHAPE)),
    M_SIZE(ofp8_layout, batch_stride, S(OK), S(OK)),
    M_NUMBER(ofp8_layout, order, S(OK), S(UNKNOWN_POLICY)),
    M_NUMBER(ofp8_layout, columnwise, S(OK), S(UNKNOWN_POLICY)),
}};

static const struct structure of_delayed = {"ofp8_delayed", {
    M_STRUCT_SIZE(ofp8_delayed),
    M_SIZE(ofp8_delayed, history, S(RECIPE), S(SHAPE) | S(LENGTH) | S(STATE) | S(RECIPE)),
    M_NUMBER(ofp8_delayed, algorithm, S(OK), S(UNKNOWN_POLICY)),
    M_NUMBER(ofp8_delayed, non_finite, S(OK), S(UNKNOWN_POLICY)),
    M_FREE(ofp8_delayed, interval),
    M_FREE(ofp8_delayed, calibration),
}};

static const struct structure of_operand = {"ofp8_operand", {
    M_STRUCT_SIZE(ofp8_operand),
    M_POINTER(INPUT, ofp8_operand, codes, 1, S(NULL_POINTER)),
    M_SIZE(ofp8_operand, rows, S(LENGTH) | S(SHAPE), S(SHAPE)),
    M_SIZE(ofp8_operand, cols, S(LENGTH) | S(SHAPE), S(SHAPE) | S(LENGTH)),
    M_SIZE(ofp8_operand, stride, S(OK), S(OK) | S(SHAPE)),
    M_STRUCT(ofp8_operand, recipe, S(RECIPE), of_recipe), /* scales without a recipe */
    M_POINTER(INPUT, ofp8_operand, scales, 4, S(NULL_POINTER)),
    M_SIZE(ofp8_operand, scale_count, S(LENGTH), S(SHAPE)),
    M_NOTHING(ofp8_operand, tensor_scale),
    M_NUMBER(ofp8_operand, format, S(OK), S(UNKNOWN_FORMAT)),
    M_NUMBER(ofp8_operand, is_transposed, S(OK), S(UNKNOWN_POLICY)),
}};

static const struct structure of_order = {"ofp8_order", {
    M_STRUCT_SIZE(ofp8_order),
    M_NUMBER(ofp8_order, kind, S(OK), S(UNKNOWN_POLICY)),
    M_NUMBER(ofp8_order, model, S(OK), S(UNKNOWN_POLICY)),
    M_NUMBER(ofp8_order, promotion, S(OK), S(UNKNOWN_POLICY)),
    M_NUMBER(ofp8_order, reserved, S(OK), S(UNKNOWN_POLICY)),
}};

static const struct structure of_gradient = {"ofp8_gradient", {
    M_STRUCT_SIZE(ofp8_gradient),
    M_SIZE(ofp8_gradient, rows, S(OK) | S(LENGTH) | S(SHAPE), S(SHAPE)),
    M_SIZE(ofp8_gradient, cols, S(OK) | S(LENGTH) | S(SHAPE), S(SHAPE)),
    M_POINTER(OUTPUT, ofp8_gradient, sum, 4, S(NULL_POINTER)),
    M_POINTER(OUTPUT, ofp8_gradient, lost, 4, S(OK)),
    M_FREE(ofp8_gradient, count),
}};

static const struct structure *const structures[] = {
    &of_cast, &of_philox, &of_recipe, &of_shape, &of_call, &of_copy,
    &of_layout, &of_delayed, &of_operand, &of_order, &of_gradient,
};

/* Calls with the arguments as they stand. A function without a status answers for itself. */
#define A(i) world.arguments[i]
#define CALL(name) static ofp8_status call_##name(void)
#define TOTAL(name, expression) \
    CALL(name)                  \
    {                           \
        (void)(expression);     \
        return OFP8_OK;         \
    }

TOTAL(abi_version, ofp8_abi_version())
TOTAL(current_kernel, ofp8_current_kernel())
TOTAL(e4m3_from_f32, ofp8_e4m3_from_f32(A(0).f))
TOTAL(e4m3_to_f32, ofp8_e4m3_to_f32(A(0).byte))
TOTAL(e5m2_from_f32, ofp8_e5m2_from_f32(A(0).f))
TOTAL(e5m2_to_f32, ofp8_e5m2_to_f32(A(0).byte))
TOTAL(e4m3fnuz_from_f32, ofp8_e4m3fnuz_from_f32(A(0).f))
TOTAL(e4m3fnuz_to_f32, ofp8_e4m3fnuz_to_f32(A(0).byte))
TOTAL(e5m2fnuz_from_f32, ofp8_e5m2fnuz_from_f32(A(0).f))
TOTAL(e5m2fnuz_to_f32, ofp8_e5m2fnuz_to_f32(A(0).byte))
TOTAL(e8m0_from_f32, ofp8_e8m0_from_f32(A(0).f))
TOTAL(e8m0_to_f32, ofp8_e8m0_to_f32(A(0).byte))
TOTAL(merge_amax, ofp8_merge_amax(A(0).u, A(1).u))
TOTAL(amax_to_f32, ofp8_amax_to_f32(A(0).u))

/* A text is there for every number. */
static ofp8_status text(const char *given)
{
    return given != NULL && given[0] != '\0' ? OFP8_OK : OFP8_NULL_POINTER;
}
CALL(version) { return text(ofp8_version()); }
CALL(status_text) { return text(ofp8_status_text(A(0).u)); }
CALL(kernel_name) { return text(ofp8_kernel_name(A(0).u)); }

CALL(force_kernel) { return ofp8_force_kernel(A(0).u); }
CALL(get_format_info) { return ofp8_get_format_info(A(0).u, A(1).p); }
CALL(encode_f32) { return ofp8_encode_f32(A(0).u, A(1).p, A(2).f, A(3).u, A(4).p); }
CALL(encode_f64) { return ofp8_encode_f64(A(0).u, A(1).p, A(2).d, A(3).u, A(4).p); }
CALL(encode_f16) { return ofp8_encode_f16(A(0).u, A(1).p, A(2).half, A(3).u, A(4).p); }
CALL(encode_bf16) { return ofp8_encode_bf16(A(0).u, A(1).p, A(2).half, A(3).u, A(4).p); }
CALL(decode_f32) { return ofp8_decode_f32(A(0).u, A(1).byte, A(2).p); }
CALL(decode_f64) { return ofp8_decode_f64(A(0).u, A(1).byte, A(2).p); }
CALL(decode_f16) { return ofp8_decode_f16(A(0).u, A(1).byte, A(2).p); }
CALL(decode_bf16) { return ofp8_decode_bf16(A(0).u, A(1).byte, A(2).p); }
CALL(encode) { return ofp8_encode(A(0).u, A(1).p, A(2).p, A(3).u, A(4).p, A(5).n, A(6).p); }
CALL(decode) { return ofp8_decode(A(0).u, A(1).p, A(2).n, A(3).u, A(4).p); }
CALL(amax) { return ofp8_amax(A(0).u, A(1).p, A(2).n, A(3).p); }
CALL(packed_size) { return ofp8_packed_size(A(0).u, A(1).n, A(2).p); }
CALL(pack) { return ofp8_pack(A(0).u, A(1).p, A(2).n, A(3).p); }
CALL(unpack) { return ofp8_unpack(A(0).u, A(1).p, A(2).n, A(3).p); }
CALL(e4m3_quantize_block) { return ofp8_e4m3_quantize_block(A(0).u, A(1).p, A(2).n, A(3).p, A(4).p); }
CALL(e4m3_dequantize_block) { return ofp8_e4m3_dequantize_block(A(0).byte, A(1).p, A(2).n, A(3).p); }
CALL(e5m2_quantize_block) { return ofp8_e5m2_quantize_block(A(0).u, A(1).p, A(2).n, A(3).p, A(4).p); }
CALL(e5m2_dequantize_block) { return ofp8_e5m2_dequantize_block(A(0).byte, A(1).p, A(2).n, A(3).p); }
CALL(e2m1_quantize_block) { return ofp8_e2m1_quantize_block(A(0).u, A(1).p, A(2).n, A(3).p, A(4).p); }
CALL(e2m1_dequantize_block) { return ofp8_e2m1_dequantize_block(A(0).byte, A(1).p, A(2).n, A(3).p); }
CALL(scale_grid) { return ofp8_scale_grid(A(0).p, A(1).n, A(2).n, A(3).p, A(4).p); }
CALL(scale_from_amax) { return ofp8_scale_from_amax(A(0).p, A(1).u, A(2).p, A(3).p); }
CALL(quantize)
{
    return ofp8_quantize(A(0).p, A(1).p, A(2).p, A(3).p, A(4).p, A(5).p, A(6).p, A(7).n, A(8).p, A(9).p);
}
CALL(quantize_list) { return ofp8_quantize_list(A(0).p, A(1).n, A(2).p); }
CALL(quantize_given)
{
    return ofp8_quantize_given(A(0).p, A(1).p, A(2).p, A(3).p, A(4).u, A(5).p, A(6).n, A(7).p, A(8).p, A(9).p);
}
CALL(scale_count) { return ofp8_scale_count(A(0).p, A(1).n, A(2).n, A(3).p); }
CALL(amax_blocks) { return ofp8_amax_blocks(A(0).p, A(1).p, A(2).p, A(3).p, A(4).n); }
CALL(dequantize) { return ofp8_dequantize(A(0).p, A(1).p, A(2).p, A(3).p, A(4).n, A(5).p, A(6).p); }
CALL(quantize_copies) { return ofp8_quantize_copies(A(0).p, A(1).p, A(2).p, A(3).p, A(4).p); }
CALL(validate) { return ofp8_validate(A(0).p, A(1).p, A(2).p); }
CALL(measure) { return ofp8_measure(A(0).p, A(1).p, A(2).p, A(3).n, A(4).p); }
CALL(merge_stats) { return ofp8_merge_stats(A(0).p, A(1).p); }
CALL(merge_measured) { return ofp8_merge_measured(A(0).p, A(1).p); }
CALL(layout_size) { return ofp8_layout_size(A(0).p, A(1).p, A(2).p); }
CALL(layout_index) { return ofp8_layout_index(A(0).p, A(1).n, A(2).n, A(3).p); }
CALL(layout_inverse) { return ofp8_layout_inverse(A(0).p, A(1).n, A(2).p, A(3).p, A(4).p); }
CALL(convert_scales_u8) { return ofp8_convert_scales_u8(A(0).p, A(1).p, A(2).n, A(3).p, A(4).p, A(5).n); }
CALL(convert_scales_f32) { return ofp8_convert_scales_f32(A(0).p, A(1).p, A(2).n, A(3).p, A(4).p, A(5).n); }
CALL(convert_scales_f32_to_e8m0)
{
    return ofp8_convert_scales_f32_to_e8m0(A(0).p, A(1).p, A(2).n, A(3).p, A(4).p, A(5).n);
}
CALL(convert_scales_e8m0_to_f32)
{
    return ofp8_convert_scales_e8m0_to_f32(A(0).p, A(1).p, A(2).n, A(3).p, A(4).p, A(5).n);
}
CALL(expand_scales)
{
    return ofp8_expand_scales(A(0).p, A(1).p, A(2).n, A(3).n, A(4).p, A(5).n, A(6).p, A(7).n);
}
CALL(delayed_size) { return ofp8_delayed_size(A(0).p, A(1).n, A(2).p); }
CALL(delayed_init) { return ofp8_delayed_init(A(0).p, A(1).n, A(2).p, A(3).n); }
CALL(delayed_record) { return ofp8_delayed_record(A(0).p, A(1).p, A(2).n, A(3).n, A(4).u); }
CALL(delayed_staging) { return ofp8_delayed_staging(A(0).p, A(1).p, A(2).n, A(3).p); }
CALL(delayed_is_due) { return ofp8_delayed_is_due(A(0).p, A(1).p, A(2).n, A(3).p); }
CALL(delayed_update) { return ofp8_delayed_update(A(0).p, A(1).p, A(2).n); }
CALL(delayed_amax) { return ofp8_delayed_amax(A(0).p, A(1).p, A(2).n, A(3).n, A(4).p); }
CALL(delayed_not_finite) { return ofp8_delayed_not_finite(A(0).p, A(1).p, A(2).n, A(3).n, A(4).p); }
CALL(dot) { return ofp8_dot(A(0).p, A(1).p, A(2).p, A(3).p); }
CALL(gemm) { return ofp8_gemm(A(0).p, A(1).p, A(2).p, A(3).p, A(4).n); }
CALL(gemm_quantized)
{
    return ofp8_gemm_quantized(A(0).p, A(1).p, A(2).p, A(3).p, A(4).p, A(5).p, A(6).n, A(7).p, A(8).n, A(9).p,
                               A(10).n, A(11).p, A(12).p);
}
CALL(mma) { return ofp8_mma(A(0).u, A(1).u, A(2).p, A(3).u, A(4).p, 0x7F, 0x7F, A(7).f, A(8).p); }
CALL(accumulate_exact) { return ofp8_accumulate_exact(A(0).p, A(1).p, A(2).p); }
CALL(merge_exact) { return ofp8_merge_exact(A(0).p, A(1).p); }
CALL(exact_to_f32) { return ofp8_exact_to_f32(A(0).p, A(1).p); }
CALL(accumulate_gradient) { return ofp8_accumulate_gradient(A(0).p, A(1).u, A(2).p, A(3).n, A(4).f); }
CALL(accumulate_gradient_codes)
{
    return ofp8_accumulate_gradient_codes(A(0).p, A(1).p, A(2).p, A(3).n, A(4).p, A(5).n, A(6).p);
}
CALL(merge_gradient) { return ofp8_merge_gradient(A(0).p, A(1).p); }
CALL(average_gradient) { return ofp8_average_gradient(A(0).p); }
CALL(quantize_gradient)
{
    return ofp8_quantize_gradient(A(0).p, A(1).p, A(2).p, A(3).p, A(4).n, A(5).p, A(6).n, A(7).p, A(8).p);
}

/* What many functions take. */
#define FORMAT NUMBER_OF(format, OFP8_E4M3, UNKNOWN_FORMAT)
#define TYPE(name) NUMBER_OF(name, OFP8_F32, UNKNOWN_TYPE)
#define PACKING NUMBER_OF(packing, OFP8_PACKING_FP6, UNKNOWN_PACKING)
#define RULE {.name = "rule", .kind = NUMBER, .width = 4, .zero = S(OK), .unknown = S(UNKNOWN_POLICY)}
#define CAST STRUCT(cast, &world.cast, OK, of_cast)
#define RANDOM                                                                                      \
    {.name = "random", .kind = STRUCTURE, .pointer = world.random, .align = 4, .null = S(OK), \
     .structure = &of_philox, .special = of_random}
#define RECIPE STRUCT(recipe, &world.recipe, NULL_POINTER, of_recipe)
#define SHAPE STRUCT(shape, &world.shape, NULL_POINTER, of_shape)
#define RULES STRUCT(rules, &world.rules, NULL_POINTER, of_delayed)
#define LAYOUT(name, to) STRUCT(name, &world.to, NULL_POINTER, of_layout)
#define OPERAND(name) STRUCT(name, &world.name, NULL_POINTER, of_operand)
#define ORDER STRUCT(order, &world.order, OK, of_order)
#define GRADIENT(name, to) STRUCT(name, &world.to, NULL_POINTER, of_gradient)
#define SOURCE IN(source, world.source, 4)
#define CODES_OUT OUT(codes, world.codes, 1)
#define CODE_OUT OUT(code, world.codes, 1)
#define STATS MAYBE_OUT(stats, world.stats, 8)
#define CHECKED_SCALES(called)                                                                                 \
    {.name = #called, .kind = INPUT, .pointer = world.scales, .align = 4, .null = S(NULL_POINTER), \
     .special = of_scales}
#define COUNT_OF_SCALES(count) SIZE_OF(scale_count, count, S(LENGTH), S(LENGTH) | S(SHAPE))
#define STATE_OUT                                                                                         \
    {.name = "state", .kind = OUTPUT, .pointer = world.state, .align = 4, .null = S(NULL_POINTER), \
     .special = of_state}
#define STATE_SIZE SIZE_OF(state_size, STATE, S(LENGTH) | S(STATE), S(LENGTH) | S(SHAPE))
#define TENSOR SIZE_OF(tensor, 1, S(OK), S(LENGTH))
#define STRIDE(name) SIZE_OF(name, COLS, S(OK), S(SHAPE))
#define GRID_COUNT(name) SIZE_OF(name, GRID, S(LENGTH), S(LENGTH) | S(SHAPE))

static const struct function {
    const char *name;
    ofp8_status (*call)(void);
    struct argument arguments[14];
} functions[] = {
#define FUNCTION(name) "ofp8_" #name, call_##name
    {FUNCTION(abi_version), {{0}}},
    {FUNCTION(version), {{0}}},
    {FUNCTION(status_text), {FREE_OF(status, 4)}},
    {FUNCTION(current_kernel), {{0}}},
    {FUNCTION(kernel_name), {FREE_OF(kernel, 4)}},
    {FUNCTION(force_kernel),
     {{.name = "kernel", .kind = NUMBER, .width = 4, .zero = S(OK), .unknown = S(UNKNOWN_POLICY),
       .special = of_kernel}}},
    {FUNCTION(get_format_info), {FORMAT, OUT(info, world.info, 4)}},
    {FUNCTION(encode_f32), {FORMAT, CAST, FREE_OF(value, 4), FREE_OF(random, 4), CODE_OUT}},
    {FUNCTION(encode_f64), {FORMAT, CAST, FREE_OF(value, 8), FREE_OF(random, 4), CODE_OUT}},
    {FUNCTION(encode_f16), {FORMAT, CAST, FREE_OF(bits, 2), FREE_OF(random, 4), CODE_OUT}},
    {FUNCTION(encode_bf16), {FORMAT, CAST, FREE_OF(bits, 2), FREE_OF(random, 4), CODE_OUT}},
    {FUNCTION(decode_f32), {FORMAT, FREE_OF(code, 1), OUT(value, world.f32, 4)}},
    {FUNCTION(decode_f64), {FORMAT, FREE_OF(code, 1), OUT(value, world.f64, 8)}},
    {FUNCTION(decode_f16), {FORMAT, FREE_OF(code, 1), OUT(bits, world.half, 2)}},
    {FUNCTION(decode_bf16), {FORMAT, FREE_OF(code, 1), OUT(bits, world.half, 2)}},
    {FUNCTION(e4m3_from_f32), {FREE_OF(value, 4)}},
    {FUNCTION(e4m3_to_f32), {FREE_OF(code, 1)}},
    {FUNCTION(e5m2_from_f32), {FREE_OF(value, 4)}},
    {FUNCTION(e5m2_to_f32), {FREE_OF(code, 1)}},
    {FUNCTION(e4m3fnuz_from_f32), {FREE_OF(value, 4)}},
    {FUNCTION(e4m3fnuz_to_f32), {FREE_OF(code, 1)}},
    {FUNCTION(e5m2fnuz_from_f32), {FREE_OF(value, 4)}},
    {FUNCTION(e5m2fnuz_to_f32), {FREE_OF(code, 1)}},
    {FUNCTION(e8m0_from_f32), {FREE_OF(value, 4)}},
    {FUNCTION(e8m0_to_f32), {FREE_OF(code, 1)}},
    {FUNCTION(encode),
     {FORMAT, CAST, RANDOM, TYPE(source_type), SOURCE, SIZE_OF(count, COUNT, S(OK), S(SHAPE)), CODES_OUT}},
    {FUNCTION(decode),
     {FORMAT, IN(codes, world.codes, 1), SIZE_OF(count, COUNT, S(OK), S(SHAPE)), TYPE(target_type),
      OUT(target, world.target, 4)}},
    {FUNCTION(amax), {TYPE(source_type), SOURCE, SIZE_OF(count, COUNT, S(OK), S(SHAPE)), OUT(amax, world.amax, 4)}},
    {FUNCTION(merge_amax), {FREE_OF(a, 4), FREE_OF(b, 4)}},
    {FUNCTION(amax_to_f32), {FREE_OF(amax, 4)}},
    {FUNCTION(packed_size), {PACKING, SIZE_OF(count, COUNT, S(OK), S(OK) | S(SHAPE)), OUT(bytes, world.size, 8)}},
    {FUNCTION(pack),
     {PACKING, IN(codes, world.codes, 1), SIZE_OF(count, COUNT, S(OK), S(SHAPE)), OUT(packed, world.packed, 1)}},
    {FUNCTION(unpack),
     {PACKING, IN(packed, world.packed, 1), SIZE_OF(count, COUNT, S(OK), S(SHAPE)), CODES_OUT}},
    {FUNCTION(e4m3_quantize_block),
     {RULE, SOURCE, SIZE_OF(count, COUNT, S(OK), S(SHAPE)), CODES_OUT, OUT(scale, world.more_codes, 1)}},
    {FUNCTION(e4m3_dequantize_block),
     {FREE_OF(scale, 1), IN(codes, world.codes, 1), SIZE_OF(count, COUNT, S(OK), S(SHAPE)),
      OUT(target, world.target, 4)}},
    {FUNCTION(e5m2_quantize_block),
     {RULE, SOURCE, SIZE_OF(count, COUNT, S(OK), S(SHAPE)), CODES_OUT, OUT(scale, world.more_codes, 1)}},
    {FUNCTION(e5m2_dequantize_block),
     {FREE_OF(scale, 1), IN(codes, world.codes, 1), SIZE_OF(count, COUNT, S(OK), S(SHAPE)),
      OUT(target, world.target, 4)}},
    {FUNCTION(e2m1_quantize_block),
     {RULE, SOURCE, SIZE_OF(count, COUNT, S(OK), S(SHAPE)), CODES_OUT, OUT(scale, world.more_codes, 1)}},
    {FUNCTION(e2m1_dequantize_block),
     {FREE_OF(scale, 1), IN(codes, world.codes, 1), SIZE_OF(count, COUNT, S(OK), S(SHAPE)),
      OUT(target, world.target, 4)}},
    {FUNCTION(scale_grid),
     {RECIPE, SIZE_OF(rows, ROWS, S(OK), S(OK)), SIZE_OF(cols, COLS, S(OK), S(OK)), OUT(down, world.size, 8),
      OUT(across, world.more_size, 8)}},
    {FUNCTION(scale_count),
     {RECIPE, SIZE_OF(rows, ROWS, S(OK), S(OK) | S(SHAPE)), SIZE_OF(cols, COLS, S(OK), S(OK) | S(SHAPE)),
      OUT(count, world.size, 8)}},
    {FUNCTION(scale_from_amax),
     {STRUCT(recipe, &world.bytes_recipe, NULL_POINTER, of_recipe), FREE_OF(amax, 4),
      MAYBE_OUT(dequantize_scale, world.f32, 4), MAYBE_OUT(code, world.codes, 1)}},
    {FUNCTION(quantize),
     {RECIPE, SHAPE, RANDOM, SOURCE,
      {.name = "amax", .kind = INPUT, .pointer = world.amax, .align = 4, .null = S(OK), .special = of_amax}, CODES_OUT,
      OUT(scales, world.scales, 4), COUNT_OF_SCALES(BLOCKS), NOTHING(tensor_scale), STATS}},
    {FUNCTION(quantize_list),
     {STRUCT(calls, &world.call, NULL_POINTER, of_call), SIZE_OF(count, 1, S(OK), S(SHAPE)),
      {.name = "failed", .kind = OUTPUT, .pointer = failed, .align = 8, .null = S(OK), .is_apart = 1}}},
    {FUNCTION(quantize_given),
     {RECIPE, SHAPE, RANDOM, SOURCE, NUMBER_OF(which, OFP8_GIVEN_DEQUANTIZE_SCALE, UNKNOWN_POLICY),
      CHECKED_SCALES(scales), COUNT_OF_SCALES(BLOCKS), NOTHING(tensor_scale), CODES_OUT, STATS}},
    {FUNCTION(amax_blocks),
     {RECIPE, SHAPE, SOURCE, OUT(amax, world.amax, 4), SIZE_OF(amax_count, BLOCKS, S(LENGTH), S(LENGTH))}},
    {FUNCTION(dequantize),
     {RECIPE, SHAPE, IN(codes, world.codes, 1), IN(scales, world.scales, 4), COUNT_OF_SCALES(BLOCKS),
      NOTHING(tensor_scale), OUT(target, world.target, 4)}},
    {FUNCTION(quantize_copies),
     {RECIPE, SHAPE, SOURCE, STRUCT(rowwise, &world.rowwise, OK, of_copy),
      STRUCT(columnwise, &world.columnwise, OK, of_copy)}},
    {FUNCTION(validate), {SHAPE, SOURCE, OUT(first, world.first, 8)}},
    {FUNCTION(measure),
     {SHAPE, SOURCE, IN(dequantized, world.target, 4), STRIDE(dequantized_stride), OUT(measured, world.measured, 8)}},
    {FUNCTION(merge_stats), {INTO(into, world.stats), IN(other, world.more_stats, 8)}},
    {FUNCTION(merge_measured), {INTO(into, world.measured), IN(other, world.more_measured, 8)}},
    {FUNCTION(layout_size),
     {LAYOUT(layout, layout), MAYBE_OUT(size, world.size, 8), MAYBE_OUT(grid_size, world.more_size, 8)}},
    {FUNCTION(layout_index),
     {LAYOUT(layout, layout), SIZE_OF(row, 1, S(OK), S(SHAPE)), SIZE_OF(col, 1, S(OK), S(SHAPE)),
      OUT(offset, world.size, 8)}},
    {FUNCTION(layout_inverse),
     {LAYOUT(layout, layout), SIZE_OF(offset, 1, S(OK), S(SHAPE)), OUT(row, world.size, 8),
      OUT(col, world.more_size, 8), OUT(is_scale, world.u32, 4)}},
    {FUNCTION(convert_scales_u8),
     {LAYOUT(from, layout), IN(source, world.codes, 1), GRID_COUNT(source_count), LAYOUT(to, more_layout),
      OUT(target, world.packed, 1), GRID_COUNT(target_count)}},
    {FUNCTION(convert_scales_f32),
     {LAYOUT(from, layout), IN(source, world.scales, 4), GRID_COUNT(source_count), LAYOUT(to, more_layout),
      OUT(target, world.target, 4), GRID_COUNT(target_count)}},
    {FUNCTION(convert_scales_f32_to_e8m0),
     {LAYOUT(from, layout), CHECKED_SCALES(source), GRID_COUNT(source_count), LAYOUT(to, more_layout),
      OUT(target, world.packed, 1), GRID_COUNT(target_count)}},
    {FUNCTION(convert_scales_e8m0_to_f32),
     {LAYOUT(from, layout), IN(source, world.codes, 1), GRID_COUNT(source_count), LAYOUT(to, more_layout),
      OUT(target, world.target, 4), GRID_COUNT(target_count)}},
    {FUNCTION(expand_scales),
     {STRUCT(from, &world.recipe, NULL_POINTER, of_recipe), STRUCT(to, &world.bytes_recipe, NULL_POINTER, of_recipe),
      SIZE_OF(rows, ROWS, S(LENGTH), S(LENGTH) | S(SHAPE)), SIZE_OF(cols, COLS, S(LENGTH), S(LENGTH) | S(SHAPE)),
      IN(source, world.scales, 4), SIZE_OF(source_count, BLOCKS, S(LENGTH), S(LENGTH) | S(SHAPE)),
      OUT(target, world.target, 1), SIZE_OF(target_count, BLOCKS, S(LENGTH), S(LENGTH) | S(SHAPE))}},
    {FUNCTION(delayed_size), {RULES, SIZE_OF(tensors, 2, S(OK), S(SHAPE)), OUT(size, world.size, 8)}},
    {FUNCTION(delayed_init),
     {RULES, SIZE_OF(tensors, 2, S(LENGTH), S(SHAPE) | S(LENGTH)), OUT(state, world.state, 4), STATE_SIZE}},
    {FUNCTION(delayed_record), {RULES, STATE_OUT, STATE_SIZE, TENSOR, FREE_OF(amax, 4)}},
    {FUNCTION(delayed_staging), {RULES, STATE_OUT, STATE_SIZE, OUT(staging, world.place, 8)}},
    {FUNCTION(delayed_is_due), {RULES, STATE_OUT, STATE_SIZE, OUT(is_due, world.u32, 4)}},
    {FUNCTION(delayed_update), {RULES, STATE_OUT, STATE_SIZE}},
    {FUNCTION(delayed_amax), {RULES, STATE_OUT, STATE_SIZE, TENSOR, OUT(amax, world.amax, 4)}},
    {FUNCTION(delayed_not_finite), {RULES, STATE_OUT, STATE_SIZE, TENSOR, OUT(count, world.u32, 4)}},
    {FUNCTION(dot), {OPERAND(a), OPERAND(b), ORDER, OUT(result, world.f32, 4)}},
    {FUNCTION(gemm), {OPERAND(a), OPERAND(b), ORDER, OUT(c, world.target, 4), SIZE_OF(stride, 1, S(OK), S(OK))}},
    {FUNCTION(gemm_quantized),
     {OPERAND(a), OPERAND(b), ORDER, RECIPE, RANDOM, OUT(workspace, world.target, 4),
      SIZE_OF(workspace_len, COUNT, S(LENGTH), S(SHAPE)), OUT(codes, world.packed, 1),
      SIZE_OF(code_stride, 1, S(OK), S(OK)), OUT(scales, world.sums, 4), COUNT_OF_SCALES(1), NOTHING(tensor_scale),
      STATS}},
    {FUNCTION(mma),
     {NUMBER_OF(model, OFP8_MODEL_HOPPER_WGMMA, UNKNOWN_POLICY), NUMBER_OF(a_format, OFP8_E4M3, UNKNOWN_FORMAT),
      IN(a, world.codes, 1), NUMBER_OF(b_format, OFP8_E4M3, UNKNOWN_FORMAT), IN(b, world.more_codes, 1),
      FREE_OF(a_scale, 1), FREE_OF(b_scale, 1), FREE_OF(c, 4), OUT(d, world.f32, 4)}},
    {FUNCTION(accumulate_exact), {OUT(sum, world.sum, 8), OPERAND(a), OPERAND(b)}},
    {FUNCTION(merge_exact), {INTO(into, world.sum), IN(other, world.more_sum, 8)}},
    {FUNCTION(exact_to_f32), {IN(sum, world.sum, 8), OUT(result, world.f32, 4)}},
    {FUNCTION(accumulate_gradient),
     {GRADIENT(gradient, gradient), TYPE(wide_type), SOURCE, STRIDE(stride), FREE_OF(scale, 4)}},
    {FUNCTION(accumulate_gradient_codes),
     {GRADIENT(gradient, gradient), RECIPE, IN(codes, world.codes, 1), STRIDE(code_stride),
      IN(scales, world.scales, 4), COUNT_OF_SCALES(BLOCKS), NOTHING(tensor_scale)}},
    {FUNCTION(merge_gradient), {GRADIENT(into, gradient), GRADIENT(other, more_gradient)}},
    {FUNCTION(average_gradient), {GRADIENT(gradient, gradient)}},
    {FUNCTION(quantize_gradient),
     {GRADIENT(gradient, gradient), RECIPE, RANDOM, CODES_OUT, STRIDE(code_stride), OUT(scales, world.scales, 4),
      COUNT_OF_SCALES(BLOCKS), NOTHING(tensor_scale), STATS}},
};

static ofp8_recipe good_recipe(uint32_t scaling)
{
    ofp8_recipe recipe;
    memset(&recipe, 0, sizeof recipe);
    recipe.struct_size = sizeof recipe;
    recipe.element = OFP8_E4M3;
    recipe.block_rows = 1;
    recipe.block_cols = 32;
    recipe.scaling = scaling;
    return recipe;
}

static ofp8_copy good_copy(uint8_t *codes, float *scales, size_t count, ofp8_stats *stats)
{
    ofp8_copy copy;
    memset(&copy, 0, sizeof copy);
    copy.struct_size = sizeof copy;
    copy.codes = codes;
    copy.scales = scales;
    copy.scale_count = count;
    copy.stats = stats;
    copy.random = world.random;
    return copy;
}

static ofp8_operand good_operand(const uint8_t *codes, const float *scales)
{
    ofp8_operand operand;
    memset(&operand, 0, sizeof operand);
    operand.struct_size = sizeof operand;
    operand.codes = codes;
    operand.rows = 1;
    operand.cols = COLS;
    operand.recipe = &world.recipe.it;
    operand.scales = scales;
    operand.scale_count = COLS / 32;
    return operand;
}

static ofp8_gradient good_gradient(float *sum, float *lost)
{
    ofp8_gradient gradient;
    memset(&gradient, 0, sizeof gradient);
    gradient.struct_size = sizeof gradient;
    gradient.rows = ROWS;
    gradient.cols = COLS;
    gradient.sum = sum;
    gradient.lost = lost;
    return gradient;
}

/* Good values of the structures, and a pattern in everything else; numbers that are read are 1. */
static void reset_world(void)
{
    memset(&world, 0xA5, sizeof world);
    for (int i = 0; i < COUNT; ++i) {
        world.source[i] = world.target[i] = 1.0f;
    }
    for (int i = 0; i < GRID; ++i) {
        world.scales[i] = world.more_scales[i] = 1.0f;
        world.amax[i] = 0;
    }
    memset(world.random, 0, sizeof world.random);
    memset(&world.cast.it, 0, sizeof world.cast.it);
    world.recipe.it = good_recipe(OFP8_SCALING_F32);
    world.bytes_recipe.it = good_recipe(OFP8_SCALING_E8M0);
    memset(&world.shape.it, 0, sizeof world.shape.it);
    world.shape.it.struct_size = sizeof world.shape.it;
    world.shape.it.rows = ROWS;
    world.shape.it.cols = COLS;
    world.shape.it.wide_type = OFP8_F32;
    memset(&world.call.it, 0, sizeof world.call.it);
    world.call.it.struct_size = sizeof world.call.it;
    world.call.it.recipe = &world.recipe.it;
    world.call.it.shape = &world.shape.it;
    world.call.it.random = world.random;
    world.call.it.source = world.source;
    world.call.it.amax = world.amax;
    world.call.it.codes = world.codes;
    world.call.it.scales = world.scales;
    world.call.it.scale_count = BLOCKS;
    world.call.it.stats = world.stats;
    world.rowwise.it = good_copy(world.codes, world.scales, BLOCKS, world.stats);
    world.columnwise.it = good_copy(world.more_codes, world.target, COLS, world.more_stats);
    memset(&world.layout.it, 0, sizeof world.layout.it);
    world.layout.it.struct_size = sizeof world.layout.it;
    world.layout.it.rows = 4;
    world.layout.it.cols = 8;
    world.more_layout.it = world.layout.it;
    memset(&world.rules.it, 0, sizeof world.rules.it);
    world.rules.it.struct_size = sizeof world.rules.it;
    world.rules.it.history = 4;
    ofp8_delayed_init(&world.rules.it, 2, world.state, STATE);
    world.a.it = good_operand(world.codes, world.scales);
    world.b.it = good_operand(world.more_codes, world.more_scales);
    memset(&world.order.it, 0, sizeof world.order.it);
    world.order.it.struct_size = sizeof world.order.it;
    world.gradient.it = good_gradient(world.sums, world.lost);
    world.more_gradient.it = good_gradient(world.more_sums, world.more_lost);
}

/* Good arguments of a function. */
static void reset(const struct function *function)
{
    reset_world();
    memset(world.arguments, 0, sizeof world.arguments);
    for (size_t i = 0; function->arguments[i].name != NULL; ++i) {
        const struct argument *argument = &function->arguments[i];
        if (argument->pointer != NULL) {
            world.arguments[i].p = argument->pointer;
        } else if (argument->kind == SIZE) {
            world.arguments[i].n = argument->number;
        } else if (argument->width == sizeof(uint32_t)) {
            world.arguments[i].u = (uint32_t)argument->number;
        }
    }
}

/* What was tried, and how often each status came. */
static size_t tried, seen[32];

/* Calls with what is there now, which is hostile, and brings back what is good. */
static void trial(const struct function *function, const char *name, const char *what, statuses right)
{
    memcpy(&before, &world, sizeof world);
    const uint32_t status = (uint32_t)function->call();
    tried += 1;
    seen[status % 32] += 1;
    checks += 1;
    if ((right >> status & 1) == 0) {
        failures += 1;
        printf("%s, %s %s: status %u (%s)\n", function->name, name, what, (unsigned)status, ofp8_status_text(status));
    }
    if (status != OFP8_OK && memcmp(&before, &world, sizeof world) != 0) {
        failures += 1;
        printf("%s, %s %s: refused, and wrote something\n", function->name, name, what);
    }
    reset(function);
}

/* Every buffer of a call: where its address stands, and whether it is written. */
struct buffer {
    unsigned char *place;
    const struct argument *argument;
};

static void add_buffers(struct buffer *buffers, size_t *count, unsigned char *base, const struct argument *list,
                        size_t step)
{
    for (size_t i = 0; list[i].name != NULL; ++i) {
        unsigned char *place = base + (step == 0 ? list[i].at : i * step);
        const int is_inside = list[i].kind == STRUCTURE && list[i].align == 0;
        if (list[i].kind == STRUCTURE) {
            unsigned char *of = is_inside ? place : (unsigned char *)read_pointer(place);
            add_buffers(buffers, count, of, list[i].structure->members, 0);
        } else if ((list[i].kind == INPUT || list[i].kind == OUTPUT) && !list[i].is_apart) {
            buffers[*count].place = place;
            buffers[*count].argument = &list[i];
            *count += 1;
        }
    }
}

/* Each buffer that is written, laid over each of the others. */
static void overlaps(const struct function *function)
{
    struct buffer buffers[32];
    size_t count = 0;
    add_buffers(buffers, &count, (unsigned char *)world.arguments, function->arguments, sizeof world.arguments[0]);
    for (size_t i = 0; i < count; ++i) {
        for (size_t j = 0; j < count; ++j) {
            void *other = read_pointer(buffers[j].place);
            if (i == j || buffers[i].argument->kind != OUTPUT) {
                continue;
            }
            write_pointer(buffers[i].place, other);
            trial(function, buffers[i].argument->name, "overlaps another",
                  buffers[i].argument->may_alias ? S(OK) : S(OVERLAP));
        }
    }
}

static void hostile(const struct function *function, unsigned char *base, const struct argument *list, size_t step);

/* Every hostile value of one argument or member. */
static void hostile_one(const struct function *function, unsigned char *place, const struct argument *argument)
{
    static const size_t unknown[] = {9999, 0xFFFFFFFFu, 0x80000001u};
    static const int32_t outside[] = {65, -65, INT32_MAX, INT32_MIN};
    const float wrong[] = {-1.0f, -INFINITY, NAN};
    const size_t huge[] = {(size_t)-1, (size_t)-1 / 2 + 1};
    const size_t sizes[] = {0, sizeof(size_t) - 1, sizeof(size_t) + 1, (size_t)-1, argument->number - 1,
                            argument->number - 2, argument->number + 1, argument->number + 16};
    const char *name = argument->name;
    switch (argument->kind) {
    case FREE:
        memset(place, 0, argument->width);
        trial(function, name, "is zero", S(OK));
        memset(place, 0xFF, argument->width);
        trial(function, name, "is all ones", S(OK));
        break;
    case NUMBER:
        if (argument->number == 0 || argument->zero != S(UNKNOWN_POLICY)) {
            memset(place, 0, argument->width);
            trial(function, name, "is zero", argument->zero);
        }
        for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; ++i) {
            memcpy(place, &unknown[i], argument->width); /* little-endian, as the library is */
            trial(function, name, "is unknown", argument->unknown);
        }
        break;
    case INTEGER:
        for (size_t i = 0; i < sizeof outside / sizeof outside[0]; ++i) {
            memcpy(place, &outside[i], sizeof outside[i]);
            trial(function, name, "is out of range", S(RECIPE));
        }
        break;
    case FLOAT:
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
            memcpy(place, &wrong[i], sizeof wrong[i]);
            trial(function, name, "is negative or NaN", S(RECIPE));
        }
        break;
    case SIZE:
        memset(place, 0, argument->width);
        trial(function, name, "is zero", argument->zero);
        for (size_t i = 0; i < sizeof huge / sizeof huge[0]; ++i) {
            memcpy(place, &huge[i], argument->width);
            trial(function, name, "overflows", argument->overflow);
        }
        break;
    case SIZE_OF_STRUCTURE:
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
            memcpy(place, &sizes[i], sizeof(size_t));
            trial(function, name, "is wrong", S(STRUCT_SIZE));
        }
        break;
    case INPUT:
    case OUTPUT:
    case STRUCTURE:
        if (argument->kind == STRUCTURE && argument->align == 0) {
            hostile(function, place, argument->structure->members, 0);
            break;
        }
        write_pointer(place, NULL);
        trial(function, name, "is null", argument->null);
        if (argument->align > 1) {
            write_pointer(place, (unsigned char *)read_pointer(place) + 1);
            trial(function, name, "is misaligned", S(MISALIGNED));
        }
        if (argument->kind == STRUCTURE) {
            hostile(function, read_pointer(place), argument->structure->members, 0);
        }
        break;
    }
    for (const struct special *special = argument->special; special != NULL && special->what != NULL; ++special) {
        special->prepare(place);
        trial(function, name, special->what, special->right);
    }
}

/* Every argument of a list; of a structure, also one size zero while another is as large as can be. */
static void hostile(const struct function *function, unsigned char *base, const struct argument *list, size_t step)
{
    const size_t most = (size_t)-1;
    for (size_t i = 0; list[i].name != NULL; ++i) {
        hostile_one(function, base + (step == 0 ? list[i].at : i * step), &list[i]);
        for (size_t j = 0; step == 0 && list[j].name != NULL; ++j) {
            if (i != j && list[i].kind == SIZE && list[j].kind == SIZE) {
                memset(base + list[i].at, 0, sizeof(size_t));
                memcpy(base + list[j].at, &most, sizeof(size_t));
                trial(function, list[i].name, "is zero, another overflows",
                      S(OK) | S(LENGTH) | S(SHAPE) | S(RECIPE) | S(STATE));
            }
        }
    }
}

/* What a caller may have set: a rounding, and in some C libraries that exceptions end the program. */
struct environment {
    const char *name;
    int rounding;
    int traps;
};
static const struct environment environments[] = {
    {"to nearest", FE_TONEAREST, 0}, {"upward", FE_UPWARD, 0},
    {"downward", FE_DOWNWARD, 0},    {"toward zero", FE_TOWARDZERO, 0},
#ifdef __GLIBC__
    {"with traps", FE_TONEAREST, 1}, {"toward zero, with traps", FE_TOWARDZERO, 1},
#endif
};
enum { ENVIRONMENTS = sizeof environments / sizeof environments[0] };

/* The function that runs, for the message when it traps. */
static const char *running;
static void trapped(int signal)
{
    (void)signal;
    printf("%s: a floating-point exception trapped\n", running);
    fflush(stdout);
    _Exit(1);
}

/* Returns which exceptions trap: not every processor can. */
static int enter(const struct environment *environment)
{
    fesetround(environment->rounding);
#ifdef __GLIBC__
    feclearexcept(FE_ALL_EXCEPT);
    if (environment->traps) {
        signal(SIGFPE, trapped);
        feenableexcept(FE_ALL_EXCEPT);
    }
    return fegetexcept();
#else
    return 0;
#endif
}

/* Back to the default; whether the environment was as it was entered. */
static int leave(const struct environment *environment, int trapping)
{
    int is_kept = fegetround() == environment->rounding;
#ifdef __GLIBC__
    is_kept &= fegetexcept() == trapping;
    fedisableexcept(FE_ALL_EXCEPT);
#else
    (void)trapping;
    (void)trapped;
#endif
    fesetround(FE_TONEAREST);
    return is_kept;
}

/*
 * Data that is rounded, overflows and is subnormal, in place of ones; given values that are no codes; and, unless it is
 * 0, a format by its number, and another type or policy with it.
 */
static void vary(const struct function *function, uint32_t number)
{
    const double wide = 1 / 3.0;
    const float narrow = (float)wide, subnormal = FLT_MIN / 64;
    for (uint32_t i = 0; i < COUNT; ++i) {
        const uint32_t any = (i + 1) * 0x9E3779B9u;
        const uint32_t bits = any & (i % 8 == 0 ? 0x807FFFFFu : 0xBFFFFFFFu);
        memcpy(&world.source[i], &bits, sizeof bits);
        world.sums[i] = world.more_sums[i] = world.lost[i] = world.more_lost[i] = world.source[i];
        world.codes[i] = world.more_codes[i] = (uint8_t)(any >> 24);
    }
    for (size_t i = 0; i < GRID && number % 2 == 1; ++i) {
        world.scales[i] = i % 2 == 0 ? narrow : subnormal;
    }
    for (size_t i = 0; function->arguments[i].name != NULL; ++i) {
        const struct argument *argument = &function->arguments[i];
        if (argument->kind == NUMBER && number != 0) {
            world.arguments[i].u = strcmp(argument->name, "format") == 0 ? number : 1 + number % 3;
        } else if (argument->kind == FREE && argument->width == sizeof wide) {
            world.arguments[i].d = wide;
        } else if (argument->kind == FREE) {
            world.arguments[i].f = narrow;
        }
    }
    world.recipe.it.element = number != 0 ? number : OFP8_E4M3;
    world.shape.it.wide_type = 1 + number % 3;
    world.call.it.amax = NULL;
}

/* One call under every environment: the status, the bytes and the environment as under the first. */
static void under_environments(const struct function *function, uint32_t number)
{
    uint32_t expected = 0;
    for (size_t i = 0; i < ENVIRONMENTS; ++i) {
        const struct environment *environment = &environments[i];
        reset(function);
        vary(function, number);
        running = function->name;
        const int trapping = enter(environment);
        const uint32_t status = (uint32_t)function->call();
        const int is_kept = leave(environment, trapping);
        if (i == 0) {
            expected = status;
            memcpy(&before, &world, sizeof world);
        }
        checks += 1;
        if (status != expected || !is_kept || memcmp(&before, &world, sizeof world) != 0) {
            failures += 1;
            printf("%s, number %u, rounding %s: status %u for %u, %s\n", function->name, (unsigned)number,
                   environment->name, (unsigned)status, (unsigned)expected,
                   is_kept ? "perhaps other bytes" : "the environment was changed");
        }
    }
}

static void print_list(const char *name, const struct argument *list)
{
    printf("%s:", name);
    for (size_t i = 0; list[i].name != NULL; ++i) {
        printf(" %s", list[i].name);
    }
    printf("\n");
}

/* Statuses are numbered without gaps; whatever is not one of them has the same text. */
static uint32_t statuses_with_text(void)
{
    uint32_t status = 0;
    while (strcmp(ofp8_status_text(status), ofp8_status_text(UINT32_MAX)) != 0) {
        ++status;
    }
    return status;
}

int main(int count, char **arguments)
{
    if (count == 2 && strcmp(arguments[1], "statuses") == 0) {
        printf("%u\n", (unsigned)statuses_with_text());
        return 0;
    }
    const int is_list = count == 2 && strcmp(arguments[1], "list") == 0;
    for (size_t i = 0; is_list && i < sizeof structures / sizeof structures[0]; ++i) {
        print_list(structures[i]->name, structures[i]->members);
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
        const struct function *function = &functions[i];
        if (is_list) {
            print_list(function->name, function->arguments);
            continue;
        }
        reset(function);
        trial(function, "everything", "is good", S(OK));
        hostile(function, (unsigned char *)world.arguments, function->arguments, sizeof world.arguments[0]);
        overlaps(function);
        for (uint32_t number = 0; number == 0 || ofp8_get_format_info(number, world.info) == OFP8_OK; ++number) {
            under_environments(function, number);
        }
        ofp8_force_kernel(OFP8_KERNEL_DETECT);
    }
    if (is_list) {
        return 0;
    }
    for (uint32_t status = 0; status < statuses_with_text(); ++status) {
        checks += 1;
        if (seen[status] == 0) {
            failures += 1;
            printf("never seen: status %u (%s)\n", (unsigned)status, ofp8_status_text(status));
        }
    }
    printf("hostile: %u functions, %u inputs tried\n", (unsigned)(sizeof functions / sizeof functions[0]),
           (unsigned)tried);
    for (uint32_t status = 0; status < 32; ++status) {
        if (seen[status] != 0) {
            printf("%8u %s\n", (unsigned)seen[status], ofp8_status_text(status));
        }
    }
    return finish("hostile");
}

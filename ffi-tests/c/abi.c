/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a program that was compiled against one version of the header relies on in another: where members lie, and that
 * a structure may be shorter or longer than the library's.
 */
#include "check.h"

/* ---- Where members lie, as Rust says; checked by the compiler. */

#define SIZE(structure, size) typedef char abi_size_##structure[sizeof(structure) == (size) ? 1 : -1];
#define ALIGN(structure, align)                                                                                        \
    typedef struct abi_after_char_##structure {                                                                        \
        char first;                                                                                                    \
        structure second;                                                                                              \
    } abi_after_char_##structure;                                                                                      \
    typedef char abi_align_##structure[offsetof(abi_after_char_##structure, second) == (align) ? 1 : -1];
#define MEMBER(structure, member, offset, size)                                                                        \
    typedef char abi_offset_##structure##_##member[offsetof(structure, member) == (offset) ? 1 : -1];                  \
    typedef char abi_size_##structure##_##member[sizeof(((structure *)0)->member) == (size) ? 1 : -1];
#if SIZE_MAX == 0xFFFFFFFFFFFFFFFF
#include "../abi/layout.h"
#endif

/* ---- struct_size */

enum { LONGEST = 4096, ROOM = LONGEST + 64, ROWS = 3, COLS = 5 };

static float source[ROWS * COLS];
static uint8_t codes[ROWS * COLS];
static ofp8_operand operand;
static float sum[ROWS * COLS];

/* What a call gave. */
typedef struct result {
    ofp8_status status;
    size_t sizes[2];
    float value;
    ofp8_not_finite first;
} result;

/* A call that reads the structure, and gives all that depends on it. */
typedef void caller(const void *structure, result *out);

static void call_recipe(const void *structure, result *out)
{
    const ofp8_recipe *recipe = (const ofp8_recipe *)structure;
    out->status = ofp8_scale_grid(recipe, ROWS, COLS, &out->sizes[0], &out->sizes[1]);
    ofp8_scale_from_amax(recipe, 0x3F900000u, &out->value, NULL);
}

static void call_shape(const void *structure, result *out)
{
    out->status = ofp8_validate((const ofp8_shape *)structure, source, &out->first);
}

static void call_layout(const void *structure, result *out)
{
    out->status = ofp8_layout_size((const ofp8_layout *)structure, &out->sizes[0], &out->sizes[1]);
}

static void call_delayed(const void *structure, result *out)
{
    out->status = ofp8_delayed_size((const ofp8_delayed *)structure, 3, &out->sizes[0]);
}

static void call_order(const void *structure, result *out)
{
    out->status = ofp8_dot(&operand, &operand, (const ofp8_order *)structure, &out->value);
}

static void call_operand(const void *structure, result *out)
{
    out->status = ofp8_dot((const ofp8_operand *)structure, &operand, NULL, &out->value);
}

/* Writes into the gradient: on a copy, so that every call begins with the same. */
static void call_gradient(const void *structure, result *out)
{
    static union {
        ofp8_gradient gradient;
        unsigned char bytes[ROOM];
    } copy;
    memcpy(copy.bytes, structure, sizeof copy);
    memset(sum, 0, sizeof sum);
    out->status = ofp8_accumulate_gradient(&copy.gradient, OFP8_F32, source, 0, 2.0f);
    out->value = sum[7];
    out->sizes[0] = out->status == OFP8_OK ? (size_t)copy.gradient.count : 0;
}

/* One structure: valid, all members of use set. */
typedef struct sized {
    const char *name;
    caller *call;
    const void *structure;
    size_t size;
    size_t step;     /* sizes are tried so many bytes apart: half a pointer points nowhere */
    size_t shortest; /* below it OFP8_STRUCT_SIZE */
} sized;

/* The structure as a program has it whose header knows `size` bytes of it: whatever lies behind is somebody else's. */
static result call_with(const sized *of, size_t size, unsigned char behind)
{
    static union {
        size_t struct_size;
        void *alignment;
        uint64_t more_alignment;
        unsigned char bytes[ROOM];
    } memory;
    result out;
    const size_t known = size < of->size ? size : of->size;
    memset(memory.bytes, behind, sizeof memory.bytes);
    if (size > of->size) {
        memset(memory.bytes, 0, size < sizeof memory.bytes ? size : sizeof memory.bytes);
    }
    memcpy(memory.bytes, of->structure, known);
    if (size < sizeof(size_t)) {
        memset(memory.bytes, 0, sizeof(size_t));
    }
    memory.struct_size = size;
    memset(&out, 0, sizeof out);
    of->call(memory.bytes, &out);
    return out;
}

/* The same with the tail set to zero, at full length. */
static result call_zeroed(const sized *of, size_t known)
{
    unsigned char bytes[256];
    sized zeroed = *of;
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, of->structure, known);
    zeroed.structure = bytes;
    return call_with(&zeroed, of->size, 0);
}

static int same(result a, result b)
{
    return a.status == b.status && a.sizes[0] == b.sizes[0] && a.sizes[1] == b.sizes[1] &&
           memcmp(&a.value, &b.value, sizeof a.value) == 0 && a.first.found == b.first.found &&
           a.first.row == b.first.row && a.first.col == b.first.col;
}

static int refused(result got)
{
    result nothing;
    memset(&nothing, 0, sizeof nothing);
    nothing.status = OFP8_STRUCT_SIZE;
    return same(got, nothing);
}

static void expect(int ok, const sized *of, const char *what, size_t size)
{
    char text[128];
    snprintf(text, sizeof text, "%s of %u bytes: %s", of->name, (unsigned)size, what);
    check_at(ok, text, __FILE__, __LINE__);
}

/* Whether a structure that begins with a size_t can have this size: else it ends inside a member. */
static int is_whole(size_t size)
{
    return size % sizeof(size_t) == 0;
}

static void rules(const sized *of)
{
    const result full = call_with(of, of->size, 0xFF);
    expect(full.status == OFP8_OK, of, "is accepted", of->size);

    for (size_t size = 0; size < of->size; size += size < sizeof(size_t) ? 1 : of->step) {
        const result shorter = call_with(of, size, 0xFF);
        if (size < of->shortest || !is_whole(size)) {
            expect(refused(shorter), of, "is refused", size);
        } else {
            expect(same(shorter, call_zeroed(of, size)), of, "is as if the rest were zero", size);
        }
    }
    for (size_t size = of->size; size <= LONGEST; size += size < of->size + 40 ? 1 : 504 + (size & 1)) {
        if (is_whole(size)) {
            expect(same(call_with(of, size, 0), full), of, "is the same, its excess being zero", size);
        } else {
            expect(refused(call_with(of, size, 0)), of, "is refused", size);
        }
    }
    expect(refused(call_with(of, LONGEST + 1, 0)), of, "is refused", LONGEST + 1);
    expect(refused(call_with(of, (size_t)-1, 0)), of, "is refused", (size_t)-1);
}

/* A longer structure whose excess says something that the library does not know. */
static void unknown_members(void)
{
    struct {
        ofp8_layout known;
        unsigned char excess[16];
    } longer;
    for (size_t i = 0; i < sizeof longer.excess; ++i) {
        size_t size = 99;
        memset(&longer, 0, sizeof longer);
        longer.known.struct_size = sizeof longer;
        longer.known.rows = ROWS;
        longer.known.cols = COLS;
        CHECK(ofp8_layout_size(&longer.known, &size, NULL) == OFP8_OK && size == ROWS * COLS);
        longer.excess[i] = 1;
        CHECK(ofp8_layout_size(&longer.known, &size, NULL) == OFP8_STRUCT_SIZE && size == ROWS * COLS);
    }
}

int main(void)
{
    ofp8_recipe recipe;
    ofp8_shape shape;
    ofp8_layout layout;
    ofp8_delayed delayed;
    ofp8_order order;
    ofp8_gradient gradient;
    for (int i = 0; i < ROWS * COLS; ++i) {
        source[i] = (float)(i + 1);
        codes[i] = ofp8_e4m3_from_f32(source[i]);
    }
    source[13] = (float)(1e30 * 1e30);

    memset(&recipe, 0, sizeof recipe);
    recipe.block_rows = 2;
    recipe.block_cols = 3;
    recipe.element = OFP8_E2M1;
    recipe.scaling = OFP8_SCALING_TWO_LEVEL;
    recipe.special = OFP8_SPECIAL_CLAMP;
    recipe.cast.nan = OFP8_NAN_KEEP_SIGN;
    recipe.block_scale = OFP8_UE4M3;
    recipe.has_tensor_amax = 1;
    recipe.tensor_amax = 0x41200000u;
    memset(&shape, 0, sizeof shape);
    shape.rows = ROWS;
    shape.cols = 2;
    shape.stride = COLS;
    shape.code_stride = 2;
    shape.wide_type = OFP8_F32;
    memset(&layout, 0, sizeof layout);
    layout.rows = ROWS;
    layout.cols = COLS;
    layout.batches = 2;
    layout.batch_stride = 2000;
    layout.order = OFP8_LAYOUT_TILE_128X4;
    memset(&delayed, 0, sizeof delayed);
    delayed.history = 7;
    delayed.interval = 2;
    delayed.calibration = 3;
    memset(&order, 0, sizeof order);
    order.kind = OFP8_ORDER_TENSOR_CORE;
    order.model = OFP8_MODEL_HOPPER_WGMMA;
    order.promotion = 32;
    memset(&operand, 0, sizeof operand);
    operand.struct_size = sizeof operand;
    operand.codes = codes;
    operand.rows = 1;
    operand.cols = ROWS * COLS;
    operand.format = OFP8_E4M3;
    memset(&gradient, 0, sizeof gradient);
    gradient.rows = ROWS;
    gradient.cols = COLS;
    gradient.sum = sum;
    gradient.count = 4;

    {
        const size_t none = sizeof(size_t);
        const sized all[] = {
            {"ofp8_recipe", call_recipe, &recipe, sizeof recipe, 1, none},
            {"ofp8_shape", call_shape, &shape, sizeof shape, 1, none},
            {"ofp8_layout", call_layout, &layout, sizeof layout, 1, none},
            {"ofp8_delayed", call_delayed, &delayed, sizeof delayed, 1, none},
            {"ofp8_order", call_order, &order, sizeof order, 1, none},
            {"ofp8_operand", call_operand, &operand, sizeof operand, sizeof(void *), none},
            /* What the library writes back must be there. */
            {"ofp8_gradient", call_gradient, &gradient, sizeof gradient, sizeof(void *), sizeof gradient},
        };
        for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
            rules(&all[i]);
        }
    }
    unknown_members();
    CHECK(ofp8_abi_version() == OFP8_ABI_VERSION);
    return finish("abi");
}

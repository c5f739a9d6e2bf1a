/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The library on a bare core: each part of the C ABI over inputs that are the same everywhere, and
 * a checksum of every status and every bit that came back. What a core prints must be what the
 * host prints, but for the lines about its stack.
 */
#include "board.h"
#include "ofp8.h"

enum { ROWS = 4, COLS = 96, COUNT = ROWS * COLS, TENSORS = 2, HISTORY = 4 };

/* FNV-1a over 32 bits. */
static uint32_t sum;

static void add(const void *data, size_t size)
{
    const uint8_t *bytes = data;
    while (size-- > 0) {
        sum = (sum ^ *bytes++) * 16777619u;
    }
}

static void add_status(ofp8_status status)
{
    const uint32_t word = status;
    add(&word, sizeof word);
}

static void print_line(const char *what, const char *name, const char *value)
{
    board_print(what);
    board_print(name);
    board_print(" ");
    board_print(value);
    board_print("\n");
}

static void begin(void)
{
    sum = 2166136261u;
}

static void end(const char *name)
{
    char text[9];
    for (int i = 0; i < 8; ++i) {
        text[i] = "0123456789abcdef"[sum >> (28 - 4 * i) & 15];
    }
    text[8] = 0;
    print_line("sum ", name, text);
}

static void print_depth(const char *name, size_t depth)
{
    char text[12], *at = text + sizeof text;
    if (depth == 0 || name == NULL) {
        return;
    }
    *--at = 0;
    for (; depth > 0; depth /= 10) {
        *--at = (char)('0' + depth % 10);
    }
    print_line("stack ", name, at);
}

/* Takes the status of a call into the checksum, and prints the stack that it used under a name, if it has one. */
#define MEASURE(name, call)                                                                        \
    do {                                                                                           \
        ofp8_status status;                                                                        \
        board_paint_stack();                                                                       \
        status = (call);                                                                           \
        print_depth(name, board_stack_depth());                                                    \
        add_status(status);                                                                        \
    } while (0)

/* Marsaglia's xorshift. */
static uint32_t seed;

static uint32_t next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed;
}

static float from_bits(uint32_t bits)
{
    union {
        uint32_t bits;
        float value;
    } same = {bits};
    return same.value;
}

static const uint32_t formats[] = {
#define NUMBER(name) OFP8_##name,
    OFP8_FOR_EACH_FORMAT(NUMBER)
#undef NUMBER
};
enum { FORMATS = sizeof formats / sizeof *formats };

static union {
    float f32[COUNT];
    uint16_t half[COUNT];
} source, back;
static uint8_t codes[COUNT], scales[COUNT];
static float wide_scales[COUNT];

/* Elements of all signs between 2^-8 and 2^8, with zeros; a special value where asked for. */
static void fill(uint32_t wide_type, uint32_t special)
{
    seed = 1;
    for (int i = 0; i < COUNT; ++i) {
        const uint32_t random = next();
        const uint32_t exponent = 127 - 8 + (random >> 8) % 17;
        uint32_t bits = (random & 0x80000000u) | exponent << 23 | (next() & 0x7FFFFFu);
        if (random % 29 == 0) {
            bits &= 0x80000000u;
        }
        if (i == COUNT / 2 && special != 0) {
            bits = special;
        }
        if (wide_type == OFP8_F32) {
            source.f32[i] = from_bits(bits);
        } else if (wide_type == OFP8_BF16) {
            source.half[i] = (uint16_t)(bits >> 16);
        } else {
            source.half[i] = (uint16_t)((bits >> 16 & 0x8000u) | (bits >> 9 & 0x7FFFu) % 0x7C00u);
        }
    }
}

static void all_codes(void)
{
    begin();
    for (int f = 0; f < FORMATS; ++f) {
        for (int code = 0; code < 256; ++code) {
            float f32 = 0;
            double f64 = 0;
            uint16_t half[2] = {0, 0};
            add_status(ofp8_decode_f32(formats[f], (uint8_t)code, &f32));
            add_status(ofp8_decode_f64(formats[f], (uint8_t)code, &f64));
            add_status(ofp8_decode_f16(formats[f], (uint8_t)code, &half[0]));
            add_status(ofp8_decode_bf16(formats[f], (uint8_t)code, &half[1]));
            add(&f32, sizeof f32);
            add(&f64, sizeof f64);
            add(half, sizeof half);
        }
    }
    end("decode, all codes of all formats");
}

/* Every 2^16th f32 and its neighbours, through the entry points of one format each. */
static void encode_each_format(void)
{
    begin();
    for (uint32_t high = 0; high < 0x10000u; ++high) {
        const float value = from_bits((high << 16) + (high & 3) - 1);
        const uint8_t result[] = {ofp8_e4m3_from_f32(value), ofp8_e5m2_from_f32(value),
                                  ofp8_e4m3fnuz_from_f32(value), ofp8_e5m2fnuz_from_f32(value),
                                  ofp8_e8m0_from_f32(value)};
        add(result, sizeof result);
    }
    end("encode, every 2^16th f32");
}

/* Every format, rounding and saturation. */
static void encode_each_cast(void)
{
    begin();
    seed = 1;
    for (int f = 0; f < FORMATS; ++f) {
        ofp8_cast cast = {0, 0, OFP8_NAN_KEEP_SIGN, 0};
        for (cast.rounding = OFP8_NEAREST_EVEN; cast.rounding <= OFP8_STOCHASTIC_C; ++cast.rounding) {
            cast.random_bits = cast.rounding < OFP8_STOCHASTIC_A ? 0 : 9;
            for (cast.saturation = 0; cast.saturation <= OFP8_SATURATE_NONE; ++cast.saturation) {
                for (uint32_t bits = next() >> 7; bits < 0xFC000000u; bits += 0x03FCA0B1u) {
                    uint8_t code[3] = {0, 0, 0};
                    const uint32_t random = next();
                    add_status(ofp8_encode_f32(formats[f], &cast, from_bits(bits), random, &code[0]));
                    add_status(ofp8_encode_f16(formats[f], &cast, bits >> 16, random, &code[1]));
                    add_status(ofp8_encode_f64(formats[f], &cast, from_bits(bits), random, &code[2]));
                    add(code, sizeof code);
                }
            }
        }
    }
    end("encode, every format and cast");
}

static void slices(void)
{
    const ofp8_philox random = {42, 7, 3};
    ofp8_cast cast = {0, 0, 0, 0};
    uint32_t amax = 0;
    begin();
    fill(OFP8_F32, 0);
    MEASURE("ofp8_encode", ofp8_encode(OFP8_E4M3, NULL, NULL, OFP8_F32, source.f32, COUNT, codes));
    add(codes, COUNT);
    MEASURE("ofp8_decode", ofp8_decode(OFP8_E4M3, codes, COUNT, OFP8_F32, back.f32));
    add(back.f32, sizeof back.f32);
    cast.rounding = OFP8_STOCHASTIC_A;
    cast.random_bits = 16;
    MEASURE("ofp8_encode, stochastic",
            ofp8_encode(OFP8_E5M2, &cast, &random, OFP8_F32, source.f32, COUNT, codes));
    add(codes, COUNT);
    MEASURE("ofp8_amax", ofp8_amax(OFP8_F32, source.f32, COUNT, &amax));
    add(&amax, sizeof amax);
    MEASURE("ofp8_pack", ofp8_pack(OFP8_PACKING_FP6, codes, COUNT, scales));
    add(scales, COUNT * 3 / 4);
    end("slices");
}

/* A block by itself, under every rule, special values among them. */
static void blocks(void)
{
    begin();
    for (uint32_t rule = OFP8_EXPONENT_ROUND_UP; rule < OFP8_EXPONENT_LEAST_ERROR; ++rule) {
        const int first = rule == OFP8_EXPONENT_ROUND_UP;
        fill(OFP8_F32, 0x7FC00000u);
        for (int i = 0; i < COUNT; i += 32) {
            MEASURE(first && i == 0 ? "ofp8_e4m3_quantize_block" : NULL,
                    ofp8_e4m3_quantize_block(rule, source.f32 + i, 32, codes + i, scales + i / 32));
            MEASURE(first && i == 0 ? "ofp8_e4m3_dequantize_block" : NULL,
                    ofp8_e4m3_dequantize_block(scales[i / 32], codes + i, 32, back.f32 + i));
        }
        add(codes, COUNT);
        add(scales, COUNT / 32);
        add(back.f32, sizeof back.f32);
        add_status(ofp8_e5m2_quantize_block(rule, source.f32, COUNT / 3, codes, scales));
        add_status(ofp8_e5m2_dequantize_block(scales[0], codes, COUNT / 3, back.f32));
        add_status(ofp8_e2m1_quantize_block(rule, source.f32 + 7, 16, codes, scales + 1));
        add_status(ofp8_e2m1_dequantize_block(scales[1], codes, 16, back.f32 + COUNT / 3));
        add(codes, COUNT);
        add(scales, 2);
        add(back.f32, sizeof back.f32);
    }
    end("blocks by themselves");
}

/* Quantizes by a recipe, what was seen included, and back. */
static void quantize(const char *name, const char *name_back, const ofp8_recipe *recipe,
                     uint32_t wide_type)
{
    ofp8_shape shape = {0};
    ofp8_stats stats = {0}, twice = {0};
    size_t down = 0, across = 0;
    float tensor_scale = 0;
    const int is_f32 = recipe->scaling == OFP8_SCALING_F32;
    void *const places = is_f32 ? (void *)wide_scales : (void *)scales;
    float *const tensor = recipe->scaling == OFP8_SCALING_TWO_LEVEL ? &tensor_scale : NULL;
    shape.struct_size = sizeof shape;
    shape.rows = ROWS;
    shape.cols = COLS;
    shape.wide_type = wide_type;
    add_status(ofp8_scale_grid(recipe, ROWS, COLS, &down, &across));
    MEASURE(name, ofp8_quantize(recipe, &shape, NULL, &source, NULL, codes, places, down * across,
                                tensor, &stats));
    add(codes, COUNT);
    add(places, down * across * (is_f32 ? sizeof(float) : 1));
    add(&tensor_scale, sizeof tensor_scale);
    add(&stats, sizeof stats);
    add_status(ofp8_merge_stats(&twice, &stats));
    add_status(ofp8_merge_stats(&twice, &stats));
    add(&twice, sizeof twice);
    MEASURE(name_back,
            ofp8_dequantize(recipe, &shape, codes, places, down * across, tensor, &back));
    add(&back, wide_type == OFP8_F32 ? sizeof back.f32 : sizeof back.half);
}

static void mx(void)
{
    static const uint32_t elements[] = {OFP8_E4M3, OFP8_E5M2, OFP8_E2M3,
                                        OFP8_E3M2, OFP8_E2M1, OFP8_MXINT8};
    static const uint32_t types[] = {OFP8_F32, OFP8_F16, OFP8_BF16};
    ofp8_recipe recipe = {0};
    recipe.struct_size = sizeof recipe;
    recipe.scaling = OFP8_SCALING_E8M0;
    recipe.block_rows = 1;
    recipe.block_cols = 32;
    begin();
    for (int type = 0; type < 3; ++type) {
        fill(types[type], 0);
        for (int i = 0; i < 6; ++i) {
            recipe.element = elements[i];
            quantize(NULL, NULL, &recipe, types[type]);
        }
    }
    end("MX blocks, all elements, types");
    begin();
    recipe.element = OFP8_E4M3;
    fill(OFP8_F32, 0x7F800000u);
    quantize("ofp8_quantize, MXFP8", "ofp8_dequantize, MXFP8", &recipe, OFP8_F32);
    recipe.special = OFP8_SPECIAL_IGNORE;
    quantize(NULL, NULL, &recipe, OFP8_F32);
    end("MX blocks, special");
}

static void other_recipes(void)
{
    ofp8_recipe recipe = {0};
    recipe.struct_size = sizeof recipe;
    recipe.element = OFP8_E4M3;
    begin();
    fill(OFP8_F32, 0);
    quantize("ofp8_quantize, per tensor", "ofp8_dequantize, per tensor", &recipe, OFP8_F32);
    recipe.block_rows = 1;
    recipe.convention = OFP8_CONVENTION_DEEPSEEK;
    quantize(NULL, NULL, &recipe, OFP8_F32);
    recipe.convention = 0;
    recipe.element = OFP8_E2M1;
    recipe.block_cols = 16;
    recipe.scaling = OFP8_SCALING_TWO_LEVEL;
    recipe.block_scale = OFP8_UE4M3;
    quantize("ofp8_quantize, NVFP4", "ofp8_dequantize, NVFP4", &recipe, OFP8_F32);
    recipe.element = OFP8_E4M3;
    recipe.block_rows = 32;
    recipe.block_cols = 1;
    recipe.scaling = OFP8_SCALING_E8M0;
    recipe.block_scale = 0;
    quantize(NULL, NULL, &recipe, OFP8_F32);
    end("other recipes");
}

static void dot(void)
{
    ofp8_recipe recipe = {0};
    ofp8_operand a = {0}, b;
    ofp8_order order = {0};
    ofp8_exact_sum exact = {{0}};
    float result = 0;
    recipe.struct_size = sizeof recipe;
    recipe.element = OFP8_E4M3;
    recipe.scaling = OFP8_SCALING_E8M0;
    recipe.block_rows = 1;
    recipe.block_cols = 32;
    seed = 1;
    for (int i = 0; i < 2 * COLS; ++i) {
        codes[i] = next() & 0xF7u; /* no NaN */
    }
    for (int i = 0; i < 2 * COLS / 32; ++i) {
        scales[i] = (uint8_t)(120 + next() % 16);
    }
    a.struct_size = sizeof a;
    a.codes = codes;
    a.rows = 1;
    a.cols = COLS;
    a.recipe = &recipe;
    a.scales = scales;
    a.scale_count = COLS / 32;
    b = a;
    b.codes = codes + COLS;
    b.scales = scales + COLS / 32;
    order.struct_size = sizeof order;
    begin();
    MEASURE("ofp8_dot", ofp8_dot(&a, &b, &order, &result));
    add(&result, sizeof result);
    order.kind = OFP8_ORDER_EXACT;
    MEASURE("ofp8_dot, exact", ofp8_dot(&a, &b, &order, &result));
    add(&result, sizeof result);
    MEASURE("ofp8_accumulate_exact", ofp8_accumulate_exact(&exact, &a, &b));
    add(&exact, sizeof exact);
    MEASURE("ofp8_exact_to_f32", ofp8_exact_to_f32(&exact, &result));
    add(&result, sizeof result);
    order.kind = OFP8_ORDER_TENSOR_CORE;
    order.model = OFP8_MODEL_HOPPER_WGMMA;
    MEASURE("ofp8_dot, tensor core", ofp8_dot(&a, &b, &order, &result));
    add(&result, sizeof result);
    end("dot products");
}

static void delayed(void)
{
    static uint32_t state[OFP8_DELAYED_SIZE(HISTORY, TENSORS) / 4];
    ofp8_delayed rules = {0};
    rules.struct_size = sizeof rules;
    rules.history = HISTORY;
    begin();
    seed = 1;
    MEASURE("ofp8_delayed_init", ofp8_delayed_init(&rules, TENSORS, state, sizeof state));
    for (int step = 0; step < 20; ++step) {
        for (size_t tensor = 0; tensor < TENSORS; ++tensor) {
            const uint32_t seen = next() & 0x7FFFFFFFu;
            uint32_t amax = 0, not_finite = 0;
            add_status(ofp8_delayed_record(&rules, state, sizeof state, tensor, seen));
            add_status(ofp8_delayed_amax(&rules, state, sizeof state, tensor, &amax));
            add_status(ofp8_delayed_not_finite(&rules, state, sizeof state, tensor, &not_finite));
            add(&amax, sizeof amax);
            add(&not_finite, sizeof not_finite);
        }
        add_status(ofp8_delayed_update(&rules, state, sizeof state));
    }
    MEASURE("ofp8_delayed_record", ofp8_delayed_record(&rules, state, sizeof state, 0, next() >> 2));
    MEASURE("ofp8_delayed_update", ofp8_delayed_update(&rules, state, sizeof state));
    add(state, sizeof state);
    end("delayed scaling");
}

static void scalars(void)
{
    uint8_t code = 0;
    float value = 0;
    begin();
    MEASURE("ofp8_e4m3_from_f32", (ofp8_status)ofp8_e4m3_from_f32(0.3f));
    MEASURE("ofp8_e4m3_to_f32", (ofp8_status)ofp8_e4m3_to_f32(0x38));
    MEASURE("ofp8_encode_f32", ofp8_encode_f32(OFP8_E5M2, NULL, 0.3f, 0, &code));
    MEASURE("ofp8_decode_f32", ofp8_decode_f32(OFP8_E5M2, code, &value));
    add(&value, sizeof value);
    end("single values");
}

int main(void)
{
    scalars();
    all_codes();
    encode_each_format();
    encode_each_cast();
    slices();
    blocks();
    mx();
    other_recipes();
    dot();
    delayed();
    return 0;
}

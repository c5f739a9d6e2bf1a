/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sums of products and gradients from C99 (and, compiled as such, C++11): known answers, and each
 * bad argument with its status and outputs untouched.
 */
#include <math.h>

#include "check.h"

enum { M = 2, N = 3, K = 64, BLOCKS = 2, ONE = 0x38, TWO = 0x40, PATTERN = 0xA5 };

/* One of everything that a call may read or write, in memory that nothing else shares. */
struct world {
    uint8_t a[M * K];
    uint8_t b[N * K];
    uint8_t a_scales[M * BLOCKS];
    uint8_t b_scales[N * BLOCKS];
    float c[M * N + 1]; /* room for a pointer that is off by one */
    float workspace[M * N];
    uint8_t codes[M * N];
    float scales[M];
    ofp8_stats stats;
    ofp8_exact_sum sum;
    float source[M * N];
    float gradient_sum[M * N];
    float gradient_lost[M * N];
    ofp8_gradient gradient;
    ofp8_gradient other;
    float other_sum[M * N];
};

static struct world before, world;
static ofp8_recipe mx, row;
static ofp8_operand a, b, vector;
static ofp8_order order;

/* Good arguments, and a pattern in every output. */
static void reset(void)
{
    memset(&world, PATTERN, sizeof world);
    memset(world.a, ONE, sizeof world.a);
    memset(world.b, TWO, sizeof world.b);
    memset(world.a_scales, 127, sizeof world.a_scales);
    memset(world.b_scales, 126, sizeof world.b_scales);
    memset(&world.sum, 0, sizeof world.sum);
    for (int i = 0; i < M * N; ++i) {
        world.source[i] = (float)i;
        world.gradient_sum[i] = world.gradient_lost[i] = world.other_sum[i] = 0.0f;
    }
    memset(&mx, 0, sizeof mx);
    mx.struct_size = sizeof mx;
    mx.element = OFP8_E4M3;
    mx.block_rows = 1;
    mx.block_cols = 32;
    mx.scaling = OFP8_SCALING_E8M0;
    row = mx;
    row.block_cols = 0;
    row.scaling = OFP8_SCALING_F32;
    memset(&a, 0, sizeof a);
    a.struct_size = sizeof a;
    a.codes = world.a;
    a.rows = M;
    a.cols = K;
    a.format = OFP8_E4M3;
    b = a;
    b.codes = world.b;
    b.rows = N;
    vector = a;
    vector.rows = 1;
    memset(&order, 0, sizeof order);
    order.struct_size = sizeof order;
    memset(&world.gradient, 0, sizeof world.gradient);
    world.gradient.struct_size = sizeof world.gradient;
    world.gradient.rows = M;
    world.gradient.cols = N;
    world.gradient.sum = world.gradient_sum;
    world.other = world.gradient;
    world.other.sum = world.other_sum;
    memcpy(&before, &world, sizeof world);
}

static void with_scales(void)
{
    a.recipe = b.recipe = &mx;
    a.scales = world.a_scales;
    a.scale_count = sizeof world.a_scales;
    b.scales = world.b_scales;
    b.scale_count = sizeof world.b_scales;
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

static float *odd(float *pointer)
{
    return (float *)(void *)((char *)pointer + 1);
}

static void products(void)
{
    static const uint32_t kinds[] = {OFP8_ORDER_SEQUENTIAL, OFP8_ORDER_EXACT,
                                     OFP8_ORDER_TENSOR_CORE};
    float result = 0;
    for (int kind = 0; kind < 3; ++kind) {
        reset();
        order.kind = kinds[kind];
        order.model = kind == 2 ? OFP8_MODEL_HOPPER_WGMMA : 0;
        CHECK(ofp8_gemm(&a, &b, &order, world.c, 0) == OFP8_OK);
        for (int i = 0; i < M * N; ++i) {
            CHECK(world.c[i] == 2.0f * K);
        }
        with_scales();
        world.a_scales[1] = 129; /* the second block of the first row: times 4 */
        CHECK(ofp8_gemm(&a, &b, &order, world.c, 0) == OFP8_OK);
        CHECK(world.c[0] == 32.0f + 4.0f * 32.0f && world.c[N] == 64.0f);
        CHECK(ofp8_dot(&vector, &vector, &order, &result) == OFP8_OK && result == (float)K);
        /* The recipe says the format; saying it again changes nothing. */
        result = world.c[0];
        a.format = 0;
        CHECK(ofp8_gemm(&a, &b, &order, world.c, 0) == OFP8_OK && world.c[0] == result);
    }
    /* No order is the sequential one; a transposed operand is the same product. */
    reset();
    for (int k = 0; k < K; ++k) {
        for (int i = 0; i < M; ++i) {
            world.a[k * M + i] = (uint8_t)(i == 0 ? ONE : TWO);
        }
    }
    a.rows = K;
    a.cols = M;
    a.is_transposed = 1;
    CHECK(ofp8_gemm(&a, &b, NULL, world.c, 0) == OFP8_OK);
    CHECK(world.c[0] == 2.0f * K && world.c[N] == 4.0f * K);
}

static void quantized(void)
{
    reset();
    CHECK(ofp8_gemm_quantized(&a, &b, NULL, &row, NULL, world.workspace, N, world.codes, 0,
                              world.scales, M, NULL, &world.stats) == OFP8_OK);
    CHECK(world.codes[0] == 0x7E && world.codes[M * N - 1] == 0x7E);
    CHECK(world.scales[0] * 448.0f == 2.0f * K && world.stats.count == M * N);
}

static void tensor_cores(void)
{
    uint8_t x[OFP8_MMA_K], y[OFP8_MMA_K];
    float d = 0;
    memset(x, 0x38, sizeof x); /* 1 */
    memset(y, 0x30, sizeof y); /* 0.5 */
    x[0] = 0x70;               /* 128 */
    y[0] = 0x68;               /* 64: the sum is 8207.5 */
    CHECK(ofp8_mma(OFP8_MODEL_HOPPER_WGMMA, OFP8_E4M3, x, OFP8_E4M3, y, 127, 127, 0, &d) == OFP8_OK);
    CHECK(d == 8192.0f);
    CHECK(ofp8_mma(OFP8_MODEL_ADA_MMA, OFP8_E4M3, x, OFP8_E4M3, y, 127, 127, 0, &d) == OFP8_OK);
    CHECK(d == 8192.0f);
    CHECK(ofp8_mma(OFP8_MODEL_TCGEN05, OFP8_E4M3, x, OFP8_E4M3, y, 127, 127, 0, &d) == OFP8_OK);
    CHECK(d == 8207.5f);
    CHECK(ofp8_mma(OFP8_MODEL_TCGEN05_MX, OFP8_E4M3, x, OFP8_E4M3, y, 128, 126, 1, &d) == OFP8_OK);
    CHECK(d == 8208.5f);
}

static void exact_sums(void)
{
    ofp8_exact_sum left, right;
    float result = 0;
    reset();
    memset(&left, 0, sizeof left);
    memset(&right, 0, sizeof right);
    CHECK(ofp8_accumulate_exact(&left, &vector, &vector) == OFP8_OK);
    world.a[0] |= 0x80; /* -1, squared */
    CHECK(ofp8_accumulate_exact(&right, &vector, &vector) == OFP8_OK);
    CHECK(memcmp(&left, &right, sizeof left) == 0);
    CHECK(ofp8_merge_exact(&left, &right) == OFP8_OK && ofp8_merge_exact(&left, &left) == OFP8_OK);
    CHECK(ofp8_exact_to_f32(&left, &result) == OFP8_OK && result == 4.0f * K);
}

static void gradients(void)
{
    reset();
    world.gradient.lost = world.gradient_lost;
    CHECK(ofp8_accumulate_gradient(&world.gradient, OFP8_F32, world.source, 0, 2.0f) == OFP8_OK);
    CHECK(ofp8_accumulate_gradient(&world.gradient, OFP8_F32, world.source, 0, 4.0f) == OFP8_OK);
    CHECK(world.gradient.count == 2 && world.gradient_sum[3] == 18.0f);
    memset(world.codes, ONE, sizeof world.codes);
    world.scales[0] = 6.0f;
    world.scales[1] = 12.0f;
    CHECK(ofp8_accumulate_gradient_codes(&world.other, &row, world.codes, 0, world.scales, M, NULL) ==
          OFP8_OK);
    CHECK(ofp8_merge_gradient(&world.gradient, &world.other) == OFP8_OK);
    CHECK(world.gradient.count == 3 && world.gradient_sum[3] == 30.0f);
    CHECK(ofp8_average_gradient(&world.gradient) == OFP8_OK);
    CHECK(world.gradient.count == 1 && world.gradient_sum[3] == 10.0f);
    /* A count that is full stays so. */
    world.other.count = UINT64_MAX - 1;
    for (int i = 0; i < 2; ++i) {
        CHECK(ofp8_accumulate_gradient(&world.other, OFP8_F32, world.source, 0, 0.0f) == OFP8_OK);
        CHECK(world.other.count == UINT64_MAX);
    }
    CHECK(ofp8_quantize_gradient(&world.gradient, &row, NULL, world.codes, 0, world.scales, M, NULL,
                                 &world.stats) == OFP8_OK);
    CHECK(world.codes[2] == 0x7E && world.codes[5] == 0x7E && world.stats.count == M * N);
}

static void bad_operands(void)
{
    const ofp8_status shape = OFP8_SHAPE, recipe = OFP8_RECIPE, null = OFP8_NULL_POINTER;
    reset();
#define GEMM ofp8_gemm(&a, &b, &order, world.c, 0)
    REFUSED(null, ofp8_gemm(NULL, &b, &order, world.c, 0));
    REFUSED(null, ofp8_gemm(&a, NULL, &order, world.c, 0));
    REFUSED(null, ofp8_gemm(&a, &b, &order, NULL, 0));
    REFUSED(OFP8_MISALIGNED, ofp8_gemm(&a, &b, &order, odd(world.c), 0));
    REFUSED(shape, ofp8_gemm(&a, &b, &order, world.c, N - 1));
    REFUSED(OFP8_OVERLAP, ofp8_gemm(&a, &b, &order, (float *)(void *)world.a, 0));
    REFUSED(shape, (a.cols = K - 1, GEMM));
    REFUSED(shape, (a.stride = K - 1, GEMM));
    REFUSED(shape, (a.rows = (size_t)-1, GEMM));
    REFUSED(null, (a.codes = NULL, GEMM));
    REFUSED(OFP8_UNKNOWN_FORMAT, (a.format = 0, GEMM));
    REFUSED(OFP8_UNKNOWN_FORMAT, (a.format = 99, GEMM));
    REFUSED(recipe, (a.format = OFP8_E8M0, GEMM));
    REFUSED(OFP8_UNKNOWN_POLICY, (a.is_transposed = 2, GEMM));
    REFUSED(OFP8_STRUCT_SIZE, (a.struct_size = 3, GEMM));
    REFUSED(recipe, (a.scales = world.a_scales, GEMM));
    REFUSED(recipe, (a.scale_count = 1, GEMM));
    REFUSED(recipe, (with_scales(), a.format = OFP8_E5M2, GEMM));
    REFUSED(null, (with_scales(), a.scales = NULL, GEMM));
    REFUSED(OFP8_LENGTH, (with_scales(), a.scale_count -= 1, GEMM));
    REFUSED(recipe, (with_scales(), a.tensor_scale = world.scales, GEMM));
    REFUSED(null, (with_scales(), mx.scaling = OFP8_SCALING_TWO_LEVEL,
                   mx.block_scale = OFP8_UE4M3, GEMM));
    REFUSED(OFP8_OVERLAP,
            (with_scales(), row.block_rows = 1, a.recipe = &row, a.scales = world.c, a.scale_count = M,
             GEMM));
}

static void bad_orders(void)
{
    const ofp8_status unknown = OFP8_UNKNOWN_POLICY;
    float *result = world.c;
    reset();
#define DOT ofp8_dot(&vector, &vector, &order, result)
    REFUSED(unknown, (order.kind = 3, DOT));
    REFUSED(unknown, (order.model = 1, DOT));
    REFUSED(unknown, (order.kind = OFP8_ORDER_EXACT, order.promotion = 128, DOT));
    REFUSED(unknown, (order.kind = OFP8_ORDER_TENSOR_CORE, DOT));
    REFUSED(unknown, (order.kind = OFP8_ORDER_TENSOR_CORE, order.model = 99, DOT));
    REFUSED(unknown, (order.reserved = 1, DOT));
    REFUSED(OFP8_STRUCT_SIZE, (order.struct_size = 1, DOT));
#define MODEL(number) order.kind = OFP8_ORDER_TENSOR_CORE, order.model = (number)
    REFUSED(unknown, (MODEL(1), order.promotion = 33, DOT));
    REFUSED(unknown, (MODEL(1), order.promotion = 31, DOT));
    REFUSED(OFP8_RECIPE, (MODEL(1), vector.format = OFP8_E2M1, DOT));
    REFUSED(OFP8_RECIPE, (MODEL(8), vector.recipe = &row, vector.scales = world.scales,
                          vector.scale_count = 1, DOT));
    REFUSED(OFP8_SHAPE, ofp8_dot(&a, &vector, &order, result));
    REFUSED(OFP8_NULL_POINTER, ofp8_dot(&vector, &vector, &order, NULL));
    REFUSED(OFP8_MISALIGNED, ofp8_dot(&vector, &vector, &order, odd(result)));
    REFUSED(OFP8_OVERLAP, ofp8_dot(&vector, &vector, &order, (float *)(void *)world.a));
}

static void bad_targets(void)
{
    float *workspace = world.workspace;
    uint8_t *codes = world.codes;
    float *scales = world.scales;
    reset();
#define QUANTIZED(workspace, len, codes, stride, scales, count, tensor)                            \
    ofp8_gemm_quantized(&a, &b, &order, &row, NULL, workspace, len, codes, stride, scales, count,  \
                        tensor, &world.stats)
    REFUSED(OFP8_LENGTH, QUANTIZED(workspace, N - 1, codes, 0, scales, M, NULL));
    REFUSED(OFP8_NULL_POINTER, QUANTIZED(NULL, N, codes, 0, scales, M, NULL));
    REFUSED(OFP8_NULL_POINTER, QUANTIZED(workspace, N, NULL, 0, scales, M, NULL));
    REFUSED(OFP8_NULL_POINTER, QUANTIZED(workspace, N, codes, 0, NULL, M, NULL));
    REFUSED(OFP8_MISALIGNED, QUANTIZED(odd(workspace), N, codes, 0, scales, M, NULL));
    REFUSED(OFP8_SHAPE, QUANTIZED(workspace, N, codes, N - 1, scales, M, NULL));
    REFUSED(OFP8_LENGTH, QUANTIZED(workspace, N, codes, 0, scales, M - 1, NULL));
    REFUSED(OFP8_RECIPE, QUANTIZED(workspace, N, codes, 0, scales, M, world.source));
    REFUSED(OFP8_OVERLAP, QUANTIZED(workspace, N, (uint8_t *)workspace, 0, scales, M, NULL));
    REFUSED(OFP8_OVERLAP, QUANTIZED(workspace, N, world.b, 0, scales, M, NULL));
    REFUSED(OFP8_RANDOM_BITS, (row.cast.rounding = OFP8_STOCHASTIC_A, row.cast.random_bits = 16,
                               QUANTIZED(workspace, N, codes, 0, scales, M, NULL)));
    REFUSED(OFP8_UNKNOWN_POLICY,
            (row.scaling = 99, QUANTIZED(workspace, N, codes, 0, scales, M, NULL)));
}

static void bad_instructions_and_sums(void)
{
    const uint32_t e4m3 = OFP8_E4M3;
    reset();
#define MMA(model, format, x, y, scale, d) ofp8_mma(model, format, x, e4m3, y, scale, 127, 0, d)
    REFUSED(OFP8_UNKNOWN_POLICY, MMA(0, e4m3, world.a, world.b, 127, world.c));
    REFUSED(OFP8_UNKNOWN_FORMAT, MMA(1, 0, world.a, world.b, 127, world.c));
    REFUSED(OFP8_RECIPE, MMA(1, OFP8_E2M1, world.a, world.b, 127, world.c));
    REFUSED(OFP8_RECIPE, MMA(1, e4m3, world.a, world.b, 128, world.c));
    REFUSED(OFP8_NULL_POINTER, MMA(1, e4m3, NULL, world.b, 127, world.c));
    REFUSED(OFP8_NULL_POINTER, MMA(1, e4m3, world.a, NULL, 127, world.c));
    REFUSED(OFP8_NULL_POINTER, MMA(1, e4m3, world.a, world.b, 127, NULL));
    REFUSED(OFP8_MISALIGNED, MMA(1, e4m3, world.a, world.b, 127, odd(world.c)));
    REFUSED(OFP8_OVERLAP, MMA(1, e4m3, world.a, world.b, 127, (float *)(void *)world.a));
    REFUSED(OFP8_NULL_POINTER, ofp8_accumulate_exact(NULL, &vector, &vector));
    REFUSED(OFP8_SHAPE, ofp8_accumulate_exact(&world.sum, &a, &vector));
    world.scales[0] = before.scales[0] = 3.0f;
    REFUSED(OFP8_SCALE, (vector.recipe = &row, vector.scales = world.scales, vector.scale_count = 1,
                         ofp8_accumulate_exact(&world.sum, &vector, &vector)));
    REFUSED(OFP8_NULL_POINTER, ofp8_merge_exact(NULL, &world.sum));
    REFUSED(OFP8_NULL_POINTER, ofp8_merge_exact(&world.sum, NULL));
    REFUSED(OFP8_NULL_POINTER, ofp8_exact_to_f32(NULL, world.c));
    REFUSED(OFP8_NULL_POINTER, ofp8_exact_to_f32(&world.sum, NULL));
    REFUSED(OFP8_MISALIGNED, ofp8_exact_to_f32(&world.sum, odd(world.c)));
    REFUSED(OFP8_OVERLAP, ofp8_exact_to_f32(&world.sum, (float *)(void *)world.sum.words));
}

static void bad_gradients(void)
{
    ofp8_gradient *const gradient = &world.gradient;
    reset();
#define SET(member, value) world.gradient.member = before.gradient.member = (value)
#define ADD ofp8_accumulate_gradient(gradient, OFP8_F32, world.source, 0, 1.0f)
    REFUSED(OFP8_NULL_POINTER, ofp8_accumulate_gradient(NULL, OFP8_F32, world.source, 0, 1.0f));
    REFUSED(OFP8_NULL_POINTER, ofp8_accumulate_gradient(gradient, OFP8_F32, NULL, 0, 1.0f));
    REFUSED(OFP8_UNKNOWN_TYPE, ofp8_accumulate_gradient(gradient, OFP8_F64, world.source, 0, 1.0f));
    REFUSED(OFP8_UNKNOWN_TYPE, ofp8_accumulate_gradient(gradient, 0, world.source, 0, 1.0f));
    REFUSED(OFP8_SHAPE, ofp8_accumulate_gradient(gradient, OFP8_F32, world.source, N - 1, 1.0f));
    REFUSED(OFP8_OVERLAP, ofp8_accumulate_gradient(gradient, OFP8_F32, world.gradient_sum, 0, 1.0f));
    REFUSED(OFP8_MISALIGNED, ofp8_accumulate_gradient(gradient, OFP8_F32, odd(world.c), 0, 1.0f));
    REFUSED(OFP8_NULL_POINTER, (SET(sum, NULL), ADD));
    REFUSED(OFP8_OVERLAP, (SET(lost, world.gradient_sum), ADD));
    REFUSED(OFP8_STRUCT_SIZE, (SET(struct_size, sizeof(size_t)), ADD));
    REFUSED(OFP8_SHAPE, (SET(rows, (size_t)-1), ADD));
    REFUSED(OFP8_NULL_POINTER, ofp8_merge_gradient(gradient, NULL));
    REFUSED(OFP8_OVERLAP, ofp8_merge_gradient(gradient, gradient));
    REFUSED(OFP8_OVERLAP, (SET(sum, world.other_sum), ofp8_merge_gradient(gradient, &world.other)));
    REFUSED(OFP8_SHAPE, (SET(cols, N - 1), ofp8_merge_gradient(gradient, &world.other)));
    REFUSED(OFP8_NULL_POINTER, ofp8_average_gradient(NULL));
#define CODES(codes, stride, scales, count, tensor)                                                \
    ofp8_accumulate_gradient_codes(gradient, &row, codes, stride, scales, count, tensor)
    REFUSED(OFP8_NULL_POINTER, CODES(NULL, 0, world.scales, M, NULL));
    REFUSED(OFP8_NULL_POINTER, CODES(world.codes, 0, NULL, M, NULL));
    REFUSED(OFP8_SHAPE, CODES(world.codes, N - 1, world.scales, M, NULL));
    REFUSED(OFP8_LENGTH, CODES(world.codes, 0, world.scales, M - 1, NULL));
    REFUSED(OFP8_RECIPE, CODES(world.codes, 0, world.scales, M, world.scales));
    REFUSED(OFP8_OVERLAP, CODES((uint8_t *)world.gradient_sum, 0, world.scales, M, NULL));
#define QUANTIZE(codes, stride, scales, count, tensor)                                             \
    ofp8_quantize_gradient(gradient, &row, NULL, codes, stride, scales, count, tensor, NULL)
    REFUSED(OFP8_NULL_POINTER, QUANTIZE(NULL, 0, world.scales, M, NULL));
    REFUSED(OFP8_NULL_POINTER, QUANTIZE(world.codes, 0, NULL, M, NULL));
    REFUSED(OFP8_SHAPE, QUANTIZE(world.codes, N - 1, world.scales, M, NULL));
    REFUSED(OFP8_LENGTH, QUANTIZE(world.codes, 0, world.scales, M - 1, NULL));
    REFUSED(OFP8_OVERLAP, QUANTIZE((uint8_t *)world.gradient_sum, 0, world.scales, M, NULL));
    REFUSED(OFP8_OVERLAP, QUANTIZE((uint8_t *)world.scales, 0, world.scales, M, NULL));
}

int main(void)
{
    products();
    quantized();
    tensor_cores();
    exact_sums();
    gradients();
    bad_operands();
    bad_orders();
    bad_targets();
    bad_instructions_and_sums();
    bad_gradients();
    return finish("accumulate");
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The CUDA headers on a device against the library on the host: every helper of ofp8.cuh on sweeps of its input, every
// kernel through the C entry on odd shapes, strides, alignments and special values, and the time of each kernel.
//
//     device [--sweep BITS] [--times]
//
// --sweep BITS: 2^BITS inputs a helper (32: all f32; 20 by default). --times: kernels against a copy of the same bytes.
// cuda/tests/run.sh builds it with nvcc, once more with -use_fast_math, and runs it. Without a GPU it is built for the
// emulated device of emulator.hpp, where helpers take the software path and kernels are the same text.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "ofp8_cuda.h"
#include "ofp8_quantize.cuh"

namespace {

using namespace ofp8;

// ---------------------------------------------------------------------------------------------------------------------
// Memory of the device, and checks
// ---------------------------------------------------------------------------------------------------------------------

u64 checks = 0;
u64 failures = 0;

void require(bool holds, const std::string &what)
{
    checks += 1;
    if (!holds && failures++ < 30) {
        std::printf("FAILED: %s\n", what.c_str());
    }
}

#if defined(OFP8_EMULATED_DEVICE)
void *allocate(std::size_t bytes) { return std::aligned_alloc(256, (bytes + 255) / 256 * 256); }
void release(void *memory) { std::free(memory); }
void copy_to_device(void *to, const void *from, std::size_t bytes) { std::memcpy(to, from, bytes); }
void copy_to_host(void *to, const void *from, std::size_t bytes) { std::memcpy(to, from, bytes); }
std::string device_name() { return "emulated"; }
#else
void demand(cudaError_t error)
{
    if (error != cudaSuccess) {
        std::printf("FAILED: CUDA reports: %s\n", cudaGetErrorString(error));
        std::exit(2);
    }
}
void *allocate(std::size_t bytes)
{
    void *memory = nullptr;
    demand(cudaMalloc(&memory, bytes == 0 ? 1 : bytes));
    return memory;
}
void release(void *memory) { demand(cudaFree(memory)); }
void copy_to_device(void *to, const void *from, std::size_t bytes)
{
    demand(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
}
void copy_to_host(void *to, const void *from, std::size_t bytes)
{
    demand(cudaDeviceSynchronize());
    demand(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
}
std::string device_name()
{
    cudaDeviceProp properties{};
    demand(cudaGetDeviceProperties(&properties, 0));
    return std::string(properties.name) + " sm_" + std::to_string(properties.major * 10 + properties.minor);
}
#endif

// Bytes of the device: filled with a poison, so that what is not written shows.
class Bytes {
  public:
    static constexpr u8 POISON = 0xA5;

    explicit Bytes(std::size_t size) : size_(size), memory_(static_cast<u8 *>(allocate(size)))
    {
        const std::vector<u8> poison(size, POISON);
        copy_to_device(memory_, poison.data(), size);
    }
    explicit Bytes(const std::vector<u8> &bytes) : Bytes(bytes.size())
    {
        copy_to_device(memory_, bytes.data(), bytes.size());
    }
    ~Bytes() { release(memory_); }
    Bytes(const Bytes &) = delete;
    Bytes &operator=(const Bytes &) = delete;

    template <class T = u8> T *at(std::size_t offset = 0) { return reinterpret_cast<T *>(memory_ + offset); }
    std::vector<u8> read() const
    {
        std::vector<u8> bytes(size_);
        copy_to_host(bytes.data(), memory_, size_);
        return bytes;
    }
    template <class T> T read(std::size_t offset = 0) const
    {
        const std::vector<u8> bytes = read();
        T value;
        std::memcpy(&value, bytes.data() + offset, sizeof value);
        return value;
    }

  private:
    std::size_t size_;
    u8 *memory_;
};

// ---------------------------------------------------------------------------------------------------------------------
// Helpers: the same function object on the device and on the host
// ---------------------------------------------------------------------------------------------------------------------

OFP8_INLINE u32 scrambled(u32 i) { return (i ^ i >> 15) * 0x2C1B3C6Du + 0x9E3779B9u; }
OFP8_INLINE u64 both(float first, float second) { return bits_of(first) | u64{bits_of(second)} << 32; }

template <Format F> struct EncodeX1 {
    OFP8_INLINE u64 operator()(u32 i) const { return encode_x1<F>(float_of(i)); }
};
template <Format F> struct EncodeX2 {
    OFP8_INLINE u64 operator()(u32 i) const { return encode_x2<F>(float_of(scrambled(i)), float_of(i)); }
};
template <Format F> struct EncodeX4 {
    OFP8_INLINE u64 operator()(u32 i) const
    {
        return encode_x4<F>({float_of(i), float_of(~i), float_of(scrambled(i)), float_of(i << 16)});
    }
};
template <Format F> struct EncodeF16x2 {
    OFP8_INLINE u64 operator()(u32 i) const { return encode_f16x2<F>(i); }
};
template <Format F> struct EncodeBf16x2 {
    OFP8_INLINE u64 operator()(u32 i) const { return encode_bf16x2<F>(i); }
};
template <Format F> struct DecodeX1 {
    OFP8_INLINE u64 operator()(u32 i) const { return bits_of(decode_x1<F>(static_cast<u8>(i))); }
};
template <Format F> struct DecodeX2 {
    OFP8_INLINE u64 operator()(u32 i) const
    {
        const Pair<float> pair = decode_x2<F>(static_cast<u16>(i));
        return both(pair.first, pair.second);
    }
};
template <Format F> struct DecodeX4 {
    OFP8_INLINE u64 operator()(u32 i) const
    {
        float v[4];
        decode_x4<F>(i, v);
        return both(v[0], v[1]) ^ both(v[2], v[3]) * 0x9E3779B97F4A7C15u;
    }
};
template <Format F> struct DecodeHalves {
    OFP8_INLINE u64 operator()(u32 i) const
    {
        return decode_f16x2<F>(static_cast<u16>(i)) | u64{decode_bf16x2<F>(static_cast<u16>(i))} << 32;
    }
};
// Every rounding, saturation and NaN policy in turn.
template <Format F> struct EncodeCast {
    OFP8_INLINE u64 operator()(u32 i) const
    {
        const u32 choice = i % 54;
        const Rounding rounding = static_cast<Rounding>(choice % 9);
        const Cast cast = {rounding, static_cast<Saturation>(choice / 9 % 3), static_cast<NanPolicy>(choice / 27),
                           is_stochastic(rounding) ? i / 54 % 32 + 1 : 0};
        return encode<F>(float_of(scrambled(i)), cast, scrambled(~i));
    }
};
template <Format F> struct Stochastic {
    OFP8_INLINE u64 operator()(u32 i) const
    {
        return encode_stochastic_x4<F>({float_of(i), float_of(~i), float_of(scrambled(i)), float_of(i << 16)},
                                       scrambled(i + 1));
    }
};
struct E8m0 {
    OFP8_INLINE u64 operator()(u32 i) const
    {
        return encode_e8m0_x2(float_of(i), float_of(scrambled(i)), true) |
               encode_e8m0_x2(float_of(i), float_of(scrambled(i)), false) << 16;
    }
};
struct Fp4Packed {
    OFP8_INLINE u64 operator()(u32 i) const
    {
        return encode_fp4_packed_x4({float_of(i), float_of(~i), float_of(scrambled(i)), float_of(i << 16)});
    }
};
struct Halves {
    OFP8_INLINE u64 operator()(u32 i) const
    {
        const u16 half = static_cast<u16>(i);
        return narrow<F16>(float_of(i)).bits | u64{narrow<BF16>(float_of(i)).bits} << 16 |
               u64{bits_of(widen(F16{half})) ^ bits_of(widen(BF16{half})) >> 3} << 32;
    }
};
// Every scaling, rule and convention in turn, on every amax, and the operations that -ftz would spoil.
template <Format F> struct Scale {
    OFP8_INLINE u64 operator()(u32 i) const
    {
        Recipe recipe;
        recipe.scaling = static_cast<Scaling>(i % 3);
        recipe.convention = static_cast<Convention>(i / 3 % 3);
        recipe.rule = static_cast<ExponentRule>(i / 9 % 4);
        recipe.special = static_cast<Special>(i / 36 % 3);
        recipe.margin = static_cast<i32>(i / 108 % 5) - 2;
        const BlockScale scale = scale_from_amax<F>(recipe, merge_amax(amax_of(float_of(i)), 0));
        const float x = float_of(scrambled(i));
        return both(scale.dequantize, apply(scale.factor, is_poisoned(scale) ? 0.0f : x)) ^
               u64{quantize<F>(scale, x)} * 0x0101010101010101u;
    }
};
template <Format F> struct Dequantize {
    OFP8_INLINE u64 operator()(u32 i) const
    {
        const float scale = float_of(scrambled(i) & F32_ABS);
        return both(dequantize<F>(scale, static_cast<u8>(i)),
                    scale_decoded(scale, decode_x1<F>(static_cast<u8>(i >> 8))));
    }
};
// NaN aside, whose bits the arithmetic of a device does not keep.
struct Promote {
    OFP8_INLINE u64 operator()(u32 i) const
    {
        const float a = promote(float_of(i), float_of(scrambled(i)));
        const float b = promote_scaled(float_of(i), float_of(scrambled(i)), 0x1.8p-70f, 0x1.4p-60f);
        return both(a == a ? a : 0.0f, b == b ? b : 0.0f);
    }
};
struct Nvfp4 {
    OFP8_INLINE u64 operator()(u32 i) const
    {
        const float tensor = nvfp4_tensor_scale(amax_of(float_of(i)));
        const u8 code = nvfp4_block_code(tensor, amax_of(float_of(scrambled(i) & (i & F32_ABS))));
        const BlockScale scale = nvfp4_scale(tensor, code);
        const u32 factor = is_poisoned(scale) ? F32_NAN : bits_of(scale.factor.by);
        const u32 dequantize = is_poisoned(scale) ? F32_NAN : bits_of(scale.dequantize);
        return (dequantize | u64{factor} << 32) + code;
    }
};
struct RandomBits {
    OFP8_INLINE u64 operator()(u32 i) const
    {
        return random_bits(Philox{scrambled(i) * 0x9E3779B97F4A7C15u, i, 7}, u64{i} << 9);
    }
};

template <class Function> struct SweepArguments {
    u64 first;
    u64 count;
    u32 step;
    u64 *results;
};

template <class Function> __global__ void __launch_bounds__(256) sweep_kernel(const SweepArguments<Function> a)
{
    const u64 i = u64{blockIdx.x} * 256 + threadIdx.x;
    if (i < a.count) {
        a.results[i] = Function{}(static_cast<u32>((a.first + i) * a.step));
    }
}

u32 sweep_bits = 20;

// 2^min(sweep_bits, bits) inputs, spread over all of 2^bits.
template <class Function> void sweep(const char *name, u32 bits)
{
    const u32 used = std::min(sweep_bits, bits);
    const u64 total = u64{1} << used;
    const u64 piece = std::min(total, u64{1} << 24);
    // An odd step visits them all where all are asked for.
    const u32 step = used == bits ? 1 : (1u << (bits - used)) + 1;
    Bytes results(piece * 8);
    u64 different = 0, first_different = 0;
    for (u64 first = 0; first < total; first += piece) {
        const SweepArguments<Function> arguments = {first, piece, step, results.at<u64>()};
        kernel::launch(sweep_kernel<Function>, dim3(static_cast<u32>(divide_up(piece, 256))), 256, nullptr, arguments);
        const std::vector<u8> bytes = results.read();
        const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
        std::vector<u64> found(threads, ~u64{0});
        std::vector<u64> count(threads, 0);
        std::vector<std::thread> pool;
        for (unsigned t = 0; t < threads; ++t) {
            pool.emplace_back([&, t] {
                for (u64 i = piece * t / threads; i < piece * (t + 1) / threads; ++i) {
                    u64 result;
                    std::memcpy(&result, bytes.data() + i * 8, 8);
                    if (result != Function{}(static_cast<u32>((first + i) * step))) {
                        found[t] = std::min(found[t], first + i);
                        count[t] += 1;
                    }
                }
            });
        }
        for (unsigned t = 0; t < threads; ++t) {
            pool[t].join();
            first_different = different == 0 && count[t] != 0 ? found[t] : first_different;
            different += count[t];
        }
    }
    char what[160];
    std::snprintf(what, sizeof what, "%s: %llu of %llu inputs differ, the first is %#x", name, different,
                  total, static_cast<u32>(first_different * step));
    require(different == 0, what);
    std::printf("helper %-28s %12llu inputs %s\n", name, total, different == 0 ? "equal" : "DIFFERENT");
}

template <Format F> void sweep_format(const char *name)
{
    const auto named = [&](const char *what) { return std::string(what) + " " + name; };
    sweep<EncodeX1<F>>(named("encode_x1").c_str(), 32);
    sweep<EncodeX2<F>>(named("encode_x2").c_str(), 32);
    sweep<EncodeX4<F>>(named("encode_x4").c_str(), 32);
    sweep<EncodeF16x2<F>>(named("encode_f16x2").c_str(), 32);
    sweep<EncodeBf16x2<F>>(named("encode_bf16x2").c_str(), 32);
    sweep<EncodeCast<F>>(named("encode, any cast").c_str(), 32);
    sweep<DecodeX1<F>>(named("decode_x1").c_str(), 8);
    sweep<DecodeX2<F>>(named("decode_x2").c_str(), 16);
    sweep<DecodeX4<F>>(named("decode_x4").c_str(), 32);
    sweep<DecodeHalves<F>>(named("decode to halves").c_str(), 16);
    sweep<Dequantize<F>>(named("dequantize").c_str(), 32);
}

void helpers()
{
    sweep_format<Format::E4M3>("E4M3");
    sweep_format<Format::E5M2>("E5M2");
    sweep_format<Format::E2M1>("E2M1");
    sweep_format<Format::E2M3>("E2M3");
    sweep_format<Format::E3M2>("E3M2");
    sweep_format<Format::E8M0>("E8M0");
    sweep_format<Format::E4M3FNUZ>("E4M3Fnuz");
    sweep_format<Format::E5M2FNUZ>("E5M2Fnuz");
    sweep<Scale<Format::E4M3>>("scales E4M3", 32);
    sweep<Scale<Format::E5M2>>("scales E5M2", 32);
    sweep<Scale<Format::E2M1>>("scales E2M1", 32);
    sweep<Stochastic<Format::E4M3>>("encode_stochastic_x4 E4M3", 32);
    sweep<Stochastic<Format::E5M2>>("encode_stochastic_x4 E5M2", 32);
    sweep<E8m0>("encode_e8m0_x2", 32);
    sweep<Fp4Packed>("encode_fp4_packed_x4", 32);
    sweep<Halves>("narrow and widen", 32);
    sweep<Promote>("promote", 32);
    sweep<Nvfp4>("NVFP4 scales", 32);
    sweep<RandomBits>("random bits", 32);
}

// ---------------------------------------------------------------------------------------------------------------------
// Reductions, in blocks of every shape
// ---------------------------------------------------------------------------------------------------------------------

struct ReductionArguments {
    u32 *amaxes; // a thread
    Stats *stats;
};

// The number that a thread sees: the largest and the smallest in different warps.
OFP8_INLINE float seen_by(u32 thread) { return static_cast<float>(1 + thread * 61 % 127); }

__global__ void __launch_bounds__(256) reduction_kernel(const ReductionArguments a)
{
    __shared__ u32 shared[256 / WARP];
    const u32 thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const float value = seen_by(thread);
    ThreadStats seen;
    count_element<Format::E4M3>(seen, value, encode_x1<Format::E4M3>(value), false);
    a.amaxes[thread] = block_amax(amax_of(value), shared);
    merge_stats_atomic(a.stats, seen);
}

void reductions()
{
    const dim3 shapes[] = {{64, 1, 1}, {8, 8, 1}, {32, 4, 1}, {4, 4, 6}, {1, 1, 64}, {3, 32, 2}, {16, 16, 1}};
    for (const dim3 &shape : shapes) {
        const u32 threads = shape.x * shape.y * shape.z;
        float least = seen_by(0), largest = least;
        for (u32 thread = 0; thread < threads; ++thread) {
            least = std::min(least, seen_by(thread));
            largest = std::max(largest, seen_by(thread));
        }
        Stats expected;
        expected.count = threads;
        expected.amax = bits_of(largest);
        expected.min_nonzero = bits_of(least);
        // Statistics that begin with zeros are those of nothing, as to ofp8_merge_stats.
        Bytes amaxes(threads * 4), stats(std::vector<u8>(sizeof(Stats), 0));
        kernel::launch(reduction_kernel, dim3(1), shape, nullptr, ReductionArguments{amaxes.at<u32>(), stats.at<Stats>()});
        const std::string what = std::to_string(shape.x) + " x " + std::to_string(shape.y) + " x " + std::to_string(shape.z);
        const auto seen = stats.read<Stats>();
        require(std::memcmp(&seen, &expected, sizeof seen) == 0, "merge_stats_atomic of a block of " + what);
        const std::vector<u8> bytes = amaxes.read();
        for (u32 thread = 0; thread < threads; ++thread) {
            require(std::memcmp(bytes.data() + thread * 4, &expected.amax, 4) == 0, "block_amax of a block of " + what);
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Kernels, through the C entry, against the library
// ---------------------------------------------------------------------------------------------------------------------

// A matrix of wide values on both sides, at an offset of some elements from where allocations are aligned.
class Source {
  public:
    Source(u32 type, u64 rows, u64 cols, u64 gap, u64 offset, u64 seed, bool special)
        : rows(rows), cols(cols), stride(cols + gap), type_(type), offset_(offset * size()),
          host_(offset_ + rows * stride * size()), device_(fill(seed, special))
    {
    }

    std::size_t size() const { return type_ == OFP8_F32 ? 4 : 2; }
    const void *host() const { return host_.data() + offset_; }
    const void *device() { return device_.at(offset_); }
    // An element as f32.
    float operator()(u64 row, u64 col) const
    {
        const u8 *at = host_.data() + offset_ + (row * stride + col) * size();
        u32 bits = 0;
        std::memcpy(&bits, at, size());
        const u16 half = static_cast<u16>(bits);
        return type_ == OFP8_F32 ? float_of(bits) : type_ == OFP8_F16 ? f16_to_f32(half) : bf16_to_f32(half);
    }

    const u64 rows, cols, stride;

  private:
    // Values of a bell around zero, with blocks far larger, far smaller, of zeros, and with specials.
    const std::vector<u8> &fill(u64 seed, bool special)
    {
        u64 state = seed * 2 + 1;
        for (u64 i = 0; i < rows * stride; ++i) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const u32 random = static_cast<u32>(state >> 32);
            float value = static_cast<float>(static_cast<i32>(random)) * 0x1p-31f;
            const u32 region = static_cast<u32>((i / 64 * 0x9E3779B9u) >> 28 & 15);
            value = region == 0 ? 0.0f : region == 1 ? value * 0x1p14f : region == 2 ? value * 0x1p-20f : value;
            value = region == 3 && type_ != OFP8_F16 ? value * 0x1p-130f : value;
            if (special && random % 97 == 0) {
                value = float_of(F32_INFINITY | random << 31 | (random & 0x100) << 14);
            }
            u32 bits = bits_of(value);
            bits = type_ == OFP8_F16 ? f32_to_f16(value) : type_ == OFP8_BF16 ? f32_to_bf16(value) : bits;
            std::memcpy(host_.data() + offset_ + i * size(), &bits, size());
        }
        return host_;
    }

    u32 type_;
    std::size_t offset_;
    std::vector<u8> host_;
    Bytes device_;
};

struct Case {
    u32 element;
    u32 type;
    u64 rows, cols;
    u64 gap, code_gap; // elements, bytes
    u64 offset;        // elements, and bytes of the codes
    bool special;
    Cast cast;
    u32 scaling, kind;
    u32 policy; // Special

    std::string text(const char *what) const
    {
        char line[256];
        std::snprintf(line, sizeof line,
                      "%s: element %u, type %u, %llu x %llu, gaps %llu %llu, offset %llu, special %d policy %u, rounding %u saturation %u, scaling %u kind %u",
                      what, element, type, rows, cols, gap, code_gap, offset, special, policy,
                      static_cast<u32>(cast.rounding), static_cast<u32>(cast.saturation), scaling, kind);
        return line;
    }
    ofp8_shape shape() const
    {
        ofp8_shape shape{};
        shape.struct_size = sizeof shape;
        shape.rows = rows;
        shape.cols = cols;
        shape.stride = cols + gap;
        shape.code_stride = cols + code_gap;
        shape.wide_type = type;
        return shape;
    }
    ofp8_recipe recipe(u64 block_rows, u64 block_cols) const
    {
        ofp8_recipe recipe{};
        recipe.struct_size = sizeof recipe;
        recipe.element = element;
        recipe.block_rows = block_rows;
        recipe.block_cols = block_cols;
        recipe.scaling = scaling;
        (scaling == OFP8_SCALING_F32 ? recipe.convention : recipe.exponent_rule) = kind;
        recipe.special = policy;
        recipe.cast = {static_cast<u32>(cast.rounding), static_cast<u32>(cast.saturation), static_cast<u32>(cast.nan),
                       cast.random_bits};
        return recipe;
    }
};

const ofp8_philox ROW_RANDOM = {11, 1, 5};
const ofp8_philox COLUMN_RANDOM = {11, 2, 5};

// What the library makes of a matrix in blocks.
struct Expected {
    std::vector<u8> codes;
    std::vector<u8> scales; // as bytes, whatever their type
    u64 down, across;
    ofp8_stats stats;
};

std::size_t scale_size(u32 scaling) { return scaling == OFP8_SCALING_E8M0 ? 1 : 4; }

Expected expect(const Case &c, const Source &source, u64 block_rows, u64 block_cols, const ofp8_philox &random)
{
    const ofp8_recipe recipe = c.recipe(block_rows, block_cols);
    const ofp8_shape shape = c.shape();
    Expected e{};
    std::size_t down = 0, across = 0;
    require(ofp8_scale_grid(&recipe, c.rows, c.cols, &down, &across) == OFP8_OK, "the library gives the grid");
    e.down = down;
    e.across = across;
    e.codes.assign(c.rows * shape.code_stride, Bytes::POISON);
    e.scales.assign(down * across * scale_size(c.scaling), 0);
    std::vector<float> aligned(down * across); // for f32 scales
    void *scales = c.scaling == OFP8_SCALING_E8M0 ? static_cast<void *>(e.scales.data()) : aligned.data();
    const ofp8_status status = ofp8_quantize(&recipe, &shape, &random, source.host(), nullptr, e.codes.data(), scales,
                                             down * across, nullptr, &e.stats);
    require(status == OFP8_OK, c.text("the library quantizes"));
    if (c.scaling != OFP8_SCALING_E8M0) {
        std::memcpy(e.scales.data(), aligned.data(), e.scales.size());
    }
    return e;
}

// The scales of `e` in a order, padding included.
std::vector<u8> laid_out(const Expected &e, u32 scaling, ScaleOrder order, bool by_column)
{
    const std::size_t size = scale_size(scaling);
    const u64 rows = by_column ? e.across : e.down, cols = by_column ? e.down : e.across;
    const Place extent = layout_extent(order, rows, cols);
    std::vector<u8> bytes(extent.row * extent.col * size, 0);
    for (u64 i = 0; i < e.down; ++i) {
        for (u64 j = 0; j < e.across; ++j) {
            const u64 to = layout_offset(order, rows, cols, by_column ? Place{j, i} : Place{i, j});
            std::memcpy(bytes.data() + to * size, e.scales.data() + (i * e.across + j) * size, size);
        }
    }
    return bytes;
}

bool same_codes(const Case &c, const std::vector<u8> &device, const std::vector<u8> &expected)
{
    // The bytes before, between and after the rows stay as they were.
    std::vector<u8> all(device.size(), Bytes::POISON);
    const std::size_t row_bytes = c.cols, stride = c.cols + c.code_gap;
    for (u64 row = 0; row < c.rows; ++row) {
        std::memcpy(all.data() + c.offset + row * stride, expected.data() + row * stride, row_bytes);
    }
    return device == all;
}

// One copy on the device: codes, scales, statistics.
struct DeviceCopy {
    Bytes codes, scales, stats;
    ofp8_cuda_copy copy{};

    DeviceCopy(const Case &c, u64 scale_bytes, ScaleOrder order, const ofp8_philox &random)
        : codes(c.offset + c.rows * (c.cols + c.code_gap) + 32), scales(scale_bytes), stats(sizeof(ofp8_stats))
    {
        copy.struct_size = sizeof copy;
        copy.codes = codes.at(c.offset);
        copy.scales = scales.at();
        copy.order = static_cast<u32>(order);
        copy.random = random;
        copy.stats = stats.at<ofp8_stats>();
        require(ofp8_cuda_reset_stats(copy.stats, nullptr) == OFP8_OK, "reset");
    }
    void compare(const Case &c, const Expected &e, const std::vector<u8> &expected_scales, const char *what)
    {
        require(same_codes(c, codes.read(), e.codes), c.text((std::string(what) + " codes").c_str()));
        require(scales.read() == expected_scales, c.text((std::string(what) + " scales").c_str()));
        const auto seen = stats.read<ofp8_stats>();
        require(std::memcmp(&seen, &e.stats, sizeof seen) == 0, c.text((std::string(what) + " statistics").c_str()));
    }
};

void check_dequantize(const Case &c, u64 block_rows, u64 block_cols, const Expected &e, ScaleOrder order,
                      bool by_column)
{
    const ofp8_recipe recipe = c.recipe(block_rows, block_cols);
    const ofp8_shape shape = c.shape();
    const std::size_t size = c.type == OFP8_F32 ? 4 : 2;
    const std::size_t bytes = c.rows * (c.cols + c.gap) * size;
    std::vector<u8> expected(bytes, Bytes::POISON);
    std::vector<float> aligned(e.down * e.across);
    if (c.scaling != OFP8_SCALING_E8M0) {
        std::memcpy(aligned.data(), e.scales.data(), e.scales.size());
    }
    const void *host_scales =
        c.scaling == OFP8_SCALING_E8M0 ? static_cast<const void *>(e.scales.data()) : aligned.data();
    require(ofp8_dequantize(&recipe, &shape, e.codes.data(), host_scales, e.down * e.across, nullptr,
                            expected.data()) == OFP8_OK,
            c.text("the library dequantizes"));
    Bytes codes(e.codes), scales(laid_out(e, c.scaling, order, by_column)), target(bytes);
    require(ofp8_cuda_dequantize(&recipe, &shape, codes.at(), scales.at(), static_cast<u32>(order), target.at(),
                                 nullptr) == OFP8_OK,
            c.text("dequantize"));
    require(target.read() == expected, c.text("dequantized values"));
}

void check_mx(const Case &c, Source &source, ScaleOrder order, bool with_row, bool with_column)
{
    const Expected row = expect(c, source, 1, 32, ROW_RANDOM);
    const Expected column = expect(c, source, 32, 1, COLUMN_RANDOM);
    const bool by_column = order != ScaleOrder::RowMajor;
    const std::vector<u8> row_scales = laid_out(row, c.scaling, order, false);
    const std::vector<u8> column_scales = laid_out(column, c.scaling, order, by_column);
    DeviceCopy row_copy(c, row_scales.size(), order, ROW_RANDOM);
    DeviceCopy column_copy(c, column_scales.size(), order, COLUMN_RANDOM);
    const ofp8_recipe recipe = c.recipe(1, 32);
    const ofp8_shape shape = c.shape();
    require(ofp8_cuda_quantize(&recipe, &shape, source.device(), with_row ? &row_copy.copy : nullptr,
                               with_column ? &column_copy.copy : nullptr, nullptr, nullptr) == OFP8_OK,
            c.text("quantize MX"));
    if (with_row) {
        row_copy.compare(c, row, row_scales, "MX row");
        check_dequantize(c, 1, 32, row, order, false);
    }
    if (with_column) {
        column_copy.compare(c, column, column_scales, "MX column");
        check_dequantize(c, 32, 1, column, order, by_column);
    }
}

void check_blocks(const Case &c, Source &source, u64 block_rows, u64 block_cols, ScaleOrder order)
{
    const Expected e = expect(c, source, block_rows, block_cols, ROW_RANDOM);
    const std::vector<u8> scales = laid_out(e, c.scaling, order, false);
    DeviceCopy copy(c, scales.size(), order, ROW_RANDOM);
    ofp8_recipe recipe = c.recipe(block_rows, block_cols);
    // That the recipe names the order is as good as that the copy does.
    recipe.scale_order = copy.copy.order;
    copy.copy.order = 0;
    const ofp8_shape shape = c.shape();
    Bytes amax(4);
    require(ofp8_cuda_quantize(&recipe, &shape, source.device(), &copy.copy, nullptr,
                               block_rows == 0 ? amax.at<u32>() : nullptr, nullptr) == OFP8_OK,
            c.text("quantize blocks"));
    copy.compare(c, e, scales, block_rows == 0 ? "tensor" : block_rows == 1 ? "1x128" : "128x128");
    check_dequantize(c, block_rows, block_cols, e, order, false);
    if (block_rows == 0 && c.policy != OFP8_SPECIAL_IGNORE) {
        require(amax.read<u32>() == e.stats.amax, c.text("amax of a tensor"));
    }
}

void check_cast(const Case &c, Source &source)
{
    const float quantize_scale = 37.25f;
    Bytes scale(4), amax(std::vector<u8>(4, 0));
    copy_to_device(scale.at(), &quantize_scale, 4);
    DeviceCopy copy(c, 1, ScaleOrder::RowMajor, ROW_RANDOM);
    const ofp8_cast cast = c.recipe(0, 0).cast;
    const ofp8_shape shape = c.shape();
    require(ofp8_cuda_cast(c.element, &cast, &ROW_RANDOM, &shape, source.device(), scale.at<float>(), copy.copy.codes,
                           amax.at<u32>(), copy.copy.stats, nullptr) == OFP8_OK,
            c.text("cast"));
    std::vector<u8> expected(c.rows * shape.code_stride, Bytes::POISON);
    ofp8_stats stats{};
    Case tensor = c;
    tensor.scaling = OFP8_SCALING_F32;
    tensor.kind = 0;
    const ofp8_recipe recipe = tensor.recipe(0, 0);
    require(ofp8_quantize_given(&recipe, &shape, &ROW_RANDOM, source.host(), OFP8_GIVEN_QUANTIZE_SCALE, &quantize_scale,
                                1, nullptr, expected.data(), &stats) == OFP8_OK,
            c.text("the library casts"));
    require(same_codes(c, copy.codes.read(), expected), c.text("cast codes"));
    const auto seen = copy.stats.read<ofp8_stats>();
    require(std::memcmp(&seen, &stats, sizeof seen) == 0, c.text("cast statistics"));
    require(amax.read<u32>() == stats.amax, c.text("cast amax"));
}

void check_amax(const Case &c, Source &source)
{
    u32 expected = 0, finite = 0;
    for (u64 row = 0; row < c.rows; ++row) {
        for (u64 col = 0; col < c.cols; ++col) {
            const u32 one = amax_of(source(row, col));
            expected = merge_amax(expected, one);
            finite = merge_amax(finite, amax_is_finite(one) ? one : 0);
        }
    }
    const ofp8_shape shape = c.shape();
    Bytes amax(std::vector<u8>(8, 0));
    require(ofp8_cuda_amax(&shape, source.device(), OFP8_SPECIAL_POISON, amax.at<u32>(), nullptr) == OFP8_OK, "amax");
    require(ofp8_cuda_amax(&shape, source.device(), OFP8_SPECIAL_IGNORE, amax.at<u32>(4), nullptr) == OFP8_OK, "amax");
    require(amax.read<u32>() == expected, c.text("amax"));
    require(amax.read<u32>(4) == finite, c.text("amax of the finite"));
}

// With the amax of all elements given, or that of the blocks that are finite, as the library finds it by itself.
void check_nvfp4(const Case &c, Source &source, ScaleOrder order, bool is_given)
{
    ofp8_shape shape = c.shape();
    shape.code_stride = c.cols; // the library's codes: one a byte
    ofp8_recipe recipe{};
    recipe.struct_size = sizeof recipe;
    recipe.block_rows = 1;
    recipe.block_cols = 16;
    recipe.element = OFP8_E2M1;
    recipe.scaling = OFP8_SCALING_TWO_LEVEL;
    recipe.block_scale = OFP8_UE4M3;
    recipe.has_tensor_amax = is_given ? 1 : 0;
    for (u64 row = 0; is_given && row < c.rows; ++row) {
        for (u64 col = 0; col < c.cols; ++col) {
            recipe.tensor_amax = merge_amax(recipe.tensor_amax, amax_of(source(row, col)));
        }
    }
    const u64 across = divide_up(c.cols, 16);
    std::vector<u8> one_a_byte(c.rows * c.cols), compact(c.rows * across);
    float tensor_scale = 0;
    require(ofp8_quantize(&recipe, &shape, nullptr, source.host(), nullptr, one_a_byte.data(), compact.data(),
                          compact.size(), &tensor_scale, nullptr) == OFP8_OK,
            c.text("the library quantizes to NVFP4"));

    const u64 stride = (c.cols + 1) / 2 + c.code_gap;
    const Place extent = layout_extent(order, c.rows, across);
    std::vector<u8> codes(c.offset + c.rows * stride + 16, Bytes::POISON);
    std::vector<u8> scales(extent.row * extent.col, 0);
    for (u64 row = 0; row < c.rows; ++row) {
        for (u64 block = 0; block < across; ++block) {
            scales[layout_offset(order, c.rows, across, Place{row, block})] = compact[row * across + block];
        }
        for (u64 col = 0; col < c.cols; col += 2) {
            const u8 *pair = one_a_byte.data() + row * c.cols + col;
            codes[c.offset + row * stride + col / 2] = pack_fp4(pair[0], col + 1 < c.cols ? pair[1] : u8{0});
        }
    }
    Bytes amax(4), device_codes(codes.size()), device_scales(scales.size()), dequantize(4);
    copy_to_device(amax.at(), &recipe.tensor_amax, 4);
    require(is_given || ofp8_cuda_amax_nvfp4(&shape, source.device(), amax.at<u32>(), nullptr) == OFP8_OK,
            c.text("amax for NVFP4"));
    shape.code_stride = stride;
    require(ofp8_cuda_quantize_nvfp4(&shape, source.device(), amax.at<u32>(), device_codes.at(c.offset),
                                     device_scales.at(), static_cast<u32>(order), dequantize.at<float>(),
                                     nullptr) == OFP8_OK,
            c.text("quantize NVFP4"));
    require(device_codes.read() == codes, c.text("NVFP4 codes"));
    require(device_scales.read() == scales, c.text("NVFP4 scales"));
    const float scale = float_of(dequantize.read<u32>());
    require(bits_of(scale) == bits_of(tensor_scale) || (scale != scale && tensor_scale != tensor_scale),
            c.text("NVFP4 tensor scale"));

    const std::size_t bytes = c.rows * shape.stride * source.size();
    std::vector<u8> values(bytes, Bytes::POISON);
    Bytes target(bytes);
    require(ofp8_cuda_dequantize_nvfp4(&shape, device_codes.at(c.offset), device_scales.at(), static_cast<u32>(order),
                                       dequantize.at<float>(), target.at(), nullptr) == OFP8_OK,
            c.text("dequantize NVFP4"));
    shape.code_stride = c.cols;
    require(ofp8_dequantize(&recipe, &shape, one_a_byte.data(), compact.data(), compact.size(), &tensor_scale,
                            values.data()) == OFP8_OK,
            c.text("the library dequantizes NVFP4"));
    require(target.read() == values, c.text("dequantized NVFP4"));
}

// A run of 30 steps of delayed scaling beside the library's, with steps in which tensors do not run or see specials.
void check_update_scales()
{
    const u64 tensors = 300;
    for (u32 choice = 0; choice < 12; ++choice) {
        ofp8_delayed rules{};
        rules.struct_size = sizeof rules;
        rules.history = choice % 4 == 0 ? 1 : choice % 4 == 1 ? 2 : 7;
        rules.algorithm = choice % 2;
        rules.non_finite = choice % 3;
        Case c = {choice < 6 ? OFP8_E4M3 : OFP8_E5M2, OFP8_F32, 1, 1, 0, 0, 0, false, {}, choice / 2 % 2, 0, 0};
        ofp8_recipe recipe = c.recipe(0, 0);
        recipe.margin = static_cast<i32>(choice) - 5;
        std::size_t size = 0;
        require(ofp8_delayed_size(&rules, tensors, &size) == OFP8_OK, "the size of a state");
        std::vector<u32> state(size / 4);
        require(ofp8_delayed_init(&rules, tensors, state.data(), size) == OFP8_OK, "a state");
        const std::size_t header = 8;
        const auto words = [&] {
            const auto *begin = reinterpret_cast<const u8 *>(state.data() + header);
            return std::vector<u8>(begin, begin + size - header * 4);
        };
        Bytes device(words()), quantize(tensors * 4), dequantize(tensors * 4);
        for (u32 step = 0; step < 30; ++step) {
            for (u32 t = 0; t < tensors; ++t) {
                const u32 random = scrambled(scrambled(choice * 100 + step) + t);
                const u32 kind = random >> 28;
                const u32 amax = kind == 0 ? 0 : kind == 1 ? F32_INFINITY : kind == 2 ? F32_NAN : random >> 2;
                require(ofp8_delayed_record(&rules, state.data(), size, t, amax) == OFP8_OK, "a record");
            }
            copy_to_device(device.at(), state.data() + header, tensors * 4);
            require(ofp8_delayed_update(&rules, state.data(), size) == OFP8_OK, "an update");
            require(ofp8_cuda_update_scales(&rules, &recipe, device.at<u32>(), tensors, quantize.at<float>(),
                                            dequantize.at<float>(), nullptr) == OFP8_OK,
                    "update scales");
            require(device.read() == words(), "update scales: the state, choice " + std::to_string(choice));
            const std::vector<u8> scales = dequantize.read(), factors = quantize.read();
            for (u32 t = 0; t < tensors; ++t) {
                u32 amax = 0, bits = 0, factor = 0;
                float scale = 0;
                require(ofp8_delayed_amax(&rules, state.data(), size, t, &amax) == OFP8_OK, "the amax in use");
                require(ofp8_scale_from_amax(&recipe, amax, &scale, nullptr) == OFP8_OK, "its scale");
                std::memcpy(&bits, scales.data() + t * 4, 4);
                std::memcpy(&factor, factors.data() + t * 4, 4);
                const bool both_nan = scale != scale && (bits & F32_ABS) > F32_INFINITY;
                require(bits == bits_of(scale) || both_nan, "update scales: a scale, choice " + std::to_string(choice));
                const float one = float_of(factor) * scale;
                require(both_nan || (one > 0.999f && one < 1.001f), "update scales: the factor is its inverse");
            }
        }
    }
}

std::vector<Case> cases(u32 type, u32 element)
{
    const Cast standard = {};
    const Cast others[] = {{Rounding::StochasticA, Saturation::Finite, NanPolicy::Canonical, 16},
                           {Rounding::TowardNegative, Saturation::None, NanPolicy::KeepSign, 0},
                           {Rounding::StochasticC, Saturation::Propagate, NanPolicy::KeepSign, 5}};
    const u64 shapes[][2] = {{1, 1}, {1, 31}, {3, 33}, {32, 128}, {37, 129}, {130, 257}, {200, 288}, {64, 1100}};
    std::vector<Case> all;
    u32 n = 0;
    for (const auto &shape : shapes) {
        for (u32 i = 0; i < 4; ++i, ++n) {
            Case c = {element, type, shape[0], shape[1], i % 2 * 3, i % 2 * 5, i == 3 ? 1u : 0u, i >= 2, standard, 0, 0, n % 3};
            c.cast = i == 1 || i == 3 ? others[n / 2 % 3] : standard;
            all.push_back(c);
        }
    }
    return all;
}

template <Format F> void kernels(u32 type)
{
    u32 n = 0;
    for (Case c : cases(type, static_cast<u32>(F))) {
        Source source(c.type, c.rows, c.cols, c.gap, c.offset, n + 1, c.special);
        check_amax(c, source);
        check_cast(c, source);
        check_nvfp4(c, source, n % 2 == 0 ? ScaleOrder::RowMajor : ScaleOrder::Tile128x4, true);
        check_nvfp4(c, source, n % 2 == 0 ? ScaleOrder::RowMajor : ScaleOrder::Tile128x4, false);
        c.scaling = OFP8_SCALING_E8M0;
        c.kind = n % 5;
        check_mx(c, source, n % 2 == 0 ? ScaleOrder::Tile128x4 : ScaleOrder::RowMajor, n % 3 != 1, n % 3 != 0);
        check_blocks(c, source, 1, 128, n % 2 == 0 ? ScaleOrder::PackedWords : ScaleOrder::Gfx950);
        for (u32 scaling : {OFP8_SCALING_F32, OFP8_SCALING_POWER_OF_TWO}) {
            c.scaling = scaling;
            c.kind = n % (scaling == OFP8_SCALING_F32 ? 3 : 5);
            check_blocks(c, source, 0, 0, ScaleOrder::RowMajor);
            check_blocks(c, source, 1, 128, n % 2 == 0 ? ScaleOrder::MnMajorPadded : ScaleOrder::RowMajor);
            check_blocks(c, source, 128, 128, n % 2 == 0 ? ScaleOrder::RowMajorPadded : ScaleOrder::RowMajor);
        }
        n += 1;
    }
    std::printf("kernels of element %u, type %u: %llu checks so far\n", static_cast<u32>(F), type, checks);
}

// MXFP6 and MXFP4: what is an element of MX alone.
void narrow_kernels(u32 type)
{
    u32 n = 0;
    for (const u32 element : {OFP8_E2M3, OFP8_E3M2, OFP8_E2M1}) {
        for (Case c : cases(type, element)) {
            Source source(c.type, c.rows, c.cols, c.gap, c.offset, n + 1, c.special);
            c.scaling = OFP8_SCALING_E8M0;
            c.kind = n % 5;
            check_mx(c, source, n % 2 == 0 ? ScaleOrder::Tile128x4 : ScaleOrder::RowMajor, n % 3 != 1, n % 3 != 0);
            n += 1;
        }
    }
}

// How large a matrix may be, and what is refused in C++: nothing here reaches a kernel.
void check_limits()
{
    Case c = {OFP8_E4M3, OFP8_F32, 1, 1, 0, 0, 0, false, {}, OFP8_SCALING_F32, 0, 0};
    Bytes memory(256);
    const auto *codes = memory.at();
    const u64 lines = u64{1} << 30, elements = u64{1} << 41;
    const auto dequantize = [&](u64 block, u64 rows, u64 cols) {
        c.rows = rows;
        c.cols = cols;
        const ofp8_recipe recipe = c.recipe(block, block);
        const ofp8_shape shape = c.shape();
        return ofp8_cuda_dequantize(&recipe, &shape, codes, memory.at<float>(), 0, memory.at() + 128, nullptr);
    };
    require(dequantize(128, lines + 1, 1) == OFP8_SHAPE, "too many rows for a scale a block");
    require(dequantize(128, 1, lines + 1) == OFP8_SHAPE, "too many columns for a scale a block");
    require(dequantize(128, lines, 2049) == OFP8_SHAPE, "too many elements for a scale a block");
    require(dequantize(0, 1, elements + 1) == OFP8_SHAPE, "too many elements for one scale");
    require(dequantize(0, elements + 1, 1) == OFP8_SHAPE, "too many rows for one scale");
    const auto fits = [](u64 rows, u64 cols) {
        return std::pair{!kernel::is_too_large({rows, cols, cols, cols}),
                         !kernel::is_too_large_for_blocks({rows, cols, cols, cols})};
    };
    require(fits(lines, 2048) == std::pair{true, true} && fits(1, lines) == std::pair{true, true}, "the largest sizes");
    require(fits(2 * lines, 1) == std::pair{true, false} && fits(1, elements) == std::pair{true, false}, "and others");
    // As many blocks as a grid may have, in every layout.
    for (const Place &size : {Place{1, lines}, Place{lines, 1}, Place{lines, 2048}, Place{2048, lines}}) {
        const Place extent = layout_extent(ScaleOrder::Tile128x4, divide_up(size.row, 128), divide_up(size.col, 128));
        require(extent.row * extent.col < u64{1} << 31, "the blocks of a grid");
    }

    Recipe recipe;
    const Shape one = {1, 1, 1, 1};
    const auto quantize = [&] {
        return launch_quantize_1x128<Format::E4M3>(memory.at<float>(), one, recipe,
                                                   {memory.at(64), {memory.at(128), ScaleOrder::RowMajor}, {}, nullptr},
                                                   nullptr);
    };
    recipe.rule = ExponentRule::LeastError;
    require(quantize() == cudaErrorInvalidValue, "LeastError in C++");
    recipe.rule = ExponentRule::RoundUp;
    recipe.scaling = Scaling::TwoLevel;
    require(quantize() == cudaErrorInvalidValue, "TwoLevel in C++");
    recipe.scaling = Scaling::F32;
    for (u32 bits : {0u, 17u}) {
        recipe.cast = {Rounding::StochasticA, Saturation::Finite, NanPolicy::Canonical, bits};
        require(quantize() == cudaErrorInvalidValue, "random bits outside 1 to 16 in C++");
        require(launch_cast<Format::E4M3>(memory.at<float>(), one, memory.at(64), nullptr, recipe.cast, {}, nullptr,
                                          nullptr, nullptr) == cudaErrorInvalidValue,
                "and in a cast");
    }
    const std::vector<u8> bytes = memory.read();
    require(std::all_of(bytes.begin(), bytes.end(), [](u8 b) { return b == Bytes::POISON; }), "nothing was written");
}

// Matrices without elements give what they give on the host.
void check_empty()
{
    const Cast standard = {};
    for (const Place &size : {Place{0, 64}, Place{64, 0}, Place{0, 0}}) {
        Case c = {OFP8_E4M3, OFP8_F32, size.row, size.col, 0, 0, 0, false, standard, OFP8_SCALING_E8M0, 0, 0};
        Source source(c.type, c.rows, c.cols, 0, 0, 1, false);
        check_amax(c, source);
        check_nvfp4(c, source, ScaleOrder::RowMajor, true);
        check_nvfp4(c, source, ScaleOrder::Tile128x4, false);
        check_mx(c, source, ScaleOrder::RowMajor, true, true);
        c.scaling = OFP8_SCALING_F32;
        check_blocks(c, source, 0, 0, ScaleOrder::RowMajor);
        check_blocks(c, source, 128, 128, ScaleOrder::RowMajor);
    }
}

// Arguments that must be turned away, and what the statuses are.
void check_statuses()
{
    Case c = {OFP8_E4M3, OFP8_F32, 4, 64, 0, 0, 0, false, {}, OFP8_SCALING_E8M0, 0, 0};
    Source source(c.type, c.rows, c.cols, 0, 0, 1, false);
    DeviceCopy copy(c, 8, ScaleOrder::RowMajor, ROW_RANDOM);
    const ofp8_recipe good = c.recipe(1, 32);
    const ofp8_shape shape = c.shape();
    const auto quantize = [&](const ofp8_recipe &recipe, const ofp8_shape &of, const void *from, ofp8_cuda_copy to) {
        return ofp8_cuda_quantize(&recipe, &of, from, &to, nullptr, nullptr, nullptr);
    };
    require(quantize(good, shape, nullptr, copy.copy) == OFP8_NULL_POINTER, "a null source");
    ofp8_recipe recipe = good;
    recipe.block_cols = 48;
    require(quantize(recipe, shape, source.device(), copy.copy) == OFP8_RECIPE, "a block without a kernel");
    recipe = good;
    recipe.element = OFP8_E4M3FNUZ;
    require(quantize(recipe, shape, source.device(), copy.copy) == OFP8_UNKNOWN_FORMAT, "an element without a kernel");
    recipe = good;
    recipe.scaling = 77;
    require(quantize(recipe, shape, source.device(), copy.copy) == OFP8_UNKNOWN_POLICY, "no such scaling");
    recipe = good;
    recipe.cast = {OFP8_STOCHASTIC_A, 0, 0, 17};
    require(quantize(recipe, shape, source.device(), copy.copy) == OFP8_RANDOM_BITS, "17 random bits");
    ofp8_shape bad = shape;
    bad.wide_type = OFP8_F64;
    require(quantize(good, bad, source.device(), copy.copy) == OFP8_UNKNOWN_TYPE, "f64");
    bad = shape;
    bad.stride = 63;
    require(quantize(good, bad, source.device(), copy.copy) == OFP8_SHAPE, "a short stride");
    bad = shape;
    bad.struct_size = 4;
    require(quantize(good, bad, source.device(), copy.copy) == OFP8_STRUCT_SIZE, "a short structure");
    bad = shape;
    bad.rows = ~std::size_t{0} / 2;
    require(quantize(good, bad, source.device(), copy.copy) == OFP8_SHAPE, "a size that overflows");
    const void *odd = static_cast<const u8 *>(source.device()) + 1;
    require(quantize(good, shape, odd, copy.copy) == OFP8_MISALIGNED, "an odd address");
    ofp8_cuda_copy to = copy.copy;
    to.order = 99;
    require(quantize(good, shape, source.device(), to) == OFP8_UNKNOWN_POLICY, "no such layout");
    to = copy.copy;
    to.scales = nullptr;
    require(quantize(good, shape, source.device(), to) == OFP8_NULL_POINTER, "no scales");
    require(ofp8_cuda_quantize(&good, &shape, source.device(), nullptr, nullptr, nullptr, nullptr) == OFP8_NULL_POINTER,
            "no copy at all");
    require(ofp8_cuda_quantize(&good, &shape, source.device(), &to, nullptr, copy.stats.at<u32>(), nullptr) != OFP8_OK,
            "an amax that no kernel takes");
    const std::vector<u8> codes = copy.codes.read();
    require(std::all_of(codes.begin(), codes.end(), [](u8 b) { return b == Bytes::POISON; }), "nothing was written");
    recipe = good;
    recipe.exponent_rule = OFP8_EXPONENT_LEAST_ERROR;
    require(quantize(recipe, shape, source.device(), copy.copy) == OFP8_RECIPE, "a rule that looks at elements");
    to = copy.copy;
    to.order = OFP8_LAYOUT_TILE_128X4;
    to.scales = copy.scales.at(4);
    require(quantize(good, shape, source.device(), to) == OFP8_MISALIGNED, "tiles at a multiple of 4");
    bad = shape;
    bad.rows = 0;
    require(quantize(good, bad, nullptr, copy.copy) == OFP8_OK, "an empty matrix");
    bad = shape;
    bad.batch_count = 2;
    require(quantize(good, bad, source.device(), copy.copy) == OFP8_SHAPE, "a batch");

    // Structures at addresses that they may not have.
    alignas(16) u8 memory[256] = {};
    const auto misplaced = [&](const auto &value) {
        using T = std::decay_t<decltype(value)>;
        std::memcpy(memory + 1, &value, sizeof value);
        return reinterpret_cast<const T *>(memory + 1);
    };
    const auto cast = [&](const ofp8_cast *how, const ofp8_philox *random) {
        return ofp8_cuda_cast(OFP8_E4M3, how, random, &shape, source.device(), nullptr, copy.copy.codes, nullptr, nullptr,
                              nullptr);
    };
    require(cast(misplaced(ofp8_cast{}), nullptr) == OFP8_MISALIGNED, "a cast at an odd address");
    require(cast(nullptr, misplaced(ROW_RANDOM)) == OFP8_MISALIGNED, "random bits at an odd address");
    require(ofp8_cuda_quantize(&good, misplaced(shape), source.device(), &copy.copy, nullptr, nullptr, nullptr) ==
                OFP8_MISALIGNED,
            "a shape at an odd address");
    require(ofp8_cuda_quantize(&good, &shape, source.device(), misplaced(copy.copy), nullptr, nullptr, nullptr) ==
                OFP8_MISALIGNED,
            "a copy at an odd address");
    require(std::strcmp(ofp8_cuda_status_text(OFP8_CUDA_FAILED), ofp8_status_text(OFP8_CUDA_FAILED)) != 0 &&
                std::strcmp(ofp8_cuda_status_text(OFP8_SHAPE), ofp8_status_text(OFP8_SHAPE)) == 0,
            "the text of a status");
    require(ofp8_cuda_quantize(misplaced(good), &shape, source.device(), &copy.copy, nullptr, nullptr, nullptr) ==
                OFP8_MISALIGNED,
            "a recipe at an odd address");
}

// ---------------------------------------------------------------------------------------------------------------------
// Times
// ---------------------------------------------------------------------------------------------------------------------

#if !defined(OFP8_EMULATED_DEVICE)
// The median of 20 runs, in seconds.
double seconds(const std::function<void()> &work)
{
    cudaEvent_t begin, end;
    demand(cudaEventCreate(&begin));
    demand(cudaEventCreate(&end));
    std::vector<float> times;
    for (int i = 0; i < 23; ++i) {
        demand(cudaEventRecord(begin));
        work();
        demand(cudaEventRecord(end));
        demand(cudaEventSynchronize(end));
        float milliseconds = 0;
        demand(cudaEventElapsedTime(&milliseconds, begin, end));
        times.push_back(milliseconds);
    }
    demand(cudaEventDestroy(begin));
    demand(cudaEventDestroy(end));
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2] / 1e3;
}

// One line: the time, the rate, and the share of a copy that moves as many bytes.
void report(const char *what, u32 type, std::size_t bytes, const std::function<void()> &work)
{
    Bytes from(bytes / 2), to(bytes / 2);
    const double copy = seconds([&] { demand(cudaMemcpyAsync(to.at(), from.at(), bytes / 2, cudaMemcpyDeviceToDevice)); });
    const double time = seconds(work);
    std::printf("time %-28s type %u %9.1f us %7.0f GB/s, %5.1f %% of a copy\n", what, type, time * 1e6,
                static_cast<double>(bytes) / time / 1e9, copy / time * 100);
}

void times_of(u32 type)
{
    const u64 side = 8192;
    Case c = {OFP8_E4M3, type, side, side, 0, 0, 0, false, {}, OFP8_SCALING_F32, 0, 0};
    Source source(type, side, side, 0, 0, 1, false);
    const std::size_t in = side * side * source.size(), out = side * side;
    DeviceCopy row(c, side * side, ScaleOrder::RowMajor, ROW_RANDOM), column(c, side * side, ScaleOrder::RowMajor, COLUMN_RANDOM);
    row.copy.stats = nullptr;
    column.copy.stats = nullptr;
    Bytes amax(std::vector<u8>(4, 0)), target(in);
    const ofp8_shape shape = c.shape();
    const float one = 1.0f;
    copy_to_device(row.scales.at(), &one, 4);
    const auto quantize = [&](u64 rows, u64 cols, u32 scaling, bool with_row, bool with_column, bool tiles) {
        c.scaling = scaling;
        const ofp8_recipe recipe = c.recipe(rows, cols);
        row.copy.order = column.copy.order = tiles ? OFP8_LAYOUT_TILE_128X4 : OFP8_LAYOUT_ROW_MAJOR;
        const ofp8_status status =
            ofp8_cuda_quantize(&recipe, &shape, source.device(), with_row ? &row.copy : nullptr,
                               with_column ? &column.copy : nullptr, rows == 0 ? amax.at<u32>() : nullptr, nullptr);
        require(status == OFP8_OK, "a timed call");
    };
    report("amax", type, in, [&] { ofp8_cuda_amax(&shape, source.device(), 0, amax.at<u32>(), nullptr); });
    report("cast E4M3", type, in + out, [&] {
        ofp8_cuda_cast(OFP8_E4M3, nullptr, nullptr, &shape, source.device(), row.scales.at<float>(), row.copy.codes,
                       amax.at<u32>(), nullptr, nullptr);
    });
    report("tensor, two passes", type, 2 * in + out, [&] { quantize(0, 0, OFP8_SCALING_F32, true, false, false); });
    const std::size_t scales = side * side / 32;
    report("MX row", type, in + out + scales, [&] { quantize(1, 32, OFP8_SCALING_E8M0, true, false, false); });
    report("MX row, tiles", type, in + out + scales, [&] { quantize(1, 32, OFP8_SCALING_E8M0, true, false, true); });
    report("MX column", type, in + out + scales, [&] { quantize(1, 32, OFP8_SCALING_E8M0, false, true, false); });
    report("MX row and column", type, in + 2 * (out + scales), [&] { quantize(1, 32, OFP8_SCALING_E8M0, true, true, true); });
    report("1x128", type, in + out, [&] { quantize(1, 128, OFP8_SCALING_F32, true, false, false); });
    report("128x128", type, in + out, [&] { quantize(128, 128, OFP8_SCALING_F32, true, false, false); });
    report("NVFP4 amax", type, in, [&] { ofp8_cuda_amax_nvfp4(&shape, source.device(), amax.at<u32>(), nullptr); });
    report("NVFP4", type, in + out / 2 + side * side / 16, [&] {
        ofp8_shape packed = shape;
        packed.code_stride = 0;
        ofp8_cuda_quantize_nvfp4(&packed, source.device(), amax.at<u32>(), row.copy.codes, row.scales.at(), OFP8_LAYOUT_TILE_128X4, nullptr,
                                 nullptr);
    });
    report("NVFP4 dequantize", type, in + out / 2 + side * side / 16, [&] {
        ofp8_shape packed = shape;
        packed.code_stride = 0;
        ofp8_cuda_dequantize_nvfp4(&packed, row.copy.codes, row.scales.at(), OFP8_LAYOUT_TILE_128X4, amax.at<float>(),
                                   target.at(), nullptr);
    });
    c.scaling = OFP8_SCALING_E8M0;
    const ofp8_recipe mx = c.recipe(1, 32);
    report("MX dequantize", type, in + out + scales, [&] {
        ofp8_cuda_dequantize(&mx, &shape, row.copy.codes, row.scales.at(), 0, target.at(), nullptr);
    });
}
#endif

} // namespace

int main(int count, char **arguments)
{
    bool times = false;
    for (int i = 1; i < count; ++i) {
        if (std::strcmp(arguments[i], "--times") == 0) {
            times = true;
        } else if (std::strcmp(arguments[i], "--sweep") == 0 && i + 1 < count) {
            sweep_bits = static_cast<u32>(std::atoi(arguments[++i]));
        } else {
            std::printf("usage: device [--sweep BITS] [--times]\n");
            return 2;
        }
    }
    std::printf("device: %s\n", device_name().c_str());
    helpers();
    reductions();
    check_statuses();
    check_limits();
    check_empty();
    check_update_scales();
    for (u32 type : {OFP8_F32, OFP8_F16, OFP8_BF16}) {
        kernels<Format::E4M3>(type);
        kernels<Format::E5M2>(type);
        narrow_kernels(type);
    }
    if (times) {
#if defined(OFP8_EMULATED_DEVICE)
        std::printf("no times on the emulated device\n");
#else
        times_of(OFP8_F32);
        times_of(OFP8_BF16);
#endif
    }
    std::printf("device: %llu checks, %llu failures\n", checks, failures);
    return failures == 0 ? 0 : 1;
}

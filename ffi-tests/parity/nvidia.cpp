// SPDX-License-Identifier: MIT OR Apache-2.0
//
// ofp8's C ABI against NVIDIA's cuda_fp8.h, cuda_fp6.h and cuda_fp4.h, whose conversion functions also run on the host:
// an implementation that shares nothing with this one. `ci/parity.sh` builds and runs this program.
//
//     nvidia [--full] [--only TEXT]
//
// Every f32 is compared for E4M3 and E5M2. The other formats get every f32 whose low 10 bits are zero, each with both
// neighbours: that holds each of their values and ties with its neighbours. `--full` gives them every f32 as well.
// All f16, all bf16 and all codes are compared throughout, f64 on the same grid as f32.
//
// Intended differences, counted and allowed where they are listed in the comparison, nowhere else:
//  - NaN from f64 into E4M3 and E5M2: cuda_fp8.h keeps the sign and, in E5M2, payload bits on that path, and on that path
//    alone; ofp8's `Canonical` gives 0x7F from every source.
//  - NaN to f16 and bf16: cuda_fp8.h gives 0x7FFF, ofp8 the quiet NaN without payload.

#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ofp8.h"

namespace {

template <class To, class From> To bit_cast(From from) {
    static_assert(sizeof(To) == sizeof(From), "same size");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

// The types of inputs and outputs that are not types of C++.
struct Half {
    uint16_t bits;
};
struct Bfloat {
    uint16_t bits;
};
struct Code {
    uint8_t bits;
};

uint64_t bits_of(float x) { return bit_cast<uint32_t>(x); }
uint64_t bits_of(double x) { return bit_cast<uint64_t>(x); }
template <class T> uint64_t bits_of(T x) { return x.bits; }

bool is_nan(double x) { return x != x; }
bool is_quiet_nan(Half x) { return (x.bits & 0x7FFF) == 0x7E00; }
bool is_quiet_nan(Bfloat x) { return (x.bits & 0x7FFF) == 0x7FC0; }

// The one place here that knows ofp8's C names. Bulk functions, so that what is compared is what programs call.
namespace ours {

using Format = uint32_t;
const Format E4M3 = OFP8_E4M3, E5M2 = OFP8_E5M2, E8M0 = OFP8_E8M0, UE5M3 = OFP8_UE5M3,
             E2M3 = OFP8_E2M3, E3M2 = OFP8_E3M2, E2M1 = OFP8_E2M1;

enum class Rounding : uint32_t {
    NearestEven = OFP8_NEAREST_EVEN,
    NearestAway = OFP8_NEAREST_AWAY,
    TowardZero = OFP8_TOWARD_ZERO,
    TowardPositive = OFP8_TOWARD_POSITIVE,
    TowardNegative = OFP8_TOWARD_NEGATIVE,
};
enum class Saturation : uint32_t { Finite = OFP8_SATURATE_FINITE, None = OFP8_SATURATE_NONE };

using Cast = ofp8_cast;
Cast cast(Rounding rounding, Saturation saturation) {
    Cast cast = {};
    cast.rounding = uint32_t(rounding);
    cast.saturation = uint32_t(saturation);
    return cast;
}

uint32_t type_of(float) { return OFP8_F32; }
uint32_t type_of(double) { return OFP8_F64; }
uint32_t type_of(Half) { return OFP8_F16; }
uint32_t type_of(Bfloat) { return OFP8_BF16; }

void check(ofp8_status status) {
    if (status != OFP8_OK) {
        std::fprintf(stderr, "ofp8 reports: %s\n", ofp8_status_text(status));
        std::exit(2);
    }
}

template <class In> void encode(Format format, const Cast &cast, const In *x, size_t n, Code *codes) {
    check(ofp8_encode(format, &cast, nullptr, type_of(In{}), x, n, &codes->bits));
}

template <class Out> void decode(Format format, const Code *codes, size_t n, Out *y) {
    check(ofp8_decode(format, &codes->bits, n, type_of(Out{}), y));
}

} // namespace ours

// Inputs numbered from zero.
template <class In> struct Inputs {
    uint64_t count;
    In (*at)(uint64_t index);
};

const Inputs<float> every_f32 = {uint64_t{1} << 32, [](uint64_t i) { return bit_cast<float>(uint32_t(i)); }};
const Inputs<float> grid_f32 = {3 << 22, [](uint64_t i) { return bit_cast<float>(uint32_t((i / 3 << 10) + i % 3 - 1)); }};
const Inputs<double> grid_f64 = {3 << 22, [](uint64_t i) { return bit_cast<double>((i / 3 << 42) + i % 3 - 1); }};
const Inputs<Half> every_f16 = {1 << 16, [](uint64_t i) { return Half{uint16_t(i)}; }};
const Inputs<Bfloat> every_bf16 = {1 << 16, [](uint64_t i) { return Bfloat{uint16_t(i)}; }};
Inputs<Code> every_code(int bits) {
    return {uint64_t{1} << bits, [](uint64_t i) { return Code{uint8_t(i)}; }};
}

// One function of each side, over a run of inputs.
template <class In, class Out> using Convert = std::function<void(const In *, size_t, Out *)>;

template <class In, class Out, class F> Convert<In, Out> each(F convert) {
    return [convert](const In *x, size_t n, Out *y) {
        for (size_t i = 0; i < n; ++i) {
            y[i] = convert(x[i]);
        }
    };
}

// Whether a difference is one of those listed at the top.
template <class In, class Out> using Intended = bool (*)(In, Out ours, Out theirs);

template <class In, class Out> bool none_intended(In, Out, Out) { return false; }
bool nan_code_from_f64(double x, Code ours, Code theirs) {
    return is_nan(x) && ours.bits == 0x7F && (theirs.bits & 0x7F) > 0x7C;
}
template <class Out> bool nan_payload(Code, Out ours, Out theirs) {
    return is_quiet_nan(ours) && theirs.bits == 0x7FFF;
}

struct Totals {
    uint64_t comparisons = 0, inputs = 0, intended = 0, failed = 0;
};

class Runner {
  public:
    explicit Runner(std::string only) : only_(std::move(only)) {}

    template <class In, class Out>
    void compare(const std::string &name, Inputs<In> inputs, const Convert<In, Out> &ours,
                 const Convert<In, Out> &theirs, Intended<In, Out> intended = none_intended<In, Out>) {
        if (name.find(only_) == std::string::npos) {
            return;
        }
        constexpr size_t chunk = 1 << 16;
        std::atomic<uint64_t> next{0}, intended_count{0}, wrong{0};
        std::mutex printing;
        const auto work = [&] {
            std::vector<In> x(chunk);
            std::vector<Out> mine(chunk), other(chunk);
            for (uint64_t first; (first = next.fetch_add(chunk)) < inputs.count;) {
                const size_t n = size_t(std::min<uint64_t>(chunk, inputs.count - first));
                for (size_t i = 0; i < n; ++i) {
                    x[i] = inputs.at(first + i);
                }
                ours(x.data(), n, mine.data());
                theirs(x.data(), n, other.data());
                for (size_t i = 0; i < n; ++i) {
                    if (mine[i].bits == other[i].bits) {
                        continue;
                    }
                    if (intended(x[i], mine[i], other[i])) {
                        ++intended_count;
                    } else if (wrong++ < 5) {
                        const std::lock_guard<std::mutex> lock(printing);
                        std::printf("  %s: input 0x%" PRIX64 ": ofp8 0x%02X, NVIDIA 0x%02X\n", name.c_str(),
                                    bits_of(x[i]), unsigned(mine[i].bits), unsigned(other[i].bits));
                    }
                }
            }
        };
        const auto begin = std::chrono::steady_clock::now();
        std::vector<std::thread> threads(std::max(1u, std::thread::hardware_concurrency()));
        for (auto &thread : threads) {
            thread = std::thread(work);
        }
        for (auto &thread : threads) {
            thread.join();
        }
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        std::printf("%-40s %10" PRIu64 " inputs, %8" PRIu64 " intended differences, %" PRIu64 " others, %.1f s\n",
                    name.c_str(), inputs.count, intended_count.load(), wrong.load(), seconds.count());
        std::fflush(stdout);
        totals.comparisons += 1;
        totals.inputs += inputs.count;
        totals.intended += intended_count;
        totals.failed += wrong != 0;
        if (wrong != 0) {
            std::printf("  repeat: nvidia --only '%s'%s\n", name.c_str(), inputs.count == every_f32.count ? " --full" : "");
        }
    }

    Totals totals;

  private:
    std::string only_;
};

// NVIDIA's names for what a cast says.
struct RoundingCase {
    const char *name;
    ours::Rounding ours;
    cudaRoundMode theirs;
};
const RoundingCase nearest_even = {"nearest-even", ours::Rounding::NearestEven, cudaRoundNearest};
const RoundingCase toward_zero = {"toward-zero", ours::Rounding::TowardZero, cudaRoundZero};
const RoundingCase toward_positive = {"toward-positive", ours::Rounding::TowardPositive, cudaRoundPosInf};
const RoundingCase toward_negative = {"toward-negative", ours::Rounding::TowardNegative, cudaRoundMinInf};
const RoundingCase four_roundings[] = {nearest_even, toward_zero, toward_positive, toward_negative};
// E8M0 has no mantissa bit to be even: NVIDIA's "nearest" takes ties up.
const RoundingCase nearest_up = {"nearest-ties-up", ours::Rounding::NearestAway, cudaRoundNearest};
const RoundingCase e8m0_roundings[] = {nearest_up, toward_zero, toward_positive};

struct SaturationCase {
    const char *name;
    ours::Saturation ours;
    __nv_saturation_t theirs;
};
const SaturationCase saturations[] = {{"satfinite", ours::Saturation::Finite, __NV_SATFINITE},
                                      {"nosat", ours::Saturation::None, __NV_NOSAT}};

__half_raw raw(Half x) {
    __half_raw y;
    y.x = x.bits;
    return y;
}
__nv_bfloat16_raw raw(Bfloat x) {
    __nv_bfloat16_raw y;
    y.x = x.bits;
    return y;
}

// One name for NVIDIA's conversion functions of each source.
Code to_fp8(float x, __nv_saturation_t s, __nv_fp8_interpretation_t f) { return {__nv_cvt_float_to_fp8(x, s, f)}; }
Code to_fp8(double x, __nv_saturation_t s, __nv_fp8_interpretation_t f) { return {__nv_cvt_double_to_fp8(x, s, f)}; }
Code to_fp8(Half x, __nv_saturation_t s, __nv_fp8_interpretation_t f) {
    return {__nv_cvt_halfraw_to_fp8(raw(x), s, f)};
}
Code to_fp8(Bfloat x, __nv_saturation_t s, __nv_fp8_interpretation_t f) {
    return {__nv_cvt_bfloat16raw_to_fp8(raw(x), s, f)};
}
Code to_fp6(float x, __nv_fp6_interpretation_t f, cudaRoundMode r) { return {__nv_cvt_float_to_fp6(x, f, r)}; }
Code to_fp6(double x, __nv_fp6_interpretation_t f, cudaRoundMode r) { return {__nv_cvt_double_to_fp6(x, f, r)}; }
Code to_fp6(Half x, __nv_fp6_interpretation_t f, cudaRoundMode r) { return {__nv_cvt_halfraw_to_fp6(raw(x), f, r)}; }
Code to_fp6(Bfloat x, __nv_fp6_interpretation_t f, cudaRoundMode r) {
    return {__nv_cvt_bfloat16raw_to_fp6(raw(x), f, r)};
}
Code to_fp4(float x, cudaRoundMode r) { return {__nv_cvt_float_to_fp4(x, __NV_E2M1, r)}; }
Code to_fp4(double x, cudaRoundMode r) { return {__nv_cvt_double_to_fp4(x, __NV_E2M1, r)}; }
Code to_fp4(Half x, cudaRoundMode r) { return {__nv_cvt_halfraw_to_fp4(raw(x), __NV_E2M1, r)}; }
Code to_fp4(Bfloat x, cudaRoundMode r) { return {__nv_cvt_bfloat16raw_to_fp4(raw(x), __NV_E2M1, r)}; }
Code to_e8m0(float x, __nv_saturation_t s, cudaRoundMode r) { return {__nv_cvt_float_to_e8m0(x, s, r)}; }
Code to_e8m0(double x, __nv_saturation_t s, cudaRoundMode r) { return {__nv_cvt_double_to_e8m0(x, s, r)}; }
Code to_e8m0(Bfloat x, __nv_saturation_t s, cudaRoundMode r) { return {__nv_cvt_bfloat16raw_to_e8m0(raw(x), s, r)}; }
Code to_ue5m3(float x, __nv_saturation_t s, cudaRoundMode r) { return {__nv_cvt_float_to_ue5m3(x, s, r)}; }
Code to_ue5m3(double x, __nv_saturation_t s, cudaRoundMode r) { return {__nv_cvt_double_to_ue5m3(x, s, r)}; }
Code to_ue5m3(Half x, __nv_saturation_t s, cudaRoundMode r) { return {__nv_cvt_halfraw_to_ue5m3(raw(x), s, r)}; }
Code to_ue5m3(Bfloat x, __nv_saturation_t s, cudaRoundMode r) { return {__nv_cvt_bfloat16raw_to_ue5m3(raw(x), s, r)}; }

const char *source_name(float) { return "f32"; }
const char *source_name(double) { return "f64"; }
const char *source_name(Half) { return "f16"; }
const char *source_name(Bfloat) { return "bf16"; }

// Compares one source's conversions into `format`; `theirs` takes the input alone.
template <class In, class F>
void compare_encode(Runner &runner, const std::string &format_name, ours::Format format, const RoundingCase &rounding,
                    const SaturationCase &saturation, Inputs<In> inputs, F theirs,
                    Intended<In, Code> intended = none_intended<In, Code>) {
    const std::string name = std::string(source_name(In{})) + " to " + format_name + " " + rounding.name + " " + saturation.name;
    const ours::Cast cast = ours::cast(rounding.ours, saturation.ours);
    const Convert<In, Code> ours = [=](const In *x, size_t n, Code *y) { ours::encode(format, cast, x, n, y); };
    runner.compare<In, Code>(name, inputs, ours, each<In, Code>(theirs), intended);
}

template <class Out, class F>
void compare_decode(Runner &runner, const std::string &format_name, ours::Format format, int bits, F theirs) {
    const std::string name = format_name + " to " + source_name(Out{});
    const Convert<Code, Out> ours = [=](const Code *x, size_t n, Out *y) { ours::decode(format, x, n, y); };
    const auto raw_theirs = [=](Code x) { return Out{theirs(x.bits).x}; };
    runner.compare<Code, Out>(name, every_code(bits), ours, each<Code, Out>(raw_theirs), nan_payload<Out>);
}

void compare_fp8(Runner &runner, const std::string &name, ours::Format format, __nv_fp8_interpretation_t theirs) {
    for (const auto &saturation : saturations) {
        const auto encode = [=](auto x) { return to_fp8(x, saturation.theirs, theirs); };
        compare_encode(runner, name, format, nearest_even, saturation, every_f32, encode);
        compare_encode(runner, name, format, nearest_even, saturation, every_f16, encode);
        compare_encode(runner, name, format, nearest_even, saturation, every_bf16, encode);
        compare_encode(runner, name, format, nearest_even, saturation, grid_f64, encode, nan_code_from_f64);
    }
    compare_decode<Half>(runner, name, format, 8, [=](uint8_t x) { return __nv_cvt_fp8_to_halfraw(x, theirs); });
    compare_decode<Bfloat>(runner, name, format, 8, [=](uint8_t x) { return __nv_cvt_fp8_to_bf16raw(x, theirs); });
}

void compare_fp6(Runner &runner, const std::string &name, ours::Format format, __nv_fp6_interpretation_t theirs,
                 Inputs<float> f32) {
    for (const auto &rounding : four_roundings) {
        const auto encode = [=](auto x) { return to_fp6(x, theirs, rounding.theirs); };
        compare_encode(runner, name, format, rounding, saturations[0], f32, encode);
        compare_encode(runner, name, format, rounding, saturations[0], every_f16, encode);
        compare_encode(runner, name, format, rounding, saturations[0], every_bf16, encode);
        compare_encode(runner, name, format, rounding, saturations[0], grid_f64, encode);
    }
    compare_decode<Half>(runner, name, format, 6, [=](uint8_t x) { return __nv_cvt_fp6_to_halfraw(x, theirs); });
    compare_decode<Bfloat>(runner, name, format, 6, [=](uint8_t x) { return __nv_cvt_fp6_to_bf16raw(x, theirs); });
}

void compare_fp4(Runner &runner, Inputs<float> f32) {
    const ours::Format format = ours::E2M1;
    for (const auto &rounding : four_roundings) {
        const auto encode = [=](auto x) { return to_fp4(x, rounding.theirs); };
        compare_encode(runner, "E2M1", format, rounding, saturations[0], f32, encode);
        compare_encode(runner, "E2M1", format, rounding, saturations[0], every_f16, encode);
        compare_encode(runner, "E2M1", format, rounding, saturations[0], every_bf16, encode);
        compare_encode(runner, "E2M1", format, rounding, saturations[0], grid_f64, encode);
    }
    compare_decode<Half>(runner, "E2M1", format, 4, [](uint8_t x) { return __nv_cvt_fp4_to_halfraw(x, __NV_E2M1); });
    compare_decode<Bfloat>(runner, "E2M1", format, 4, [](uint8_t x) { return __nv_cvt_fp4_to_bf16raw(x, __NV_E2M1); });
}

void compare_e8m0(Runner &runner, Inputs<float> f32) {
    for (const auto &rounding : e8m0_roundings) {
        for (const auto &saturation : saturations) {
            const auto encode = [=](auto x) { return to_e8m0(x, saturation.theirs, rounding.theirs); };
            compare_encode(runner, "E8M0", ours::E8M0, rounding, saturation, f32, encode);
            compare_encode(runner, "E8M0", ours::E8M0, rounding, saturation, every_bf16, encode);
            compare_encode(runner, "E8M0", ours::E8M0, rounding, saturation, grid_f64, encode);
        }
    }
    compare_decode<Bfloat>(runner, "E8M0", ours::E8M0, 8, [](uint8_t x) { return __nv_cvt_e8m0_to_bf16raw(x); });
}

void compare_ue5m3(Runner &runner, Inputs<float> f32) {
    for (const auto &rounding : four_roundings) {
        for (const auto &saturation : saturations) {
            const auto encode = [=](auto x) { return to_ue5m3(x, saturation.theirs, rounding.theirs); };
            compare_encode(runner, "UE5M3", ours::UE5M3, rounding, saturation, f32, encode);
            compare_encode(runner, "UE5M3", ours::UE5M3, rounding, saturation, every_f16, encode);
            compare_encode(runner, "UE5M3", ours::UE5M3, rounding, saturation, every_bf16, encode);
            compare_encode(runner, "UE5M3", ours::UE5M3, rounding, saturation, grid_f64, encode);
        }
    }
    compare_decode<Half>(runner, "UE5M3", ours::UE5M3, 8, [](uint8_t x) { return __nv_cvt_ue5m3_to_halfraw(x); });
    compare_decode<Bfloat>(runner, "UE5M3", ours::UE5M3, 8, [](uint8_t x) { return __nv_cvt_ue5m3_to_bf16raw(x); });
}

} // namespace

int main(int argc, char **argv) {
    Inputs<float> f32 = grid_f32;
    std::string only;
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i];
        if (option == "--full") {
            f32 = every_f32;
        } else if (option == "--only" && i + 1 < argc) {
            only = argv[++i];
        } else {
            std::fprintf(stderr, "usage: nvidia [--full] [--only TEXT]\n");
            return 2;
        }
    }
    Runner runner(only);
    compare_fp8(runner, "E4M3", ours::E4M3, __NV_E4M3);
    compare_fp8(runner, "E5M2", ours::E5M2, __NV_E5M2);
    compare_fp6(runner, "E2M3", ours::E2M3, __NV_E2M3, f32);
    compare_fp6(runner, "E3M2", ours::E3M2, __NV_E3M2, f32);
    compare_fp4(runner, f32);
    compare_e8m0(runner, f32);
    compare_ue5m3(runner, f32);

    const Totals &totals = runner.totals;
    std::printf("NVIDIA's headers (CUDA %d.%d): %" PRIu64 " comparisons, %" PRIu64 " inputs, %" PRIu64
                " intended differences, %" PRIu64 " comparisons failed\n",
                CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, totals.comparisons, totals.inputs, totals.intended,
                totals.failed);
    if (totals.comparisons == 0) {
        std::fprintf(stderr, "no comparison is named like '%s'\n", only.c_str());
        return 2;
    }
    return totals.failed == 0 ? 0 : 1;
}

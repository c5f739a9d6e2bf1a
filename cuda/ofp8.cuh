// SPDX-License-Identifier: MIT OR Apache-2.0
//
// ofp8 inside CUDA kernels: the arithmetic of ofp8_arith.hpp, plus the conversion instructions of the hardware where
// they exist and give the same bits, plus reductions of a warp and a block.
//
// Needs no other header, so that NVRTC takes it too: `-I include -I cuda`, C++17, sm_80 and newer. A plain C++
// compiler takes it as well; it then holds what does not need a device.
//
//     #include <ofp8.cuh>
//     __global__ void to_fp8(const float4 *x, unsigned *codes, float scale)
//     {
//         const int i = blockIdx.x * blockDim.x + threadIdx.x;
//         const ofp8::Factor by = {ofp8::Factor::Multiply, scale};
//         const float v[4] = {apply(by, x[i].x), apply(by, x[i].y), apply(by, x[i].z), apply(by, x[i].w)};
//         codes[i] = ofp8::encode_x4<ofp8::Format::E4M3>(v);
//     }
//
// (apply() rather than `*`, which flushes subnormals under -use_fast_math.)
//
// Functions named _x1, _x2, _x4 take the instruction where there is one, for the cast that it does (the default:
// nearest-even, everything clamps, canonical NaN), and otherwise the software of ofp8_arith.hpp. Both give the same
// bits. Pairs and fours lie little-endian: the first element in the low bits.
//
// One switch a capability. Each is 0 or 1, found out below, and may be defined to 0 to force software:
//
//   OFP8_PTX_FP8         f32 and f16 to and from E4M3 and E5M2: sm_89 and newer, CUDA 12.1
//   OFP8_PTX_NARROW      f32 to E2M1, E2M3, E3M2 and back, f32 to E8M0: sm_100a, 103a, 110a, 120a, 121a and their
//                        families (sm_100f, ...), CUDA 12.8; never plain sm_100 or sm_120
//   OFP8_PTX_BF16        bf16 pairs to E4M3 and E5M2: the same targets, CUDA 13.1
//   OFP8_PTX_STOCHASTIC  f32 to all of them with random bits (cvt.rs): sm_100a, sm_103a, sm_107a only, CUDA 12.8, and
//                        only if OFP8_USE_CVT_RS is defined to 1: how the instruction aligns its random bits has not
//                        been measured yet (cuda/README.md), and software has the rule that is documented
#ifndef OFP8_CUH
#define OFP8_CUH

#include "ofp8_arith.hpp"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "ofp8.cuh needs sm_80 or later: -arch=sm_90a, or in CMake CMAKE_CUDA_ARCHITECTURES (the default is older)"
#endif

// What runs on a device: threads, warps, atomics. OFP8_EMULATED_DEVICE is the tests' device on the CPU.
#if defined(__CUDACC__) || defined(__CUDACC_RTC__) || (defined(__clang__) && defined(__CUDA__))
#define OFP8_INLINE __host__ __device__ inline
#define OFP8_DEVICE __device__ inline
#define OFP8_HAS_DEVICE 1
#elif defined(OFP8_EMULATED_DEVICE)
#define OFP8_INLINE inline
#define OFP8_DEVICE inline
#define OFP8_HAS_DEVICE 1
#else
#define OFP8_INLINE inline
#define OFP8_HAS_DEVICE 0
#endif

// Loops over what a thread holds in registers: without it a GPU keeps the array in memory.
#if defined(__CUDA_ARCH__)
#define OFP8_PRAGMA(text) _Pragma(#text)
#define OFP8_UNROLL _Pragma("unroll")
#define OFP8_UNROLL_BY(count) OFP8_PRAGMA(unroll(count))
#else
#define OFP8_UNROLL
#define OFP8_UNROLL_BY(count)
#endif
// And what would only grow.
#define OFP8_ROLL OFP8_UNROLL_BY(1)

// nvcc and NVRTC name their version; clang has none of CUDA, and takes the software paths.
#if defined(__CUDA_ARCH__) && defined(__CUDACC_VER_MAJOR__)
#define OFP8_ARCH __CUDA_ARCH__
#define OFP8_CUDA_VERSION (__CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__)
#else
#define OFP8_ARCH 0
#define OFP8_CUDA_VERSION 0
#endif

// Whether the target is architecture- or family-specific. (CUDA 12.8 has the first names, 12.9 the others.)
#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM101_ALL) || defined(__CUDA_ARCH_FEAT_SM120_ALL) ||  \
    defined(__CUDA_ARCH_SPECIFIC__) || defined(__CUDA_ARCH_FAMILY_SPECIFIC__)
#define OFP8_ARCH_IS_SPECIFIC 1
#else
#define OFP8_ARCH_IS_SPECIFIC 0
#endif

#ifndef OFP8_PTX_FP8
#define OFP8_PTX_FP8 (OFP8_ARCH >= 890 && OFP8_CUDA_VERSION >= 1201)
#endif
#ifndef OFP8_PTX_NARROW
#define OFP8_PTX_NARROW (OFP8_ARCH >= 1000 && OFP8_ARCH_IS_SPECIFIC && OFP8_CUDA_VERSION >= 1208)
#endif
#ifndef OFP8_PTX_BF16
#define OFP8_PTX_BF16 (OFP8_ARCH >= 1000 && OFP8_ARCH_IS_SPECIFIC && OFP8_CUDA_VERSION >= 1301)
#endif
#ifndef OFP8_USE_CVT_RS
#define OFP8_USE_CVT_RS 0
#endif
#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM103_ALL) || defined(__CUDA_ARCH_FEAT_SM107_ALL)
#define OFP8_ARCH_HAS_CVT_RS 1
#else
#define OFP8_ARCH_HAS_CVT_RS 0
#endif
#ifndef OFP8_PTX_STOCHASTIC
#define OFP8_PTX_STOCHASTIC (OFP8_ARCH_HAS_CVT_RS && OFP8_USE_CVT_RS && OFP8_CUDA_VERSION >= 1208)
#endif

namespace ofp8 {

// Two results.
template <class T> struct Pair {
    T first;
    T second;
};

// ---------------------------------------------------------------------------------------------------------------------
// The instructions. Operands of PTX come high half first.
// ---------------------------------------------------------------------------------------------------------------------

namespace ptx {

OFP8_FUNCTION bool is_fp8(Format format) { return format == Format::E4M3 || format == Format::E5M2; }
OFP8_FUNCTION bool is_fp6(Format format) { return format == Format::E2M3 || format == Format::E3M2; }

// Whether f32 pairs are encoded, and codes decoded to binary16 pairs, by an instruction.
template <Format F> OFP8_FUNCTION bool has_encode()
{
    return (OFP8_PTX_FP8 && is_fp8(F)) || (OFP8_PTX_NARROW && (is_fp6(F) || F == Format::E2M1));
}

#if OFP8_PTX_FP8
template <Format F> OFP8_DEVICE u16 encode_fp8_x2(float first, float second)
{
    u16 codes;
    if constexpr (F == Format::E4M3) {
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(second), "f"(first));
    } else {
        asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(second), "f"(first));
    }
    return codes;
}

template <Format F> OFP8_DEVICE u16 encode_fp8_f16x2(u32 pair)
{
    u16 codes;
    if constexpr (F == Format::E4M3) {
        asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(codes) : "r"(pair));
    } else {
        asm("cvt.rn.satfinite.e5m2x2.f16x2 %0, %1;" : "=h"(codes) : "r"(pair));
    }
    return codes;
}

template <Format F> OFP8_DEVICE u32 decode_fp8_f16x2(u16 codes)
{
    u32 pair;
    if constexpr (F == Format::E4M3) {
        asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"(codes));
    } else {
        asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(pair) : "h"(codes));
    }
    return pair;
}
#endif

#if OFP8_PTX_BF16
template <Format F> OFP8_DEVICE u16 encode_fp8_bf16x2(u32 pair)
{
    u16 codes;
    if constexpr (F == Format::E4M3) {
        asm("cvt.rn.satfinite.e4m3x2.bf16x2 %0, %1;" : "=h"(codes) : "r"(pair));
    } else {
        asm("cvt.rn.satfinite.e5m2x2.bf16x2 %0, %1;" : "=h"(codes) : "r"(pair));
    }
    return codes;
}
#endif

#if OFP8_PTX_NARROW
template <Format F> OFP8_DEVICE u16 encode_fp6_x2(float first, float second)
{
    u16 codes;
    if constexpr (F == Format::E2M3) {
        asm("cvt.rn.satfinite.e2m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(second), "f"(first));
    } else {
        asm("cvt.rn.satfinite.e3m2x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(second), "f"(first));
    }
    return codes;
}

template <Format F> OFP8_DEVICE u32 decode_fp6_f16x2(u16 codes)
{
    u32 pair;
    if constexpr (F == Format::E2M3) {
        asm("cvt.rn.f16x2.e2m3x2 %0, %1;" : "=r"(pair) : "h"(codes));
    } else {
        asm("cvt.rn.f16x2.e3m2x2 %0, %1;" : "=r"(pair) : "h"(codes));
    }
    return pair;
}

// Two codes in a byte, the first in its low half.
OFP8_DEVICE u8 encode_fp4_x2(float first, float second)
{
    u16 byte;
    asm("{ .reg .b8 codes; cvt.rn.satfinite.e2m1x2.f32 codes, %1, %2; mov.b16 %0, {codes, 0}; }"
        : "=h"(byte)
        : "f"(second), "f"(first));
    return static_cast<u8>(byte);
}

OFP8_DEVICE u32 decode_fp4_f16x2(u8 codes)
{
    u32 pair;
    asm("{ .reg .b8 low, high; mov.b16 {low, high}, %1; cvt.rn.f16x2.e2m1x2 %0, low; }"
        : "=r"(pair)
        : "h"(static_cast<u16>(codes)));
    return pair;
}

// Toward zero or toward positive (of the magnitude: the format has no sign).
OFP8_DEVICE u16 encode_e8m0_x2(float first, float second, bool up)
{
    u16 codes;
    if (up) {
        asm("cvt.rp.satfinite.ue8m0x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(second), "f"(first));
    } else {
        asm("cvt.rz.satfinite.ue8m0x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(second), "f"(first));
    }
    return codes;
}
#endif

#if OFP8_PTX_STOCHASTIC
template <Format F> OFP8_DEVICE u32 encode_stochastic_x4(const float (&v)[4], u32 random)
{
    u32 codes = 0;
    if constexpr (F == Format::E4M3) {
        asm("cvt.rs.satfinite.e4m3x4.f32 %0, {%1, %2, %3, %4}, %5;"
            : "=r"(codes)
            : "f"(v[3]), "f"(v[2]), "f"(v[1]), "f"(v[0]), "r"(random));
    } else {
        asm("cvt.rs.satfinite.e5m2x4.f32 %0, {%1, %2, %3, %4}, %5;"
            : "=r"(codes)
            : "f"(v[3]), "f"(v[2]), "f"(v[1]), "f"(v[0]), "r"(random));
    }
    return codes;
}
#endif

#if defined(__CUDA_ARCH__)
OFP8_DEVICE float widen_f16(u16 bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

OFP8_DEVICE u16 narrow_f16(float value)
{
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

OFP8_DEVICE u16 narrow_bf16(float value)
{
    u16 bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}
#endif

} // namespace ptx

// ---------------------------------------------------------------------------------------------------------------------
// Wide types
// ---------------------------------------------------------------------------------------------------------------------

namespace detail {

// A NaN from an instruction becomes the library's: quiet, without payload, with the sign of what it came from.
OFP8_INLINE u16 quiet_half(u16 bits, u16 nan, u32 from)
{
    return (from & F32_ABS) > F32_INFINITY ? static_cast<u16>(nan | from >> 31 << 15) : bits;
}

} // namespace detail

// The value as f32, exactly.
OFP8_INLINE float widen(float value) { return value; }
OFP8_INLINE float widen(BF16 value) { return bf16_to_f32(value.bits); }
OFP8_INLINE float widen(F16 value)
{
#if defined(__CUDA_ARCH__)
    const u32 nan = F32_NAN | static_cast<u32>(value.bits >> 15) << 31;
    return is_nan(spec(FloatType::F16), value.bits) ? float_of(nan) : ptx::widen_f16(value.bits);
#else
    return f16_to_f32(value.bits);
#endif
}

// The nearest value of the type T, ties to even; a quiet NaN that keeps its sign.
template <class T> OFP8_INLINE T narrow(float value);
template <> OFP8_INLINE float narrow<float>(float value) { return value; }
template <> OFP8_INLINE F16 narrow<F16>(float value)
{
#if defined(__CUDA_ARCH__)
    return F16{detail::quiet_half(ptx::narrow_f16(value), OFP8_F16_NAN_CODE, bits_of(value))};
#else
    return F16{f32_to_f16(value)};
#endif
}
template <> OFP8_INLINE BF16 narrow<BF16>(float value)
{
#if defined(__CUDA_ARCH__)
    return BF16{detail::quiet_half(ptx::narrow_bf16(value), OFP8_BF16_NAN_CODE, bits_of(value))};
#else
    return BF16{f32_to_bf16(value)};
#endif
}

// ---------------------------------------------------------------------------------------------------------------------
// Encode: one code a byte
// ---------------------------------------------------------------------------------------------------------------------

// Two floats under the default cast.
template <Format F> OFP8_INLINE u16 encode_x2(float first, float second)
{
#if OFP8_PTX_FP8
    if constexpr (ptx::is_fp8(F)) {
        return ptx::encode_fp8_x2<F>(first, second);
    }
#endif
#if OFP8_PTX_NARROW
    if constexpr (ptx::is_fp6(F)) {
        return ptx::encode_fp6_x2<F>(first, second);
    }
    if constexpr (F == Format::E2M1) {
        const u32 byte = ptx::encode_fp4_x2(first, second);
        return static_cast<u16>((byte & 0xF) | (byte & 0xF0) << 4);
    }
#endif
    return static_cast<u16>(encode<F>(first) | encode<F>(second) << 8);
}

// One float under the default cast.
template <Format F> OFP8_INLINE u8 encode_x1(float value)
{
    if constexpr (ptx::has_encode<F>()) {
        return static_cast<u8>(encode_x2<F>(value, 0.0f));
    }
    return encode<F>(value);
}

// Four floats under the default cast.
template <Format F> OFP8_INLINE u32 encode_x4(const float (&v)[4])
{
    return encode_x2<F>(v[0], v[1]) | static_cast<u32>(encode_x2<F>(v[2], v[3])) << 16;
}

// Two binary16 values, in the halves of a word, under the default cast.
template <Format F> OFP8_INLINE u16 encode_f16x2(u32 pair)
{
#if OFP8_PTX_FP8
    if constexpr (ptx::is_fp8(F)) {
        return ptx::encode_fp8_f16x2<F>(pair);
    }
#endif
    return encode_x2<F>(widen(F16{static_cast<u16>(pair)}), widen(F16{static_cast<u16>(pair >> 16)}));
}

// Two bfloat16 values, in the halves of a word, under the default cast.
template <Format F> OFP8_INLINE u16 encode_bf16x2(u32 pair)
{
#if OFP8_PTX_BF16
    if constexpr (ptx::is_fp8(F)) {
        return ptx::encode_fp8_bf16x2<F>(pair);
    }
#endif
    return encode_x2<F>(float_of(pair << 16), float_of(pair & 0xFFFF0000u));
}

// Two floats to E8M0, toward zero or toward positive (away: the sign is dropped), everything clamps.
OFP8_INLINE u16 encode_e8m0_x2(float first, float second, bool up)
{
#if OFP8_PTX_NARROW
    return ptx::encode_e8m0_x2(first, second, up);
#else
    const Cast cast = {up ? Rounding::TowardPositive : Rounding::TowardZero, Saturation::Finite,
                       NanPolicy::Canonical, 0};
    return static_cast<u16>(encode<Format::E8M0>(first, cast) | encode<Format::E8M0>(second, cast) << 8);
#endif
}

// Four floats, stochastic rounding A (P3109) with 16 bits, two elements to a half of the random word: its low half serves
// v[0] and v[1], its high half v[2] and v[3]. (PTX cvt.rs lists the elements from the last to the first, and its upper
// half serves the first two of that list.) Elements of a pair share their bits; for independent ones use encode() with
// random_bits().
template <Format F> OFP8_INLINE u32 encode_stochastic_x4(const float (&v)[4], u32 random)
{
#if OFP8_PTX_STOCHASTIC
    if constexpr (ptx::is_fp8(F)) {
        return ptx::encode_stochastic_x4<F>(v, random);
    }
#endif
    const Cast cast = {Rounding::StochasticA, Saturation::Finite, NanPolicy::Canonical, 16};
    u32 codes = 0;
    for (u32 i = 0; i < 4; ++i) {
        codes |= static_cast<u32>(encode<F>(v[i], cast, random >> (i < 2 ? 0 : 16) & 0xFFFF)) << (8 * i);
    }
    return codes;
}

// N floats under the default cast, four codes to a word.
template <Format F, u32 N> OFP8_INLINE void encode_codes(const float (&v)[N], u32 (&words)[N / 4])
{
    for (u32 i = 0; i < N / 4; ++i) {
        words[i] = encode_x4<F>({v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3]});
    }
}

// Four E2M1 codes under the default cast, in two bytes: the first code in the low half of the first byte.
OFP8_INLINE u16 encode_fp4_packed_x4(const float (&v)[4])
{
#if OFP8_PTX_NARROW
    return static_cast<u16>(ptx::encode_fp4_x2(v[0], v[1]) | ptx::encode_fp4_x2(v[2], v[3]) << 8);
#else
    const u32 codes = encode_x4<Format::E2M1>(v);
    return static_cast<u16>((codes & 0xF) | (codes >> 4 & 0xF0) | (codes >> 8 & 0xF00) | (codes >> 12 & 0xF000));
#endif
}

// ---------------------------------------------------------------------------------------------------------------------
// Decode
// ---------------------------------------------------------------------------------------------------------------------

namespace detail {

#if OFP8_PTX_FP8 || OFP8_PTX_NARROW
// Two codes to a binary16 pair by the instruction; NaN as the hardware has it.
template <Format F> OFP8_DEVICE u32 decode_pair(u16 codes)
{
#if OFP8_PTX_FP8
    if constexpr (ptx::is_fp8(F)) {
        return ptx::decode_fp8_f16x2<F>(codes);
    }
#endif
#if OFP8_PTX_NARROW
    if constexpr (ptx::is_fp6(F)) {
        return ptx::decode_fp6_f16x2<F>(codes);
    }
    if constexpr (F == Format::E2M1) {
        return ptx::decode_fp4_f16x2(static_cast<u8>((codes & 0xF) | (codes >> 4 & 0xF0)));
    }
#endif
    return 0;
}

template <Format F> OFP8_DEVICE u16 quiet_f16(u16 bits, u8 code)
{
    constexpr Spec s = spec(F);
    return s.nan && is_nan(s, code) ? static_cast<u16>(OFP8_F16_NAN_CODE | (code & 0x80) << 8) : bits;
}
#endif

} // namespace detail

// Two codes to the halves of a word of binary16.
template <Format F> OFP8_INLINE u32 decode_f16x2(u16 codes)
{
    const u8 first = static_cast<u8>(codes);
    const u8 second = static_cast<u8>(codes >> 8);
#if OFP8_PTX_FP8 || OFP8_PTX_NARROW
    if constexpr (ptx::has_encode<F>()) {
        const u32 pair = detail::decode_pair<F>(codes);
        return detail::quiet_f16<F>(static_cast<u16>(pair), first) |
               static_cast<u32>(detail::quiet_f16<F>(static_cast<u16>(pair >> 16), second)) << 16;
    }
#endif
    return decode_f16<F>(first) | static_cast<u32>(decode_f16<F>(second)) << 16;
}

// Two codes to floats.
template <Format F> OFP8_INLINE Pair<float> decode_x2(u16 codes)
{
#if OFP8_PTX_FP8 || OFP8_PTX_NARROW
    if constexpr (ptx::has_encode<F>()) {
        // f16 holds every value of these formats, and every NaN is set right on the way to f32.
        const u32 pair = detail::decode_pair<F>(codes);
        const u8 code[2] = {static_cast<u8>(codes), static_cast<u8>(codes >> 8)};
        const u16 half[2] = {static_cast<u16>(pair), static_cast<u16>(pair >> 16)};
        constexpr Spec s = spec(F);
        float value[2] = {ptx::widen_f16(half[0]), ptx::widen_f16(half[1])};
        for (int i = 0; i < 2; ++i) {
            if (s.nan && is_nan(s, code[i])) {
                value[i] = float_of(F32_NAN | static_cast<u32>(code[i] >> 7) << 31);
            }
        }
        return {value[0], value[1]};
    }
#endif
    return {decode<F>(static_cast<u8>(codes)), decode<F>(static_cast<u8>(codes >> 8))};
}

// One code to a float.
template <Format F> OFP8_INLINE float decode_x1(u8 code)
{
    if constexpr (ptx::has_encode<F>()) {
        return decode_x2<F>(code).first;
    }
    return decode<F>(code);
}

// Four codes to floats.
template <Format F> OFP8_INLINE void decode_x4(u32 codes, float (&v)[4])
{
    const Pair<float> low = decode_x2<F>(static_cast<u16>(codes));
    const Pair<float> high = decode_x2<F>(static_cast<u16>(codes >> 16));
    v[0] = low.first;
    v[1] = low.second;
    v[2] = high.first;
    v[3] = high.second;
}

// Two codes to the halves of a word of bfloat16.
template <Format F> OFP8_INLINE u32 decode_bf16x2(u16 codes)
{
    const Pair<float> values = decode_x2<F>(codes);
    return narrow<BF16>(values.first).bits | static_cast<u32>(narrow<BF16>(values.second).bits) << 16;
}

// A code, decoded before, times the scale of its block: dequantize() of ofp8_arith.hpp.
OFP8_INLINE float scale_decoded(float scale, float decoded)
{
    const u32 value = bits_of(decoded);
    const u32 product = bits_of(detail::multiply(float_of(value & F32_ABS), scale)) & F32_ABS;
    return float_of((product > F32_INFINITY ? F32_NAN : product) | (value & F32_SIGN));
}

// ---------------------------------------------------------------------------------------------------------------------
// Across threads
// ---------------------------------------------------------------------------------------------------------------------

#if OFP8_HAS_DEVICE

inline constexpr u32 WARP = 32;
inline constexpr u32 FULL_WARP = 0xFFFFFFFFu;

// The number of this thread in its block of any shape, by which the hardware makes warps: x first, then y, then z.
OFP8_DEVICE u32 thread_in_block()
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

// The amax of LANES neighbouring threads of a warp (a power of two up to 32), in each of them. Every thread of the warp
// takes part.
template <u32 LANES> OFP8_DEVICE u32 group_amax(u32 amax)
{
    if constexpr (LANES == WARP) {
        return __reduce_max_sync(FULL_WARP, amax);
    } else {
        for (u32 distance = LANES / 2; distance != 0; distance /= 2) {
            amax = merge_amax(amax, __shfl_xor_sync(FULL_WARP, amax, static_cast<int>(distance)));
        }
        return amax;
    }
}

// The amax of a warp, in each of its threads.
OFP8_DEVICE u32 warp_amax(u32 amax) { return group_amax<WARP>(amax); }

// The amax of a block of whole warps, of any shape, in each of its threads. `shared` holds a word a warp; every thread
// takes part.
OFP8_DEVICE u32 block_amax(u32 amax, u32 *shared)
{
    const u32 thread = thread_in_block();
    const u32 warps = blockDim.x * blockDim.y * blockDim.z / WARP;
    amax = warp_amax(amax);
    __syncthreads(); // what `shared` was used for before is over
    if (thread % WARP == 0) {
        shared[thread / WARP] = amax;
    }
    __syncthreads();
    amax = 0;
    for (u32 warp = 0; warp < warps; ++warp) {
        amax = merge_amax(amax, shared[warp]);
    }
    return amax;
}

// The merge into memory that all threads of a device see.
OFP8_DEVICE void merge_amax_atomic(u32 *place, u32 amax) { atomicMax(place, amax); }

// What one thread has seen: Stats in 32-bit counts, for at most 2^32 elements.
struct ThreadStats {
    u32 count = 0;
    u32 zero = 0;
    u32 saturated = 0;
    u32 underflowed = 0;
    u32 nan = 0;
    u32 infinite = 0;
    u32 amax = 0;
    u32 min_nonzero = F32_INFINITY;
};

// Adds the counts of a warp's threads to one in memory. Every thread of the warp takes part.
OFP8_DEVICE void add_atomic(u64 *place, u32 count)
{
    count = __reduce_add_sync(FULL_WARP, count);
    if (thread_in_block() % WARP == 0 && count != 0) {
        atomicAdd(place, static_cast<u64>(count));
    }
}

// Adds what the threads of a warp have seen to the statistics in memory, which begin as Stats{} or all zero. Every thread
// of the warp takes part; blocks have any shape, and whole warps.
OFP8_DEVICE void merge_stats_atomic(Stats *place, const ThreadStats &seen)
{
    add_atomic(&place->count, seen.count);
    add_atomic(&place->zero, seen.zero);
    add_atomic(&place->saturated, seen.saturated);
    add_atomic(&place->underflowed, seen.underflowed);
    add_atomic(&place->nan, seen.nan);
    add_atomic(&place->infinite, seen.infinite);
    const u32 amax = warp_amax(seen.amax);
    const u32 min_nonzero = __reduce_min_sync(FULL_WARP, seen.min_nonzero);
    if (thread_in_block() % WARP == 0) {
        atomicMax(&place->amax, amax);
        atomicCAS(&place->min_nonzero, 0u, F32_INFINITY); // zero: nothing was seen before
        atomicMin(&place->min_nonzero, min_nonzero);
    }
}

#endif // OFP8_HAS_DEVICE

} // namespace ofp8

#endif // OFP8_CUH

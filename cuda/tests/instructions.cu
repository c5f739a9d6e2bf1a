// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A kernel a helper, so that the PTX of each can be looked into (cuda/tests/instructions.sh), and something for NVRTC
// to compile.
#include "ofp8.cuh"

using namespace ofp8;

// Everything that may be an instruction, for one format.
template <Format F> __device__ void convert(const float *x, u32 *words, u16 *codes, float *y)
{
    const float v[4] = {x[0], x[1], x[2], x[3]};
    float decoded[4];
    decode_x4<F>(words[0], decoded);
    words[1] = encode_x4<F>(v);
    words[2] = encode_f16x2<F>(words[3]);
    words[4] = encode_bf16x2<F>(words[5]);
    words[6] = decode_f16x2<F>(codes[0]);
    words[7] = decode_bf16x2<F>(codes[1]);
    words[8] = encode_x1<F>(x[4]);
    words[9] = encode_stochastic_x4<F>(v, words[10]);
    y[0] = decoded[0] + decoded[1] + decoded[2] + decoded[3];
    y[1] = decode_x1<F>(static_cast<u8>(codes[2]));
}

#define CONVERT(name)                                                                                                  \
    extern "C" __global__ void convert_##name(const float *x, u32 *words, u16 *codes, float *y)                        \
    {                                                                                                                  \
        convert<Format::name>(x, words, codes, y);                                                                     \
    }
CONVERT(E4M3)
CONVERT(E5M2)
CONVERT(E2M1)
CONVERT(E2M3)
CONVERT(E3M2)
CONVERT(E8M0)
CONVERT(E4M3FNUZ)
CONVERT(UE4M3)

extern "C" __global__ void convert_e8m0_directed(const float *x, u32 *words)
{
    words[0] = encode_e8m0_x2(x[0], x[1], true);
    words[1] = encode_e8m0_x2(x[2], x[3], false);
}

extern "C" __global__ void convert_fp4_packed(const float *x, u32 *words)
{
    words[0] = encode_fp4_packed_x4({x[0], x[1], x[2], x[3]});
}

// The floating-point operations that -ftz must not change.
extern "C" __global__ void arithmetic(const float *x, float *y, const u32 *words, const Recipe *recipe)
{
    const BlockScale scale = scale_from_amax<Format::E4M3>(*recipe, warp_amax(words[threadIdx.x]));
    y[0] = apply(scale.factor, x[0]);
    y[1] = dequantize<Format::E5M2>(scale.dequantize, static_cast<u8>(words[1]));
    y[2] = promote_scaled(y[3], x[1], x[2], x[3]);
    y[4] = nvfp4_scale(nvfp4_tensor_scale(words[2]), static_cast<u8>(words[3])).dequantize;
    y[5] = narrow<F16>(x[5]).bits + widen(F16{static_cast<u16>(words[4])});
    y[6] = narrow<BF16>(x[6]).bits;
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The helpers inside a GEMM epilogue: a small tiled product in f32 whose output leaves as MXFP8, codes and scales, with
// the scales where Blackwell's tensor cores read them. Written to be read: one thread computes a strip of 32 outputs of
// a row, which is one MX block, so that its amax needs no other thread. (A real GEMM holds accumulators of a row in
// several threads; then group_amax<LANES>() joins them.)
//
//     nvcc -std=c++17 -I include -I cuda -arch=sm_90a cuda/examples/gemm_epilogue.cu
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

#include "ofp8.cuh"

using ofp8::Format;
using ofp8::u32;
using ofp8::u64;
using ofp8::u8;

constexpr u32 BLOCK = 32;

// C = A * B for row-major A (m x k) and B (k x n): codes (m x n) and E8M0 scales in 128x4 tiles. n is a multiple of 32.
__global__ void product_to_mxfp8(const float *a, const float *b, u32 m, u32 n, u32 k, u8 *codes, u8 *scales)
{
    const u32 row = blockIdx.y * blockDim.y + threadIdx.y;
    const u32 block = blockIdx.x * blockDim.x + threadIdx.x;
    const ofp8::Tile128x4 layout = {m, n / BLOCK};
    if (row >= m || block >= n / BLOCK) {
        return;
    }
    float sum[BLOCK] = {};
    for (u32 i = 0; i < k; ++i) {
        for (u32 j = 0; j < BLOCK; ++j) {
            sum[j] += a[u64{row} * k + i] * b[u64{i} * n + block * BLOCK + j];
        }
    }
    // The epilogue: amax, scale, codes.
    u32 amax = 0;
    for (u32 j = 0; j < BLOCK; ++j) {
        amax = ofp8::merge_amax(amax, ofp8::amax_of(sum[j]));
    }
    ofp8::Recipe recipe;
    recipe.scaling = ofp8::Scaling::E8M0;
    const ofp8::BlockScale scale = ofp8::scale_from_amax<Format::E4M3>(recipe, amax);
    scales[layout.offset({row, block})] = ofp8::scale_to_e8m0(scale.dequantize);
    u32 *words = reinterpret_cast<u32 *>(codes + u64{row} * n + block * BLOCK);
    for (u32 j = 0; j < BLOCK; j += 4) {
        float v[4];
        for (u32 i = 0; i < 4; ++i) {
            // A block with a NaN or an infinity is NaN throughout.
            v[i] = ofp8::is_poisoned(scale) ? scale.dequantize : ofp8::apply(scale.factor, sum[j + i]);
        }
        words[j / 4] = ofp8::encode_x4<Format::E4M3>(v);
    }
}

int main()
{
    const u32 m = 256, n = 512, k = 64;
    std::vector<float> a(m * k), b(k * n);
    for (u32 i = 0; i < m * k; ++i) {
        a[i] = static_cast<float>(i % 17) - 8.0f;
    }
    for (u32 i = 0; i < k * n; ++i) {
        b[i] = static_cast<float>(i % 13) * 0.125f;
    }
    const ofp8::Tile128x4 layout = {m, n / BLOCK};
    float *device_a, *device_b;
    u8 *codes, *scales;
    cudaMalloc(&device_a, a.size() * sizeof(float));
    cudaMalloc(&device_b, b.size() * sizeof(float));
    cudaMalloc(&codes, m * n);
    cudaMalloc(&scales, layout.size());
    cudaMemset(scales, 0, layout.size()); // padding must be zero
    cudaMemcpy(device_a, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(device_b, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice);
    product_to_mxfp8<<<dim3(n / BLOCK / 8, m / 16), dim3(8, 16)>>>(device_a, device_b, m, n, k, codes, scales);
    std::vector<u8> host_codes(m * n), host_scales(layout.size());
    cudaMemcpy(host_codes.data(), codes, host_codes.size(), cudaMemcpyDeviceToHost);
    cudaMemcpy(host_scales.data(), scales, host_scales.size(), cudaMemcpyDeviceToHost);
    if (cudaGetLastError() != cudaSuccess) {
        std::printf("no device, or the launch failed\n");
        return 1;
    }
    const float first = ofp8::dequantize<Format::E4M3>(ofp8::e8m0_value(host_scales[0]), host_codes[0]);
    std::printf("C[0][0] = %g\n", static_cast<double>(first));
    return 0;
}

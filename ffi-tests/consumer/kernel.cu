// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel that encodes through the headers, and a matrix through the ready kernels.
#include <cstdio>
#include <ofp8.cuh>
#include <ofp8.hpp>
#include <ofp8_cuda.h>

__global__ void to_fp8(const float4 *x, unsigned *codes, float scale)
{
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    const float v[4] = {x[i].x * scale, x[i].y * scale, x[i].z * scale, x[i].w * scale};
    codes[i] = ofp8::encode_x4<ofp8::Format::E4M3>(v);
}

__global__ void sum(const ofp8::E4M3 *values, int count, float *result)
{
    float sum = 0;
    for (int i = 0; i < count; ++i) {
        sum += values[i];
    }
    *result = sum;
}

int main()
{
    constexpr int rows = 32, cols = 128, count = rows * cols;
    float *source = nullptr, *result = nullptr;
    ofp8::E4M3 *codes = nullptr;
    std::uint8_t *scales = nullptr;
    if (cudaMallocManaged(&source, count * sizeof(float)) != cudaSuccess ||
        cudaMallocManaged(&result, sizeof(float)) != cudaSuccess ||
        cudaMallocManaged(&codes, count) != cudaSuccess ||
        cudaMallocManaged(&scales, count / 32) != cudaSuccess) {
        std::puts("no GPU");
        return 1;
    }
    for (int i = 0; i < count; ++i) {
        source[i] = 1.0f;
    }
    const auto *quads = reinterpret_cast<const float4 *>(source);
    to_fp8<<<count / 4 / 128, 128>>>(quads, reinterpret_cast<unsigned *>(codes), 2.0f);
    sum<<<1, 1>>>(codes, count, result);
    const bool is_done = cudaDeviceSynchronize() == cudaSuccess && *result == 2.0f * count;

    const ofp8_recipe recipe = ofp8::presets::MXFP8.recipe();
    ofp8_shape shape{};
    shape.struct_size = sizeof shape;
    shape.rows = rows;
    shape.cols = cols;
    shape.wide_type = OFP8_F32;
    ofp8_cuda_copy row{};
    row.struct_size = sizeof row;
    row.codes = reinterpret_cast<std::uint8_t *>(codes);
    row.scales = scales;
    const ofp8_status status = ofp8_cuda_quantize(&recipe, &shape, source, &row, nullptr, nullptr, nullptr);
    std::puts(ofp8_status_text(status));
    return is_done && status == OFP8_OK && cudaDeviceSynchronize() == cudaSuccess && codes[0] == 256 ? 0 : 1;
}

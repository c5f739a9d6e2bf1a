// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What ofp8.cuh uses of CUDA's own headers, declared, so that clang's CUDA mode can compile it without them:
// `clang++ -x cuda -nocudainc -nocudalib -include clang.hpp`. Nothing that is compiled so can be linked.
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))

struct Index {
    unsigned x, y, z;
};
extern const __device__ Index threadIdx, blockIdx, blockDim, gridDim;

__device__ void __syncthreads();
__device__ unsigned __shfl_xor_sync(unsigned mask, unsigned value, int distance);
__device__ unsigned __reduce_max_sync(unsigned mask, unsigned value);
__device__ unsigned __reduce_min_sync(unsigned mask, unsigned value);
__device__ unsigned __reduce_add_sync(unsigned mask, unsigned value);
template <class T> __device__ T atomicMax(T *place, T value);
template <class T> __device__ T atomicMin(T *place, T value);
template <class T> __device__ T atomicAdd(T *place, T value);
template <class T> __device__ T atomicCAS(T *place, T expected, T value);

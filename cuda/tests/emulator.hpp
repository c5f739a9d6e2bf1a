// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A device on the CPU, for tests on machines without a GPU: what ofp8.cuh and ofp8_quantize.cuh use of CUDA, in plain
// C++ on Linux. Compile with `-DOFP8_EMULATED_DEVICE -include emulator.hpp`.
//
// The threads of a block are fibers that run in turn until each waits at a barrier; blocks run one after another.
// Arithmetic takes the software path, as on an sm_80. A barrier that some threads never reach ends the program.
#ifndef OFP8_TESTS_EMULATOR_HPP
#define OFP8_TESTS_EMULATOR_HPP

#include <ucontext.h>

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#define __global__
#define __shared__ static
#define __launch_bounds__(...)

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned across = 1, unsigned down = 1, unsigned deep = 1) : x(across), y(down), z(deep) {}
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

using cudaStream_t = struct CUstream_st *;
enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1 };

inline cudaError_t cudaMemsetAsync(void *to, int value, std::size_t bytes, cudaStream_t)
{
    std::memset(to, value, bytes);
    return cudaSuccess;
}

inline dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulator {

enum class State { Ready, AtWarpBarrier, AtBlockBarrier, Done };

// A fiber lives as long as the program: entered once through its context, it goes on through jumps, from block to block,
// which spares system calls.
struct Fiber {
    ucontext_t context;
    std::jmp_buf place;
    std::unique_ptr<char[]> stack;
    State state;
};

inline constexpr unsigned WARP = 32;
inline constexpr std::size_t STACK = 128 << 10;

inline std::jmp_buf scheduler;
inline std::deque<Fiber> fibers; // which stay where they are
inline unsigned current;
inline std::vector<unsigned> exchange; // a word a thread
inline std::function<void()> work;

inline void wait(State state)
{
    fibers[current].state = state;
    if (_setjmp(fibers[current].place) == 0) {
        _longjmp(scheduler, 1);
    }
}

inline void enter()
{
    for (;;) {
        work();
        wait(State::Done);
    }
}

// Lets a fiber run until it waits or ends.
inline void resume(Fiber &fiber)
{
    if (_setjmp(scheduler) != 0) {
        return;
    }
    if (fiber.stack) {
        _longjmp(fiber.place, 1);
    }
    fiber.stack = std::make_unique<char[]>(STACK);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = STACK;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, enter, 0);
    setcontext(&fiber.context);
}

// Lets the fibers from..to go on if all of them wait in this state (or, at a barrier of the block, have ended).
inline bool release(unsigned from, unsigned to, State state)
{
    bool waits = false;
    for (unsigned i = from; i < to; ++i) {
        const bool ended = state == State::AtBlockBarrier && fibers[i].state == State::Done;
        if (fibers[i].state != state && !ended) {
            return false;
        }
        waits = waits || fibers[i].state == state;
    }
    for (unsigned i = from; waits && i < to; ++i) {
        if (fibers[i].state == state) {
            fibers[i].state = State::Ready;
        }
    }
    return waits;
}

inline void run_block()
{
    const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    fibers.resize(std::max<std::size_t>(fibers.size(), threads));
    exchange.resize(fibers.size());
    for (unsigned i = 0; i < threads; ++i) {
        fibers[i].state = State::Ready;
    }
    for (;;) {
        for (current = 0; current < threads; ++current) {
            if (fibers[current].state == State::Ready) {
                const unsigned row = current / blockDim.x;
                threadIdx = dim3(current % blockDim.x, row % blockDim.y, row / blockDim.y);
                resume(fibers[current]);
            }
        }
        bool goes_on = release(0, threads, State::AtBlockBarrier);
        for (unsigned i = 0; i < threads; i += WARP) {
            goes_on = release(i, std::min(threads, i + WARP), State::AtWarpBarrier) || goes_on;
        }
        const auto is_done = [](const Fiber &fiber) { return fiber.state == State::Done; };
        if (std::all_of(fibers.begin(), fibers.begin() + threads, is_done)) {
            return;
        }
        if (!goes_on) {
            std::fprintf(stderr, "emulator: a barrier that not all threads reach\n");
            std::abort();
        }
    }
}

inline cudaError_t launch(std::function<void()> kernel, dim3 grid, dim3 block)
{
    work = std::move(kernel);
    gridDim = grid;
    blockDim = block;
    for (unsigned y = 0; y < grid.y; ++y) {
        for (unsigned x = 0; x < grid.x; ++x) {
            blockIdx = dim3(x, y, 0);
            run_block();
        }
    }
    return cudaSuccess;
}

// Shows a word to the warp and folds those of all its threads.
template <class Fold> unsigned fold_warp(unsigned value, Fold fold)
{
    exchange[current] = value;
    wait(State::AtWarpBarrier);
    const unsigned first = current / WARP * WARP;
    unsigned result = exchange[first];
    for (unsigned i = first + 1; i < first + WARP; ++i) {
        result = fold(result, exchange[i]);
    }
    wait(State::AtWarpBarrier); // all have read
    return result;
}

} // namespace emulator

inline void __syncthreads() { emulator::wait(emulator::State::AtBlockBarrier); }

inline unsigned __shfl_xor_sync(unsigned, unsigned value, int distance)
{
    emulator::exchange[emulator::current] = value;
    emulator::wait(emulator::State::AtWarpBarrier);
    const unsigned other = emulator::exchange[emulator::current ^ static_cast<unsigned>(distance)];
    emulator::wait(emulator::State::AtWarpBarrier);
    return other;
}

inline unsigned __reduce_max_sync(unsigned, unsigned value)
{
    return emulator::fold_warp(value, [](unsigned a, unsigned b) { return std::max(a, b); });
}
inline unsigned __reduce_min_sync(unsigned, unsigned value)
{
    return emulator::fold_warp(value, [](unsigned a, unsigned b) { return std::min(a, b); });
}
inline unsigned __reduce_add_sync(unsigned, unsigned value)
{
    return emulator::fold_warp(value, [](unsigned a, unsigned b) { return a + b; });
}

template <class T> T atomicMax(T *place, T value) { return std::exchange(*place, std::max(*place, value)); }
template <class T> T atomicMin(T *place, T value) { return std::exchange(*place, std::min(*place, value)); }
template <class T> T atomicCAS(T *place, T expected, T value)
{
    return *place == expected ? std::exchange(*place, value) : *place;
}
template <class T> T atomicAdd(T *place, T value) { return std::exchange(*place, *place + value); }

namespace ofp8::kernel {

template <class Arguments>
cudaError_t launch(void (*kernel)(Arguments), dim3 grid, dim3 block, cudaStream_t, Arguments arguments)
{
    return emulator::launch([=] { kernel(arguments); }, grid, block);
}

} // namespace ofp8::kernel

#endif // OFP8_TESTS_EMULATOR_HPP

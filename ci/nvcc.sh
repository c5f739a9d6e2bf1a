#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The C++ and CUDA headers, as far as a machine without a GPU goes: the arithmetic on the host against the C ABI on every
# input, the kernels on the emulated device, nvcc for every architecture without a warning or a spill, the instructions
# in the PTX, NVRTC of CUDA 12 and 13. `--quick` samples what otherwise is swept.
source "$(dirname "$0")/lib.sh"
command -v g++ >/dev/null || need_apt build
command -v clang++ >/dev/null || need_apt cmake

cuda=$(nvcc_home)
nvrtc12=$(site_packages nvrtc12)
library=$(build_library staticlib)
build=$target/cuda
mkdir -p "$build"
sweep=--full
[ "${1:-}" = --quick ] && sweep=

strict=(-O2 -Wall -Wextra -Wpedantic -Werror -Iinclude -Icuda)
header=("${strict[@]}" -Wshadow -Wsign-conversion -fsyntax-only) # what others include, whatever they warn about
emulated=(-DOFP8_EMULATED_DEVICE -include cuda/tests/emulator.hpp)

# step WHAT: say what comes, and when.
step() { printf '\n--- %s (after %d s)\n' "$1" "$SECONDS"; }

step "nvcc, every architecture, in the background"
architectures=(80 86 89 90a 100a 103a 120a)
codes=()
for architecture in "${architectures[@]}"; do
    codes+=(-gencode "arch=compute_$architecture,code=sm_$architecture")
done
nvcc=("$cuda/bin/nvcc" -std=c++17 -O3 -Xcompiler=-Wall -Xcompiler=-Wextra -Werror all-warnings -Iinclude -Icuda
    "-I$cuda/include" "-I$cuda/include/cccl" "-L$cuda/lib")
"${nvcc[@]}" "${codes[@]}" -Xptxas=-v -c cuda/ofp8_cuda.cu -o "$build/ofp8_cuda.o" >"$build/ptxas.log" 2>&1 &
entry=$!

step "the arithmetic on the host: g++ and clang++, C++17 and C++20"
for compiler in g++ clang++; do
    for standard in c++17 c++20; do
        echo '#include "ofp8.cuh"' | "$compiler" -std=$standard -x c++ "${header[@]}" -
        "$compiler" -std=$standard -x c++ "${header[@]}" "${emulated[@]}" cuda/ofp8_cuda.cu
    done
done
g++ -std=c++17 "${strict[@]}" ffi-tests/cpp/arith.cpp "$library" -pthread -o "$build/arith"
"$build/arith" $sweep
clang++ -std=c++20 "${strict[@]}" ffi-tests/cpp/arith.cpp "$library" -pthread -o "$build/arith-clang"
"$build/arith-clang"

step "clang's CUDA mode, as far as it goes without CUDA's headers"
for side in host device; do
    clang++ -x cuda "--cuda-$side-only" --cuda-gpu-arch=sm_80 -nocudainc -nocudalib -std=c++17 "${strict[@]}" \
        -include cuda/tests/clang.hpp -S cuda/tests/instructions.cu -o "$build/clang-$side.s"
done

step "the C entry from C99"
echo '#include "ofp8_cuda.h"' | gcc -std=c99 -x c "${strict[@]}" -fsyntax-only -

step "the kernels on the emulated device"
g++ -std=c++17 "${strict[@]}" "${emulated[@]}" -x c++ cuda/tests/device.cu cuda/ofp8_cuda.cu -x none "$library" \
    -pthread -o "$build/device-emulated"
"$build/device-emulated" --sweep 12

step "NVRTC"
python3 cuda/tests/nvrtc.py "$nvrtc12/nvidia/cuda_nvrtc/lib/libnvrtc.so.12" sm_90a sm_100a
LD_LIBRARY_PATH=$cuda/lib python3 cuda/tests/nvrtc.py "$cuda/lib/libnvrtc.so.13" sm_90a sm_100a

step "an architecture that is too old says so"
echo '#include "ofp8.cuh"' >"$build/old.cu"
"${nvcc[@]}" -arch=sm_75 -c "$build/old.cu" -o "$build/old.o" 2>"$build/old.log" && fail "sm_75 compiles"
grep -q 'sm_80 or later' "$build/old.log" || fail "sm_75 gives no reason: $(cat "$build/old.log")"

step "the instructions in the PTX"
cuda/tests/instructions.sh "$cuda/bin/nvcc" "$build"

step "nvcc: registers and spills"
wait "$entry" || { cat "$build/ptxas.log"; fail "nvcc"; }
python3 cuda/tests/registers.py "${#architectures[@]}" <"$build/ptxas.log"

step "the device tests and the example build"
"${nvcc[@]}" -arch=sm_90a -o "$build/device" cuda/tests/device.cu "$build/ofp8_cuda.o" "$library"
"${nvcc[@]}" -arch=sm_90a -o "$build/gemm_epilogue" cuda/examples/gemm_epilogue.cu
for readme in README.md cuda/README.md; do
    # shellcheck disable=SC2016 # those are Markdown's
    sed -n '/^```cuda$/,/^```$/p' "$readme" | grep -v '^```' >"$build/readme.cu"
    grep -q __global__ "$build/readme.cu" || fail "$readme has no kernel"
    "${nvcc[@]}" -arch=sm_90a -use_fast_math -ptx -o "$build/readme.ptx" "$build/readme.cu"
    ! grep -nE '\.(ftz|approx)\b' "$build/readme.ptx" || fail "fast math reaches the kernel of $readme"
done
bash -n cuda/tests/run.sh
echo "nvcc: everything compiles; nothing here ran on a GPU"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The tests of the crate, its documentation and its C and C++ programs on AArch64, under an emulator: the kernels of
# Advanced SIMD among all others. Not here: long sweeps of integer arithmetic and of places in layouts, which meet no
# kernel, the files of the converter, and those tests of ffi-tests that look at text, at Python or at the host's archive.
# At last, a project that CMake compiles across.
# With `--sweep`, instead, the kernel of Advanced SIMD on all 2^32 f32: a quarter of an hour of processor time.
source "$(dirname "$0")/lib.sh"
need_apt nostd
need_apt neon
need_apt cmake

# The independent vectors, where they lie beside the project: then no test may skip them.
if [ -d ../shared/vectors ]; then
    export OFP8_VECTORS=required
fi
if [ "${1:-}" = --sweep ]; then
    OFP8_TEST_KERNEL=neon aarch64_cargo test --release --package ofp8 --all-features --test kernels -- --ignored
    exit
fi

# The first two start programs of their own, which only the emulator could run.
without=(--skip it_names_any_kernel_of_this_machine --skip what_is_no_name_is_ignored
    --skip sample:: --skip every_significand_obeys --skip every_subnormal_obeys --skip all_inputs_of_16_bits
    --skip bijection --skip directories:: --skip files:: --skip refusals::)
aarch64_cargo test --package ofp8 --all-features -- "${without[@]}"

library=$(aarch64_library)
strict=(-O1 -Wall -Wextra -Wpedantic -Werror -static -Iinclude)
for source in ffi-tests/c/*.c; do
    program=$target/neon/$(basename "$source" .c)
    aarch64-linux-gnu-gcc -std=c99 "${strict[@]}" -o "$program" "$source" "$library" -lm
    qemu-aarch64 "$program"
done
# Of the C++ programs those that meet a kernel: the others sweep the arithmetic of the headers.
for source in ffi-tests/c/*.cpp ffi-tests/cpp/quantizer.cpp; do
    program=$target/neon/$(basename "$source" .cpp)
    aarch64-linux-gnu-g++ -std=c++17 "${strict[@]}" -o "$program" "$source" "$library" -lm
    qemu-aarch64 "$program"
done

# And as a project that is compiled for another machine takes it.
work=$target/neon/consumer
rm -rf "$work"
export RUSTC=/usr/bin/rustc
cmake -S ffi-tests/consumer -B "$work" -DCMAKE_BUILD_TYPE=Release "-DOFP8_SOURCE_DIR=$root" \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
    -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
    "-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64;-L;/usr/aarch64-linux-gnu" \
    -DOFP8_CARGO=/usr/bin/cargo "-DOFP8_CARGO_TARGET_DIR=$target/neon/cmake"
cmake --build "$work"
ctest --test-dir "$work" --output-on-failure

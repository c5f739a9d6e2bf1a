#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# ofp8 as C and C++ projects take it: a project outside the tree builds and runs with the installed package, with the
# source tree as a subdirectory, and with pkg-config and plain compilers; in C99, C++17 and C++20, with gcc and clang,
# against the static and the shared library. nvcc compiles its CUDA program.
source "$(dirname "$0")/lib.sh"
need_apt cmake
command -v g++ >/dev/null || need_apt build

cuda=$(nvcc_home)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r ffi-tests/consumer "$work/project"
compilers=("gcc g++" "clang clang++")
jobs=$(nproc)

# step WHAT: say what comes, and when.
step() { printf '\n--- %s (after %d s)\n' "$1" "$SECONDS"; }

# consume NAME OPTION...: configure, build and test the project.
consume() {
    local name=$1
    shift
    cmake -S "$work/project" -B "$work/$name" "$@" >"$work/$name.log"
    cmake --build "$work/$name" --parallel "$jobs" >>"$work/$name.log" || { cat "$work/$name.log"; fail "$name"; }
    ctest --test-dir "$work/$name" --output-on-failure
}

step "install, staged"
prefix=$work/stage/opt/ofp8
cmake -S . -B "$work/ofp8" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/opt/ofp8 -DCMAKE_INSTALL_LIBDIR=lib \
    "-DOFP8_CARGO_TARGET_DIR=$target/cmake"
cmake --build "$work/ofp8"
DESTDIR=$work/stage cmake --install "$work/ofp8"
readelf -d "$prefix/lib/libofp8.so" | grep -q 'soname: \[libofp8\.so\.0\]' || fail "the shared library's name"
nm -D --defined-only "$prefix/lib/libofp8.so" | awk '{ print $3 }' | sort | diff ffi-tests/abi/symbols.txt - ||
    fail "the shared library exports something else than ffi-tests/abi/symbols.txt"

step "the CUDA program, in the background"
(
    cmake -S "$work/project" -B "$work/cuda" "-DCMAKE_PREFIX_PATH=$prefix" -DWITH_CUDA=ON \
        "-DCMAKE_CUDA_COMPILER=$cuda/bin/nvcc" -DCMAKE_CUDA_ARCHITECTURES=90a \
        "-DCMAKE_CUDA_FLAGS=-I$cuda/include -I$cuda/include/cccl -L$cuda/lib" &&
        cmake --build "$work/cuda" --target cuda
) >"$work/cuda.log" 2>&1 &
nvcc=$!

for pair in "${compilers[@]}"; do
    read -r cc cxx <<<"$pair"
    choice=("-DCMAKE_C_COMPILER=$cc" "-DCMAKE_CXX_COMPILER=$cxx")
    step "find_package, $cc"
    consume "package-$cc" "${choice[@]}" "-DCMAKE_PREFIX_PATH=$prefix"
    step "add_subdirectory, $cc"
    consume "subdirectory-$cc" "${choice[@]}" -DCMAKE_BUILD_TYPE=Release "-DOFP8_SOURCE_DIR=$root" \
        "-DOFP8_CARGO_TARGET_DIR=$target/cmake"
done

step "add_subdirectory, for size"
consume small -DCMAKE_BUILD_TYPE=MinSizeRel "-DOFP8_SOURCE_DIR=$root" "-DOFP8_CARGO_TARGET_DIR=$target/cmake"

step "pkg-config and plain compilers"
export PKG_CONFIG_SYSROOT_DIR=$work/stage PKG_CONFIG_PATH=$prefix/lib/pkgconfig
[ "$(pkg-config --modversion ofp8)" = "$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)" ] || fail "the version in ofp8.pc"
strict=(-Wall -Wextra -Wpedantic -Wconversion -Werror)
read -ra cflags <<<"$(pkg-config --cflags ofp8)"
read -ra shared <<<"$(pkg-config --libs ofp8)"
static=("$prefix/lib/libofp8.a")
for pair in "${compilers[@]}"; do
    read -r cc cxx <<<"$pair"
    for program in "$cc -std=c99 main.c" "$cxx -std=c++17 main.cpp" "$cxx -std=c++20 main.cpp"; do
        read -r compiler standard source <<<"$program"
        object=$work/main.o
        "$compiler" "$standard" "${strict[@]}" "${cflags[@]}" -c "$work/project/$source" -o "$object"
        "$compiler" "$object" "${shared[@]}" -o "$work/main-shared"
        "$compiler" "$object" "${static[@]}" -o "$work/main-static"
        echo "$compiler $standard:"
        LD_LIBRARY_PATH=$prefix/lib "$work/main-shared"
        "$work/main-static"
    done
done

step "ofp8.hpp by clang"
for program in numbers quantizer; do
    clang++ -std=c++20 -O1 "${strict[@]}" "${cflags[@]}" "ffi-tests/cpp/$program.cpp" "${static[@]}" -o "$work/$program"
    "$work/$program"
done

step "the CUDA program"
wait "$nvcc" || { cat "$work/cuda.log"; fail "nvcc"; }
tail -n 1 "$work/cuda.log"
echo "cmake: three ways, three standards, two compilers; nvcc compiles (nothing here ran on a GPU)"

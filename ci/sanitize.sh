#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# AddressSanitizer over the library, under its C and C++ programs and under its Rust tests with every kernel, and
# UndefinedBehaviorSanitizer over the programs. First of all deliberate errors, which both must notice: a suite that
# looks at nothing does not pass. Nothing here sweeps.
source "$(dirname "$0")/lib.sh"
command -v g++ >/dev/null || need_apt build

work=$target/sanitize
programs=$work/programs
mkdir -p "$programs"
export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1

# step WHAT: say what comes, and when.
step() { printf '\n--- %s (after %d s)\n' "$1" "$SECONDS"; }

# compile SOURCE...: compile and link a program under both sanitizers; its path in $program.
compile() {
    local compiler=(gcc -std=c99)
    [[ $1 == *.cpp ]] && compiler=(g++ -std=c++17)
    program=$programs/$(basename "$1")
    "${compiler[@]}" -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer \
        -Wall -Wextra -Wpedantic -Werror -Iinclude "$@" "$library" -pthread -lm -o "$program"
}

# notices PATTERN COMMAND...: the command fails, and what it prints has the pattern.
notices() {
    local pattern=$1 printed
    shift
    if printed=$("$@" 2>&1); then
        fail "nothing noticed: $*"$'\n'"$printed"
    fi
    grep -qE "$pattern" <<<"$printed" || fail "not what was to be noticed ($pattern): $*"$'\n'"$printed"
}

step "the static library"
sanitized_cargo rustc --quiet --release --package ofp8 --lib --crate-type staticlib --features capi -- --cfg ofp8_staticlib
library=$work/$host/release/libofp8.a
sh cmake/tidy-archive.sh "$library" # away with rustc's own runtime of the sanitizer: the C compiler brings one

step "deliberate errors in C"
compile ffi-tests/sanitize/overflow.c
kernels=()
number=0
for kernel in portable avx2 avx512 neon; do
    number=$((number + 1))
    status=0
    "$program" "$number" NOTHING || status=$?
    if [ "$status" -eq 77 ]; then
        echo "sanitize: not on this machine: $kernel"
        continue
    fi
    [ "$status" -eq 0 ] || fail "$program $number NOTHING"
    for what in READ WRITE; do
        notices "heap-buffer-overflow" "$program" "$number" $what
        notices "^$what of size" "$program" "$number" $what
        notices "#[01] .*kernel[0-9]+$kernel" "$program" "$number" $what
    done
    kernels+=("$kernel")
done
notices "runtime error: signed integer overflow" "$program" 0 UNDEFINED
echo "sanitize: noticed: reads and writes behind buffers by ${kernels[*]}, and undefined behaviour"

step "the programs in C and C++"
for source in ffi-tests/c/*.c ffi-tests/c/*.cpp ffi-tests/cpp/*.cpp; do
    compile "$source"
    "$program"
done

# Those that force every kernel themselves or meet none, and those that run under each.
once=(--lib --test kernels --test threads --test delayed --test layout)
each=(--test quantize --test pack --test properties --test accumulate)
# Long ones of integer arithmetic, which meet no kernel.
without=(--skip every_significand_obeys --skip every_subnormal_obeys --skip every_format_obeys --skip bijection)
step "the tests in Rust"
sanitized_cargo test --quiet --package ofp8 --all-features "${once[@]}" "${each[@]}" --no-run
for kernel in "${kernels[@]}"; do
    OFP8_KERNEL=$kernel notices "#[0-9]+ .*kernel[0-9]*(::)?$kernel" \
        sanitized_cargo test --package ofp8 --all-features --lib -- --ignored a_store_behind_a_buffer
done
echo "sanitize: noticed: writes behind buffers by the kernels in Rust"
sanitized_cargo test --package ofp8 --all-features "${once[@]}" -- "${without[@]}"
for kernel in "${kernels[@]}"; do
    # Nothing in it is unsafe, and the kernels' own tests above have forced it.
    [ "$kernel" = portable ] && continue
    step "the tests in Rust, $kernel"
    OFP8_KERNEL=$kernel sanitized_cargo test --package ofp8 --all-features "${each[@]}" -- "${without[@]}"
done

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Counts, under an emulator, the AArch64 instructions an element that kernels take: no measure of time, but of work.
# What is counted is the difference between two lengths, so that nothing but the loops is.
source "$(dirname "$0")/../ci/lib.sh"
need_apt nostd
need_apt neon

library=$(aarch64_library)
program=$target/neon/instructions
aarch64-linux-gnu-gcc -std=c99 -O1 -Wall -Wextra -static -Iinclude bench/instructions.c "$library" -o "$program"

# executed ARGUMENTS...: how many instructions the program executes.
executed() {
    qemu-aarch64 -singlestep -d nochain,exec "$program" "$@" 2>&1 | grep -c '^Trace'
}

# each_element KERNEL WORK FORMAT TYPE: instructions an element.
each_element() {
    local few many
    few=$(executed "$@" 2048)
    many=$(executed "$@" 10240)
    awk -v few="$few" -v many="$many" 'BEGIN { printf "%.2f", (many - few) / 8192 }'
}

printf '%-10s %-8s %-5s %9s %9s\n' work format type portable neon
while read -r work format format_number type type_number; do
    printf '%-10s %-8s %-5s' "$work" "$format" "$type"
    for kernel in 1 4; do
        printf ' %9s' "$(each_element $kernel "$work" "$format_number" "$type_number")"
    done
    echo
done <<'WORK'
encode E4M3 1 f32 1
encode E4M3 1 f16 2
encode E4M3 1 bf16 3
encode E4M3Fnuz 3 f32 1
encode E2M1 13 f32 1
decode E4M3 1 f32 1
decode E4M3 1 f16 2
decode E4M3 1 bf16 3
decode E4M3Fnuz 3 f32 1
decode E2M1 13 f32 1
amax - 1 f32 1
amax - 1 bf16 3
quantize E4M3 1 f32 1
quantize E4M3 1 bf16 3
dequantize E4M3 1 f32 1
dequantize E4M3 1 bf16 3
WORK

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Looks into the PTX of the helpers: each architecture has the conversion instructions that it should have, and no other;
# a build with -use_fast_math flushes nothing and approximates nothing. Needs no GPU.
#
#     cuda/tests/instructions.sh NVCC FOLDER [FLAG...]
set -euo pipefail
export LC_ALL=C
nvcc=$1 folder=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)

# ptx NAME ARCHITECTURE FLAG...: compile, and list the conversions to and from narrow formats.
ptx() {
    local name=$1 architecture=$2
    shift 2
    "$nvcc" -std=c++17 -I "$here/../../include" -I "$here/.." -arch="sm_$architecture" -ptx -Werror all-warnings \
        "$@" "$here/instructions.cu" -o "$folder/$name.ptx"
    grep -oE 'cvt\.[a-z0-9.]*(e[0-9]m[0-9]x[24]|ue8m0x2)[a-z0-9.]*' "$folder/$name.ptx" | sort -u || true
}

fp8=$(printf '%s\n' cvt.rn.satfinite.{e4m3x2,e5m2x2}.{f32,f16x2} cvt.rn.f16x2.{e4m3x2,e5m2x2})
narrow=$(printf '%s\n' cvt.rn.satfinite.{e2m1x2,e2m3x2,e3m2x2}.f32 cvt.rn.f16x2.{e2m1x2,e2m3x2,e3m2x2} \
    cvt.rn.satfinite.{e4m3x2,e5m2x2}.bf16x2 cvt.{rp,rz}.satfinite.ue8m0x2.f32)
stochastic=$(printf '%s\n' cvt.rs.satfinite.{e4m3x4,e5m2x4}.f32)

# expect WHAT FOUND LINES...: the conversions found are these.
expect() {
    local what=$1 found=$2 expected
    shift 2
    expected=$(printf '%s\n' "$@" | grep . | sort -u || true)
    if [ "$found" != "$expected" ]; then
        echo "FAILED: conversions on $what (expected, found):" >&2
        diff <(echo "$expected") <(echo "$found") >&2 || true
        exit 1
    fi
    echo "instructions: $what: $(echo "$found" | grep -c . || true) conversion instructions, as expected"
}

for architecture in 80 86; do
    expect "sm_$architecture" "$(ptx "$architecture" "$architecture" "$@")"
done
for architecture in 89 90a; do
    expect "sm_$architecture" "$(ptx "$architecture" "$architecture" "$@")" "$fp8"
done
for architecture in 100 120; do # plain: not even those that only some of the family have
    expect "sm_$architecture" "$(ptx "$architecture" "$architecture" "$@")" "$fp8"
done
for architecture in 100a 103a 120a 100f; do
    expect "sm_$architecture" "$(ptx "$architecture" "$architecture" "$@")" "$fp8" "$narrow"
done
for architecture in 100a 103a; do
    found=$(ptx "$architecture-rs" "$architecture" -DOFP8_USE_CVT_RS=1 "$@")
    expect "sm_$architecture with OFP8_USE_CVT_RS" "$found" "$fp8" "$narrow" "$stochastic"
done
expect "sm_120a with OFP8_USE_CVT_RS" "$(ptx 120a-rs 120a -DOFP8_USE_CVT_RS=1 "$@")" "$fp8" "$narrow"
expect "sm_100a with all switches off" \
    "$(ptx off 100a -DOFP8_PTX_FP8=0 -DOFP8_PTX_NARROW=0 -DOFP8_PTX_BF16=0 "$@")"
# Each switch alone.
rs=-DOFP8_USE_CVT_RS=1
without() { printf '%s\n' "$fp8" "$narrow" "$stochastic" | grep -vE "$1"; }
expect "sm_100a without OFP8_PTX_FP8" "$(ptx off-fp8 100a $rs -DOFP8_PTX_FP8=0 "$@")" \
    "$(without '(e4m3x2|e5m2x2)\.(f32|f16x2)$|f16x2\.(e4m3x2|e5m2x2)')"
expect "sm_100a without OFP8_PTX_NARROW" "$(ptx off-narrow 100a $rs -DOFP8_PTX_NARROW=0 "$@")" \
    "$(without 'e2m1|e2m3|e3m2|ue8m0')"
expect "sm_100a without OFP8_PTX_BF16" "$(ptx off-bf16 100a $rs -DOFP8_PTX_BF16=0 "$@")" "$(without bf16x2)"
expect "sm_100a without OFP8_PTX_STOCHASTIC" "$(ptx off-rs 100a $rs -DOFP8_PTX_STOCHASTIC=0 "$@")" "$(without 'cvt\.rs')"

# With fast math: whatever flushes or approximates would be an operation that the header left to the compiler. (The sums
# of this test itself are exempt.)
for architecture in 80 100a; do
    ptx "fast-$architecture" "$architecture" -use_fast_math "$@" >"$folder/fast"
    spoiled=$(grep -nE '\.(ftz|approx)\b' "$folder/fast-$architecture.ptx" | grep -vE 'add\.ftz\.f32' || true)
    [ -z "$spoiled" ] || { echo "FAILED: fast math reaches sm_$architecture:"$'\n'"$spoiled" >&2; exit 1; }
    echo "instructions: sm_$architecture with -use_fast_math: nothing flushes, nothing is approximate"
done

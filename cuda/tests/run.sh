#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The device tests on a machine with a GPU: every helper and kernel against the library, again in a build with
# -use_fast_math, then the time of each kernel, and PyTorch's where PyTorch is installed. Takes a few minutes; SWEEP=32
# tries the helpers on all f32, which takes longer.
#
#     cuda/tests/run.sh [RECORD]     needs nvcc (or NVCC=...), a C++ compiler and cargo (or LIBRARY=libofp8.a)
#
# What it prints goes to RECORD too (default: cuda/tests/record/<device>.txt), to be committed. With DRY_RUN=1 it builds
# everything and stops before the device is touched.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/../.."
nvcc=${NVCC:-nvcc}
build=${CARGO_TARGET_DIR:-target}/cuda
mkdir -p "$build"

library=${LIBRARY:-}
if [ -z "$library" ]; then
    cargo rustc --quiet --release --package ofp8 --lib --crate-type staticlib --features capi -- --cfg ofp8_staticlib
    library=${CARGO_TARGET_DIR:-target}/release/libofp8.a
fi

architecture=${ARCHITECTURE:-}
if [ -z "$architecture" ]; then
    architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader -i 0 | tr -d '. ')
    # From Hopper on the architecture-specific instructions are wanted.
    [ "$architecture" -ge 90 ] && architecture=${architecture}a
fi

read -r -a flags <<<"-std=c++17 -O3 -arch=sm_$architecture -Iinclude -Icuda ${NVCC_FLAGS:-}"
sources=(cuda/tests/device.cu cuda/ofp8_cuda.cu)
"$nvcc" "${flags[@]}" "${sources[@]}" "$library" -o "$build/device"
"$nvcc" "${flags[@]}" -use_fast_math "${sources[@]}" "$library" -o "$build/device-fast"
builds=(device device-fast)
case $architecture in
    100a | 103a) # how cvt.rs takes its random bits, against the rule that the header documents
        "$nvcc" "${flags[@]}" -DOFP8_USE_CVT_RS=1 "${sources[@]}" "$library" -o "$build/device-rs"
        builds+=(device-rs)
        ;;
esac
echo "built for sm_$architecture: ${builds[*]}"
if [ "${DRY_RUN:-}" = 1 ]; then
    exit
fi

device=$(nvidia-smi --query-gpu=name --format=csv,noheader -i 0 | tr ' /' '__')
record=${1:-cuda/tests/record/$device.txt}
mkdir -p "$(dirname "$record")"
{
    echo "# cuda/tests/run.sh, $(date -u +%Y-%m-%d), commit $(git rev-parse --short HEAD), sm_$architecture"
    echo "# $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader -i 0), $("$nvcc" --version | sed -n 's/.*release //p')"
    for program in "${builds[@]}"; do
        echo "# $program"
        "$build/$program" --sweep "${SWEEP:-28}" || failed="${failed:-} $program"
    done
    "$build/device" --sweep 8 --times || failed="${failed:-} times"
    if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
        echo "# PyTorch"
        python3 cuda/tests/torch_peer.py
    else
        echo "# PyTorch is not installed: no times of it"
    fi
    echo "# failed:${failed:- none}"
} 2>&1 | tee "$record"
tail -1 "$record" | grep -q '# failed: none'

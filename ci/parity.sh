#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The C ABI against implementations that share nothing with it: NVIDIA's FP8, FP6 and FP4 headers compiled for the host,
# ml_dtypes, and the scaling formulas of TransformerEngine, DeepSeek and torchao in numpy. `--full` sweeps every f32 for all that CI samples (about twenty minutes on two cores).
source "$(dirname "$0")/lib.sh"
command -v g++ >/dev/null || need_apt build

cuda=$(nvcc_home)
library=$(build_library staticlib)
g++ -std=c++17 -O2 -Wall -Wextra -Wpedantic -Werror -pthread -Iinclude \
    -isystem "$cuda/include" -isystem "$cuda/include/cccl" ffi-tests/parity/nvidia.cpp "$library" -o "$target/nvidia"
"$target/nvidia" "$@"

python=$(venv numpy)/bin/python
library=$(build_library cdylib)
"$python" ffi-tests/parity/ml_dtypes_parity.py "$library" "$@"
"$python" ffi-tests/parity/recipes_parity.py "$library"

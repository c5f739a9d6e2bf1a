#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The scalar reference against the exact oracle of the tests, on every input where it matters (`--sweep`); with
# `--full` on every input of every row. Arguments go to the test program. Then every kernel of this machine against the
# scalar reference on all 2^32 f32.
source "$(dirname "$0")/lib.sh"

[ $# -gt 0 ] || set -- --sweep
cargo test --release --package ofp8 --all-features --test exhaustive -- "$@"
cargo test --release --package ofp8 --all-features --test kernels -- --ignored

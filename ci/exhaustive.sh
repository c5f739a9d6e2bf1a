#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The scalar reference against the exact oracle of the tests, on every input. Arguments go to the test program.
source "$(dirname "$0")/lib.sh"

cargo test --release --package ofp8 --all-features --test exhaustive -- --nocapture "$@"

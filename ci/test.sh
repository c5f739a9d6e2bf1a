#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# `cargo test --workspace`, with the Python and the checkpoint that some of its tests use.
source "$(dirname "$0")/lib.sh"

command -v g++ >/dev/null || need_apt build
# The independent vectors, where they lie beside the project: then no test may skip them.
if [ -d ../shared/vectors ]; then
    export OFP8_VECTORS=required
fi
python=$(venv numpy)/bin/python
model=$(model_file)
OFP8_PYTHON=$python OFP8_MODEL=$model OFP8_REQUIRE_PYTHON=1 cargo test --workspace "$@"

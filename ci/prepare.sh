#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Prepare a Debian machine that has Rust: `bash ci/prepare.sh [GROUP...]` installs the Debian packages of the named
# groups of ci/packages.txt (all of them by default) and fills the cache of Python environments.
source "$(dirname "$0")/lib.sh"
export OFP8_INSTALL=1

[ $# -gt 0 ] || set -- $(sed -n 's/^\([a-z]*\): .*/\1/p' ci/packages.txt)
for group in "$@"; do
    need_apt "$group"
done
for pins in ci/requirements/*.txt; do
    venv "$(basename "$pins" .txt)"
done

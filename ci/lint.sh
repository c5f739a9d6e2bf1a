#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Form: formatting, lints, documentation, licence lines, and words that may not stay in the tree.
source "$(dirname "$0")/lib.sh"

retry cargo fetch --locked --quiet # fails where Cargo.lock is not up to date
cargo fmt --all --check
cargo clippy --workspace --all-targets --all-features -- -D warnings
cargo clippy --package ofp8 --lib -- -D warnings
RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --all-features

# Each source file names its licence in its first line, or in the second one after `#!`.
sources=('*.rs' '*.c' '*.cpp' '*.h' '*.hpp' '*.cu' '*.cuh' '*.py' '*.sh' '*.cmake' '*CMakeLists.txt' 'ci/*' '.ci/*')
unlicensed=$(git ls-files -z -- "${sources[@]}" | xargs -0 -r -n1 awk -v line='SPDX-License-Identifier: MIT OR Apache-2.0' '
    FNR == 1 && /^#!\// { next }
    { if (!index($0, line)) print FILENAME; exit }')
[ -z "$unlicensed" ] || fail "no SPDX line: $unlicensed"

# absent PATTERN WHAT: no tracked text file has it. (A letter in brackets keeps a pattern from finding itself.)
absent() {
    ! git grep -nIE -e "$1" || fail "$2"
}
absent '(^|[^[:alnum:]_.])/([w]ork|[r]oot|[h]ome)/' 'paths of one machine'
absent '\b([T]ODO|[F]IXME|[X]XX)\b|\b([t]odo|[u]nimplemented)!' 'unfinished work'
absent '^([<]{7}|[>]{7})( |$)' 'marks of an unfinished merge'
echo "lint: formatting, clippy, documentation, licence lines and words are in order"

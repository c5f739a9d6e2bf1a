#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Fuzzing with libFuzzer under AddressSanitizer: the C ABI, checkpoints for examples/quantize, packed codes, text. Each
# target runs for a minute, or for so many seconds: `ci/fuzz.sh 3600`. Inputs that reached something new are kept in the
# cache, where the next run begins. `ci/fuzz.sh TARGET FILE` repeats what one input does.
source "$(dirname "$0")/lib.sh"
command -v g++ >/dev/null || need_apt build

targets=(capi checkpoint packing text)
work=$target/fuzz
programs=$work/$host/release
logs=$work/logs
seeds=$work/seeds
mkdir -p "$logs"

# fuzz_cargo COMMAND...: cargo's COMMAND for the fuzz targets, with what cargo-fuzz sets: counters of the edges that an
# input takes, comparisons to learn from, AddressSanitizer.
fuzz_cargo() {
    local flags=(-Zsanitizer=address --cfg fuzzing -Cpasses=sancov-module) coverage
    for coverage in level=4 inline-8bit-counters pc-table trace-compares; do
        flags+=("-Cllvm-args=-sanitizer-coverage-$coverage")
    done
    RUSTC_BOOTSTRAP=1 RUSTFLAGS="${flags[*]}" CARGO_TARGET_DIR=$work \
        cargo "$1" --quiet --locked --manifest-path fuzz/Cargo.toml --release --target "$host" "${@:2}"
}

# fuzz TARGET SECONDS: run one target; what it says goes to $logs/TARGET.
fuzz() {
    local name=$1 corpus=$cache/fuzz/$1 options
    mkdir -p "$corpus" "$work/found"
    options=("-max_total_time=$2" -timeout=30 -rss_limit_mb=4096 -max_len=2048 -print_final_stats=1 -close_fd_mask=1
        "-artifact_prefix=$work/found/$name-")
    [ -e "fuzz/dictionaries/$name" ] && options+=("-dict=fuzz/dictionaries/$name")
    # What adds nothing to a smaller input leaves a corpus that has become large.
    if [ "$(find "$corpus" -type f | wc -l)" -gt 5000 ]; then
        rm -rf "$corpus.smaller"
        mkdir "$corpus.smaller"
        if "$programs/$name" -merge=1 -close_fd_mask=1 "$corpus.smaller" "$corpus" >"$logs/$name" 2>&1; then
            rm -rf "$corpus"
            mv "$corpus.smaller" "$corpus"
        fi
    fi
    "$programs/$name" "${options[@]}" "$corpus" "$seeds/$name" >"$logs/$name" 2>&1
}

# judge TARGET: what a run came to; fails where it ended badly or had looked at nothing.
judge() {
    local name=$1 found
    if [ ! -e "$logs/$name.ok" ]; then
        tail -n 60 "$logs/$name"
        found=$(sed -n 's/.*Test unit written to //p' "$logs/$name" | tail -n 1)
        fail "$name${found:+: 'bash ci/fuzz.sh $name $found' repeats it}"
    fi
    grep -qE '\([0-9]{4,} inline 8-bit counters\)' "$logs/$name" || fail "$name was built without counters of edges"
    printf '\n--- %s: %s runs, %s inputs in the corpus\n' "$name" \
        "$(sed -n 's/^stat::number_of_executed_units: *//p' "$logs/$name")" "$(find "$cache/fuzz/$name" -type f | wc -l)"
    grep -E '^ +[0-9]+ ' "$logs/$name"
}

cargo fmt --manifest-path fuzz/Cargo.toml --check
retry cargo fetch --quiet --locked --manifest-path fuzz/Cargo.toml
fuzz_cargo clippy -- -D warnings
fuzz_cargo build
if [ $# -eq 2 ]; then
    exec "$programs/$1" -close_fd_mask=1 "$2"
fi

# Committed seeds; and a call of each function with good arguments, which zeros are.
rm -rf "$seeds" "$logs"
mkdir -p "$logs"
cp -r fuzz/seeds "$seeds"
mkdir "$seeds/capi"
functions=$(wc -l <ffi-tests/abi/symbols.txt)
for ((number = 0; number < functions; number++)); do
    { printf '%b' "\\x$(printf '%02x' "$number")" && head -c 300 /dev/zero; } >"$seeds/capi/good-$number"
done

# A temporary folder in memory where there is one: checkpoints are files.
memory=/dev/shm
[ -w "$memory" ] || memory=${TMPDIR:-/tmp}
TMPDIR=$(mktemp -d -p "$memory")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
for name in "${targets[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n || true; done
    { fuzz "$name" "${1:-60}" && touch "$logs/$name.ok"; } &
done
wait
for name in "${targets[@]}"; do
    judge "$name"
done
good=$(grep -c ' succeeded$' "$logs/capi" || true)
[ "$good" -eq "$functions" ] || fail "of $functions functions only $good ever succeeded"

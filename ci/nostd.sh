#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# No standard library, no dependency, no panic: builds for two cores without an operating system, and looks into the
# static library that C programs link.
source "$(dirname "$0")/lib.sh"
need_apt nostd

tree=$(cargo tree --package ofp8 --edges normal --prefix none)
[ "$(wc -l <<<"$tree")" -eq 1 ] || fail "the default build has dependencies:"$'\n'"$tree"
echo "nostd: no dependency in the default build"

for triple in thumbv6m-none-eabi riscv32imac-unknown-none-elf; do
    for features in '' capi; do
        bare_cargo build "$triple" --release --package ofp8 --lib --features "$features"
        echo "nostd: builds for $triple${features:+ with $features}"
    done
done

library=$(build_library staticlib)

# own_symbols TYPES: the symbols of these nm types in the objects of the library that come from this crate.
own_symbols() {
    nm --demangle --print-file-name "$library" 2>/dev/null |
        sed -nE "s/^[^:]*:ofp8[-.][^:]*:[0-9a-f ]{16} ([$1]) //p" | sort -u
}
own_symbols TtDdRrBbVvWw >"$target/ci-defined"
own_symbols U >"$target/ci-undefined"
[ -s "$target/ci-defined" ] || fail "$library holds no object of this crate"
panicking=$(cat "$target/ci-defined" "$target/ci-undefined" | grep -E 'core::(panicking|fmt)|unwrap_failed|expect_failed' || true)
[ -z "$panicking" ] || fail "the static library's own objects hold panic code:"$'\n'"$panicking"
# What a core without libc must bring along: what the compiler itself calls for copies, fills and comparisons.
foreign=$(comm -13 "$target/ci-defined" "$target/ci-undefined" | grep -vxE 'mem(cpy|move|set|cmp)|bcmp|_GLOBAL_OFFSET_TABLE_' || true)
[ -z "$foreign" ] || fail "the static library's own objects call for more than memory functions:"$'\n'"$foreign"
echo "nostd: $(wc -l <"$target/ci-defined") symbols in the static library's own objects, no panic code, nothing foreign"

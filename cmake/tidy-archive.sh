#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# tidy-archive.sh ARCHIVE: leaves in the static library that cargo built what is ofp8's own, visible what is its API.
#
# cargo adds 300 members: `core`, and the helpers that compilers call for (compiler_builtins). ofp8 calls none of them
# (ffi-tests/tests/archive.rs), but the linker finds them before the C compiler's own, libgcc: a program that computes
# with __float128 then asks for `rust_eh_personality`, which nobody has. To define that symbol lets it link, and run on
# helpers that heed no rounding mode and raise no floating-point exception. So these members go. Of the rest, the panic
# handler is made local: another Rust library in the same program has one, too.
#
# objcopy alone would do, and leave 7 MB that nobody can reach; `ld -r` has one object to join. A machine without an
# operating system may have no other helpers: its archive stays as it is.
#
# AR and OBJCOPY name other tools. Where there is no objcopy, the panic handler stays visible.
set -eu
archive=$1
ar=${AR:-ar}
objcopy=${OBJCOPY:-objcopy}

"$ar" t "$archive" | { grep -v '^ofp8[.-]' || true; } | xargs "$ar" d "$archive"
if command -v "$objcopy" >/dev/null; then
    "$objcopy" --wildcard --keep-global-symbol='ofp8_*' "$archive"
fi

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Four ranks of Open MPI, each with some rows of a tensor, make the bytes of one rank that has all.
source "$(dirname "$0")/lib.sh"
need_apt mpi

library=$(build_library staticlib)
mpicc -std=c99 -O1 -Wall -Wextra -Wpedantic -Werror -Iinclude ffi-tests/mpi/ranks.c "$library" -lm -o "$target/ranks"
# More ranks than cores; as root in a container; through shared memory alone.
options=(--oversubscribe --mca btl "self,vader")
[ "$(id -u)" -ne 0 ] || options+=(--allow-run-as-root)
for ranks in 1 4; do
    mpirun "${options[@]}" -n "$ranks" "$target/ranks"
done

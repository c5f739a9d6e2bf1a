#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The C ABI on three cores without an operating system, emulated by QEMU: every part of it gives what the host gives;
# what is linked holds no panic, no libm and nothing from a C library; how large it is, and how much stack it takes.
source "$(dirname "$0")/lib.sh"
need_apt nostd
need_apt firmware
command -v gcc >/dev/null || need_apt build

work=$target/firmware
sources=ffi-tests/firmware
warnings=(-Wall -Wextra -Werror)
mkdir -p "$work"

gcc -std=c99 -O1 "${warnings[@]}" -Wpedantic -Iinclude "$sources"/golden.c "$sources"/host.c \
    "$(build_library staticlib)" -o "$work/golden"
"$work/golden" >"$work/host"
echo "firmware: $(wc -l <"$work/host") checksums from the host"

mapfile -t functions <ffi-tests/abi/symbols.txt

# emulate CORE IMAGE: run an image; what it prints.
emulate() {
    local machine
    case $1 in
        cortex-m0) machine=(arm -M microbit) ;;
        cortex-m4f) machine=(arm -M mps2-an386) ;;
        rv32imac) machine=(riscv32 -M virt -bios none -cpu rv32,f=false,d=false) ;;
    esac
    timeout 600 "qemu-system-${machine[0]}" "${machine[@]:1}" -display none -monitor none -serial none \
        -chardev stdio,id=console -semihosting-config enable=on,target=native,chardev=console -kernel "$2" </dev/null
}

# link CORE OUTPUT ARGUMENT...: compile and link for a core, without any library of the compiler's.
link() {
    local core=$1 output=$2 compiler
    shift 2
    case $core in
        cortex-m0) compiler=(arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb) ;;
        cortex-m4f) compiler=(arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard) ;;
        rv32imac) compiler=(riscv64-unknown-elf-gcc -march=rv32imac_zicsr -mabi=ilp32) ;;
    esac
    # The compilers do not mark RISC-V and Arm objects as needing no executable stack.
    "${compiler[@]}" -std=gnu11 -Os "${warnings[@]}" -ffreestanding -nostdlib -ffunction-sections -fdata-sections \
        -Iinclude -Wl,--gc-sections,--no-warn-execstack -o "$output" "$@"
}

# text CORE LIBRARY FUNCTION...: the bytes of code and constants of a program that calls these functions.
text() {
    local core=$1 library=$2
    shift 2
    link "$core" "$work/sized" -Wl,-e,0 "${@/#/-Wl,-u,}" "$library"
    size "$work/sized" | awk 'NR == 2 { print $1 }'
}

# examine CORE TRIPLE SCRIPT: build for a core, run, compare, look at what is linked, measure.
examine() {
    local core=$1 triple=$2 script=$3 library board small
    bare_cargo rustc "$triple" --profile firmware --package ofp8 --lib --crate-type staticlib --features capi \
        -- --cfg ofp8_staticlib
    library=$target/nostd/$triple/firmware/libofp8.a
    board=("$sources/board.c" -L "$sources" -T "$script")

    link "$core" "$work/$core.elf" "$sources/golden.c" "${board[@]}" "$library"
    emulate "$core" "$work/$core.elf" >"$work/$core" || fail "$core: the program does not end well:"$'\n'"$(cat "$work/$core")"
    grep -v '^stack ' "$work/$core" | diff "$work/host" - || fail "$core: not what the host gives"
    echo "firmware: $core gives what the host gives"

    bare_cargo build "$triple" --profile firmware --package ofp8-firmware-example
    link "$core" "$work/example-c" examples/firmware/example.c "${board[@]}" "$library"
    link "$core" "$work/example-rust" "${board[@]}" "$target/nostd/$triple/firmware/libofp8_firmware_example.a"
    emulate "$core" "$work/example-c" && emulate "$core" "$work/example-rust" || fail "$core: an example"

    # A link without the compiler's libraries has shown that nothing is missing. The whole library, as it is linked:
    link "$core" "$work/whole" -Wl,-e,0 "${functions[@]/#/-Wl,-u,}" "$library"
    nm --demangle --defined-only "$work/whole" | awk '{ print $3 }' | sort -u >"$work/$core.symbols"
    ! grep -E 'panic|core::fmt|unwrap_failed|expect_failed' "$work/$core.symbols" || fail "$core: panic code"
    ! grep -xE '(exp|log|pow|sqrt|cbrt|sin|cos|tan|fma|fmod|floor|ceil|round|trunc|ldexp|rint)[0-9a-z]*' \
        "$work/$core.symbols" || fail "$core: libm"

    small=$(text "$core" "$library" ofp8_e4m3_from_f32 ofp8_e4m3_to_f32)
    [ "$core" != cortex-m4f ] || [ "$small" -le 700 ] || fail "E4M3 alone takes $small bytes, more than 700"
    printf '%s %s %s %s %s %s\n' "$core" "$small" \
        "$(text "$core" "$library" ofp8_e4m3_quantize_block ofp8_e4m3_dequantize_block)" \
        "$(text "$core" "$library" ofp8_quantize)" \
        "$(text "$core" "$library" ofp8_quantize ofp8_dequantize)" \
        "$(text "$core" "$library" "${functions[@]}")" >>"$work/sizes"
}

: >"$work/sizes"
examine cortex-m0 thumbv6m-none-eabi cortex-m.ld
examine cortex-m4f thumbv7em-none-eabihf cortex-m.ld
examine rv32imac riscv32imac-unknown-none-elf riscv.ld

printf '\n%-12s %20s %20s %14s %20s %12s\n' 'bytes' 'E4M3 encode, decode' 'blocks of MXFP8' 'ofp8_quantize' \
    'and ofp8_dequantize' 'everything'
awk '{ printf "%-12s %20s %20s %14s %20s %12s\n", $1, $2, $3, $4, $5, $6 }' "$work/sizes"

# The least that shows is 64: so much below the caller is not painted.
printf '\n%-40s %10s %10s %10s\n' 'stack of a call, bytes' cortex-m0 cortex-m4f rv32imac
paste <(grep '^stack ' "$work/cortex-m0") <(grep '^stack ' "$work/cortex-m4f") <(grep '^stack ' "$work/rv32imac") |
    awk -F '\t' '{
        n = split($1, first, " "); name = $1; sub(/^stack /, "", name); sub(/ [0-9]+$/, "", name)
        split($2, second, " "); split($3, third, " ")
        printf "%-40s %10s %10s %10s\n", name, first[n], second[n], third[n]
    }'

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What programs rely on that are not compiled anew: where members of structures lie, and what the libraries export.
//!
//! Both are committed in `ffi-tests/abi`; `OFP8_UPDATE=1 cargo test -p ofp8-ffi-tests --test abi` rewrites it. Lines
//! may be added there, never changed.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::mem::{align_of, offset_of, size_of};
use std::process::Command;

use ofp8::capi::*;
use ofp8_ffi_tests::{Standard, check, run, shared_library, workspace};

/// A structure of the header.
struct Structure {
    name: &'static str,
    size: usize,
    align: usize,
    members: Vec<Member>,
}

/// Its members: name, offset, size.
type Member = (&'static str, usize, usize);

/// The size of a member.
fn size_of_member<S, M>(_: fn(&S) -> &M) -> usize {
    size_of::<M>()
}

/// Lists the members of a structure; a member that is missing here stops the compiler.
macro_rules! structure {
    ($name:ident { $($member:ident),* $(,)? }) => {{
        let _complete = |of: $name| {
            let $name { $($member: _),* } = of;
        };
        Structure {
            name: stringify!($name),
            size: size_of::<$name>(),
            align: align_of::<$name>(),
            members: vec![$((
                stringify!($member),
                offset_of!($name, $member),
                size_of_member(|of: &$name| &of.$member),
            )),*],
        }
    }};
}

/// Every structure of the header.
fn structures() -> Vec<Structure> {
    vec![
        structure!(ofp8_format_info {
            bits,
            exponent_bits,
            mantissa_bits,
            bias,
            is_signed,
            has_nan,
            has_infinity,
            nan_code,
            infinity_code,
            max_code,
            max_value,
            min_normal,
            min_positive
        }),
        structure!(ofp8_cast {
            rounding,
            saturation,
            nan,
            random_bits
        }),
        structure!(ofp8_philox {
            seed,
            stream,
            first_index
        }),
        structure!(ofp8_recipe {
            struct_size,
            block_rows,
            block_cols,
            element,
            scaling,
            convention,
            exponent_rule,
            special,
            margin,
            epsilon,
            amax_bound,
            cast,
            block_scale,
            has_tensor_amax,
            tensor_amax,
            scale_order
        }),
        structure!(ofp8_shape {
            struct_size,
            rows,
            cols,
            stride,
            code_stride,
            wide_type,
            is_shard,
            shard_first,
            shard_len,
            batch_count,
            batch_stride,
            code_batch_stride
        }),
        structure!(ofp8_stats {
            count,
            zero,
            saturated,
            underflowed,
            nan,
            infinite,
            amax,
            min_nonzero
        }),
        structure!(ofp8_quantize_call {
            struct_size,
            recipe,
            shape,
            random,
            source,
            amax,
            codes,
            scales,
            scale_count,
            tensor_scale,
            stats
        }),
        structure!(ofp8_copy {
            struct_size,
            codes,
            scales,
            scale_count,
            tensor_scale,
            stats,
            random,
            code_stride,
            code_batch_stride,
            is_transposed,
            reserved,
        }),
        structure!(ofp8_not_finite {
            batch,
            row,
            col,
            value,
            found
        }),
        structure!(ofp8_measured {
            count,
            signal,
            noise,
            absolute,
            max_absolute,
            max_relative
        }),
        structure!(ofp8_layout {
            struct_size,
            rows,
            cols,
            batches,
            batch_stride,
            order,
            columnwise
        }),
        structure!(ofp8_delayed {
            struct_size,
            history,
            algorithm,
            non_finite,
            interval,
            calibration
        }),
        structure!(ofp8_operand {
            struct_size,
            codes,
            rows,
            cols,
            stride,
            recipe,
            scales,
            scale_count,
            tensor_scale,
            format,
            is_transposed
        }),
        structure!(ofp8_order {
            struct_size,
            kind,
            model,
            promotion,
            reserved
        }),
        structure!(ofp8_exact_sum { words }),
        structure!(ofp8_gradient {
            struct_size,
            rows,
            cols,
            sum,
            lost,
            count
        }),
    ]
}

/// Compares a file of `ffi-tests/abi` with what it should be, or writes it where the environment asks for that.
fn committed(name: &str, expected: &str) {
    let path = workspace().join("ffi-tests/abi").join(name);
    if std::env::var_os("OFP8_UPDATE").is_some() {
        std::fs::write(&path, expected).expect("to write a file");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "ffi-tests/abi/{name} is not what the library has. To add to it: \
         OFP8_UPDATE=1 cargo test -p ofp8-ffi-tests --test abi\n{expected}"
    );
}

#[test]
#[cfg(target_pointer_width = "64")]
fn members_lie_where_they_lay() {
    let mut text = String::from(
        "/* SPDX-License-Identifier: MIT OR Apache-2.0 */\n\
         /* Where members lie on machines of 64 bits: written by the test abi, checked by c/abi.c. */\n",
    );
    for structure in structures() {
        let name = structure.name;
        writeln!(text, "\nSIZE({name}, {})", structure.size).expect("text");
        writeln!(text, "ALIGN({name}, {})", structure.align).expect("text");
        for (member, offset, size) in structure.members {
            writeln!(text, "MEMBER({name}, {member}, {offset}, {size})").expect("text");
        }
    }
    committed("layout.h", &text);
}

#[test]
fn every_structure_of_the_header_is_checked() {
    let header = std::fs::read_to_string(workspace().join("include/ofp8.h")).expect("the header");
    let declared: BTreeSet<_> = header
        .lines()
        .filter_map(|line| line.strip_prefix("typedef struct ")?.strip_suffix(" {"))
        .collect();
    let checked: BTreeSet<_> = structures().iter().map(|of| of.name).collect();
    assert_eq!(declared, checked);
}

#[test]
fn structures_in_c99() {
    check("c/abi.c", Standard::C99);
}

#[test]
fn structures_in_cpp11() {
    check("c/abi.c", Standard::Cpp11);
}

#[test]
#[cfg(target_os = "linux")]
fn the_shared_library_exports_the_list() {
    let listing = run(Command::new("nm")
        .args(["-D", "--defined-only", "-P"])
        .arg(shared_library()));
    let exported: BTreeSet<_> = listing
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let lines: Vec<_> = exported.into_iter().collect();
    committed("symbols.txt", &(lines.join("\n") + "\n"));
}

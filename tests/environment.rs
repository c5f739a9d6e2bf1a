// SPDX-License-Identifier: MIT OR Apache-2.0
//! The environment variable `OFP8_KERNEL`: each program below is this one again, with another value. (Under an
//! emulator a program cannot start itself: `ci/neon.sh` leaves this out.)
#![cfg(feature = "std")]

use std::env;
use std::process::Command;

use ofp8::kernel::Kernel;
use ofp8::{Cast, Format, slice};

/// What the program below prints before the name of its kernel.
const ANSWER: &str = "the kernel is ";

/// The kernel of a program whose environment has this value, or none.
fn kernel_under(value: Option<&str>) -> String {
    let mut program = Command::new(env::current_exe().unwrap());
    program.args(["--exact", "one_program", "--ignored", "--nocapture"]);
    match value {
        Some(value) => program.env("OFP8_KERNEL", value),
        None => program.env_remove("OFP8_KERNEL"),
    };
    let output = program.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let (_, answer) = text.split_once(ANSWER).expect("an answer");
    answer.lines().next().unwrap_or_default().to_owned()
}

#[test]
#[ignore = "started by the tests below"]
fn one_program() {
    let mut codes = [0; 3];
    slice::encode(
        Format::E4M3,
        Cast::DEFAULT,
        &[1.0f32, -448.0, 1e9],
        &mut codes,
    )
    .unwrap();
    assert_eq!(codes, [0x38, 0xFE, 0x7E]);
    println!("{ANSWER}{}", Kernel::current());
    // A forced one goes before it; afterwards it holds again.
    let current = Kernel::current();
    Kernel::force(Some(Kernel::Portable)).unwrap();
    assert_eq!(Kernel::current(), Kernel::Portable);
    Kernel::force(None).unwrap();
    assert_eq!(Kernel::current(), current);
}

#[test]
fn it_names_any_kernel_of_this_machine() {
    for &kernel in Kernel::ALL {
        let expected = if kernel.is_available() {
            kernel
        } else {
            Kernel::detect()
        };
        assert_eq!(kernel_under(Some(kernel.name())), expected.name());
    }
}

#[test]
fn what_is_no_name_is_ignored() {
    let detected = Kernel::detect().name();
    assert_eq!(kernel_under(None), detected);
    for value in ["", "AVX2", "avx2 ", "detect", "fastest", "\u{e9}"] {
        assert_eq!(kernel_under(Some(value)), detected, "{value:?}");
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! C and C++ programs that include the header, link the static library, and check it.

use std::process::Command;

use ofp8_ffi_tests::{Standard, check, check_with, compile_text, run, workspace};

#[test]
fn smoke_in_c99() {
    check("c/smoke.c", Standard::C99);
}

#[test]
fn smoke_in_cpp11() {
    check("c/smoke.c", Standard::Cpp11);
}

#[test]
fn bad_arguments_in_c99() {
    check("c/bad_arguments.c", Standard::C99);
}

#[test]
fn recipes_in_c99() {
    check("c/recipes.c", Standard::C99);
}

#[test]
fn views_in_cpp17() {
    check("c/views.cpp", Standard::Cpp17);
}

#[test]
fn views_in_cpp20() {
    check("c/views.cpp", Standard::Cpp20);
}

#[test]
fn delayed_in_c99() {
    check("c/delayed.c", Standard::C99);
}

#[test]
fn delayed_in_cpp11() {
    check("c/delayed.c", Standard::Cpp11);
}

#[test]
fn accumulate_in_c99() {
    check("c/accumulate.c", Standard::C99);
}

#[test]
fn accumulate_in_cpp11() {
    check("c/accumulate.c", Standard::Cpp11);
}

#[test]
fn layout_in_c99() {
    check("c/layout.c", Standard::C99);
}

#[test]
fn layout_in_cpp11() {
    check("c/layout.c", Standard::Cpp11);
}

/// What the examples of the README in a language print, one after another.
fn examples_of_the_readme(language: &str, suffix: &str, standard: Standard) -> Vec<String> {
    let readme = std::fs::read_to_string(workspace().join("README.md")).expect("README.md");
    let begin = format!("```{language}\n");
    let examples = readme.split(&begin).skip(1).enumerate();
    examples
        .map(|(number, rest)| {
            let (example, _) = rest.split_once("```").expect("its end");
            let file = format!("readme{number}.{suffix}");
            run(&mut Command::new(compile_text(&file, example, standard)))
        })
        .collect()
}

#[test]
fn the_examples_of_the_readme_in_c99() {
    let printed = examples_of_the_readme("c", "c", Standard::C99);
    // Sums of 64 products of 0.5 and 3, and of one and a half of those over two; E2M1 has 0.5 as 1.
    assert_eq!(printed, ["1d b8 7e 7e\n", "96 72 11\n"]);
}

#[test]
fn the_examples_of_the_readme_in_cpp17() {
    let printed = examples_of_the_readme("cpp", "cpp", Standard::Cpp17);
    // 0.3 under 2^-17: 0.3 * 2^17 = 39321.6, between the E5M2 values 32768 and 40960.
    assert_eq!(printed, ["256 elements, amax 0.3: 40960 x 7.62939e-06\n"]);
}

#[test]
fn arithmetic_in_cpp17() {
    check("cpp/arith.cpp", Standard::Cpp17);
}

#[test]
fn numbers_in_cpp17() {
    check_with("cpp/numbers.cpp", Standard::Cpp17, &["-Wconversion"]);
}

#[test]
fn quantizer_in_cpp17_without_exceptions() {
    let flags = ["-Wconversion", "-fno-exceptions", "-fno-rtti"];
    check_with("cpp/quantizer.cpp", Standard::Cpp17, &flags);
}

#[test]
fn quantizer_in_cpp20() {
    check_with("cpp/quantizer.cpp", Standard::Cpp20, &["-Wconversion"]);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! C and C++ programs that include the header, link the static library, and check it.

use ofp8_ffi_tests::{Standard, check};

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
fn views_in_cpp17() {
    check("c/views.cpp", Standard::Cpp17);
}

#[test]
fn views_in_cpp20() {
    check("c/views.cpp", Standard::Cpp20);
}

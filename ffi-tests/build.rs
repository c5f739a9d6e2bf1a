// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tells the tests which machine they run on: the `cc` crate asks for it.

fn main() {
    let host = std::env::var("HOST").expect("cargo sets HOST");
    println!("cargo:rustc-env=OFP8_HOST={host}");
    println!("cargo:rerun-if-changed=build.rs");
}

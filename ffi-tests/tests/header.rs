// SPDX-License-Identifier: MIT OR Apache-2.0
//! The committed header says what the library does: regenerated, it is the same.
//!
//! `OFP8_UPDATE=1 cargo test -p ofp8-ffi-tests --test header` rewrites it.

use ofp8_ffi_tests::workspace;

/// The files of the C ABI, in the order in which the header tells its story.
const FILES: [&str; 16] = [
    "status",
    "kernel",
    "info",
    "scalar",
    "slice",
    "recipe",
    "shape",
    "quantize",
    "copies",
    "block",
    "inspect",
    "layout",
    "expand",
    "delayed",
    "accumulate",
    "gradient",
];

/// The header as cbindgen writes it, with rustdoc's section titles put as C documentation does.
fn generate() -> String {
    let config = cbindgen::Config::from_file(workspace().join("cbindgen.toml")).expect("a config");
    let builder = FILES
        .iter()
        .fold(cbindgen::Builder::new(), |builder, file| {
            builder.with_src(workspace().join(format!("src/capi/{file}.rs")))
        });
    let mut header = Vec::new();
    builder
        .with_config(config)
        .generate()
        .expect("a header")
        .write(&mut header);
    String::from_utf8(header)
        .expect("text")
        .replace(" * # Safety\n", " * The caller guarantees:\n")
        .replace('`', "")
}

#[test]
fn header_is_what_cbindgen_writes() {
    let path = workspace().join("include/ofp8.h");
    let generated = generate();
    if std::env::var_os("OFP8_UPDATE").is_some() {
        std::fs::write(&path, &generated).expect("to write the header");
    }
    let committed = std::fs::read_to_string(&path).expect("include/ofp8.h");
    assert!(
        committed == generated,
        "include/ofp8.h has drifted from src/capi; to rewrite it: \
         OFP8_UPDATE=1 cargo test -p ofp8-ffi-tests --test header"
    );
}

#[test]
fn header_holds_every_function_and_no_rust() {
    let header = generate();
    // Written from the archive: see abi.rs.
    let symbols = workspace().join("ffi-tests/abi/symbols.txt");
    let symbols = std::fs::read_to_string(symbols).expect("a list");
    assert!(symbols.lines().count() > 70);
    for symbol in symbols.lines() {
        assert!(
            header.contains(&format!("{symbol}(")),
            "{symbol} is missing"
        );
    }
    for text in ["[`", "crate::", "Option<", "unsafe"] {
        assert!(!header.contains(text), "{text} is not C");
    }
}

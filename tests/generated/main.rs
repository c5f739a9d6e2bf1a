// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files written from the rows of the formats. Each test fails where the file in the repository
//! is not what the rows say; `OFP8_UPDATE=1 cargo test --test generated` writes them anew.

mod header;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

const UPDATE: &str = "OFP8_UPDATE";

fn path(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

/// Compares a file with what it should be, or writes it where the environment asks for that.
fn check(relative: &str, expected: &str) {
    if std::env::var_os(UPDATE).is_some() {
        fs::write(path(relative), expected).unwrap();
        return;
    }
    let found = fs::read_to_string(path(relative)).unwrap_or_default();
    let line = found
        .lines()
        .zip(expected.lines())
        .take_while(|(a, b)| a == b)
        .count()
        + 1;
    assert!(
        found == expected,
        "{relative} is stale from line {line} on: {UPDATE}=1 cargo test --test generated"
    );
}

#[test]
fn constants_header() {
    check("include/ofp8_constants.h", &header::text());
}

#[test]
fn formats_page() {
    check("docs/formats.md", &table::page());
}

#[test]
fn formats_in_the_readme() {
    const BEGIN: &str = "<!-- formats: generated from src/spec.rs -->\n";
    const END: &str = "<!-- end of formats -->\n";
    let readme = fs::read_to_string(path("README.md")).unwrap();
    let (before, rest) = readme
        .split_once(BEGIN)
        .expect("the README marks the table");
    let (_, after) = rest
        .split_once(END)
        .expect("the README marks the end of the table");
    check(
        "README.md",
        &format!("{before}{BEGIN}{}{END}{after}", table::text()),
    );
}

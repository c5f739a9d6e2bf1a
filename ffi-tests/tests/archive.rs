// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is in the static library: the functions of the header, nothing that panics.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use ofp8_ffi_tests::{run, static_library, workspace};

/// The library's own objects, apart from those of `core` and the compiler's helpers; taken out of
/// the archive once, since tests run side by side.
fn own_objects() -> &'static [PathBuf] {
    static OBJECTS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    OBJECTS.get_or_init(|| {
        let library = static_library();
        let folder = library.with_file_name("objects");
        std::fs::create_dir_all(&folder).expect("a folder for objects");
        let members = run(Command::new("ar").arg("t").arg(&library));
        let own: Vec<_> = members
            .lines()
            .filter(|name| name.starts_with("ofp8"))
            .collect();
        assert!(!own.is_empty(), "no object of the library in {members}");
        let mut extract = Command::new("ar");
        extract.current_dir(&folder).arg("x").arg(&library);
        run(extract.args(&own));
        own.iter().map(|name| folder.join(name)).collect()
    })
}

/// The names of the symbols that `nm` lists under these letters.
fn symbols(letters: &[&str]) -> BTreeSet<String> {
    let listing = run(Command::new("nm").arg("-P").args(own_objects()));
    listing
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_whitespace();
            let name = fields.next()?;
            let letter = fields.next()?;
            letters.contains(&letter).then(|| name.to_string())
        })
        .collect()
}

#[test]
fn no_panic_is_linked() {
    let undefined = symbols(&["U"]);
    let defined = symbols(&["T", "t", "D", "d", "R", "r", "B", "b"]);
    let panics: Vec<_> = undefined
        .union(&defined)
        .filter(|name| {
            name.contains("panic") || name.contains("slice_index") || name.contains("unwrap_failed")
        })
        // The handler itself, which `no_std` asks for, is called by nobody.
        .filter(|name| !name.contains("rust_begin_unwind"))
        .collect();
    assert!(panics.is_empty(), "panic code in the archive: {panics:?}");
}

#[test]
fn only_memory_functions_are_needed() {
    let allowed = ["memcpy", "memset", "memmove", "memcmp", "bcmp"];
    let defined = symbols(&["T", "t", "D", "d", "R", "r", "B", "b"]);
    let needed: Vec<_> = symbols(&["U"])
        .into_iter()
        .filter(|name| !allowed.contains(&name.as_str()) && !defined.contains(name))
        .collect();
    assert!(needed.is_empty(), "the archive needs {needed:?}");
}

#[test]
fn exported_are_the_functions_of_the_header() {
    let header = std::fs::read_to_string(workspace().join("include/ofp8.h")).expect("the header");
    let declared: BTreeSet<String> = header
        .lines()
        .filter(|line| !line.starts_with([' ', '/', '#', '}']) && line.contains('('))
        .filter_map(|line| {
            let name = line.split('(').next()?;
            Some(name.rsplit([' ', '*']).next()?.to_string())
        })
        .collect();
    let exported: BTreeSet<String> = symbols(&["T"])
        .into_iter()
        .filter(|name| !name.contains("rust_begin_unwind"))
        .collect();
    assert!(
        declared.len() > 30,
        "too few functions read from the header: {declared:?}"
    );
    assert_eq!(declared, exported);
}

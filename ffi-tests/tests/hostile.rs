// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hostile values of every argument (`c/hostile.c`), and that its table leaves nothing of the header out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use ofp8_ffi_tests::{Standard, compile, run, workspace};

/// Names of functions and structures, and of their arguments and members.
type Names = BTreeMap<String, Vec<String>>;

/// The header without its comments.
fn header() -> String {
    let header = std::fs::read_to_string(workspace().join("include/ofp8.h")).expect("the header");
    let mut parts = header.split("/*");
    let code = parts.next().expect("a first part").to_owned();
    parts
        .filter_map(|part| part.split_once("*/"))
        .fold(code, |code, (_, after)| code + after)
}

/// The names that declarations declare: the last word of each.
fn declared<'a>(declarations: impl Iterator<Item = &'a str>) -> Vec<String> {
    declarations
        .filter_map(|declaration| {
            declaration
                .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
                .rfind(|word| !word.is_empty())
        })
        .filter(|&name| name != "void")
        .map(str::to_owned)
        .collect()
}

/// The functions of the header, and their arguments.
fn functions(header: &str) -> Names {
    header
        .split(';')
        .filter_map(|statement| statement.trim().strip_suffix(')')?.split_once('('))
        .filter_map(|(before, arguments)| {
            let name = before.split([' ', '*']).next_back()?;
            Some((name.to_owned(), declared(arguments.split(','))))
        })
        .filter(|(name, _)| name.starts_with("ofp8_"))
        .collect()
}

/// The structures of the header, and their members.
fn structures(header: &str) -> Names {
    header
        .split("typedef struct ")
        .skip(1)
        .filter_map(|text| text.split_once('}')?.0.split_once('{'))
        .map(|(name, members)| {
            let members = members.trim().trim_end_matches(';');
            (name.trim().to_owned(), declared(members.split(';')))
        })
        .collect()
}

/// The table, compiled once: a test must not run what the other one is writing.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| compile("c/hostile.c", Standard::C99, &[]))
}

/// What the table has.
fn rows() -> Names {
    run(Command::new(program()).arg("list"))
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, names)| {
            let names = names.split_whitespace().map(str::to_owned).collect();
            (name.to_owned(), names)
        })
        .collect()
}

#[test]
fn hostile_arguments_in_c99() {
    print!("{}", run(&mut Command::new(program())));
}

#[test]
fn every_argument_of_every_function_has_a_row() {
    let header = header();
    let (functions, structures, rows) = (functions(&header), structures(&header), rows());
    let symbols = std::fs::read_to_string(workspace().join("ffi-tests/abi/symbols.txt"));
    let symbols = symbols.expect("the list of symbols");
    assert!(symbols.lines().eq(functions.keys()), "{functions:?}");
    for (name, arguments) in &functions {
        assert_eq!(rows.get(name), Some(arguments), "{name} in c/hostile.c");
    }
    // Structures that are not described are results, whose members nobody gives.
    for (name, members) in &structures {
        let is_descriptor = members.iter().any(|member| member == "struct_size");
        if is_descriptor || rows.contains_key(name) {
            assert_eq!(rows.get(name), Some(members), "{name} in c/hostile.c");
        }
    }
}

/// The table asks for every status that has a text: those of the header.
#[test]
fn statuses_are_numbered_without_gaps_and_have_a_text() {
    let header = header();
    let (_, list) = header.split_once("enum ofp8_status").expect("the list");
    let (list, _) = list.split_once('}').expect("its end");
    let numbers: Vec<u32> = list
        .split(',')
        .filter_map(|entry| entry.rsplit_once(" = ")?.1.trim().parse().ok())
        .collect();
    let known = run(Command::new(program()).arg("statuses"));
    let known: u32 = known.trim().parse().expect("a number");
    assert!(numbers.iter().copied().eq(0..known), "{numbers:?}");
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is in the static library: the functions of the header, nothing that panics.

use std::collections::BTreeSet;
use std::process::Command;

use ofp8_ffi_tests::{run, static_library, workspace};

/// The names of the symbols that `nm` lists under these letters.
fn symbols(letters: &[&str]) -> BTreeSet<String> {
    let listing = run(Command::new("nm").arg("-P").arg(static_library()));
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
fn only_own_objects_are_in_it() {
    let members = run(Command::new("ar").arg("t").arg(static_library()));
    let are_own = members.lines().all(|name| name.starts_with("ofp8"));
    assert!(are_own && !members.is_empty(), "{members}");
}

/// Links a program of these inputs, in this order, and runs it.
fn run_linked(name: &str, inputs: &[&str]) {
    let program = static_library().with_file_name(name);
    run(Command::new("cc")
        .args([
            "-std=c99",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            "-I",
        ])
        .arg(workspace().join("include"))
        .arg("-o")
        .arg(&program)
        .args(inputs)
        .arg("-lm"));
    print!("{}", run(&mut Command::new(program)));
}

/// A program whose arithmetic calls for the compiler's own library, which the linker meets before or after this one.
#[test]
fn the_helpers_of_the_c_compiler_are_its_own() {
    let (program, library) = (
        workspace().join("ffi-tests/consumer/quad.c"),
        static_library(),
    );
    let (program, library) = (&*program.to_string_lossy(), &*library.to_string_lossy());
    run_linked("quad-program-first", &[program, library]);
    run_linked("quad-libgcc-first", &[program, "-lgcc", library]);
    let wanted = "-Wl,--undefined=ofp8_encode";
    run_linked("quad-library-first", &[wanted, library, program]);
    let (all, not_all) = ("-Wl,--whole-archive", "-Wl,--no-whole-archive");
    run_linked("quad-all-members", &[program, all, library, not_all]);
}

/// Another static library of Rust's, with the whole standard library in it.
#[test]
fn another_rust_library_has_room_beside_it() {
    let folder = static_library().with_file_name("other");
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("to write a source file");
        path.to_string_lossy().into_owned()
    };
    let other = "#[unsafe(no_mangle)]\n\
                 pub extern \"C\" fn other(x: f32) -> f32 {\n\
                 assert!(x > 0.0, \"a panic that prints {x}\");\n\
                 x\n\
                 }\n";
    let main = "#include \"ofp8.h\"\n\
                float other(float x);\n\
                int main(void) { return ofp8_e4m3_from_f32(other(1.0f)) == 0x38 ? 0 : 1; }\n";
    let (other, main) = (file("other.rs", other), file("main.c", main));
    let library = folder.join("libother.a");
    run(
        Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()))
            .args(["--edition=2024", "--crate-type=staticlib", &other, "-o"])
            .arg(&library),
    );
    let (own, library) = (static_library(), library.to_string_lossy());
    run_linked("two", &[&main, &own.to_string_lossy(), &library, "-ldl"]);
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
    let exported = symbols(&["A", "B", "C", "D", "R", "T", "V", "W"]);
    assert!(
        declared.len() > 30,
        "too few functions read from the header: {declared:?}"
    );
    assert_eq!(declared, exported);
}

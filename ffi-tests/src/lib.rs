// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds the libraries once a test run, and C and C++ programs against the static one.
//!
//! They are built by cargo into a target directory of its own, as a user would build it:
//! `no_std`, with its panic handler, in release. No build script, no CMake.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A language standard that programs are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    /// ISO C99.
    C99,
    /// ISO C++11.
    Cpp11,
    /// ISO C++17.
    Cpp17,
    /// ISO C++20.
    Cpp20,
}

impl Standard {
    fn flag(self) -> &'static str {
        match self {
            Standard::C99 => "-std=c99",
            Standard::Cpp11 => "-std=c++11",
            Standard::Cpp17 => "-std=c++17",
            Standard::Cpp20 => "-std=c++20",
        }
    }

    fn is_cpp(self) -> bool {
        self != Standard::C99
    }
}

/// The folder of the workspace.
pub fn workspace() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().expect("the workspace").to_path_buf()
}

/// Runs a command to its end; its output where it succeeds.
///
/// # Panics
/// Where it cannot be started or fails: with the command and everything it printed.
pub fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{command:?} failed with {}\n{stdout}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    stdout.into_owned()
}

/// The folder that this crate's builds go to.
fn build_folder() -> PathBuf {
    let profile = std::env::current_exe().expect("the path of this test");
    let target = profile
        .ancestors()
        .find(|folder| folder.ends_with("debug") || folder.ends_with("release"))
        .and_then(Path::parent)
        .expect("a test inside a target directory");
    target.join("ffi")
}

/// The folder of both libraries, built together.
fn libraries() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = build_folder();
        run(Command::new(env!("CARGO"))
            .current_dir(workspace())
            .args(["rustc", "--package", "ofp8", "--release", "--lib"])
            .args(["--crate-type", "staticlib,cdylib", "--features", "capi"])
            .arg("--target-dir")
            .arg(&folder)
            .args(["--", "--cfg", "ofp8_staticlib"]));
        let folder = folder.join("release");
        run(Command::new("sh")
            .arg(workspace().join("cmake/tidy-archive.sh"))
            .arg(folder.join("libofp8.a")));
        folder
    })
}

/// The static library, `libofp8.a`.
pub fn static_library() -> PathBuf {
    libraries().join("libofp8.a")
}

/// The shared library, as Linux names it.
pub fn shared_library() -> PathBuf {
    libraries().join("libofp8.so")
}

/// Compiles a program given as text; otherwise as [`compile`].
pub fn compile_text(name: &str, text: &str, standard: Standard) -> PathBuf {
    let folder = build_folder().join("programs");
    std::fs::create_dir_all(&folder).expect("a folder for programs");
    let source = folder.join(name);
    std::fs::write(&source, text).expect("to write a source file");
    compile_file(&source, standard, &[])
}

/// Compiles one source file of this crate with every warning an error and these flags, links the static library, and
/// returns the path of the program.
pub fn compile(source: &str, standard: Standard, flags: &[&str]) -> PathBuf {
    compile_file(&workspace().join("ffi-tests").join(source), standard, flags)
}

fn compile_file(source: &Path, standard: Standard, flags: &[&str]) -> PathBuf {
    let name = source.file_stem().expect("a file").to_string_lossy();
    let folder = build_folder().join("programs");
    std::fs::create_dir_all(&folder).expect("a folder for programs");
    let program = folder.join(format!("{name}-{standard:?}{}", flags.concat()));
    let host = env!("OFP8_HOST");
    let compiler = cc::Build::new()
        .cpp(standard.is_cpp())
        .target(host)
        .host(host)
        .opt_level(1)
        .cargo_metadata(false)
        .get_compiler();
    run(compiler
        .to_command()
        .arg(standard.flag())
        .args(flags)
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"])
        .arg(workspace().join("include"))
        .arg("-o")
        .arg(&program)
        .arg(source)
        .arg(static_library())
        .arg("-lm"));
    program
}

/// Compiles a program and runs it; it must exit with 0.
pub fn check(source: &str, standard: Standard) {
    check_with(source, standard, &[]);
}

/// Compiles a program with more flags for the compiler and runs it; it must exit with 0.
pub fn check_with(source: &str, standard: Standard, flags: &[&str]) {
    let printed = run(&mut Command::new(compile(source, standard, flags)));
    print!("{printed}");
}

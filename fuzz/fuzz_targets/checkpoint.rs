// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any bytes as a checkpoint for examples/quantize: it is converted, or refused with a message and nothing is left behind.
//!
//! The first byte says what the rest is: a file; the text of a header up to the end of the line and then the data, whose
//! length is put before it; or the index of a directory of shards. And which recipe.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::{Parser, ValueEnum};
use libfuzzer_sys::fuzz_target;
use ofp8_fuzz::args::{Args, RecipeName};
use ofp8_fuzz::{convert, tally};

/// A folder for this process, gone only with the machine's temporary files.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("ofp8-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    folder
});

/// A header and its data as a file.
fn with_length(bytes: &[u8]) -> Vec<u8> {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let (header, data) = bytes.split_at(end.unwrap_or(bytes.len()));
    let data = data.get(1..).unwrap_or_default();
    [&(header.len() as u64).to_le_bytes(), header, data].concat()
}

/// Makes the input; what kind it is.
fn write(kind: u8, bytes: &[u8], input: &Path) -> &'static str {
    let write = |path: &Path, bytes: &[u8]| fs::write(path, bytes).expect("to write the input");
    match kind % 4 {
        0 | 1 => {
            write(input, &with_length(bytes));
            "header"
        }
        2 => {
            write(input, bytes);
            "file"
        }
        _ => {
            fs::create_dir(input).expect("a folder for the input");
            let header = br#"{"a":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]}}"#;
            write(
                &input.join("a.safetensors"),
                &with_length(&[header, &b"\nabcdefgh"[..]].concat()),
            );
            write(&input.join("model.safetensors.index.json"), bytes);
            "directory"
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, bytes)) = bytes.split_first() else {
        return;
    };
    let (input, output) = (FOLDER.join("in"), FOLDER.join("out"));
    let recipes = RecipeName::value_variants();
    let recipe = recipes[choice as usize / 4 % recipes.len()].name();
    let mut words = vec!["quantize", "in", "out", "--recipe", recipe];
    words.extend((choice & 0x80 != 0).then_some("--no-default-keep"));
    let args = Args::try_parse_from(words).expect("a command line");

    let kind = write(choice, bytes, &input);
    let result = convert::run(&args, &input, &output);
    match result {
        Ok(()) => {
            assert!(output.exists());
            tally::count(&format!("{kind}: converted"));
        }
        Err(message) => {
            assert!(!message.trim().is_empty());
            assert!(!output.exists(), "refused, and left an output: {message}");
            tally::count(&format!("{kind}: refused"));
        }
    }
    for path in [input, output] {
        let _ = fs::remove_file(&path);
        let _ = fs::remove_dir_all(&path);
    }
    let left: Vec<_> = fs::read_dir(&*FOLDER).expect("the folder").collect();
    assert!(left.is_empty(), "left behind: {left:?}");
});

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bad input: one clear line, a non-zero exit, and nothing written.

use std::fs;
use std::process::Command;

use safetensors::Dtype;

use crate::fixtures::*;

/// The run fails with one line that has these words, and the folder is as it was before.
#[track_caller]
pub fn refused(folder: &Folder, arguments: &[&str], words: &[&str]) {
    let before = folder.names();
    let output = run(arguments);
    check_failure(&output, words);
    assert_eq!(folder.names(), before, "something was written");
}

#[track_caller]
fn check_failure(output: &std::process::Output, words: &[&str]) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let errors = stderr.lines().filter(|line| !line.starts_with("note: "));
    let [line] = errors.collect::<Vec<_>>()[..] else {
        panic!("not one line: {stderr}");
    };
    assert!(line.starts_with("error: "), "{line}");
    for word in words {
        assert!(line.contains(word), "{word:?} is not in: {line}");
    }
    assert!(output.stdout.is_empty());
}

/// A file with this content is refused.
#[track_caller]
fn refused_file(folder: &Folder, bytes: &[u8], words: &[&str]) {
    let input = folder.write("in", bytes);
    refused(folder, &[&input, &folder.path("out")], words);
}

#[test]
fn what_is_not_a_safetensors_file() {
    let folder = Folder::new("not_safetensors");
    refused_file(&folder, b"", &["in:", "not a safetensors file"]);
    refused_file(&folder, b"GGUF", &["not a safetensors file"]);
    refused_file(
        &folder,
        b"a text that is long enough to have a length",
        &["not a safetensors file"],
    );
    refused_file(&folder, &raw("[1, 2]", 0), &["not a safetensors file"]);
    refused_file(&folder, &raw("{\"w\": ", 0), &["not a safetensors file"]);
    refused_file(&folder, &raw("{}", 0), &["no tensors"]);
    refused(
        &folder,
        &[&folder.path("none"), &folder.path("out")],
        &["none", "No such file"],
    );
    refused(
        &folder,
        &["/dev/null", &folder.path("out")],
        &["/dev/null", "not a file"],
    );
}

#[test]
fn a_truncated_file() {
    let folder = Folder::new("truncated");
    let whole = safetensors(&model(), &[]);
    // The last data are the I64 buffer's or a small tensor's, as the crate sorts them.
    refused_file(
        &folder,
        &whole[..whole.len() - 1],
        &["tensor \"", "truncated"],
    );
    refused_file(
        &folder,
        &whole[..whole.len() / 2],
        &["_proj.weight\"", "truncated"],
    );
    refused_file(&folder, &whole[..100], &["not a safetensors file"]);
    let longer = [&whole[..], b"x"].concat();
    refused_file(&folder, &longer, &["goes on after its last tensor"]);
}

#[test]
fn a_header_that_lies() {
    let folder = Folder::new("lies");
    let entry = |dtype: &str, shape: &str, offsets: &str| {
        let entry = format!(r#"{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}"#);
        raw(&format!(r#"{{"w.weight":{entry}}}"#), 16)
    };
    let name = "tensor \"w.weight\"";
    refused_file(
        &folder,
        &entry("F32", "[2,3]", "[0,16]"),
        &[name, "does not fill"],
    );
    refused_file(
        &folder,
        &entry("F32", "[2,2]", "[16,0]"),
        &[name, "does not fill"],
    );
    refused_file(
        &folder,
        &entry("F32", "[2,2]", "[4,20]"),
        &[name, "where 0 is due"],
    );
    refused_file(&folder, &entry("F31", "[2,2]", "[0,16]"), &[name, "F31"]);
    refused_file(&folder, &entry("F32", "[-2,2]", "[0,16]"), &[name, "-2"]);
    refused_file(
        &folder,
        &entry("F32", "\"x\"", "[0,16]"),
        &[name, "invalid type"],
    );
    let huge = "[4611686018427387904,4611686018427387904]";
    refused_file(
        &folder,
        &entry("F32", huge, "[0,16]"),
        &[name, "does not fill"],
    );
    let overlap = r#"{"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}"#;
    refused_file(
        &folder,
        &raw(overlap, 16),
        &["tensor \"b\"", "where 16 is due"],
    );
    // A header length beyond the file.
    let mut bytes = entry("F32", "[2,2]", "[0,16]");
    bytes[0] = 0xFF;
    refused_file(&folder, &bytes, &["not a safetensors file"]);
}

#[test]
fn a_type_that_cannot_be_quantized() {
    let folder = Folder::new("types");
    let check = |tensor: Tensor, words: &[&str]| {
        let good = Tensor::f32("good.weight", &[2, 2], &values(4));
        refused_file(&folder, &safetensors(&[good, tensor], &[]), words);
    };
    let zeros = |dtype| Tensor::zeros("bad.weight", dtype, &[2, 2]);
    let name = "\"bad.weight\"";
    check(zeros(Dtype::F64), &[name, "F64 is not supported"]);
    check(zeros(Dtype::I32), &[name, "I32 is not a float type"]);
    check(zeros(Dtype::U8), &[name, "U8 is not a float type"]);
    check(zeros(Dtype::F8_E4M3), &[name, "quantized already"]);
    check(zeros(Dtype::F8_E8M0), &[name, "quantized already"]);
    check(zeros(Dtype::F4), &[name, "quantized already"]);
    let scale = Tensor::f32("good.weight_scale_inv", &[1, 1], &[1.0]);
    check(
        scale,
        &[
            "\"good.weight\"",
            "\"good.weight_scale_inv\"",
            "is it quantized?",
        ],
    );
    // Each of them can be kept.
    for dtype in [Dtype::F64, Dtype::I32, Dtype::F8_E4M3] {
        let tensors = [
            Tensor::f32("good.weight", &[2, 2], &values(4)),
            zeros(dtype),
        ];
        let input = folder.write("in", safetensors(&tensors, &[]));
        succeed(&[&input, &folder.path("out"), "--keep", "bad.*"]);
        assert_eq!(
            Opened::new(&folder.path("out")).tensor("bad.weight").0,
            dtype
        );
        fs::remove_file(folder.path("out")).expect("removed");
    }
}

/// FP4 has two elements a byte, FP6 four in three.
#[test]
fn rows_that_do_not_fill_bytes() {
    let folder = Folder::new("odd_rows");
    for (recipe, cols) in [("mxfp4", 33), ("nvfp4", 15), ("mxfp6", 34)] {
        let tensors = [
            Tensor::f32("even.weight", &[2, 4], &values(8)),
            Tensor::f32("odd.weight", &[3, cols], &values(3 * cols)),
        ];
        let input = folder.write("in", safetensors(&tensors, &[]));
        let arguments = [&input, &folder.path("out"), "--recipe", recipe];
        let why = format!("rows of {cols} elements do not fill whole bytes");
        refused(&folder, &arguments, &["tensor \"odd.weight\"", &why]);
        succeed(&[&arguments[..], &["--keep", "odd.*"]].concat());
        fs::remove_file(folder.path("out")).expect("removed");
    }
    // The scale of a tensor is a name that may be taken, too.
    let scale = Tensor::f32("even.weight_scale_2", &[1], &[1.0]);
    let tensors = [Tensor::f32("even.weight", &[2, 4], &values(8)), scale];
    let input = folder.write("in", safetensors(&tensors, &[]));
    let arguments = [&input, &folder.path("out"), "--recipe", "nvfp4"];
    refused(&folder, &arguments, &["\"even.weight_scale_2\"", "already"]);
}

#[test]
fn nothing_to_quantize() {
    let folder = Folder::new("nothing");
    let ids = Tensor::zeros("ids", Dtype::I64, &[2, 2]);
    refused_file(
        &folder,
        &safetensors(&[ids], &[]),
        &["\"ids\"", "I64 is not a float type"],
    );
    let tensors = [
        Tensor::f32("a.bias", &[4], &values(4)),
        Tensor::f32("b.norm.weight", &[4], &values(4)),
    ];
    let words = ["nothing to quantize", "\"a.bias\"", "1 more"];
    refused_file(&folder, &safetensors(&tensors, &[]), &words);
}

#[test]
fn infinities_and_nan_are_named_for_every_recipe_and_type() {
    let folder = Folder::new("not_finite");
    // Far enough down that the row lies in a later band.
    let (rows, cols) = (600, 300);
    for (recipe, bad, word) in [
        ("tensor", f32::NAN, "NaN"),
        ("row", f32::INFINITY, "inf"),
        ("block128", f32::NEG_INFINITY, "-inf"),
        ("tile128", -f32::NAN, "NaN"),
        ("mxfp8", f32::INFINITY, "inf"),
        ("mxfp6", f32::NAN, "NaN"),
        ("mxfp4", f32::NEG_INFINITY, "-inf"),
        ("nvfp4", f32::NAN, "NaN"),
    ] {
        let mut source = values(rows * cols);
        source[599 * cols + 7] = f32::NAN;
        source[431 * cols + 299] = bad;
        let tensors = [
            Tensor::f32("a.weight", &[2, 4], &values(8)),
            Tensor::f32("b.weight", &[rows, cols], &source),
        ];
        let input = folder.write("in", safetensors(&tensors, &[]));
        let arguments = [&input, &folder.path("out"), "--recipe", recipe];
        let place = format!("{word} at row 431, column 299");
        refused(&folder, &arguments, &["tensor \"b.weight\"", &place]);
    }
    for (dtype, infinity) in [(Dtype::BF16, [0x80, 0x7F]), (Dtype::F16, [0x00, 0x7C])] {
        let mut tensor = Tensor::zeros("h", dtype, &[2, 3]);
        tensor.bytes[8..10].copy_from_slice(&infinity);
        refused_file(
            &folder,
            &safetensors(&[tensor], &[]),
            &["\"h\"", "inf at row 1, column 1"],
        );
    }
    // A tensor that is only copied may hold them: masks do.
    let mask = Tensor::f32("mask_embed", &[1, 2], &[f32::NEG_INFINITY, 0.0]);
    let tensors = [mask, Tensor::f32("a.weight", &[2, 2], &values(4))];
    let input = folder.write("in", safetensors(&tensors, &[]));
    succeed(&[&input, &folder.path("out")]);
}

#[test]
fn places_that_would_harm_something() {
    let folder = Folder::new("file_places");
    let input = folder.write("in", safetensors(&model(), &[]));
    refused(&folder, &[&input, &input], &["the output is the input"]);
    refused(
        &folder,
        &[&input, &folder.path("./in")],
        &["the output is the input"],
    );
    std::os::unix::fs::symlink(&input, folder.path("link")).expect("a link");
    refused(
        &folder,
        &[&input, &folder.path("link")],
        &["the output is the input"],
    );
    refused(
        &folder,
        &[&folder.path("link"), &input],
        &["the output is the input"],
    );
    refused(
        &folder,
        &[&input, &folder.path("no/out")],
        &["no/out", "No such file"],
    );
    refused(
        &folder,
        &[&input, "/dev/full"],
        &["/dev/full", "not a file"],
    );
    refused(
        &folder,
        &[&input, env!("CARGO_TARGET_TMPDIR")],
        &["not a file"],
    );
    let out = folder.path("out");
    let report = |path: &str, words: &[&str]| {
        refused(&folder, &[&input, &out, "--report", path], words);
    };
    report(&input, &["the report would overwrite"]);
    report(&out, &["the report would overwrite"]);
    report(&folder.path("no/report"), &["no/report", "No such file"]);
    report("/dev/full", &["/dev/full", "not a file"]);
    assert_eq!(
        Opened::new(&input).names().len(),
        model().len(),
        "the input is whole"
    );
}

#[test]
fn a_full_disk_leaves_nothing() {
    let folder = Folder::new("full_disk");
    let input = folder.write("in", safetensors(&model(), &[]));
    let output = folder.path("out");
    // A limit on the size of files stands for the disk: the header fits, the tensors do not.
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$@\"";
    let before = folder.names();
    let shell = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(program())
        .args([&input, &output])
        .output();
    check_failure(
        &shell.expect("a shell"),
        &["out", "tensor \"", "File too large"],
    );
    assert_eq!(folder.names(), before);
}

#[test]
fn options_that_make_no_sense() {
    let folder = Folder::new("options");
    let input = folder.write("in", safetensors(&model(), &[]));
    let output = folder.path("out");
    let both = |options: &[&str], words: &[&str]| {
        refused(
            &folder,
            &[&[input.as_str(), &output], options].concat(),
            words,
        );
    };
    both(
        &["--recipe", "mxfp8", "--scale", "f32"],
        &["mxfp8 has e8m0 scales"],
    );
    both(
        &["--recipe", "nvfp4", "--scale", "e8m0"],
        &["nvfp4 has ue4m3 scales"],
    );
    both(&["--scale", "ue4m3"], &["f32 or pow2 or e8m0 scales"]);
    both(&["--format", "e2m1"], &["block128 has e4m3 or e5m2"]);
    both(
        &["--recipe", "mxfp6", "--format", "e4m3"],
        &["mxfp6 has e2m3 or e3m2 elements"],
    );
    both(&["--least-error"], &["--scale e8m0"]);
    both(
        &["--recipe", "nvfp4", "--least-error"],
        &["powers of two", "recipe of MX"],
    );
    both(&["--e8m0-as-u8"], &["--scale e8m0"]);
    // The parser's own: exit status 2 and usage.
    for arguments in [
        &[input.as_str()][..],
        &[&input, &output, "--recipe", "int4"],
        &[&input, &output, "--threads", "0"],
        &[&input, &output, "--keep", "[z-a"],
        &["--recipe", "row"],
        &["--least-error"],
        &["--report", "-"],
        &[&input, &output, &output],
    ] {
        let outcome = run(arguments);
        assert_eq!(outcome.status.code(), Some(2), "{arguments:?}");
        assert!(outcome.stdout.is_empty() && !outcome.stderr.is_empty());
    }
    assert_eq!(folder.names(), ["in"]);
}

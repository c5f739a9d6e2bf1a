// SPDX-License-Identifier: MIT OR Apache-2.0
//! File in, file out.

use std::fs;

use safetensors::Dtype;
use serde_json::Value;

use crate::fixtures::*;

const UP: &str = "model.layers.0.mlp.up_proj.weight";
const DOWN: &str = "model.layers.0.mlp.down_proj.weight";

/// What a recipe writes for a tensor of 300x260.
struct Recipe {
    name: &'static str,
    /// What stands behind the name of the tensor in the name of its scales.
    suffix: &'static str,
    /// The type of the scales.
    dtype: Dtype,
    /// The shape of the scales.
    shape: &'static [usize],
    /// Rows and columns of a block.
    block: [usize; 2],
}

const fn recipe(
    name: &'static str,
    suffix: &'static str,
    dtype: Dtype,
    shape: &'static [usize],
    block: [usize; 2],
) -> Recipe {
    Recipe {
        name,
        suffix,
        dtype,
        shape,
        block,
    }
}

const RECIPES: &[Recipe] = &[
    recipe("tensor", "_scale", Dtype::F32, &[1], [300, 260]),
    recipe("row", "_scale", Dtype::F32, &[300, 1], [1, 260]),
    recipe("block128", "_scale_inv", Dtype::F32, &[3, 3], [128, 128]),
    recipe("tile128", "_scale_inv", Dtype::F32, &[300, 3], [1, 128]),
    recipe("mxfp8", "_scale", Dtype::F8_E8M0, &[300, 9], [1, 32]),
];

/// The value of a code by the definition of OFP8.
fn decode(code: u8, mantissa_bits: i32, bias: i32) -> f64 {
    let sign = if code >= 128 { -1.0 } else { 1.0 };
    let magnitude = i32::from(code & 127);
    let (field, mantissa) = (magnitude >> mantissa_bits, magnitude % (1 << mantissa_bits));
    let fraction = f64::from(mantissa) / f64::from(1 << mantissa_bits);
    sign * match field {
        0 => fraction * 2f64.powi(1 - bias),
        _ => (1.0 + fraction) * 2f64.powi(field - bias),
    }
}

/// Every element is within the error that its format allows, under a scale for which the
/// largest element of its block does not saturate.
fn check_values(out: &Opened, suffix: &str, block: [usize; 2], mantissa_bits: i32, bias: i32) {
    let (_, shape, codes) = out.tensor(UP);
    let scale_name = format!("{UP}{suffix}");
    let (dtype, _, bytes) = out.tensor(&scale_name);
    let scales: Vec<f64> = match dtype {
        Dtype::F32 => out.f32s(&scale_name).into_iter().map(f64::from).collect(),
        _ => bytes
            .iter()
            .map(|&byte| 2f64.powi(i32::from(byte) - 127))
            .collect(),
    };
    let (rows, cols) = (shape[0], shape[1]);
    let source = values(rows * cols);
    for (i, (&code, &x)) in codes.iter().zip(&source).enumerate() {
        let (row, col) = (i / cols / block[0], i % cols / block[1]);
        let scale = scales[row * cols.div_ceil(block[1]) + col];
        let error = (f64::from(x) - scale * decode(code, mantissa_bits, bias)).abs();
        let half_ulp = f64::from(x).abs() * 2f64.powi(-1 - mantissa_bits);
        let half_smallest = scale * 2f64.powi(-bias - mantissa_bits);
        // The scale itself is rounded to f32.
        let allowed = half_ulp.max(half_smallest) * (1.0 + 1e-6) + f64::from(x).abs() * 1e-6;
        assert!(
            error <= allowed,
            "element {i}: {x} became {code:#x} under {scale}"
        );
    }
}

#[test]
fn each_recipe_writes_what_loaders_expect() {
    let folder = Folder::new("recipes");
    let input = folder.write("in.safetensors", safetensors(&model(), &[]));
    for &Recipe {
        name: recipe,
        suffix,
        dtype,
        shape,
        block,
    } in RECIPES
    {
        let output = folder.path(&format!("{recipe}.safetensors"));
        let printed = succeed(&[&input, &output, "--recipe", recipe]);
        assert!(printed.contains(UP), "{recipe}: {printed}");
        let out = Opened::new(&output);
        let mut expected: Vec<String> = model().iter().map(|tensor| tensor.name.into()).collect();
        expected.extend([format!("{UP}{suffix}"), format!("{DOWN}{suffix}")]);
        expected.sort();
        assert_eq!(out.names(), expected, "{recipe}");
        let (code_dtype, code_shape, _) = out.tensor(UP);
        assert_eq!((code_dtype, code_shape), (Dtype::F8_E4M3, vec![300, 260]));
        let (scale_dtype, scale_shape, _) = out.tensor(&format!("{UP}{suffix}"));
        assert_eq!((scale_dtype, &scale_shape[..]), (dtype, shape), "{recipe}");
        check_values(&out, suffix, block, 3, 7);
    }
}

#[test]
fn e5m2_and_other_scales() {
    let folder = Folder::new("formats");
    let input = folder.write("in.safetensors", safetensors(&model(), &[]));
    for &Recipe {
        name: recipe,
        suffix,
        block,
        ..
    } in RECIPES
    {
        for scale in ["f32", "pow2", "e8m0"] {
            if recipe == "mxfp8" && scale != "e8m0" {
                continue;
            }
            let output = folder.path("out.safetensors");
            let options = ["--recipe", recipe, "--format", "e5m2", "--scale", scale];
            succeed(&[&[input.as_str(), &output], &options[..]].concat());
            let out = Opened::new(&output);
            assert_eq!(out.tensor(UP).0, Dtype::F8_E5M2);
            let (dtype, _, _) = out.tensor(&format!("{UP}{suffix}"));
            let expected = if scale == "e8m0" {
                Dtype::F8_E8M0
            } else {
                Dtype::F32
            };
            assert_eq!(dtype, expected, "{recipe} {scale}");
            check_values(&out, suffix, block, 2, 15);
            if scale == "pow2" {
                let scales = out.f32s(&format!("{UP}{suffix}"));
                assert!(
                    scales.iter().all(|scale| scale.to_bits() << 9 == 0),
                    "{recipe}"
                );
            }
        }
    }
}

#[test]
fn e8m0_as_u8_changes_the_type_alone() {
    let folder = Folder::new("u8");
    let input = folder.write("in.safetensors", safetensors(&model(), &[]));
    let [named, plain] = ["named", "plain"].map(|name| folder.path(name));
    succeed(&[&input, &named, "--recipe", "mxfp8"]);
    succeed(&[&input, &plain, "--recipe", "mxfp8", "--e8m0-as-u8"]);
    let scales = |path| Opened::new(path).tensor(&format!("{UP}_scale"));
    let ((named, shape, bytes), (plain, ..)) = (scales(&named), scales(&plain));
    assert_eq!((named, plain), (Dtype::F8_E8M0, Dtype::U8));
    assert_eq!(scales(&folder.path("plain")), (Dtype::U8, shape, bytes));
}

#[test]
fn halves_give_the_codes_of_the_same_values_in_f32() {
    let folder = Folder::new("halves");
    let source = values(20_000);
    let wide = Tensor::f32("w", &[100, 200], &source);
    let bf16 = Tensor {
        dtype: Dtype::BF16,
        bytes: source
            .iter()
            .flat_map(|x| x.to_le_bytes()[2..].to_owned())
            .collect(),
        ..Tensor::f32("w", &[100, 200], &[])
    };
    // Exponents 2^-11 to 1 and 7 bits of mantissa: normal in binary16.
    let half = |x: f32| {
        (x.to_bits() >> 16 & 0x8000 | ((x.to_bits() & 0x7FFF_FFFF) - (112 << 23)) >> 13) as u16
    };
    let f16 = Tensor {
        dtype: Dtype::F16,
        bytes: source.iter().flat_map(|&x| half(x).to_le_bytes()).collect(),
        ..Tensor::f32("w", &[100, 200], &[])
    };
    for Recipe {
        name: recipe,
        suffix,
        ..
    } in RECIPES
    {
        let outputs = [&wide, &bf16, &f16].map(|tensor| {
            let input = folder.write("in", safetensors(std::slice::from_ref(tensor), &[]));
            let output = folder.path("out");
            succeed(&[&input, &output, "--recipe", recipe]);
            let out = Opened::new(&output);
            (out.tensor("w"), out.tensor(&format!("w{suffix}")))
        });
        assert_eq!(outputs[0], outputs[1], "bf16, {recipe}");
        assert_eq!(outputs[0], outputs[2], "f16, {recipe}");
    }
}

#[test]
fn threads_change_neither_output_nor_report() {
    let folder = Folder::new("threads");
    // Several bands, ragged at the end.
    let tensors = [
        Tensor::f32("a.weight", &[700, 301], &values(210_700)),
        Tensor::f32("b.weight", &[2, 1000, 99], &values(198_000)),
        // Three that begin at the same byte.
        Tensor::zeros("c", Dtype::F32, &[0]),
        Tensor::zeros("d", Dtype::F32, &[0, 7]),
        Tensor::zeros("e", Dtype::F32, &[7, 0]),
    ];
    let input = folder.write("in", safetensors(&tensors, &[]));
    for Recipe { name: recipe, .. } in RECIPES {
        let outcomes = ["1", "2", "7"].map(|threads| {
            let (output, report) = (folder.path("out"), folder.path("report.json"));
            let options = [
                "--recipe",
                recipe,
                "--threads",
                threads,
                "--report",
                &report,
            ];
            succeed(&[&[input.as_str(), &output], &options[..]].concat());
            (
                fs::read(output).expect("output"),
                fs::read(report).expect("report"),
            )
        });
        assert!(
            outcomes[0] == outcomes[1] && outcomes[0] == outcomes[2],
            "{recipe}"
        );
    }
}

/// Stacked matrices (experts) give what each gives alone, one after another; only the recipe with
/// one scale for a tensor sees them as one matrix.
#[test]
fn stacked_matrices_share_no_scale() {
    let folder = Folder::new("stacked");
    let (count, rows, cols) = (3, 65, 40);
    let source = values(count * rows * cols);
    let convert = |name: &str, recipe: &str, shape: &[usize], values: &[f32]| {
        let input = folder.write(name, safetensors(&[Tensor::f32("w", shape, values)], &[]));
        let output = folder.path(&format!("{name}.out"));
        succeed(&[&input, &output, "--recipe", recipe]);
        Opened::new(&output)
    };
    for (recipe, suffix, grid) in [
        ("block128", "_scale_inv", [1, 1]),
        ("tile128", "_scale_inv", [65, 1]),
        ("row", "_scale", [65, 1]),
        ("mxfp8", "_scale", [65, 2]),
    ] {
        let stacked = convert("stack", recipe, &[count, rows, cols], &source);
        let scale_name = format!("w{suffix}");
        assert_eq!(stacked.tensor("w").1, [count, rows, cols]);
        assert_eq!(stacked.tensor(&scale_name).1, [count, grid[0], grid[1]]);
        let (mut codes, mut scales) = (Vec::new(), Vec::new());
        for one in source.chunks(rows * cols) {
            let alone = convert("one", recipe, &[rows, cols], one);
            codes.extend_from_slice(&alone.tensor("w").2);
            scales.extend_from_slice(&alone.tensor(&scale_name).2);
        }
        assert_eq!(stacked.tensor("w").2, codes, "{recipe}");
        assert_eq!(stacked.tensor(&scale_name).2, scales, "{recipe}");
    }
    let stacked = convert("stack", "tensor", &[count, rows, cols], &source);
    let flat = convert("flat", "tensor", &[count * rows, cols], &source);
    assert_eq!(stacked.tensor("w").2, flat.tensor("w").2);
    assert_eq!(stacked.tensor("w_scale"), flat.tensor("w_scale"));
}

#[test]
fn what_is_kept_stays_byte_for_byte_and_so_does_the_text() {
    let folder = Folder::new("kept");
    let text = [("format", "pt"), ("note", "a \"quoted\" line\nand another")];
    let input = folder.write("in", safetensors(&model(), &text));
    succeed(&[&input, &folder.path("out"), "--keep", "*down*"]);
    let (before, after) = (Opened::new(&input), Opened::new(&folder.path("out")));
    for tensor in model().iter().filter(|tensor| tensor.name != UP) {
        assert_eq!(before.tensor(tensor.name), after.tensor(tensor.name));
    }
    assert_eq!(after.tensor(UP).0, Dtype::F8_E4M3);
    assert_eq!(after.names().len(), model().len() + 1);
    let bytes = fs::read(folder.path("out")).expect("output");
    let (_, metadata) = safetensors::SafeTensors::read_metadata(&bytes).expect("a header");
    let kept = metadata.metadata().clone().expect("text");
    assert_eq!(kept.len(), text.len());
    for (key, value) in text {
        assert_eq!(kept[key], value);
    }
}

#[test]
fn the_default_list_can_be_switched_off() {
    let folder = Folder::new("no_default");
    let input = folder.write("in", safetensors(&model(), &[]));
    succeed(&[
        &input,
        &folder.path("out"),
        "--no-default-keep",
        "--keep",
        "lm_head.*",
    ]);
    let out = Opened::new(&folder.path("out"));
    for tensor in model() {
        let expected = match tensor.name {
            "lm_head.weight" => Dtype::F32,
            "position_ids" => Dtype::I64,
            _ => Dtype::F8_E4M3,
        };
        assert_eq!(out.tensor(tensor.name).0, expected, "{}", tensor.name);
    }
    let (_, shape, _) = out.tensor("model.layers.0.mlp.up_proj.bias_scale_inv");
    assert_eq!(shape, [1, 3], "one dimension is one row");
}

#[test]
fn the_input_may_be_unaligned_and_tensors_of_the_output_are_aligned() {
    let folder = Folder::new("alignment");
    let header = r#"{"b":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"w":{"dtype":"F32","shape":[2,2],"data_offsets":[3,19]}}"#;
    let mut bytes = raw(header, 3);
    bytes.extend([1f32, -2.0, 3.0, 0.5].iter().flat_map(|x| x.to_le_bytes()));
    let input = folder.write("in", bytes);
    succeed(&[&input, &folder.path("out"), "--recipe", "tensor"]);
    let bytes = fs::read(folder.path("out")).expect("output");
    let (header, metadata) = safetensors::SafeTensors::read_metadata(&bytes).expect("a header");
    assert_eq!(header % 8, 0);
    for (name, info) in metadata.tensors() {
        let size = info.dtype.bitsize() / 8;
        assert_eq!(info.data_offsets.0 % size, 0, "{name}");
    }
    let codes = Opened::new(&folder.path("out")).tensor("w").2;
    // 3 is the largest and becomes 448 = 0x7E.
    assert_eq!(codes[2], 0x7E);
    assert_eq!(codes[1] & 0x80, 0x80);
}

#[test]
fn zeros_have_a_scale_and_empty_tensors_are_copied() {
    let folder = Folder::new("zeros");
    let tensors = [
        Tensor::zeros("zeros", Dtype::F32, &[3, 4]),
        Tensor::zeros("empty", Dtype::F32, &[0, 4]),
    ];
    let input = folder.write("in", safetensors(&tensors, &[]));
    let printed = succeed(&[&input, &folder.path("out")]);
    assert!(!printed.contains("NaN"), "{printed}");
    let out = Opened::new(&folder.path("out"));
    assert_eq!(out.names(), ["empty", "zeros", "zeros_scale_inv"]);
    assert_eq!(out.tensor("zeros").2, [0; 12]);
    assert_eq!(out.f32s("zeros_scale_inv"), [1.0]);
}

#[test]
fn the_report_says_what_the_table_says() {
    let folder = Folder::new("report");
    // Rows so different in size that one scale cannot serve them all.
    let mut uneven = values(64 * 64);
    for (i, value) in uneven.iter_mut().enumerate() {
        *value *= if i / 64 % 2 == 0 { 1.0 } else { 1e-6 };
    }
    let mut tensors = model();
    tensors.push(Tensor::f32("uneven", &[64, 64], &uneven));
    let input = folder.write("in", safetensors(&tensors, &[]));
    let report = folder.path("report.json");
    let options = ["--recipe", "tensor", "--report", &report];
    let printed = succeed(&[&[input.as_str(), &folder.path("out")], &options[..]].concat());
    let report: Value = serde_json::from_slice(&fs::read(&report).expect("report")).expect("JSON");
    assert_eq!(report["recipe"], "tensor");
    let quantized = report["quantized"].as_array().expect("a list");
    assert_eq!(quantized.len(), 3);
    assert_eq!(report["kept"].as_array().map(Vec::len), Some(5));
    for tensor in quantized {
        let elements = tensor["elements"].as_u64().expect("a count");
        assert_eq!(tensor["bytes_before"], 4 * elements);
        assert_eq!(tensor["bytes_after"], elements + 4);
        assert_eq!(tensor["saturated"], 0);
        let line = printed
            .lines()
            .find(|line| line.starts_with(tensor["name"].as_str().unwrap()));
        let line = line.expect("a line in the table");
        let sqnr = tensor["sqnr_db"].as_f64().expect("a number");
        assert!(sqnr > 25.0 && sqnr < 40.0, "{sqnr}");
        assert!(line.contains(&format!("{sqnr:.2}")), "{line}");
        // Half of `uneven` is lost.
        let stands_out = tensor["name"] == "uneven";
        assert_eq!(
            tensor["stands_out"]
                .as_array()
                .is_some_and(|v| !v.is_empty()),
            stands_out
        );
        assert_eq!(line.contains("<- underflows"), stands_out, "{line}");
        if stands_out {
            assert_eq!(tensor["underflowed"], elements / 2);
            assert_eq!(tensor["max_relative_error"], 1.0);
        }
    }
    let sum = |key: &str| -> u64 { quantized.iter().filter_map(|t| t[key].as_u64()).sum() };
    for key in ["elements", "bytes_before", "bytes_after", "underflowed"] {
        assert_eq!(report["totals"][key], sum(key), "{key}");
    }
    let size = |path: &str| fs::metadata(path).expect("a file").len();
    assert_eq!(report["file_bytes_before"], size(&input));
    assert_eq!(report["file_bytes_after"], size(&folder.path("out")));
}

#[test]
fn an_output_file_is_replaced() {
    let folder = Folder::new("replaced");
    let input = folder.write("in", safetensors(&model(), &[]));
    let output = folder.write("out", "something old");
    succeed(&[&input, &output]);
    assert_eq!(Opened::new(&output).tensor(UP).0, Dtype::F8_E4M3);
    assert_eq!(folder.names(), ["in", "out"]);
}

#[test]
fn without_arguments_the_recipes_are_compared() {
    let printed = succeed(&[]);
    for Recipe { name: recipe, .. } in RECIPES {
        for format in ["e4m3", "e5m2"] {
            let line = printed
                .lines()
                .find(|line| line.starts_with(&format!("{recipe} {format} ")));
            let line = line.unwrap_or_else(|| panic!("{recipe} {format}: {printed}"));
            let numbers = line.split_whitespace().skip(2);
            let normal: f64 = numbers
                .take(1)
                .collect::<String>()
                .parse()
                .expect("a number");
            // Uniform relative error of 4 and 3 significant bits: about 31.5 and 25.5 dB.
            let expected = if format == "e4m3" { 31.6 } else { 25.6 };
            assert!((normal - expected).abs() < 0.3, "{line}");
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! File in, file out.

use std::fs;

use safetensors::Dtype;
use serde_json::Value;

use crate::fixtures::*;

const UP: &str = "model.layers.0.mlp.up_proj.weight";
const DOWN: &str = "model.layers.0.mlp.down_proj.weight";

/// Elements: their type in the file, their width, and the numbers that decode them.
#[derive(Clone, Copy)]
struct Elements {
    dtype: Dtype,
    bits: usize,
    mantissa_bits: i32,
    bias: i32,
}

const fn elements(dtype: Dtype, bits: usize, mantissa_bits: i32, bias: i32) -> Elements {
    Elements {
        dtype,
        bits,
        mantissa_bits,
        bias,
    }
}

const E4M3: Elements = elements(Dtype::F8_E4M3, 8, 3, 7);
const E5M2: Elements = elements(Dtype::F8_E5M2, 8, 2, 15);
const E2M3: Elements = elements(Dtype::U8, 6, 3, 1);
const E3M2: Elements = elements(Dtype::U8, 6, 2, 3);
const E2M1: Elements = elements(Dtype::U8, 4, 1, 1);

/// What a recipe writes for a tensor of 300x260.
struct Recipe {
    name: &'static str,
    elements: Elements,
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
    elements: Elements,
    suffix: &'static str,
    dtype: Dtype,
    shape: &'static [usize],
    block: [usize; 2],
) -> Recipe {
    Recipe {
        name,
        elements,
        suffix,
        dtype,
        shape,
        block,
    }
}

const F32: Dtype = Dtype::F32;
const E8M0: Dtype = Dtype::F8_E8M0;

const RECIPES: &[Recipe] = &[
    recipe("tensor", E4M3, "_scale", F32, &[1], [300, 260]),
    recipe("row", E4M3, "_scale", F32, &[300, 1], [1, 260]),
    recipe("block128", E4M3, "_scale_inv", F32, &[3, 3], [128, 128]),
    recipe("tile128", E4M3, "_scale_inv", F32, &[300, 3], [1, 128]),
    recipe("mxfp8", E4M3, "_scale", E8M0, &[300, 9], [1, 32]),
    recipe("mxfp6", E2M3, "_scale", E8M0, &[300, 9], [1, 32]),
    recipe("mxfp4", E2M1, "_scale", E8M0, &[300, 9], [1, 32]),
    recipe("nvfp4", E2M1, "_scale", Dtype::F8_E4M3, &[300, 17], [1, 16]),
];

impl Recipe {
    /// The names of the scales of a tensor.
    fn scale_names(&self, tensor: &str) -> Vec<String> {
        let above = (self.name == "nvfp4").then(|| format!("{tensor}_scale_2"));
        let blocks = format!("{tensor}{}", self.suffix);
        [blocks].into_iter().chain(above).collect()
    }
}

impl Elements {
    /// The value of a code by the definitions of OFP8 and MX.
    fn decode(&self, code: u8) -> f64 {
        let sign_bit = 1 << (self.bits - 1);
        let sign = if code & sign_bit != 0 { -1.0 } else { 1.0 };
        let magnitude = i32::from(code & (sign_bit - 1));
        let steps = 1 << self.mantissa_bits;
        let fraction = f64::from(magnitude % steps) / f64::from(steps);
        sign * match magnitude / steps {
            0 => fraction * 2f64.powi(1 - self.bias),
            field => (1.0 + fraction) * 2f64.powi(field - self.bias),
        }
    }

    /// Codes from their string of bits, the lowest first.
    fn unpack(&self, bytes: &[u8]) -> Vec<u8> {
        let bit = |i: usize| bytes[i / 8] >> (i % 8) & 1;
        let code = |i: usize| (0..self.bits).map(|k| bit(i * self.bits + k) << k).sum();
        (0..bytes.len() * 8 / self.bits).map(code).collect()
    }
}

/// The scales of the tensor `UP`, as multipliers.
fn scales(out: &Opened, recipe: &Recipe) -> Vec<f64> {
    let name = format!("{UP}{}", recipe.suffix);
    let (dtype, _, bytes) = out.tensor(&name);
    match dtype {
        Dtype::F32 => out.f32s(&name).into_iter().map(f64::from).collect(),
        Dtype::F8_E4M3 => {
            let above = out.f32s(&format!("{UP}_scale_2"))[0];
            let scale = |&byte| f64::from(above) * E4M3.decode(byte);
            bytes.iter().map(scale).collect()
        }
        _ => {
            let scale = |&byte| 2f64.powi(i32::from(byte) - 127);
            bytes.iter().map(scale).collect()
        }
    }
}

/// Every element is within the error that its format allows, under a scale for which the
/// largest element of its block does not saturate.
fn check_values(out: &Opened, recipe: &Recipe, elements: Elements) {
    let codes = elements.unpack(&out.tensor(UP).2);
    let scales = scales(out, recipe);
    let (rows, cols, block) = (300, 260, recipe.block);
    let source = values(rows * cols);
    assert_eq!(codes.len(), source.len());
    for (i, (&code, &x)) in codes.iter().zip(&source).enumerate() {
        let (row, col) = (i / cols / block[0], i % cols / block[1]);
        let scale = scales[row * cols.div_ceil(block[1]) + col];
        let error = (f64::from(x) - scale * elements.decode(code)).abs();
        let half_ulp = f64::from(x).abs() * 2f64.powi(-1 - elements.mantissa_bits);
        let half_smallest = scale * 2f64.powi(-elements.bias - elements.mantissa_bits);
        // The scale itself is rounded to f32.
        let allowed = half_ulp.max(half_smallest) * (1.0 + 1e-6) + f64::from(x).abs() * 1e-6;
        assert!(
            error <= allowed,
            "{}: element {i}: {x} became {code:#x} under {scale}",
            recipe.name
        );
    }
}

#[test]
fn each_recipe_writes_what_loaders_expect() {
    let folder = Folder::new("recipes");
    let input = folder.write("in.safetensors", safetensors(&model(), &[]));
    for recipe in RECIPES {
        let (name, elements) = (recipe.name, recipe.elements);
        let output = folder.path(&format!("{name}.safetensors"));
        let printed = succeed(&[&input, &output, "--recipe", name]);
        assert!(printed.contains(UP), "{name}: {printed}");
        let out = Opened::new(&output);
        let mut expected: Vec<String> = model().iter().map(|tensor| tensor.name.into()).collect();
        expected.extend(recipe.scale_names(UP));
        expected.extend(recipe.scale_names(DOWN));
        expected.sort();
        assert_eq!(out.names(), expected, "{name}");
        let (code_dtype, code_shape, _) = out.tensor(UP);
        let row_bytes = 260 * elements.bits / 8;
        assert_eq!(
            (code_dtype, code_shape),
            (elements.dtype, vec![300, row_bytes])
        );
        let (dtype, shape, _) = out.tensor(&format!("{UP}{}", recipe.suffix));
        assert_eq!((dtype, &shape[..]), (recipe.dtype, recipe.shape), "{name}");
        check_values(&out, recipe, elements);
    }
}

#[test]
fn the_scale_of_an_nvfp4_tensor_is_that_of_its_largest_element() {
    let folder = Folder::new("nvfp4");
    let input = folder.write("in.safetensors", safetensors(&model(), &[]));
    succeed(&[&input, &folder.path("out"), "--recipe", "nvfp4"]);
    let out = Opened::new(&folder.path("out"));
    let (dtype, shape, _) = out.tensor(&format!("{UP}_scale_2"));
    assert_eq!((dtype, shape), (Dtype::F32, vec![]));
    let amax = values(300 * 260).iter().fold(0f32, |a, x| a.max(x.abs()));
    let expected = 1.0 / (448.0 * 6.0 / amax);
    assert_eq!(out.f32s(&format!("{UP}_scale_2")), [expected]);
}

#[test]
fn other_formats_and_scales() {
    let folder = Folder::new("formats");
    let input = folder.write("in.safetensors", safetensors(&model(), &[]));
    let check = |recipe: &Recipe, format: &str, elements: Elements, scale: &str| {
        let output = folder.path("out.safetensors");
        let options = [
            "--recipe",
            recipe.name,
            "--format",
            format,
            "--scale",
            scale,
        ];
        succeed(&[&[input.as_str(), &output], &options[..]].concat());
        let out = Opened::new(&output);
        assert_eq!(out.tensor(UP).0, elements.dtype);
        let name = format!("{UP}{}", recipe.suffix);
        let expected = if scale == "e8m0" { E8M0 } else { F32 };
        assert_eq!(out.tensor(&name).0, expected, "{} {scale}", recipe.name);
        check_values(&out, recipe, elements);
        if scale == "pow2" {
            let scales = out.f32s(&name);
            let is_power = |scale: &f32| scale.to_bits() << 9 == 0;
            assert!(scales.iter().all(is_power), "{}", recipe.name);
        }
    };
    for recipe in RECIPES {
        match recipe.name {
            "mxfp8" => check(recipe, "e5m2", E5M2, "e8m0"),
            "mxfp6" => check(recipe, "e3m2", E3M2, "e8m0"),
            "mxfp4" | "nvfp4" => {}
            _ => {
                for scale in ["f32", "pow2", "e8m0"] {
                    check(recipe, "e5m2", E5M2, scale);
                }
            }
        }
    }
}

/// Each block keeps its scale or takes the one below, and the whole is nearer to the source.
#[test]
fn least_error_is_an_error_less() {
    let folder = Folder::new("least_error");
    let input = folder.write("in.safetensors", safetensors(&model(), &[]));
    let convert = |options: &[&str]| {
        let (output, report) = (folder.path("out"), folder.path("report.json"));
        let both = [input.as_str(), &output, "--report", &report];
        succeed(&[&both[..], options].concat());
        let report: Value =
            serde_json::from_slice(&fs::read(report).expect("a report")).expect("JSON");
        let sqnr = report["totals"]["sqnr_db"].as_f64().expect("a number");
        (Opened::new(&output), sqnr, report["least_error"].clone())
    };
    for (name, scale) in [
        ("mxfp8", "e8m0"),
        ("mxfp6", "e8m0"),
        ("mxfp4", "e8m0"),
        ("block128", "pow2"),
        ("row", "e8m0"),
    ] {
        let recipe = RECIPES.iter().find(|recipe| recipe.name == name);
        let recipe = recipe.expect("a recipe");
        let options = ["--recipe", name, "--scale", scale, "--least-error"];
        let (plain, plain_sqnr, flag) = convert(&options[..4]);
        assert_eq!(flag, false);
        let (least, least_sqnr, flag) = convert(&options);
        assert_eq!(flag, true);
        assert!(least_sqnr >= plain_sqnr, "{name}");
        let (plain, least) = (scales(&plain, recipe), scales(&least, recipe));
        let pairs = plain.iter().zip(&least);
        assert!(
            pairs
                .clone()
                .all(|(&plain, &least)| least == plain || least == plain / 2.0)
        );
        if name == "mxfp4" {
            // Values of every size in a block: some blocks are better off with their largest cut.
            assert!(least_sqnr > plain_sqnr + 0.1, "{least_sqnr} {plain_sqnr}");
            assert!(pairs.clone().any(|(plain, least)| plain != least));
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
    for recipe in RECIPES {
        let name = recipe.name;
        let outputs = [&wide, &bf16, &f16].map(|tensor| {
            let input = folder.write("in", safetensors(std::slice::from_ref(tensor), &[]));
            let output = folder.path("out");
            succeed(&[&input, &output, "--recipe", name]);
            let out = Opened::new(&output);
            let scales = recipe.scale_names("w");
            let scales: Vec<_> = scales.iter().map(|name| out.tensor(name)).collect();
            (out.tensor("w"), scales)
        });
        assert_eq!(outputs[0], outputs[1], "bf16, {name}");
        assert_eq!(outputs[0], outputs[2], "f16, {name}");
    }
}

#[test]
fn threads_change_neither_output_nor_report() {
    let folder = Folder::new("threads");
    // Several bands, ragged at the end.
    let tensors = [
        Tensor::f32("a.weight", &[700, 308], &values(215_600)),
        Tensor::f32("b.weight", &[2, 1000, 100], &values(200_000)),
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
    for (recipe, suffix, bits, grid) in [
        ("block128", "_scale_inv", 8, &[1, 1][..]),
        ("tile128", "_scale_inv", 8, &[65, 1]),
        ("row", "_scale", 8, &[65, 1]),
        ("mxfp8", "_scale", 8, &[65, 2]),
        ("mxfp6", "_scale", 6, &[65, 2]),
        ("nvfp4", "_scale", 4, &[65, 3]),
        ("nvfp4", "_scale_2", 4, &[]),
    ] {
        let stacked = convert("stack", recipe, &[count, rows, cols], &source);
        let scale_name = format!("w{suffix}");
        assert_eq!(stacked.tensor("w").1, [count, rows, cols * bits / 8]);
        assert_eq!(stacked.tensor(&scale_name).1, [&[count], grid].concat());
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

/// With `-` the report is all that standard output holds, equal to the file.
#[test]
fn the_report_may_go_to_standard_output() {
    let folder = Folder::new("stdout");
    let input = folder.write("in", safetensors(&model(), &[]));
    let (output, report) = (folder.path("out"), folder.path("report.json"));
    assert!(succeed(&[&input, &output, "--report", &report]).contains("SQNR dB"));
    let printed = succeed(&[&input, &output, "--report", "-"]);
    assert_eq!(printed, fs::read_to_string(report).expect("text"));
    assert_eq!(folder.names(), ["in", "out", "report.json"]);
}

#[test]
fn without_arguments_the_recipes_are_compared() {
    let printed = succeed(&[]);
    // The error of a rounding is uniform in an ulp: about 31.5 and 25.5 dB for 4 and 3
    // significant bits. Fewer exponents lose a little where values are small.
    for (recipe, format, expected) in [
        ("tensor", "e4m3", 31.6),
        ("row", "e4m3", 31.6),
        ("block128", "e4m3", 31.6),
        ("tile128", "e4m3", 31.6),
        ("mxfp8", "e4m3", 31.6),
        ("tensor", "e5m2", 25.6),
        ("row", "e5m2", 25.6),
        ("block128", "e5m2", 25.6),
        ("tile128", "e5m2", 25.6),
        ("mxfp8", "e5m2", 25.6),
    ] {
        let normal = compared(&printed, &format!("{recipe} {format}"));
        assert!(
            (normal - expected).abs() < 0.3,
            "{recipe} {format}: {normal}"
        );
    }
    // Each with less error than the one before it.
    let order = [
        "mxfp4 e2m1",
        "mxfp4 e2m1 least error",
        "nvfp4 e2m1",
        "mxfp6 e3m2",
        "mxfp6 e2m3",
        "mxfp6 e2m3 least error",
    ];
    let normal = order.map(|label| compared(&printed, label));
    assert!(normal.is_sorted(), "{normal:?}");
}

/// The SQNR of the normal weights in the row with that label.
#[track_caller]
fn compared(printed: &str, label: &str) -> f64 {
    let mut rows = printed.lines().filter_map(|line| line.split_once("  "));
    let row = rows.find(|(first, _)| *first == label);
    let (_, numbers) = row.unwrap_or_else(|| panic!("{label}: {printed}"));
    let first = numbers.split_whitespace().next().expect("a number");
    first.parse().expect("a number")
}

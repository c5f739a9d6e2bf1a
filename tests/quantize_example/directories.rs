// SPDX-License-Identifier: MIT OR Apache-2.0
//! Model directory in, model directory out.

use std::fs;

use serde_json::{Value, json};

use crate::fixtures::*;

const INDEX: &str = "model.safetensors.index.json";

/// Splits a model over three shards in a folder `in`, with an index, a configuration and other
/// files.
fn sharded(folder: &Folder) -> String {
    let tensors = model();
    let parts = [&tensors[..2], &tensors[2..4], &tensors[4..]];
    let mut weight_map = json!({});
    for (i, part) in parts.iter().enumerate() {
        let file = format!("model-{:05}-of-00003.safetensors", i + 1);
        for tensor in *part {
            weight_map[tensor.name] = json!(file);
        }
        folder.write(
            &format!("in/{file}"),
            safetensors(part, &[("format", "pt")]),
        );
    }
    let index =
        json!({ "metadata": { "total_size": 1, "made_by": "x" }, "weight_map": weight_map });
    folder.write(&format!("in/{INDEX}"), index.to_string());
    folder.write("in/config.json", r#"{"zeta": 1, "alpha": {"b": [1, 2]}}"#);
    folder.write("in/tokenizer.json", "tokens");
    folder.write("in/1_Pooling/config.json", "pooling");
    folder.write("in/.git/HEAD", "hidden");
    folder.path("in")
}

fn read_json(path: &str) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}

#[test]
fn three_shards_hold_what_one_file_holds() {
    let folder = Folder::new("shards");
    let input = sharded(&folder);
    let file = folder.write("file", safetensors(&model(), &[]));
    for recipe in [
        "tensor", "row", "block128", "tile128", "mxfp8", "mxfp6", "nvfp4",
    ] {
        let output = folder.path(recipe);
        succeed(&[&input, &output, "--recipe", recipe]);
        succeed(&[&file, &folder.path("whole"), "--recipe", recipe]);
        let whole = Opened::new(&folder.path("whole"));

        let index = read_json(&format!("{output}/{INDEX}"));
        let weight_map = index["weight_map"].as_object().expect("an object");
        let mut names: Vec<&String> = weight_map.keys().collect();
        names.sort();
        assert_eq!(names, whole.names().iter().collect::<Vec<_>>(), "{recipe}");
        let mut total = 0;
        for (name, shard) in weight_map {
            let shard = Opened::new(&format!("{output}/{}", shard.as_str().expect("a name")));
            assert_eq!(shard.tensor(name), whole.tensor(name), "{recipe}: {name}");
            total += shard.tensor(name).2.len();
        }
        assert_eq!(
            index["metadata"],
            json!({ "total_size": total, "made_by": "x" })
        );
        // A scale lies where its tensor lies.
        let scale = names
            .iter()
            .find(|name| name.contains("up_proj.weight_scale"))
            .expect("a scale");
        assert_eq!(weight_map[*scale], "model-00001-of-00003.safetensors");
    }
}

#[test]
fn the_configuration_tells_loaders_of_the_blocks() {
    let folder = Folder::new("configuration");
    let input = sharded(&folder);
    let config = |name: &str, options: &[&str]| {
        let output = folder.path(name);
        succeed(&[&[input.as_str(), &output], options].concat());
        read_json(&format!("{output}/config.json"))
    };
    let kept = ["model.embed_tokens", "lm_head"];
    let block = config("block", &[]);
    let expected = json!({
        "quant_method": "fp8",
        "fmt": "e4m3",
        "weight_block_size": [128, 128],
        "activation_scheme": "dynamic",
        "modules_to_not_convert": kept,
    });
    assert_eq!(block["quantization_config"], expected);
    assert_eq!(
        (&block["zeta"], &block["alpha"]),
        (&json!(1), &json!({ "b": [1, 2] }))
    );
    let text = fs::read_to_string(folder.path("block/config.json")).expect("text");
    assert!(
        text.find("zeta") < text.find("alpha"),
        "the order of the keys is kept: {text}"
    );

    let tile = config(
        "tile",
        &["--recipe", "tile128", "--format", "e5m2", "--scale", "pow2"],
    );
    let expected = json!({
        "quant_method": "fp8",
        "fmt": "e5m2",
        "weight_block_size": [1, 128],
        "activation_scheme": "dynamic",
        "scale_fmt": "ue8m0",
        "modules_to_not_convert": kept,
    });
    assert_eq!(tile["quantization_config"], expected);

    for recipe in ["row", "nvfp4"] {
        assert_eq!(
            config(recipe, &["--recipe", recipe]),
            read_json(&format!("{input}/config.json")),
            "no convention, no change"
        );
    }
}

#[test]
fn other_files_come_along() {
    let folder = Folder::new("others");
    let input = sharded(&folder);
    fs::write(folder.path("in/pytorch_model.bin"), "weights").expect("a file");
    succeed(&[&input, &folder.path("out")]);
    let read = |name: &str| fs::read_to_string(folder.path(name)).expect(name);
    // The same weights in another form would be loaded by mistake.
    assert!(!folder.0.join("out/pytorch_model.bin").exists());
    assert_eq!(read("out/tokenizer.json"), "tokens");
    assert_eq!(read("out/1_Pooling/config.json"), "pooling");
    assert!(!folder.0.join("out/.git").exists());
    assert_eq!(folder.names(), ["in", "out"], "nothing temporary is left");
}

#[test]
fn one_file_needs_no_index_and_an_empty_folder_may_be_there() {
    let folder = Folder::new("single");
    folder.write("in/model.safetensors", safetensors(&model(), &[]));
    fs::create_dir(folder.path("out")).expect("a folder");
    succeed(&[&folder.path("in"), &folder.path("out")]);
    let out = Folder(folder.0.join("out"));
    assert_eq!(out.names(), ["model.safetensors"]);
}

#[test]
fn the_report_may_lie_in_the_output() {
    let folder = Folder::new("report_inside");
    let input = sharded(&folder);
    let output = folder.path("out");
    let report = |name: &str| folder.path(&format!("out/{name}"));
    for taken in [
        "config.json",
        INDEX,
        "model-00002-of-00003.safetensors",
        "tokenizer.json",
        "1_Pooling",
    ] {
        let arguments = [&input, &output, "--report", &report(taken)];
        let words = [taken, "would overwrite a file of the model"];
        crate::refusals::refused(&folder, &arguments, &words);
    }
    succeed(&[&input, &output, "--report", &report("report.json")]);
    assert_eq!(read_json(&report("report.json"))["recipe"], "block128");
    assert!(folder.0.join("out/tokenizer.json").exists());
}

/// The directory is refused, for a reason that has these words, and nothing is left behind.
#[track_caller]
fn refused(folder: &Folder, words: &[&str]) {
    crate::refusals::refused(folder, &[&folder.path("in"), &folder.path("out")], words);
}

#[test]
fn a_directory_that_contradicts_itself_is_refused() {
    let folder = Folder::new("contradictions");
    let input = sharded(&folder);
    let index = format!("in/{INDEX}");
    let good = read_json(&format!("{input}/{INDEX}"));

    for (name, file, words) in [
        (
            "no.such.weight",
            "model-00001-of-00003.safetensors",
            ["\"no.such.weight\"", "is not in"],
        ),
        (
            "lm_head.weight",
            "model-00001-of-00003.safetensors",
            ["\"lm_head.weight\"", "is not in"],
        ),
        (
            "lm_head.weight",
            "../in/tokenizer.json",
            ["\"lm_head.weight\"", "beside the index"],
        ),
        (
            "lm_head.weight",
            "missing.safetensors",
            ["missing.safetensors", "No such file"],
        ),
    ] {
        let mut bad = good.clone();
        bad["weight_map"][name] = json!(file);
        folder.write(&index, bad.to_string());
        refused(&folder, &words);
    }
    let mut twice = good.clone();
    folder.write("in/twice.safetensors", safetensors(&model()[..1], &[]));
    twice["weight_map"]["x"] = json!("twice.safetensors");
    folder.write(&index, twice.to_string());
    refused(&folder, &["\"model.embed_tokens.weight\"", "is also in"]);

    for (text, words) in [
        ("{", ["index.json", "EOF"]),
        ("{}", ["index.json", "weight_map"]),
        (r#"{"weight_map": {}}"#, ["neither", "shards"]),
        (r#"{"weight_map": {"a": 1}}"#, ["\"a\"", "not a string"]),
    ] {
        folder.write(&index, text);
        refused(&folder, &words);
    }
    fs::remove_file(folder.path(&index)).expect("removed");
    refused(&folder, &["neither model.safetensors nor", "in"]);

    folder.write(&index, good.to_string());
    folder.write(
        "in/config.json",
        r#"{"quantization_config": {"quant_method": "gptq"}}"#,
    );
    refused(&folder, &["config.json", "quantized already"]);
    folder.write("in/config.json", "[]");
    refused(&folder, &["config.json", "invalid type"]);
    folder.write("in/config.json", "{}");
    succeed(&[&input, &folder.path("out")]);
}

#[test]
fn a_bad_number_in_the_last_shard_leaves_no_directory() {
    let folder = Folder::new("last_shard");
    sharded(&folder);
    let mut last = model();
    last.drain(..4);
    last.push(Tensor::f32(
        "late.weight",
        &[2, 2],
        &[1.0, 2.0, f32::INFINITY, 4.0],
    ));
    folder.write(
        "in/model-00003-of-00003.safetensors",
        safetensors(&last, &[]),
    );
    refused(&folder, &["\"late.weight\"", "inf at row 1, column 0"]);
}

#[test]
fn the_output_may_not_harm_anything() {
    let folder = Folder::new("places");
    let input = sharded(&folder);
    let check = |output: &str, words: &[&str]| {
        crate::refusals::refused(&folder, &[&input, output], words);
    };
    check(&input, &["the output is the input"]);
    check(&format!("{input}/../in/"), &["the output is the input"]);
    check(&folder.path("in/quantized"), &["inside it"]);
    folder.write("full/something", "of value");
    check(&folder.path("full"), &["is not empty"]);
    check(&folder.write("file", "of value"), &["is not a directory"]);
}

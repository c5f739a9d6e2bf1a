// SPDX-License-Identifier: MIT OR Apache-2.0
//! Folders, checkpoints and runs for the tests.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

/// The program. Cargo builds it before all tests of the package run, but not before this one
/// alone: then an old one might be there, so it is built here.
pub fn program() -> &'static Path {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
        let test = std::env::current_exe().expect("the path of this test");
        let profile = test.ancestors().nth(2).expect("target/PROFILE/deps");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--example", "quantize", "--target-dir"]);
        cargo.arg(profile.parent().expect("target"));
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.status().expect("cargo starts").success());
        profile.join("examples").join("quantize")
    });
    &PROGRAM
}

/// Runs the program.
pub fn run(arguments: &[&str]) -> Output {
    let output = Command::new(program()).args(arguments).output();
    output.expect("the program starts")
}

/// Runs it; it must succeed. Its standard output.
pub fn succeed(arguments: &[&str]) -> String {
    let output = run(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {stderr}");
    String::from_utf8(output.stdout).expect("text")
}

/// An empty folder of that name.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    /// The path of something in it, as an argument.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("text").into()
    }

    /// Writes a file into it; its path.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, bytes).expect("a file");
        self.path(name)
    }

    /// The names of everything in it.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = names
            .map(|name| name.into_string().expect("text"))
            .collect();
        names.sort();
        names
    }
}

/// A tensor for an input.
pub struct Tensor {
    pub name: &'static str,
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    pub bytes: Vec<u8>,
}

impl Tensor {
    pub fn f32(name: &'static str, shape: &[usize], values: &[f32]) -> Tensor {
        Tensor {
            name,
            dtype: Dtype::F32,
            shape: shape.into(),
            bytes: values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect(),
        }
    }

    /// Zeros of any type.
    pub fn zeros(name: &'static str, dtype: Dtype, shape: &[usize]) -> Tensor {
        let elements: usize = shape.iter().product();
        Tensor {
            name,
            dtype,
            shape: shape.into(),
            bytes: vec![0; elements * dtype.bitsize() / 8],
        }
    }
}

/// Values of both signs and of sizes over a few decades: exact in bf16, the same in every run.
pub fn values(count: usize) -> Vec<f32> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 16
    };
    let value = |_| {
        let (mantissa, exponent, sign) = (next() % 128, next() % 12, next() % 2);
        let magnitude = (1.0 + mantissa as f32 / 128.0) / (1u32 << exponent) as f32;
        if sign == 1 { -magnitude } else { magnitude }
    };
    (0..count).map(value).collect()
}

/// A safetensors file, written by that crate.
pub fn safetensors(tensors: &[Tensor], text: &[(&str, &str)]) -> Vec<u8> {
    let views = tensors.iter().map(|tensor| {
        let view = TensorView::new(tensor.dtype, tensor.shape.clone(), &tensor.bytes);
        (tensor.name, view.expect("bytes for the shape"))
    });
    let pairs = text
        .iter()
        .map(|(key, value)| (key.to_string(), value.to_string()));
    let text: HashMap<String, String> = pairs.collect();
    let text = (!text.is_empty()).then_some(text);
    safetensors::serialize(views, text).expect("a file")
}

/// A file with this header, whatever it says, and this many bytes of data.
pub fn raw(header: &str, data: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.resize(bytes.len() + data, 0);
    bytes
}

/// A small model: what a transformer has, and an integer buffer.
pub fn model() -> Vec<Tensor> {
    vec![
        Tensor::f32("model.embed_tokens.weight", &[10, 8], &values(80)),
        Tensor::f32(
            "model.layers.0.mlp.up_proj.weight",
            &[300, 260],
            &values(78_000),
        ),
        Tensor::f32(
            "model.layers.0.mlp.down_proj.weight",
            &[130, 36],
            &values(4_680),
        ),
        Tensor::f32("model.layers.0.mlp.up_proj.bias", &[300], &values(300)),
        Tensor::f32("model.layers.0.input_layernorm.weight", &[8], &values(8)),
        Tensor::f32("lm_head.weight", &[10, 8], &values(80)),
        Tensor::zeros("position_ids", Dtype::I64, &[1, 16]),
    ]
}

/// What a file holds, read by the safetensors crate.
pub struct Opened(Vec<u8>);

impl Opened {
    pub fn new(path: &str) -> Opened {
        Opened(fs::read(path).expect("an output file"))
    }

    pub fn file(&self) -> SafeTensors<'_> {
        SafeTensors::deserialize(&self.0).expect("a safetensors file")
    }

    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.file().iter().map(|(name, _)| name.into()).collect();
        names.sort();
        names
    }

    /// Dtype, shape and bytes of a tensor.
    pub fn tensor(&self, name: &str) -> (Dtype, Vec<usize>, Vec<u8>) {
        let file = self.file();
        let view = file
            .tensor(name)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        (view.dtype(), view.shape().into(), view.data().into())
    }

    pub fn f32s(&self, name: &str) -> Vec<f32> {
        let (dtype, _, bytes) = self.tensor(name);
        assert_eq!(dtype, Dtype::F32, "{name}");
        let chunks = bytes.chunks_exact(4);
        chunks
            .map(|bytes| f32::from_le_bytes(bytes.try_into().expect("4")))
            .collect()
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The input: a safetensors file or a model directory, memory-mapped and checked.

use std::collections::HashMap;
use std::fs::{self, File};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use memmap2::Mmap;
use safetensors::tensor::{Metadata, SafeTensors, TensorInfo};
use safetensors::{Dtype, SafeTensorError};
use serde_json::{Map, Value};

use crate::Result;

pub const INDEX: &str = "model.safetensors.index.json";
pub const CONFIG: &str = "config.json";
/// The key of config.json under which loaders look for the kind of quantization.
pub const QUANTIZATION_CONFIG: &str = "quantization_config";
const SINGLE_FILE: &str = "model.safetensors";

/// A tensor of the input.
#[derive(Clone, Copy)]
pub struct Tensor<'a> {
    pub name: &'a str,
    pub dtype: Dtype,
    pub shape: &'a [usize],
    pub bytes: &'a [u8],
}

impl Tensor<'_> {
    /// The dimensions before the last two.
    pub fn stack(&self) -> &[usize] {
        &self.shape[..self.shape.len().saturating_sub(2)]
    }

    /// As matrices of the last two dimensions, of which there may be many (stacked experts): how
    /// many, rows, columns.
    pub fn matrices(&self) -> (usize, usize, usize) {
        match self.shape {
            [] => (1, 1, 1),
            [cols] => (1, 1, *cols),
            [before @ .., rows, cols] => (before.iter().product(), *rows, *cols),
        }
    }
}

/// One safetensors file.
pub struct Shard {
    pub path: PathBuf,
    map: Mmap,
    metadata: Metadata,
    /// Names in the order of their data.
    names: Vec<String>,
    /// Where the data begin.
    data: usize,
}

impl Shard {
    fn open(path: &Path) -> Result<Shard> {
        let fail = |why: String| format!("{}: {why}", path.display());
        let file = File::open(path).map_err(|error| fail(error.to_string()))?;
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err(fail("not a file".into()));
        }
        // SAFETY: the map is private to this process and never written through. That nobody
        // else truncates or rewrites the file meanwhile cannot be checked: it is asked of the
        // user, as by every program that maps its input.
        let map = unsafe { Mmap::map(&file) }.map_err(|error| fail(error.to_string()))?;
        let (header, metadata) =
            SafeTensors::read_metadata(&map).map_err(|error| fail(explain(&map, error)))?;
        let mut names = metadata.offset_keys();
        // Empty tensors have equal offsets, and the library leaves their order to chance.
        let offsets = |name: &str| metadata.info(name).map(|info| info.data_offsets);
        names.sort_by_cached_key(|name| (offsets(name), name.clone()));
        Ok(Shard {
            path: path.to_owned(),
            names,
            metadata,
            data: size_of::<u64>() + header,
            map,
        })
    }

    /// The tensors, in the order of their data.
    pub fn tensors(&self) -> impl Iterator<Item = Tensor<'_>> {
        self.names.iter().filter_map(|name| self.tensor(name))
    }

    fn tensor<'a>(&'a self, name: &'a str) -> Option<Tensor<'a>> {
        let info = self.metadata.info(name)?;
        let (begin, end) = info.data_offsets;
        Some(Tensor {
            name,
            dtype: info.dtype,
            shape: &info.shape,
            bytes: &self.map[self.data + begin..self.data + end],
        })
    }

    /// The free-form text pairs of the header.
    pub fn text(&self) -> Option<&HashMap<String, String>> {
        self.metadata.metadata().as_ref()
    }

    /// The size of the file.
    pub fn len(&self) -> u64 {
        self.map.len() as u64
    }
}

/// Why the library refused a file; with the name of the tensor where there is one to blame.
fn explain(file: &[u8], error: SafeTensorError) -> String {
    let blamed = header(file).and_then(|(header, data)| blame(&header, data));
    match (blamed, error) {
        (Some(why), _) => why,
        (None, SafeTensorError::MetadataIncompleteBuffer) => {
            "the file goes on after its last tensor".into()
        }
        (None, error) => format!("not a safetensors file: {error}"),
    }
}

/// The header as JSON, and the number of bytes behind it.
fn header(file: &[u8]) -> Option<(Map<String, Value>, usize)> {
    let (length, rest) = file.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let text = rest.get(..length)?;
    Some((serde_json::from_slice(text).ok()?, rest.len() - length))
}

/// The first tensor whose entry cannot be right.
fn blame(header: &Map<String, Value>, data: usize) -> Option<String> {
    let mut ranges: Vec<(Range<usize>, &str)> = Vec::new();
    for (name, entry) in header.iter().filter(|(name, _)| *name != "__metadata__") {
        let info: TensorInfo = match serde_json::from_value(entry.clone()) {
            Ok(info) => info,
            Err(error) => return Some(format!("tensor {name:?}: {error}")),
        };
        let (begin, end) = info.data_offsets;
        let bits = info
            .shape
            .iter()
            .try_fold(info.dtype.bitsize(), |bits, &extent| {
                bits.checked_mul(extent)
            });
        if begin > end || bits != (end - begin).checked_mul(8) {
            return Some(format!(
                "tensor {name:?}: {} {:?} does not fill the bytes {begin} to {end} that the \
                 header gives it",
                info.dtype, info.shape
            ));
        }
        ranges.push((begin..end, name));
    }
    ranges.sort_by_key(|(range, _)| (range.start, range.end));
    let mut expected = 0;
    for (range, name) in ranges {
        if range.start != expected {
            return Some(format!(
                "tensor {name:?}: its data begin at {} where {expected} is due",
                range.start
            ));
        }
        if range.end > data {
            return Some(format!(
                "tensor {name:?}: truncated: its data end at {}, those of the file at {data}",
                range.end
            ));
        }
        expected = range.end;
    }
    None
}

/// What a model directory has besides tensors.
pub struct Directory {
    /// The index of the shards, where there is one.
    pub index: Option<Map<String, Value>>,
    /// config.json, where there is one.
    pub config: Option<Map<String, Value>>,
    /// Every other file, relative to the directory.
    pub others: Vec<PathBuf>,
}

/// The input.
pub struct Checkpoint {
    pub path: PathBuf,
    pub shards: Vec<Shard>,
    /// `None` for a single file.
    pub directory: Option<Directory>,
}

impl Checkpoint {
    pub fn open(path: &Path) -> Result<Checkpoint> {
        let metadata =
            fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let (shards, directory) = if metadata.is_dir() {
            let (shards, directory) = open_directory(path)?;
            (shards, Some(directory))
        } else {
            (vec![Shard::open(path)?], None)
        };
        Ok(Checkpoint {
            path: path.to_owned(),
            shards,
            directory,
        })
    }
}

fn open_directory(path: &Path) -> Result<(Vec<Shard>, Directory)> {
    let index_path = path.join(INDEX);
    let index = read_json(&index_path)?;
    let weight_map = match &index {
        Some(index) => weight_map(&index_path, index)?,
        None => Vec::new(),
    };
    let mut files: Vec<&str> = weight_map.iter().map(|(_, file)| *file).collect();
    files.sort_unstable();
    files.dedup();
    if files.is_empty() {
        if index.is_some() || !path.join(SINGLE_FILE).exists() {
            return Err(format!(
                "{}: neither {SINGLE_FILE} nor shards with their {INDEX}",
                path.display()
            ));
        }
        files.push(SINGLE_FILE);
    }
    let shards = files.iter().map(|file| Shard::open(&path.join(file)));
    let shards: Vec<Shard> = shards.collect::<Result<_>>()?;
    check_names(&index_path, &weight_map, &shards)?;

    let config_path = path.join(CONFIG);
    let config = read_json(&config_path)?;
    if config
        .as_ref()
        .is_some_and(|config| config.contains_key(QUANTIZATION_CONFIG))
    {
        return Err(format!(
            "{}: the model is quantized already: it has a {QUANTIZATION_CONFIG}",
            config_path.display()
        ));
    }
    let mut others = Vec::new();
    list_files(path, Path::new(""), &mut others)?;
    others.retain(|file| {
        let name = file.to_str();
        !name.is_some_and(|name| name == INDEX || name == CONFIG || files.contains(&name))
    });
    let directory = Directory {
        index,
        config,
        others,
    };
    Ok((shards, directory))
}

/// The index's pairs of tensor and file.
fn weight_map<'a>(path: &Path, index: &'a Map<String, Value>) -> Result<Vec<(&'a str, &'a str)>> {
    let fail = |why: String| format!("{}: {why}", path.display());
    let Some(Value::Object(weight_map)) = index.get("weight_map") else {
        return Err(fail("no object weight_map".into()));
    };
    let mut pairs = Vec::new();
    for (name, file) in weight_map {
        let Some(file) = file.as_str() else {
            return Err(fail(format!("tensor {name:?}: its file is not a string")));
        };
        let mut components = Path::new(file).components();
        if !matches!(
            (components.next(), components.next()),
            (Some(Component::Normal(_)), None)
        ) {
            return Err(fail(format!(
                "tensor {name:?}: {file:?} is not the name of a file beside the index"
            )));
        }
        pairs.push((name.as_str(), file));
    }
    Ok(pairs)
}

/// Every tensor of the index is in its file, and no tensor is in two.
fn check_names(index: &Path, weight_map: &[(&str, &str)], shards: &[Shard]) -> Result<()> {
    let mut found: HashMap<&str, &Path> = HashMap::new();
    for shard in shards {
        for name in &shard.names {
            if let Some(other) = found.insert(name, &shard.path) {
                return Err(format!(
                    "{}: tensor {name:?} is also in {}",
                    shard.path.display(),
                    other.display()
                ));
            }
        }
    }
    for (name, file) in weight_map {
        if !found.get(name).is_some_and(|path| path.ends_with(file)) {
            return Err(format!(
                "{}: tensor {name:?} is not in {file}",
                index.display()
            ));
        }
    }
    Ok(())
}

/// A JSON object from a file; `None` where there is no such file.
fn read_json(path: &Path) -> Result<Option<Map<String, Value>>> {
    if !path.exists() {
        return Ok(None);
    }
    let fail = |why: String| format!("{}: {why}", path.display());
    let text = fs::read(path).map_err(|error| fail(error.to_string()))?;
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(|error| fail(error.to_string()))
}

/// Every file below `root/below`, relative to `root`; hidden ones (as `.git`) are left out.
fn list_files(root: &Path, below: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let folder = root.join(below);
    let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(&folder).map_err(fail)? {
        let name = entry.map_err(fail)?.file_name();
        if name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let file = below.join(name);
        // Follows symbolic links, of which the caches of model hubs are made.
        let metadata = fs::metadata(root.join(&file))
            .map_err(|error| format!("{}: {error}", root.join(&file).display()))?;
        if metadata.is_dir() {
            list_files(root, &file, files)?;
        } else {
            files.push(file);
        }
    }
    files.sort();
    Ok(())
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The output: under a temporary name until it is whole, tensors streamed to their places.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use safetensors::Dtype;
use serde_json::{Map, Value, json};

use crate::Result;

/// A file or folder that gets its name when it is whole and vanishes otherwise.
pub struct Staged {
    temporary: PathBuf,
    place: PathBuf,
}

impl Staged {
    /// Chooses the temporary name, beside the final one: a rename works within a file system.
    pub fn new(place: &Path) -> Result<Staged> {
        let Some(name) = place.file_name() else {
            return Err(format!("{}: not the name of a file", place.display()));
        };
        let mut temporary = std::ffi::OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".partial-{}", std::process::id()));
        Ok(Staged {
            temporary: place.with_file_name(temporary),
            place: place.to_owned(),
        })
    }

    /// Where to write.
    pub fn path(&self) -> &Path {
        &self.temporary
    }

    /// It is whole.
    pub fn commit(self) -> Result<()> {
        fs::rename(&self.temporary, &self.place)
            .map_err(|error| format!("{}: {error}", self.place.display()))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // After a commit there is nothing to remove; after a failure the first error counts.
        let _ = fs::remove_file(&self.temporary);
        let _ = fs::remove_dir_all(&self.temporary);
    }
}

/// Writes a small file.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// JSON as it is written: indented, with an end of line.
pub fn json_text(value: &Value) -> String {
    format!("{value:#}\n")
}

/// Writes a JSON file.
pub fn write_json(path: &Path, value: &Value) -> Result<()> {
    write_file(path, json_text(value).as_bytes())
}

/// A tensor of an output file.
pub struct Slot {
    pub name: String,
    pub dtype: Dtype,
    pub shape: Vec<usize>,
}

impl Slot {
    /// The size of the data in bytes.
    pub fn len(&self) -> u64 {
        let elements: usize = self.shape.iter().product();
        (elements * self.dtype.bitsize() / 8) as u64
    }
}

/// A safetensors file that is being written: the header at once, then each tensor to its place,
/// in any order.
pub struct Writer {
    file: File,
    path: PathBuf,
    /// Where the data of each tensor lie.
    places: HashMap<String, Range<u64>>,
    /// Bytes of tensors still to come.
    missing: u64,
}

impl Writer {
    /// Wider types come first, so that every tensor is aligned: some readers ask for that.
    pub fn create(
        path: &Path,
        text: Option<&HashMap<String, String>>,
        mut slots: Vec<Slot>,
    ) -> Result<Writer> {
        slots.sort_by_key(|slot| std::cmp::Reverse(slot.dtype.bitsize()));
        let header = header(text, &slots);
        let mut places = HashMap::new();
        let mut end = header.len() as u64;
        for slot in &slots {
            places.insert(slot.name.clone(), end..end + slot.len());
            end += slot.len();
        }
        let fail = |error| format!("{}: {error}", path.display());
        let mut file = File::create_new(path).map_err(fail)?;
        file.write_all(&header).map_err(fail)?;
        Ok(Writer {
            file,
            path: path.to_owned(),
            places,
            missing: end - header.len() as u64,
        })
    }

    /// Writes the data of one tensor.
    pub fn write(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let place = self
            .places
            .remove(name)
            .expect("a slot for each tensor, once");
        assert_eq!(place.end - place.start, bytes.len() as u64, "{name}");
        self.file
            .seek(SeekFrom::Start(place.start))
            .and_then(|_| self.file.write_all(bytes))
            .map_err(|error| format!("{}: tensor {name:?}: {error}", self.path.display()))?;
        self.missing -= bytes.len() as u64;
        Ok(())
    }

    /// Makes sure that the file is whole, and on the disk.
    pub fn finish(self) -> Result<()> {
        assert_eq!(self.missing, 0, "every slot is written");
        self.file
            .sync_all()
            .map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

/// The length of the header and the header, padded with spaces to a multiple of 8.
fn header(text: Option<&HashMap<String, String>>, slots: &[Slot]) -> Vec<u8> {
    let mut entries = Map::new();
    if let Some(text) = text {
        let sorted: BTreeMap<_, _> = text.iter().collect();
        entries.insert("__metadata__".into(), json!(sorted));
    }
    let mut begin = 0;
    for slot in slots {
        let end = begin + slot.len();
        let entry = json!({
            "dtype": slot.dtype,
            "shape": slot.shape,
            "data_offsets": [begin, end],
        });
        entries.insert(slot.name.clone(), entry);
        begin = end;
    }
    let mut json = Value::Object(entries).to_string();
    while !json.len().is_multiple_of(8) {
        json.push(' ');
    }
    let mut bytes = (json.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(json.as_bytes());
    bytes
}

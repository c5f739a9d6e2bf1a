// SPDX-License-Identifier: MIT OR Apache-2.0
//! What becomes of each tensor, and what the output files hold: decided before any data is read,
//! so that whatever can be refused is refused before anything is written.

use std::collections::HashSet;

use safetensors::Dtype;

use crate::Result;
use crate::args::{RecipeName, Settings};
use crate::checkpoint::{Checkpoint, Shard, Tensor};
use crate::output::Slot;

/// What becomes of a tensor.
pub enum Fate {
    /// Copied, for this reason.
    Keep(String),
    /// Quantized, with scales under these names.
    Quantize(ScaleNames),
}

/// Where the scales of a tensor go.
pub struct ScaleNames {
    /// Those of its blocks.
    pub blocks: String,
    /// That of the tensor, where there is one above those of the blocks.
    pub tensor: Option<String>,
}

impl ScaleNames {
    fn all(&self) -> impl Iterator<Item = &str> {
        [Some(&self.blocks), self.tensor.as_ref()]
            .into_iter()
            .flatten()
            .map(String::as_str)
    }
}

/// A tensor and its fate.
pub struct Step<'a> {
    pub tensor: Tensor<'a>,
    pub fate: Fate,
}

/// What becomes of a file.
pub struct ShardPlan<'a> {
    pub shard: &'a Shard,
    pub steps: Vec<Step<'a>>,
}

/// Decides for the whole checkpoint.
pub fn plan<'a>(checkpoint: &'a Checkpoint, settings: &Settings) -> Result<Vec<ShardPlan<'a>>> {
    let mut plans = Vec::new();
    for shard in &checkpoint.shards {
        let mut steps = Vec::new();
        for tensor in shard.tensors() {
            let fate = fate(&tensor, settings).map_err(|why| {
                format!("{}: tensor {:?}: {why}", shard.path.display(), tensor.name)
            })?;
            steps.push(Step { tensor, fate });
        }
        plans.push(ShardPlan { shard, steps });
    }
    check_something_is_quantized(checkpoint, &plans)?;
    check_scale_names(&plans)?;
    Ok(plans)
}

fn fate(tensor: &Tensor<'_>, settings: &Settings) -> Result<Fate> {
    if let Some(reason) = settings.keep.reason(tensor.name, tensor.shape) {
        return Ok(Fate::Keep(reason));
    }
    if tensor.shape.contains(&0) {
        return Ok(Fate::Keep("empty".into()));
    }
    match tensor.dtype {
        Dtype::F32 | Dtype::F16 | Dtype::BF16 => {
            check_rows_fill_bytes(tensor, settings)?;
            let name = |suffix| format!("{}{suffix}", tensor.name);
            Ok(Fate::Quantize(ScaleNames {
                blocks: name(settings.scale_suffix),
                tensor: settings.tensor_scale_suffix.map(name),
            }))
        }
        // Rounding it to f32 first would round twice, and no model is trained in it.
        Dtype::F64 => Err("F64 is not supported: convert it to F32, or --keep it".into()),
        dtype if is_narrow_float(dtype) => Err(format!(
            "{dtype}: it is quantized already (--keep copies it)"
        )),
        dtype if tensor.name.ends_with("weight") => Err(format!(
            "{dtype} is not a float type: the weight cannot be quantized (--keep copies it)"
        )),
        dtype => Ok(Fate::Keep(format!("{dtype} is not a float type"))),
    }
}

/// Packed rows must begin at bytes, or the shape of the bytes would not tell that of the codes.
fn check_rows_fill_bytes(tensor: &Tensor<'_>, settings: &Settings) -> Result<()> {
    let Some(packing) = settings.element.packing() else {
        return Ok(());
    };
    let (_, _, cols) = tensor.matrices();
    if (cols * packing.bits() as usize).is_multiple_of(8) {
        return Ok(());
    }
    Err(format!(
        "rows of {cols} elements do not fill whole bytes as {} (--keep copies it)",
        settings.element.name()
    ))
}

/// Whether it is a float type of at most 8 bits.
fn is_narrow_float(dtype: Dtype) -> bool {
    dtype.bitsize() <= 8 && !matches!(dtype, Dtype::U8 | Dtype::I8 | Dtype::BOOL)
}

fn check_something_is_quantized(checkpoint: &Checkpoint, plans: &[ShardPlan<'_>]) -> Result<()> {
    let mut kept = Vec::new();
    for step in plans.iter().flat_map(|plan| &plan.steps) {
        match &step.fate {
            Fate::Keep(reason) => kept.push((step.tensor.name, reason)),
            Fate::Quantize(_) => return Ok(()),
        }
    }
    Err(match kept.first() {
        None => format!("{}: no tensors", checkpoint.path.display()),
        Some((name, reason)) => format!(
            "{}: nothing to quantize: tensor {name:?}: {reason}{}",
            checkpoint.path.display(),
            match kept.len() {
                1 => String::new(),
                n => format!(", and {} more are kept", n - 1),
            }
        ),
    })
}

fn check_scale_names(plans: &[ShardPlan<'_>]) -> Result<()> {
    let steps = || plans.iter().flat_map(|plan| &plan.steps);
    let names: HashSet<&str> = steps().map(|step| step.tensor.name).collect();
    for step in steps() {
        if let Fate::Quantize(scales) = &step.fate
            && let Some(scale_name) = scales.all().find(|name| names.contains(name))
        {
            return Err(format!(
                "tensor {:?}: the input has a tensor {scale_name:?} already: is it quantized?",
                step.tensor.name
            ));
        }
    }
    Ok(())
}

impl ShardPlan<'_> {
    /// The tensors of the output file.
    pub fn slots(&self, settings: &Settings) -> Vec<Slot> {
        let mut slots = Vec::new();
        for step in &self.steps {
            let Tensor { name, shape, .. } = step.tensor;
            let mut slot = |name: &str, dtype, shape: &[usize]| {
                slots.push(Slot {
                    name: name.into(),
                    dtype,
                    shape: shape.into(),
                });
            };
            match &step.fate {
                Fate::Keep(_) => slot(name, step.tensor.dtype, shape),
                Fate::Quantize(scales) => {
                    let codes = code_shape(&step.tensor, settings);
                    slot(name, settings.code_dtype, &codes);
                    let blocks = scale_shape(&step.tensor, settings);
                    slot(&scales.blocks, settings.scale_dtype, &blocks);
                    if let Some(name) = &scales.tensor {
                        slot(name, Dtype::F32, step.tensor.stack());
                    }
                }
            }
        }
        slots
    }
}

/// The shape of the codes: in bytes along the rows where they are packed.
fn code_shape(tensor: &Tensor<'_>, settings: &Settings) -> Vec<usize> {
    let mut shape = tensor.shape.to_vec();
    if let (Some(packing), Some(cols)) = (settings.element.packing(), shape.last_mut()) {
        *cols = packing.packed_len(*cols);
    }
    shape
}

/// The shape in which loaders expect the scales: for stacked matrices, a grid each.
fn scale_shape(tensor: &Tensor<'_>, settings: &Settings) -> Vec<usize> {
    let (_, rows, cols) = tensor.matrices();
    let (down, across) = settings.recipe.block().grid(rows, cols);
    match settings.recipe_name {
        RecipeName::Tensor => vec![1],
        _ => [tensor.stack(), &[down, across]].concat(),
    }
}

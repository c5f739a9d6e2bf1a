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
    /// Quantized, with scales under this name.
    Quantize { scale_name: String },
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
        Dtype::F32 | Dtype::F16 | Dtype::BF16 => Ok(Fate::Quantize {
            scale_name: format!("{}{}", tensor.name, settings.scale_suffix),
        }),
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

/// Whether it is a float type of at most 8 bits.
fn is_narrow_float(dtype: Dtype) -> bool {
    dtype.bitsize() <= 8 && !matches!(dtype, Dtype::U8 | Dtype::I8 | Dtype::BOOL)
}

fn check_something_is_quantized(checkpoint: &Checkpoint, plans: &[ShardPlan<'_>]) -> Result<()> {
    let mut kept = Vec::new();
    for step in plans.iter().flat_map(|plan| &plan.steps) {
        match &step.fate {
            Fate::Keep(reason) => kept.push((step.tensor.name, reason)),
            Fate::Quantize { .. } => return Ok(()),
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
        if let Fate::Quantize { scale_name } = &step.fate
            && names.contains(scale_name.as_str())
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
                Fate::Quantize { scale_name } => {
                    slot(name, settings.code_dtype, shape);
                    let shape = scale_shape(&step.tensor, settings);
                    slot(scale_name, settings.scale_dtype, &shape);
                }
            }
        }
        slots
    }
}

/// The shape in which loaders expect the scales: for stacked matrices, a grid each.
fn scale_shape(tensor: &Tensor<'_>, settings: &Settings) -> Vec<usize> {
    let (_, rows, cols) = tensor.matrices();
    let (down, across) = settings.recipe.block().grid(rows, cols);
    let stacked = tensor.shape.len().saturating_sub(2);
    match settings.recipe_name {
        RecipeName::Tensor => vec![1],
        _ => [&tensor.shape[..stacked], &[down, across]].concat(),
    }
}

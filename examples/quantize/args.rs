// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line.

use std::num::NonZero;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use ofp8::{ExponentRule, Format, Recipe, Scaling};
use safetensors::Dtype;

use crate::Result;
use crate::keep::{self, Keep};

/// Quantize a safetensors checkpoint (F32, F16, BF16) to FP8.
///
/// Without IN and OUT, every recipe runs over demonstration weights and the comparison is
/// printed.
#[derive(Parser)]
#[command(name = "quantize", version, after_help = keep::HELP)]
pub struct Args {
    /// Checkpoint to read: a safetensors file or a model directory
    #[arg(value_name = "IN", requires = "output")]
    pub input: Option<PathBuf>,

    /// Checkpoint to write, the same kind as IN. A file is replaced; a directory must be new or
    /// empty
    #[arg(value_name = "OUT")]
    pub output: Option<PathBuf>,

    /// Which elements share a scale: the whole tensor, a row, 128x128, 1x128, or MX's 1x32
    #[arg(long, value_enum, default_value = "block128", requires = "input")]
    pub recipe: RecipeName,

    /// Format of the elements
    #[arg(long, value_enum, default_value = "e4m3", requires = "input")]
    pub format: ElementFormat,

    /// Format of the scales: f32, f32 powers of two, or E8M0 bytes [default: f32; mxfp8: e8m0]
    #[arg(long, value_enum, requires = "input")]
    pub scale: Option<ScaleFormat>,

    /// Keep the precision of tensors whose whole name matches (`*` any characters, `?` one);
    /// may be repeated, adds to the default list
    #[arg(long, value_name = "PATTERN", requires = "input")]
    pub keep: Vec<glob::Pattern>,

    /// Quantize also what keeps its precision by default: only --keep counts
    #[arg(long, requires = "input")]
    pub no_default_keep: bool,

    /// Store E8M0 scales under the dtype U8, for loaders that do not know F8_E8M0
    #[arg(long, requires = "input")]
    pub e8m0_as_u8: bool,

    /// Write the table, unrounded, as JSON
    #[arg(long, value_name = "FILE", requires = "input")]
    pub report: Option<PathBuf>,

    /// Number of threads; the output does not depend on it [default: one a core]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZero<u16>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RecipeName {
    Tensor,
    Row,
    Block128,
    Tile128,
    Mxfp8,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ElementFormat {
    E4m3,
    E5m2,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScaleFormat {
    F32,
    Pow2,
    E8m0,
}

impl RecipeName {
    pub fn name(self) -> &'static str {
        match self {
            RecipeName::Tensor => "tensor",
            RecipeName::Row => "row",
            RecipeName::Block128 => "block128",
            RecipeName::Tile128 => "tile128",
            RecipeName::Mxfp8 => "mxfp8",
        }
    }

    /// The library's recipe of that name, with E4M3 elements.
    pub fn preset(self) -> Recipe {
        match self {
            RecipeName::Tensor => Recipe::TENSOR,
            RecipeName::Row => Recipe::ROW,
            RecipeName::Block128 => Recipe::DEEPSEEK_WEIGHT,
            RecipeName::Tile128 => Recipe::DEEPSEEK_ACTIVATION,
            RecipeName::Mxfp8 => Recipe::MXFP8,
        }
    }

    /// What loaders expect behind the name of a tensor as the name of its scales. Both names
    /// mean the multiplier that dequantizes; `_scale_inv` is DeepSeek's name for it.
    fn scale_suffix(self) -> &'static str {
        match self {
            RecipeName::Block128 | RecipeName::Tile128 => "_scale_inv",
            RecipeName::Tensor | RecipeName::Row | RecipeName::Mxfp8 => "_scale",
        }
    }
}

impl ElementFormat {
    pub fn name(self) -> &'static str {
        match self {
            ElementFormat::E4m3 => "e4m3",
            ElementFormat::E5m2 => "e5m2",
        }
    }

    pub fn format(self) -> Format {
        match self {
            ElementFormat::E4m3 => Format::E4M3,
            ElementFormat::E5m2 => Format::E5M2,
        }
    }

    fn dtype(self) -> Dtype {
        match self {
            ElementFormat::E4m3 => Dtype::F8_E4M3,
            ElementFormat::E5m2 => Dtype::F8_E5M2,
        }
    }
}

impl ScaleFormat {
    pub fn name(self) -> &'static str {
        match self {
            ScaleFormat::F32 => "f32",
            ScaleFormat::Pow2 => "pow2",
            ScaleFormat::E8m0 => "e8m0",
        }
    }
}

/// How tensors are quantized and stored: the command line, checked.
pub struct Settings {
    pub recipe_name: RecipeName,
    pub element: ElementFormat,
    pub scale: ScaleFormat,
    pub recipe: Recipe,
    pub code_dtype: Dtype,
    pub scale_dtype: Dtype,
    pub scale_suffix: &'static str,
    pub keep: Keep,
}

impl Args {
    pub fn settings(&self) -> Result<Settings> {
        let is_mx = self.recipe == RecipeName::Mxfp8;
        let scale = self.scale.unwrap_or(if is_mx {
            ScaleFormat::E8m0
        } else {
            ScaleFormat::F32
        });
        if is_mx && scale != ScaleFormat::E8m0 {
            return Err("--recipe mxfp8 has e8m0 scales, by the definition of MX".into());
        }
        if self.e8m0_as_u8 && scale != ScaleFormat::E8m0 {
            return Err("--e8m0-as-u8 is for E8M0 scales: add --scale e8m0".into());
        }
        let preset = self.recipe.preset();
        let recipe = preset
            .with_scaling(match scale {
                ScaleFormat::F32 => preset.scaling(),
                ScaleFormat::Pow2 => Scaling::PowerOfTwo(ExponentRule::RoundUp),
                ScaleFormat::E8m0 => Scaling::E8M0(ExponentRule::RoundUp),
            })
            .and_then(|recipe| recipe.with_element(self.format.format()))
            .map_err(|error| error.to_string())?;
        Ok(Settings {
            recipe_name: self.recipe,
            element: self.format,
            scale,
            recipe,
            code_dtype: self.format.dtype(),
            scale_dtype: match scale {
                ScaleFormat::F32 | ScaleFormat::Pow2 => Dtype::F32,
                ScaleFormat::E8m0 if self.e8m0_as_u8 => Dtype::U8,
                ScaleFormat::E8m0 => Dtype::F8_E8M0,
            },
            scale_suffix: self.recipe.scale_suffix(),
            keep: Keep::new(&self.keep, !self.no_default_keep),
        })
    }
}

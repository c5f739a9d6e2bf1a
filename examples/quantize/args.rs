// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line.

use std::num::NonZero;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use ofp8::{ExponentRule, Format, Packing, Recipe, Scaling};
use safetensors::Dtype;

use crate::Result;
use crate::keep::{self, Keep};

/// Quantize a safetensors checkpoint (F32, F16, BF16) to FP8, FP6 or FP4.
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

    /// Which elements share a scale: the whole tensor, a row, 128x128, 1x128, MX's 1x32, or
    /// NVFP4's 1x16 under one scale for the tensor
    #[arg(long, value_enum, default_value = "block128", requires = "input")]
    pub recipe: RecipeName,

    /// Format of the elements [default: e4m3; mxfp6: e2m3; mxfp4, nvfp4: e2m1]
    #[arg(long, value_enum, requires = "input")]
    pub format: Option<ElementFormat>,

    /// Format of the scales: f32, f32 powers of two, E8M0 bytes, or UE4M3 bytes under an f32
    /// [default: f32; MX: e8m0; nvfp4: ue4m3]
    #[arg(long, value_enum, requires = "input")]
    pub scale: Option<ScaleFormat>,

    /// Of two scales that are powers of two, take the one with the smaller squared error, block
    /// by block: the one that holds the largest element, or the one below it
    #[arg(long, requires = "input")]
    pub least_error: bool,

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

    /// Write the table, unrounded, as JSON; `-`: to standard output, in place of the table
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
    Mxfp6,
    Mxfp4,
    Nvfp4,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ElementFormat {
    E4m3,
    E5m2,
    E2m3,
    E3m2,
    E2m1,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScaleFormat {
    F32,
    Pow2,
    E8m0,
    Ue4m3,
}

impl RecipeName {
    pub fn name(self) -> &'static str {
        match self {
            RecipeName::Tensor => "tensor",
            RecipeName::Row => "row",
            RecipeName::Block128 => "block128",
            RecipeName::Tile128 => "tile128",
            RecipeName::Mxfp8 => "mxfp8",
            RecipeName::Mxfp6 => "mxfp6",
            RecipeName::Mxfp4 => "mxfp4",
            RecipeName::Nvfp4 => "nvfp4",
        }
    }

    /// The library's recipe of that name, with the first of its [`RecipeName::formats`].
    fn preset(self) -> Recipe {
        match self {
            RecipeName::Tensor => Recipe::TENSOR,
            RecipeName::Row => Recipe::ROW,
            RecipeName::Block128 => Recipe::DEEPSEEK_WEIGHT,
            RecipeName::Tile128 => Recipe::DEEPSEEK_ACTIVATION,
            RecipeName::Mxfp8 => Recipe::MXFP8,
            RecipeName::Mxfp6 => Recipe::MXFP6_E2M3,
            RecipeName::Mxfp4 => Recipe::MXFP4,
            RecipeName::Nvfp4 => Recipe::NVFP4,
        }
    }

    /// The elements it may have, the default first.
    pub fn formats(self) -> &'static [ElementFormat] {
        match self {
            RecipeName::Mxfp6 => &[ElementFormat::E2m3, ElementFormat::E3m2],
            RecipeName::Mxfp4 | RecipeName::Nvfp4 => &[ElementFormat::E2m1],
            _ => &[ElementFormat::E4m3, ElementFormat::E5m2],
        }
    }

    /// The scales it may have, the default first.
    pub fn scales(self) -> &'static [ScaleFormat] {
        match self {
            RecipeName::Mxfp8 | RecipeName::Mxfp6 | RecipeName::Mxfp4 => &[ScaleFormat::E8m0],
            RecipeName::Nvfp4 => &[ScaleFormat::Ue4m3],
            _ => &[ScaleFormat::F32, ScaleFormat::Pow2, ScaleFormat::E8m0],
        }
    }

    /// The recipe with these elements and scales.
    pub fn recipe(
        self,
        element: ElementFormat,
        scale: ScaleFormat,
        least_error: bool,
    ) -> Result<Recipe> {
        let rule = if least_error {
            ExponentRule::LeastError
        } else {
            ExponentRule::RoundUp
        };
        let preset = self.preset();
        preset
            .with_scaling(match scale {
                ScaleFormat::F32 | ScaleFormat::Ue4m3 => preset.scaling(),
                ScaleFormat::Pow2 => Scaling::PowerOfTwo(rule),
                ScaleFormat::E8m0 => Scaling::E8M0(rule),
            })
            .and_then(|recipe| recipe.with_element(element.format()))
            .map_err(|error| error.to_string())
    }

    /// What loaders expect behind the name of a tensor as the name of its scales. Both names
    /// mean the multiplier that dequantizes; `_scale_inv` is DeepSeek's name for it.
    fn scale_suffix(self) -> &'static str {
        match self {
            RecipeName::Block128 | RecipeName::Tile128 => "_scale_inv",
            _ => "_scale",
        }
    }

    /// The same for the scale of the tensor, where there is one above those of its blocks.
    fn tensor_scale_suffix(self) -> Option<&'static str> {
        (self == RecipeName::Nvfp4).then_some("_scale_2")
    }
}

impl ElementFormat {
    pub fn name(self) -> &'static str {
        match self {
            ElementFormat::E4m3 => "e4m3",
            ElementFormat::E5m2 => "e5m2",
            ElementFormat::E2m3 => "e2m3",
            ElementFormat::E3m2 => "e3m2",
            ElementFormat::E2m1 => "e2m1",
        }
    }

    fn format(self) -> Format {
        match self {
            ElementFormat::E4m3 => Format::E4M3,
            ElementFormat::E5m2 => Format::E5M2,
            ElementFormat::E2m3 => Format::E2M3,
            ElementFormat::E3m2 => Format::E3M2,
            ElementFormat::E2m1 => Format::E2M1,
        }
    }

    /// How codes that are narrower than a byte lie in bytes.
    pub fn packing(self) -> Option<Packing> {
        match self {
            ElementFormat::E4m3 | ElementFormat::E5m2 => None,
            ElementFormat::E2m3 | ElementFormat::E3m2 => Some(Packing::Fp6),
            ElementFormat::E2m1 => Some(Packing::Fp4LowFirst),
        }
    }

    /// Packed codes are U8, the last dimension that of the bytes: so serving systems store FP4,
    /// and every reader knows U8. Of the format's own F4, F6_E2M3 and F6_E3M2, PyTorch opens the
    /// first alone and numpy none.
    fn dtype(self) -> Dtype {
        match self {
            ElementFormat::E4m3 => Dtype::F8_E4M3,
            ElementFormat::E5m2 => Dtype::F8_E5M2,
            ElementFormat::E2m3 | ElementFormat::E3m2 | ElementFormat::E2m1 => Dtype::U8,
        }
    }
}

impl ScaleFormat {
    pub fn name(self) -> &'static str {
        match self {
            ScaleFormat::F32 => "f32",
            ScaleFormat::Pow2 => "pow2",
            ScaleFormat::E8m0 => "e8m0",
            ScaleFormat::Ue4m3 => "ue4m3",
        }
    }

    /// Whether scales are powers of two, among which there is a choice.
    pub fn is_power_of_two(self) -> bool {
        matches!(self, ScaleFormat::Pow2 | ScaleFormat::E8m0)
    }
}

/// How tensors are quantized and stored: the command line, checked.
pub struct Settings {
    pub recipe_name: RecipeName,
    pub element: ElementFormat,
    pub scale: ScaleFormat,
    pub least_error: bool,
    pub recipe: Recipe,
    pub code_dtype: Dtype,
    pub scale_dtype: Dtype,
    pub scale_suffix: &'static str,
    pub tensor_scale_suffix: Option<&'static str>,
    pub keep: Keep,
}

impl Args {
    pub fn settings(&self) -> Result<Settings> {
        let name = self.recipe.name();
        let element = choose(self.format, self.recipe.formats(), |allowed| {
            let names: Vec<_> = allowed.iter().map(|format| format.name()).collect();
            format!("--recipe {name} has {} elements", names.join(" or "))
        })?;
        let scale = choose(self.scale, self.recipe.scales(), |allowed| {
            let names: Vec<_> = allowed.iter().map(|format| format.name()).collect();
            format!("--recipe {name} has {} scales", names.join(" or "))
        })?;
        if self.e8m0_as_u8 && scale != ScaleFormat::E8m0 {
            return Err("--e8m0-as-u8 is for E8M0 scales: add --scale e8m0".into());
        }
        if self.least_error && !scale.is_power_of_two() {
            return Err(
                "--least-error chooses between powers of two: add --scale e8m0 or --scale pow2, \
                 or take a recipe of MX"
                    .into(),
            );
        }
        Ok(Settings {
            recipe_name: self.recipe,
            element,
            scale,
            least_error: self.least_error,
            recipe: self.recipe.recipe(element, scale, self.least_error)?,
            code_dtype: element.dtype(),
            scale_dtype: match scale {
                ScaleFormat::F32 | ScaleFormat::Pow2 => Dtype::F32,
                ScaleFormat::E8m0 if self.e8m0_as_u8 => Dtype::U8,
                ScaleFormat::E8m0 => Dtype::F8_E8M0,
                // The codes of E4M3 that are not negative.
                ScaleFormat::Ue4m3 => Dtype::F8_E4M3,
            },
            scale_suffix: self.recipe.scale_suffix(),
            tensor_scale_suffix: self.recipe.tensor_scale_suffix(),
            keep: Keep::new(&self.keep, !self.no_default_keep),
        })
    }
}

/// What is given, if it is allowed; the first that is allowed where nothing is given.
fn choose<T: Copy + PartialEq>(
    given: Option<T>,
    allowed: &[T],
    why: impl Fn(&[T]) -> String,
) -> Result<T> {
    match given {
        None => Ok(allowed[0]),
        Some(given) if allowed.contains(&given) => Ok(given),
        Some(_) => Err(why(allowed)),
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The recipe as a C structure.

use super::argument::{self, Descriptor, format_of, out};
use super::scalar::{cast_of, ofp8_cast};
use super::status::{ofp8_status, status};
use crate::scale::{Block, Convention, ExponentRule, Recipe, Scaling, Special};
use crate::stats::Amax;

/// Scales are f32.
pub const OFP8_SCALING_F32: u32 = 0;
/// Scales are f32, but powers of two, applied exactly.
pub const OFP8_SCALING_POWER_OF_TWO: u32 = 1;
/// Scales are E8M0 bytes, applied exactly.
pub const OFP8_SCALING_E8M0: u32 = 2;

/// `q = max / amax`, elements `x * q`, stored `1 / q`.
pub const OFP8_CONVENTION_TRANSFORMER_ENGINE: u32 = 0;
/// `s = amax / max`, elements `x / s`, stored `s`.
pub const OFP8_CONVENTION_DEEPSEEK: u32 = 1;
/// `s = amax / max`, elements `x * (1 / s)`, stored `s`.
pub const OFP8_CONVENTION_DEEPGEMM: u32 = 2;

/// The smallest power of two that keeps the block within the range (RCEIL).
pub const OFP8_EXPONENT_ROUND_UP: u32 = 0;
/// `floor(log2 amax) - emax` (OCP MX).
pub const OFP8_EXPONENT_FLOOR: u32 = 1;
/// `ceil(log2 amax) - emax`.
pub const OFP8_EXPONENT_CEIL: u32 = 2;
/// As floor, of the amax rounded to the element's mantissa width, ties up.
pub const OFP8_EXPONENT_EVEN: u32 = 3;

/// A block with an infinity or a NaN: scale NaN, elements NaN.
pub const OFP8_SPECIAL_POISON: u32 = 0;
/// Its scale comes from the finite elements.
pub const OFP8_SPECIAL_IGNORE: u32 = 1;
/// It gets the largest scale.
pub const OFP8_SPECIAL_CLAMP: u32 = 2;

/// How a matrix is quantized. Set `struct_size` and `element`; everything else may stay zero:
/// one block, f32 scales as TransformerEngine has them, the default cast, special blocks
/// poisoned, no epsilon, no bound, no margin.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ofp8_recipe {
    /// `sizeof(ofp8_recipe)`.
    pub struct_size: usize,
    /// Rows of a block; 0 means all rows.
    pub block_rows: usize,
    /// Columns of a block; 0 means all columns.
    pub block_cols: usize,
    /// The element format: signed, with a zero.
    pub element: u32,
    /// `OFP8_SCALING_F32` (0) and the others.
    pub scaling: u32,
    /// How f32 scales are computed and applied; 0 for the other scalings.
    pub convention: u32,
    /// Which power of two; 0 for f32 scales.
    pub exponent_rule: u32,
    /// What becomes of a block with an infinity or a NaN.
    pub special: u32,
    /// 2^margin is what values may grow by before they saturate; -64 to 64.
    pub margin: i32,
    /// Lower bound on amax, 0 for none.
    pub epsilon: f32,
    /// Upper bound on amax, 0 for none.
    pub amax_bound: f32,
    /// Rounding, saturation and NaN handling of the elements.
    pub cast: ofp8_cast,
}

// SAFETY: repr(C), begins with its size as usize, integers and floats only; without padding on
// 64-bit and 32-bit targets (a test of the header checks the offsets).
unsafe impl Descriptor for ofp8_recipe {}

/// The scaling of three numbers; the one that does not apply must be 0.
fn scaling(scaling: u32, convention: u32, rule: u32) -> Result<Scaling, ofp8_status> {
    const UNKNOWN: ofp8_status = ofp8_status::OFP8_UNKNOWN_POLICY;
    if scaling == OFP8_SCALING_F32 {
        let convention = match convention {
            OFP8_CONVENTION_TRANSFORMER_ENGINE => Convention::TransformerEngine,
            OFP8_CONVENTION_DEEPSEEK => Convention::DeepSeek,
            OFP8_CONVENTION_DEEPGEMM => Convention::DeepGemm,
            _ => return Err(UNKNOWN),
        };
        return if rule == 0 {
            Ok(Scaling::F32(convention))
        } else {
            Err(ofp8_status::OFP8_RECIPE)
        };
    }
    let rule = match rule {
        OFP8_EXPONENT_ROUND_UP => ExponentRule::RoundUp,
        OFP8_EXPONENT_FLOOR => ExponentRule::Floor,
        OFP8_EXPONENT_CEIL => ExponentRule::Ceil,
        OFP8_EXPONENT_EVEN => ExponentRule::Even,
        _ => return Err(UNKNOWN),
    };
    match (scaling, convention) {
        (OFP8_SCALING_POWER_OF_TWO, 0) => Ok(Scaling::PowerOfTwo(rule)),
        (OFP8_SCALING_E8M0, 0) => Ok(Scaling::E8M0(rule)),
        (OFP8_SCALING_POWER_OF_TWO | OFP8_SCALING_E8M0, _) => Err(ofp8_status::OFP8_RECIPE),
        _ => Err(UNKNOWN),
    }
}

/// The recipe behind a pointer.
///
/// # Safety
/// As [`argument::sized`].
pub(super) unsafe fn recipe_of(pointer: *const ofp8_recipe) -> Result<Recipe, ofp8_status> {
    // SAFETY: this function's contract.
    let given = unsafe { argument::sized(pointer)? };
    let special = match given.special {
        OFP8_SPECIAL_POISON => Special::Poison,
        OFP8_SPECIAL_IGNORE => Special::Ignore,
        OFP8_SPECIAL_CLAMP => Special::Clamp,
        _ => return Err(ofp8_status::OFP8_UNKNOWN_POLICY),
    };
    let scaling = scaling(given.scaling, given.convention, given.exponent_rule)?;
    let block = Block::new(given.block_rows, given.block_cols);
    let mut recipe = Recipe::new(format_of(given.element)?, block, scaling)?
        .with_cast(cast_of(&given.cast)?)
        .with_special(special)
        .with_margin(given.margin)?
        .with_epsilon(given.epsilon)?;
    // By its bits: the caller may have subnormals taken as zero.
    if given.amax_bound.abs().to_bits() != 0 {
        recipe = recipe.with_amax_bound(given.amax_bound)?;
    }
    Ok(recipe)
}

/// Writes the number of scales (blocks) of a matrix of `rows` x `cols`: down, across. They are
/// stored row-major, without gaps.
///
/// Statuses: those of a recipe (`OFP8_STRUCT_SIZE`, `OFP8_UNKNOWN_FORMAT`,
/// `OFP8_UNKNOWN_POLICY`, `OFP8_RECIPE`), `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`.
///
/// # Safety
/// `recipe` is null or points to as many bytes as its `struct_size` says; `down` and `across`
/// are null or point to memory for the results, apart from each other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_scale_grid(
    recipe: *const ofp8_recipe,
    rows: usize,
    cols: usize,
    down: *mut usize,
    across: *mut usize,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let recipe = unsafe { recipe_of(recipe)? };
        if down == across && !down.is_null() {
            return Err(ofp8_status::OFP8_OVERLAP);
        }
        // SAFETY: this function's contract, and the two are apart.
        let (down, across) = unsafe { (out(down)?, out(across)?) };
        let grid = recipe.block().grid(rows, cols);
        down.write(grid.0);
        across.write(grid.1);
        Ok(())
    };
    status(result())
}

/// Writes the scale of a block with this amax (the integer that `ofp8_amax` writes): the
/// dequantizing multiplier, and the E8M0 byte of a power-of-two scale. Either pointer may be
/// null if the result is not wanted; for f32 scaling `e8m0` must be null.
///
/// An amax that is infinite or NaN gives what the recipe's `special` says; under
/// `OFP8_SPECIAL_IGNORE`, where the finite amax is not known here, the scale is NaN.
///
/// Statuses: those of a recipe; `OFP8_MISALIGNED`; `OFP8_SCALE` for an E8M0 byte of an f32
/// scale.
///
/// # Safety
/// `recipe` as in `ofp8_scale_grid`; `dequantize_scale` and `e8m0` are null or point to memory
/// for the results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_scale_from_amax(
    recipe: *const ofp8_recipe,
    amax: u32,
    dequantize_scale: *mut f32,
    e8m0: *mut u8,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let recipe = unsafe { recipe_of(recipe)? };
        if !e8m0.is_null() && matches!(recipe.scaling(), Scaling::F32(_)) {
            return Err(ofp8_status::OFP8_SCALE);
        }
        if !dequantize_scale.is_aligned() {
            return Err(ofp8_status::OFP8_MISALIGNED);
        }
        let scale = recipe.scale(Amax::from_bits(amax));
        // SAFETY: this function's contract.
        let (dequantize_scale, e8m0) = unsafe { (out(dequantize_scale), out(e8m0)) };
        if let Ok(place) = dequantize_scale {
            place.write(scale.dequantize);
        }
        if let Ok(place) = e8m0 {
            place.write(scale.e8m0());
        }
        Ok(())
    };
    status(result())
}

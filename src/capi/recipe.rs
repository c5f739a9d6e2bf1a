// SPDX-License-Identifier: MIT OR Apache-2.0
//! The recipe as a C structure.

use super::argument::{self, Descriptor, Extent, disjoint, format_of, out};
use super::layout::scale_order_of;
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
/// Scales are bytes of the format `block_scale`, under one f32 for the tensor (NVFP4).
pub const OFP8_SCALING_TWO_LEVEL: u32 = 3;

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
/// The nearest to `amax / max`, half-way up; about half of all blocks saturate.
pub const OFP8_EXPONENT_NEAREST: u32 = 4;
/// Of round-up's and the one below it, that with the smaller squared error over the block.
pub const OFP8_EXPONENT_LEAST_ERROR: u32 = 5;

/// A block with an infinity or a NaN: scale NaN, elements NaN.
pub const OFP8_SPECIAL_POISON: u32 = 0;
/// Its scale comes from the finite elements.
pub const OFP8_SPECIAL_IGNORE: u32 = 1;
/// It gets the largest scale: the largest f32, 2^127, 0xFE, or the largest of `block_scale`.
pub const OFP8_SPECIAL_CLAMP: u32 = 2;

/// How a matrix is quantized. Set `struct_size` and `element`; everything else may stay zero:
/// one block, f32 scales as TransformerEngine has them, the default cast, special blocks
/// poisoned, no epsilon, no bound, no margin.
///
/// The recipes people know, as `element`, `block_rows` x `block_cols`, `scaling`:
/// - per tensor: `OFP8_E4M3`, 0 x 0, `OFP8_SCALING_F32`; per row: 1 x 0;
/// - DeepSeek-V3: `OFP8_E4M3`, 1 x 128 (activations) or 128 x 128 (weights), `OFP8_SCALING_F32`
///   with `OFP8_CONVENTION_DEEPSEEK`, or `OFP8_SCALING_E8M0`;
/// - MXFP8, MXFP6, MXFP4, MXINT8: `OFP8_E4M3` or `OFP8_E5M2`, `OFP8_E2M3` or `OFP8_E3M2`,
///   `OFP8_E2M1`, `OFP8_MXINT8`, 1 x 32, `OFP8_SCALING_E8M0`;
/// - NVFP4: `OFP8_E2M1`, 1 x 16, `OFP8_SCALING_TWO_LEVEL`, `block_scale` `OFP8_UE4M3`. With A the
///   amax of the blocks without an infinity or a NaN (under `OFP8_SPECIAL_IGNORE`: of the finite
///   elements) or `tensor_amax`, S = 448 * 6 / A in f32 (1 where A is 0), the tensor's scale is
///   1 / S, a block's the UE4M3 code of amax * (S * (1 / 6)), an element
///   x * (1 / (block * (1 / S))).
///
/// Blocks out of the ordinary: of zeros (and no epsilon), the f32 scale is 1, E8M0 0x00, two-level
/// 0; where a scale would overflow it is the largest number, where it would underflow the smallest:
/// E8M0 0xFE and 0x00, f32 the largest f32 and what the convention has (TransformerEngine 2^-128,
/// DeepSeek 2^-149, DeepGEMM 2^-126); with an infinity or a NaN, what `special` says.
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
    /// Lower bound on amax, 0 for none; where it is above `amax_bound`, that one holds.
    pub epsilon: f32,
    /// Upper bound on amax, 0 for none.
    pub amax_bound: f32,
    /// Rounding, saturation and NaN handling of the elements.
    pub cast: ofp8_cast,
    /// The format of the blocks' scales under `OFP8_SCALING_TWO_LEVEL` (`OFP8_UE4M3`,
    /// `OFP8_UE5M3`); 0 for the other scalings.
    pub block_scale: u32,
    /// 1 if `tensor_amax` is the amax of the tensor of which this matrix is a part; 0 if it is
    /// to be that of the matrix. Only `OFP8_SCALING_TWO_LEVEL` looks at it.
    pub has_tensor_amax: u32,
    /// The amax of the tensor, as `ofp8_amax` writes it.
    pub tensor_amax: u32,
    /// The order of the scales in memory, wherever they are written or read by this recipe:
    /// `OFP8_LAYOUT_ROW_MAJOR` (0) and the others. `ofp8_scale_count` says how many there are then;
    /// padding is written zero. Blocks of one column and several rows, or all (32 x 1, 0 x 1), have
    /// column-wise scales (`columnwise` 1 in an `ofp8_layout`), but in `OFP8_LAYOUT_ROW_MAJOR`, which is
    /// always that of the grid of blocks (`columnwise` 0).
    pub scale_order: u32,
}

// SAFETY: repr(C), begins with its size as usize, integers and floats only; without padding on
// 64-bit and 32-bit targets (a test of the header checks the offsets).
unsafe impl Descriptor for ofp8_recipe {}

/// The exponent rule with a number.
pub(super) fn rule_of(number: u32) -> Result<ExponentRule, ofp8_status> {
    Ok(match number {
        OFP8_EXPONENT_ROUND_UP => ExponentRule::RoundUp,
        OFP8_EXPONENT_FLOOR => ExponentRule::Floor,
        OFP8_EXPONENT_CEIL => ExponentRule::Ceil,
        OFP8_EXPONENT_EVEN => ExponentRule::Even,
        OFP8_EXPONENT_NEAREST => ExponentRule::Nearest,
        OFP8_EXPONENT_LEAST_ERROR => ExponentRule::LeastError,
        _ => return Err(ofp8_status::OFP8_UNKNOWN_POLICY),
    })
}

/// The scaling that a recipe describes; members that do not apply must be 0.
fn scaling_of(given: &ofp8_recipe) -> Result<Scaling, ofp8_status> {
    const UNKNOWN: ofp8_status = ofp8_status::OFP8_UNKNOWN_POLICY;
    let convention = match given.convention {
        OFP8_CONVENTION_TRANSFORMER_ENGINE => Convention::TransformerEngine,
        OFP8_CONVENTION_DEEPSEEK => Convention::DeepSeek,
        OFP8_CONVENTION_DEEPGEMM => Convention::DeepGemm,
        _ => return Err(UNKNOWN),
    };
    let rule = rule_of(given.exponent_rule)?;
    let zeros = (
        given.convention == 0,
        given.exponent_rule == 0,
        given.block_scale == 0,
    );
    match (given.scaling, zeros) {
        (OFP8_SCALING_F32, (_, true, true)) => Ok(Scaling::F32(convention)),
        (OFP8_SCALING_POWER_OF_TWO, (true, _, true)) => Ok(Scaling::PowerOfTwo(rule)),
        (OFP8_SCALING_E8M0, (true, _, true)) => Ok(Scaling::E8M0(rule)),
        (OFP8_SCALING_TWO_LEVEL, (true, true, _)) => {
            Ok(Scaling::TwoLevel(format_of(given.block_scale)?))
        }
        (OFP8_SCALING_F32..=OFP8_SCALING_TWO_LEVEL, _) => Err(ofp8_status::OFP8_RECIPE),
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
    let scaling = scaling_of(&given)?;
    let block = Block::new(given.block_rows, given.block_cols);
    let mut recipe = Recipe::new(format_of(given.element)?, block, scaling)?
        .with_cast(cast_of(&given.cast)?)
        .with_special(special)
        .with_scale_order(scale_order_of(given.scale_order)?)
        .with_margin(given.margin)?
        .with_epsilon(given.epsilon)?;
    // By its bits: the caller may have subnormals taken as zero.
    if given.amax_bound.abs().to_bits() != 0 {
        recipe = recipe.with_amax_bound(given.amax_bound)?;
    }
    match given.has_tensor_amax {
        0 => {}
        1 => recipe = recipe.with_tensor_amax(Amax::from_bits(given.tensor_amax)),
        _ => return Err(ofp8_status::OFP8_UNKNOWN_POLICY),
    }
    Ok(recipe)
}

/// Writes the number of blocks of a matrix of `rows` x `cols`: down, across (0 along an extent of 0).
/// Each has a scale; they are stored row-major, without gaps, unless the recipe has another
/// `scale_order`.
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

/// Writes the number of scales that are stored for a matrix of `rows` x `cols`, padding included:
/// one a block in row-major order, more in the others.
///
/// Statuses: those of a recipe; `OFP8_SHAPE` where the number overflows; `OFP8_NULL_POINTER`,
/// `OFP8_MISALIGNED`.
///
/// # Safety
/// `recipe` as in `ofp8_scale_grid`; `count` is null or points to memory for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_scale_count(
    recipe: *const ofp8_recipe,
    rows: usize,
    cols: usize,
    count: *mut usize,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let (recipe, count) = unsafe { (recipe_of(recipe)?, out(count)?) };
        count.write(recipe.scale_layout(rows, cols)?.size());
        Ok(())
    };
    status(result())
}

/// Writes the scale of a block with this amax (the integer that `ofp8_amax` writes): the
/// dequantizing multiplier, and the byte that is stored (E8M0 for a power-of-two scale, the
/// format `block_scale` under two levels, where the tensor's amax is the recipe's or this one).
/// Either pointer may be null if the result is not wanted; for f32 scaling `code` must be null.
///
/// An amax that is infinite or NaN gives what the recipe's `special` says; under
/// `OFP8_SPECIAL_IGNORE`, where the finite amax is not known here, the scale is NaN.
///
/// Statuses: those of a recipe; `OFP8_MISALIGNED`; `OFP8_OVERLAP`; `OFP8_SCALE` for the byte of an f32
/// scale.
///
/// # Safety
/// `recipe` as in `ofp8_scale_grid`; `dequantize_scale` and `code` are null or point to memory
/// for the results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_scale_from_amax(
    recipe: *const ofp8_recipe,
    amax: u32,
    dequantize_scale: *mut f32,
    code: *mut u8,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let recipe = unsafe { recipe_of(recipe)? };
        if !code.is_null() && matches!(recipe.scaling(), Scaling::F32(_)) {
            return Err(ofp8_status::OFP8_SCALE);
        }
        if !dequantize_scale.is_aligned() {
            return Err(ofp8_status::OFP8_MISALIGNED);
        }
        disjoint(&[
            Extent::new(dequantize_scale, 1, size_of::<f32>())?,
            Extent::new(code, 1, 1)?,
        ])?;
        let scale = recipe.scale(Amax::from_bits(amax));
        // SAFETY: this function's contract.
        let (dequantize_scale, code) = unsafe { (out(dequantize_scale), out(code)) };
        if let Ok(place) = dequantize_scale {
            place.write(scale.dequantize);
        }
        if let Ok(place) = code {
            place.write(scale.code);
        }
        Ok(())
    };
    status(result())
}

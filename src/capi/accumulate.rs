// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums of products.

use core::ffi::c_void;
use core::mem::size_of;

use super::argument::{
    self, Descriptor, Extent, disjoint, format_of, matrix, matrix_mut, out, slice, slice_mut, span,
};
use super::inspect::ofp8_stats;
use super::quantize::{ScaleBuffer, ScaleBufferMut, has_tensor_scale, optional, scale_size};
use super::recipe::{ofp8_recipe, recipe_of};
use super::slice::{ofp8_philox, philox_of};
use super::status::{ofp8_status, status};
use crate::accumulate::{self, ExactSum, MMA_K, Model, Operand, Order, Promotion, Quantized};
use crate::error::Error;
use crate::scale::Recipe;

/// In f32: an entry of a product in the order of K, a dot product in 16 lanes. The same bits on
/// every machine.
pub const OFP8_ORDER_SEQUENTIAL: u32 = 0;
/// Exactly, rounded once.
pub const OFP8_ORDER_EXACT: u32 = 1;
/// As a tensor core does it, bit for bit.
pub const OFP8_ORDER_TENSOR_CORE: u32 = 2;

/// Hopper's `wgmma` on FP8 into f32. Measured for C = 0.
pub const OFP8_MODEL_HOPPER_WGMMA: u32 = 1;
/// Hopper's `mma.sync` on FP8 into f16. Measured. See `ofp8_order`.
pub const OFP8_MODEL_HOPPER_MMA_F16: u32 = 2;
/// Ada's `mma.sync.m16n8k32` on FP8 into f32. Measured.
pub const OFP8_MODEL_ADA_MMA: u32 = 3;
/// Ada's `mma.sync.m16n8k32` on FP8 into f16. Measured. See `ofp8_order`.
pub const OFP8_MODEL_ADA_MMA_F16: u32 = 4;
/// B200's `mma.sync` on FP8 into f32. Measured.
pub const OFP8_MODEL_BLACKWELL_MMA: u32 = 5;
/// B200's `mma.sync` on FP8 into f16. Measured. See `ofp8_order`.
pub const OFP8_MODEL_BLACKWELL_MMA_F16: u32 = 6;
/// B200's `tcgen05.mma kind::f8f6f4` into f32. From an emulator, not measured.
pub const OFP8_MODEL_TCGEN05: u32 = 7;
/// B200's `tcgen05.mma kind::mxf8f6f4` with E8M0 scales, into f32. From an emulator, not
/// measured.
pub const OFP8_MODEL_TCGEN05_MX: u32 = 8;

/// No promotion: what plain `wgmma` does.
pub const OFP8_PROMOTION_OFF: u32 = 0xFFFF_FFFF;

/// Products of one tensor-core instruction.
pub const OFP8_MMA_K: usize = 32;
const _: () = assert!(OFP8_MMA_K == MMA_K);

/// 64-bit words of an exact sum.
pub const OFP8_EXACT_WORDS: usize = 25;
const _: () = assert!(OFP8_EXACT_WORDS == ExactSum::WORDS);

/// One factor of a product: vectors of codes, one code a byte, and their scales. The vectors are
/// the rows of the matrix (K contiguous), or its columns. What is not needed stays zero.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ofp8_operand {
    /// `sizeof(ofp8_operand)`.
    pub struct_size: usize,
    /// The codes.
    pub codes: *const u8,
    /// Rows of the matrix as it is stored.
    pub rows: usize,
    /// Columns of the matrix as it is stored.
    pub cols: usize,
    /// Bytes between the beginnings of two rows; 0 means `cols`. Of a single row it does not matter.
    pub stride: usize,
    /// The recipe by which the matrix was quantized, or null if there are no scales.
    pub recipe: *const ofp8_recipe,
    /// The scales, as `ofp8_quantize` writes them; null without a recipe.
    pub scales: *const c_void,
    /// Their number; 0 without a recipe.
    pub scale_count: usize,
    /// The scale of the tensor under two levels, else null.
    pub tensor_scale: *const f32,
    /// The format of the codes. Where there is a recipe, which says it: 0 or the same.
    pub format: u32,
    /// 1 if the vectors are the columns, 0 if they are the rows.
    pub is_transposed: u32,
}

// SAFETY: repr(C), begins with its size as usize, integers and pointers only, without padding on
// 64-bit and 32-bit targets.
unsafe impl Descriptor for ofp8_operand {}

/// How products are summed. All zero (or a null pointer) is sequential.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ofp8_order {
    /// `sizeof(ofp8_order)`.
    pub struct_size: usize,
    /// `OFP8_ORDER_SEQUENTIAL` (0) and the others.
    pub kind: u32,
    /// The tensor core (`OFP8_MODEL_HOPPER_WGMMA`, ...); 0 for the other orders.
    ///
    /// Those that sum in f16 are infinite above 65504, which one product of two large elements
    /// can exceed: under MX scales, which take the elements of each block near the largest value
    /// of their format and are applied after the block is summed, expect infinities.
    pub model: u32,
    /// How many products a tensor core sums before its accumulator is added to a second one in
    /// f32 and starts again from zero: a multiple of 32; 0 means 128 (what DeepSeek does on Hopper),
    /// `OFP8_PROMOTION_OFF` never (what a plain chain of instructions gives, on any machine).
    /// 0 for the other orders.
    pub promotion: u32,
    /// Must be 0.
    pub reserved: u32,
}

// SAFETY: as above, integers only.
unsafe impl Descriptor for ofp8_order {}

/// A sum of products of codes, exact. All zero is the empty sum. Integers only: it can be saved,
/// sent, and merged in any order to the same bits.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ofp8_exact_sum {
    /// The words.
    pub words: [u64; 25],
}

/// A checked operand, and the memory that it reads.
struct Factor<'a> {
    operand: Operand<'a>,
    extents: [Extent; 3],
}

impl Factor<'_> {
    /// Refuses to write what is read.
    fn apart_from(&self, written: &[Extent]) -> Result<(), ofp8_status> {
        for read in self.extents {
            for &write in written {
                disjoint(&[read, write])?;
            }
        }
        Ok(())
    }
}

/// The operand behind a pointer.
///
/// # Safety
/// As [`argument::sized`]; what the structure points to is as large as it says, and nothing
/// writes it.
unsafe fn operand_of<'a>(pointer: *const ofp8_operand) -> Result<Factor<'a>, ofp8_status> {
    // SAFETY: this function's contract.
    let given = unsafe { argument::sized(pointer)? };
    let stride = if given.stride == 0 {
        given.cols
    } else {
        given.stride
    };
    let is_transposed = match given.is_transposed {
        0 => false,
        1 => true,
        _ => return Err(ofp8_status::OFP8_UNKNOWN_POLICY),
    };
    let code_extent = Extent::new(given.codes, span(given.rows, given.cols, stride)?, 1)?;
    // SAFETY: this function's contract.
    let codes = unsafe { matrix(given.codes, given.rows, given.cols, stride)? };
    let (operand, scale_extents) = if given.recipe.is_null() {
        if !given.scales.is_null() || given.scale_count != 0 || !given.tensor_scale.is_null() {
            return Err(ofp8_status::OFP8_RECIPE);
        }
        let nothing = Extent::new(given.scales, 0, 1)?;
        let operand = Operand::new(format_of(given.format)?, codes)?;
        (operand, [nothing, nothing])
    } else {
        // SAFETY: this function's contract.
        let recipe = unsafe { recipe_of(given.recipe)? };
        if given.format != 0 && format_of(given.format)? != recipe.element() {
            return Err(ofp8_status::OFP8_RECIPE);
        }
        let tensors = check_tensor_scale(&recipe, given.tensor_scale)?;
        // SAFETY: this function's contract.
        let scales = unsafe {
            let (scales, count) = (given.scales, given.scale_count);
            ScaleBuffer::new(&recipe, scales, count, given.tensor_scale, tensors)?
        };
        let scales = scales.part(0, given.scale_count);
        let extents = [
            Extent::new(given.scales, given.scale_count, scale_size(&recipe))?,
            Extent::new(given.tensor_scale, tensors, size_of::<f32>())?,
        ];
        (Operand::quantized(&recipe, codes, scales)?, extents)
    };
    Ok(Factor {
        operand: if is_transposed {
            operand.transposed()
        } else {
            operand
        },
        extents: [code_extent, scale_extents[0], scale_extents[1]],
    })
}

/// The number of tensor scales of one matrix, whose pointer must be null where there is none.
pub(super) fn check_tensor_scale(
    recipe: &Recipe,
    pointer: *const f32,
) -> Result<usize, ofp8_status> {
    match (has_tensor_scale(recipe), pointer.is_null()) {
        (true, false) => Ok(1),
        (true, true) => Err(ofp8_status::OFP8_NULL_POINTER),
        (false, true) => Ok(0),
        (false, false) => Err(ofp8_status::OFP8_RECIPE),
    }
}

/// The order behind a pointer; null is sequential.
///
/// # Safety
/// As [`argument::sized`].
unsafe fn order_of(pointer: *const ofp8_order) -> Result<Order, ofp8_status> {
    const UNKNOWN: ofp8_status = ofp8_status::OFP8_UNKNOWN_POLICY;
    if pointer.is_null() {
        return Ok(Order::Sequential);
    }
    // SAFETY: this function's contract.
    let given = unsafe { argument::sized(pointer)? };
    if given.reserved != 0 {
        return Err(UNKNOWN);
    }
    match given.kind {
        OFP8_ORDER_TENSOR_CORE => {
            let model = Model::from_number(given.model).ok_or(UNKNOWN)?;
            let promotion = match given.promotion {
                0 => Promotion::DEFAULT,
                OFP8_PROMOTION_OFF => Promotion::OFF,
                products => Promotion::every(products as usize).map_err(|_| UNKNOWN)?,
            };
            Ok(Order::TensorCore(model, promotion))
        }
        OFP8_ORDER_SEQUENTIAL | OFP8_ORDER_EXACT if given.model != 0 || given.promotion != 0 => {
            Err(UNKNOWN)
        }
        OFP8_ORDER_SEQUENTIAL => Ok(Order::Sequential),
        OFP8_ORDER_EXACT => Ok(Order::Exact),
        _ => Err(UNKNOWN),
    }
}

/// Writes the dot product of two operands of one vector each, of the same length.
///
/// Statuses: `OFP8_STRUCT_SIZE`, `OFP8_UNKNOWN_FORMAT`, `OFP8_UNKNOWN_POLICY`, `OFP8_RECIPE`
/// (scales without a recipe, a format that is not for elements, or what a tensor core does not
/// take), `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`, `OFP8_OVERLAP`, `OFP8_SHAPE`, `OFP8_LENGTH` (of
/// the scales).
///
/// # Safety
/// Structures are null or as large as their `struct_size`, and what they point to is as large as
/// they say; `result` is null or points to memory for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_dot(
    a: *const ofp8_operand,
    b: *const ofp8_operand,
    order: *const ofp8_order,
    result: *mut f32,
) -> ofp8_status {
    let call = || {
        // SAFETY: this function's contract.
        let (a, b, order) = unsafe { (operand_of(a)?, operand_of(b)?, order_of(order)?) };
        let written = [Extent::new(result, 1, size_of::<f32>())?];
        a.apart_from(&written)?;
        b.apart_from(&written)?;
        // SAFETY: this function's contract.
        let result = unsafe { out(result)? };
        result.write(accumulate::dot(a.operand, b.operand, order)?);
        Ok(())
    };
    status(call())
}

/// Writes the product of two operands: entry (i, j) is the sum over k of `a[i][k] * b[j][k]`,
/// scales included, for each vector i of `a` and j of `b`. Rows of `c` are `stride` elements
/// apart, 0 for as many as `b` has vectors.
///
/// Statuses: as `ofp8_dot`.
///
/// # Safety
/// As `ofp8_dot`; `c` points to memory for the entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_gemm(
    a: *const ofp8_operand,
    b: *const ofp8_operand,
    order: *const ofp8_order,
    c: *mut f32,
    stride: usize,
) -> ofp8_status {
    let call = || {
        // SAFETY: this function's contract.
        let (a, b, order) = unsafe { (operand_of(a)?, operand_of(b)?, order_of(order)?) };
        let (rows, cols) = (a.operand.vectors(), b.operand.vectors());
        let stride = if stride == 0 { cols } else { stride };
        let len = span(rows, cols, stride)?;
        let written = [Extent::new(c, len, size_of::<f32>())?];
        a.apart_from(&written)?;
        b.apart_from(&written)?;
        // SAFETY: this function's contract; what is written overlaps nothing that is read.
        let c = unsafe { matrix_mut(c, rows, cols, stride)? };
        accumulate::gemm(a.operand, b.operand, order, c)?;
        Ok(())
    };
    status(call())
}

/// `ofp8_gemm`, quantized by a recipe: the same codes, scales and counts as `ofp8_quantize` gives
/// for its result.
///
/// `workspace` is room for f32 results: at least one row of the recipe's blocks (`block_rows` x
/// columns), or all of them where a block spans all rows or there is a scale for the tensor. What
/// is in it afterwards is not specified. Rows of `codes` are `code_stride` bytes apart, 0 for as
/// many as `b` has vectors. `random` is read for a stochastic rounding only; `stats` may be null.
///
/// Statuses: as `ofp8_dot` and `ofp8_quantize`; `OFP8_LENGTH`, too, where the workspace is too
/// short.
///
/// # Safety
/// As `ofp8_dot` and `ofp8_quantize`; `workspace` points to memory for `workspace_len` f32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_gemm_quantized(
    a: *const ofp8_operand,
    b: *const ofp8_operand,
    order: *const ofp8_order,
    recipe: *const ofp8_recipe,
    random: *const ofp8_philox,
    workspace: *mut f32,
    workspace_len: usize,
    codes: *mut u8,
    code_stride: usize,
    scales: *mut c_void,
    scale_count: usize,
    tensor_scale: *mut f32,
    stats: *mut ofp8_stats,
) -> ofp8_status {
    let call = || {
        // SAFETY: this function's contract.
        let (a, b, order) = unsafe { (operand_of(a)?, operand_of(b)?, order_of(order)?) };
        // SAFETY: this function's contract.
        let (recipe, random) = unsafe { (recipe_of(recipe)?, philox_of(random)?) };
        let (rows, cols) = (a.operand.vectors(), b.operand.vectors());
        let stride = if code_stride == 0 { cols } else { code_stride };
        let tensors = check_tensor_scale(&recipe, tensor_scale)?;
        let written = [
            Extent::new(codes, span(rows, cols, stride)?, 1)?,
            Extent::new(scales, scale_count, scale_size(&recipe))?,
            Extent::new(tensor_scale, tensors, size_of::<f32>())?,
            Extent::new(workspace, workspace_len, size_of::<f32>())?,
            Extent::new(stats, !stats.is_null() as usize, size_of::<ofp8_stats>())?,
        ];
        disjoint(&written)?;
        a.apart_from(&written)?;
        b.apart_from(&written)?;
        // SAFETY: this function's contract; what is written overlaps nothing.
        let (stats, workspace, codes, mut scales) = unsafe {
            (
                optional(stats)?,
                slice_mut(workspace, workspace_len)?,
                matrix_mut(codes, rows, cols, stride)?,
                ScaleBufferMut::new(&recipe, scales, scale_count, tensor_scale, tensors)?,
            )
        };
        let target = Quantized {
            recipe,
            random,
            workspace,
            codes,
            scales: scales.part(0, scale_count)?,
        };
        let seen = accumulate::gemm_quantized(a.operand, b.operand, order, target)?;
        if let Some(stats) = stats {
            stats.write(seen.into());
        }
        Ok(())
    };
    status(call())
}

/// Writes what one tensor-core instruction gives for 32 products and an accumulator `c`: `a` and
/// `b` point to 32 codes each. `a_scale` and `b_scale` are E8M0 codes, 0x7F (1) for a model that
/// takes no scales. NaN is 0x7FFFFFFF. An f16 accumulator travels as the f32 of the same value; a
/// `c` that it cannot hold is first rounded to nearest-even.
///
/// Statuses: `OFP8_UNKNOWN_POLICY` (the model), `OFP8_UNKNOWN_FORMAT`, `OFP8_RECIPE` (formats or
/// scales that the instruction does not take), `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`,
/// `OFP8_OVERLAP`.
///
/// # Safety
/// `a` and `b` are null or point to 32 codes, `d` to memory for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_mma(
    model: u32,
    a_format: u32,
    a: *const u8,
    b_format: u32,
    b: *const u8,
    a_scale: u8,
    b_scale: u8,
    c: f32,
    d: *mut f32,
) -> ofp8_status {
    let call = || {
        let model = Model::from_number(model).ok_or(ofp8_status::OFP8_UNKNOWN_POLICY)?;
        let formats = (format_of(a_format)?, format_of(b_format)?);
        let written = Extent::new(d, 1, size_of::<f32>())?;
        for codes in [a, b] {
            disjoint(&[written, Extent::new(codes, MMA_K, 1)?])?;
        }
        // SAFETY: this function's contract.
        let (a, b, d) = unsafe { (slice(a, MMA_K)?, slice(b, MMA_K)?, out(d)?) };
        let codes = |codes: &[u8]| codes.try_into().map_err(|_| ofp8_status::OFP8_LENGTH);
        let (a, b) = ((formats.0, codes(a)?), (formats.1, codes(b)?));
        let result = model.mma_scaled(a, b, (a_scale, b_scale), c);
        d.write(result.ok_or(ofp8_status::OFP8_RECIPE)?);
        Ok(())
    };
    status(call())
}

/// Adds the dot product of two vectors, scales included, to an exact sum.
///
/// Statuses: as `ofp8_dot`; `OFP8_SCALE` where a scale is neither a power of two nor NaN.
///
/// # Safety
/// As `ofp8_dot`; `sum` is null or points to an initialised structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_accumulate_exact(
    sum: *mut ofp8_exact_sum,
    a: *const ofp8_operand,
    b: *const ofp8_operand,
) -> ofp8_status {
    let call = || {
        // SAFETY: this function's contract.
        let (a, b) = unsafe { (operand_of(a)?, operand_of(b)?) };
        let written = [Extent::new(sum, 1, size_of::<ofp8_exact_sum>())?];
        a.apart_from(&written)?;
        b.apart_from(&written)?;
        // SAFETY: this function's contract.
        let mut exact = unsafe { exact_of(sum)? };
        exact.add_dot(a.operand, b.operand)?;
        // SAFETY: not null and aligned, since it was read.
        unsafe { sum.write(exact_words(&exact)) };
        Ok(())
    };
    status(call())
}

/// Adds one exact sum to another.
///
/// Statuses: `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`.
///
/// # Safety
/// Each pointer is null or points to an initialised structure; they may be the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_merge_exact(
    into: *mut ofp8_exact_sum,
    other: *const ofp8_exact_sum,
) -> ofp8_status {
    let call = || {
        // SAFETY: this function's contract.
        let (mut sum, other) = unsafe { (exact_of(into)?, exact_of(other)?) };
        sum.merge(&other);
        // SAFETY: not null and aligned, since it was read.
        unsafe { into.write(exact_words(&sum)) };
        Ok(())
    };
    status(call())
}

/// Writes an exact sum, rounded once to nearest-even.
///
/// Statuses: `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`, `OFP8_OVERLAP`.
///
/// # Safety
/// `sum` is null or points to an initialised structure, `result` to memory for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_exact_to_f32(
    sum: *const ofp8_exact_sum,
    result: *mut f32,
) -> ofp8_status {
    let call = || {
        disjoint(&[
            Extent::new(sum, 1, size_of::<ofp8_exact_sum>())?,
            Extent::new(result, 1, size_of::<f32>())?,
        ])?;
        // SAFETY: this function's contract.
        let (sum, result) = unsafe { (exact_of(sum)?, out(result)?) };
        result.write(sum.to_f32());
        Ok(())
    };
    status(call())
}

/// The sum behind a pointer.
///
/// # Safety
/// `pointer` is null or points to an initialised structure.
unsafe fn exact_of(pointer: *const ofp8_exact_sum) -> Result<ExactSum, ofp8_status> {
    // SAFETY: this function's contract.
    let given = unsafe { slice(pointer, 1)? };
    let given = given.first().ok_or(Error::Length)?;
    Ok(ExactSum::from_words(&given.words))
}

fn exact_words(sum: &ExactSum) -> ofp8_exact_sum {
    ofp8_exact_sum {
        words: sum.to_words(),
    }
}

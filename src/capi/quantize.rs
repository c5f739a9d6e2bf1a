// SPDX-License-Identifier: MIT OR Apache-2.0
//! Matrices under a recipe.

use core::ffi::c_void;
use core::mem::{MaybeUninit, size_of};

use super::argument::{Extent, disjoint, out, slice, slice_mut};
use super::inspect::ofp8_stats;
use super::recipe::{ofp8_recipe, recipe_of};
use super::shape::{Shape, WithSource, ofp8_shape, part_of, part_of_mut, shape_of, with_source};
use super::slice::{ofp8_philox, philox_of};
use super::status::{ofp8_status, status};
use crate::float::{Bf16, F16, FitsF32};
use crate::random::Philox;
use crate::scale::{GivenScales, Recipe, Scales, ScalesMut, Scaling, Special};
use crate::spec::FloatType;
use crate::stats::{Amax, Stats};

/// `ofp8_quantize_given`: the scales are what elements are multiplied by.
pub const OFP8_GIVEN_QUANTIZE_SCALE: u32 = 0;
/// `ofp8_quantize_given`: the scales are what decoded elements are multiplied by.
pub const OFP8_GIVEN_DEQUANTIZE_SCALE: u32 = 1;

/// Bytes of one scale.
pub(super) fn scale_size(recipe: &Recipe) -> usize {
    match recipe.scaling() {
        Scaling::E8M0(_) | Scaling::TwoLevel(_) => 1,
        Scaling::F32(_) | Scaling::PowerOfTwo(_) => size_of::<f32>(),
    }
}

/// Whether there is a scale of the tensor beside those of the blocks.
pub(super) fn has_tensor_scale(recipe: &Recipe) -> bool {
    matches!(recipe.scaling(), Scaling::TwoLevel(_))
}

/// The scales of a batch to read: of the blocks, and under two levels one a tensor.
pub(super) enum ScaleBuffer<'a> {
    F32(&'a [f32]),
    E8M0(&'a [u8]),
    TwoLevel(&'a [f32], &'a [u8]),
}

impl<'a> ScaleBuffer<'a> {
    /// # Safety
    /// `scales` points to `count` scales of the recipe's kind, `tensor` (under two levels) to
    /// `batches` f32; nothing writes them.
    pub(super) unsafe fn new(
        recipe: &Recipe,
        scales: *const c_void,
        count: usize,
        tensor: *const f32,
        batches: usize,
    ) -> Result<ScaleBuffer<'a>, ofp8_status> {
        // SAFETY: this function's contract.
        unsafe {
            Ok(match recipe.scaling() {
                Scaling::E8M0(_) => ScaleBuffer::E8M0(slice(scales.cast(), count)?),
                Scaling::TwoLevel(_) => {
                    ScaleBuffer::TwoLevel(slice(tensor, batches)?, slice(scales.cast(), count)?)
                }
                Scaling::F32(_) | Scaling::PowerOfTwo(_) => {
                    ScaleBuffer::F32(slice(scales.cast(), count)?)
                }
            })
        }
    }

    /// The scales of matrix number `batch`.
    pub(super) fn part(&self, batch: usize, grid: usize) -> Scales<'a> {
        match self {
            ScaleBuffer::F32(scales) => Scales::F32(part_of(scales, batch, grid)),
            ScaleBuffer::E8M0(scales) => Scales::E8M0(part_of(scales, batch, grid)),
            ScaleBuffer::TwoLevel(tensor, blocks) => Scales::TwoLevel {
                tensor: tensor.get(batch).copied().unwrap_or(f32::NAN),
                blocks: part_of(blocks, batch, grid),
            },
        }
    }
}

/// The scales of a batch to write; otherwise as [`ScaleBuffer`].
pub(super) enum ScaleBufferMut<'a> {
    F32(&'a mut [f32]),
    E8M0(&'a mut [u8]),
    TwoLevel(&'a mut [f32], &'a mut [u8]),
}

impl<'a> ScaleBufferMut<'a> {
    /// # Safety
    /// As [`ScaleBuffer::new`], of memory that nothing else uses.
    pub(super) unsafe fn new(
        recipe: &Recipe,
        scales: *mut c_void,
        count: usize,
        tensor: *mut f32,
        batches: usize,
    ) -> Result<ScaleBufferMut<'a>, ofp8_status> {
        // SAFETY: this function's contract.
        unsafe {
            Ok(match recipe.scaling() {
                Scaling::E8M0(_) => ScaleBufferMut::E8M0(slice_mut(scales.cast(), count)?),
                Scaling::TwoLevel(_) => ScaleBufferMut::TwoLevel(
                    slice_mut(tensor, batches)?,
                    slice_mut(scales.cast(), count)?,
                ),
                Scaling::F32(_) | Scaling::PowerOfTwo(_) => {
                    ScaleBufferMut::F32(slice_mut(scales.cast(), count)?)
                }
            })
        }
    }

    /// The scales of matrix number `batch`.
    pub(super) fn part(&mut self, batch: usize, grid: usize) -> Result<ScalesMut<'_>, ofp8_status> {
        Ok(match self {
            ScaleBufferMut::F32(scales) => ScalesMut::F32(part_of_mut(scales, batch, grid)),
            ScaleBufferMut::E8M0(scales) => ScalesMut::E8M0(part_of_mut(scales, batch, grid)),
            ScaleBufferMut::TwoLevel(tensor, blocks) => ScalesMut::TwoLevel {
                tensor: tensor.get_mut(batch).ok_or(ofp8_status::OFP8_LENGTH)?,
                blocks: part_of_mut(blocks, batch, grid),
            },
        })
    }
}

/// An output that may be left out.
///
/// # Safety
/// As [`argument::out`].
pub(super) unsafe fn optional<'a, T>(
    pointer: *mut T,
) -> Result<Option<&'a mut MaybeUninit<T>>, ofp8_status> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: this function's contract.
    unsafe { out(pointer) }.map(Some)
}

/// Where the scales of a quantization come from, and whether they are stored.
enum Plan<'a> {
    /// From the elements, or from the amaxes where there are some; stored.
    Compute(&'a [Amax], ScaleBufferMut<'a>),
    /// Given.
    Given(ScaleBuffer<'a>, bool),
}

/// A quantization whose arguments have been checked.
struct Quantize<'a> {
    recipe: Recipe,
    shape: Shape,
    random: Option<Philox>,
    plan: Plan<'a>,
    codes: &'a mut [u8],
    /// Scales that are stored for one matrix.
    grid: usize,
    /// Blocks of one matrix.
    blocks: usize,
}

impl WithSource for Quantize<'_> {
    type Result = Stats;

    fn run<S: FitsF32>(mut self, source: &[S]) -> Result<Stats, ofp8_status> {
        let mut stats = Stats::EMPTY;
        for batch in 0..self.shape.occupied(has_tensor_scale(&self.recipe) as usize) {
            stats = stats.merge(self.one(source, batch)?);
        }
        Ok(stats)
    }
}

impl Quantize<'_> {
    /// Quantizes matrix number `batch`.
    fn one<S: FitsF32>(&mut self, source: &[S], batch: usize) -> Result<Stats, ofp8_status> {
        let (recipe, shape, grid) = (&self.recipe, &self.shape, self.grid);
        let source = shape.matrix(source, shape.wide, batch)?;
        let codes = shape.matrix_mut(self.codes, shape.codes, batch)?;
        let before = (batch as u64).wrapping_mul(shape.elements());
        let random = self
            .random
            .map(|random| random.at(random.first_index.wrapping_add(before)));
        Ok(match (&mut self.plan, random) {
            (Plan::Given(scales, is_quantize), random) => {
                let given = given_part(scales, *is_quantize, batch, grid);
                recipe.quantize_given(random, source, given, codes)?
            }
            (Plan::Compute([], scales), None) => {
                recipe.quantize(source, codes, scales.part(batch, grid)?)?
            }
            (Plan::Compute([], scales), Some(random)) => {
                let scales = scales.part(batch, grid)?;
                recipe.quantize_stochastic(random, source, codes, scales)?
            }
            (Plan::Compute(amax, scales), random) => {
                let amax = part_of(amax, batch, self.blocks);
                let scales = scales.part(batch, grid)?;
                recipe.quantize_from_amax(random, source, amax, codes, scales)?
            }
        })
    }
}

/// The given scales of matrix number `batch`.
fn given_part<'a>(
    scales: &ScaleBuffer<'a>,
    is_quantize: bool,
    batch: usize,
    grid: usize,
) -> GivenScales<'a> {
    match scales {
        ScaleBuffer::F32(scales) if is_quantize => {
            GivenScales::Quantize(part_of(scales, batch, grid))
        }
        _ => GivenScales::Dequantize(scales.part(batch, grid)),
    }
}

/// The arguments of `ofp8_quantize`, for a list of calls. What is not needed stays zero.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ofp8_quantize_call {
    /// `sizeof(ofp8_quantize_call)`.
    pub struct_size: usize,
    /// How the matrix is quantized.
    pub recipe: *const ofp8_recipe,
    /// Its shape.
    pub shape: *const ofp8_shape,
    /// Random bits of a stochastic rounding, or null.
    pub random: *const ofp8_philox,
    /// The wide values.
    pub source: *const c_void,
    /// The amax of each block, or null.
    pub amax: *const u32,
    /// The codes, one a byte.
    pub codes: *mut u8,
    /// The scales of the blocks.
    pub scales: *mut c_void,
    /// Their number: `ofp8_scale_count`, times the batch.
    pub scale_count: usize,
    /// The scale of each tensor under two levels, else null.
    pub tensor_scale: *mut f32,
    /// What was seen, or null.
    pub stats: *mut ofp8_stats,
}

impl ofp8_quantize_call {
    /// Checks every argument, and quantizes unless it is `only_checked`.
    ///
    /// # Safety
    /// As [`ofp8_quantize`].
    unsafe fn run(&self, only_checked: bool) -> Result<(), ofp8_status> {
        // SAFETY: this function's contract.
        let (recipe, shape, random) = unsafe {
            (
                recipe_of(self.recipe)?,
                shape_of(self.shape)?,
                philox_of(self.random)?,
            )
        };
        let grid = shape.scales(&recipe, self.scale_count)?;
        let (blocks, all_blocks) = shape.blocks(&recipe)?;
        let amax_count = if self.amax.is_null() { 0 } else { all_blocks };
        let tensors = tensor_count(&recipe, &shape, self.tensor_scale)?;
        let written = [
            shape.code_extent(self.codes)?,
            Extent::new(self.scales, self.scale_count, scale_size(&recipe))?,
            Extent::new(self.tensor_scale, tensors, size_of::<f32>())?,
            Extent::new(self.stats, 1, size_of::<ofp8_stats>())?,
        ];
        let [codes, scales, tensor, stats] = written;
        for read in [
            shape.wide_extent(self.source)?,
            Extent::new(self.amax, amax_count, size_of::<u32>())?,
        ] {
            disjoint(&[read, codes, scales, tensor, stats])?;
        }
        check_random(&recipe, random)?;
        // SAFETY: this function's contract; what is written overlaps nothing; `Amax` is a
        // transparent u32.
        unsafe {
            let stats = optional(self.stats)?;
            let amax = slice(self.amax.cast::<Amax>(), amax_count)?;
            if recipe.special() == Special::Ignore && !amax.iter().all(|amax| amax.is_finite()) {
                return Err(ofp8_status::OFP8_NOT_FINITE);
            }
            let (count, batches) = (self.scale_count, shape.batches);
            let scales =
                ScaleBufferMut::new(&recipe, self.scales, count, self.tensor_scale, batches)?;
            let work = Quantize {
                recipe,
                shape,
                random,
                plan: Plan::Compute(amax, scales),
                codes: slice_mut(self.codes, shape.span(shape.codes)?)?,
                grid,
                blocks,
            };
            run(&shape, self.source, work, stats, only_checked)
        }
    }
}

/// The number of tensor scales: one a matrix under two levels; else the pointer must be null.
pub(super) fn tensor_count(
    recipe: &Recipe,
    shape: &Shape,
    tensor_scale: *const f32,
) -> Result<usize, ofp8_status> {
    match (has_tensor_scale(recipe), tensor_scale.is_null()) {
        (true, true) => Err(ofp8_status::OFP8_NULL_POINTER),
        (true, false) => Ok(shape.batches),
        (false, true) => Ok(0),
        (false, false) => Err(ofp8_status::OFP8_RECIPE),
    }
}

/// Whether there are random bits where the rounding needs them.
pub(super) fn check_random(recipe: &Recipe, random: Option<Philox>) -> Result<(), ofp8_status> {
    if recipe.cast().rounding.random_bits() > random.map_or(0, |_| Philox::BITS) {
        return Err(ofp8_status::OFP8_RANDOM_BITS);
    }
    Ok(())
}

/// Runs a quantization that has been checked, or looks at its source alone.
///
/// # Safety
/// As [`with_source`].
unsafe fn run(
    shape: &Shape,
    source: *const c_void,
    work: Quantize<'_>,
    stats: Option<&mut MaybeUninit<ofp8_stats>>,
    only_checked: bool,
) -> Result<(), ofp8_status> {
    if only_checked {
        // SAFETY: this function's contract.
        return unsafe { with_source(shape, source, Nothing) };
    }
    // SAFETY: this function's contract.
    let seen = unsafe { with_source(shape, source, work)? };
    if let Some(stats) = stats {
        stats.write(seen.into());
    }
    Ok(())
}

/// Checks a source and does nothing with it.
struct Nothing;

impl WithSource for Nothing {
    type Result = ();

    fn run<S: FitsF32>(self, _: &[S]) -> Result<(), ofp8_status> {
        Ok(())
    }
}

/// Quantizes a matrix: codes (one a byte), one scale a block, and what was seen.
///
/// `scales` holds `scale_count` f32 or, for `OFP8_SCALING_E8M0` and `OFP8_SCALING_TWO_LEVEL`,
/// bytes: exactly as many as `ofp8_scale_count` says (times the batch), in the recipe's
/// `scale_order`. `tensor_scale` receives one f32 a matrix under two levels and must be null
/// otherwise.
///
/// `amax` is null, or holds the amax of each block (row-major) computed before, perhaps over more
/// data than this (other ranks', the rest of a matrix of which this is a shard); then the blocks are
/// not searched. Of a shard every scale is written too: without merged amaxes, from the elements that
/// are there. `random` is read for a stochastic rounding only and may be null otherwise: the
/// number of an element is `first_index + (batch * rows + row) * cols + col`. `stats` may be
/// null.
///
/// Statuses: those of a recipe (`OFP8_STRUCT_SIZE`, `OFP8_UNKNOWN_FORMAT`,
/// `OFP8_UNKNOWN_POLICY`, `OFP8_RECIPE`), `OFP8_UNKNOWN_TYPE`, `OFP8_NULL_POINTER`,
/// `OFP8_MISALIGNED`, `OFP8_OVERLAP`, `OFP8_SHAPE`, `OFP8_LENGTH` (of the scales),
/// `OFP8_RANDOM_BITS`, `OFP8_NOT_FINITE` (a given amax under `OFP8_SPECIAL_IGNORE`).
///
/// # Safety
/// Structures are null or as large as their `struct_size`; `source`, `codes` and `scales` point
/// to as many elements as the shape and the counts say, `amax` to one integer a block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_quantize(
    recipe: *const ofp8_recipe,
    shape: *const ofp8_shape,
    random: *const ofp8_philox,
    source: *const c_void,
    amax: *const u32,
    codes: *mut u8,
    scales: *mut c_void,
    scale_count: usize,
    tensor_scale: *mut f32,
    stats: *mut ofp8_stats,
) -> ofp8_status {
    let call = ofp8_quantize_call {
        struct_size: size_of::<ofp8_quantize_call>(),
        recipe,
        shape,
        random,
        source,
        amax,
        codes,
        scales,
        scale_count,
        tensor_scale,
        stats,
    };
    // SAFETY: this function's contract.
    status(unsafe { call.run(false) })
}

/// Quantizes `count` matrices of different shapes: experts, the tensors of an optimizer. All
/// calls are checked before the first is carried out, each as `ofp8_quantize` would; where one is
/// refused, its number is written to `failed` (which may be null) and nothing else anywhere; where none
/// is, `failed` stays as it was.
///
/// Statuses: as `ofp8_quantize`.
///
/// # Safety
/// As `ofp8_quantize`, for each call; buffers of different calls do not overlap where one of them
/// is written. `failed` is null or points to memory for the result, apart from all buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_quantize_list(
    calls: *const ofp8_quantize_call,
    count: usize,
    failed: *mut usize,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let (calls, failed) = unsafe { (slice(calls, count)?, optional(failed)?) };
        let check = |call: &ofp8_quantize_call| {
            // Structures in an array cannot be of another size than the array's.
            if call.struct_size != size_of::<ofp8_quantize_call>() {
                return Err(ofp8_status::OFP8_STRUCT_SIZE);
            }
            // SAFETY: this function's contract.
            unsafe { call.run(true) }
        };
        for (number, call) in calls.iter().enumerate() {
            if let Err(status) = check(call) {
                if let Some(failed) = failed {
                    failed.write(number);
                }
                return Err(status);
            }
        }
        for call in calls {
            // SAFETY: this function's contract.
            unsafe { call.run(false)? };
        }
        Ok(())
    };
    status(result())
}

/// Quantizes with scales that were computed elsewhere: by delayed scaling, for a static
/// checkpoint, by another rank. `which` says which way round they are:
/// `OFP8_GIVEN_QUANTIZE_SCALE` (f32 kinds only: what elements are multiplied by) or
/// `OFP8_GIVEN_DEQUANTIZE_SCALE` (as `ofp8_quantize` stores them). Infinities and NaN are stored
/// as the cast says; no block is poisoned. `stats` holds the amax.
///
/// Statuses: as `ofp8_quantize`; `OFP8_SCALE` where a scale is not positive and finite (a block's
/// under two levels may be zero) or not one that the recipe could have made.
///
/// # Safety
/// As `ofp8_quantize`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_quantize_given(
    recipe: *const ofp8_recipe,
    shape: *const ofp8_shape,
    random: *const ofp8_philox,
    source: *const c_void,
    which: u32,
    scales: *const c_void,
    scale_count: usize,
    tensor_scale: *const f32,
    codes: *mut u8,
    stats: *mut ofp8_stats,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let (recipe, shape, random) =
            unsafe { (recipe_of(recipe)?, shape_of(shape)?, philox_of(random)?) };
        let is_quantize = match which {
            OFP8_GIVEN_QUANTIZE_SCALE => true,
            OFP8_GIVEN_DEQUANTIZE_SCALE => false,
            _ => return Err(ofp8_status::OFP8_UNKNOWN_POLICY),
        };
        if is_quantize && scale_size(&recipe) == 1 {
            return Err(ofp8_status::OFP8_RECIPE);
        }
        let grid = shape.scales(&recipe, scale_count)?;
        let tensors = tensor_count(&recipe, &shape, tensor_scale)?;
        let code_extent = shape.code_extent(codes)?;
        let stats_extent = Extent::new(stats, 1, size_of::<ofp8_stats>())?;
        for read in [
            shape.wide_extent(source)?,
            Extent::new(scales, scale_count, scale_size(&recipe))?,
            Extent::new(tensor_scale, tensors, size_of::<f32>())?,
        ] {
            disjoint(&[read, code_extent, stats_extent])?;
        }
        check_random(&recipe, random)?;
        // SAFETY: this function's contract; what is written overlaps nothing.
        unsafe {
            let stats = optional(stats)?;
            let (count, batches) = (scale_count, shape.batches);
            let scales = ScaleBuffer::new(&recipe, scales, count, tensor_scale, batches)?;
            for batch in 0..shape.occupied(tensors) {
                let given = given_part(&scales, is_quantize, batch, grid);
                recipe.check_given(shape.rows, shape.cols, &given)?;
            }
            let work = Quantize {
                recipe,
                shape,
                random,
                plan: Plan::Given(scales, is_quantize),
                codes: slice_mut(codes, shape.span(shape.codes)?)?,
                grid,
                blocks: 0,
            };
            run(&shape, source, work, stats, false)
        }
    };
    status(result())
}

/// The amaxes of the blocks of a batch.
struct BlockAmax<'a> {
    recipe: Recipe,
    shape: Shape,
    blocks: usize,
    amax: &'a mut [Amax],
}

impl WithSource for BlockAmax<'_> {
    type Result = ();

    fn run<S: FitsF32>(self, source: &[S]) -> Result<(), ofp8_status> {
        for batch in 0..self.shape.occupied(0) {
            let source = self.shape.matrix(source, self.shape.wide, batch)?;
            let amax = part_of_mut(self.amax, batch, self.blocks);
            self.recipe.amax(source, amax)?;
        }
        Ok(())
    }
}

/// Writes the amax of each block (as `ofp8_amax` writes it), row-major over the grid, whatever the
/// order of the scales: what ranks
/// merge (`ofp8_merge_amax`, or `MPI_MAX` on `MPI_UINT32_T`) before they pass it to
/// `ofp8_quantize`. Under `OFP8_SPECIAL_IGNORE`, of the finite elements; of a shard, of the
/// elements that are there.
///
/// Statuses: those of a recipe; `OFP8_UNKNOWN_TYPE`, `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`,
/// `OFP8_OVERLAP`, `OFP8_SHAPE`, `OFP8_LENGTH` (of the amaxes).
///
/// # Safety
/// As `ofp8_quantize`; `amax` points to memory for `amax_count` integers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_amax_blocks(
    recipe: *const ofp8_recipe,
    shape: *const ofp8_shape,
    source: *const c_void,
    amax: *mut u32,
    amax_count: usize,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let (recipe, shape) = unsafe { (recipe_of(recipe)?, shape_of(shape)?) };
        let (blocks, all_blocks) = shape.blocks(&recipe)?;
        if amax_count != all_blocks {
            return Err(ofp8_status::OFP8_LENGTH);
        }
        disjoint(&[
            shape.wide_extent(source)?,
            Extent::new(amax, amax_count, size_of::<u32>())?,
        ])?;
        // SAFETY: this function's contract; the buffers are disjoint; `Amax` is a transparent
        // u32.
        unsafe {
            let amax = slice_mut(amax.cast::<Amax>(), amax_count)?;
            let work = BlockAmax {
                recipe,
                shape,
                blocks,
                amax,
            };
            with_source(&shape, source, work)
        }
    };
    status(result())
}

/// Multiplies every code by the scale of its block: one f32 product (under two levels after the
/// product of the two scales), rounded once more to nearest-even for f16 and bf16 targets.
/// `shape` says the type and strides of the target.
///
/// Statuses: as `ofp8_quantize`.
///
/// # Safety
/// As `ofp8_quantize`; `target` points to memory for as many values as the shape spans.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_dequantize(
    recipe: *const ofp8_recipe,
    shape: *const ofp8_shape,
    codes: *const u8,
    scales: *const c_void,
    scale_count: usize,
    tensor_scale: *const f32,
    target: *mut c_void,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let (recipe, shape) = unsafe { (recipe_of(recipe)?, shape_of(shape)?) };
        let grid = shape.scales(&recipe, scale_count)?;
        let tensors = tensor_count(&recipe, &shape, tensor_scale)?;
        let written = shape.wide_extent(target)?;
        for read in [
            shape.code_extent(codes)?,
            Extent::new(scales, scale_count, scale_size(&recipe))?,
            Extent::new(tensor_scale, tensors, size_of::<f32>())?,
        ] {
            disjoint(&[written, read])?;
        }
        let len = shape.span(shape.wide)?;
        // SAFETY: this function's contract; what is written overlaps nothing; F16 and Bf16 are
        // transparent u16.
        unsafe {
            let (count, batches) = (scale_count, shape.batches);
            let work = Dequantize {
                recipe,
                shape,
                codes: slice(codes, shape.span(shape.codes)?)?,
                scales: ScaleBuffer::new(&recipe, scales, count, tensor_scale, batches)?,
                grid,
            };
            match shape.wide_type {
                FloatType::F16 => work.run(slice_mut(target.cast::<F16>(), len)?),
                FloatType::Bf16 => work.run(slice_mut(target.cast::<Bf16>(), len)?),
                _ => work.run(slice_mut(target.cast::<f32>(), len)?),
            }
        }
    };
    status(result())
}

/// A dequantization whose arguments have been checked.
struct Dequantize<'a> {
    recipe: Recipe,
    shape: Shape,
    codes: &'a [u8],
    scales: ScaleBuffer<'a>,
    grid: usize,
}

impl Dequantize<'_> {
    fn run<T: FitsF32>(self, target: &mut [T]) -> Result<(), ofp8_status> {
        let shape = &self.shape;
        for batch in 0..shape.occupied(has_tensor_scale(&self.recipe) as usize) {
            let codes = shape.matrix(self.codes, shape.codes, batch)?;
            let target = shape.matrix_mut(target, shape.wide, batch)?;
            let scales = self.scales.part(batch, self.grid);
            self.recipe.dequantize(codes, scales, target)?;
        }
        Ok(())
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers, sizes and structures from the input: mostly good ones, and what they say of buffers.

use std::ffi::c_void;

use arbitrary::{Result, Unstructured};
use ofp8::capi::{
    ofp8_cast, ofp8_copy, ofp8_delayed, ofp8_gradient, ofp8_layout, ofp8_operand, ofp8_order,
    ofp8_philox, ofp8_recipe, ofp8_scale_count, ofp8_shape, ofp8_stats,
};

use crate::memory::{Extent, MOST, Memory, Use};

/// Numbers of the header.
pub const E4M3: u32 = 1;
pub const LAST_FORMAT: u32 = 26;
pub const F32: u32 = 1;
pub const LAST_TYPE: u32 = 4;
const FIRST_STOCHASTIC: u32 = 6;
const TWO_LEVEL: u32 = 3;
const UE4M3: u32 = 9;
/// As many f32 as a buffer has room for.
pub const MOST_F32: usize = MOST / 4;

/// A number of a list that ends with `last`: mostly the good one.
pub fn number(u: &mut Unstructured<'_>, good: u32, last: u32) -> Result<u32> {
    Ok(match u.arbitrary::<u8>()? {
        0..128 => good,
        any @ 128..248 => u32::from(any - 128) % (last + 1),
        248..252 => last + 1,
        _ => u.arbitrary()?,
    })
}

/// A size: mostly the good one, at most `most`, or so large that nothing can have it.
pub fn size(u: &mut Unstructured<'_>, good: usize, most: usize) -> Result<usize> {
    Ok(match u.arbitrary::<u8>()? {
        0..128 => good,
        128..248 => u.arbitrary::<u16>()? as usize % (most + 1),
        any => {
            let near = u.arbitrary::<u16>()? as usize >> u.int_in_range(0..=16)?;
            let half = [0, 1 << 62, usize::MAX >> 1][any as usize % 3];
            (usize::MAX - near) ^ half
        }
    })
}

/// Any number of a size that asks for no memory.
pub fn any_size(u: &mut Unstructured<'_>, good: usize) -> Result<usize> {
    Ok(match u.arbitrary::<u8>()? {
        0..96 => good,
        96..192 => u.arbitrary::<u8>()? as usize,
        _ => u.arbitrary::<usize>()? >> u.int_in_range(0..=63)?,
    })
}

/// Any number, mostly zero.
fn float(u: &mut Unstructured<'_>) -> Result<f32> {
    Ok(match u.arbitrary::<u8>()? {
        0..192 => 0.0,
        192..224 => 1.5,
        _ => f32::from_bits(u.arbitrary()?),
    })
}

/// Bytes of an element of a wide type.
pub fn wide_size(number: u32) -> usize {
    match number {
        F32 => 4,
        2 | 3 => 2,
        _ => 8,
    }
}

fn cast_value(u: &mut Unstructured<'_>) -> Result<ofp8_cast> {
    let rounding = number(u, 0, 8)?;
    let bits = if (FIRST_STOCHASTIC..=8).contains(&rounding) {
        16
    } else {
        0
    };
    Ok(ofp8_cast {
        rounding,
        saturation: number(u, 0, 2)?,
        nan: number(u, 0, 1)?,
        random_bits: number(u, bits, 32)?,
    })
}

pub fn cast(u: &mut Unstructured<'_>, m: &mut Memory) -> Result<*const ofp8_cast> {
    let cast = cast_value(u)?;
    Ok(m.plain(u, cast)?)
}

pub fn philox(u: &mut Unstructured<'_>, m: &mut Memory) -> Result<*const ofp8_philox> {
    let philox = ofp8_philox {
        seed: u.arbitrary()?,
        stream: u.arbitrary()?,
        first_index: u.arbitrary()?,
    };
    Ok(m.plain(u, philox)?)
}

pub fn recipe(
    u: &mut Unstructured<'_>,
    m: &mut Memory,
) -> Result<(*const ofp8_recipe, ofp8_recipe)> {
    let scaling = number(u, 0, 3)?;
    let tensor = number(u, 0, 1)?;
    let margin = match u.arbitrary::<u8>()? {
        0..192 => 0,
        any @ 192..252 => i32::from(any) - 222,
        _ => u.arbitrary()?,
    };
    let it = ofp8_recipe {
        struct_size: 0,
        block_rows: *u.choose(&[1, 0, 2, 4, 16, 32, 128, 3, usize::MAX])?,
        block_cols: *u.choose(&[32, 0, 16, 128, 64, 1, 5, 1 << 63])?,
        element: number(u, E4M3, LAST_FORMAT)?,
        scaling,
        convention: number(u, 0, 2)?,
        exponent_rule: number(u, 0, 5)?,
        special: number(u, 0, 2)?,
        margin,
        epsilon: float(u)?,
        amax_bound: float(u)?,
        cast: cast_value(u)?,
        block_scale: number(u, if scaling == TWO_LEVEL { UE4M3 } else { 0 }, LAST_FORMAT)?,
        has_tensor_amax: tensor,
        tensor_amax: if tensor == 0 { 0 } else { u.arbitrary()? },
        scale_order: number(u, 0, 5)?,
    };
    let (pointer, it) = m.sized(u, it)?;
    Ok((pointer, it))
}

/// Bytes of one scale.
pub fn scale_size(recipe: &ofp8_recipe) -> usize {
    if recipe.scaling >= 2 { 1 } else { 4 }
}

/// Whether there is a scale of the tensor.
pub fn has_tensor_scale(recipe: &ofp8_recipe) -> bool {
    recipe.scaling == TWO_LEVEL
}

/// Blocks of a matrix, saturating.
pub fn blocks(recipe: &ofp8_recipe, rows: usize, cols: usize) -> usize {
    let along = |len: usize, block: usize| {
        if block == 0 {
            (len > 0) as usize
        } else {
            len.div_ceil(block)
        }
    };
    along(rows, recipe.block_rows).saturating_mul(along(cols, recipe.block_cols))
}

/// Scales of a matrix, padding included: a good number of them where there is one.
pub fn scale_count(recipe: &ofp8_recipe, rows: usize, cols: usize) -> usize {
    let mut whole = *recipe;
    whole.struct_size = size_of::<ofp8_recipe>();
    let mut count = 0;
    // SAFETY: both are there.
    unsafe { ofp8_scale_count(&whole, rows, cols, &mut count) };
    count
}

/// Scales of blocks, and those of tensors: pointers and the count.
pub struct Scales {
    pub scales: *mut c_void,
    pub count: usize,
    pub tensor: *mut f32,
}

/// `good` scales a matrix, and that of the tensor, as the recipe has them.
pub fn scales(
    u: &mut Unstructured<'_>,
    m: &mut Memory,
    kind: Use,
    recipe: &ofp8_recipe,
    good: usize,
    batches: usize,
) -> Result<Scales> {
    let (batches, size_of_one) = (batches.max(1), scale_size(recipe));
    let count = size(
        u,
        good.saturating_mul(batches).min(MOST / size_of_one),
        1000,
    )?;
    let scales = m.buffer(u, kind, Extent::flat(count, size_of_one))?;
    let of_tensors = Extent::flat(batches, 4);
    let tensor = if has_tensor_scale(recipe) {
        m.buffer(u, kind, of_tensors)?
    } else {
        m.nothing(u, kind, of_tensors)?
    };
    Ok(Scales {
        scales,
        count,
        tensor,
    })
}

pub fn shape(u: &mut Unstructured<'_>, m: &mut Memory) -> Result<(*const ofp8_shape, ofp8_shape)> {
    let is_shard = number(u, 0, 1)?;
    let it = ofp8_shape {
        struct_size: 0,
        rows: size(u, 4, 5)?,
        cols: size(u, 64, 160)?,
        stride: size(u, 0, 176)?,
        code_stride: size(u, 0, 176)?,
        wide_type: number(u, F32, LAST_TYPE)?,
        is_shard,
        shard_first: size(u, 0, 800)?,
        shard_len: size(u, if is_shard == 1 { 50 } else { 0 }, 800)?,
        batch_count: size(u, 0, 2)?,
        batch_stride: size(u, 0, 1000)?,
        code_batch_stride: size(u, 0, 1000)?,
    };
    let (pointer, it) = m.sized(u, it)?;
    Ok((pointer, it))
}

/// Where the wide values of a shape lie.
pub fn wide(shape: &ofp8_shape) -> Extent {
    let size = wide_size(shape.wide_type);
    match shape.is_shard {
        0 => Extent::matrix(shape.rows, shape.cols, shape.stride, size).batch(
            shape.batch_count,
            shape.batch_stride,
            size,
        ),
        _ => Extent::flat(shape.shard_len, size),
    }
}

/// Where its codes lie.
pub fn codes(shape: &ofp8_shape) -> Extent {
    match shape.is_shard {
        0 => Extent::matrix(shape.rows, shape.cols, shape.code_stride, 1).batch(
            shape.batch_count,
            shape.code_batch_stride,
            1,
        ),
        _ => Extent::flat(shape.shard_len, 1),
    }
}

/// Where what was seen goes.
pub fn stats(u: &mut Unstructured<'_>, m: &mut Memory) -> Result<*mut ofp8_stats> {
    m.buffer(u, Use::Write, Extent::flat(1, size_of::<ofp8_stats>()))
}

/// One copy of a matrix of `rows` x `cols`.
pub fn copy(
    u: &mut Unstructured<'_>,
    m: &mut Memory,
    recipe: &ofp8_recipe,
    shape: &ofp8_shape,
    is_columnwise: bool,
) -> Result<*const ofp8_copy> {
    let is_transposed = number(u, 0, 1)?;
    let turned = is_transposed == 1;
    let (rows, cols) = if turned {
        (shape.cols, shape.rows)
    } else {
        (shape.rows, shape.cols)
    };
    let code_stride = size(u, 0, if turned { 40 } else { 176 })?;
    let code_batch_stride = size(u, 0, 1000)?;
    let extent = match shape.is_shard {
        0 => Extent::matrix(rows, cols, code_stride, 1).batch(
            shape.batch_count,
            code_batch_stride,
            1,
        ),
        _ => Extent::flat(shape.shard_len, 1),
    };
    let codes = m.buffer(u, Use::Write, extent)?;
    let mut own = *recipe;
    if is_columnwise != turned {
        (own.block_rows, own.block_cols) = (recipe.block_cols, recipe.block_rows);
    }
    let good = scale_count(&own, rows, cols);
    let Scales {
        scales,
        count,
        tensor,
    } = scales(u, m, Use::Write, recipe, good, shape.batch_count)?;
    let it = ofp8_copy {
        struct_size: 0,
        codes,
        scales,
        scale_count: count,
        tensor_scale: tensor,
        stats: stats(u, m)?,
        random: philox(u, m)?,
        code_stride,
        code_batch_stride,
        is_transposed,
        reserved: number(u, 0, 0)?,
    };
    m.unshortened(u, it).map(|pointer| pointer.cast_const())
}

/// A layout, and the scales that it holds.
pub fn layout(
    u: &mut Unstructured<'_>,
    m: &mut Memory,
) -> Result<(*const ofp8_layout, ofp8_layout)> {
    let it = ofp8_layout {
        struct_size: 0,
        rows: size(u, 4, 12)?,
        cols: size(u, 8, 20)?,
        batches: size(u, 0, 2)?,
        batch_stride: size(u, 0, 700)?,
        order: number(u, 0, 5)?,
        columnwise: number(u, 0, 1)?,
    };
    let (pointer, it) = m.sized(u, it)?;
    Ok((pointer, it))
}

/// Rules of delayed scaling.
pub fn delayed(
    u: &mut Unstructured<'_>,
    m: &mut Memory,
) -> Result<(*const ofp8_delayed, ofp8_delayed)> {
    let it = ofp8_delayed {
        struct_size: 0,
        history: size(u, 4, 20)?,
        algorithm: number(u, 0, 1)?,
        non_finite: number(u, 0, 2)?,
        interval: number(u, 0, 3)?,
        calibration: number(u, 0, 3)?,
    };
    let (pointer, it) = m.sized(u, it)?;
    Ok((pointer, it))
}

/// An operand of so many vectors of `length` codes, about; how many it has.
pub fn operand(
    u: &mut Unstructured<'_>,
    m: &mut Memory,
    vectors: usize,
    most_vectors: usize,
) -> Result<(*const ofp8_operand, usize)> {
    let is_transposed = number(u, 0, 1)?;
    let (vectors, length) = (size(u, vectors, most_vectors)?, size(u, 32, 48)?);
    let (rows, cols) = if is_transposed == 1 {
        (length, vectors)
    } else {
        (vectors, length)
    };
    let stride = size(u, 0, if is_transposed == 1 { 150 } else { 50 })?;
    let codes = m.buffer(u, Use::Read, Extent::matrix(rows, cols, stride, 1))?;
    // Without a recipe half of the time, where bits of the input are zero.
    let has_recipe = u.arbitrary::<u8>()? >= 128;
    let (recipe, of_scales) = if has_recipe {
        let (pointer, recipe) = recipe(u, m)?;
        (
            pointer,
            scales(
                u,
                m,
                Use::Read,
                &recipe,
                scale_count(&recipe, rows, cols),
                1,
            )?,
        )
    } else {
        (
            std::ptr::null(),
            Scales {
                scales: std::ptr::null_mut(),
                count: 0,
                tensor: std::ptr::null_mut(),
            },
        )
    };
    let it = ofp8_operand {
        struct_size: 0,
        codes,
        rows,
        cols,
        stride,
        recipe,
        scales: of_scales.scales,
        scale_count: of_scales.count,
        tensor_scale: of_scales.tensor,
        format: number(u, if has_recipe { 0 } else { E4M3 }, LAST_FORMAT)?,
        is_transposed,
    };
    Ok((m.unshortened(u, it)?, vectors))
}

pub fn order(u: &mut Unstructured<'_>, m: &mut Memory) -> Result<*const ofp8_order> {
    let kind = number(u, 0, 2)?;
    let it = ofp8_order {
        struct_size: 0,
        kind,
        model: number(u, if kind == 2 { 1 } else { 0 }, 8)?,
        promotion: *u.choose(&[0, 32, 64, 128, u32::MAX, 1])?,
        reserved: number(u, 0, 0)?,
    };
    Ok(m.sized(u, it)?.0)
}

/// A gradient, and the structure itself, which calls change: they are given one of their own each time.
pub fn gradient(u: &mut Unstructured<'_>, m: &mut Memory) -> Result<ofp8_gradient> {
    let (rows, cols) = (size(u, 4, 5)?, size(u, 64, 160)?);
    let extent = Extent::matrix(rows, cols, 0, 4);
    let sum = m.buffer(u, Use::Write, extent)?;
    let lost = m.buffer(u, Use::Write, extent)?;
    let struct_size = match u.arbitrary::<u8>()? {
        0..240 => size_of::<ofp8_gradient>(),
        _ => *u.choose(&[0, 8, 7, usize::MAX, size_of::<ofp8_gradient>() - 8])?,
    };
    Ok(ofp8_gradient {
        struct_size,
        rows,
        cols,
        sum,
        lost,
        count: u.arbitrary()?,
    })
}

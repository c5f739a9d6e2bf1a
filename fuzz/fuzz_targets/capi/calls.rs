// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of the C ABI: what each is called with, and what it may touch.
//!
//! A call may be made again and again: what it changes lies in the arena, or is a copy of its own.

use std::ptr::null_mut;

use arbitrary::{Result, Unstructured};
use ofp8::capi::*;

use crate::arguments::*;
use crate::memory::{Extent, Memory, Use};

/// What a call gave: a status, 0 where there is none, and what it returned beside it.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    pub status: u32,
    pub value: u64,
}

/// A call with its arguments.
pub type Call = Box<dyn Fn() -> Outcome>;

type Function = fn(&mut Unstructured<'_>, &mut Memory) -> Result<Call>;

/// A call of a function with a status.
fn fallible(call: impl Fn() -> ofp8_status + 'static) -> Result<Call> {
    Ok(Box::new(move || Outcome {
        status: call() as u32,
        value: 0,
    }))
}

/// A call of a function that takes any arguments.
fn total(call: impl Fn() -> u64 + 'static) -> Result<Call> {
    Ok(Box::new(move || Outcome {
        status: 0,
        value: call(),
    }))
}

/// A call that changes a structure, a copy of which it is given.
fn of_gradient(
    given: ofp8_gradient,
    call: impl Fn(*mut ofp8_gradient) -> ofp8_status + 'static,
) -> Result<Call> {
    Ok(Box::new(move || {
        let mut own = given;
        let status = call(&raw mut own) as u32;
        assert!(
            status == 0 || own.count == given.count,
            "refused, and counted"
        );
        Outcome {
            status,
            value: own.count,
        }
    }))
}

/// A buffer of one result.
fn out<T>(u: &mut Unstructured<'_>, m: &mut Memory) -> Result<*mut T> {
    m.buffer(u, Use::Write, Extent::flat(1, size_of::<T>()))
}

/// A buffer of `count` elements to read.
fn read<T>(u: &mut Unstructured<'_>, m: &mut Memory, count: usize, size: usize) -> Result<*mut T> {
    m.buffer(u, Use::Read, Extent::flat(count, size))
}

/// A buffer of `count` elements to write.
fn write<T>(u: &mut Unstructured<'_>, m: &mut Memory, count: usize, size: usize) -> Result<*mut T> {
    m.buffer(u, Use::Write, Extent::flat(count, size))
}

/// A format's number.
fn format(u: &mut Unstructured<'_>) -> Result<u32> {
    number(u, E4M3, LAST_FORMAT)
}

/// A wide type's number.
fn wide_type(u: &mut Unstructured<'_>) -> Result<u32> {
    number(u, F32, LAST_TYPE)
}

/// A number of elements of at most 8 bytes.
fn count(u: &mut Unstructured<'_>) -> Result<usize> {
    size(u, 300, 1000)
}

/// The C string of a text that is there for ever: its first byte.
fn first_byte(text: *const std::ffi::c_char) -> u64 {
    // SAFETY: the functions give texts that end with NUL, never null.
    unsafe { *text as u64 }
}

/// A scale layout for conversions: pointer, count of its scales, and where they lie.
fn stored(
    u: &mut Unstructured<'_>,
    m: &mut Memory,
    kind: Use,
    bytes: usize,
) -> Result<(*const ofp8_layout, *mut u8, usize)> {
    let (pointer, it) = layout(u, m)?;
    let mut good = 0;
    let mut whole = it;
    whole.struct_size = size_of::<ofp8_layout>();
    // SAFETY: both are there; the result only says which count is good.
    unsafe { ofp8_layout_size(&whole, &mut good, null_mut()) };
    let count = size(u, good.min(MOST_F32), MOST_F32)?;
    let buffer = m.buffer(u, kind, Extent::flat(count, bytes))?;
    Ok((pointer, buffer, count))
}

/// A conversion of scales of so many bytes.
fn convert<S: 'static, T: 'static>(
    u: &mut Unstructured<'_>,
    m: &mut Memory,
    function: unsafe extern "C" fn(
        *const ofp8_layout,
        *const S,
        usize,
        *const ofp8_layout,
        *mut T,
        usize,
    ) -> ofp8_status,
) -> Result<Call> {
    let (from, source, source_count) = stored(u, m, Use::Read, size_of::<S>())?;
    let (to, target, target_count) = stored(u, m, Use::Write, size_of::<T>())?;
    // SAFETY: pointers are null or have what the arguments say.
    fallible(move || unsafe {
        function(
            from,
            source.cast(),
            source_count,
            to,
            target.cast(),
            target_count,
        )
    })
}

/// One block to codes.
fn quantize_block(
    u: &mut Unstructured<'_>,
    m: &mut Memory,
    function: unsafe extern "C" fn(u32, *const f32, usize, *mut u8, *mut u8) -> ofp8_status,
) -> Result<Call> {
    let (rule, count) = (number(u, 0, 5)?, count(u)?);
    let (source, codes, scale) = (read(u, m, count, 4)?, write(u, m, count, 1)?, out(u, m)?);
    // SAFETY: pointers are null or have what the arguments say.
    fallible(move || unsafe { function(rule, source, count, codes, scale) })
}

/// One block back.
fn dequantize_block(
    u: &mut Unstructured<'_>,
    m: &mut Memory,
    function: unsafe extern "C" fn(u8, *const u8, usize, *mut f32) -> ofp8_status,
) -> Result<Call> {
    let (scale, count) = (u.arbitrary()?, count(u)?);
    let (codes, target) = (read(u, m, count, 1)?, write(u, m, count, 4)?);
    // SAFETY: pointers are null or have what the arguments say.
    fallible(move || unsafe { function(scale, codes, count, target) })
}

/// The state of delayed scaling: mostly a good one, with a few other words.
struct State {
    rules: *const ofp8_delayed,
    memory: *mut std::ffi::c_void,
    size: usize,
    tensor: usize,
}

fn state(u: &mut Unstructured<'_>, m: &mut Memory) -> Result<State> {
    let (rules, effective) = delayed(u, m)?;
    let tensors = u.int_in_range(0..=3)? + 1;
    let mut whole = effective;
    whole.struct_size = size_of::<ofp8_delayed>();
    let mut good = 0;
    // SAFETY: both are there.
    unsafe { ofp8_delayed_size(&whole, tensors, &mut good) };
    let size = size(u, good, 1000)?;
    let memory: *mut u32 = write(u, m, size, 1)?;
    if !memory.is_null()
        && memory.is_aligned()
        && good == size
        && size > 0
        && u.arbitrary::<u8>()? < 240
    {
        // SAFETY: there are so many bytes, of the arena alone.
        unsafe { ofp8_delayed_init(&whole, tensors, memory.cast(), size) };
        for _ in 0..u.int_in_range(0..=3)? {
            let place = u.arbitrary::<u8>()? as usize % (size / 4);
            // SAFETY: it is one of the words of the state.
            unsafe { memory.add(place).write(u.arbitrary()?) };
        }
    }
    let tensor = crate::arguments::size(u, 0, tensors)?;
    Ok(State {
        rules,
        memory: memory.cast(),
        size,
        tensor,
    })
}

/// Every function, under its name without the prefix.
pub const FUNCTIONS: [(&str, Function); 80] = [
    ("abi_version", |_, _| total(|| ofp8_abi_version().into())),
    ("version", |_, _| total(|| first_byte(ofp8_version()))),
    ("status_text", |u, _| {
        let status = u.arbitrary()?;
        total(move || first_byte(ofp8_status_text(status)))
    }),
    // Which kernel it is depends on what was forced before: that there is one.
    ("current_kernel", |_, _| {
        total(|| (ofp8_current_kernel() != 0).into())
    }),
    ("kernel_name", |u, _| {
        let kernel = number(u, 1, 4)?;
        total(move || first_byte(ofp8_kernel_name(kernel)))
    }),
    ("force_kernel", |u, _| {
        let kernel = number(u, 0, 4)?;
        fallible(move || ofp8_force_kernel(kernel))
    }),
    ("get_format_info", |u, m| {
        let (format, info) = (format(u)?, out(u, m)?);
        // SAFETY: as in all of this list, pointers are null or have what the arguments say.
        fallible(move || unsafe { ofp8_get_format_info(format, info) })
    }),
    ("encode_f32", |u, m| {
        let (format, cast, value, random, code) = (
            format(u)?,
            cast(u, m)?,
            u.arbitrary()?,
            u.arbitrary()?,
            out(u, m)?,
        );
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_encode_f32(format, cast, value, random, code) })
    }),
    ("encode_f64", |u, m| {
        let (format, cast, value, random, code) = (
            format(u)?,
            cast(u, m)?,
            u.arbitrary()?,
            u.arbitrary()?,
            out(u, m)?,
        );
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_encode_f64(format, cast, value, random, code) })
    }),
    ("encode_f16", |u, m| {
        let (format, cast, bits, random, code) = (
            format(u)?,
            cast(u, m)?,
            u.arbitrary()?,
            u.arbitrary()?,
            out(u, m)?,
        );
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_encode_f16(format, cast, bits, random, code) })
    }),
    ("encode_bf16", |u, m| {
        let (format, cast, bits, random, code) = (
            format(u)?,
            cast(u, m)?,
            u.arbitrary()?,
            u.arbitrary()?,
            out(u, m)?,
        );
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_encode_bf16(format, cast, bits, random, code) })
    }),
    ("decode_f32", |u, m| {
        let (format, code, value) = (format(u)?, u.arbitrary()?, out(u, m)?);
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_decode_f32(format, code, value) })
    }),
    ("decode_f64", |u, m| {
        let (format, code, value) = (format(u)?, u.arbitrary()?, out(u, m)?);
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_decode_f64(format, code, value) })
    }),
    ("decode_f16", |u, m| {
        let (format, code, bits) = (format(u)?, u.arbitrary()?, out(u, m)?);
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_decode_f16(format, code, bits) })
    }),
    ("decode_bf16", |u, m| {
        let (format, code, bits) = (format(u)?, u.arbitrary()?, out(u, m)?);
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_decode_bf16(format, code, bits) })
    }),
    ("e4m3_from_f32", |u, _| {
        let value = u.arbitrary()?;
        total(move || ofp8_e4m3_from_f32(value).into())
    }),
    ("e4m3_to_f32", |u, _| {
        let code = u.arbitrary()?;
        total(move || ofp8_e4m3_to_f32(code).to_bits().into())
    }),
    ("e5m2_from_f32", |u, _| {
        let value = u.arbitrary()?;
        total(move || ofp8_e5m2_from_f32(value).into())
    }),
    ("e5m2_to_f32", |u, _| {
        let code = u.arbitrary()?;
        total(move || ofp8_e5m2_to_f32(code).to_bits().into())
    }),
    ("e4m3fnuz_from_f32", |u, _| {
        let value = u.arbitrary()?;
        total(move || ofp8_e4m3fnuz_from_f32(value).into())
    }),
    ("e4m3fnuz_to_f32", |u, _| {
        let code = u.arbitrary()?;
        total(move || ofp8_e4m3fnuz_to_f32(code).to_bits().into())
    }),
    ("e5m2fnuz_from_f32", |u, _| {
        let value = u.arbitrary()?;
        total(move || ofp8_e5m2fnuz_from_f32(value).into())
    }),
    ("e5m2fnuz_to_f32", |u, _| {
        let code = u.arbitrary()?;
        total(move || ofp8_e5m2fnuz_to_f32(code).to_bits().into())
    }),
    ("e8m0_from_f32", |u, _| {
        let value = u.arbitrary()?;
        total(move || ofp8_e8m0_from_f32(value).into())
    }),
    ("e8m0_to_f32", |u, _| {
        let code = u.arbitrary()?;
        total(move || ofp8_e8m0_to_f32(code).to_bits().into())
    }),
    ("merge_amax", |u, _| {
        let (a, b) = (u.arbitrary()?, u.arbitrary()?);
        total(move || ofp8_merge_amax(a, b).into())
    }),
    ("amax_to_f32", |u, _| {
        let amax = u.arbitrary()?;
        total(move || ofp8_amax_to_f32(amax).to_bits().into())
    }),
    ("encode", |u, m| {
        let (format, cast, random) = (format(u)?, cast(u, m)?, philox(u, m)?);
        let (source_type, count) = (wide_type(u)?, count(u)?);
        let (source, codes) = (
            read(u, m, count, wide_size(source_type))?,
            write(u, m, count, 1)?,
        );
        // SAFETY: see above.
        fallible(move || unsafe {
            ofp8_encode(format, cast, random, source_type, source, count, codes)
        })
    }),
    ("decode", |u, m| {
        let (format, target_type, count) = (format(u)?, wide_type(u)?, count(u)?);
        let (codes, target) = (
            read(u, m, count, 1)?,
            write(u, m, count, wide_size(target_type))?,
        );
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_decode(format, codes, count, target_type, target) })
    }),
    ("amax", |u, m| {
        let (source_type, count) = (wide_type(u)?, count(u)?);
        let (source, amax) = (read(u, m, count, wide_size(source_type))?, out(u, m)?);
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_amax(source_type, source, count, amax) })
    }),
    ("packed_size", |u, m| {
        let (packing, count, bytes) = (number(u, 3, 3)?, any_size(u, 300)?, out(u, m)?);
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_packed_size(packing, count, bytes) })
    }),
    ("pack", |u, m| {
        let (packing, count) = (number(u, 3, 3)?, count(u)?);
        let (codes, packed) = (
            read(u, m, count, 1)?,
            write(u, m, packed_bytes(packing, count), 1)?,
        );
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_pack(packing, codes, count, packed) })
    }),
    ("unpack", |u, m| {
        let (packing, count) = (number(u, 3, 3)?, count(u)?);
        let (packed, codes) = (
            read(u, m, packed_bytes(packing, count), 1)?,
            write(u, m, count, 1)?,
        );
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_unpack(packing, packed, count, codes) })
    }),
    ("e4m3_quantize_block", |u, m| {
        quantize_block(u, m, ofp8_e4m3_quantize_block)
    }),
    ("e4m3_dequantize_block", |u, m| {
        dequantize_block(u, m, ofp8_e4m3_dequantize_block)
    }),
    ("e5m2_quantize_block", |u, m| {
        quantize_block(u, m, ofp8_e5m2_quantize_block)
    }),
    ("e5m2_dequantize_block", |u, m| {
        dequantize_block(u, m, ofp8_e5m2_dequantize_block)
    }),
    ("e2m1_quantize_block", |u, m| {
        quantize_block(u, m, ofp8_e2m1_quantize_block)
    }),
    ("e2m1_dequantize_block", |u, m| {
        dequantize_block(u, m, ofp8_e2m1_dequantize_block)
    }),
    ("scale_count", |u, m| {
        let (recipe, rows, cols) = (recipe(u, m)?.0, any_size(u, 4)?, any_size(u, 64)?);
        let count = out(u, m)?;
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_scale_count(recipe, rows, cols, count) })
    }),
    ("expand_scales", |u, m| {
        let ((from, of_from), (to, of_to)) = (recipe(u, m)?, recipe(u, m)?);
        let (rows, cols) = (size(u, 4, 5)?, size(u, 64, 160)?);
        let source = scales(
            u,
            m,
            Use::Read,
            &of_from,
            scale_count(&of_from, rows, cols),
            1,
        )?;
        let target = scales(u, m, Use::Write, &of_to, scale_count(&of_to, rows, cols), 1)?;
        // SAFETY: see above.
        fallible(move || unsafe {
            ofp8_expand_scales(
                from,
                to,
                rows,
                cols,
                source.scales,
                source.count,
                target.scales,
                target.count,
            )
        })
    }),
    ("scale_grid", |u, m| {
        let (recipe, rows, cols) = (recipe(u, m)?.0, any_size(u, 4)?, any_size(u, 64)?);
        let (down, across) = (out(u, m)?, out(u, m)?);
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_scale_grid(recipe, rows, cols, down, across) })
    }),
    ("scale_from_amax", |u, m| {
        let (recipe, effective) = recipe(u, m)?;
        let (amax, scale): (_, *mut f32) = (u.arbitrary()?, out(u, m)?);
        // A code is asked for where there is one.
        let code = if scale_size(&effective) == 1 {
            out(u, m)?
        } else {
            m.nothing(u, Use::Write, Extent::flat(1, 1))?
        };
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_scale_from_amax(recipe, amax, scale, code) })
    }),
    ("quantize", |u, m| {
        let call = quantize_call(u, m)?;
        // SAFETY: see above.
        fallible(move || unsafe {
            ofp8_quantize(
                call.recipe,
                call.shape,
                call.random,
                call.source,
                call.amax,
                call.codes,
                call.scales,
                call.scale_count,
                call.tensor_scale,
                call.stats,
            )
        })
    }),
    ("quantize_list", |u, m| {
        let mut calls = [quantize_call(u, m)?, quantize_call(u, m)?];
        for call in &mut calls {
            call.struct_size = match u.arbitrary::<u8>()? {
                0..240 => size_of::<ofp8_quantize_call>(),
                _ => any_size(u, 0)?.min(size_of::<ofp8_quantize_call>()) / 8 * 8,
            };
        }
        let (calls, count) = (m.plain(u, calls)?, u.int_in_range(0..=2)?);
        Ok(Box::new(move || {
            let mut failed = usize::MAX;
            // SAFETY: see above.
            let status = unsafe { ofp8_quantize_list(calls.cast(), count, &mut failed) };
            Outcome {
                status: status as u32,
                value: failed as u64,
            }
        }))
    }),
    ("quantize_given", |u, m| {
        let ((recipe, of_recipe), (shape, of_shape)) = (recipe(u, m)?, shape(u, m)?);
        let (random, source, which) = (
            philox(u, m)?,
            m.buffer(u, Use::Read, wide(&of_shape))?,
            number(u, 1, 1)?,
        );
        let good = scale_count(&of_recipe, of_shape.rows, of_shape.cols);
        let given = scales(u, m, Use::Read, &of_recipe, good, of_shape.batch_count)?;
        let (codes, stats) = (m.buffer(u, Use::Write, codes(&of_shape))?, stats(u, m)?);
        // SAFETY: see above.
        fallible(move || unsafe {
            ofp8_quantize_given(
                recipe,
                shape,
                random,
                source,
                which,
                given.scales,
                given.count,
                given.tensor,
                codes,
                stats,
            )
        })
    }),
    ("amax_blocks", |u, m| {
        let ((recipe, of_recipe), (shape, of_shape)) = (recipe(u, m)?, shape(u, m)?);
        let source = m.buffer(u, Use::Read, wide(&of_shape))?;
        let blocks = blocks(&of_recipe, of_shape.rows, of_shape.cols);
        let count = size(
            u,
            blocks
                .saturating_mul(of_shape.batch_count.max(1))
                .min(MOST_F32),
            1000,
        )?;
        let amax = write(u, m, count, 4)?;
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_amax_blocks(recipe, shape, source, amax, count) })
    }),
    ("dequantize", |u, m| {
        let ((recipe, of_recipe), (shape, of_shape)) = (recipe(u, m)?, shape(u, m)?);
        let codes = m.buffer(u, Use::Read, codes(&of_shape))?;
        let good = scale_count(&of_recipe, of_shape.rows, of_shape.cols);
        let given = scales(u, m, Use::Read, &of_recipe, good, of_shape.batch_count)?;
        let target = m.buffer(u, Use::Write, wide(&of_shape))?;
        // SAFETY: see above.
        fallible(move || unsafe {
            ofp8_dequantize(
                recipe,
                shape,
                codes,
                given.scales,
                given.count,
                given.tensor,
                target,
            )
        })
    }),
    ("quantize_copies", |u, m| {
        let ((recipe, of_recipe), (shape, of_shape)) = (recipe(u, m)?, shape(u, m)?);
        let source = m.buffer(u, Use::Read, wide(&of_shape))?;
        let rowwise = copy(u, m, &of_recipe, &of_shape, false)?;
        let columnwise = copy(u, m, &of_recipe, &of_shape, true)?;
        // SAFETY: see above.
        fallible(move || unsafe {
            ofp8_quantize_copies(recipe, shape, source, rowwise, columnwise)
        })
    }),
    ("validate", |u, m| {
        let (shape, of_shape) = shape(u, m)?;
        let (source, first) = (m.buffer(u, Use::Read, wide(&of_shape))?, out(u, m)?);
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_validate(shape, source, first) })
    }),
    ("measure", |u, m| {
        let (shape, of_shape) = shape(u, m)?;
        let (source, stride) = (m.buffer(u, Use::Read, wide(&of_shape))?, size(u, 0, 176)?);
        let dequantized = ofp8_shape {
            stride,
            batch_stride: 0, // without gaps
            wide_type: F32,
            ..of_shape
        };
        let (dequantized, measured) = (m.buffer(u, Use::Read, wide(&dequantized))?, out(u, m)?);
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_measure(shape, source, dequantized, stride, measured) })
    }),
    ("merge_stats", |u, m| {
        let (into, other) = (out(u, m)?, read(u, m, 1, size_of::<ofp8_stats>())?);
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_merge_stats(into, other) })
    }),
    ("merge_measured", |u, m| {
        let (into, other) = (out(u, m)?, read(u, m, 1, size_of::<ofp8_measured>())?);
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_merge_measured(into, other) })
    }),
    ("layout_size", |u, m| {
        let (layout, size, grid) = (any_layout(u, m)?, out(u, m)?, out(u, m)?);
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_layout_size(layout, size, grid) })
    }),
    ("layout_index", |u, m| {
        let (layout, row, col, offset) = (
            any_layout(u, m)?,
            any_size(u, 1)?,
            any_size(u, 1)?,
            out(u, m)?,
        );
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_layout_index(layout, row, col, offset) })
    }),
    ("layout_inverse", |u, m| {
        let (layout, offset, row) = (any_layout(u, m)?, any_size(u, 1)?, out(u, m)?);
        let (col, is_scale) = (out(u, m)?, out(u, m)?);
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_layout_inverse(layout, offset, row, col, is_scale) })
    }),
    ("convert_scales_u8", |u, m| {
        convert(u, m, ofp8_convert_scales_u8)
    }),
    ("convert_scales_f32", |u, m| {
        convert(u, m, ofp8_convert_scales_f32)
    }),
    ("convert_scales_f32_to_e8m0", |u, m| {
        convert(u, m, ofp8_convert_scales_f32_to_e8m0)
    }),
    ("convert_scales_e8m0_to_f32", |u, m| {
        convert(u, m, ofp8_convert_scales_e8m0_to_f32)
    }),
    ("delayed_size", |u, m| {
        let (rules, mut any) = delayed(u, m)?;
        any.history = any_size(u, any.history)?;
        let rules = if any.struct_size == size_of::<ofp8_delayed>() {
            m.sized(u, any)?.0
        } else {
            rules.cast_mut()
        };
        let (tensors, size) = (any_size(u, 2)?, out(u, m)?);
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_delayed_size(rules, tensors, size) })
    }),
    ("delayed_init", |u, m| {
        let state = state(u, m)?;
        // SAFETY: see above.
        fallible(move || unsafe {
            ofp8_delayed_init(
                state.rules,
                state.tensor.saturating_add(1),
                state.memory,
                state.size,
            )
        })
    }),
    ("delayed_record", |u, m| {
        let (state, amax) = (state(u, m)?, u.arbitrary()?);
        // SAFETY: see above.
        fallible(move || unsafe {
            ofp8_delayed_record(state.rules, state.memory, state.size, state.tensor, amax)
        })
    }),
    ("delayed_staging", |u, m| {
        let (state, staging) = (state(u, m)?, out(u, m)?);
        // SAFETY: see above.
        fallible(move || unsafe {
            ofp8_delayed_staging(state.rules, state.memory, state.size, staging)
        })
    }),
    ("delayed_is_due", |u, m| {
        let (state, is_due) = (state(u, m)?, out(u, m)?);
        // SAFETY: see above.
        fallible(move || unsafe {
            ofp8_delayed_is_due(state.rules, state.memory, state.size, is_due)
        })
    }),
    ("delayed_update", |u, m| {
        let state = state(u, m)?;
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_delayed_update(state.rules, state.memory, state.size) })
    }),
    ("delayed_amax", |u, m| {
        let (state, amax) = (state(u, m)?, out(u, m)?);
        // SAFETY: see above.
        fallible(move || unsafe {
            ofp8_delayed_amax(state.rules, state.memory, state.size, state.tensor, amax)
        })
    }),
    ("delayed_not_finite", |u, m| {
        let (state, count) = (state(u, m)?, out(u, m)?);
        // SAFETY: see above.
        fallible(move || unsafe {
            ofp8_delayed_not_finite(state.rules, state.memory, state.size, state.tensor, count)
        })
    }),
    ("dot", |u, m| {
        let (a, b) = (operand(u, m, 1, 2)?.0, operand(u, m, 1, 2)?.0);
        let (order, result) = (order(u, m)?, out(u, m)?);
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_dot(a, b, order, result) })
    }),
    ("gemm", |u, m| {
        let ((a, rows), (b, cols)) = (operand(u, m, 3, 6)?, operand(u, m, 5, 140)?);
        let (order, stride) = (order(u, m)?, size(u, 0, 150)?);
        let c = m.buffer(u, Use::Write, Extent::matrix(rows, cols, stride, 4))?;
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_gemm(a, b, order, c, stride) })
    }),
    ("gemm_quantized", |u, m| {
        let ((a, rows), (b, cols)) = (operand(u, m, 3, 6)?, operand(u, m, 5, 140)?);
        let (order, (recipe, of_recipe), random) = (order(u, m)?, recipe(u, m)?, philox(u, m)?);
        let workspace_len = size(u, rows.saturating_mul(cols).min(MOST_F32), 1000)?;
        let workspace = m.buffer(u, Use::Scratch, Extent::flat(workspace_len, 4))?;
        let stride = size(u, 0, 150)?;
        let codes = m.buffer(u, Use::Write, Extent::matrix(rows, cols, stride, 1))?;
        let made = scales(
            u,
            m,
            Use::Write,
            &of_recipe,
            scale_count(&of_recipe, rows, cols),
            1,
        )?;
        let stats = stats(u, m)?;
        // SAFETY: see above.
        fallible(move || unsafe {
            ofp8_gemm_quantized(
                a,
                b,
                order,
                recipe,
                random,
                workspace,
                workspace_len,
                codes,
                stride,
                made.scales,
                made.count,
                made.tensor,
                stats,
            )
        })
    }),
    ("mma", |u, m| {
        let model = number(u, 1, 8)?;
        let (a_format, a, b_format, b) = (
            format(u)?,
            read(u, m, 32, 1)?,
            format(u)?,
            read(u, m, 32, 1)?,
        );
        let one = 0x7F;
        let (a_scale, b_scale): (u8, u8) = (u.arbitrary::<u8>()? ^ one, u.arbitrary::<u8>()? ^ one);
        let (c, d) = (u.arbitrary()?, out(u, m)?);
        // SAFETY: see above.
        fallible(move || unsafe {
            ofp8_mma(model, a_format, a, b_format, b, a_scale, b_scale, c, d)
        })
    }),
    ("accumulate_exact", |u, m| {
        let (sum, a, b) = (out(u, m)?, operand(u, m, 1, 2)?.0, operand(u, m, 1, 2)?.0);
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_accumulate_exact(sum, a, b) })
    }),
    ("merge_exact", |u, m| {
        let (into, other) = (out(u, m)?, read(u, m, 1, size_of::<ofp8_exact_sum>())?);
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_merge_exact(into, other) })
    }),
    ("exact_to_f32", |u, m| {
        let (sum, result) = (read(u, m, 1, size_of::<ofp8_exact_sum>())?, out(u, m)?);
        // SAFETY: see above.
        fallible(move || unsafe { ofp8_exact_to_f32(sum, result) })
    }),
    ("accumulate_gradient", |u, m| {
        let (own, wide_type, stride, scale) = (
            gradient(u, m)?,
            wide_type(u)?,
            size(u, 0, 176)?,
            u.arbitrary()?,
        );
        let source = m.buffer(
            u,
            Use::Read,
            Extent::matrix(own.rows, own.cols, stride, wide_size(wide_type)),
        )?;
        // SAFETY: see above.
        of_gradient(own, move |own| unsafe {
            ofp8_accumulate_gradient(own, wide_type, source, stride, scale)
        })
    }),
    ("accumulate_gradient_codes", |u, m| {
        let (own, (recipe, of_recipe), stride) = (gradient(u, m)?, recipe(u, m)?, size(u, 0, 176)?);
        let codes = m.buffer(u, Use::Read, Extent::matrix(own.rows, own.cols, stride, 1))?;
        let given = scales(
            u,
            m,
            Use::Read,
            &of_recipe,
            scale_count(&of_recipe, own.rows, own.cols),
            1,
        )?;
        // SAFETY: see above.
        of_gradient(own, move |own| unsafe {
            ofp8_accumulate_gradient_codes(
                own,
                recipe,
                codes,
                stride,
                given.scales,
                given.count,
                given.tensor,
            )
        })
    }),
    ("merge_gradient", |u, m| {
        let (into, other) = (gradient(u, m)?, gradient(u, m)?);
        of_gradient(into, move |into| {
            let mut other = other;
            // SAFETY: see above.
            unsafe { ofp8_merge_gradient(into, &mut other) }
        })
    }),
    ("average_gradient", |u, m| {
        let own = gradient(u, m)?;
        // SAFETY: see above.
        of_gradient(own, |own| unsafe { ofp8_average_gradient(own) })
    }),
    ("quantize_gradient", |u, m| {
        let (own, (recipe, of_recipe), random) = (gradient(u, m)?, recipe(u, m)?, philox(u, m)?);
        let stride = size(u, 0, 176)?;
        let codes = m.buffer(u, Use::Write, Extent::matrix(own.rows, own.cols, stride, 1))?;
        let made = scales(
            u,
            m,
            Use::Write,
            &of_recipe,
            scale_count(&of_recipe, own.rows, own.cols),
            1,
        )?;
        let stats = stats(u, m)?;
        // SAFETY: see above.
        of_gradient(own, move |own| unsafe {
            ofp8_quantize_gradient(
                own,
                recipe,
                random,
                codes,
                stride,
                made.scales,
                made.count,
                made.tensor,
                stats,
            )
        })
    }),
];

/// Bytes that so many codes take; any where the packing is unknown.
fn packed_bytes(packing: u32, count: usize) -> usize {
    let bits = if packing == 3 { 6 } else { 4 };
    (count as u128 * bits).div_ceil(8) as usize
}

/// A layout whose members may be any numbers: nothing lies in memory.
fn any_layout(u: &mut Unstructured<'_>, m: &mut Memory) -> Result<*const ofp8_layout> {
    let (given, mut it) = layout(u, m)?;
    if u.arbitrary::<u8>()? < 128 {
        return Ok(given);
    }
    it.rows = any_size(u, it.rows)?;
    it.cols = any_size(u, it.cols)?;
    it.batches = any_size(u, it.batches)?;
    it.batch_stride = any_size(u, it.batch_stride)?;
    Ok(m.sized(u, it)?.0)
}

/// The arguments of `ofp8_quantize`.
fn quantize_call(u: &mut Unstructured<'_>, m: &mut Memory) -> Result<ofp8_quantize_call> {
    let ((recipe, of_recipe), (shape, of_shape)) = (recipe(u, m)?, shape(u, m)?);
    let random = philox(u, m)?;
    let source = m.buffer(u, Use::Read, wide(&of_shape))?;
    let codes = m.buffer(u, Use::Write, codes(&of_shape))?;
    let good = scale_count(&of_recipe, of_shape.rows, of_shape.cols);
    let made = scales(u, m, Use::Write, &of_recipe, good, of_shape.batch_count)?;
    let blocks = blocks(&of_recipe, of_shape.rows, of_shape.cols);
    let blocks = blocks.saturating_mul(of_shape.batch_count.max(1));
    let amax = match u.arbitrary::<u8>()? {
        0..128 => null_mut(),
        _ => m.buffer(u, Use::Read, Extent::flat(blocks, 4))?,
    };
    Ok(ofp8_quantize_call {
        struct_size: size_of::<ofp8_quantize_call>(),
        recipe,
        shape,
        random,
        source,
        amax,
        codes,
        scales: made.scales,
        scale_count: made.count,
        tensor_scale: made.tensor,
        stats: stats(u, m)?,
    })
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scales of coarse blocks as those of finer ones.

use core::ffi::c_void;
use core::ptr::null_mut;

use super::argument::{Extent, disjoint};
use super::quantize::{ScaleBuffer, ScaleBufferMut, has_tensor_scale, scale_size};
use super::recipe::{ofp8_recipe, recipe_of};
use super::status::{ofp8_status, status};

/// Writes the scales by which the recipe `to` dequantizes codes that were quantized by `from`, to the
/// same values, where the blocks of `to` are parts of those of `from`: each is the scale of the block
/// that it lies in. From 128 x 128 blocks to 1 x 128, from 1 x 128 to 1 x 32; from f32 to E8M0 where
/// every scale is a power of two that E8M0 has (NaN becomes 0xFF), and back. Both lie in the
/// `scale_order` of their recipes; their numbers are what `ofp8_scale_count` says.
///
/// Statuses: those of a recipe; `OFP8_RECIPE`, too, for two element formats, for blocks that are not
/// parts of the others, and under two levels; `OFP8_SCALE` for a scale that `to` cannot store;
/// `OFP8_LENGTH`, `OFP8_SHAPE`, `OFP8_NULL_POINTER`, `OFP8_MISALIGNED`, `OFP8_OVERLAP`.
///
/// # Safety
/// `from` and `to` as `recipe` in `ofp8_scale_grid`; `source` points to `source_count` scales of the
/// kind of `from`, `target` to memory for `target_count` of the kind of `to`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_expand_scales(
    from: *const ofp8_recipe,
    to: *const ofp8_recipe,
    rows: usize,
    cols: usize,
    source: *const c_void,
    source_count: usize,
    target: *mut c_void,
    target_count: usize,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let (from, to) = unsafe { (recipe_of(from)?, recipe_of(to)?) };
        if has_tensor_scale(&from) || has_tensor_scale(&to) {
            return Err(ofp8_status::OFP8_RECIPE);
        }
        disjoint(&[
            Extent::new(source, source_count, scale_size(&from))?,
            Extent::new(target, target_count, scale_size(&to))?,
        ])?;
        // SAFETY: this function's contract; the buffers are disjoint; there are no tensor scales.
        let (source, mut target) = unsafe {
            let nothing = null_mut();
            (
                ScaleBuffer::new(&from, source, source_count, nothing, 0)?,
                ScaleBufferMut::new(&to, target, target_count, nothing, 0)?,
            )
        };
        let scales = source.part(0, source_count);
        from.expand_scales(&to, rows, cols, scales, target.part(0, target_count)?)?;
        Ok(())
    };
    status(result())
}

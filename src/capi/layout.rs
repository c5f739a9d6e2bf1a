// SPDX-License-Identifier: MIT OR Apache-2.0
//! Layouts of scales.

use super::argument::{self, Descriptor, Extent, disjoint, out, slice, slice_mut};
use super::status::{ofp8_status, status};
use crate::error::Error;
use crate::layout::{Layout, ScaleOrder};
use crate::scalar;
use crate::spec::Format;

/// Row by row, without padding.
pub const OFP8_LAYOUT_ROW_MAJOR: u32 = 0;
/// Row by row, each row padded to a multiple of 4 (cuBLASLt's `BLK128x128_32F`).
pub const OFP8_LAYOUT_ROW_MAJOR_PADDED: u32 = 1;
/// Column by column, each column padded to a multiple of 4 (cuBLASLt's `VEC128_32F`; DeepGEMM's
/// f32 scales).
pub const OFP8_LAYOUT_MN_MAJOR_PADDED: u32 = 2;
/// Tiles of 128 x 4 (cuBLASLt's `VEC32_UE8M0` and `VEC16_UE4M3`; tcgen05).
pub const OFP8_LAYOUT_TILE_128X4: u32 = 3;
/// DeepGEMM's little-endian words of four scales along K, MN-major, columns padded to a multiple
/// of 4 words.
pub const OFP8_LAYOUT_PACKED_WORDS: u32 = 4;
/// AMD's pre-swizzle for gfx950: tiles of 32 x 8.
pub const OFP8_LAYOUT_GFX950: u32 = 5;

/// Where the scales of a grid lie. Set `struct_size`, `rows` and `cols`; everything else may stay
/// zero: one grid, row-major.
///
/// The grid is that of `ofp8_scale_grid`: one scale a block. Offsets and sizes count scales: bytes
/// or f32. Padding is written zero, always.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ofp8_layout {
    /// `sizeof(ofp8_layout)`.
    pub struct_size: usize,
    /// Rows of the grid.
    pub rows: usize,
    /// Columns of the grid.
    pub cols: usize,
    /// The number of grids, one after another; 0 means 1.
    pub batches: usize,
    /// Scales between the beginnings of two grids; 0 means the size of a padded grid. What lies
    /// between two grids is left alone.
    pub batch_stride: usize,
    /// `OFP8_LAYOUT_ROW_MAJOR` (0) and the others.
    pub order: u32,
    /// 1 for column-wise scales (blocks of 32x1, 128x1): hardware's outer index then runs along
    /// the columns. 0 for all others.
    pub columnwise: u32,
}

// SAFETY: repr(C), begins with its size as usize, integers only, without padding on 64-bit and
// 32-bit targets.
unsafe impl Descriptor for ofp8_layout {}

/// The order with that number.
pub(super) fn scale_order_of(number: u32) -> Result<ScaleOrder, ofp8_status> {
    match number {
        OFP8_LAYOUT_ROW_MAJOR => Ok(ScaleOrder::RowMajor),
        OFP8_LAYOUT_ROW_MAJOR_PADDED => Ok(ScaleOrder::RowMajorPadded),
        OFP8_LAYOUT_MN_MAJOR_PADDED => Ok(ScaleOrder::MnMajorPadded),
        OFP8_LAYOUT_TILE_128X4 => Ok(ScaleOrder::Tile128x4),
        OFP8_LAYOUT_PACKED_WORDS => Ok(ScaleOrder::PackedWords),
        OFP8_LAYOUT_GFX950 => Ok(ScaleOrder::Gfx950),
        _ => Err(ofp8_status::OFP8_UNKNOWN_POLICY),
    }
}

/// The layout behind a pointer.
///
/// # Safety
/// As [`argument::sized`].
unsafe fn layout_of(pointer: *const ofp8_layout) -> Result<Layout, ofp8_status> {
    // SAFETY: this function's contract.
    let given = unsafe { argument::sized(pointer)? };
    let order = scale_order_of(given.order)?;
    let layout = match given.columnwise {
        0 => Layout::new(order, given.rows, given.cols)?,
        1 => Layout::columnwise(order, given.rows, given.cols)?,
        _ => return Err(ofp8_status::OFP8_UNKNOWN_POLICY),
    };
    Ok(layout.with_batches(given.batches.max(1), given.batch_stride)?)
}

/// Writes the number of scales in a buffer of this layout, padding included: of all grids, and
/// of one. Either pointer may be null if the result is not wanted.
///
/// Statuses: those of a layout (`OFP8_NULL_POINTER`, `OFP8_MISALIGNED`, `OFP8_STRUCT_SIZE`,
/// `OFP8_UNKNOWN_POLICY`, `OFP8_SHAPE`: the size overflows or grids overlap); `OFP8_OVERLAP`.
///
/// # Safety
/// `layout` is null or points to as many bytes as its `struct_size` says; `size` and `grid_size`
/// are null or point to memory for the results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_layout_size(
    layout: *const ofp8_layout,
    size: *mut usize,
    grid_size: *mut usize,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let layout = unsafe { layout_of(layout)? };
        disjoint(&[
            Extent::new(size, 1, size_of::<usize>())?,
            Extent::new(grid_size, 1, size_of::<usize>())?,
        ])?;
        if !size.is_aligned() || !grid_size.is_aligned() {
            return Err(ofp8_status::OFP8_MISALIGNED);
        }
        // SAFETY: this function's contract, and the two are apart.
        let (size, grid_size) = unsafe { (out(size), out(grid_size)) };
        if let Ok(place) = size {
            place.write(layout.size());
        }
        if let Ok(place) = grid_size {
            place.write(layout.grid_size());
        }
        Ok(())
    };
    status(result())
}

/// Writes the offset of the scale in row `row` and column `col` of the grid, counted in scales
/// from the beginning of its grid.
///
/// Statuses: those of a layout; `OFP8_SHAPE` for a place outside the grid.
///
/// # Safety
/// `layout` as in `ofp8_layout_size`; `offset` is null or points to memory for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_layout_index(
    layout: *const ofp8_layout,
    row: usize,
    col: usize,
    offset: *mut usize,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let (layout, offset) = unsafe { (layout_of(layout)?, out(offset)?) };
        let index = layout.index(row, col).ok_or(ofp8_status::OFP8_SHAPE)?;
        offset.write(index);
        Ok(())
    };
    status(result())
}

/// Writes which scale lies at an offset from the beginning of a grid: its row and column, and 1;
/// or, for padding, three times 0.
///
/// Statuses: those of a layout; `OFP8_SHAPE` for an offset beyond the grid; `OFP8_OVERLAP`.
///
/// # Safety
/// `layout` as in `ofp8_layout_size`; `row`, `col` and `is_scale` are null or point to memory
/// for the results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_layout_inverse(
    layout: *const ofp8_layout,
    offset: usize,
    row: *mut usize,
    col: *mut usize,
    is_scale: *mut u32,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let layout = unsafe { layout_of(layout)? };
        disjoint(&[
            Extent::new(row, 1, size_of::<usize>())?,
            Extent::new(col, 1, size_of::<usize>())?,
            Extent::new(is_scale, 1, size_of::<u32>())?,
        ])?;
        // SAFETY: this function's contract, and the three are apart.
        let (row, col, is_scale) = unsafe { (out(row)?, out(col)?, out(is_scale)?) };
        if offset >= layout.grid_size() {
            return Err(ofp8_status::OFP8_SHAPE);
        }
        let found = layout.inverse(offset);
        let (at_row, at_col) = found.unwrap_or((0, 0));
        row.write(at_row);
        col.write(at_col);
        is_scale.write(found.is_some() as u32);
        Ok(())
    };
    status(result())
}

/// Converts scales from one layout to another through a function.
///
/// # Safety
/// The layouts as in [`layout_of`]; where its count is not 0, `source` is null or points to that
/// many initialised scales, and `target` is null or points to memory for that many.
unsafe fn convert<S: Copy, T: Copy + Default>(
    from: *const ofp8_layout,
    source: (*const S, usize),
    to: *const ofp8_layout,
    target: (*mut T, usize),
    map: impl Fn(S) -> Result<T, Error>,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let (from, to) = unsafe { (layout_of(from)?, layout_of(to)?) };
        disjoint(&[
            Extent::new(source.0, source.1, size_of::<S>())?,
            Extent::new(target.0, target.1, size_of::<T>())?,
        ])?;
        // SAFETY: this function's contract; the buffers are disjoint.
        let source = unsafe { slice(source.0, source.1)? };
        // SAFETY: as above.
        let target = unsafe { slice_mut(target.0, target.1)? };
        from.convert_with(source, &to, target, map)?;
        Ok(())
    };
    status(result())
}

/// Converts scales of one byte (E8M0, UE4M3, ...) between any two layouts of the same rows,
/// columns and batches. All padding of the target is written zero.
///
/// Statuses: those of a layout; `OFP8_OVERLAP`; `OFP8_SHAPE` where the two grids differ;
/// `OFP8_LENGTH` where a count is not what `ofp8_layout_size` says.
///
/// # Safety
/// `from` and `to` as `layout` in `ofp8_layout_size`; `source` points to `source_count` scales,
/// `target` to memory for `target_count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_convert_scales_u8(
    from: *const ofp8_layout,
    source: *const u8,
    source_count: usize,
    to: *const ofp8_layout,
    target: *mut u8,
    target_count: usize,
) -> ofp8_status {
    // SAFETY: this function's contract.
    unsafe { convert(from, (source, source_count), to, (target, target_count), Ok) }
}

/// Converts f32 scales; otherwise as `ofp8_convert_scales_u8`.
///
/// # Safety
/// As `ofp8_convert_scales_u8`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_convert_scales_f32(
    from: *const ofp8_layout,
    source: *const f32,
    source_count: usize,
    to: *const ofp8_layout,
    target: *mut f32,
    target_count: usize,
) -> ofp8_status {
    // SAFETY: this function's contract.
    unsafe { convert(from, (source, source_count), to, (target, target_count), Ok) }
}

/// Converts f32 scales that are powers of two to E8M0 bytes: what DeepGEMM packs for SM100. NaN
/// (the scale of a poisoned block) becomes 0xFF; any other scale that E8M0 does not have is
/// refused, nothing is truncated. Otherwise as `ofp8_convert_scales_u8`.
///
/// Statuses: as `ofp8_convert_scales_u8`, and `OFP8_SCALE`.
///
/// # Safety
/// As `ofp8_convert_scales_u8`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_convert_scales_f32_to_e8m0(
    from: *const ofp8_layout,
    source: *const f32,
    source_count: usize,
    to: *const ofp8_layout,
    target: *mut u8,
    target_count: usize,
) -> ofp8_status {
    let map = |scale| scalar::encode_exact(Format::E8M0, scale).ok_or(Error::Scale);
    // SAFETY: this function's contract.
    unsafe {
        convert(
            from,
            (source, source_count),
            to,
            (target, target_count),
            map,
        )
    }
}

/// Converts E8M0 bytes to the f32 that they stand for; otherwise as `ofp8_convert_scales_u8`.
///
/// # Safety
/// As `ofp8_convert_scales_u8`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_convert_scales_e8m0_to_f32(
    from: *const ofp8_layout,
    source: *const u8,
    source_count: usize,
    to: *const ofp8_layout,
    target: *mut f32,
    target_count: usize,
) -> ofp8_status {
    let map = |code| Ok(scalar::decode_f32(Format::E8M0, code));
    // SAFETY: this function's contract.
    unsafe {
        convert(
            from,
            (source, source_count),
            to,
            (target, target_count),
            map,
        )
    }
}

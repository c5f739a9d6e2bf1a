// SPDX-License-Identifier: MIT OR Apache-2.0
//! From raw arguments to checked ones. Every `unsafe` read of a caller's memory is here.

use core::mem::{MaybeUninit, align_of, size_of};

use super::status::ofp8_status;
use crate::matrix::{self, Matrix, MatrixMut};
use crate::spec::{FloatType, Format};

/// The format with a number.
pub(super) fn format_of(number: u32) -> Result<Format, ofp8_status> {
    Format::from_number(number).ok_or(ofp8_status::OFP8_UNKNOWN_FORMAT)
}

/// The wide type with a number.
pub(super) fn float_type(number: u32) -> Result<FloatType, ofp8_status> {
    FloatType::from_number(number).ok_or(ofp8_status::OFP8_UNKNOWN_TYPE)
}

/// A place to write one result.
///
/// # Safety
/// `pointer` is null or points to memory for a `T` that nothing else uses during the call.
pub(super) unsafe fn out<'a, T>(pointer: *mut T) -> Result<&'a mut MaybeUninit<T>, ofp8_status> {
    if pointer.is_null() {
        return Err(ofp8_status::OFP8_NULL_POINTER);
    }
    if !pointer.is_aligned() {
        return Err(ofp8_status::OFP8_MISALIGNED);
    }
    // SAFETY: not null, aligned; valid and unshared by this function's contract. MaybeUninit
    // asks nothing of the contents.
    Ok(unsafe { &mut *pointer.cast::<MaybeUninit<T>>() })
}

/// The length in bytes of `len` elements, if an object can be that large.
fn bytes<T>(len: usize) -> Result<usize, ofp8_status> {
    len.checked_mul(size_of::<T>())
        .filter(|&bytes| bytes <= isize::MAX as usize)
        .ok_or(ofp8_status::OFP8_SHAPE)
}

/// Checks what a slice needs of its pointer.
fn check<T>(pointer: *const T, len: usize) -> Result<(), ofp8_status> {
    bytes::<T>(len)?;
    if pointer.is_null() {
        return Err(ofp8_status::OFP8_NULL_POINTER);
    }
    if !pointer.is_aligned() {
        return Err(ofp8_status::OFP8_MISALIGNED);
    }
    Ok(())
}

/// `len` elements to read. Nothing is asked of the pointer where `len` is 0.
///
/// # Safety
/// Where `len` is not 0, `pointer` is null or points to `len` initialised elements that nothing
/// writes during the call.
pub(super) unsafe fn slice<'a, T>(pointer: *const T, len: usize) -> Result<&'a [T], ofp8_status> {
    if len == 0 {
        return Ok(&[]);
    }
    check(pointer, len)?;
    // SAFETY: not null, aligned, no larger than an object may be (checked above); initialised
    // and not written by this function's contract.
    Ok(unsafe { core::slice::from_raw_parts(pointer, len) })
}

/// `len` elements to write; otherwise as [`slice`].
///
/// The memory may be uninitialised on the C side: the element types are integers and floats,
/// which have no invalid bit patterns, and the library writes before it reads.
///
/// # Safety
/// Where `len` is not 0, `pointer` is null or points to memory for `len` elements that nothing
/// else uses during the call.
pub(super) unsafe fn slice_mut<'a, T>(
    pointer: *mut T,
    len: usize,
) -> Result<&'a mut [T], ofp8_status> {
    if len == 0 {
        return Ok(&mut []);
    }
    check(pointer, len)?;
    // SAFETY: as in `slice`, and nothing else uses the memory by this function's contract.
    Ok(unsafe { core::slice::from_raw_parts_mut(pointer, len) })
}

/// A buffer as a range of addresses, to look for overlap before slices are made.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    begin: usize,
    bytes: usize,
}

impl Extent {
    /// Of nothing.
    pub(super) const EMPTY: Extent = Extent { begin: 0, bytes: 0 };

    /// The extent of `len` elements of `size` bytes.
    pub(super) fn new<T>(
        pointer: *const T,
        len: usize,
        size: usize,
    ) -> Result<Extent, ofp8_status> {
        let bytes = len
            .checked_mul(size)
            .filter(|&bytes| bytes <= isize::MAX as usize)
            .ok_or(ofp8_status::OFP8_SHAPE)?;
        Ok(Extent {
            begin: pointer as usize,
            // A null pointer has a status of its own.
            bytes: if pointer.is_null() { 0 } else { bytes },
        })
    }

    fn overlaps(self, other: Extent) -> bool {
        let (first, second) = if self.begin <= other.begin {
            (self, other)
        } else {
            (other, self)
        };
        first.bytes > 0 && second.bytes > 0 && second.begin - first.begin < first.bytes
    }
}

/// Refuses buffers that overlap one another. (Two that are only read may overlap: leave one of
/// them out.)
pub(super) fn disjoint(extents: &[Extent]) -> Result<(), ofp8_status> {
    let mut rest = extents;
    while let Some((one, others)) = rest.split_first() {
        if others.iter().any(|other| one.overlaps(*other)) {
            return Err(ofp8_status::OFP8_OVERLAP);
        }
        rest = others;
    }
    Ok(())
}

/// A structure that begins with its size (`size_t struct_size`), holds only integers, floats and
/// pointers, and whose all-zero value means "all defaults".
///
/// # Safety
/// The implementing type is `repr(C)`, begins with the `usize` of its size, has no padding that
/// matters, and is valid for every bit pattern.
pub(super) unsafe trait Descriptor: Copy {}

/// The largest `struct_size` that is looked at: newer headers append a few fields, not pages.
const MAX_STRUCT_SIZE: usize = 4096;

/// Reads a structure of the caller's version of the header.
///
/// # Safety
/// `pointer` is null or points to as many initialised bytes as its first member, a `size_t`,
/// says.
pub(super) unsafe fn sized<T: Descriptor>(pointer: *const T) -> Result<T, ofp8_status> {
    if pointer.is_null() {
        return Err(ofp8_status::OFP8_NULL_POINTER);
    }
    if !(pointer as usize).is_multiple_of(align_of::<T>()) {
        return Err(ofp8_status::OFP8_MISALIGNED);
    }
    // SAFETY: not null, aligned; the first member is there by this function's contract.
    let size = unsafe { pointer.cast::<usize>().read() };
    // Every version's size is a multiple of the alignment: one that is none cuts a member in half.
    let is_size = size.is_multiple_of(align_of::<T>());
    if !is_size || !(size_of::<usize>()..=MAX_STRUCT_SIZE).contains(&size) {
        return Err(ofp8_status::OFP8_STRUCT_SIZE);
    }
    // SAFETY: `size` initialised bytes are there by this function's contract.
    let given = unsafe { core::slice::from_raw_parts(pointer.cast::<u8>(), size) };
    let (known, excess) = given
        .split_at_checked(size_of::<T>())
        .unwrap_or((given, &[]));
    if excess.iter().any(|&byte| byte != 0) {
        return Err(ofp8_status::OFP8_STRUCT_SIZE);
    }
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: `known` is at most the size of T; the two do not overlap, the second being local.
    unsafe {
        core::ptr::copy_nonoverlapping(known.as_ptr(), value.as_mut_ptr().cast(), known.len());
    }
    // SAFETY: every byte is initialised, and every bit pattern is a value (`Descriptor`).
    Ok(unsafe { value.assume_init() })
}

/// The number of elements that a matrix spans, first to last.
pub(super) fn span(rows: usize, cols: usize, stride: usize) -> Result<usize, ofp8_status> {
    Ok(matrix::span(rows, cols, stride)?)
}

/// A matrix to read.
///
/// # Safety
/// As [`slice`], for the elements that the matrix spans.
pub(super) unsafe fn matrix<'a, T>(
    pointer: *const T,
    rows: usize,
    cols: usize,
    stride: usize,
) -> Result<Matrix<'a, T>, ofp8_status> {
    let len = span(rows, cols, stride)?;
    // SAFETY: this function's contract.
    let data = unsafe { slice(pointer, len)? };
    Ok(Matrix::with_stride(data, rows, cols, stride)?)
}

/// A matrix to write.
///
/// # Safety
/// As [`slice_mut`], for the elements that the matrix spans.
pub(super) unsafe fn matrix_mut<'a, T>(
    pointer: *mut T,
    rows: usize,
    cols: usize,
    stride: usize,
) -> Result<MatrixMut<'a, T>, ofp8_status> {
    let len = span(rows, cols, stride)?;
    // SAFETY: this function's contract.
    let data = unsafe { slice_mut(pointer, len)? };
    Ok(MatrixMut::with_stride(data, rows, cols, stride)?)
}

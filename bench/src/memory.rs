// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrays on huge pages, so that address translation is no part of what is measured.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A huge page of x86-64 and AArch64.
const HUGE_PAGE: usize = 2 << 20;

/// `len` elements of a plain number type, aligned to a huge page and, where Linux allows it, on
/// huge pages.
pub struct Pages<T: Plain> {
    start: NonNull<T>,
    len: usize,
}

/// Number types for which zero bytes are a value and that need no drop.
///
/// # Safety
/// All bit patterns are values.
pub unsafe trait Plain: Copy {}
// SAFETY: every bit pattern is a number.
unsafe impl Plain for f32 {}
// SAFETY: the same.
unsafe impl Plain for u8 {}
// SAFETY: the same.
unsafe impl Plain for u32 {}
// SAFETY: the same; a transparent wrapper of u16.
unsafe impl Plain for ofp8::Bf16 {}

impl<T: Plain> Pages<T> {
    /// Zeros.
    pub fn new(len: usize) -> Pages<T> {
        let layout = Self::layout(len);
        // SAFETY: the layout has a size above zero; zero bytes are a `T`.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).expect("out of memory");
        #[cfg(target_os = "linux")]
        // SAFETY: the range was just allocated; the advice changes no content.
        unsafe {
            libc::madvise(start.as_ptr().cast(), layout.size(), libc::MADV_HUGEPAGE);
        }
        Pages {
            start: start.cast(),
            len,
        }
    }

    /// The elements that `make` gives for their numbers.
    pub fn from_fn(len: usize, make: impl FnMut(usize) -> T) -> Pages<T> {
        let mut pages = Pages::new(len);
        for (place, value) in pages.iter_mut().zip((0..len).map(make)) {
            *place = value;
        }
        pages
    }

    fn layout(len: usize) -> Layout {
        let bytes = (len * size_of::<T>())
            .next_multiple_of(HUGE_PAGE)
            .max(HUGE_PAGE);
        Layout::from_size_align(bytes, HUGE_PAGE).expect("too large")
    }
}

impl<T: Plain> Drop for Pages<T> {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start.as_ptr().cast(), Self::layout(self.len)) };
    }
}

impl<T: Plain> Deref for Pages<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `len` initialised elements that this value owns.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Plain> DerefMut for Pages<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the same, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

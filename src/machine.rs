// SPDX-License-Identifier: MIT OR Apache-2.0
//! What kind of machine this is compiled for. No result depends on it.

/// Whether it is a microcontroller: then buffers are short, and there is no second loop for what
/// another one can do as well.
pub(crate) const IS_SMALL: bool = cfg!(all(target_os = "none", not(target_pointer_width = "64")));

/// The length of a buffer on the stack: `many` elements, or few on a microcontroller, whose whole
/// stack is a few KiB.
pub(crate) const fn buffered(many: usize) -> usize {
    const FEW: usize = 16;
    if IS_SMALL { FEW } else { many }
}

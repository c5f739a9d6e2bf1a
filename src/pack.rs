// SPDX-License-Identifier: MIT OR Apache-2.0
//! Codes narrower than a byte, packed: FP4 two to a byte, FP6 four to three bytes.
//!
//! A packed row is a string of bits. Where the last byte is not full, its unused bits are zero
//! when packing and ignored when unpacking, so every count of codes is allowed:
//!
//! | codes | FP4 bytes | FP6 bytes |
//! |---|---|---|
//! | 1 | 1 | 1 |
//! | 2 | 1 | 2 |
//! | 3 | 2 | 3 |
//! | 4 | 2 | 3 |
//! | n | ceil(n / 2) | ceil(6 n / 8) |
//!
//! ```
//! use ofp8::Packing;
//!
//! let mut packed = [0; 2];
//! Packing::Fp4LowFirst.pack(&[0x1, 0x2, 0x3], &mut packed).unwrap();
//! assert_eq!(packed, [0x21, 0x03]);
//! ```

use crate::error::Error;
use crate::kernel;

/// How codes lie in bytes. The numbers are those of the C ABI: explicit, append-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum Packing {
    /// Two 4-bit codes to a byte, the first in the low half (CUDA's `fp4x2`, PyTorch's
    /// `float4_e2m1fn_x2`, ONNX).
    Fp4LowFirst = 1,
    /// Two 4-bit codes to a byte, the first in the high half.
    Fp4HighFirst = 2,
    /// Four 6-bit codes to three bytes, as a little-endian 24-bit integer with the first code in
    /// its low bits.
    Fp6 = 3,
}

/// 6-bit codes in one group, and the bytes they take.
pub(crate) const FP6_CODES: usize = 4;
pub(crate) const FP6_BYTES: usize = 3;

impl Packing {
    /// Every packing.
    pub const ALL: &'static [Packing] =
        &[Packing::Fp4LowFirst, Packing::Fp4HighFirst, Packing::Fp6];

    /// The number of the packing in the C ABI.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The packing with this number, if there is one.
    pub const fn from_number(number: u32) -> Option<Packing> {
        Some(match number {
            1 => Packing::Fp4LowFirst,
            2 => Packing::Fp4HighFirst,
            3 => Packing::Fp6,
            _ => return None,
        })
    }

    /// Width of a code in bits.
    pub const fn bits(self) -> u32 {
        match self {
            Packing::Fp4LowFirst | Packing::Fp4HighFirst => 4,
            Packing::Fp6 => 6,
        }
    }

    /// Bytes that `count` codes take.
    pub const fn packed_len(self, count: usize) -> usize {
        match self {
            Packing::Fp4LowFirst | Packing::Fp4HighFirst => count.div_ceil(2),
            Packing::Fp6 => {
                let rest = (count % FP6_CODES * FP6_BYTES).div_ceil(FP6_CODES);
                count / FP6_CODES * FP6_BYTES + rest
            }
        }
    }

    /// Packs codes, one a byte, of which the high bits are ignored.
    ///
    /// # Errors
    /// [`Error::Length`] if `packed` is not [`Packing::packed_len`] of the number of codes long;
    /// nothing is written then.
    pub fn pack(self, codes: &[u8], packed: &mut [u8]) -> Result<(), Error> {
        if packed.len() != self.packed_len(codes.len()) {
            return Err(Error::Length);
        }
        kernel::pack(self, codes, packed);
        Ok(())
    }

    /// Unpacks as many codes as `codes` is long, one a byte, their high bits zero.
    ///
    /// # Errors
    /// [`Error::Length`] if `packed` is not [`Packing::packed_len`] of the number of codes long;
    /// nothing is written then.
    pub fn unpack(self, packed: &[u8], codes: &mut [u8]) -> Result<(), Error> {
        if packed.len() != self.packed_len(codes.len()) {
            return Err(Error::Length);
        }
        kernel::unpack(self, packed, codes);
        Ok(())
    }
}

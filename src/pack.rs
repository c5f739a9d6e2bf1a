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
const FP6_CODES: usize = 4;
const FP6_BYTES: usize = 3;

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
        match self {
            Packing::Fp4LowFirst => pack_fp4(codes, packed, 0),
            Packing::Fp4HighFirst => pack_fp4(codes, packed, 4),
            Packing::Fp6 => pack_fp6(codes, packed),
        }
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
        match self {
            Packing::Fp4LowFirst => unpack_fp4(packed, codes, 0),
            Packing::Fp4HighFirst => unpack_fp4(packed, codes, 4),
            Packing::Fp6 => unpack_fp6(packed, codes),
        }
        Ok(())
    }
}

/// `first` is the place of the first code of a byte: 0 the low half, 4 the high half.
fn pack_fp4(codes: &[u8], packed: &mut [u8], first: u32) {
    for (pair, byte) in codes.chunks(2).zip(packed) {
        let [one, other] = [0, 1].map(|i| pair.get(i).copied().unwrap_or(0) & 0xF);
        *byte = one << first | other << (4 - first);
    }
}

fn unpack_fp4(packed: &[u8], codes: &mut [u8], first: u32) {
    for (byte, pair) in packed.iter().zip(codes.chunks_mut(2)) {
        for (code, shift) in pair.iter_mut().zip([first, 4 - first]) {
            *code = byte >> shift & 0xF;
        }
    }
}

fn pack_fp6(codes: &[u8], packed: &mut [u8]) {
    for (group, bytes) in codes.chunks(FP6_CODES).zip(packed.chunks_mut(FP6_BYTES)) {
        let mut word = 0;
        for (i, code) in group.iter().enumerate() {
            word |= (*code as u32 & 0x3F) << (6 * i);
        }
        bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
    }
}

fn unpack_fp6(packed: &[u8], codes: &mut [u8]) {
    for (bytes, group) in packed.chunks(FP6_BYTES).zip(codes.chunks_mut(FP6_CODES)) {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        let word = u32::from_le_bytes(word);
        for (i, code) in group.iter_mut().enumerate() {
            *code = (word >> (6 * i)) as u8 & 0x3F;
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packing of codes narrower than a byte: whole groups in a loop that the compiler vectorises for the
//! level of instructions, then a last group that is not full.

use super::isa::Isa;
use crate::pack::{FP6_BYTES, FP6_CODES, Packing};

/// Packs codes of which the high bits are ignored; `packed` has the length that they take.
pub(super) fn pack<I: Isa>(isa: I, packing: Packing, codes: &[u8], packed: &mut [u8]) {
    isa.vectorize(|| match packing {
        Packing::Fp4LowFirst => pack_groups(codes, packed, |codes| fp4(codes, 0)),
        Packing::Fp4HighFirst => pack_groups(codes, packed, |codes| fp4(codes, 4)),
        Packing::Fp6 => pack_groups(codes, packed, fp6),
    });
}

/// Unpacks as many codes as `codes` is long, their high bits zero.
pub(super) fn unpack<I: Isa>(isa: I, packing: Packing, packed: &[u8], codes: &mut [u8]) {
    isa.vectorize(|| match packing {
        Packing::Fp4LowFirst => unpack_groups(packed, codes, |bytes| fp4_codes(bytes, 0)),
        Packing::Fp4HighFirst => unpack_groups(packed, codes, |bytes| fp4_codes(bytes, 4)),
        Packing::Fp6 => unpack_groups(packed, codes, fp6_codes),
    });
}

/// `first` is the place of the first code of a byte: 0 the low half, 4 the high half.
#[inline(always)]
fn fp4([one, other]: [u8; 2], first: u32) -> [u8; 1] {
    [(one & 0xF) << first | (other & 0xF) << (4 - first)]
}

#[inline(always)]
fn fp4_codes([byte]: [u8; 1], first: u32) -> [u8; 2] {
    [byte >> first & 0xF, byte >> (4 - first) & 0xF]
}

#[inline(always)]
fn fp6(codes: [u8; FP6_CODES]) -> [u8; FP6_BYTES] {
    let [a, b, c, d] = codes.map(|code| code & 0x3F);
    [a | b << 6, b >> 2 | c << 4, c >> 4 | d << 2]
}

#[inline(always)]
fn fp6_codes([a, b, c]: [u8; FP6_BYTES]) -> [u8; FP6_CODES] {
    [a, a >> 6 | b << 2, b >> 4 | c << 4, c >> 2].map(|code| code & 0x3F)
}

#[inline(always)]
fn pack_groups<const CODES: usize, const BYTES: usize>(
    codes: &[u8],
    packed: &mut [u8],
    pack: impl Fn([u8; CODES]) -> [u8; BYTES],
) {
    let (groups, rest) = codes.as_chunks::<CODES>();
    let (places, last) = packed.as_chunks_mut::<BYTES>();
    for (group, place) in groups.iter().zip(&mut *places) {
        *place = pack(*group);
    }
    if rest.is_empty() {
        return;
    }
    let mut padded = [0; CODES];
    for (to, &from) in padded.iter_mut().zip(rest) {
        *to = from;
    }
    // A group that is not full may fill its bytes all the same.
    let place = if last.is_empty() {
        places
            .last_mut()
            .map_or(Default::default(), |place| &mut place[..])
    } else {
        last
    };
    for (to, from) in place.iter_mut().zip(pack(padded)) {
        *to = from;
    }
}

#[inline(always)]
fn unpack_groups<const CODES: usize, const BYTES: usize>(
    packed: &[u8],
    codes: &mut [u8],
    unpack: impl Fn([u8; BYTES]) -> [u8; CODES],
) {
    let (groups, last) = packed.as_chunks::<BYTES>();
    let (places, rest) = codes.as_chunks_mut::<CODES>();
    for (group, place) in groups.iter().zip(places) {
        *place = unpack(*group);
    }
    if rest.is_empty() {
        return;
    }
    let last = if last.is_empty() {
        groups.last().map_or(Default::default(), |group| &group[..])
    } else {
        last
    };
    let mut padded = [0; BYTES];
    for (to, &from) in padded.iter_mut().zip(last) {
        *to = from;
    }
    for (to, from) in rest.iter_mut().zip(unpack(padded)) {
        *to = from;
    }
}

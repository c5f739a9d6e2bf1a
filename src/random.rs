// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random bits for stochastic rounding: Philox4x32-10, addressed by element number.
//!
//! The generator has no state: the bits of an element depend on the seed, the stream and the
//! element's number alone, so that chunks, threads and ranks agree whatever the cut.
//!
//! Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

use core::iter;

use crate::error::Error;
use crate::machine::IS_SMALL;

/// Multipliers of Philox4x32 (the paper's table 2).
pub(crate) const MULTIPLIER: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
/// Weyl increments of the key: the golden ratio and the square root of 3, less 1.
pub(crate) const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
pub(crate) const ROUNDS: usize = 10;

/// Elements that one block of four words serves, 16 bits each.
const ELEMENTS_PER_BLOCK: u64 = 8;
/// Elements whose blocks are computed side by side.
pub(crate) const GROUP: usize = if IS_SMALL { 8 } else { 128 };
/// The number of the last block: after the last of 2^64 elements comes the first.
pub(crate) const LAST_BLOCK: u64 = u64::MAX / ELEMENTS_PER_BLOCK;

/// Philox4x32-10: four random words for a counter under a key.
#[inline]
pub const fn philox4x32_10(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    let mut round = 0;
    while round < ROUNDS {
        let low = counter[0] as u64 * MULTIPLIER[0] as u64;
        let high = counter[2] as u64 * MULTIPLIER[1] as u64;
        counter = [
            (high >> 32) as u32 ^ counter[1] ^ key[0],
            high as u32,
            (low >> 32) as u32 ^ counter[3] ^ key[1],
            low as u32,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
        round += 1;
    }
    counter
}

/// A stream of 16-bit random numbers, one for each element number.
///
/// Element `i` takes half-word `i % 8` of block `i / 8`, the least significant half of a word
/// first. The key is the seed (low word first); the counter is the block number and the stream
/// (low words first). Row-wise and column-wise copies of a tensor use different streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Philox {
    /// The key.
    pub seed: u64,
    /// Which of 2^64 independent streams under that key.
    pub stream: u64,
    /// The number of the first element that a call handles.
    pub first_index: u64,
}

impl Philox {
    /// Random bits an element.
    pub const BITS: u32 = 16;

    /// The stream `stream` under `seed`, from element 0.
    pub const fn new(seed: u64, stream: u64) -> Philox {
        Philox {
            seed,
            stream,
            first_index: 0,
        }
    }

    /// The same stream with elements counted from `first_index` (modulo 2^64).
    pub const fn at(self, first_index: u64) -> Philox {
        Philox {
            first_index,
            ..self
        }
    }

    /// The four words of block number `block`.
    #[inline]
    pub const fn block(&self, block: u64) -> [u32; 4] {
        let counter = [
            block as u32,
            (block >> 32) as u32,
            self.stream as u32,
            (self.stream >> 32) as u32,
        ];
        philox4x32_10(counter, [self.seed as u32, (self.seed >> 32) as u32])
    }

    /// The 16 random bits of each element from number `offset` after the first on.
    ///
    /// The same as [`Philox::bits`] for each, written so that the blocks of a group are computed
    /// side by side.
    #[inline(always)]
    pub(crate) fn fill(&self, offset: u64, bits: &mut [u16]) {
        self.fill_by(offset, bits, |block, bits| self.group(block, bits));
    }

    /// [`Philox::fill`] with another way to compute the bits of a group, of as many whole blocks as
    /// the caller likes.
    #[inline(always)]
    pub(crate) fn fill_by<const GROUP: usize>(
        &self,
        offset: u64,
        bits: &mut [u16],
        group: impl Fn(u64, &mut [u16; GROUP]),
    ) {
        let mut index = self.first_index.wrapping_add(offset);
        // The first block may have begun before.
        let mut skipped = (index % ELEMENTS_PER_BLOCK) as usize;
        let (head, rest) = bits.split_at_mut((GROUP - skipped).min(bits.len()));
        for bits in iter::once(head).chain(rest.chunks_mut(GROUP)) {
            let block = index / ELEMENTS_PER_BLOCK;
            if let Ok(whole) = bits.try_into() {
                group(block, whole);
            } else {
                let mut whole = [0; GROUP];
                group(block, &mut whole);
                for (to, &from) in bits.iter_mut().zip(whole.iter().skip(skipped)) {
                    *to = from;
                }
            }
            skipped = 0;
            index = index.wrapping_add(GROUP as u64);
        }
    }

    /// The bits of the elements of a group.
    ///
    /// A lane of 64 bits holds a word in its low half, so that a product of two words needs no
    /// rearrangement; what is in the high half does not matter.
    #[inline(always)]
    fn group(&self, first: u64, bits: &mut [u16; GROUP]) {
        const LOW: u64 = u32::MAX as u64;
        const BLOCKS: usize = GROUP / ELEMENTS_PER_BLOCK as usize;
        let mut a = [0u64; BLOCKS];
        let mut b = [0u64; BLOCKS];
        let mut c = [self.stream; BLOCKS];
        let mut d = [self.stream >> 32; BLOCKS];
        for i in 0..BLOCKS {
            let block = (first + i as u64) & LAST_BLOCK;
            a[i] = block;
            b[i] = block >> 32;
        }
        let mut key = [self.seed & LOW, self.seed >> 32];
        for _ in 0..ROUNDS {
            for i in 0..BLOCKS {
                let p = (a[i] & LOW) * MULTIPLIER[0] as u64;
                let q = (c[i] & LOW) * MULTIPLIER[1] as u64;
                (a[i], b[i]) = ((q >> 32) ^ b[i] ^ key[0], q);
                (c[i], d[i]) = ((p >> 32) ^ d[i] ^ key[1], p);
            }
            key[0] = (key[0] + WEYL[0] as u64) & LOW;
            key[1] = (key[1] + WEYL[1] as u64) & LOW;
        }
        for (i, bits) in bits
            .chunks_exact_mut(ELEMENTS_PER_BLOCK as usize)
            .enumerate()
        {
            for (word, bits) in [a[i], b[i], c[i], d[i]]
                .iter()
                .zip(bits.chunks_exact_mut(2))
            {
                bits[0] = *word as u16;
                bits[1] = (*word >> 16) as u16;
            }
        }
    }

    /// The 16 random bits of the element `offset` after the first.
    #[inline]
    pub const fn bits(&self, offset: u64) -> u16 {
        let index = self.first_index.wrapping_add(offset);
        let lane = (index % ELEMENTS_PER_BLOCK) as usize;
        let words = self.block(index / ELEMENTS_PER_BLOCK);
        (words[lane / 2] >> (16 * (lane % 2))) as u16
    }
}

/// Where the random bits of a stochastic rounding come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Random<'a> {
    /// From the generator: at most 16 bits an element.
    Philox(Philox),
    /// From the caller: a word an element, of which the low N bits are used.
    Words(&'a [u32]),
}

impl Random<'_> {
    /// Whether this source can serve a rounding that takes `bits` random bits an element, for
    /// `elements` elements: [`Error::RandomBits`] where the generator has too few bits,
    /// [`Error::Length`] where the words are not one an element.
    pub const fn serves(&self, bits: u32, elements: usize) -> Result<(), Error> {
        match self {
            Random::Philox(_) if bits > Philox::BITS => Err(Error::RandomBits),
            Random::Words(words) if words.len() != elements => Err(Error::Length),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filling_equals_one_at_a_time() {
        for first in [0, 5, 1 << 35, u64::MAX - 100] {
            let philox = Philox::new(0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3210).at(first);
            for (offset, len) in [(0, 300), (3, 128), (7, 1), (64, 200)] {
                let mut bits = [0; 300];
                philox.fill(offset, &mut bits[..len]);
                for (i, &bits) in bits[..len].iter().enumerate() {
                    assert_eq!(bits, philox.bits(offset + i as u64), "{first} {offset} {i}");
                }
            }
        }
    }
}

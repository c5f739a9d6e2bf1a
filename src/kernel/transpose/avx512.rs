// SPDX-License-Identifier: MIT OR Apache-2.0
//! Turning by interleaving: bytes, pairs, fours and eights of them, and at last the halves of a column.

use core::arch::x86_64::*;

use super::{GROUP, ROWS, Turned};

/// Rows whose bytes of one column make a quarter of a register.
const HALF: usize = 16;
const _: () = assert!(ROWS == 2 * HALF && GROUP == 4 * HALF);

/// See [`crate::kernel::isa::Isa::turn`].
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
pub(in crate::kernel) fn turn(rows: &[&[u8; GROUP]; ROWS], turned: &mut Turned) {
    let ([upper, lower], []) = rows.as_chunks() else {
        return;
    };
    let (upper, lower) = (turn_half(upper), turn_half(lower));
    let first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    let second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    for (i, (upper, lower)) in upper.into_iter().zip(lower).enumerate() {
        let first = _mm512_permutex2var_epi64(upper, first, lower);
        let second = _mm512_permutex2var_epi64(upper, second, lower);
        // SAFETY: 32 bytes each into four columns of 64, 16 apart, from one of the first 16 on.
        unsafe {
            let to = turned
                .as_mut_ptr()
                .add((i as u8).reverse_bits() as usize >> 4);
            _mm256_storeu_si256(to.cast(), _mm512_castsi512_si256(first));
            _mm256_storeu_si256(to.add(HALF).cast(), _mm512_extracti64x4_epi64::<1>(first));
            _mm256_storeu_si256(to.add(2 * HALF).cast(), _mm512_castsi512_si256(second));
            _mm256_storeu_si256(
                to.add(3 * HALF).cast(),
                _mm512_extracti64x4_epi64::<1>(second),
            );
        }
    }
}

/// Quarter q of register i is column `16 q + j` of these rows, j with the four bits of i backwards:
/// interleaving stays within quarters.
#[inline]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
fn turn_half(rows: &[&[u8; GROUP]; HALF]) -> [__m512i; HALF] {
    // SAFETY: 64 bytes each.
    let mut rows = rows.map(|row| unsafe { _mm512_loadu_si512(row.as_ptr().cast()) });
    // In each step two registers with some rows each, of the same columns, become two with the rows of
    // both, one of half of these columns, and one, in the second half of the array, of the others.
    let mut turned = rows;
    for i in 0..HALF / 2 {
        let (a, b) = (rows[2 * i], rows[2 * i + 1]);
        turned[i] = _mm512_unpacklo_epi8(a, b);
        turned[HALF / 2 + i] = _mm512_unpackhi_epi8(a, b);
    }
    for i in 0..HALF / 2 {
        let (a, b) = (turned[2 * i], turned[2 * i + 1]);
        rows[i] = _mm512_unpacklo_epi16(a, b);
        rows[HALF / 2 + i] = _mm512_unpackhi_epi16(a, b);
    }
    for i in 0..HALF / 2 {
        let (a, b) = (rows[2 * i], rows[2 * i + 1]);
        turned[i] = _mm512_unpacklo_epi32(a, b);
        turned[HALF / 2 + i] = _mm512_unpackhi_epi32(a, b);
    }
    for i in 0..HALF / 2 {
        let (a, b) = (turned[2 * i], turned[2 * i + 1]);
        rows[i] = _mm512_unpacklo_epi64(a, b);
        rows[HALF / 2 + i] = _mm512_unpackhi_epi64(a, b);
    }
    rows
}

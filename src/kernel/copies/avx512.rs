// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two loops over a tile, 64 elements of a row at a time.

use core::arch::asm;
use core::arch::x86_64::*;

use super::{Least, Moved, Target, WIDTH};
use crate::float::Float;
use crate::kernel::avx512::{
    ABS_MAX, BLOCK, Constants, LANES, fetch_block, gather, join, load, store_register,
};
use crate::kernel::columns::COLUMNS;
use crate::kernel::groups::GROUP;
use crate::kernel::params::Params;
use crate::kernel::portable::INFINITY;
use crate::kernel::statistics::avx512::max_of_each;

const _: () = assert!(WIDTH == BLOCK && BLOCK == 2 * GROUP);

/// Rows looked at together. Where rows begin a multiple of 4 KiB apart, these share as many ways of a
/// first-level cache: with all 32 at once the look took twice as long.
const ROWS: usize = LANES / 2;

/// See [`crate::kernel::isa::Isa::both_extremes`].
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
pub(in crate::kernel) fn extremes<S: Float>(
    rows: &[&[S]; GROUP],
    amaxes: [&mut [u32; COLUMNS]; 2],
) -> Least {
    let [across, down] = amaxes;
    let mut least = _mm512_set1_epi32(-1);
    let columns = rows.iter().fold(COLUMNS, |least, row| least.min(row.len()));
    let blocks = columns / BLOCK;
    down.fill(0);
    let down = down.as_chunks_mut::<BLOCK>().0;
    let across = across.as_chunks_mut::<2>().0;
    let across = across.chunks_mut((ROWS * blocks).max(1));
    for (rows, across) in rows.as_chunks::<ROWS>().0.iter().zip(across) {
        for (block, down) in down.iter_mut().take(blocks).enumerate() {
            // SAFETY: each row has so many blocks.
            let pairs = unsafe { rows_extremes(rows, BLOCK * block, down, &mut least) };
            for (row, pair) in pairs.into_iter().enumerate() {
                if let Some(places) = across.get_mut(row * blocks + block) {
                    *places = pair;
                }
            }
        }
    }
    match _mm512_reduce_min_epu32(least) {
        // Rather a second look where there is a zero than three instructions more for all others.
        0 => least_of_some_zeros(rows),
        least => Least {
            zeros: 0,
            nonzero: least.min(INFINITY),
        },
    }
}

/// The amaxes of the two groups of each row that begin at that column; those of the columns, and the
/// least absolute values, are joined with the ones before.
///
/// # Safety
/// Each row has 64 elements there.
#[inline]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
unsafe fn rows_extremes<S: Float>(
    rows: &[&[S]; ROWS],
    column: usize,
    of_columns: &mut [u32; BLOCK],
    least: &mut __m512i,
) -> [[u32; 2]; ROWS] {
    let mut of_rows = [_mm512_setzero_si512(); 2 * ROWS];
    let of_columns = of_columns.as_mut_ptr();
    // SAFETY: four times 16 of 64 places.
    let mut most =
        [0, 1, 2, 3].map(|i| unsafe { _mm512_loadu_si512(of_columns.add(LANES * i).cast()) });
    for (of_row, row) in of_rows.as_chunks_mut::<2>().0.iter_mut().zip(rows) {
        // SAFETY: the caller's promise.
        let [a, b] = unsafe { abs_of_group(row.as_ptr().add(column)) };
        // SAFETY: likewise.
        let [c, d] = unsafe { abs_of_group(row.as_ptr().add(column + GROUP)) };
        *of_row = [_mm512_max_epu32(a, b), _mm512_max_epu32(c, d)];
        for (most, abs) in most.iter_mut().zip([a, b, c, d]) {
            *most = _mm512_max_epu32(*most, abs);
            *least = _mm512_min_epu32(*least, abs);
        }
        *least = here(*least);
    }
    for (i, most) in most.into_iter().enumerate() {
        // SAFETY: four times 16 of 64 places.
        unsafe { _mm512_storeu_si512(of_columns.add(LANES * i).cast(), most) };
    }
    let mut pairs = [[0; 2]; ROWS];
    // SAFETY: 16 places are written.
    unsafe {
        _mm512_storeu_si512(
            pairs.as_mut_ptr().cast(),
            max_of_each(of_rows, |a, b| _mm512_max_epu32(a, b)),
        )
    };
    pairs
}

/// The same register. Without it the compiler puts the minima off until no register is left for what
/// they are the minima of.
#[inline]
#[target_feature(enable = "avx512f")]
fn here(mut register: __m512i) -> __m512i {
    // SAFETY: no instruction.
    unsafe {
        asm!("/* {} */", inout(zmm_reg) register, options(nomem, nostack, preserves_flags));
    }
    register
}

/// The small end, with zeros or without.
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
fn least_of_some_zeros<S: Float>(rows: &[&[S]; GROUP]) -> Least {
    let one = _mm512_set1_epi32(1);
    let (mut zeros, mut least) = (_mm512_setzero_si512(), _mm512_set1_epi32(-1));
    for row in rows {
        for group in row.as_chunks::<GROUP>().0 {
            // SAFETY: a group of 32.
            for abs in unsafe { abs_of_group(group.as_ptr()) } {
                // Zero wraps around to the top of the order.
                least = _mm512_min_epu32(least, _mm512_sub_epi32(abs, one));
                zeros = _mm512_mask_add_epi32(zeros, _mm512_testn_epi32_mask(abs, abs), zeros, one);
            }
        }
    }
    Least {
        zeros: _mm512_reduce_add_epi32(zeros) as u64,
        nonzero: _mm512_reduce_min_epu32(least).min(INFINITY - 1) + 1,
    }
}

/// The absolute values of 32 elements.
///
/// # Safety
/// They are there.
#[inline]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
unsafe fn abs_of_group<S: Float>(group: *const S) -> [__m512i; 2] {
    // SAFETY: the caller's promise.
    let group = unsafe { [load(group), load(group.add(LANES))] };
    group.map(|x| _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(i32::MAX)))
}

/// See [`crate::kernel::isa::Isa::encode_both`].
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
pub(in crate::kernel) fn encode<S: Float, const COUNTS: bool>(
    params: &Params,
    [of_rows, of_columns]: [Moved<'_>; 2],
    rows: &[&[S]; GROUP],
    mut targets: [Target<'_>; 2],
) -> Option<[u64; 2]> {
    let plain = params.nearest()?;
    let constants = Constants::new(params, &plain, false);
    let mut zeros = [0; 2];
    for (i, from) in rows.iter().enumerate() {
        let of_row = targets.each_mut().map(|target| {
            let to = target.codes.from(i, target.column);
            let stream = target.stream && to.as_ptr().align_offset(BLOCK) == 0;
            (to.as_chunks_mut::<BLOCK>().0, stream)
        });
        let [(to, stream), (to_columnwise, stream_columnwise)] = of_row;
        let across = of_rows.of_row(i, from.len() / GROUP).numbers::<2>();
        let numbers = across.zip(of_columns.numbers::<BLOCK>());
        let blocks = from.as_chunks::<BLOCK>().0.iter().zip(numbers);
        for ((from, numbers), to) in blocks.zip(to.iter_mut().zip(to_columnwise)) {
            let (codes, magnitudes) = encode_block(&constants, from, numbers);
            if COUNTS {
                for (zeros, of_one) in zeros.iter_mut().zip(magnitudes) {
                    *zeros += _mm512_testn_epi8_mask(of_one, of_one).count_ones() as u64;
                }
            }
            let [codes, codes_columnwise] = codes;
            // SAFETY: 64 bytes into blocks of 64, which lie at a multiple of 64 where they must.
            unsafe {
                store(to.0, codes, stream);
                store(to.1, codes_columnwise, stream_columnwise);
            }
            if constants.ahead != 0 {
                fetch_block(from.as_ptr().wrapping_add(constants.ahead));
            }
        }
    }
    Some(zeros)
}

/// Stores a block of codes, past the caches or not.
///
/// # Safety
/// It lies at a multiple of 64 bytes where it is stored past them.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn store(to: &mut [u8; BLOCK], codes: __m512i, stream: bool) {
    let to = to.as_mut_ptr().cast();
    // SAFETY: 64 bytes; the caller's promise.
    unsafe {
        if stream {
            store_register::<true>(to, codes);
        } else {
            store_register::<false>(to, codes);
        }
    }
}

/// Smallest normal values and biases, of two groups and of 64 columns.
type Numbers<'a> = (
    (&'a [f32; 2], &'a [u32; 2]),
    (&'a [f32; BLOCK], &'a [u32; BLOCK]),
);

/// The codes of 64 elements of a row in both copies, and their magnitudes.
#[inline]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
fn encode_block<S: Float>(
    constants: &Constants,
    from: &[S; BLOCK],
    numbers: Numbers<'_>,
) -> ([__m512i; 2], [__m512i; 2]) {
    let [across, down] = place(constants, from, numbers);
    let (of_row, signs) = gather(constants, across);
    // An element has the same sign in both.
    let (of_columns, _) = gather(constants, down);
    let magnitudes = [of_row, of_columns];
    (
        magnitudes.map(|magnitudes| join(constants, magnitudes, signs)),
        magnitudes,
    )
}

/// The elements in both copies, with the magnitudes in byte 1 and the signs in byte 3.
#[inline]
#[target_feature(enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,popcnt")]
fn place<S: Float>(
    constants: &Constants,
    from: &[S; BLOCK],
    (across, down): Numbers<'_>,
) -> [[__m512i; 4]; 2] {
    let exponent = _mm512_set1_epi32(!0 << 23);
    let mut placed = [[_mm512_setzero_si512(); 4]; 2];
    for i in 0..4 {
        // SAFETY: four times 16 elements and numbers of a block of 64.
        let (x, of_columns) = unsafe {
            let min_normal = _mm512_loadu_ps(down.0.as_ptr().add(LANES * i));
            let bias = _mm512_loadu_si512(down.1.as_ptr().add(LANES * i).cast());
            (load(from.as_ptr().add(LANES * i)), (min_normal, bias))
        };
        let min_normal = _mm512_set1_ps(across.0[i / 2]);
        let of_row = (min_normal, _mm512_set1_epi32(across.1[i / 2] as i32));
        let power = _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(x), exponent));
        for (placed, (min_normal, bias)) in placed.iter_mut().zip([of_row, of_columns]) {
            let power = _mm512_range_ps::<ABS_MAX>(power, min_normal);
            let sum = _mm512_fmadd_ps(power, constants.m_factor, x);
            placed[i] = dot(bias, _mm512_castps_si512(sum), constants.place);
        }
    }
    placed
}

/// `sum` plus, in each lane, the products of the halves of `a` and `b`. The compiler takes it apart into
/// VPMADDWD and VPADDD where several sums begin with the same number.
#[inline]
#[target_feature(enable = "avx512vnni")]
fn dot(mut sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
    // SAFETY: one instruction on registers, which the function's features have.
    unsafe {
        asm!(
            "vpdpwssd {sum}, {a}, {b}",
            sum = inout(zmm_reg) sum,
            a = in(zmm_reg) a,
            b = in(zmm_reg) b,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sum
}

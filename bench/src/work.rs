// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rows of the table: arrays, and the work on them.

use ofp8::{
    Bf16, Cast, Float, Format, Matrix, MatrixMut, Philox, Random, RandomBits, Recipe, Rounding,
    Scales, ScalesMut, slice,
};

use crate::{Pages, Plain};

/// The source arrays of one size: about normal numbers, and their codes.
pub struct Arrays {
    /// As `f32`.
    pub f32: Pages<f32>,
    /// The same as bfloat16.
    pub bf16: Pages<Bf16>,
    /// The same as E4M3.
    pub codes: Pages<u8>,
}

impl Arrays {
    /// `len` elements, the same on every run.
    pub fn new(len: usize) -> Arrays {
        let f32 = Pages::from_fn(len, normal);
        let mut codes = Pages::new(len);
        slice::encode(Format::E4M3, Cast::DEFAULT, &f32, &mut codes).expect("equal lengths");
        Arrays {
            bf16: Pages::from_fn(len, |i| Bf16::from_f32(f32[i])),
            codes,
            f32,
        }
    }
}

/// The sum of four uniform numbers, of variance 1.
fn normal(i: usize) -> f32 {
    let words = Philox::new(2026, 0).block(i as u64);
    let uniform = words.iter().map(|&word| word as f64 / 2f64.powi(32) - 0.5);
    (uniform.sum::<f64>() * 3f64.sqrt()) as f32
}

/// A row of the table.
pub struct Work<'a> {
    /// Its name, which the peers' script uses too.
    pub name: &'static str,
    /// Bytes that an element brings in and out.
    pub traffic: usize,
    /// Does it once.
    pub run: Box<dyn FnMut() + 'a>,
}

/// Columns of the matrices that are quantized.
const COLS: usize = 1024;
const ROUND: &str = "arrays of one size";

/// Every row, on these arrays.
pub fn works(arrays: &Arrays) -> Vec<Work<'_>> {
    let stochastic = Cast::DEFAULT.rounding(Rounding::StochasticA(RandomBits::SIXTEEN));
    let len = arrays.f32.len();
    let mut codes = Pages::<u8>::new(len);
    let random = Random::Philox(Philox::new(1, 0));
    let work = |name, traffic, run| Work { name, traffic, run };
    vec![
        work("f32 -> E4M3", 5, encode(Format::E4M3, &arrays.f32)),
        work("f32 -> E5M2", 5, encode(Format::E5M2, &arrays.f32)),
        work("bf16 -> E4M3", 3, encode(Format::E4M3, &arrays.bf16)),
        work("E4M3 -> f32", 5, decode::<f32>(Format::E4M3, &arrays.codes)),
        work("E5M2 -> f32", 5, decode::<f32>(Format::E5M2, &arrays.codes)),
        work(
            "E4M3 -> bf16",
            3,
            decode::<Bf16>(Format::E4M3, &arrays.codes),
        ),
        work("tensor quantize", 5, quantize_tensor(&arrays.f32)),
        work("MXFP8 quantize", 5, quantize_mx(&arrays.f32)),
        work("MXFP8 dequantize", 5, dequantize_mx(&arrays.codes)),
        work(
            "f32 -> E4M3 stochastic",
            5,
            Box::new(move || {
                slice::encode_stochastic(Format::E4M3, stochastic, random, &arrays.f32, &mut codes)
                    .expect(ROUND);
            }),
        ),
    ]
}

/// A copy of as many bytes as are read and written by work of that traffic: half of them each.
pub fn copy<'a>(len: usize, traffic: usize) -> Box<dyn FnMut() + 'a> {
    let mut from = Pages::<u8>::new(len * traffic / 2);
    from.fill(1);
    let mut to = Pages::<u8>::new(len * traffic / 2);
    Box::new(move || to.copy_from_slice(&from))
}

/// The `float8` crate, one element at a time.
pub fn float8_crate(arrays: &Arrays) -> Box<dyn FnMut() + '_> {
    let mut codes = Pages::<u8>::new(arrays.f32.len());
    Box::new(move || {
        for (code, &x) in codes.iter_mut().zip(arrays.f32.iter()) {
            *code = float8::F8E4M3::from_f32(x).to_bits();
        }
    })
}

fn encode<S: Float>(format: Format, source: &[S]) -> Box<dyn FnMut() + '_> {
    let mut codes = Pages::<u8>::new(source.len());
    Box::new(move || slice::encode(format, Cast::DEFAULT, source, &mut codes).expect(ROUND))
}

fn decode<'a, T: Float + Plain + 'a>(format: Format, codes: &'a [u8]) -> Box<dyn FnMut() + 'a> {
    let mut target = Pages::<T>::new(codes.len());
    Box::new(move || slice::decode(format, codes, &mut target).expect(ROUND))
}

fn matrix<T>(data: &[T]) -> Matrix<'_, T> {
    Matrix::new(data, data.len() / COLS, COLS).expect("whole rows")
}

fn matrix_mut<T>(data: &mut [T]) -> MatrixMut<'_, T> {
    let rows = data.len() / COLS;
    MatrixMut::new(data, rows, COLS).expect("whole rows")
}

fn quantize_tensor(source: &[f32]) -> Box<dyn FnMut() + '_> {
    let mut codes = Pages::<u8>::new(source.len());
    let mut scale = [0f32];
    Box::new(move || {
        let scales = ScalesMut::F32(&mut scale);
        let stats = Recipe::TENSOR.quantize(matrix(source), matrix_mut(&mut codes), scales);
        std::hint::black_box(stats.expect(ROUND));
    })
}

fn quantize_mx(source: &[f32]) -> Box<dyn FnMut() + '_> {
    let mut codes = Pages::<u8>::new(source.len());
    let mut scales = vec![0u8; source.len() / 32];
    Box::new(move || {
        let scales = ScalesMut::E8M0(&mut scales);
        let stats = Recipe::MXFP8.quantize(matrix(source), matrix_mut(&mut codes), scales);
        std::hint::black_box(stats.expect(ROUND));
    })
}

fn dequantize_mx(codes: &[u8]) -> Box<dyn FnMut() + '_> {
    let mut target = Pages::<f32>::new(codes.len());
    let scales = vec![120u8; codes.len() / 32];
    Box::new(move || {
        let scales = Scales::E8M0(&scales);
        let done = Recipe::MXFP8.dequantize(matrix(codes), scales, matrix_mut(&mut target));
        done.expect(ROUND);
    })
}

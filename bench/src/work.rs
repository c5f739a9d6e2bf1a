// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rows of the table: arrays, and the work on them.

use ofp8::float::FitsF32;
use ofp8::{
    Bf16, Cast, CopyMut, Float, Format, Matrix, MatrixMut, Philox, Random, RandomBits, Recipe,
    Rounding, Scales, ScalesMut, Scaling, slice,
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
        work("f32 amax", 4, amax(&arrays.f32)),
        work("tensor quantize", 5, quantize(Recipe::TENSOR, &arrays.f32)),
        work("MXFP8 quantize", 5, quantize(Recipe::MXFP8, &arrays.f32)),
        work("MXFP8 32x1", 5, quantize(MX.turned(), &arrays.f32)),
        work("MXFP8 both", 6, both(MX, false, &arrays.f32)),
        work("MXFP8 both, one transposed", 6, both(MX, true, &arrays.f32)),
        work("1x128 quantize", 5, quantize(TILE, &arrays.f32)),
        work("128x1 quantize", 5, quantize(TILE.turned(), &arrays.f32)),
        work(
            "128x128 quantize",
            5,
            quantize(Recipe::DEEPSEEK_WEIGHT, &arrays.f32),
        ),
        work(
            "1x128 both, one transposed",
            6,
            both(TILE, true, &arrays.f32),
        ),
        work("MXFP8 bf16", 3, quantize(MX, &arrays.bf16)),
        work("MXFP8 bf16 32x1", 3, quantize(MX.turned(), &arrays.bf16)),
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

fn amax(source: &[f32]) -> Box<dyn FnMut() + '_> {
    Box::new(move || {
        std::hint::black_box(slice::amax(source));
    })
}

const MX: Recipe = Recipe::MXFP8;
const TILE: Recipe = Recipe::DEEPSEEK_ACTIVATION;

/// Rows of the table whose ratio says something: what, times of what.
pub const RATIOS: [(&str, &str); 8] = [
    ("MXFP8 32x1", "MXFP8 quantize"),
    ("MXFP8 both", "MXFP8 quantize"),
    ("MXFP8 both, one transposed", "MXFP8 quantize"),
    ("128x1 quantize", "1x128 quantize"),
    ("128x128 quantize", "1x128 quantize"),
    ("128x128 quantize", "MXFP8 quantize"),
    ("1x128 both, one transposed", "1x128 quantize"),
    ("MXFP8 bf16 32x1", "MXFP8 bf16"),
];

/// The scales of a matrix under a recipe.
enum Stored {
    F32(Vec<f32>),
    E8M0(Vec<u8>),
}

impl Stored {
    fn new(recipe: &Recipe, rows: usize, cols: usize) -> Stored {
        let (down, across) = recipe.block().grid(rows, cols);
        match recipe.scaling() {
            Scaling::E8M0(_) => Stored::E8M0(vec![0; down * across]),
            _ => Stored::F32(vec![0.0; down * across]),
        }
    }

    fn scales(&mut self) -> ScalesMut<'_> {
        match self {
            Stored::F32(scales) => ScalesMut::F32(scales),
            Stored::E8M0(scales) => ScalesMut::E8M0(scales),
        }
    }
}

fn quantize<S: FitsF32>(recipe: Recipe, source: &[S]) -> Box<dyn FnMut() + '_> {
    let mut codes = Pages::<u8>::new(source.len());
    let mut scales = Stored::new(&recipe, source.len() / COLS, COLS);
    Box::new(move || {
        let stats = recipe.quantize(matrix(source), matrix_mut(&mut codes), scales.scales());
        std::hint::black_box(stats.expect(ROUND));
    })
}

/// Both copies from one call, the columnwise one perhaps transposed.
fn both<S: FitsF32>(recipe: Recipe, transposed: bool, source: &[S]) -> Box<dyn FnMut() + '_> {
    let (rows, cols) = (source.len() / COLS, COLS);
    let mut row = Pages::<u8>::new(source.len());
    let mut column = Pages::<u8>::new(source.len());
    let mut row_scales = Stored::new(&recipe, rows, cols);
    let mut column_scales = Stored::new(&recipe.turned(), rows, cols);
    Box::new(move || {
        let rowwise = CopyMut::new(matrix_mut(&mut row), row_scales.scales());
        let columnwise = if transposed {
            let codes = MatrixMut::new(&mut column, cols, rows).expect("as many elements");
            CopyMut::transposed(codes, column_scales.scales())
        } else {
            CopyMut::new(matrix_mut(&mut column), column_scales.scales())
        };
        let stats = recipe.quantize_both(matrix(source), rowwise, columnwise);
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

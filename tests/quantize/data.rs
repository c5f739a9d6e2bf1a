// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inputs: a generator that a seed repeats, and the three types that tensors come in.

use std::fmt::Debug;
use std::sync::LazyLock;

use ofp8::float::FitsF32;
use ofp8::{Bf16, F16, MatrixMut};

/// SplitMix64 (Steele, Lea, Flood, 2014).
pub struct Generator(pub u64);

impl Generator {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// What the elements of a matrix look like.
#[derive(Clone, Copy, Debug)]
pub enum Profile {
    /// Finite bit patterns, each as likely as the next.
    AnyBits,
    /// Within some binades below `2^exponent`.
    Around(i32),
    /// Few significant bits: ties of the cast, often.
    Coarse,
    /// Subnormals.
    Subnormal,
    /// Zeros but for a few.
    Sparse,
}

/// How many of the elements are infinities and NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Specials {
    None,
    Few,
    Many,
}

/// One element as `f32`.
pub fn element(random: &mut Generator, profile: Profile, specials: Specials) -> f32 {
    let special = match specials {
        Specials::None => false,
        Specials::Few => random.one_in(300),
        Specials::Many => random.one_in(3),
    };
    let bits = random.next() as u32;
    let sign = bits & 1 << 31;
    if special {
        let payload = if bits & 1 == 0 { 0 } else { bits & 0x007F_FFFF };
        return f32::from_bits(sign | 0x7F80_0000 | payload);
    }
    let in_binade = |field: i32, significand: u32| {
        f32::from_bits(sign | (field.clamp(0, 254) as u32) << 23 | significand & 0x007F_FFFF)
    };
    let fewer = (random.below(5) + random.below(5)) as i32;
    match profile {
        Profile::AnyBits => in_binade(random.below(255) as i32, bits),
        Profile::Around(exponent) => in_binade(127 + exponent - 1 - fewer, bits),
        Profile::Coarse => in_binade(127 - fewer, bits & 0x0078_0000),
        Profile::Subnormal => in_binade(0, bits),
        Profile::Sparse if !random.one_in(20) => f32::from_bits(sign),
        Profile::Sparse => in_binade(127 - fewer, bits),
    }
}

/// A type of tensors, with conversions that are the test's own.
pub trait Wide: FitsF32 + PartialEq + Debug {
    /// The nearest value, ties to even.
    fn nearest(value: f32) -> Self;
    /// The value, exactly.
    fn value(self) -> f32;
    /// The bits.
    fn bits(self) -> u32;
}

impl Wide for f32 {
    fn nearest(value: f32) -> f32 {
        value
    }
    fn value(self) -> f32 {
        self
    }
    fn bits(self) -> u32 {
        self.to_bits()
    }
}

impl Wide for Bf16 {
    fn nearest(value: f32) -> Bf16 {
        static VALUES: LazyLock<Vec<f64>> = LazyLock::new(|| magnitudes(0x7F80, 8, 7));
        Bf16(nearest_code(&VALUES, value, 0x7FC0))
    }
    fn value(self) -> f32 {
        f32::from_bits((self.0 as u32) << 16)
    }
    fn bits(self) -> u32 {
        self.0 as u32
    }
}

impl Wide for F16 {
    fn nearest(value: f32) -> F16 {
        static VALUES: LazyLock<Vec<f64>> = LazyLock::new(|| magnitudes(0x7C00, 5, 10));
        F16(nearest_code(&VALUES, value, 0x7E00))
    }
    fn value(self) -> f32 {
        let magnitude = match self.0 & 0x7FFF {
            0x7C00 => f32::INFINITY,
            special @ 0x7C01.. => f32::from_bits(0x7F80_0000 | (special as u32 & 0x03FF) << 13),
            finite => ieee_value(finite, 5, 10) as f32,
        };
        let sign = (self.0 as u32 & 0x8000) << 16;
        f32::from_bits(sign | magnitude.to_bits())
    }
    fn bits(self) -> u32 {
        self.0 as u32
    }
}

/// 2^`power`, exactly.
pub fn power_of_two(power: i32) -> f64 {
    assert!((-1022..=1023).contains(&power));
    f64::from_bits(((1023 + power) as u64) << 52)
}

/// The value of a finite magnitude in the style of IEEE 754.
fn ieee_value(magnitude: u16, exponent_bits: u32, mantissa_bits: u32) -> f64 {
    let bias = (1 << (exponent_bits - 1)) - 1;
    let field = (magnitude >> mantissa_bits) as i32;
    let mantissa = (magnitude & ((1 << mantissa_bits) - 1)) as f64;
    let unit = power_of_two(field.max(1) - bias - mantissa_bits as i32);
    let implicit = if field > 0 {
        (1 << mantissa_bits) as f64
    } else {
        0.0
    };
    (implicit + mantissa) * unit
}

/// The value of every magnitude up to infinity, which is given that of the next power of two:
/// what rounding to nearest takes it for.
fn magnitudes(infinity: u16, exponent_bits: u32, mantissa_bits: u32) -> Vec<f64> {
    (0..=infinity)
        .map(|magnitude| ieee_value(magnitude, exponent_bits, mantissa_bits))
        .collect()
}

/// The code whose value is the nearest in a table of magnitudes, ties to the even one.
fn nearest_code(values: &[f64], x: f32, nan: u16) -> u16 {
    let sign = (x.to_bits() >> 16) as u16 & 0x8000;
    if x.is_nan() {
        return sign | nan;
    }
    let x = x.abs() as f64;
    let above = values.partition_point(|&value| value < x);
    if above == 0 || above == values.len() {
        return sign | above.min(values.len() - 1) as u16;
    }
    let (down, up) = (x - values[above - 1], values[above] - x);
    let go_down = down < up || (down == up && above % 2 == 1);
    sign | (above - go_down as usize) as u16
}

/// A matrix in a buffer that is longer than it, with something else between and after its rows.
#[derive(Clone)]
pub struct Strided<T> {
    pub data: Vec<T>,
    pub rows: usize,
    pub cols: usize,
    pub stride: usize,
}

impl<T: Copy + PartialEq + Debug> Strided<T> {
    /// Filled with `guard`.
    pub fn new(rows: usize, cols: usize, gap: usize, guard: T) -> Strided<T> {
        let stride = cols + gap;
        Strided {
            data: vec![guard; rows * stride + gap],
            rows,
            cols,
            stride,
        }
    }

    /// The stride that `rows` rows are said to have: one row, or rows without elements, may say anything.
    fn said(&self, rows: usize) -> usize {
        if rows <= 1 || self.cols == 0 {
            usize::MAX
        } else {
            self.stride
        }
    }

    pub fn get(&self, row: usize, col: usize) -> T {
        self.data[row * self.stride + col]
    }

    pub fn set(&mut self, row: usize, col: usize, value: T) {
        self.data[row * self.stride + col] = value;
    }

    pub fn matrix(&self) -> ofp8::Matrix<'_, T> {
        ofp8::Matrix::with_stride(&self.data, self.rows, self.cols, self.said(self.rows)).unwrap()
    }

    /// Rows `from..to`.
    pub fn rows(&self, from: usize, to: usize) -> ofp8::Matrix<'_, T> {
        let data = &self.data[from * self.stride..];
        ofp8::Matrix::with_stride(data, to - from, self.cols, self.said(to - from)).unwrap()
    }

    pub fn matrix_mut(&mut self) -> MatrixMut<'_, T> {
        let stride = self.said(self.rows);
        MatrixMut::with_stride(&mut self.data, self.rows, self.cols, stride).unwrap()
    }

    /// Rows `from..to`.
    pub fn rows_mut(&mut self, from: usize, to: usize) -> MatrixMut<'_, T> {
        let stride = self.said(to - from);
        let data = &mut self.data[from * self.stride..];
        MatrixMut::with_stride(data, to - from, self.cols, stride).unwrap()
    }
}

#[test]
fn the_conversions_of_this_test_know_published_values() {
    assert_eq!(F16(0x3C01).value(), 1.000_976_6);
    assert_eq!(F16(0x0001).value(), 5.960_464_5e-8);
    assert_eq!(F16(0xFBFF).value(), -65504.0);
    assert_eq!(F16::nearest(65519.996), F16(0x7BFF));
    assert_eq!(F16::nearest(65520.0), F16(0x7C00));
    assert_eq!(F16::nearest(-1e-9), F16(0x8000));
    assert_eq!(F16::nearest(2049.0), F16(0x6800));
    assert_eq!(F16::nearest(2051.0), F16(0x6802));
    assert_eq!(Bf16::nearest(1.0), Bf16(0x3F80));
    assert_eq!(Bf16::nearest(f32::MAX), Bf16(0x7F80));
    assert_eq!(Bf16::nearest(-f32::INFINITY), Bf16(0xFF80));
    assert_eq!(Bf16::nearest(f32::NAN), Bf16(0x7FC0));
    assert_eq!(Bf16::nearest(1.003_906_2), Bf16(0x3F80));
}

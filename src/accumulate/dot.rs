// SPDX-License-Identifier: MIT OR Apache-2.0
//! One sum of products, in each order.

use core::ops::Range;

use super::exact::{ExactSum, Parts, Table, power_of_two};
use super::mma::{MMA_K, Model, Products, fraction_bits};
use super::operand::{Operand, Segments, joint_scale, scaled};
use super::{Order, Promotion, canonical};
use crate::error::Error;
use crate::kernel;
use crate::machine::buffered;

/// The dot product of two vectors: operands of one vector each, of the same length.
///
/// [`Error::Shape`] where they are not, [`Error::Recipe`] where the order cannot take the formats
/// or the scales: a tensor core multiplies the formats of its instruction only
/// ([`Model::takes`]), and [`Model::Tcgen05Mx`] takes E8M0 scales that change at multiples of 32.
pub fn dot(a: Operand<'_>, b: Operand<'_>, order: Order) -> Result<f32, Error> {
    check_vectors(&a, &b)?;
    order.check(&a, &b)?;
    Ok(kernel::with_default_environment(|| match order {
        Order::Sequential => in_lanes(&a, &b),
        _ => Entries::new(a, b).entry(order, 0, 0),
    }))
}

fn check_vectors(a: &Operand<'_>, b: &Operand<'_>) -> Result<(), Error> {
    if a.vectors() == 1 && b.vectors() == 1 && a.depth() == b.depth() {
        Ok(())
    } else {
        Err(Error::Shape)
    }
}

impl ExactSum {
    /// Adds the dot product of two vectors, scales included.
    ///
    /// [`Error::Shape`] as [`dot`]; [`Error::Scale`] where a scale is neither a power of two nor
    /// NaN: multiply the finished sum by such a one. On an error nothing has been added.
    pub fn add_dot(&mut self, a: Operand<'_>, b: Operand<'_>) -> Result<(), Error> {
        check_vectors(&a, &b)?;
        let entries = Entries::new(a, b);
        let fits = |scale: f32| scale.is_nan() || power_of_two(scale).is_some();
        for segment in Segments::new(&a, &b) {
            let (of_a, of_b) = entries.scales(0, 0, &segment);
            if !fits(of_a) || !fits(of_b) {
                return Err(Error::Scale);
            }
        }
        for segment in Segments::new(&a, &b) {
            let (of_a, of_b) = entries.scales(0, 0, &segment);
            match power_of_two(of_a).zip(power_of_two(of_b)) {
                Some((of_a, of_b)) => entries.add_exact(0, 0, segment, of_a + of_b, self),
                None => self.add_nan(),
            }
        }
        Ok(())
    }
}

/// Lanes of a sequential dot product.
const LANES: usize = 16;
/// Codes decoded at a time: a multiple of the lanes.
const CHUNK: usize = buffered(128);

/// The sequential order of a single dot product.
fn in_lanes(a: &Operand<'_>, b: &Operand<'_>) -> f32 {
    let mut total = 0.0;
    for segment in Segments::new(a, b) {
        let scale = joint_scale(a.scale(0, segment.start), b.scale(0, segment.start));
        total += scaled(scale, lanes_of(a, b, segment));
    }
    canonical(total)
}

/// The unscaled sum of a part.
fn lanes_of(a: &Operand<'_>, b: &Operand<'_>, range: Range<usize>) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let (mut decoded_a, mut decoded_b) = ([0.0f32; CHUNK], [0.0f32; CHUNK]);
    let (mut gathered_a, mut gathered_b) = ([0; CHUNK], [0; CHUNK]);
    for start in range.clone().step_by(CHUNK) {
        let part = start..range.end.min(start + CHUNK);
        let of_a = a.codes(0, part.clone(), &mut gathered_a);
        let of_b = b.codes(0, part, &mut gathered_b);
        let of_a = decode(a, of_a, &mut decoded_a).chunks(LANES);
        let of_b = decode(b, of_b, &mut decoded_b).chunks(LANES);
        for (of_a, of_b) in of_a.zip(of_b) {
            for ((lane, x), y) in lanes.iter_mut().zip(of_a).zip(of_b) {
                *lane += x * y;
            }
        }
    }
    join(lanes)
}

/// Decodes a chunk.
fn decode<'b>(operand: &Operand<'_>, codes: &[u8], buffer: &'b mut [f32; CHUNK]) -> &'b [f32] {
    let target = buffer.get_mut(..codes.len()).unwrap_or_default();
    kernel::decode(operand.format(), codes, target);
    target
}

/// The fixed tree: halves onto halves.
fn join(lanes: [f32; LANES]) -> f32 {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = lanes;
    let [a, b, c, d, e, f, g, h] = [a + i, b + j, c + k, d + l, e + m, f + n, g + o, h + p];
    let [a, b, c, d] = [a + e, b + f, c + g, d + h];
    (a + c) + (b + d)
}

/// The entries of a product one by one, for the orders that are no f32 arithmetic.
pub(super) struct Entries<'a> {
    a: Operand<'a>,
    b: Operand<'a>,
    parts_a: Table,
    parts_b: Table,
}

impl<'a> Entries<'a> {
    pub(super) fn new(a: Operand<'a>, b: Operand<'a>) -> Entries<'a> {
        Entries {
            a,
            b,
            parts_a: Table::new(a.format()),
            parts_b: Table::new(b.format()),
        }
    }

    /// Entry (i, j). The floating-point environment is the default.
    pub(super) fn entry(&self, order: Order, i: usize, j: usize) -> f32 {
        match order {
            Order::Sequential => self.sequential(i, j),
            Order::Exact => self.exact(i, j),
            Order::TensorCore(model, promotion) => self.tensor_core(model, promotion, i, j),
        }
    }

    /// The scales of a segment.
    fn scales(&self, i: usize, j: usize, segment: &Range<usize>) -> (f32, f32) {
        let k = segment.start;
        (self.a.scale(i, k), self.b.scale(j, k))
    }

    /// Shows the codes of a part, 32 at a time.
    #[inline]
    fn each(&self, i: usize, j: usize, range: Range<usize>, mut visit: impl FnMut(&[u8], &[u8])) {
        let (mut gathered_a, mut gathered_b) = ([0; MMA_K], [0; MMA_K]);
        for start in range.clone().step_by(MMA_K) {
            let part = start..range.end.min(start + MMA_K);
            let of_a = self.a.codes(i, part.clone(), &mut gathered_a);
            let of_b = self.b.codes(j, part, &mut gathered_b);
            visit(of_a, of_b);
        }
    }

    /// The codes as factors.
    #[inline]
    fn factors(&self, of_a: &[u8], of_b: &[u8]) -> impl Iterator<Item = (Parts, Parts)> {
        let both = of_a.iter().zip(of_b);
        both.map(|(&x, &y)| (self.parts_a.get(x), self.parts_b.get(y)))
    }

    fn exact(&self, i: usize, j: usize) -> f32 {
        let segments = Segments::new(&self.a, &self.b);
        let powers = |segment: Range<usize>| {
            let (of_a, of_b) = self.scales(i, j, &segment);
            power_of_two(of_a).zip(power_of_two(of_b))
        };
        if segments.clone().all(|segment| powers(segment).is_some()) {
            let mut sum = ExactSum::ZERO;
            for segment in segments {
                if let Some((of_a, of_b)) = powers(segment.clone()) {
                    self.add_exact(i, j, segment, of_a + of_b, &mut sum);
                }
            }
            return sum.to_f32();
        }
        let mut total = 0.0;
        for segment in segments {
            let mut sum = ExactSum::ZERO;
            let (of_a, of_b) = self.scales(i, j, &segment);
            self.add_exact(i, j, segment, 0, &mut sum);
            total += sum.scaled(of_a, of_b);
        }
        canonical(total)
    }

    /// Adds the products of a part, times `2^shift`.
    fn add_exact(&self, i: usize, j: usize, part: Range<usize>, shift: i32, sum: &mut ExactSum) {
        self.each(i, j, part, |of_a, of_b| {
            for (x, y) in self.factors(of_a, of_b) {
                sum.add(x, y, shift);
            }
        });
    }

    fn tensor_core(&self, model: Model, promotion: Promotion, i: usize, j: usize) -> f32 {
        let fraction_bits = fraction_bits(self.a.format(), self.b.format());
        let segments = Segments::new(&self.a, &self.b);
        let scale_last = segments.is_one() && !model.is_scaled();
        let (mut main, mut accumulator, mut summed) = (0.0, 0.0, 0);
        for segment in segments {
            let (of_a, of_b) = self.scales(i, j, &segment);
            let scale = if scale_last || model.is_scaled() {
                1.0
            } else {
                joint_scale(of_a, of_b)
            };
            self.each(i, j, segment, |codes_a, codes_b| {
                let factors = self.factors(codes_a, codes_b);
                let products = if model.is_scaled() {
                    Products::scaled(factors, fraction_bits, of_a, of_b)
                } else {
                    Products::new(factors, fraction_bits, 0)
                };
                accumulator = model.add(&products, accumulator);
                summed += MMA_K;
                if summed == promotion.products() {
                    main = fused(scale, accumulator, main);
                    (accumulator, summed) = (0.0, 0);
                }
            });
            if !scale_last && !model.is_scaled() {
                main = fused(scale, accumulator, main);
                (accumulator, summed) = (0.0, 0);
            }
        }
        let total = fused(1.0, accumulator, main);
        let total = if scale_last {
            scaled(joint_scale(self.a.scale(i, 0), self.b.scale(j, 0)), total)
        } else {
            total
        };
        super::mma::hardware_nan(total)
    }

    /// K order, block by block.
    fn sequential(&self, i: usize, j: usize) -> f32 {
        let mut total = 0.0;
        for segment in Segments::new(&self.a, &self.b) {
            let (of_a, of_b) = self.scales(i, j, &segment);
            let mut sum = 0.0;
            self.each(i, j, segment, |codes_a, codes_b| {
                let (mut x, mut y) = ([0.0; MMA_K], [0.0; MMA_K]);
                kernel::decode(
                    self.a.format(),
                    codes_a,
                    x.get_mut(..codes_a.len()).unwrap_or_default(),
                );
                kernel::decode(
                    self.b.format(),
                    codes_b,
                    y.get_mut(..codes_b.len()).unwrap_or_default(),
                );
                for ((x, y), _) in x.iter().zip(&y).zip(codes_a) {
                    sum += x * y;
                }
            });
            total += scaled(joint_scale(of_a, of_b), sum);
        }
        canonical(total)
    }
}

/// `scale * x + main`, rounded once to f32. The product is exact in f64 (two 24-bit numbers); the
/// sum is rounded to odd there, so that the rounding to f32 is the only one that shows.
fn fused(scale: f64, x: f32, main: f32) -> f32 {
    let (product, main) = (scale * x as f64, main as f64);
    let sum = product + main;
    // What the addition lost, exactly (Knuth's TwoSum).
    let part = sum - product;
    let lost = (product - (sum - part)) + (main - part);
    let bits = sum.to_bits();
    if lost == 0.0 || !sum.is_finite() || bits & 1 != 0 {
        return sum as f32;
    }
    let outward = (lost > 0.0) == (sum > 0.0);
    f64::from_bits(if outward { bits + 1 } else { bits - 1 }) as f32
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gradients over many micro-batches: added in f32, quantized once.
//!
//! A sum that is kept in FP8 stops growing where an addend is less than half the distance of two
//! codes, after about 16 equal addends in E4M3 and 8 in E5M2. In f32 that happens after about 2^24,
//! and with compensation (Neumaier) the rounding errors of the additions are added up beside the
//! sum.

use super::canonical;
use crate::error::Error;
use crate::float::FitsF32;
use crate::kernel;
use crate::matrix::{Matrix, MatrixMut};
use crate::random::Philox;
use crate::scale::{Recipe, Scales, ScalesMut};
use crate::stats::Stats;

/// A gradient that is summed over micro-batches, in memory of the caller: one f32 an entry, and one
/// more for what rounding lost, where that is wanted.
///
/// The memory may be a shard of a larger gradient; what is added is then the same shard.
///
/// Additions are single f32 operations, entry by entry, in the order of the calls: the same bits on
/// every machine, however the matrix is cut.
///
/// ```
/// use ofp8::accumulate::Gradient;
/// use ofp8::{Matrix, MatrixMut, Recipe, ScalesMut};
///
/// let mut sum = [0.0; 2];
/// let mut gradient = Gradient::new(MatrixMut::new(&mut sum, 1, 2)?, None)?;
/// for _ in 0..1000 {
///     gradient.add(Matrix::new(&[1e-3f32, -2.0], 1, 2)?, 1.0)?;
/// }
/// let (mut codes, mut scale) = ([0; 2], [0.0]);
/// let scales = ScalesMut::F32(&mut scale);
/// gradient.quantize(&Recipe::TENSOR, None, MatrixMut::new(&mut codes, 1, 2)?, scales)?;
/// # Ok::<(), ofp8::Error>(())
/// ```
#[derive(Debug)]
pub struct Gradient<'a> {
    sum: MatrixMut<'a, f32>,
    /// What the additions lost: the sum is `sum + lost`.
    lost: Option<MatrixMut<'a, f32>>,
    count: u64,
}

impl<'a> Gradient<'a> {
    /// An empty sum: the memory is set to zero. With `lost`, a matrix of the same shape, additions
    /// are compensated. [`Error::Shape`] where the shapes differ.
    pub fn new(
        sum: MatrixMut<'a, f32>,
        lost: Option<MatrixMut<'a, f32>>,
    ) -> Result<Gradient<'a>, Error> {
        let mut gradient = Gradient::resume(sum, lost, 0)?;
        gradient.each_row(|sum, lost| {
            sum.fill(0.0);
            lost.fill(0.0);
        });
        Ok(gradient)
    }

    /// A sum of `count` micro-batches, as the memory holds it. [`Error::Shape`] where the shapes
    /// differ.
    pub fn resume(
        sum: MatrixMut<'a, f32>,
        lost: Option<MatrixMut<'a, f32>>,
        count: u64,
    ) -> Result<Gradient<'a>, Error> {
        if let Some(lost) = &lost
            && !lost.as_matrix().is_like(&sum)
        {
            return Err(Error::Shape);
        }
        Ok(Gradient { sum, lost, count })
    }

    /// Micro-batches added, up to 2^64 - 1.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Adds a micro-batch: `sum += scale * source`, the product rounded to f32, then the sum.
    /// [`Error::Shape`] where the shapes differ.
    pub fn add<S: FitsF32>(&mut self, source: Matrix<'_, S>, scale: f32) -> Result<(), Error> {
        self.check(source)?;
        kernel::with_default_environment(|| {
            for row in source.filled_rows() {
                let values = source.segment(row, 0, source.cols()).iter();
                self.add_at(row, 0, values.map(|x| scale * x.to_f32()));
            }
        });
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Adds a micro-batch that was quantized by a recipe: `sum += scale * decode(code)`.
    /// [`Error::Shape`] where the shapes differ; errors as [`Recipe::dequantize`].
    pub fn add_codes(
        &mut self,
        recipe: &Recipe,
        codes: Matrix<'_, u8>,
        scales: Scales<'_>,
    ) -> Result<(), Error> {
        self.check(codes)?;
        recipe.each_dequantized(codes, scales, |row, col, values| {
            self.add_at(row, col, values.iter().copied());
        })?;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Adds all of another gradient, and its count. [`Error::Shape`] where the shapes differ.
    pub fn merge(&mut self, other: &Gradient<'_>) -> Result<(), Error> {
        self.check(other.sum.as_matrix())?;
        let sum = other.sum.as_matrix();
        kernel::with_default_environment(|| {
            for row in sum.filled_rows() {
                self.add_at(row, 0, sum.segment(row, 0, sum.cols()).iter().copied());
                if let Some(lost) = &other.lost {
                    let lost = lost.as_matrix().segment(row, 0, sum.cols());
                    self.add_at(row, 0, lost.iter().copied());
                }
            }
        });
        self.count = self.count.saturating_add(other.count);
        Ok(())
    }

    /// Divides the sum by the count: one f32 addition of what was lost, one division. The buffer
    /// then counts as one micro-batch. An empty one stays as it is.
    pub fn average(&mut self) -> Matrix<'_, f32> {
        if self.count != 0 {
            kernel::with_default_environment(|| {
                let count = self.count as f32;
                self.each_row(|sum, lost| {
                    let lost = lost.iter_mut().map(core::mem::take);
                    for (sum, lost) in sum.iter_mut().zip(lost.chain(core::iter::repeat(0.0))) {
                        *sum = canonical((*sum + lost) / count);
                    }
                });
            });
            self.count = 1;
        }
        self.sum.as_matrix()
    }

    /// Averages ([`Gradient::average`]) and quantizes by a recipe; `random` serves a stochastic
    /// rounding. Errors as [`Recipe::quantize`]; on an error nothing has changed.
    pub fn quantize(
        &mut self,
        recipe: &Recipe,
        random: Option<Philox>,
        codes: MatrixMut<'_, u8>,
        scales: ScalesMut<'_>,
    ) -> Result<Stats, Error> {
        let sum = self.sum.as_matrix();
        if !sum.is_like(&codes) {
            return Err(Error::Shape);
        }
        recipe.can_quantize(sum.rows(), sum.cols(), random, &scales)?;
        let average = self.average();
        match random {
            Some(random) => recipe.quantize_stochastic(random, average, codes, scales),
            None => recipe.quantize(average, codes, scales),
        }
    }

    fn check<T>(&self, source: Matrix<'_, T>) -> Result<(), Error> {
        if source.is_like(&self.sum) {
            Ok(())
        } else {
            Err(Error::Shape)
        }
    }

    /// Shows each row of the sum and of what was lost (nothing where that is not kept).
    fn each_row(&mut self, mut visit: impl FnMut(&mut [f32], &mut [f32])) {
        let cols = self.sum.cols();
        for row in self.sum.as_matrix().filled_rows() {
            let lost = match &mut self.lost {
                Some(lost) => lost.segment(row, 0, cols),
                None => &mut [],
            };
            visit(self.sum.segment(row, 0, cols), lost);
        }
    }

    /// Adds values to the entries from row `row`, column `col` on.
    #[inline]
    fn add_at(&mut self, row: usize, col: usize, values: impl Iterator<Item = f32>) {
        let cols = self.sum.cols();
        let sums = self.sum.segment(row, col, cols);
        match &mut self.lost {
            Some(lost) => {
                let lost = lost.segment(row, col, cols);
                for ((sum, lost), value) in sums.iter_mut().zip(lost).zip(values) {
                    add_compensated(sum, lost, value);
                }
            }
            None => {
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum = canonical(*sum + value);
                }
            }
        }
    }
}

/// Neumaier's addition: what `sum + value` loses is exact in f32, and goes to `lost`. A sum that is
/// infinite or NaN loses nothing.
fn add_compensated(sum: &mut f32, lost: &mut f32, value: f32) {
    let (large, small) = if sum.abs() >= value.abs() {
        (*sum, value)
    } else {
        (value, *sum)
    };
    *sum = canonical(*sum + value);
    if sum.is_finite() {
        *lost += (large - *sum) + small;
    }
}

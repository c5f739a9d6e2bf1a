// SPDX-License-Identifier: MIT OR Apache-2.0
//! The error of a quantization, against the values it came from: a pass of its own.

use crate::error::Error;
use crate::float::FitsF32;
use crate::kernel;
use crate::matrix::Matrix;

/// Error sums over the finite elements of a matrix.
///
/// The order of the sums is fixed: in a row, element `i` is added to lane `i % 8`, in f64; the
/// lanes join as `((0+4)+(2+6)) + ((1+5)+(3+7))`; rows are added in turn. [`Measure::merge`]
/// adds two measures: to the same bits whenever the parts and their order are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measure {
    /// Finite elements compared.
    pub count: u64,
    /// Sum of the squares of the source.
    pub signal: f64,
    /// Sum of the squares of the differences.
    pub noise: f64,
    /// Sum of the absolute differences.
    pub absolute: f64,
    /// Largest absolute difference.
    pub max_absolute: f64,
    /// Largest `|difference| / |source|` over the elements that are not zero.
    pub max_relative: f64,
}

impl Measure {
    /// Of both, this one first; the count stops at 2^64 - 1.
    pub fn merge(self, other: Measure) -> Measure {
        kernel::with_default_environment(|| Measure {
            count: self.count.saturating_add(other.count),
            signal: self.signal + other.signal,
            noise: self.noise + other.noise,
            absolute: self.absolute + other.absolute,
            max_absolute: self.max_absolute.max(other.max_absolute),
            max_relative: self.max_relative.max(other.max_relative),
        })
    }

    /// Signal power over noise power. Infinite where nothing was lost, NaN where there was
    /// nothing to compare.
    pub fn signal_to_noise(&self) -> f64 {
        kernel::with_default_environment(|| self.signal / self.noise)
    }

    /// The signal-to-quantization-noise ratio in decibels: `10 log10(signal / noise)`.
    #[cfg(feature = "std")]
    pub fn sqnr_db(&self) -> f64 {
        kernel::with_default_environment(|| 10.0 * self.signal_to_noise().log10())
    }
}

const LANES: usize = 8;

/// Sums in lanes.
#[derive(Default)]
struct Lanes([f64; LANES]);

impl Lanes {
    fn join(&self) -> f64 {
        let [a, b, c, d, e, f, g, h] = self.0;
        ((a + e) + (c + g)) + ((b + f) + (d + h))
    }
}

/// Compares what was stored, dequantized to f32, with the source. Elements where either is
/// infinite or NaN are left out. [`Error::Shape`] where the shapes differ.
pub fn measure<S: FitsF32>(
    source: Matrix<'_, S>,
    dequantized: Matrix<'_, f32>,
) -> Result<Measure, Error> {
    if source.rows() != dequantized.rows() || source.cols() != dequantized.cols() {
        return Err(Error::Shape);
    }
    let mut total = Measure::default();
    for row in source.filled_rows() {
        let of_row = kernel::with_default_environment(|| {
            measure_row(
                source.segment(row, 0, source.cols()),
                dequantized.segment(row, 0, source.cols()),
            )
        });
        total = total.merge(of_row);
    }
    Ok(total)
}

/// One row.
fn measure_row<S: FitsF32>(source: &[S], dequantized: &[f32]) -> Measure {
    let (mut signal, mut noise, mut absolute) =
        (Lanes::default(), Lanes::default(), Lanes::default());
    let mut row = Measure::default();
    for (i, (x, y)) in source.iter().zip(dequantized).enumerate() {
        let (x, y, lane) = (x.to_f32() as f64, *y as f64, i % LANES);
        if !x.is_finite() || !y.is_finite() {
            continue;
        }
        let difference = (x - y).abs();
        row.count += 1;
        signal.0[lane] += x * x;
        noise.0[lane] += difference * difference;
        absolute.0[lane] += difference;
        row.max_absolute = row.max_absolute.max(difference);
        if x != 0.0 {
            row.max_relative = row.max_relative.max(difference / x.abs());
        }
    }
    row.signal = signal.join();
    row.noise = noise.join();
    row.absolute = absolute.join();
    row
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! One factor of a product: codes, how they lie, and their scales.

use core::ops::Range;

use super::exact::power_of_two;
use crate::error::Error;
use crate::layout::Layout;
use crate::matrix::Matrix;
use crate::scale::{Recipe, Scales, Scaling};
use crate::spec::Format;

/// One factor of a product: vectors of K codes, and their scales.
///
/// A product of A (M vectors) and B (N vectors) is M x N: entry (i, j) is the sum over k of
/// `A[i][k] * B[j][k]`. The rows of `codes` are the vectors where the matrix is stored M x K or N x K
/// (K contiguous: activations, and the weights of a linear layer); for one that is stored K x M or
/// K x N, say [`Operand::transposed`].
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    format: Format,
    codes: Matrix<'a, u8>,
    transposed: bool,
    /// Which of the vectors of `codes`: the first, and how many.
    first: usize,
    vectors: usize,
    scales: Option<Scaled<'a>>,
}

/// The scales of a factor, and where they lie.
#[derive(Clone, Copy, Debug)]
struct Scaled<'a> {
    recipe: Recipe,
    scales: Scales<'a>,
    layout: Layout,
}

impl<'a> Operand<'a> {
    /// A factor without scales (all are 1); one code a byte.
    ///
    /// [`Error::Recipe`] where the format is one for scales, not for elements: E8M0.
    /// [`Error::Shape`] for a shard.
    pub fn new(format: Format, codes: Matrix<'a, u8>) -> Result<Operand<'a>, Error> {
        if !format.spec().zero {
            return Err(Error::Recipe);
        }
        if !codes.is_whole() {
            return Err(Error::Shape);
        }
        Ok(Operand {
            format,
            codes,
            transposed: false,
            first: 0,
            vectors: codes.rows(),
            scales: None,
        })
    }

    /// A factor as [`Recipe::quantize`] writes it: one scale a block of the matrix as it is stored.
    ///
    /// Errors as [`Recipe::dequantize`]; [`Error::Shape`] for a shard.
    pub fn quantized(
        recipe: &Recipe,
        codes: Matrix<'a, u8>,
        scales: Scales<'a>,
    ) -> Result<Operand<'a>, Error> {
        let (rows, cols) = (codes.rows(), codes.cols());
        recipe.check_stored(rows, cols, &scales)?;
        let scaled = Scaled {
            recipe: *recipe,
            scales,
            layout: recipe.scale_layout(rows, cols)?,
        };
        Ok(Operand {
            scales: Some(scaled),
            ..Operand::new(recipe.element(), codes)?
        })
    }

    /// The same matrix, its columns taken as the vectors. Before [`Operand::part`].
    pub fn transposed(self) -> Operand<'a> {
        Operand {
            transposed: true,
            first: 0,
            vectors: self.codes.cols(),
            ..self
        }
    }

    /// The format of the codes.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The same factor with some of its vectors, scales and all: a thread's share of the work.
    ///
    /// [`Error::Shape`] where it has no such vectors.
    pub fn part(self, vectors: Range<usize>) -> Result<Operand<'a>, Error> {
        if vectors.start > vectors.end || vectors.end > self.vectors {
            return Err(Error::Shape);
        }
        Ok(Operand {
            first: self.first + vectors.start,
            vectors: vectors.len(),
            ..self
        })
    }

    /// How many vectors: M of the left factor, N of the right one.
    pub fn vectors(&self) -> usize {
        self.vectors
    }

    /// The length of a vector: K.
    pub fn depth(&self) -> usize {
        if self.transposed {
            self.codes.rows()
        } else {
            self.codes.cols()
        }
    }

    /// Whether a vector's codes lie one after another.
    pub(crate) fn is_k_contiguous(&self) -> bool {
        !self.transposed
    }

    /// Codes that share a scale along K; 0 where all of a vector do.
    pub(crate) fn block_depth(&self) -> usize {
        let Some(Scaled { recipe, .. }) = &self.scales else {
            return 0;
        };
        let extent = if self.transposed {
            recipe.block().rows
        } else {
            recipe.block().cols
        };
        if extent >= self.depth() { 0 } else { extent }
    }

    /// Whether all scales are E8M0, or there are none.
    pub(crate) fn has_e8m0_scales(&self) -> bool {
        match &self.scales {
            Some(Scaled { recipe, .. }) => matches!(recipe.scaling(), Scaling::E8M0(_)),
            None => true,
        }
    }

    /// Whether there are scales.
    pub(crate) fn is_scaled(&self) -> bool {
        self.scales.is_some()
    }

    /// The scale of element `k` of a vector.
    #[inline]
    pub(crate) fn scale(&self, vector: usize, k: usize) -> f32 {
        let Some(Scaled {
            recipe,
            scales,
            layout,
        }) = &self.scales
        else {
            return 1.0;
        };
        let vector = self.first + vector;
        let (row, col) = if self.transposed {
            (k, vector)
        } else {
            (vector, k)
        };
        let block = recipe.block();
        let place = |at: usize, size: usize| at.checked_div(size).unwrap_or(0);
        let (i, j) = (place(row, block.rows), place(col, block.cols));
        let index = layout.index(i, j).unwrap_or(usize::MAX);
        recipe.stored_scale(scales, index)
    }

    /// The codes `from..to` of a vector: in place where they are contiguous, else gathered into
    /// `buffer`, which bounds their number.
    #[inline]
    pub(crate) fn codes<'b>(
        &self,
        vector: usize,
        range: Range<usize>,
        buffer: &'b mut [u8],
    ) -> &'b [u8]
    where
        'a: 'b,
    {
        let vector = self.first + vector;
        if !self.transposed {
            return self.codes.segment(vector, range.start, range.end);
        }
        let mut len = 0;
        for (place, k) in buffer.iter_mut().zip(range) {
            let code = self.codes.segment(k, vector, vector + 1);
            *place = code.first().copied().unwrap_or(0);
            len += 1;
        }
        buffer.get(..len).unwrap_or_default()
    }

    /// The codes of some vectors at one `k` of a factor that is not K-contiguous.
    #[inline]
    pub(crate) fn across(&self, k: usize, vectors: Range<usize>) -> &'a [u8] {
        let (from, to) = (self.first + vectors.start, self.first + vectors.end);
        self.codes.segment(k, from, to)
    }
}

/// K cut where a scale of either factor changes.
#[derive(Clone, Debug)]
pub(crate) struct Segments {
    depth: usize,
    blocks: [usize; 2],
    next: usize,
}

impl Segments {
    pub(crate) fn new(a: &Operand<'_>, b: &Operand<'_>) -> Segments {
        Segments {
            depth: a.depth(),
            blocks: [a.block_depth(), b.block_depth()],
            next: 0,
        }
    }

    /// The segments of a part of K that begins and ends at cuts.
    pub(crate) fn within(&self, part: Range<usize>) -> Segments {
        Segments {
            depth: part.end,
            next: part.start,
            ..*self
        }
    }

    /// The most elements of a segment.
    pub(crate) fn longest(&self) -> usize {
        let blocks = self.blocks.iter().copied().filter(|&block| block != 0);
        blocks.min().unwrap_or(self.depth)
    }

    /// Whether there is no cut: one scale serves a whole vector.
    pub(crate) fn is_one(&self) -> bool {
        self.blocks == [0, 0]
    }
}

impl Iterator for Segments {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let start = self.next;
        if start >= self.depth {
            return None;
        }
        let mut end = self.depth;
        for block in self.blocks {
            if let Some(before) = start.checked_div(block) {
                end = end.min((before + 1).saturating_mul(block));
            }
        }
        self.next = end;
        Some(start..end)
    }
}

/// The product of two scales, as a sum is multiplied by it: exact where both are powers of two,
/// else rounded to f32. In f64, so that 2^-254 is no zero.
#[inline]
pub(crate) fn joint_scale(a: f32, b: f32) -> f64 {
    let product = a * b;
    if !product.is_normal() && power_of_two(a).is_some() && power_of_two(b).is_some() {
        return a as f64 * b as f64;
    }
    product as f64
}

/// A sum times its scale, rounded once to f32: the product of two 24-bit numbers is exact in f64.
#[inline]
pub(crate) fn scaled(scale: f64, sum: f32) -> f32 {
    (scale * sum as f64) as f32
}

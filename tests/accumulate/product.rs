// SPDX-License-Identifier: MIT OR Apache-2.0
//! A product with all that belongs to it: what the tests of several orders share.

use ofp8::accumulate::{Operand, Order, gemm};
use ofp8::{Block, Convention, Error, Format, Matrix, MatrixMut, Recipe, Scales};

use crate::oracle::{Dice, value};

/// How the scales of a factor lie, in vectors x K.
#[derive(Clone, Copy, Debug)]
pub enum Scaling {
    None,
    F32(Block),
    E8M0(Block),
}

/// One factor: codes as vectors, and how they are stored.
pub struct Factor {
    pub format: Format,
    pub vectors: usize,
    pub depth: usize,
    pub transposed: bool,
    /// Elements between rows as stored.
    stride: usize,
    stored: Vec<u8>,
    scaling: Scaling,
    f32_scales: Vec<f32>,
    e8m0_scales: Vec<u8>,
}

fn swap(block: Block, transposed: bool) -> Block {
    if transposed {
        Block::new(block.cols, block.rows)
    } else {
        block
    }
}

/// The stride that a matrix is said to have: one row may say anything.
fn said(rows: usize, stride: usize) -> usize {
    if rows == 1 { usize::MAX } else { stride }
}

impl Factor {
    pub fn random(
        dice: &mut Dice,
        format: Format,
        (vectors, depth): (usize, usize),
        transposed: bool,
        scaling: Scaling,
    ) -> Factor {
        // A recipe is for formats with a sign.
        let scaling = match scaling {
            _ if !format.spec().is_signed() => Scaling::None,
            scaling => scaling,
        };
        let (rows, cols) = if transposed {
            (depth, vectors)
        } else {
            (vectors, depth)
        };
        let stride = cols + dice.below(3) as usize;
        let (mut f32_scales, mut e8m0_scales) = (Vec::new(), Vec::new());
        let blocks = |block: Block| {
            let (down, across) = swap(block, transposed).grid(rows, cols);
            down * across
        };
        match scaling {
            Scaling::None => {}
            Scaling::F32(block) => f32_scales = (0..blocks(block)).map(|_| dice.scale()).collect(),
            Scaling::E8M0(block) => {
                let scale = |dice: &mut Dice| 115 + dice.below(24) as u8;
                e8m0_scales = (0..blocks(block)).map(|_| scale(dice)).collect();
            }
        }
        Factor {
            format,
            vectors,
            depth,
            transposed,
            stride,
            stored: dice.codes(format, rows * stride),
            scaling,
            f32_scales,
            e8m0_scales,
        }
    }

    pub fn operand(&self) -> Operand<'_> {
        let (rows, cols) = if self.transposed {
            (self.depth, self.vectors)
        } else {
            (self.vectors, self.depth)
        };
        let codes = Matrix::with_stride(&self.stored, rows, cols, said(rows, self.stride)).unwrap();
        let block = swap(self.block(), self.transposed);
        let operand = match self.scaling {
            Scaling::None => Operand::new(self.format, codes),
            Scaling::F32(_) => {
                let scaling = ofp8::Scaling::F32(Convention::DeepSeek);
                let recipe = Recipe::new(self.format, block, scaling).unwrap();
                Operand::quantized(&recipe, codes, Scales::F32(&self.f32_scales))
            }
            Scaling::E8M0(_) => {
                let recipe = Recipe::MXFP8
                    .with_block(block)
                    .with_element(self.format)
                    .unwrap();
                Operand::quantized(&recipe, codes, Scales::E8M0(&self.e8m0_scales))
            }
        };
        let operand = operand.unwrap();
        if self.transposed {
            operand.transposed()
        } else {
            operand
        }
    }

    pub fn code(&self, vector: usize, k: usize) -> u8 {
        let (row, col) = if self.transposed {
            (k, vector)
        } else {
            (vector, k)
        };
        self.stored[row * self.stride + col]
    }

    pub fn codes(&self, vector: usize) -> Vec<u8> {
        (0..self.depth).map(|k| self.code(vector, k)).collect()
    }

    pub fn value(&self, vector: usize, k: usize) -> f32 {
        value(self.format, self.code(vector, k)) as f32
    }

    fn block(&self) -> Block {
        match self.scaling {
            Scaling::None => Block::TENSOR,
            Scaling::F32(block) | Scaling::E8M0(block) => block,
        }
    }

    /// The scale of an element.
    pub fn scale(&self, vector: usize, k: usize) -> f32 {
        let block = self.block();
        let place = |at: usize, size: usize| at.checked_div(size).unwrap_or(0);
        let (v, k) = (place(vector, block.rows), place(k, block.cols));
        let (down, across) = block.grid(self.vectors, self.depth);
        let index = if self.transposed {
            k * down + v
        } else {
            v * across + k
        };
        match self.scaling {
            Scaling::None => 1.0,
            Scaling::F32(_) => self.f32_scales[index],
            Scaling::E8M0(_) => 2f32.powi(self.e8m0_scales[index] as i32 - 127),
        }
    }

    /// Where K is cut by this factor.
    fn cuts(&self, k: usize) -> bool {
        let depth = self.block().cols;
        depth != 0 && k.is_multiple_of(depth)
    }
}

/// K cut where a scale of either factor changes.
pub fn segments(a: &Factor, b: &Factor) -> Vec<std::ops::Range<usize>> {
    let mut cuts: Vec<usize> = (1..a.depth).filter(|&k| a.cuts(k) || b.cuts(k)).collect();
    cuts.insert(0, 0);
    cuts.push(a.depth);
    let pairs = cuts.windows(2).map(|pair| pair[0]..pair[1]);
    pairs.filter(|range| !range.is_empty()).collect()
}

/// The whole product, into a matrix with a stride, whose gaps must stay as they were.
pub fn product(a: Operand<'_>, b: Operand<'_>, order: Order) -> Result<Vec<f32>, Error> {
    let (rows, cols, stride) = (a.vectors(), b.vectors(), b.vectors() + 2);
    let mut c = vec![-7.0; rows * stride];
    gemm(
        a,
        b,
        order,
        MatrixMut::with_stride(&mut c, rows, cols, said(rows, stride))?,
    )?;
    let mut entries = Vec::new();
    for row in c.chunks(stride) {
        assert_eq!(row[cols..], [-7.0; 2], "a gap was written");
        entries.extend(&row[..cols]);
    }
    Ok(entries)
}

/// Scalings that a product may meet, the same for all formats.
pub const SCALINGS: [(Scaling, Scaling); 9] = [
    (Scaling::None, Scaling::None),
    (Scaling::F32(Block::TENSOR), Scaling::F32(Block::TENSOR)),
    (Scaling::F32(Block::ROW), Scaling::F32(Block::ROW)),
    (
        Scaling::E8M0(Block::new(1, 32)),
        Scaling::E8M0(Block::new(1, 32)),
    ),
    (
        Scaling::F32(Block::new(1, 128)),
        Scaling::F32(Block::new(128, 128)),
    ),
    (
        Scaling::F32(Block::new(1, 16)),
        Scaling::E8M0(Block::new(3, 40)),
    ),
    (Scaling::E8M0(Block::new(2, 48)), Scaling::F32(Block::ROW)),
    (Scaling::None, Scaling::F32(Block::new(1, 200))),
    (Scaling::F32(Block::new(1, 1)), Scaling::None),
];

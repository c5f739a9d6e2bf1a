// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums of products of codes: the dot product, the matrix product, and gradient buffers.
//!
//! The product of two codes is exact in f32; what differs between machines is how products are
//! summed. An [`Order`] says how:
//!
//! - [`Order::Sequential`]: f32, in a documented order, the same bits on every machine;
//! - [`Order::Exact`]: as if with unbounded precision, rounded once;
//! - [`Order::TensorCore`]: as a tensor core does it, bit for bit ([`Model`]).
//!
//! ```
//! use ofp8::{Format, Matrix, MatrixMut, Recipe, Scales};
//! use ofp8::accumulate::{Model, Operand, Order, Promotion, gemm};
//!
//! // A of 2 x 3 and B of 2 x 3 (two vectors of K = 3), all ones in E4M3 but for one 2.
//! let (a, b) = ([0x38, 0x38, 0x38, 0x40, 0x38, 0x38], [0x38; 6]);
//! let scales = Scales::F32(&[1.0, 0.5]);
//! let a = Operand::quantized(&Recipe::ROW, Matrix::new(&a, 2, 3)?, scales)?;
//! let b = Operand::new(Format::E4M3, Matrix::new(&b, 2, 3)?)?;
//! let mut c = [0.0; 4];
//! gemm(a, b, Order::Sequential, MatrixMut::new(&mut c, 2, 2)?)?;
//! assert_eq!(c, [3.0, 3.0, 2.0, 2.0]);
//! let order = Order::TensorCore(Model::HopperWgmma, Promotion::DEFAULT);
//! gemm(a, b, order, MatrixMut::new(&mut c, 2, 2)?)?;
//! assert_eq!(c, [3.0, 3.0, 2.0, 2.0]);
//! # Ok::<(), ofp8::Error>(())
//! ```
//!
//! # Scales
//! A scale that serves a whole vector (per tensor, per row) multiplies the finished sum. Where
//! scales change along K (MX 1x32, 1x128 x 128x128), K is cut at every change of either factor's:
//! each block is summed by itself, from zero, multiplied by its scale, and added to the result in
//! order. Two scales are joined first: exactly where both are powers of two, else by one f32
//! product.
//!
//! | | the sum of a block | times its scale | and to the result |
//! |---|---|---|---|
//! | `Sequential` | in the order below | rounded once to f32 | one f32 addition, from 0 |
//! | `Exact`, all scales of the output powers of two | exact | exact | exact; rounded once at the end |
//! | `Exact`, other scales | exact | exact, both scales, rounded once to f32 | one f32 addition, from 0 |
//! | `TensorCore` | by the model, from 0 | | both at once, by one fused f32 multiply-add |
//!
//! [`Model::Tcgen05Mx`] takes the scales into the instruction instead.
//!
//! # The sequential order
//! An entry of a matrix product starts at 0 and adds its products in the order of K. A single
//! [`dot`] runs in 16 lanes: element k of a block is added to lane k mod 16, and the lanes are
//! joined by halves: lane l and l + 8, then l and l + 4, l + 2, l + 1.
//!
//! All products and sums are f32, rounded to nearest-even. No product or sum of codes can overflow
//! or be subnormal, so that the caller's floating-point environment, fused multiply-add and the
//! instruction set make no difference. With u = 2^-24 and S the sum of the magnitudes of the
//! products, the error before scaling is at most `n u / (1 - n u) * S` with n = K for an entry of a
//! matrix product and n = ceil(K / 16) + 4 for a dot product (Higham, Accuracy and Stability of
//! Numerical Algorithms, §4.2).
//!
//! # Special values
//! NaN, infinity times zero and infinities of both signs give NaN (`f32::NAN`; from a tensor core
//! 0x7FFFFFFF); otherwise an infinity stays. A sum of zeros is +0, and so is a product with K = 0.

mod dot;
mod exact;
mod gemm;
mod gradient;
mod mma;
mod operand;

pub use dot::dot;
pub use exact::ExactSum;
pub use gemm::{Quantized, gemm, gemm_quantized};
pub use gradient::Gradient;
pub use mma::{MMA_K, Model};
pub use operand::Operand;

use crate::error::Error;

/// How products are summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Order {
    /// In f32, in the documented order.
    #[default]
    Sequential,
    /// Exactly, rounded once.
    Exact,
    /// As a tensor core does it.
    TensorCore(Model, Promotion),
}

/// How many products a tensor core sums before its accumulator is added to a second one in f32 and
/// starts again from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Promotion(usize);

impl Default for Promotion {
    fn default() -> Promotion {
        Promotion::DEFAULT
    }
}

impl Promotion {
    /// After every 128 products: DeepSeek-V3, TransformerEngine's split accumulator, CUTLASS.
    pub const DEFAULT: Promotion = Promotion(128);
    /// Never: what plain `wgmma` does (fast accumulation).
    pub const OFF: Promotion = Promotion(0);

    /// After every `products`: a positive multiple of the 32 of one instruction, else
    /// [`Error::Shape`].
    pub const fn every(products: usize) -> Result<Promotion, Error> {
        if products == 0 || !products.is_multiple_of(MMA_K) {
            return Err(Error::Shape);
        }
        Ok(Promotion(products))
    }

    /// The number of products; 0 for never.
    pub const fn products(self) -> usize {
        self.0
    }
}

impl Order {
    /// Whether the order can be used on these factors.
    fn check(self, a: &Operand<'_>, b: &Operand<'_>) -> Result<(), Error> {
        let Order::TensorCore(model, _) = self else {
            return Ok(());
        };
        if !model.takes(a.format()) || !model.takes(b.format()) {
            return Err(Error::Recipe);
        }
        let fits = |operand: &Operand<'_>| {
            operand.has_e8m0_scales() && operand.block_depth().is_multiple_of(MMA_K)
        };
        if model.is_scaled() && !(fits(a) && fits(b)) {
            return Err(Error::Recipe);
        }
        Ok(())
    }
}

/// The one NaN that is given back.
fn canonical(value: f32) -> f32 {
    if value.is_nan() { f32::NAN } else { value }
}

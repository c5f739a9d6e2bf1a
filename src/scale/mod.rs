// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scaling: a block shape and a scale encoding, described by a [`Recipe`].
//!
//! A matrix is cut into blocks; each block has one scale; an element is stored as the code of the
//! element divided by the scale of its block. What is stored always dequantizes by
//! multiplication: `value = scale * decode(code)`.
//!
//! Per tensor, per row, 1x128, 128x128 and MX 1x32 are the same quantizer with other numbers.
//! The names people know are constants: [`Recipe::MXFP8`], [`Recipe::DEEPSEEK_WEIGHT`], ...
//!
//! # Special blocks
//! What the scale of a block is where its amax is not an ordinary number (after [`Recipe`]'s
//! epsilon and bound were applied):
//!
//! | amax of the block | f32 scale | power-of-two f32 scale | E8M0 scale | elements |
//! |---|---|---|---|---|
//! | 0 | 1.0 | 1.0 | 0x00 (2^-127) | zeros |
//! | subnormal | by the same rule, on the normalised significand | | | |
//! | so small that the scale underflows | the smallest that its [`Convention`] has | 2^-127 | 0x00 | by that scale |
//! | so large that the scale overflows | `f32::MAX` | 2^127 | 0xFE | by that scale, saturating |
//! | infinity or NaN, [`Special::Poison`] | NaN | NaN | 0xFF | the code of NaN |
//! | infinity or NaN, [`Special::Ignore`] | from the finite elements | | | infinities and NaN by the cast |
//! | infinity or NaN, [`Special::Clamp`] | `f32::MAX` | 2^127 | 0xFE | by that scale; infinities and NaN by the cast |
//!
//! Under [`Scaling::TwoLevel`] a block of zeros, or one too small for its scale's format, has the
//! scale 0; a poisoned block has that format's NaN; a clamped one its largest value.

mod batch;
mod block;
mod copies;
pub mod delayed;
mod expand;
mod grid;
mod pass;
mod presets;
mod quantize;
mod rule;

pub use block::{dequantize_block, quantize_block};
pub use copies::CopyMut;
pub use quantize::{GivenScales, NotFinite, Scales, ScalesMut, validate};
pub use rule::BlockScale;

use crate::error::Error;
use crate::layout::{Layout, ScaleOrder};
use crate::policy::Cast;
use crate::spec::Format;
use crate::stats::Amax;

/// The shape of the blocks that share a scale, in elements. A block at the end of a row or a
/// column may be smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// Rows of a block; 0 means all rows.
    pub rows: usize,
    /// Columns of a block; 0 means all columns.
    pub cols: usize,
}

impl Block {
    /// One block: the whole tensor.
    pub const TENSOR: Block = Block::new(0, 0);
    /// A block for each row (per token, per output channel).
    pub const ROW: Block = Block::new(1, 0);
    /// A block for each column.
    pub const COLUMN: Block = Block::new(0, 1);

    /// Blocks of `rows` x `cols` elements; 0 means all of them.
    pub const fn new(rows: usize, cols: usize) -> Block {
        Block { rows, cols }
    }

    /// How many blocks a matrix has: down and across; 0 along an extent of 0.
    pub const fn grid(self, rows: usize, cols: usize) -> (usize, usize) {
        (count(rows, self.rows), count(cols, self.cols))
    }
}

/// Blocks of `size` (0: of any size) that `extent` elements make.
const fn count(extent: usize, size: usize) -> usize {
    if extent == 0 {
        0
    } else if size == 0 {
        1
    } else {
        extent.div_ceil(size)
    }
}

/// How an f32 scale is computed and an element divided by it: each as a system in wide use does,
/// to the bit. `max` is the largest value of the element format, less the margin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Convention {
    /// `q = max / amax` (at most `f32::MAX`, at least its reciprocal); elements `x * q`; stored `1 / q`.
    /// TransformerEngine's current scaling (`compute_scale_from_amax`).
    #[default]
    TransformerEngine,
    /// `s = amax / max` (at least 2^-149); elements `x / s`; stored `s`.
    /// DeepSeek-V3's inference kernels.
    DeepSeek,
    /// `s = amax / max` (at least 2^-126); elements `x * (1 / s)`; stored `s`. DeepGEMM.
    DeepGemm,
}

/// Which power of two a scale is, for a block of amax `a` and elements of largest value `m`.
///
/// All are integer rules on exponents and significands (MX v1.0 §6.3 gives the first; the others
/// are torchao's names), exact for subnormal amax too. `emax` is the exponent of `m`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ExponentRule {
    /// `floor(log2 a) - emax`: OCP's own rule; elements above `m` saturate.
    Floor,
    /// `ceil(log2 a) - emax`.
    Ceil,
    /// `floor(log2 a') - emax`, where `a'` is `a` rounded to the element's mantissa width, ties
    /// up.
    Even,
    /// The smallest that keeps the whole block within the range: `ceil(log2(a / m))`. cuBLAS,
    /// TransformerEngine, DeepGEMM's UE8M0, torchao's RCEIL.
    #[default]
    RoundUp,
    /// The nearest to `a / m`, half-way up. About half of all blocks saturate: here for the
    /// systems that have it, not to be recommended.
    Nearest,
    /// Of the one that [`ExponentRule::RoundUp`] gives and the one below it, that with the
    /// smaller sum of squared errors over the block (in f64, in the order of the elements; the
    /// first where they are equal). Not for training: it quantizes each block three times. A
    /// scale computed from an amax alone is that of round-up.
    LeastError,
}

/// How scales are computed and stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scaling {
    /// As f32.
    F32(Convention),
    /// As f32, but a power of two between 2^-127 and 2^127, applied exactly.
    PowerOfTwo(ExponentRule),
    /// As an E8M0 byte, applied exactly.
    E8M0(ExponentRule),
    /// As a code of an unsigned format (UE4M3, UE5M3), under one f32 for the tensor: NVFP4, to the
    /// bit as TransformerEngine computes it (`core_nvfp4.cuh`). With `M` the largest scale of
    /// that format, `m` the largest element and `A` the amax of the tensor:
    ///
    /// - `S = min(M * m / A, f32::MAX)`, 1 for a tensor of zeros; the tensor's scale is `1 / S`;
    /// - a block's scale is the code of `min(amax * (S * (1 / m)), f32::MAX)`;
    /// - an element is `x * min(1 / (scale * (1 / S)), f32::MAX)`.
    ///
    /// An element dequantizes to `(tensor scale * block scale) * element`, two f32 products. A
    /// block that holds an infinity or a NaN takes no part in `A`.
    TwoLevel(Format),
}

impl Scaling {
    /// What kind of buffer the scales go to.
    const fn kind(self) -> Kind {
        match self {
            Scaling::F32(_) | Scaling::PowerOfTwo(_) => Kind::F32,
            Scaling::E8M0(_) => Kind::E8M0,
            Scaling::TwoLevel(_) => Kind::TwoLevel,
        }
    }
}

/// What kind of buffer scales are stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    F32,
    E8M0,
    TwoLevel,
}

/// What becomes of a block that holds an infinity or a NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Special {
    /// Scale NaN, every element the code of NaN: nothing is lost silently.
    #[default]
    Poison,
    /// The scale comes from the finite elements.
    Ignore,
    /// The largest scale (TransformerEngine's MXFP8: 0xFE).
    Clamp,
}

/// A quantizer's description: element format, block shape, scaling, and the policies.
///
/// Combinations that make no sense cannot be built. Start from a constant or [`Recipe::new`],
/// then change what differs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recipe {
    pub(crate) element: Format,
    pub(crate) block: Block,
    pub(crate) scaling: Scaling,
    pub(crate) cast: Cast,
    pub(crate) special: Special,
    pub(crate) epsilon: f32,
    pub(crate) amax_bound: f32,
    pub(crate) margin: i32,
    pub(crate) tensor_amax: Option<Amax>,
    pub(crate) scale_order: ScaleOrder,
}

/// The largest margin, in either direction.
pub const MAX_MARGIN: i32 = 64;

impl Recipe {
    /// A recipe with the default cast, poisoned special blocks, no epsilon, no bound, no margin.
    ///
    /// [`Error::Recipe`] where the format is not one for elements (it must have a sign and a
    /// zero), or the scales' not one for two levels.
    pub const fn new(element: Format, block: Block, scaling: Scaling) -> Result<Recipe, Error> {
        let spec = element.spec();
        if !spec.zero || !spec.is_signed() {
            return Err(Error::Recipe);
        }
        if let Scaling::TwoLevel(block) = scaling
            && !matches!(block, Format::UE4M3 | Format::UE5M3)
        {
            return Err(Error::Recipe);
        }
        Ok(Recipe {
            element,
            block,
            scaling,
            cast: Cast::DEFAULT,
            special: Special::Poison,
            epsilon: 0.0,
            amax_bound: f32::INFINITY,
            margin: 0,
            tensor_amax: None,
            scale_order: ScaleOrder::RowMajor,
        })
    }

    /// The same recipe with another cast.
    pub const fn with_cast(self, cast: Cast) -> Recipe {
        Recipe { cast, ..self }
    }

    /// The same recipe with another block shape.
    pub const fn with_block(self, block: Block) -> Recipe {
        Recipe { block, ..self }
    }

    /// The same recipe with another scaling; [`Error::Recipe`] as in [`Recipe::new`].
    pub const fn with_scaling(self, scaling: Scaling) -> Result<Recipe, Error> {
        match Recipe::new(self.element, self.block, scaling) {
            Ok(_) => Ok(Recipe { scaling, ..self }),
            Err(error) => Err(error),
        }
    }

    /// The same recipe with another element format; [`Error::Recipe`] as in [`Recipe::new`].
    pub const fn with_element(self, element: Format) -> Result<Recipe, Error> {
        match Recipe::new(element, self.block, self.scaling) {
            Ok(_) => Ok(Recipe { element, ..self }),
            Err(error) => Err(error),
        }
    }

    /// The same recipe with another policy for blocks with infinities or NaN.
    pub const fn with_special(self, special: Special) -> Recipe {
        Recipe { special, ..self }
    }

    /// The same recipe with a lower bound on amax (TransformerEngine's `amax_epsilon`), zero or
    /// a positive finite number; else [`Error::Recipe`].
    pub const fn with_epsilon(self, epsilon: f32) -> Result<Recipe, Error> {
        // By its bits: the caller may have subnormals taken as zero.
        let bits = epsilon.to_bits();
        if bits < f32::INFINITY.to_bits() || bits == (-0.0f32).to_bits() {
            Ok(Recipe { epsilon, ..self })
        } else {
            Err(Error::Recipe)
        }
    }

    /// The same recipe with an upper bound on amax (FBGEMM's `scale_ub`), a positive number or
    /// infinity for none; else [`Error::Recipe`]. Elements above it saturate.
    pub const fn with_amax_bound(self, amax_bound: f32) -> Result<Recipe, Error> {
        let bits = amax_bound.to_bits();
        if bits != 0 && bits <= f32::INFINITY.to_bits() {
            Ok(Recipe { amax_bound, ..self })
        } else {
            Err(Error::Recipe)
        }
    }

    /// The same recipe with a margin: scales are 2^margin times larger, so that values may grow
    /// by that factor before they saturate. [`Error::Recipe`] beyond +-[`MAX_MARGIN`].
    pub const fn with_margin(self, margin: i32) -> Result<Recipe, Error> {
        if margin >= -MAX_MARGIN && margin <= MAX_MARGIN {
            Ok(Recipe { margin, ..self })
        } else {
            Err(Error::Recipe)
        }
    }

    /// The same recipe for a part of a tensor whose amax is known: what the scale of the tensor
    /// comes from under [`Scaling::TwoLevel`], where it is otherwise the amax of the matrix at
    /// hand. The other scalings have no use for it.
    pub const fn with_tensor_amax(self, amax: Amax) -> Recipe {
        Recipe {
            tensor_amax: Some(amax),
            ..self
        }
    }

    /// The same recipe with another order of the scales in memory, as tensor cores read them:
    /// wherever scales are written or read by it, they lie as [`Recipe::scale_layout`] says, and
    /// padding is written zero.
    ///
    /// ```
    /// use ofp8::{Matrix, MatrixMut, Recipe, ScaleOrder, ScalesMut};
    ///
    /// let recipe = Recipe::MXFP8.with_scale_order(ScaleOrder::Tile128x4);
    /// let mut codes = [0; 3 * 64];
    /// let mut scales = vec![0; recipe.scale_layout(3, 64)?.size()];
    /// recipe.quantize(
    ///     Matrix::new(&[1f32; 3 * 64], 3, 64)?,
    ///     MatrixMut::new(&mut codes, 3, 64)?,
    ///     ScalesMut::E8M0(&mut scales),
    /// )?;
    /// // A tile has 128 x 4 scales; each row's four lie 16 apart.
    /// assert_eq!(scales.len(), 512);
    /// assert_eq!(scales[..20], [119, 119, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 119, 119, 0, 0]);
    /// # Ok::<(), ofp8::Error>(())
    /// ```
    pub const fn with_scale_order(self, scale_order: ScaleOrder) -> Recipe {
        Recipe {
            scale_order,
            ..self
        }
    }

    /// Where the scales of a matrix of `rows` x `cols` lie: their number is its
    /// [`size`](Layout::size), padding included, and [`index`](Layout::index) the place of a block.
    /// Blocks of one column and several rows, or all, have column-wise scales
    /// ([`Layout::columnwise`]): 32x1, 128x1, [`Block::COLUMN`]. [`ScaleOrder::RowMajor`] is always that of
    /// the grid.
    ///
    /// [`Error::Shape`] where their number overflows.
    pub const fn scale_layout(&self, rows: usize, cols: usize) -> Result<Layout, Error> {
        let (down, across) = self.block.grid(rows, cols);
        let is_columnwise = self.block.rows != 1 && self.block.cols == 1;
        if is_columnwise && !self.scale_order.is_row_major() {
            Layout::columnwise(self.scale_order, down, across)
        } else {
            Layout::new(self.scale_order, down, across)
        }
    }

    /// The element format.
    pub const fn element(&self) -> Format {
        self.element
    }

    /// The block shape.
    pub const fn block(&self) -> Block {
        self.block
    }

    /// Whether there is a scale for the tensor besides those of its blocks.
    pub(crate) const fn is_two_level(&self) -> bool {
        matches!(self.scaling, Scaling::TwoLevel(_))
    }

    /// The scaling.
    pub const fn scaling(&self) -> Scaling {
        self.scaling
    }

    /// The cast of the elements.
    pub const fn cast(&self) -> Cast {
        self.cast
    }

    /// The order of the scales in memory.
    pub const fn scale_order(&self) -> ScaleOrder {
        self.scale_order
    }

    /// The policy for blocks with infinities or NaN.
    pub const fn special(&self) -> Special {
        self.special
    }
}

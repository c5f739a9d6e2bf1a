// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recipes under the names people know.

use super::{Block, Convention, ExponentRule, Recipe, Scaling};
use crate::spec::Format;

/// A recipe that is known to be valid.
const fn preset(element: Format, block: Block, scaling: Scaling) -> Recipe {
    match Recipe::new(element, block, scaling) {
        Ok(recipe) => recipe,
        Err(_) => panic!("a preset must be valid"),
    }
}

const TE: Scaling = Scaling::F32(Convention::TransformerEngine);
const DEEPSEEK: Scaling = Scaling::F32(Convention::DeepSeek);
const ROUND_UP: Scaling = Scaling::E8M0(ExponentRule::RoundUp);

impl Recipe {
    /// One f32 scale for the tensor, E4M3 elements (TransformerEngine's `Float8CurrentScaling`).
    pub const TENSOR: Recipe = preset(Format::E4M3, Block::TENSOR, TE);

    /// One f32 scale a row, E4M3 elements (per token, per output channel).
    pub const ROW: Recipe = preset(Format::E4M3, Block::ROW, TE);

    /// DeepSeek-V3's activations: 1x128 tiles, f32 scales, E4M3 elements.
    pub const DEEPSEEK_ACTIVATION: Recipe = preset(Format::E4M3, Block::new(1, 128), DEEPSEEK);

    /// DeepSeek-V3's weights: 128x128 blocks, f32 scales, E4M3 elements.
    pub const DEEPSEEK_WEIGHT: Recipe = preset(Format::E4M3, Block::new(128, 128), DEEPSEEK);

    /// MXFP8 with E4M3 elements: 1x32 blocks, E8M0 scales. The scale rule is round-up, as cuBLAS
    /// and TransformerEngine have it; OCP's own is [`ExponentRule::Floor`].
    pub const MXFP8: Recipe = preset(Format::E4M3, Block::new(1, 32), ROUND_UP);

    /// MXFP8 with E5M2 elements; otherwise as [`Recipe::MXFP8`].
    pub const MXFP8_E5M2: Recipe = preset(Format::E5M2, Block::new(1, 32), ROUND_UP);
}

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

    /// MXFP6 with E2M3 elements; otherwise as [`Recipe::MXFP8`].
    pub const MXFP6_E2M3: Recipe = preset(Format::E2M3, Block::new(1, 32), ROUND_UP);

    /// MXFP6 with E3M2 elements; otherwise as [`Recipe::MXFP8`].
    pub const MXFP6_E3M2: Recipe = preset(Format::E3M2, Block::new(1, 32), ROUND_UP);

    /// MXFP4: E2M1 elements; otherwise as [`Recipe::MXFP8`].
    pub const MXFP4: Recipe = preset(Format::E2M1, Block::new(1, 32), ROUND_UP);

    /// MXINT8: elements of 8 bits, fixed point; otherwise as [`Recipe::MXFP8`].
    pub const MXINT8: Recipe = preset(Format::MxInt8, Block::new(1, 32), ROUND_UP);

    /// NVFP4: E2M1 elements in 1x16 blocks, UE4M3 scales under one f32 for the tensor.
    pub const NVFP4: Recipe = preset(
        Format::E2M1,
        Block::new(1, 16),
        Scaling::TwoLevel(Format::UE4M3),
    );

    /// NVFP4 for weights: 16x16 blocks; otherwise as [`Recipe::NVFP4`].
    pub const NVFP4_WEIGHT: Recipe = Recipe::NVFP4.with_block(Block::new(16, 16));

    /// DeepSeek-V3.1's activations: 1x128 tiles, E8M0 scales, rounded up.
    pub const DEEPSEEK_ACTIVATION_E8M0: Recipe = preset(Format::E4M3, Block::new(1, 128), ROUND_UP);

    /// DeepSeek-V3.1's weights: 128x128 blocks, E8M0 scales, rounded up.
    pub const DEEPSEEK_WEIGHT_E8M0: Recipe = preset(Format::E4M3, Block::new(128, 128), ROUND_UP);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scales of coarse blocks for kernels that want those of finer ones.

use super::grid::Grid;
use super::quantize::{Scales, ScalesMut};
use super::{Recipe, Scaling};
use crate::error::Error;
use crate::scalar;
use crate::spec::Format;

impl Recipe {
    /// Writes the scales by which `to` dequantizes the codes of this recipe to the same values,
    /// where the blocks of `to` are parts of this one's: each is the scale of the block that it lies
    /// in. From 128x128 blocks to 1x128, from 1x128 to 1x32; from f32 to E8M0 where every scale is a
    /// power of two that E8M0 has (NaN becomes NaN), and back. Both lie in the orders that their
    /// recipes name; codes stay as they are.
    ///
    /// ```
    /// use ofp8::{Recipe, Scales, ScalesMut};
    ///
    /// // A row of 256 elements: two blocks of 1x128 with f32 scales, eight of 1x32 with E8M0.
    /// let mut fine = [0; 8];
    /// let scales = Scales::F32(&[0.5, 4.0]);
    /// let coarse = Recipe::DEEPSEEK_ACTIVATION;
    /// coarse.expand_scales(&Recipe::MXFP8, 1, 256, scales, ScalesMut::E8M0(&mut fine))?;
    /// assert_eq!(fine, [126, 126, 126, 126, 129, 129, 129, 129]);
    /// # Ok::<(), ofp8::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] or [`Error::Recipe`] (the kind of the scales) where scales are not those of
    /// a matrix of that shape, [`Error::Shape`] where their number overflows; [`Error::Recipe`], too,
    /// for another element format, for blocks that are not parts of this one's, and under two
    /// levels; [`Error::Scale`] for a scale that `to` cannot store. On an error nothing is written.
    pub fn expand_scales(
        &self,
        to: &Recipe,
        rows: usize,
        cols: usize,
        scales: Scales<'_>,
        mut target: ScalesMut<'_>,
    ) -> Result<(), Error> {
        let (coarse, fine) = (Grid::new(self, rows, cols)?, Grid::new(to, rows, cols)?);
        self.check_stored(rows, cols, &scales)?;
        to.check_room(&fine, &target)?;
        let are_parts =
            is_part(to.block.rows, self.block.rows) && is_part(to.block.cols, self.block.cols);
        if self.is_two_level() || to.is_two_level() || self.element != to.element || !are_parts {
            return Err(Error::Recipe);
        }
        let mut can_be_stored = true;
        coarse.each_cell(|cell| {
            can_be_stored &= to.stores(self.stored_scale(&scales, cell.index));
        });
        if !can_be_stored {
            return Err(Error::Scale);
        }
        if fine.begins_with_padding() {
            target.clear();
        }
        fine.each_cell(|cell| {
            let block = |first: usize, size: usize| first.checked_div(size).unwrap_or(0);
            let i = block(cell.rows.start, self.block.rows);
            let j = block(cell.cols.start, self.block.cols);
            let scale = self.stored_scale(&scales, coarse.index(i, j));
            match &mut target {
                ScalesMut::F32(scales) => {
                    if let Some(place) = scales.get_mut(cell.index) {
                        *place = scale;
                    }
                }
                ScalesMut::E8M0(codes) | ScalesMut::TwoLevel { blocks: codes, .. } => {
                    let code = scalar::encode_exact(Format::E8M0, scale);
                    if let Some((place, code)) = codes.get_mut(cell.index).zip(code) {
                        *place = code;
                    }
                }
            }
        });
        Ok(())
    }

    /// Whether a block may have this scale.
    fn stores(&self, scale: f32) -> bool {
        match self.scaling {
            Scaling::F32(_) => true,
            _ => scalar::encode_exact(Format::E8M0, scale).is_some(),
        }
    }
}

/// Whether parts of that size (0: all there is) make up wholes of another.
const fn is_part(size: usize, of: usize) -> bool {
    of == 0 || size != 0 && of.is_multiple_of(size)
}

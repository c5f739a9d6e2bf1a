// SPDX-License-Identifier: MIT OR Apache-2.0
//! One tensor through the library, in bands of rows, on all threads.
//!
//! The bands depend on the shape and the recipe alone, and their results are joined in order: the
//! output and the error sums are the same for every number of threads.

use ofp8::monitor::{Measure, measure};
use ofp8::scale::{NotFinite, validate};
use ofp8::{
    Amax, Bf16, Block, F16, Matrix, MatrixMut, Packing, Recipe, Scales, ScalesMut, Scaling, Stats,
    slice,
};
use rayon::prelude::*;
use safetensors::Dtype;

/// About how many elements a band has: enough to be worth a task, small enough for the cache of
/// a core.
const BAND: usize = 1 << 16;

/// A quantized tensor.
pub struct Quantized {
    /// The codes, packed where they are narrower than a byte.
    pub codes: Vec<u8>,
    /// The scales of the blocks as they are stored: little-endian.
    pub scales: Vec<u8>,
    /// The scale of each matrix, where there is one above those of its blocks; as they.
    pub tensor_scales: Vec<u8>,
    /// What the quantizer saw.
    pub stats: Stats,
    /// How far the result is from the source.
    pub measure: Measure,
    /// The signal-to-noise ratio of the row that has the lowest; infinite where all are exact.
    pub worst_row: f64,
}

impl Quantized {
    /// The bytes of codes and scales.
    pub fn len(&self) -> usize {
        self.codes.len() + self.scales.len() + self.tensor_scales.len()
    }
}

/// Quantizes matrices (how many, rows, columns) of F32, F16 or BF16 elements, little-endian: no
/// two share a scale. An infinity or a NaN is named, with the rows of all counted on, and ends it.
pub fn quantize(
    recipe: &Recipe,
    packing: Option<Packing>,
    dtype: Dtype,
    bytes: &[u8],
    (count, rows, cols): (usize, usize, usize),
) -> Result<Quantized, NotFinite> {
    let mut all = Quantized {
        codes: Vec::new(),
        scales: Vec::new(),
        tensor_scales: Vec::new(),
        stats: Stats::EMPTY,
        measure: Measure::default(),
        worst_row: f64::INFINITY,
    };
    for (i, bytes) in bytes.chunks(bytes.len() / count).enumerate() {
        let one = quantize_one(recipe, dtype, bytes, (rows, cols));
        let mut one = one.map_err(|found| NotFinite {
            row: i * rows + found.row,
            ..found
        })?;
        if let Some(packing) = packing {
            one.codes = pack(packing, &one.codes);
        }
        if count == 1 {
            return Ok(one);
        }
        all.codes.extend_from_slice(&one.codes);
        all.scales.extend_from_slice(&one.scales);
        all.tensor_scales.extend_from_slice(&one.tensor_scales);
        all.stats = all.stats.merge(one.stats);
        all.measure = all.measure.merge(one.measure);
        all.worst_row = all.worst_row.min(one.worst_row);
    }
    Ok(all)
}

/// Packs the codes of a matrix, whose rows fill whole bytes: as packing row by row would.
fn pack(packing: Packing, codes: &[u8]) -> Vec<u8> {
    let mut packed = vec![0; packing.packed_len(codes.len())];
    packing
        .pack(codes, &mut packed)
        .expect("the length is that of the packing");
    packed
}

/// One matrix of [`quantize`].
fn quantize_one(
    recipe: &Recipe,
    dtype: Dtype,
    bytes: &[u8],
    (rows, cols): (usize, usize),
) -> Result<Quantized, NotFinite> {
    match dtype {
        Dtype::F32 => Source::<f32>::new(bytes, rows, cols).quantize(recipe),
        Dtype::F16 => Source::<F16>::new(bytes, rows, cols).quantize(recipe),
        Dtype::BF16 => Source::<Bf16>::new(bytes, rows, cols).quantize(recipe),
        _ => unreachable!("the plan lets no other type through"),
    }
}

/// An element as it lies in the file.
trait Element: ofp8::float::FitsF32 {
    const SIZE: usize;

    fn from_le(bytes: &[u8]) -> Self {
        let mut word = [0; size_of::<u64>()];
        word[..Self::SIZE].copy_from_slice(bytes);
        Self::from_wide_bits(u64::from_le_bytes(word))
    }
}

impl Element for f32 {
    const SIZE: usize = 4;
}

impl Element for F16 {
    const SIZE: usize = 2;
}

impl Element for Bf16 {
    const SIZE: usize = 2;
}

/// The matrix in the file: never empty.
struct Source<'a, S> {
    bytes: &'a [u8],
    rows: usize,
    cols: usize,
    element: std::marker::PhantomData<S>,
}

/// The scales of a band.
enum BandScales {
    F32(Vec<f32>),
    E8M0(Vec<u8>),
    TwoLevel { tensor: f32, blocks: Vec<u8> },
}

/// A band, quantized; its codes are in their place already.
struct Band {
    scales: BandScales,
    stats: Stats,
    measure: Measure,
    worst_row: f64,
}

impl<'a, S: Element> Source<'a, S> {
    fn new(bytes: &'a [u8], rows: usize, cols: usize) -> Self {
        assert_eq!(bytes.len(), rows * cols * S::SIZE);
        Source {
            bytes,
            rows,
            cols,
            element: std::marker::PhantomData,
        }
    }

    /// The elements of rows `first..first + rows`. Copied: nothing aligns tensors in a file.
    fn load(&self, first: usize, rows: usize) -> Vec<S> {
        let row_size = self.cols * S::SIZE;
        let bytes = &self.bytes[first * row_size..(first + rows) * row_size];
        bytes.chunks_exact(S::SIZE).map(S::from_le).collect()
    }

    /// The rows of a band: whole blocks.
    fn band_rows(&self, recipe: &Recipe) -> usize {
        let block_rows = recipe.block().rows.max(1);
        (BAND / self.cols / block_rows).max(1) * block_rows
    }

    fn quantize(&self, recipe: &Recipe) -> Result<Quantized, NotFinite> {
        let band_rows = self.band_rows(recipe);
        let amax = self.amax(band_rows);
        if !amax.is_finite() {
            return Err(self.first_not_finite(band_rows));
        }
        // Under two levels every band has the scale of the whole.
        let recipe = &recipe.with_tensor_amax(amax);
        let mut codes = vec![0; self.rows * self.cols];
        let bands: Vec<Band> = codes
            .par_chunks_mut(band_rows * self.cols)
            .enumerate()
            .map(|(i, codes)| self.quantize_band(recipe, i * band_rows, codes, amax))
            .collect();

        let mut scales = Vec::new();
        let mut stats = Stats::EMPTY;
        let mut measure = Measure::default();
        let mut worst_row = f64::INFINITY;
        for band in &bands {
            // A block that spans all rows spans all bands, which have the same scales then.
            if scales.is_empty() || recipe.block().rows != 0 {
                band.scales.store(&mut scales);
            }
            stats = stats.merge(band.stats);
            measure = measure.merge(band.measure);
            worst_row = worst_row.min(band.worst_row);
        }
        Ok(Quantized {
            codes,
            scales,
            tensor_scales: bands
                .first()
                .map_or(Vec::new(), |band| band.scales.of_tensor()),
            stats,
            measure,
            worst_row,
        })
    }

    /// The amax of the whole tensor.
    fn amax(&self, band_rows: usize) -> Amax {
        (0..self.rows.div_ceil(band_rows))
            .into_par_iter()
            .map(|i| slice::amax(&self.load_band(i * band_rows, band_rows)))
            .reduce(|| Amax::ZERO, Amax::merge)
    }

    fn load_band(&self, first: usize, band_rows: usize) -> Vec<S> {
        self.load(first, band_rows.min(self.rows - first))
    }

    /// The first infinity or NaN of a tensor that has one.
    fn first_not_finite(&self, band_rows: usize) -> NotFinite {
        (0..self.rows)
            .step_by(band_rows)
            .find_map(|first| {
                let elements = self.load_band(first, band_rows);
                let found = validate(matrix(&elements, self.cols)).err()?;
                Some(NotFinite {
                    row: first + found.row,
                    ..found
                })
            })
            .expect("the amax says that there is one")
    }

    /// Quantizes the rows from `first` on, as many as there are codes for.
    fn quantize_band(&self, recipe: &Recipe, first: usize, codes: &mut [u8], amax: Amax) -> Band {
        let rows = codes.len() / self.cols;
        let elements = self.load(first, rows);
        let source = matrix(&elements, self.cols);
        let (down, across) = recipe.block().grid(rows, self.cols);
        let mut scales = BandScales::new(recipe, down * across);
        let target =
            MatrixMut::new(codes, rows, self.cols).expect("the band has a code an element");
        let stats = if recipe.block() == Block::TENSOR {
            recipe.quantize_from_amax(None, source, &[amax], target, scales.get_mut())
        } else {
            recipe.quantize(source, target, scales.get_mut())
        };
        let (measure, worst_row) = self.measure_band(recipe, &elements, codes, &scales);
        Band {
            scales,
            stats: stats.expect("codes and scales fit the band"),
            measure,
            worst_row,
        }
    }

    /// Dequantizes row by row, which needs no more memory than a row, and compares. Gives the
    /// measure of all and the lowest signal-to-noise ratio of a row.
    fn measure_band(
        &self,
        recipe: &Recipe,
        elements: &[S],
        codes: &[u8],
        scales: &BandScales,
    ) -> (Measure, f64) {
        let (_, across) = recipe.block().grid(1, self.cols);
        let block_rows = match recipe.block().rows {
            0 => self.rows,
            rows => rows,
        };
        let mut row = vec![0.0; self.cols];
        let mut total = Measure::default();
        let mut worst = f64::INFINITY;
        let rows = elements.chunks(self.cols).zip(codes.chunks(self.cols));
        for (i, (elements, codes)) in rows.enumerate() {
            let scales = scales.get(i / block_rows * across, across);
            let target = MatrixMut::new(&mut row, 1, self.cols).expect("a row");
            recipe
                .dequantize(matrix(codes, self.cols), scales, target)
                .expect("codes and scales fit the row");
            let of_row = measure(matrix(elements, self.cols), matrix(&row, self.cols));
            let of_row = of_row.expect("both have the shape of the row");
            total = total.merge(of_row);
            // A row of zeros has no ratio: NaN, which `min` passes over.
            worst = worst.min(of_row.signal_to_noise());
        }
        (total, worst)
    }
}

/// Whole rows as a matrix.
fn matrix<T>(elements: &[T], cols: usize) -> Matrix<'_, T> {
    Matrix::new(elements, elements.len() / cols, cols).expect("whole rows")
}

impl BandScales {
    fn new(recipe: &Recipe, blocks: usize) -> BandScales {
        match recipe.scaling() {
            Scaling::F32(_) | Scaling::PowerOfTwo(_) => BandScales::F32(vec![0.0; blocks]),
            Scaling::E8M0(_) => BandScales::E8M0(vec![0; blocks]),
            Scaling::TwoLevel(_) => BandScales::TwoLevel {
                tensor: 0.0,
                blocks: vec![0; blocks],
            },
        }
    }

    fn get(&self, first: usize, count: usize) -> Scales<'_> {
        match self {
            BandScales::F32(scales) => Scales::F32(&scales[first..first + count]),
            BandScales::E8M0(scales) => Scales::E8M0(&scales[first..first + count]),
            BandScales::TwoLevel { tensor, blocks } => Scales::TwoLevel {
                tensor: *tensor,
                blocks: &blocks[first..first + count],
            },
        }
    }

    fn get_mut(&mut self) -> ScalesMut<'_> {
        match self {
            BandScales::F32(scales) => ScalesMut::F32(scales),
            BandScales::E8M0(scales) => ScalesMut::E8M0(scales),
            BandScales::TwoLevel { tensor, blocks } => ScalesMut::TwoLevel { tensor, blocks },
        }
    }

    fn store(&self, bytes: &mut Vec<u8>) {
        match self {
            BandScales::F32(scales) => bytes.extend(scales.iter().flat_map(|s| s.to_le_bytes())),
            BandScales::E8M0(scales) | BandScales::TwoLevel { blocks: scales, .. } => {
                bytes.extend_from_slice(scales);
            }
        }
    }

    /// The scale above those of the blocks, where there is one.
    fn of_tensor(&self) -> Vec<u8> {
        match self {
            BandScales::TwoLevel { tensor, .. } => tensor.to_le_bytes().into(),
            _ => Vec::new(),
        }
    }
}

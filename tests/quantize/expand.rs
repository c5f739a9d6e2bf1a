// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scales of coarse blocks as those of finer ones, against a loop over elements.

use ofp8::{
    Block, Convention, Error, ExponentRule, Format, Matrix, MatrixMut, Recipe, ScaleOrder, Scales,
    ScalesMut, Scaling,
};
use proptest::prelude::*;
use proptest::sample::select;

const E8M0: Scaling = Scaling::E8M0(ExponentRule::RoundUp);
const POWER: Scaling = Scaling::PowerOfTwo(ExponentRule::Floor);
const F32: Scaling = Scaling::F32(Convention::DeepSeek);

fn recipe(block: Block, scaling: Scaling) -> Recipe {
    Recipe::new(Format::E4M3, block, scaling).unwrap()
}

/// Scales as f32, of either kind.
#[derive(Clone, Debug, PartialEq)]
enum Stored {
    F32(Vec<f32>),
    Bytes(Vec<u8>),
}

impl Stored {
    fn poisoned(recipe: &Recipe, rows: usize, cols: usize) -> Stored {
        let size = recipe.scale_layout(rows, cols).unwrap().size();
        match recipe.scaling() {
            Scaling::E8M0(_) => Stored::Bytes(vec![0xA5; size]),
            _ => Stored::F32(vec![-1.0; size]),
        }
    }

    fn readable(&self) -> Scales<'_> {
        match self {
            Stored::F32(scales) => Scales::F32(scales),
            Stored::Bytes(codes) => Scales::E8M0(codes),
        }
    }

    fn writable(&mut self) -> ScalesMut<'_> {
        match self {
            Stored::F32(scales) => ScalesMut::F32(scales),
            Stored::Bytes(codes) => ScalesMut::E8M0(codes),
        }
    }

    fn value(&self, index: usize) -> f32 {
        match self {
            Stored::F32(scales) => scales[index],
            Stored::Bytes(codes) => match codes[index] {
                0xFF => f32::NAN,
                0 => f32::from_bits(1 << 22),
                code => f32::from_bits((code as u32) << 23),
            },
        }
    }
}

/// The scale that an element of the matrix has.
fn scale_of(recipe: &Recipe, shape: (usize, usize), at: (usize, usize), stored: &Stored) -> f32 {
    let part = |at: usize, size: usize| at.checked_div(size).unwrap_or(0);
    let (i, j) = (
        part(at.0, recipe.block().rows),
        part(at.1, recipe.block().cols),
    );
    let layout = recipe.scale_layout(shape.0, shape.1).unwrap();
    stored.value(layout.index(i, j).unwrap())
}

fn check(coarse: Recipe, fine: Recipe, rows: usize, cols: usize, seed: u32) {
    let number = |index: usize| {
        (index as u32)
            .wrapping_mul(2_654_435_761)
            .wrapping_add(seed)
    };
    let is_exact = !matches!(fine.scaling(), Scaling::F32(_));
    let mut source = Stored::poisoned(&coarse, rows, cols);
    match &mut source {
        Stored::F32(scales) => {
            for (index, scale) in scales.iter_mut().enumerate() {
                // Every power of two, the subnormal one and NaN, or anything where that is allowed.
                *scale = match number(index) >> 16 {
                    n if n % 61 == 0 => f32::NAN,
                    n if n % 61 == 1 => f32::from_bits(1 << 22),
                    n if is_exact => f32::from_bits((n % 254 + 1) << 23),
                    n => n as f32 * 1e-3,
                };
            }
        }
        Stored::Bytes(codes) => {
            for (index, code) in codes.iter_mut().enumerate() {
                *code = (number(index) >> 16) as u8;
            }
        }
    }
    let mut target = Stored::poisoned(&fine, rows, cols);
    let done = coarse.expand_scales(&fine, rows, cols, source.readable(), target.writable());
    assert_eq!(done, Ok(()));
    for row in 0..rows {
        for col in 0..cols {
            let of = |recipe, stored| scale_of(recipe, (rows, cols), (row, col), stored);
            let (expected, found) = (of(&coarse, &source), of(&fine, &target));
            assert!(
                expected == found || expected.is_nan() && found.is_nan(),
                "{row}, {col}: {expected} became {found}"
            );
        }
    }
    // Padding is zero.
    let layout = fine.scale_layout(rows, cols).unwrap();
    for index in (0..layout.size()).filter(|&index| layout.inverse(index).is_none()) {
        match &target {
            Stored::F32(scales) => assert_eq!(scales[index].to_bits(), 0),
            Stored::Bytes(codes) => assert_eq!(codes[index], 0),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_element_keeps_its_scale(
        (coarse, fine) in select(vec![
            (Block::new(128, 128), Block::new(1, 128)),
            (Block::new(128, 128), Block::new(1, 32)),
            (Block::new(128, 128), Block::new(32, 1)),
            (Block::new(1, 128), Block::new(1, 32)),
            (Block::new(1, 32), Block::new(1, 32)),
            (Block::TENSOR, Block::ROW),
            (Block::TENSOR, Block::TENSOR),
            (Block::ROW, Block::new(1, 32)),
            (Block::new(6, 10), Block::new(3, 5)),
            (Block::new(0, 4), Block::new(7, 2)),
        ]),
        from in select(vec![F32, POWER, E8M0]),
        to in select(vec![F32, POWER, E8M0]),
        orders in (select(vec![ScaleOrder::RowMajor, ScaleOrder::MnMajorPadded]),
                   select(vec![ScaleOrder::RowMajor, ScaleOrder::Tile128x4])),
        rows in 0usize..300,
        cols in 0usize..300,
        seed in any::<u32>(),
    ) {
        let coarse = recipe(coarse, from).with_scale_order(orders.0);
        let fine = recipe(fine, to).with_scale_order(orders.1);
        check(coarse, fine, rows, cols, seed);
    }
}

/// The codes are the same numbers under the finer scales.
#[test]
fn values_stay_as_they_were() {
    let (rows, cols) = (130, 300);
    let values: Vec<f32> = (0..rows * cols).map(|i| i as f32 - 9000.5).collect();
    let coarse = recipe(Block::new(128, 128), POWER);
    let mut codes = vec![0; rows * cols];
    let mut scales = Stored::poisoned(&coarse, rows, cols);
    let source = Matrix::new(&values, rows, cols).unwrap();
    let to = MatrixMut::new(&mut codes, rows, cols).unwrap();
    coarse.quantize(source, to, scales.writable()).unwrap();
    let fine = Recipe::MXFP8.with_scale_order(ScaleOrder::Tile128x4);
    let mut expanded = Stored::poisoned(&fine, rows, cols);
    let done = coarse.expand_scales(&fine, rows, cols, scales.readable(), expanded.writable());
    assert_eq!(done, Ok(()));
    let back = |recipe: &Recipe, scales: &Stored| {
        let mut values = vec![0f32; rows * cols];
        let codes = Matrix::new(&codes, rows, cols).unwrap();
        let target = MatrixMut::new(&mut values, rows, cols).unwrap();
        recipe.dequantize(codes, scales.readable(), target).unwrap();
        values
    };
    assert_eq!(back(&coarse, &scales), back(&fine, &expanded));
}

#[test]
fn what_cannot_be_is_refused() {
    let (coarse, fine) = (recipe(Block::new(1, 128), F32), Recipe::MXFP8);
    let run = |coarse: Recipe, fine: Recipe, scales: Scales<'_>, count: usize| {
        let mut target = vec![0xA5; count];
        let done = coarse.expand_scales(&fine, 1, 256, scales, ScalesMut::E8M0(&mut target));
        // Nothing is written.
        assert!(done.is_ok() || target.iter().all(|&code| code == 0xA5));
        done
    };
    assert_eq!(run(coarse, fine, Scales::F32(&[1.0, 2.0]), 8), Ok(()));
    for bad in [3.0, 0.0, -1.0, f32::INFINITY, 1e-40] {
        let scales = [1.0, bad];
        let refused = run(coarse, fine, Scales::F32(&scales), 8);
        assert_eq!(refused, Err(Error::Scale), "{bad}");
    }
    let scales = Scales::F32(&[1.0, 2.0]);
    assert_eq!(run(coarse, fine, scales, 7), Err(Error::Length));
    assert_eq!(
        run(coarse, fine, Scales::F32(&[1.0]), 8),
        Err(Error::Length)
    );
    let bytes = Scales::E8M0(&[1, 2]);
    assert_eq!(run(coarse, fine, bytes, 8), Err(Error::Recipe));
    let f32s = recipe(Block::new(1, 32), F32);
    assert_eq!(run(coarse, f32s, scales, 8), Err(Error::Recipe));
    let e5m2 = Recipe::MXFP8_E5M2;
    assert_eq!(run(coarse, e5m2, scales, 8), Err(Error::Recipe));
    let odd = recipe(Block::new(1, 48), E8M0);
    assert_eq!(run(coarse, odd, scales, 6), Err(Error::Recipe));
    let whole = recipe(Block::ROW, E8M0);
    assert_eq!(run(coarse, whole, scales, 1), Err(Error::Recipe));
    let (one, power) = ([3.0], recipe(Block::new(1, 128), POWER));
    let mut target = [0.0];
    let done = recipe(Block::ROW, F32).expand_scales(
        &power,
        1,
        100,
        Scales::F32(&one),
        ScalesMut::F32(&mut target),
    );
    assert_eq!(done, Err(Error::Scale));
}

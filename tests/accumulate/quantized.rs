// SPDX-License-Identifier: MIT OR Apache-2.0
//! Products quantized by a recipe against the two steps apart, shares of the work against the
//! whole, and arguments that do not fit.

use ofp8::accumulate::{Model, Operand, Order, Promotion, Quantized, dot, gemm, gemm_quantized};
use ofp8::{Block, Cast, Error, Format, Matrix, MatrixMut, Philox, RandomBits, Recipe, Rounding};
use ofp8::{ScaleOrder, Scales, ScalesMut};

use crate::oracle::Dice;
use crate::product::{Factor, Scaling, product};

const M: usize = 10;
const N: usize = 70;

#[test]
fn the_same_as_product_and_quantizer() {
    let mut dice = Dice(41);
    let stochastic = Cast::DEFAULT.rounding(Rounding::StochasticB(RandomBits::SIXTEEN));
    let scaling = (
        Scaling::F32(Block::new(1, 128)),
        Scaling::F32(Block::new(128, 128)),
    );
    let a = Factor::random(&mut dice, Format::E4M3, (M, 256), false, scaling.0);
    let b = Factor::random(&mut dice, Format::E4M3, (N, 256), false, scaling.1);
    let (a, b) = (a.operand(), b.operand());
    let model = Order::TensorCore(Model::HopperWgmma, Promotion::DEFAULT);
    for order in [Order::Sequential, Order::Exact, model] {
        let results = product(a, b, order).unwrap();
        for (recipe, rows, random) in [
            (Recipe::TENSOR, M, None),
            (Recipe::ROW, 1, None),
            (Recipe::MXFP8, 1, None),
            (Recipe::DEEPSEEK_WEIGHT, M, None),
            (Recipe::MXFP8.with_block(Block::new(4, 32)), 4, None),
            (
                Recipe::MXFP8.with_cast(stochastic),
                1,
                Some(Philox::new(3, 4).at(77)),
            ),
            (
                Recipe::MXFP8.with_scale_order(ScaleOrder::Tile128x4),
                1,
                None,
            ),
            (
                Recipe::ROW.with_scale_order(ScaleOrder::MnMajorPadded),
                1,
                None,
            ),
        ] {
            let blocks = recipe.scale_layout(M, N).unwrap().size();
            let is_e8m0 = recipe.scaling() == Recipe::MXFP8.scaling();
            let run = |workspace: Option<&mut [f32]>| {
                let (mut codes, mut f32s, mut bytes) =
                    (vec![0; M * N], vec![9.0; blocks], vec![9; blocks]);
                let scales = if is_e8m0 {
                    ScalesMut::E8M0(&mut bytes)
                } else {
                    ScalesMut::F32(&mut f32s)
                };
                let target = MatrixMut::new(&mut codes, M, N).unwrap();
                let source = Matrix::new(&results, M, N).unwrap();
                let stats = match (workspace, random) {
                    (Some(workspace), _) => {
                        let target = Quantized {
                            recipe,
                            random,
                            workspace,
                            codes: target,
                            scales,
                        };
                        gemm_quantized(a, b, order, target)
                    }
                    (None, None) => recipe.quantize(source, target, scales),
                    (None, Some(random)) => {
                        recipe.quantize_stochastic(random, source, target, scales)
                    }
                };
                (stats, codes, f32s, bytes)
            };
            let expected = run(None);
            assert!(expected.0.is_ok());
            for len in [rows * N, 5 * rows * N / 2, M * N, 2 * M * N] {
                assert_eq!(run(Some(&mut vec![0.0; len])), expected, "{recipe:?} {len}");
            }
            assert_eq!(
                run(Some(&mut vec![0.0; rows * N - 1])).0,
                Err(Error::Length)
            );
        }
    }
}

/// Where scales lie is the recipe's business: no product depends on it.
#[test]
fn scales_in_any_order() {
    const K: usize = 256;
    let mut dice = Dice(43);
    let values: Vec<f32> = (0..N * K).map(|_| dice.scale()).collect();
    // A lies M x K, B K x N.
    let product_by = |a: Recipe, b: Recipe| {
        let quantize = |recipe: &Recipe, rows: usize, cols: usize| {
            let mut codes = vec![0; rows * cols];
            let mut scales = vec![9; recipe.scale_layout(rows, cols).unwrap().size()];
            let source = Matrix::new(&values[..rows * cols], rows, cols).unwrap();
            let to = MatrixMut::new(&mut codes, rows, cols).unwrap();
            let into = ScalesMut::E8M0(&mut scales);
            recipe.quantize(source, to, into).unwrap();
            (codes, scales)
        };
        let ((a_codes, a_scales), (b_codes, b_scales)) = (quantize(&a, M, K), quantize(&b, K, N));
        let a_codes = Matrix::new(&a_codes, M, K).unwrap();
        let b_codes = Matrix::new(&b_codes, K, N).unwrap();
        let a = Operand::quantized(&a, a_codes, Scales::E8M0(&a_scales)).unwrap();
        let b = Operand::quantized(&b, b_codes, Scales::E8M0(&b_scales)).unwrap();
        product(a, b.transposed(), Order::Sequential).unwrap()
    };
    let (a, b) = (Recipe::MXFP8, Recipe::MXFP8.with_block(Block::new(32, 1)));
    let expected = product_by(a, b);
    for order in [
        ScaleOrder::RowMajorPadded,
        ScaleOrder::MnMajorPadded,
        ScaleOrder::Tile128x4,
        ScaleOrder::PackedWords,
        ScaleOrder::Gfx950,
    ] {
        let found = product_by(a.with_scale_order(order), b.with_scale_order(order));
        assert_eq!(found, expected, "{order:?}");
    }
}

#[test]
fn shares_of_the_work_are_the_whole() {
    let mut dice = Dice(42);
    let scaling = Scaling::F32(Block::new(3, 40));
    for transposed in [false, true] {
        let a = Factor::random(&mut dice, Format::E5M2, (M, 100), transposed, scaling);
        let b = Factor::random(&mut dice, Format::E4M3, (N, 100), !transposed, scaling);
        let (a, b) = (a.operand(), b.operand());
        for order in [Order::Sequential, Order::Exact] {
            let whole = product(a, b, order).unwrap();
            let (rows, cols) = (4..9, 13..68);
            let (of_a, of_b) = (a.part(rows.clone()).unwrap(), b.part(10..N).unwrap());
            let of_b = of_b.part(3..58).unwrap();
            let part = product(of_a, of_b, order).unwrap();
            for (i, row) in rows.clone().enumerate() {
                let from = row * N + cols.start;
                assert_eq!(
                    part[i * cols.len()..][..cols.len()],
                    whole[from..][..cols.len()]
                );
            }
        }
        assert_eq!(a.part(0..M + 1).err(), Some(Error::Shape));
        #[allow(clippy::reversed_empty_ranges)]
        let reversed = a.part(3..2);
        assert_eq!(reversed.err(), Some(Error::Shape));
    }
}

#[test]
fn empty_products() {
    let codes = [0x38; 12];
    let operand = |rows, cols| {
        Operand::new(
            Format::E4M3,
            Matrix::new(&codes[..rows * cols], rows, cols).unwrap(),
        )
        .unwrap()
    };
    let model = Order::TensorCore(Model::AdaMma, Promotion::OFF);
    for order in [Order::Sequential, Order::Exact, model] {
        assert_eq!(
            product(operand(2, 0), operand(3, 0), order),
            Ok(vec![0.0; 6])
        );
        assert_eq!(dot(operand(1, 0), operand(1, 0), order), Ok(0.0));
        assert_eq!(product(operand(0, 4), operand(3, 4), order), Ok(vec![]));
        let target = Quantized {
            recipe: Recipe::ROW,
            random: None,
            workspace: &mut [],
            codes: MatrixMut::new(&mut [], 0, 3).unwrap(),
            scales: ScalesMut::F32(&mut []),
        };
        let stats = gemm_quantized(operand(0, 4), operand(3, 4), order, target);
        assert_eq!(stats.map(|stats| stats.count), Ok(0));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let codes = [0x38; 24];
    let matrix = |rows, cols| Matrix::new(&codes[..rows * cols], rows, cols).unwrap();
    let operand = |rows, cols| Operand::new(Format::E4M3, matrix(rows, cols)).unwrap();
    let (a, b) = (operand(2, 4), operand(3, 4));
    let mut c = [7.0; 6];
    let mut run = |a, b, rows, cols| {
        let c = MatrixMut::new(&mut c, rows, cols).unwrap();
        gemm(a, b, Order::Sequential, c)
    };
    assert_eq!(run(a, operand(3, 5), 2, 3), Err(Error::Shape));
    assert_eq!(run(a, b, 3, 2), Err(Error::Shape));
    assert_eq!(run(a, b, 2, 2), Err(Error::Shape));
    assert_eq!(c, [7.0; 6]);
    assert_eq!(dot(a, b, Order::Exact), Err(Error::Shape));
    assert_eq!(
        dot(operand(1, 4), operand(1, 5), Order::Exact),
        Err(Error::Shape)
    );
    let scaled = |block, count: usize| {
        let (recipe, scales) = (Recipe::ROW.with_block(block), [1.0; 8]);
        Operand::quantized(&recipe, matrix(2, 4), Scales::F32(&scales[..count])).err()
    };
    assert_eq!(scaled(Block::new(1, 2), 4), None);
    assert_eq!(scaled(Block::new(1, 2), 3), Some(Error::Length));
    assert_eq!(scaled(Block::ROW, 4), Some(Error::Length));
    let e8m0 = Operand::quantized(&Recipe::ROW, matrix(2, 4), Scales::E8M0(&[127; 2]));
    assert_eq!(e8m0.err(), Some(Error::Recipe));
    let shard = Matrix::shard(&codes[..4], 2, 4, 2).unwrap();
    assert_eq!(Operand::new(Format::E4M3, shard).err(), Some(Error::Shape));
    // An unknown combination is found before anything is written.
    let (mut codes, mut scales, mut workspace) = ([9; 6], [3.0; 2], [0.0; 6]);
    let mut quantized = |recipe, scales: &mut [f32], rows| {
        let target = Quantized {
            recipe,
            random: None,
            workspace: &mut workspace,
            codes: MatrixMut::new(&mut codes, rows, 6 / rows).unwrap(),
            scales: ScalesMut::F32(scales),
        };
        gemm_quantized(a, b, Order::Sequential, target).err()
    };
    assert_eq!(
        quantized(Recipe::ROW, &mut scales[..1], 2),
        Some(Error::Length)
    );
    assert_eq!(quantized(Recipe::ROW, &mut scales, 3), Some(Error::Shape));
    assert_eq!(
        quantized(Recipe::MXFP8, &mut scales, 2),
        Some(Error::Recipe)
    );
    assert_eq!((codes, scales), ([9; 6], [3.0; 2]));
}

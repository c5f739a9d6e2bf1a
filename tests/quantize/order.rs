// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scales stored in the order of a recipe: what the row-major ones are when they are converted, and
//! every byte of padding zero. (`tests/layout.rs` holds the orders against a model of their own.)

use ofp8::scale::GivenScales;
use ofp8::{
    Amax, Block, Cast, CopyMut, Error, ExponentRule, F16, Format, Layout, Matrix, MatrixMut,
    Philox, RandomBits, Recipe, Rounding, ScaleOrder, Scales, ScalesMut, Scaling, Special,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::data::{Generator, Profile, Specials, Wide, element};
use crate::model::scalings;

const ORDERS: [ScaleOrder; 6] = [
    ScaleOrder::RowMajor,
    ScaleOrder::RowMajorPadded,
    ScaleOrder::MnMajorPadded,
    ScaleOrder::Tile128x4,
    ScaleOrder::PackedWords,
    ScaleOrder::Gfx950,
];

/// Where the scales of a matrix lie.
fn layout(order: ScaleOrder, block: Block, rows: usize, cols: usize) -> Layout {
    let count = |extent: usize, size: usize| match (extent, size) {
        (0, _) => 0,
        (_, 0) => 1,
        _ => extent.div_ceil(size),
    };
    let (down, across) = (count(rows, block.rows), count(cols, block.cols));
    let is_columnwise = block.cols == 1 && block.rows != 1 && order != ScaleOrder::RowMajor;
    if is_columnwise {
        Layout::columnwise(order, down, across).unwrap()
    } else {
        Layout::new(order, down, across).unwrap()
    }
}

/// Scales of any kind, poisoned before they are written.
#[derive(Clone, Debug)]
struct Stored {
    scaling: Scaling,
    layout: Layout,
    f32: Vec<f32>,
    bytes: Vec<u8>,
    tensor: f32,
}

impl Stored {
    /// Room for the scales of a matrix of that shape.
    fn new(recipe: &Recipe, rows: usize, cols: usize) -> Stored {
        let layout = layout(recipe.scale_order(), recipe.block(), rows, cols);
        assert_eq!(recipe.scale_layout(rows, cols), Ok(layout));
        Stored {
            scaling: recipe.scaling(),
            layout,
            f32: vec![-1.0; layout.size()],
            bytes: vec![0xA5; layout.size()],
            tensor: -1.0,
        }
    }

    fn writable(&mut self) -> ScalesMut<'_> {
        match self.scaling {
            Scaling::F32(_) | Scaling::PowerOfTwo(_) => ScalesMut::F32(&mut self.f32),
            Scaling::E8M0(_) => ScalesMut::E8M0(&mut self.bytes),
            Scaling::TwoLevel(_) => ScalesMut::TwoLevel {
                tensor: &mut self.tensor,
                blocks: &mut self.bytes,
            },
        }
    }

    fn readable(&self) -> Scales<'_> {
        match self.scaling {
            Scaling::F32(_) | Scaling::PowerOfTwo(_) => Scales::F32(&self.f32),
            Scaling::E8M0(_) => Scales::E8M0(&self.bytes),
            Scaling::TwoLevel(_) => Scales::TwoLevel {
                tensor: self.tensor,
                blocks: &self.bytes,
            },
        }
    }

    /// These scales as they must lie in another layout. What was not written stays poisoned.
    fn converted(&self, to: &Stored) -> Stored {
        let mut result = to.clone();
        result.tensor = self.tensor;
        if matches!(self.readable(), Scales::F32(_)) {
            self.layout
                .convert(&self.f32, &to.layout, &mut result.f32)
                .unwrap();
        } else {
            self.layout
                .convert(&self.bytes, &to.layout, &mut result.bytes)
                .unwrap();
        }
        result
    }

    fn assert_equal(&self, other: &Stored, what: &str) {
        let bits = |stored: &Stored| -> Vec<u32> {
            let f32 = stored.f32.iter().chain([&stored.tensor]);
            f32.map(|scale| scale.to_bits()).collect()
        };
        assert_eq!(self.bytes, other.bytes, "{what}");
        assert_eq!(bits(self), bits(other), "{what}");
    }
}

/// One case; a failure prints it, and `check(&case)` repeats it.
#[derive(Clone, Debug)]
struct Case {
    rows: usize,
    cols: usize,
    recipe: Recipe,
    half: bool,
    order: ScaleOrder,
    specials: Specials,
    seed: u64,
}

fn check(case: &Case) {
    if case.half {
        check_typed::<F16>(case);
    } else {
        check_typed::<f32>(case);
    }
}

fn check_typed<S: Wide>(case: &Case) {
    let (rows, cols, plain) = (case.rows, case.cols, &case.recipe);
    let ordered = &plain.with_scale_order(case.order);
    let mut generator = Generator(case.seed);
    let source: Vec<S> = (0..rows * cols)
        .map(|_| S::nearest(element(&mut generator, Profile::Around(3), case.specials)))
        .collect();
    let source = Matrix::new(&source, rows, cols).unwrap();
    let is_stochastic = plain.cast().rounding.random_bits() > 0;
    let random = is_stochastic.then_some(Philox::new(case.seed, 5));

    // The amaxes, by which both can be quantized, are row-major in any order.
    let (down, across) = plain.block().grid(rows, cols);
    let (mut amax, mut same) = (
        vec![Amax::ZERO; down * across],
        vec![Amax::NAN; down * across],
    );
    plain.amax(source, &mut amax).unwrap();
    ordered.amax(source, &mut same).unwrap();
    assert_eq!(amax, same);

    let run = |recipe: &Recipe, amax: Option<&[Amax]>| {
        let mut codes = vec![0xA5; rows * cols];
        let mut stored = Stored::new(recipe, rows, cols);
        let (to, scales) = (
            MatrixMut::new(&mut codes, rows, cols).unwrap(),
            stored.writable(),
        );
        let stats = match (amax, random) {
            (Some(amax), _) => recipe.quantize_from_amax(random, source, amax, to, scales),
            (None, Some(random)) => recipe.quantize_stochastic(random, source, to, scales),
            (None, None) => recipe.quantize(source, to, scales),
        };
        (codes, stored, stats.unwrap())
    };
    let (codes, stored, stats) = run(plain, None);
    for amax in [None, Some(&*amax)] {
        let expected = run(plain, amax);
        let found = run(ordered, amax);
        assert_eq!((&found.0, found.2), (&expected.0, expected.2));
        let converted = expected.1.converted(&Stored::new(ordered, rows, cols));
        found.1.assert_equal(&converted, "scales");
    }
    assert_eq!(stats.count, (rows * cols) as u64);

    // Read again: dequantized, and given.
    let moved = stored.converted(&Stored::new(ordered, rows, cols));
    let read = |recipe: &Recipe, stored: &Stored| {
        let mut values = vec![0f32; rows * cols];
        let codes = Matrix::new(&codes, rows, cols).unwrap();
        let target = MatrixMut::new(&mut values, rows, cols).unwrap();
        recipe.dequantize(codes, stored.readable(), target).unwrap();
        let values: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
        let mut codes = vec![0; rows * cols];
        let to = MatrixMut::new(&mut codes, rows, cols).unwrap();
        let given = GivenScales::Dequantize(stored.readable());
        let stats = recipe.quantize_given(random, source, given, to);
        (values, codes, stats)
    };
    assert_eq!(read(plain, &stored), read(ordered, &moved));
    check_copies(case, source, random);
    check_shard(case, source, random);
}

/// Two copies, each either way.
fn check_copies<S: Wide>(case: &Case, source: Matrix<'_, S>, random: Option<Philox>) {
    let (rows, cols) = (case.rows, case.cols);
    let run = |recipe: &Recipe, row_transposed: bool, column_transposed: bool| {
        let room = |own: Recipe, transposed: bool| {
            let (rows, cols) = if transposed {
                (cols, rows)
            } else {
                (rows, cols)
            };
            (vec![0u8; rows * cols], Stored::new(&own, rows, cols))
        };
        let turned = recipe.turned();
        let mut row = room(
            if row_transposed { turned } else { *recipe },
            row_transposed,
        );
        let mut column = room(
            if column_transposed { *recipe } else { turned },
            column_transposed,
        );
        fn copy<'a>(
            (codes, stored): &'a mut (Vec<u8>, Stored),
            shape: (usize, usize),
            transposed: bool,
            random: Option<Philox>,
        ) -> CopyMut<'a> {
            let (rows, cols) = if transposed {
                (shape.1, shape.0)
            } else {
                shape
            };
            let codes = MatrixMut::new(codes, rows, cols).unwrap();
            let copy = if transposed {
                CopyMut::transposed(codes, stored.writable())
            } else {
                CopyMut::new(codes, stored.writable())
            };
            match random {
                Some(random) => copy.with_random(random),
                None => copy,
            }
        }
        let stats = recipe.quantize_both(
            source,
            copy(&mut row, (rows, cols), row_transposed, random),
            copy(&mut column, (rows, cols), column_transposed, random),
        );
        ([row, column], stats.unwrap())
    };
    let ordered = case.recipe.with_scale_order(case.order);
    for (row, column) in [(false, false), (false, true), (true, false), (true, true)] {
        let (expected, stats) = run(&case.recipe, row, column);
        let (found, same) = run(&ordered, row, column);
        assert_eq!(stats, same);
        for ((codes, scales), (same, stored)) in expected.iter().zip(&found) {
            assert_eq!(codes, same);
            let room = Stored {
                layout: stored.layout,
                f32: vec![-1.0; stored.f32.len()],
                bytes: vec![0xA5; stored.bytes.len()],
                ..scales.clone()
            };
            stored.assert_equal(&scales.converted(&room), "scales of a copy");
        }
    }
}

/// A part of the matrix that begins and ends anywhere.
fn check_shard<S: Wide>(case: &Case, source: Matrix<'_, S>, random: Option<Philox>) {
    let (rows, cols) = (case.rows, case.cols);
    let mut generator = Generator(!case.seed);
    let len = rows * cols;
    let first = generator.below(len as u64 + 1) as usize;
    let last = first + generator.below((len - first) as u64 + 1) as usize;
    let values: Vec<S> = (0..last - first)
        .map(|_| S::nearest(element(&mut generator, Profile::Around(3), case.specials)))
        .collect();
    assert_eq!((source.rows(), source.cols()), (rows, cols));
    let run = |recipe: &Recipe| {
        let mut codes = vec![0; values.len()];
        let mut stored = Stored::new(recipe, rows, cols);
        let shard = Matrix::shard(&values, rows, cols, first).unwrap();
        let to = MatrixMut::shard(&mut codes, rows, cols, first).unwrap();
        let stats = match random {
            Some(random) => recipe.quantize_stochastic(random, shard, to, stored.writable()),
            None => recipe.quantize(shard, to, stored.writable()),
        };
        (codes, stored, stats.unwrap())
    };
    let ordered = case.recipe.with_scale_order(case.order);
    let (expected, found) = (run(&case.recipe), run(&ordered));
    assert_eq!((found.0, found.2), (expected.0, expected.2));
    let converted = expected.1.converted(&Stored::new(&ordered, rows, cols));
    found.1.assert_equal(&converted, "scales of a shard");
}

fn recipes() -> impl Strategy<Value = Recipe> {
    let blocks = select(vec![
        Block::new(1, 32),
        Block::new(1, 32),
        Block::new(1, 128),
        Block::new(128, 128),
        Block::new(1, 16),
        Block::new(32, 1),
        Block::new(16, 64),
        Block::new(3, 5),
        Block::new(1, 1),
        Block::ROW,
        Block::COLUMN,
        Block::TENSOR,
    ]);
    let mut scalings = scalings();
    scalings.extend([
        Scaling::TwoLevel(Format::UE4M3),
        Scaling::E8M0(ExponentRule::LeastError),
        Scaling::PowerOfTwo(ExponentRule::LeastError),
    ]);
    let roundings = select(vec![
        Rounding::NearestEven,
        Rounding::NearestEven,
        Rounding::StochasticA(RandomBits::SIXTEEN),
    ]);
    let specials = select(vec![Special::Poison, Special::Ignore, Special::Clamp]);
    (blocks, select(scalings), roundings, specials).prop_map(
        |(block, scaling, rounding, special)| {
            Recipe::new(Format::E4M3, block, scaling)
                .unwrap()
                .with_cast(Cast::DEFAULT.rounding(rounding))
                .with_special(special)
        },
    )
}

fn cases() -> impl Strategy<Value = Case> {
    let extent = || prop_oneof![1 => 0usize..3, 4 => 0usize..=140, 2 => 0usize..=400];
    let specials = select(vec![Specials::None, Specials::None, Specials::Few]);
    (
        (extent(), extent(), specials, any::<u64>()),
        (recipes(), any::<bool>(), select(ORDERS.to_vec())),
    )
        .prop_map(
            |((rows, cols, specials, seed), (recipe, half, order))| Case {
                rows,
                cols,
                recipe,
                half,
                order,
                specials,
                seed,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn stored_in_order_equals_converted(case in cases()) {
        check(&case);
    }
}

/// Each order with the recipe that uses it, and shapes that fill its tiles, or not.
#[test]
fn named_recipes_in_every_order() {
    let recipes = [
        Recipe::MXFP8,
        Recipe::NVFP4,
        Recipe::DEEPSEEK_ACTIVATION,
        Recipe::DEEPSEEK_WEIGHT,
        Recipe::DEEPSEEK_ACTIVATION_E8M0,
    ];
    for recipe in recipes {
        for order in ORDERS {
            for (rows, cols) in [(128, 512), (129, 513), (1, 1), (260, 96), (0, 64), (64, 0)] {
                check(&Case {
                    rows,
                    cols,
                    recipe,
                    half: false,
                    order,
                    specials: Specials::None,
                    seed: (rows * cols) as u64,
                });
            }
        }
    }
}

#[test]
fn the_number_of_scales_is_that_of_the_layout() {
    let recipe = Recipe::MXFP8.with_scale_order(ScaleOrder::Tile128x4);
    assert_eq!(recipe.scale_order(), ScaleOrder::Tile128x4);
    let source = [1f32; 64];
    let (mut codes, mut scales) = ([0; 64], [0xA5; 513]);
    let mut quantize = |count: usize| {
        let scales = ScalesMut::E8M0(&mut scales[..count]);
        let codes = MatrixMut::new(&mut codes, 1, 64).unwrap();
        recipe.quantize(Matrix::new(&source, 1, 64).unwrap(), codes, scales)
    };
    for wrong in [2, 511, 513] {
        assert_eq!(quantize(wrong), Err(Error::Length));
    }
    assert_eq!(quantize(512).unwrap().count, 64);
    let codes = Matrix::new(&codes, 1, 64).unwrap();
    let mut back = [0f32; 64];
    let mut dequantize = |count: usize| {
        let target = MatrixMut::new(&mut back, 1, 64).unwrap();
        recipe.dequantize(codes, Scales::E8M0(&scales[..count]), target)
    };
    assert_eq!(dequantize(2), Err(Error::Length));
    assert_eq!(dequantize(512), Ok(()));
    assert_eq!(back, source);
    let huge = recipe.scale_layout(usize::MAX, 1 << 20);
    assert_eq!(huge, Err(Error::Shape));
}

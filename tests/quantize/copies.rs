// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transposed copies, and two copies from one read: the same as calls of their own, on the source as
//! it lies or transposed by hand.

use ofp8::{
    Block, Cast, CopyMut, Error, ExponentRule, F16, Format, Matrix, MatrixMut, Philox, RandomBits,
    Recipe, Rounding, Saturation, ScalesMut, Scaling, Special, Stats,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::data::{Generator, Profile, Specials, Strided, Wide, element};
use crate::model::{ELEMENTS, scalings};

/// What lies where nothing must be written.
const GUARD: u8 = 0xA5;

/// A copy in memory of its own, and what was seen on the way.
struct Stored {
    codes: Strided<u8>,
    f32: Vec<f32>,
    bytes: Vec<u8>,
    tensor: f32,
    scaling: Scaling,
}

impl Stored {
    /// Room for a matrix of that shape.
    fn new(recipe: &Recipe, rows: usize, cols: usize, gap: usize) -> Stored {
        let (down, across) = recipe.block().grid(rows, cols);
        Stored {
            codes: Strided::new(rows, cols, gap, GUARD),
            f32: vec![-1.0; down * across],
            bytes: vec![GUARD; down * across],
            tensor: -1.0,
            scaling: recipe.scaling(),
        }
    }

    fn parts(&mut self) -> (MatrixMut<'_, u8>, ScalesMut<'_>) {
        let scales = match self.scaling {
            Scaling::F32(_) | Scaling::PowerOfTwo(_) => ScalesMut::F32(&mut self.f32),
            Scaling::E8M0(_) => ScalesMut::E8M0(&mut self.bytes),
            Scaling::TwoLevel(_) => ScalesMut::TwoLevel {
                tensor: &mut self.tensor,
                blocks: &mut self.bytes,
            },
        };
        (self.codes.matrix_mut(), scales)
    }

    fn copy(&mut self, transposed: bool, random: Option<Philox>) -> CopyMut<'_> {
        let (codes, scales) = self.parts();
        let copy = if transposed {
            CopyMut::transposed(codes, scales)
        } else {
            CopyMut::new(codes, scales)
        };
        match random {
            Some(random) => copy.with_random(random),
            None => copy,
        }
    }

    /// Everything that was written or must not have been: codes with their gaps, scales.
    fn bits(&self) -> (&[u8], Vec<u32>, &[u8], u32) {
        let f32 = self.f32.iter().map(|scale| scale.to_bits()).collect();
        (&self.codes.data, f32, &self.bytes, self.tensor.to_bits())
    }

    fn assert_equal(&self, other: &Stored, what: &str) {
        assert!(self.bits() == other.bits(), "{what}");
    }
}

/// One case; a failure prints it, and `check(&case)` repeats it.
#[derive(Clone, Debug)]
struct Case {
    rows: usize,
    cols: usize,
    recipe: Recipe,
    random: Philox,
    half: bool,
    profile: Profile,
    specials: Specials,
    gap: usize,
    cut: usize,
    seed: u64,
}

/// Quantizes by a call that makes one copy, as the source lies.
fn alone<S: Wide>(
    recipe: &Recipe,
    random: Option<Philox>,
    source: &Strided<S>,
    gap: usize,
) -> (Stored, Stats) {
    let mut stored = Stored::new(recipe, source.rows, source.cols, gap);
    let (codes, scales) = stored.parts();
    let stats = match random {
        Some(random) => recipe.quantize_stochastic(random, source.matrix(), codes, scales),
        None => recipe.quantize(source.matrix(), codes, scales),
    };
    (stored, stats.unwrap())
}

/// The same matrix, rows for columns.
fn transposed<T: Copy + PartialEq + std::fmt::Debug>(
    matrix: &Strided<T>,
    gap: usize,
    guard: T,
) -> Strided<T> {
    let mut result = Strided::new(matrix.cols, matrix.rows, gap, guard);
    for row in 0..matrix.rows {
        for col in 0..matrix.cols {
            result.set(col, row, matrix.get(row, col));
        }
    }
    result
}

fn check(case: &Case) {
    if case.half {
        check_typed::<F16>(case);
    } else {
        check_typed::<f32>(case);
    }
}

fn check_typed<S: Wide>(case: &Case) {
    let (rows, cols, gap) = (case.rows, case.cols, case.gap);
    let recipe = &case.recipe;
    let turned = recipe.turned();
    let mut generator = Generator(case.seed);
    // A NaN that were read by mistake would poison a block.
    let mut source = Strided::new(rows, cols, gap, S::nearest(f32::NAN));
    for row in 0..rows {
        for col in 0..cols {
            let x = element(&mut generator, case.profile, case.specials);
            source.set(row, col, S::nearest(x));
        }
    }
    let stochastic = recipe.cast().rounding.random_bits() > 0;
    let random = stochastic.then_some(case.random);
    let other = random.map(|random| Philox {
        stream: !random.stream,
        ..random
    });

    // One copy, transposed: by the definition, and where no random bits depend on the place, from
    // a source that was transposed before.
    let (column, column_stats) = alone(&turned, other, &source, 0);
    let mut turned_copy = Stored::new(recipe, cols, rows, gap);
    let (codes, scales) = turned_copy.parts();
    let stats = recipe.quantize_transposed(other, source.matrix(), codes, scales);
    assert_eq!(stats, Ok(column_stats), "statistics of the transposed copy");
    let by_hand = transposed(&column.codes, gap, GUARD);
    assert!(turned_copy.codes.data == by_hand.data, "transposed codes");
    // Sums of errors have the order of the source.
    let sums = matches!(
        recipe.scaling(),
        Scaling::E8M0(ExponentRule::LeastError) | Scaling::PowerOfTwo(ExponentRule::LeastError)
    );
    if !stochastic && !sums {
        let source = transposed(&source, 0, S::default());
        let (expected, stats) = alone(recipe, None, &source, gap);
        assert_eq!(stats, column_stats);
        turned_copy.assert_equal(&expected, "of the transposed source");
    }

    // Two copies, each either way.
    let (row, row_stats) = alone(recipe, random, &source, gap);
    let (column, _) = alone(&turned, other, &source, gap);
    let mut turned_row = Stored::new(&turned, cols, rows, gap);
    let (codes, scales) = turned_row.parts();
    let stats = turned.quantize_transposed(random, source.matrix(), codes, scales);
    assert_eq!(stats, Ok(row_stats));
    for row_transposed in [false, true] {
        for column_transposed in [false, true] {
            let expected = (
                if row_transposed { &turned_row } else { &row },
                if column_transposed {
                    &turned_copy
                } else {
                    &column
                },
            );
            let shape = |transposed| {
                if transposed {
                    (cols, rows)
                } else {
                    (rows, cols)
                }
            };
            let ((a, b), (c, d)) = (shape(row_transposed), shape(column_transposed));
            let mut first = Stored::new(if row_transposed { &turned } else { recipe }, a, b, gap);
            let mut second =
                Stored::new(if column_transposed { recipe } else { &turned }, c, d, gap);
            let stats = recipe.quantize_both(
                source.matrix(),
                first.copy(row_transposed, random),
                second.copy(column_transposed, other),
            );
            assert_eq!(stats, Ok([row_stats, column_stats]));
            first.assert_equal(expected.0, "rowwise");
            second.assert_equal(expected.1, "columnwise");
        }
    }
    check_threads(
        case,
        &source,
        random,
        other,
        (&row, &column),
        [row_stats, column_stats],
    );
}

/// Two threads, each with the rows of whole blocks of both copies.
fn check_threads<S: Wide>(
    case: &Case,
    source: &Strided<S>,
    random: Option<Philox>,
    other: Option<Philox>,
    whole: (&Stored, &Stored),
    stats: [Stats; 2],
) {
    let (recipe, turned) = (&case.recipe, case.recipe.turned());
    let Block { rows, cols } = recipe.block();
    let is_two_level = matches!(recipe.scaling(), Scaling::TwoLevel(_));
    if rows == 0 || cols == 0 || is_two_level {
        // The scales of a part come from more than the part.
        return;
    }
    let cut = (case.rows * case.cut / 100).next_multiple_of(rows * cols);
    let cut = if cut > case.rows { 0 } else { cut };
    let quantize = |from: usize, to: usize| {
        let mut row = Stored::new(recipe, to - from, case.cols, 0);
        let mut column = Stored::new(&turned, to - from, case.cols, 0);
        let at =
            |random: Philox| random.at(random.first_index.wrapping_add((from * case.cols) as u64));
        let stats = recipe.quantize_both(
            source.rows(from, to),
            row.copy(false, random.map(at)),
            column.copy(false, other.map(at)),
        );
        (row, column, stats.unwrap())
    };
    let (first, second) = std::thread::scope(|scope| {
        let first = scope.spawn(|| quantize(0, cut));
        let second = quantize(cut, case.rows);
        (first.join().unwrap(), second)
    });
    for (whole, parts) in [
        (whole.0, [&first.0, &second.0]),
        (whole.1, [&first.1, &second.1]),
    ] {
        let codes: Vec<u8> = parts
            .iter()
            .flat_map(|part| part.codes.data.clone())
            .collect();
        for (i, code) in codes.into_iter().enumerate() {
            assert_eq!(code, whole.codes.get(i / case.cols, i % case.cols));
        }
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.bytes.clone()).collect();
        assert_eq!(bytes, whole.bytes);
        let f32 = parts.iter().flat_map(|part| &part.f32);
        assert!(
            f32.map(|scale| scale.to_bits())
                .eq(whole.f32.iter().map(|scale| scale.to_bits()))
        );
    }
    let merged = [first.2[0].merge(second.2[0]), first.2[1].merge(second.2[1])];
    assert_eq!(merged, stats);
}

fn blocks() -> impl Strategy<Value = Block> {
    let named = select(vec![
        Block::new(1, 32),
        Block::new(1, 128),
        Block::new(32, 32),
        Block::new(128, 128),
        Block::new(1, 16),
        Block::new(16, 16),
        Block::ROW,
        Block::COLUMN,
        Block::TENSOR,
        Block::new(32, 1),
        Block::new(1, 1),
    ]);
    let any = (0usize..12, 0usize..12).prop_map(|(rows, cols)| Block::new(rows, cols));
    let odd = select(vec![
        Block::new(3, 700),
        Block::new(600, 2),
        Block::new(31, 37),
    ]);
    prop_oneof![8 => named, 2 => any, 1 => odd]
}

fn casts() -> impl Strategy<Value = Cast> {
    let roundings = select(vec![
        Rounding::NearestEven,
        Rounding::NearestEven,
        Rounding::TowardPositive,
        Rounding::ToOdd,
        Rounding::StochasticA(RandomBits::SIXTEEN),
        Rounding::StochasticC(RandomBits::new(5).unwrap()),
    ]);
    let saturations = select(vec![
        Saturation::Finite,
        Saturation::Propagate,
        Saturation::None,
    ]);
    (roundings, saturations)
        .prop_map(|(rounding, saturation)| Cast::DEFAULT.rounding(rounding).saturation(saturation))
}

fn all_scalings() -> Vec<Scaling> {
    let mut all = scalings();
    all.extend([
        Scaling::TwoLevel(Format::UE4M3),
        Scaling::TwoLevel(Format::UE5M3),
        Scaling::E8M0(ExponentRule::Nearest),
        Scaling::E8M0(ExponentRule::LeastError),
        Scaling::PowerOfTwo(ExponentRule::LeastError),
    ]);
    all
}

fn extents() -> impl Strategy<Value = (usize, usize)> {
    let small = || {
        prop_oneof![
            1 => Just(0usize),
            1 => Just(1usize),
            4 => 0usize..70,
            2 => 120usize..140,
        ]
    };
    // Wider and higher than a tile.
    prop_oneof![
        6 => (small(), small()),
        1 => (0usize..40, 900usize..1200),
        1 => (900usize..1200, 0usize..40),
        // Whole tiles of both copies.
        1 => (1usize..4, 1usize..6).prop_map(|(high, wide)| (32 * high, 64 * wide)),
    ]
}

fn profiles() -> impl Strategy<Value = Profile> {
    prop_oneof![
        1 => Just(Profile::AnyBits),
        3 => (-20..20).prop_map(Profile::Around),
        1 => (-126..=127).prop_map(Profile::Around),
        1 => Just(Profile::Subnormal),
        1 => Just(Profile::Sparse),
    ]
}

prop_compose! {
    fn recipes()(
        element in prop_oneof![select(vec![Format::E4M3, Format::E5M2]), select(ELEMENTS.to_vec())],
        block in blocks(),
        scaling in select(all_scalings()),
        cast in casts(),
        special in select(vec![Special::Poison, Special::Ignore, Special::Clamp]),
        margin in prop_oneof![3 => Just(0), 1 => -64..=64],
    ) -> Recipe {
        let recipe = Recipe::new(element, block, scaling).unwrap();
        recipe.with_cast(cast).with_special(special).with_margin(margin).unwrap()
    }
}

prop_compose! {
    fn cases()(
        (rows, cols) in extents(),
        recipe in recipes(),
        (seed, stream, first_index) in (any::<u64>(), any::<u64>(), any::<u64>()),
        half in any::<bool>(),
        profile in profiles(),
        specials in prop_oneof![
            3 => Just(Specials::None),
            2 => Just(Specials::Few),
            1 => Just(Specials::Many),
        ],
        gap in 0usize..4,
        cut in 0usize..=100,
    ) -> Case {
        let random = Philox { seed, stream, first_index };
        Case { rows, cols, recipe, random, half, profile, specials, gap, cut, seed }
    }
}

proptest! {
    // A case is small and its input a few numbers: shrinking prints all there is to know.
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn copies_equal_those_of_calls_of_their_own(case in cases()) {
        check(&case);
    }
}

/// The recipes that people know, in shapes that fill tiles, cross their borders, and fall short.
#[test]
fn named_recipes_in_the_shapes_of_tiles() {
    let recipes = [
        Recipe::MXFP8,
        Recipe::MXFP4,
        Recipe::DEEPSEEK_ACTIVATION,
        Recipe::DEEPSEEK_WEIGHT,
        Recipe::DEEPSEEK_ACTIVATION_E8M0,
        Recipe::NVFP4,
        Recipe::TENSOR,
    ];
    let shapes = [
        (64, 512),
        (65, 513),
        (36, 1030),
        (33, 1025),
        (128, 640),
        (31, 7),
        (1, 1),
        (0, 3),
        (3, 0),
    ];
    for recipe in recipes {
        for (number, &(rows, cols)) in shapes.iter().enumerate() {
            check(&Case {
                rows,
                cols,
                recipe,
                random: Philox::new(1, 2),
                half: number % 2 == 1,
                profile: Profile::Around(3),
                specials: [Specials::None, Specials::Few][number / 2 % 2],
                gap: number % 3,
                cut: 50,
                seed: number as u64,
            });
        }
    }
}

#[test]
fn shapes_of_copies_must_fit() {
    let recipe = Recipe::MXFP8;
    let data = vec![1.0f32; 12];
    let source = Matrix::new(&data, 3, 4).unwrap();
    let quantize = |codes: (usize, usize), scales: usize, source: Matrix<'_, f32>| {
        let (mut bytes, mut scale_bytes) = (vec![GUARD; 12], vec![GUARD; scales]);
        let codes = MatrixMut::new(&mut bytes, codes.0, codes.1).unwrap();
        let scales = ScalesMut::E8M0(&mut scale_bytes);
        let result = recipe.quantize_transposed(None, source, codes, scales);
        if result.is_err() {
            assert!(bytes.iter().chain(&scale_bytes).all(|&byte| byte == GUARD));
        }
        result.err()
    };
    assert_eq!(quantize((4, 3), 4, source), None);
    assert_eq!(quantize((3, 4), 4, source), Some(Error::Shape));
    assert_eq!(quantize((4, 3), 3, source), Some(Error::Length));
    let shard = Matrix::shard(&data, 3, 4, 0).unwrap();
    assert_eq!(quantize((4, 3), 4, shard), Some(Error::Shape));

    // In a pair, a fault of either keeps both from being written.
    let pair = |row_scales: usize, column_scales: usize, cast: Cast| {
        let (mut row, mut column) = (vec![GUARD; 12], vec![GUARD; 12]);
        let mut of_row = vec![GUARD; row_scales];
        let mut of_column = vec![GUARD; column_scales];
        let result = recipe.with_cast(cast).quantize_both(
            source,
            CopyMut::new(
                MatrixMut::new(&mut row, 3, 4).unwrap(),
                ScalesMut::E8M0(&mut of_row),
            ),
            CopyMut::new(
                MatrixMut::new(&mut column, 3, 4).unwrap(),
                ScalesMut::E8M0(&mut of_column),
            ),
        );
        if result.is_err() {
            let mut bytes = row.iter().chain(&column).chain(&of_row).chain(&of_column);
            assert!(bytes.all(|&byte| byte == GUARD));
        }
        result.err()
    };
    let stochastic = Cast::DEFAULT.rounding(Rounding::StochasticA(RandomBits::SIXTEEN));
    assert_eq!(pair(3, 4, Cast::DEFAULT), None);
    assert_eq!(pair(4, 4, Cast::DEFAULT), Some(Error::Length));
    assert_eq!(pair(3, 3, Cast::DEFAULT), Some(Error::Length));
    assert_eq!(pair(3, 4, stochastic), Some(Error::RandomBits));
}

/// A recipe that tries scales has no say where they are given.
#[test]
fn given_scales_are_not_tried() {
    let recipe = Recipe::new(
        Format::E2M1,
        Block::TENSOR,
        Scaling::PowerOfTwo(ExponentRule::LeastError),
    )
    .unwrap();
    // The scale below would serve all but the largest element better.
    let data = [6.5f32, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3];
    let source = Matrix::new(&data, 1, 8).unwrap();
    let mut codes = [0; 8];
    let given = ofp8::scale::GivenScales::Dequantize(ofp8::Scales::F32(&[2.0]));
    let target = MatrixMut::new(&mut codes, 1, 8).unwrap();
    recipe.quantize_given(None, source, given, target).unwrap();
    let expected = data.map(|x| ofp8::E2M1::from_f32(x / 2.0).to_bits());
    assert_eq!(codes, expected);
}

/// A shard begins and ends within blocks, whose scales come from the elements that are there.
#[test]
fn shards_have_the_codes_of_their_elements() {
    let (rows, cols) = (5, 600);
    let mut generator = Generator(8);
    let data: Vec<f32> = (0..rows * cols)
        .map(|_| element(&mut generator, Profile::Around(4), Specials::None))
        .collect();
    for block in [
        Block::new(1, 32),
        Block::new(2, 1),
        Block::new(3, 48),
        Block::ROW,
    ] {
        let recipe = Recipe::MXFP8.with_block(block);
        let (down, across) = block.grid(rows, cols);
        for (first, end) in [(0, 7), (37, 37), (45, 1300), (599, 2400), (1203, 1204)] {
            // Zeros take no part in an amax.
            let mut padded = vec![0.0; rows * cols];
            padded[first..end].copy_from_slice(&data[first..end]);
            let mut whole = vec![GUARD; rows * cols];
            let mut scales = vec![GUARD; down * across];
            let source = Matrix::new(&padded, rows, cols).unwrap();
            let target = MatrixMut::new(&mut whole, rows, cols).unwrap();
            recipe
                .quantize(source, target, ScalesMut::E8M0(&mut scales))
                .unwrap();

            let mut part = vec![GUARD; end - first];
            let mut part_scales = vec![GUARD; down * across];
            let source = Matrix::shard(&data[first..end], rows, cols, first).unwrap();
            let target = MatrixMut::shard(&mut part, rows, cols, first).unwrap();
            let target_scales = ScalesMut::E8M0(&mut part_scales);
            let stats = recipe.quantize(source, target, target_scales).unwrap();
            assert_eq!(stats.count, (end - first) as u64);
            assert_eq!(part, whole[first..end], "{block:?} {first}..{end}");
            assert_eq!(part_scales, scales, "{block:?} {first}..{end}");

            let mut back = vec![0.0f32; rows * cols];
            let codes = Matrix::new(&whole, rows, cols).unwrap();
            let target = MatrixMut::new(&mut back, rows, cols).unwrap();
            recipe
                .dequantize(codes, ofp8::Scales::E8M0(&scales), target)
                .unwrap();
            let mut part_back = vec![0.0f32; end - first];
            let codes = Matrix::shard(&part, rows, cols, first).unwrap();
            let target = MatrixMut::shard(&mut part_back, rows, cols, first).unwrap();
            recipe
                .dequantize(codes, ofp8::Scales::E8M0(&scales), target)
                .unwrap();
            assert_eq!(part_back, back[first..end]);
        }
    }
}

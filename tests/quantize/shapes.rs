// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole matrices, of every shape, against the model.

use ofp8::scale::GivenScales;
use ofp8::{
    Amax, Block, Cast, Format, Matrix, MatrixMut, NanPolicy, Philox, RandomBits, Recipe, Rounding,
    Saturation, ScaleOrder, ScalesMut, Special, Stats,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::data::{Generator, Profile, Specials, Strided, Wide, element};
use crate::model::{ELEMENTS, Plan, Quantized, parts, scalings};

/// What lies between rows of codes.
const GUARD: u8 = 0xA5;

/// One case; a failure prints it, and `check(&case)` repeats it.
#[derive(Clone, Debug)]
struct Case {
    rows: usize,
    cols: usize,
    plan: Plan,
    random: Philox,
    source: Source,
    profile: Profile,
    specials: Specials,
    gaps: (usize, usize),
    /// Where the rows are cut, in parts of 100.
    cut: usize,
    seed: u64,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    F32,
    F16,
    Bf16,
}

/// Scales of either kind.
enum Stored {
    F32(Vec<f32>),
    E8M0(Vec<u8>),
}

impl Stored {
    fn new(plan: &Plan, len: usize) -> Stored {
        if plan.is_e8m0() {
            Stored::E8M0(vec![GUARD; len])
        } else {
            Stored::F32(vec![-1.0; len])
        }
    }

    fn slice(&mut self, from: usize, to: usize) -> ScalesMut<'_> {
        match self {
            Stored::F32(scales) => ScalesMut::F32(&mut scales[from..to]),
            Stored::E8M0(scales) => ScalesMut::E8M0(&mut scales[from..to]),
        }
    }

    fn all(&mut self) -> ScalesMut<'_> {
        self.slice(0, self.bits().len())
    }

    fn bits(&self) -> Vec<u32> {
        match self {
            Stored::F32(scales) => scales.iter().map(|scale| scale.to_bits()).collect(),
            Stored::E8M0(scales) => scales.iter().map(|&scale| scale as u32).collect(),
        }
    }
}

fn expected_scales(plan: &Plan, model: &Quantized) -> Vec<u32> {
    let bits = |scale: &crate::model::Scale| match plan.is_e8m0() {
        true => scale.e8m0() as u32,
        false => scale.f32_bits(),
    };
    model.scales.iter().map(bits).collect()
}

impl Case {
    fn source<S: Wide>(&self) -> Strided<S> {
        let mut random = Generator(self.seed);
        // A NaN that were read by mistake would poison a block.
        let guard = S::nearest(f32::NAN);
        let mut source = Strided::new(self.rows, self.cols, self.gaps.0, guard);
        for row in 0..self.rows {
            for col in 0..self.cols {
                let x = element(&mut random, self.profile, self.specials);
                source.set(row, col, S::nearest(x));
            }
        }
        source
    }

    /// The generator, where the rounding takes one.
    fn random(&self) -> Option<Philox> {
        let stochastic = self.plan.cast.rounding.random_bits() > 0;
        stochastic.then_some(self.random)
    }

    fn one_shot<S: Wide>(
        &self,
        source: Matrix<'_, S>,
        codes: MatrixMut<'_, u8>,
        scales: ScalesMut<'_>,
    ) -> Stats {
        let recipe = self.plan.recipe();
        let result = match self.random() {
            Some(random) => recipe.quantize_stochastic(random, source, codes, scales),
            None => recipe.quantize(source, codes, scales),
        };
        result.unwrap()
    }
}

/// The codes of a matrix without its gaps, which must be as they were.
fn without_gaps(codes: &Strided<u8>) -> Vec<u8> {
    let mut inside = Vec::new();
    let gap = codes.stride - codes.cols;
    for row in 0..codes.rows {
        let row = &codes.data[row * codes.stride..][..codes.stride];
        inside.extend_from_slice(&row[..codes.cols]);
        assert_eq!(row[codes.cols..], vec![GUARD; gap], "between rows");
    }
    assert_eq!(
        codes.data[codes.rows * codes.stride..],
        vec![GUARD; gap],
        "after"
    );
    inside
}

fn check(case: &Case) {
    match case.source {
        Source::F32 => check_typed::<f32>(case),
        Source::F16 => check_typed::<ofp8::F16>(case),
        Source::Bf16 => check_typed::<ofp8::Bf16>(case),
    }
}

fn check_typed<S: Wide>(case: &Case) {
    let plan = &case.plan;
    let recipe = plan.recipe();
    let source = case.source::<S>();
    let model = plan.quantize(case.random(), &source);
    let blocks = model.scales.len();

    let (down, across) = plan.block.grid(case.rows, case.cols);
    let rows_of_blocks = parts(case.rows, plan.block.rows).len();
    let cols_of_blocks = parts(case.cols, plan.block.cols).len();
    assert_eq!((down, across), (rows_of_blocks, cols_of_blocks));

    let mut amax = vec![Amax::NAN; blocks];
    recipe.amax(source.matrix(), &mut amax).unwrap();
    let expected: Vec<Amax> = model.amax.iter().map(|&amax| Amax::of(amax)).collect();
    assert_eq!(amax, expected, "amax");

    let new_codes = || Strided::new(case.rows, case.cols, case.gaps.1, GUARD);
    let mut codes = new_codes();
    let mut scales = Stored::new(plan, blocks);
    let stats = case.one_shot(source.matrix(), codes.matrix_mut(), scales.all());
    assert_eq!(scales.bits(), expected_scales(plan, &model), "scales");
    let inside = without_gaps(&codes);
    for (i, (&code, &expected)) in inside.iter().zip(&model.codes).enumerate() {
        let (row, col) = (i / case.cols, i % case.cols);
        let x = source.get(row, col);
        assert_eq!(code, expected, "code of {x:?} at row {row}, column {col}");
    }
    assert_eq!(stats, model.stats);

    // The same from an amax that was computed before.
    let mut again = new_codes();
    let mut scales_again = Stored::new(plan, blocks);
    let stats_again = recipe
        .quantize_from_amax(
            case.random(),
            source.matrix(),
            &amax,
            again.matrix_mut(),
            scales_again.all(),
        )
        .unwrap();
    assert_eq!(again.data, codes.data);
    assert_eq!(scales_again.bits(), scales.bits());
    assert_eq!(stats_again, stats);

    check_cut(case, &source, &codes, &scales, stats);
}

/// The same matrix in two parts of rows, as two threads or ranks would have it.
fn check_cut<S: Wide>(
    case: &Case,
    source: &Strided<S>,
    codes: &Strided<u8>,
    scales: &Stored,
    stats: Stats,
) {
    let (rows, cols) = (case.rows, case.cols);
    let recipe = case.plan.recipe();
    let block_rows = case.plan.block.rows;
    let cut = rows * case.cut / 100;
    // Blocks of a given height are not cut; those of all rows are, and share their amax.
    let cut = cut - cut.checked_rem(block_rows).unwrap_or(0);
    let halves = [(0, cut), (cut, rows)];

    let mut amax: Vec<Vec<Amax>> = halves
        .iter()
        .map(|&(from, to)| {
            let (down, across) = case.plan.block.grid(to - from, cols);
            let mut amax = vec![Amax::NAN; down * across];
            recipe.amax(source.rows(from, to), &mut amax).unwrap();
            amax
        })
        .collect();
    if block_rows == 0 && cut > 0 && cut < rows {
        let merged: Vec<Amax> = amax[0]
            .iter()
            .zip(&amax[1])
            .map(|(a, b)| a.merge(*b))
            .collect();
        amax = vec![merged.clone(), merged];
    }

    let mut parts = Strided::new(rows, cols, case.gaps.1, GUARD);
    let mut parts_stats = Stats::EMPTY;
    let mut parts_scales = Vec::new();
    for (&(from, to), amax) in halves.iter().zip(&amax) {
        let first = case.random.first_index.wrapping_add((from * cols) as u64);
        let random = case.random().map(|random| random.at(first));
        let mut scales = Stored::new(&case.plan, amax.len());
        let (source, codes) = (source.rows(from, to), parts.rows_mut(from, to));
        let of_part = recipe
            .quantize_from_amax(random, source, amax, codes, scales.all())
            .unwrap();
        parts_stats = of_part.merge(parts_stats);
        if block_rows != 0 || parts_scales.is_empty() {
            parts_scales.extend(scales.bits());
        } else if to > from {
            assert_eq!(
                scales.bits(),
                parts_scales,
                "both parts have the same scales"
            );
        }
    }
    assert_eq!(parts.data, codes.data, "codes of the parts");
    assert_eq!(parts_scales, scales.bits(), "scales of the parts");
    assert_eq!(parts_stats, stats, "statistics of the parts");
}

fn blocks() -> impl Strategy<Value = Block> {
    let named = select(vec![
        Block::TENSOR,
        Block::ROW,
        Block::COLUMN,
        Block::new(1, 128),
        Block::new(128, 128),
        Block::new(1, 32),
        Block::new(32, 1),
        Block::new(32, 32),
        Block::new(1, 16),
        Block::new(1, 1),
    ]);
    let any = (0usize..20, 0usize..20).prop_map(|(rows, cols)| Block::new(rows, cols));
    prop_oneof![3 => named, 1 => any]
}

fn roundings() -> impl Strategy<Value = Rounding> {
    let stochastic = (1u32..=16, 0..3).prop_map(|(bits, which)| {
        let bits = RandomBits::new(bits).unwrap();
        match which {
            0 => Rounding::StochasticA(bits),
            1 => Rounding::StochasticB(bits),
            _ => Rounding::StochasticC(bits),
        }
    });
    prop_oneof![
        3 => Just(Rounding::NearestEven),
        3 => stochastic,
        5 => select(vec![
            Rounding::NearestAway,
            Rounding::TowardZero,
            Rounding::TowardPositive,
            Rounding::TowardNegative,
            Rounding::ToOdd,
        ]),
    ]
}

prop_compose! {
    fn casts()(
        rounding in roundings(),
        saturation in select(vec![Saturation::Finite, Saturation::Propagate, Saturation::None]),
        nan in select(vec![NanPolicy::Canonical, NanPolicy::KeepSign]),
    ) -> Cast {
        Cast { rounding, saturation, nan }
    }
}

prop_compose! {
    fn plans()(
        element in prop_oneof![select(vec![Format::E4M3, Format::E5M2]), select(ELEMENTS.to_vec())],
        block in blocks(),
        scaling in select(scalings()),
        cast in casts(),
        special in select(vec![Special::Poison, Special::Ignore, Special::Clamp]),
        epsilon in prop_oneof![4 => Just(0.0f32), 1 => select(vec![1e-44, 1e-4, 1.0, 1e30])],
        bound in prop_oneof![4 => Just(f32::INFINITY), 1 => select(vec![1e-42, 0.1, 3.0, 1e30])],
        margin in prop_oneof![3 => Just(0), 1 => -64..=64],
    ) -> Plan {
        Plan { element, block, scaling, cast, special, epsilon, bound, margin }
    }
}

fn extents() -> impl Strategy<Value = usize> {
    prop_oneof![
        1 => Just(0usize),
        1 => Just(1usize),
        4 => 0usize..40,
        2 => 120usize..140,
        1 => 250usize..300,
    ]
}

fn profiles() -> impl Strategy<Value = Profile> {
    prop_oneof![
        1 => Just(Profile::AnyBits),
        3 => (-20..20).prop_map(Profile::Around),
        1 => (-126..=127).prop_map(Profile::Around),
        2 => Just(Profile::Coarse),
        1 => Just(Profile::Subnormal),
        1 => Just(Profile::Sparse),
    ]
}

/// Some wider or higher than a tile of the quantizer.
fn shapes() -> impl Strategy<Value = (usize, usize)> {
    prop_oneof![
        18 => (extents(), extents()),
        1 => (0usize..6, 500usize..1200),
        1 => (500usize..1200, 0usize..6),
    ]
}

prop_compose! {
    fn cases()(
        (rows, cols) in shapes(),
        plan in plans(),
        (seed, stream, first_index) in (any::<u64>(), any::<u64>(), any::<u64>()),
        source in select(vec![Source::F32, Source::F32, Source::F16, Source::Bf16]),
        profile in profiles(),
        specials in prop_oneof![
            3 => Just(Specials::None),
            2 => Just(Specials::Few),
            1 => Just(Specials::Many),
        ],
        gaps in (0usize..4, 0usize..4),
        cut in 0usize..=100,
    ) -> Case {
        let random = Philox { seed, stream, first_index };
        Case { rows, cols, plan, random, source, profile, specials, gaps, cut, seed }
    }
}

proptest! {
    // A case is small and its input a few numbers: shrinking prints all there is to know.
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn quantizing_equals_the_model(case in cases()) {
        check(&case);
    }
}

/// The shapes that tensors have, each with every scaling and source type: nothing left to chance.
#[test]
fn named_block_shapes_equal_the_model() {
    let blocks = [
        Block::TENSOR,
        Block::ROW,
        Block::COLUMN,
        Block::new(1, 128),
        Block::new(128, 128),
        Block::new(1, 32),
    ];
    let shapes = [
        (1, 1),
        (1, 300),
        (300, 1),
        (2, 128),
        (129, 257),
        (31, 33),
        (0, 5),
        (5, 0),
    ];
    for block in blocks {
        for (number, &(rows, cols)) in shapes.iter().enumerate() {
            for scaling in scalings() {
                for source in [Source::F32, Source::F16, Source::Bf16] {
                    let element = ELEMENTS[(number * 5 + rows) % ELEMENTS.len()];
                    let case = Case {
                        rows,
                        cols,
                        plan: Plan::new(element, block, scaling),
                        random: Philox::new(0, 0),
                        source,
                        profile: Profile::Around(3),
                        specials: Specials::Few,
                        gaps: (number % 3, number % 2),
                        cut: 50,
                        seed: number as u64,
                    };
                    check(&case);
                }
            }
        }
    }
}

/// A matrix without elements takes no time and no scales, however many rows it claims and however its scales
/// would lie.
#[test]
fn empty_matrices_of_any_size() {
    const HUGE: usize = usize::MAX;
    let shapes = [
        (HUGE, 0, 0),
        (HUGE, 0, HUGE),
        (0, HUGE, HUGE),
        (1 << 62, 0, 0),
        (0, 0, 7),
    ];
    for (rows, cols, stride) in shapes {
        for block in [
            Block::TENSOR,
            Block::ROW,
            Block::COLUMN,
            Block::new(1, 32),
            Block::new(HUGE, HUGE),
        ] {
            let recipe = Recipe::TENSOR.with_block(block);
            let source = Matrix::<f32>::with_stride(&[], rows, cols, stride).unwrap();
            let stats = recipe.amax(source, &mut []);
            assert_eq!(stats, Ok(()));
            for order in [
                ScaleOrder::RowMajor,
                ScaleOrder::RowMajorPadded,
                ScaleOrder::MnMajorPadded,
                ScaleOrder::Tile128x4,
                ScaleOrder::PackedWords,
                ScaleOrder::Gfx950,
            ] {
                check_empty(&recipe.with_scale_order(order), source, stride);
            }
            assert_eq!(ofp8::scale::validate(source), Ok(()));
            let measure = ofp8::monitor::measure(source, source).unwrap();
            assert_eq!(measure.count, 0);
        }
    }
}

/// All that is done to a matrix without elements.
fn check_empty(recipe: &Recipe, source: Matrix<'_, f32>, stride: usize) {
    let (rows, cols) = (source.rows(), source.cols());
    let codes = || MatrixMut::with_stride(&mut [], rows, cols, stride).unwrap();
    let stats = recipe.quantize(source, codes(), ScalesMut::F32(&mut []));
    assert_eq!(stats, Ok(Stats::EMPTY));
    let given = GivenScales::Quantize(&[]);
    let stats = recipe.quantize_given(None, source, given, codes());
    assert_eq!(stats, Ok(Stats::EMPTY));
    let codes = Matrix::with_stride(&[], rows, cols, stride).unwrap();
    let target = MatrixMut::<f32>::with_stride(&mut [], rows, cols, stride).unwrap();
    let scales = ofp8::Scales::F32(&[]);
    assert_eq!(recipe.dequantize(codes, scales, target), Ok(()));
}

/// A block may be larger than any matrix.
#[test]
fn blocks_of_any_size() {
    let data = [1.0f32, -2.0, 3.0, -4.0, 5.0, -6.0];
    let source = Matrix::new(&data, 2, 3).unwrap();
    let quantize = |block| {
        let mut codes = [0; 6];
        let mut scales = [0.0];
        let target = MatrixMut::new(&mut codes, 2, 3).unwrap();
        let recipe = Recipe::TENSOR.with_block(block);
        recipe
            .quantize(source, target, ScalesMut::F32(&mut scales))
            .unwrap();
        (codes, scales)
    };
    let whole = quantize(Block::TENSOR);
    for size in [3, 1 << 40, usize::MAX - 1, usize::MAX] {
        assert_eq!(quantize(Block::new(size, size)), whole);
        assert_eq!(quantize(Block::new(0, size)), whole);
    }
}

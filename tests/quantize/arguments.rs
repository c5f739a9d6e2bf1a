// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wrong arguments: each has its error, and nothing is written.

use ofp8::scale::{MAX_MARGIN, NotFinite, validate};
use ofp8::{
    Amax, Block, Cast, Error, ExponentRule, Format, Matrix, MatrixMut, Philox, RandomBits, Recipe,
    Rounding, Scales, ScalesMut, Scaling, Special,
};

const ROWS: usize = 3;
const COLS: usize = 40;
/// Blocks of 1x32.
const BLOCKS: usize = ROWS * 2;
const POISON: u8 = 0xA5;
const POISON_F32: f32 = -7.25;

const MX: Recipe = Recipe::MXFP8;

fn tiles() -> Recipe {
    Recipe::DEEPSEEK_ACTIVATION.with_block(Block::new(1, 32))
}

fn stochastic(recipe: Recipe, bits: u32) -> Recipe {
    let bits = RandomBits::new(bits).unwrap();
    recipe.with_cast(Cast::DEFAULT.rounding(Rounding::StochasticA(bits)))
}

/// What a call may be given wrong: all right by default.
#[derive(Clone, Copy)]
struct Call {
    recipe: Recipe,
    code_rows: usize,
    code_cols: usize,
    scales: usize,
    e8m0: bool,
    amax: Option<(usize, Amax)>,
    random: Option<Philox>,
}

impl Call {
    fn new(recipe: Recipe) -> Call {
        Call {
            recipe,
            code_rows: ROWS,
            code_cols: COLS,
            scales: BLOCKS,
            e8m0: matches!(recipe.scaling(), Scaling::E8M0(_)),
            amax: None,
            random: None,
        }
    }

    /// Quantizes; `None` where it went well, else the error, and nothing was written.
    fn quantize(self) -> Option<Error> {
        let data = [1.5f32; ROWS * COLS];
        let source = Matrix::new(&data, ROWS, COLS).unwrap();
        let mut codes = [POISON; (ROWS + 1) * (COLS + 1)];
        let (mut wide, mut bytes) = ([POISON_F32; BLOCKS + 1], [POISON; BLOCKS + 1]);
        let target = MatrixMut::new(&mut codes, self.code_rows, self.code_cols).unwrap();
        let scales = if self.e8m0 {
            ScalesMut::E8M0(&mut bytes[..self.scales])
        } else {
            ScalesMut::F32(&mut wide[..self.scales])
        };
        let result = match (self.amax, self.random) {
            (Some((len, amax)), random) => {
                let amax = [amax; BLOCKS + 1];
                self.recipe
                    .quantize_from_amax(random, source, &amax[..len], target, scales)
            }
            (None, Some(random)) => self
                .recipe
                .quantize_stochastic(random, source, target, scales),
            (None, None) => self.recipe.quantize(source, target, scales),
        };
        let error = result.err();
        let untouched = codes == [POISON; (ROWS + 1) * (COLS + 1)]
            && wide == [POISON_F32; BLOCKS + 1]
            && bytes == [POISON; BLOCKS + 1];
        assert_eq!(error.is_some(), untouched, "{error:?}");
        error
    }

    /// The same for dequantizing.
    fn dequantize(self) -> Option<Error> {
        let codes = [0x38; ROWS * COLS];
        let codes = Matrix::new(&codes, ROWS, COLS).unwrap();
        let (wide, bytes) = ([1.0; BLOCKS + 1], [0x7F; BLOCKS + 1]);
        let scales = if self.e8m0 {
            Scales::E8M0(&bytes[..self.scales])
        } else {
            Scales::F32(&wide[..self.scales])
        };
        let mut target = [POISON_F32; (ROWS + 1) * (COLS + 1)];
        let matrix = MatrixMut::new(&mut target, self.code_rows, self.code_cols).unwrap();
        let error = self.recipe.dequantize(codes, scales, matrix).err();
        let untouched = target == [POISON_F32; (ROWS + 1) * (COLS + 1)];
        assert_eq!(error.is_some(), untouched, "{error:?}");
        error
    }
}

/// Both directions, with f32 and with E8M0 scales.
fn each(mut change: impl FnMut(&mut Call), expected: Option<Error>) {
    for recipe in [MX, tiles()] {
        let mut call = Call::new(recipe);
        change(&mut call);
        assert_eq!(call.quantize(), expected);
        assert_eq!(call.dequantize(), expected);
        let mut from_amax = call;
        from_amax.amax = Some((BLOCKS, Amax::of(1.5)));
        assert_eq!(from_amax.quantize(), expected);
        let mut random = Call {
            recipe: stochastic(call.recipe, 16),
            random: Some(Philox::new(1, 2)),
            ..call
        };
        assert_eq!(random.quantize(), expected);
        random.amax = from_amax.amax;
        assert_eq!(random.quantize(), expected);
    }
}

#[test]
fn right_arguments_are_taken() {
    each(|_| {}, None);
}

#[test]
fn shapes_must_match() {
    each(|call| call.code_rows = ROWS - 1, Some(Error::Shape));
    each(|call| call.code_rows = ROWS + 1, Some(Error::Shape));
    each(|call| call.code_rows = 0, Some(Error::Shape));
    each(|call| call.code_cols = COLS - 1, Some(Error::Shape));
    each(|call| call.code_cols = COLS + 1, Some(Error::Shape));
    let turned = |call: &mut Call| (call.code_rows, call.code_cols) = (COLS, ROWS);
    each(turned, Some(Error::Shape));
}

#[test]
fn there_must_be_one_scale_a_block() {
    for scales in [0, 1, BLOCKS - 1, BLOCKS + 1] {
        each(|call| call.scales = scales, Some(Error::Length));
    }
}

#[test]
fn scales_must_be_of_the_kind_of_the_recipe() {
    each(|call| call.e8m0 = !call.e8m0, Some(Error::Recipe));
    let powers = MX
        .with_scaling(Scaling::PowerOfTwo(ExponentRule::RoundUp))
        .unwrap();
    let mut call = Call::new(powers);
    assert_eq!(call.quantize(), None);
    call.e8m0 = true;
    assert_eq!(call.quantize(), Some(Error::Recipe));
    assert_eq!(call.dequantize(), Some(Error::Recipe));
}

#[test]
fn there_must_be_one_amax_a_block() {
    for recipe in [MX, tiles()] {
        for len in [0, 1, BLOCKS - 1, BLOCKS + 1] {
            let mut call = Call::new(recipe);
            call.amax = Some((len, Amax::of(1.5)));
            assert_eq!(call.quantize(), Some(Error::Length));

            let data = [1.5f32; ROWS * COLS];
            let source = Matrix::new(&data, ROWS, COLS).unwrap();
            let mut amax = vec![Amax::INFINITY; len];
            assert_eq!(recipe.amax(source, &mut amax), Err(Error::Length));
            assert_eq!(amax, vec![Amax::INFINITY; len]);
        }
    }
}

#[test]
fn a_stochastic_rounding_needs_its_bits() {
    for recipe in [MX, tiles()] {
        for amax in [None, Some((BLOCKS, Amax::of(1.5)))] {
            let call = Call {
                amax,
                ..Call::new(stochastic(recipe, 1))
            };
            assert_eq!(call.quantize(), Some(Error::RandomBits));
            let random = Some(Philox::new(0, 0));
            assert_eq!(Call { random, ..call }.quantize(), None);
            for bits in [17, 32] {
                let recipe = stochastic(recipe, bits);
                let call = Call {
                    recipe,
                    random,
                    ..call
                };
                assert_eq!(call.quantize(), Some(Error::RandomBits));
            }
        }
    }
    // Dequantizing does not round stochastically.
    assert_eq!(Call::new(stochastic(MX, 32)).dequantize(), None);
}

#[test]
fn ignore_needs_the_finite_amax() {
    for amax in [Amax::INFINITY, Amax::NAN] {
        for (special, expected) in [
            (Special::Poison, None),
            (Special::Clamp, None),
            (Special::Ignore, Some(Error::NotFinite)),
        ] {
            let mut call = Call::new(MX.with_special(special));
            call.amax = Some((BLOCKS, amax));
            assert_eq!(call.quantize(), expected);
        }
    }
}

#[test]
fn matrices_lie_inside_their_slices() {
    let data = [0u8; 12];
    let new = |rows, cols, stride| {
        let mut copy = data;
        let write = MatrixMut::with_stride(&mut copy, rows, cols, stride).map(|m| m.rows());
        let read = Matrix::with_stride(&data, rows, cols, stride).map(|m| m.rows());
        assert_eq!(read, write);
        read
    };
    assert_eq!(new(3, 4, 4), Ok(3));
    assert_eq!(new(2, 4, 8), Ok(2));
    assert_eq!(new(1, 12, 0), Ok(1));
    assert_eq!(new(3, 4, 5), Err(Error::Length));
    assert_eq!(new(4, 4, 4), Err(Error::Length));
    assert_eq!(new(1, 13, 13), Err(Error::Length));
    assert_eq!(new(3, 4, 3), Err(Error::Shape));
    assert_eq!(new(2, 1, 0), Err(Error::Shape));
    assert_eq!(new(usize::MAX, 2, 2), Err(Error::Shape));
    assert_eq!(new(3, 1, usize::MAX), Err(Error::Shape));
    assert_eq!(new(2, 1, usize::MAX), Err(Error::Shape));
    assert_eq!(Matrix::new(&data, 3, 5).err(), Some(Error::Length));
    assert_eq!(
        Matrix::new(&data, 1 << 40, 1 << 40).err(),
        Some(Error::Shape)
    );
}

#[test]
fn recipes_that_make_no_sense_cannot_be_built() {
    let unsigned = [
        Format::E8M0,
        Format::UE4M3,
        Format::UE5M3,
        Format::Binary8p4ue,
    ];
    for format in unsigned {
        let recipe = Recipe::new(format, Block::ROW, MX.scaling());
        assert_eq!(recipe, Err(Error::Recipe));
        assert_eq!(MX.with_element(format), Err(Error::Recipe));
    }
    for epsilon in [
        -1.0,
        -1e-45,
        f32::INFINITY,
        f32::NAN,
        -f32::NAN,
        f32::NEG_INFINITY,
    ] {
        assert_eq!(MX.with_epsilon(epsilon), Err(Error::Recipe), "{epsilon}");
    }
    for bound in [
        0.0,
        -0.0,
        -1.0,
        -1e-45,
        f32::NAN,
        -f32::NAN,
        f32::NEG_INFINITY,
    ] {
        assert_eq!(MX.with_amax_bound(bound), Err(Error::Recipe), "{bound}");
    }
    for margin in [MAX_MARGIN + 1, -MAX_MARGIN - 1, i32::MAX, i32::MIN] {
        assert_eq!(MX.with_margin(margin), Err(Error::Recipe), "{margin}");
    }
    assert!(MX.with_epsilon(0.0).is_ok() && MX.with_epsilon(f32::MAX).is_ok());
    assert!(MX.with_epsilon(f32::from_bits(1)).is_ok());
    assert!(MX.with_amax_bound(f32::from_bits(1)).is_ok());
    assert!(MX.with_amax_bound(f32::INFINITY).is_ok());
    assert!(MX.with_margin(MAX_MARGIN).is_ok() && MX.with_margin(-MAX_MARGIN).is_ok());
}

#[test]
fn validate_names_the_first() {
    let mut data = [1.0f32; 4 * 10];
    // Between rows.
    data[8] = f32::NAN;
    fn matrix(data: &[f32]) -> Matrix<'_, f32> {
        Matrix::with_stride(data, 4, 7, 10).unwrap()
    }
    assert_eq!(validate(matrix(&data)), Ok(()));
    data[35] = f32::NAN;
    let error = validate(matrix(&data)).unwrap_err();
    assert_eq!((error.row, error.col), (3, 5));
    assert!(error.value.is_nan());
    data[26] = f32::NEG_INFINITY;
    data[21] = f32::MAX;
    let expected = NotFinite {
        row: 2,
        col: 6,
        value: f32::NEG_INFINITY,
    };
    assert_eq!(validate(matrix(&data)), Err(expected));
    assert_eq!(expected.to_string(), "-inf at row 2, column 6");
    let halves = [ofp8::F16(0x7BFF), ofp8::F16(0x7C00)];
    let error = validate(Matrix::new(&halves, 2, 1).unwrap()).unwrap_err();
    assert_eq!((error.row, error.col, error.value), (1, 0, f32::INFINITY));
    let brains = [ofp8::Bf16(0x7F7F), ofp8::Bf16(0xFF81)];
    let error = validate(Matrix::new(&brains, 1, 2).unwrap()).unwrap_err();
    assert_eq!((error.row, error.col), (0, 1));
}

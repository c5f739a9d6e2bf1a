// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tensor cores compute, to the bit.
//!
//! One instruction adds 32 products to an accumulator, in one step or two. A step aligns its terms
//! to the largest exponent among them, cuts each toward zero to a few fraction bits, and adds what
//! is left exactly; the sum is normalised and rounded to the accumulator. Instructions differ in
//! the numbers of that sentence, which are the rows of [`Model`].
//!
//! # Evidence
//! The models come from two published emulators, MMA-Sim (arXiv 2511.10909) and MATLAB-tensor-core
//! (arXiv 2512.07004). The second one's measurements on H100, H200, B200, Ada and L40S are
//! reproduced here without an exception: the column "measured" below. Without such measurements
//! stand, on the first one's word alone: C in Hopper's `wgmma` (the measurements have C = 0), all
//! of `tcgen05`, infinities and NaN, subnormal results and overflow.
//!
//! | model | fraction bits F | result | products a step | C | measured |
//! |---|---|---|---|---|---|
//! | [`Model::HopperWgmma`] | 13 | f32 with 13 fraction bits, toward zero | 32 | in the sum | for C = 0 |
//! | [`Model::HopperMmaF16`] | 25 | f16, nearest-even | 16: k mod 4 in {0, 1}, then {2, 3} | added last, nearest-even | yes |
//! | [`Model::AdaMma`] | 13 | f32 with 13 fraction bits, toward zero | 16: k < 16, then the rest | in the first sum | yes |
//! | [`Model::AdaMmaF16`] | 13 | f16, nearest-even | as above | in the first sum | yes |
//! | [`Model::BlackwellMma`] | 25 | f32, toward zero | 32 | added last, nearest-even | yes |
//! | [`Model::BlackwellMmaF16`] | 25 | f16, nearest-even | as Hopper's | added last, nearest-even | yes |
//! | [`Model::Tcgen05`] | 25 | f32, toward zero | 32 | in the sum | no |
//! | [`Model::Tcgen05Mx`] | 25 | f32, toward zero | 32, with the exponents of the two E8M0 scales | in the sum | no |
//!
//! **The f16 models and MX operands.** An f16 accumulator is infinite above 65504. MX scales take the
//! elements of each block near the largest value of their format, and a model without scales
//! applies them after the block is summed: a single product (up to 448 * 448 in E4M3) can then
//! exceed an f16. The hardware does the same with such codes; use an f32 model.
//!
//! A product that is zero takes no part in the alignment. (The emulators differ there, and only
//! where C is below about 2^-100; nobody measured it.) On Hopper and on B200 `mma.sync` does not
//! run on the FP8 tensor core that `wgmma` and `tcgen05` use, hence the different numbers.

use super::exact::{Parts, Specials, power_of_two};
use crate::kernel;
use crate::policy::Rounding;
use crate::scalar::{self, DECODE_CAST, Value};
use crate::spec::{FloatType, Format};

/// Two E8M0 scales that are 1.
const UNIT_SCALES: (u8, u8) = {
    let one = Format::E8M0.spec().bias as u8;
    (one, one)
};

/// Products of one instruction.
pub const MMA_K: usize = 32;

/// A tensor-core instruction. The numbers are those of the C ABI: explicit, append-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum Model {
    /// Hopper's `wgmma` on FP8 into f32: the one that loses bits, for which promotion was invented.
    HopperWgmma = 1,
    /// Hopper's `mma.sync` on FP8 into f16. Overflows with MX operands.
    HopperMmaF16 = 2,
    /// Ada's `mma.sync.m16n8k32` on FP8 into f32.
    AdaMma = 3,
    /// Ada's `mma.sync.m16n8k32` on FP8 into f16. Overflows with MX operands.
    AdaMmaF16 = 4,
    /// B200's `mma.sync` on FP8 into f32.
    BlackwellMma = 5,
    /// B200's `mma.sync` on FP8 into f16. Overflows with MX operands.
    BlackwellMmaF16 = 6,
    /// B200's `tcgen05.mma kind::f8f6f4` into f32.
    Tcgen05 = 7,
    /// B200's `tcgen05.mma kind::mxf8f6f4` with block scales, into f32.
    Tcgen05Mx = 8,
}

/// How an accumulator is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Result {
    /// An f32 with so many fraction bits, toward zero.
    F32(u32),
    /// An f16, to nearest-even.
    F16,
}

/// Where the accumulator joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Addend {
    /// It is a term of the first step.
    InSum,
    /// It is added to the finished sum, to nearest-even.
    Last,
}

/// How products are dealt to steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Steps {
    /// One step.
    One,
    /// Two: the first half, then the second.
    Halves,
    /// Two: k mod 4 in {0, 1}, then k mod 4 in {2, 3}.
    Interleaved,
}

/// The numbers of an instruction.
struct Row {
    fraction_bits: i32,
    result: Result,
    steps: Steps,
    addend: Addend,
}

impl Row {
    const fn new(fraction_bits: i32, result: Result, steps: Steps, addend: Addend) -> Row {
        Row {
            fraction_bits,
            result,
            steps,
            addend,
        }
    }
}

/// No exponent of a sum lies below this one: terms far below it vanish. (MATLAB-tensor-core's
/// `min_exp_limit`.) Block scales alone can reach it.
const LEAST_EXPONENT: i32 = -133;

impl Model {
    /// Every model.
    pub const ALL: &'static [Model] = &[
        Model::HopperWgmma,
        Model::HopperMmaF16,
        Model::AdaMma,
        Model::AdaMmaF16,
        Model::BlackwellMma,
        Model::BlackwellMmaF16,
        Model::Tcgen05,
        Model::Tcgen05Mx,
    ];

    /// The model with this number (the C ABI's), if there is one.
    pub const fn from_number(number: u32) -> Option<Model> {
        let mut i = 0;
        while i < Model::ALL.len() {
            if Model::ALL[i] as u32 == number {
                return Some(Model::ALL[i]);
            }
            i += 1;
        }
        None
    }

    const fn row(self) -> &'static Row {
        const HOPPER: Result = Result::F32(13);
        const FULL: Result = Result::F32(23);
        const HALF: Result = Result::F16;
        match self {
            Model::HopperWgmma => const { &Row::new(13, HOPPER, Steps::One, Addend::InSum) },
            Model::AdaMma => const { &Row::new(13, HOPPER, Steps::Halves, Addend::InSum) },
            Model::AdaMmaF16 => const { &Row::new(13, HALF, Steps::Halves, Addend::InSum) },
            Model::HopperMmaF16 | Model::BlackwellMmaF16 => {
                const { &Row::new(25, HALF, Steps::Interleaved, Addend::Last) }
            }
            Model::BlackwellMma => const { &Row::new(25, FULL, Steps::One, Addend::Last) },
            Model::Tcgen05 | Model::Tcgen05Mx => {
                const { &Row::new(25, FULL, Steps::One, Addend::InSum) }
            }
        }
    }

    /// Whether the instruction multiplies codes of this format: E4M3 and E5M2, and `tcgen05` the
    /// FP6 and FP4 formats of MX, too.
    pub const fn takes(self, format: Format) -> bool {
        match format {
            Format::E4M3 | Format::E5M2 => true,
            Format::E2M3 | Format::E3M2 | Format::E2M1 => {
                matches!(self, Model::Tcgen05 | Model::Tcgen05Mx)
            }
            _ => false,
        }
    }

    /// Whether the instruction takes E8M0 scales, one for 32 products of each operand.
    pub const fn is_scaled(self) -> bool {
        matches!(self, Model::Tcgen05Mx)
    }

    /// The type of the accumulator. An f16 travels here as the f32 of the same value.
    pub const fn accumulator(self) -> FloatType {
        match self.row().result {
            Result::F32(_) => FloatType::F32,
            Result::F16 => FloatType::F16,
        }
    }

    /// What one instruction gives for 32 products and an accumulator `c`; `None` where it does not
    /// take these formats. A `c` that an f16 accumulator cannot hold is first rounded to nearest-even.
    ///
    /// NaN is 0x7FFFFFFF, as the hardware gives it.
    ///
    /// ```
    /// use ofp8::{Format, accumulate::Model};
    ///
    /// let e4m3 = |first: f32, rest: f32| {
    ///     let code = |value| ofp8::scalar::encode_f32(Format::E4M3, ofp8::Cast::DEFAULT, value, 0);
    ///     let mut codes = [code(rest); 32];
    ///     codes[0] = code(first);
    ///     (Format::E4M3, codes)
    /// };
    /// let (a, b) = (e4m3(128.0, 1.0), e4m3(64.0, 0.5));
    /// // The sum is 8207.5; Hopper cuts each 0.5 off beside 8192.
    /// assert_eq!(Model::HopperWgmma.mma(a, b, 0.0), Some(8192.0));
    /// assert_eq!(Model::AdaMma.mma(a, b, 0.0), Some(8192.0));
    /// assert_eq!(Model::Tcgen05.mma(a, b, 0.0), Some(8207.5));
    /// ```
    pub fn mma(self, a: (Format, [u8; MMA_K]), b: (Format, [u8; MMA_K]), c: f32) -> Option<f32> {
        self.mma_scaled(a, b, UNIT_SCALES, c)
    }

    /// [`Model::mma`] with an E8M0 scale for each operand; `None`, too, where the instruction takes
    /// no scales and they are not both 1 (0x7F).
    pub fn mma_scaled(
        self,
        a: (Format, [u8; MMA_K]),
        b: (Format, [u8; MMA_K]),
        scales: (u8, u8),
        c: f32,
    ) -> Option<f32> {
        let takes = self.takes(a.0) && self.takes(b.0);
        if !takes || (!self.is_scaled() && scales != UNIT_SCALES) {
            return None;
        }
        let parts = |(format, codes): (Format, [u8; MMA_K])| {
            codes.map(|code| Parts::of(format.spec(), code as u64))
        };
        let factors = parts(a).into_iter().zip(parts(b));
        let scale = |code: u8| scalar::decode_f32(Format::E8M0, code);
        let products = Products::scaled(
            factors,
            fraction_bits(a.0, b.0),
            scale(scales.0),
            scale(scales.1),
        );
        Some(kernel::with_default_environment(|| self.add(&products, c)))
    }

    /// The accumulator after one instruction. The floating-point environment is the default.
    pub(crate) fn add(self, products: &Products, c: f32) -> f32 {
        let row = self.row();
        let c = row.accumulator(c);
        let specials = products.specials.with(Specials::of(Parts::of_f32(c)));
        if let Some(special) = specials.resolve() {
            return hardware_nan(special);
        }
        let terms = products.terms.iter();
        let start = match row.addend {
            Addend::InSum => c,
            Addend::Last => 0.0,
        };
        let sum = match row.steps {
            Steps::One => row.step(terms, start),
            Steps::Halves => {
                let (first, second) = (terms.clone().take(MMA_K / 2), terms.skip(MMA_K / 2));
                row.step(second, row.step(first, start))
            }
            Steps::Interleaved => {
                let pick = |second: bool| {
                    let numbered = products.terms.iter().enumerate();
                    numbered.filter_map(move |(k, term)| ((k % 4 >= 2) == second).then_some(term))
                };
                row.step(pick(true), row.step(pick(false), start))
            }
        };
        hardware_nan(match row.addend {
            Addend::InSum => sum,
            Addend::Last => row.sum(sum, c),
        })
    }
}

impl Row {
    /// The accumulator nearest to a value.
    fn accumulator(&self, c: f32) -> f32 {
        match self.result {
            Result::F32(_) => c,
            Result::F16 => to_f16(decode_f32(c)),
        }
    }

    /// The parts of an accumulator, and the fraction bits of its type. Subnormals of either type
    /// are not normalised.
    fn parts(&self, accumulator: f32) -> (Parts, i32) {
        let (from, row) = (
            FloatType::F32.spec(),
            match self.result {
                Result::F32(_) => FloatType::F32.spec(),
                Result::F16 => FloatType::F16.spec(),
            },
        );
        let bits = accumulator.to_bits() as u64;
        let parts = match self.result {
            Result::F32(_) => Parts::of(row, bits),
            Result::F16 => Parts::of(row, scalar::convert(from, row, DECODE_CAST, bits, 0)),
        };
        (parts, row.mantissa_bits as i32)
    }

    /// One step: terms and accumulator aligned, cut and added.
    #[inline(always)]
    fn step<'a>(&self, terms: impl Iterator<Item = &'a Term> + Clone, accumulator: f32) -> f32 {
        let (c, mantissa_bits) = self.parts(accumulator);
        if c.is_special() {
            // An f16 that overflowed in the step before.
            return accumulator;
        }
        let mut largest = LEAST_EXPONENT;
        if c.integer != 0 {
            largest = largest.max(c.exponent + mantissa_bits);
        }
        for term in terms.clone() {
            largest = largest.max(term.exponent);
        }
        let last_place = largest - self.fraction_bits;
        let mut sum = cut(c.integer, c.exponent - last_place);
        for term in terms {
            sum += cut(term.integer, term.last_place - last_place);
        }
        self.round(Value::new(sum < 0, sum.unsigned_abs(), last_place))
    }

    /// The accumulator that a sum is rounded to.
    fn round(&self, sum: Value) -> f32 {
        let f32_row = FloatType::F32.spec();
        match (self.result, sum) {
            (Result::F16, _) => to_f16(sum),
            // The sum of nothing but zeros is +0.
            (_, Value::Zero { .. }) => 0.0,
            (
                Result::F32(_),
                Value::Finite {
                    negative, exponent, ..
                },
            ) if exponent > f32_row.max_exponent() => {
                if negative {
                    f32::NEG_INFINITY
                } else {
                    f32::INFINITY
                }
            }
            (Result::F32(fraction_bits), _) => {
                let cast = DECODE_CAST.rounding(Rounding::TowardZero);
                let bits = scalar::encode(f32_row, cast, sum, 0) as u32;
                let beyond = f32_row.mantissa_bits - fraction_bits;
                f32::from_bits(bits >> beyond << beyond)
            }
        }
    }

    /// The finished sum and the accumulator, added to nearest-even.
    fn sum(&self, sum: f32, c: f32) -> f32 {
        match self.result {
            Result::F32(_) => sum + c,
            // Exact in f64, then rounded once.
            Result::F16 => {
                let bits = (sum as f64 + c as f64).to_bits();
                to_f16(scalar::decode(FloatType::F64.spec(), bits))
            }
        }
    }
}

/// A product: `integer * 2^last_place`, and the exponent by which it is aligned; that of a zero is
/// below all others.
#[derive(Clone, Copy, Debug)]
struct Term {
    integer: i32,
    last_place: i32,
    exponent: i32,
}

impl Term {
    const ZERO: Term = Term {
        integer: 0,
        last_place: 0,
        exponent: LEAST_EXPONENT,
    };
}

/// The products of one instruction.
#[derive(Clone, Debug)]
pub(crate) struct Products {
    terms: [Term; MMA_K],
    specials: Specials,
}

impl Products {
    /// The products of codes taken apart; missing ones are zero. `fraction_bits` is the number of
    /// fraction bits of a product ([`fraction_bits`]), `shift` the exponent of its scales.
    #[inline]
    pub(crate) fn new(
        factors: impl Iterator<Item = (Parts, Parts)>,
        fraction_bits: i32,
        shift: i32,
    ) -> Products {
        let mut products = Products {
            terms: [Term::ZERO; MMA_K],
            specials: Specials::NONE,
        };
        for (term, (a, b)) in products.terms.iter_mut().zip(factors) {
            if a.is_special() || b.is_special() {
                products.specials = products.specials.with(a.product(b));
                continue;
            }
            let integer = a.integer * b.integer;
            let last_place = a.exponent + b.exponent + shift;
            let exponent = if integer == 0 {
                LEAST_EXPONENT
            } else {
                last_place + fraction_bits
            };
            *term = Term {
                integer,
                last_place,
                exponent,
            };
        }
        products
    }

    /// The same with two scales that are powers of two, or NaN.
    #[inline]
    pub(crate) fn scaled(
        factors: impl Iterator<Item = (Parts, Parts)>,
        fraction_bits: i32,
        a: f32,
        b: f32,
    ) -> Products {
        match power_of_two(a).zip(power_of_two(b)) {
            Some((a, b)) => Products::new(factors, fraction_bits, a + b),
            None => Products {
                terms: [Term::ZERO; MMA_K],
                specials: Specials::NAN,
            },
        }
    }
}

/// Fraction bits of the product of two codes.
pub(crate) const fn fraction_bits(a: Format, b: Format) -> i32 {
    (a.spec().mantissa_bits + b.spec().mantissa_bits) as i32
}

/// `integer * 2^shift`, cut toward zero. `shift` is at most 32.
#[inline(always)]
fn cut(integer: i32, shift: i32) -> i64 {
    // Room for the places that shift out, so that one shift serves both directions; an integer has
    // at most 24 bits.
    let magnitude = (integer.unsigned_abs() as u64) << 32;
    let cut = (magnitude >> (32 - shift).clamp(0, 63)) as i64;
    if integer < 0 { -cut } else { cut }
}

/// The f16 nearest to a value, as f32; infinity beyond the largest.
fn to_f16(value: Value) -> f32 {
    let (f16_row, f32_row) = (FloatType::F16.spec(), FloatType::F32.spec());
    let code = scalar::encode(f16_row, DECODE_CAST, value, 0);
    f32::from_bits(scalar::convert(f16_row, f32_row, DECODE_CAST, code, 0) as u32)
}

fn decode_f32(value: f32) -> Value {
    scalar::decode(FloatType::F32.spec(), value.to_bits() as u64)
}

/// The one NaN of tensor cores.
pub(super) fn hardware_nan(value: f32) -> f32 {
    if value.is_nan() {
        f32::from_bits(u32::MAX >> 1)
    } else {
        value
    }
}

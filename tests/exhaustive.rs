// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scalar reference equals the exact oracle on all 2^32 inputs.
//!
//! ```text
//! cargo test --release --test exhaustive                  a sample, as part of the other tests
//! cargo test --release --test exhaustive -- --sweep       every input where it matters: minutes
//! cargo test --release --test exhaustive -- --full        every input of every row: an hour
//! ```
//!
//! `--sweep` takes
//! - E4M3, E5M2, their FNUZ kin and E8M0, each rounding: all inputs under `None`; under the
//!   other saturations those of at least half the largest value, NaN among them, and the zeros;
//! - every format, rounding, saturation and NaN handling: every input whose low 10 bits are zero,
//!   with both neighbours;
//! - the four FP8 formats, each saturation: 10^8 random inputs.
//!
//! `--full` takes all inputs under `None` for every format and rounding. A name, or a part of it,
//! chooses among the rows; `--list` shows them.

mod oracle;

use std::ops::Range;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use ofp8::scalar::encode_bits;
use ofp8::{Cast, FloatType, Format, NanPolicy, RandomBits, Rounding, Saturation};
use oracle::{Bits, DETERMINISTIC, Oracle, Run, SATURATIONS, Source, stochastic};

/// The formats that are swept whole in every run.
const MAIN: [Format; 5] = [
    Format::E4M3,
    Format::E5M2,
    Format::E4M3Fnuz,
    Format::E5M2Fnuz,
    Format::E8M0,
];

/// The random word of the stochastic sweeps. Its high half must not matter.
const WORD: u32 = 0xC0DE_5EED;

const RANDOM_INPUTS: u64 = 100_000_000;

fn main() -> ExitCode {
    let scopes = ["--sweep", "--full"];
    let (scope, rest): (Vec<_>, Vec<_>) =
        std::env::args().partition(|argument| scopes.contains(&argument.as_str()));
    let trials = match scope.first().map(String::as_str) {
        None => sample(),
        Some("--sweep") => sweep(),
        Some(_) => full(),
    };
    libtest_mimic::run(&Arguments::from_iter(rest), trials).exit_code()
}

fn sample() -> Vec<Trial> {
    let trial = |&format| Trial::test(format!("sample::{format:?}"), move || dense("", format, 18));
    Format::ALL.iter().map(trial).collect()
}

fn sweep() -> Vec<Trial> {
    let mut trials = vec![];
    for saturation in [Saturation::None, Saturation::Finite, Saturation::Propagate] {
        for format in MAIN {
            let inputs = match saturation {
                Saturation::None => all(),
                _ => from_half_the_largest(format),
            };
            trials.extend(roundings().map(|rounding| {
                let cast = Cast::DEFAULT.rounding(rounding).saturation(saturation);
                row("sweep", format, cast, inputs.clone())
            }));
        }
    }
    for &format in Format::ALL {
        let name = format!("dense::{format:?}");
        trials.push(Trial::test(name, move || dense("--sweep", format, 10)));
    }
    for &format in &MAIN[..4] {
        for saturation in SATURATIONS {
            let name = format!("random::{format:?}::{saturation:?}");
            trials.push(Trial::test(name.clone(), move || {
                random(&name, format, saturation)
            }));
        }
    }
    trials
}

fn full() -> Vec<Trial> {
    let none = Cast::DEFAULT.saturation(Saturation::None);
    let rows = |&format| roundings().map(move |r| row("full", format, none.rounding(r), all()));
    Format::ALL.iter().flat_map(rows).collect()
}

/// The trial of one format and cast on ranges of inputs.
fn row(scope: &str, format: Format, cast: Cast, inputs: Vec<Range<u64>>) -> Trial {
    let (rounding, saturation) = (label(cast.rounding), cast.saturation);
    let name = format!("{scope}::{format:?}::{rounding}::{saturation:?}");
    let option = format!("--{scope}");
    Trial::test(name.clone(), move || {
        let runs = Oracle::new(format).runs(cast, WORD);
        compare(format, cast, WORD, &runs, &mut inputs.into_iter())
            .map_err(|wrong| wrong.message(&option, &name, format, cast, WORD))
    })
}

/// The six deterministic roundings and one stochastic one: the one that hardware has.
fn roundings() -> impl Iterator<Item = Rounding> {
    let stochastic = Rounding::StochasticA(RandomBits::SIXTEEN);
    DETERMINISTIC.into_iter().chain([stochastic])
}

fn label(rounding: Rounding) -> String {
    let name = format!("{rounding:?}");
    name.split('(').next().unwrap().to_string()
}

/// All bit patterns, of either sign.
fn all() -> Vec<Range<u64>> {
    vec![0..1 << 31, 1 << 31..1 << 32]
}

/// Of either sign: zero, and everything from half the largest value on.
fn from_half_the_largest(format: Format) -> Vec<Range<u64>> {
    let source = Source::new(FloatType::F32);
    let half = source.first_from(Oracle::new(format).row.largest / 2.0);
    let sign = source.sign;
    vec![0..1, half..sign, sign..sign + 1, sign | half..2 * sign]
}

/// Every bit pattern whose low bits are zero, with both neighbours.
fn every(low_bits: u32) -> impl Iterator<Item = Range<u64>> {
    let patterns = (0..1u64 << (32 - low_bits)).map(move |high| high << low_bits);
    patterns.map(|bits| bits.saturating_sub(1)..bits + 2)
}

/// All roundings and NaN handling with all saturations on a grid of inputs.
fn dense(scope: &str, format: Format, low_bits: u32) -> Result<(), Failed> {
    let oracle = Oracle::new(format);
    let stochastic = [1, 8, 16, 32].into_iter().flat_map(stochastic);
    for rounding in DETERMINISTIC.into_iter().chain(stochastic) {
        let keep_sign = (Saturation::None, NanPolicy::KeepSign);
        let canonical = SATURATIONS.map(|saturation| (saturation, NanPolicy::Canonical));
        for (saturation, nan) in canonical.into_iter().chain([keep_sign]) {
            let cast = Cast {
                rounding,
                saturation,
                nan,
            };
            let runs = oracle.runs(cast, WORD);
            compare(format, cast, WORD, &runs, &mut every(low_bits)).map_err(|wrong| {
                let name = if scope.is_empty() { "sample" } else { "dense" };
                wrong.message(scope, &format!("{name}::{format:?}"), format, cast, WORD)
            })?;
        }
    }
    Ok(())
}

fn random(name: &str, format: Format, saturation: Saturation) -> Result<(), Failed> {
    let cast = Cast::DEFAULT.saturation(saturation);
    let runs = Oracle::new(format).runs(cast, 0);
    let mut bits = Bits(format as u64);
    for _ in 0..RANDOM_INPUTS {
        let input = bits.next() >> 32;
        let run = runs[runs.partition_point(|run| u64::from(run.last) < input)];
        let code = encode_bits(format, cast, FloatType::F32, input, 0);
        if code != run.code {
            let wrong = Wrong {
                input,
                code,
                expected: run.code,
            };
            return Err(wrong.message("--sweep", name, format, cast, 0));
        }
    }
    Ok(())
}

/// What the product made of an input, and what it should have.
struct Wrong {
    input: u64,
    code: u8,
    expected: u8,
}

impl Wrong {
    fn message(self, scope: &str, name: &str, format: Format, cast: Cast, word: u32) -> Failed {
        let Wrong {
            input,
            code,
            expected,
        } = self;
        let value = f32::from_bits(input as u32);
        let arguments = format!("{scope} --exact {name}");
        Failed::from(format!(
            "{format:?} of {input:#010x} = {value:e} under {cast:?} with the random word {word:#x} \
             is {code:#04x}, not {expected:#04x}\nto repeat: cargo test --release --test \
             exhaustive -- {}",
            arguments.trim_start()
        ))
    }
}

/// Ranges of inputs, in ascending order.
type Inputs<'a> = &'a mut dyn Iterator<Item = Range<u64>>;

type Compare = fn(Cast, u32, &[Run], Inputs) -> Result<(), Wrong>;

/// Compares the product with the step function on ranges of inputs.
fn compare(
    format: Format,
    cast: Cast,
    word: u32,
    runs: &[Run],
    inputs: Inputs,
) -> Result<(), Wrong> {
    // One function a format, by number: a row that is a constant folds away, and with it more
    // than half of the time.
    #[rustfmt::skip]
    const BY_NUMBER: [Compare; Format::ALL.len()] = [
        walk::<1>, walk::<2>, walk::<3>, walk::<4>, walk::<5>, walk::<6>, walk::<7>, walk::<8>,
        walk::<9>, walk::<10>, walk::<11>, walk::<12>, walk::<13>, walk::<14>, walk::<15>,
        walk::<16>, walk::<17>, walk::<18>, walk::<19>, walk::<20>, walk::<21>, walk::<22>,
        walk::<23>, walk::<24>, walk::<25>, walk::<26>,
    ];
    BY_NUMBER[format as usize - 1](cast, word, runs, inputs)
}

fn walk<const NUMBER: u32>(
    cast: Cast,
    word: u32,
    runs: &[Run],
    inputs: Inputs,
) -> Result<(), Wrong> {
    let format = const { Format::from_number(NUMBER).unwrap() };
    let encode = |input| encode_bits(format, cast, FloatType::F32, input, word);
    let mut runs = runs.iter().copied();
    let mut run = runs.next().expect("runs cover all inputs");
    for range in inputs {
        let mut from = range.start;
        while from < range.end {
            while u64::from(run.last) < from {
                run = runs.next().expect("runs cover all inputs");
            }
            let to = range.end.min(u64::from(run.last) + 1);
            if let Some(input) = (from..to).find(|&input| encode(input) != run.code) {
                return Err(Wrong {
                    input,
                    code: encode(input),
                    expected: run.code,
                });
            }
            from = to;
        }
    }
    Ok(())
}

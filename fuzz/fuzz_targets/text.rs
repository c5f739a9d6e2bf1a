// SPDX-License-Identifier: MIT OR Apache-2.0
//! Text as numbers of every format, against the `f64` that `core` reads in it; and as the command line of
//! examples/quantize, an argument a line: it is refused with a message or has settings, and nothing panics.
#![no_main]

use clap::Parser;
use libfuzzer_sys::fuzz_target;
use ofp8::{Cast, Format, Rounding, Saturation, scalar};
use ofp8_fuzz::{args::Args, tally};

/// A format's type, as text.
struct Type {
    format: Format,
    parse: fn(&str, Cast) -> Option<u8>,
    print: fn(u8) -> String,
}

macro_rules! types {
    ($($name:ident)*) => {
        [$(Type {
            format: Format::$name,
            parse: |text, cast| Some(ofp8::$name::from_str_with(text, cast, 0).ok()?.to_bits()),
            print: |code| ofp8::$name::from_bits(code).to_string(),
        }),*]
    };
}

const TYPES: [Type; 8] = types!(E4M3 E5M2 E4M3Fnuz E8M0 UE5M3 E2M1 MxInt8 Binary8p3se);

const ROUNDINGS: [Rounding; 6] = [
    Rounding::NearestEven,
    Rounding::NearestAway,
    Rounding::TowardZero,
    Rounding::TowardPositive,
    Rounding::TowardNegative,
    Rounding::ToOdd,
];

/// Every rounding of the text lies between those of the `f64` beside the one that is nearest to it.
fn check_rounding(of: &Type, text: &str, nearest: f64) {
    let directed = |rounding, x| {
        let cast = Cast {
            rounding,
            saturation: Saturation::Finite,
            ..Cast::DEFAULT
        };
        scalar::decode_f64(of.format, scalar::encode_f64(of.format, cast, x, 0))
    };
    let lowest = directed(Rounding::TowardNegative, nearest.next_down());
    let highest = directed(Rounding::TowardPositive, nearest.next_up());
    for rounding in ROUNDINGS {
        let cast = Cast {
            rounding,
            saturation: Saturation::Finite,
            ..Cast::DEFAULT
        };
        let code = (of.parse)(text, cast).expect("f64 reads it");
        let value = scalar::decode_f64(of.format, code);
        assert!(
            lowest <= value && value <= highest,
            "{:?} {rounding:?}: {value}",
            of.format
        );
        let printed = (of.print)(code);
        let again = (of.parse)(&printed, Cast::DEFAULT).expect("what is printed is a number");
        assert_eq!(
            scalar::decode_f64(of.format, again),
            value,
            "{:?}: {printed}",
            of.format
        );
    }
}

/// Whether the text is a number.
fn check_number(text: &str) -> bool {
    let nearest: Option<f64> = text.parse().ok();
    for of in &TYPES {
        let code = (of.parse)(text, Cast::DEFAULT);
        assert_eq!(code.is_some(), nearest.is_some(), "{:?}", of.format);
        // What formats without a sign make of negative numbers has no order.
        if let Some(nearest) = nearest.filter(|x| x.is_sign_positive() && !x.is_nan()) {
            check_rounding(of, text, nearest);
        }
    }
    if let Some(nearest) = nearest {
        tally::count(match nearest.is_finite() {
            true => "a finite number",
            false => "inf, nan, or beyond f64",
        });
    }
    nearest.is_some()
}

fn check_command_line(text: &str) {
    let arguments = ["quantize"].into_iter().chain(text.lines());
    let outcome = match Args::try_parse_from(arguments) {
        Err(error) => (error.to_string(), "a command line that is refused"),
        Ok(args) => match args.settings() {
            Err(message) => (message, "a command line with settings that do not fit"),
            Ok(_) => ("settings".to_owned(), "a command line"),
        },
    };
    assert!(!outcome.0.trim().is_empty());
    tally::count(outcome.1);
}

fuzz_target!(|text: &str| {
    if !check_number(text) {
        check_command_line(text);
    }
});

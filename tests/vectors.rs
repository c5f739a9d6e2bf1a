// SPDX-License-Identifier: MIT OR Apache-2.0
//! A second opinion: tables of conversions that were computed apart from this project.
//!
//! They lie in `../shared/vectors/formats`, seen from the root of the project, and are no part of
//! it. Where the folder is missing the tests here say so on standard error and pass, unless
//! `OFP8_VECTORS=required` is set.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Once;

use ofp8::scalar::{decode_bits, decode_f64, encode_bits, encode_f64};
use ofp8::{Cast, FloatType, Format, NanPolicy, RandomBits, Rounding, Saturation};

/// The names that the files use.
const NAMES: [(&str, Format); 24] = [
    ("e2m1fn", Format::E2M1),
    ("e2m3fn", Format::E2M3),
    ("e3m2fn", Format::E3M2),
    ("e3m4", Format::E3M4),
    ("e4m3", Format::E4M3Ieee),
    ("e4m3b11fnuz", Format::E4M3B11Fnuz),
    ("e4m3fn", Format::E4M3),
    ("e4m3fnuz", Format::E4M3Fnuz),
    ("e5m2", Format::E5M2),
    ("e5m2fnuz", Format::E5M2Fnuz),
    ("e8m0", Format::E8M0),
    ("mxint8", Format::MxInt8),
    ("p3109_8p3se", Format::Binary8p3se),
    ("p3109_8p3sf", Format::Binary8p3sf),
    ("p3109_8p3ue", Format::Binary8p3ue),
    ("p3109_8p3uf", Format::Binary8p3uf),
    ("p3109_8p4se", Format::Binary8p4se),
    ("p3109_8p4sf", Format::Binary8p4sf),
    ("p3109_8p4ue", Format::Binary8p4ue),
    ("p3109_8p4uf", Format::Binary8p4uf),
    ("p3109_8p5se", Format::Binary8p5se),
    ("p3109_8p5sf", Format::Binary8p5sf),
    ("ue4m3", Format::UE4M3),
    ("ue5m3", Format::UE5M3),
];

/// Files of encodings by value, format by format.
const ENCODE: [&str; 5] = ["e2m1fn", "e3m2fn", "e4m3fn", "e4m3fnuz", "e5m2"];

fn folder() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/vectors/formats");
    if folder.is_dir() {
        return Some(folder);
    }
    let required = std::env::var("OFP8_VECTORS").is_ok_and(|value| value == "required");
    assert!(
        !required,
        "OFP8_VECTORS=required, but there is no ../shared/vectors/formats"
    );
    static ONCE: Once = Once::new();
    // Not `eprintln`, which the test harness would keep to itself.
    ONCE.call_once(|| {
        let line = b"skipped: no ../shared/vectors\n";
        std::io::stderr()
            .write_all(line)
            .expect("standard error is open");
    });
    None
}

/// The rows of a file as fields, without the heading and what follows a quotation mark.
struct Table {
    name: String,
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn read(name: &str) -> Option<Table> {
        let path = folder()?.join(name);
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let fields = |line: &str| line.split(',').map(String::from).collect::<Vec<_>>();
        let mut lines = text.lines();
        let table = Table {
            name: name.to_string(),
            heading: fields(lines.next().expect("a heading")),
            rows: lines.map(fields).collect(),
        };
        assert!(!table.rows.is_empty(), "{name} has no rows");
        Some(table)
    }

    /// Whether the fields begin with these columns.
    fn expect_columns(&self, columns: &[&str]) {
        assert_eq!(&self.heading[..columns.len()], columns, "{}", self.name);
    }
}

fn format(name: &str) -> Format {
    let found = NAMES.iter().find(|entry| entry.0 == name);
    found.unwrap_or_else(|| panic!("unknown format {name}")).1
}

fn hex(field: &str) -> u64 {
    let digits = field
        .strip_prefix("0x")
        .unwrap_or_else(|| panic!("{field} is not 0x..."));
    u64::from_str_radix(digits, 16).unwrap()
}

fn rounding(name: &str) -> Rounding {
    match name {
        "rne" | "rn_even" => Rounding::NearestEven,
        "rna" | "rn_up" => Rounding::NearestAway,
        "rtz" | "rz" => Rounding::TowardZero,
        "rtp" | "rp" => Rounding::TowardPositive,
        "rtn" => Rounding::TowardNegative,
        "rto" => Rounding::ToOdd,
        _ => panic!("unknown rounding {name}"),
    }
}

/// The cast of a column like `rne_sat`.
fn cast(rounding_name: &str, saturation: &str) -> Cast {
    Cast {
        rounding: rounding(rounding_name),
        saturation: match saturation {
            "sat" => Saturation::Finite,
            "nosat" => Saturation::None,
            _ => panic!("unknown saturation {saturation}"),
        },
        nan: NanPolicy::KeepSign,
    }
}

#[test]
fn every_file_is_read() {
    let Some(folder) = folder() else { return };
    let mut names: Vec<String> = NAMES
        .iter()
        .map(|entry| format!("decode_{}.csv", entry.0))
        .collect();
    names.extend(ENCODE.iter().map(|name| format!("encode_{name}.csv")));
    names.extend(
        ["encode_e8m0", "stochastic_threshold", "issue_cases"].map(|name| format!("{name}.csv")),
    );
    // The scale rules read this one.
    names.push("mx_shared_scale.csv".to_string());
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().file_name());
    let mut files: Vec<String> = files.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    files.sort();
    assert_eq!(files, names);
}

#[test]
fn decode() {
    for (name, format) in NAMES {
        let Some(table) = Table::read(&format!("decode_{name}.csv")) else {
            return;
        };
        table.expect_columns(&["code", "f32_bits", "hexfloat", "value", "class"]);
        assert_eq!(table.rows.len(), 1 << format.spec().bits, "{name}");
        for row in &table.rows {
            let code = hex(&row[0]) as u8;
            let place = format!("{name} {code:#04x}");
            let bits = decode_bits(format, code, FloatType::F32);
            let value = decode_f64(format, code);
            if row[1] == "nan" {
                assert!(
                    value.is_nan() && f32::from_bits(bits as u32).is_nan(),
                    "{place}"
                );
            } else {
                assert_eq!(bits, hex(&row[1]), "{place}");
                assert_eq!(
                    value.to_bits(),
                    row[3].parse::<f64>().unwrap().to_bits(),
                    "{place}"
                );
            }
            assert_eq!(class(format, code), row[4], "{place}");
        }
    }
}

/// The class of a code, by its row.
fn class(format: Format, code: u8) -> &'static str {
    let spec = format.spec();
    let (code, (_, magnitude)) = (u64::from(code), spec.split(code.into()));
    if spec.is_nan(code) {
        "nan"
    } else if spec.is_infinite(code) {
        "inf"
    } else if spec.zero && magnitude == 0 {
        "zero"
    } else if magnitude < spec.min_normal_magnitude() {
        "subnormal"
    } else {
        "normal"
    }
}

/// A file with inputs of `f32` in the first column and codes of casts from the third on.
fn encode_file(name: &str, format: Format) {
    let Some(table) = Table::read(&format!("encode_{name}.csv")) else {
        return;
    };
    table.expect_columns(&["f32_bits", "value"]);
    for (column, heading) in table.heading.iter().enumerate().skip(2) {
        let (rounding, saturation) = heading.rsplit_once('_').unwrap();
        let cast = cast(rounding, saturation);
        for row in &table.rows {
            let code = encode_bits(format, cast, FloatType::F32, hex(&row[0]), 0);
            assert_eq!(
                u64::from(code),
                hex(&row[column]),
                "{name} of {} = {} in column {heading}",
                row[0],
                row[1]
            );
        }
    }
}

#[test]
fn encode() {
    for name in ENCODE {
        encode_file(name, format(name));
    }
}

#[test]
fn encode_e8m0() {
    encode_file("e8m0", Format::E8M0);
}

#[test]
fn stochastic_threshold() {
    let Some(table) = Table::read("stochastic_threshold.csv") else {
        return;
    };
    table.expect_columns(&[
        "variant",
        "N",
        "frac_num",
        "frac_den",
        "round_away_count_of_2^N",
        "min_R_that_rounds_away",
    ]);
    for row in &table.rows {
        let n = RandomBits::new(row[1].parse().unwrap()).unwrap();
        let rounding = match row[0].as_str() {
            "A" => Rounding::StochasticA(n),
            "B" => Rounding::StochasticB(n),
            "C" => Rounding::StochasticC(n),
            other => panic!("unknown variant {other}"),
        };
        // One ulp of E4M3 is 1 from 8 on.
        let fraction = row[2].parse::<f64>().unwrap() / row[3].parse::<f64>().unwrap();
        let cast = Cast::DEFAULT.rounding(rounding);
        let away = |word: &u32| encode_f64(Format::E4M3, cast, 8.0 + fraction, *word) == 0x51;
        let words: Vec<u32> = (0..1 << n.get()).filter(away).collect();
        assert_eq!(words.len(), row[4].parse::<usize>().unwrap(), "{row:?}");
        assert_eq!(words.first().copied(), row[5].parse().ok(), "{row:?}");
    }
}

#[test]
fn issue_cases() {
    let Some(table) = Table::read("issue_cases.csv") else {
        return;
    };
    table.expect_columns(&[
        "format",
        "src_type",
        "src_bits",
        "value",
        "rounding",
        "saturation",
        "want_code",
        "want_value",
        "source",
    ]);
    for row in &table.rows {
        let float = match row[1].as_str() {
            "f32" => FloatType::F32,
            "f64" => FloatType::F64,
            other => panic!("unknown source type {other}"),
        };
        let cast = cast(&row[4], &row[5]);
        let code = encode_bits(format(&row[0]), cast, float, hex(&row[2]), 0);
        assert_eq!(u64::from(code), hex(&row[6]), "{}: {row:?}", row[8]);
    }
}

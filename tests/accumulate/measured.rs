// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results measured on H100, Ada and B200 (MATLAB-tensor-core), each a dot product of 32 elements.
//!
//! They lie in `../shared/vectors/mma`, seen from the root of the project, and are no part of it.
//! Where the folder is missing the test says so on standard error and passes, unless
//! `OFP8_VECTORS=required` is set.

use std::io::Write;
use std::path::{Path, PathBuf};

use ofp8::Format;
use ofp8::accumulate::Model;

fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/vectors/mma");
    if folder.is_dir() {
        return Some(folder);
    }
    let required = std::env::var("OFP8_VECTORS").is_ok_and(|value| value == "required");
    assert!(
        !required,
        "OFP8_VECTORS=required, but there is no ../shared/vectors/mma"
    );
    let mut terminal = std::io::stderr();
    // Not `eprintln`, which the test harness would keep to itself.
    let what = "SKIPPED: no ../shared/vectors/mma, the models were not compared with hardware";
    writeln!(terminal, "{what}").unwrap();
    None
}

/// One measurement.
struct Row {
    a: [u8; 32],
    b: [u8; 32],
    c: f32,
    f32: u32,
    f16: u32,
}

fn rows(path: &Path) -> Vec<Row> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut lines = text.lines();
    let heading = lines.next().expect("a heading");
    assert_eq!(heading, "a_codes,b_codes,c_f32,d_f32,d_f16_as_f32");
    let word = |text: &str| u32::from_str_radix(text, 16).expect("hexadecimal");
    let codes = |text: &str| {
        let code = |k: usize| word(&text[2 * k..2 * k + 2]) as u8;
        assert_eq!(text.len(), 64);
        std::array::from_fn(code)
    };
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        Row {
            a: codes(fields[0]),
            b: codes(fields[1]),
            c: f32::from_bits(word(fields[2])),
            f32: word(fields[3]),
            f16: word(fields[4]),
        }
    };
    lines.map(row).collect()
}

#[test]
fn every_measurement_is_reproduced() {
    let Some(folder) = folder() else {
        return;
    };
    // Of each file: the model of its f32 results, whether C is used there, and of its f16 results.
    let machines = [
        ("h100", Model::HopperWgmma, false, Model::HopperMmaF16, 3000),
        ("ada", Model::AdaMma, true, Model::AdaMmaF16, 3000),
        (
            "b200",
            Model::BlackwellMma,
            true,
            Model::BlackwellMmaF16,
            2000,
        ),
    ];
    let mut compared = 0;
    for (machine, f32_model, uses_c, f16_model, count) in machines {
        for (name, format) in [("e4m3", Format::E4M3), ("e5m2", Format::E5M2)] {
            let path = folder.join(format!("{machine}_{name}.csv"));
            let rows = rows(&path);
            assert_eq!(rows.len(), count, "{}", path.display());
            for (number, row) in rows.iter().enumerate() {
                let what = format!("{}, row {}", path.display(), number + 2);
                let (a, b) = ((format, row.a), (format, row.b));
                let c = if uses_c { row.c } else { 0.0 };
                let d = f32_model.mma(a, b, c).expect("a format of the model");
                assert_eq!(d.to_bits(), row.f32, "f32: {what}");
                let d = f16_model.mma(a, b, row.c).expect("a format of the model");
                assert_eq!(d.to_bits(), row.f16, "f16: {what}");
                compared += 2;
            }
        }
    }
    println!("{compared} measurements reproduced");
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the 256 codes of a format stand for, computed at compile time.
//!
//! Every format of at most 8 bits decodes exactly to bfloat16 (a test proves it), so 512 bytes a
//! format serve all targets: an `f32` is the entry shifted by 16.

use crate::scalar;
use crate::spec::{FloatType, Format};

/// The bfloat16 bits of every code.
pub(super) type Table = [u16; 256];

const fn tabulate(format: Format) -> Table {
    let mut table = [0; 256];
    let mut code = 0;
    while code < table.len() {
        table[code] = scalar::decode_bits(format, code as u8, FloatType::Bf16) as u16;
        code += 1;
    }
    table
}

/// The tables in the order of [`Format::ALL`].
static TABLES: [Table; Format::ALL.len()] = {
    let mut tables = [[0; 256]; Format::ALL.len()];
    let mut i = 0;
    while i < tables.len() {
        tables[i] = tabulate(Format::ALL[i]);
        i += 1;
    }
    tables
};

/// The table of a format.
pub(super) fn bf16(format: Format) -> &'static Table {
    let place = Format::ALL.iter().position(|&f| f == format);
    // A format that is not in ALL cannot be made; the first table keeps this free of panics.
    &TABLES[place.unwrap_or(0)]
}

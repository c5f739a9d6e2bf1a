// SPDX-License-Identifier: MIT OR Apache-2.0
//! Codes packed and unpacked, at any length, by any kernel: against strings of bits.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use ofp8::kernel::Kernel;
use ofp8::{Error, Packing};
use ofp8_fuzz::tally;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    kernel: u8,
    packing: u8,
    /// Where the codes begin in their memory, for their alignment.
    skipped: u8,
    /// How much longer or shorter the memory for the result is than it should be.
    error: i8,
    codes: &'a [u8],
}

/// The bit of a string of bits that a code's bit is: where it begins, then how far from there.
fn bit_of(packing: Packing, code: usize, bit: usize) -> usize {
    match packing {
        Packing::Fp4HighFirst => (code ^ 1) * 4 + bit,
        _ => code * packing.bits() as usize + bit,
    }
}

/// Packed bit by bit.
fn expected(packing: Packing, codes: &[u8]) -> Vec<u8> {
    let bits = packing.bits() as usize;
    let mut packed = vec![0; (codes.len() * bits).div_ceil(8)];
    for (i, code) in codes.iter().enumerate() {
        for bit in (0..bits).filter(|bit| code >> bit & 1 == 1) {
            let at = bit_of(packing, i, bit);
            packed[at / 8] |= 1 << (at % 8);
        }
    }
    packed
}

fuzz_target!(|input: Input<'_>| {
    let packing = Packing::ALL[input.packing as usize % Packing::ALL.len()];
    let kernels: Vec<Kernel> = Kernel::ALL
        .iter()
        .copied()
        .filter(|kernel| kernel.is_available())
        .collect();
    let kernel = kernels[input.kernel as usize % kernels.len()];
    Kernel::force(Some(kernel)).expect("a kernel of this machine");
    let codes = &input.codes[(input.skipped as usize % 64).min(input.codes.len())..];
    tally::count(&format!("{packing:?} by {kernel}"));

    let expected = expected(packing, codes);
    assert_eq!(packing.packed_len(codes.len()), expected.len());
    let mut packed = vec![0xA5; expected.len()];
    packing.pack(codes, &mut packed).expect("the right lengths");
    assert_eq!(packed, expected);

    let mask = 0xFF >> (8 - packing.bits());
    let mut back = vec![0xA5; codes.len()];
    packing
        .unpack(&packed, &mut back)
        .expect("the right lengths");
    assert!(
        back.iter()
            .zip(codes)
            .all(|(back, code)| *back == code & mask),
        "{packing:?}"
    );

    // Any bytes are packed codes; what is not of a code is zero when they are packed again.
    let mut codes_of_any = vec![0xA5; codes.len() * 8 / packing.bits() as usize];
    packing
        .unpack(codes, &mut codes_of_any)
        .expect("the right lengths");
    let mut again = vec![0xA5; codes.len()];
    packing
        .pack(&codes_of_any, &mut again)
        .expect("the right lengths");
    let whole = codes_of_any.len() * packing.bits() as usize / 8;
    assert_eq!(again[..whole], codes[..whole]);

    let wrong = expected.len().saturating_add_signed(input.error as isize);
    if wrong != expected.len() {
        let mut packed = vec![0xA5; wrong];
        assert_eq!(packing.pack(codes, &mut packed), Err(Error::Length));
        assert!(packed.iter().all(|byte| *byte == 0xA5));
        assert_eq!(packing.unpack(&packed, &mut back), Err(Error::Length));
    }
});

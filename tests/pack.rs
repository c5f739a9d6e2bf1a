// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packing against its definition, a string of bits.

use ofp8::{Error, Packing};
use proptest::prelude::*;

/// Bit `i` of the packed string, by the definition: code `i / width`, its bit `i % width`. Where
/// the first code is the high half, the halves of each byte are exchanged.
fn definition(packing: Packing, codes: &[u8]) -> Vec<u8> {
    let width = match packing {
        Packing::Fp6 => 6,
        _ => 4,
    };
    let mut packed = vec![0; (codes.len() * width).div_ceil(8)];
    for i in 0..codes.len() * width {
        let bit = codes[i / width] >> (i % width) & 1;
        packed[i / 8] |= bit << (i % 8);
    }
    if packing == Packing::Fp4HighFirst {
        packed
            .iter_mut()
            .for_each(|byte| *byte = byte.rotate_left(4));
    }
    packed
}

proptest! {
    #[test]
    fn packing_is_its_definition(codes in prop::collection::vec(any::<u8>(), 0..70)) {
        for &packing in Packing::ALL {
            let expected = definition(packing, &codes);
            prop_assert_eq!(packing.packed_len(codes.len()), expected.len());
            let mut packed = vec![0xAA; expected.len()];
            packing.pack(&codes, &mut packed).unwrap();
            prop_assert_eq!(&packed, &expected);

            let mask = (1u8 << packing.bits()) - 1;
            let clean: Vec<u8> = codes.iter().map(|code| code & mask).collect();
            let mut unpacked = vec![0xAA; codes.len()];
            packing.unpack(&packed, &mut unpacked).unwrap();
            prop_assert_eq!(&unpacked, &clean);
        }
    }

    #[test]
    fn unused_bits_are_ignored(packed in prop::collection::vec(any::<u8>(), 1..40)) {
        for &packing in Packing::ALL {
            let count = (packed.len() * 8 - 1) / packing.bits() as usize;
            let bytes = &packed[..packing.packed_len(count)];
            let mut codes = vec![0; count];
            packing.unpack(bytes, &mut codes).unwrap();
            let mut again = vec![0; bytes.len()];
            packing.pack(&codes, &mut again).unwrap();
            let used = count * packing.bits() as usize;
            for i in 0..used {
                // The half of a byte that is unused is the low one where the first code is high.
                let i = if packing == Packing::Fp4HighFirst { i ^ 4 } else { i };
                prop_assert_eq!(again[i / 8] >> (i % 8) & 1, bytes[i / 8] >> (i % 8) & 1);
            }
            let ones = |bytes: &[u8]| bytes.iter().map(|b| b.count_ones()).sum::<u32>();
            prop_assert_eq!(ones(&again), ones(&codes));
        }
    }
}

#[test]
fn known_bytes() {
    let mut packed = [0; 2];
    Packing::Fp4LowFirst
        .pack(&[0x1, 0x2, 0xF], &mut packed)
        .unwrap();
    assert_eq!(packed, [0x21, 0x0F]);
    Packing::Fp4HighFirst
        .pack(&[0x1, 0x2, 0xF], &mut packed)
        .unwrap();
    assert_eq!(packed, [0x12, 0xF0]);
    let mut packed = [0; 3];
    Packing::Fp6
        .pack(&[0x3F, 0x00, 0x3F, 0x00], &mut packed)
        .unwrap();
    assert_eq!(packed, [0x3F, 0xF0, 0x03]);
}

#[test]
fn a_wrong_length_writes_nothing() {
    for &packing in Packing::ALL {
        for count in 0..20 {
            let right = packing.packed_len(count);
            for len in (0..20).filter(|&len| len != right) {
                let (codes, mut packed) = (vec![0x3F; count], vec![0xAA; len]);
                assert_eq!(packing.pack(&codes, &mut packed), Err(Error::Length));
                assert!(packed.iter().all(|&byte| byte == 0xAA));
                let mut codes = vec![0xAA; count];
                assert_eq!(packing.unpack(&packed, &mut codes), Err(Error::Length));
                assert!(codes.iter().all(|&code| code == 0xAA));
            }
        }
    }
}

#[test]
fn lengths_do_not_overflow() {
    assert_eq!(
        Packing::Fp4LowFirst.packed_len(usize::MAX),
        usize::MAX / 2 + 1
    );
    assert_eq!(Packing::Fp6.packed_len(usize::MAX), usize::MAX / 4 * 3 + 3);
    for (number, &packing) in (1..).zip(Packing::ALL) {
        assert_eq!(packing.number(), number);
        assert_eq!(Packing::from_number(number), Some(packing));
    }
    assert_eq!(Packing::from_number(0), None);
    assert_eq!(Packing::from_number(4), None);
}

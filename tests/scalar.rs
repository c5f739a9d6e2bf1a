// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scalar reference equals the exact oracle: at every value and tie of every format with
//! their neighbours, on all 16-bit inputs, on special inputs, under every rounding, saturation
//! and NaN handling. (All 2^32 `f32` inputs: `exhaustive.rs`.)

mod oracle;

use ofp8::scalar::{self, Value};
use ofp8::{Cast, FloatType, Format, NanPolicy, Rounding, Saturation};
use oracle::{Bits, DETERMINISTIC, Input, Oracle, Source, casts, stochastic};

/// Random words at the edges of what `n` bits can hold, with other bits above them, which must
/// not matter.
fn words(n: u32) -> [u32; 4] {
    let top = u64::from(u32::MAX) << n;
    [0, (1 << n) - 1, 1 << (n - 1), (1 << (n - 1)) - 1].map(|low: u64| (top | low) as u32)
}

/// Every rounding with the random words to try.
fn roundings() -> Vec<(Rounding, Vec<u32>)> {
    let mut all = DETERMINISTIC.map(|rounding| (rounding, vec![0])).to_vec();
    for n in [3, 32] {
        all.extend(stochastic(n).map(|rounding| (rounding, words(n).to_vec())));
    }
    all
}

/// Compares one code and says how to repeat it.
#[track_caller]
fn check(oracle: &Oracle, cast: Cast, source: Source, bits: u64, word: u32) {
    let (format, float) = (oracle.row.format, source.float);
    let code = scalar::encode_bits(format, cast, float, bits, word);
    let expected = oracle.encode(cast, source.input(bits), word);
    assert!(
        code == expected,
        "scalar::encode_bits(Format::{format:?}, {cast:?}, FloatType::{float:?}, {bits:#x}, \
         {word:#x}) = {code:#04x}, not {expected:#04x}"
    );
}

/// The bits of each of the values with three neighbours on both sides, of both signs.
fn around(source: Source, values: &[f64]) -> Vec<u64> {
    let mut all = vec![];
    for &value in values {
        let bits = source.first_from(value);
        for near in bits.saturating_sub(3)..=(bits + 3).min(source.infinity) {
            all.extend([near, source.sign | near]);
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Zeros, infinities, the smallest and largest magnitudes, NaN of all kinds; of both signs.
fn specials(source: Source) -> Vec<u64> {
    let (infinity, nans) = (source.infinity, source.sign - source.infinity);
    let mut all = vec![0, 1, 2, infinity - 1, infinity];
    // Signalling and quiet, with the smallest, the largest and other payloads.
    all.extend([1, 2, nans / 2 - 1, nans / 2, nans / 2 + 1, nans - 1].map(|n| infinity + n));
    all.extend(all.clone().iter().map(|bits| source.sign | bits));
    all
}

#[test]
fn the_oracle_knows_every_format_once() {
    assert_eq!(oracle::TABLE.len(), Format::ALL.len());
    for oracle in Oracle::all() {
        assert_eq!(oracle.row.width, oracle.row.format.spec().bits);
    }
}

#[test]
fn every_code_decodes_to_its_value() {
    for oracle in Oracle::all() {
        for &float in FloatType::ALL {
            let source = Source::new(float);
            for code in 0..=u8::MAX {
                let bits = scalar::decode_bits(oracle.row.format, code, float);
                let expected = source.nearest(oracle.decode(code));
                assert_eq!(
                    bits, expected,
                    "{:?} {code:#04x} as {float:?}: {bits:#x}, not {expected:#x}",
                    oracle.row.format
                );
            }
        }
    }
}

/// All values of all formats are values of `f32` and `f64`.
#[test]
fn decoding_to_f32_and_f64_is_exact() {
    for oracle in Oracle::all() {
        for code in 0..=u8::MAX {
            let Input {
                negative,
                magnitude,
            } = oracle.decode(code);
            let value = if negative { -magnitude } else { magnitude };
            let (narrow, wide) = (
                scalar::decode_f32(oracle.row.format, code),
                scalar::decode_f64(oracle.row.format, code),
            );
            assert!(wide == value || (wide.is_nan() && value.is_nan()));
            assert_eq!(wide.to_bits(), f64::from(narrow).to_bits());
        }
    }
}

fn values_and_ties_with_neighbours(float: FloatType) {
    let source = Source::new(float);
    for oracle in Oracle::all() {
        let inputs = around(source, &oracle.values_and_ties());
        for (rounding, words) in roundings() {
            for cast in casts(rounding) {
                for &word in &words {
                    for &bits in &inputs {
                        check(&oracle, cast, source, bits, word);
                    }
                }
            }
        }
    }
}

#[test]
fn every_value_and_tie_of_f32_with_its_neighbours() {
    values_and_ties_with_neighbours(FloatType::F32);
}

#[test]
fn every_value_and_tie_of_f64_with_its_neighbours() {
    values_and_ties_with_neighbours(FloatType::F64);
}

/// A stochastic rounding changes its mind between values and ties too.
#[test]
fn every_limit_of_a_stochastic_rounding_with_its_neighbours() {
    for source in [FloatType::F32, FloatType::F64].map(Source::new) {
        for oracle in Oracle::all() {
            for n in [1, 2, 7, 16, 23, 32] {
                for rounding in stochastic(n) {
                    for word in words(n) {
                        let inputs = around(source, &oracle.limits(rounding, false, word));
                        let cast = Cast::DEFAULT
                            .rounding(rounding)
                            .saturation(Saturation::None);
                        for &bits in &inputs {
                            check(&oracle, cast, source, bits, word);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn all_inputs_of_16_bits() {
    for source in [FloatType::F16, FloatType::Bf16].map(Source::new) {
        for oracle in Oracle::all() {
            let stochastic = stochastic(8).map(|rounding| (rounding, 0xFFFF_FF5A));
            for (rounding, word) in DETERMINISTIC.map(|r| (r, 0)).into_iter().chain(stochastic) {
                for saturation in oracle::SATURATIONS {
                    let cast = Cast::DEFAULT.rounding(rounding).saturation(saturation);
                    for bits in 0..1 << 16 {
                        check(&oracle, cast, source, bits, word);
                    }
                }
            }
        }
    }
}

#[test]
fn special_inputs_of_every_type_under_every_cast() {
    for source in FloatType::ALL.iter().map(|&float| Source::new(float)) {
        for oracle in Oracle::all() {
            for (rounding, words) in roundings() {
                for cast in casts(rounding) {
                    for bits in specials(source) {
                        words
                            .iter()
                            .for_each(|&word| check(&oracle, cast, source, bits, word));
                    }
                }
            }
        }
    }
}

#[test]
fn random_inputs_of_f32_and_f64() {
    let mut random = Bits(1);
    let oracles: Vec<_> = Oracle::all().collect();
    let roundings = roundings();
    for _ in 0..1_000_000 {
        let oracle = &oracles[random.next() as usize % oracles.len()];
        let rounding = roundings[random.next() as usize % roundings.len()].0;
        let cast = casts(rounding).nth(random.next() as usize % 6).unwrap();
        let (bits, word) = (random.next(), random.next() as u32);
        check(oracle, cast, Source::new(FloatType::F32), bits >> 32, word);
        check(oracle, cast, Source::new(FloatType::F64), bits, word);
        // Most of binary64 lies far outside of any format: once more within 2^-64..2^64.
        let near = (bits >> 63 << 63) | ((0x3BF << 52) + (bits << 1 >> 5));
        check(oracle, cast, Source::new(FloatType::F64), near, word);
    }
}

#[test]
fn integers_are_rounded_once() {
    // To odd with 53 bits: no limit of any format has that many, so that no comparison with one
    // comes out differently. The oracle can then take the number as `f64`.
    let to_odd = |value: u64| {
        let lost = (64 - value.leading_zeros()).saturating_sub(53);
        let kept = value >> lost;
        let sticky = (kept << lost != value) as u64;
        (kept | sticky) as f64 * oracle::pow2(lost as i32)
    };
    let mut random = Bits(2);
    let mut values = vec![0, 1, -1, i64::MAX, i64::MIN, i64::MIN + 1];
    for k in 0..62 {
        for middle in [1i64 << k, 3i64 << k] {
            values.extend((-3..=3).flat_map(|d| [middle.wrapping_add(d), d.wrapping_sub(middle)]));
        }
        values.push((random.next() >> k) as i64);
    }
    for oracle in Oracle::all() {
        let spec = oracle.row.format.spec();
        for (rounding, words) in roundings() {
            for cast in casts(rounding) {
                for (&value, &word) in values.iter().zip(words.iter().cycle()) {
                    let input = Input {
                        negative: value < 0,
                        magnitude: to_odd(value.unsigned_abs()),
                    };
                    assert_eq!(
                        scalar::encode(spec, cast, Value::from_i64(value), word) as u8,
                        oracle.encode(cast, input, word),
                        "{value} to {:?}, {cast:?}, {word:#x}",
                        spec.name
                    );
                }
            }
        }
    }
}

/// Bits above the width of a code are ignored by decoding and zero after encoding.
#[test]
fn unused_bits_of_a_code() {
    for oracle in Oracle::all() {
        let (format, width) = (oracle.row.format, oracle.row.width);
        for code in 0..=u8::MAX {
            let low = (u32::from(code) % (1 << width)) as u8;
            for &float in FloatType::ALL {
                assert_eq!(
                    scalar::decode_bits(format, code, float),
                    scalar::decode_bits(format, low, float)
                );
            }
            for cast in DETERMINISTIC.into_iter().flat_map(casts) {
                let value = scalar::decode_f32(format, code);
                let encoded = scalar::encode_f32(format, cast, -value, 0);
                assert!(u32::from(encoded) < 1 << width);
            }
        }
    }
}

/// Encode after decode, under `None` and any rounding: a value is its own neighbour.
#[test]
fn a_decoded_code_encodes_to_itself() {
    for oracle in Oracle::all() {
        let format = oracle.row.format;
        for code in 0..=(u8::MAX >> (8 - oracle.row.width)) {
            let magnitude = oracle.decode(code).magnitude;
            for (rounding, words) in roundings() {
                let cast = Cast {
                    rounding,
                    saturation: Saturation::None,
                    nan: NanPolicy::KeepSign,
                };
                for &float in &[FloatType::F32, FloatType::F64] {
                    let bits = scalar::decode_bits(format, code, float);
                    for &word in &words {
                        let again = scalar::encode_bits(format, cast, float, bits, word);
                        if magnitude.is_nan() {
                            let nan = oracle.decode(again);
                            assert!(nan.magnitude.is_nan());
                            assert_eq!(nan.negative, oracle.decode(code).negative);
                        } else if (format, code) == (Format::MxInt8, 0x80) {
                            assert_eq!(again, 0x81, "-2 clamps to -127/64");
                        } else {
                            assert_eq!(again, code, "{format:?} {cast:?}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn codes_of_one_sign_are_ordered_as_their_values() {
    for format in Format::ALL.iter().copied() {
        let spec = format.spec();
        let is_number = |code: u8| !scalar::decode_f64(format, code).is_nan();
        let codes = (0..=u8::MAX >> (8 - spec.bits)).filter(|&code| is_number(code));
        let (negative, positive): (Vec<u8>, Vec<u8>) =
            codes.partition(|&code| scalar::decode_f64(format, code).is_sign_negative());
        let values = |codes: &[u8]| -> Vec<f64> {
            codes
                .iter()
                .map(|&code| scalar::decode_f64(format, code))
                .collect()
        };
        assert!(
            values(&positive).windows(2).all(|pair| pair[0] < pair[1]),
            "{format:?}"
        );
        let ascending = |pair: &[f64]| pair[0] < pair[1];
        let descending = |pair: &[f64]| pair[0] > pair[1];
        // Two's complement counts up from the least value, a sign bit counts away from zero.
        let negatives = values(&negative);
        match format {
            Format::MxInt8 => assert!(negatives.windows(2).all(ascending)),
            _ => assert!(negatives.windows(2).all(descending), "{format:?}"),
        }
    }
}

/// The four roundings of E8M0, at every power of two, its tie and their neighbours: written down
/// once more, in words of powers of two.
#[test]
fn e8m0_in_its_four_roundings() {
    let encode = |bits: u32, rounding| {
        let cast = Cast::DEFAULT
            .rounding(rounding)
            .saturation(Saturation::None);
        let code = scalar::encode_bits(Format::E8M0, cast, FloatType::F32, bits.into(), 0);
        // The sign is dropped first: a directed rounding does not turn round.
        let negated = u64::from(bits | 1 << 31);
        let mirrored = scalar::encode_bits(Format::E8M0, cast, FloatType::F32, negated, 0);
        assert_eq!(code, mirrored);
        code
    };
    use Rounding::{NearestAway, NearestEven, TowardNegative, TowardPositive, TowardZero};
    for code in 0..=0xFE_u8 {
        let power = if code == 0 {
            1 << 22
        } else {
            u32::from(code) << 23
        };
        let ulp = if code == 0 { 1 << 22 } else { 1 << 23 };
        let next = code + 1; // 0xFF, NaN, after the largest.
        let even = if code % 2 == 0 { code } else { next };
        let tie = power + ulp / 2;
        for rounding in [
            NearestEven,
            NearestAway,
            TowardZero,
            TowardPositive,
            TowardNegative,
        ] {
            assert_eq!(encode(power, rounding), code);
        }
        for (bits, nearest_even, nearest_away) in [
            (power + 1, code, code),
            (tie - 1, code, code),
            (tie, even, next),
            (tie + 1, next, next),
            (power + ulp - 1, next, next),
        ] {
            assert_eq!(encode(bits, NearestEven), nearest_even);
            assert_eq!(encode(bits, NearestAway), nearest_away);
            assert_eq!(encode(bits, TowardZero), code);
            assert_eq!(encode(bits, TowardNegative), code);
            assert_eq!(encode(bits, TowardPositive), next);
        }
    }
    // Below 2^-127 there is nothing but 2^-127.
    for bits in [0, 1, (1 << 21) - 1, 1 << 21, (1 << 21) + 1, (1 << 22) - 1] {
        for rounding in DETERMINISTIC {
            assert_eq!(encode(bits, rounding), 0);
        }
    }
}

/// The largest values and thresholds as the specifications print them: the oracle has not been
/// wrong together with the product.
#[test]
fn published_thresholds() {
    let none = Cast::DEFAULT.saturation(Saturation::None);
    let e4m3 = |x| scalar::encode_f32(Format::E4M3, none, x, 0);
    assert_eq!(
        [e4m3(448.0), e4m3(464.0), e4m3(464.0_f32.next_up())],
        [0x7E, 0x7E, 0x7F]
    );
    let e5m2 = |x| scalar::encode_f32(Format::E5M2, none, x, 0);
    assert_eq!(
        [e5m2(57344.0), e5m2(61440.0_f32.next_down()), e5m2(61440.0)],
        [0x7B, 0x7B, 0x7C]
    );
    let fnuz = |x| scalar::encode_f32(Format::E4M3Fnuz, none, x, 0);
    assert_eq!(
        [fnuz(240.0), fnuz(248.0_f32.next_down()), fnuz(248.0)],
        [0x7F, 0x7F, 0x80]
    );
    assert_eq!([e4m3(-1e9), e5m2(-1e9), fnuz(-1e9)], [0xFF, 0xFC, 0x80]);
}

/// Between the wide types: all of binary16 and bfloat16, and every value and tie of theirs.
#[test]
fn wide_types_convert_as_ieee_754_says() {
    let convert = |from: FloatType, to: FloatType, bits| {
        scalar::convert(from.spec(), to.spec(), scalar::DECODE_CAST, bits, 0)
    };
    for narrow in [FloatType::F16, FloatType::Bf16].map(Source::new) {
        for bits in 0..1 << 16 {
            for wide in [FloatType::F32, FloatType::F64].map(Source::new) {
                let expected = wide.nearest(narrow.input(bits));
                assert_eq!(convert(narrow.float, wide.float, bits), expected);
            }
        }
        let wide = Source::new(FloatType::F32);
        for bits in 0..narrow.infinity - 1 {
            let pair = [bits, bits + 1].map(|bits| narrow.input(bits).magnitude);
            let tie = wide.first_from((pair[0] + pair[1]) / 2.0);
            for near in [tie - (tie > 0) as u64, tie, tie + 1, wide.sign | tie] {
                let expected = narrow.nearest(wide.input(near));
                assert_eq!(
                    convert(wide.float, narrow.float, near),
                    expected,
                    "{near:#x}"
                );
            }
        }
    }
    // The machine is the oracle here.
    let mut random = Bits(3);
    for _ in 0..1_000_000 {
        let bits = random.next();
        let near_f32 = f64::from(f32::from_bits((bits >> 32) as u32)).to_bits();
        // A random number, a value of f32, a tie between two, and the neighbours of both.
        for bits in [
            bits,
            near_f32,
            near_f32 ^ 1,
            near_f32 ^ 1 << 28,
            near_f32 ^ 1 << 28 ^ 1,
        ] {
            let value = f64::from_bits(bits);
            if !value.is_nan() {
                let expected = u64::from((value as f32).to_bits());
                assert_eq!(
                    convert(FloatType::F64, FloatType::F32, bits),
                    expected,
                    "{bits:#x}"
                );
            }
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stochastic rounding: how many of the random words round away is what P3109 says, for every
//! fraction; the words themselves are Philox4x32-10, taken as the documentation says.

mod oracle;

use ofp8::random::philox4x32_10;
use ofp8::scalar::encode_f64;
use ofp8::{Cast, Format, Philox, Rounding};
use oracle::{pow2, stochastic};

/// Which of the three definitions of P3109 v4.0 §4.7.4.
#[derive(Clone, Copy, Debug)]
enum Variant {
    A,
    B,
    C,
}
use Variant::{A, B, C};

fn rounding(variant: Variant, n: u32) -> Rounding {
    stochastic(n)[variant as usize]
}

/// The fraction `numerator / 2^bits` of an ulp.
#[derive(Clone, Copy, Debug)]
struct Fraction {
    numerator: u64,
    bits: u32,
}

impl Fraction {
    /// `floor(fraction * 2^n)`, and what is left, over `2^bits`.
    fn scaled(self, n: u32) -> (u64, u64) {
        let scaled = u128::from(self.numerator) << n;
        let rest = scaled % (1 << self.bits);
        ((scaled >> self.bits) as u64, rest as u64)
    }

    /// How many of the 2^n words round away: the definitions, solved by hand.
    fn count(self, variant: Variant, n: u32) -> u64 {
        match variant {
            // floor(nu 2^N) + R >= 2^N: as many R as the floor says.
            A => self.scaled(n).0,
            // floor(nu 2^(N+1)) + 2R + 1 >= 2^(N+1): half as many, rounded up.
            B => self.scaled(n + 1).0.div_ceil(2),
            // nearest_even(nu 2^N) + R >= 2^N.
            C => {
                let (floor, rest) = self.scaled(n);
                let half = 1 << (self.bits - 1);
                floor + (rest > half || (rest == half && floor % 2 == 1)) as u64
            }
        }
    }

    /// `low` and this fraction of its ulp, which is 1.
    fn above(self, low: f64) -> f64 {
        low + self.numerator as f64 / pow2(self.bits as i32)
    }
}

/// Whether a word rounds `low + fraction` away from `low`, an integer between 8 and 15, where one
/// ulp of E4M3 is 1. (The code of 8 is even, that of 9 odd.)
fn is_away(variant: Variant, n: u32, low: f64, fraction: Fraction, word: u32) -> bool {
    let cast = Cast::DEFAULT.rounding(rounding(variant, n));
    let encode = |x| encode_f64(Format::E4M3, cast, x, word);
    let low_code = encode_f64(Format::E4M3, Cast::DEFAULT, low, 0);
    let x = fraction.above(low);
    assert_eq!(encode(-x), encode(x) | 0x80, "the sign plays no part");
    match encode(x) {
        code if code == low_code => false,
        code if code == low_code + 1 => true,
        code => panic!("{x} went to {code:#04x}, which is no neighbour"),
    }
}

#[test]
fn every_word_counts_with_few_random_bits() {
    for n in 1..=8 {
        let bits = n + 3;
        for fraction in (0..1 << bits).map(|numerator| Fraction { numerator, bits }) {
            for variant in [A, B, C] {
                let count = fraction.count(variant, n);
                for word in 0..1u32 << n {
                    let away = u64::from(word) >= (1 << n) - count;
                    // Bits above the n lowest are ignored.
                    let more = word | u32::MAX << n;
                    for (low, word) in [(8.0, word), (9.0, more)] {
                        assert_eq!(
                            is_away(variant, n, low, fraction, word),
                            away,
                            "{variant:?}, N = {n}, {fraction:?}, word {word:#x}"
                        );
                    }
                }
            }
        }
    }
}

/// The words that round away are the largest ones: with many bits it is enough to look at where
/// they begin.
#[test]
fn words_begin_to_round_away_where_they_should_with_many_random_bits() {
    let mut random = oracle::Bits(4);
    for n in 9..=32 {
        let bits = n + 4;
        let last = (1u64 << bits) - 1;
        let tie_at = |k: u64| (2 * k + 1) << (bits - n - 1);
        let ties = [0, 1, 2, (1 << n) - 2, (1 << n) - 1].map(tie_at);
        let mut numerators = vec![
            0,
            1,
            2,
            last / 2,
            last / 2 + 1,
            last / 2 + 2,
            last - 1,
            last,
        ];
        numerators.extend(ties.iter().flat_map(|&tie| [tie - 1, tie, tie + 1]));
        numerators.extend((0..200).map(|_| random.next() & last));
        for fraction in numerators
            .into_iter()
            .map(|numerator| Fraction { numerator, bits })
        {
            for variant in [A, B, C] {
                let first = (1 << n) - fraction.count(variant, n);
                let words = [0, first.wrapping_sub(1), first, first + 1, (1 << n) - 1];
                for word in words.into_iter().filter(|&word| word < 1 << n) {
                    assert_eq!(
                        is_away(variant, n, 8.0, fraction, word as u32),
                        word >= first,
                        "{variant:?}, N = {n}, {fraction:?}, word {word:#x}"
                    );
                }
            }
        }
    }
}

/// The error of the mean over all words, in units of `2^-bits / 2^n` ulp, for one fraction.
fn mean_error(variant: Variant, n: u32, fraction: Fraction) -> i64 {
    let away = (0..1u32 << n)
        .filter(|&word| is_away(variant, n, 8.0, fraction, word))
        .count() as i64;
    (away << fraction.bits) - ((fraction.numerator as i64) << n)
}

/// For each fraction the mean of B and C errs by at most half of 2^-N ulp, that of A toward zero
/// by less than 2^-N; a fraction of at most N bits has no error. Over all fractions of a finite
/// precision the mean error of C is exactly zero.
#[test]
fn mean_errors_stay_in_their_exact_bounds() {
    for n in [1, 2, 3, 5, 8] {
        let bits = n + 4;
        let unit = 1i64 << bits; // 2^-N ulp
        let mut sum = 0;
        for fraction in (0..1 << bits).map(|numerator| Fraction { numerator, bits }) {
            let [a, b, c] = [A, B, C].map(|variant| mean_error(variant, n, fraction));
            assert!(-unit < a && a <= 0, "{fraction:?}");
            assert!(b.abs() <= unit / 2, "{fraction:?}");
            assert!(c.abs() <= unit / 2, "{fraction:?}");
            if fraction.scaled(n).1 == 0 {
                assert_eq!([a, b, c], [0; 3], "{fraction:?}");
            }
            sum += c;
        }
        assert_eq!(sum, 0);
    }
}

/// A value of the format stays where it is, and so does what lies next to nothing above it,
/// whatever the word says.
#[test]
fn a_fraction_of_almost_nothing() {
    for n in [1, 8, 32] {
        for variant in [A, B, C] {
            let cast = Cast::DEFAULT.rounding(rounding(variant, n));
            for x in [8.0, 8.0_f64.next_up(), 0.0, f64::from_bits(1), pow2(-1000)] {
                let nearest = encode_f64(Format::E4M3, Cast::DEFAULT, x, 0);
                assert_eq!(encode_f64(Format::E4M3, cast, x, u32::MAX), nearest);
            }
        }
    }
}

/// The published known-answer values of Random123 (file `kat_vectors`, philox 4x32 10).
#[test]
fn philox_known_answers() {
    assert_eq!(
        philox4x32_10([0; 4], [0; 2]),
        [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
    );
    assert_eq!(
        philox4x32_10([u32::MAX; 4], [u32::MAX; 2]),
        [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
    );
    assert_eq!(
        philox4x32_10(
            [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            [0xa409_3822, 0x299f_31d0]
        ),
        [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
    );
}

/// The same known answer through the mapping: seed, block and stream, low words first.
#[test]
fn philox_blocks_take_their_numbers_low_word_first() {
    let philox = Philox::new(0x299f_31d0_a409_3822, 0x0370_7344_1319_8a2e);
    assert_eq!(
        philox.block(0x85a3_08d3_243f_6a88),
        [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
    );
}

#[test]
fn eight_elements_share_a_block_low_half_word_first() {
    // The halves of the first known answer.
    let expected = [
        0xe8d5, 0x6627, 0xc58d, 0xe169, 0xac4c, 0xbc57, 0xdbd8, 0x9b00,
    ];
    let philox = Philox::new(0, 0);
    assert_eq!(
        [0, 1, 2, 3, 4, 5, 6, 7].map(|element| philox.bits(element)),
        expected
    );
}

#[test]
fn element_numbers_start_anywhere_and_wrap() {
    let halves = |seed: u64, stream: u64, block: u64| {
        let counter = [block, block >> 32, stream, stream >> 32].map(|word| word as u32);
        let words = philox4x32_10(counter, [seed as u32, (seed >> 32) as u32]);
        words
            .map(|word| [word as u16, (word >> 16) as u16])
            .concat()
    };
    let mut random = oracle::Bits(5);
    for _ in 0..200 {
        let [seed, stream, first] = [random.next(), random.next(), random.next()];
        let philox = Philox::new(seed, stream).at(first);
        for offset in (0..20).chain([u64::MAX - first, u64::MAX, random.next()]) {
            let element = first.wrapping_add(offset);
            let expected = halves(seed, stream, element / 8)[element as usize % 8];
            assert_eq!(philox.bits(offset), expected, "element {element}");
        }
    }
}

/// Streams, seeds and elements do not share their bits.
#[test]
fn streams_are_different() {
    let bits = |philox: Philox| -> Vec<u16> { (0..64).map(|i| philox.bits(i)).collect() };
    let base = bits(Philox::new(7, 1));
    for other in [
        Philox::new(7, 2),
        Philox::new(8, 1),
        Philox::new(7, 1).at(1),
    ] {
        assert_ne!(bits(other), base);
    }
    assert_eq!(bits(Philox::new(7, 1).at(8))[..56], base[8..]);
}

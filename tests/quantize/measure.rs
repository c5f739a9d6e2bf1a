// SPDX-License-Identifier: MIT OR Apache-2.0
//! Error sums: right within f64, and to the bit in the order that is promised.

use ofp8::monitor::{Measure, measure};
use ofp8::{Bf16, Error, F16, Matrix, Stats};

use crate::data::{Generator, Profile, Specials, Strided, Wide, element};

/// A source and what came back from it.
fn pair<S: Wide>(rows: usize, cols: usize, seed: u64) -> (Strided<S>, Strided<f32>) {
    let mut random = Generator(seed);
    let mut source = Strided::new(rows, cols, 3, S::nearest(f32::NAN));
    let mut back = Strided::new(rows, cols, 1, f32::NAN);
    for row in 0..rows {
        for col in 0..cols {
            let x = S::nearest(element(&mut random, Profile::Around(4), Specials::Few));
            let noise = element(&mut random, Profile::Around(-1), Specials::Few);
            let x = if random.one_in(9) { S::nearest(0.0) } else { x };
            source.set(row, col, x);
            back.set(row, col, x.value() + noise);
        }
    }
    (source, back)
}

/// The finite pairs of a row, with their places.
fn finite<S: Wide>(source: &Strided<S>, back: &Strided<f32>, row: usize) -> Vec<(usize, f64, f64)> {
    (0..source.cols)
        .map(|col| {
            (
                col,
                source.get(row, col).value() as f64,
                back.get(row, col) as f64,
            )
        })
        .filter(|(_, x, y)| x.is_finite() && y.is_finite())
        .collect()
}

/// The sum of one quantity over a row as documented: eight lanes, then a tree.
fn lanes(row: &[(usize, f64, f64)], quantity: impl Fn(f64, f64) -> f64) -> f64 {
    let lane = |lane: usize| {
        let members = row.iter().filter(|(col, _, _)| col % 8 == lane);
        members.fold(0.0, |sum, &(_, x, y)| sum + quantity(x, y))
    };
    let pair = |i: usize| lane(i) + lane(i + 4);
    (pair(0) + pair(2)) + (pair(1) + pair(3))
}

fn bits(m: &Measure) -> [u64; 6] {
    [
        m.count,
        m.signal.to_bits(),
        m.noise.to_bits(),
        m.absolute.to_bits(),
        m.max_absolute.to_bits(),
        m.max_relative.to_bits(),
    ]
}

fn check<S: Wide>(rows: usize, cols: usize, seed: u64) {
    let what = format!("{rows} x {cols}, seed {seed}");
    let (source, back) = pair::<S>(rows, cols, seed);
    let got = measure(source.matrix(), back.matrix()).unwrap();

    // To the bit: lanes of a row, then rows in turn.
    let mut exact = Measure::default();
    // Roughly: one element after the other.
    let (mut signal, mut noise, mut absolute) = (0.0f64, 0.0f64, 0.0f64);
    for row in 0..rows {
        let row = finite(&source, &back, row);
        exact.count += row.len() as u64;
        exact.signal += lanes(&row, |x, _| x * x);
        exact.noise += lanes(&row, |x, y| (y - x) * (y - x));
        exact.absolute += lanes(&row, |x, y| (y - x).abs());
        for &(_, x, y) in &row {
            signal += x * x;
            noise += (x - y) * (x - y);
            absolute += (x - y).abs();
            exact.max_absolute = exact.max_absolute.max((x - y).abs());
            if x != 0.0 {
                exact.max_relative = exact.max_relative.max((x - y).abs() / x.abs());
            }
        }
    }
    assert_eq!(bits(&got), bits(&exact), "{what}");
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b;
    assert!(near(got.signal, signal) && near(got.noise, noise), "{what}");
    assert!(near(got.absolute, absolute), "{what}");

    // Rows one by one, merged in turn: the same bits.
    let merged = (0..rows).fold(Measure::default(), |sum, row| {
        let of_row = measure(source.rows(row, row + 1), back.rows(row, row + 1)).unwrap();
        sum.merge(of_row)
    });
    assert_eq!(bits(&merged), bits(&got), "{what}");
}

#[test]
fn sums_have_the_promised_order() {
    for (seed, rows) in [0usize, 1, 2, 7, 33].into_iter().enumerate() {
        for cols in [0, 1, 2, 7, 8, 9, 16, 100, 1000] {
            check::<f32>(rows, cols, seed as u64);
            check::<F16>(rows, cols, seed as u64);
            check::<Bf16>(rows, cols, seed as u64);
        }
    }
}

#[test]
fn merging_adds_and_takes_maxima() {
    let (a, a_back) = pair::<f32>(5, 77, 1);
    let (b, b_back) = pair::<f32>(3, 20, 2);
    let a = measure(a.matrix(), a_back.matrix()).unwrap();
    let b = measure(b.matrix(), b_back.matrix()).unwrap();
    let both = a.merge(b);
    assert_eq!(both.count, a.count + b.count);
    assert_eq!(both.signal, a.signal + b.signal);
    assert_eq!(both.noise, a.noise + b.noise);
    assert_eq!(both.absolute, a.absolute + b.absolute);
    assert_eq!(both.max_absolute, a.max_absolute.max(b.max_absolute));
    assert_eq!(both.max_relative, a.max_relative.max(b.max_relative));
    assert_eq!(a.merge(Measure::default()), a);
    assert_eq!(Measure::default().merge(a), a);
}

#[test]
fn small_numbers_by_hand() {
    let source = [3.0f32, -4.0, 0.0, f32::INFINITY, 5.0, f32::NAN];
    let back = [2.0f32, -4.5, 0.25, 1.0, f32::NAN, 1.0];
    let matrix = |data| Matrix::new(data, 2, 3).unwrap();
    let got = measure(matrix(&source), matrix(&back)).unwrap();
    let expected = Measure {
        count: 3,
        signal: 25.0,
        noise: 1.0 + 0.25 + 0.0625,
        absolute: 1.75,
        max_absolute: 1.0,
        max_relative: 1.0 / 3.0,
    };
    assert_eq!(got, expected);
    assert_eq!(got.signal_to_noise(), 25.0 / 1.3125);
    assert!(Measure::default().signal_to_noise().is_nan());
    let lossless = measure(matrix(&source), matrix(&source)).unwrap();
    assert_eq!(lossless.signal_to_noise(), f64::INFINITY);
    #[cfg(feature = "std")]
    {
        let tenth = Measure {
            signal: 1000.0,
            noise: 1.0,
            ..Measure::default()
        };
        assert!((tenth.sqnr_db() - 30.0).abs() < 1e-12);
    }
}

#[test]
fn shapes_must_match() {
    let data = [0.0f32; 12];
    let matrix = |rows, cols| Matrix::new(&data, rows, cols).unwrap();
    for (rows, cols) in [(2, 4), (3, 3), (4, 3), (0, 4), (3, 0)] {
        let result = measure(matrix(3, 4), matrix(rows, cols));
        assert_eq!(result, Err(Error::Shape));
    }
}

/// What has been counted for ever is not lost to one more.
#[test]
fn counts_stop_at_the_largest() {
    let all = |count| Stats {
        count,
        zero: count,
        saturated: count,
        underflowed: count,
        nan: count,
        infinite: count,
        ..Stats::EMPTY
    };
    let measured = |count| Measure {
        count,
        ..Measure::default()
    };
    for (a, b, sum) in [
        (u64::MAX, 1, u64::MAX),
        (1, u64::MAX, u64::MAX),
        (u64::MAX, u64::MAX, u64::MAX),
        (u64::MAX - 1, 1, u64::MAX),
        (u64::MAX - 2, 1, u64::MAX - 1),
    ] {
        assert_eq!(all(a).merge(all(b)), all(sum));
        assert_eq!(measured(a).merge(measured(b)), measured(sum));
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decimal strings, rounded once.
//!
//! `core` parses to the nearest `f64` (correctly rounded, any length) and prints an `f64` exactly.
//! To round that `f64` again would be to round twice; but every value and every midpoint of a
//! format is an `f64`, so all that the first rounding can hide is on which side of such a point
//! the string lies. Comparing the string with the printed `f64`, digit by digit, brings that back
//! as a bit below the `f64`'s last one ("sticky"), and then there is one rounding. No big
//! integers, no allocation.

use core::cmp::Ordering;
use core::fmt::{self, Write};
use core::num::ParseFloatError;

use crate::kernel::with_default_environment;
use crate::scalar::{Value, decode};
use crate::spec::FloatType;

/// Significant digits that write any `f64` exactly.
const EXACT_DIGITS: usize = 767;

/// An exponent below (or, negated, above) every value of `f64`, and so of every format.
const BEYOND_F64: i32 = 2000;

/// The value of a decimal string, exact enough that any rounding to a format sees the string
/// itself.
pub(super) fn parse(text: &str) -> Result<Value, ParseFloatError> {
    let nearest: f64 = with_default_environment(|| text.parse())?;
    let value = decode(FloatType::F64.spec(), nearest.to_bits());
    if !text.contains(|c: char| c.is_ascii_digit()) {
        return Ok(value); // "inf", "nan"
    }
    let decimal = Decimal::new(text);
    let negative = nearest.is_sign_negative();
    Ok(match value {
        Value::Infinite { .. } => Value::new(negative, 1, BEYOND_F64),
        Value::Zero { .. } if !decimal.is_zero() => Value::new(negative, 1, -BEYOND_F64),
        Value::Finite {
            exponent,
            significand,
            ..
        } => {
            let mut exact = Printed::default();
            // The buffer is large enough for any f64.
            let _ = write!(exact, "{:.*e}", EXACT_DIGITS - 1, nearest.abs());
            let beside = match decimal.cmp(&Decimal::new(exact.as_str())) {
                Ordering::Less => significand - 1,
                Ordering::Equal => significand,
                Ordering::Greater => significand + 1,
            };
            Value::new(negative, beside, exponent - 63)
        }
        _ => value,
    })
}

/// The magnitude of a decimal number: `0.ddd * 10^exponent`, no zero at either end of the digits
/// (a point may lie among them).
struct Decimal<'a> {
    digits: &'a str,
    exponent: i64,
}

impl<'a> Decimal<'a> {
    /// From text that `f64` accepts.
    fn new(text: &'a str) -> Decimal<'a> {
        let text = text.trim_start_matches(['+', '-']);
        let (significand, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let digits = significand.trim_start_matches(['0', '.']);
        let integer = significand.find('.').unwrap_or(significand.len());
        let leading = significand.len() - digits.len();
        // Places from the first digit that is not zero to the point; the point itself takes one.
        let places = integer as i64 - leading as i64 + (leading > integer) as i64;
        Decimal {
            digits: digits.trim_end_matches(['0', '.']),
            exponent: parse_saturating(exponent).saturating_add(places),
        }
    }

    fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    fn digits(&self) -> impl Iterator<Item = u8> + '_ {
        self.digits.bytes().filter(|&byte| byte != b'.')
    }

    fn cmp(&self, other: &Decimal) -> Ordering {
        let exponents = self.exponent.cmp(&other.exponent);
        exponents.then_with(|| self.digits().cmp(other.digits()))
    }
}

/// An integer, or the nearest `i64` where it is too large: no string is long enough to bring such
/// an exponent back into range.
fn parse_saturating(integer: &str) -> i64 {
    integer.parse().unwrap_or(if integer.starts_with('-') {
        i64::MIN
    } else {
        i64::MAX
    })
}

/// A short text in place of a `String`.
struct Printed {
    text: [u8; EXACT_DIGITS + 8],
    len: usize,
}

impl Default for Printed {
    fn default() -> Printed {
        Printed {
            text: [0; EXACT_DIGITS + 8],
            len: 0,
        }
    }
}

impl Printed {
    fn as_str(&self) -> &str {
        // What was written is whole strings.
        core::str::from_utf8(&self.text[..self.len]).unwrap_or("")
    }
}

impl Write for Printed {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let end = self.len + part.len();
        let free = self.text.get_mut(self.len..end).ok_or(fmt::Error)?;
        free.copy_from_slice(part.as_bytes());
        self.len = end;
        Ok(())
    }
}

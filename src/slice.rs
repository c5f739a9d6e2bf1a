// SPDX-License-Identifier: MIT OR Apache-2.0
//! Slices of wide values to slices of codes and back.
//!
//! Each function equals the scalar reference ([`crate::scalar`]) on every element, bit for bit,
//! and does not depend on the machine, on how the work is cut, or on the caller's floating-point
//! environment, which it leaves as it was but for exception flags: any may be raised, none traps.
//! On an error nothing has been written.
//!
//! ```
//! use ofp8::{Cast, Format, slice};
//!
//! let source = [0.1f32, -1.0, 1000.0];
//! let mut codes = [0u8; 3];
//! slice::encode(Format::E4M3, Cast::DEFAULT, &source, &mut codes)?;
//! assert_eq!(codes, [0x1D, 0xB8, 0x7E]);
//!
//! let mut back = [0.0f32; 3];
//! slice::decode(Format::E4M3, &codes, &mut back)?;
//! assert_eq!(back, [0.1015625, -1.0, 448.0]);
//! # Ok::<(), ofp8::Error>(())
//! ```

use crate::error::Error;
use crate::float::Float;
use crate::kernel;
use crate::policy::Cast;
use crate::random::Random;
use crate::spec::Format;
use crate::stats::Amax;

/// Encodes `source[i]` into `codes[i]`, rounded once.
///
/// Nearest-even is the fast one, where overflow and infinities give the same code ([`crate::Cast::DEFAULT`]
/// is such a cast) and the source is not binary64: anything else takes five to six times as long where there
/// are vectors.
///
/// # Errors
/// [`Error::Length`] if the slices differ in length, [`Error::RandomBits`] if the rounding is
/// stochastic (then use [`encode_stochastic`]).
pub fn encode<S: Float>(
    format: Format,
    cast: Cast,
    source: &[S],
    codes: &mut [u8],
) -> Result<(), Error> {
    if source.len() != codes.len() {
        return Err(Error::Length);
    }
    if cast.rounding.is_stochastic() {
        return Err(Error::RandomBits);
    }
    kernel::encode(format, cast, None, source, codes);
    Ok(())
}

/// Encodes `source[i]` into `codes[i]` with the random bits of element `i`. A rounding that is
/// not stochastic ignores them.
///
/// On AVX-512 and AVX2 variant A with at most 16 random bits takes four to five times as long as nearest-even;
/// the other variants, and all of them elsewhere, up to fourteen times. More than 22 random bits, or any with
/// a binary64 source or for E8M0, take the scalar path: a hundred times and more.
///
/// # Errors
/// [`Error::Length`] if the slices (and the words, where given) differ in length,
/// [`Error::RandomBits`] if the rounding wants more bits than the generator has.
pub fn encode_stochastic<S: Float>(
    format: Format,
    cast: Cast,
    random: Random<'_>,
    source: &[S],
    codes: &mut [u8],
) -> Result<(), Error> {
    if source.len() != codes.len() {
        return Err(Error::Length);
    }
    random.serves(cast.rounding.random_bits(), source.len())?;
    kernel::encode(format, cast, Some(random), source, codes);
    Ok(())
}

/// Decodes `codes[i]` into `target[i]`: exactly for `f32` and `f64` and nearly everywhere for the
/// other two, where a value that the type cannot hold is rounded to nearest-even once, and one
/// beyond its largest becomes infinity. NaN is quiet and keeps its sign.
///
/// # Errors
/// [`Error::Length`] if the slices differ in length.
pub fn decode<T: Float>(format: Format, codes: &[u8], target: &mut [T]) -> Result<(), Error> {
    if codes.len() != target.len() {
        return Err(Error::Length);
    }
    kernel::decode(format, codes, target);
    Ok(())
}

/// The largest absolute value of `source`; NaN if there is one. Zero for nothing.
///
/// A binary64 is taken as the nearest `f32` (ties to even), so that a large one counts as
/// infinite.
pub fn amax<S: Float>(source: &[S]) -> Amax {
    kernel::amax(source)
}

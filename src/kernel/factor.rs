// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is done to elements before they are cast: all by one number, or each by one of many.

use super::portable;

/// What is done to an element before it is cast.
///
/// Factors are positive (or NaN, or infinite, where a block is poisoned): the sign of an element
/// never changes, not even that of a NaN that the operation makes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Factor {
    /// One `f32` product, rounded to nearest-even, and then the cast.
    Multiply(f32),
    /// One `f32` quotient, rounded to nearest-even, and then the cast.
    Divide(f32),
    /// Times `2^k`, exactly: the cast is the only rounding. `k` lies in `-127..=127`.
    Shift(i32),
}

impl Factor {
    /// Leaves an element as it is.
    pub(crate) const ONE: Factor = Factor::Shift(0);

    /// Without its number.
    pub(crate) fn operation(self) -> Operation {
        match self {
            Factor::Multiply(_) => Operation::Multiply,
            Factor::Divide(_) => Operation::Divide,
            Factor::Shift(_) => Operation::Shift,
        }
    }

    /// The number.
    pub(crate) fn number(self) -> f32 {
        match self {
            Factor::Multiply(by) | Factor::Divide(by) => by,
            Factor::Shift(k) => portable::power_of_two(k),
        }
    }
}

/// A [`Factor`] without its number, where there are many of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Operation {
    /// [`Factor::Multiply`].
    Multiply,
    /// [`Factor::Divide`].
    Divide,
    /// [`Factor::Shift`], by the power of two itself.
    Shift,
}

impl Operation {
    /// What becomes of an absolute value, so far as the cast can tell.
    #[inline(always)]
    pub(super) fn of_abs(self, abs: u32, by: f32) -> u32 {
        let abs = f32::from_bits(abs);
        let result = match self {
            Operation::Divide => abs / by,
            Operation::Multiply | Operation::Shift => abs * by,
        };
        result.to_bits()
    }
}

/// What is done to the elements of a run.
#[derive(Clone, Copy)]
pub(super) enum Factors<'a> {
    /// The same to all.
    One(Factor),
    /// A number for each.
    Each(Operation, &'a [f32]),
    /// A number for each group of `2^log` elements, which is a whole vector of any kernel, or more.
    Groups {
        operation: Operation,
        log: u32,
        numbers: &'a [f32],
    },
}

impl<'a> Factors<'a> {
    /// Elements of the widest vector, and of the narrowest group.
    pub(super) const LANES: usize = 16;

    /// A number for each group of so many elements, if groups are as [`Factors::Groups`] wants them.
    pub(super) fn groups(
        operation: Operation,
        width: usize,
        numbers: &'a [f32],
    ) -> Option<Factors<'a>> {
        (width.is_power_of_two() && width >= Self::LANES).then_some(Factors::Groups {
            operation,
            log: width.trailing_zeros(),
            numbers,
        })
    }

    /// What is done.
    #[inline(always)]
    pub(super) fn operation(self) -> Operation {
        match self {
            Factors::One(factor) => factor.operation(),
            Factors::Each(operation, _) | Factors::Groups { operation, .. } => operation,
        }
    }

    /// Whether elements have the same number, `count` by `count` (a power of two).
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub(super) fn are_uniform(self, count: usize) -> bool {
        match self {
            Factors::One(_) => true,
            Factors::Each(..) => false,
            Factors::Groups { log, .. } => 1 << log >= count,
        }
    }

    /// Those after the first `count` numbers.
    pub(super) fn skip(self, count: usize) -> Factors<'a> {
        let after = |numbers: &'a [f32]| numbers.get(count..).unwrap_or_default();
        match self {
            Factors::One(_) => self,
            Factors::Each(operation, numbers) => Factors::Each(operation, after(numbers)),
            Factors::Groups {
                operation,
                log,
                numbers,
            } => Factors::Groups {
                operation,
                log,
                numbers: after(numbers),
            },
        }
    }

    /// The numbers of the elements from number `first` on; where there are no more elements, 1.
    #[inline(always)]
    pub(super) fn fill(self, first: usize, places: &mut [f32]) {
        match self {
            Factors::One(factor) => places.fill(factor.number()),
            Factors::Each(_, numbers) => {
                let numbers = numbers.get(first..).unwrap_or_default();
                let (to, rest) = places.split_at_mut(numbers.len().min(places.len()));
                to.iter_mut().zip(numbers).for_each(|(to, &by)| *to = by);
                rest.fill(1.0);
            }
            Factors::Groups { log, numbers, .. } => {
                let (mut first, mut places) = (first, places);
                while !places.is_empty() {
                    let end = ((first >> log) + 1) << log;
                    let (group, rest) = places.split_at_mut((end - first).min(places.len()));
                    group.fill(numbers.get(first >> log).copied().unwrap_or(1.0));
                    (first, places) = (end, rest);
                }
            }
        }
    }
}

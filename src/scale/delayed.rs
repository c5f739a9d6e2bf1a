// SPDX-License-Identifier: MIT OR Apache-2.0
//! Delayed scaling: the amax that a tensor is quantized with comes from the steps before.
//!
//! Each tensor has a history of amaxes on memory that the caller owns ([`AmaxHistory`]). A step of
//! training is
//! 1. [`AmaxHistory::record`] what each pass over a tensor saw: merged into its *staging slot*;
//! 2. quantize with [`AmaxHistory::amax`]: `recipe.quantize_from_amax` takes it, and `recipe.scale`
//!    makes the scale of it, by every scaling and margin that a [`crate::Recipe`] can have;
//! 3. if [`AmaxHistory::is_due`], merge [`AmaxHistory::staging_mut`] over all ranks by integer
//!    maximum (`MPI_MAX` on `MPI_UINT32_T`): every rank has the same scales then;
//! 4. [`AmaxHistory::update`].
//!
//! # The rules
//! They are TransformerEngine's (`delayed_scaling.cu`), on integers. An update, for each tensor:
//!
//! ```text
//! last = history[0]                                 # the staging slot
//! if last == 0: leave this tensor alone             # it did not run
//! amax = most_recent ? last : max(history[0..L])    # before the roll: L values, last among them
//! roll: history[i] = history[i + 1], history[L - 1] = last, history[0] = 0
//! ```
//!
//! A tensor that held only zeros counts as one that did not run, as in TransformerEngine: a rank
//! cannot tell them apart after the reduction, and no scale fits zeros better than another. Before
//! its first update a tensor has amax 0, for which an f32 scale is 1.0.
//!
//! Where this differs, on purpose:
//! - An amax that is infinite or NaN never enters the history: TransformerEngine's fused kernel
//!   drops NaN without a trace, and an infinity there stops every update of the scale until it
//!   leaves the window, up to 1024 steps later. Here [`NonFiniteAmax`] says what happens, for one
//!   update, and [`AmaxHistory::not_finite`] counts it. (In a history that was filled elsewhere,
//!   such values are passed over.)
//! - A tensor that did not run is always left alone; in TransformerEngine only where many are
//!   updated in bulk.
//! - The scale is not stored but follows from the amax in use, so that the state is integers and is
//!   the same on every rank and machine.
//! - With an *interval* of N, only every Nth update does anything. The staging slots collect
//!   meanwhile, so that an entry of the history covers N steps and ranks need one reduction in N.
//! - *Calibration*: until a tensor has that many entries, [`AmaxHistory::amax`] is the largest of its
//!   whole history and what its staging slot holds at this moment, whatever the algorithm; so the
//!   first steps are scaled by their own data, not by 1.0. Record, reduce, then quantize.
//!
//! # The state
//! An array of 32-bit words; saving it is copying it, restoring is copying it back and
//! [`Delayed::attach`], on a machine of the same byte order. The words:
//!
//! | words | |
//! |---|---|
//! | 1 | [`Delayed::VERSION`] |
//! | 2 | history length L, number of tensors n |
//! | 2 | steps so far: low word, high word |
//! | 3 | 0 |
//! | L x n | the history, `[L][n]` as TransformerEngine stores it: the staging row, then the oldest to the newest; bits of f32 |
//! | n | the amax in use |
//! | n | how many entries were made, up to 2^32 - 1 |
//! | n | how many updates met an infinity or a NaN, up to 2^32 - 1 |

use crate::error::Error;
use crate::stats::Amax;

/// Which amax of the history is used (TransformerEngine's `amax_compute_algo`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AmaxAlgorithm {
    /// The largest of the history.
    #[default]
    Max,
    /// That of the last step in which the tensor ran.
    MostRecent,
}

/// What an update does with an amax that is infinite or NaN. Each is counted, none enters the
/// history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NonFiniteAmax {
    /// The amax in use stays, as if the tensor had not run.
    #[default]
    Hold,
    /// Until the next finite one, the amax in use is `f32::MAX`.
    Clamp,
    /// Until the next finite one, the amax in use is NaN, and so is the scale of a recipe that
    /// poisons. In training this tends to keep itself alive: for finding where it began.
    Poison,
}

impl NonFiniteAmax {
    /// What stands in for an amax, if anything does.
    const fn usable(self, amax: Amax) -> Option<Amax> {
        if amax.is_finite() {
            return Some(amax);
        }
        match self {
            NonFiniteAmax::Hold => None,
            NonFiniteAmax::Clamp => Some(Amax::of(f32::MAX)),
            NonFiniteAmax::Poison => Some(Amax::NAN),
        }
    }
}

/// The rules of delayed scaling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Delayed {
    history: usize,
    algorithm: AmaxAlgorithm,
    non_finite: NonFiniteAmax,
    interval: u32,
    calibration: u32,
}

/// Words before the history.
const HEADER: usize = 8;
/// Words of a tensor beside its history.
const BESIDE: usize = 3;

impl Delayed {
    /// The first word of a state: "DS", and the version of its layout.
    pub const VERSION: u32 = (b'D' as u32) << 24 | (b'S' as u32) << 16 | 1;

    /// The largest of the last `history` entries (TransformerEngine's `amax_history_len`, 1024
    /// there), updated every step, without calibration. [`Error::Recipe`] for a history of 0 or
    /// more than 2^32 - 1.
    pub const fn new(history: usize) -> Result<Delayed, Error> {
        if history == 0 || history as u64 > u32::MAX as u64 {
            return Err(Error::Recipe);
        }
        Ok(Delayed {
            history,
            algorithm: AmaxAlgorithm::Max,
            non_finite: NonFiniteAmax::Hold,
            interval: 1,
            calibration: 0,
        })
    }

    /// The same rules with another algorithm.
    pub const fn with_algorithm(self, algorithm: AmaxAlgorithm) -> Delayed {
        Delayed { algorithm, ..self }
    }

    /// The same rules with another policy for infinities and NaN.
    pub const fn with_non_finite(self, non_finite: NonFiniteAmax) -> Delayed {
        Delayed { non_finite, ..self }
    }

    /// The same rules, updated every `interval` steps; [`Error::Recipe`] for 0.
    pub const fn with_interval(self, interval: u32) -> Result<Delayed, Error> {
        if interval == 0 {
            return Err(Error::Recipe);
        }
        Ok(Delayed { interval, ..self })
    }

    /// The same rules, with calibration until a tensor has `entries` entries.
    pub const fn with_calibration(self, entries: u32) -> Delayed {
        Delayed {
            calibration: entries,
            ..self
        }
    }

    /// The number of words that the state of so many tensors takes; [`Error::Shape`] where it
    /// overflows or there are more than 2^32 - 1 tensors.
    pub const fn words(&self, tensors: usize) -> Result<usize, Error> {
        if tensors as u64 > u32::MAX as u64 {
            return Err(Error::Shape);
        }
        let Some(of_one) = self.history.checked_add(BESIDE) else {
            return Err(Error::Shape);
        };
        let Some(of_all) = tensors.checked_mul(of_one) else {
            return Err(Error::Shape);
        };
        match of_all.checked_add(HEADER) {
            Some(words) => Ok(words),
            None => Err(Error::Shape),
        }
    }

    /// Makes memory of exactly [`Delayed::words`] words a new state. Errors as
    /// [`Delayed::words`]; [`Error::Length`] for another length.
    pub fn init<'a>(
        &self,
        tensors: usize,
        memory: &'a mut [u32],
    ) -> Result<AmaxHistory<'a>, Error> {
        if memory.len() != self.words(tensors)? {
            return Err(Error::Length);
        }
        memory.fill(0);
        let header = [Delayed::VERSION, self.history as u32, tensors as u32];
        for (word, value) in memory.iter_mut().zip(header) {
            *word = value;
        }
        self.attach(memory)
    }

    /// [`Delayed::init`] in a vector of fixed capacity: how many tensors and how long a history
    /// is decided at run time, without an allocator. [`Error::Length`] where it is too small.
    #[cfg(feature = "heapless")]
    pub fn init_in<'a, const WORDS: usize>(
        &self,
        tensors: usize,
        memory: &'a mut heapless::Vec<u32, WORDS>,
    ) -> Result<AmaxHistory<'a>, Error> {
        let words = self.words(tensors)?;
        memory.resize(words, 0).map_err(|_| Error::Length)?;
        self.init(tensors, memory)
    }

    /// Takes up a state again. The history length is the state's for ever; the other rules may
    /// have changed. [`Error::State`] where the memory is not such a state or another version's,
    /// [`Error::Length`] where it is cut short or too long.
    pub fn attach<'a>(&self, memory: &'a mut [u32]) -> Result<AmaxHistory<'a>, Error> {
        let (header, rest) = memory
            .split_first_chunk_mut::<HEADER>()
            .ok_or(Error::Length)?;
        let [version, history, tensors, low, high, ..] = *header;
        if version != Delayed::VERSION || history as usize != self.history {
            return Err(Error::State);
        }
        let tensors = tensors as usize;
        if rest.len() != self.words(tensors)? - HEADER {
            return Err(Error::Length);
        }
        let split = |words| {
            let split = <[u32]>::split_at_mut_checked;
            move |rest: &'a mut [u32]| split(rest, words).ok_or(Error::Length)
        };
        let (staging, rest) = split(tensors)(rest)?;
        let (past, rest) = split(tensors * (self.history - 1))(rest)?;
        let (in_use, rest) = split(tensors)(rest)?;
        let (entries, not_finite) = split(tensors)(rest)?;
        Ok(AmaxHistory {
            rules: *self,
            step: (high as u64) << 32 | low as u64,
            header,
            staging,
            past,
            in_use,
            entries,
            not_finite,
        })
    }
}

/// The amaxes of tensors, on memory that the caller owns; see the [module](self).
#[derive(Debug)]
pub struct AmaxHistory<'a> {
    rules: Delayed,
    step: u64,
    header: &'a mut [u32; HEADER],
    staging: &'a mut [u32],
    past: &'a mut [u32],
    in_use: &'a mut [u32],
    entries: &'a mut [u32],
    not_finite: &'a mut [u32],
}

impl AmaxHistory<'_> {
    /// The number of tensors.
    pub fn tensors(&self) -> usize {
        self.staging.len()
    }

    /// The number of updates so far, those that were not due included.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Merges what a pass saw into the staging slot of a tensor; [`Error::Length`] where there is
    /// no such tensor.
    pub fn record(&mut self, tensor: usize, amax: Amax) -> Result<(), Error> {
        let staged = self.staging.get_mut(tensor).ok_or(Error::Length)?;
        *staged = Amax::from_bits(*staged).merge(amax).to_bits();
        Ok(())
    }

    /// The staging slots, one a tensor, as integers whose maximum is the merge: for an
    /// all-reduce.
    pub fn staging_mut(&mut self) -> &mut [u32] {
        self.staging
    }

    /// Whether the next update does anything: ranks reduce their staging slots then.
    pub fn is_due(&self) -> bool {
        let interval = u64::from(self.rules.interval).max(1);
        (self.step % interval) + 1 == interval
    }

    /// The amax that a tensor is to be quantized with now; `None` where there is no such tensor.
    /// 0 before anything is known, NaN only under [`NonFiniteAmax::Poison`].
    pub fn amax(&self, tensor: usize) -> Option<Amax> {
        let in_use = Amax::from_bits(*self.in_use.get(tensor)?);
        if *self.entries.get(tensor)? >= self.rules.calibration {
            return Some(in_use);
        }
        let staged = Amax::from_bits(*self.staging.get(tensor)?);
        let mut at_hand = self.rules.non_finite.usable(staged).unwrap_or_default();
        for &past in self.past.iter().skip(tensor).step_by(self.tensors().max(1)) {
            at_hand = at_hand.merge(finite(past));
        }
        Some(if at_hand.is_zero() { in_use } else { at_hand })
    }

    /// How many updates of a tensor met an infinity or a NaN.
    pub fn not_finite(&self, tensor: usize) -> Option<u32> {
        self.not_finite.get(tensor).copied()
    }

    /// The history of a tensor, from its staging slot over the oldest entry to the newest; empty
    /// where there is no such tensor.
    pub fn history(&self, tensor: usize) -> impl Iterator<Item = Amax> + '_ {
        let past = self.past.iter().skip(tensor).step_by(self.tensors().max(1));
        let past = past.take_while(move |_| tensor < self.tensors());
        self.staging
            .get(tensor)
            .into_iter()
            .chain(past)
            .map(|&bits| Amax::from_bits(bits))
    }

    /// Ends a step; if it was due, takes the staging slots into the histories and empties them.
    /// Returns whether it was due.
    pub fn update(&mut self) -> bool {
        let due = self.is_due();
        self.step = self.step.wrapping_add(1);
        self.header[3] = self.step as u32;
        self.header[4] = (self.step >> 32) as u32;
        if due {
            self.take_staged();
            if self.rules.algorithm == AmaxAlgorithm::Max {
                self.take_largest();
            }
            self.roll();
        }
        due
    }

    /// Puts into use what was staged. Afterwards only the tensors that enter the history have
    /// something staged.
    fn take_staged(&mut self) {
        let counts = self.entries.iter_mut().zip(self.not_finite.iter_mut());
        let amaxes = self.staging.iter_mut().zip(self.in_use.iter_mut());
        for ((staged, in_use), (entries, not_finite)) in amaxes.zip(counts) {
            let amax = Amax::from_bits(*staged);
            if amax.is_zero() {
                continue;
            }
            if let Some(usable) = self.rules.non_finite.usable(amax) {
                *in_use = usable.to_bits();
            }
            if amax.is_finite() {
                *entries = entries.saturating_add(1);
            } else {
                *not_finite = not_finite.saturating_add(1);
                *staged = 0;
            }
        }
    }

    /// Puts into use the largest of the history of each tensor that ran.
    fn take_largest(&mut self) {
        let mut rest: &[u32] = self.past;
        while let Some((row, later)) = rest.split_at_checked(self.staging.len())
            && !row.is_empty()
        {
            let tensors = self.in_use.iter_mut().zip(self.staging.iter());
            for (&past, (in_use, &staged)) in row.iter().zip(tensors) {
                if staged != 0 {
                    *in_use = (*in_use).max(finite(past).to_bits());
                }
            }
            rest = later;
        }
    }

    /// Moves the history of each tensor that ran by one, and empties the staging slots.
    fn roll(&mut self) {
        let tensors = self.staging.len();
        let mut rest: &mut [u32] = self.past;
        while let Some((row, later)) = rest.split_at_mut_checked(tensors)
            && !row.is_empty()
        {
            let next = later.get(..tensors).unwrap_or(&*self.staging);
            for ((into, &from), &staged) in row.iter_mut().zip(next).zip(self.staging.iter()) {
                if staged != 0 {
                    *into = from;
                }
            }
            rest = later;
        }
        self.staging.fill(0);
    }
}

/// An entry of the history; 0 for one that is not finite, which only a history from elsewhere has.
const fn finite(bits: u32) -> Amax {
    let amax = Amax::from_bits(bits);
    if amax.is_finite() { amax } else { Amax::ZERO }
}

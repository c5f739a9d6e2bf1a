// SPDX-License-Identifier: MIT OR Apache-2.0
//! Delayed scaling on memory that the caller owns.

use core::ffi::c_void;
use core::mem::MaybeUninit;

use super::argument::{self, Descriptor, Extent, disjoint, out, slice_mut};
use super::status::{ofp8_status, status};
use crate::scale::delayed::{AmaxAlgorithm, AmaxHistory, Delayed, NonFiniteAmax};
use crate::stats::Amax;

/// The largest of the history.
pub const OFP8_AMAX_MAX: u32 = 0;
/// That of the last step in which the tensor ran.
pub const OFP8_AMAX_MOST_RECENT: u32 = 1;

/// An amax that is infinite or NaN is counted; the amax in use stays.
pub const OFP8_NON_FINITE_HOLD: u32 = 0;
/// It is counted; until the next finite one the amax in use is the largest f32.
pub const OFP8_NON_FINITE_CLAMP: u32 = 1;
/// It is counted; until the next finite one the amax in use is NaN.
pub const OFP8_NON_FINITE_POISON: u32 = 2;

/// What the memory of a state is aligned to.
pub const OFP8_DELAYED_ALIGN: usize = 4;

/// The rules of delayed scaling, which are TransformerEngine's. Set `struct_size` and `history`;
/// everything else may stay zero: the largest of the history, updated every step.
///
/// A step of training: `ofp8_delayed_record` what passes saw; quantize with the amax that
/// `ofp8_delayed_amax` gives (`ofp8_quantize` takes it, `ofp8_scale_from_amax` makes the scale of
/// it); if `ofp8_delayed_is_due`, all-reduce the integers of `ofp8_delayed_staging` by maximum
/// over all ranks; `ofp8_delayed_update`.
///
/// The state lies in memory of the caller, `OFP8_DELAYED_SIZE(history, tensors)` bytes aligned to
/// `OFP8_DELAYED_ALIGN`. It begins with a version word and holds 32-bit words only: saving it is
/// copying it, restoring is copying it back, on a machine of the same byte order. `history` is
/// the state's for ever; the other rules may change between calls.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ofp8_delayed {
    /// `sizeof(ofp8_delayed)`.
    pub struct_size: usize,
    /// Entries of a tensor's history, at least 1.
    pub history: usize,
    /// `OFP8_AMAX_MAX` (0) or `OFP8_AMAX_MOST_RECENT`.
    pub algorithm: u32,
    /// `OFP8_NON_FINITE_HOLD` (0) and the others. No such amax enters the history.
    pub non_finite: u32,
    /// Every so many updates one does something; 0 means 1.
    pub interval: u32,
    /// Until a tensor has so many entries, its amax is the largest of its history and of what was
    /// recorded in this step.
    pub calibration: u32,
}

// SAFETY: repr(C), begins with its size as usize, integers only, without padding on 64-bit and
// 32-bit targets.
unsafe impl Descriptor for ofp8_delayed {}

/// The rules behind a pointer.
///
/// # Safety
/// As [`argument::sized`].
unsafe fn rules_of(pointer: *const ofp8_delayed) -> Result<Delayed, ofp8_status> {
    // SAFETY: this function's contract.
    let given = unsafe { argument::sized(pointer)? };
    let algorithm = match given.algorithm {
        OFP8_AMAX_MAX => AmaxAlgorithm::Max,
        OFP8_AMAX_MOST_RECENT => AmaxAlgorithm::MostRecent,
        _ => return Err(ofp8_status::OFP8_UNKNOWN_POLICY),
    };
    let non_finite = match given.non_finite {
        OFP8_NON_FINITE_HOLD => NonFiniteAmax::Hold,
        OFP8_NON_FINITE_CLAMP => NonFiniteAmax::Clamp,
        OFP8_NON_FINITE_POISON => NonFiniteAmax::Poison,
        _ => return Err(ofp8_status::OFP8_UNKNOWN_POLICY),
    };
    Ok(Delayed::new(given.history)?
        .with_algorithm(algorithm)
        .with_non_finite(non_finite)
        .with_interval(given.interval.max(1))?
        .with_calibration(given.calibration))
}

/// The words of a state.
///
/// # Safety
/// `state` is null or points to `state_size` bytes that nothing else uses during the call.
unsafe fn words<'a>(state: *mut c_void, state_size: usize) -> Result<&'a mut [u32], ofp8_status> {
    if !state_size.is_multiple_of(size_of::<u32>()) {
        return Err(ofp8_status::OFP8_LENGTH);
    }
    // SAFETY: this function's contract.
    unsafe { slice_mut(state.cast::<u32>(), state_size / size_of::<u32>()) }
}

/// A state and a place for what is asked of it.
///
/// # Safety
/// `rules` as in [`rules_of`]; `state` is null or points to `state_size` initialised bytes that
/// nothing else uses during the call; `result` as in [`out`].
unsafe fn state_of<'a, T>(
    rules: *const ofp8_delayed,
    state: *mut c_void,
    state_size: usize,
    result: *mut T,
) -> Result<(AmaxHistory<'a>, &'a mut MaybeUninit<T>), ofp8_status> {
    // SAFETY: this function's contract.
    let rules = unsafe { rules_of(rules)? };
    disjoint(&[
        Extent::new(state, state_size, 1)?,
        Extent::new(result, 1, size_of::<T>())?,
    ])?;
    // SAFETY: this function's contract, and the two are apart.
    let (words, result) = unsafe { (words(state, state_size)?, out(result)?) };
    Ok((rules.attach(words)?, result))
}

/// Writes the bytes that the state of so many tensors takes: `OFP8_DELAYED_SIZE`, checked.
///
/// Statuses: those of the rules (`OFP8_NULL_POINTER`, `OFP8_MISALIGNED`, `OFP8_STRUCT_SIZE`,
/// `OFP8_UNKNOWN_POLICY`, `OFP8_RECIPE`: no history); `OFP8_SHAPE` where the size overflows.
///
/// # Safety
/// `rules` is null or points to as many bytes as its `struct_size` says; `size` is null or points
/// to memory for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_delayed_size(
    rules: *const ofp8_delayed,
    tensors: usize,
    size: *mut usize,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let (rules, size) = unsafe { (rules_of(rules)?, out(size)?) };
        let words = rules.words(tensors)?;
        let bytes = words.checked_mul(size_of::<u32>());
        size.write(bytes.ok_or(ofp8_status::OFP8_SHAPE)?);
        Ok(())
    };
    status(result())
}

/// Makes memory a new state: no step, no history, amax 0 in use, for which an f32 scale is 1.
///
/// Statuses: those of the rules; `OFP8_SHAPE`; `OFP8_LENGTH` where `state_size` is not what
/// `ofp8_delayed_size` says.
///
/// # Safety
/// `rules` as in `ofp8_delayed_size`; `state` points to memory for `state_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_delayed_init(
    rules: *const ofp8_delayed,
    tensors: usize,
    state: *mut c_void,
    state_size: usize,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let (rules, words) = unsafe { (rules_of(rules)?, words(state, state_size)?) };
        rules.init(tensors, words)?;
        Ok(())
    };
    status(result())
}

/// Merges the amax that a pass over a tensor saw (as `ofp8_amax` writes it) into the tensor's
/// staging slot.
///
/// Statuses: those of the rules; `OFP8_STATE`; `OFP8_LENGTH` for a state of another size or a
/// tensor that is not there.
///
/// # Safety
/// `rules` as in `ofp8_delayed_size`; `state` points to `state_size` bytes of a state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_delayed_record(
    rules: *const ofp8_delayed,
    state: *mut c_void,
    state_size: usize,
    tensor: usize,
    amax: u32,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let (rules, words) = unsafe { (rules_of(rules)?, words(state, state_size)?) };
        rules.attach(words)?.record(tensor, Amax::from_bits(amax))?;
        Ok(())
    };
    status(result())
}

/// Writes where the staging slots lie inside the state: one integer a tensor, whose maximum is
/// the merge (`MPI_MAX` on `MPI_UINT32_T`), in place.
///
/// Statuses: as `ofp8_delayed_amax`.
///
/// # Safety
/// As `ofp8_delayed_amax`; the pointer is good for as long as the state stays where it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_delayed_staging(
    rules: *const ofp8_delayed,
    state: *mut c_void,
    state_size: usize,
    staging: *mut *mut u32,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let (mut state, staging) = unsafe { state_of(rules, state, state_size, staging)? };
        staging.write(state.staging_mut().as_mut_ptr());
        Ok(())
    };
    status(result())
}

/// Writes 1 if the next update does something (ranks reduce the staging slots then), else 0.
///
/// Statuses: as `ofp8_delayed_amax`.
///
/// # Safety
/// As `ofp8_delayed_amax`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_delayed_is_due(
    rules: *const ofp8_delayed,
    state: *mut c_void,
    state_size: usize,
    is_due: *mut u32,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let (state, is_due) = unsafe { state_of(rules, state, state_size, is_due)? };
        is_due.write(state.is_due() as u32);
        Ok(())
    };
    status(result())
}

/// Ends a step. If it was due: of each tensor with something staged, the history rolls and the
/// amax in use is chosen anew; the staging slots are emptied. An amax of 0 is as good as none: a tensor
/// of zeros leaves its history alone.
///
/// Statuses: as `ofp8_delayed_record`.
///
/// # Safety
/// As `ofp8_delayed_record`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_delayed_update(
    rules: *const ofp8_delayed,
    state: *mut c_void,
    state_size: usize,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let (rules, words) = unsafe { (rules_of(rules)?, words(state, state_size)?) };
        rules.attach(words)?.update();
        Ok(())
    };
    status(result())
}

/// Writes the amax that a tensor is to be quantized with now, for `ofp8_quantize` and
/// `ofp8_scale_from_amax`; 0 before anything is known, NaN only under
/// `OFP8_NON_FINITE_POISON`.
///
/// Statuses: those of the rules; `OFP8_OVERLAP`; `OFP8_STATE`; `OFP8_LENGTH` for a state of
/// another size or a tensor that is not there.
///
/// # Safety
/// `rules` as in `ofp8_delayed_size`; `state` points to `state_size` bytes of a state; the last
/// pointer is null or points to memory for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_delayed_amax(
    rules: *const ofp8_delayed,
    state: *mut c_void,
    state_size: usize,
    tensor: usize,
    amax: *mut u32,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let (state, amax) = unsafe { state_of(rules, state, state_size, amax)? };
        let in_use = state.amax(tensor).ok_or(ofp8_status::OFP8_LENGTH)?;
        amax.write(in_use.to_bits());
        Ok(())
    };
    status(result())
}

/// Writes how many updates of a tensor met an infinity or a NaN, up to 2^32 - 1.
///
/// Statuses: as `ofp8_delayed_amax`.
///
/// # Safety
/// As `ofp8_delayed_amax`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ofp8_delayed_not_finite(
    rules: *const ofp8_delayed,
    state: *mut c_void,
    state_size: usize,
    tensor: usize,
    count: *mut u32,
) -> ofp8_status {
    let result = || {
        // SAFETY: this function's contract.
        let (state, count) = unsafe { state_of(rules, state, state_size, count)? };
        let seen = state.not_finite(tensor).ok_or(ofp8_status::OFP8_LENGTH)?;
        count.write(seen);
        Ok(())
    };
    status(result())
}

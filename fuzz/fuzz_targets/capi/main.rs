// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every function of the C ABI with any arguments: structures, numbers, shapes, strides, alignments, buffers that overlap,
//! all in memory that is there. Nothing crashes; the status is one of the header's; a refused call has written nothing, a
//! good one nothing but its results, and the same ones again by another kernel.
//!
//! The first byte of an input is the number of the function in `calls::FUNCTIONS`. What is zero is good: an input of
//! zeros is a call that succeeds.
//!
//! - `memory`: where buffers and structures lie, and what a call may touch
//! - `arguments`: numbers, sizes and structures from the input
//! - `calls`: the functions
#![no_main]

mod arguments;
mod calls;
mod memory;

use std::ffi::CStr;

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::{Corpus, fuzz_target};
use ofp8::capi::{ofp8_force_kernel, ofp8_status_text};
use ofp8::kernel::Kernel;
use ofp8_fuzz::tally;

use calls::{FUNCTIONS, Outcome};
use memory::Memory;

/// The text of a status.
fn text(status: u32) -> &'static str {
    // SAFETY: a text is never null, ends with NUL and lives for ever.
    unsafe { CStr::from_ptr(ofp8_status_text(status)) }
        .to_str()
        .expect("English")
}

/// Two kernels of this machine, perhaps the same.
fn kernels(u: &mut Unstructured<'_>) -> Result<[Kernel; 2]> {
    let all: Vec<Kernel> = Kernel::ALL
        .iter()
        .copied()
        .filter(|kernel| kernel.is_available())
        .collect();
    let choice: u8 = u.arbitrary()?;
    let kernel = |choice: u8| all[choice as usize % all.len()];
    Ok([kernel(choice), kernel(choice.wrapping_add(1 + choice / 16))])
}

fn run(u: &mut Unstructured<'_>) -> Result<()> {
    let (name, function) = FUNCTIONS[u.arbitrary::<u8>()? as usize % FUNCTIONS.len()];
    let kernels = kernels(u)?;
    let mut memory = Memory::new(u)?;
    let call = function(u, &mut memory)?;
    let before = memory.snapshot();

    let mut results = kernels.map(|kernel| {
        memory.restore(&before);
        Kernel::force(Some(kernel)).expect("a kernel of this machine");
        let outcome = memory.guarded(&*call);
        ofp8_force_kernel(0);
        (outcome, memory.snapshot())
    });
    let (Outcome { status, .. }, after) = &results[0];
    let status = *status;
    assert_ne!(text(status), text(u32::MAX), "{name}: status {status}");
    if status == 0 {
        let (mut before, mut after) = (before, after.clone());
        memory.blank(&mut before, false);
        memory.blank(&mut after, false);
        assert!(before == after, "{name} wrote something beside its results");
    } else {
        assert!(
            *after == before,
            "{name} was refused ({}) and wrote something",
            text(status)
        );
    }
    for (_, after) in &mut results {
        memory.blank(after, true);
    }
    assert!(
        results[0] == results[1],
        "{name}: {kernels:?} differ: {:?}, {:?}",
        results[0].0,
        results[1].0
    );

    tally::count(text(status));
    if status == 0 {
        tally::count(&format!("  {name} succeeded"));
    }
    Ok(())
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    match run(&mut Unstructured::new(bytes)) {
        Ok(()) => Corpus::Keep,
        Err(_) => Corpus::Reject,
    }
});

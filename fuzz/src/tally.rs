// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often each outcome came up, printed when the fuzzer ends.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, Once, PoisonError};

static SEEN: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

unsafe extern "C" {
    fn atexit(callback: extern "C" fn()) -> c_int;
}

extern "C" fn print() {
    let seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    for (outcome, times) in seen.iter() {
        eprintln!("{times:12} {outcome}");
    }
}

/// Counts an outcome.
pub fn count(outcome: &str) {
    static AT_EXIT: Once = Once::new();
    // SAFETY: the callback is a function for ever, and does not unwind: it only locks and prints.
    AT_EXIT.call_once(|| assert_eq!(unsafe { atexit(print) }, 0));
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    match seen.get_mut(outcome) {
        Some(times) => *times += 1,
        None => _ = seen.insert(outcome.to_owned(), 1),
    }
}

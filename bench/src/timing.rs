// SPDX-License-Identifier: MIT OR Apache-2.0
//! Medians of many short runs. What is compared is measured in turns, so that a change of clock
//! or a busy neighbour meets all alike.

use std::time::{Duration, Instant};

/// Nanoseconds an element.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// The fastest run.
    pub min: f64,
    /// The median run.
    pub median: f64,
}

/// Work that is measured.
pub type Case<'a> = Box<dyn FnMut() + 'a>;

/// Runs a turn of each case until `budget` a case is spent, and returns their timings in order.
pub fn measure(cases: &mut [Case<'_>], elements: usize, budget: Duration) -> Vec<Timing> {
    const RUNS_A_TURN: usize = 8;
    const WARM_UP: Duration = Duration::from_millis(2);
    let mut samples = vec![Vec::new(); cases.len()];
    let start = Instant::now();
    let total = budget * cases.len() as u32;
    loop {
        for (case, samples) in cases.iter_mut().zip(&mut samples) {
            // First the arrays come back into the cache, and the wide vector units to full speed: after scalar
            // code some processors take a millisecond for that.
            let turn = Instant::now();
            case();
            while turn.elapsed() < WARM_UP {
                case();
            }
            for _ in 0..RUNS_A_TURN {
                let start = Instant::now();
                case();
                samples.push(start.elapsed().as_nanos() as f64 / elements as f64);
            }
        }
        if start.elapsed() >= total {
            return samples.iter_mut().map(|samples| summary(samples)).collect();
        }
    }
}

fn summary(samples: &mut [f64]) -> Timing {
    samples.sort_by(f64::total_cmp);
    Timing {
        min: samples[0],
        median: samples[samples.len() / 2],
    }
}

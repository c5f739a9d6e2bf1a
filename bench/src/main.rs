// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prints the table of speeds: each row against a copy of the same traffic, and against the peers
//! that this machine has.
//!
//! `cargo run --release -p ofp8-bench [KERNEL ...]`; the Python in the environment variable
//! `OFP8_PYTHON` (else `python3`) is asked for PyTorch and ml_dtypes.

use std::collections::HashMap;
use std::process::Command;
use std::time::Duration;

use ofp8::kernel::Kernel;
use ofp8_bench::work::{Arrays, RATIOS, copy, float8_crate, works};
use ofp8_bench::{Timing, measure};

/// In the second-level cache, and beyond it.
const SIZES: [usize; 2] = [64 << 10, 16 << 20];
const BUDGET: Duration = Duration::from_millis(150);

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let wanted =
        |kernel: &Kernel| asked.is_empty() || asked.iter().any(|name| name == kernel.name());
    let peers = peers();
    println!("processor: {}", processor());
    for len in SIZES {
        let arrays = Arrays::new(len);
        for &kernel in Kernel::ALL.iter().filter(|kernel| wanted(kernel)) {
            if Kernel::force(Some(kernel)).is_ok() {
                println!("\n{len} elements, {kernel}: ns an element, median (fastest)\n");
                table(&arrays, &peers);
            }
        }
    }
}

fn table(arrays: &Arrays, peers: &HashMap<String, f64>) {
    let len = arrays.f32.len();
    let works = works(arrays);
    let rows: Vec<_> = works.iter().map(|work| (work.name, work.traffic)).collect();
    let mut cases = vec![
        copy(len, 3),
        copy(len, 4),
        copy(len, 5),
        copy(len, 6),
        float8_crate(arrays),
    ];
    cases.extend(works.into_iter().map(|work| work.run));
    let timings = measure(&mut cases, len, BUDGET);
    let own = &timings[5..];
    println!("| work | ns | memcpy | ratio | peers, times slower |");
    println!("|---|---|---|---|---|");
    for (&(name, traffic), own) in rows.iter().zip(own) {
        let copied = timings[traffic - 3];
        let mut others = String::new();
        if len == SIZES[0] {
            let mut found: Vec<_> = peers
                .iter()
                .filter_map(|(key, ns)| Some((key.strip_prefix(name)?.strip_prefix(" | ")?, *ns)))
                .collect();
            if name == "f32 -> E4M3" {
                found.push(("float8 crate", timings[4].median));
            }
            found.sort_by_key(|(peer, _)| *peer);
            for (peer, ns) in found {
                others += &format!("{peer} {:.1}x ({ns:.3} ns)  ", ns / own.median);
            }
        }
        let ratio = own.median / copied.median;
        println!(
            "| {name} | {} | {} | {ratio:.2} | {others}|",
            show(own),
            show(&copied)
        );
    }
    println!();
    let median = |name| {
        let place = rows.iter().position(|&(row, _)| row == name);
        place.map_or(f64::NAN, |place| own[place].median)
    };
    for (what, of_what) in RATIOS {
        let times = median(what) / median(of_what);
        println!("{what} takes {times:.2} times {of_what}");
    }
}

fn show(timing: &Timing) -> String {
    format!("{:.4} ({:.4})", timing.median, timing.min)
}

/// What the peers' script measured: nanoseconds by "row | peer". None is needed.
fn peers() -> HashMap<String, f64> {
    let python = std::env::var("OFP8_PYTHON").unwrap_or("python3".into());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers.py");
    let output = match Command::new(&python).arg(script).output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("no peers: {python}: {error}");
            return HashMap::new();
        }
    };
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let pairs = text.lines().filter_map(|line| line.rsplit_once('\t'));
    pairs
        .filter_map(|(key, ns)| Some((key.to_string(), ns.parse().ok()?)))
        .collect()
}

fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = info.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_string())
    };
    let known = ["model name", "cpu family", "model\t", "cpu MHz"].map(field);
    known.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

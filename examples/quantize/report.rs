// SPDX-License-Identifier: MIT OR Apache-2.0
//! How good the result is: a table for people, JSON for programs.

use std::io::{self, Write};
use std::time::Duration;

use ofp8::Stats;
use ofp8::monitor::Measure;
use safetensors::Dtype;
use serde_json::{Value, json};

use crate::Result;
use crate::args::Settings;

/// A tensor whose SQNR lies this far below the median of all is marked.
const LOW_SQNR_DB: f64 = 3.0;
/// A tensor that lost more than this share of its elements to zero is marked.
const MANY_UNDERFLOWS: f64 = 0.01;

/// A quantized tensor.
pub struct QuantizedTensor {
    pub name: String,
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    pub stats: Stats,
    pub measure: Measure,
    /// The lowest signal-to-noise ratio of a row.
    pub worst_row: f64,
    pub bytes_before: u64,
    /// Of codes and scales.
    pub bytes_after: u64,
}

/// A tensor that was copied.
pub struct KeptTensor {
    pub name: String,
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    pub reason: String,
    pub bytes: u64,
}

/// What a run did.
pub struct Report {
    recipe: &'static str,
    format: &'static str,
    scale: &'static str,
    least_error: bool,
    pub quantized: Vec<QuantizedTensor>,
    pub kept: Vec<KeptTensor>,
    /// Of all safetensors files, headers included.
    pub bytes_before: u64,
    pub bytes_after: u64,
}

/// A ratio of powers in decibels.
pub fn decibels(ratio: f64) -> f64 {
    10.0 * ratio.log10()
}

/// The signal-to-quantization-noise ratio in decibels.
pub fn sqnr_db(measure: &Measure) -> f64 {
    decibels(measure.signal_to_noise())
}

/// A part of the elements.
pub fn share(part: u64, stats: &Stats) -> f64 {
    part as f64 / stats.count.max(1) as f64
}

impl Report {
    pub fn new(settings: &Settings) -> Report {
        Report {
            recipe: settings.recipe_name.name(),
            format: settings.element.name(),
            scale: settings.scale.name(),
            least_error: settings.least_error,
            quantized: Vec::new(),
            kept: Vec::new(),
            bytes_before: 0,
            bytes_after: 0,
        }
    }

    fn totals(&self) -> (Stats, Measure) {
        let mut stats = Stats::EMPTY;
        let mut measure = Measure::default();
        for tensor in &self.quantized {
            stats = stats.merge(tensor.stats);
            measure = measure.merge(tensor.measure);
        }
        (stats, measure)
    }

    fn quantized_bytes(&self) -> (u64, u64) {
        let before = self.quantized.iter().map(|tensor| tensor.bytes_before);
        let after = self.quantized.iter().map(|tensor| tensor.bytes_after);
        (before.sum(), after.sum())
    }

    fn kept_bytes(&self) -> u64 {
        self.kept.iter().map(|tensor| tensor.bytes).sum()
    }

    /// The SQNR of the tensor in the middle.
    fn median_sqnr(&self) -> f64 {
        let values = self.quantized.iter().map(|tensor| sqnr_db(&tensor.measure));
        let mut values: Vec<f64> = values.filter(|value| !value.is_nan()).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// The report as JSON: free of times and threads, so that equal inputs give equal reports.
    /// A ratio that is infinite (nothing was lost) or undefined (all zeros) is null.
    pub fn to_json(&self) -> Value {
        let median = self.median_sqnr();
        let tensors = self.quantized.iter().map(|tensor| {
            let mut object = numbers(&tensor.stats, &tensor.measure);
            object["name"] = json!(tensor.name);
            object["dtype"] = json!(tensor.dtype);
            object["shape"] = json!(tensor.shape);
            object["bytes_before"] = json!(tensor.bytes_before);
            object["bytes_after"] = json!(tensor.bytes_after);
            object["worst_row_sqnr_db"] = json!(decibels(tensor.worst_row));
            object["stands_out"] = json!(tensor.stands_out(median));
            object
        });
        let kept = self.kept.iter().map(|tensor| {
            json!({
                "name": tensor.name,
                "dtype": tensor.dtype,
                "shape": tensor.shape,
                "reason": tensor.reason,
                "bytes": tensor.bytes,
            })
        });
        let (stats, measure) = self.totals();
        let mut totals = numbers(&stats, &measure);
        (totals["bytes_before"], totals["bytes_after"]) = {
            let (before, after) = self.quantized_bytes();
            (json!(before), json!(after))
        };
        json!({
            "recipe": self.recipe,
            "format": self.format,
            "scale": self.scale,
            "least_error": self.least_error,
            "quantized": tensors.collect::<Value>(),
            "kept": kept.collect::<Value>(),
            "totals": totals,
            "file_bytes_before": self.bytes_before,
            "file_bytes_after": self.bytes_after,
        })
    }

    /// Prints the table.
    pub fn print(&self, elapsed: Duration) -> Result<()> {
        let median = self.median_sqnr();
        let mut table = Table::new(&[
            "tensor",
            "shape",
            "amax",
            "SQNR dB",
            "max rel err",
            "saturated",
            "underflow",
            "bytes before",
            "after",
            "",
        ]);
        for tensor in &self.quantized {
            let mut cells = vec![tensor.name.clone(), shape(&tensor.shape)];
            cells.extend(columns(&tensor.stats, &tensor.measure));
            cells.extend([grouped(tensor.bytes_before), grouped(tensor.bytes_after)]);
            cells.push(mark(&tensor.stands_out(median)));
            table.row(cells);
        }
        table.rule();
        let (stats, measure) = self.totals();
        let (before, after) = self.quantized_bytes();
        let mut cells = vec![
            format!("{} quantized", self.quantized.len()),
            grouped(stats.count),
        ];
        cells.extend(columns(&stats, &measure));
        cells.extend([grouped(before), grouped(after), String::new()]);
        table.row(cells);
        let mut cells = vec![format!("{} kept", self.kept.len())];
        cells.resize(7, String::new());
        cells.extend([
            grouped(self.kept_bytes()),
            grouped(self.kept_bytes()),
            String::new(),
        ]);
        table.row(cells);

        let mut text = table.to_string();
        text += &format!(
            "\n{} {}, {} scales{}: {} -> {} bytes of safetensors ({:.1} %), {:.2} s on {} threads\n",
            self.recipe,
            self.format,
            self.scale,
            if self.least_error {
                " of least error"
            } else {
                ""
            },
            grouped(self.bytes_before),
            grouped(self.bytes_after),
            100.0 * self.bytes_after as f64 / self.bytes_before as f64,
            elapsed.as_secs_f64(),
            rayon::current_num_threads(),
        );
        if self
            .quantized
            .iter()
            .any(|tensor| !tensor.stands_out(median).is_empty())
        {
            text += &format!(
                "Marked: SQNR more than {LOW_SQNR_DB} dB under the median, any saturated element, \
                 more than {} % underflowed to zero.\n",
                100.0 * MANY_UNDERFLOWS
            );
        }
        print(&text)
    }
}

impl QuantizedTensor {
    /// What a person should look at.
    fn stands_out(&self, median: f64) -> Vec<&'static str> {
        let mut reasons = Vec::new();
        if sqnr_db(&self.measure) < median - LOW_SQNR_DB {
            reasons.push("low SQNR");
        }
        if self.stats.saturated > 0 {
            reasons.push("saturates");
        }
        if share(self.stats.underflowed, &self.stats) > MANY_UNDERFLOWS {
            reasons.push("underflows");
        }
        reasons
    }
}

fn mark(reasons: &[&str]) -> String {
    match reasons {
        [] => String::new(),
        reasons => format!("<- {}", reasons.join(", ")),
    }
}

/// What the table and the JSON file say of a tensor and of all.
fn numbers(stats: &Stats, measure: &Measure) -> Value {
    json!({
        "elements": stats.count,
        "amax": stats.amax.to_f32(),
        "sqnr_db": sqnr_db(measure),
        "max_relative_error": measure.max_relative,
        "zero": stats.zero,
        "saturated": stats.saturated,
        "underflowed": stats.underflowed,
    })
}

/// The columns amax, SQNR, largest relative error, saturated, underflowed.
fn columns(stats: &Stats, measure: &Measure) -> [String; 5] {
    [
        amax(stats.amax.to_f32()),
        db(sqnr_db(measure)),
        percent(measure.max_relative),
        percent(share(stats.saturated, stats)),
        percent(share(stats.underflowed, stats)),
    ]
}

/// Four digits behind the point, or four in all where that would show none.
fn amax(amax: f32) -> String {
    if amax == 0.0 || (1e-3..1e5).contains(&amax) {
        format!("{amax:.4}")
    } else {
        format!("{amax:.3e}")
    }
}

/// Decibels; a tensor of zeros has none.
pub fn db(value: f64) -> String {
    if value.is_nan() {
        "-".into()
    } else {
        format!("{value:.2}")
    }
}

/// A share as percent: 0 only where it is 0.
pub fn percent(share: f64) -> String {
    match 100.0 * share {
        0.0 => "0 %".into(),
        percent if percent < 0.01 => "<0.01 %".into(),
        percent => format!("{percent:.2} %"),
    }
}

fn shape(shape: &[usize]) -> String {
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    extents.join("x")
}

/// A number with its digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Text in columns as wide as their contents: the first and the last to the left, the others to
/// the right.
pub struct Table {
    rows: Vec<Vec<String>>,
    /// Before which rows a line is drawn.
    rules: Vec<usize>,
}

impl Table {
    pub fn new(header: &[&str]) -> Table {
        Table {
            rows: vec![header.iter().map(|name| name.to_string()).collect()],
            rules: vec![1],
        }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub fn rule(&mut self) {
        self.rules.push(self.rows.len());
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let columns = self.rows[0].len();
        let width = |column: usize| {
            let widths = self.rows.iter().map(|row| row[column].chars().count());
            widths.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for (i, row) in self.rows.iter().enumerate() {
            if self.rules.contains(&i) {
                let total = widths.iter().sum::<usize>() + 2 * (columns - 1);
                writeln!(f, "{}", "-".repeat(total))?;
            }
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                if column == 0 || column == columns - 1 {
                    line += &format!("{cell:<width$}  ");
                } else {
                    line += &format!("{cell:>width$}  ");
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Writes to standard output. A reader that went away (`| head`) is no error.
pub fn print(text: &str) -> Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("standard output: {error}"))
        }
        _ => Ok(()),
    }
}

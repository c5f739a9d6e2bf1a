// SPDX-License-Identifier: MIT OR Apache-2.0
//! The demonstration: every recipe over weights with the properties that make recipes differ.

use std::time::Instant;

use clap::ValueEnum;
use ofp8::monitor::Measure;
use ofp8::{Philox, Recipe, Stats};
use rayon::prelude::*;
use safetensors::Dtype;

use crate::Result;
use crate::args::{ElementFormat, RecipeName};
use crate::report::{Table, db, decibels, grouped, percent, print, share, sqnr_db};
use crate::tensor;

const SEED: u64 = 0x0F08;

/// A demonstration tensor in F32.
struct Weights {
    name: &'static str,
    shape: (usize, usize),
    bytes: Vec<u8>,
}

pub fn run() -> Result<()> {
    let weights = [
        make("normal", 1, (512, 512), |_, _, x| x.normal()),
        make("heavy tails", 2, (512, 512), |_, _, x| x.student()),
        make("outlier columns", 3, (512, 512), |_, col, x| {
            x.normal() * if col % 37 == 5 { 100.0 } else { 1.0 }
        }),
        make("rows of many sizes", 4, (500, 555), |row, _, x| {
            x.student() * [1.0, 0.1, 0.01, 0.001][row % 4]
        }),
    ];
    let elements: usize = weights.iter().map(|w| w.shape.0 * w.shape.1).sum();
    print(&format!(
        "Demonstration weights: {} elements in F32, made from a fixed seed. For each tensor, for \
         all and\nfor the worst row of all: the signal-to-noise ratio in dB, higher is better.\n\n",
        grouped(elements as u64)
    ))?;

    let mut header = vec!["recipe"];
    header.extend(weights.iter().map(|weights| weights.name));
    header.extend([
        "all",
        "worst row",
        "underflow",
        "bits/weight",
        "seconds",
        "",
    ]);
    let mut table = Table::new(&header);
    for (i, element) in ElementFormat::value_variants().iter().enumerate() {
        if i > 0 {
            table.rule();
        }
        for name in RecipeName::value_variants() {
            if name.formats().contains(element) {
                compare_scales(&mut table, *name, *element, &weights)?;
            }
        }
    }
    print(&table.to_string())?;
    print(
        "\nYour own: cargo run --release --example quantize -- IN OUT --recipe block128, where IN \
         is a\nsafetensors file or a model directory. --help shows the rest.\n",
    )
}

/// A recipe with its default scales and, where those are powers of two of its own, with those of
/// least error.
fn compare_scales(
    table: &mut Table,
    name: RecipeName,
    element: ElementFormat,
    weights: &[Weights],
) -> Result<()> {
    let scale = name.scales()[0];
    let label = format!("{} {}", name.name(), element.name());
    let recipe = name.recipe(element, scale, false)?;
    table.row(compare(label.clone(), &recipe, element, weights)?);
    if scale.is_power_of_two() {
        let recipe = name.recipe(element, scale, true)?;
        let label = format!("{label} least error");
        table.row(compare(label, &recipe, element, weights)?);
    }
    Ok(())
}

/// One recipe over all weights, as a row of the table.
fn compare(
    label: String,
    recipe: &Recipe,
    element: ElementFormat,
    weights: &[Weights],
) -> Result<Vec<String>> {
    let begin = Instant::now();
    let mut cells = vec![label];
    let mut stats = Stats::EMPTY;
    let mut measure = Measure::default();
    let mut worst_row = f64::INFINITY;
    let mut bytes = 0;
    for weights in weights {
        let (rows, cols) = weights.shape;
        let matrices = (1, rows, cols);
        let packing = element.packing();
        let quantized = tensor::quantize(recipe, packing, Dtype::F32, &weights.bytes, matrices)
            .map_err(|found| format!("{}: {found}", weights.name))?;
        cells.push(db(sqnr_db(&quantized.measure)));
        worst_row = worst_row.min(quantized.worst_row);
        stats = stats.merge(quantized.stats);
        measure = measure.merge(quantized.measure);
        bytes += quantized.len();
    }
    cells.extend([
        db(sqnr_db(&measure)),
        db(decibels(worst_row)),
        percent(share(stats.underflowed, &stats)),
        format!("{:.3}", 8.0 * bytes as f64 / stats.count as f64),
        format!("{:.2}", begin.elapsed().as_secs_f64()),
        String::new(),
    ]);
    Ok(cells)
}

/// Makes a tensor, element by element, from its row, its column and a random source.
fn make(
    name: &'static str,
    stream: u64,
    shape: (usize, usize),
    value: impl Fn(usize, usize, Sampler) -> f64 + Sync,
) -> Weights {
    let philox = Philox::new(SEED, stream);
    let values = (0..shape.0 * shape.1).into_par_iter().map(|i| {
        let sampler = Sampler {
            philox,
            index: i as u64,
        };
        // Weights of a trained layer are of about this size.
        (0.02 * value(i / shape.1, i % shape.1, sampler)) as f32
    });
    Weights {
        name,
        shape,
        bytes: values.flat_map_iter(|value| value.to_le_bytes()).collect(),
    }
}

/// Random numbers for one element. Sums and square roots only, which IEEE 754 rounds correctly:
/// no logarithm or cosine of some library decides about a bit.
#[derive(Clone, Copy)]
struct Sampler {
    philox: Philox,
    index: u64,
}

impl Sampler {
    /// About normal, of variance 1: sum number `which` of four uniform numbers, centred.
    fn sum_of_uniforms(&self, which: u64) -> f64 {
        let words = self.philox.block(2 * self.index + which / 2);
        let pair = &words[2 * (which % 2) as usize..][..2];
        let halves = pair.iter().flat_map(|word| [word & 0xFFFF, word >> 16]);
        let sum: f64 = halves.map(|half| (half as f64 + 0.5) / 65536.0 - 0.5).sum();
        sum * 3f64.sqrt()
    }

    fn normal(&self) -> f64 {
        self.sum_of_uniforms(0)
    }

    /// About Student's t with 3 degrees of freedom: a normal number over the root mean square of
    /// three others.
    fn student(&self) -> f64 {
        let squares = (1..4).map(|which| self.sum_of_uniforms(which).powi(2));
        self.normal() / (squares.sum::<f64>() / 3.0).sqrt()
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which tensors keep their precision.

use glob::Pattern;

/// What keeps its precision unless told otherwise, by the names that model families use. The
/// router of a mixture of experts is in the list because loaders expect it unquantized.
const DEFAULT: &[&str] = &[
    // Embeddings.
    "*embed*",
    "*wte.weight",
    "*wpe.weight",
    "shared.weight",
    // Output heads.
    "*lm_head*",
    "output.weight",
    "*classifier*",
    "*score.weight",
    // Normalisations.
    "*norm*",
    "*Norm*",
    "ln_*",
    "*.ln_*",
    // Biases.
    "*bias",
    // Routers.
    "*.gate.weight",
    "*router*",
];

pub const HELP: &str = "\
Kept by default: embeddings (*embed* *wte.weight *wpe.weight shared.weight), output heads
(*lm_head* output.weight *classifier* *score.weight), normalisations (*norm* *Norm* ln_* *.ln_*),
biases (*bias), routers (*.gate.weight *router*) and every tensor of one dimension.
--no-default-keep switches that off.

Integers and booleans are copied. Errors, unless kept: integers whose name ends in `weight`, F64,
and floats of 8 bits or fewer. A tensor of more than two dimensions is quantized as the matrix
[all but the last, last], one of fewer as one row.";

/// The patterns in force.
pub struct Keep {
    patterns: Vec<Pattern>,
    one_dimensional: bool,
}

impl Keep {
    /// The patterns given, after the default list where `default` says so.
    pub fn new(given: &[Pattern], default: bool) -> Keep {
        let mut patterns = Vec::new();
        if default {
            let built_in = DEFAULT.iter().map(|pattern| Pattern::new(pattern));
            patterns.extend(built_in.map(|pattern| pattern.expect("the default list is valid")));
        }
        patterns.extend_from_slice(given);
        Keep {
            patterns,
            one_dimensional: default,
        }
    }

    /// Why the tensor keeps its precision, if it does.
    pub fn reason(&self, name: &str, shape: &[usize]) -> Option<String> {
        if let Some(pattern) = self.patterns.iter().find(|pattern| pattern.matches(name)) {
            return Some(format!("matches {pattern}"));
        }
        (self.one_dimensional && shape.len() < 2).then(|| "one dimension".into())
    }
}

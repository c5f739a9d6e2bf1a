// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of `docs/accumulation.md`: the speed of the matrix product and of the models, what
//! promotion does to the error, and what adding gradients in FP8 loses.
//!
//! `cargo run --release -p ofp8-bench --bin accumulation [speed | error | gradients]` prints them;
//! `error` also draws `docs/promotion.svg`.

use std::path::Path;
use std::time::Instant;

use ofp8::accumulate::{Gradient, Model, Operand, Order, Promotion, dot, gemm};
use ofp8::kernel::Kernel;
use ofp8::scalar::{decode_f32, encode_f32};
use ofp8::{Cast, Format, Matrix, MatrixMut, Philox, Recipe, Scales, ScalesMut};
use plotters::prelude::*;

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| asked.is_empty() || asked.iter().any(|asked| asked == name);
    if wanted("speed") {
        speed();
    }
    if wanted("error") {
        error();
    }
    if wanted("gradients") {
        gradients();
    }
}

/// Seconds of the fastest of several runs.
fn fastest(runs: usize, mut work: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..runs).map(time).fold(f64::INFINITY, f64::min)
}

/// Normal values (Box-Muller over Philox), in E4M3.
fn normal(stream: u64, len: usize, positive: bool) -> Vec<u8> {
    let philox = Philox::new(1, stream);
    let uniform = |word: u32| (word as f64 + 0.5) / 2f64.powi(32);
    let value = |i: usize| {
        let [a, b, ..] = philox.block(i as u64);
        let radius = (-2.0 * uniform(a).ln()).sqrt();
        let x = radius * (std::f64::consts::TAU * uniform(b)).cos();
        if positive { x.abs() } else { x }
    };
    let code = |i| encode_f32(Format::E4M3, Cast::DEFAULT, value(i) as f32, 0);
    (0..len).map(code).collect()
}

fn operand(codes: &[u8], vectors: usize) -> Operand<'_> {
    let codes = Matrix::new(codes, vectors, codes.len() / vectors).expect("a matrix");
    Operand::new(Format::E4M3, codes).expect("an element format")
}

fn speed() {
    const SIZE: usize = 512;
    let (a, b) = (normal(1, SIZE * SIZE, false), normal(2, SIZE * SIZE, false));
    let mut c = vec![0.0; SIZE * SIZE];
    let products = (SIZE * SIZE * SIZE) as f64;
    println!(
        "{SIZE}^3, E4M3 x E4M3, one thread, fastest of 100 runs in turns with the peak: multiply-adds"
    );
    println!("of 512 bits that never leave the registers\n");
    println!("| order | kernel | GFLOP/s | peak | of the peak |\n|---|---|---|---|---|");
    for &kernel in Kernel::ALL {
        if Kernel::force(Some(kernel)).is_err() {
            continue;
        }
        let (mut seconds, mut peak) = (f64::INFINITY, 0.0f64);
        for _ in 0..100 {
            peak = peak.max(multiply_add_peak().unwrap_or(f64::NAN));
            seconds = seconds.min(fastest(1, || {
                let c = MatrixMut::new(&mut c, SIZE, SIZE).expect("a matrix");
                gemm(operand(&a, SIZE), operand(&b, SIZE), Order::Sequential, c)
                    .expect("a product");
            }));
        }
        let rate = 2.0 * products / seconds / 1e9;
        println!(
            "| sequential | {kernel} | {rate:.1} | {peak:.1} | {:.2} |",
            rate / peak
        );
    }
    Kernel::force(None).expect("the default");
    println!(
        "\n64 x 64 x 4096, fastest of 5 runs\n\n| order | million products a second |\n|---|---|"
    );
    let depth = 4096;
    let (a, b) = (normal(3, 64 * depth, false), normal(4, 64 * depth, false));
    let mut c = vec![0.0; 64 * 64];
    let models = Model::ALL.iter().map(|&model| {
        let name = format!("{model:?}, promotion every 128");
        (name, Order::TensorCore(model, Promotion::DEFAULT))
    });
    for (name, order) in [("Exact".to_string(), Order::Exact)]
        .into_iter()
        .chain(models)
    {
        let seconds = fastest(5, || {
            let c = MatrixMut::new(&mut c, 64, 64).expect("a matrix");
            gemm(operand(&a, 64), operand(&b, 64), order, c).expect("a product");
        });
        println!(
            "| {name} | {:.0} |",
            (64 * 64 * depth) as f64 / seconds / 1e6
        );
    }
}

/// GFLOP/s of multiply-adds that never leave the registers; `None` without AVX-512.
#[cfg(target_arch = "x86_64")]
fn multiply_add_peak() -> Option<f64> {
    use std::arch::x86_64::*;
    const CHAINS: usize = 12;
    const STEPS: usize = 20_000;

    #[target_feature(enable = "avx512f")]
    fn chains(start: &[f32; CHAINS]) -> f32 {
        let (x, y) = (_mm512_set1_ps(0.999), _mm512_set1_ps(1e-9));
        // Each begins elsewhere, so that the compiler keeps them all.
        let mut sums = start.map(|start| _mm512_set1_ps(start));
        for _ in 0..STEPS {
            for sum in &mut sums {
                *sum = _mm512_fmadd_ps(*sum, x, y);
            }
        }
        sums.iter().map(|&sum| _mm512_reduce_add_ps(sum)).sum()
    }

    if !Kernel::Avx512.is_available() {
        return None;
    }
    let start = std::array::from_fn(|i| i as f32);
    let seconds = fastest(5, || {
        // SAFETY: the machine has AVX-512.
        std::hint::black_box(unsafe { chains(&std::hint::black_box(start)) });
    });
    Some((2 * 16 * CHAINS * STEPS) as f64 / seconds / 1e9)
}

#[cfg(not(target_arch = "x86_64"))]
fn multiply_add_peak() -> Option<f64> {
    None
}

const TRIALS: u64 = 24;
const DEPTHS: [usize; 6] = [256, 512, 1024, 4096, 8192, 16384];

/// Mean error of a sum, against the exact one, relative to the L2 norm of the products (normal
/// data) or to the sum (positive data).
fn mean_error(depth: usize, positive: bool, order: Order) -> f64 {
    let trial = |trial: u64| {
        let a = normal(1000 + 2 * trial, depth, positive);
        let b = normal(1001 + 2 * trial, depth, positive);
        let run = |order| dot(operand(&a, 1), operand(&b, 1), order).expect("a sum") as f64;
        let exact = run(Order::Exact);
        let square = |(&a, &b): (&u8, &u8)| {
            let product = decode_f32(Format::E4M3, a) as f64 * decode_f32(Format::E4M3, b) as f64;
            product * product
        };
        let norm = a.iter().zip(&b).map(square).sum::<f64>().sqrt();
        (run(order) - exact).abs() / if positive { exact } else { norm }
    };
    (0..TRIALS).map(trial).sum::<f64>() / TRIALS as f64
}

fn error() {
    let orders = [
        (
            "wgmma alone",
            Order::TensorCore(Model::HopperWgmma, Promotion::OFF),
        ),
        (
            "promotion every 128",
            Order::TensorCore(Model::HopperWgmma, Promotion::DEFAULT),
        ),
        (
            "25 bits (tcgen05)",
            Order::TensorCore(Model::Tcgen05, Promotion::OFF),
        ),
    ];
    let mut curves = Vec::new();
    for (data, positive) in [("normal", false), ("positive", true)] {
        println!(
            "\n| K, {data} data | {} | {} | {} |",
            orders[0].0, orders[1].0, orders[2].0
        );
        println!("|---|---|---|---|");
        let errors =
            DEPTHS.map(|depth| orders.map(|(_, order)| mean_error(depth, positive, order)));
        for (depth, [plain, promoted, wide]) in DEPTHS.iter().zip(errors) {
            println!("| {depth} | {plain:.1e} | {promoted:.1e} | {wide:.1e} |");
        }
        for (i, (name, _)) in orders.iter().enumerate() {
            let points = DEPTHS
                .iter()
                .zip(errors)
                .map(|(&depth, e)| (depth as f64, e[i]));
            curves.push((format!("{name}, {data}"), positive, i, points.collect()));
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/promotion.svg");
    draw(&path, &curves).expect("to draw");
}

type Curve = (String, bool, usize, Vec<(f64, f64)>);

fn draw(path: &Path, curves: &[Curve]) -> Result<(), Box<dyn std::error::Error>> {
    const COLORS: [RGBColor; 3] = [RED, BLUE, BLACK];
    let area = SVGBackend::new(path, (760, 460)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(
            "Relative error of a sum of E4M3 products",
            ("sans-serif", 18),
        )
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d((200f64..20000.0).log_scale(), (1e-8f64..1.0).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("products (K)")
        .y_desc("mean error")
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.0e}"))
        .draw()?;
    for (name, positive, color, points) in curves {
        let style = COLORS[*color].stroke_width(if *positive { 3 } else { 1 });
        chart
            .draw_series(LineSeries::new(points.iter().copied(), style).point_size(3))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE)
        .border_style(BLACK)
        .draw()?;
    area.present()?;
    Ok(())
}

/// A thousand micro-batches of gradients whose mean is small against their noise.
fn gradients() {
    const BATCHES: u64 = 1000;
    const LEN: usize = 4096;
    let uniform = |word: u32| word as f32 / 2f32.powi(32);
    let philox = Philox::new(2, 0);
    // Means over two decades, noise of half their size.
    let mean: Vec<f32> = (0..LEN as u64)
        .map(|i| 10f32.powf(-2.0 * uniform(philox.block(i)[0])))
        .collect();
    let mut exact = vec![0.0f64; LEN];
    let (mut sum, mut sum_of_codes) = (vec![0.0; LEN], vec![0.0; LEN]);
    let shape = |data| MatrixMut::new(data, 1, LEN).expect("a matrix");
    let mut gradient = Gradient::new(shape(&mut sum), None).expect("a buffer");
    let mut of_codes = Gradient::new(shape(&mut sum_of_codes), None).expect("a buffer");
    let mut kept = [
        (Format::E4M3, vec![0u8; LEN]),
        (Format::E5M2, vec![0u8; LEN]),
    ];
    let (mut codes, mut scales) = (vec![0; LEN], vec![0; LEN / 32]);
    for batch in 0..BATCHES {
        let philox = Philox::new(3, batch);
        let values: Vec<f32> = (0..LEN as u64)
            .map(|i| mean[i as usize] * (0.5 + uniform(philox.block(i)[0])))
            .collect();
        let source = Matrix::new(&values, 1, LEN).expect("a matrix");
        gradient.add(source, 1.0).expect("an addition");
        let target = MatrixMut::new(&mut codes, 1, LEN).expect("a matrix");
        let target_scales = ScalesMut::E8M0(&mut scales);
        Recipe::MXFP8
            .quantize(source, target, target_scales)
            .expect("codes");
        let of_batch = Matrix::new(&codes, 1, LEN).expect("a matrix");
        let stored = Scales::E8M0(&scales);
        of_codes
            .add_codes(&Recipe::MXFP8, of_batch, stored)
            .expect("an addition");
        for (sum, &x) in exact.iter_mut().zip(&values) {
            *sum += x as f64;
        }
        for (format, sums) in &mut kept {
            for (sum, x) in sums.iter_mut().zip(&values) {
                *sum = encode_f32(*format, Cast::DEFAULT, decode_f32(*format, *sum) + x, 0);
            }
        }
    }
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    let relative = |sums: &[f64]| {
        let mut errors = sums.iter().zip(&exact).map(|(sum, exact)| sum - exact);
        norm(&mut errors) / norm(&mut exact.iter().copied())
    };
    println!("\n| 1000 micro-batches | relative error (L2) |\n|---|---|");
    let wide = |values: &[f32]| -> Vec<f64> { values.iter().map(|&x| x as f64).collect() };
    let scaled =
        |values: &[f64]| -> Vec<f64> { values.iter().map(|x| x * BATCHES as f64).collect() };
    let show = |name: &str, sums: &[f64]| println!("| {name} | {:.1e} |", relative(sums));
    for (name, mut gradient) in [
        ("f32 batches added in f32", gradient),
        ("MXFP8 batches added in f32", of_codes),
    ] {
        let target = MatrixMut::new(&mut codes, 1, LEN).expect("a matrix");
        let target_scales = ScalesMut::E8M0(&mut scales);
        gradient
            .quantize(&Recipe::MXFP8, None, target, target_scales)
            .expect("codes");
        let mut back = vec![0.0; LEN];
        let of_sum = Matrix::new(&codes, 1, LEN).expect("a matrix");
        let target = MatrixMut::new(&mut back, 1, LEN).expect("a matrix");
        Recipe::MXFP8
            .dequantize(of_sum, Scales::E8M0(&scales), target)
            .expect("values");
        show(
            &format!("{name}, quantized once (MXFP8)"),
            &scaled(&wide(&back)),
        );
    }
    show(
        "f32 batches added in f32, not quantized",
        &scaled(&wide(&sum)),
    );
    for (format, sums) in &kept {
        let values: Vec<f64> = sums
            .iter()
            .map(|&sum| decode_f32(*format, sum) as f64)
            .collect();
        show(&format!("sum kept in {format:?}"), &values);
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! A criterion bench a row of the table, for each kernel of this machine.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ofp8::kernel::Kernel;
use ofp8_bench::work::{Arrays, copy, works};

const ELEMENTS: usize = 64 << 10;

fn kernels(criterion: &mut Criterion) {
    let arrays = Arrays::new(ELEMENTS);
    for &kernel in Kernel::ALL {
        if Kernel::force(Some(kernel)).is_err() {
            continue;
        }
        let mut group = criterion.benchmark_group(kernel.name());
        group.throughput(Throughput::Elements(ELEMENTS as u64));
        for mut work in works(&arrays) {
            group.bench_function(work.name, |bencher| bencher.iter(&mut work.run));
        }
    }
    let mut group = criterion.benchmark_group("memcpy");
    group.throughput(Throughput::Elements(ELEMENTS as u64));
    for traffic in [3, 4, 5, 6] {
        let mut run = copy(ELEMENTS, traffic);
        group.bench_function(format!("{traffic} bytes an element"), |bencher| {
            bencher.iter(&mut run)
        });
    }
}

criterion_group!(benches, kernels);
criterion_main!(benches);

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Times the peers that this Python has, one thread, 64 Ki elements: a line "row | peer<TAB>ns" each."""

import sys
import time

ELEMENTS = 64 << 10
RUNS = 300


def median(work):
    work()
    times = []
    for _ in range(RUNS):
        start = time.perf_counter_ns()
        work()
        times.append(time.perf_counter_ns() - start)
        if sum(times) > 2e9:
            break
    return sorted(times)[len(times) // 2] / ELEMENTS


def report(row, peer, work):
    print(f"{row} | {peer}\t{median(work):.4f}", flush=True)


def with_ml_dtypes():
    import ml_dtypes
    import numpy

    name = f"ml_dtypes {ml_dtypes.__version__}"
    x = numpy.random.default_rng(2026).standard_normal(ELEMENTS, dtype=numpy.float32)
    for row, dtype in [("E4M3", ml_dtypes.float8_e4m3fn), ("E5M2", ml_dtypes.float8_e5m2)]:
        codes = x.astype(dtype)
        report(f"f32 -> {row}", name, lambda: x.astype(dtype))
        report(f"{row} -> f32", name, lambda: codes.astype(numpy.float32))


def with_torch():
    import torch

    torch.set_num_threads(1)
    name = f"PyTorch {torch.__version__}"
    torch.manual_seed(2026)
    x = torch.randn(ELEMENTS)
    e4m3, e5m2 = torch.float8_e4m3fn, torch.float8_e5m2
    codes, wide = x.to(e4m3), torch.empty(ELEMENTS)
    out, brain = torch.empty(ELEMENTS, dtype=e4m3), torch.empty(ELEMENTS, dtype=torch.bfloat16)
    out5, codes5, x16 = torch.empty(ELEMENTS, dtype=e5m2), x.to(e5m2), x.bfloat16()
    report("f32 -> E4M3", name, lambda: out.copy_(x))
    report("f32 -> E5M2", name, lambda: out5.copy_(x))
    report("bf16 -> E4M3", name, lambda: out.copy_(x16))
    report("E4M3 -> f32", name, lambda: wide.copy_(codes))
    report("E5M2 -> f32", name, lambda: wide.copy_(codes5))
    report("E4M3 -> bf16", name, lambda: brain.copy_(codes))

    def tensor():
        scale = 448.0 / x.abs().max()
        return (x * scale).clamp(-448.0, 448.0).to(e4m3), 1.0 / scale

    def mx_scales():
        blocks = x.view(-1, 32)
        amax = blocks.abs().amax(1)
        bits = (amax / 448.0).view(torch.int32)
        return blocks, torch.clamp((bits + 0x7FFFFF) >> 23, 0, 254)

    def mx_quantize():
        blocks, exponent = mx_scales()
        factor = ((254 - exponent) << 23).view(torch.float32)
        return (blocks * factor[:, None]).clamp(-448.0, 448.0).to(e4m3), exponent.to(torch.uint8)

    codes_mx, scales_mx = mx_quantize()

    def mx_dequantize():
        factor = (scales_mx.to(torch.int32) << 23).view(torch.float32)
        return codes_mx.float() * factor[:, None]

    report("tensor quantize", f"{name} eager", tensor)
    report("tensor quantize", f"{name} compiled", torch.compile(tensor))
    report("MXFP8 quantize", f"{name} eager", mx_quantize)
    report("MXFP8 dequantize", f"{name} eager", mx_dequantize)


def with_torchao():
    import torch
    import torchao
    from torchao.prototype.mx_formats import mx_tensor

    torch.set_num_threads(1)
    name = f"torchao {torchao.__version__} eager"
    x = torch.randn(ELEMENTS // 1024, 1024)
    e4m3, round_up = torch.float8_e4m3fn, mx_tensor.ScaleCalculationMode.RCEIL

    def quantize():
        return mx_tensor.to_mx(x, e4m3, 32, scaling_mode=round_up)

    scales, codes = quantize()
    report("MXFP8 quantize", name, quantize)

    def dequantize():
        return mx_tensor.to_dtype(codes, scales, e4m3, 32, torch.float32)

    report("MXFP8 dequantize", name, dequantize)


def with_jax():
    import os

    # One thread, as for all: XLA takes its number of threads from the processors it may use.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    import jax.numpy as jnp

    name = f"JAX {jax.__version__}"
    x = jax.random.normal(jax.random.key(2026), (ELEMENTS,), jnp.float32)
    for row, dtype in [("E4M3", jnp.float8_e4m3fn), ("E5M2", jnp.float8_e5m2)]:
        encode = jax.jit(lambda x, dtype=dtype: x.astype(dtype))
        decode = jax.jit(lambda codes: codes.astype(jnp.float32))
        codes = encode(x)
        report(f"f32 -> {row}", name, lambda: encode(x).block_until_ready())
        report(f"{row} -> f32", name, lambda: decode(codes).block_until_ready())


# JAX comes last: it keeps to one processor, for good.
for peer in (with_ml_dtypes, with_torch, with_torchao, with_jax):
    try:
        peer()
    except Exception as error:  # a peer that is not there, or not whole, is no reason to stop
        print(f"{peer.__name__}: {error}", file=sys.stderr)

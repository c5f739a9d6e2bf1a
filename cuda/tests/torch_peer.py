# SPDX-License-Identifier: MIT OR Apache-2.0
"""The time of torch.compile'd quantization, in the style of torchao, on the shapes of device.cu --times."""

import torch

SIDE = 8192
MAX = 448.0


def tensor(x):
    """One scale for the tensor: amax, scale, cast."""
    amax = x.abs().amax().float()
    scale = MAX / amax.clamp(min=1e-12)
    return (x.float() * scale).clamp(-MAX, MAX).to(torch.float8_e4m3fn), scale.reciprocal()


def mx_row(x):
    """MXFP8 with the floor rule: the exponent of the amax of each 32 elements."""
    blocks = x.float().reshape(x.shape[0], -1, 32)
    amax = blocks.abs().amax(dim=-1, keepdim=True)
    exponent = (amax.view(torch.int32) >> 23) - 127 - 8
    code = (exponent + 127).clamp(0, 254)
    inverse = ((254 - code) << 23).view(torch.float32)
    codes = (blocks * inverse).clamp(-MAX, MAX).to(torch.float8_e4m3fn)
    return codes.reshape(x.shape), code.to(torch.uint8)


def seconds(work):
    """The median of 20 runs."""
    times = []
    for _ in range(23):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    return sorted(times)[len(times) // 2]


def main():
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.randn(SIDE, SIDE, device="cuda", dtype=dtype)
        for name, function in (("tensor", tensor), ("MX row", mx_row)):
            compiled = torch.compile(function)
            compiled(x)
            print(f"time torch.compile {name:10} {dtype} {seconds(lambda: compiled(x)) * 1e6:9.1f} us")


if __name__ == "__main__":
    main()

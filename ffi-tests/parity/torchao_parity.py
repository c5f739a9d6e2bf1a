# SPDX-License-Identifier: MIT OR Apache-2.0
"""ofp8's MX recipes against torchao's own `to_mx` on the CPU: every scale mode and element type.

    python torchao_parity.py LIBRARY

Needs torch, torchao, numpy and ml_dtypes, which together are too large for CI: run by hand, its outcome is recorded in
docs/verification.md. Codes and scales must be identical, from f32 and bf16, but for the differences that `CAUSES`
lists; any other fails.
"""

import sys
from collections import Counter

import ml_dtypes
import numpy as np
import torch
import torchao
from torchao.prototype.mx_formats.config import ScaleCalculationMode
from torchao.prototype.mx_formats.mx_tensor import to_mx

import quantizer
from quantizer import Quantized, Quantizer, Recipe
from recipes_parity import E2M1, E2M3, E3M2, E4M3, E5M2, Blocks, Element

ELEMENTS = {
    torch.float8_e4m3fn: E4M3,
    torch.float8_e5m2: E5M2,
    "fp6_e2m3": E2M3,
    "fp6_e3m2": E3M2,
    torch.float4_e2m1fn_x2: E2M1,
}
RULES = {
    ScaleCalculationMode.FLOOR: quantizer.FLOOR,
    ScaleCalculationMode.CEIL: quantizer.CEIL,
    ScaleCalculationMode.EVEN: quantizer.EVEN,
    ScaleCalculationMode.RCEIL: quantizer.ROUND_UP,
}
SHAPES = [(1, 32), (3, 64), (70, 160), (133, 320)]


def theirs(x: np.ndarray, dtype: "torch.dtype | str", mode: ScaleCalculationMode) -> Quantized:
    wide = torch.from_numpy(x.astype(np.float32)).to(torch.bfloat16 if x.dtype == ml_dtypes.bfloat16 else torch.float32)
    scales, codes = to_mx(wide, dtype, 32, mode)
    codes = codes.view(torch.uint8).numpy()
    if dtype == torch.float4_e2m1fn_x2:
        codes = np.stack([codes & 0xF, codes >> 4], -1).reshape(x.shape)
    return Quantized(codes, scales.view(torch.uint8).numpy())


def smallest_scale(b: Blocks, e: Element, ours: Quantized, theirs: Quantized) -> np.ndarray:
    return (ours.scales == 0) & (theirs.scales == 0)


def float_logarithm(b: Blocks, e: Element, ours: Quantized, theirs: Quantized) -> np.ndarray:
    quotient = b.amax().astype(np.float64) / float(e.max) / np.exp2(theirs.scales.astype(np.float64) - 127)
    return (ours.scales == theirs.scales + 1) & (quotient > 1) & (quotient < 1 + 2.0**-20)


CAUSES = {
    "infinity or NaN: here scale 0xFF and elements NaN": lambda b, e, ours, theirs: b.is_special(),
    "scale 0x00: torchao divides by 2^-126 (RCEIL: by 1), here by 2^-127, which is what is stored": smallest_scale,
    "RCEIL, amax a few ulp above a power of two times the largest element: torchao's f32 logarithm rounds down to that "
    "power and the element saturates": float_logarithm,
}


def main(library: str) -> int:
    quantize = Quantizer(library)
    random = np.random.default_rng(2)
    matrices = list(quantizer.inputs(1, SHAPES)) + [("edges", quantizer.edges(random, 32))]
    seen, wrong, blocks, elements = Counter(), 0, 0, 0
    for mode, rule in RULES.items():
        for dtype, e in ELEMENTS.items():
            recipe = Recipe(block_rows=1, block_cols=32, element=e.number, scaling=quantizer.E8M0, exponent_rule=rule)
            here = Counter()
            for kind, matrix in matrices:
                for wide in (np.float32, ml_dtypes.bfloat16):
                    x = matrix.astype(wide)
                    b = Blocks(x, 1, 32)
                    one, other = quantize(recipe, x), theirs(x, dtype, mode)
                    unknown = (one.scales != other.scales) | b.any(one.codes != other.codes)
                    for cause, where in CAUSES.items():
                        at = unknown & where(b, e, one, other)
                        here[cause] += int(np.count_nonzero(at))
                        unknown &= ~at
                    if unknown.any():
                        print(f"  {kind} from {x.dtype}: {np.count_nonzero(unknown)} blocks differ for no known cause")
                    wrong += int(np.count_nonzero(unknown))
                    blocks, elements = blocks + b.grid[0] * b.grid[1], elements + x.size
            print(f"{mode.name:5} {e.name}: differences by cause {list(here.values())}")
            seen += here
    for cause in CAUSES:
        print(f"{seen[cause]} blocks: {cause}")
    versions = f"torchao {torchao.__version__}, torch {torch.__version__}"
    print(f"{versions}: {blocks} blocks, {elements} elements, {wrong} blocks differ for no known cause")
    return 1 if wrong or any(seen[cause] == 0 for cause in CAUSES) else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with np.errstate(all="ignore"):
        sys.exit(main(sys.argv[1]))

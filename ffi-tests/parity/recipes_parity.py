# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recipes of ofp8 against the formulas of the systems that they are named after, in numpy and ml_dtypes.

    python recipes_parity.py LIBRARY [--only TEXT]

Each row of `rows` is a recipe and a system's formula, written from its description. Both quantize the same matrices:
every kind of input in several shapes with ragged edges, from f32, bf16 and f16, and one block for every amax at which
a rule could turn. Codes and scales must be identical, but for the row's differences: each says where it may occur and
what ofp8 gives there. Any other difference fails, and so does a listed one that does not occur, and one that the table
in docs/compatibility.md does not have, or has alone.
"""

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import ml_dtypes
import numpy as np

import quantizer
from quantizer import Quantized, Quantizer, Recipe

F32_MAX = np.finfo(np.float32).max
SMALLEST = np.float32(2.0**-149)
ONE = np.float32(1)


@dataclass(frozen=True)
class Element:
    """A format of elements: its number in the C ABI and what the formulas ask of it."""

    name: str
    number: int
    max: np.float32
    emax: int
    mantissa_bits: int
    nan: int
    dtype: "type | None"

    def encode(self, x: np.ndarray) -> np.ndarray:
        """To nearest-even; everything clamps; one NaN, which is the largest value in a format without."""
        if self.dtype is None:  # MX INT8: 64ths in two's complement
            codes = np.rint(np.clip(np.nan_to_num(x), -self.max, self.max) * 64).astype(np.int8).view(np.uint8)
        else:
            codes = np.clip(np.nan_to_num(x, posinf=np.inf, neginf=-np.inf), -self.max, self.max)
            codes = codes.astype(self.dtype).view(np.uint8)
        return np.where(np.isnan(x), np.uint8(self.nan), codes)

    def decode(self, codes: np.ndarray) -> np.ndarray:
        if self.dtype is None:
            return codes.view(np.int8).astype(np.float32) / 64
        return codes.view(self.dtype).astype(np.float32)


E4M3 = Element("E4M3", 1, np.float32(448), 8, 3, 0x7F, ml_dtypes.float8_e4m3fn)
E5M2 = Element("E5M2", 2, np.float32(57344), 15, 2, 0x7F, ml_dtypes.float8_e5m2)
E2M3 = Element("E2M3", 11, np.float32(7.5), 2, 3, 0x1F, ml_dtypes.float6_e2m3fn)
E3M2 = Element("E3M2", 12, np.float32(28), 4, 2, 0x1F, ml_dtypes.float6_e3m2fn)
E2M1 = Element("E2M1", 13, np.float32(6), 2, 1, 0x7, ml_dtypes.float4_e2m1fn)
MXINT8 = Element("MXINT8", 14, np.float32(127 / 64), 0, 6, 0x7F, None)
MX_FLOATS = (E4M3, E5M2, E2M3, E3M2, E2M1)


class Blocks:
    """A matrix in f32, cut into blocks; 0 means all rows or all columns."""

    def __init__(self, x: np.ndarray, rows: int, cols: int):
        self.source = x.dtype
        self.x = x.astype(np.float32)
        self.rows, self.cols = rows or x.shape[0], cols or x.shape[1]
        self.grid = (-(-x.shape[0] // self.rows), -(-x.shape[1] // self.cols))

    def max(self, values: np.ndarray) -> np.ndarray:
        """The maximum in each block, at least zero; NaN where there is one."""
        padded = np.zeros((self.grid[0] * self.rows, self.grid[1] * self.cols), values.dtype)
        padded[: values.shape[0], : values.shape[1]] = values
        return padded.reshape(self.grid[0], self.rows, self.grid[1], self.cols).max(axis=(1, 3))

    def spread(self, of_blocks: np.ndarray) -> np.ndarray:
        """The value of its block for each element."""
        rows, cols = self.x.shape
        return of_blocks.repeat(self.rows, 0)[:rows].repeat(self.cols, 1)[:, :cols]

    def any(self, mask: np.ndarray) -> np.ndarray:
        return self.max(mask.astype(np.uint8)) > 0

    def amax(self) -> np.ndarray:
        """As torch: a NaN stays."""
        return self.max(np.abs(self.x))

    def amax_fmaxf(self) -> np.ndarray:
        """As C's fmaxf: a NaN is passed over."""
        return self.max(np.abs(np.where(np.isnan(self.x), 0, self.x)))

    def finite_amax(self) -> np.ndarray:
        return self.max(np.abs(np.where(np.isfinite(self.x), self.x, 0)))

    def has_infinity(self) -> np.ndarray:
        return self.any(np.isinf(self.x))

    def has_nan(self) -> np.ndarray:
        return self.any(np.isnan(self.x))

    def is_special(self) -> np.ndarray:
        return self.has_infinity() | self.has_nan()


# A formula: from the blocks, the elements' format and the blocks' amaxes to what is stored.
Formula = Callable[[Blocks, Element, np.ndarray], Quantized]


def bits(x: np.ndarray) -> np.ndarray:
    return x.view(np.uint32)


def power(exponent: np.ndarray) -> np.ndarray:
    """2^exponent in f32."""
    return np.ldexp(ONE, exponent).astype(np.float32)


# ---- TransformerEngine


def te_current(epsilon: float = 0.0, power_of_two: bool = False, has_block: bool = False) -> Formula:
    """Current scaling and block scaling."""

    def formula(b: Blocks, e: Element, amax: np.ndarray) -> Quantized:
        amax = np.where(amax < np.float32(epsilon), np.float32(epsilon), amax)
        scale = e.max / amax
        # Block scaling takes the largest of the source's type. (The scale of a tiny f16 is not infinite.)
        largest = np.float32(ml_dtypes.finfo(b.source).max) if has_block else F32_MAX
        scale = np.where(np.isinf(scale), largest, scale)
        if power_of_two:
            scale = (bits(scale) & np.uint32(0xFF800000)).view(np.float32)
        scale = np.where(np.isfinite(amax) & (amax != 0), scale, ONE)
        return Quantized(e.encode(b.x * b.spread(scale)), ONE / scale)

    return formula


def te_delayed(margin: int) -> Formula:
    """The scaling factor of delayed scaling, in the first step, where the previous scale is 1."""

    def formula(b: Blocks, e: Element, amax: np.ndarray) -> Quantized:
        scale = np.float32(e.max * 2.0**-margin) / amax
        scale = np.where(np.isfinite(amax) & (amax > 0), scale, ONE)
        scale = np.where(np.isinf(scale), F32_MAX, scale)
        return Quantized(e.encode(b.x * b.spread(scale)), ONE / scale)

    return formula


def e8m0_up(q: np.ndarray) -> np.ndarray:
    """To E8M0, up: what the conversion instruction does, and its software."""
    exponent, mantissa = bits(q) >> 23, bits(q) & 0x7FFFFF
    up = (mantissa > 0) & (exponent != 0xFE) & ~((exponent == 0) & (mantissa <= 0x400000))
    code = np.where(np.isinf(q), 0xFE, np.where(np.isnan(q), 0xFF, exponent + up))
    return code.astype(np.uint8)


def e8m0_reciprocal(code: np.ndarray) -> np.ndarray:
    """2^(127 - code): a subnormal for 254, NaN for 255."""
    return np.where(code == 0xFF, np.float32(np.nan), power(127 - np.minimum(code, 254).astype(np.int32)))


def shifted(b: Blocks, e: Element, code: np.ndarray) -> Quantized:
    """Elements under E8M0 scales."""
    return Quantized(e.encode(b.x * b.spread(e8m0_reciprocal(code))), code.astype(np.uint8))


def shifted_with_signs(b: Blocks, e: Element, code: np.ndarray) -> Quantized:
    """The same where a NaN in a format without is the largest value with the sign of the NaN."""
    result = shifted(b, e, code)
    negative = np.isnan(b.x) & np.signbit(b.x) & (e.nan < 0x7F)
    return Quantized(np.where(negative, np.uint8(2 * e.nan + 1), result.codes), result.scales)


def te_mx(b: Blocks, e: Element, amax: np.ndarray) -> Quantized:
    return shifted(b, e, e8m0_up(amax * (ONE / e.max)))


def ue4m3(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes and their values, nearest-even, at most 448: those of E4M3 that are not negative."""
    code = np.clip(x, 0, 448).astype(ml_dtypes.float8_e4m3fn)
    return code.view(np.uint8), code.astype(np.float32)


def ue5m3(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for five exponent bits (bias 15) and three of mantissa, at most 114688, which ml_dtypes has not."""
    x = np.clip(x, 0, np.float32(114688))
    exponent = np.where(x == 0, -14, np.maximum(np.frexp(x)[1] - 1, -14))
    steps = np.rint(np.ldexp(x, 3 - exponent)).astype(np.int32)
    # With a hidden bit `steps` counts from 8, which is one exponent: the carry of 16 to the next comes by itself.
    return ((exponent + 14) * 8 + steps).astype(np.uint8), np.ldexp(steps.astype(np.float32), exponent - 3)


def two_level(block_max: float, encode: Callable) -> Formula:
    """NVFP4: the scale of the tensor, of the blocks by it, the elements by both."""

    def formula(b: Blocks, e: Element, amax: np.ndarray) -> Quantized:
        of_tensor = amax.max()
        factor = np.minimum(np.float32(block_max) * e.max / of_tensor, F32_MAX)
        factor = ONE if of_tensor == 0 or factor == 0 else factor
        code, scale = encode(np.minimum(amax * (factor * (ONE / e.max)), F32_MAX))
        inverse = np.minimum(ONE / (scale * (ONE / factor)), F32_MAX)
        return Quantized(e.encode(b.x * b.spread(inverse)), code, np.array([ONE / factor]))

    return formula


te_nvfp4 = two_level(448, ue4m3)


# ---- DeepSeek


def deepseek_v3(b: Blocks, e: Element, amax: np.ndarray) -> Quantized:
    scale = amax / e.max
    return Quantized(e.encode(b.x / b.spread(scale)), scale)


def deepgemm(scaling: int) -> Formula:
    """With f32 scales; with powers of two (UE8M0) in f32; with those as bytes."""

    def formula(b: Blocks, e: Element, amax: np.ndarray) -> Quantized:
        scale = np.maximum(amax, np.float32(1e-4)) / e.max
        if scaling != quantizer.F32:
            exponent = (bits(scale) >> 23 & 0xFF) + ((bits(scale) & 0x7FFFFF) != 0)
            scale = (np.clip(exponent, 1, 254) << 23).astype(np.uint32).view(np.float32)
        codes = e.encode(b.x * b.spread(ONE / scale))
        return Quantized(codes, (bits(scale) >> 23).astype(np.uint8) if scaling == quantizer.E8M0 else scale)

    return formula


# ---- torchao and FBGEMM


def torchao_mx(rule: int) -> Formula:
    """The four modes of `to_mx`."""

    def formula(b: Blocks, e: Element, amax: np.ndarray) -> Quantized:
        if rule == quantizer.ROUND_UP:
            code = np.where(np.isinf(amax), 0xFF, e8m0_up(amax * (ONE / e.max)))
            return shifted_with_signs(b, e, code)
        pattern = bits(amax).astype(np.int64)
        if rule == quantizer.EVEN:
            pattern = (pattern + (1 << (22 - e.mantissa_bits))) & 0xFF800000
        exponent = (pattern >> 23) - 127 - e.emax
        if rule == quantizer.CEIL:
            exponent += (pattern & 0x7FFFFF) > 0
        code = np.clip(exponent, -127, 128) + 127
        return shifted_with_signs(b, e, np.where(pattern >= 0x7F800000, 0xFF, code))

    return formula


def fbgemm(bound: float) -> Formula:
    def formula(b: Blocks, e: Element, amax: np.ndarray) -> Quantized:
        scale = e.max / np.clip(amax, np.float32(1e-12), np.float32(bound))
        return Quantized(e.encode(b.x * b.spread(scale)), ONE / scale)

    return formula


# ---- Exact rules: no system's, but the definition in f64, which holds all of it without rounding


def exact_exponent(rule: int, e: Element, amax: np.ndarray) -> np.ndarray:
    """The exponent of the scale. Zero counts as the smallest subnormal, whose scale underflows."""
    a, m = np.maximum(amax, SMALLEST).astype(np.float64), float(e.max)
    # With a = s * 2^i and m = t * 2^j, s and t in [1/2, 1).
    (s, i), (t, j) = np.frexp(a), np.frexp(m)
    if rule == quantizer.NEAREST:
        # Of a / m = (s / t) * 2^(i - j): half-way between two powers of two lies 3/4 of the larger.
        return i - j + np.where(4 * s < 3 * t, -1, 0) + np.where(2 * s >= 3 * t, 1, 0)
    return i - j + (s > t)


def exact(rule: int) -> Formula:
    def formula(b: Blocks, e: Element, amax: np.ndarray) -> Quantized:
        return shifted(b, e, np.clip(exact_exponent(rule, e, amax) + 127, 0, 254))

    return formula


def least_error(b: Blocks, e: Element, amax: np.ndarray) -> Quantized:
    """Of the scale that rounds up and the one below it, that with the smaller sum of squares, in order, in f64."""
    upper = np.clip(exact_exponent(quantizer.ROUND_UP, e, amax) + 127, 0, 254)
    lower = np.maximum(upper - 1, 0)

    def error(code: np.ndarray) -> np.ndarray:
        back = e.decode(shifted(b, e, code).codes) * b.spread(power(code - 127))
        # Back beyond the largest f32 it would be infinite: such an element does not count.
        squares = np.nan_to_num((b.x.astype(np.float64) - back.astype(np.float64)) ** 2, nan=0, posinf=0)
        sums = np.zeros(b.grid)
        for row in range(b.rows):
            for col in range(b.cols):
                part = squares[row :: b.rows, col :: b.cols]
                sums[: part.shape[0], : part.shape[1]] += part
        return sums

    return shifted(b, e, np.where(error(lower) < error(upper), lower, upper))


# ---- Differences


@dataclass(frozen=True)
class Difference:
    """Blocks that a system may quantize otherwise, and what ofp8 must give for them. The name is that in the docs."""

    name: str
    where: Callable[[Blocks], np.ndarray]
    ours: Callable[[Blocks, Element], Quantized]


def every_block(b: Blocks) -> np.ndarray:
    return np.ones(b.grid, bool)


def poisoned(nan: "int | float") -> Difference:
    """The default policy, with NaN as the scale."""

    def ours(b: Blocks, e: Element) -> Quantized:
        scale_type = np.float32 if isinstance(nan, float) else np.uint8
        return Quantized(np.full(b.x.shape, e.nan, np.uint8), np.full(b.grid, nan, scale_type))

    return Difference("poison", Blocks.is_special, ours)


def poisoned_two_levels(nan: int, formula: Formula) -> Difference:
    """Under two levels the amax of the tensor, too, is without the poisoned blocks."""

    def ours(b: Blocks, e: Element) -> Quantized:
        at = b.is_special()
        result = formula(b, e, np.where(at, 0, b.finite_amax()))
        codes = np.where(b.spread(at), np.uint8(e.nan), result.codes)
        return Quantized(codes, np.where(at, np.uint8(nan), result.scales), result.tensor)

    where = lambda b: np.full(b.grid, b.is_special().any())
    return Difference("poison, two levels", where, ours)


def ignored_infinity(formula: Formula, is_tensor: bool = False) -> Difference:
    where = (lambda b: np.full(b.grid, b.has_infinity().any())) if is_tensor else Blocks.has_infinity
    return Difference("infinity ignored", where, lambda b, e: formula(b, e, b.finite_amax()))


CLAMPED_NAN = Difference(
    "NaN clamped", lambda b: b.has_nan() & ~b.has_infinity(), lambda b, e: shifted(b, e, np.full(b.grid, 0xFE))
)
LARGEST_BF16 = Difference(
    "largest of bf16",
    lambda b: (b.source == ml_dtypes.bfloat16) & every_block(b),
    lambda b, e: te_current()(b, e, b.finite_amax()),
)
SUBNORMAL_QUOTIENT = Difference(
    "subnormal quotient",
    lambda b: b.finite_amax() < 2.0**-110,
    lambda b, e: exact(quantizer.ROUND_UP)(b, e, b.finite_amax()),
)


def large_margin(margin: int) -> Difference:
    """The multiplier is at least the inverse of the largest f32."""

    def ours(b: Blocks, e: Element) -> Quantized:
        scale = np.maximum(np.float32(e.max * 2.0**-margin) / b.amax(), ONE / F32_MAX)
        return Quantized(e.encode(b.x * b.spread(scale)), np.minimum(ONE / scale, F32_MAX))

    return Difference("large margin", every_block, ours)


ZERO_BLOCK = Difference(
    "zero divided by zero",
    lambda b: b.amax() == 0,
    lambda b, e: Quantized(e.encode(b.x), np.ones(b.grid, np.float32)),
)


def smallest_scale(b: Blocks, e: Element) -> Quantized:
    scale = np.full(b.grid, SMALLEST)
    return Quantized(e.encode(b.x / b.spread(scale)), scale)


SCALE_OF_ZERO = Difference("scale of zero", lambda b: (b.amax() > 0) & (b.amax() < 2.0**-120), smallest_scale)
EVEN_CARRY = Difference(
    "carry to infinity",
    lambda b: b.finite_amax() >= 2.0**127,
    # 2^128 would be the amax rounded.
    lambda b, e: shifted(b, e, np.full(b.grid, 128 - e.emax + 127)),
)
SIGN_OF_NAN = Difference("sign of NaN", Blocks.has_nan, poisoned(0xFF).ours)


# ---- Rows


@dataclass(frozen=True)
class Row:
    name: str
    element: Element
    block: tuple[int, int]
    formula: Formula
    amax: Callable[[Blocks], np.ndarray] = Blocks.amax
    differences: tuple[Difference, ...] = ()
    # What of `ofp8_recipe` is not zero.
    recipe: dict = field(default_factory=dict)


BLOCKS = {"tensor": (0, 0), "row": (1, 0), "column": (0, 1)}


def block_name(block: tuple[int, int]) -> str:
    names = {shape: name for name, shape in BLOCKS.items()}
    return names.get(block, f"{block[0]}x{block[1]}")


def rows() -> Iterator[Row]:
    yield from te_rows()
    yield from deepseek_rows()
    yield from torchao_rows()
    yield from other_rows()


def te_rows() -> Iterator[Row]:
    name = "TransformerEngine"
    fmaxf = Blocks.amax_fmaxf
    nan = poisoned(np.nan)
    for block in [(0, 0), (1, 0), (0, 1), (1, 128), (128, 1), (128, 128)]:
        has_block = 128 in block
        for e in (E4M3, E5M2):
            for power_of_two in (False, True):
                kind = "power of two" if power_of_two else "f32"
                for epsilon in (0.0, 1e-3) if block in ((0, 0), (1, 128)) else (0.0,):
                    recipe = {"scaling": quantizer.POWER_OF_TWO} if power_of_two else {}
                    differences = (nan,)
                    if has_block and not power_of_two and not epsilon:
                        differences += (LARGEST_BF16,)
                    yield Row(
                        f"{name} current {block_name(block)} {e.name} {kind}" + (f" epsilon {epsilon}" * (epsilon > 0)),
                        e,
                        block,
                        te_current(epsilon, power_of_two, has_block),
                        fmaxf,
                        differences,
                        recipe | {"epsilon": epsilon},
                    )
    for block in [(0, 0), (1, 0), (32, 32)]:
        formula = te_current()
        yield Row(
            f"{name} current {block_name(block)} E4M3 f32, ignore",
            E4M3,
            block,
            formula,
            fmaxf,
            (ignored_infinity(formula),),
            {"special": quantizer.IGNORE},
        )
    for margin in (0, 3, -2, 60):
        differences = (nan, large_margin(margin)) if margin == 60 else (nan,)
        label = f"{name} delayed, margin {margin}"
        yield Row(label, E4M3, (1, 32), te_delayed(margin), fmaxf, differences, {"margin": margin})
    e8m0 = {"scaling": quantizer.E8M0}
    for block in [(1, 32), (32, 1), (32, 32)]:
        for e in (E4M3, E5M2):
            label = f"{name} MXFP8 {block_name(block)} {e.name}"
            quotient = (SUBNORMAL_QUOTIENT,)
            yield Row(label, e, block, te_mx, fmaxf, (poisoned(0xFF), *quotient), e8m0)
            yield Row(
                f"{label}, clamp", e, block, te_mx, fmaxf, (CLAMPED_NAN, *quotient), e8m0 | {"special": quantizer.CLAMP}
            )
    two_level = {"scaling": quantizer.TWO_LEVEL, "block_scale": quantizer.UE4M3}
    for block in [(1, 16), (16, 16), (16, 1)]:
        label = f"{name} NVFP4 {block_name(block)}"
        yield Row(label, E2M1, block, te_nvfp4, fmaxf, (poisoned_two_levels(0x7F, te_nvfp4),), two_level)
        yield Row(
            f"{label}, ignore",
            E2M1,
            block,
            te_nvfp4,
            fmaxf,
            (ignored_infinity(te_nvfp4, is_tensor=True),),
            two_level | {"special": quantizer.IGNORE},
        )


def deepseek_rows() -> Iterator[Row]:
    for block in [(1, 128), (128, 128)]:
        yield Row(
            f"DeepSeek-V3 {block_name(block)}",
            E4M3,
            block,
            deepseek_v3,
            differences=(poisoned(np.nan), ZERO_BLOCK, SCALE_OF_ZERO),
            recipe={"convention": quantizer.DEEPSEEK},
        )
    for block in [(1, 128), (128, 1), (128, 128)]:
        kinds = {quantizer.F32: "f32", quantizer.POWER_OF_TWO: "UE8M0 as f32", quantizer.E8M0: "UE8M0"}
        for scaling, kind in kinds.items():
            convention = quantizer.DEEPGEMM if scaling == quantizer.F32 else 0
            yield Row(
                f"DeepGEMM {block_name(block)} {kind}",
                E4M3,
                block,
                deepgemm(scaling),
                differences=(poisoned(0xFF if scaling == quantizer.E8M0 else np.nan),),
                recipe={"scaling": scaling, "convention": convention, "epsilon": 1e-4},
            )


def torchao_rows() -> Iterator[Row]:
    rules = {
        "FLOOR": quantizer.FLOOR,
        "CEIL": quantizer.CEIL,
        "EVEN": quantizer.EVEN,
        "RCEIL": quantizer.ROUND_UP,
    }
    for name, rule in rules.items():
        for e in MX_FLOATS:
            for block in [(1, 32), (32, 1), (32, 32)]:
                yield Row(
                    f"torchao {name} {block_name(block)} {e.name}",
                    e,
                    block,
                    torchao_mx(rule),
                    differences=((SUBNORMAL_QUOTIENT,) if rule == quantizer.ROUND_UP else ())
                    + ((EVEN_CARRY,) if rule == quantizer.EVEN else ())
                    + ((SIGN_OF_NAN,) if e in (E2M3, E3M2, E2M1) else ()),
                    recipe={"scaling": quantizer.E8M0, "exponent_rule": rule},
                )


def other_rows() -> Iterator[Row]:
    yield Row(
        "FBGEMM row, bound 2",
        E4M3,
        (1, 0),
        fbgemm(2.0),
        differences=(poisoned(np.nan),),
        recipe={"epsilon": 1e-12, "amax_bound": 2.0},
    )
    # What NVFP4 would be with CUDA's newer format of scales, which no system has yet.
    formula = two_level(114688, ue5m3)
    for block in [(1, 16), (16, 16)]:
        yield Row(
            f"NVFP4 with UE5M3 {block_name(block)}",
            E2M1,
            block,
            formula,
            differences=(poisoned_two_levels(0xFF, formula),),
            recipe={"scaling": quantizer.TWO_LEVEL, "block_scale": quantizer.UE5M3},
        )
    formulas = {
        "round-up": (quantizer.ROUND_UP, exact(quantizer.ROUND_UP)),
        "nearest": (quantizer.NEAREST, exact(quantizer.NEAREST)),
        "least error": (quantizer.LEAST_ERROR, least_error),
    }
    for name, (rule, formula) in formulas.items():
        for e in (*MX_FLOATS, MXINT8):
            for block in [(1, 32), (32, 32)] if rule == quantizer.ROUND_UP else [(1, 32)]:
                yield Row(
                    f"exact {name} {block_name(block)} {e.name}",
                    e,
                    block,
                    formula,
                    Blocks.finite_amax,
                    (poisoned(0xFF),),
                    {"scaling": quantizer.E8M0, "exponent_rule": rule},
                )


# ---- Comparison


def same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a == b) | (np.isnan(a) & np.isnan(b)) if a.dtype == np.float32 else a == b


def equal_blocks(b: Blocks, one: Quantized, other: Quantized) -> np.ndarray:
    """Blocks with the same scale and the same codes, in tensors with the same scale."""
    assert one.scales.dtype == other.scales.dtype and one.scales.shape == other.scales.shape
    assert one.codes.dtype == other.codes.dtype
    equal = same(one.scales, other.scales) & ~b.any(one.codes != other.codes)
    return equal & (one.tensor is None or same(one.tensor, other.tensor))


class Comparison:
    """What was compared of one row, and what differs."""

    def __init__(self, row: Row, quantize: Quantizer):
        self.row, self.quantize = row, quantize
        self.blocks, self.elements, self.wrong = 0, 0, 0
        self.seen = Counter({difference.name: 0 for difference in row.differences})

    def add(self, kind: str, x: np.ndarray, block: tuple[int, int]) -> None:
        row = self.row
        b = Blocks(x, *block)
        recipe = Recipe(block_rows=block[0], block_cols=block[1], element=row.element.number, **row.recipe)
        ours = self.quantize(recipe, x)
        theirs = row.formula(b, row.element, row.amax(b))
        self.blocks += b.grid[0] * b.grid[1]
        self.elements += x.size
        unknown = ~equal_blocks(b, ours, theirs)
        for difference in row.differences:
            if not unknown.any():
                return
            at = unknown & difference.where(b)
            if at.any():
                at &= equal_blocks(b, ours, difference.ours(b, row.element))
                self.seen[difference.name] += int(np.count_nonzero(at))
                unknown &= ~at
        for i, j in np.argwhere(unknown)[: max(0, 3 - self.wrong)]:
            rows, cols = slice(i * b.rows, (i + 1) * b.rows), slice(j * b.cols, (j + 1) * b.cols)
            first = np.argwhere(ours.codes[rows, cols] != theirs.codes[rows, cols])[:1]
            element = "".join(
                f", element {r},{c} {b.x[rows, cols][r, c]!r}: {ours.codes[rows, cols][r, c]:#04x} and "
                f"{theirs.codes[rows, cols][r, c]:#04x}"
                for r, c in first
            )
            print(
                f"  {kind} from {x.dtype}, block {i},{j}, amax {b.amax()[i, j]!r} "
                f"({bits(b.amax())[i, j]:#010x}): scale {ours.scales[i, j]!r} and {theirs.scales[i, j]!r}{element}"
            )
        self.wrong += int(np.count_nonzero(unknown))

    def finish(self, begin: float) -> bool:
        seconds = time.monotonic() - begin
        intended = ", ".join(f"{count} {name!r}" for name, count in self.seen.items())
        print(
            f"{self.row.name:55} {self.blocks:7} blocks {self.elements:8} elements {seconds:4.1f} s: "
            f"{self.wrong} unknown differences{', ' if intended else ''}{intended}",
            flush=True,
        )
        missing = [name for name, count in self.seen.items() if count == 0]
        for name in missing:
            print(f"  FAILED: {name!r} is listed but does not occur")
        return self.wrong == 0 and not missing


SHAPES = [(1, 1), (3, 45), (70, 131), (133, 300)]
WIDE = (np.float32, ml_dtypes.bfloat16, np.float16)


def compare(row: Row, quantize: Quantizer) -> Comparison:
    comparison = Comparison(row, quantize)
    for kind, x in quantizer.inputs(1, SHAPES):
        for wide in WIDE:
            comparison.add(kind, x.astype(wide), row.block)
    # A block for every amax: as the recipe has it where a row is a block; of eight elements where that would be
    # millions, since the formula does not depend on the shape.
    cols = row.block[1] if row.block[0] == 1 and 0 < row.block[1] <= 32 else 8
    comparison.add("edges", quantizer.edges(np.random.default_rng(2), cols), (1, cols))
    return comparison


DOCUMENT = Path(__file__).parents[2] / "docs" / "compatibility.md"


def documented() -> set[str]:
    """The first column of the table between the two comments."""
    text = DOCUMENT.read_text().split("<!-- differences of recipes -->")[1]
    return set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="libofp8.so")
    parser.add_argument("--only", metavar="TEXT", default="", help="the rows whose name has this text")
    options = parser.parse_args()
    quantize = Quantizer(options.library)
    failed, seen = [], Counter()
    blocks, elements, count = 0, 0, 0
    for row in rows():
        if options.only not in row.name:
            continue
        begin = time.monotonic()
        with np.errstate(all="ignore"):
            comparison = compare(row, quantize)
        if not comparison.finish(begin):
            print(f"  repeat: recipes_parity.py LIBRARY --only '{row.name}'")
            failed.append(row.name)
        seen += comparison.seen
        blocks, elements, count = blocks + comparison.blocks, elements + comparison.elements, count + 1
    print(f"{count} recipes, {blocks} blocks, {elements} elements; intended differences by blocks: {dict(seen)}")
    if not options.only and documented() != set(seen):
        failed.append(f"{DOCUMENT.name}: {sorted(documented() ^ set(seen))} in one of table and test alone")
    print(f"{len(failed)} failed {'; '.join(failed)}")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The quantizer of ofp8's C ABI for numpy, and inputs to try it on. Imported, not run."""

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass

import ml_dtypes
import numpy as np

# Numbers of the C ABI, which never change.
WIDE_TYPES = {np.dtype(np.float32): 1, np.dtype(np.float16): 2, np.dtype(ml_dtypes.bfloat16): 3}
UE4M3, UE5M3 = 9, 10
F32, POWER_OF_TWO, E8M0, TWO_LEVEL = range(4)
TRANSFORMER_ENGINE, DEEPSEEK, DEEPGEMM = range(3)
ROUND_UP, FLOOR, CEIL, EVEN, NEAREST, LEAST_ERROR = range(6)
POISON, IGNORE, CLAMP = range(3)


class Recipe(ctypes.Structure):
    """`ofp8_recipe`; what is not given stays zero, which is the default."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("block_rows", ctypes.c_size_t),
        ("block_cols", ctypes.c_size_t),
        ("element", ctypes.c_uint32),
        ("scaling", ctypes.c_uint32),
        ("convention", ctypes.c_uint32),
        ("exponent_rule", ctypes.c_uint32),
        ("special", ctypes.c_uint32),
        ("margin", ctypes.c_int32),
        ("epsilon", ctypes.c_float),
        ("amax_bound", ctypes.c_float),
        ("cast", ctypes.c_uint32 * 4),
        ("block_scale", ctypes.c_uint32),
        ("has_tensor_amax", ctypes.c_uint32),
        ("tensor_amax", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    ]


class Shape(ctypes.Structure):
    """`ofp8_shape` of one matrix without gaps."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("rows", ctypes.c_size_t),
        ("cols", ctypes.c_size_t),
        ("stride", ctypes.c_size_t),
        ("code_stride", ctypes.c_size_t),
        ("wide_type", ctypes.c_uint32),
    ]


@dataclass
class Quantized:
    """Codes, one a byte; the scales of the blocks in the shape of their grid; under two levels that of the tensor."""

    codes: np.ndarray
    scales: np.ndarray
    tensor: "np.ndarray | None" = None


class Quantizer:
    """`ofp8_quantize` of the shared library."""

    def __init__(self, path: str):
        library = ctypes.CDLL(path)
        size, pointer = ctypes.c_size_t, ctypes.c_void_p
        self._quantize = library.ofp8_quantize
        self._quantize.argtypes = [pointer] * 7 + [size] + [pointer] * 2
        self._grid = library.ofp8_scale_grid
        self._grid.argtypes = [pointer, size, size, pointer, pointer]

    def grid(self, recipe: Recipe, rows: int, cols: int) -> tuple[int, int]:
        down, across = ctypes.c_size_t(), ctypes.c_size_t()
        status = self._grid(ctypes.byref(recipe), rows, cols, ctypes.byref(down), ctypes.byref(across))
        assert status == 0, f"ofp8_scale_grid returns {status}"
        return down.value, across.value

    def __call__(self, recipe: Recipe, x: np.ndarray) -> Quantized:
        assert x.flags.c_contiguous
        recipe.struct_size = ctypes.sizeof(Recipe)
        shape = Shape(ctypes.sizeof(Shape), *x.shape, wide_type=WIDE_TYPES[x.dtype])
        scale_type = np.float32 if recipe.scaling in (F32, POWER_OF_TWO) else np.uint8
        scales = np.empty(self.grid(recipe, *x.shape), scale_type)
        codes = np.empty(x.shape, np.uint8)
        tensor = np.empty(1, np.float32) if recipe.scaling == TWO_LEVEL else None
        status = self._quantize(
            ctypes.byref(recipe),
            ctypes.byref(shape),
            None,  # random bits
            x.ctypes.data,
            None,  # amaxes
            codes.ctypes.data,
            scales.ctypes.data,
            scales.size,
            tensor.ctypes.data if tensor is not None else None,
            None,  # statistics
        )
        assert status == 0, f"ofp8_quantize returns {status}"
        return Quantized(codes, scales, tensor)


# The mantissas (of f32) of amax at which rules change: those of the largest elements (448,
# 57344 and 28; 7.5; 6; 127/64), of where they round up, and of powers of two.
TURNS = [0x000000, 0x600000, 0x680000, 0x700000, 0x740000, 0x780000, 0x400000, 0x7C0000, 0x7E0000, 0x7F0000]


def amaxes() -> np.ndarray:
    """Every power of two that f32 has, and in each binade the turns with two neighbours on either side."""
    turns = np.add.outer(np.array(TURNS), np.arange(-2, 3)).ravel()
    bits = np.add.outer(np.arange(256) << 23, turns).ravel()
    bits = np.concatenate([bits, 1 << np.arange(23)])
    bits = np.unique(bits[(bits > 0) & (bits < 0x7F800000)])
    return bits.astype(np.uint32).view(np.float32)


def edges(random: np.random.Generator, cols: int) -> np.ndarray:
    """A row for each amax: itself with either sign somewhere, the others smaller, some by far."""
    amax = amaxes()[:, None]
    others = random.uniform(-1, 1, (amax.size, cols)).astype(np.float32)
    x = amax * others * np.ldexp(np.float32(1), -random.integers(0, 24, others.shape)).astype(np.float32)
    at = random.integers(0, cols, amax.size)
    x[np.arange(amax.size), at] = amax[:, 0] * random.choice(np.array([-1, 1], np.float32), amax.size)
    return x


def normal(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return random.standard_normal(shape, np.float32)


def heavy_tailed(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return (0.02 * random.standard_t(1.5, shape)).astype(np.float32)


def tiny(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """From the smallest subnormal to 2^-100, each row on a level of its own."""
    level = random.uniform(-149, -100, (shape[0], 1))
    return (random.uniform(-1, 1, shape) * np.exp2(level)).astype(np.float32)


def subnormal(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """From the smallest subnormal to 2^-125, so that every block is tiny, however large."""
    return tiny(random, shape) * np.float32(2.0**-25)


def huge(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Up to the largest f32, each row on a level of its own."""
    level = random.uniform(100, 128, (shape[0], 1))
    return np.clip(random.uniform(-1.2, 1.2, shape) * np.exp2(level), -3.4e38, 3.4e38).astype(np.float32)


def special(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Zeros of either sign, subnormals, infinities and NaN of either sign among numbers; some stretches of zeros."""
    x = normal(random, shape)
    rare = random.random(shape)
    at = lambda low, high: (low <= rare) & (rare < high)
    sign = random.choice(np.array([-1, 1], np.float32), shape)
    x = np.where(at(0, 0.1), sign * np.float32(0), x)
    x = np.where(at(0.1, 0.2), sign * random.integers(1, 1 << 23, shape, np.uint32).view(np.float32), x)
    x = np.where(at(0.2, 0.202), sign * np.float32(np.inf), x)
    x = np.where(at(0.202, 0.204), np.copysign(np.float32(np.nan), sign), x)
    zeros = random.random((shape[0], -(-shape[1] // 16))).repeat(16, 1)[:, : shape[1]] < 0.3
    return np.where(zeros, sign * np.float32(0), x).astype(np.float32)


def nan(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """A few NaN and no infinity."""
    return np.where(random.random(shape) < 0.003, np.float32(np.nan), normal(random, shape))


KINDS = {make.__name__: make for make in (normal, heavy_tailed, tiny, subnormal, huge, special, nan)}


def inputs(seed: int, shapes: list[tuple[int, int]]) -> Iterator[tuple[str, np.ndarray]]:
    """Matrices of every kind and shape, and one of zeros."""
    random = np.random.default_rng(seed)
    for shape in shapes:
        for name, make in KINDS.items():
            yield f"{name} {shape[0]}x{shape[1]}", make(random, shape)
    yield "zeros", np.zeros(shapes[-1], np.float32)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""ofp8's C ABI against ml_dtypes, through the shared library.

    python ml_dtypes_parity.py LIBRARY [--full] [--only FORMAT]

Each format that ml_dtypes has gets every f32 whose low 10 bits are zero with both neighbours (which holds each of its
values and ties with its neighbours), every f16, every bf16, and the decoding of every code. `--full` gives E4M3 and
E5M2 every f32.

ml_dtypes has one cast: nearest-even, nothing clamps, NaN keeps its sign. The differences that are known stand in
`FORMATS` with their cause; any other fails, and so does a listed one that does not occur.
"""

import argparse
import ctypes
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import ml_dtypes
import numpy as np

# Numbers of the C ABI, which never change.
F32, F16, BF16 = 1, 2, 3
NEAREST_EVEN, NEAREST_AWAY = 0, 1
SATURATE_NONE = 2
NAN_KEEP_SIGN = 1
SOURCES = {np.dtype(np.float32): F32, np.dtype(np.float16): F16, np.dtype(ml_dtypes.bfloat16): BF16}


class Cast(ctypes.Structure):
    """`ofp8_cast`."""

    _fields_ = [(name, ctypes.c_uint32) for name in ("rounding", "saturation", "nan", "random_bits")]


class Ofp8:
    """The two functions of the shared library that this program compares."""

    def __init__(self, path: str):
        library = ctypes.CDLL(path)
        self._encode, self._decode = library.ofp8_encode, library.ofp8_decode
        self._encode.argtypes = [
            ctypes.c_uint32,  # format
            ctypes.POINTER(Cast),
            ctypes.c_void_p,  # random bits
            ctypes.c_uint32,  # source type
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_void_p,
        ]
        self._decode.argtypes = [
            ctypes.c_uint32,  # format
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_uint32,  # target type
            ctypes.c_void_p,
        ]

    def encode(self, number: int, rounding: int, x: np.ndarray) -> np.ndarray:
        codes = np.empty(x.shape, np.uint8)
        cast = Cast(rounding, SATURATE_NONE, NAN_KEEP_SIGN, 0)
        source = SOURCES[x.dtype]
        status = self._encode(number, ctypes.byref(cast), None, source, x.ctypes.data, x.size, codes.ctypes.data)
        assert status == 0, f"ofp8_encode returns {status}"
        return codes

    def decode(self, number: int, codes: np.ndarray) -> np.ndarray:
        values = np.empty(codes.shape, np.float32)
        status = self._decode(number, codes.ctypes.data, codes.size, F32, values.ctypes.data)
        assert status == 0, f"ofp8_decode returns {status}"
        return values


@dataclass(frozen=True)
class Format:
    number: int
    bits: int
    dtype: type
    rounding: int = NEAREST_EVEN
    differences: "tuple[Difference, ...]" = ()


@dataclass(frozen=True)
class Difference:
    """Inputs (given as f32) that ml_dtypes encodes otherwise, why, and what ofp8 must give for them."""

    cause: str
    where: Callable[[np.ndarray], np.ndarray]
    ours: Callable[[Format, np.ndarray], np.ndarray]


def all_ones_with_sign(row: Format, x: np.ndarray) -> np.ndarray:
    magnitude = (1 << (row.bits - 1)) - 1
    return np.where(np.signbit(x), magnitude | 1 << (row.bits - 1), magnitude)


def e8m0_subnormal(x: np.ndarray) -> np.ndarray:
    return (x > 2.0**-127) & (x < 1.5 * 2.0**-127)


def e8m0_of_magnitude(row: Format, x: np.ndarray) -> np.ndarray:
    x = np.abs(x)
    return np.where(e8m0_subnormal(x), 0, x.astype(row.dtype).view(np.uint8))


NAN_PAYLOAD = Difference(
    "NaN: ml_dtypes sets the top mantissa bit alone, ofp8 all of them as CUDA", np.isnan, all_ones_with_sign
)
NAN_TO_ZERO = Difference(
    "NaN into a format without NaN: ml_dtypes gives zero with the sign flipped, ofp8 the largest value",
    np.isnan,
    all_ones_with_sign,
)
E8M0_NEGATIVE = Difference(
    "a negative value: ml_dtypes gives NaN, ofp8 encodes the magnitude as CUDA and PyTorch",
    lambda x: x < 0,
    e8m0_of_magnitude,
)
E8M0_ZERO = Difference("zero: ml_dtypes gives NaN, ofp8 the smallest code", lambda x: x == 0, lambda row, x: x)
E8M0_SUBNORMAL = Difference(
    "between 2^-127 and 1.5 * 2^-127: ml_dtypes rounds up, ofp8 to the nearest", e8m0_subnormal, e8m0_of_magnitude
)


FORMATS = {
    "E4M3": Format(1, 8, ml_dtypes.float8_e4m3fn),
    "E5M2": Format(2, 8, ml_dtypes.float8_e5m2, differences=(NAN_PAYLOAD,)),
    "E4M3Fnuz": Format(3, 8, ml_dtypes.float8_e4m3fnuz),
    "E5M2Fnuz": Format(4, 8, ml_dtypes.float8_e5m2fnuz),
    # One significand bit: what ml_dtypes calls nearest takes ties up.
    "E8M0": Format(5, 8, ml_dtypes.float8_e8m0fnu, NEAREST_AWAY, (E8M0_NEGATIVE, E8M0_ZERO, E8M0_SUBNORMAL)),
    "E4M3B11Fnuz": Format(6, 8, ml_dtypes.float8_e4m3b11fnuz),
    "E4M3Ieee": Format(7, 8, ml_dtypes.float8_e4m3),
    "E3M4": Format(8, 8, ml_dtypes.float8_e3m4),
    "E2M3": Format(11, 6, ml_dtypes.float6_e2m3fn, differences=(NAN_TO_ZERO,)),
    "E3M2": Format(12, 6, ml_dtypes.float6_e3m2fn, differences=(NAN_TO_ZERO,)),
    "E2M1": Format(13, 4, ml_dtypes.float4_e2m1fn, differences=(NAN_TO_ZERO,)),
}

CHUNK = 1 << 22


def every_f32() -> Iterator[np.ndarray]:
    for first in range(0, 1 << 32, CHUNK):
        yield np.arange(first, first + CHUNK, dtype=np.uint64).astype(np.uint32).view(np.float32)


def grid_f32() -> Iterator[np.ndarray]:
    grid = np.arange(1 << 22, dtype=np.uint32) << 10
    for step in (-1, 0, 1):
        yield (grid + np.uint32(step % (1 << 32))).view(np.float32)


def every_half(dtype: type) -> Iterator[np.ndarray]:
    yield np.arange(1 << 16, dtype=np.uint16).view(dtype)


class Comparison:
    """Counts what differs in one format, from one source."""

    def __init__(self, name: str, row: Format):
        self.name, self.row = name, row
        self.inputs, self.wrong = 0, 0
        self.intended = dict.fromkeys(row.differences, 0)
        self.begin = time.monotonic()

    def add(self, x: np.ndarray, ours: np.ndarray, theirs: np.ndarray) -> None:
        self.inputs += x.size
        at = np.nonzero(ours != theirs)[0]
        if not at.size:
            return
        values = x[at].astype(np.float32)
        unknown = np.ones(at.size, bool)
        for difference in self.row.differences:
            here = difference.where(values) & (ours[at] == difference.ours(self.row, values))
            self.intended[difference] += int(np.count_nonzero(here))
            unknown &= ~here
        for i in at[unknown][: max(0, 5 - self.wrong)]:
            bits = x[i : i + 1].view(f"u{x.itemsize}")[0]
            print(f"  {self.name}: input {bits:#x}: ofp8 {ours[i]:#04x}, ml_dtypes {theirs[i]:#04x}")
        self.wrong += int(np.count_nonzero(unknown))

    def finish(self) -> bool:
        intended = sum(self.intended.values())
        seconds = time.monotonic() - self.begin
        print(
            f"{self.name:24} {self.inputs:10} inputs, {intended:8} intended differences, "
            f"{self.wrong} others, {seconds:.1f} s",
            flush=True,
        )
        return self.wrong == 0


def compare(ofp8: Ofp8, name: str, row: Format, full: bool) -> bool:
    """Compares one format both ways; true if nothing but the listed differences was seen."""
    good = True
    seen = dict.fromkeys(row.differences, 0)
    sources = {
        "f32": every_f32() if full and name in ("E4M3", "E5M2") else grid_f32(),
        "f16": every_half(np.float16),
        "bf16": every_half(ml_dtypes.bfloat16),
    }
    for source, chunks in sources.items():
        comparison = Comparison(f"{source} to {name}", row)
        for x in chunks:
            comparison.add(x, ofp8.encode(row.number, row.rounding, x), x.astype(row.dtype).view(np.uint8))
        good &= comparison.finish()
        for difference, count in comparison.intended.items():
            seen[difference] += count
    for difference, count in seen.items():
        print(f"  {count} times: {difference.cause}")
        if count == 0:
            print("  FAILED: that difference is listed but does not occur")
            good = False

    codes = np.arange(1 << row.bits, dtype=np.uint8)
    ours, theirs = ofp8.decode(row.number, codes), codes.view(row.dtype).astype(np.float32)
    # Payload and sign of a NaN differ from library to library: it has to be one.
    same = (ours.view(np.uint32) == theirs.view(np.uint32)) | (np.isnan(ours) & np.isnan(theirs))
    for code in codes[~same]:
        print(f"  {name} to f32: code {code:#04x}: ofp8 {ours[code]}, ml_dtypes {theirs[code]}")
    print(f"{f'{name} to f32':24} {codes.size:10} codes, {np.count_nonzero(~same)} differences")
    good &= bool(same.all())
    if not good:
        print(f"  repeat: ml_dtypes_parity.py LIBRARY --only {name}{' --full' if full else ''}")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="libofp8.so")
    parser.add_argument("--full", action="store_true", help="every f32 for E4M3 and E5M2")
    parser.add_argument("--only", choices=FORMATS, metavar="FORMAT", help="one format")
    options = parser.parse_args()
    ofp8 = Ofp8(options.library)
    names = [options.only] if options.only else list(FORMATS)
    with np.errstate(all="ignore"):
        failed = [name for name in names if not compare(ofp8, name, FORMATS[name], options.full)]
    print(f"ml_dtypes {ml_dtypes.__version__}: {len(names)} formats compared, {len(failed)} failed {' '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

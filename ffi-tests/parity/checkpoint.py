# SPDX-License-Identifier: MIT OR Apache-2.0
"""The example `quantize` against numpy and ml_dtypes, which share nothing with it.

    checkpoint.py split FILE FOLDER          split a safetensors file into a model directory of three shards
    checkpoint.py check IN OUT OPTION...     IN and OUT: files or directories; OUT made by `quantize` with these options

`check` opens every output with safetensors, computes the codes and scales of every quantized tensor
anew, and compares bit for bit. What is not quantized must be equal to the input.
"""

import argparse
import json
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

# safetensors looks for these types in numpy, where they may be one day.
for name in ("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"):
    if not hasattr(np, name):
        setattr(np, name, getattr(ml_dtypes, name))

INDEX = "model.safetensors.index.json"

# Elements by the name of their format: type, largest value, bits.
ELEMENTS = {
    "e4m3": (ml_dtypes.float8_e4m3fn, np.float32(448), 8),
    "e2m3": (ml_dtypes.float6_e2m3fn, np.float32(7.5), 6),
    "e3m2": (ml_dtypes.float6_e3m2fn, np.float32(28), 6),
    "e2m1": (ml_dtypes.float4_e2m1fn, np.float32(6), 4),
}


def split(source, folder):
    """Three shards, tensor by tensor in turn, with an index, a configuration and a tokenizer."""
    folder.mkdir(parents=True)
    tensors = load_file(source)
    with safe_open(source, "numpy") as file:
        text = file.metadata()
    names = [f"model-{i + 1:05}-of-00003.safetensors" for i in range(3)]
    weight_map = {name: names[i % 3] for i, name in enumerate(sorted(tensors))}
    for shard in names:
        save_file({name: tensors[name] for name in tensors if weight_map[name] == shard}, folder / shard, text)
    total = sum(tensor.nbytes for tensor in tensors.values())
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (folder / INDEX).write_text(json.dumps(index))
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    (folder / "tokenizer.json").write_text("{}")


def load(path):
    """Every tensor of a file or a directory, and the text of the headers."""
    if path.is_file():
        files = [path]
    else:
        weight_map = json.loads((path / INDEX).read_text())["weight_map"]
        files = sorted({path / file for file in weight_map.values()})
    tensors, text = {}, None
    for file in files:
        tensors.update(load_file(file))
        with safe_open(file, "numpy") as opened:
            text = opened.metadata()
    if not path.is_file():
        assert set(weight_map) == set(tensors), "the index lists what the shards hold"
    return tensors, text


def amax(x, rows, cols):
    """The largest absolute value of each block, and the same in the shape of x."""
    down, across = -(-x.shape[0] // rows), -(-x.shape[1] // cols)
    padded = np.zeros((down * rows, across * cols), np.float32)
    padded[: x.shape[0], : x.shape[1]] = np.abs(x)
    blocks = padded.reshape(down, rows, across, cols).max(axis=(1, 3))
    return blocks, lambda a: a.repeat(rows, 0).repeat(cols, 1)[: x.shape[0], : x.shape[1]]


def encode(x, element):
    dtype, largest, _ = ELEMENTS[element]
    return np.clip(x, -largest, largest).astype(dtype)


def pack(codes, bits):
    """Rows as strings of bits, the lowest first, in bytes: FP4 two to a byte, FP6 four to three."""
    if bits == 8:
        return codes
    spread = np.unpackbits(codes.view(np.uint8)[..., None], axis=-1, bitorder="little")[..., :bits]
    return np.packbits(spread.reshape(len(codes), -1), axis=-1, bitorder="little")


def multiplied(x, rows, cols, element):
    """TransformerEngine: multiply by max/amax, store the inverse of that."""
    a, spread = amax(x, rows, cols)
    factor = ELEMENTS[element][1] / a
    return encode(x * spread(factor), element), [np.float32(1) / factor]


def divided(x, rows, cols, element):
    """DeepSeek: divide by amax/max, store that."""
    a, spread = amax(x, rows, cols)
    scale = a / ELEMENTS[element][1]
    return encode(x / spread(scale), element), [scale]


def round_up(a, element):
    """MX, round-up: the exponent of the smallest power of two 2^e with amax <= max * 2^e."""
    # amax = m * 2^e with m in [0.5, 1), and so the largest element.
    (m, e), (m_max, e_max) = np.frexp(a), np.frexp(ELEMENTS[element][1])
    return np.where(a == 0, -127, np.clip(e - e_max + (m > m_max), -127, 127))


def shifted(x, rows, cols, element):
    a, spread = amax(x, rows, cols)
    return under(x, round_up(a, element), spread, element)


def under(x, exponent, spread, element):
    """Codes and scales by the exponents of the scales."""
    scale = np.ldexp(np.float32(1), exponent).astype(ml_dtypes.float8_e8m0fnu)
    return encode(np.ldexp(x, -spread(exponent)), element), [scale]


def least_error(x, rows, cols, element):
    """Of that scale and the one below, the one with the smaller sum of squares: blocks of a row, in order, in f64."""
    a, spread = amax(x, rows, cols)
    upper = round_up(a, element)
    lower = np.maximum(upper - 1, -127)

    def error(exponent):
        codes, _ = under(x, exponent, spread, element)
        back = np.ldexp(codes.astype(np.float32), spread(exponent))
        squares = (x.astype(np.float64) - back) ** 2
        sums = np.zeros(a.shape)
        for col in range(cols):
            part = squares[:, col::cols]
            sums[:, : part.shape[1]] += part
        return sums

    return under(x, np.where(error(lower) < error(upper), lower, upper), spread, element)


def two_levels(x, rows, cols, element):
    """NVFP4: a scale for the tensor under which those of the blocks are E4M3."""
    a, spread = amax(x, rows, cols)
    largest = ELEMENTS[element][1]
    factor = np.float32(448) * largest / a.max()
    scale = np.clip(a * (factor * (np.float32(1) / largest)), 0, 448).astype(ml_dtypes.float8_e4m3fn)
    above = np.float32(1) / factor
    inverse = np.minimum(np.float32(1) / (scale.astype(np.float32) * above), np.finfo(np.float32).max)
    return encode(x * spread(inverse), element), [scale, np.array(above)]


# By recipe: how, the block for a tensor of that shape, the names of the scales, the default format.
RECIPES = {
    "tensor": (multiplied, lambda rows, cols: (rows, cols), ["_scale"], "e4m3"),
    "row": (multiplied, lambda rows, cols: (1, cols), ["_scale"], "e4m3"),
    "block128": (divided, lambda rows, cols: (128, 128), ["_scale_inv"], "e4m3"),
    "tile128": (divided, lambda rows, cols: (1, 128), ["_scale_inv"], "e4m3"),
    "mxfp8": (shifted, lambda rows, cols: (1, 32), ["_scale"], "e4m3"),
    "mxfp6": (shifted, lambda rows, cols: (1, 32), ["_scale"], "e2m3"),
    "mxfp4": (shifted, lambda rows, cols: (1, 32), ["_scale"], "e2m1"),
    "nvfp4": (two_levels, lambda rows, cols: (1, 16), ["_scale", "_scale_2"], "e2m1"),
}


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def check(source, result, options):
    recipe = options.recipe
    quantize, block, suffixes, element = RECIPES[recipe]
    quantize = least_error if options.least_error else quantize
    element = options.format or element
    bits = ELEMENTS[element][2]
    (before, text_before), (after, text_after) = load(source), load(result)
    assert text_before == text_after, "the text of the header is kept"
    assert text_before, "the input has a text, or this checks nothing"
    quantized = [name for name in before if after[name].dtype != before[name].dtype]
    for name, x in before.items():
        if name not in quantized:
            assert same(x, after[name]), f"{name} is copied"
            continue
        assert x.dtype == np.float32 and x.ndim == 2, name
        with np.errstate(divide="ignore"):
            codes, scales = quantize(x, *block(*x.shape), element)
        if recipe == "tensor":
            scales = [scales[0].reshape(1)]
        assert same(pack(codes, bits), after[name]), f"{name}: codes"
        for suffix, scale in zip(suffixes, scales, strict=True):
            assert same(scale, after[name + suffix]), f"{name}{suffix}"
    assert len(quantized) >= 3, quantized
    assert len(after) == len(before) + len(suffixes) * len(quantized), "scale tensors, and nothing else"
    if result.is_dir():
        check_directory(recipe, source, result, after)
    elements = sum(before[name].size for name in quantized)
    print(f"{' '.join(sys.argv[4:])}: {len(quantized)} tensors, {elements} elements and their scales are equal")


def check_directory(recipe, source, result, tensors):
    index = json.loads((result / INDEX).read_text())
    assert index["metadata"]["total_size"] == sum(tensor.nbytes for tensor in tensors.values())
    assert len(set(index["weight_map"].values())) == 3
    assert (result / "tokenizer.json").read_bytes() == (source / "tokenizer.json").read_bytes()
    config = json.loads((result / "config.json").read_text())
    assert config["model_type"] == "bert"
    block = {"block128": [128, 128], "tile128": [1, 128]}.get(recipe)
    if block is None:
        assert "quantization_config" not in config
    else:
        expected = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": block}
        assert expected.items() <= config["quantization_config"].items(), config


def options_of(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--recipe", choices=RECIPES, required=True)
    parser.add_argument("--format", choices=ELEMENTS)
    parser.add_argument("--least-error", action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["split", source, folder]:
            split(Path(source), Path(folder))
        case ["check", source, result, *options]:
            check(Path(source), Path(result), options_of(options))
        case _:
            sys.exit(__doc__)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The example `quantize` against numpy and ml_dtypes, which share nothing with it.

    checkpoint.py split FILE FOLDER          split a safetensors file into a model directory of three shards
    checkpoint.py check RECIPE IN OUT        IN and OUT: files or directories; OUT made by `quantize --recipe RECIPE`

`check` opens every output with safetensors, computes the codes and scales of every quantized tensor
anew, and compares bit for bit. What is not quantized must be equal to the input.
"""

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
MAX = np.float32(448)  # of E4M3


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


def encode(x):
    return np.clip(x, -MAX, MAX).astype(ml_dtypes.float8_e4m3fn)


def multiplied(x, rows, cols):
    """TransformerEngine: multiply by max/amax, store the inverse of that."""
    a, spread = amax(x, rows, cols)
    factor = MAX / a
    return encode(x * spread(factor)), np.float32(1) / factor


def divided(x, rows, cols):
    """DeepSeek: divide by amax/max, store that."""
    a, spread = amax(x, rows, cols)
    scale = a / MAX
    return encode(x / spread(scale)), scale


def shifted(x, rows, cols):
    """MX, round-up: the smallest power of two 2^e with amax <= 448 * 2^e."""
    a, spread = amax(x, rows, cols)
    # amax = m * 2^e with m in [0.5, 1), 448 = 0.875 * 2^9.
    m, e = np.frexp(a)
    exponent = np.where(a == 0, -127, np.clip(e - 9 + (m > 0.875), -127, 127))
    scale = np.ldexp(np.float32(1), exponent).astype(ml_dtypes.float8_e8m0fnu)
    return encode(np.ldexp(x, -spread(exponent))), scale


# By recipe: how, the block for a tensor of that shape, the name and the shape of the scales.
RECIPES = {
    "tensor": (multiplied, lambda rows, cols: (rows, cols), "_scale"),
    "row": (multiplied, lambda rows, cols: (1, cols), "_scale"),
    "block128": (divided, lambda rows, cols: (128, 128), "_scale_inv"),
    "tile128": (divided, lambda rows, cols: (1, 128), "_scale_inv"),
    "mxfp8": (shifted, lambda rows, cols: (1, 32), "_scale"),
}


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def check(recipe, source, result):
    quantize, block, suffix = RECIPES[recipe]
    (before, text_before), (after, text_after) = load(source), load(result)
    assert text_before == text_after, "the text of the header is kept"
    assert text_before, "the input has a text, or this checks nothing"
    quantized = [name for name in before if after[name].dtype != before[name].dtype]
    for name, x in before.items():
        if name not in quantized:
            assert same(x, after[name]), f"{name} is copied"
            continue
        assert x.dtype == np.float32 and x.ndim == 2, name
        codes, scale = quantize(x, *block(*x.shape))
        if recipe == "tensor":
            scale = scale.reshape(1)
        assert same(codes, after[name]), f"{name}: codes"
        assert same(scale, after[name + suffix]), f"{name}: scales"
    assert len(quantized) >= 3, quantized
    assert len(after) == len(before) + len(quantized), "a scale tensor each, and nothing else"
    if result.is_dir():
        check_directory(recipe, source, result, after)
    elements = sum(before[name].size for name in quantized)
    print(f"{recipe}: {len(quantized)} tensors, {elements} elements and their scales are equal")


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


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["split", source, folder]:
            split(Path(source), Path(folder))
        case ["check", recipe, source, result]:
            check(recipe, Path(source), Path(result))
        case _:
            sys.exit(__doc__)

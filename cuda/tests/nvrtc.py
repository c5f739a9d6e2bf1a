# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles instructions.cu with an NVRTC library, which has no standard headers. Needs no GPU.

    nvrtc.py LIBRARY ARCHITECTURE...
"""

import ctypes
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main(library, architectures):
    nvrtc = ctypes.CDLL(library)
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    with open(os.path.join(HERE, "instructions.cu"), "rb") as file:
        source = file.read()
    for architecture in architectures:
        options = [
            f"--gpu-architecture={architecture}",
            "--std=c++17",
            "-I" + os.path.join(HERE, "..", "..", "include"),
            "-I" + os.path.join(HERE, ".."),
        ]
        text = compile(nvrtc, source, [option.encode() for option in options])
        count = text.count(b".entry")
        if count < 11:
            sys.exit(f"FAILED: only {count} kernels in the PTX for {architecture}")
        print(f"nvrtc {major.value}.{minor.value}: {architecture}: {count} kernels, {len(text)} bytes of PTX")


def compile(nvrtc, source, options):
    """The PTX of a source; ends the program with the log where there is an error or a warning."""
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"instructions.cu", 0, None, None)
    array = (ctypes.c_char_p * len(options))(*options)
    status = nvrtc.nvrtcCompileProgram(program, len(options), array)
    log = read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
    if status != 0 or log.strip(b"\0\n "):
        sys.exit(f"FAILED: NVRTC reports {status} for {options}:\n{log.decode()}")
    return read(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)


def read(size_of, get, program):
    size = ctypes.c_size_t()
    size_of(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    get(program, buffer)
    return buffer.value


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

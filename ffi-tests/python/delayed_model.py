# SPDX-License-Identifier: MIT OR Apache-2.0
"""Delayed scaling as the documentation of src/scale/delayed.rs states it, in plain Python on floats.

Reads traces from standard input and writes what every step gives. A trace begins with

    trace HISTORY TENSORS most_recent|max hold|clamp|poison INTERVAL CALIBRATION MARGIN

and has a line a step: for each tensor the bits of the f32 amaxes that passes saw, joined by commas, or - where it
did not run. The answer to a step: for each tensor the amax it is quantized with, its scale (the multiplier that
TransformerEngine calls scale_inv), the amax after the update, and the count of infinities and NaN; then whether the
step was due. At the end of a trace come the histories.
"""
import math
import struct
import sys

FLT_MAX = struct.unpack("<f", struct.pack("<I", 0x7F7FFFFF))[0]


def from_bits(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def f32(value):
    """Rounds a double; beyond the largest, that one (TransformerEngine's FLT_MAX)."""
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return FLT_MAX


def to_bits(value):
    return "nan" if math.isnan(value) else "%08x" % struct.unpack("<I", struct.pack("<f", value))[0]


def larger(a, b):
    """The maximum that keeps NaN."""
    return math.nan if math.isnan(a) or math.isnan(b) else max(a, b)


def scale_inv(amax, margin):
    if math.isnan(amax):
        return math.nan
    if amax == 0.0:
        return 1.0
    return min(f32(1.0 / f32(448.0 * 2.0**-margin / amax)), FLT_MAX)


class Tensor:
    def __init__(self, length):
        self.history = [0.0] * length
        self.in_use = 0.0
        self.entries = 0
        self.not_finite = 0

    def stand_in(self, amax, policy):
        """What an amax counts as; None where it does not count."""
        if math.isfinite(amax):
            return amax
        return {"hold": None, "clamp": FLT_MAX, "poison": math.nan}[policy]

    def amax(self, calibration, policy):
        if self.entries >= calibration:
            return self.in_use
        at_hand = self.stand_in(self.history[0], policy) or 0.0
        for past in self.history[1:]:
            at_hand = larger(at_hand, past)
        return self.in_use if at_hand == 0.0 else at_hand

    def update(self, most_recent, policy):
        last = self.history[0]
        if last == 0.0:
            return
        if not math.isfinite(last):
            self.not_finite += 1
            self.history[0] = 0.0
            counts_as = self.stand_in(last, policy)
            if counts_as is not None:
                self.in_use = counts_as
            return
        self.in_use = last if most_recent else max(self.history)
        self.history = [0.0] + self.history[2:] + [last] if len(self.history) > 1 else [0.0]
        self.entries += 1


def run_trace(words, lines):
    length, count = int(words[1]), int(words[2])
    most_recent, policy = words[3] == "most_recent", words[4]
    interval, calibration, margin = map(int, words[5:8])
    tensors = [Tensor(length) for _ in range(count)]
    for step, line in enumerate(lines, 1):
        for tensor, seen in zip(tensors, line.split()):
            if seen != "-":
                for bits in seen.split(","):
                    tensor.history[0] = larger(tensor.history[0], abs(from_bits(int(bits, 16))))
        used = [tensor.amax(calibration, policy) for tensor in tensors]
        due = step % interval == 0
        if due:
            for tensor in tensors:
                tensor.update(most_recent, policy)
        for tensor, amax in zip(tensors, used):
            after = tensor.amax(calibration, policy)
            print(to_bits(amax), to_bits(scale_inv(amax, margin)), to_bits(after), tensor.not_finite, end=" ")
        print("due" if due else "-")
    for tensor in tensors:
        print("history", *[to_bits(amax) for amax in tensor.history])


def main():
    traces = []
    for line in sys.stdin:
        words = line.split()
        if words[0] == "trace":
            traces.append((words, []))
        else:
            traces[-1][1].append(line)
    for words, lines in traces:
        run_trace(words, lines)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads what `nvcc -Xptxas=-v` printed: fails where a kernel spills or keeps anything in local memory, or where fewer
architectures than asked for were compiled; prints the registers of each kernel as a table.

    registers.py ARCHITECTURES < LOG
"""

import re
import subprocess
import sys

FORMATS = {"1": "E4M3", "2": "E5M2", "11": "E2M3", "12": "E3M2", "13": "E2M1"}


def kernels(log):
    """(kernel, architecture, registers, bytes of stack, spilled) of each."""
    log = subprocess.run(["c++filt"], input=log, capture_output=True, text=True, check=True).stdout
    name = architecture = stack = None
    for line in log.splitlines():
        if found := re.search(r"Compiling entry function '(.*)' for 'sm_(\w+)'", line):
            name, architecture = short(found[1]), found[2]
        elif found := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill", line):
            stack = [int(number) for number in found.groups()]
        elif found := re.search(r"Used (\d+) registers", line):
            yield name, architecture, int(found[1]), stack


def short(name):
    """`tile<(ofp8::Format)1, float, 32u, true>` as people say it."""
    name = re.sub(r"ofp8::|kernel::|void ", "", name)
    name = re.sub(r"\(Format\)(\d+)", lambda found: FORMATS[found[1]], name)
    # The last argument of the kernels that have one is whether the cast is the default.
    name = re.sub(r", true>.*", ">", name)
    name = re.sub(r", false>.*", ">, any cast", name)
    name = re.sub(r"(\d+)u\b", r"\1", name)
    return re.sub(r"\(.*", "", name)


def main(expected):
    table, bad = {}, []
    for name, architecture, registers, stack in kernels(sys.stdin.read()):
        table.setdefault(name, {})[architecture] = registers
        if any(stack):
            bad.append(f"{name} on sm_{architecture}: {stack[0]} bytes of stack, {stack[1]} + {stack[2]} spilled")
    architectures = sorted({a for row in table.values() for a in row}, key=lambda a: int(a.rstrip("af")))
    print("| kernel | " + " | ".join(architectures) + " |")
    print("|---|" + "---|" * len(architectures))
    for name, row in sorted(table.items()):
        print(f"| `{name}` | " + " | ".join(str(row.get(a, "-")) for a in architectures) + " |")
    if bad or len(architectures) != expected or len(table) < 50:
        sys.exit("FAILED: " + "\n".join(bad or [f"{len(table)} kernels for {architectures}"]))
    print(f"registers: {len(table)} kernels, {len(architectures)} architectures, no stack, no spill")


if __name__ == "__main__":
    main(int(sys.argv[1]))

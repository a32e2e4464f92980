#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions of Octet's kernels for aarch64, counted by an emulator, beside those of XNNPACK's where its library is given.

    tools/aarch64.sh --core && ninja -C build/aarch64 kernel_counts
    bench/counts.py [--reals] [--build build/aarch64] [--root build/aarch64-root] [--xnnpack FOLDER] [--layers PART] [--levels neon,dotprod,i8mm]

--reals: kernels of f32 instead, for each four values; of a convolution, for each multiply-add of four.
--xnnpack: where Debian's arm64 packages libxnnpack0, libxnnpack-dev, libpthreadpool0, libpthreadpool-dev, libcpuinfo0 are unpacked (dpkg -x).
QEMU runs one instruction at a time and writes a line for each; what two runs have more than one is what a run takes. Counts say how much
work a kernel does for a layer, and nothing of time."""

import argparse
import pathlib
import subprocess
import tempfile

# name, input channels, output channels, height and width, window, stride, groups: pixels are fewer than in the networks where maps are large.
LAYERS = (
    ("resnet50 stem", 3, 64, 24, 7, 2, 1),
    ("resnet50 res2 1x1", 64, 64, 12, 1, 1, 1),
    ("resnet50 res2 3x3", 64, 64, 12, 3, 1, 1),
    ("resnet50 res2 expand", 64, 256, 12, 1, 1, 1),
    ("resnet50 res3 reduce", 512, 128, 12, 1, 1, 1),
    ("resnet50 res4 3x3", 256, 256, 7, 3, 1, 1),
    ("resnet50 res5 expand", 512, 2048, 7, 1, 1, 1),
    ("mobilenet2 stem", 3, 32, 24, 3, 2, 1),
    ("mobilenet2 16 to 96", 16, 96, 12, 1, 1, 1),
    ("mobilenet2 144 to 24", 144, 24, 12, 1, 1, 1),
    ("mobilenet2 960 to 160", 960, 160, 7, 1, 1, 1),
    ("mobilenet2 dw 144", 144, 144, 14, 3, 1, 144),
    ("mobilenet2 dw 96 s2", 96, 96, 28, 3, 2, 96),
    ("mobilenet2 dw 960", 960, 960, 7, 3, 1, 960),
    ("bert 768 to 768", 768, 768, 6, 1, 1, 1),
    ("bert 768 to 3072", 768, 3072, 6, 1, 1, 1),
)
# Kernels of f32: name, rows, values of each. A convolution's rows are pixels, by panels of sixteen outputs.
REALS = (("conv", 36, 64), ("conv", 36, 576), ("relu", 8, 512), ("sigmoid", 8, 512), ("tanh", 8, 512), ("gelu", 8, 512), ("exp", 8, 512),
         ("softmax", 16, 128), ("layer_norm", 8, 768))

# The processor that QEMU is, the kernels, and how many products one multiplying instruction of the convolution makes.
LEVELS = {
    "neon": ("cortex-a53", "conv_u8s8_6x16_neon", "depthwise_u8s8_16_neon", 4),
    "dotprod": ("neoverse-n1", "conv_u8s8_6x16_dotprod", "depthwise_u8s8_16_dotprod", 16),
    "i8mm": ("max", "conv_u8s8_6x16_i8mm", "depthwise_u8s8_16_dotprod", 32),
}


def macs(layer):
    _, channels, outputs, size, window, stride, groups = layer
    out = (size + 2 * (window // 2) - window) // stride + 1
    return out * out * outputs * channels // groups * window * window


class Emulator:
    def __init__(self, root, processor, libraries):
        self.command = ["qemu-aarch64-static", "-cpu", processor, "-singlestep", "-d", "exec,nochain", "-L", str(root)]
        if libraries:
            self.command += ["-E", f"LD_LIBRARY_PATH={libraries}"]

    def instructions(self, program, arguments):
        run = subprocess.Popen([*self.command, str(program), *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        count = subprocess.run(["grep", "-c", "^Trace"], stdin=run.stderr, capture_output=True, text=True, check=False)
        run.stderr.close()
        if run.wait() != 0:
            raise SystemExit(f"error: {program} {' '.join(map(str, arguments))} ended with {run.returncode}")
        return int(count.stdout)

    def of_one_run(self, program, before, sizes):
        once, twice = (self.instructions(program, (*before, runs, *sizes)) for runs in (1, 2))
        return twice - once


def compile_peer(arguments, work):
    library = arguments.xnnpack / "usr/lib/aarch64-linux-gnu"
    program = work / "counts_xnnpack"
    subprocess.run(["aarch64-linux-gnu-gcc-12", f"--sysroot={arguments.root.resolve()}", "-O2", f"-I{arguments.xnnpack}/usr/include", "-o", program,
                    pathlib.Path(__file__).parent / "counts_xnnpack.c", f"-L{library}", "-lXNNPACK", f"-Wl,-rpath-link,{library}"], check=True)
    return program, library


def rows(arguments, work):
    peer = compile_peer(arguments, work) if arguments.xnnpack else None
    for level in arguments.levels.split(","):
        processor, conv, depthwise, products = LEVELS[level]
        for layer in LAYERS:
            name, *sizes = layer
            if arguments.layers not in name:
                continue
            own = Emulator(arguments.root, processor, None).of_one_run(arguments.build / "src/kernel_counts", [conv if sizes[-1] == 1 else depthwise], sizes)
            other = None
            if peer:
                other = Emulator(arguments.root, processor, peer[1]).of_one_run(peer[0], [], sizes)
            yield level, name, macs(layer), own, macs(layer) / products if sizes[-1] == 1 else None, other


def print_reals(arguments):
    emulator = Emulator(arguments.root, "cortex-a53", None)
    print("| kernel | instructions | of each four |\n|---|---|---|")
    for name, rows_of, count in REALS:
        taken = emulator.of_one_run(arguments.build / "src/kernel_counts", [f"f32:{name}"], (rows_of, count))
        fours = rows_of * count * (16 if name == "conv" else 1) / 4
        print(f"| {name}, {rows_of} of {count} | {taken} | {taken / fours:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/aarch64"))
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path("build/aarch64-root"))
    parser.add_argument("--xnnpack", type=pathlib.Path)
    parser.add_argument("--reals", action="store_true")
    parser.add_argument("--layers", default="")
    parser.add_argument("--levels", default=",".join(LEVELS))
    arguments = parser.parse_args()
    if arguments.reals:
        return print_reals(arguments)
    print("| level | layer | products | instructions | by the floor | XNNPACK | Octet / XNNPACK |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as work:
        for level, name, products, own, floor, other in rows(arguments, pathlib.Path(work)):
            by_floor = f"{own / floor:.2f}" if floor else "–"
            print(f"| `{level}` | {name} | {products} | {own} | {by_floor} | {other or '–'} | {f'{own / other:.2f}' if other else '–'} |", flush=True)


if __name__ == "__main__":
    main()

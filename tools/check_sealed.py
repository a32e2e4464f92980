#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Objects of instruction-set files (*_avx2, *_avxvnni, *_vnni, *_bf16, *_amx, *_neon, *_dotprod, *_i8mm) define no weak symbol: the linker
may keep their copy of an inline function for code that runs on every machine. At -O2 most such functions are inlined away, so run this on a
debug build as well. Argument: the build folder."""

import argparse
import pathlib
import re
import subprocess
import sys

ISA_OBJECT = re.compile(r"_(avx2|avxvnni|vnni|bf16|amx|neon|dotprod|i8mm)\.cc\.o$")
WEAK = re.compile(r"^[0-9a-f]+ ([WVu]) (.+)$")


def weak_symbols(nm_program, path):
    nm = subprocess.run([nm_program, "--demangle", str(path)], capture_output=True, text=True, check=True)
    return [m.group(2) for m in map(WEAK.match, nm.stdout.splitlines()) if m]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", nargs="?", default="build/release", type=pathlib.Path)
    parser.add_argument("--nm", default="nm", help="that of another architecture's binutils")
    args = parser.parse_args()
    build = args.build.resolve()
    objects = sorted(p for p in build.rglob("*.cc.o") if ISA_OBJECT.search(p.name))
    problems = 0
    for path in objects:
        for symbol in weak_symbols(args.nm, path):
            print(f"{path.relative_to(build)}: defines weak symbol {symbol}")
            problems += 1
    if not objects:
        print(f"{build}: no instruction-set objects; build first")
    print(f"{len(objects)} objects, {problems} weak symbols")
    return 1 if problems or not objects else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Built programs, the libraries that they need, engines and node tests in one archive: for a machine that has a GPU and no compiler."""

import lzma
import pathlib
import re
import subprocess
import tarfile
import tempfile

PROGRAMS = ("octet", "octet-kernel-compiler", "tests/gpu/gpu_tests", "tests/gpu/kernels/gpu_kernels_tests",
            "tests/conformance/conformance_tests")
# What any system of the same kind has.
SYSTEM = re.compile(r"/(?:lib(?:c|m|dl|pthread|rt)|ld-linux[^/]*)\.so")
# Matrices of a network may repeat far apart.
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 1 << 27}]


def libraries(program):
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return {path for path in re.findall(r"=> (/\S+)", listed) if not SYSTEM.search(path)}


def pack(args):
    """Writes args.pack: build/, libraries/, engines/ and conformance/."""
    with lzma.open(args.pack, "wb", filters=FILTERS) as packed, tarfile.open(fileobj=packed, mode="w") as archive, \
            tempfile.TemporaryDirectory() as folder:
        needed = set()
        for name in PROGRAMS:
            stripped = pathlib.Path(folder) / pathlib.Path(name).name
            subprocess.run(["strip", "-o", stripped, args.build / name], check=True)
            archive.add(stripped, f"build/{name}")
            needed |= libraries(stripped)
        for library in sorted(needed):
            archive.add(pathlib.Path(library).resolve(), f"libraries/{pathlib.Path(library).name}")
        for entry in sorted(args.engines.iterdir()):
            if entry.suffix in (".octet", ".images"):
                archive.add(entry.resolve(), f"engines/{entry.name}")
        if args.conformance.is_dir():
            archive.add(args.conformance, "conformance")


def unpack(args, folder):
    """The archive's folders instead of those of a checkout; what the programs need in their environment."""
    with lzma.open(args.packed, "rb") as packed, tarfile.open(fileobj=packed) as archive:
        archive.extractall(folder, filter="data")
    args.build, args.engines, args.conformance = folder / "build", folder / "engines", folder / "conformance"
    return {"LD_LIBRARY_PATH": str(folder / "libraries")}

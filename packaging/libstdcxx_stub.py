#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libstdcxx_stub.py FOLDER GCC GXX: FOLDER/libstdc++.so.6, what liboctet.so is linked against: the names of that compiler's libstdc++ up to GCC 8's, as
glibc's stubs beside it. What programs share with a library in C++ (exceptions, types, streams) is then the libstdc++ of the machine that runs
both; what newer code asks of a newer one comes from libstdc++.a and stays inside."""
import pathlib
import re
import subprocess
import sys
import tempfile

# manylinux_2_28's, that is Debian 10's, RHEL 8's, Ubuntu 20.04's and later.
NEWEST = {"GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11)}
SYMBOL = re.compile(r"^\s*\d+:\s+[0-9a-f]+\s+(\d+)\s+(FUNC|OBJECT|TLS|IFUNC)\s+(GLOBAL|WEAK|UNIQUE)\s+DEFAULT\s+(?!UND)\S+\s+([^\s@]+)@@(GLIBCXX|CXXABI)_([\d.]+)\s*$")
SECTIONS = {"FUNC": ".text", "IFUNC": ".text", "OBJECT": ".data", "TLS": ".section .tbss,\"awT\",@nobits"}


def symbols(library):
    """name: (kind, bytes, version), without those that came later."""
    listed = subprocess.run(["readelf", "--dyn-syms", "-W", library], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in listed.splitlines():
        if match := SYMBOL.match(line):
            size, kind, _, name, node, number = match.groups()
            if tuple(map(int, number.split("."))) <= NEWEST[node]:
                found[name] = (kind, int(size), f"{node}_{number}")
    return found


def main(folder, gcc, gxx):
    library = subprocess.run([gxx, "-print-file-name=libstdc++.so"], capture_output=True, text=True, check=True).stdout.strip()
    found = symbols(library)
    if "_ZTVSt9exception" not in found:
        raise OSError(f"{library} has no versions of libstdc++'s")
    nodes, text = {}, []
    for name, (kind, size, version) in sorted(found.items()):
        nodes.setdefault(version, []).append(name)
        of = {"FUNC": "function", "IFUNC": "function", "OBJECT": "object", "TLS": "tls_object"}[kind]
        text.append(f"{SECTIONS[kind]}\n.globl {name}\n.type {name}, @{of}\n.size {name}, {size}\n{name}: .skip {max(size, 1) if kind != 'FUNC' else 1}\n")
    with tempfile.TemporaryDirectory() as work:
        source, script = pathlib.Path(work, "stub.s"), pathlib.Path(work, "stub.map")
        source.write_text("".join(text) + ".section .note.GNU-stack,\"\",@progbits\n")
        script.write_text("".join(f"{version} {{ {' '.join(name + ';' for name in names)} }};\n" for version, names in sorted(nodes.items())))
        subprocess.run([gcc, "-shared", "-nostdlib", "-Wl,--build-id=none", "-Wl,-soname,libstdc++.so.6", f"-Wl,--version-script={script}", source,
                        "-o", pathlib.Path(folder, "libstdc++.so.6")], check=True)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])

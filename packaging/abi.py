#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""abi.py BUILD [--update]: compares the binary interface of liboctet.so and liboctet_c.so of a build with that of their last release.

packaging/abi/SONAME.abi.xz is libabigail's description of the functions that a library shows, and of the types of the installed headers. What a program
that was linked to the last release may miss is an error: such a change wants another number of the library (the minor version in CMakeLists.txt;
OCTET_ABI in octet/octet.h and cmake/OctetInstall.cmake). Additions are told and let through. --update describes the build as the release to come:
after a release, with a new number, and never to silence an error about what people have.
"""
import lzma
import pathlib
import re
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "packaging/abi"
HEADERS = ROOT / "include/octet"
# In a build: the name without numbers.
LIBRARIES = ("sdk/liboctet.so", "liboctet_c.so")
ERROR, CHANGED, INCOMPATIBLE = 1 | 2, 4, 8  # bits of abidiff's exit code


class Failure(Exception):
    pass


def said(*command, accepted=(0,)):
    """(exit code, words)."""
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise Failure(f"{command[0]} is missing: apt-get install abigail-tools binutils") from error
    if done.returncode not in accepted:
        raise Failure(f"{command[0]} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.returncode, done.stdout


def soname(library):
    found = re.search(r"\(SONAME\).*\[(.*)\]", said("readelf", "-dW", library)[1])
    if not found:
        raise Failure(f"{library} has no name of its own")
    return found[1]


def named_types(element):
    """The types that an element says it is made of. What is inside a type without being a part of it (nested types, functions) does not count."""
    yield from (value for key, value in element.attrib.items() if key.endswith("type-id"))
    for child in element:
        if child.tag not in ("member-type", "member-function"):
            yield from named_types(child)


def is_shown(element):
    return element.tag in ("function-decl", "var-decl") and "elf-symbol-id" in element.attrib


def reduced(text):
    """A description with what the shown functions and variables are made of, and nothing else of the standard library's templates."""
    root = ElementTree.fromstring(text)
    types, wanted, seen = {}, [], set()
    for element in root.iter():
        if "id" in element.attrib and element.tag != "subrange":
            types.setdefault(element.attrib["id"], []).append(element)
        elif is_shown(element):
            wanted += named_types(element)
    while wanted:
        name = wanted.pop()
        if name not in seen:
            seen.add(name)
            wanted += [other for element in types.get(name, ()) for other in named_types(element)]

    def stays(element, parent):
        for child in list(element):
            if not stays(child, element.tag):
                element.remove(child)
        if element.tag == "function-decl" or (element.tag == "var-decl" and parent != "data-member"):
            return is_shown(element)
        if "id" in element.attrib and element.tag != "subrange":
            return element.attrib["id"] in seen or any(child.tag.startswith("member-") for child in element)
        return len(element) > 0 or element.tag not in ("member-type", "member-function", "member-template", "abi-instr", "namespace-decl")

    stays(root, "")
    return re.sub(r">\s+<", ">\n<", ElementTree.tostring(root, encoding="unicode"))


def describe(library):
    """Without what says nothing of the interface: paths, lines, names of parameters, the standard library."""
    text = said("abidw", "--headers-dir", HEADERS, "--drop-private-types", "--no-show-locs", "--no-corpus-path", "--no-comp-dir-path",
                "--no-parameter-names", "--type-id-style", "hash", library)[1]
    if "<function-decl" not in text:
        raise Failure(f"{library} has no debug information; the preset portable gives it (OCTET_DESCRIBE)")
    return reduced(text)


def compare(library, work):
    """One line about it. Raises Failure where programs would have to be compiled again."""
    name = soname(library)
    kept = FOLDER / f"{name}.abi.xz"
    if not kept.exists():
        raise Failure(f"packaging/abi has no description of {name}: packaging/abi.py {library.parent} --update writes it with a library's new number")
    old, new = work / f"{name}.old.abi", work / f"{name}.abi"
    old.write_bytes(lzma.decompress(kept.read_bytes()))
    new.write_text(describe(library), encoding="utf-8")
    every = range(16)
    lost, words = said("abidiff", "--no-added-syms", old, new, accepted=[code for code in every if not code & ERROR])
    if lost:
        raise Failure(f"{name} is not what programs were linked to that use its last release; another number of the library is due (packaging/abi.py says "
                      f"which), or the change is to be taken back:\n{words.strip()[:4000]}")
    _, words = said("abidiff", old, new, accepted=[code for code in every if not code & ERROR])
    added = re.search(r"(\d+) Added function", words)
    return f"{name}: all of its last release is there" + (f", and {added[1]} functions are new" if added and added[1] != "0" else "")


def update(library):
    FOLDER.mkdir(exist_ok=True)
    name = soname(library)
    packed = lzma.compress(describe(library).encode(), preset=9 | lzma.PRESET_EXTREME)
    (FOLDER / f"{name}.abi.xz").write_bytes(packed)
    return f"{name}: described in {len(packed)} bytes"


def main(arguments):
    if len(arguments) not in (1, 2) or arguments[1:] not in ([], ["--update"]):
        print(__doc__, file=sys.stderr)
        return 2
    status = 0
    with tempfile.TemporaryDirectory() as work:
        for name in LIBRARIES:
            library = pathlib.Path(arguments[0], name)
            try:
                if not library.exists():
                    raise Failure(f"{library} was not built; ./dev release builds it")
                print(update(library) if arguments[1:] else compare(library, pathlib.Path(work)), flush=True)
            except (Failure, OSError, lzma.LZMAError) as failure:
                print(f"error: {failure}", file=sys.stderr)
                status = 3  # it is said (packaging/steps.sh)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sdk.py [SUITE...]: programs in C and C++ over the archive of ./dev release, where a stranger writes them: Debian roots with that release's g++ and CMake
(made by mmdebstrap in build/install-roots, as root). The archive is unpacked and then moved; examples/ is configured by find_package and by pkg-config,
built and run, and its answers are those of the archive's own command. One line for each root; exit code 1: one failed."""
import pathlib
import re
import shutil
import sys

import run as places

ARCHIVES = places.ARTIFACTS
EXAMPLES = places.ROOT / "examples"
PACKAGES = "python3,python3-venv,ca-certificates,g++,cmake,make,pkg-config"
# What both libraries may ask of the system. libstdc++ is the program's own: exceptions and types are one on both sides.
GLIBC, LIBSTDCXX = (2, 28), (3, 4, 24)
OLDEST_CMAKE = (3, 25)  # of the examples
OLDEST_GXX = (11,)  # std::span of g++ 10 lies in memory otherwise


def version(text):
    return tuple(map(int, text.split(".")))


def check_library(library, most):
    """That it needs what is in `most` alone, in such versions; prints nothing of others."""
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", places.run(["readelf", "-dW", library])))
    allowed = r"lib(c|m|dl|pthread|rt|gcc_s)\.so\.\d+|ld-linux-x86-64\.so\.2" + (r"|libstdc\+\+\.so\.6" if "GLIBCXX" in most else "")
    if strange := sorted(name for name in needed if not re.fullmatch(allowed, name)):
        raise RuntimeError(f"{library.name} needs {', '.join(strange)}")
    symbols = places.run(["objdump", "-T", library])
    for node, number in re.findall(r"\*UND\*.*?\(?(GLIBC|GLIBCXX|CXXABI)_([\d.]+)\)?", symbols):
        if node in most and version(number) > most[node]:
            raise RuntimeError(f"{library.name} asks for {node}_{number}")
    defined = places.run(["nm", "-DC", "--defined-only", library])
    names = [line.split(" ", 2)[2] for line in defined.splitlines() if " A " not in line]
    shown = r"octet_\w+(@@.*)?" if "_c.so" in library.name else r"((typeinfo|typeinfo name|vtable) for )?octet::.*"
    if strange := [name for name in names if not re.fullmatch(shown, name)]:
        raise RuntimeError(f"{library.name} shows {len(strange)} other symbols: {', '.join(strange[:3])}")
    return len(names)


class Developer(places.Debian):
    """A root with compilers."""

    def __init__(self, suite):
        super().__init__(suite, f"{suite}-sdk", PACKAGES)
        shutil.copytree(EXAMPLES, self.work / "examples", ignore=shutil.ignore_patterns("tensorrt", "__pycache__"))
        archives = sorted(ARCHIVES.glob("octet-*.tar.xz"))
        if len(archives) != 1:
            raise RuntimeError(f"{ARCHIVES} holds {len(archives)} archives; ./dev release makes one")
        shutil.unpack_archive(archives[0], self.work / "unpacked")
        next((self.work / "unpacked").iterdir()).rename(self.work / "somewhere-else")
        self.prefix = self.inside / "somewhere-else"

    def cmake(self, example):
        build = self.inside / "build" / example
        self.run("cmake", "-S", self.inside / "examples" / example, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_BUILD_TYPE=Release")
        self.run("cmake", "--build", build)
        return build

    def pkg_config(self, package, compiler, source):
        program = self.inside / f"by-{package}"
        script = 'PKG_CONFIG_PATH="$1/lib/pkgconfig" && export PKG_CONFIG_PATH && eval "set -- \\"\\$@\\" $(pkg-config --cflags --libs "$2")" && ' \
                 'prefix=$1 source=$3 program=$4 && shift 4 && ' + compiler + ' "$source" -o "$program" "$@" -Wl,-rpath,"$prefix/lib"'
        self.run("sh", "-c", script, "sh", self.prefix, package, self.inside / "examples" / source, program)
        return program


def check(place):
    """What was tried there, in words."""
    lib = place.work / "somewhere-else/lib"
    cpp = check_library((lib / "liboctet.so").resolve(), {"GLIBC": GLIBC, "GLIBCXX": LIBSTDCXX, "CXXABI": (1, 3, 11)})
    c = check_library((lib / "liboctet_c.so").resolve(), {"GLIBC": GLIBC})
    compiler = place.run("g++", "-dumpfullversion").strip()
    cmake = version(re.search(r"[\d.]+", place.run("cmake", "--version"))[0])
    place.run("python3", place.digits / "export.py", place.digits / "digits.npz", place.inside / "data")
    model, images, engine = place.digits / "digits.onnx", place.inside / "data/calib", place.inside / "digits.octet"
    programs = []
    if version(compiler) >= OLDEST_GXX:
        programs.append(place.pkg_config("octet-cpp", "g++ -std=c++20 -O1", "minimal/minimal.cc"))
    classify = [place.pkg_config("octet", "cc -std=c99", "c/classify.c")]
    how = "pkg-config"
    if cmake >= OLDEST_CMAKE:
        how += f", CMake {'.'.join(map(str, cmake))}"
        programs.append(place.cmake("minimal") / "minimal")
        classify.append(place.cmake("c") / "classify")
        embed = place.cmake("embed")
        said = place.run(embed / "embed", model, place.inside / "embed.octet")
        if not re.fullmatch(r"cancelled\n\d+ bytes\n", said):
            raise RuntimeError(f"examples/embed said {said!r}")
        if (said := place.run(embed / "serve", place.inside / "embed.octet")) != "equal answers of 40 bytes\n":
            raise RuntimeError(f"examples/serve said {said!r}")
    octet = place.prefix / "bin/octet"
    place.run(octet, "build", model, "--int8", "--calib", images, "-o", engine, "--quiet")
    expected = (place.work / "digits.octet").read_bytes()
    for program in programs:
        if (said := place.run(program, model, images, engine)) != "f32[1,10]\n":
            raise RuntimeError(f"{program} said {said!r}")
        if len((place.work / "digits.octet").read_bytes()) != len(expected):
            raise RuntimeError(f"{program} built another engine than the command")
    # The command's answer to one picture, as the C program reads it.
    (place.work / "digit.pgm").write_bytes(b"P5\n8 8\n255\n" + bytes(range(0, 256, 4)))
    answers = {place.run(program, engine, place.inside / "digit.pgm", "255") for program in classify}
    if len(answers) != 1 or not re.fullmatch(r"class \d, score \S+\n", *answers):
        raise RuntimeError(f"examples/c said {answers}")
    if not programs:
        how += ", C alone"
    return f"g++ {compiler}, {how}: examples built and run; liboctet.so shows {cpp} symbols, liboctet_c.so {c}"


def main(chosen):
    failed = 0
    for suite in chosen or places.SUITES:
        place = None
        try:
            place = Developer(suite)
            line = check(place)
        except (RuntimeError, OSError, StopIteration, LookupError, ValueError) as error:
            failed += 1
            line = f"FAILED: {error}"
        finally:
            if place:
                place.close()
        print(f"{'Debian ' + suite:<28} {line}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    if unknown := sorted(set(sys.argv[1:]) - set(places.SUITES)):
        sys.exit(f"error: no suite {', '.join(unknown)}; there are {', '.join(places.SUITES)}")
    sys.exit(main(sys.argv[1:]))

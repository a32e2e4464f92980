#!/usr/bin/env python3
"""dependencies.py [--strict] [--arch ARCH] FOLDER: the libraries that release builds hold, static and fit for shared libraries, in FOLDER/prefix.

They are made of Debian's source packages, whose signatures apt checks, in the newest version that a release of Debian has for them, security
updates included. What is there is not made again: a stamp holds that version, and the hash of flags and compiler. FOLDER/dependencies.json says
what was built, for the SBOM. A version that the lists have and the mirror lacks gives way to the one before, with a warning; --strict makes it an error.
--arch: for that processor instead of this machine's, by Debian's cross compiler (cmake/ARCH.cmake).
"""
import argparse
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

from mirrors import debian, debian_security

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUITES = {"bookworm": [(debian, "bookworm"), (debian, "bookworm-updates"), (debian_security, "bookworm-security")],
          "trixie": [(debian, "trixie"), (debian, "trixie-updates"), (debian_security, "trixie-security")],
          "forky": [(debian, "forky")]}

ROOT = pathlib.Path(__file__).resolve().parents[1]
LITTLE_ROOM = 64 << 20
JOBS = str(len(os.sched_getaffinity(0)))
COMMON = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_POSITION_INDEPENDENT_CODE=ON", "-DBUILD_SHARED_LIBS=OFF",
          "-DCMAKE_INSTALL_LIBDIR:STRING=lib", "-DCMAKE_C_FLAGS=-ffunction-sections -fdata-sections -g0",
          "-DCMAKE_CXX_FLAGS=-ffunction-sections -fdata-sections -g0"]
CONFIGURED = "-O3 -fPIC -ffunction-sections -fdata-sections"

DATES = "of the last change of each source"  # dated()

# Source package, releases in order of preference (a mirror may lack what its lists have), licence (SPDX), flags of CMake; None: the package's own configure script.
# oneDNN: version 3, cut to what dnnl_api.h calls, without threads of its own and its flags for this machine's instruction set; compiled for
# size, for most of it writes machine code that runs later, and that code is the same.
RECIPES = {
    "zlib": ("zlib", ["bookworm"], "Zlib", None),
    "libpng": ("libpng1.6", ["bookworm", "trixie", "forky"], "libpng-2.0", ["-DPNG_SHARED=OFF", "-DPNG_TESTS=OFF", "-DPNG_EXECUTABLES=OFF", "-DPNG_TOOLS=OFF"]),
    "libjpeg-turbo": ("libjpeg-turbo", ["bookworm"], "IJG AND BSD-3-Clause AND Zlib",
                      ["-DENABLE_SHARED=OFF", "-DENABLE_STATIC=ON", "-DWITH_TURBOJPEG=OFF", "-DREQUIRE_SIMD=ON"]),
    "fmt": ("fmtlib", ["bookworm"], "MIT", ["-DFMT_TEST=OFF", "-DFMT_DOC=OFF"]),
    "protobuf": ("protobuf", ["bookworm"], "BSD-3-Clause",
                 ["-Dprotobuf_BUILD_TESTS=OFF", "-Dprotobuf_BUILD_PROTOC_BINARIES=OFF", "-Dprotobuf_WITH_ZLIB=OFF",
                  "-Dprotobuf_BUILD_LIBPROTOC=OFF", "-DCMAKE_POLICY_VERSION_MINIMUM=3.5"]),
    "onednn": ("onednn", ["trixie", "forky"], "Apache-2.0",
               ["-DCMAKE_BUILD_TYPE=MinSizeRel", "-DONEDNN_LIBRARY_TYPE=STATIC", "-DONEDNN_CPU_RUNTIME=SEQ", "-DONEDNN_GPU_RUNTIME=NONE",
                "-DONEDNN_ENABLE_WORKLOAD=INFERENCE", "-DONEDNN_ENABLE_PRIMITIVE=CONVOLUTION;DECONVOLUTION;MATMUL;REORDER",
                "-DONEDNN_BUILD_GRAPH=OFF", "-DONEDNN_BUILD_EXAMPLES=OFF", "-DONEDNN_BUILD_TESTS=OFF", "-DONEDNN_BUILD_DOC=OFF",
                "-DONEDNN_ENABLE_JIT_PROFILING=OFF", "-DONEDNN_ENABLE_ITT_TASKS=OFF", "-DONEDNN_ARCH_OPT_FLAGS="]),
}

# NASM writes the whole path of its source into each object; stripped of what nothing links to, these are the same bytes in any folder.
ASSEMBLED = {"libjpeg-turbo": "libjpeg.a"}

# Of the compiler: its standard library.
COMPILERS = "libstdc++-12-dev"

# For modules of Python, where they are not this machine's own.
HEADERS = "libpython3.11-dev"

# Debian's own static libraries that are fit as they are; the link of a shared library is the proof.
FROM_PACKAGES = {"libwebp": ("libwebp-dev", "BSD-3-Clause", "libwebp.a"), "xxhash": ("libxxhash-dev", "BSD-2-Clause", "libxxhash.a"),
                 "openssl": ("libssl-dev", "Apache-2.0", "libcrypto.a"), "nlohmann-json": ("nlohmann-json3-dev", "MIT", None),
                 "CLI11": ("libcli11-dev", "BSD-3-Clause", None),
                 "libstdc++": (COMPILERS, "GPL-3.0-or-later WITH GCC-exception-3.1", None)}


@dataclasses.dataclass(frozen=True)
class Target:
    """Whose libraries are made; without a name, this machine's."""
    arch: str = ""
    debian: str = ""  # what Debian calls it

    def tool(self, name):
        """Of binutils and of the compiler, whose names end with its version where it is one for elsewhere."""
        if not self.arch:
            return name
        return f"{self.arch}-linux-gnu-{name}" + ("-12" if name in ("gcc", "g++") else "")

    def package(self, name):
        """Of what the compiler itself brings."""
        return f"{name}-{self.debian}-cross" if self.arch else name


HERE = Target()
CROSS = {"aarch64": Target("aarch64", "arm64")}


class Failure(Exception):
    pass


def run(command, log, **options):
    """Runs a command whose words go to a file, of which a failure shows the end."""
    with open(log, "ab") as out:
        status = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, **options).returncode
    if status != 0:
        tail = pathlib.Path(log).read_text(errors="replace").splitlines()[-15:]
        raise Failure(f"{' '.join(map(str, command[:3]))} failed ({status}){room_beside(log)}; the end of {log}:\n" + "\n".join(tail))


def room_beside(log):
    """A full disk keeps no words: what is left of it, where that is little."""
    free = shutil.disk_usage(pathlib.Path(log).parent).free
    return f", and {free >> 10} KiB are left on the disk" if free < LITTLE_ROOM else ""


def write(path, text):
    """All of it, or the file stays as it is."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text)
    partial.replace(path)


def is_newer(one, other):
    return subprocess.run(["dpkg", "--compare-versions", one, "gt", other], check=False).returncode == 0


def apt_of_its_own(folder, name, release, kind, extra=()):
    """Options of an apt that knows that release of Debian alone: nothing of the machine's lists is changed."""
    state = folder / "apt" / name
    for part in ("lists/partial", "cache/archives/partial"):
        (state / part).mkdir(parents=True, exist_ok=True)
    (state / "sources.list").write_text("".join(f"{kind} [signed-by={KEYRING}] {mirror()} {suite} main\n" for mirror, suite in SUITES[release]))
    options = []
    # Without the lists of one suite its updates would be missed, so that is an error.
    for option in (f"Dir::Etc::SourceList={state}/sources.list", "Dir::Etc::SourceParts=/dev/null", f"Dir::State::Lists={state}/lists",
                   f"Dir::Cache={state}/cache", f"APT::Sandbox::User={os.environ.get('USER', 'root')}", "Acquire::Retries=3",
                   "APT::Update::Error-Mode=any", *extra):
        options += ["-o", option]
    run(["apt-get", *options, "-q", "update"], folder / "apt.log")
    return options


class Sources:
    """Source packages of one release of Debian."""

    def __init__(self, folder, release):
        self.folder, self.release = folder, release
        self.log = folder / "apt.log"
        self.options = apt_of_its_own(folder, release, release, "deb-src")

    def versions(self, package):
        """What the lists have of it, the newest first."""
        shown = subprocess.run(["apt-cache", *self.options, "showsrc", "--only-source", package], capture_output=True, text=True, check=False).stdout
        found = set(re.findall(r"^Version: (\S+)", shown, re.M))
        return sorted(found, key=functools.cmp_to_key(lambda a, b: is_newer(a, b) - is_newer(b, a)), reverse=True)

    def fetch(self, package, version):
        """The folder of the unpacked source, with Debian's patches."""
        target = self.folder / "sources" / f"{package}-{self.release}"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        run(["apt-get", *self.options, "-q", "source", "--download-only", "--only-source", f"{package}={version}"], self.log, cwd=target)
        run(["dpkg-source", "-x", f"{package}_{version.split(':')[-1]}.dsc", "unpacked"], self.log, cwd=target)
        return target / "unpacked"


def compiler(target):
    return subprocess.run([target.tool("g++"), "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def toolchain(target, prefix):
    if not target.arch:
        return []
    # Debian's oneDNN asks for spdlog, of which it compiles nothing: this machine's will do.
    return [f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/{target.arch}.cmake", f"-DOCTET_PREFIX={prefix}",
            f"-Dspdlog_DIR=/usr/lib/{sysconfig.get_config_var('MULTIARCH')}/cmake/spdlog"]


def build_by_cmake(source, places, flags, log):
    work, prefix = places
    options = {"cwd": work, "env": dated(source)}
    launcher = [f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache" for language in ("C", "CXX")] if shutil.which("ccache") else []
    # No path of the machine that builds goes into what it builds.
    mapped = [f"{flag} -ffile-prefix-map={source}/=" if "_FLAGS=" in flag else flag for flag in COMMON]
    run(["cmake", *mapped, *launcher, f"-DCMAKE_INSTALL_PREFIX={prefix}", f"-DCMAKE_PREFIX_PATH={prefix}", *flags, source], log, **options)
    run(["cmake", "--build", ".", "--parallel", JOBS], log, **options)
    run(["cmake", "--install", "."], log, cwd=work)


def read_stamp(stamp):
    try:
        return json.loads(stamp.read_text())
    except (OSError, ValueError):
        return None


def newest(opened, name, stamp, strict, target):
    """What is to be built, and its source: the newest that can be had. No source where that is what the stamp says. Strict: the newest or none."""
    package, releases, licence, flags = RECIPES[name]
    made_by = [RECIPES[name], CONFIGURED if flags is None else COMMON, DATES, compiler(target), *([ASSEMBLED[name]] if name in ASSEMBLED else [])]
    recipe = hashlib.sha256(json.dumps(made_by).encode()).hexdigest()
    last = Failure(f"{' and '.join(releases)} have no source package {package}")
    for release in releases:
        sources = opened(release)
        for version in sources.versions(package):
            entry = {"name": name, "version": version, "license": licence, "source": f"{package} ({release})", "recipe": recipe}
            if read_stamp(stamp) == entry:
                return entry, None
            try:
                return entry, sources.fetch(package, version)
            except Failure as failure:
                last = failure
                if strict:
                    raise Failure(f"--strict takes no other version of {package} than {version} of {release}, which could not be had: {failure}") from failure
                print(f"warning: {package} {version} of {release} could not be had: {str(failure).splitlines()[-1]}", file=sys.stderr, flush=True)
    raise last


def dated(source):
    """Builds that write their date (libjpeg-turbo does) write that of the source's last change."""
    shown = subprocess.run(["dpkg-parsechangelog", "-S", "Timestamp"], cwd=source, capture_output=True, text=True, check=False).stdout.strip()
    if not shown.isdecimal():
        raise Failure(f"{source}/debian/changelog has no date that dpkg-parsechangelog can read")
    return {**os.environ, "SOURCE_DATE_EPOCH": shown}


def build(folder, opened, name, strict, target):
    prefix, stamp, flags = folder / "prefix", folder / "stamps" / f"{name}.json", RECIPES[name][-1]
    entry, source = newest(opened, name, stamp, strict, target)
    print(f"[{list(RECIPES).index(name) + 1}/{len(RECIPES)}] {name} {entry['version']}{'' if source else ': there'}", flush=True)
    if source is None:
        return entry
    work, log = folder / "build" / name, folder / f"{name}.log"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    log.unlink(missing_ok=True)
    if flags is None:
        tools = {"CC": target.tool("gcc"), "AR": target.tool("ar"), "RANLIB": target.tool("ranlib")} if target.arch else {}
        run(["./configure", "--static", f"--prefix={prefix}"], log, cwd=source, env={**dated(source), "CFLAGS": CONFIGURED, **tools})
        run(["make", "-j", JOBS, "install"], log, cwd=source)
    else:
        build_by_cmake(source, (work, prefix), [*toolchain(target, prefix), *flags], log)
    if name in ASSEMBLED:
        run([target.tool("strip"), "--strip-unneeded", "--enable-deterministic-archives", prefix / "lib" / ASSEMBLED[name]], log)
    licences = folder / "licenses"
    licences.mkdir(exist_ok=True)
    shutil.copy(source / "debian" / "copyright", licences / f"{name}.copyright")
    stamp.parent.mkdir(exist_ok=True)
    write(stamp, json.dumps(entry))
    shutil.rmtree(work)
    shutil.rmtree(source)
    return entry


class Foreign:
    """Debian's packages of another architecture: their headers, static libraries and CMake's files in the prefix."""

    def __init__(self, folder, target):
        log, unpacked = folder / "apt.log", folder / "packages"
        # What this machine has installed is of its own architecture.
        status = folder / "apt" / target.debian / "status"
        status.parent.mkdir(parents=True, exist_ok=True)
        status.touch()
        options = apt_of_its_own(folder, target.debian, "bookworm", "deb",
                                 (f"APT::Architecture={target.debian}", f"APT::Architectures={target.debian}", f"Dir::State::Status={status}"))
        shutil.rmtree(unpacked, ignore_errors=True)
        unpacked.mkdir()
        packages = [package for package, _, _ in FROM_PACKAGES.values() if package != COMPILERS] + [HEADERS]
        run(["apt-get", *options, "-q", "download", *packages], log, cwd=unpacked)
        self.versions = {}
        for file in sorted(unpacked.glob("*.deb")):
            package, version = subprocess.run(["dpkg-deb", "-W", "--showformat=${Package} ${Version}", file], capture_output=True, text=True,
                                              check=True).stdout.split()
            self.versions[package] = version
            run(["dpkg-deb", "-x", file, unpacked], log)
        # What is of one architecture comes last: Python's headers are chosen by one of the same name.
        for found, place in (("include", "include"), (f"include/{target.arch}-linux-gnu", "include"), (f"lib/{target.arch}-linux-gnu", "lib"),
                             ("lib/cmake", "lib/cmake"), ("share/cmake", "share/cmake")):
            if (unpacked / "usr" / found).is_dir():
                shutil.copytree(unpacked / "usr" / found, folder / "prefix" / place, dirs_exist_ok=True,
                                ignore=shutil.ignore_patterns(f"{target.arch}-linux-gnu", "*.so", "*.pc"))
        shutil.rmtree(unpacked)


def from_package(folder, name, target, foreign):
    package, licence, archive = FROM_PACKAGES[name]
    if package == COMPILERS:
        package = target.package(package)
    query = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True)
    if query.returncode != 0:
        raise Failure(f"{package} is not installed; ./dev wheel --release installs it")
    shutil.copy(f"/usr/share/doc/{package}/copyright", folder / "licenses" / f"{name}.copyright")
    if archive and not foreign:
        shutil.copy(f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}/{archive}", folder / "prefix/lib" / archive)
    version = foreign.versions.get(package, query.stdout) if foreign else query.stdout
    return {"name": name, "version": version, "license": licence, "source": package}


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--arch", choices=CROSS)
    parser.add_argument("folder")
    args = parser.parse_args(arguments)
    folder, target = pathlib.Path(args.folder).absolute(), CROSS.get(args.arch, HERE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "apt.log").unlink(missing_ok=True)
        opened = functools.cache(functools.partial(Sources, folder))
        entries = [build(folder, opened, name, args.strict, target) for name in RECIPES]
        foreign = Foreign(folder, target) if target.arch else None
        entries += [from_package(folder, name, target, foreign) for name in FROM_PACKAGES]
        write(folder / "dependencies.json", json.dumps(entries, indent=2) + "\n")
    except (Failure, LookupError, OSError, subprocess.SubprocessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 3  # and nobody else needs to say it (packaging/steps.sh)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

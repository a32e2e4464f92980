#!/usr/bin/env python3
"""dependencies.py FOLDER: the libraries that release builds hold, static and fit for shared libraries, in FOLDER/prefix.

They are made of Debian's source packages, whose signatures apt checks. What is there is not made again: a stamp holds the hash of the
source's version, the flags, the compiler and this recipe. FOLDER/dependencies.json says what was built, for the SBOM.
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

MIRROR = os.environ.get("OCTET_DEBIAN_MIRROR", "http://deb.debian.org/debian")
SECURITY = os.environ.get("OCTET_DEBIAN_SECURITY_MIRROR", "http://deb.debian.org/debian-security")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUITES = [(MIRROR, "bookworm"), (MIRROR, "bookworm-updates"), (SECURITY, "bookworm-security"), (MIRROR, "trixie"), (MIRROR, "forky")]

JOBS = str(len(os.sched_getaffinity(0)))
COMMON = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_POSITION_INDEPENDENT_CODE=ON", "-DBUILD_SHARED_LIBS=OFF",
          "-DCMAKE_INSTALL_LIBDIR:STRING=lib", "-DCMAKE_C_FLAGS=-ffunction-sections -fdata-sections -g0",
          "-DCMAKE_CXX_FLAGS=-ffunction-sections -fdata-sections -g0"]

# Source package, suites in order of preference (a mirror may lack the newest of one), licence (SPDX), flags of CMake; None: the package's own configure script.
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

# Debian's own static libraries that are fit as they are; the link of a shared library is the proof.
FROM_PACKAGES = {"libwebp": ("libwebp-dev", "BSD-3-Clause", "libwebp.a"), "xxhash": ("libxxhash-dev", "BSD-2-Clause", "libxxhash.a"),
                 "openssl": ("libssl-dev", "Apache-2.0", "libcrypto.a"), "nlohmann-json": ("nlohmann-json3-dev", "MIT", None),
                 "CLI11": ("libcli11-dev", "BSD-3-Clause", None),
                 "libstdc++": ("libstdc++-12-dev", "GPL-3.0-or-later WITH GCC-exception-3.1", None)}


class Failure(Exception):
    pass


def run(command, log, **options):
    """Runs a command whose words go to a file, of which a failure shows the end."""
    with open(log, "ab") as out:
        status = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, **options).returncode
    if status != 0:
        tail = pathlib.Path(log).read_text(errors="replace").splitlines()[-15:]
        raise Failure(f"{' '.join(map(str, command[:3]))} failed ({status}); the end of {log}:\n" + "\n".join(tail))


class Sources:
    """Source packages, by an apt of its own: nothing of the machine's lists is changed."""

    def __init__(self, folder):
        self.folder = folder
        self.log = folder / "apt.log"
        state = folder / "apt"
        for name in ("lists/partial", "cache/archives/partial"):
            (state / name).mkdir(parents=True, exist_ok=True)
        (state / "sources.list").write_text("".join(f"deb-src [signed-by={KEYRING}] {mirror} {suite} main\n" for mirror, suite in SUITES))
        self.options = []
        for option in (f"Dir::Etc::SourceList={state}/sources.list", "Dir::Etc::SourceParts=/dev/null", f"Dir::State::Lists={state}/lists",
                       f"Dir::Cache={state}/cache", f"APT::Sandbox::User={os.environ.get('USER', 'root')}", "Acquire::Retries=3"):
            self.options += ["-o", option]
        run(["apt-get", *self.options, "-q", "update"], self.log)

    def fetch(self, package, suites):
        """The folder of the unpacked source, with Debian's patches, its version and its suite."""
        for suite in suites:
            try:
                return *self.fetch_from(package, suite), suite
            except Failure as failure:
                if suite == suites[-1]:
                    raise
                print(f"warning: no {package} of {suite}: {str(failure).splitlines()[-1]}", file=sys.stderr, flush=True)

    def fetch_from(self, package, suite):
        target = self.folder / "sources" / f"{package}-{suite}"
        target.mkdir(parents=True, exist_ok=True)
        run(["apt-get", *self.options, "-q", "source", "--download-only", f"{package}/{suite}"], self.log, cwd=target)
        described = max(target.glob("*.dsc"), key=lambda path: path.stat().st_mtime)
        version = re.search(r"^Version: (\S+)", described.read_text(), re.M).group(1)
        unpacked = target / "unpacked"
        shutil.rmtree(unpacked, ignore_errors=True)
        run(["dpkg-source", "-x", described.name, unpacked.name], self.log, cwd=target)
        return unpacked, version


def compiler():
    return subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def build_by_cmake(source, work, prefix, flags, log):
    launcher = [f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache" for language in ("C", "CXX")] if shutil.which("ccache") else []
    # No path of the machine that builds goes into what it builds.
    mapped = [f"{flag} -ffile-prefix-map={source}/=" if "_FLAGS=" in flag else flag for flag in COMMON]
    run(["cmake", *mapped, *launcher, f"-DCMAKE_INSTALL_PREFIX={prefix}", f"-DCMAKE_PREFIX_PATH={prefix}", *flags, source], log, cwd=work)
    run(["cmake", "--build", ".", "--parallel", JOBS], log, cwd=work)
    run(["cmake", "--install", "."], log, cwd=work)


def build(folder, sources, name, number):
    package, suites, licence, flags = RECIPES[name]
    prefix, stamp = folder / "prefix", folder / "stamps" / f"{name}.json"
    recipe = hashlib.sha256(json.dumps([RECIPES[name], COMMON, compiler()]).encode()).hexdigest()
    if stamp.exists() and json.loads(stamp.read_text())["recipe"] == recipe:
        print(f"[{number}/{len(RECIPES)}] {name}: there", flush=True)
        return json.loads(stamp.read_text())
    source, version, suite = sources().fetch(package, suites)
    print(f"[{number}/{len(RECIPES)}] {name} {version}", flush=True)
    work, log = folder / "build" / name, folder / f"{name}.log"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    log.unlink(missing_ok=True)
    if flags is None:
        run(["./configure", "--static", f"--prefix={prefix}"], log, cwd=source,
            env={**os.environ, "CFLAGS": "-O3 -fPIC -ffunction-sections -fdata-sections"})
        run(["make", "-j", JOBS, "install"], log, cwd=source)
    else:
        build_by_cmake(source, work, prefix, flags, log)
    licences = folder / "licenses"
    licences.mkdir(exist_ok=True)
    shutil.copy(source / "debian" / "copyright", licences / f"{name}.copyright")
    entry = {"name": name, "version": version, "license": licence, "source": f"{package} ({suite})", "recipe": recipe}
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_text(json.dumps(entry))
    shutil.rmtree(work)
    shutil.rmtree(source)
    return entry


def from_package(folder, name):
    package, licence, archive = FROM_PACKAGES[name]
    query = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True)
    if query.returncode != 0:
        raise Failure(f"{package} is not installed; ./dev wheel --release installs it")
    shutil.copy(f"/usr/share/doc/{package}/copyright", folder / "licenses" / f"{name}.copyright")
    if archive:
        shutil.copy(f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}/{archive}", folder / "prefix/lib" / archive)
    return {"name": name, "version": query.stdout, "license": licence, "source": package}


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(arguments[0]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    opened = []

    def sources():
        if not opened:
            opened.append(Sources(folder))
        return opened[0]

    try:
        entries = [build(folder, sources, name, number) for number, name in enumerate(RECIPES, 1)]
        entries += [from_package(folder, name) for name in FROM_PACKAGES]
    except (Failure, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    (folder / "dependencies.json").write_text(json.dumps(entries, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py [--arch aarch64] [SUITE...]: installs the wheels of ./dev wheel --release as a stranger does, and in Debian roots the package and the archive of
./dev release where they are made; prints one line for each place.

Places are Debian roots (made by mmdebstrap in build/install-roots, as root) and the other Pythons of this machine. Each gets a virtual
environment, `pip install` of the wheel with what it needs from PyPI, and then: import, the digits job in Python and by the command, the
engine (--reproducible) and the INT8 answers of this machine's own build to the byte, and the TensorRT module. Exit code 1: one place failed.
With --arch the wheels of ./dev wheel --release --arch are installed in roots for that processor, in QEMU, where `octet selftest` runs, too.
"""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
from mirrors import debian  # noqa: E402: from packaging/

WHEELS = ROOT / "build/release-wheels"
ARTIFACTS = ROOT / "build/release-artifacts"
ROOTS = ROOT / "build/install-roots"
DIGITS = ROOT / "examples/digits"
INSIDE = pathlib.Path("/octet-install")  # where a root has what is installed there
SUITES = ("bullseye", "bookworm", "trixie", "forky")
EMULATED_SUITES = ("bullseye", "bookworm", "trixie")
OLDEST = (3, 10)

# Runs in the place, with the wheel installed; prints one JSON object.
JOB = r"""
import hashlib, json, os, subprocess, sys, time
start = time.perf_counter()
import numpy
numpy_seconds = time.perf_counter() - start
start = time.perf_counter()
import octet
seconds = time.perf_counter() - start
work, digits_folder = sys.argv[1:]
os.chdir(work)
digits = numpy.load(digits_folder + "/digits.npz")
images = digits["train_images"][:, None].astype(numpy.float32) / 16
engine = octet.compile(digits_folder + "/digits.onnx", calibration=images[:200])
logits = octet.Context(engine).run(images)[0]
right = float((logits.argmax(1) == digits["train_labels"]).mean())
assert right > 0.98, right
program = os.path.join(os.path.dirname(sys.executable), "octet")
numpy.save("images.npy", images)
subprocess.run([program, "build", digits_folder + "/digits.onnx", "--int8", "--calib", "images.npy", "--reproducible", "-o", "digits.octet", "--quiet", "--force"], check=True, stdout=subprocess.DEVNULL)
subprocess.run([program, "run", "digits.octet", "images.npy", "-o", "answers.npz", "--force"], check=True, stdout=subprocess.DEVNULL)
answers = numpy.load("answers.npz")
engine_file = hashlib.sha256(open("digits.octet", "rb").read()).hexdigest()
tensors = {name: hashlib.sha256(numpy.ascontiguousarray(answers[name]).tobytes()).hexdigest() for name in sorted(answers.files)}
version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.split()
print(json.dumps({"python": sys.version.split()[0], "numpy": numpy.__version__, "octet": octet.__version__, "version": version,
                  "import": seconds, "numpy_import": numpy_seconds, "right": right, "answers": tensors, "engine": engine_file,
                  "python_answers": hashlib.sha256(logits.tobytes()).hexdigest(), "isa": octet.cpu_isa(), "libc": os.confstr("CS_GNU_LIBC_VERSION")}))
"""

TENSORRT_JOB = r"""
import sys
import tensorrt as trt
builder = trt.Builder(logger := trt.Logger())
network = builder.create_network(1)
assert trt.OnnxParser(network, logger).parse_from_file(sys.argv[2] + "/digits.onnx")
profile = builder.create_optimization_profile()
profile.set_shape("image", *[(1, 1, 8, 8)] * 3)
config = builder.create_builder_config()
config.add_optimization_profile(profile)
assert builder.build_serialized_network(network, config).nbytes > 1000
"""


def run(command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command[:4]))} ended with {done.returncode}: {(done.stdout + done.stderr).strip()[-1500:]}")
    return done.stdout


class Host:
    """This machine."""

    made, artifacts, debian = WHEELS, ARTIFACTS, "amd64"

    def __init__(self, python):
        self.name, self.python = f"host {python}", python
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="octet-install-"))
        self.wheels, self.digits, self.inside = WHEELS, DIGITS, self.work

    def run(self, *command, **options):
        return run(command, **options)

    def close(self):
        shutil.rmtree(self.work, ignore_errors=True)


class Debian:
    """A root folder of a Debian release, entered by chroot in a mount namespace of its own."""

    made, artifacts, debian = WHEELS, ARTIFACTS, "amd64"
    root_flags = ("--variant=minbase",)
    entering = ("unshare", "-mpf")
    before = ""

    def __init__(self, suite, folder=None, packages="python3,python3-venv,ca-certificates"):
        self.name, self.python = f"Debian {suite}", "python3"
        self.root = ROOTS / (folder or suite)
        if not (self.root / "usr/bin/python3").exists():
            ROOTS.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(self.root, ignore_errors=True)
            partial = ROOTS / f"{self.root.name}.partial"
            shutil.rmtree(partial, ignore_errors=True)
            run(["mmdebstrap", *self.root_flags, f"--include={packages}",
                 '--aptopt=Acquire::Check-Valid-Until "false"', suite, partial, debian()])
            partial.rename(self.root)
        self.work = self.root / INSIDE.name
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        shutil.copytree(self.made, self.work / "wheels")
        shutil.copytree(DIGITS, self.work / "digits")
        for file in ("etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt"):
            if pathlib.Path("/", file).exists():
                (self.root / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(pathlib.Path("/", file), self.root / file)
        self.wheels, self.digits, self.inside = INSIDE / "wheels", INSIDE / "digits", INSIDE

    def run(self, *command, **options):
        script = self.before + 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'
        return run([*self.entering, "sh", "-c", script, self.root, *command], **options)

    def dpkg(self, *arguments):
        self.run("sh", "-c", 'cd "$0" && dpkg "$@"', self.inside, *arguments)

    def close(self):
        shutil.rmtree(self.work, ignore_errors=True)


class Emulated(Debian):
    """Such a root for aarch64, whose programs QEMU runs. The kernel is told so in a user namespace, for which alone that holds. The root's packages are
    unpacked and not configured, so that this machine's dpkg puts packages into it, whatever they depend on."""

    made, artifacts, debian = ROOT / "build/release-wheels-aarch64", ROOT / "build/release-artifacts-aarch64", "arm64"
    root_flags = ("--variant=extract", "--arch=arm64")
    entering = ("unshare", "-Urmpf")
    # Programs of 64 bits for machine 183; F: the emulator is opened now, outside of the root.
    before = (r"""mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc && printf '%s' """
              r"""':octet:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:"""
              r"""\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:/usr/bin/qemu-aarch64-static:F' """
              r""">/proc/sys/fs/binfmt_misc/register && """)

    def __init__(self, suite):
        super().__init__(suite, f"{suite}-arm64", "base-files,coreutils,dash,libc-bin,libstdc++6,python3,python3-venv")
        self.name += ", aarch64 in QEMU"

    def dpkg(self, *arguments):
        run(["dpkg", "--root", self.root, "--force-architecture", "--force-depends", *arguments], cwd=self.work)


def wheel_of(place, project):
    found = sorted(place.made.glob(f"{project}-*.whl"))
    if len(found) != 1:
        raise RuntimeError(f"{place.made} holds {len(found)} wheels of {project}; ./dev wheel --release makes one")
    return place.wheels / found[0].name


def install(place, environment, *what):
    place.run(place.python, "-m", "venv", environment)
    place.run(environment / "bin/pip", "install", "-q", "--disable-pip-version-check", *what)


def check(place, numpy, expected):
    """What the job printed in an environment of the place, with that requirement of NumPy."""
    version = tuple(map(int, place.run(place.python, "-c", "import sys; print(*sys.version_info[:2])").split()))
    if version < OLDEST:
        return f"Python {version[0]}.{version[1]} is older than {OLDEST[0]}.{OLDEST[1]}: {check_program(place, expected)}"
    environment = place.inside / "environment"
    install(place, environment, wheel_of(place, "octet_int8"), *numpy)
    (place.work / "job.py").write_text(JOB)
    said = json.loads(place.run(environment / "bin/python", place.inside / "job.py", place.inside, place.digits).splitlines()[-1])
    if not said["answers"] or (said["engine"], said["answers"]) != (expected["engine"], expected["answers"]):
        raise RuntimeError("the engine or its INT8 answers differ from those of this machine's own build")
    line = f"Python {said['python']}, NumPy {said['numpy']}, {said['libc']}, {said['isa']}: {100 * said['right']:.2f} % right, import {said['import']:.2f} s"
    if version >= (3, 11):
        place.run(environment / "bin/pip", "install", "-q", "--disable-pip-version-check", "--no-deps", wheel_of(place, "octet_tensorrt"))
        (place.work / "job.py").write_text(TENSORRT_JOB)
        place.run(environment / "bin/python", place.inside / "job.py", place.inside, place.digits)
        line += ", tensorrt"
    return line + check_kernels(place, environment / "bin/octet")


def check_kernels(place, program):
    """Every kernel that the processor of an emulator has, against the reference."""
    if not isinstance(place, Emulated):
        return ""
    return f", selftest: {place.run(program, 'selftest', '--seconds', '0').strip().splitlines()[-1]}"


def check_program(place, expected):
    """The command alone, out of the wheel, where Python is too old for the module."""
    unpacked = place.work / "unpacked"
    shutil.unpack_archive(place.made / wheel_of(place, "octet_int8").name, unpacked, "zip")
    program = next(unpacked.glob("*.data/scripts/octet"))
    program.chmod(0o755)
    check_command(place, expected, place.inside / program.relative_to(place.work))
    return "the command alone, same bytes" + check_kernels(place, place.inside / program.relative_to(place.work))


def check_package(place, expected):
    """The command out of the Debian package, which leaves nothing behind, and out of the archive."""
    packages, archives = sorted(place.artifacts.glob(f"octet_*_{place.debian}.deb")), sorted(place.artifacts.glob("octet-*.tar.xz"))
    if len(packages) != 1 or len(archives) != 1:
        return ""
    shutil.copy(packages[0], place.work / "octet.deb")
    place.dpkg("-i", "octet.deb")
    try:
        check_command(place, expected, "/usr/bin/octet")
    finally:
        place.dpkg("-P", "octet")
    shutil.unpack_archive(archives[0], place.work / "archive")
    program = next((place.work / "archive").glob("*/bin/octet"))
    check_command(place, expected, place.inside / program.relative_to(place.work))
    return ", package, archive"


def check_command(place, expected, inside):
    """The engine and the answers of that program of the place."""
    engine, out = place.inside / "digits.octet", place.inside / "answers.npz"
    images = place.work / "images.npy"
    shutil.copy(expected["images"], images)
    place.run(inside, "build", place.digits / "digits.onnx", "--int8", "--calib", place.inside / "images.npy", "--reproducible", "-o", engine, "--quiet",
              "--force")
    place.run(inside, "run", engine, place.inside / "images.npy", "-o", out, "--force")
    if digest(place.work / "digits.octet") != expected["engine"] or digest(place.work / "answers.npz") != digest(expected["npz"]):
        raise RuntimeError(f"{inside}: the engine or its INT8 answers differ from those of this machine's own build")


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def reference(folder):
    """The engine and the answers of the development build."""
    import numpy
    program = ROOT / "build/release/octet"
    digits = numpy.load(DIGITS / "digits.npz")
    images = folder / "images.npy"
    numpy.save(images, digits["train_images"][:, None].astype(numpy.float32) / 16)
    engine, out = folder / "digits.octet", folder / "answers.npz"
    run([program, "build", DIGITS / "digits.onnx", "--int8", "--calib", images, "--reproducible", "-o", engine, "--quiet"])
    run([program, "run", engine, images, "-o", out])
    answers = numpy.load(out)
    return {"images": images, "npz": out, "engine": digest(engine),
            "answers": {name: hashlib.sha256(numpy.ascontiguousarray(answers[name]).tobytes()).hexdigest() for name in sorted(answers.files)}}


def pythons():
    """Other Pythons of this machine, newest first, that can make environments."""
    for minor in range(20, OLDEST[1] - 1, -1):
        path = shutil.which(f"python3.{minor}")
        if path and subprocess.run([path, "-c", "import venv, ensurepip"], capture_output=True, check=False).returncode == 0:
            yield path


def main(arguments):
    emulated = arguments[:2] == ["--arch", "aarch64"]
    chosen, suites = (arguments[2:], EMULATED_SUITES) if emulated else (arguments, SUITES)
    if unknown := sorted(set(chosen) - set(suites)):
        print(f"error: no suite {', '.join(unknown)}; there are {', '.join(suites)}", file=sys.stderr)
        return 2
    rows, failed = [], 0
    with tempfile.TemporaryDirectory() as folder:
        expected = reference(pathlib.Path(folder))
        kind = Emulated if emulated else Debian
        places = [(lambda suite=suite: kind(suite), []) for suite in suites if not chosen or suite in chosen]
        if not chosen and not emulated:
            places += [(lambda path=path: Host(path), []) for path in pythons()]
            places += [(lambda: Debian("bookworm"), ["numpy==1.23.5"])]
        for make, numpy in places:
            place = None
            try:
                place = make()
                line = check(place, numpy, expected)
                rows.append((place.name, line + (check_package(place, expected) if isinstance(place, Debian) and not numpy else "")))
            except (RuntimeError, OSError, StopIteration, LookupError, ValueError) as error:
                failed += 1
                rows.append((place.name if place else "place", f"FAILED: {error}"))
            finally:
                if place:
                    place.close()
            print(f"{rows[-1][0]:<28} {rows[-1][1]}", flush=True)
    print(f"{len(rows) - failed} of {len(rows)} places work")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

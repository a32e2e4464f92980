#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpu.py FOLDER: installs the wheels of a folder (octet_int8, numpy and nanobind-backend for this Python) on a machine with an NVIDIA GPU and no network, and
does there what the first page promises: import, a build, a run on the GPU with the CPU's bytes, a first inference on a warm kernel cache."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples/digits"

JOB = r"""
import sys, time
import numpy
start = time.perf_counter()
import octet
print(f"import octet: {time.perf_counter() - start:.3f} s; octet {octet.__version__}, NumPy {numpy.__version__}, {octet.cpu_isa()}")
digits = numpy.load(sys.argv[1] + "/digits.npz")
images = digits["train_images"][:, None].astype(numpy.float32) / 16
engine = octet.compile(sys.argv[1] + "/digits.onnx", calibration=images[:200])
cpu = octet.Context(engine).run(images)[0]
start = time.perf_counter()
gpu = octet.Context(engine, device="cuda:0").run(images)[0]
print(f"context and first run on the GPU, whatever the cache holds: {time.perf_counter() - start:.2f} s")
start = time.perf_counter()
again = octet.Context(engine, device="cuda:0").run(images)[0]
print(f"a second context and its first run, kernels cached: {time.perf_counter() - start:.3f} s")
assert cpu.tobytes() == gpu.tobytes() == again.tobytes(), "the GPU's bytes differ from the CPU's"
print(f"CPU and GPU: same bytes; {100 * float((gpu.argmax(1) == digits['train_labels']).mean()):.2f} % right")
"""


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command[:4]))} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def install(wheels, environment):
    """A virtual environment with the wheels; by pip where this Python has it, else as pip would: files in their places."""
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    site = next((environment / "lib").glob("python3.*/site-packages"))
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0:
        run(sys.executable, "-m", "pip", "--python", environment / "bin/python", "install", "-q", "--no-index", "--find-links", wheels, "octet-int8")
        return "pip"
    for wheel in sorted(wheels.glob("*.whl")):
        if wheel.name.startswith("octet_tensorrt"):
            continue
        shutil.unpack_archive(wheel, site, "zip")
        for data in site.glob("*.data"):
            for part, place in (("scripts", environment / "bin"), ("data", environment)):
                if (data / part).is_dir():
                    shutil.copytree(data / part, place, dirs_exist_ok=True)
    for program in (environment / "bin/octet", environment / "libexec/octet/octet-kernel-compiler", site / "octet/octet-kernel-compiler"):
        program.chmod(0o755)
    return "unzip"


def main(wheels):
    with tempfile.TemporaryDirectory(prefix="octet-gpu-") as work:
        environment = pathlib.Path(work) / "environment"
        how = install(pathlib.Path(wheels).absolute(), environment)
        print(f"{run('sh', '-c', '. /etc/os-release; echo $PRETTY_NAME').strip()}, Python {sys.version.split()[0]}, {os.confstr('CS_GNU_LIBC_VERSION')}, installed by {how}")
        print(run("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").strip())
        cache = {**os.environ, "OCTET_KERNEL_CACHE": str(pathlib.Path(work) / "kernels")}
        cache.pop("VIRTUAL_ENV", None)
        job = pathlib.Path(work) / "job.py"
        job.write_text(JOB)
        print(run(environment / "bin/python", job, DIGITS, env=cache).strip())
        octet = environment / "bin/octet"
        engine, outputs = pathlib.Path(work) / "digits.octet", []
        run(octet, "build", DIGITS / "digits.onnx", "-o", engine, "--quiet", env=cache)
        for device in ("cpu", "cuda:0"):
            out = pathlib.Path(work) / f"{device.partition(':')[0]}.npz"
            start = time.perf_counter()
            run(octet, "run", engine, "--random", "1", "--device", device, "-o", out, env=cache)
            outputs.append(hashlib.sha256(out.read_bytes()).hexdigest()[:16])
            print(f"octet run --device {device}: {time.perf_counter() - start:.2f} s, sha256 {outputs[-1]}")
        print(run(octet, "devices", env=cache).strip())
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))

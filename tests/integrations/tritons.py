# SPDX-License-Identifier: Apache-2.0
"""Triton's real server with the backend of this build: where both are, starting and ending it, and what the tests ask of it."""

import functools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

import harness
from harness import BUILD, ROOT, digits_engine, octet, scratch

# ./dev setup installs the packages of tools/triton_requirements.txt there.
FOLDER = pathlib.Path(os.environ.get("OCTET_TRITON", ROOT / ".venv/triton"))
HOME = FOLDER / "pytriton/tritonserver"
BACKENDS = BUILD / "triton/backends"
STARTS = 1200  # looks at a server that does not come up, 50 ms each


def need():
    """Makes the client importable, or skips."""
    if not (HOME / "bin/tritonserver").exists():
        raise unittest.SkipTest(f"{HOME} is absent; ./dev setup installs it")
    if not (BACKENDS / "octet/libtriton_octet.so").exists():
        raise unittest.SkipTest("the backend was not built (octet_triton)")
    # Behind what the interpreter has: tests of other things import their own packages.
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))


def free_ports(count):
    """By chance below the range that outgoing connections get theirs from: else one of those may take a port before the server has it."""
    first = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    chance, held = random.SystemRandom(), []
    while len(held) < count:
        holder = socket.socket()
        try:
            holder.bind(("127.0.0.1", chance.randrange(10000, max(first, 20000))))
            held.append(holder)
        except OSError:
            holder.close()
    ports = [holder.getsockname()[1] for holder in held]
    for holder in held:
        holder.close()
    return ports


class Server:
    """tritonserver over a repository, until close()."""

    def __init__(self, repository, *flags, env=None, wait=True):
        self.http, self.grpc, self.metrics = free_ports(3)
        self.log = pathlib.Path(repository).with_suffix(".log")
        command = [HOME / "bin/tritonserver", f"--model-repository={repository}", f"--backend-directory={BACKENDS}",
                   f"--http-port={self.http}", f"--grpc-port={self.grpc}", f"--metrics-port={self.metrics}", "--http-address=127.0.0.1",
                   "--grpc-address=127.0.0.1", "--metrics-address=127.0.0.1", "--exit-timeout-secs=5", *flags]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log, env={**os.environ, **(env or {})})
        try:
            if wait:
                self.wait()
        except BaseException:
            self.close()
            raise

    def wait(self):
        for _ in range(STARTS):
            if self.process.poll() is not None:
                raise AssertionError(f"tritonserver ended with {self.process.returncode}\n{self.text()}")
            if self.status("/v2/health/ready") == 200 and self.has_metrics():
                return
            time.sleep(0.05)
        raise AssertionError(f"tritonserver is not ready\n{self.text()}")

    def has_metrics(self):
        """Their port is the last that the server opens."""
        try:
            return self.metrics_text() is not None
        except OSError:
            return False

    def text(self):
        return self.log.read_text(errors="replace")

    def alive(self):
        return self.process.poll() is None

    def close(self):
        if self.alive():
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def request(self, path, body=None, headers=None):
        """The status and the body of an answer; (0, b"") where none comes."""
        asked = urllib.request.Request(f"http://127.0.0.1:{self.http}{path}", data=body, headers=headers or {})
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except OSError:
            return 0, b""

    def status(self, path):
        return self.request(path)[0]

    def json(self, path, body=None):
        status, answer = self.request(path, None if body is None else json.dumps(body).encode())
        return status, json.loads(answer or b"{}")

    def metrics_text(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics}/metrics", timeout=60) as answer:
            return answer.read().decode()

    def metric(self, name, **labels):
        """The sum of a metric over what has these labels."""
        total = 0.0
        for labelled, value in re.findall(rf"^{name}{{(.*)}} (\S+)$", self.metrics_text(), re.M):
            if all(f'{key}="{wanted}"' in labelled for key, wanted in labels.items()):
                total += float(value)
        return total

    def resident(self):
        """Bytes, descriptors and threads of the process."""
        proc = pathlib.Path(f"/proc/{self.process.pid}")
        status = proc.joinpath("status").read_text()
        return (1024 * int(re.search(r"VmRSS:\s+(\d+)", status).group(1)), len(os.listdir(proc / "fd")),
                int(re.search(r"Threads:\s+(\d+)", status).group(1)))


def add_model(repository, name, files, config=None, version=1):
    """A version of a model: {name in its folder: file}, and the text of config.pbtxt."""
    folder = pathlib.Path(repository) / name
    (folder / str(version)).mkdir(parents=True, exist_ok=True)
    for target, source in files.items():
        if source is not None:
            shutil.copy(source, folder / str(version) / target)
    if config is not None:
        (folder / "config.pbtxt").write_text(config)
    return folder


@functools.cache
def images():
    """Twelve images as the network gets them, and what `octet run` gives for each: rows of the two arrays."""
    numpy = harness.need("numpy")
    made = numpy.random.default_rng(1).random((12, 1, 8, 8), dtype=numpy.float32)
    numpy.savez(scratch() / "images.npz", image=made)
    octet("run", digits_engine(), scratch() / "images.npz", "-o", scratch() / "want.npz")
    with numpy.load(scratch() / "want.npz") as want:
        return made, want["logits"]

# SPDX-License-Identifier: Apache-2.0
"""Ill-treated processes: standard descriptors that are closed, full or of the wrong kind, FIFOs, devices, sockets and folders for every
flag that names a file, and systems that give no more threads, descriptors, or room in a file.

    OCTET=build/release/octet PYTHONPATH=tests python3 tests/hostile/edges.py --cases 1000 --seed 1

Whatever happens, a command ends by itself with 0, 1 or 2, within a limit of processor time; 2 says why, as far as somebody reads it;
and nothing that was there is changed, nor anything left behind that was not asked for."""

import argparse
import functools
import hashlib
import os
import pathlib
import random
import re
import resource
import shutil
import socket
import stat
import subprocess
import sys
import tempfile

from harness import DIGITS, PROGRAM, commands, digits, digits_engine, octet, scratch

FILES = re.compile(r"FILE|DIR|ENGINE|MODEL|CASE\.|OUT\.")
PROCESSOR_SECONDS = 20
WALL_SECONDS = 120  # a hang, not a measure
GIB = 1 << 30
STACK = 3 * GIB  # of a thread, so that the address space decides how many there are
FIRST = GIB + GIB // 2  # the program with its libraries, and what its threads allocate


@functools.cache
def flags_of_files(command):
    """The flags that name files, with the kind of each, as the help shows them; and how many positional arguments do."""
    found = {}
    for line in octet(command, "--help").out.splitlines():
        flag = re.match(r"  (?:-\w,)?(--[\w-]+) (\S+)", line)
        if flag and FILES.search(flag.group(2)) and "OUTPUT:" not in flag.group(2):
            found[flag.group(1)] = flag.group(2)
    return found


@functools.cache
def files():
    """What a command line names, in a folder that no case may change."""
    folder = scratch() / "edges"
    folder.mkdir()
    images = folder / "images"
    images.mkdir()
    for image in sorted((digits() / "test").rglob("*.png"))[:4]:
        shutil.copy(image, images)
    named = {"engine": folder / "engine.octet", "model": folder / "model.onnx", "images": images, "image": sorted(images.iterdir())[0],
             "json": folder / "preprocess.json", "case": folder / "case.zip", "cache": folder / "a.cache", "arrays": folder / "a.npz"}
    shutil.copy(digits_engine(), named["engine"])
    shutil.copy(DIGITS / "digits.onnx", named["model"])
    shutil.copy(DIGITS / "preprocess.json", named["json"])
    octet("build", named["model"], "--int8", "--calib", images, "--preprocess", named["json"], "--calib-cache", named["cache"],
          "-o", folder / "built.octet", "--quiet")
    octet("run", named["engine"], images, "-o", named["arrays"])
    octet("bundle", named["engine"], "--inputs", images, "-o", named["case"])
    return named


def valid_commands():
    """Of each subcommand a line that ends with 0; {out} is the folder of the case."""
    f = files()
    quick = ("--seconds", "0.01", "--warmup", "1")
    return {
        "check": [f["model"]],
        "build": [f["model"], "--int8", "--calib", f["images"], "--preprocess", f["json"], "-o", "{out}/new.octet"],
        "inspect": [f["engine"]],
        "run": [f["engine"], f["image"], "-o", "{out}/new.npz"],
        "eval": [f["engine"], "--data", f["images"], "--against", f["model"]],
        "compare": [f["engine"], "--calib", f["images"], "--against", f["model"]],
        "bench": [f["engine"], *quick],
        "report": [f["model"], "--calib", f["images"], "--preprocess", f["json"], "--report", "{out}/new.html"],
        "plugin": ["check", f["json"]],  # no plugin: ends with 2
        "export": [f["engine"], "--onnx", "{out}/new.onnx"],
        "extract": [f["model"], "-o", "{out}/part.onnx"],
        "simulate": [f["engine"], "--calib", f["images"]],
        "devices": [],
        "selftest": ["--seconds", "1", "--kernels", "0"],
        "bundle": [f["engine"], "--inputs", f["images"], "-o", "{out}/new.zip"],
        "reproduce": [f["case"]],
        "warm": [f["engine"], "--for", "h200", "-o", "{out}/kernels"],  # no compiler (start()): ends with 2
        "exec": ["true"],
        "sensitivity": [f["model"], "--calib", f["images"], "--preprocess", f["json"], "--samples", "2", "--max-passes", "3", "--no-times"],
        "trtexec": [f"--loadEngine={f['engine']}", "--iterations=1", "--duration=0", "--warmUp=0", "--exportTimes={out}/times.json"],
        "help": ["run"],
        "version": [],
        "completion": ["bash"],
        "manual": ["build"],
    }


STRANGER = 54321  # a user that may read and write nothing of ours


def become_stranger():
    os.setgroups([])
    os.setgid(STRANGER)
    os.setuid(STRANGER)


@functools.cache
def strangers_run():
    """Whether the test may become another user, who may run the program."""
    if os.geteuid() != 0:
        return False
    try:
        return subprocess.run([str(PROGRAM), "version"], capture_output=True, check=False, preexec_fn=become_stranger).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


TRTEXEC_FILES = ("--onnx", "--loadEngine", "--saveEngine", "--calib", "--calibData", "--calibPreprocess", "--calibCacheOut", "--timingCacheFile",
                 "--exportTimes", "--exportOutput", "--exportProfile", "--exportLayerInfo", "--loadInputs", "--staticPlugins")


def make_special(folder, kind):
    """Something that is no file for a command, in `folder` where it has to be made."""
    path = folder / kind
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "fifo.onnx":
        os.mkfifo(path)
    elif kind == "socket":
        where = os.getcwd()
        os.chdir(folder)  # the address of a socket is short
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(kind)
        os.chdir(where)
    elif kind == "folder":
        path.mkdir()
    elif kind == "dangling":
        path.symlink_to("nowhere")
    elif kind == "round":
        path.symlink_to(kind)
    elif kind == "to_fifo":
        os.mkfifo(folder / "behind")
        path.symlink_to("behind")
    elif kind == "empty":
        path.touch()
    elif kind == "long":
        return folder / ("x" * 5000)
    elif kind == "file/below":
        (folder / "file").touch()
    else:
        return pathlib.Path(kind)
    return path


SPECIAL = ("fifo", "fifo.onnx", "socket", "folder", "dangling", "round", "to_fifo", "empty", "long", "file/below", "/dev/null", "/dev/zero", "/dev/full",
           "/dev/tty", "/dev/stdin", "/dev/stdout", "/dev/fd/9", "/proc/self/mem", "/proc/self/cmdline", "/", "-", "")
DESCRIPTORS = ("closed", "full", "broken", "null", "folder", "read", "write")


class Case:
    """One command line, and what its process is started with."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.seed = seed
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="edge-", dir=scratch()))
        self.command = self.random.choice(sorted(valid_commands()))
        self.words = [self.command, *(str(word).replace("{out}", str(self.folder)) for word in valid_commands()[self.command])]
        self.descriptors, self.limits, self.stranger = {}, {}, False
        kinds = self.random.sample((self.change_file, self.change_descriptor, self.change_limit), self.random.choice((1, 1, 2)))
        for change in kinds:
            change()

    def change_file(self):
        kind = self.random.choice(SPECIAL)
        path = str(make_special(self.folder, kind))
        if self.command == "trtexec":
            flag = self.random.choice(TRTEXEC_FILES)
            value = f"image:{path}" if flag == "--loadInputs" else path
            if flag == "--onnx":
                self.words = [word for word in self.words if not word.startswith("--loadEngine")]
            self.words = [word for word in self.words if not word.startswith(flag + "=")] + [f"{flag}={value}"]
            return
        places = [i for i, word in enumerate(self.words) if i > 0 and "/" in word and not self.words[i - 1].startswith("-")]
        flags = sorted(flags_of_files(self.command)) if self.command in commands() else []
        if places and (not flags or self.random.random() < 0.3):
            self.words[self.random.choice(places)] = path
            return
        if not flags:
            return
        flag = self.random.choice(flags)
        short = {"--output": "-o"}.get(flag, flag)
        if short in self.words:
            self.words[self.words.index(short) + 1] = path
        else:
            self.words += [flag, path]

    def change_descriptor(self):
        for number in self.random.sample((0, 1, 2), self.random.choice((1, 1, 2, 3))):
            self.descriptors[number] = self.random.choice(DESCRIPTORS)
        if self.random.random() < 0.2 and self.command not in ("devices", "help", "version", "completion", "manual", "trtexec", "plugin"):
            self.words.append("--json")

    def change_limit(self):
        kind = self.random.choice(("threads", "threads", "descriptors", "size", "stranger"))
        if kind == "threads":
            self.limits[resource.RLIMIT_STACK] = STACK
            self.limits[resource.RLIMIT_AS] = FIRST + STACK * self.random.randrange(8)
            if self.command == "trtexec":
                self.words += [f"--infStreams={self.random.choice((2, 5, 9))}"]
            elif "--threads" in octet(self.command, "--help").out:
                self.words += ["--threads", str(self.random.choice((2, 5, 9)))]
                if self.command == "bench" and self.random.random() < 0.5:
                    self.words += ["--streams", str(self.random.choice((2, 5)))]
        elif kind == "stranger":
            self.stranger = strangers_run()
        elif kind == "descriptors":
            self.limits[resource.RLIMIT_NOFILE] = self.random.randrange(4, 12)
        else:
            self.limits[resource.RLIMIT_FSIZE] = self.random.choice((0, 1, 100, 5000))

    def opened(self, number, kind):
        """A descriptor of that kind, or None for one that is to be closed."""
        if kind == "closed":
            return None
        if kind == "broken":
            ends = os.pipe()
            os.close(ends[0] if number else ends[1])
            return ends[1] if number else ends[0]
        name, flags = {"full": ("/dev/full", os.O_RDWR), "null": ("/dev/null", os.O_RDWR), "folder": (self.folder, os.O_RDONLY),
                       "read": (files()["json"], os.O_RDONLY), "write": ("/dev/null", os.O_WRONLY)}[kind]
        return os.open(name, flags)

    def start(self):
        given = {number: self.opened(number, kind) for number, kind in self.descriptors.items()}

        def before():
            for number, fd in given.items():
                if fd is None:
                    os.close(number)
                else:
                    os.dup2(fd, number)
            resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS + 1))
            os.setpgid(0, 0)
            for limit, value in self.limits.items():
                resource.setrlimit(limit, (value, resource.getrlimit(limit)[1]))
            if self.stranger:
                become_stranger()

        process = subprocess.Popen([str(PROGRAM), *self.words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   cwd=self.folder, preexec_fn=before, restore_signals=True,
                                   env={**os.environ, "TMPDIR": str(self.folder), "OCTET_NVRTC": "/no/compiler"})
        for fd in given.values():
            if fd is not None:
                os.close(fd)
        return process

    def wrong(self):
        """What went wrong; empty where nothing did."""
        process = self.start()
        try:
            out, err = process.communicate(timeout=WALL_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return "does not end"
        err = err.decode(errors="replace")
        loader_fails = process.returncode == 127 and "error while loading shared libraries" in err
        if process.returncode not in (0, 1, 2) and not loader_fails:
            return f"ends with {process.returncode}: {err[-400:]}"
        # A reader of standard output that has gone is told nothing.
        told = 2 in self.descriptors or self.descriptors.get(1) == "broken" or "error" in err.lower() or b"[E]" in out
        if process.returncode == 2 and not told:
            return "ends with 2 and does not say why"
        try:
            os.killpg(process.pid, 0)
            return "leaves a process behind"
        except ProcessLookupError:
            pass
        if "internal" in err and "this is a bug" in err:
            return f"calls it a bug: {err[-400:]}"
        left = [path.name for path in self.folder.iterdir() if path.name.endswith(".tmp") or path.name.startswith("octet-")]
        return f"leaves {left} behind" if left else ""

    def describe(self):
        names = {resource.RLIMIT_STACK: "stack", resource.RLIMIT_AS: "space", resource.RLIMIT_NOFILE: "descriptors", resource.RLIMIT_FSIZE: "size"}
        limits = ", ".join(f"{names[limit]} {value}" for limit, value in self.limits.items())
        return f"seed {self.seed}: octet {' '.join(self.words)[:600]} | descriptors {self.descriptors} | limits {limits}{' | as a stranger' * self.stranger}"

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def fingerprint():
    """Of all that no case may change."""
    found = hashlib.sha256()
    for path in sorted((scratch() / "edges").rglob("*")):
        found.update(str(path).encode())
        if stat.S_ISREG(path.lstat().st_mode):
            found.update(path.read_bytes())
    return found.hexdigest()


def failures(seed, cases, progress=None):
    """Lines about the cases that went wrong."""
    files()
    before, found = fingerprint(), []
    for number in range(cases):
        case = Case(seed * 1_000_000 + number)
        wrong = case.wrong()
        if not wrong and fingerprint() != before:
            wrong, before = "changes what was there", fingerprint()
        if wrong:
            found.append(f"{case.describe()}\n    {wrong}")
        case.remove()
        if progress:
            progress(number + 1, len(found))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    found = failures(arguments.seed, arguments.cases)
    for line in found:
        print(line)
    print(f"{arguments.cases} cases, {len(found)} went wrong")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

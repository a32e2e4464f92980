# SPDX-License-Identifier: Apache-2.0
"""What the suites of octet trtexec (trtexec_*test.py) have in common: runs of the digits, and lines without their prefixes."""

import re

from harness import DIGITS, octet

MODEL = DIGITS / "digits.onnx"
QUICK = ("--duration=0", "--warmUp=0", "--iterations=5", "--cpuThreads=1")
PREFIX = re.compile(r"\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[([EWIV])\] ?")


def trtexec(*flags, code=0, env=None, cwd=None):
    return octet("trtexec", *flags, code=code, env=env, cwd=cwd)


def quick(*flags, code=0, **more):
    return trtexec(f"--onnx={MODEL}", *QUICK, *flags, code=code, **more)


def lines(text):
    """Without prefixes and the lines of the test."""
    return [PREFIX.sub("", line) for line in text.splitlines() if not line.startswith("&&&&")]

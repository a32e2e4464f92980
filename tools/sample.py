#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A part of a list that a commit's hash chooses: another commit checks another part, and the same commit the same. Each line of standard
input belongs to one of N parts by its own name, so that a new line moves no other.

usage: sample.py N [COMMIT] <LINES"""

import hashlib
import subprocess
import sys


def part_of(text, parts):
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % parts


def sample(lines, parts, commit):
    return [line for line in lines if part_of(line, parts) == part_of(commit, parts)]


def pick(names, commit):
    """One of them."""
    return sorted(names)[part_of(commit, len(names))]


def head():
    return subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()


def main():
    parts = int(sys.argv[1])
    commit = sys.argv[2] if len(sys.argv) > 2 else head()
    print("\n".join(sample([line for line in sys.stdin.read().splitlines() if line], parts, commit)))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/proofs.json says what `./dev prove` found of the proofs that are too long for every run of CI (tools/proofs.py). Each of them held when it last ran;
one whose inputs have changed since is run again within days, counted at the commit's own date, so that a commit passes today as it did
then."""

import datetime
import subprocess
import sys

from guard import verdict
from proofs import PROOFS, ROOT, due, read_record


def day_of_commit():
    """The date of HEAD; without a repository today's."""
    said = subprocess.run(["git", "log", "-1", "--format=%cs"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    return datetime.date.fromisoformat(said) if said else datetime.date.today()


def main():
    record, day = read_record(), day_of_commit()
    found = [due(proof, record, day) for proof in PROOFS]
    problems = [problem for problem, _ in found if problem]
    problems += [f"tests/proofs.json: there is no proof {name}" for name in record.keys() - {proof.name for proof in PROOFS}]
    for line in [notice for _, notice in found if notice]:
        print(line)
    return verdict(problems, f"{len(PROOFS)} proofs")


if __name__ == "__main__":
    sys.exit(main())

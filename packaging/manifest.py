#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""manifest.py FOLDER DEPENDENCIES.json: FOLDER/release.json, which says what a release is: its commit, its files with size and SHA-256, and the libraries
inside with their versions. The same commit and the same libraries give the same bytes."""
import hashlib
import json
import pathlib
import subprocess
import sys

NAME = "release.json"


def main(folder, dependencies):
    folder = pathlib.Path(folder)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    libraries = {entry["name"]: entry["version"] for entry in json.loads(pathlib.Path(dependencies).read_text())}
    files = {path.name: {"bytes": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
             for path in sorted(folder.iterdir()) if path.name != NAME}
    (folder / NAME).write_text(json.dumps({"commit": commit, "files": files, "libraries": libraries}, indent=2) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])

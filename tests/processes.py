# SPDX-License-Identifier: Apache-2.0
"""Processes that a program left behind: known by a variable in the environment that it was started with, which whatever it starts or forks has."""

import os
import pathlib
import signal
import uuid


class Tag:
    def __init__(self):
        self.name, self.value = "OCTET_TEST_TAG", str(uuid.uuid4())

    @property
    def env(self):
        return {self.name: self.value}

    def living(self):
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if f"{self.name}={self.value}".encode() in (folder / "environ").read_bytes():
                    if ") Z " not in (folder / "stat").read_text():
                        found.append(int(folder.name))
            except OSError:
                continue
        return found

    def end(self):
        """How many there were."""
        left = self.living()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return len(left)

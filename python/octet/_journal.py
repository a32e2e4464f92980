# SPDX-License-Identifier: Apache-2.0
"""What searches have measured, in the file that `octet build --journal` writes."""

from __future__ import annotations

import math
import os

from ._data import wrong

_HEADER = b"octet-journal 1"
_MOST_BYTES = 64 << 20


def _number(text: bytes) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


class Journal:
    """Numbers by keys, in memory and, with a path, in a file, which gets each of them at once.

    Raises:
        Error: The file is no journal.
    """

    def __init__(self, path: str | os.PathLike | None) -> None:
        self._path = path
        self.values: dict[str, float] = {}
        if path is None:
            return
        with open(path, "ab+") as file:
            file.seek(0)
            text = file.read(_MOST_BYTES + 1)
            self._read(text)
            if not text.startswith(_HEADER + b"\n"):
                file.truncate(0)
                file.write(_HEADER + b"\n")
            elif not text.endswith(b"\n"):
                file.truncate(text.rindex(b"\n") + 1)  # its writer was killed

    def _read(self, text: bytes) -> None:
        if len(text) > _MOST_BYTES:
            raise wrong(f"journal {os.fspath(self._path or '')!r}: more than {_MOST_BYTES >> 20} MiB; name another file")
        *lines, rest = text.split(b"\n")  # the rest was not written whole
        if not lines and not _HEADER.startswith(rest):
            lines = [rest]
        for number, line in enumerate(lines):
            if number == 0 and line == _HEADER:
                continue
            key, blank, value = line.rpartition(b" ")
            known = _number(value) if blank else None
            if number == 0 or known is None:
                raise wrong(
                    f"journal {os.fspath(self._path or '')!r}, line {number + 1}: not of a journal, whose first line is {_HEADER.decode()!r} and "
                    "whose others are a key and a number; name another file")
            self.values[key.decode(errors="surrogateescape")] = known

    def recall(self, key: str) -> float | None:
        return self.values.get(key)

    def record(self, key: str, value: float) -> None:
        if self.values.get(key) == value:
            return
        self.values[key] = value
        if self._path is not None:
            with open(self._path, "ab") as file:
                file.write(key.encode(errors="surrogateescape") + b" " + repr(float(value)).encode() + b"\n")

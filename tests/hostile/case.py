# SPDX-License-Identifier: Apache-2.0
"""What the generated hostile files have in common: a case is files, the command that reads them, and what must come of it."""

import dataclasses

ANY, REFUSED, ACCEPTED = "any", "refused", "accepted"


@dataclasses.dataclass
class Case:
    name: str
    files: dict  # name -> bytes
    commands: list  # arguments; the first file that they name is what is read
    verdict: str = ANY
    words: tuple = ()  # that the error must hold
    run: bool = False  # whether a built engine is run, too


def model_case(name, model, verdict=ANY, words=(), run=False, **files):
    """The model through `check` and `build`. Other files lie beside it."""
    named = {file.replace("__", "."): data for file, data in files.items()}
    commands = [["check", "m.onnx"], ["build", "m.onnx", "-o", "out.octet", "--quiet"]]
    return Case(name, {"m.onnx": model, **named}, commands, verdict, words, run)

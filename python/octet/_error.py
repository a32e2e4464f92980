# SPDX-License-Identifier: Apache-2.0
"""The one exception of Octet."""

from __future__ import annotations


class Error(RuntimeError):
    """What is wrong with a model, an option or data, or what could not be had.

    `str(error)` is the message and its context, one line each.

    Attributes:
        code: "invalid_model", "unsupported", "invalid_argument", "out_of_memory", "io", "cancelled" or "internal".
        message: The first line.
        context: What was being done, innermost first.
        field: The option of the C++ interface that the error is about, "CompileOptions.input_shapes"; may be empty.
    """

    code: str
    message: str
    context: list[str]
    field: str

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        # Of the object and not of the class: Ray's errors of remote calls look like this one and ask it for what they lack.
        self.code, self.message, self.context, self.field = "internal", "", [], ""

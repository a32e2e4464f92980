# SPDX-License-Identifier: Apache-2.0
"""python -m tensorrt [--torch-cuda] PROGRAM ARGUMENTS...: runs a program of Python, a file or a command, that imports pycuda or cuda before
it imports tensorrt. With --torch-cuda PyTorch has a device "cuda", which without a GPU is the host."""

import os
import runpy
import shutil
import sys
import zipfile

_USAGE = "usage: python -m tensorrt [--torch-cuda] PROGRAM ARGUMENTS..."


def _is_python(program):
    """What compiles is, whatever its first line says: installers start commands with long paths by a shell."""
    with open(program, "rb") as file:
        first = file.readline(256)
        if not first.startswith((b"\x7fELF", b"#!")) or b"python" in first:
            return True
        text = first + file.read()
    try:
        compile(text, program, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return zipfile.is_zipfile(program)
    return True


def _main(words):
    torch_cuda = words[:1] == ["--torch-cuda"]
    words = words[torch_cuda:]
    if not words or words[0].startswith("-"):
        sys.exit(_USAGE)
    program = words[0]
    # A command such as yolo lies beside Python's own, or where PATH says.
    if not os.path.isfile(program) and os.sep not in program:
        folders = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
        program = shutil.which(program, path=folders) or program
    if not os.path.exists(program):
        sys.exit(f"python -m tensorrt: {program}: no such file or command")
    if os.path.isfile(program) and not _is_python(program):
        sys.exit(f"python -m tensorrt: {program} is not written in Python: expected a program of Python, got a binary or a script of another "
                 "interpreter; name the program of Python that it starts")
    sys.argv = [program, *words[1:]]
    sys.path[0] = os.path.dirname(os.path.abspath(program))
    if torch_cuda:
        from tensorrt import _torch_cuda

        _torch_cuda.install()
    runpy.run_path(program, run_name="__main__")


_main(sys.argv[1:])

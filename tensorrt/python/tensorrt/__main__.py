# SPDX-License-Identifier: Apache-2.0
"""python -m tensorrt [--torch-cuda] PROGRAM ARGUMENTS...: runs a program of Python, a file or a command, that imports pycuda or cuda before
it imports tensorrt. With --torch-cuda PyTorch has a device "cuda", which without a GPU is the host."""

import os
import runpy
import shutil
import sys

_USAGE = "usage: python -m tensorrt [--torch-cuda] PROGRAM ARGUMENTS..."


def _main(words):
    torch_cuda = words[:1] == ["--torch-cuda"]
    words = words[torch_cuda:]
    if not words or words[0].startswith("-"):
        sys.exit(_USAGE)
    program = words[0]
    # A command such as yolo lies beside Python's own, or where PATH says.
    if not os.path.exists(program) and os.sep not in program:
        folders = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
        program = shutil.which(program, path=folders) or program
    sys.argv = [program, *words[1:]]
    sys.path[0] = os.path.dirname(os.path.abspath(program))
    if torch_cuda:
        from tensorrt import _torch_cuda

        _torch_cuda.install()
    runpy.run_path(program, run_name="__main__")


_main(sys.argv[1:])

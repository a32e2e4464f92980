# SPDX-License-Identifier: Apache-2.0
"""python -m tensorrt PROGRAM.py ARGUMENTS...: runs a program that imports pycuda or cuda before it imports tensorrt."""

import os
import runpy
import sys

if len(sys.argv) < 2:
    sys.exit("usage: python -m tensorrt PROGRAM.py ARGUMENTS...")
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")

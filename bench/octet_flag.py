# SPDX-License-Identifier: Apache-2.0
"""`--octet PROGRAM` of scripts that are written on tests/harness.py: it reads the variable when it is imported, so the flag is taken before."""

import os
import sys

if "--octet" in sys.argv:
    at = sys.argv.index("--octet")
    os.environ["OCTET"] = sys.argv[at + 1]
    del sys.argv[at : at + 2]

# SPDX-License-Identifier: Apache-2.0
"""The Python module octet as it was built, and the bundled digits for it."""

import functools
import sys
import unittest
import warnings

import harness
from harness import BUILD, DIGITS

MODEL = DIGITS / "digits.onnx"
FOLDER = BUILD / "python"


@functools.cache
def built():
    """Skips where it was not built."""
    harness.need("numpy")
    if not list((FOLDER / "octet").glob("_octet.*.so")):
        raise unittest.SkipTest(f"{FOLDER} has no module: nanobind or Python's headers are absent; ./dev setup installs them")
    sys.path.insert(0, str(FOLDER))
    import octet  # what keeps it from loading is a failure

    return octet


def images(part, count=None):
    np = harness.need("numpy")
    arrays = np.load(DIGITS / "digits.npz")
    part, count = ("train", count or 200) if part == "calib" else (part, count)
    return (arrays[f"{part}_images"][:count].astype(np.float32)[:, None] / 16, arrays[f"{part}_labels"][:count])


def compiled(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return built().compile(MODEL, **options)

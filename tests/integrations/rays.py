# SPDX-License-Identifier: Apache-2.0
"""Ray with this build's module: where both are, the digits as a dataset, and clusters of several nodes on this machine."""

import os
import pathlib
import sys
import unittest

from harness import BUILD, DIGITS, ROOT

# ./dev setup installs the packages of tools/ray_requirements.txt there.
FOLDER = pathlib.Path(os.environ.get("OCTET_RAY", ROOT / ".venv/ray"))
MODULE = BUILD / "python"
MODEL = DIGITS / "digits.onnx"
QUIET = {"RAY_DEDUP_LOGS": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_DATA_DISABLE_PROGRESS_BARS": "1", "RAY_TQDM": "0", "RAY_SERVE_LOG_TO_STDERR": "0",
         "RAY_USAGE_STATS_ENABLED": "0", "RAY_enable_worker_prestart": "0",
         # Of a machine that is busy with other tests, too.
         "RAY_raylet_start_wait_time_s": "90", "RAY_worker_register_timeout_seconds": "300",
         "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "300", "RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S": "300"}


def need():
    """Makes ray and octet importable, here and in the processes that Ray starts, or skips. Ray's packages come first: they want their own."""
    if not (FOLDER / "ray").exists():
        raise unittest.SkipTest(f"{FOLDER / 'ray'} is absent; ./dev setup installs it")
    if not list((MODULE / "octet").glob("_octet.*.so")):
        raise unittest.SkipTest(f"{MODULE} has no module: nanobind or Python's headers are absent; ./dev setup installs them")
    paths = [str(FOLDER), str(MODULE), str(pathlib.Path(__file__).parent), str(ROOT / "tests")]
    sys.path[:0] = paths
    os.environ.update(QUIET, PYTHONPATH=os.pathsep.join(paths))


def images(part, count=None):
    """The digits as the network gets them, and their labels."""
    import numpy

    arrays = numpy.load(DIGITS / "digits.npz")
    return arrays[f"{part}_images"][:count].astype(numpy.float32)[:, None] / 16, arrays[f"{part}_labels"][:count]


def dataset(part, count=None, blocks=5):
    """The digits as a dataset: columns image and label."""
    import ray.data

    pixels, labels = images(part, count)
    return ray.data.from_items([{"image": pixel, "label": int(label)} for pixel, label in zip(pixels, labels)], override_num_blocks=blocks)


def losses(outputs, batch):
    """Real numbers whose sum depends on its order, and truths."""
    import numpy

    logits = outputs["logits"].astype(numpy.float64)
    return {"loss": numpy.exp(logits.max(1)) * 1e-9 + 1 / 3, "even": batch["label"] % 2 == 0}


class Wrong:
    """The error that a call raises, with what its code and words must be."""

    def __init__(self, test, code, *words):
        self.test, self.code, self.words, self.said = test, code, words, ""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        import octet

        self.test.assertIs(kind, octet.Error, f"{kind}: {error}")
        self.said = str(error)
        self.test.assertEqual(error.code, self.code, self.said)
        for word in self.words:
            self.test.assertIn(word, str(error))
        return True

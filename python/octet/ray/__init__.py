# SPDX-License-Identifier: Apache-2.0
"""Octet on Ray: calibration, evaluation and inference over datasets that many machines read, and the trials of a search. `octet.ray.serve` is for Ray Serve.

    import octet.ray
    engine = octet.ray.calibrate(photos, "model.onnx", method="entropy")   # photos: a ray.data.Dataset
    octet.ray.evaluate(tests, engine, octet.ray.top_k("label"))            # {"samples": 50000, "top1": 38104}

pip install octet-int8[ray]. docs/ray.md has the rest.
"""

from ._calibrate import calibrate, observe
from ._evaluate import evaluate, top_k
from ._predict import Predictor
from ._search import search

__all__ = ["Predictor", "calibrate", "evaluate", "observe", "search", "top_k"]

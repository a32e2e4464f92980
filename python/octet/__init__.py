# SPDX-License-Identifier: Apache-2.0
"""Octet: ONNX models as verified INT8 engines.

    import octet
    engine = octet.compile("model.onnx", calibration=images)  # images: float32, one sample a row
    logits = octet.Context(engine).run(images[:8])[0]

Arrays are NumPy's, or anything with DLPack or the buffer protocol (PyTorch, JAX, CuPy, memoryview). Whatever is wrong raises
`octet.Error`, which has a `code`; what an iterator or a callback of yours raises passes through unchanged.
"""

from ._error import Error
from ._octet import Engine, Observation, TensorInfo, cpu_isa
from ._octet import version as __version__
from ._clipping import ClipWatch, metrics
from ._compare import compare
from ._compile import compile  # noqa: A004: the verb of the field
from ._context import Context
from ._observe import Observer
from ._search import SearchResult, search

__all__ = ["ClipWatch", "Context", "Engine", "Error", "Observation", "Observer", "SearchResult", "TensorInfo", "__version__", "compare", "compile", "cpu_isa",
           "metrics", "search"]

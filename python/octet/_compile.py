# SPDX-License-Identifier: Apache-2.0
"""ONNX model -> Engine."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from . import _octet
from ._data import Data, batches, is_path, wrong

_TYPES = {"int8": "int8", "fp16": "f16", "f16": "f16", "bf16": "bf16", "fp32": "f32", "f32": "f32", "best": "best"}


def _set_types(options: _octet.CompileOptions, precision: str | Iterable[str] | None, calibrated: bool) -> bool:
    """Whether INT8 is among them."""
    names = ("int8",) if precision is None and calibrated else precision or ("fp32",)
    names = (names,) if isinstance(names, str) else tuple(names)
    unknown = [name for name in names if name not in _TYPES]
    if unknown:
        raise wrong(f"precision {unknown[0]!r}: expected one or several of 'fp32', 'int8', 'fp16', 'bf16' and 'best'")
    types = {_TYPES[name] for name in names}
    int8 = "int8" in types or ("best" in types and calibrated)
    options.set_types(int8=int8, f16="f16" in types, bf16="bf16" in types, fastest="best" in types)
    if calibrated and not types & {"int8", "best", "f16"}:
        raise wrong("calibration data, caches and ranges have no use without precision='int8'")
    return int8


def _set_constraints(options: _octet.CompileOptions, asked: Mapping[str, str] | None, output: bool) -> None:
    for pattern, kind in (asked or {}).items():
        options.set_constraints(f"{pattern}:{kind}", output)


def _set_method(options: _octet.CompileOptions, method: str | Mapping[str, str] | None) -> None:
    if isinstance(method, str):
        options.set_method("", method)
    for pattern, rule in method.items() if isinstance(method, Mapping) else ():
        options.set_method(pattern, rule)


def _favored(asked: str | float) -> float:
    """As a part of the engine's time."""
    try:
        percent = {"speed": 0.0, "accuracy": 20.0}.get(asked) if isinstance(asked, str) else float(asked)
    except (TypeError, ValueError):
        percent = None
    if percent is None or not 0 <= percent <= 100:
        raise wrong(f"favor={asked!r}: expected 'speed', 'accuracy' or a number of per cent from 0 to 100")
    return percent / 100


def plain_ranges(ranges: Mapping[str, float | Iterable[float]] | None) -> dict[str, float | list[float]]:
    """Ranges as `compile()` takes them, as numbers and lists of them: iterators give theirs once."""
    return {name: _range_of(given) for name, given in (ranges or {}).items()}


def _range_of(given: float | Iterable[float]) -> float | list[float]:
    # An array of no dimensions is a number that can say that it is iterable.
    if getattr(given, "ndim", None) == 0 or not isinstance(given, Iterable):
        return float(cast("float", given))
    return [float(x) for x in given]


def requested(asked: Mapping[str, Any]) -> tuple[_octet.CompileOptions, Iterator[Sequence[Any]] | None]:
    """What the arguments of `compile()`, by their names, ask for, and the batches that calibrate, where there are some."""
    model, calibration, cache, preprocess = asked["model"], asked["calibration"], asked["cache"], asked["preprocess"]
    options = _octet.CompileOptions()
    int8 = _set_types(options, asked["precision"], calibration is not None or cache is not None or bool(asked["ranges"]))
    _set_constraints(options, asked["layer_precisions"], False)
    _set_constraints(options, asked["output_types"], True)
    options.set_mode(asked["constraints"])
    options.set_target(asked["target"] or "")
    for name in asked["keep_float"]:
        options.keep_float(name)
    if asked["favor"] is not None:
        if calibration is None and cache is None:
            raise wrong("favor has no use without calibration or a cache")
        if not int8:
            raise wrong("favor has no use without precision='int8'")
        options.favor(_favored(asked["favor"]))
    for name, sizes in (asked["input_shapes"] or {}).items():
        options.set_shape(name, sizes)
    options.threads = asked["threads"] or _octet.usable_processors()
    options.weights_folder = asked["weights_folder"] or ""
    _set_method(options, asked["method"])
    if ranges := plain_ranges(asked["ranges"]):
        options.set_ranges(json.dumps(ranges))
    if preprocess is not None:
        options.set_preprocess(json.dumps(preprocess), calibration is not None)
    reads = calibration is not None and not (cache is not None and options.use_cache(cache))
    if reads and asked["constant_data"]:
        options.take_constant_data()
    if not asked["equalize"]:
        if calibration is None and cache is None:
            raise wrong("equalize=False has no use without calibration or a cache")
        options.leave_channels()
    if asked["device"] is not None:
        if calibration is None and cache is None:
            raise wrong("device has no use without calibration or a cache")
        options.set_device(asked["device"])
    samples = None
    if reads and isinstance(calibration, _octet.Observation):
        options.set_observation(calibration)
    elif reads and is_path(calibration):
        options.set_data(calibration, asked["max_samples"], asked["skip_bad"])
    elif reads:
        samples = batches(calibration, _octet.model_inputs(model, options))
    elif cache is not None and calibration is None and not options.use_cache(cache):
        raise wrong(f"cache {os.fspath(cache)!r}: no such file; calibration makes it")
    return options, samples


def finished(engine: _octet.Engine, cache: str | os.PathLike | None) -> _octet.Engine:
    """Keeps what calibrated it, and warns whoever called the caller of what is worth knowing."""
    if cache is not None:
        _octet.save_cache(engine, cache)
    for warning in (engine.report or {}).get("warnings", ()):
        warnings.warn(warning, stacklevel=3)
    return engine


def compile(  # noqa: A001, PLR0913: the verb of the field; what a build may be told
    model: str | os.PathLike | bytes,
    *,
    calibration: Data | _octet.Observation | None = None,
    method: str | Mapping[str, str] | None = None,
    precision: str | Iterable[str] | None = None,
    target: str | None = None,
    layer_precisions: Mapping[str, str] | None = None,
    output_types: Mapping[str, str] | None = None,
    constraints: str = "prefer",
    keep_float: Iterable[str] = (),
    favor: str | float | None = None,
    preprocess: Mapping[str, Any] | None = None,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    cache: str | os.PathLike | None = None,
    ranges: Mapping[str, float | Sequence[float]] | None = None,
    max_samples: int = 0,
    skip_bad: bool = False,
    constant_data: bool = False,
    equalize: bool = True,
    device: str | None = None,
    threads: int | None = None,
    weights_folder: str | os.PathLike | None = None,
    progress: Callable[[str, int, int], bool | None] | None = None,
) -> _octet.Engine:
    """Builds an engine of an ONNX model.

    The interpreter's lock is not held meanwhile; `progress` and iterators are called with it, from one thread at a time.

    Args:
        model: A file, or its bytes.
        calibration: What INT8 ranges are found on. A folder of images or of .npy/.npz files, or one such file; an array whose first axis
            is the sample; arrays by the names of inputs; or an iterable of batches (a generator, a DataLoader): arrays, sequences of
            arrays in the order of the inputs (one more, the labels, is left out), or arrays by name. Elements are converted to the
            input's type. Read once, and needed no more when the call returns. Or an `octet.Observation`, of samples that were seen before.
        method: How ranges are chosen: "entropy" (the default), "minmax", "percentile:99.99", "mse", "tensorrt",
            "legacy:0.999,0.8" or "auto"; or methods by patterns of tensors' names ('*' and '?').
        precision: "fp32", "int8", "fp16", "bf16", "best", or several of them. None is "int8" with calibration, a cache or ranges, else
            "fp32". Q/DQ nodes of the model are honored in any case.
        target: Where "best" is to be the fastest: "cpu" (this machine's processor, as None), "cpu:amx", "cuda", "cuda:sm90", ... The
            types are the same wherever it is built.
        layer_precisions: Types asked for, by node, operator or pattern: {"/head/*": "fp32"}.
        output_types: The same of what layers give.
        constraints: What becomes of these: "prefer" warns where they cannot be had, "obey" fails with all of them, "none" keeps them beside
            the result.
        keep_float: Nodes or operators to leave in FP32.
        favor: By how many per cent layers that stay in FP32 for accuracy may slow the engine, as their work tells; "speed" is 0 and "accuracy"
            20. What the codes of each layer cost is measured on samples, then; None: estimated.
        preprocess: How images of a folder become inputs, and what the engine remembers:
            {"resize": "256", "crop": "224x224", "scale": 255, "mean": [...], "std": [...]}; docs/cli.md has the keys.
        input_shapes: Sizes for inputs that leave them open, by name.
        cache: A calibration cache in TensorRT's text format: read where it exists (the data are not, then), else made.
        ranges: Ranges by hand, by name or pattern of tensors: the largest magnitude, or (min, max).
        max_samples: Of a folder or file: so many, evenly spread; 0: all.
        skip_bad: Of a folder: count and skip files that cannot be read.
        constant_data: Take data in which an input for images, or every input, is one number in all samples; otherwise that is an error.
        equalize: Bring channels that share a scale nearer to each other, by powers of two in the weights around them; the real model stays
            the same to the bit.
        device: What runs the model over the samples: "cuda", "cuda:1"; None: the CPU. Ranges differ in their last bits.
        threads: Of calibration; None: one for each CPU that the process may use. The result is the same, whatever their number.
        weights_folder: Of a model that is given as bytes: where its weights files are.
        progress: Called with the stage ("import", "calibrate", ...), steps done and their number (0: not known). Returning False ends the
            call with Error of code "cancelled".

    Returns:
        The engine. `engine.report` tells what was found.

    Raises:
        Error: The model, an option or the data are wrong. Nothing is left behind.
        BaseException: Whatever `progress` or the data raise, unchanged.

    Warns:
        UserWarning: One for each thing that is worth knowing and no error.
    """
    options, samples = requested(locals())
    return finished(_octet.compile(model, options, samples, progress), cache)

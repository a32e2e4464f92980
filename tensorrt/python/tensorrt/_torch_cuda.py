# SPDX-License-Identifier: Apache-2.0
"""A device of CUDA in PyTorch that is the host: for programs that put tensors onto "cuda" and hand them to TensorRT, where there is no GPU
(python -m tensorrt --torch-cuda PROGRAM). Tensors stay where they are, and what was put there says so; PyTorch computes on the processors;
streams, events and graphs are those of Octet's runtime of CUDA."""

import collections
import functools
import threading
import types

import torch
from torch.utils import _device
from torch.utils._python_dispatch import TorchDispatchMode

from tensorrt import _cudart


def _call(name, *arguments):
    status, *results = _cudart.call(name, *arguments)
    if status != _cudart.SUCCESS:
        raise RuntimeError(f"{name} failed: {_cudart.error_text(status).decode()}")
    return results[0] if results else None


# More than the inputs of a network, since a calibrator gives an address for each.
_addressed = collections.deque(maxlen=64)


class Tensor(torch.Tensor):
    """One that says that it lies on the GPU, as do those that PyTorch computes from it."""

    # Its own, so that programs that wrap every method of torch.Tensor make it no class that dispatches.
    __torch_dispatch__ = torch._C._disabled_torch_dispatch_impl
    device = property(lambda self: torch.device("cuda", 0))
    is_cuda = property(lambda self: True)

    def get_device(self):
        return 0

    def data_ptr(self):
        """Programs use an address after its tensor is gone, as a calibrator does that returns one: PyTorch's memory of a GPU stays."""
        _addressed.append(self)
        return super().data_ptr()

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            plain = self.cpu()
            memo.setdefault(id(memo), []).append(plain)  # which lives on: the copy is found by its id
            memo[id(self)] = plain.__deepcopy__(memo).as_subclass(Tensor)
        return memo[id(self)]

    def cpu(self, *_, **__):
        return self.as_subclass(torch.Tensor)


def _kind(value):
    """"cuda", "cpu" or the like of a value that names a device; None of others."""
    if isinstance(value, torch.device):
        return value.type
    if isinstance(value, str):
        return value.partition(":")[0]
    return "cuda" if isinstance(value, int) and not isinstance(value, bool) else None


def _moved(value, kind):
    """A result with the class of its device."""
    if not isinstance(value, torch.Tensor) or kind is None:
        return value
    return value.as_subclass(Tensor if kind == "cuda" else torch.Tensor)


def _made_on(function):
    """A function that makes a tensor, whose keyword `device` may name CUDA."""

    @functools.wraps(function)
    def made_on(*arguments, **keywords):
        kind = _kind(keywords.get("device"))
        if kind == "cuda":
            keywords["device"] = torch.device("cpu")
        return _moved(function(*arguments, **keywords), kind)

    return made_on


def _to(function):
    """Tensor.to(), which takes a device, a type or a tensor where its first argument stands."""

    @functools.wraps(function)
    def to(self, *arguments, **keywords):
        other = arguments[0] if arguments else keywords.get("device")
        kind = _kind(other.device) if isinstance(other, torch.Tensor) else _kind(other)
        if kind == "cuda" and not isinstance(other, torch.Tensor):
            if arguments:
                arguments = (torch.device("cpu"), *arguments[1:])
            else:
                keywords["device"] = torch.device("cpu")
        return _moved(function(self, *arguments, **keywords), kind)

    return to


def _host(value):
    return torch.device("cpu") if _kind(value) == "cuda" else value


def _load(function):
    @functools.wraps(function)
    def load(f, map_location=None, *arguments, **keywords):
        return function(f, torch.device("cpu") if map_location is None else _host(map_location), *arguments, **keywords)

    return load


class Stream:
    """A stream of Octet's runtime: what is given to it is done."""

    def __init__(self, device=None, priority=0, handle=None, **_):
        self.cuda_stream, self.device = handle, torch.device("cuda", 0)
        self._owned = handle is None
        if self._owned:
            self.cuda_stream = _call("cudaStreamCreate")

    def __del__(self):
        if getattr(self, "_owned", False):
            _cudart.call("cudaStreamDestroy", self.cuda_stream)

    def synchronize(self):
        _call("cudaStreamSynchronize", self.cuda_stream)

    def query(self):
        return True

    def wait_event(self, event):
        pass

    def wait_stream(self, stream):
        pass

    def record_event(self, event=None):
        event = event or Event()
        event.record(self)
        return event


class Event:
    def __init__(self, enable_timing=False, blocking=False, interprocess=False, **_):
        self.cuda_event = _call("cudaEventCreate")

    def __del__(self):
        if hasattr(self, "cuda_event"):
            _cudart.call("cudaEventDestroy", self.cuda_event)

    def record(self, stream=None):
        _call("cudaEventRecord", self.cuda_event, (stream or _current.streams[-1]).cuda_stream)

    def wait(self, stream=None):
        pass

    def synchronize(self):
        pass

    def query(self):
        return True

    def elapsed_time(self, end):
        return _call("cudaEventElapsedTime", self.cuda_event, end.cuda_event)


_default = Stream(handle=0)


class _Current(threading.local):
    """The streams that a thread has entered."""

    def __init__(self):
        self.streams = [_default]


_current = _Current()


class _OnStream:
    """torch.cuda.stream()."""

    def __init__(self, stream):
        self.stream = stream or _current.streams[-1]

    def __enter__(self):
        _current.streams.append(self.stream)
        return self

    def __exit__(self, *_):
        _current.streams.pop()


class _OnDevice:
    """torch.cuda.device() and device_of(): there is one."""

    def __init__(self, device=None):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class _NoOperations(TorchDispatchMode):
    """What PyTorch itself computes is done at once and would be missing in a graph."""

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        raise RuntimeError(f"{function} in a graph of CUDA: without a GPU graphs have what TensorRT's contexts enqueue, and nothing of PyTorch")


class CUDAGraph:
    def __init__(self, keep_graph=False):
        self._made = None

    def capture_begin(self, *_, **__):
        self._stream = _current.streams[-1]
        _call("cudaStreamBeginCapture", self._stream.cuda_stream, 0)

    def capture_end(self):
        graph = _call("cudaStreamEndCapture", self._stream.cuda_stream)
        self.reset()
        self._made = _call("cudaGraphInstantiate", graph, 0)
        _call("cudaGraphDestroy", graph)

    def replay(self):
        if self._made is None:
            raise RuntimeError("CUDAGraph.replay: nothing was captured")
        _call("cudaGraphLaunch", self._made, _current.streams[-1].cuda_stream)

    def reset(self):
        if self._made is not None:
            _call("cudaGraphExecDestroy", self._made)
            self._made = None

    def __del__(self):
        if getattr(self, "_made", None) is not None:
            _cudart.call("cudaGraphExecDestroy", self._made)


class _Capture:
    """torch.cuda.graph()."""

    def __init__(self, cuda_graph, pool=None, stream=None, **_):
        self.graph, self.stream = cuda_graph, _OnStream(stream or Stream())

    def __enter__(self):
        self.stream.__enter__()
        self.graph.capture_begin()
        self.none = _NoOperations()
        self.none.__enter__()

    def __exit__(self, *error):
        self.none.__exit__(*error)
        try:
            self.graph.capture_end()
        finally:
            self.stream.__exit__()


def _properties(device=None):
    free, total = _cudart.call("cudaMemGetInfo")[1:]
    ask = lambda attribute: _cudart.call("cudaDeviceGetAttribute", attribute, 0)[1]  # noqa: E731
    name = _cudart.device_name().decode()
    return types.SimpleNamespace(name=name, total_memory=total, major=ask(75), minor=ask(76), multi_processor_count=ask(16), is_integrated=1)


def _says(value):
    """A function of its own: PyTorch's compiler knows them by identity."""
    return lambda *_, **__: value


_FUNCTIONS = {
    "is_available": _says(True), "device_count": _says(1), "current_device": _says(0), "is_initialized": _says(True),
    "is_bf16_supported": _says(True), "init": _says(None), "_lazy_init": _says(None), "set_device": _says(None), "synchronize": _says(None),
    "empty_cache": _says(None), "ipc_collect": _says(None), "reset_peak_memory_stats": _says(None), "manual_seed": _says(None),
    "manual_seed_all": _says(None), "memory_allocated": _says(0), "memory_reserved": _says(0), "max_memory_allocated": _says(0),
    "max_memory_reserved": _says(0), "mem_get_info": lambda device=None: _cudart.call("cudaMemGetInfo")[1:],
    "get_device_properties": _properties, "get_device_name": lambda device=None: _properties().name,
    "get_device_capability": lambda device=None: (_properties().major, _properties().minor),
    "is_current_stream_capturing": lambda: bool(_call("cudaStreamIsCapturing", _current.streams[-1].cuda_stream)),
    "current_stream": lambda device=None: _current.streams[-1], "default_stream": lambda device=None: _default, "stream": _OnStream,
    "device": _OnDevice, "device_of": _OnDevice, "Stream": Stream, "Event": Event, "CUDAGraph": CUDAGraph, "graph": _Capture,
}  # fmt: skip


def install():
    """Once, before the program; nothing where PyTorch has a GPU."""
    if torch.cuda.is_available():
        return
    for name, function in _FUNCTIONS.items():
        setattr(torch.cuda, name, function)
    for function in _device._device_constructors():
        name = function.__name__
        if getattr(torch, name, None) is function:
            setattr(torch, name, _made_on(function))
    for name in ("new_tensor", "new_empty", "new_full", "new_ones", "new_zeros"):
        setattr(torch.Tensor, name, _made_on(getattr(torch.Tensor, name)))
    torch.Tensor.to = _to(torch.Tensor.to)
    torch.Tensor.cuda = lambda self, *_, **__: _moved(self, "cuda")
    torch.Tensor.pin_memory = lambda self, *_: self
    torch.load = _load(torch.load)

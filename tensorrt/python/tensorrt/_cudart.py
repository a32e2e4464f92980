# SPDX-License-Identifier: Apache-2.0
"""Octet's CUDA runtime by ctypes: what the stand-ins for cuda-python and pycuda are made of (stand_ins/)."""

import ctypes as _ctypes
import os as _os

from tensorrt import cudart_folder as _folder

SUCCESS, INVALID_VALUE, OUT_OF_MEMORY = 0, 1, 2

# name -> parameters: p pointer, n size, i int, u unsigned, f float; * is a result.
FUNCTIONS = {
    "cudaMalloc": "*p n", "cudaFree": "p", "cudaMallocHost": "*p n", "cudaFreeHost": "p", "cudaHostAlloc": "*p n u",
    "cudaMallocManaged": "*p n u", "cudaMallocAsync": "*p n p", "cudaFreeAsync": "p p",
    "cudaMemcpy": "p p n i", "cudaMemcpyAsync": "p p n i p", "cudaMemset": "p i n", "cudaMemsetAsync": "p i n p",
    "cudaMemGetInfo": "*n *n", "cudaHostGetDevicePointer": "*p p u",
    "cudaStreamCreate": "*p", "cudaStreamCreateWithFlags": "*p u", "cudaStreamDestroy": "p", "cudaStreamSynchronize": "p",
    "cudaStreamWaitEvent": "p p u", "cudaStreamQuery": "p", "cudaStreamBeginCapture": "p i", "cudaStreamEndCapture": "p *p",
    "cudaStreamIsCapturing": "p *i", "cudaGraphInstantiate": "*p p n", "cudaGraphLaunch": "p p", "cudaGraphDestroy": "p",
    "cudaGraphExecDestroy": "p",
    "cudaEventCreate": "*p", "cudaEventCreateWithFlags": "*p u", "cudaEventDestroy": "p", "cudaEventRecord": "p p",
    "cudaEventSynchronize": "p", "cudaEventQuery": "p", "cudaEventElapsedTime": "*f p p",
    "cudaGetDevice": "*i", "cudaSetDevice": "i", "cudaGetDeviceCount": "*i", "cudaDeviceGetAttribute": "*i i i",
    "cudaDeviceSetLimit": "i n", "cudaDeviceSynchronize": "", "cudaDeviceReset": "", "cudaSetDeviceFlags": "u",
    "cudaDriverGetVersion": "*i", "cudaRuntimeGetVersion": "*i", "cudaGetLastError": "", "cudaPeekAtLastError": "",
    "cudaProfilerStart": "", "cudaProfilerStop": ""}  # fmt: skip
_TYPES = {"p": _ctypes.c_void_p, "n": _ctypes.c_size_t, "i": _ctypes.c_int, "u": _ctypes.c_uint, "f": _ctypes.c_float}
_library = _ctypes.CDLL(_os.path.join(_folder, "libcudart.so"))
_library.cudaGetErrorName.restype = _library.cudaGetErrorString.restype = _ctypes.c_char_p


def address(memory):
    """The address that a number, an allocation, None, or a contiguous array or buffer stands for."""
    if memory is None or isinstance(memory, int):
        return memory or 0
    if hasattr(memory, "ctypes"):
        if not memory.flags.forc:
            raise ValueError("the array is not contiguous")
        return memory.ctypes.data
    try:
        view = memoryview(memory)
    except TypeError:
        return int(memory)
    import numpy

    return numpy.frombuffer(view, numpy.uint8).ctypes.data


def call(name, *arguments):
    """(status, results...) of a function of the table."""
    given, results, passed = iter(arguments), [], []
    parameters = FUNCTIONS[name].split()
    wanted = sum(not parameter.startswith("*") for parameter in parameters)
    if len(arguments) != wanted:
        raise TypeError(f"{name}() takes {wanted} arguments ({len(arguments)} given)")
    for parameter in parameters:
        kind = _TYPES[parameter[-1]]
        if parameter.startswith("*"):
            results.append(kind())
            passed.append(_ctypes.byref(results[-1]))
        else:
            argument = next(given)
            passed.append(kind(address(argument) if kind is _ctypes.c_void_p else argument))
    status = getattr(_library, name)(*passed)
    return (status, *(result.value or 0 for result in results))


def error_name(status):
    return _library.cudaGetErrorName(int(status))


def error_text(status):
    return _library.cudaGetErrorString(int(status))


def device_name():
    """That of the one device, which begins the structure of its properties."""
    properties = _ctypes.create_string_buffer(4096)
    _library.cudaGetDeviceProperties(properties, 0)
    return properties.value


def absent(module, name):
    """What to raise for anything else that a program asks a stand-in for."""
    return AttributeError(f"{module}.{name}: Octet's stand-in, used where there is no GPU, has memory, streams and events, and runs no kernels "
                          "(docs/tensorrt-api.md)")

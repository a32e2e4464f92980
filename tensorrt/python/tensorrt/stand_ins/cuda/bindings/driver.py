# SPDX-License-Identifier: Apache-2.0
"""What programs call of CUDA's driver interface beside the runtime: a device, a context, memory."""

import enum

from cuda.bindings.runtime import cudaMemcpyKind as _Kind
from tensorrt import _cudart


class CUresult(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_INVALID_DEVICE = 101
    CUDA_ERROR_INVALID_HANDLE = 400
    CUDA_ERROR_UNKNOWN = 999


CUdevice = CUcontext = CUstream = CUdeviceptr = int
_CONTEXT = 1  # there is one, of which nothing is asked


def _result(status):
    return CUresult(status) if status in CUresult.__members__.values() else CUresult.CUDA_ERROR_UNKNOWN


def _call(name, *arguments):
    status, *results = _cudart.call(name, *arguments)
    return (_result(status), *results)


def _done(*results):
    return (CUresult.CUDA_SUCCESS, *results)


def cuInit(flags):
    return _done()


def cuDriverGetVersion():
    return _call("cudaDriverGetVersion")


def cuDeviceGetCount():
    return _call("cudaGetDeviceCount")


def cuDeviceGet(ordinal):
    return (*_call("cudaSetDevice", ordinal), ordinal)


def cuDeviceGetName(length, device):
    return _done(_cudart.device_name()[: length - 1])


def cuCtxCreate(*parameters_flags_device):
    return _done(_CONTEXT)


def cuDevicePrimaryCtxRetain(device):
    return _done(_CONTEXT)


def cuCtxGetCurrent():
    return _done(_CONTEXT)


def cuCtxPopCurrent():
    return _done(_CONTEXT)


def cuCtxSetCurrent(context):
    return _done()


cuCtxDestroy = cuCtxPushCurrent = cuDevicePrimaryCtxRelease = cuCtxSetCurrent


def cuCtxSynchronize():
    return _call("cudaDeviceSynchronize")


def cuMemGetInfo():
    return _call("cudaMemGetInfo")


def cuMemAlloc(size):
    return _call("cudaMalloc", size)


def cuMemFree(memory):
    return _call("cudaFree", memory)


def cuMemcpyHtoD(to, source, size):
    return _call("cudaMemcpy", to, source, size, _Kind.cudaMemcpyHostToDevice)


def cuMemcpyDtoH(to, source, size):
    return _call("cudaMemcpy", to, source, size, _Kind.cudaMemcpyDeviceToHost)


def cuMemcpyDtoD(to, source, size):
    return _call("cudaMemcpy", to, source, size, _Kind.cudaMemcpyDeviceToDevice)


def cuMemcpyHtoDAsync(to, source, size, stream):
    return _call("cudaMemcpyAsync", to, source, size, _Kind.cudaMemcpyHostToDevice, stream)


def cuMemcpyDtoHAsync(to, source, size, stream):
    return _call("cudaMemcpyAsync", to, source, size, _Kind.cudaMemcpyDeviceToHost, stream)


def cuStreamCreate(flags):
    return _call("cudaStreamCreateWithFlags", flags)


def cuStreamSynchronize(stream):
    return _call("cudaStreamSynchronize", stream)


def cuStreamDestroy(stream):
    return _call("cudaStreamDestroy", stream)


def cuGetErrorName(error):
    return _done(CUresult(error).name.encode())


def cuGetErrorString(error):
    return _done(_cudart.error_text(error))


def __getattr__(name):
    raise _cudart.absent(__name__, name)

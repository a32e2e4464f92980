# SPDX-License-Identifier: Apache-2.0
"""CUDA's runtime as cuda-python has it: a call answers with the error and its results."""

import enum
import types

from tensorrt import _cudart


class cudaError_t(enum.IntEnum):
    cudaSuccess = 0
    cudaErrorInvalidValue = 1
    cudaErrorMemoryAllocation = 2
    cudaErrorInvalidMemcpyDirection = 21
    cudaErrorInvalidDevice = 101
    cudaErrorInvalidResourceHandle = 400
    cudaErrorIllegalState = 401
    cudaErrorNotReady = 600
    cudaErrorNotSupported = 801
    cudaErrorStreamCaptureUnsupported = 900
    cudaErrorUnknown = 999


class cudaMemcpyKind(enum.IntEnum):
    cudaMemcpyHostToHost = 0
    cudaMemcpyHostToDevice = 1
    cudaMemcpyDeviceToHost = 2
    cudaMemcpyDeviceToDevice = 3
    cudaMemcpyDefault = 4


class cudaDeviceAttr(enum.IntEnum):
    cudaDevAttrMaxThreadsPerBlock = 1
    cudaDevAttrMaxSharedMemoryPerBlock = 8
    cudaDevAttrWarpSize = 10
    cudaDevAttrClockRate = 13
    cudaDevAttrMultiProcessorCount = 16
    cudaDevAttrIntegrated = 18
    cudaDevAttrMemoryClockRate = 36
    cudaDevAttrGlobalMemoryBusWidth = 37
    cudaDevAttrL2CacheSize = 38
    cudaDevAttrComputeCapabilityMajor = 75
    cudaDevAttrComputeCapabilityMinor = 76


class cudaStreamCaptureMode(enum.IntEnum):
    cudaStreamCaptureModeGlobal = 0
    cudaStreamCaptureModeThreadLocal = 1
    cudaStreamCaptureModeRelaxed = 2


cudaStream_t = cudaEvent_t = cudaGraph_t = cudaGraphExec_t = int
cudaStreamDefault, cudaStreamNonBlocking = 0, 1
cudaEventDefault, cudaEventBlockingSync, cudaEventDisableTiming = 0, 1, 2
cudaHostAllocDefault, cudaHostAllocPortable, cudaHostAllocMapped, cudaHostAllocWriteCombined = 0, 1, 2, 4
cudaMemAttachGlobal, cudaMemAttachHost = 1, 2


def _error(status):
    return cudaError_t(status) if status in cudaError_t.__members__.values() else cudaError_t.cudaErrorUnknown


def _function(name):
    def call(*arguments):
        status, *results = _cudart.call(name, *arguments)
        return (_error(status), *results)

    call.__name__ = call.__qualname__ = name
    return call


globals().update({name: _function(name) for name in _cudart.FUNCTIONS})


def cudaGetErrorName(error):
    return cudaError_t.cudaSuccess, _cudart.error_name(error)


def cudaGetErrorString(error):
    return cudaError_t.cudaSuccess, _cudart.error_text(error)


def cudaGetDeviceProperties(device):
    if device != 0:
        return cudaError_t.cudaErrorInvalidDevice, None
    attribute = lambda of: _cudart.call("cudaDeviceGetAttribute", of, 0)[1]
    return cudaError_t.cudaSuccess, types.SimpleNamespace(
        name=_cudart.device_name(), totalGlobalMem=_cudart.call("cudaMemGetInfo")[2],
        major=attribute(cudaDeviceAttr.cudaDevAttrComputeCapabilityMajor), minor=attribute(cudaDeviceAttr.cudaDevAttrComputeCapabilityMinor),
        multiProcessorCount=attribute(cudaDeviceAttr.cudaDevAttrMultiProcessorCount), warpSize=attribute(cudaDeviceAttr.cudaDevAttrWarpSize),
        maxThreadsPerBlock=attribute(cudaDeviceAttr.cudaDevAttrMaxThreadsPerBlock),
        sharedMemPerBlock=attribute(cudaDeviceAttr.cudaDevAttrMaxSharedMemoryPerBlock),
        integrated=attribute(cudaDeviceAttr.cudaDevAttrIntegrated))


def __getattr__(name):
    raise _cudart.absent(__name__, name)

# SPDX-License-Identifier: Apache-2.0
"""Memory, streams, events and contexts as pycuda.driver has them."""

from cuda.bindings.runtime import cudaDeviceAttr as _Attribute
from cuda.bindings.runtime import cudaMemcpyKind as _Kind
from tensorrt import _cudart


class Error(Exception):
    pass


class LogicError(Error):
    pass


class MemoryError(Error):  # noqa: A001: pycuda's name
    pass


class RuntimeError(Error):  # noqa: A001: pycuda's name
    pass


def _call(name, *arguments):
    status, *results = _cudart.call(name, *arguments)
    if status != _cudart.SUCCESS:
        kind = MemoryError if status == _cudart.OUT_OF_MEMORY else LogicError
        raise kind(f"{name} failed: {_cudart.error_text(status).decode()}")
    return results[0] if len(results) == 1 else tuple(results)


def init(flags=0):
    pass


def get_driver_version():
    return _call("cudaDriverGetVersion")


def get_version():
    version = _call("cudaRuntimeGetVersion")
    return version // 1000, version // 10 % 100, version % 10


def mem_get_info():
    return _call("cudaMemGetInfo")


class ctx_flags:
    SCHED_AUTO, SCHED_SPIN, SCHED_YIELD, SCHED_BLOCKING_SYNC, MAP_HOST = 0, 1, 2, 4, 8


class host_alloc_flags:
    PORTABLE, DEVICEMAP, WRITECOMBINED = 1, 2, 4


class event_flags:
    DEFAULT, BLOCKING_SYNC, DISABLE_TIMING = 0, 1, 2


class Context:
    """There is one, of which nothing is asked."""

    def push(self):
        pass

    def detach(self):
        pass

    @staticmethod
    def pop():
        pass

    @staticmethod
    def synchronize():
        _call("cudaDeviceSynchronize")

    @staticmethod
    def get_current():
        return _context

    @staticmethod
    def get_device():
        return Device(0)


_context = Context()


class Device:
    def __init__(self, number):
        _call("cudaSetDevice", int(number))

    @staticmethod
    def count():
        return _call("cudaGetDeviceCount")

    def name(self):
        return _cudart.device_name().decode()

    def compute_capability(self):
        return tuple(_call("cudaDeviceGetAttribute", of, 0)
                     for of in (_Attribute.cudaDevAttrComputeCapabilityMajor, _Attribute.cudaDevAttrComputeCapabilityMinor))

    def total_memory(self):
        return mem_get_info()[1]

    def make_context(self, flags=ctx_flags.SCHED_AUTO):
        return _context

    def retain_primary_context(self):
        return _context


class DeviceAllocation:
    """Memory that is given back with the object; int() is its address."""

    def __init__(self, size):
        self.size = size
        self._address = _call("cudaMalloc", size)

    def __int__(self):
        return self._address

    __index__ = __int__

    def free(self):
        memory, self._address = self._address, 0
        _call("cudaFree", memory)

    def __del__(self):
        if getattr(self, "_address", 0):
            self.free()


def mem_alloc(bytes):  # noqa: A002: pycuda's name
    return DeviceAllocation(int(bytes))


def mem_alloc_like(array):
    return mem_alloc(array.nbytes)


def _copy(to, source, size, kind, stream):
    for memory in (to, source):
        if isinstance(memory, DeviceAllocation) and size > memory.size:
            raise LogicError(f"copy of {size} bytes failed: the allocation has {memory.size}")
    _call("cudaMemcpyAsync", to, source, size, kind, None if stream is None else stream.handle)


def memcpy_htod_async(dest, src, stream=None):
    _copy(dest, src, memoryview(src).nbytes, _Kind.cudaMemcpyHostToDevice, stream)


def memcpy_dtoh_async(dest, src, stream=None):
    _copy(dest, src, memoryview(dest).nbytes, _Kind.cudaMemcpyDeviceToHost, stream)


def memcpy_dtod_async(dest, src, size, stream=None):
    _copy(dest, src, size, _Kind.cudaMemcpyDeviceToDevice, stream)


def memcpy_htod(dest, src):
    memcpy_htod_async(dest, src)


def memcpy_dtoh(dest, src):
    memcpy_dtoh_async(dest, src)


def memcpy_dtod(dest, src, size):
    memcpy_dtod_async(dest, src, size)


def memset_d8(dest, data, count):
    _call("cudaMemset", dest, data, count)


def to_device(buffer):
    memory = mem_alloc(memoryview(buffer).nbytes)
    memcpy_htod(memory, buffer)
    return memory


def from_device(devptr, shape, dtype, order="C"):
    array = pagelocked_empty(shape, dtype, order)
    memcpy_dtoh(array, devptr)
    return array


def from_device_like(devptr, other):
    return from_device(devptr, other.shape, other.dtype)


def pagelocked_empty(shape, dtype, order="C", mem_flags=0):
    import numpy

    return numpy.empty(shape, dtype, order)


def pagelocked_zeros(shape, dtype, order="C", mem_flags=0):
    import numpy

    return numpy.zeros(shape, dtype, order)


def pagelocked_empty_like(array, mem_flags=0):
    return pagelocked_empty(array.shape, array.dtype)


def pagelocked_zeros_like(array, mem_flags=0):
    return pagelocked_zeros(array.shape, array.dtype)


def register_host_memory(array, flags=0):
    return array


class Stream:
    def __init__(self, flags=0):
        self.handle = _call("cudaStreamCreateWithFlags", flags)

    def synchronize(self):
        _call("cudaStreamSynchronize", self.handle)

    def is_done(self):
        return _cudart.call("cudaStreamQuery", self.handle)[0] == _cudart.SUCCESS

    def wait_for_event(self, event):
        _call("cudaStreamWaitEvent", self.handle, event.handle, 0)

    def __del__(self):
        if getattr(self, "handle", 0):
            _call("cudaStreamDestroy", self.handle)


class Event:
    def __init__(self, flags=0):
        self.handle = _call("cudaEventCreateWithFlags", flags)

    def record(self, stream=None):
        _call("cudaEventRecord", self.handle, None if stream is None else stream.handle)
        return self

    def synchronize(self):
        _call("cudaEventSynchronize", self.handle)
        return self

    def query(self):
        return _cudart.call("cudaEventQuery", self.handle)[0] == _cudart.SUCCESS

    def time_since(self, event):
        """Milliseconds."""
        return _call("cudaEventElapsedTime", event.handle, self.handle)

    def time_till(self, event):
        return event.time_since(self)

    def __del__(self):
        if getattr(self, "handle", 0):
            _call("cudaEventDestroy", self.handle)


def __getattr__(name):
    raise _cudart.absent(__name__, name)

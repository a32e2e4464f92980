# SPDX-License-Identifier: Apache-2.0
"""The module octet on memory of a GPU, which is emulated: arrays with DLPack and __cuda_array_interface__, and streams."""

import ctypes
import os
import sys
import unittest

import harness
from harness import BUILD, DIGITS, digits_engine, scratch

EMULATOR = BUILD / "tests/gpu/emulator"
FOLDER = BUILD / "python"


def setUpModule():
    global np, octet, driver
    np = harness.need("numpy")
    if not list((FOLDER / "octet").glob("_octet.*.so")):
        raise unittest.SkipTest(f"{FOLDER} has no module: nanobind or Python's headers are absent; ./dev setup installs them")
    if not (EMULATOR / "libcuda_emulated.so").exists():
        raise unittest.SkipTest(f"{EMULATOR} was not built")
    os.environ["OCTET_CUDA_DRIVER"] = str(EMULATOR / "libcuda_emulated.so")
    os.environ["OCTET_NVRTC"] = str(EMULATOR / "libnvrtc_emulated.so")
    os.environ["OCTET_KERNEL_CACHE"] = str(scratch() / "python_kernels")
    os.environ["OCTET_EMULATED_DEVICES"] = "2"
    sys.path.insert(0, str(FOLDER))
    import octet as built

    octet = built
    driver = ctypes.CDLL(os.environ["OCTET_CUDA_DRIVER"])


def use_gpu(ordinal):
    context = ctypes.c_void_p()
    assert driver.cuInit(0) == 0 and driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), ordinal) == 0
    assert driver.cuCtxSetCurrent(context) == 0


class OnGpu:
    """Memory of the emulated GPU, which the host can read: that is what the tests look into."""

    def __init__(self, values, ordinal=0):
        use_gpu(ordinal)
        self.address = ctypes.c_uint64()
        assert driver.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(values.nbytes)) == 0
        buffer = (ctypes.c_byte * values.nbytes).from_address(self.address.value)
        self.values = np.frombuffer(buffer, values.dtype).reshape(values.shape)
        self.values[...] = values

    def __del__(self):
        driver.cuMemFree_v2(self.address)


class CudaArray(OnGpu):
    read_only = False
    strides = None
    typestr = None

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.values.shape, "typestr": self.typestr or self.values.dtype.str, "data": (self.address.value, self.read_only),
                "strides": self.strides, "version": 3, "stream": None}


class Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p)]


class DlpackArray(OnGpu):
    ordinal = 0

    def __dlpack_device__(self):
        return 2, self.ordinal  # kDLCUDA

    def __dlpack__(self, *, stream=None, max_version=None):
        self.stream = stream
        self.shape = (ctypes.c_int64 * self.values.ndim)(*self.values.shape)
        self.managed = Managed(self.address.value, 2, self.ordinal, self.values.ndim, 2, 32, 1, self.shape, None, 0, None, None)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor", None)


class Arrays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.engine = octet.Engine.load(str(digits_engine()))
        arrays = np.load(DIGITS / "digits.npz")
        cls.images = arrays["test_images"][:3].astype(np.float32)[:, None] / 16
        cls.expected = octet.Context(cls.engine).run(cls.images)[0]
        cls.context = octet.Context(cls.engine, device="cuda:0")

    def fails(self, *words, array, out=None):
        with self.assertRaises(octet.Error) as raised:
            self.context.run(array, **({} if out is None else {"out": out}))
        self.assertEqual(raised.exception.code, "invalid_argument")
        for word in words:
            self.assertIn(word, str(raised.exception))

    def test_cuda_array_interface(self):
        given, out = CudaArray(self.images), CudaArray(np.zeros_like(self.expected))
        np.testing.assert_array_equal(self.context.run(given)[0], self.expected)
        self.assertIs(self.context.run(given, out=out)[0], out)
        np.testing.assert_array_equal(out.values, self.expected)

    def test_dlpack(self):
        given, out = DlpackArray(self.images), DlpackArray(np.zeros_like(self.expected))
        self.context.prepare(self.images.shape, memory="cuda:0")
        self.context.run([given], out=[out])
        np.testing.assert_array_equal(out.values, self.expected)
        self.assertEqual((given.stream, out.stream), (1, 1))  # CUDA's default stream

    def test_a_stream_orders_runs(self):
        use_gpu(0)
        stream = ctypes.c_void_p()
        self.assertEqual(driver.cuStreamCreate(ctypes.byref(stream), 1), 0)
        given, out = DlpackArray(self.images), DlpackArray(np.zeros_like(self.expected))
        self.context.run(given, out=out, stream=stream.value)
        self.assertEqual(given.stream, stream.value)
        self.context.synchronize()
        np.testing.assert_array_equal(out.values, self.expected)
        self.assertEqual(driver.cuStreamDestroy_v2(stream), 0)

    def test_what_is_wrong_is_named(self):
        name = self.engine.inputs[0].name
        there = CudaArray(self.images)
        elsewhere = DlpackArray(self.images, ordinal=1)
        elsewhere.ordinal = 1
        self.fails(f"input '{name}'", "memory of 'cuda:1'", array=elsewhere)
        self.fails("its address is memory of 'cuda:1'", array=CudaArray(self.images, ordinal=1))
        there.typestr = ">f4"
        self.fails("'>f4'", array=there)
        there.typestr = "<c8"
        self.fails("'<c8'", array=there)
        there.typestr = None
        there.strides = (256, 256, 3, 4)
        self.fails("whole elements", array=there)
        there.strides = (0, 256, 32, 4)
        self.fails("not dense", array=there)
        there.strides = None
        out = CudaArray(np.zeros_like(self.expected))
        out.read_only = True
        self.fails("must not be written", array=there, out=out)
        with self.assertRaisesRegex(octet.Error, "this context has not"):
            octet.Context(self.engine).run(CudaArray(self.images))


if __name__ == "__main__":
    harness.main()

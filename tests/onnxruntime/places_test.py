# SPDX-License-Identifier: Apache-2.0
"""The places of ONNX Runtime's functions (integrations/onnxruntime/src/host_api.def), held against the library that is installed; and what an
ONNX Runtime is told that is too old."""

import ctypes
import pathlib
import re
import unittest

import harness
import provider
from harness import ROOT

LISTED = (ROOT / "integrations/onnxruntime/src/host_api.def").read_text()


class Base(ctypes.Structure):
    _fields_ = [("GetApi", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)), ("GetVersionString", ctypes.CFUNCTYPE(ctypes.c_void_p))]


class Table:
    """Functions by name. Results are pointers unless said otherwise."""

    def __init__(self, address, macro, more=()):
        self.address = address
        self.places = {name: int(place) for place, name in re.findall(rf"^{macro}\((\d+), [^,]+, (\w+),", LISTED, re.M)}
        self.places.update(more)

    def call(self, name, *arguments, result=ctypes.c_void_p):
        function = ctypes.cast(self.address, ctypes.POINTER(ctypes.c_void_p))[self.places[name]]
        return ctypes.CFUNCTYPE(result, *[type(a) if isinstance(a, ctypes._SimpleCData) else ctypes.c_void_p for a in arguments])(function)(*arguments)

    def out(self, name, *arguments, kind=ctypes.c_void_p):
        """The value that a function gives through its last parameter; its status must be none."""
        value = kind()
        status = self.call(name, *arguments, ctypes.byref(value))
        assert status is None, name
        return value


def setUpModule():
    global api, base
    ort = provider.runtime()
    library, = (pathlib.Path(ort.__file__).parent / "capi").glob("libonnxruntime.so.*")
    loaded = ctypes.CDLL(str(library))
    loaded.OrtGetApiBase.restype = ctypes.POINTER(Base)
    base = loaded.OrtGetApiBase().contents
    # CreateSessionOptions, AddSessionConfigEntry and ReleaseSessionOptions: for the tests alone.
    api = Table(base.GetApi(24), "FUNCTION", {"CreateSessionOptions": 10, "AddSessionConfigEntry": 130, "ReleaseSessionOptions": 100})


def text(value):
    return ctypes.c_char_p(value.encode())


class Places(unittest.TestCase):
    def test_list(self):
        places = [int(place) for place in re.findall(r"^FUNCTION\((\d+),", LISTED, re.M)]
        self.assertEqual(sorted(set(places)), places)
        self.assertLess(places[-1], 416)  # what version 24 has

    def test_statuses(self):
        status = api.call("CreateStatus", ctypes.c_int(9), text("words"))
        self.assertEqual(9, api.call("GetErrorCode", ctypes.c_void_p(status), result=ctypes.c_int))
        self.assertEqual(b"words", api.call("GetErrorMessage", ctypes.c_void_p(status), result=ctypes.c_char_p))
        api.call("ReleaseStatus", ctypes.c_void_p(status), result=None)

    def test_configuration(self):
        options = api.out("CreateSessionOptions")
        self.assertIsNone(api.call("AddSessionConfigEntry", options, text("octet.threads"), text("3")))
        pairs = api.out("GetSessionOptionsConfigEntries", options)
        keys, values, count = ctypes.POINTER(ctypes.c_char_p)(), ctypes.POINTER(ctypes.c_char_p)(), ctypes.c_size_t()
        api.call("GetKeyValuePairs", pairs, ctypes.byref(keys), ctypes.byref(values), ctypes.byref(count), result=None)
        self.assertEqual({b"octet.threads": b"3"}, {keys[i]: values[i] for i in range(count.value)})
        api.call("ReleaseKeyValuePairs", pairs, result=None)
        api.call("ReleaseSessionOptions", options, result=None)

    def test_attributes_and_nodes(self):
        number = ctypes.c_int64(77)
        attribute = ctypes.c_void_p()
        self.assertIsNone(api.call("CreateOpAttr", text("axis"), ctypes.byref(number), ctypes.c_int(1), ctypes.c_int(1), ctypes.byref(attribute)))
        self.assertEqual(b"axis", api.out("OpAttr_GetName", attribute, kind=ctypes.c_char_p).value)
        self.assertEqual(1, api.out("OpAttr_GetType", attribute, kind=ctypes.c_int).value)
        read, size = ctypes.c_int64(), ctypes.c_size_t()
        self.assertIsNone(api.call("ReadOpAttr", attribute, ctypes.c_int(1), ctypes.byref(read), ctypes.c_size_t(8), ctypes.byref(size)))
        self.assertEqual((77, 8), (read.value, size.value))
        editor = Table(api.call("GetModelEditorApi"), "EDITOR_FUNCTION")
        names = (ctypes.c_char_p * 1)(b"x")
        attributes = (ctypes.c_void_p * 1)(attribute)
        node = ctypes.c_void_p()
        self.assertIsNone(editor.call("CreateNode", text("Softmax"), text(""), text("s"), names, ctypes.c_size_t(1), names, ctypes.c_size_t(1),
                                      attributes, ctypes.c_size_t(1), ctypes.byref(node)))
        self.assertTrue(node.value)

    def test_memory_and_devices(self):
        providers = Table(api.call("GetEpApi"), "EP_FUNCTION")

        def memory(number):
            made = ctypes.c_void_p()
            self.assertIsNone(api.call("CreateMemoryInfo_V2", text("m"), ctypes.c_int(1), ctypes.c_uint32(0x10DE), ctypes.c_int32(number), ctypes.c_int(0),
                                       ctypes.c_size_t(0), ctypes.c_int(0), ctypes.byref(made)))
            return made

        infos = [memory(0), memory(0), memory(1)]
        devices = [ctypes.c_void_p(providers.call("MemoryInfo_GetMemoryDevice", info)) for info in infos]
        self.assertEqual(1, providers.call("MemoryDevice_GetDeviceType", devices[0], result=ctypes.c_int))
        self.assertTrue(providers.call("MemoryDevice_AreEqual", devices[0], devices[1], result=ctypes.c_bool))
        self.assertFalse(providers.call("MemoryDevice_AreEqual", devices[0], devices[2], result=ctypes.c_bool))
        for info in infos:
            api.call("ReleaseMemoryInfo", info, result=None)
        gpu = ctypes.c_void_p()
        self.assertIsNone(providers.call("CreateHardwareDevice", ctypes.c_int(1), ctypes.c_uint32(0x10DE), ctypes.c_uint32(7), text("NVIDIA"), None,
                                         ctypes.byref(gpu)))
        self.assertEqual(1, api.call("HardwareDevice_Type", gpu, result=ctypes.c_int))
        self.assertEqual(0x10DE, api.call("HardwareDevice_VendorId", gpu, result=ctypes.c_uint32))
        providers.call("ReleaseHardwareDevice", gpu, result=None)


class Negotiation(unittest.TestCase):
    def ask(self, version, get_api):
        """What the library answers to a host of this version: the number of factories, and the status."""
        import onnxruntime_ep_octet as package

        library = ctypes.CDLL(package.get_library_path())
        library.CreateEpFactories.restype = ctypes.c_void_p
        told = ctypes.create_string_buffer(version)
        fake = Base(Base._fields_[0][1](get_api), Base._fields_[1][1](lambda: ctypes.addressof(told)))
        factories, count = (ctypes.c_void_p * 4)(), ctypes.c_size_t(99)
        status = library.CreateEpFactories(b"octet", ctypes.byref(fake), None, factories, ctypes.c_size_t(4), ctypes.byref(count))
        if factories[0]:
            library.ReleaseEpFactory(ctypes.c_void_p(factories[0]))
        return count.value, status, factories

    def test_older_host(self):
        asked = []

        def get_api(number):
            asked.append(number)
            return base.GetApi(number) if number <= 23 else 0

        count, status, _ = self.ask(b"1.23.2", get_api)
        self.assertEqual((0, [23]), (count, asked))
        self.assertIn(b"needs ONNX Runtime 1.24 or later; this is 1.23.2",
                      api.call("GetErrorMessage", ctypes.c_void_p(status), result=ctypes.c_char_p))
        api.call("ReleaseStatus", ctypes.c_void_p(status), result=None)

    def test_versions_that_are_none(self):
        for version in (b"", b"x", b"1.", b"one.two.three", b"1.23"):
            count, _, _ = self.ask(version, lambda number: 0)
            self.assertEqual(0, count)

    def test_this_host_and_later_ones(self):
        for version in (ctypes.string_at(base.GetVersionString()), b"1.99.0"):
            asked = []

            def get_api(number, asked=asked):
                asked.append(number)
                return base.GetApi(number)

            count, status, _ = self.ask(version, get_api)
            self.assertEqual((1, None, [24]), (count, status, asked))


if __name__ == "__main__":
    harness.main()

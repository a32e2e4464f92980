#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""liboctet_c.so as other languages have it: what it shows, answers equal to the program's, hostile bytes, and the example from an installation."""

import ctypes
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import unittest

import harness
from harness import BUILD, DIGITS, ROOT, SHARED, command, digits, digits_engine, octet, scratch

sys.path.insert(0, str(ROOT / "tests/hostile"))
LIBRARY = BUILD / "liboctet_c.so"
HEADER = ROOT / "include/octet/octet.h"
F32, INVALID_MODEL, INVALID_ARGUMENT = 1, 1, 3


class Tensor(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint64), ("data", ctypes.c_void_p), ("bytes", ctypes.c_uint64), ("dtype", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("dims", ctypes.c_int64 * 8), ("strides", ctypes.c_void_p), ("device", ctypes.c_char_p)]


class Run(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint64), ("inputs", ctypes.POINTER(Tensor)), ("input_count", ctypes.c_uint64),
                ("outputs", ctypes.POINTER(Tensor)), ("output_count", ctypes.c_uint64), ("flags", ctypes.c_uint64),
                ("stream", ctypes.c_void_p), ("cache_rows", ctypes.c_int64)]


def declared():
    """The functions of the header, and what each returns."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)
    return {name: kind.strip() for kind, name in re.findall(r"OCTET_API\s+([\w\s*]+?[\s*])(octet_\w+)\(", text)}


def library():
    loaded = ctypes.CDLL(str(LIBRARY))
    for name, kind in declared().items():
        function = getattr(loaded, name)
        if kind.endswith("*"):
            function.restype = ctypes.c_char_p if kind == "const char*" else ctypes.c_void_p
        else:
            function.restype = {"void": None, "octet_status": ctypes.c_int32, "int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32,
                                "uint64_t": ctypes.c_uint64, "int64_t": ctypes.c_int64}[kind]
    return loaded


def tensor(data, dims):
    made = Tensor(size=ctypes.sizeof(Tensor), data=ctypes.addressof(data), bytes=ctypes.sizeof(data), dtype=F32, rank=len(dims))
    made.dims[: len(dims)] = dims
    return made


class Library(unittest.TestCase):
    def setUp(self):
        if not LIBRARY.exists():
            self.skipTest(f"{LIBRARY} was not built")
        self.c = library()

    def load(self, data):
        """(status, text of the error) of a load from memory; the engine is run where it loads."""
        engine, error = ctypes.c_void_p(), ctypes.c_void_p()
        status = self.c.octet_engine_load_bytes(data, ctypes.c_uint64(len(data)), ctypes.byref(engine), ctypes.byref(error))
        text = self.c.octet_error_text(error).decode(errors="replace")
        self.assertEqual(status == 0, engine.value is not None)
        self.assertEqual(status, self.c.octet_error_status(error))
        self.assertEqual(status == 0, text == "", text)
        self.c.octet_error_free(error)
        self.c.octet_engine_free(engine)
        return status, text

    def test_it_shows_the_functions_of_the_header_and_nothing_else(self):
        lines = command("nm", "-D", "--defined-only", LIBRARY).splitlines()
        shown = {line.split()[-1].partition("@")[0] for line in lines if " A " not in line}
        self.assertEqual(shown, set(declared()))
        self.assertGreater(len(shown), 50)
        dynamic = command("readelf", "-d", LIBRARY)
        self.assertIn(f"soname: [liboctet_c.so.{self.c.octet_abi_version()}]", dynamic)
        self.assertIn(f"#define OCTET_ABI {self.c.octet_abi_version()}u", HEADER.read_text())

    def test_it_is_of_the_programs_version(self):
        self.assertIn(self.c.octet_version().decode(), octet("--version").out)

    def test_numbers_are_those_of_the_header(self):
        """Values of an enumeration that other languages copy never change."""
        values = dict(re.findall(r"\b(OCTET_(?:DTYPE_)?\w+) = (-?\d+)[,\s/}]", HEADER.read_text()))
        for name, number in values.items():
            if name.startswith("OCTET_DTYPE_") and number != "0":
                self.assertEqual(self.c.octet_dtype_name(int(number)).decode(), name[12:].lower())
            elif name in ("OCTET_INVALID_MODEL", "OCTET_IO", "OCTET_INTERNAL"):
                self.assertEqual(self.c.octet_status_name(int(number)).decode(), name[6:].lower())

    def test_answers_are_those_of_the_program(self):
        np = harness.need("numpy")
        images = np.load(DIGITS / "digits.npz")["test_images"][:7].astype(np.float32)[:, None] / 16
        np.save(scratch() / "images.npy", images)
        octet("run", digits_engine(), scratch() / "images.npy", "-o", scratch() / "answers.npz", "--quiet")
        expected = np.load(scratch() / "answers.npz")["logits"]
        engine, context, error = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.assertEqual(self.c.octet_engine_load(os.fsencode(digits_engine()), ctypes.byref(engine), ctypes.byref(error)), 0)
        self.assertEqual(self.c.octet_context_create(engine, None, ctypes.byref(context), ctypes.byref(error)), 0)
        self.assertIn(b"240", self.c.octet_engine_preprocess(engine))
        pixels = (ctypes.c_float * images.size)(*images.ravel().tolist())
        logits = (ctypes.c_float * (7 * 10))()
        inputs, outputs = tensor(pixels, images.shape), tensor(logits, (7, 10))
        run = Run(ctypes.sizeof(Run), ctypes.pointer(inputs), 1, ctypes.pointer(outputs), 1, 0, None, 0)
        self.assertEqual(self.c.octet_context_run(context, ctypes.byref(run), ctypes.byref(error)), 0)
        self.assertEqual(bytes(logits), expected.reshape(7, 10).tobytes())
        self.c.octet_context_free(context)
        self.c.octet_engine_free(engine)

    def test_caches_are_continued_in_place(self):
        np = harness.need("numpy", "onnx")[0]
        engine, context, error = self.decoder(), ctypes.c_void_p(), ctypes.c_void_p()
        self.assertEqual(self.c.octet_context_create(engine, None, ctypes.byref(context), ctypes.byref(error)), 0)
        rows, heads, width = 9, 2, 4
        new = np.random.default_rng(3).random((rows, heads, 1, width), np.float32)
        buffer = np.full((heads, rows, width), 77, np.float32)
        dense = np.zeros((heads, 0, width), np.float32)
        cache = buffer.ctypes.data

        def status_of(token, past, present, cache_rows, size=ctypes.sizeof(Run)):
            """Runs with views (address, shape, strides) of the cache; gives the status, what it says, and y."""
            y = np.zeros((1, heads, 1, width), np.float32)
            given = (Tensor * 2)(self.view(token.ctypes.data, (1, heads, 1, width)), self.view(*past))
            taken = (Tensor * 2)(self.view(y.ctypes.data, y.shape), self.view(*present))
            run = Run(size, given, 2, taken, 2, 0, None, cache_rows)
            status = self.c.octet_context_run(context, ctypes.byref(run), ctypes.byref(error))
            text = self.c.octet_error_text(error).decode()
            self.c.octet_error_free(error)
            return status, text, y

        strides = (ctypes.c_int64 * 4)(heads * rows * width, rows * width, width, 1)
        for n in range(rows):
            longer = np.zeros((heads, n + 1, width), np.float32)
            status, text, want = status_of(new[n], (dense.ctypes.data, (1, heads, n, width)),
                                           (longer.ctypes.data, (1, heads, n + 1, width)), 0)
            self.assertEqual(status, 0, text)
            dense = longer
            if n == 4:  # a program of before: what lies behind its struct is not read
                kept = buffer.copy()
                status, text, got = status_of(new[n], (cache, (1, heads, n, width), strides),
                                              (longer.ctypes.data, (1, heads, n + 1, width)), rows, size=56)
                self.assertEqual((status, text, bytes(got)), (0, "", bytes(want)))
                self.assertEqual(bytes(buffer), bytes(kept))
            status, text, got = status_of(new[n], (cache, (1, heads, n, width), strides), (cache, (1, heads, n + 1, width), strides), rows)
            self.assertEqual((status, text, bytes(got)), (0, "", bytes(want)))
            self.assertTrue((buffer[:, : n + 1] == dense).all(), n)
        past, present = (cache, (1, heads, 3, width), strides), (cache, (1, heads, 4, width), strides)
        for cache_rows, words in ((-1, "cache_rows is -1"), (rows - 1, "first rows of a dense buffer"), (1 << 40, "cache_rows is")):
            status, text, _ = status_of(new[3], past, present, cache_rows)
            self.assertEqual(status, INVALID_ARGUMENT)
            self.assertIn(words, text)
        results = ctypes.c_void_p()
        given = (Tensor * 2)(self.view(new[3].ctypes.data, (1, heads, 1, width)), self.view(*past))
        run = Run(ctypes.sizeof(Run), given, 2, None, 0, 0, None, rows)
        status = self.c.octet_context_run_new(context, ctypes.byref(run), ctypes.byref(results), ctypes.byref(error))
        self.assertEqual((status, results.value), (INVALID_ARGUMENT, None))
        self.assertIn("memory of the caller", self.c.octet_error_text(error).decode())
        self.c.octet_error_free(error)
        self.c.octet_context_free(context)
        self.c.octet_engine_free(engine)

    def decoder(self):
        """The engine of y = attention of x over a cache that x continues."""
        from onnx import TensorProto, helper

        def real(name, dims):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)

        nodes = [helper.make_node("Concat", ["past", "x"], ["present"], axis=2),
                 helper.make_node("Transpose", ["present"], ["turned"], perm=[0, 1, 3, 2]),
                 helper.make_node("MatMul", ["x", "turned"], ["scores"]),
                 helper.make_node("Softmax", ["scores"], ["weights"], axis=-1),
                 helper.make_node("MatMul", ["weights", "present"], ["y"])]
        graph = helper.make_graph(nodes, "decoder", [real("x", [1, 2, 1, 4]), real("past", [1, 2, "n", 4])],
                                  [real("y", [1, 2, 1, 4]), real("present", [1, 2, "m", 4])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
        engine, error = ctypes.c_void_p(), ctypes.c_void_p()
        status = self.c.octet_build_bytes(model, ctypes.c_uint64(len(model)), None, ctypes.byref(engine), ctypes.byref(error))
        self.assertEqual(status, 0, self.c.octet_error_text(error))
        return engine

    @staticmethod
    def view(address, dims, strides=None):
        """A tensor of the host; its bytes are those that it reaches."""
        count = 1
        for dim in dims:
            count *= dim
        if strides is not None and count > 0:
            count = 1 + sum((dim - 1) * strides[i] for i, dim in enumerate(dims))
        made = Tensor(size=ctypes.sizeof(Tensor), data=address, bytes=4 * count, dtype=F32, rank=len(dims))
        made.dims[: len(dims)] = dims
        if strides is not None:
            made.strides = ctypes.cast(strides, ctypes.c_void_p)
        return made

    def test_hostile_engines_are_errors(self):
        import files  # tests/hostile

        self.assertEqual(self.c.octet_set_memory_limit(ctypes.c_int64(256 << 20), None), 0)
        good = digits_engine().read_bytes()
        self.assertEqual(self.load(good), (0, ""))
        cases = 0
        for case in files.engines(random.Random(7), good):
            if case.name.startswith("manifest_"):  # tens of megabytes each; the program's suite has them
                continue
            status, text = self.load(case.files["e.octet"])
            cases += 1
            if case.verdict == "refused":
                self.assertEqual(status, INVALID_MODEL, f"{case.name}: {text}")
        self.assertGreater(cases, 45)
        for found in sorted((SHARED / "hostile/found").glob("*.onnx")):
            self.assertEqual(self.load(found.read_bytes())[0], INVALID_MODEL, found.name)


class Example(unittest.TestCase):
    def test_it_runs_from_an_installation(self):
        if shutil.which("cmake") is None or not LIBRARY.exists():
            self.skipTest("cmake is absent, or liboctet_c was not built")
        np = harness.need("numpy")
        prefix, build = scratch() / "prefix", scratch() / "classify"
        command("cmake", "--install", BUILD, "--prefix", prefix)
        command("cmake", "-G", "Ninja", "-S", ROOT / "examples/c", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
        command("cmake", "--build", build)
        arrays = np.load(DIGITS / "digits.npz")
        image = (arrays["test_images"][0].astype(np.int64) * 15).astype(np.uint8)
        picture = scratch() / "digit.pgm"
        picture.write_bytes(b"P5\n8 8\n255\n" + image.tobytes())
        out = command(build / "classify", digits_engine(), picture, "240")
        np.save(scratch() / "one.npy", image[None, None].astype(np.float32) / np.float32(240))
        octet("run", digits_engine(), scratch() / "one.npy", "-o", scratch() / "one.npz", "--quiet")
        logits = np.load(scratch() / "one.npz")["logits"].ravel()
        self.assertEqual(out, f"class {logits.argmax()}, score {logits.max():.4f}\n")
        done = subprocess.run([build / "classify", scratch() / "no.octet", picture, "240"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no.octet", done.stderr)
        self.with_make(prefix, picture, out)

    def with_make(self, prefix, picture, expected):
        if shutil.which("pkg-config") is None or shutil.which("make") is None:
            print("pkg-config or make is absent: the Makefile was not run")
            return
        folder, packages = scratch() / "make", next(pathlib.Path(prefix).rglob("octet.pc")).parent
        shutil.copytree(ROOT / "examples/c", folder)
        environment = {**os.environ, "PKG_CONFIG_PATH": str(packages), "LD_LIBRARY_PATH": str(packages.parent)}
        subprocess.run(["make", "-s", "-C", folder], env=environment, check=True)
        done = subprocess.run([folder / "classify", digits_engine(), picture, "240"], env=environment, capture_output=True, text=True,
                              check=True)
        self.assertEqual(done.stdout, expected)


if __name__ == "__main__":
    harness.main()

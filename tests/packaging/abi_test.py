# SPDX-License-Identifier: Apache-2.0
"""packaging/abi.py on two small libraries: what a program of the last release would miss is an error, what is new is not."""

import contextlib
import io
import pathlib
import shutil
import sys
import tempfile
import unittest

from harness import ROOT, command, main

sys.path.insert(0, str(ROOT / "packaging"))
import abi

HEADER = "namespace octet { struct Options { int threads = 1; EXTRA }; int run(const Options& options); MORE }"
SOURCE = '#include "octet.h"\nnamespace octet { int run(const Options& options) { return options.threads; } MORE_BODY }'
C = 'extern "C" int octet_abi() { return 1; }'


@unittest.skipUnless(shutil.which("abidw") and shutil.which("g++"), "abidw (abigail-tools) or g++ is absent")
class Abi(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = pathlib.Path(work.name)
        (self.work / "sdk").mkdir()
        kept = abi.FOLDER, abi.HEADERS
        self.addCleanup(lambda: [setattr(abi, name, value) for name, value in zip(("FOLDER", "HEADERS"), kept)])
        abi.FOLDER, abi.HEADERS = self.work / "abi", self.work
        self.build(self.work / "liboctet_c.so", "1", C)
        self.interface()
        self.assertEqual(self.said("--update")[0], 0)

    def build(self, library, number, source, *flags):
        (self.work / "source.cc").write_text(source)
        command("g++", "-g", "-shared", "-fPIC", f"-Wl,-soname,{library.name}.{number}", *flags, self.work / "source.cc", "-o", library)

    def interface(self, extra="", more="", body="", number="0.1", flags=()):
        (self.work / "octet.h").write_text(HEADER.replace("EXTRA", extra).replace("MORE", more))
        self.build(self.work / "sdk/liboctet.so", number, SOURCE.replace("MORE_BODY", body), *flags)

    def said(self, *flags):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = abi.main([str(self.work), *flags])
        return code, out.getvalue(), err.getvalue()

    def test_the_same(self):
        code, out, err = self.said()
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out, "liboctet.so.0.1: all of its last release is there\nliboctet_c.so.1: all of its last release is there\n")
        for file in abi.FOLDER.iterdir():
            self.assertLess(file.stat().st_size, 4096)

    def test_what_is_new(self):
        self.interface(more="int stop(int); ", body="int stop(int how) { return how; }")
        code, out, err = self.said()
        self.assertEqual((code, err), (0, ""))
        self.assertIn("liboctet.so.0.1: all of its last release is there, and 1 functions are new\n", out)

    def test_a_field_and_a_function_that_is_gone(self):
        for change in ({"extra": "int device = 0;"}, {"flags": ("-Drun=run2",)}):
            self.interface(**change)
            code, _, err = self.said()
            self.assertEqual(code, 3)
            self.assertEqual([line.split(" ")[1] for line in err.splitlines() if line.startswith("error: ")], ["liboctet.so.0.1"])
            self.assertIn("another number of the library is due", err)
        self.interface(extra="int device = 0;", number="0.2")
        self.assertIn("packaging/abi has no description of liboctet.so.0.2", self.said()[2])
        self.assertEqual(self.said("--update")[0], 0)
        self.assertEqual(self.said()[0], 0)

    def test_no_debug_information_and_no_library(self):
        self.interface(flags=("-g0",))
        self.assertIn("OCTET_DESCRIBE", self.said()[2])
        (self.work / "sdk/liboctet.so").unlink()
        code, _, err = self.said("--update")
        self.assertEqual(code, 3)
        self.assertIn("was not built; ./dev release builds it", err)


if __name__ == "__main__":
    main()

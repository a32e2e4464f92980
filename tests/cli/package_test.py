# SPDX-License-Identifier: Apache-2.0
"""The Debian package: what lies in it, that lintian finds nothing, and that the program in it works where it is unpacked."""

import gzip
import os
import shutil
import unittest

import harness
from harness import BUILD, DIGITS, command, digits, scratch

COMMANDS = ("check", "build", "inspect", "run", "eval", "compare", "bench", "report", "export", "plugin", "devices", "trtexec")


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for tool in ("cmake", "cpack", "dpkg-deb", "dpkg-shlibdeps"):
            if shutil.which(tool) is None:
                raise unittest.SkipTest(f"{tool} is absent; ./dev package installs it")
        command("cmake", "--build", BUILD, "--target", "octet_package_files")
        command("cpack", "--config", BUILD / "CPackConfig.cmake", "-G", "DEB", "-B", scratch() / "package")
        cls.file = next((scratch() / "package").glob("*.deb"))
        cls.root = scratch() / "root"
        command("dpkg-deb", "-x", cls.file, cls.root)

    def test_what_lies_in_it(self):
        files = {str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file()}
        pages = {f"usr/share/man/man1/octet-{name}.1.gz" for name in COMMANDS}
        expected = pages | {"usr/bin/octet", "usr/share/man/man1/octet.1.gz", "usr/share/doc/octet/copyright",
                            "usr/share/bash-completion/completions/octet", "usr/share/zsh/vendor-completions/_octet"}
        self.assertEqual(expected - files, set())
        self.assertIn("usr/libexec/octet/octet-kernel-compiler", files)
        self.assertFalse([file for file in files if file.endswith((".h", ".a", ".cmake"))])
        with gzip.open(self.root / "usr/share/man/man1/octet-build.1.gz", "rt") as page:
            self.assertTrue(page.read().startswith(".TH OCTET-BUILD 1"))

    def test_it_needs_the_libraries_that_it_links(self):
        needs = command("dpkg-deb", "-f", self.file, "Depends")
        for library in ("libc6", "libdnnl2", "libprotobuf32", "libjpeg62-turbo", "libpng16-16", "libwebp7"):
            self.assertIn(library, needs)

    def test_its_builder_answers_for_it(self):
        maintainer = command("dpkg-deb", "-f", self.file, "Maintainer").strip()
        cache = (BUILD / "CMakeCache.txt").read_text()
        self.assertIn(f"OCTET_PACKAGE_CONTACT:STRING={maintainer}\n", cache)
        self.assertNotIn("localhost", maintainer)
        with gzip.open(self.root / "usr/share/doc/octet/changelog.Debian.gz" if (
                self.root / "usr/share/doc/octet/changelog.Debian.gz").exists() else self.root / "usr/share/doc/octet/changelog.gz", "rt") as text:
            self.assertIn(maintainer, text.read())

    def test_the_program_does_the_job(self):
        program = self.root / "usr/bin/octet"
        engine = scratch() / "packaged.octet"
        command(program, "build", DIGITS / "digits.onnx", "--int8", "--calib", digits() / "calib", "--preprocess",
                DIGITS / "preprocess.json", "-o", engine, "--quiet")
        self.assertIn("top-1", command(program, "eval", engine, "--data", digits() / "test"))

    def test_lintian(self):
        if shutil.which("lintian") is None:
            self.skipTest("lintian is absent; ./dev package installs it")
        options = ["--allow-root"] if os.getuid() == 0 else []
        self.assertEqual(command("lintian", *options, "--fail-on", "error,warning", self.file).strip(), "")


if __name__ == "__main__":
    harness.main()

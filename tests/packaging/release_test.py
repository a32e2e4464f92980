# SPDX-License-Identifier: Apache-2.0
"""The scripts of a release where something is missing: one error that says what, and no half of a release. Debian's and CMake's programs are
played by others here; tests/install tries what the real ones make."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from harness import ROOT, main

# FAILS: "PROGRAM;PROGRAM WORD": with that word among its arguments, or whatever they are.
PLAYED = r"""#!/bin/sh
name=${0##*/}
echo "$name $*" >>"$PLAYED"
IFS=';'
for rule in $FAILS; do
  case "$name $*" in
    "${rule%% *} "*"${rule#* }"*) echo "E: no $rule" >&2; exit 1 ;;
    "$rule "*) echo "E: no $rule" >&2; exit 1 ;;
  esac
done
case "$name $*" in
  apt-cache*) printf 'Package: it\nVersion: 1.2-1+deb12u1\n\nVersion: 1.10-1\n\nVersion: 1.2-1\n' ;;
  apt-get*indextargets*) [ -z "$DEBIAN" ] || printf '%s http://mirror.invalid/debian\n' bookworm bookworm-security ;;
  dpkg-source*)
    mkdir -p unpacked/debian && echo "its licence" >unpacked/debian/copyright && echo '#!/bin/sh' >unpacked/configure && chmod +x unpacked/configure
    [ -n "$UNDATED" ] || printf 'it (1.10-1) stable; urgency=low\n\n  * Is.\n\n -- I <i@octet.invalid>  Thu, 01 Jan 2026 00:00:00 +0000\n' >unpacked/debian/changelog ;;
  dpkg-query*) echo "install ok installed" ;;
  *g++*--version) echo "a compiler" ;;
esac
"""


class Played(unittest.TestCase):
    """A copy of the scripts, with those programs in front of the machine's."""

    def setUp(self):
        work = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(work.cleanup)
        self.work = pathlib.Path(work.name)
        self.tree = self.work / "tree"
        for folder in ("packaging", "cmake"):
            shutil.copytree(ROOT / folder, self.tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
        for file in ("CMakeLists.txt", "CHANGELOG.md", "LICENSE", "dev"):
            shutil.copy(ROOT / file, self.tree)
        (self.tree / "tools").mkdir()
        shutil.copy(ROOT / "tools/machine.sh", self.tree / "tools")
        self.bin = self.work / "bin"
        self.bin.mkdir()
        self.env = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "PLAYED": str(self.work / "played"), "DEBIAN": "1"}
        for name in ("OCTET_DEBIAN_MIRROR", "OCTET_DEBIAN_SECURITY_MIRROR", "FAILS"):
            self.env.pop(name, None)

    def play(self, *names):
        for name in names:
            program = self.bin / name
            program.write_text(PLAYED)
            program.chmod(0o755)

    def run_in_tree(self, *command, **env):
        return subprocess.run(list(map(str, command)), cwd=self.tree, env={**self.env, **env}, capture_output=True, text=True, check=False)

    def refused(self, done, *words):
        """One error, which has these words."""
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, 3, said)
        self.assertNotIn("Traceback", said)
        errors = [line for line in said.splitlines() if line.startswith("error:")]
        self.assertEqual(len(errors), 1, said)
        for word in words:
            self.assertIn(word, said[said.index("error:"):])
        return said


class Sources(Played):
    def setUp(self):
        super().setUp()
        self.play("apt-get", "apt-cache", "dpkg-source", "make")

    def build(self, *flags, folder=None, **env):
        return self.run_in_tree(sys.executable, "packaging/dependencies.py", *flags, folder or self.work / "dependencies", **env)

    def test_a_mirror_without_the_newest_source(self):
        missing = {"FAILS": "apt-get =1.10-1;cmake"}
        self.play("cmake")
        done = self.build(**missing)
        self.assertIn("warning: zlib 1.10-1 of bookworm could not be had: E: no apt-get =1.10-1\n", done.stderr)
        self.assertIn("zlib 1.2-1+deb12u1", done.stdout)
        strict = self.build("--strict", folder=self.work / "strict", **missing)
        self.assertNotIn("warning", strict.stderr)
        self.refused(strict, "--strict takes no other version of zlib than 1.10-1 of bookworm")

    def test_what_is_there_is_not_made_again(self):
        self.play("cmake")
        self.build(FAILS="cmake")
        played = pathlib.Path(self.env["PLAYED"])
        made = played.read_text().count("make -j")
        self.assertEqual(made, 1)
        self.build("--strict", FAILS="cmake")
        self.assertEqual(played.read_text().count("make -j"), made)

    def test_for_another_processor(self):
        self.play("cmake", "aarch64-linux-gnu-g++-12", "aarch64-linux-gnu-strip")
        self.refused(self.build("--arch", "aarch64", FAILS="apt-get libssl-dev"), "E: no apt-get libssl-dev")
        played = pathlib.Path(self.env["PLAYED"]).read_text()
        configured = [line for line in played.splitlines() if line.startswith("cmake -G")]
        self.assertEqual(len(configured), 5)
        for line in configured:
            self.assertIn("cmake/aarch64.cmake", line)
        self.assertIn("APT::Architecture=arm64", played)
        self.assertIn("aarch64-linux-gnu-strip", played)
        # A library of this machine's is another.
        self.assertEqual(played.count("make -j"), 1)
        self.build(FAILS="cmake")
        self.assertEqual(pathlib.Path(self.env["PLAYED"]).read_text().count("make -j"), 2)

    def test_a_mirror_without_any(self):
        self.refused(self.build(FAILS="apt-get source"), "apt-get", "E: no apt-get source")

    def test_a_mirror_that_does_not_answer(self):
        self.refused(self.build(FAILS="apt-get update"), "E: no apt-get update")

    def test_no_mirror(self):
        self.env.pop("DEBIAN")
        self.refused(self.build(), "apt's sources have no bookworm of Debian 12", "OCTET_DEBIAN_MIRROR")

    def test_a_build_that_fails(self):
        self.play("cmake")
        self.refused(self.build(FAILS="cmake --build"), "cmake --build . failed", "E: no cmake --build", "libpng.log")
        self.assertFalse((self.work / "dependencies/stamps/libpng.json").exists())

    def test_a_source_without_a_date(self):
        self.refused(self.build(UNDATED="1"), "debian/changelog has no date")

    def test_a_full_disk(self):
        folder = self.work / "small"
        folder.mkdir()
        script = 'mount -t tmpfs -o size=64k tmpfs "$0" && head -c 60k /dev/zero >"$0/full" && exec "$@"'
        if subprocess.run(["unshare", "-rm", "sh", "-c", script, folder, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("this machine lets nobody mount")
        self.refused(self.run_in_tree("unshare", "-rm", "sh", "-c", script, folder, sys.executable, "packaging/dependencies.py", folder / "made"),
                     "KiB are left on the disk")


class Release(Played):
    def setUp(self):
        super().setUp()
        self.play("cmake", "apt-get", "dpkg-query", "lintian", "cpack")
        self.build = self.tree / "build"
        python = self.build / "release-python/bin/python"
        python.parent.mkdir(parents=True)
        python.symlink_to(sys.executable)
        shutil.copy(self.tree / "packaging/requirements.txt", self.build / "release-python")
        # What they make is not there, and their errors are others' tests.
        for name in ("sysroot.sh", "dependencies.py"):
            script = self.tree / "packaging" / name
            script.write_text("#!/bin/sh\n" if name.endswith("sh") else "")
        (self.build / "sysroot").mkdir()
        (self.build / "sysroot/complete").write_text("it is\n")
        for old in ("release-artifacts", "release-wheels"):
            (self.build / old).mkdir()
            (self.build / old / "of the last release.whl").write_text("old")

    def release(self, *flags, verb="release", **env):
        return self.run_in_tree("./dev", verb, *flags, **env)

    def nothing_left(self):
        for name in ("release-artifacts", "release-artifacts.partial", "release-wheels"):
            self.assertFalse((self.build / name).exists(), name)

    def test_a_build_that_fails_half_way(self):
        said = self.refused(self.release(FAILS="cmake --build"), "no release was made: 'Octet (words of the compiler: build/portable.log)' failed")
        self.assertIn("  | E: no cmake --build\n", said)
        self.nothing_left()

    def test_the_error_of_a_script_inside_is_the_one(self):
        (self.tree / "packaging/dependencies.py").write_text("import sys\nprint('error: the mirror is away', file=sys.stderr)\nsys.exit(3)\n")
        self.refused(self.release(), "error: the mirror is away")
        self.nothing_left()

    def test_a_script_inside_that_dies(self):
        (self.tree / "packaging/dependencies.py").write_text("import os\nos.kill(os.getpid(), 9)\n")
        self.refused(self.release(), "'dependencies, static")
        self.nothing_left()

    def test_packages_of_python_that_are_not_what_their_hashes_say(self):
        (self.tree / "packaging/requirements.txt").write_text("nothing==1 --hash=sha256:" + 64 * "0" + "\n")
        said = self.refused(self.release(PIP_NO_INDEX="1"), "'Python packages, by their hashes' failed")
        self.assertIn("No matching distribution found for nothing==1", said)
        self.assertFalse((self.build / "release-python/requirements.txt").exists())
        self.nothing_left()

    def test_debian_packages_that_cannot_be_had(self):
        (self.bin / "dpkg-query").write_text("#!/bin/sh\n")
        (self.bin / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
        (self.bin / "sudo").chmod(0o755)
        done = self.release(FAILS="apt-get install")
        self.assertEqual(done.returncode, 1)
        self.assertEqual([line.split(":")[1] for line in done.stderr.splitlines() if line.startswith("error:")], [" these Debian packages could not be installed"])

    def test_strict_reaches_the_sources(self):
        (self.tree / "packaging/dependencies.py").write_text("import sys\nprint('error: asked', *sys.argv[1:], file=sys.stderr)\nsys.exit(3)\n")
        self.refused(self.release("--strict"), "error: asked --strict build/dependencies")
        self.refused(self.release("--release", "--strict", verb="wheel"), "error: asked --strict build/dependencies")
        self.refused(self.release(), "error: asked build/dependencies")
        self.refused(self.release("--strict", "--arch", "aarch64"), "error: asked --strict --arch aarch64 build/dependencies-aarch64")
        self.refused(self.release("--release", "--arch", "aarch64", verb="wheel"), "error: asked --arch aarch64 build/dependencies-aarch64")
        self.assertEqual(self.release("--arch", "mips").returncode, 2)
        self.assertEqual(self.release("--relaxed").returncode, 2)
        self.assertEqual(self.release("--strict", verb="wheel").returncode, 2)


if __name__ == "__main__":
    main()

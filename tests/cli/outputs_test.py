# SPDX-License-Identifier: Apache-2.0
"""Outputs never destroy: not an input, whatever link it is named by; not another output; nothing that is no regular file; and
without --force no file that Octet did not write."""

import os
import pathlib
import shutil
import stat
import subprocess
import unittest

import harness
from harness import DIGITS, PROGRAM, digits, digits_engine, need, octet, scratch

MODEL = DIGITS / "digits.onnx"


def tree(folder):
    """What lies in a folder: kind, and the bytes of files."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        found[str(path.relative_to(folder))] = (stat.S_IFMT(mode), path.read_bytes() if stat.S_ISREG(mode) else b"")
    return found


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = scratch() / self.id().rsplit(".", 1)[-1]
        self.folder.mkdir()
        self.model = self.folder / "model.onnx"
        shutil.copy(MODEL, self.model)
        self.engine = self.folder / "engine.octet"
        shutil.copy(digits_engine(), self.engine)
        self.image = self.folder / "image.png"
        shutil.copy(sorted((digits() / "test").rglob("*.png"))[0], self.image)

    def refused(self, *arguments, says):
        """One error that says so, before anything is written; --force does not help."""
        for more in ((), ("--force",)):
            before = tree(self.folder)
            result = octet(*arguments, *more, code=2, cwd=self.folder)
            self.assertEqual(result.out, "")
            self.assertIn(says, result.err)
            self.assertEqual(tree(self.folder), before)


class Inputs(Case):
    def links(self, path):
        """The path itself and every other way to name its file."""
        symbolic, hard, above = self.folder / "symbolic", self.folder / "hard", self.folder / "above"
        for link in (symbolic, hard, above):
            link.unlink(missing_ok=True)
        symbolic.symlink_to(path.name)
        os.link(path, hard)
        above.symlink_to(self.folder, target_is_directory=True)
        yield from (path, symbolic, hard, above / path.name, self.folder / "." / path.name,
                    self.folder / ".." / self.folder.name / path.name)
        for link in (symbolic, hard, above):
            link.unlink()

    def test_model(self):
        for path in self.links(self.model):
            self.refused("build", self.model, "-o", path, says="would replace what this command reads: model")
            self.refused("build", self.model, "-o", "new.octet", "--report", path, says="--report")

    def test_model_that_is_the_default_output(self):
        self.model.rename(self.folder / "model.octet")
        self.refused("build", "model.octet", says="would replace what this command reads: model")

    def test_calibration_data(self):
        calib = self.folder / "calib"
        shutil.copytree(digits() / "calib", calib)
        image = sorted(calib.glob("*.png"))[3]
        os.link(image, self.folder / "hard.png")
        (self.folder / "outside").mkdir()
        shutil.move(sorted(calib.glob("*.png"))[5], self.folder / "outside" / "far.png")
        (calib / "linked").symlink_to(self.folder / "outside", target_is_directory=True)
        for path in (image, "hard.png", "outside/far.png", "calib/linked/far.png"):
            self.refused("build", "model.onnx", "--int8", "--calib", calib, "-o", path, says="--calib")
        self.refused("build", "model.onnx", "--int8", "--calib", calib, "-o", calib, says="is a folder")

    def test_part_of_an_array_file(self):
        shutil.copy(DIGITS / "digits.npz", self.folder / "data.npz")
        self.refused("build", "model.onnx", "--int8", "--calib", "data.npz:train_images[0:50]", "-o", "data.npz", says="--calib")

    def test_preprocessing(self):
        shutil.copy(DIGITS / "preprocess.json", self.folder / "p.json")
        self.refused("build", "model.onnx", "--int8", "--calib", digits() / "calib", "--preprocess", "p.json", "-o", "p.json",
                     says="--preprocess")

    def test_weights_beside_the_model(self):
        onnx = need("onnx")
        onnx.save(onnx.load(MODEL), self.folder / "split.onnx", save_as_external_data=True, all_tensors_to_one_file=True,
                  location="weights.bin", size_threshold=0)
        octet("build", "split.onnx", "-o", "split.octet", cwd=self.folder)
        self.refused("build", "split.onnx", "-o", "weights.bin", says="weights.bin")
        (self.folder / "link.bin").symlink_to("weights.bin")
        self.refused("build", "split.onnx", "-o", "new.octet", "--report", "link.bin", says="link.bin")

    def test_run(self):
        numpy = need("numpy")
        numpy.savez(self.folder / "in.npz", image=numpy.zeros((1, 1, 8, 8), "float32"))
        (self.folder / "names.txt").write_text("\n".join("0123456789"))
        for path in self.links(self.folder / "in.npz"):
            self.refused("run", self.engine, "in.npz", "-o", path, says="inputs")
        self.refused("run", self.engine, self.image, "-o", self.image, says="inputs")
        self.refused("run", self.engine, self.image, "-o", self.engine, says="engine")
        self.refused("run", self.engine, self.image, "--labels", "names.txt", "-o", "names.txt", says="--labels")

    def test_tuning(self):
        for flags in (("--tune", self.engine), ("--tune", "t.json", "--tuning", "t.json")):
            (self.folder / "t.json").write_text('{"format": "octet-tuning", "version": 1, "choices": []}')
            self.refused("bench", self.engine, *flags, says="would replace what this command reads")


class Places(Case):
    def test_two_outputs_of_one_name(self):
        (self.folder / "to").symlink_to("x")
        for other in ("x", "./x", self.folder / "x", "to"):
            self.refused("build", self.model, "-o", "x", "--report", other, says="-o and --report are one file")
        (self.folder / "a").touch()
        os.link(self.folder / "a", self.folder / "b")
        self.refused("build", self.model, "-o", "a", "--report", "b", says="are one file")

    def test_no_regular_file(self):
        os.mkfifo(self.folder / "fifo")
        (self.folder / "to").symlink_to("fifo")
        self.make_device(self.folder / "null")
        for path, kind in (("null", "a device"), ("fifo", "a pipe"), ("to", "a pipe"), (self.folder, "a folder")):
            self.refused("build", self.model, "-o", path, says=f"is {kind}")
            self.refused("build", self.model, "-o", "new", "--report", path, says=f"is {kind}")
            self.refused("run", self.engine, self.image, "-o", path, says=f"is {kind}")
            self.refused("bench", self.engine, "--tune", path, says=f"is {kind}")

    @staticmethod
    def make_device(path):
        """A node of the test's own: root could lose the machine's."""
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        except PermissionError:
            path.symlink_to("/dev/null")

    def test_no_folder_and_no_name(self):
        self.refused("build", self.model, "-o", "nowhere/x.octet", says="no folder 'nowhere'")
        self.refused("build", self.model, "-o", "", says="-o names no file")
        (self.folder / "round").symlink_to("round")
        self.refused("build", self.model, "-o", "round", says="links")

    def test_a_link_stays_and_its_file_is_written(self):
        inner = self.folder / "inner"
        inner.mkdir()
        link = self.folder / "link.octet"
        link.symlink_to("inner/real.octet")
        for _ in range(2):
            octet("build", self.model, "-o", link)
            self.assertTrue(link.is_symlink())
            self.assertEqual([path.name for path in inner.iterdir()], ["real.octet"])
            octet("inspect", inner / "real.octet")

    def test_permissions_stay(self):
        for mode in (0o600, 0o640, 0o666):
            self.engine.chmod(mode)
            octet("build", self.model, "-o", self.engine)
            self.assertEqual(stat.S_IMODE(self.engine.stat().st_mode), mode)


class Others(Case):
    """Files that are none of ours."""

    def outputs(self):
        yield ("build", self.model, "-o"), self.folder / "built.octet"
        yield ("build", self.model, "-o", self.folder / "new.octet", "--report"), self.folder / "r.html"
        yield ("run", self.engine, self.image, "-o"), self.folder / "o.npz"

    def test_kept_without_force(self):
        numpy = need("numpy")
        foreign = self.folder / "foreign"
        numpy.savez(self.folder / "numpy.npz", image=numpy.zeros(3))
        contents = (b"x", b"my thesis", b"<!DOCTYPE html>\n<html><body>mine</body></html>", b"PK\x03\x04 a document",
                    (self.folder / "numpy.npz").read_bytes(), b'{"mine": 1}', MODEL.read_bytes())
        for command, _ in self.outputs():
            for content in contents:
                foreign.write_bytes(content)
                error = octet(*command, foreign, code=2).err
                self.assertIn("--force", error)
                self.assertIn("'" + str(foreign) + "'", error)
                self.assertEqual(foreign.read_bytes(), content)
            octet(*command, foreign, "--force")
            self.assertNotEqual(foreign.read_bytes(), contents[-1])

    def test_ours_of_another_kind(self):
        done = []
        for command, path in self.outputs():
            octet(*command, path)
            for other in done:  # of the outputs of other commands, made before
                self.assertIn("--force", octet(*command, other, code=2).err)
            done.append(path)

    def test_ours_are_replaced(self):
        for command, path in self.outputs():
            for _ in range(2):
                octet(*command, path)
            path.write_bytes(b"")
            octet(*command, path)
            self.assertGreater(path.stat().st_size, 0)

    def test_arrays_and_cases_do_not_replace_each_other(self):
        case, arrays = self.folder / "case", self.folder / "arrays"
        bundle, run = ("bundle", self.engine, "--inputs", self.image, "-o"), ("run", self.engine, self.image, "-o")
        octet(*bundle, case)
        octet(*run, arrays)
        for command, path, says in ((run, case, "not an archive of arrays"), (bundle, arrays, "not a case")):
            before = path.read_bytes()
            self.assertIn(says, octet(*command, path, code=2).err)
            self.assertEqual(path.read_bytes(), before)
        octet(*bundle, case)
        octet(*run, arrays)
        octet(*run, case, "--force")
        octet(*run, case)

    def test_files_named_like_temporary_ones(self):
        """Those of a user stay; what a killed writer of ours left goes."""
        users = [self.folder / f"out.npz.{end}.tmp" for end in ("123-4", "1-0", "99999-0", "7", "123-4.0123456789abcdef")]
        for path in users:
            path.write_text("the user's")
        process = subprocess.Popen([PROGRAM, "run", self.engine, "--random", "1000000", "-o", self.folder / "out.npz", "--quiet"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        process.kill()
        process.wait()
        octet("run", self.engine, self.image, "-o", self.folder / "out.npz")
        self.assertEqual({path.read_text() for path in users}, {"the user's"})
        self.assertEqual(sorted(self.folder.glob("out*")), sorted([self.folder / "out.npz", *users]))

    def test_write_protected(self):
        self.engine.chmod(0o444)
        self.assertIn("write-protected", octet("build", self.model, "-o", self.engine, code=2).err)
        octet("build", self.model, "-o", self.engine, "--force")
        self.assertEqual(stat.S_IMODE(self.engine.stat().st_mode), 0o444)

    def test_a_folder_that_cannot_be_written(self):
        """Before the work; root may write anywhere, and is somebody else here."""
        closed = self.folder / "closed"
        closed.mkdir(mode=0o555)
        for folder in (scratch(), self.folder):
            folder.chmod(0o755)
        try:
            done = subprocess.run([PROGRAM, "build", "no-model.onnx", "-o", closed / "x.octet"], user=65534 if os.geteuid() == 0 else None,
                                  capture_output=True, text=True, check=False)
        except PermissionError:
            self.skipTest("another user cannot run the program here")
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"x.octet': cannot write in folder '{closed}': Permission denied", done.stderr)

    def test_before_the_work(self):
        """Nothing of the model is read where the output cannot be: its fault is not even found."""
        (self.folder / "broken.onnx").write_bytes(b"\0" * 100)
        (self.folder / "mine").write_text("mine")
        self.assertIn("--force", octet("build", self.folder / "broken.onnx", "-o", self.folder / "mine", code=2).err)


class Names(Case):
    """An extension that promises another format."""

    def test_refused_whatever_is_there(self):
        bundle = ("bundle", self.engine, "--inputs", self.image, "-o")
        for command, names, better in ((("run", self.engine, self.image, "-o"), ("x.png", "x.npy", "x.zip", "x.foo", "x.json", "X.PNG"), ".npz"),
                                       (bundle, ("x.npz", "x.octet", "x.tar"), ".zip"),
                                       (("build", self.model, "-o"), ("x.onnx", "x.html", "x.png", "x.zip", "x.txt"), ".octet"),
                                       (("build", self.model, "-o", "y.octet", "--report"), ("x.txt", "x.pdf", "x.octet"), ".html"),
                                       (("export", self.engine, "--onnx"), ("x.octet", "x.pb"), ".onnx"),
                                       (("bench", self.engine, "--export-runs"), ("x.csv", "x.npz"), ".json")):
            for name in names:
                self.refused(*command, name, says=f"'x{better}'" if name[0] == "x" else better)

    def test_taken(self):
        for name in ("x", "x.npz", "X.NPZ", "archive.of.npz"):
            octet("run", self.engine, self.image, "-o", self.folder / name)
        for name in ("y", "y.engine", "y.plan", "y.v2", "y.int8"):
            octet("build", self.model, "-o", self.folder / name, "--quiet")


class Help(unittest.TestCase):
    def test_every_command_that_writes_knows_force(self):
        for command in ("check", "build", "inspect", "run", "eval", "compare", "bench", "export"):
            text = octet(command, "--help").out
            self.assertEqual("--force" in text, command in ("build", "run", "bench", "export", "eval", "compare"), command)


if __name__ == "__main__":
    harness.main()

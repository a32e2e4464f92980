# SPDX-License-Identifier: Apache-2.0
"""What a stranger meets: the commands of README and docs, run as they stand, keys of JSON, links that lead somewhere, and indexes that have every page."""

import os
import re
import shutil
import subprocess
import unittest

import harness
from harness import BUILD, DIGITS, PROGRAM, ROOT, SHARED, digits, digits_engine, need, octet, scratch, shared_model

COMMAND = re.compile(r"^    (octet \w+ .*|octet \w+)$", re.M)
EMULATOR = BUILD / "tests/gpu/emulator"
# Measuring for as long as a reader would takes time and shows nothing here.
SHORT = (("octet bench", "--seconds 5", ""), ("octet bench", "--batch 256", "--batch 2"), ("octet bench", "", " --seconds 0.02"), ("octet trtexec", "", " --duration=0 --warmUp=0 --iterations=2"))

# What does not end with 0: it is shown for its error.
ENDS = {"octet check cifar10_vit.onnx --precision '*:int8' --constraints obey": 2}


def pages():
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        if page.name.startswith("tutorial-"):
            continue  # tutorials_test.py runs these from top to bottom
        commands = COMMAND.findall(page.read_text())
        if commands:
            yield page, commands


def shortened(command):
    line = command.split(" #")[0].rstrip()
    for start, old, new in SHORT:
        if line.startswith(start):
            line = line.replace(old, new) if old else line + new
    return line


def named_model():
    """The digits' network with a Softmax behind it and names as the pages have them."""
    onnx = need("onnx")
    model = onnx.load(DIGITS / "digits.onnx")
    model.graph.node[-1].name = "/head/Gemm"
    model.graph.node.append(onnx.helper.make_node("Softmax", ["logits"], ["scores"], name="soft"))
    model.graph.output.append(onnx.helper.make_tensor_value_info("scores", onnx.TensorProto.FLOAT, ["n", 10]))
    return model.SerializeToString()


class Files:
    """A folder with what the pages' commands name."""

    def __init__(self, name, lines):
        self.folder = scratch() / name
        self.folder.mkdir()
        for word in sorted({word.split("=")[-1] for line in lines for word in line.split()}):
            self.make(word)
        if "data.npz" in os.listdir(self.folder):
            self.make_arrays()

    def make(self, word):
        path = self.folder / word
        if word in ("photos/", "test/"):
            shutil.copytree(digits() / ("calib" if word == "photos/" else "test"), path)
        elif word in ("model.onnx", "yolo.onnx"):
            path.write_bytes(named_model())
        elif word.endswith(".onnx") and (SHARED / "models" / f"{word}.xz").exists():
            path.write_bytes(shared_model(word.removesuffix(".onnx")).read_bytes())
        elif word in ("resnet20.onnx", "resnet50.onnx"):
            path.write_bytes((DIGITS / "digits.onnx").read_bytes())
        elif word in ("resnet50.octet", "MODEL.octet", "model.octet"):
            path.write_bytes(digits_engine().read_bytes())
        elif word.endswith((".jpg", ".png")):
            path.write_bytes((digits() / "calib/0000.png").read_bytes())
        elif word in ("cifar.json", "preprocess.json"):
            path.write_bytes((DIGITS / "preprocess.json").read_bytes())
        elif word == "calibration.cache":
            octet("build", DIGITS / "digits.onnx", "--int8", "--calib", digits() / "calib", "--calib-cache", path, "--cache-header",
                  "TRT-8601-EntropyCalibration2", "-o", scratch() / "cached.octet", "--quiet")
            path.with_name(f"{word}.json").unlink()
        elif word == "mine.txt":
            path.write_text("image: 0 1\n")
        elif word == "data.npz":
            path.write_bytes(b"")

    def make_arrays(self):
        numpy = need("numpy")
        numpy.savez(self.folder / "data.npz", numpy.random.default_rng(0).random((32, 3, 32, 32), dtype=numpy.float32))


class Commands(unittest.TestCase):
    def environment(self, command):
        env = {**os.environ, "PATH": os.pathsep.join([str(PROGRAM.parent), os.environ["PATH"]])}
        if "cuda" in command:
            env |= {"OCTET_CUDA_DRIVER": str(EMULATOR / "libcuda_emulated.so"), "OCTET_NVRTC": str(EMULATOR / "libnvrtc_emulated.so"),
                    "OCTET_KERNEL_CACHE": str(scratch() / "kernels")}
        return env

    def test_they_run(self):
        run = 0
        for page, commands in pages():
            files = Files(page.stem, commands)
            for command in map(shortened, commands):
                if "cuda" in command and not (EMULATOR / "libcuda_emulated.so").exists():
                    continue
                if "cifar10" in command and not SHARED.exists():
                    continue
                done = subprocess.run(["bash", "-c", command], cwd=files.folder, capture_output=True, text=True, check=False,
                                      env=self.environment(command))
                self.assertEqual(done.returncode, ENDS.get(command, 0), f"{page.name}: {command}\n{done.stdout}{done.stderr}")
                run += 1
        self.assertGreaterEqual(run, 20)


class Json(unittest.TestCase):
    def keys(self, value):
        """The names of fields; keys that are names of files, tensors and versions are none."""
        if isinstance(value, dict):
            for key, inner in value.items():
                if re.fullmatch(r"[a-z][a-z0-9_]*", key):
                    yield key
                yield from self.keys(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from self.keys(inner)

    def test_every_key_is_on_the_page_of_the_command_line(self):
        folder = scratch() / "json"
        folder.mkdir()
        engine, model, data = digits_engine(), DIGITS / "digits.onnx", digits() / "calib"
        image = data / "0000.png"
        words = set(re.findall(r"[a-z][a-z0-9_]*", (ROOT / "docs/cli.md").read_text()))
        for command in (("check", model), ("check", "--list-ops"), ("build", model, "--int8", "--calib", data, "-o", "a.octet", "--min-coverage", "1%"), ("inspect", engine),
                        ("inspect", engine, "--provenance"), ("export", engine, "--onnx", "a.onnx"), ("check", folder / "a.onnx"), ("run", engine, image),
                        ("eval", engine, "--data", data, "--against", model, "--atol", "9", "--rtol", "9", "--top-k", "3", "--validate"),
                        ("compare", engine, "--against", model, "--calib", data, "--layers"), ("report", model, "--calib", data, "--seconds", "0.01"),
                        ("sensitivity", model, "--calib", data, "--samples", "2"),
                        ("bundle", engine, "-o", "a.zip", "--model", model, "--inputs", image), ("bench", engine, "--seconds", "0.01"),
                        ("bench", engine, "--seconds", "0.01", "--layers"), ("bench", engine, "--seconds", "0.01", "--streams", "2"), ("devices",), ("selftest", "--seconds", "0")):
            printed = octet(*command, "--json", cwd=folder).json
            self.assertEqual(sorted(set(self.keys(printed)) - words), [], command)


class Links(unittest.TestCase):
    def anchors(self, page):
        titles = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
        return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}

    def test_they_lead_somewhere(self):
        names = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
        if not names:
            self.skipTest("this is no checkout")
        wrong, seen = [], 0
        for page in (ROOT / name for name in names):
            for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
                if re.match(r"\w+:", link):
                    continue
                seen += 1
                path, _, anchor = link.partition("#")
                target = page.parent / path if path else page
                if not target.exists() or (anchor and target.suffix == ".md" and anchor not in self.anchors(target)):
                    wrong.append((page.name, link))
        self.assertEqual(wrong, [])
        self.assertGreater(seen, 100)

    def test_the_changes_are_those_of_this_version(self):
        version = re.search(r"^project\(Octet VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)
        changes = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
        self.assertEqual(changes[0], version)
        self.assertTrue(all(re.fullmatch(r"\d+\.\d+\.\d+", change) for change in changes), changes)

    def linked(self, page):
        """The files that a page links to."""
        paths = re.findall(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)", page.read_text())
        return {(page.parent / path).resolve() for path in paths if not re.match(r"\w+:", path)}

    def test_the_indexes_have_every_page(self):
        for folder in (ROOT / "docs", ROOT / "docs/adr"):
            index = folder / "README.md"
            missing = {page.resolve() for page in folder.glob("*.md")} - self.linked(index) - {index.resolve()}
            self.assertEqual(sorted(page.name for page in missing), [], f"not linked from {index}")
        self.assertIn((ROOT / "docs/adr/README.md").resolve(), self.linked(ROOT / "docs/README.md"))
        self.assertIn((ROOT / "docs/README.md").resolve(), self.linked(ROOT / "README.md"))


if __name__ == "__main__":
    harness.main()

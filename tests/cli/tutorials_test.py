# SPDX-License-Identifier: Apache-2.0
"""The tutorials of docs/, each from top to bottom in a folder of its own: commands end as they should, the program says what the page shows of
its output (numbers aside: they are the machine's), and what the page claims of the results is so."""

import os
import re
import struct
import subprocess
import sys
import unittest

import harness
import tutorial_files
from harness import BUILD, PROGRAM, ROOT, need, octet, scratch

ENDS = re.compile(r"\s+# ends with (\d)$")
FILE = re.compile(r"^Save this as `([\w.]+)`")
# What a page shows has numbers and instruction sets of one machine; so has what the program says here.
NUMBER, LEVEL = re.compile(r"[-+]?\d[\d.]*(?:e[-+]\d+)?"), re.compile(r"\b(?:none|avx2|avx_vnni|vnni|amx)\b")


class Page:
    """What a page has the reader do, in order: ("file", name, text), ("command", line, exit code) and ("shown", lines)."""

    def __init__(self, name):
        self.steps = []
        lines = iter((ROOT / f"docs/tutorial-{name}.md").read_text().splitlines())
        file = None
        for line in lines:
            file = found[1] if (found := FILE.match(line)) else file
            if line.startswith("```"):
                block = list(iter(lambda: next(lines), "```"))
                self.block(line.removeprefix("```"), block, file)
            elif re.match(r"    (octet|python3) ", line):
                while line.endswith("\\"):
                    line = line[:-1] + next(lines).strip()
                ends = ENDS.search(line)
                self.steps.append(("command", ENDS.sub("", line).strip(), int(ends[1]) if ends else 0))

    def block(self, kind, lines, file):
        if kind == "text":
            self.steps.append(("shown", lines))
        elif kind in ("python", "json"):
            self.steps.append(("file", file, "\n".join(lines) + "\n"))


def pattern(shown):
    """Of a line of a page; `...` in it stands for anything."""
    parts = [re.escape(plain(part)) for part in shown.split("...")]
    return re.compile(".*".join(parts))


def plain(line):
    return " ".join(LEVEL.sub("LEVEL", NUMBER.sub("N", line)).split())


def as_float(real):
    return struct.unpack("f", struct.pack("f", real))[0]


class Tutorial(unittest.TestCase):
    def follow(self, name):
        """Runs the page; what each command printed, by its line."""
        folder = tutorial_files.make(name, scratch() / name)
        page, said = Page(name), {}
        last = None
        for kind, what, *more in page.steps:
            if kind == "file":
                (folder / what).write_text(more[0])
            elif kind == "command":
                self.assertNotIn(what, said, f"{name}: the same command twice")
                last = said[what] = self.run_line(what, more[0], folder)
            else:
                self.compare(what, last, name)
        self.assertGreater(len(said), 5)
        return folder, said

    def run_line(self, line, code, folder):
        paths = [PROGRAM.parent, os.path.dirname(sys.executable), os.environ["PATH"]]
        env = {**os.environ, "PATH": os.pathsep.join(map(str, paths)), "PYTHONPATH": str(BUILD / "python"), "OCTET_PYTHON": sys.executable}
        done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False, env=env)
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, code, f"{line}\n{said}")
        return said

    def compare(self, shown, said, name):
        lines = [plain(line) for line in said.splitlines()]
        for line in shown:
            if line.strip() not in ("", "..."):
                self.assertTrue(any(pattern(line).fullmatch(other) for other in lines), f"{name} shows\n{line}\nand the program says\n{said}")

    def number(self, expression, said):
        found = re.search(expression, said)
        self.assertIsNotNone(found, f"{expression} in\n{said}")
        return tuple(float(group) for group in found.groups())

    def one(self, said, *words):
        """What the one command with all of these words printed."""
        found = [text for line, text in said.items() if all(word in line for word in words)]
        self.assertEqual(len(found), 1, f"{words} of {list(said)}")
        return found[0]

    def test_classifier(self):
        _, said = self.follow("classifier")
        (agreement,) = self.number(r"agreement +([\d.]+) %", self.one(said, "eval digits.octet", "--min-top1"))
        self.assertGreaterEqual(agreement, 99)
        (wrong,) = self.number(r"reference +([\d.]+) %", self.one(said, "--scale 1"))
        self.assertLess(wrong, 50)
        self.assertRegex(self.one(said, "run digits.octet"), r"f32\[1,10\]\n +7 ")


    def test_detector(self):
        _, said = self.follow("detector")
        for engine in ("int8", "mse"):
            ours, theirs, both = self.number(r"(\d+) boxes, (\d+) in the second file, (\d+) of", self.one(said, f"boxes.py {engine}.npz"))
            self.assertGreaterEqual(both / theirs, 0.8, engine)
            self.assertGreaterEqual(both / ours, 0.8, engine)
        for line in self.one(said, "boxes.py photo.npz").splitlines():
            self.assertRegex(line, "^class 77,")

    def test_tensorrt(self):
        folder, said = self.follow("tensorrt")
        (guessed,) = self.number(r"reference +([\d.]+) %", self.one(said, "eval resnet20.plan"))
        self.assertLess(guessed, 60)
        self.rows_are_taken(folder)
        self.scales_are_those_of_the_cache(folder)

    def rows_are_taken(self, folder):
        rows = re.findall(r"^\| .* \| `(\{.*\})` \|$", (ROOT / "docs/tutorial-tensorrt.md").read_text(), re.M)
        self.assertGreaterEqual(len(rows), 10)
        for row in rows:
            (folder / "row.json").write_text(row)
            octet("run", "resnet20.onnx", "test/cat", "--preprocess", "row.json", "--quiet", cwd=folder)

    def scales_are_those_of_the_cache(self, folder):
        cache = dict(line.split(": ") for line in (folder / "calibration.cache").read_text().splitlines()[1:])
        seen = 0
        for layer in octet("inspect", "resnet20.octet", "--json", cwd=folder).json["layers"]:
            for tensor in layer["outputs"]:
                name = tensor["name"].removesuffix(".codes")
                if "scale" in tensor and name in cache:
                    self.assertEqual(as_float(tensor["scale"]), struct.unpack(">f", bytes.fromhex(cache[name]))[0], name)
                    seen += 1
        self.assertGreater(seen, 20)

    def test_decoder(self):
        if not list((BUILD / "python/octet").glob("_octet.*.so")):
            self.skipTest(f"{BUILD}/python has no module: nanobind or Python's headers are absent; ./dev setup installs them")
        need("onnxruntime")
        folder, said = self.follow("decoder")
        for model in ("decoder", "growing"):
            self.assertIn("24 of 24 before", said[f"python3 generate.py {model}.onnx"])
            tokens = re.findall(r"^(?:octet|onnxruntime) +([\d ]+)$", said[f"python3 generate.py {model}.onnx"], re.M)
            self.assertEqual(len(tokens), 2)
            self.assertEqual(tokens[0], tokens[1])
        (plainly,), (mixed,) = (self.number(r"logits: SQNR ([\d.]+) dB", self.one(said, f"eval {engine}.octet")) for engine in ("decoder", "mixed"))
        self.assertGreater(mixed, plainly)
        refused = octet("run", "growing.onnx", "test/00.npz", "--state", "present.0.key:past_key_values.0.key", code=2, cwd=folder)
        self.assertIn("its size is not fixed", refused.err)


if __name__ == "__main__":
    harness.main()

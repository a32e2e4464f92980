# SPDX-License-Identifier: Apache-2.0
"""docs/tutorial-ultralytics.md from top to bottom: Ultralytics, unmodified, trains, exports to INT8, measures and predicts, without a GPU or on it.
OCTET_ULTRALYTICS names a Python that has it, with PyTorch and torchvision, which are too large to be fetched here; OCTET_ULTRALYTICS_MODEL a trained
best.pt of that page, which is then not trained again."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

import harness
from harness import BUILD, ROOT, has_gpu, need, scratch

PAGE = ROOT / "docs/tutorial-ultralytics.md"


def commands():
    lines = re.findall(r"^    ((?:python3|yolo) (?:.*\\\n)*.*)$", PAGE.read_text(), re.M)
    lines = [re.sub(r"\\\n\s*", "", line) for line in lines]
    if has_gpu():  # as the page says
        lines = [line.replace("python3 -m tensorrt --torch-cuda ", "").replace("device=cpu", "device=0") for line in lines]
    return lines


class Ultralytics(unittest.TestCase):
    def test_tutorial(self):
        python = os.environ.get("OCTET_ULTRALYTICS")
        if not python:
            raise unittest.SkipTest("OCTET_ULTRALYTICS names no Python with Ultralytics")
        need("numpy")
        if not list((BUILD / "python/tensorrt").glob("_level10*.so")):
            raise unittest.SkipTest(f"{BUILD}/python has no module: nanobind or Python's headers are absent; ./dev setup installs them")
        (scratch() / "examples").symlink_to(ROOT / "examples")
        paths = os.pathsep.join([str(pathlib.Path(python).parent), os.environ["PATH"]])
        env = {**os.environ, "PATH": paths, "PYTHONPATH": str(BUILD / "python"), "YOLO_OFFLINE": "1", "YOLO_CONFIG_DIR": str(scratch())}
        said, trained = [], os.environ.get("OCTET_ULTRALYTICS_MODEL")
        for line in commands():
            if trained and "detect train" in line:
                (scratch() / "run/weights").mkdir(parents=True)
                shutil.copy(trained, scratch() / "run/weights/best.pt")
                line = "true"
            done = subprocess.run(["bash", "-c", line], cwd=scratch(), env=env, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}{done.stderr}")
            said.append(done.stdout + done.stderr)
        _, _, floats, exported, integers, predicted = said
        self.assertIn("head layers out of INT8", exported)
        (float50, float95), (int50, int95) = (self.maps(text) for text in (floats, integers))
        print(f"FP32 {float50} {float95}, INT8 {int50} {int95}")
        print(*(re.findall(r"^Speed: .*", text, re.M)[-1] for text in (floats, integers)), sep="\n")
        self.assertGreaterEqual(float50, 0.8)
        self.assertGreaterEqual(int50, float50 - 0.01)
        self.assertGreaterEqual(int95, float95 - 0.01)
        self.assertIn("1 label saved", predicted)
        self.assertGreaterEqual(len((scratch() / "found/labels/0.txt").read_text().splitlines()), 3)

    def maps(self, said):
        """mAP50 and mAP50-95 of all classes, which the last line of them has."""
        return tuple(float(value) for value in re.findall(r"^ +all +\d+ +\d+ +\S+ +\S+ +(\S+) +(\S+)", said, re.M)[-1])


if __name__ == "__main__":
    harness.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of costs (src/backends/cuda/arch/costs.csv): what is no row or has an unknown word does not build, and tools/fit_costs.py finds what made
measurements."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from harness import ROOT, main

ARCH = ROOT / "src/backends/cuda/arch"
FIT = ROOT / "tools/fit_costs.py"
START, SHARE, RATE = 3000, 0.68, 1110  # of sm_80 in costs.csv, with which reports' estimates are made


def moving(moved, start, share, kernel="softmax"):
    return {"name": "l", "signature": "Softmax(f32[1]) -> f32[1]", "macs": 0,
            "kernels": [{"kernel": kernel, "microseconds": (start + moved / share) / 1000, "cost": START + moved / SHARE}]}


def matmul(m, n, k, start, share, rate):
    moved = (m * k + k * n + m * n) / 2000
    products = -(-m // 128) * 128 * -(-n // 64) * 64 * k / 100
    return {"name": "m", "signature": f"QMatMul(u8[{m},{k}], u8[{k},{n}]) -> u8[{m},{n}]", "macs": m * n * k,
            "kernels": [{"kernel": "matmul_mma_128x64", "microseconds": (start + moved / share + products / rate) / 1000,
                         "cost": START + moved / SHARE + products / RATE},
                        {"kernel": "other", "microseconds": 1, "cost": 1}]}


class Costs(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.folder = pathlib.Path(work.name)

    def built(self, changed, value):
        """What the build says of costs.csv with a row that has other words."""
        text = (ARCH / "costs.csv").read_text()
        self.assertEqual(text.count(changed), 1)
        (self.folder / "costs.csv").write_text(text.replace(changed, value))
        rows = self.folder / "cuda_costs/costs.inc"
        made = subprocess.run(["cmake", f"-DINPUT={self.folder / 'costs.csv'}", f"-DOUTPUT={rows}", "-P", str(ROOT / "cmake/OctetCosts.cmake")],
                              capture_output=True, text=True, check=False)
        if made.returncode != 0:
            return " ".join(made.stderr.split())
        includes = [f"-I{folder}" for folder in (self.folder, ROOT / "src", ROOT / "include")]
        return subprocess.run(["g++", "-std=c++20", "-fsyntax-only", *includes, str(ARCH / "costs.cc")],
                              capture_output=True, text=True, check=False).stderr

    def test_words_that_nobody_knows_do_not_build(self):
        if not (shutil.which("cmake") and shutil.which("g++")):
            self.skipTest("cmake or g++ is absent")
        row = "sm_90,attention,load,2500,cycles"
        line = (ARCH / "costs.csv").read_text().split(row)[0].count("\n") + 1
        wrong = (("sm_91,attention,load,2500,cycles", "sm_91"), ("sm_90,attention,lode,2500,cycles", "attention_lode"),
                 ("sm_90,attention,load,2500,years", "years"), ("sm_90,attention,load,2500,factor", "the term has another unit"))
        said = self.built(row, ",NVIDIA H200,2026-11-23,\n".join(text for text, _ in wrong))
        for i, (text, word) in enumerate(wrong):
            self.assertRegex(said, rf"costs.csv:{line + i}:[^\n]*(error|in expansion)", text)
            self.assertIn(word, said)
        self.assertIn("a term has two values", self.built(row, "sm_90,attention,key,2500,cycles"))
        self.assertIn(f"costs.csv:{line}: expected architecture,family", self.built(row, "sm_90,attention,load,much,cycles"))
        # A term that an architecture needs, and nobody has measured.
        self.assertIn("a term has no value", self.built("sm_90,attention,load,2500,cycles,NVIDIA H200,2026-11-23,\n", ""))

    def fit(self, report, code=0):
        (self.folder / "report.json").write_text(report if isinstance(report, str) else json.dumps(report))
        done = subprocess.run([sys.executable, str(FIT), str(self.folder / "report.json"), "--architecture", "sm_80", "--chip", "NVIDIA A100",
                               "--date", "2027-01-02", "--clock-mhz", "1000", "--multiprocessors", "100"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr.count("error: "), code)
        return done.stdout if code == 0 else done.stderr

    def test_finds_what_made_the_measurements(self):
        layers = [moving(moved, 2500, 0.8) for moved in (100, 5000, 40000, 300000)]
        self.assertEqual(self.fit({"layers": layers}).splitlines(),
                         ["sm_80,kernel,start,2500,cycles,NVIDIA A100,2027-01-02,0.000",
                          "sm_80,kernel,memory_share,0.8,factor,NVIDIA A100,2027-01-02,0.000"])
        layers += [matmul(m, n, 1024, 2500, 0.8, 1700) for m, n in ((100, 1000), (4096, 512))]
        self.assertEqual(self.fit({"layers": layers}).splitlines()[2], "sm_80,rate,mma_s8,1700,products_per_cycle,NVIDIA A100,2027-01-02,0.000")

    def test_says_how_far_off_it_is(self):
        layers = [moving(moved, start, 0.8) for moved, start in ((100, 2400), (200, 2600), (90000, 2400), (80000, 2600), (50000, 2500))]
        row = self.fit({"layers": layers}).splitlines()[0].split(",")
        self.assertLess(abs(float(row[3]) - 2500), 100)
        self.assertGreater(float(row[-1]), 0)

    def test_rows_are_what_the_build_reads(self):
        rows = self.fit({"layers": [moving(moved, 2500, 0.8) for moved in (100, 5000, 40000, 300000)]})
        end = "sm_90,recurrent,cache_rate,40,bytes_per_cycle,,2026-11-24,\n"
        self.assertEqual(self.built(end, end + rows), "")

    def test_what_cannot_be_fitted(self):
        self.assertIn("4 are needed", self.fit({"layers": [moving(100, 2500, 0.8)]}, code=1))
        self.assertIn("too much alike", self.fit({"layers": [moving(100, 2500, 0.8)] * 9}, code=1))
        self.assertIn("cannot be", self.fit({"layers": [moving(moved, 2500, 1.5) for moved in (100, 5000, 40000, 300000)]}, code=1))
        self.assertIn("lacks", self.fit({"layers": [{"kernels": [{"kernel": "softmax"}]}]}, code=1))
        for text in ("[]", "{", '{"layers": [1]}'):
            self.fit(text, code=1)


if __name__ == "__main__":
    main()

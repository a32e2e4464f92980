# SPDX-License-Identifier: Apache-2.0
"""octet report: every type of a model in one table and one page, which is clicked."""

import json
import unittest

import browser
import harness
from harness import DIGITS, digits, octet, scratch

FLAGS = ("--preprocess", DIGITS / "preprocess.json")


class Staged(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.page = scratch() / "staged.html"
        cls.result = octet("report", DIGITS / "digits.onnx", "--calib", digits() / "calib", "--data", digits() / "test", *FLAGS,
                           "--seconds", "0.1", "--report", cls.page, "--json").json
        cls.rows = {row["type"]: row for row in cls.result["stages"]}

    def test_every_type_has_its_row(self):
        self.assertEqual(list(self.rows), ["FP32", "FP16", "BF16", "INT8"])
        for name, row in self.rows.items():
            self.assertGreater(row["samples"], 0)
            self.assertGreater(row["latency_ms"], 0)
            self.assertGreater(row["top1"], 0.8)
            self.assertEqual(row["coverage"]["macs"] > 0, name == "INT8")
        self.assertEqual(self.rows["FP32"]["agreement"], 1)
        self.assertIsNone(self.rows["FP32"]["sqnr_db"])
        self.assertGreater(self.rows["FP16"]["sqnr_db"], self.rows["BF16"]["sqnr_db"])
        self.assertGreater(self.rows["BF16"]["sqnr_db"], self.rows["INT8"]["sqnr_db"])
        self.assertLess(self.rows["FP16"]["bytes"], self.rows["FP32"]["bytes"])

    def test_the_page_names_the_command_that_finds_lossy_layers(self):
        self.assertIn("octet sensitivity measures it", self.page.read_text())

    def test_rows_are_what_the_single_commands_say(self):
        engine = scratch() / "same.octet"
        octet("build", DIGITS / "digits.onnx", "--int8", "--calib", digits() / "calib", *FLAGS, "-o", engine, "--quiet")
        alone = octet("eval", engine, "--data", digits() / "test", "--against", DIGITS / "digits.onnx", "--json").json
        for key in ("samples", "top1", "agreement", "sqnr_db"):
            self.assertEqual(alone[key], self.rows["INT8"][key], key)
        self.assertEqual(engine.stat().st_size, self.rows["INT8"]["bytes"])

    def test_a_cache_is_made_and_read(self):
        cache, flags = scratch() / "report.cache", ("--calib", digits() / "calib", *FLAGS, "--seconds", "0.01", "--json")
        made = octet("report", DIGITS / "digits.onnx", *flags, "--calib-cache", cache).json["stages"][3]
        self.assertTrue(cache.read_text().startswith("TRT-"))
        read = octet("report", DIGITS / "digits.onnx", *flags, "--calib-cache", cache).json["stages"][3]
        self.assertEqual(made["sqnr_db"], read["sqnr_db"])

    def test_doubts_are_told(self):
        said = octet("report", DIGITS / "digits.onnx", "--data", digits() / "test", *FLAGS, "--label-offset", "1", "--seconds", "0.01").err
        self.assertIn("--label-offset", said)

    def test_words_for_people(self):
        text = octet("report", DIGITS / "digits.onnx", "--data", digits() / "test", *FLAGS, "--seconds", "0.05").out
        self.assertRegex(text, r"FP16 +9\d\.\d % +\d+\.\d % +\d+\.\d+ dB")
        self.assertIn("INT8 is missing: INT8 needs calibration data", text)

    def test_the_page_is_clicked(self):
        with browser.opened(self.page) as page:
            self.assertEqual(page.value("document.querySelectorAll('#stages tbody tr').length"), 4)
            boxes = page.value("document.querySelectorAll('.box').length")
            self.assertEqual(boxes, page.value("document.querySelectorAll('#layers tbody tr').length"))
            self.assertGreater(page.value("document.querySelectorAll('.box.int8').length"), 3)
            chosen = page.value("[...document.querySelectorAll('.box.int8')].findIndex(b => !b.classList.contains('move'))")
            index = page.value(f"document.querySelectorAll('.box.int8')[{chosen}].dataset.i")
            page.click(f'.box[data-i="{index}"] rect')
            self.assertTrue(page.value(f"document.querySelector('.box[data-i=\"{index}\"]').classList.contains('chosen')"))
            detail = page.value("document.querySelector('#detail').textContent")
            row = page.value(f"document.querySelectorAll('#layers tbody tr')[{index}].cells[8].textContent")
            self.assertIn(row, detail)
            self.assertIn(" us", detail)
            self.assertGreater(page.value("document.querySelectorAll('#detail svg').length"), 0)

    def test_tables_sort_and_filter(self):
        with browser.opened(self.page) as page:
            times = "[...document.querySelectorAll('#layers tbody tr')].map(r => parseFloat(r.cells[5].dataset.v)).filter(x => !isNaN(x))"
            page.click("#layers th:nth-child(6) button")
            rising = page.value(times)
            self.assertEqual(rising, sorted(rising))
            page.click("#layers th:nth-child(6) button")
            self.assertEqual(page.value(times), sorted(rising, reverse=True))
            page.click("#filter")
            page.call("Input.insertText", text="QConv")
            shown = page.value("[...document.querySelectorAll('#layers tbody tr')].filter(r => !r.hidden).map(r => r.textContent)")
            self.assertTrue(shown and all("QConv" in text for text in shown))
            self.assertLess(len(shown), len(rising))
            # A box still tells about its own layer.
            page.click(".box.int8:not(.move) rect")
            name = page.value("document.querySelector('.box.chosen title').textContent")
            self.assertTrue(page.value("document.querySelector('#detail dd').textContent") == name, json.dumps(name))


if __name__ == "__main__":
    harness.main()

# SPDX-License-Identifier: Apache-2.0
"""The report page: self-contained, escaped, and alive in a browser."""

import html.parser
import re
import shutil
import subprocess
import unittest

import harness
from harness import DIGITS, digits, octet, scratch

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&"


def build_report(model, name):
    report = scratch() / f"{name}.html"
    octet("build", model, "--int8", "--calib", digits() / "calib", "--preprocess", DIGITS / "preprocess.json", "--quiet",
          "-o", scratch() / f"{name}.octet", "--report", report)
    return report


def hostile_model():
    onnx = harness.need("onnx")
    model = onnx.load(DIGITS / "digits.onnx")
    for i, node in enumerate(model.graph.node):
        node.name = f"{HOSTILE}{i}"
        for names in (node.input, node.output):
            for j, name in enumerate(names):
                if name.startswith("/"):
                    names[j] = HOSTILE + name
    path = scratch() / "hostile.onnx"
    onnx.save(model, path)
    return path


def in_browser(page):
    """The page's DOM after its script ran."""
    browser = shutil.which("chromium")
    if browser is None:
        raise unittest.SkipTest("chromium is absent; ./dev setup installs it")
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         f"--user-data-dir={scratch() / 'browser'}", "--virtual-time-budget=5000", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, check=False)
    if not done.stdout.strip():
        raise AssertionError(f"chromium gave no page\n{done.stderr}")
    return done.stdout


class Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.seen = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


class Page(unittest.TestCase):
    def test_loads_nothing(self):
        text = build_report(DIGITS / "digits.onnx", "plain").read_text()
        for _, attributes in Tags(text).seen:
            self.assertFalse({"src", "href", "srcset", "action"} & attributes.keys())
        self.assertIsNone(re.search(r"url\(|@import|https?://", text))

    def test_holds_layers_errors_and_histograms(self):
        text = build_report(DIGITS / "digits.onnx", "plain").read_text()
        self.assertIn("/3/c2/Conv, /3/Add, /3/Relu_1", text)
        self.assertGreaterEqual(text.count("<svg"), 10)
        self.assertEqual(text.count("<svg"), text.count('class="cut"') + 1)  # and the graph
        self.assertIn("Error per layer", text)

    def test_lives_in_a_browser(self):
        dom = in_browser(build_report(DIGITS / "digits.onnx", "plain"))
        self.assertIn('data-ready="yes"', dom)
        self.assertEqual(dom.count("<svg"), dom.count("</svg>"))

    def test_hostile_names_stay_text(self):
        report = build_report(hostile_model(), "hostile")
        text = report.read_text()
        tags = [tag for tag, _ in Tags(text).seen]
        self.assertNotIn("img", tags)
        self.assertEqual(tags.count("script"), 1)
        self.assertIn("&lt;/script&gt;&lt;img", text)
        dom = in_browser(report)
        self.assertNotIn("<img", dom)
        self.assertIn('data-ready="yes"', dom)


if __name__ == "__main__":
    harness.main()

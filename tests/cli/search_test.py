# SPDX-License-Identifier: Apache-2.0
"""octet build's search: it keeps what was asked on samples that it was not chosen by, ends at the same engine from its journal, can be stopped,
and every metric program that misbehaves is one error."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
import unittest

import harness
from harness import DIGITS, digits, octet, scratch

MODEL = DIGITS / "digits.onnx"
FLAGS = (MODEL, "--int8", "--calib", digits() / "calib", "--preprocess", DIGITS / "preprocess.json")


def found(*flags, name="found.octet", code=0):
    return octet("build", *FLAGS, *flags, "-o", scratch() / name, "--force", "--json", code=code).json


def program(text):
    file = scratch() / "metric.py"
    file.write_text(text)
    return f"command:{sys.executable} {file}"


class Search(unittest.TestCase):
    def test_fastest_that_keeps_a_metric(self):
        plain = found("--metric", "sqnr", "--min-metric", "0", "--effort", "1")["search"]
        self.assertEqual((plain["real_layers"], plain["met"], plain["verified"]), ([], True, True))
        least = max(trial["value"] for trial in plain["trials"] if trial["int8"]) + 1
        result = found("--metric", "sqnr", "--min-metric", str(least), "--effort", "3")
        search = result["search"]
        chosen = search["trials"][search["chosen"]]
        self.assertTrue(search["met"] and search["verified"])
        self.assertGreaterEqual(chosen["value"], least)
        self.assertGreaterEqual(chosen["verified"], least)
        self.assertLessEqual(search["passes"], 60)
        # Whatever is not INT8 says what it would cost, and with it the goal is missed.
        self.assertGreater(len(search["real_layers"]), 0)
        if chosen["int8"]:
            for layer in search["real_layers"]:
                self.assertIsNotNone(layer["cost"], layer)
        self.assertEqual({t["name"] for t in result["thresholds"]}, {"min_metric"})
        for other in search["trials"]:
            if other["on_front"] and other is not chosen:
                self.assertFalse(other["us"] < chosen["us"] and other["value"] > chosen["value"])

    def test_one_set_is_split(self):
        search = found("--max-drop", "100", "--metric", "agreement")["search"]
        samples = len(list((digits() / "calib").rglob("*.png")))
        self.assertEqual(search["searched_samples"] + search["verified_samples"], samples // 3)
        self.assertIn("one set", search["samples"])
        self.assertIn("held out:", found("--max-drop", "100", "--metric", "agreement", "--data", digits() / "test", "--search-samples", "20")
                      ["search"]["samples"])

    def test_samples_of_one_set_told_twice(self):
        search = found("--max-drop", "100", "--metric", "agreement", "--data", digits() / "calib", "--search-samples", "10", "--effort", "1")["search"]
        self.assertEqual((search["searched_samples"], search["verified_samples"]), (5, 5))
        self.assertIn("10 of the others are held out", search["samples"])

    def test_a_name_that_a_shell_would_read(self):
        onnx = harness.need("onnx")
        model, evil = onnx.load(MODEL), "a'; touch pwned; '"
        for i, node in enumerate(model.graph.node):
            node.name = f"{evil}{i}"
        named = scratch() / "named.onnx"
        onnx.save(model, named)
        search = octet("build", named, *FLAGS[1:], "--metric", "sqnr", "--min-metric", "0", "--effort", "1", "--keep-float", f"{evil}0",
                       "-o", scratch() / "named.octet", "--json").json["search"]
        self.assertTrue(search["trials"][search["chosen"]]["int8"])
        words = shlex.split(search["flags"])
        self.assertEqual(words[words.index("--keep-float") + 1], f"{evil}0")

    def test_journal_gives_the_same_engine(self):
        journal, data = scratch() / "a.journal", ("--data", digits() / "test", "--search-samples", "40")
        flags = ("--metric", "sqnr", "--min-metric", "38", *data, "--journal", journal)
        first = found(*flags)
        bytes_of_first, lines = (scratch() / "found.octet").read_bytes(), journal.read_text()
        again = found(*flags, "--threads", "2", name="again.octet")
        self.assertEqual((scratch() / "again.octet").read_bytes(), bytes_of_first)
        self.assertEqual(journal.read_text(), lines)  # nothing was measured again
        self.assertEqual(first["search"], again["search"])
        # On a machine without its vector instructions: what floats give differs there, what was measured does not.
        other = octet("build", *FLAGS, *flags, "-o", scratch() / "other.octet", "--force", "--json", env={**os.environ, "OCTET_CPU_ISA": "none"}).json
        self.assertEqual(journal.read_text(), lines)
        self.assertEqual(other["search"], first["search"])

    def test_the_flags_that_it_says_make_the_same_engine(self):
        data = ("--data", digits() / "test", "--search-samples", "40")
        search = found("--metric", "sqnr", "--min-metric", "38", *data)["search"]
        self.assertIn("--int8", search["flags"])
        octet("build", *FLAGS, *[word for word in shlex.split(search["flags"]) if word != "--int8"], "-o", scratch() / "said.octet", "--force")
        self.assertEqual((scratch() / "said.octet").read_bytes(), (scratch() / "found.octet").read_bytes())

    def test_within_a_time_and_a_size(self):
        search = found("--metric", "sqnr", "--max-latency", "1000", "--effort", "1")["search"]
        self.assertTrue(search["met"])
        accurate = max(trial["value"] for trial in search["trials"])
        self.assertEqual(search["trials"][search["chosen"]]["value"], accurate)
        plain = found("--metric", "sqnr", "--min-metric", "0")["bytes"]
        limit = plain * 1.2 / 1e6
        sized = found("--metric", "sqnr", "--max-size", str(limit))
        self.assertLessEqual(sized["bytes"], limit * 1e6)
        missed = found("--metric", "sqnr", "--max-latency", "0.00001", "--effort", "1", code=1)
        self.assertFalse(missed["passed"])
        self.assertIsNone(missed["engine"])

    def test_words(self):
        text = octet("build", *FLAGS, "--max-drop", "100", "--metric", "agreement", "-o", scratch() / "words.octet", "--force").out
        for words in ("search       fastest by agreement", "FRONT", "chosen", "the same by  --int8"):
            self.assertIn(words, text)

    def test_stopped_it_leaves_the_best_so_far_and_goes_on(self):
        asked, journal, engine = scratch() / "asked", scratch() / "stopped.journal", scratch() / "stopped.octet"
        metric = program("import pathlib, sys, time, numpy\n"
                         f"asked = pathlib.Path({str(asked)!r})\n"
                         "asked.write_text(asked.read_text() + 'x' if asked.exists() else 'x')\n"
                         "data = numpy.load(sys.argv[1])\n"
                         "time.sleep(0.2)\n"
                         "print(float(numpy.abs(data[data.files[0]]).mean()))\n")
        words = [str(word) for word in ("build", *FLAGS, "--metric", metric, "--max-latency", "1000", "--effort", "3", "--journal", journal,
                                        "-o", engine, "--json")]
        running = subprocess.Popen([harness.PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        # Two trials, then the rank of the layers: by the fourth there is a best one, and many are to come.
        while not (asked.exists() and len(asked.read_text()) > 3) and running.poll() is None:
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate()
        self.assertEqual(running.returncode, 1, out)
        stopped = json.loads(out)["search"]
        self.assertTrue(stopped["stopped"] and stopped["met"] and not stopped["verified"])
        octet("inspect", engine, "--json")
        lines = journal.read_text()
        again = octet(*words, "--force").json["search"]
        self.assertTrue(again["verified"] and not again["stopped"])
        self.assertEqual(again["trials"][: len(stopped["trials"]) - 1], [{**trial, **known} for trial, known in zip(
            stopped["trials"][:-1], ({key: other[key] for key in ("on_front", "verified", "run_us")} for other in again["trials"]))])
        self.assertTrue(journal.read_text().startswith(lines))

    def test_stopped_in_verification_it_leaves_the_best_that_may_keep_the_goal(self):
        first, marks, engine = scratch() / "first", scratch() / "marks", scratch() / "halves.octet"
        # On the half that is searched on all trials are as good as FP32. On the other the first of INT8 is not; the next one never ends.
        metric = program("import pathlib, sys, time, numpy\n"
                         f"first, marks = pathlib.Path({str(first)!r}), pathlib.Path({str(marks)!r})\n"
                         "names = ' '.join(numpy.load(sys.argv[1])['sample_names'])\n"
                         "if not first.exists(): first.write_text(names)\n"
                         "if first.read_text() != names:\n"
                         "    done = marks.read_text() if marks.exists() else ''\n"
                         "    marks.write_text(done + 'x')\n"
                         "    if len(done) == 1: print(0), sys.exit()\n"
                         "    if len(done) == 2: time.sleep(10000)\n"
                         "print(1)\n")
        words = [str(word) for word in ("build", *FLAGS, "--metric", metric, "--max-drop", "0.5", "--data", digits() / "test", "--search-samples",
                                        "6", "-o", engine, "--json")]
        folder = scratch() / "own"
        folder.mkdir()
        running = subprocess.Popen([harness.PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(folder)})
        while not (marks.exists() and len(marks.read_text()) == 3) and running.poll() is None:
            time.sleep(0.01)
        self.assertTrue(list(folder.glob("octet-metric-*")))
        running.send_signal(signal.SIGINT)
        out, said = running.communicate()
        self.assertEqual(running.returncode, 1, (out, said))
        search = json.loads(out)["search"]
        self.assertTrue(search["stopped"] and search["met"] and not search["verified"])
        self.assertIn(0, [trial["verified"] for trial in search["trials"]])
        self.assertIsNone(search["trials"][search["chosen"]]["verified"])
        self.assertIn(b"the engine is the best so far, which was not verified", said)
        octet("inspect", engine, "--json")
        self.assertEqual(list(folder.glob("octet-metric-*")), [])


class Programs(unittest.TestCase):
    FEW = ("--data", digits() / "test", "--search-samples", "6", "--effort", "1", "--max-drop", "1")

    def fails(self, text, *flags):
        said = octet("build", *FLAGS, *self.FEW, "--metric", program(text) if "\n" in text else text, *flags, "-o", scratch() / "no.octet", code=2).err
        self.assertFalse((scratch() / "no.octet").exists())
        self.assertEqual(said.count("error:"), 1, said)
        return said

    def test_gets_outputs_and_names(self):
        good = program("import sys, numpy\n"
                       "data = numpy.load(sys.argv[1])\n"
                       "names = data['sample_names']\n"
                       "output, = [data[name] for name in data.files if name != 'sample_names']\n"
                       "assert len(names) == len(output) == 3 and all(name.endswith('.png') for name in names), names\n"
                       "print(' ', output.shape[1] / 4, '\\n')\n")
        search = found(*self.FEW, "--metric", good)["search"]
        self.assertEqual({trial["value"] for trial in search["trials"]}, {2.5})

    def test_one_that_was_edited_is_measured_again(self):
        flags = (*self.FEW, "--journal", scratch() / "edited.journal")
        for value in (1, 2, 2):
            search = found(*flags, "--metric", program(f"print({value})\n"))["search"]
            self.assertEqual({trial["value"] for trial in search["trials"]}, {value})

    def test_what_goes_wrong_is_one_error_with_what_it_said(self):
        for text, says in (("print()\n", "prints nothing"), ("print('nan')\n", "not finite"), ("print('-inf')\n", "not finite"),
                           ("print('a lot')\n", "prints something else than one number"), ("print(1, 2)\n", "prints something else"),
                           ("import sys\nsys.exit('no idea')\n", "ends with 1"), ("import os\nos.abort()\n", "dies"),
                           ("import subprocess\nsubprocess.Popen(['sleep', '1000'])\nprint(1)\n", "ends while 1 of its processes run on"),
                           ("command:/no/such/program", "cannot be started"), ("command:", "names no program")):
            self.assertIn(says, self.fails(text), text)
        self.assertIn("said: no idea", self.fails("import sys\nsys.exit('no idea')\n"))
        self.assertIn("printed: a lot", self.fails("print('a lot')\n"))

    def test_hangs(self):
        self.assertIn("does not end within 1 s", self.fails("import time\nprint('so far', flush=True)\ntime.sleep(1000)\n", "--metric-timeout", "1"))

    def test_floods(self):
        self.assertIn("prints something else", self.fails("import sys\nsys.stdout.write('1' * 3000000 + 'x')\n"))


class Errors(unittest.TestCase):
    def fails(self, *flags):
        return octet("build", *FLAGS, *flags, "-o", scratch() / "no.octet", code=2).err

    def test_flags(self):
        self.assertIn("--metric is of the search", self.fails("--metric", "top1"))
        self.assertIn("--journal is of the search", self.fails("--journal", scratch() / "x.journal"))
        self.assertIn("--min-metric DB", self.fails("--max-drop", "1", "--metric", "sqnr"))
        self.assertIn("is a share", self.fails("--min-metric", "97", "--metric", "agreement"))
        self.assertIn("top1", self.fails("--max-drop", "1", "--metric", "top2"))
        self.assertIn("does not heed", self.fails("--max-drop", "100", "--metric", "agreement", "--constraints", "none"))
        self.assertIn("is not from 1 to 3", self.fails("--max-drop", "1", "--effort", "4"))
        self.assertIn("add --int8", octet("build", MODEL, "--max-drop", "1", "-o", scratch() / "no.octet", code=2).err)
        self.assertIn("add --data", self.fails("--max-drop", "1", "--metric", "agreement", "--search-samples", "4"))
        self.assertIn("two samples at least", self.fails("--max-drop", "1", "--metric", "agreement", "--data", digits() / "test", "--search-samples",
                                                         "1"))
        self.assertIn("scores of pixels", self.fails("--min-metric", "0.5", "--metric", "iou"))

    def test_samples(self):
        few = scratch() / "few"
        few.mkdir(exist_ok=True)
        for i, image in enumerate(sorted((digits() / "calib").rglob("*.png"))[:4]):
            (few / f"{i}.png").write_bytes(image.read_bytes())
        said = octet("build", MODEL, "--int8", "--calib", few, "--preprocess", DIGITS / "preprocess.json", "--max-drop", "1", "--metric",
                     "agreement", "-o", scratch() / "no.octet", code=2).err
        self.assertIn("too few to hold some out", said)
        self.assertIn("needs labels", self.fails("--max-drop", "1", "--data", few))


if __name__ == "__main__":
    harness.main()

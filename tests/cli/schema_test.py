# SPDX-License-Identifier: Apache-2.0
"""The words of --json (tests/cli/schema.json): `schema` is the first key of every object, each command says the keys that are written down there, times
name their unit, and flags that were renamed are still taken. A key that is new goes into the list; one that goes or is renamed is a new number of the schema."""

import json
import pathlib
import re
import sys
import unittest

import harness
from detector_test import detector, labels
from harness import DIGITS, ROOT, digits, digits_engine, emulated_gpu, need, octet, scratch
from plugins import EXAMPLES, plugin

LIST = pathlib.Path(__file__).with_name("schema.json")
MODEL = DIGITS / "digits.onnx"
PREPROCESS = DIGITS / "preprocess.json"
BUILD = (MODEL, "--int8", "--calib", digits() / "calib", "--preprocess", PREPROCESS)
ONE = ("--max-samples", "1")
RENAMED = {"microseconds": "time_us", "milliseconds": "time_ms", "throughput": "samples_per_second"}  # of schema 1: new names
SHORT = ("--seconds", "0", "--warmup", "0")


def boxes():
    """An engine of a detector, with images and labels."""
    model, image_module, data = detector(), need("PIL.Image"), scratch() / "boxes"
    data.mkdir(exist_ok=True)
    image_module.new("RGB", (64, 32), (90, 120, 30)).save(data / "a.png")
    engine, description = scratch() / "boxes.octet", scratch() / "boxes.json"
    description.write_text(json.dumps({"boxes": {"output": "boxes"}, "classes": {"output": "scores"}}))
    octet("build", model, "--preprocess", "yolo", "-o", engine, "--force")
    return engine, "--data", data, "--detector", description, "--boxes", labels(["a.png"])


def commands():
    engine, test = digits_engine(), digits() / "test"
    return {
        "devices": ("devices",),
        "selftest": ("selftest", "--seconds", "0", "--kernels", "0"),
        "check": ("check", MODEL),
        "check, of operators": ("check", "--list-ops"),
        "inspect": ("inspect", engine),
        "inspect, of provenance": ("inspect", engine, "--provenance"),
        "run": ("run", engine, next(test.rglob("*.png"))),
        "eval": ("eval", engine, "--data", test, *ONE),
        "compare": ("compare", engine, "--against", MODEL, "--data", test, *ONE, "--layers"),
        "bench": ("bench", engine, *SHORT),
        "bench, of layers": ("bench", engine, "--layers", *SHORT),
        "bench, of selection": ("bench", engine, "--assert-selection", *SHORT),
        "bench, of streams": ("bench", engine, "--streams", "2", *SHORT),
        "bundle": ("bundle", engine, "--data", test, *ONE, "-o", scratch() / "case.zip"),
        "reproduce": ("reproduce", scratch() / "case.zip"),
        "build": ("build", *BUILD, "-o", scratch() / "built.octet", "--force"),
        "build, searching": ("build", *BUILD, "--metric", "agreement", "--max-drop", "100", "--effort", "1", "-o", scratch() / "found.octet", "--force"),
        "eval, of boxes": ("eval", *boxes()),
        "simulate": ("simulate", engine, "--data", test, *ONE),
        "sensitivity": ("sensitivity", *BUILD[:1], *BUILD[2:], "--samples", "2"),
        "report": ("report", *BUILD[:1], *BUILD[2:], "--seconds", "0.01"),
        "export": ("export", engine, "--onnx", scratch() / "exported.onnx", "--force"),
        "extract": ("extract", MODEL, "-o", scratch() / "part.onnx", "--force"),
        "plugin, new": ("plugin", "new", "Twice", "--folder", scratch() / "twice"),
        "plugin, check": ("plugin", "check", plugin(EXAMPLES / "snake.cc"), "--threads", "2"),
        "warm": ("warm", engine, "--for", "rtx3090", "-o", scratch() / "kernels"),
    }


def said():
    """What each command says; `warm` where there is a compiler of kernels."""
    gpu = emulated_gpu()
    return {name: octet(*arguments, "--json", code=None, env=gpu).json for name, arguments in commands().items() if gpu or name != "warm"}


NAMES = {"opsets", "rejected_kernels"}  # objects whose keys are names of a model


def within(key, value):
    """The keys of an object, or of the first of several."""
    first = value[0] if isinstance(value, list) and value else value
    return sorted(first) if isinstance(first, dict) and key not in NAMES else []


def keys_of(objects):
    return {name: {key: within(key, value) for key, value in found.items()} for name, found in objects.items()}


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.listed, cls.said = json.loads(LIST.read_text()), said()

    def test_every_command_says_the_listed_keys(self):
        self.assertEqual({name: list(keys) for name, keys in keys_of(self.said).items()},
                         {name: list(keys) for name, keys in self.listed["commands"].items() if name in self.said})

    def test_no_command_is_left_out(self):
        there = re.findall(r"^COMMAND\((\w+)\)", (ROOT / "cli/commands.def").read_text(), re.M)
        self.assertGreater(len(there), 15)
        self.assertEqual({name.partition(",")[0] for name in self.listed["commands"]}, set(there))

    def test_and_the_keys_within(self):
        for name, keys in keys_of(self.said).items():
            for key, inner in keys.items():
                self.assertEqual(inner, self.listed["commands"][name][key], f"{name}: {key}")

    def test_the_schema_comes_first(self):
        self.said["error"] = octet("inspect", scratch() / "none.octet", "--json", code=2).json
        for name, found in self.said.items():
            self.assertEqual((next(iter(found)), found["schema"]), ("schema", self.listed["schema"]), name)

    def test_times_name_their_unit(self):
        for name, keys in self.listed["commands"].items():
            shares = {"coverage"}  # of layers, macs, bytes and time
            for key in (*keys, *(inner for outer, listed in keys.items() if outer not in shares for inner in listed)):
                self.assertRegex(key, r"^[a-z][a-z0-9_]*$", name)
                self.assertFalse(re.search(r"(^|_)(time|latency|duration)$", key), f"{name}: {key}")

    def test_keys_of_the_version_before_stand_beside_the_new(self):
        found = set()
        for name, keys in self.listed["commands"].items():
            for where in (list(keys), *keys.values()):
                for old in RENAMED.keys() & set(where):
                    found.add(old)
                    self.assertIn(RENAMED[old], where, f"{name}: {old}")
        self.assertEqual(found, set(RENAMED))

    def test_flags_of_the_version_before_are_taken(self):
        for name, old in (("compare", "--calib"), ("bundle", "--inputs")):
            arguments = [old if word == "--data" else word for word in commands()[name]]
            if name == "bundle":
                arguments[-1] = scratch() / "again.zip"
            found = octet(*arguments, "--json").json
            self.assertEqual({**found, "case": ""}, {**self.said[name], "case": ""})


if __name__ == "__main__":
    if "--update" in sys.argv:
        found = said()
        LIST.write_text(json.dumps({"schema": found["devices"]["schema"], "commands": keys_of(found)}, indent=1) + "\n")
    else:
        harness.main()

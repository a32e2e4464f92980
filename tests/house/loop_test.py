# SPDX-License-Identifier: Apache-2.0
"""The loop of a day and the budget of CI: which tests a change can break, what a commit samples, which proofs are due, what stages took."""

import datetime
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import harness

sys.path.insert(0, str(harness.ROOT / "tools"))
import affected  # noqa: E402
import budget  # noqa: E402
import proofs  # noqa: E402
import sample  # noqa: E402
import tidy  # noqa: E402


class Affected(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not (harness.BUILD / "build.ninja").exists():
            raise unittest.SkipTest(f"{harness.BUILD} is no build of ninja's")

    def of(self, *files):
        return {test.name for test in affected.affected(harness.BUILD.resolve(), set(files))}

    def test_a_source_affects_what_links_it(self):
        self.assertLessEqual({"backends", "exactness"}, self.of("src/ops/operators/relu.cc"))
        self.assertNotIn("core", self.of("src/ops/operators/relu.cc"))

    def test_a_header_affects_what_includes_it(self):
        self.assertIn("backends", self.of("src/core/checked.h"))

    def test_a_script_is_its_own_test(self):
        self.assertEqual(self.of("tests/house/loop_test.py", "docs/cli.md"), {"house.loop"})

    def test_near_tests_run_first_whatever_they_take(self):
        def named(name, labels=("unit",)):
            return affected.Test({"name": name, "properties": [{"name": "LABELS", "value": list(labels)}]}, pathlib.Path("/b"))

        tests = [named("onnx"), named("ops"), named("plan"), named("house.loop", ("house",))]
        took = {"onnx": 40.0, "ops": 90.0, "plan": 3.0, "house.loop": 1.0}
        run, left = affected.chosen(tests, {"src/ops/operators/relu.cc", "tests/house/loop_test.py"}, took, 95)
        self.assertEqual([test.name for test in run], ["house.loop", "ops", "plan"])
        self.assertEqual([(test.name, seconds) for test, seconds in left], [("onnx", 40.0)])
        self.assertEqual(len(affected.chosen(tests, set(), took, 0)[0]), 4)


class Sample(unittest.TestCase):
    def test_every_line_has_its_turn(self):
        lines = [f"src/{i}.cc" for i in range(200)]
        seen = [sample.sample(lines, 8, f"commit {i}") for i in range(100)]
        self.assertEqual({line for part in seen for line in part}, set(lines))
        self.assertEqual(sample.sample(lines, 8, "commit 1"), seen[1])
        # A new file moves no other.
        self.assertLessEqual(set(seen[1]), set(sample.sample([*lines, "src/new.cc"], 8, "commit 1")))


class Proofs(unittest.TestCase):
    def test_a_commit_runs_one_of_the_thread_sanitizers_and_one_other(self):
        for commit in ("a", "b"):
            groups = [proof.group == "threads" for proof in proofs.sampled(commit)]
            self.assertEqual(sorted(groups), [False, True])
        chosen = {proof.name for i in range(200) for proof in proofs.sampled(str(i))}
        self.assertEqual(chosen, {proof.name for proof in proofs.PROOFS if proof.minutes <= proofs.SAMPLED_MINUTES
                                  and (proof.group != "threads" or proof.name in proofs.SAMPLED_THREADS)})

    def test_every_proof_has_inputs_that_exist(self):
        for proof in proofs.PROOFS:
            for glob in proof.inputs:
                self.assertTrue(list(harness.ROOT.glob(glob)), f"{proof.name}: {glob}")

    def test_what_ctest_leaves_out_is_proved(self):
        if not (harness.BUILD / "CTestTestfile.cmake").exists():
            self.skipTest(f"{harness.BUILD} is no build")
        said = subprocess.run(["ctest", "--test-dir", harness.BUILD, "-L", "proof", "--show-only=json-v1"], capture_output=True, text=True, check=True)
        labelled = {test["name"] for test in json.loads(said.stdout)["tests"]}
        self.assertTrue(labelled)
        self.assertEqual(labelled, {proof.name for proof in proofs.PROOFS if proof.group not in ("threads", "aarch64", "chips", "release")})

    def due(self, entry, day, changed=False):
        proof = proofs.PROOFS[0]
        with mock.patch.object(proofs, "inputs_hash", lambda proof: "new" if changed else "old"):
            return proofs.due(proof, {proof.name: entry} if entry else {}, datetime.date.fromisoformat(day))

    def test_when_a_proof_is_due(self):
        entry = {"inputs": "old", "date": "2026-12-01", "commit": "1234", "held": True}
        self.assertEqual(self.due(entry, "2027-12-01"), (None, None))
        self.assertIn("due by 2026-12-15", self.due(entry, "2026-12-15", changed=True)[1])
        self.assertIn("its inputs have changed", self.due(entry, "2026-12-16", changed=True)[0])
        self.assertIn("does not hold", self.due({**entry, "held": False}, "2026-12-01")[0])
        self.assertIn("it was never run", self.due(None, "2026-11-27")[1])
        self.assertIn("it was never run", self.due(None, "2027-01-01")[0])

    def test_words_beside_code_void_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "a.cc"
            seen = []
            for text in ("int a;\n", "// why\nint  a;\n", "int b;\n"):
                file.write_text(text)
                seen.append(proofs.content_of(file))
        self.assertEqual(seen[0], seen[1])
        self.assertNotEqual(seen[0], seen[2])


class Tidy(unittest.TestCase):
    def test_precompiled_headers_are_left_out(self):
        command = "c++ -DA='\"x y\"' -Werror -Winvalid-pch -include /b/cmake_pch.hxx -include kept.h -o a.o -c a.cc"
        self.assertEqual(tidy.without_precompiled(command), "c++ '-DA=\"x y\"' -include kept.h -o a.o -c a.cc")

    def test_findings(self):
        said = (f"{harness.ROOT}/src/a.cc:3:7: error: use of 'x' [bugprone-use-after-move,-warnings-as-errors]\n  x();\n"
                f"{harness.ROOT}/include/octet/tensor_view.h:31:3: error: must be explicit [google-explicit-constructor,-warnings-as-errors]\n")
        for out, err, code, found in ((said, "", 1, ["src/a.cc:3: use of 'x' [bugprone-use-after-move,-warnings-as-errors]"]), ("", "", 0, []),
                                      ("", "no such file", 1, ["src/a.cc: clang-tidy ended with 1: no such file"])):
            done = subprocess.CompletedProcess([], code, out, err)
            with mock.patch.object(tidy.subprocess, "run", lambda *words, done=done, **more: done):
                self.assertEqual(tidy.tidy(None, "src/a.cc"), found)


class Budget(unittest.TestCase):
    def test_the_table_of_contributing(self):
        allowed = budget.budgets((harness.ROOT / "CONTRIBUTING.md").read_text())
        self.assertEqual(sum(allowed.values()), 60)
        stages = set(budget.re.findall(r"\bstage ([\w-]+) \w", (harness.ROOT / "dev").read_text()))
        stages |= set(budget.re.findall(r"^ *run (\w[\w-]*) ", (harness.ROOT / ".ci/run").read_text(), budget.re.M))
        self.assertEqual(stages, set(allowed))

    def test_what_is_over_is_said(self):
        lines = budget.report({"a": 1, "b": 2}, budget.taken("a 50\na 11\nc 6\n"))
        self.assertEqual([line.split() for line in lines[1:]], [["a", "1.0", "1", "over", "its", "budget"], ["b", "not", "run", "2"],
                                                                ["c", "0.1", "none", "over", "its", "budget"], ["in", "all", "1.1", "3"]])


if __name__ == "__main__":
    harness.main()

# SPDX-License-Identifier: Apache-2.0
"""octet plugin check passes the examples and finds each planted fault of a set; octet plugin new writes what passes it."""

import shutil
import unittest

import harness
from harness import BUILD, ROOT, command, octet, scratch
from plugins import EXAMPLES, plugin

FAULTY = ROOT / "tests/plugin_faults/faulty.cc"

# The fault, the check that finds it, and what it says.
FAULTS = (
    ("WRITES_BEFORE", "memory", "before the start of output 'z'|writes beside output 'z'"),
    ("WRITES_FAR_PAST", "memory", "past the end of output 'z'"),
    ("WRITES_ONE_PAST", "memory", "writes beside output 'z'|past the end of output 'z'"),
    ("WRITES_TO_INPUT", "memory", "it writes to input 'x'"),
    ("READS_PAST", "memory", "past the end of input 'x'"),
    ("WORKSPACE_TOO_SMALL", "memory", "past the end of the workspace|beside the workspace"),
    ("FORGETS_THE_LAST", "results", "element 119 of output 'z' is not written"),
    ("READS_ITS_WORKSPACE_FIRST", "results", "depends on what lay in the outputs or the workspace"),
    ("CHANGES_FROM_RUN_TO_RUN", "results", "element 0 of output 'z' changes from run to run"),
    ("THREE_CODES_OFF", "against reals", "more than one code"),
    ("ONE_SCALE_FOR_ALL", "against reals", "more than one code"),
    ("COMPUTES_AND_COMMUTES", "against reals", "more than one value"),
    ("LAYOUTS_DIFFER", "layouts", "differs from that of combination 'nhwc'"),
    ("SHARES_A_BUFFER", "threads", "while other threads run the same instance"),
    ("LEAKS", "leaks", "memory grows by 1"),
    ("LEAKS_INSTANCES", "leaks", "memory grows by"),
    ("THROWS", "memory", "let an exception out: thrown across the border"),
    ("NEVER_RETURNS", "memory", "does not return within"),
    ("LEAVES", "memory", "it ends the process with 0"),
    ("FAILS_WITHOUT_A_WORD", "memory", "does not say why"),
    ("SETS_NO_SHAPE", "shapes", "gives output 'z' no shape"),
    ("NEGATIVE_DIMENSION", "shapes", "a dimension of -7"),
    ("TOO_MANY_DIMENSIONS", "shapes", "9 dimensions"),
    ("SHAPE_CHANGES", "shapes", "other shapes at the second call"),
    ("DIES_ON_EMPTY_SHAPES", "shapes", "the shape rule, inputs .*Aborted"),
    ("REFUSES_ITS_EXAMPLE", "shapes", "refuses the plugin's own example"),
    ("DIES_AT_THE_EDGE", "attributes", "an edge of attribute 'gain': Aborted"),
    ("REFUSES_WITHOUT_A_WORD", "attributes", "does not say why"),
    ("CREATE_RETURNS_NOTHING", "attributes", "it returned no instance"),
    ("STATE_DRIFTS", "state", "state changes when it is restored"),
    ("IGNORES_CAPACITY", "state", "buffer"),
    ("BELIEVES_ITS_STATE", "state", "foreign bytes of state"),
    ("OTHER_SYMBOLS", "symbols", "everybody_sees_this"),
    ("SHORT_STRUCT", "declaration", "says that it has 16 bytes"),
    ("ONE_NAME_FOR_TWO", "declaration", "two combinations are called 'reals'"),
    ("NOTHING_TO_RUN", "declaration", "combination 'reals': run is null"),
    ("SCALED_REALS", "declaration", "f32 has no scale; codes are u8 or s8"),
    ("DEFAULT_OUTSIDE", "declaration", "the default of attribute 'gain': attribute 'gain' is 5, declared is 0 to 2"),
    ("ODD_NAME", "declaration", "the name of an operator is 'Gained Sum'"),
    ("OTHER_INTERFACE", "declaration", "made for interface 99"),
)


def faulty(fault=None):
    source = scratch() / f"faulty_{fault}.cc"
    shutil.copy(FAULTY, source)
    flags = [f"-DFAULT_{fault}"] if fault else []
    return plugin(source, "-Wno-unused", "-Wno-error", "-Wl,--strip-all", *flags)


class Check(unittest.TestCase):
    def test_the_examples_pass(self):
        sources = [path for path in sorted(EXAMPLES.glob("*.cc")) if "OCTET_PLUGIN(" in path.read_text()]
        self.assertEqual(len(sources), 3)
        for source in (*sources, FAULTY.parent / "several.cc"):
            with self.subTest(source.name):
                octet("plugin", "check", plugin(source))

    def test_the_operator_without_a_fault_passes(self):
        result = octet("plugin", "check", faulty(), "--json").json
        self.assertTrue(result["passed"])
        checks = {(f["combination"], f["check"]) for f in result["findings"]}
        for combination in ("reals", "int8", "nhwc"):
            for check in ("memory", "results", "layouts", "threads", "leaks"):
                self.assertIn((combination, check), checks)
        self.assertIn(("int8", "against reals"), checks)

    def test_a_file_that_is_no_library(self):
        text = scratch() / "none.so"
        text.write_text("text")
        self.assertIn("is no plugin", octet("plugin", "check", text, code=1).out)
        octet("plugin", "check", scratch() / "absent.so", code=2)

    def test_new_writes_what_builds_and_passes(self):
        if shutil.which("cmake") is None:
            self.skipTest("cmake is absent")
        folder = scratch() / "Leaky"
        octet("plugin", "new", "Leaky", "--folder", folder)
        command("cmake", "-S", folder, "-B", folder / "build", f"-DOCTET_INCLUDE={ROOT / 'include'}",
                f"-DOCTET={BUILD / 'octet'}")
        command("cmake", "--build", folder / "build")
        self.assertIn("100% tests passed", command("ctest", "--test-dir", folder / "build"))
        octet("plugin", "new", "Leaky", "--folder", folder, code=2)
        for name in ("", "1st", "with space", "a/b", "x" * 65):
            octet("plugin", "new", name, "--folder", scratch() / "other", code=2)


def finds(fault, check, words):
    def test(self):
        result = octet("plugin", "check", faulty(fault), "--seconds", "10" if fault != "NEVER_RETURNS" else "1",
                       "--json", code=1).json
        wrong = [f for f in result["findings"] if not f["passed"] and f["check"] == check]
        self.assertTrue(wrong, result["findings"])
        self.assertRegex(wrong[0]["message"], words)
    return test


for fault_, check_, words_ in FAULTS:
    setattr(Check, f"test_finds_{fault_.lower()}", finds(fault_, check_, words_))

if __name__ == "__main__":
    harness.main()

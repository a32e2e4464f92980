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
    ("SAYS_THAT_DATA_SIZE_IT", "shapes", "gives output 'z' dimensions that data tell \\(0x1\\), which are not declared"),
    ("DATA_SIZE_CODES", "declaration", "data size output 'z', and combination 'int8' gives it as codes"),
    ("SHAPE_CHANGES", "shapes", "other shapes at the second call"),
    ("DIES_ON_EMPTY_SHAPES", "shapes", "the shape rule, inputs .*Aborted"),
    ("REFUSES_ITS_EXAMPLE", "shapes", "refuses the plugin's own example 2x3x4x5, 2x3x4x6: .*x and y have other shapes"),
    ("EXAMPLE_OF_ONE_INPUT", "declaration", "a case has 1 inputs; the operator has 2 to 2"),
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
    ("SAYS_TOO_MUCH", "shapes", "its message is longer than message_capacity"),
    ("DESTROY_THROWS", "leaks", "destroy of org.faults/GainedSum failed: it let an exception out: thrown at the end"),
    ("LOADS_FAST_MATH", "process", "loading it changes how the process computes with floats"),
    ("FLUSHES_SMALL_NUMBERS", "process", "a run changes how the process computes with floats"),
    ("ONE_PIECE", "results", "several threads take the pieces of `parallel`"),
    ("COSTS_NO_NUMBER", "memory", "cost returns nan cycles"),
    ("KEEPS_ITS_ATTRIBUTES", "attributes", "it reads the attributes that create\\(\\) was shown later"),
    ("CHANNELS_OF_THREE", "memory", "past the end of"),
    ("INDEX_BY_VALUE", "memory", "NaN, infinities and far integers, case .*: "),
    ("KEEPS_THE_FIRST_SCALE", "against reals", "more than one code"),
    ("WORKS_ON", "memory", "it writes to output 'z' when it has returned"),
    ("OTHER_INTERFACE", "declaration", "made for interface 99"),
)


# Of operators whose results data size, that need not be given everything, with any number of inputs or results.
SEVERAL_FAULTS = (
    ("SAYS_MORE_THAN_ITS_RULE", "RowsAbove", "memory", "it gives output 'y' the sizes 18x4, its shape rule at most 17x4"),
    ("SIZES_CHANGE", "RowsAbove", "results", "of output 'y' changes from run to run"),
    ("COUNTS_WHAT_IT_DID_NOT_WRITE", "RowsAbove", "results", "of output 'y' is not written"),
    ("SETS_ONE_SIZE", "RowsAbove", "results", "of output 'rows' is not written"),
    ("DIVIDES_BY_AN_ATTRIBUTE", "Mix", "attributes", "a run with an edge of attribute 'one', 0: Floating point exception"),
    ("KNOWS_THREE_INPUTS", "Mix", "results", "case 2x3, 2x3: element 0 of output .y. is not written"),
    ("KNOWS_TWO_RESULTS", "Parts", "results", "case 6x5; 3 results: element 0 of output 'y' is not written"),
    ("DIVIDES_BY_WIDTH", "RowSums", "memory", "case 3x0: Floating point exception"),
    ("BEGINS_WITH_THE_FIRST", "RowSums", "memory", "case 3x0: it reads or writes past the end of input 'x'"),
    ("LEAVES_EMPTY_SUMS", "RowSums", "results", "case 3x0: element 0 of output 'y' is not written"),
    ("TAKES_ALL_AS_GIVEN", "Shifted", "memory", "case 2x3, none, 1: Segmentation fault"),
)


def faulty(fault=None):
    source = scratch() / f"faulty_{fault}.cc"
    shutil.copy(FAULTY, source)
    flags = [f"-DFAULT_{fault}"] if fault else []
    return plugin(source, "-Wno-unused", "-Wno-error", "-Wl,--strip-all", *flags)


class Check(unittest.TestCase):
    def test_the_examples_pass(self):
        sources = [path for path in sorted(EXAMPLES.glob("*.c*")) if "OCTET_PLUGIN(" in path.read_text() or path.suffix == ".c"]
        self.assertEqual(len(sources), 4)
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

    def test_what_is_declared_of_nothing_is_named(self):
        text = (FAULTY.parent / "several.cc").read_text()
        for name, old, new, words in (
                ("formats", '"reals", {f32(), f32()}, {f32()})', '"reals", {f32()}, {f32()})', "combination 'reals' has formats for 1 inputs of 2"),
                ("results", '"reals", {f32(), f32()}, {f32()})', '"reals", {f32(), f32()}, {})', "combination 'reals' has formats for 0 outputs of 1"),
                ("between", 'Operator<Mix>("org.several", "Mix", 1)', 'Operator<Mix>("org.several", "Mix", 1).between(0, 1)',
                 "operator 'Mix': between() stands before any attribute"),
                ("count", 'Operator<Mix>("org.several", "Mix", 1)', 'Operator<Mix>("org.several", "Mix", 1).count(0, 1)',
                 "operator 'Mix': count() stands before any attribute")):
            self.assertIn(old, text)
            source = scratch() / f"declares_{name}.cc"
            source.write_text(text.replace(old, new, 1))
            found = octet("plugin", "check", plugin(source), "--json", code=1).json["findings"]
            self.assertIn(words, next(f for f in found if f["check"] == "declaration")["message"])

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


def finds_of_several(fault, operator, check, words):
    def test(self):
        result = octet("plugin", "check", plugin(FAULTY.parent / "several.cc"), "--json", code=1, env={"OCTET_TEST_FAULT": fault}).json
        wrong = [f for f in result["findings"] if not f["passed"] and (f["operator"], f["check"]) == (f"org.several/{operator}", check)]
        self.assertTrue(wrong, result["findings"])
        self.assertRegex(wrong[0]["message"], words)
    return test


for fault_, operator_, check_, words_ in SEVERAL_FAULTS:
    setattr(Check, f"test_finds_{fault_.lower()}", finds_of_several(fault_, operator_, check_, words_))
for fault_, check_, words_ in FAULTS:
    setattr(Check, f"test_finds_{fault_.lower()}", finds(fault_, check_, words_))

if __name__ == "__main__":
    harness.main()

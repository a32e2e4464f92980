# SPDX-License-Identifier: Apache-2.0
"""The guards of tools/ read code: comments and strings are told apart, sizes warn, and the GPU's record is void when code changes, not words."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import harness

sys.path.insert(0, str(harness.ROOT / "tools"))
import check_attributes  # noqa: E402
import check_gpu_record  # noqa: E402
import check_registry  # noqa: E402
import check_size  # noqa: E402
import cpp_functions  # noqa: E402

WORDS = '''// fopen("a")
const char* url = "http://example.org";  /* system("b")
   over two lines */ int x = 'a';
auto raw = R"(// stays)"; int big = 1'000'000;  // goes
'''


class Code(unittest.TestCase):
    def test_comments_go_and_strings_stay(self):
        code = cpp_functions.code_of(WORDS)
        self.assertEqual(code.count("\n"), WORDS.count("\n"))
        self.assertEqual(code.split(), ['const', 'char*', 'url', '=', '"http://example.org";', 'int', 'x', '=', "'a';", 'auto', 'raw', '=',
                                        'R"(//', 'stays)";', 'int', 'big', '=', "1'000'000;"])

    def test_lines_of_comments_are_no_lines(self):
        body = "int f() {\n" + "  // a word\n" * 50 + "  return 1;\n}\n"
        [function] = cpp_functions.functions(body)
        self.assertEqual(function.lines, 2)
        self.assertEqual(cpp_functions.code_lines(body), 3)

    def test_a_name_in_a_comment_is_not_matched(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(check_registry, "ROOT", pathlib.Path(folder)):
            path = pathlib.Path(folder) / "named.cc"
            path.write_text('/* op->name == "Conv" */ int a;  // "Conv" and "Relu"\n')
            self.assertEqual(check_registry.check_names(path, {"Conv", "Relu"}), [])
            path.write_text('bool a = op->name == "Conv";\n')
            self.assertTrue(check_registry.check_names(path, {"Conv", "Relu"}))

    def test_attributes_by_name_are_seen(self):
        one = 'void f(Node& node) {\n  node.attrs.set("axis", s64{1});\n  node.attrs.erase(kMark);  // attrs.i("axis")\n}\n'
        given = "s64 f(const Node& node, std::string_view name) {\n  return node.attrs.i(name, 0);\n}\n"
        operator = 'void parse(NodeParser& parser) {\n  parser.node.attrs.erase("k");\n}\nvoid infer(Inference& inference) {\n  inference.node.attrs.i("k");\n}\n'
        self.assertEqual(check_attributes.counted("src/passes/a.cc", one), 1)
        self.assertEqual(check_attributes.counted("src/backends/cpu/lower/a.cc", given), 1)
        self.assertEqual(check_attributes.counted("src/ops/operators/a.cc", operator), 1)  # that of infer()
        self.assertEqual(check_attributes.counted("src/passes/a_test.cc", one), 0)


class Size(unittest.TestCase):
    def test_it_warns_and_forbids_nothing(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(check_size, "ROOT", pathlib.Path(folder)):
            long = pathlib.Path(folder) / "long.cc"
            long.write_text("int f() {\n" + "  a();\n" * 500 + "}\n")
            with mock.patch.object(check_size, "sources", lambda: [long]), contextlib.redirect_stdout(io.StringIO()) as said:
                self.assertEqual(check_size.main(), 0)
        self.assertEqual(said.getvalue().count("warning: "), 2)
        self.assertIn("2 files and functions, 2 warnings", said.getvalue())


class GpuRecord(unittest.TestCase):
    def hashed(self, text):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "lower.cc"
            file.write_text(text)
            return check_gpu_record.bytes_of(file)

    def test_comments_and_widths_void_nothing(self):
        self.assertEqual(self.hashed("int a = 1;\nint b;\n"), self.hashed("// why\nint a =\n    1; /* or */ int b;\n"))
        self.assertNotEqual(self.hashed("int a = 1;\n"), self.hashed("int a = 2;\n"))

    def test_what_fills_a_spec_is_hashed(self):
        names = {str(path.relative_to(check_gpu_record.CUDA)) for path in check_gpu_record.makers() | check_gpu_record.texts()}
        for wanted in ("contract.h", "kernel.cc", "families/conv_mma/spec.h", "families/conv_mma/lower.cc", "lower/product.cc", "arch/sm80.h"):
            self.assertIn(wanted, names)
        self.assertFalse([name for name in names if name.endswith((".md", "_test.cc")) or "costs" in name])

    def test_a_test_ended_by_time_failed(self):
        suite = {"passed": 3, "failed": 0, "exit": 0}
        record = {"hash_form": check_gpu_record.FORM, "kernels_hash": check_gpu_record.kernels_hash(), "kernels": {"steps": suite}}
        self.assertEqual(list(check_gpu_record.problems_of(record)), [])
        suite["unfinished"] = ["GpuConv.All"]
        self.assertEqual(list(check_gpu_record.problems_of(record)), ["steps: GpuConv.All was ended by time, and counts as failed"])

    def test_a_restored_file_counts_as_recorded(self):
        name = "families/attention/kernel.cu"
        now = check_gpu_record.digest_of(check_gpu_record.bytes_of(check_gpu_record.CUDA / name))
        restored = {name: {"commit": "1234abc", "recorded": "newer", "now": now, "why": "it failed", "tests": ["GpuConv.All"]}}
        tool = {"errors": 0, "tests": 3, "exit": 0, "failed": ["GpuConv.All"]}
        record = {"hash_form": check_gpu_record.FORM, "kernels_hash": check_gpu_record.kernels_hash(restored=restored), "restored": restored,
                  "sanitizer": {"memcheck": tool}}
        self.assertEqual(list(check_gpu_record.problems_of(record)), [])
        tool["failed"].append("GpuConv.Few")
        self.assertEqual(list(check_gpu_record.problems_of(record)), ["memcheck: GpuConv.Few failed"])
        restored[name]["now"] = "other code"
        self.assertEqual(len(list(check_gpu_record.problems_of(record))), 2)

    def test_a_record_of_the_first_form_still_holds(self):
        record = {"kernels_hash": check_gpu_record.kernels_hash(1), "kernels": {}}
        self.assertEqual(list(check_gpu_record.problems_of(record)), [])


if __name__ == "__main__":
    harness.main()

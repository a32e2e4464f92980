# SPDX-License-Identifier: Apache-2.0
"""octet compare and eval against ONNX Runtime and saved outputs: every number recomputed in NumPy, and the page clicked."""

import functools
import pathlib
import stat
import sys
import unittest

import browser
import harness
from harness import DIGITS, digits, digits_engine, need, octet, scratch

MODEL = DIGITS / "digits.onnx"
PYTHON = {"OCTET_PYTHON": sys.executable}
EPSILON = 2.220446049250313e-16
TOP = 8  # so many that INT8 changes places among them
COUNT = 24


def runtime(model=MODEL):
    need("onnxruntime")
    return f"onnxruntime:{model}"


def compare(engine, *flags, code=0, env=PYTHON):
    return octet("compare", engine, "--calib", digits() / "test", "--max-samples", COUNT, *flags, code=code, env=env)


@functools.cache
def saved():
    """ONNX Runtime's outputs of the test digits, and the JSON of the comparison that wrote them."""
    path = scratch() / "ort.npz"
    result = compare(digits_engine(), "--against", runtime(), "--save-outputs", path, "--quantile", "0.9", "--top-k", "3", "--json").json
    return path, result


def spread(numpy, errors, quantile):
    """Of each sample, then the largest."""
    rows = errors.reshape(len(errors), -1)
    return {"max": rows.max(1).max(), "mean": rows.mean(1).max(), "median": numpy.quantile(rows, 0.5, axis=1).max(),
            "quantile": numpy.quantile(rows, quantile, axis=1).max()}


class Statistics(unittest.TestCase):
    def pair(self):
        """The engine's outputs and ONNX Runtime's, as f64."""
        numpy = need("numpy")
        theirs = numpy.load(saved()[0])["logits"].astype("f8")
        own = scratch() / "own.npz"
        # The engine against itself: what is saved are its own outputs, of the same samples.
        compare(digits_engine(), "--against", digits_engine(), "--save-outputs", own)
        return numpy, theirs, numpy.load(own)["logits"].astype("f8")

    def test_numbers_are_those_of_numpy(self):
        numpy, theirs, own = self.pair()
        output, = saved()[1]["outputs"]
        absolute = numpy.abs(own - theirs)
        relative = absolute / numpy.where(theirs == 0, EPSILON, numpy.abs(theirs))
        for key, errors in (("absolute", absolute), ("relative", relative)):
            for name, value in spread(numpy, errors, 0.9).items():
                numpy.testing.assert_allclose(output[key][name], value, rtol=1e-14, err_msg=f"{key} {name}")
        self.assertGreater(output["absolute"]["median"], 0)
        self.assertEqual(output["elements"], own.size)
        self.assertEqual(output["zeros"], numpy.count_nonzero(theirs == 0))
        wrong = (absolute > 1e-5) & (relative > 1e-5)
        self.assertEqual(output["beyond"], numpy.count_nonzero(wrong))
        self.assertEqual(output["failed_samples"], numpy.count_nonzero(wrong.any(1)))
        order = [numpy.argsort(-values, axis=1, kind="stable")[:, :3] for values in (theirs, own)]
        self.assertEqual(output["top"], {"count": 3, "rows": COUNT, "same": (same := int((order[0] == order[1]).all(1).sum())),
                                         "share": same / COUNT})
        noise = 10 * numpy.log10((theirs ** 2).sum() / ((own - theirs) ** 2).sum())
        self.assertAlmostEqual(output["sqnr_db"], noise, places=4)

    def test_each_statistic_decides_as_numpy_does(self):
        numpy, theirs, own = self.pair()
        absolute = numpy.abs(own - theirs)
        decided = set()
        for statistic in ("max", "mean", "median", "quantile"):
            worst = float(spread(numpy, absolute, 0.75)[statistic])
            for factor in (0.99, 1.01):
                flags = ("--check-error-stat", statistic, "--quantile", "0.75", "--rtol", "0", "--atol", f"logits:{worst * factor!r}")
                code = 0 if factor > 1 else 1
                result = compare(digits_engine(), "--load-outputs", saved()[0], *flags, "--json", code=code).json
                self.assertEqual(result["passed"], factor > 1, statistic)
                decided.add(code)
        self.assertEqual(decided, {0, 1})

    def test_index_tolerance(self):
        numpy, theirs, own = self.pair()

        def same(within):
            count = 0
            for reference, tested in zip(theirs, own):
                first = list(numpy.argsort(-reference, kind="stable")[:TOP])
                second = list(numpy.argsort(-tested, kind="stable")[:TOP + within])
                count += all(index in second and abs(second.index(index) - place) <= within for place, index in enumerate(first))
            return count

        for within in (0, 1, 2):
            output, = compare(digits_engine(), "--load-outputs", saved()[0], "--top-k", TOP, "--index-tolerance", within, "--json").json["outputs"]
            self.assertEqual(output["top"]["same"], same(within))
        self.assertLess(same(0), same(2))
        share = same(0) / COUNT
        compare(digits_engine(), "--load-outputs", saved()[0], "--top-k", TOP, "--min-top-k", share)
        said = compare(digits_engine(), "--load-outputs", saved()[0], "--top-k", TOP, "--min-top-k", share + 0.01, code=1).err
        self.assertIn("same top indices", said)


class Runtime(unittest.TestCase):
    def test_the_float_model_is_near(self):
        result = compare(MODEL, "--preprocess", DIGITS / "preprocess.json", "--against", runtime(), "--atol", "1e-4", "--rtol", "1e-4",
                         "--validate", "--json").json
        self.assertTrue(result["passed"])
        self.assertEqual([one["name"] for one in result["thresholds"]], ["tolerances", "validate"])
        self.assertRegex(result["against"], r"ONNX Runtime \d+\.\d+")
        text = compare(digits_engine(), "--against", runtime(), "--atol", "1e-4", "--rtol", "1e-4", code=1)
        self.assertRegex(text.out, r"logits +elemwise +0\.0001 +0\.0001 +\d+ of 240 +\d+ of 24 +FAILED")
        self.assertIn("outputs beyond their tolerances", text.err)

    def test_both_references_agree(self):
        """ONNX Runtime and Octet's own FP32 are the same reference, up to sums of floats."""
        mine = compare(digits_engine(), "--against", MODEL, "--json").json["outputs"][0]
        for theirs in (saved()[1], compare(digits_engine(), "--against", runtime().replace(":", "-plain:", 1), "--json").json):
            self.assertAlmostEqual(mine["sqnr_db"], theirs["outputs"][0]["sqnr_db"], places=2)

    def test_an_engine_of_any_name(self):
        plan = scratch() / "reference.plan"
        plan.write_bytes(digits_engine().read_bytes())
        output, = compare(digits_engine(), "--against", plan, "--json").json["outputs"]
        self.assertEqual(output["beyond"], 0)

    def test_eval(self):
        flags = ("eval", digits_engine(), "--data", digits() / "test", "--json")
        mine = octet(*flags, "--against", MODEL).json
        theirs = octet(*flags, "--against", runtime(), "--top-k", "2", "--validate", "--min-agreement", "0.9", env=PYTHON).json
        for key in ("samples", "top1", "reference_top1", "agreement"):
            self.assertEqual(mine[key], theirs[key], key)
        self.assertTrue(theirs["passed"])
        self.assertEqual(theirs["outputs"][0]["top"]["rows"], theirs["samples"])
        self.assertNotIn("absolute", mine["outputs"][0])
        self.assertIn("--against", octet("eval", digits_engine(), "--data", digits() / "test", "--atol", "1", code=2).err)

    def test_a_model_of_another_form(self):
        onnx = need("onnx")
        helper, tensor = onnx.helper, onnx.helper.make_tensor_value_info
        graph = helper.make_graph([helper.make_node("Relu", ["image"], ["scores"])], "other",
                                  [tensor("image", 1, ["n", 3]), tensor("more", 1, [1])], [tensor("scores", 1, ["n", 3])])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), scratch() / "other.onnx")
        error = compare(digits_engine(), "--against", runtime(scratch() / "other.onnx"), code=2).err
        for text in ("input 'image' is f32[?,3], and f32[?,1,8,8] in the engine", "no output 'logits'", "the engine has no input 'more'"):
            self.assertIn(text, error.replace("*", "?"))
        (scratch() / "odd.onnx").write_bytes(b"no model")
        self.assertIn("ONNX Runtime: ", compare(digits_engine(), "--against", runtime(scratch() / "odd.onnx"), code=2).err)
        self.assertIn("is no file", compare(digits_engine(), "--against", runtime("nowhere.onnx"), code=2).err)


def program(name, text):
    path = scratch() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


class Python(unittest.TestCase):
    """The other process may be missing, poor, silent or mad."""

    def said(self, python, *flags, env=None):
        return compare(digits_engine(), "--against", f"onnxruntime:{MODEL}", *flags, code=2, env=env or {"OCTET_PYTHON": str(python)}).err

    def test_missing(self):
        said = self.said("/no/such/python")
        for text in ("pip install onnxruntime numpy", "OCTET_PYTHON", "'/no/such/python' cannot be started"):
            self.assertIn(text, said)
        empty = scratch() / "empty"
        empty.mkdir(exist_ok=True)
        alone = {"PATH": str(empty), "OCTET_PYTHON": "", "VIRTUAL_ENV": ""}
        said = octet("compare", digits_engine(), "--calib", digits() / "test", "--against", f"onnxruntime:{MODEL}", code=2, env=alone, cwd=empty).err
        self.assertIn("there is no python3 in PATH", said)

    def test_without_packages(self):
        python = program("bare/python3", f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
        said = self.said(python)
        self.assertIn(f"{python} lacks numpy", said)

    def test_the_first_that_has_them(self):
        need("onnxruntime")
        program("bare/python3", f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
        program("full/python3", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        path = f"{scratch() / 'bare'}:{scratch() / 'full'}"
        result = octet("compare", digits_engine(), "--calib", digits() / "test", "--max-samples", "2", "--against", f"onnxruntime:{MODEL}", "--json",
                       env={"PATH": path, "OCTET_PYTHON": "", "VIRTUAL_ENV": ""}, cwd=scratch()).json
        self.assertEqual(result["samples"], 2)

    def test_last_words(self):
        self.assertIn("ended before it answered; it said", said := self.said(program("dies", "#!/bin/sh\necho out of luck >&2\nexit 3\n")))
        self.assertIn("out of luck", said)

    def test_no_answer(self):
        self.assertIn("does not answer in time", self.said(program("sleeps", "#!/bin/sh\nexec sleep 1000\n"), "--against-seconds", "0.2"))

    def test_odd_bytes(self):
        for name, sent, text in (("mad", r"\001\000\000\000\000\000\000\000x", "not valid JSON"),
                                 ("huge", r"\377\377\377\377\377\377\377\377", "announces 18446744073709551615 bytes"),
                                 ("short", r'\014\000\000\000\000\000\000\000{"arrays":1}', "'arrays' is not a list")):
            python = program(name, f"#!/bin/sh\nprintf '{sent}' >&0\nexec sleep 1000\n")
            self.assertIn(text, self.said(python))

    def test_modules_of_the_current_folder_are_not_taken(self):
        need("onnxruntime")
        folder = scratch() / "hostile"
        folder.mkdir(exist_ok=True)
        (folder / "numpy.py").write_text("raise SystemError('taken')")
        octet("compare", digits_engine(), "--calib", digits() / "test", "--max-samples", "1", "--against", f"onnxruntime:{MODEL}", env=PYTHON, cwd=folder)


class Saved(unittest.TestCase):
    def test_loaded_is_as_run(self):
        path, before = saved()
        after = compare(digits_engine(), "--load-outputs", path, "--quantile", "0.9", "--top-k", "3", "--json").json
        self.assertEqual(before["outputs"], after["outputs"])
        self.assertEqual(after["against"], str(path))

    def test_outputs_of_run(self):
        own, test = scratch() / "run.npz", digits() / "test"
        octet("run", digits_engine(), test, "-o", own)
        result = octet("compare", digits_engine(), "--calib", test, "--load-outputs", own, "--json").json
        self.assertIsNone(result["sqnr_db"])
        self.assertEqual(result["outputs"][0]["absolute"]["max"], 0)

    def test_mistakes(self):
        numpy = need("numpy")
        path = scratch() / "wrong.npz"

        def said(**arrays):
            numpy.savez(path, **arrays)
            return compare(digits_engine(), "--load-outputs", path, code=2).err

        good = numpy.zeros((COUNT, 10), "f4")
        self.assertIn("do not share its 23 rows", said(logits=good[1:]))
        self.assertIn("f32[1,9]", said(logits=good[:, 1:]))
        self.assertIn("s64[1,10]", said(logits=good.astype("i8")))
        both = said(logit=good, other=good)
        for text in ("there is no array 'logits'", "'logit' is no output", "did you mean 'logits'", "'other' is no output"):
            self.assertIn(text, both)
        path.write_bytes(b"PK\x03\x04 odd bytes" * 9)
        self.assertIn("wrong.npz", compare(digits_engine(), "--load-outputs", path, code=2).err)
        self.assertIn("--against or --load-outputs", compare(digits_engine(), code=2).err)
        self.assertIn("--layers", compare(digits_engine(), "--load-outputs", saved()[0], "--layers", code=2).err)
        self.assertIn("'tensorrt' is no runtime that is known; onnxruntime:MODEL.onnx", compare(digits_engine(), "--against", f"tensorrt:{MODEL.name}", code=2).err)

    def test_flags(self):
        flags = ("--against", MODEL, "--atol", "boxes:1", "--atol", "-1", "--rtol", "nan", "--check-error-stat", "mode", "--quantile", "2")
        error = compare(digits_engine(), *flags, code=2).err
        for text in ("5 of the tolerances are wrong", "boxes:1: no such output", "'-1' is no finite", "'nan' is no finite", "'mode' is no statistic",
                     "'2' is no number from 0 to 1"):
            self.assertIn(text, error)
        self.assertIn("need --top-k", compare(digits_engine(), "--against", MODEL, "--min-top-k", "1", code=2).err)

    def test_nothing_is_destroyed(self):
        model = scratch() / "precious.onnx"
        model.write_bytes(MODEL.read_bytes())
        for against in (model, f"onnxruntime:{model}"):
            said = compare(digits_engine(), "--against", against, "--save-outputs", model, "--force", code=2).err
            self.assertIn("--against", said)
        self.assertEqual(model.read_bytes(), MODEL.read_bytes())


class NotFinite(unittest.TestCase):
    def test_validate(self):
        onnx, numpy = need("onnx", "numpy")
        helper, tensor = onnx.helper, onnx.helper.make_tensor_value_info
        graph = helper.make_graph([helper.make_node("Log", ["x"], ["y"])], "log", [tensor("x", 1, ["n", 4])], [tensor("y", 1, ["n", 4])])
        model, data = scratch() / "log.onnx", scratch() / "log.npz"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        numpy.savez(data, x=numpy.array([[1, 2, 3, 4], [0, -1, 0, 1]], "f4"))
        flags = ("compare", model, "--calib", data, "--against", runtime(model), "--json")
        output, = octet(*flags, env=PYTHON).json["outputs"]
        self.assertEqual(output["not_finite"], {"tested": {"nan": 1, "infinite": 2}, "reference": {"nan": 1, "infinite": 2}})
        self.assertIsNone(output["absolute"]["max"])
        self.assertEqual((output["beyond"], output["failed_samples"]), (3, 1))
        output, = octet(*flags, "--infinities-compare-equal", env=PYTHON).json["outputs"]
        self.assertEqual(output["beyond"], 1)
        said = octet(*flags[:-1], "--validate", env=PYTHON, code=1)
        self.assertIn("1 NaN and 2 infinite", said.out)


class Page(unittest.TestCase):
    def test_cells_are_clicked(self):
        numpy = need("numpy")
        page_file = scratch() / "against.html"
        compare(digits_engine(), "--load-outputs", saved()[0], "--report", page_file)
        theirs, own = numpy.load(saved()[0])["logits"].astype("f8"), scratch() / "page_own.npz"
        compare(digits_engine(), "--against", digits_engine(), "--save-outputs", own)
        errors = numpy.abs(numpy.load(own)["logits"].astype("f8") - theirs)
        with browser.opened(page_file) as page:
            self.assertEqual(page.value("document.querySelectorAll('#outputs tbody tr').length"), 1)
            self.assertEqual(page.value("document.querySelectorAll('.heat .cell').length"), 10)
            page.click(".heat .cell:nth-child(4)")
            told = page.value("document.querySelector('.heat .told').textContent")
            self.assertEqual(told.split(": mean error ")[0], "row 0, column 3")
            numbers = [float(part.split()[-1]) for part in told.split(": ")[1].split(",")]
            wanted = [errors[:, 3].mean(), errors[:, 3].max(), errors[:, 3].sum() / numpy.abs(theirs[:, 3]).sum()]
            numpy.testing.assert_allclose(numbers, wanted, rtol=5e-3)  # three digits are shown
            fills = "[...document.querySelectorAll('.cell')].map(c => getComputedStyle(c).fill)"
            drawn = page.value(fills)
            self.assertEqual(drawn.index("rgb(127, 16, 24)"), int(errors.mean(0).argmax()))
            page.click("#heatkinds button:nth-child(2)")
            self.assertEqual(page.value(fills).index("rgb(127, 16, 24)"), int(errors.max(0).argmax()))
            self.assertEqual(page.value("document.querySelector('#heatkinds [aria-pressed=true]').textContent"), "largest error")
            page.click("#heatkinds button:nth-child(1)")
            self.assertEqual(page.value(fills), drawn)

    def test_the_staged_page_has_them(self):
        page_file = scratch() / "staged_maps.html"
        octet("report", MODEL, "--calib", digits() / "calib", "--data", digits() / "test", "--preprocess", DIGITS / "preprocess.json",
              "--seconds", "0.01", "--report", page_file)
        text = pathlib.Path(page_file).read_text()
        self.assertIn("Against the model in FP32", text)
        self.assertEqual(text.count('class="cell"'), 10)


if __name__ == "__main__":
    harness.main()

# SPDX-License-Identifier: Apache-2.0
"""'-' is standard input and output; engines of ONNX models that no file holds; inputs that no file gives; weights behind links."""

import io
import os
import pathlib
import subprocess
import unittest

import harness
from harness import DIGITS, PROGRAM, digits, digits_engine, need, octet, scratch

MODEL = DIGITS / "digits.onnx"


def piped(*arguments, data=b"", code=0, more_files=()):
    done = subprocess.run([str(PROGRAM), *map(str, arguments)], input=data, capture_output=True, check=False, pass_fds=more_files)
    if done.returncode != code:
        raise AssertionError(f"ended with {done.returncode}: {done.stdout[-400:]}{done.stderr[-400:]}")
    return done


def array_bytes(**arrays):
    buffer = io.BytesIO()
    need("numpy").savez(buffer, **arrays)
    return buffer.getvalue()


def batch(count):
    numpy = need("numpy")
    return numpy.random.default_rng(3).random((count, 1, 8, 8)).astype("float32")


class Streams(unittest.TestCase):
    def test_arrays_in_and_out(self):
        numpy = need("numpy")
        path = scratch() / "streams.npz"
        path.write_bytes(array_bytes(input=batch(5)))
        octet("run", digits_engine(), path, "-o", scratch() / "streams_out.npz")
        expected = numpy.load(scratch() / "streams_out.npz")
        done = piped("run", digits_engine(), "-", "-o", "-", data=path.read_bytes())
        got = numpy.load(io.BytesIO(done.stdout))
        self.assertEqual(got.files, expected.files)
        for name in expected.files:
            numpy.testing.assert_array_equal(got[name], expected[name])
        self.assertIn(b"standard input[4]", done.stderr)

    def test_an_image(self):
        image = sorted((digits() / "test").rglob("*.png"))[0]
        said = piped("run", digits_engine(), "-", "--json", data=image.read_bytes()).stdout.decode()
        self.assertEqual(said.replace("standard input", str(image)), octet("run", digits_engine(), image, "--json").out)

    def test_without_a_folder_for_temporary_files(self):
        done = subprocess.run([str(PROGRAM), "build", str(MODEL), "-o", "-"], capture_output=True, text=True, check=False,
                              env={**os.environ, "TMPDIR": "/no/such/folder"})
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no folder for temporary files (TMPDIR)", done.stderr)

    def test_models_and_engines(self):
        built = piped("build", "-", "-o", "-", data=MODEL.read_bytes())
        (scratch() / "piped.octet").write_bytes(built.stdout)
        octet("build", MODEL, "-o", scratch() / "unpiped.octet")
        image = sorted((digits() / "test").rglob("*.png"))[0]
        runs = [octet("run", scratch() / name, image, "--json").out for name in ("piped.octet", "unpiped.octet")]
        self.assertEqual(*runs)
        for command in (["inspect", "-"], ["bench", "-", "--iterations", "2"], ["check", "-"]):
            piped(*command, data=MODEL.read_bytes())
        piped("inspect", "-", data=built.stdout)

    def test_the_same_engine_whatever_else_is_open(self):
        alone = piped("build", "-", "-o", "-", data=MODEL.read_bytes()).stdout
        with open(MODEL, "rb") as other:
            beside = piped("build", "-", "-o", "-", data=MODEL.read_bytes(), more_files=[other.fileno()]).stdout
        self.assertEqual(alone, beside)

    def test_mistakes(self):
        self.assertIn(b"give -o", piped("build", "-", data=MODEL.read_bytes(), code=2).stderr)
        self.assertIn(b"both write to standard output", piped("build", MODEL, "-o", "-", "--json", code=2).stderr)
        self.assertIn(b"is read before it is written", piped("bench", MODEL, "--tune", "-", code=2).stderr)
        self.assertIn(b"one file", piped("build", MODEL, "-o", "-", "--report", "-", code=2).stderr)
        self.assertIn(b"standard input", piped("inspect", "-", data=b"no engine at all", code=2).stderr)
        self.assertIn(b"limit", piped("run", digits_engine(), "-", "--max-memory", "1M", data=bytes(3 << 20), code=2).stderr)


class WithoutFiles(unittest.TestCase):
    def test_a_model_itself(self):
        numpy, runtime = need("numpy"), need("onnxruntime")
        path, out = scratch() / "model_itself.npz", scratch() / "model_itself_out.npz"
        path.write_bytes(array_bytes(input=batch(4)))
        octet("run", MODEL, path, "-o", out)
        session = runtime.InferenceSession(MODEL, providers=["CPUExecutionProvider"])
        truth = session.run(None, {session.get_inputs()[0].name: batch(4)})[0]
        numpy.testing.assert_allclose(numpy.load(out)["logits"], truth, rtol=1e-4, atol=1e-4)

    def test_random_inputs(self):
        first = octet("run", digits_engine(), "--random", "2", "--seed", "7", "--json").json["results"]
        again = octet("run", digits_engine(), "--random", "1", "--seed", "8", "--json").json["results"]
        self.assertEqual(first[1], again[0])
        self.assertNotEqual(first[0]["outputs"], first[1]["outputs"])
        rows = octet("run", digits_engine(), "--random", "1", "--batch", "3", "--json").json["results"]
        self.assertEqual(len(rows), 3)
        self.assertIn("--random", octet("run", digits_engine(), code=2).err)
        self.assertIn("--random", octet("run", digits_engine(), "--seed", "3", code=2).err)

    def test_the_top_of_every_row(self):
        """A state beside the scores, whose batch is not its first axis, keeps the run whole."""
        onnx, numpy = need("onnx"), need("numpy")
        helper, floats = onnx.helper, onnx.TensorProto.FLOAT
        graph = helper.make_graph(
            [helper.make_node("Identity", ["x"], ["scores"]), helper.make_node("Identity", ["state"], ["next"])], "rows",
            [helper.make_tensor_value_info("x", floats, ["n", 4]), helper.make_tensor_value_info("state", floats, [2, "n", 8])],
            [helper.make_tensor_value_info("scores", floats, ["n", 4]), helper.make_tensor_value_info("next", floats, [2, "n", 8])])
        model, data = scratch() / "rows.onnx", scratch() / "rows.npz"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        scores = numpy.array([[0, 3, 1, 2], [9, 1, 2, 3], [0, 1, 2, 8]], dtype="float32")
        numpy.savez(data, x=scores, state=numpy.zeros((2, 3, 8), dtype="float32"))
        (result,) = octet("run", model, data, "--top", "2", "--json").json["results"]
        found = [[entry["index"] for entry in row["top"]] for row in result["outputs"][0]["rows"]]
        self.assertEqual(found, [[1, 3], [0, 3], [3, 2]])
        self.assertIn("row 2", octet("run", model, data).out)


class LinkedWeights(unittest.TestCase):
    def test_links_below_a_folder(self):
        onnx, numpy = need("onnx"), need("numpy")
        helper = onnx.helper
        store, snapshot = scratch() / "hub/blobs", scratch() / "hub/snapshot"
        for folder in (store, snapshot):
            folder.mkdir(parents=True)
        weights = onnx.numpy_helper.from_array(numpy.ones((64, 64), dtype="float32"), "w")
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"])], "linked", [helper.make_tensor_value_info("x", 1, ["n", 64])],
            [helper.make_tensor_value_info("y", 1, ["n", 64])], [weights])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(made, snapshot / "m.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
        pathlib.Path(snapshot / "weights.bin").rename(store / "123")
        os.symlink("../blobs/123", snapshot / "weights.bin")
        error = octet("check", snapshot / "m.onnx", code=2)
        self.assertIn("--weights-root", error.out + error.err)
        for command in (["check"], ["run"], ["inspect"], ["bench"], ["build"]):
            more = {"run": ["--random", "1"], "bench": ["--iterations", "1"], "build": ["-o", scratch() / "linked.octet"]}
            octet(*command, snapshot / "m.onnx", *more.get(command[0], []), "--weights-root", scratch() / "hub")
        self.assertIn("outside", octet("inspect", snapshot / "m.onnx", "--weights-root", snapshot, code=2).err)


if __name__ == "__main__":
    harness.main()

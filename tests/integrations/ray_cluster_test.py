#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""octet.ray on clusters of several nodes, of which some are lost, and workers that are killed: bytes, sums and searches stay those of one machine."""

import concurrent.futures
import functools
import math
import os
import pathlib
import shutil
import signal
import textwrap
import time
import types
import unittest
import uuid
import warnings

import harness
import rays
import tritons
from harness import scratch

ROWS, BLOCKS = 480, 60
STARTS = 3  # of a node
TOKEN = f"octet-test-{uuid.uuid4()}"  # in the environment of all that Ray starts here


def setUpModule():
    rays.need()
    os.environ["OCTET_TEST_TOKEN"] = TOKEN
    global np, octet, ray, Cluster
    import numpy as np
    import ray
    import ray.data
    from ray.cluster_utils import Cluster

    import octet
    import octet.ray


class Prepare:
    """Slow, and leaves a file that names the node for each batch that it has seen."""

    def __init__(self, seen):
        self.seen = seen

    def __call__(self, batch):
        time.sleep(0.1)
        node = ray.get_runtime_context().get_node_id()
        pathlib.Path(self.seen, f"{node}-{uuid.uuid4()}").touch()
        return batch


class Loss:
    """What the search's metric is: minus the greatest loss of a logit. Slow, and leaves files as Prepare does."""

    def __init__(self, seen=None):
        self.seen = seen

    def __call__(self, got, truth, which):
        assert len(got) == len(truth) == len(which)
        if self.seen:
            time.sleep(0.3)
            pathlib.Path(self.seen, f"{ray.get_runtime_context().get_node_id()}-{uuid.uuid4()}").touch()
        return -max(float(np.abs(a["logits"] - b["logits"]).max()) for a, b in zip(got, truth))


def fails(batch):
    raise ValueError("of the user's own")


def node_options():
    """With ports that are known beforehand: a node that asks its agent for them gives up soon on a busy machine."""
    ports = ("metrics_agent_port", "runtime_env_agent_port", "dashboard_agent_listen_port", "metrics_export_port")
    return {"num_cpus": 2, "object_store_memory": 128 << 20, **dict(zip(ports, tritons.free_ports(len(ports))))}


def started(start):
    """A node that waits too long for its own agent ends itself, and Ray has no error of its own for that."""
    for _ in range(STARTS - 1):
        try:
            return start()
        except Exception as error:
            print("a node did not start:", error, flush=True)
    return start()


def compiled(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return octet.compile(rays.MODEL, **options)


def actors_of(name):
    """The processes of actors of this test's clusters."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            mine = TOKEN.encode() in (process / "environ").read_bytes() and name.encode() in (process / "cmdline").read_bytes()
        except OSError:
            continue
        found += [int(process.name)] if mine else []
    return found


class Nodes(unittest.TestCase):
    def setUp(self):
        self.seen = pathlib.Path(scratch()) / uuid.uuid4().hex
        self.seen.mkdir()
        # Nothing but the caller runs on the first one.
        self.cluster = started(lambda: Cluster(initialize_head=True, head_node_args={**node_options(), "num_cpus": 0, "include_dashboard": False}))
        self.nodes = [self.add_node(), self.add_node()]
        ray.init(address=self.cluster.address, log_to_driver=False, logging_level="error")
        self.cluster.wait_for_nodes()
        ray.data.DataContext.get_current().enable_progress_bars = False

    def tearDown(self):
        ray.shutdown()
        self.cluster.shutdown()
        shutil.rmtree(self.seen)

    def add_node(self, **more):
        return started(lambda: self.cluster.add_node(**{**node_options(), **more}))

    def slow(self, part):
        return rays.dataset(part, ROWS, BLOCKS).map_batches(Prepare(str(self.seen)), batch_size=None)

    def meanwhile(self, call, *acts):
        """What a call gives, and what acts found that are done when so many batches are prepared."""
        found = []
        with concurrent.futures.ThreadPoolExecutor(1) as thread:
            answer = thread.submit(call)
            for done, act in acts:
                while len(list(self.seen.iterdir())) < done and not answer.done():
                    time.sleep(0.05)
                found.append(not answer.done() and act())
            return answer.result(), found

    def lose(self):
        """One of the nodes that have done something."""
        seen = [path.name for path in self.seen.iterdir()]
        used = [node for node in self.nodes if any(name.startswith(node.node_id) for name in seen)]
        if used:
            self.cluster.remove_node(used[0], allow_graceful=False)
        return bool(used)

    def kill(self, name):
        def act():
            found = actors_of(name)
            for process in found:
                os.kill(process, signal.SIGKILL)
            return bool(found)

        return act

    def test_calibration_outlives_nodes_and_actors(self):
        expected = compiled(calibration=rays.images("train", ROWS)[0]).to_bytes()
        data = self.slow("train")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made, found = self.meanwhile(
                lambda: octet.ray.calibrate(data, rays.MODEL, workers=2), (BLOCKS // 4, self.lose),
                (BLOCKS // 2, self.kill("MapBatches(_Watcher)")))
        self.assertEqual(found, [True, True], "what was lost had done something of it")
        self.assertEqual(made.to_bytes(), expected)

    def test_evaluation_outlives_nodes_and_actors(self):
        engine = compiled(calibration=rays.images("train", 200)[0])
        images, labels = rays.images("test", ROWS)
        logits = octet.Context(engine).run(images)[0]
        sums = rays.losses({"logits": logits}, {"label": labels})
        data = self.slow("test")
        found, acted = self.meanwhile(
            lambda: octet.ray.evaluate(data, engine, rays.losses, workers=2), (BLOCKS // 4, self.lose),
            (BLOCKS // 2, self.kill("MapBatches(_Judge)")))
        self.assertEqual(acted, [True, True], "what was lost had done something of it")
        self.assertEqual(found, {"samples": ROWS, "loss": math.fsum(sums["loss"]), "even": int(sums["even"].sum())})

    def test_search_outlives_nodes_and_tasks(self):
        """The least that costs layers their INT8, so that trials follow each other; and one machine's search of the journal, and by itself."""
        samples, seen = rays.images("test", 60)[0], octet.Observer(rays.MODEL).observe(rays.images("train", 200)[0])
        plain = octet.search(rays.MODEL, samples, Loss(), calibration=seen, min_value=-1e9, effort=1, threads=1).found
        least = max(trial["value"] for trial in plain["trials"] if trial["int8"]) / 2
        journal, own = self.seen.with_suffix(".journal"), self.seen.with_suffix(".own")
        asked = {"calibration": seen, "min_value": least, "effort": 3}
        found, acted = self.meanwhile(
            lambda: octet.ray.search(rays.MODEL, samples, Loss(str(self.seen)), journal=journal, workers=4, **asked),
            (4, self.lose), (12, self.kill("ray::_measured")))
        self.assertEqual(acted, [True, True], "what was lost had done something of it")
        lines = journal.read_text()
        alone = octet.search(rays.MODEL, samples, Loss(), journal=journal, **asked)
        self.assertEqual(journal.read_text(), lines, "nothing was measured again")
        self.assertEqual(alone.found, found.found)
        self.assertEqual(alone.engine.to_bytes(), found.engine.to_bytes())
        self.assertGreater(len(found.found["real_layers"]), 0)
        # Where both have measured, they have measured the same; times apart.
        octet.search(rays.MODEL, samples, Loss(), journal=own, **asked)
        ours, theirs = (dict(line.rsplit(" ", 1) for line in text.splitlines()[1:] if "_us" not in line) for text in (lines, own.read_text()))
        self.assertGreater(len(ours.keys() & theirs.keys()), 20)
        self.assertEqual({key: ours[key] for key in ours.keys() & theirs.keys()}, {key: theirs[key] for key in ours.keys() & theirs.keys()})

    def test_processors_of_several_kinds(self):
        if octet.cpu_isa() == "none":
            self.skipTest("this processor has one level alone")
        # The reference takes its time; these rows are few.
        levels = ["none", "avx2"] if octet.cpu_isa() == "avx2" else ["avx2", octet.cpu_isa()]
        self.cluster.remove_node(self.nodes.pop())
        self.cluster.remove_node(self.nodes.pop())
        for level in levels:
            self.add_node(num_cpus=1, env_vars={"OCTET_CPU_ISA": level})
        # One actor on each, which prepares what it observes.
        with rays.Wrong(self, "invalid_argument", *levels):
            octet.ray.observe(self.slow("train"), rays.MODEL, workers=2)
        # These hold all processors, and nothing is prepared before them.
        seen = octet.ray.observe(rays.dataset("train", ROWS, BLOCKS), rays.MODEL, workers=2, cpu_isa=levels[0])
        self.assertEqual(seen.samples, ROWS)
        with rays.Wrong(self, "invalid_argument", "'amx9'"):
            octet.ray.observe(rays.dataset("train", 10), rays.MODEL, workers=1, cpu_isa="amx9")


class OneNode(unittest.TestCase):
    """What ray_test.py leaves out."""

    @classmethod
    def setUpClass(cls):
        ray.init(address="local", num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="error", object_store_memory=128 << 20)
        ray.data.DataContext.get_current().enable_progress_bars = False

    @classmethod
    def tearDownClass(cls):
        ray.shutdown()

    def test_offline_inference(self):
        engine = compiled(calibration=rays.images("train", 200)[0])
        predicted = rays.dataset("test", 100, blocks=4).map_batches(
            octet.ray.Predictor, fn_constructor_args=(ray.put(engine),), fn_constructor_kwargs={"rows": 8}, batch_size=None, batch_format="numpy",
            compute=ray.data.ActorPoolStrategy(size=2)).to_pandas()
        self.assertEqual(sorted(predicted.columns), ["label", "logits"])
        rows = {np.asarray(row, np.float32).tobytes() for row in predicted["logits"]}
        self.assertEqual(rows, {row.tobytes() for row in octet.Context(engine).run(rays.images("test", 100)[0])[0]})

    def test_rows_of_several_shapes(self):
        """A network that takes images of any size, of which no two are equal."""
        onnx = harness.need("onnx")
        helper = onnx.helper
        weights = np.random.default_rng(3).standard_normal((4, 1, 3, 3)).astype(np.float32)
        graph = helper.make_graph(
            [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("GlobalAveragePool", ["r"], ["y"])], "g",
            [helper.make_tensor_value_info("x", 1, ["n", 1, "h", "w"])], [helper.make_tensor_value_info("y", 1, ["n", 4, 1, 1])],
            [onnx.numpy_helper.from_array(weights, "w")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9).SerializeToString()
        random = np.random.default_rng(4)
        arrays = [random.random((1, 8 + i % 5, 12 - i % 3)).astype(np.float32) for i in range(20)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = octet.compile(model, calibration=[array[None] for array in arrays]).to_bytes()
            made = octet.ray.calibrate(ray.data.from_items([{"x": array} for array in arrays], override_num_blocks=3), model, workers=2)
        self.assertEqual(made.to_bytes(), expected)

    def test_the_page_runs(self):
        page = (harness.ROOT / "docs/ray.md").read_text()
        blocks = [block.split("```")[0] for block in page.split("```python\n")[1:]]
        self.assertGreaterEqual(len(blocks), 5)
        folder = scratch() / "page"
        folder.mkdir()
        for name in ("digits.onnx", "digits.npz"):
            shutil.copy(harness.DIGITS / name, folder)
        here = os.getcwd()
        os.chdir(folder)
        self.addCleanup(os.chdir, here)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec("".join(blocks), {})

    def test_the_recipe_for_folds(self):
        """Of docs/ray.md for Spark and Dask: the functions that both take, in the page's own words."""
        page = (harness.ROOT / "docs/ray.md").read_text()
        code = page.partition("Spark, of an RDD of arrays:\n\n")[2].partition("    model = context")[0]
        scope = {"octet": octet, "np": np, "model": types.SimpleNamespace(value=rays.MODEL.read_bytes())}
        exec(textwrap.dedent(code), scope)
        images = rays.images("train", 90)[0]
        parts = [next(scope["observed"](iter(images[begin:end]))) for begin, end in ((0, 1), (1, 60), (60, 60), (60, 90))]
        seen = functools.reduce(scope["added"], reversed(parts), octet.Observation().to_bytes())
        self.assertEqual(compiled(calibration=octet.Observation.from_bytes(seen)).to_bytes(), compiled(calibration=images).to_bytes())

    def test_what_is_wrong(self):
        good = rays.dataset("train", 10, blocks=2)
        engine = compiled()
        with rays.Wrong(self, "invalid_argument", "inputs are 'image'"):
            octet.ray.observe(good, rays.MODEL, columns={"picture": "image"})
        with rays.Wrong(self, "invalid_argument", "image"):
            octet.ray.observe(ray.data.from_numpy(np.zeros((4, 3, 8, 8), np.float32)), rays.MODEL)
        with rays.Wrong(self, "invalid_argument", "no rows"):
            octet.ray.observe(good.filter(lambda row: False), rays.MODEL)
        with self.assertRaisesRegex(ray.exceptions.RayError, "of the user's own"):
            octet.ray.observe(good.map_batches(fails), rays.MODEL)
        with rays.Wrong(self, "invalid_argument", "'class'"):
            octet.ray.evaluate(good, engine, octet.ray.top_k("class"))
        with rays.Wrong(self, "invalid_argument", "number for each of"):
            octet.ray.evaluate(good, engine, lambda outputs, batch: {"all": 1})
        with rays.Wrong(self, "invalid_argument", "no finite numbers"):
            octet.ray.evaluate(good, engine, lambda outputs, batch: {"nan": np.full(len(batch["label"]), np.nan)})


if __name__ == "__main__":
    harness.main(whole=True)

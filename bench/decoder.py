#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Milliseconds per token of a decoder of GPT-2 small's size (random weights, caches that grow): Octet with arrays of each run, Octet with caches
in place, and ONNX Runtime, token by token in turn, one thread each. All three begin with the same caches, and the scores of each token are compared.

usage: decoder.py [--layers 12] [--width 768] [--heads 12] [--past 256] [--tokens 40] [--engine INT8_ENGINE]"""

import argparse
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "build/release/python"))
import octet  # noqa: E402

WORDS, POSITIONS = 50257, 1024


class Model:
    """As exporters write it: one token, keys and values joined with those of earlier ones."""

    def __init__(self, args):
        self.layers, self.width, self.heads = args.layers, args.width, args.heads
        self.random, self.nodes, self.weights = np.random.default_rng(0), [], []

    def node(self, kind, *inputs, out=None, **attributes):
        name = out or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, value):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def table(self, rows, columns, spread):
        return self.constant((self.random.standard_normal((rows, columns), np.float32) * np.float32(spread)))

    def product(self, x, rows, columns):
        y = self.node("MatMul", x, self.table(rows, columns, rows**-0.5))
        return self.node("Add", y, self.constant(np.zeros(columns, np.float32)))

    def norm(self, x):
        return self.node("LayerNormalization", x, self.constant(np.ones(self.width, np.float32)), self.constant(np.zeros(self.width, np.float32)))

    def attention(self, x, layer):
        sizes, parts = self.constant(np.array([1, 1, self.heads, self.width // self.heads])), []
        for _ in range(3):
            part = self.node("Reshape", self.product(x, self.width, self.width), sizes)
            parts.append(self.node("Transpose", part, perm=[0, 2, 1, 3]))
        keys = self.node("Concat", f"past_key_values.{layer}.key", parts[1], out=f"present.{layer}.key", axis=2)
        values = self.node("Concat", f"past_key_values.{layer}.value", parts[2], out=f"present.{layer}.value", axis=2)
        scores = self.node("MatMul", parts[0], self.node("Transpose", keys, perm=[0, 1, 3, 2]))
        scores = self.node("Mul", scores, self.constant(np.float32((self.width // self.heads) ** -0.5)))
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), values)
        mixed = self.node("Reshape", self.node("Transpose", mixed, perm=[0, 2, 1, 3]), self.constant(np.array([1, 1, self.width])))
        return self.product(mixed, self.width, self.width)

    def save(self, path):
        x = self.node("Add", self.node("Gather", self.table(WORDS, self.width, 1), "input_ids"),
                      self.node("Gather", self.table(POSITIONS, self.width, 0.5), "position_ids"))
        for layer in range(self.layers):
            x = self.node("Add", x, self.attention(self.norm(x), layer))
            inner = self.node("Gelu", self.product(self.norm(x), self.width, 4 * self.width), approximate="tanh")
            x = self.node("Add", x, self.product(inner, 4 * self.width, self.width))
        self.node("MatMul", self.norm(x), self.table(self.width, WORDS, self.width**-0.5), out="logits")
        caches = [f"{layer}.{part}" for layer in range(self.layers) for part in ("key", "value")]

        def info(name, kind, *sizes):
            return helper.make_tensor_value_info(name, kind, sizes)

        def cache(name, length):
            return info(name, TensorProto.FLOAT, 1, self.heads, length, self.width // self.heads)

        graph = helper.make_graph(
            self.nodes, "decoder",
            [info("input_ids", TensorProto.INT64, 1, 1), info("position_ids", TensorProto.INT64, 1, 1)]
            + [cache(f"past_key_values.{name}", "past") for name in caches],
            [info("logits", TensorProto.FLOAT, 1, 1, WORDS)] + [cache(f"present.{name}", "all") for name in caches], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
        return [f"past_key_values.{name}" for name in caches]


class Arrays:
    """A runner whose caches are arrays of each run."""

    def __init__(self, run, caches):
        self.run, self.caches = run, dict(caches)

    def token(self, inputs):
        logits, *present = self.run({**inputs, **self.caches})
        self.caches = dict(zip(self.caches, present))
        return logits


class InPlace:
    """Caches as the first rows of arrays with room for all tokens."""

    def __init__(self, context, caches, rows):
        self.context, self.length, self.logits = context, next(iter(caches.values())).shape[2], np.zeros((1, 1, WORDS), np.float32)
        self.rows = {name: np.zeros((*cache.shape[:2], rows, cache.shape[3]), np.float32) for name, cache in caches.items()}
        for name, cache in caches.items():
            self.rows[name][:, :, : self.length] = cache

    def token(self, inputs):
        past = {name: rows[:, :, : self.length] for name, rows in self.rows.items()}
        self.length += 1
        self.context.run({**inputs, **past}, out=[self.logits, *(rows[:, :, : self.length] for rows in self.rows.values())], cache_rows=next(iter(self.rows.values())).shape[2])
        return self.logits


def runners(args, path, names):
    size = (1, args.heads, args.past, args.width // args.heads)
    caches = {name: np.random.default_rng(i).standard_normal(size, np.float32) for i, name in enumerate(names)}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    engine = octet.Engine.load(args.engine) if args.engine else octet.compile(path)
    rows = -(-(args.past + args.tokens + 1) // 64) * 64
    return {"Octet": Arrays(octet.Context(engine, threads=1).run, caches),
            "Octet, caches in place": InPlace(octet.Context(engine, threads=1), caches, rows),
            "ONNX Runtime": Arrays(lambda inputs: session.run(None, inputs), caches)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("layers", 12), ("width", 768), ("heads", 12), ("past", 256), ("tokens", 40)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--engine", help="an engine of the same model, INT8 for example")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "decoder.onnx")
        all_of = runners(args, path, Model(args).save(path))
    times, token, equal = {name: [] for name in all_of}, 7, 0
    for step in range(args.tokens):
        total = args.past + step
        inputs = {"input_ids": np.array([[token]]), "position_ids": np.array([[total]])}
        words = []
        for name, runner in all_of.items():
            begin = time.perf_counter()
            words.append(int(runner.token(inputs).argmax()))
            times[name].append(1e3 * (time.perf_counter() - begin))
        token = words[-1]
        equal += len(set(words)) == 1
    for name, values in times.items():
        print(f"{name:24} {statistics.median(values[2:]):8.2f} ms per token (first {values[0]:.0f})")
    print(f"{equal} of {args.tokens} tokens are the same")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Single operators in f32, at sizes of detectors, segmentation and older classifiers: Octet against ONNX Runtime, or an older octet, in turns.

    bench/operators.py --octet build/release/octet [--against OLDER] [--operators TopK,LRN]

A model of one operator for each row; figures, pinning and rounds are those of bench/fp32.py.
"""

import argparse
import dataclasses
import json
import pathlib
import tempfile

import fp32
import numpy
import onnx
import runners
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


@dataclasses.dataclass(frozen=True)
class Case:
    """`inputs` are shapes of f32, `constants` arrays behind them; `outputs` are the results' types and shapes."""

    name: str
    operator: str
    inputs: tuple
    outputs: tuple
    constants: tuple = ()
    attributes: dict = dataclasses.field(default_factory=dict)
    shapes: tuple = ()  # of the flag --shape: none is open

    def save(self, path):
        given = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, shape) for i, shape in enumerate(self.inputs)]
        made = [helper.make_tensor_value_info(f"y{i}", dtype, shape) for i, (dtype, shape) in enumerate(self.outputs)]
        held = [numpy_helper.from_array(numpy.array(value), f"c{i}") for i, value in enumerate(self.constants)]
        node = helper.make_node(self.operator, [v.name for v in (*given, *held)], [v.name for v in made], **self.attributes)
        graph = helper.make_graph([node], self.name, given, made, held)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9), path)


FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
MAP, MASKS = (1, 64, 160, 160), (1, 1, 160, 160)
CASES = [
    Case("TopK, 1000 of 120,000", "TopK", ((1, 120000),), ((FLOAT, (1, 1000)), (INT64, (1, 1000))), ([1000],)),
    Case("TopK, 300 of 8,400, 80 classes", "TopK", ((1, 8400, 80),), ((FLOAT, (1, 300, 80)), (INT64, (1, 300, 80))), ([300],), {"axis": 1}),
    Case("ReduceMax of 64 channels", "ReduceMax", (MAP,), ((FLOAT, MASKS),), (), {"axes": [1]}),
    Case("ReduceMax of pixels", "ReduceMax", (MAP,), ((FLOAT, (1, 64, 1, 1)),), (), {"axes": [2, 3]}),
    Case("ArgMax of 21 classes", "ArgMax", ((1, 21, 520, 520),), ((INT64, (1, 1, 520, 520)),), (), {"axis": 1}),
    Case("LRN", "LRN", ((1, 96, 55, 55),), ((FLOAT, (1, 96, 55, 55)),), (), {"size": 5}),
    Case("Greater", "Greater", (MAP, (1, 64, 1, 1)), ((BOOL, MAP),)),
    Case("Tile", "Tile", ((1, 64, 80, 80),), ((FLOAT, MAP),), ([1, 1, 2, 2],)),
    Case("MaxPool of rows", "MaxPool", ((1, 64, 16000),), ((FLOAT, (1, 64, 8000)),), (), {"kernel_shape": [2], "strides": [2]}),
    Case("AveragePool of rows", "AveragePool", ((1, 64, 16000),), ((FLOAT, (1, 64, 15996)),), (), {"kernel_shape": [5]}),
]


def prepare(args, case):
    """As fp32.prepare()."""
    model = args.work / f"{case.operator}.onnx"
    case.save(model)
    paths, failed = {} if args.against else {fp32.ORT: model}, {}
    for key, program in fp32.programs(args).items():
        engine = args.work / f"{case.operator}.{key}"
        try:
            runners.octet_build(program, model, engine, [])
            paths[key] = engine
        except RuntimeError as error:
            failed[key] = str(error)
    return paths, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    runners.add_program_flags(parser)
    parser.add_argument("--operators", help="names, separated by commas [all]")
    parser.add_argument("--threads", default="1", help="thread counts [1]")
    runners.add_turn_flags(parser)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "octet_bench_operators")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    wanted = set(args.operators.split(",")) if args.operators else {case.operator for case in CASES}
    rows = [fp32.measure(args, case, threads, prepare(args, case)) for case in CASES if case.operator in wanted
            for threads in map(int, args.threads.split(","))]
    if not rows:
        parser.error(f"no operator of these; there are {', '.join(sorted({case.operator for case in CASES}))}")
    report = {"versions": runners.versions(args), "networks": rows,
              **{f"geomean{of}": runners.geomean([row[f"ratio{of}"] for row in rows]) for of in ("", "_of_fastest", "_of_processor")}}
    print(json.dumps(report, indent=1)) if args.json else fp32.print_table(args, report)


if __name__ == "__main__":
    main()

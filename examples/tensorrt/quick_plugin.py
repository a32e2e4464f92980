# SPDX-License-Identifier: Apache-2.0
"""A plugin as two functions, with NumPy on the tensors' memory: circular padding of the last two axes, what python_plugin.py has as classes.
Level 10 has such plugins. The engine keeps the attributes, and is loaded where the functions are registered.

usage: quick_plugin.py ENGINE.plan"""

import sys
from typing import Tuple

import numpy as np
import numpy.typing as npt
import tensorrt as trt
import tensorrt.plugin as trtp


@trtp.register("example::circular_pad")
def describe(x: trtp.TensorDesc, pads: npt.NDArray[np.int32]) -> trtp.TensorDesc:
    padded = x.like()
    for axis, pad in ((x.ndim - 2, pads[:2]), (x.ndim - 1, pads[2:])):  # top, bottom, left, right
        padded.shape_expr[axis] += int(pad.sum())
    return padded


@trtp.impl("example::circular_pad")
def compute(x: trtp.Tensor, pads: npt.NDArray[np.int32], outputs: Tuple[trtp.Tensor], stream: int) -> None:
    top, bottom, left, right = pads
    np.asarray(outputs[0])[:] = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(top, bottom), (left, right)], "wrap")


def main():
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (1, 1, 2, 3))
    layer = network.add_plugin(trtp.op.example.circular_pad(x, pads=np.array([1, 1, 1, 1], np.int32)))
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    with open(sys.argv[1], "wb") as file:
        file.write(plan)
    engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    given, result = np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3), np.empty(tuple(engine.get_tensor_shape("y")), np.float32)
    if not context.execute_v2([given.ctypes.data, result.ctypes.data]):
        sys.exit("the run failed; the log says why")
    print(result[0, 0].astype(int).tolist())


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch on a GPU, in and out of the modules octet and tensorrt, in place and in PyTorch's streams; and arrays of CuPy. Ends
with 77 and a message where a module is not installed.

usage: arrays_check.py ENGINE [DEVICE]"""

import importlib
import json
import sys


def need(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        print(f"skipped: {error}")
        sys.exit(77)


class CudaArray:
    """What Numba's arrays say of themselves."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.__cuda_array_interface__ = {"shape": tuple(tensor.shape), "typestr": "<f4", "data": (tensor.data_ptr(), False),
                                         "strides": None, "version": 3}


def through_octet(octet, torch, engine, device, x, expected):
    context = octet.Context(engine, device=device)
    y = torch.empty(expected.shape, device=device)
    context.run(x, out=y)
    assert torch.equal(y.cpu(), expected), "octet, without a stream"
    stream = torch.cuda.Stream(device)
    with torch.cuda.stream(stream):
        late = torch.zeros_like(x)
        torch.cuda._sleep(50_000_000)  # cycles: the input is written long after the run is given
        late.copy_(x)
        z = torch.empty_like(y)
        context.run(late, out=z, stream=stream.cuda_stream)
        result = z.clone()
    stream.synchronize()
    assert torch.equal(result.cpu(), expected), "octet, in a stream"
    w = CudaArray(torch.empty_like(y))
    context.run(CudaArray(x), out=w)
    assert torch.equal(w.tensor.cpu(), expected), "octet, __cuda_array_interface__"
    try:
        context.run(x.transpose(-1, -2), out=y)
    except octet.Error as error:
        assert error.code == "invalid_argument", error.code
    else:
        raise AssertionError("a tensor that is not dense is no error")
    return ["without a stream", "in a stream", "__cuda_array_interface__"]


def through_cupy(octet, engine, device, x, expected):
    try:
        import cupy
    except ImportError as error:
        return [f"skipped: {error}"]
    context = octet.Context(engine, device=device)
    y = cupy.empty(tuple(expected.shape), cupy.float32)
    context.run(cupy.from_dlpack(x), out=y)
    assert (y.get() == expected.numpy()).all(), "cupy"
    return ["in and out"]


def through_tensorrt(torch, plan, device, x, expected):
    try:
        import tensorrt
    except ImportError as error:
        return [f"skipped: {error}"]
    runtime = tensorrt.Runtime(tensorrt.Logger(tensorrt.Logger.WARNING))
    engine = runtime.deserialize_cuda_engine(plan)
    assert engine is not None, "deserialize_cuda_engine"
    context = engine.create_execution_context()
    names = [engine.get_tensor_name(i) for i in range(engine.num_io_tensors)]
    assert context.set_input_shape(names[0], tuple(x.shape))
    y = torch.zeros(expected.shape, device=device)
    assert context.execute_v2([x.data_ptr(), y.data_ptr()]), "execute_v2"
    assert torch.equal(y.cpu(), expected), "execute_v2"
    stream = torch.cuda.Stream(device)
    with torch.cuda.stream(stream):
        late, z = torch.zeros_like(x), torch.zeros_like(y)
        torch.cuda._sleep(50_000_000)
        late.copy_(x)
        context.set_tensor_address(names[0], late.data_ptr())
        context.set_tensor_address(names[1], z.data_ptr())
        assert context.execute_async_v3(stream.cuda_stream), "execute_async_v3"
        result = z.clone()
    stream.synchronize()
    assert torch.equal(result.cpu(), expected), "execute_async_v3"
    graph = torch.cuda.CUDAGraph()
    z.zero_()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        assert context.execute_async_v3(stream.cuda_stream), "captured"
    late.copy_(x)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(z.cpu(), expected), "captured"
    return ["execute_v2", "execute_async_v3", "captured into a graph"]


def main():
    path, device = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "cuda:0"
    torch, octet = need("torch"), need("octet")
    if not torch.cuda.is_available():
        print("skipped: PyTorch finds no GPU")
        sys.exit(77)
    engine = octet.Engine.load(path)
    shape = [8 if size is None else size for size in engine.inputs[0].shape]
    given = torch.rand(shape)
    expected = torch.from_numpy(octet.Context(engine).run(given.numpy())[0])
    x = given.to(device)
    found = {"octet": through_octet(octet, torch, engine, device, x, expected),
             "cupy": through_cupy(octet, engine, device, x, expected),
             "tensorrt": through_tensorrt(torch, engine.to_bytes(), device, x, expected)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""What python -m tensorrt --torch-cuda gives a program of PyTorch (tensorrt_test.py)."""

import copy
import ctypes
import sys

import tensorrt as trt
import torch


def tensors():
    device = torch.device("cuda:0")
    host = torch.arange(4.0)
    there = host.to(device)
    assert host.device.type == "cpu" and there.device == device and there.is_cuda, "what is put there says so"
    assert (there * 2 + 1).device == device and there.half().device == device, "so does what is computed of it"
    back = (there + 1).cpu()
    assert back.device.type == "cpu" and type(back) is torch.Tensor and back.tolist() == [1, 2, 3, 4]
    assert there.to("cpu").device.type == "cpu" and host.to(there).device == device
    assert torch.zeros(2, device="cuda").is_cuda and torch.empty(2, device=0).is_cuda and not torch.zeros(2, device="cpu").is_cuda
    assert torch.nn.Linear(4, 2).to("cuda")(there).shape == (2,)


def copies():
    """Of networks, whose means and variances are no parameters; wrapped methods of torch.Tensor do not change what is computed."""
    network = torch.nn.Sequential(*(torch.nn.BatchNorm1d(width) for width in (4, 4, 4, 4))).to("cuda").eval()
    for value, norm in enumerate(network):
        norm.running_mean += value
    twin = copy.deepcopy(network)
    for norm, other in zip(network, twin):
        assert other.running_mean.is_cuda and torch.equal(norm.running_mean.cpu(), other.running_mean.cpu())
        assert norm.running_mean.data_ptr() != other.running_mean.data_ptr()
    kept = torch.Tensor.__torch_dispatch__
    torch.Tensor.__torch_dispatch__ = lambda *arguments: kept(*arguments)  # as torch2trt does with all methods
    try:
        assert twin(torch.ones(2, 4).cuda()).is_cuda
    finally:
        torch.Tensor.__torch_dispatch__ = kept


def addresses():
    """What calibrators do: the address of a tensor that is gone when the caller reads."""
    taken = [torch.full((1 << 18,), float(value)).cuda().data_ptr() for value in range(4)]
    others = [torch.full((1 << 18,), 9.0) for _ in range(4)]
    assert [ctypes.c_float.from_address(address).value for address in taken] == [0, 1, 2, 3], others


def engine(log):
    builder = trt.Builder(log)
    network = builder.create_network(0)
    relu = network.add_activation(network.add_input("x", trt.float32, (1, 2)), trt.ActivationType.RELU)
    relu.get_output(0).name = "y"
    network.mark_output(relu.get_output(0))
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    return trt.Runtime(log).deserialize_cuda_engine(plan)


def graphs():
    log = trt.Logger(trt.Logger.ERROR)
    context = engine(log).create_execution_context()
    x, y = torch.tensor([[-1.0, 1.0]]).cuda(), torch.full((1, 2), 9.0, device="cuda")
    context.set_tensor_address("x", x.data_ptr())
    context.set_tensor_address("y", y.data_ptr())
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.graph(graph, stream=stream):
        assert torch.cuda.current_stream() is stream and torch.cuda.is_current_stream_capturing()
        assert context.execute_async_v3(stream.cuda_stream)
    assert y.tolist() == [[9, 9]], "captured, not run"
    for values, expected in (([-1, 1], [0, 1]), ([3, -3], [3, 0])):
        x.copy_(torch.tensor([values]))
        graph.replay()
        assert y.tolist() == [expected]
    try:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            x + 1
    except RuntimeError as error:
        assert "in a graph of CUDA" in str(error)
    else:
        raise AssertionError("an operation of PyTorch was captured")


def main():
    assert torch.cuda.is_available() and torch.cuda.device_count() == 1 and torch.cuda.get_device_capability() == (8, 6)
    tensors()
    copies()
    addresses()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    end.record()
    assert start.elapsed_time(end) >= 0
    graphs()
    print(sys.argv[1:])


main()

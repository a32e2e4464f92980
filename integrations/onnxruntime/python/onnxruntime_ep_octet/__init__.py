# SPDX-License-Identifier: Apache-2.0
"""Octet as an execution provider of ONNX Runtime 1.24 and later.

    import onnxruntime as ort, onnxruntime_ep_octet as octet_ep

    ort.register_execution_provider_library("octet", octet_ep.get_library_path())
    devices = [d for d in ort.get_ep_devices() if d.ep_name == octet_ep.get_ep_name()]
    options = ort.SessionOptions()
    options.add_provider_for_devices(devices[:1], {})
    session = ort.InferenceSession("model.onnx", options)

The package brings no ONNX Runtime and asks for none: it works with the one that the program has."""

import pathlib

__all__ = ["get_ep_name", "get_ep_names", "get_library_path"]


def get_library_path() -> str:
    """The library that onnxruntime.register_execution_provider_library() takes."""
    path = pathlib.Path(__file__).absolute().parent / "liboctet_onnxruntime.so"
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: the package was not installed whole")
    return str(path)


def get_ep_name() -> str:
    """The name by which onnxruntime.get_ep_devices() lists the provider's devices."""
    return "OctetExecutionProvider"


def get_ep_names() -> list[str]:
    """All names of the library: one."""
    return [get_ep_name()]

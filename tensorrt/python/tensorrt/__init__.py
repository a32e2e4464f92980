# SPDX-License-Identifier: Apache-2.0
"""TensorRT's Python interface over Octet: what was written for TensorRT 8.6 or 10.x runs here, on CPUs and GPUs.

The level is chosen when the module is imported: OCTET_TENSORRT_VERSION=8.6.1 in the environment is level 8, everything that begins with
10, or nothing, level 10. docs/tensorrt-api.md says what differs.
"""

import importlib as _importlib
import os as _os
import re as _re
import sys as _sys

_folder = _os.path.dirname(_os.path.abspath(__file__))


def _refuse_two():
    """Another distribution of a module of this name beside this one: each has overwritten files of the other."""
    try:
        names = _os.listdir(_os.path.dirname(_folder))
    except OSError:
        return
    for name in sorted(names):
        if _re.fullmatch(r"tensorrt(_cu\d+)?(_bindings)?-.*\.(dist|egg)-info", name):
            raise ImportError(
                f"octet-tensorrt and {name.rsplit('.', 1)[0]} are both installed in {_os.path.dirname(_folder)}, and both are the module "
                "tensorrt; uninstall both, then install one of them (another environment takes the other)")


_refuse_two()


def _choose_level():
    asked = _os.environ.get("OCTET_TENSORRT_VERSION", "10")
    major = asked.split(".")[0]
    if major not in ("8", "10"):
        raise ImportError(f"OCTET_TENSORRT_VERSION={asked}: expected 8.6.1 or 10.x")
    return _importlib.import_module(f"._level{major}", __name__)


_level = _choose_level()
globals().update({name: value for name, value in vars(_level).items() if not name.startswith("_")})
__version__ = _level.__version__
if hasattr(_level, "IPluginV3"):
    from ._plugin_parts import (  # noqa: F401
        IPluginCapability,
        IPluginV3OneBuild,
        IPluginV3OneBuildV2,
        IPluginV3OneCore,
        IPluginV3OneRuntime,
    )

float32 = DataType.FLOAT  # noqa: F821: of the level, as what follows
float16 = DataType.HALF  # noqa: F821
int8 = DataType.INT8  # noqa: F821
int32 = DataType.INT32  # noqa: F821
bool = DataType.BOOL  # noqa: A001, F821
uint8 = DataType.UINT8  # noqa: F821
fp8 = DataType.FP8  # noqa: F821
if hasattr(DataType, "BF16"):  # noqa: F821
    bfloat16 = DataType.BF16  # noqa: F821
    int64 = DataType.INT64  # noqa: F821
    int4 = DataType.INT4  # noqa: F821
    fp4 = DataType.FP4  # noqa: F821
else:
    ResizeMode = InterpolationMode  # noqa: F821
    SliceMode = SampleMode  # noqa: F821


def nptype(trt_type):
    """The type of NumPy for a DataType. Raises TypeError for those that NumPy lacks."""
    import numpy

    names = {"FLOAT": "float32", "HALF": "float16", "INT8": "int8", "INT32": "int32", "BOOL": "bool_", "UINT8": "uint8", "INT64": "int64"}
    if trt_type.name not in names:
        raise TypeError(f"NumPy has no type for {trt_type}")
    return getattr(numpy, names[trt_type.name])


def volume(iterable):
    """The product of sizes; 1 of none."""
    product = 1
    for size in iterable:
        product *= size
    return product


# Without a GPU buffers are the host's: programs that look for the runtime of CUDA, where LD_LIBRARY_PATH says, are to find the one whose
# memory that is.
cudart_folder = _os.path.join(_folder, "cudart")
stand_ins_folder = _os.path.join(_folder, "stand_ins")


def _runs_on_gpu():
    device = _os.environ.get("OCTET_TENSORRT_DEVICE", "")
    return device.startswith("cuda") or (not device and any(map(_os.path.exists, ("/dev/nvidiactl", "/dev/dxg"))))


def _provide_cudart():
    if _runs_on_gpu():
        return
    folders = [folder for folder in _os.environ.get("LD_LIBRARY_PATH", "").split(_os.pathsep) if folder]
    if cudart_folder not in folders:
        _os.environ["LD_LIBRARY_PATH"] = _os.pathsep.join([cudart_folder, *folders])


def _provide_stand_ins():
    """Programs allocate by pycuda or cuda-python, which do nothing without a GPU: in front of these, behind the program's own folder."""
    if stand_ins_folder not in _sys.path and not _runs_on_gpu():
        _sys.path.insert(1, stand_ins_folder)


# What TensorRT has and this module has not, with what to do instead.
_ABSENT = {
    "IAlgorithmSelector": "kernels are not chosen by clients; choices that were measured are kept by IBuilderConfig.set_timing_cache()",
    "IPluginCreatorV3Quick": "functions become plugins by tensorrt.plugin.register() and impl()",
    "CaffeParser": "convert the model to ONNX",
    "UffParser": "convert the model to ONNX",
}


def __getattr__(name):
    if name == "plugin" and hasattr(_level, "IPluginV3"):
        return _importlib.import_module(".plugin", __name__)
    advice = f": {_ABSENT[name]}" if name in _ABSENT else ""
    raise AttributeError(f"module 'tensorrt' has no attribute '{name}'{advice}")


_provide_cudart()
_provide_stand_ins()

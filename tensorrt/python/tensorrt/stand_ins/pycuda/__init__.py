# SPDX-License-Identifier: Apache-2.0
"""Stands in for pycuda where there is no GPU: memory of the device is the host's. pycuda.driver and pycuda.autoinit are all of it."""

VERSION = (2024, 1)
VERSION_STATUS = ""
VERSION_TEXT = "2024.1"


def __getattr__(name):
    from tensorrt import _cudart

    raise _cudart.absent(__name__, name)

# SPDX-License-Identifier: Apache-2.0
"""CUDA's compiler, which there is nothing to run for: the module that helpers of programs import, and its error type."""

import enum

from tensorrt import _cudart


class nvrtcResult(enum.IntEnum):
    NVRTC_SUCCESS = 0


def __getattr__(name):
    raise _cudart.absent(__name__, name)

# SPDX-License-Identifier: Apache-2.0
"""The name of cuda.bindings.runtime in cuda-python's versions before 12.6."""

from cuda.bindings.runtime import *  # noqa: F403
from cuda.bindings.runtime import __getattr__  # noqa: F401

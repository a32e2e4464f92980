# SPDX-License-Identifier: Apache-2.0
"""The name of cuda.bindings.driver in cuda-python's versions before 12.6."""

from cuda.bindings.driver import *  # noqa: F403
from cuda.bindings.driver import __getattr__  # noqa: F401

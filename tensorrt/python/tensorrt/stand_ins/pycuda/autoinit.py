# SPDX-License-Identifier: Apache-2.0
"""The context that programs make by importing this."""

import pycuda.driver as _driver

_driver.init()
device = _driver.Device(0)
context = device.make_context()

# SPDX-License-Identifier: Apache-2.0
"""Stands in for cuda-python where there is no GPU: memory of the device is the host's."""

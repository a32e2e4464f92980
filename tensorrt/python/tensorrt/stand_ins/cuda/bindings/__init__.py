# SPDX-License-Identifier: Apache-2.0
"""cuda-python's modules as its versions from 12.6 on name them."""

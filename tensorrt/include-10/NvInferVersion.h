// SPDX-License-Identifier: Apache-2.0
// Level 10 of the interface.
#pragma once

#define NV_TENSORRT_MAJOR 10
#define NV_TENSORRT_MINOR 16
#define NV_TENSORRT_PATCH 1
#define NV_TENSORRT_BUILD 11

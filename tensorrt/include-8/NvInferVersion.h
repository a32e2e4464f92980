// SPDX-License-Identifier: Apache-2.0
// Level 8 of the interface.
#pragma once

#define NV_TENSORRT_MAJOR 8
#define NV_TENSORRT_MINOR 6
#define NV_TENSORRT_PATCH 1
#define NV_TENSORRT_BUILD 6

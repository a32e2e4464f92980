// SPDX-License-Identifier: Apache-2.0
// The library of plugins.
#pragma once

#include "trt_entry.h"

extern "C" bool initLibNvInferPlugins(void* logger, char const* libNamespace) noexcept;

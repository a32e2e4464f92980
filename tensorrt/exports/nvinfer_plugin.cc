// SPDX-License-Identifier: Apache-2.0
// The C function of libnvinfer_plugin. What its plugins do is done by operators of the importer.
#include "NvInferPlugin.h"

extern "C" __attribute__((visibility("default"))) bool initLibNvInferPlugins(void*,
                                                                             char const*) noexcept {
  return true;
}

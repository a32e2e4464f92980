// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "NvInfer.h"

namespace octet_trt {

struct PluginName;

// Of the process. It is there before main and needs no logger.
nvinfer1::IPluginRegistry& registry();

struct FoundCreator {
  nvinfer1::IPluginCreator* v2 = nullptr;
#if NV_TENSORRT_MAJOR >= 10
  nvinfer1::IPluginCreatorV3One* v3 = nullptr;
  nvinfer1::IPluginCreatorV3Quick* quick = nullptr;
  bool is_v3() const { return v3 != nullptr || quick != nullptr; }
#else
  bool is_v3() const { return false; }
#endif
  explicit operator bool() const { return v2 != nullptr || is_v3(); }
};
FoundCreator find_creator(const PluginName& name);
// The namespaces in which a plugin of this type and version has a creator.
std::vector<std::string> creator_spaces(const std::string& type, const std::string& version);

std::vector<std::string> creator_spaces_of(const std::string& type);  // of any version

// The same text at an address that stays: clients keep pointers.
const char* kept_text(const std::string& text);

}  // namespace octet_trt

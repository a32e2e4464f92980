// SPDX-License-Identifier: Apache-2.0
// A model that waits to be parsed, or to refit an engine, with weights that its client brings.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace octet_trt {

class LoadedModel {
 public:
  // Both throw octet::Error: a second model, a weight that the model has not, or of other bytes.
  void load(std::string_view bytes, std::string folder);
  void set(const char* name, const void* data, size_t size);

  // With these weights in it, which the client keeps until then. Throws octet::Error where none is loaded.
  std::string bytes() const;
  const std::string& folder() const { return folder_; }

 private:
  std::string with_weights(std::string_view graph) const;

  std::string model_;
  std::string folder_;
  bool is_loaded_ = false;
  std::map<std::string, size_t> sizes_;  // of the model's weights, in bytes
  std::map<std::string, std::string_view> given_;
};

}  // namespace octet_trt

// SPDX-License-Identifier: Apache-2.0
// Fields that plugins are made from: of a node's attributes, and as bytes in a plan.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "tensorrt/plugins/object.h"
#include "tensorrt/shared/onnx_text.h"

namespace octet_trt {

// Fields with what they point to.
class FieldStore {
 public:
  FieldStore() = default;
  FieldStore(FieldStore&&) = default;  // texts stay where they are
  void add(const std::string& name, PluginFieldType type, std::string bytes, int32_t length);
  // Valid as long as the store.
  PluginFieldCollection collection() const;

 private:
  std::deque<std::string> texts_;
  std::vector<PluginField> fields_;
};

// Attributes of nodes that tell the parser about a plugin. They are fields of it where its creator declares them.
inline constexpr const char* kPluginVersion = "plugin_version";
inline constexpr const char* kPluginNamespace = "plugin_namespace";
inline constexpr const char* kShapeInputIndices = "tensorrt_plugin_shape_input_indices";

// A node's other attributes, in the order in which its creator declares them. One of the declared kind is of the declared type; of another
// kind it keeps its own, and the log says so, as of what is left out. `shown` is the node's name. Throws octet::Error.
FieldStore fields_of_node(const OnnxNode& node, const std::string& shown,
                          const PluginFieldCollection* declared, const Reporter& reporter);

// As bytes, of which read_fields() makes the same. Both throw octet::Error.
std::string write_fields(const PluginName& name, const PluginFieldCollection& fields);
FieldStore read_fields(std::string_view bytes);

}  // namespace octet_trt

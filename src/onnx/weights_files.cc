// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <string>

#include "octet/error.h"
#include "octet/weights.h"
#include "onnx/model_reader.h"
#include "onnx/tensor_reader.h"
#include "onnx/text.h"

namespace octet {
namespace {

// Bodies of control flow included. The parser bounds how deep they lie in each other.
void collect(const octet_onnx::GraphProto& graph, std::set<std::string>& locations) {
  for (const octet_onnx::TensorProto& tensor : graph.initializer()) {
    if (is_external(tensor)) locations.insert(external_slice(tensor).location);
  }
  for (const octet_onnx::NodeProto& node : graph.node()) {
    for (const octet_onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) collect(attribute.g(), locations);
    }
  }
}

}  // namespace

std::vector<std::filesystem::path> weights_files(const std::filesystem::path& onnx_file) try {
  const s64 max_bytes = default_max_bytes();
  const auto model = parse_model(read_model_file(onnx_file, max_bytes), max_bytes);
  std::set<std::string> locations;
  collect(model.graph(), locations);
  std::vector<std::filesystem::path> files;
  for (const std::string& location : locations) files.push_back(onnx_file.parent_path() / location);
  return files;
} catch (Error& error) {
  error.add_context("reading " + quote_name(onnx_file.string()));
  throw;
}

}  // namespace octet

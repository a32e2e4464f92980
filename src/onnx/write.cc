// SPDX-License-Identifier: Apache-2.0
#include "onnx/write.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

#include "core/check.h"
#include "graph/op_def.h"
#include "onnx/model_writer.h"

namespace octet {
namespace {

constexpr s64 kOldestOpset = 17;

void check_writable(const Graph& graph) {
  constexpr size_t kShown = 50;
  std::vector<std::string> lines;
  for (const Node& node : graph.nodes) {
    if (const std::string why = unwritable(graph, node); !why.empty())
      lines.push_back(fmt::format("{}: {}", describe(node), why));
  }
  if (lines.empty()) return;
  const size_t count = lines.size();
  lines.resize(std::min(count, kShown));
  fail(Error::Code::unsupported,
       "standard ONNX operators cannot stand for {} of its nodes:\n  {}{}", count,
       fmt::join(lines, "\n  "),
       count > kShown ? fmt::format("\n  and {} more", count - kShown) : "");
}

s64 opset_of_graph(const Graph& graph) {
  s64 opset = kOldestOpset;
  for (const Node& node : graph.nodes) opset = std::max(opset, opset_of(graph, node));
  return opset;
}

// The file format that came with the opset.
s64 ir_version_of(s64 opset) {
  constexpr s64 kIrOf17 = 8;
  constexpr s64 kSteps[] = {19, 21, 23, 24, 25};  // opsets that brought the next one
  return kIrOf17 + std::ranges::count_if(kSteps, [&](s64 step) { return opset >= step; });
}

s64 constant_bytes(const Graph& graph) {
  s64 bytes = 0;
  for (ValueId id = 0; id < graph.value_count(); ++id)
    bytes += static_cast<s64>(graph.value(id).constant ? graph.value(id).constant.bytes() : 0);
  return bytes;
}

void add_opsets(const Graph& graph, s64 opset, octet_onnx::ModelProto& model) {
  model.add_opset_import()->set_version(opset);
  std::set<std::string_view> others;
  for (const Node& node : graph.nodes) {
    if (!node.op->domain.empty() && node.op->domain != "octet") others.insert(node.op->domain);
  }
  for (std::string_view domain : others) {
    auto& import = *model.add_opset_import();
    import.set_domain(std::string(domain));
    import.set_version(1);
  }
}

void add_metadata(const char* key, const std::vector<std::string>& names,
                  octet_onnx::ModelProto& model) {
  if (names.empty()) return;
  auto& entry = *model.add_metadata_props();
  entry.set_key(key);
  entry.set_value(fmt::format("{}", fmt::join(names, "\n")));
}

}  // namespace

WrittenModel write_onnx(const Graph& source, const WriteOptions& options) {
  Graph graph = source;
  remove_dead_nodes(graph);
  graph.compact();
  check_writable(graph);
  if (constant_bytes(graph) > std::numeric_limits<s32>::max() / 2)
    fail(Error::Code::invalid_argument,
         "its weights need more than the 1 GiB that one ONNX file is written with");
  WrittenModel result;
  result.opset = opset_of_graph(graph);
  ModelWriter writer(graph, result.opset);
  writer.add_interface();
  for (const Node& node : graph.nodes) write_node(writer, node);
  writer.add_constants();
  result.kept_float = writer.kept_float();
  octet_onnx::ModelProto model;
  model.set_ir_version(ir_version_of(result.opset));
  model.set_producer_name("octet");
  model.set_producer_version(options.producer_version);
  *model.mutable_graph() = writer.take();
  result.nodes = model.graph().node_size();
  add_opsets(graph, result.opset, model);
  add_metadata(kKeepFloatKey, writer.kept_float(), model);
  add_metadata(kExactKey, writer.exact(), model);
  add_metadata(kEqualizedKey, options.equalized, model);
  result.bytes.resize(model.ByteSizeLong());
  OCTET_CHECK(model.SerializeToArray(result.bytes.data(), static_cast<int>(result.bytes.size())));
  return result;
}

}  // namespace octet

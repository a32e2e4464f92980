// SPDX-License-Identifier: Apache-2.0
// The order of the import: header, functions, support check, weights files, then the graphs (graph_importer.h).
#include "onnx/import.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "core/check.h"
#include "core/content_hash.h"
#include "core/memory.h"
#include "graph/op_traits.h"
#include "onnx/external_data.h"
#include "onnx/flatten.h"
#include "onnx/graph_importer.h"
#include "onnx/model_reader.h"
#include "onnx/sequences.h"
#include "onnx/support.h"
#include "onnx/tensor_reader.h"
#include "onnx/text.h"
#include "onnx/write.h"
#include "ops/attributes/marks.h"

namespace octet {
namespace {

using octet_onnx::ModelProto;
using octet_onnx::TensorProto;

s64 max_bytes_of(const ImportOptions& options) {
  return options.max_bytes > 0 ? options.max_bytes : default_max_bytes();
}

void open_all(ExternalData& external, const octet_onnx::GraphProto& main, const FlatGraph& flat) {
  std::vector<std::string> locations;
  const auto collect = [&](const octet_onnx::GraphProto& graph) {
    for (const TensorProto& tensor : graph.initializer()) {
      if (is_external(tensor)) locations.push_back(external_slice(tensor).location);
    }
  };
  collect(main);
  for_each_body(flat.nodes, [&](const FlatBody& body) { collect(*body.proto); });
  external.open_all(locations);
}

// Runs a stage; its problem is thrown, or collected where the options ask for that. False: it failed.
template <class Stage>
bool attempt(const ImportOptions& options, const Stage& stage) {
  try {
    stage();
    return true;
  } catch (const Error& error) {
    if (options.problems == nullptr) throw;
    options.problems->push_back(error);
    return false;
  }
}

std::vector<std::string_view> lines_in_metadata(const ModelProto& model, const char* key) {
  std::vector<std::string_view> lines;
  for (const auto& entry : model.metadata_props()) {
    std::string_view rest = entry.key() == key ? entry.value() : std::string_view();
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      lines.push_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return lines;
}

std::unordered_set<std::string_view> names_in_metadata(const ModelProto& model, const char* key) {
  const std::vector<std::string_view> lines = lines_in_metadata(model, key);
  return {lines.begin(), lines.end()};
}

// Files of ours say which nodes stay real (onnx/write.h): Q/DQ around them serve their neighbours.
void keep_marked_nodes(const ModelProto& model, Graph& graph) {
  const auto kept = names_in_metadata(model, kKeepFloatKey),
             exact = names_in_metadata(model, kExactKey);
  for (Node& node : graph.nodes) {
    if (kept.contains(node.name))
      node.decision = {Precision::f32, ReasonCode::kept_by_user, "the file keeps it real"};
    if (exact.contains(node.name) && node.op->traits->integer_product != nullptr)
      set_attribute<&ExactAttributes::exact>(node.attrs, true);
  }
}

void read_metadata(const ModelProto& model, ImportInfo& info) {
  const std::vector<std::string_view> equalized = lines_in_metadata(model, kEqualizedKey);
  info.equalized.assign(equalized.begin(), equalized.end());
  constexpr size_t kMostEntries = 1000, kMostBytes = 4096;
  for (const auto& entry : model.metadata_props()) {
    if (info.metadata.size() == kMostEntries) return;
    if (entry.key().size() + entry.value().size() <= kMostBytes)
      info.metadata.emplace_back(entry.key(), entry.value());
  }
}

// One line for all of them.
void note_real_weights(ImportInfo& info) {
  if (info.real_weights.empty()) return;
  info.warnings.push_back(fmt::format(
      "the weights of {} node{} (first {}) are codes that no integer operator here takes as they "
      "stand: the engine is made from their real values",
      info.real_weights.size(), info.real_weights.size() == 1 ? "" : "s",
      quote_name(info.real_weights[0])));
}

Graph import_model(ModelProto& model, const ImportOptions& options, ImportInfo& info,
                   ContentDigest& weights) {
  const s64 max_bytes = max_bytes_of(options);
  read_header(model, info);
  read_metadata(model, info);
  FlatGraph flat = flatten(model);
  resolve_sequences(model, flat);
  attempt(options, [&] { check_support(flat, info); });
  ExternalData external(options.external_data_folder, options.external_data_root);
  if (!attempt(options, [&] { open_all(external, model.graph(), flat); })) return {};
  TensorReader tensors(external, max_bytes, info.warnings);
  ImportContext context{options, info, tensors};
  Graph graph = GraphImporter(context, *model.mutable_graph(), flat.nodes).run();
  keep_marked_nodes(model, graph);
  note_real_weights(info);
  weights = external.digest();
  return graph;
}

std::string hash_of(std::span<const std::byte> file, const ContentDigest& weights) {
  ContentDigest hash = digest_of(file);
  hash += weights;
  return hash.hex();
}

Graph import_bytes(std::span<const std::byte> bytes, const ImportOptions& options,
                   ImportInfo* info) {
  ImportInfo scratch;
  ImportInfo& filled = info != nullptr ? *info : scratch;
  ModelProto model = parse_model(bytes, max_bytes_of(options));
  ContentDigest weights;
  Graph graph = import_model(model, options, filled, weights);
  filled.hash = hash_of(bytes, weights);
  return graph;
}

}  // namespace

std::string model_hash(std::span<const std::byte> bytes) {
  return hash_of(bytes, ExternalData({}, {}).digest());
}

Graph import_onnx(std::span<const std::byte> bytes, const ImportOptions& options,
                  ImportInfo* info) {
  return import_bytes(bytes, options, info);
}

Graph import_onnx(const std::filesystem::path& file, const ImportOptions& options,
                  ImportInfo* info) try {
  ImportOptions beside = options;
  if (beside.external_data_folder.empty()) {
    beside.external_data_folder = file.has_parent_path() ? file.parent_path() : ".";
  }
  return without_bad_alloc(
      [&] { return import_bytes(read_model_file(file, max_bytes_of(options)), beside, info); });
} catch (Error& error) {
  error.add_context("importing " + quote_name(file.string()));
  throw;
}

Tensor import_tensor(const std::filesystem::path& file) try {
  const s64 max_bytes = default_max_bytes();
  const std::vector<std::byte> bytes = read_model_file(file, max_bytes);
  TensorProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    fail(Error::Code::invalid_argument, "not a serialized ONNX tensor");
  }
  ExternalData external({}, {});
  std::vector<std::string> warnings;
  return TensorReader(external, max_bytes, warnings).read(proto);
} catch (Error& error) {
  error.add_context("reading " + quote_name(file.string()));
  throw;
}

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "octet/extract.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "core/check.h"
#include "core/memory.h"
#include "octet/value_types.h"
#include "onnx/cut.h"
#include "onnx/model_reader.h"
#include "onnx/text.h"
#include "ops/shared/dtypes.h"
#include "pipeline/network_outputs.h"

namespace octet {
namespace {

using octet_onnx::ModelProto;
using octet_onnx::ValueInfoProto;

std::filesystem::path folder_with_weights(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : ".";
}

// Types that the file does not declare, as far as they can be inferred of the whole model.
class MissingTypes {
 public:
  MissingTypes(std::span<const std::byte> model, std::filesystem::path folder)
      : model_(model), folder_(std::move(folder)) {}

  // An output may go without a type; an input that has none cannot be read again.
  void fill(ValueInfoProto& info, bool is_input) {
    if (info.type().tensor_type().elem_type() != 0) return;
    const TensorType* type = find(info.name());
    if (type == nullptr) {
      if (!is_input) return;
      fail(Error::Code::unsupported,
           "the file does not say what type {} has, and it cannot be inferred{}; cut elsewhere",
           quote_name(info.name()), why_.empty() ? "" : ": " + why_);
    }
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(dtype_to_onnx(type->dtype));
    if (type->shape.is_unknown()) return;
    for (const int64_t size : type->shape) {
      auto& dim = *tensor.mutable_shape()->add_dim();
      if (size >= 0) dim.set_dim_value(size);
    }
  }

 private:
  const TensorType* find(const std::string& name) {
    if (!asked_) infer();
    const auto at = types_.find(name);
    return at == types_.end() ? nullptr : &at->second;
  }

  void infer() {
    asked_ = true;
    try {
      for (TensorInfo& info : value_types(model_, folder_))
        types_.emplace(std::move(info.name), info.type);
    } catch (const Error& error) {
      why_ = error.message();
    }
  }

  std::span<const std::byte> model_;
  std::filesystem::path folder_;
  bool asked_ = false;
  std::unordered_map<std::string, TensorType> types_;
  std::string why_;
};

TensorInfo told(const ValueInfoProto& info) {
  TensorInfo told{info.name(), {}};
  const auto& tensor = info.type().tensor_type();
  if (const auto dtype = find_onnx_dtype(tensor.elem_type())) told.type.dtype = *dtype;
  if (!tensor.has_shape()) {
    told.type.shape = Shape::unknown();
    return told;
  }
  for (const auto& dim : tensor.shape().dim())
    told.type.shape.push_back(dim.has_dim_value() ? dim.dim_value() : Shape::kDynamic);
  return told;
}

std::vector<std::byte> serialized(ModelProto& model) {
  model.set_producer_name("octet");
  if (model.ByteSizeLong() > static_cast<size_t>(std::numeric_limits<s32>::max())) {
    fail(Error::Code::unsupported, "the part has {} bytes, one ONNX file ends at 2 GiB",
         model.ByteSizeLong());
  }
  std::vector<std::byte> bytes(model.ByteSizeLong());
  OCTET_CHECK(model.SerializeToArray(bytes.data(), static_cast<int>(bytes.size())));
  return bytes;
}

std::vector<std::byte> extract(const std::filesystem::path& file, const ExtractOptions& options,
                               ExtractReport& report) {
  const std::vector<std::byte> whole = read_model_file(file, default_max_bytes());
  ModelProto model = parse_model(whole, default_max_bytes());
  auto& graph = *model.mutable_graph();
  report.all_nodes = graph.node_size();
  cut_graph(graph, options);
  ExternalData external(folder_with_weights(file), {});
  embed_weights(graph, external);
  MissingTypes missing(whole, folder_with_weights(file));
  for (ValueInfoProto& input : *graph.mutable_input()) missing.fill(input, true);
  for (ValueInfoProto& output : *graph.mutable_output()) missing.fill(output, false);
  report.nodes = graph.node_size();
  report.initializers = graph.initializer_size() + graph.sparse_initializer_size();
  for (const ValueInfoProto& input : graph.input()) report.inputs.push_back(told(input));
  for (const ValueInfoProto& output : graph.output()) report.outputs.push_back(told(output));
  return serialized(model);
}

std::vector<std::byte> with_outputs(const std::filesystem::path& file,
                                    const std::vector<std::string>& tensors,
                                    std::vector<std::string>& added) {
  ModelProto model = parse_model(read_model_file(file, default_max_bytes()), default_max_bytes());
  add_network_values(model, tensors);
  added = add_outputs(*model.mutable_graph(), tensors);
  ExternalData external(folder_with_weights(file), {});
  embed_weights(*model.mutable_graph(), external);
  return serialized(model);
}

}  // namespace

std::vector<std::byte> onnx_with_outputs(const std::filesystem::path& onnx_file,
                                         const std::vector<std::string>& tensors,
                                         std::vector<std::string>& added) try {
  return without_bad_alloc([&] { return with_outputs(onnx_file, tensors, added); });
} catch (Error& error) {
  error.add_context("looking into " + quote_name(onnx_file.string()));
  throw;
}

std::vector<std::byte> extract_onnx(const std::filesystem::path& onnx_file,
                                    const ExtractOptions& options, ExtractReport* report) try {
  ExtractReport local;
  ExtractReport& out = report != nullptr ? *report : local;
  out = {};
  return without_bad_alloc([&] { return extract(onnx_file, options, out); });
} catch (Error& error) {
  error.add_context("cutting " + quote_name(onnx_file.string()));
  throw;
}

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "onnx/cut.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/check.h"
#include "core/small_types.h"
#include "octet/closest.h"
#include "onnx/model_reader.h"
#include "onnx/tensor_reader.h"
#include "onnx/text.h"

namespace octet {
namespace {

using octet_onnx::GraphProto;
using octet_onnx::NodeProto;
using octet_onnx::ValueInfoProto;
using NameSet = std::unordered_set<std::string>;

template <class Bodies>
void each_body(Bodies& nodes, const auto& visit) {
  for (auto& node : nodes) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) visit(*attribute.mutable_g());
      for (auto& graph : *attribute.mutable_graphs()) visit(graph);
    }
  }
}

// What a body reads by name, its own values among them: a name is defined once in a model, so these are not found outside.
void add_reads(GraphProto& body, NameSet& names) {
  for (const NodeProto& node : body.node()) names.insert(node.input().begin(), node.input().end());
  for (const ValueInfoProto& output : body.output()) names.insert(output.name());
  each_body(*body.mutable_node(), [&](GraphProto& inner) { add_reads(inner, names); });
}

class Cutter {
 public:
  Cutter(GraphProto& graph, const ExtractOptions& options) : graph_(graph), options_(options) {
    for (int n = 0; n < graph.node_size(); ++n) {
      for (const std::string& output : graph.node(n).output()) {
        if (!output.empty()) producer_.emplace(output, n);
      }
    }
    for (const auto& tensor : graph.initializer()) constants_.insert(tensor.name());
    for (const auto& tensor : graph.sparse_initializer()) constants_.insert(tensor.values().name());
    for (const ValueInfoProto& input : graph.input()) {
      if (!constants_.contains(input.name())) inputs_.insert(input.name());
    }
    for (const auto* list : {&graph.value_info(), &graph.output(), &graph.input()}) {
      for (const ValueInfoProto& info : *list) declared_[info.name()] = info;
    }
  }

  void run() {
    std::vector<std::string> outputs = options_.outputs;
    if (outputs.empty()) {
      for (const ValueInfoProto& output : graph_.output()) outputs.push_back(output.name());
    }
    const NameSet stops(options_.inputs.begin(), options_.inputs.end());
    check_names(outputs);
    walk(outputs, stops);
    check_inputs(stops);
    if (!wrong_.empty()) {
      fail(Error::Code::invalid_argument, "the model cannot be cut so:\n  {}",
           fmt::join(wrong_, "\n  "));
    }
    keep(outputs);
  }

 private:
  bool is_known(const std::string& name) const {
    return producer_.contains(name) || inputs_.contains(name);
  }

  void check_names(const std::vector<std::string>& outputs) {
    std::vector<std::string> known(inputs_.begin(), inputs_.end());
    for (const auto& [name, node] : producer_) known.push_back(name);
    std::ranges::sort(known);
    NameSet seen;
    for (const auto* list : {&options_.inputs, &outputs}) {
      for (const std::string& name : *list) {
        if (!is_known(name)) {
          wrong_.push_back(fmt::format("{} is no tensor that the graph computes{}",
                                       quote_name(name), did_you_mean(name, known)));
        }
      }
    }
    for (const std::string& name : options_.inputs) {
      if (!seen.insert(name).second) wrong_.push_back(quote_name(name) + " is named twice");
      if (std::ranges::find(outputs, name) != outputs.end())
        wrong_.push_back(quote_name(name) + " is named as an input and as an output");
    }
    seen.clear();
    for (const std::string& name : outputs) {
      if (!seen.insert(name).second) wrong_.push_back(quote_name(name) + " is named twice");
    }
  }

  // From the outputs back to the tensors where the part begins.
  void walk(const std::vector<std::string>& outputs, const NameSet& stops) {
    std::vector<std::string> open = outputs;
    while (!open.empty()) {
      const std::string name = std::move(open.back());
      open.pop_back();
      if (name.empty() || !needed_.insert(name).second || stops.contains(name)) continue;
      const auto at = producer_.find(name);
      if (at == producer_.end() || !nodes_.insert(at->second).second) continue;
      NodeProto& node = *graph_.mutable_node(at->second);
      open.insert(open.end(), node.input().begin(), node.input().end());
      NameSet inside;
      for (auto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) add_reads(*attribute.mutable_g(), inside);
        for (auto& body : *attribute.mutable_graphs()) add_reads(body, inside);
      }
      for (const std::string& read : inside) {
        if (is_known(read) || constants_.contains(read)) open.push_back(read);
      }
    }
  }

  void check_inputs(const NameSet& stops) {
    if (!wrong_.empty()) return;
    for (const std::string& name : options_.inputs) {
      if (!needed_.contains(name))
        wrong_.push_back(fmt::format("input {} is not needed for the outputs", quote_name(name)));
    }
    if (stops.empty()) return;
    for (const ValueInfoProto& input : graph_.input()) {
      const std::string& name = input.name();
      if (inputs_.contains(name) && needed_.contains(name) && !stops.contains(name)) {
        wrong_.push_back(fmt::format("the outputs also need {}, an input of the model; name it too",
                                     quote_name(name)));
      }
    }
  }

  void keep(const std::vector<std::string>& outputs) {
    GraphProto part;
    part.set_name(graph_.name());
    const auto describe = [&](const std::string& name, ValueInfoProto& info) {
      if (const auto at = declared_.find(name); at != declared_.end()) info = at->second;
      info.set_name(name);
    };
    if (options_.inputs.empty()) {
      for (const ValueInfoProto& input : graph_.input()) {
        if (inputs_.contains(input.name()) && needed_.contains(input.name()))
          *part.add_input() = input;
      }
    }
    for (const std::string& name : options_.inputs) describe(name, *part.add_input());
    for (const std::string& name : outputs) describe(name, *part.add_output());
    // In their own order. Messages are swapped, never copied: weights may be many.
    for (int n = 0; n < graph_.node_size(); ++n) {
      if (nodes_.contains(n)) part.add_node()->Swap(graph_.mutable_node(n));
    }
    for (auto& tensor : *graph_.mutable_initializer()) {
      if (needed_.contains(tensor.name())) part.add_initializer()->Swap(&tensor);
    }
    for (auto& tensor : *graph_.mutable_sparse_initializer()) {
      if (needed_.contains(tensor.values().name())) part.add_sparse_initializer()->Swap(&tensor);
    }
    for (auto& info : *graph_.mutable_value_info()) {
      if (needed_.contains(info.name())) part.add_value_info()->Swap(&info);
    }
    graph_.Swap(&part);
  }

  GraphProto& graph_;
  const ExtractOptions& options_;
  std::unordered_map<std::string, int> producer_;
  std::unordered_map<std::string, ValueInfoProto> declared_;
  NameSet constants_, inputs_, needed_;
  std::unordered_set<int> nodes_;
  std::vector<std::string> wrong_;
};

// Elements of less than a byte stay packed as they lie in the file.
void embed(octet_onnx::TensorProto& tensor, ExternalData& external, TensorReader& reader) {
  if (!is_external(tensor)) return;
  octet_onnx::TensorProto described = tensor;
  const Tensor value = reader.read(described);
  std::string raw(reinterpret_cast<const char*>(value.data()), value.bytes());
  if (is_small_dtype(value.dtype())) {
    const ExternalSlice slice = external_slice(tensor);
    if (slice.length < 0) {
      fail(Error::Code::unsupported, "{} lies in a file of its own without a length",
           quote_name(tensor.name()));
    }
    raw.resize(static_cast<size_t>(slice.length));
    external.read(slice, slice.length, reinterpret_cast<std::byte*>(raw.data()));
  }
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(std::move(raw));
}

void add_locations(GraphProto& graph, std::vector<std::string>& locations) {
  for (const auto& tensor : graph.initializer()) {
    if (is_external(tensor)) locations.push_back(external_slice(tensor).location);
  }
  each_body(*graph.mutable_node(), [&](GraphProto& body) { add_locations(body, locations); });
}

void embed_in(GraphProto& graph, ExternalData& external, TensorReader& reader) {
  for (auto& tensor : *graph.mutable_initializer()) embed(tensor, external, reader);
  for (NodeProto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) embed(*attribute.mutable_t(), external, reader);
    }
  }
  each_body(*graph.mutable_node(), [&](GraphProto& body) { embed_in(body, external, reader); });
}

}  // namespace

void cut_graph(GraphProto& graph, const ExtractOptions& options) { Cutter(graph, options).run(); }

std::vector<std::string> add_outputs(GraphProto& graph, const std::vector<std::string>& tensors) {
  NameSet computed;
  for (const NodeProto& node : graph.node())
    computed.insert(node.output().begin(), node.output().end());
  for (const ValueInfoProto& output : graph.output()) computed.erase(output.name());
  std::vector<std::string> added;
  for (const std::string& name : tensors) {
    if (computed.erase(name) == 0) continue;
    graph.add_output()->set_name(name);
    added.push_back(name);
  }
  return added;
}

void embed_weights(GraphProto& graph, ExternalData& external) {
  std::vector<std::string> locations;
  add_locations(graph, locations);
  std::ranges::sort(locations);
  locations.erase(std::unique(locations.begin(), locations.end()), locations.end());
  external.open_all(locations);
  std::vector<std::string> warnings;
  TensorReader reader(external, default_max_bytes(), warnings);
  embed_in(graph, external, reader);
}

}  // namespace octet

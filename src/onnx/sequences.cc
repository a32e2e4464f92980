// SPDX-License-Identifier: Apache-2.0
#include "onnx/sequences.h"

#include <cstring>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

#include "ops/shared/dtypes.h"

namespace octet {
namespace {

using octet_onnx::NodeProto;
using octet_onnx::TensorProto;
using Names = std::vector<std::string>;

constexpr size_t kMostNames = size_t{1}
                              << 20;  // of all sequences together: each insertion makes a new one

template <class T>
std::optional<std::vector<s64>> raw_integers(const std::string& bytes) {
  std::vector<s64> values;
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    values.push_back(value);
  }
  return values;
}

// Of a small constant inside the file.
std::optional<std::vector<s64>> integers(const TensorProto& tensor) {
  constexpr size_t kMostBytes = 4096;
  constexpr int kMostValues = 512;
  const bool wide = tensor.data_type() == dtype_to_onnx(Dtype::s64);
  if ((!wide && tensor.data_type() != dtype_to_onnx(Dtype::s32)) ||
      tensor.external_data_size() != 0 || tensor.dims_size() > 1 ||
      tensor.raw_data().size() > kMostBytes || tensor.int64_data_size() > kMostValues ||
      tensor.int32_data_size() > kMostValues)
    return {};
  if (!tensor.raw_data().empty())
    return wide ? raw_integers<s64>(tensor.raw_data()) : raw_integers<s32>(tensor.raw_data());
  if (wide) return std::vector<s64>(tensor.int64_data().begin(), tensor.int64_data().end());
  return std::vector<s64>(tensor.int32_data().begin(), tensor.int32_data().end());
}

s64 attribute(const NodeProto& node, std::string_view name, s64 otherwise) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) return attribute.i();
  }
  return otherwise;
}

void set_axis(NodeProto& node, s64 axis) {
  constexpr int kInteger = 2;  // AttributeProto.AttributeType.INT
  octet_onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("axis");
  attribute.set_type(kInteger);
  attribute.set_i(axis);
}

using Reads = std::unordered_map<std::string, s64>;

void count_reads(const FlatNode& node, s64 step, Reads& reads) {
  for (const std::string& name : node.proto->input()) reads[name] += step;
  for (const FlatBody& body : node.bodies) {
    for (const auto& output : body.proto->output()) reads[output.name()] += step;
    for (const FlatNode& inner : body.nodes) count_reads(inner, step, reads);
  }
}

class Resolver {
 public:
  Resolver(const octet_onnx::ModelProto& model, FlatGraph& flat) : model_(model), flat_(flat) {
    for (const TensorProto& tensor : model.graph().initializer()) note(tensor.name(), tensor);
  }

  void run() {
    std::vector<FlatNode> nodes;
    for (FlatNode& node : flat_.nodes) {
      nodes.push_back(std::move(node));
      visit(nodes);
    }
    flat_.nodes = std::move(nodes);
    if (!lists_.empty()) drop_unread();
  }

 private:
  void note(const std::string& name, const TensorProto& tensor) {
    if (const auto values = integers(tensor)) integers_.emplace(name, *values);
  }

  const std::vector<s64>* known(const NodeProto& node, int input) const {
    if (input >= node.input_size()) return nullptr;
    const auto at = integers_.find(node.input(input));
    return at == integers_.end() ? nullptr : &at->second;
  }

  // Where a position in a list lies; nothing where it is not known or outside.
  std::optional<size_t> position(const NodeProto& node, int input, size_t count) const {
    const std::vector<s64>* values = known(node, input);
    if (values == nullptr || values->size() != 1) return {};
    const auto length = static_cast<s64>(count);
    const s64 at = values->front() < 0 ? values->front() + length : values->front();
    if (at < 0 || at > length) return {};
    return static_cast<size_t>(at);
  }

  const Names* list(const NodeProto& node) const {
    const auto at = node.input_size() > 0 ? lists_.find(node.input(0)) : lists_.end();
    return at == lists_.end() ? nullptr : &at->second;
  }

  void keep(const NodeProto& node, Names names) {
    if (node.output_size() != 1 || names.size() > kMostNames - names_) return;
    names_ += names.size();
    lists_.emplace(node.output(0), std::move(names));
  }

  void visit(std::vector<FlatNode>& nodes) {
    NodeProto& node = *nodes.back().proto;
    if (!canonical_domain(node.domain()).empty()) return;
    const std::string& op = node.op_type();
    if (op == "Constant") {
      for (const auto& attribute : node.attribute()) {
        if (attribute.name() == "value" && node.output_size() == 1)
          note(node.output(0), attribute.t());
      }
    }
    if (op == "SequenceEmpty") keep(node, {});
    if (op == "SequenceConstruct") keep(node, {node.input().begin(), node.input().end()});
    if (op == "SplitToSequence") split(nodes);
    const Names* names = list(node);
    if (names == nullptr) return;
    if (op == "SequenceInsert") insert(node, *names);
    if (op == "SequenceAt") pick(node, *names);
    if (op == "ConcatFromSequence") concat(node, *names);
  }

  void insert(const NodeProto& node, Names names) {
    const bool last = node.input_size() < 3 || node.input(2).empty();
    const auto at = last ? names.size() : position(node, 2, names.size());
    if (node.input_size() < 2 || !at) return;
    names.insert(names.begin() + static_cast<s64>(*at), node.input(1));
    keep(node, std::move(names));
  }

  void pick(NodeProto& node, const Names& names) {
    const auto at = position(node, 1, names.size());
    if (!at || *at == names.size()) return;
    const std::string name = names[*at];
    node.set_op_type("Identity");
    node.clear_input();
    node.add_input(name);
  }

  void concat(NodeProto& node, const Names& names) {
    if (names.empty() || attribute(node, "new_axis", 0) != 0) return;
    const s64 axis = attribute(node, "axis", 0);
    node.set_op_type("Concat");
    node.clear_attribute();
    set_axis(node, axis);
    const Names own = names;
    node.clear_input();
    for (const std::string& name : own) node.add_input(name);
  }

  // A Split by the same sizes before it.
  void split(std::vector<FlatNode>& nodes) {
    constexpr s64 kSizesAreAnInput = 13;
    FlatNode& sequence = nodes.back();
    const NodeProto& node = *sequence.proto;
    const std::vector<s64>* sizes = known(node, 1);
    const auto opset = sequence.opsets->find("");
    if (sizes == nullptr || sizes->size() < 2 || node.output_size() != 1 ||
        opset == sequence.opsets->end() || opset->second < kSizesAreAnInput)
      return;
    NodeProto& made = flat_.expanded.emplace_back(node);
    made.set_op_type("Split");
    made.clear_output();
    Names names;
    for (size_t i = 0; i < sizes->size(); ++i) {
      names.push_back(node.output(0) + "[" + std::to_string(i) + "]");
      made.add_output(names.back());
    }
    made.clear_attribute();
    set_axis(made, attribute(node, "axis", 0));
    keep(node, std::move(names));
    FlatNode split = sequence;
    split.proto = &made;
    split.bodies.clear();
    nodes.insert(nodes.end() - 1, std::move(split));
  }

  // From the last to the first: who reads a sequence may be dropped too.
  void drop_unread() {
    Reads reads;
    for (const auto& output : model_.graph().output()) ++reads[output.name()];
    for (const FlatNode& node : flat_.nodes) count_reads(node, 1, reads);
    std::vector<FlatNode> kept;
    for (size_t n = flat_.nodes.size(); n-- > 0;) {
      FlatNode& node = flat_.nodes[n];
      const bool sequence =
          node.proto->output_size() == 1 && lists_.contains(node.proto->output(0));
      if (sequence && reads[node.proto->output(0)] == 0) {
        count_reads(node, -1, reads);
      } else {
        kept.push_back(std::move(node));
      }
    }
    flat_.nodes.assign(std::move_iterator(kept.rbegin()), std::move_iterator(kept.rend()));
  }

  const octet_onnx::ModelProto& model_;
  FlatGraph& flat_;
  std::unordered_map<std::string, std::vector<s64>> integers_;
  std::unordered_map<std::string, Names> lists_;
  size_t names_ = 0;
};

}  // namespace

void resolve_sequences(const octet_onnx::ModelProto& model, FlatGraph& flat) {
  Resolver(model, flat).run();
}

}  // namespace octet

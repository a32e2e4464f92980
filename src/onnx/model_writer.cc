// SPDX-License-Identifier: Apache-2.0
#include "onnx/model_writer.h"

#include <fmt/format.h>

#include <type_traits>
#include <variant>

#include "core/check.h"
#include "onnx/attribute_reader.h"
#include "ops/attributes/marks.h"
#include "ops/shared/dtypes.h"

namespace octet {
namespace {

using octet_onnx::AttributeProto;

void set_tensor(const Tensor& tensor, octet_onnx::TensorProto& proto) {
  proto.set_data_type(dtype_to_onnx(tensor.dtype()));
  for (s64 dim : tensor.shape()) proto.add_dims(dim);
  if (tensor.bytes() > 0) proto.set_raw_data(tensor.data(), tensor.bytes());
  if (tensor.bytes() == 0) proto.set_raw_data("");
}

template <class T>
void set_value(const T& value, AttributeProto& proto) {
  const auto kind = [&](AttrKind which) { proto.set_type(static_cast<s32>(which)); };
  if constexpr (std::is_same_v<T, s64>) {
    kind(AttrKind::i);
    proto.set_i(value);
  } else if constexpr (std::is_same_v<T, f32>) {
    kind(AttrKind::f);
    proto.set_f(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    kind(AttrKind::s);
    proto.set_s(value);
  } else if constexpr (std::is_same_v<T, std::vector<s64>>) {
    kind(AttrKind::ints);
    for (s64 each : value) proto.add_ints(each);
  } else if constexpr (std::is_same_v<T, std::vector<f32>>) {
    kind(AttrKind::floats);
    for (f32 each : value) proto.add_floats(each);
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    kind(AttrKind::strings);
    for (const std::string& each : value) proto.add_strings(each);
  } else if constexpr (std::is_same_v<T, Tensor>) {
    kind(AttrKind::t);
    set_tensor(value, *proto.mutable_t());
  } else {
    check_failed("an attribute without graphs", __FILE__, __LINE__);  // unwritable() refuses bodies
  }
}

void set_type(const TensorType& type, octet_onnx::TypeProto& proto) {
  auto& tensor = *proto.mutable_tensor_type();
  tensor.set_elem_type(dtype_to_onnx(type.dtype));
  if (type.shape.is_unknown()) return;
  auto& shape = *tensor.mutable_shape();
  for (s64 dim : type.shape) {
    auto& entry = *shape.add_dim();
    if (dim >= 0) entry.set_dim_value(dim);
  }
}

}  // namespace

ModelWriter::ModelWriter(const Graph& graph, s64 opset) : graph_(graph), opset_(opset) {
  proto_.set_name(graph.name.empty() ? "graph" : graph.name);
  for (ValueId id = 0; id < graph.value_count(); ++id) values_.insert(graph.value(id).name);
}

std::string ModelWriter::fresh(std::unordered_set<std::string>& taken, const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !taken.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
  return name;
}

ModelWriter::Names ModelWriter::names_of(const std::vector<ValueId>& ids) const {
  Names names;
  for (ValueId id : ids) names.push_back(name_of(id));
  return names;
}

void ModelWriter::add_tensor(const std::string& name, const Tensor& tensor) {
  octet_onnx::TensorProto& proto = *proto_.add_initializer();
  proto.set_name(name);
  set_tensor(tensor, proto);
}

std::string ModelWriter::scalar(const std::string& wanted, f32 value) {
  std::string name = fresh_value(wanted);
  add_tensor(name, Tensor::scalar(value));
  return name;
}

std::string ModelWriter::ints(const std::string& wanted, const std::vector<s64>& values) {
  std::string name = fresh_value(wanted);
  add_tensor(name, Tensor::of<s64>({std::ssize(values)}, values));
  return name;
}

void ModelWriter::add(const Call& call) {
  octet_onnx::NodeProto& node = *proto_.add_node();
  node.set_op_type(call.op);
  node.set_name(fresh(nodes_, call.name.empty() ? call.op : call.name));
  if (keeps_) kept_float_.push_back(node.name());
  if (!call.domain.empty()) node.set_domain(call.domain);
  size_t inputs = call.inputs.size();
  while (inputs > 0 && call.inputs[inputs - 1].empty()) --inputs;
  for (size_t i = 0; i < inputs; ++i) node.add_input(call.inputs[i]);
  for (const std::string& output : call.outputs) node.add_output(output);
  for (const auto& [name, value] : call.attrs.entries()) {
    if (name.starts_with("octet.")) continue;                 // the host's own, at nodes of plugins
    if (name == attribute_name<&ExactAttributes::exact>()) {  // no attribute of ONNX
      exact_.push_back(node.name());
      continue;
    }
    AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    std::visit([&](const auto& each) { set_value(each, attribute); }, value);
  }
}

// Those that some node reads: forms leave constants out that opsets have as attributes.
void ModelWriter::add_constants() {
  std::unordered_set<std::string_view> read;
  for (const octet_onnx::NodeProto& node : proto_.node())
    read.insert(node.input().begin(), node.input().end());
  for (ValueId id : graph_.outputs) read.insert(graph_.value(id).name);
  for (ValueId id = 0; id < graph_.value_count(); ++id) {
    const Value& value = graph_.value(id);
    if (value.constant && read.contains(value.name)) add_tensor(value.name, value.constant);
  }
}

void ModelWriter::add_interface() {
  const auto set = [&](ValueId id, octet_onnx::ValueInfoProto& info) {
    info.set_name(graph_.value(id).name);
    set_type(graph_.value(id).type, *info.mutable_type());
  };
  for (ValueId id : graph_.inputs) set(id, *proto_.add_input());
  for (ValueId id : graph_.outputs) set(id, *proto_.add_output());
}

}  // namespace octet

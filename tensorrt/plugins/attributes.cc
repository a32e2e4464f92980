// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/plugins/attributes.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>

#include "integrations/wire/wire.h"
#include "octet/error.h"

namespace octet_trt {

using octet_wire::read_packed;
using octet_wire::WireField;
using octet_wire::WireReader;
namespace {

using AttributeKind = NodeAttribute::Kind;

// AttributeProto.AttributeType, in its order, with the field that holds the value.
struct Form {
  const char* name;
  int field;
  AttributeKind kind;
};
constexpr Form kForms[] = {
    {"UNDEFINED", 0, AttributeKind::kNothing},     {"FLOAT", 2, AttributeKind::kReals},
    {"INT", 3, AttributeKind::kIntegers},          {"STRING", 4, AttributeKind::kText},
    {"TENSOR", 5, AttributeKind::kOther},          {"GRAPH", 6, AttributeKind::kOther},
    {"FLOATS", 7, AttributeKind::kReals},          {"INTS", 8, AttributeKind::kIntegers},
    {"STRINGS", 9, AttributeKind::kText},          {"TENSORS", 10, AttributeKind::kOther},
    {"GRAPHS", 11, AttributeKind::kOther},         {"SPARSE_TENSOR", 22, AttributeKind::kOther},
    {"SPARSE_TENSORS", 23, AttributeKind::kOther}, {"TYPE_PROTO", 14, AttributeKind::kOther},
    {"TYPE_PROTOS", 15, AttributeKind::kOther},
};
constexpr int kNameField = 1, kFloatField = 2, kIntField = 3, kStringField = 4, kTensorField = 5,
              kStringsField = 9, kTypeField = 20;

// The type that is written down; of a model that writes none, the one whose value there is.
const Form& form_of(std::string_view bytes) {
  const Form* found = kForms;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number == kTypeField && field->integer > 0 && field->integer < std::size(kForms))
      return kForms[field->integer];
    const auto* holds = std::ranges::find(kForms, field->number, &Form::field);
    if (holds != std::end(kForms) && holds != kForms) found = holds;
  }
  return *found;
}

template <class T>
T element(std::string_view raw, size_t at) {
  T value;
  std::memcpy(&value, raw.data() + at * sizeof(T), sizeof(T));
  return value;
}

void read_floats(const WireField& field, NodeAttribute& attribute) {
  if (field.bytes.size() % sizeof(float) != 0) {
    throw octet::Error(octet::Error::Code::invalid_model,
                       "attribute '" + attribute.name + "' ends within a number");
  }
  if (field.number == kFloatField) attribute.reals.clear();  // of one number the last counts
  for (size_t i = 0; i < field.bytes.size() / sizeof(float); ++i)
    attribute.reals.push_back(element<float>(field.bytes, i));
}

void read_integers(const WireField& field, NodeAttribute& attribute) {
  if (field.number == kIntField) attribute.integers.clear();
  if (field.type == 0) attribute.integers.push_back(static_cast<int64_t>(field.integer));
  for (const uint64_t value : read_packed(field.bytes))
    attribute.integers.push_back(static_cast<int64_t>(value));
}

void read_texts(const WireField& field, NodeAttribute& attribute) {
  if (field.number == kStringField) attribute.text.clear();
  attribute.text += field.bytes;
  if (field.number == kStringsField) attribute.text += '\0';
}

template <class Element, class Number>
void append(const std::string& raw, std::vector<Number>& to) {
  for (size_t i = 0; i < raw.size() / sizeof(Element); ++i) {
    if constexpr (std::is_arithmetic_v<Element>) {
      to.push_back(static_cast<Number>(element<Element>(raw, i)));
    } else {
      to.push_back(static_cast<float>(element<Element>(raw, i)));
    }
  }
}

// What TensorRT has no field for stays kOther.
void read_elements(const OnnxTensor& tensor, NodeAttribute& attribute) {
  using Type = PluginFieldType;
  const auto reals = [&](Type own) {
    attribute.kind = AttributeKind::kReals;
    attribute.own = own;
    return &attribute.reals;
  };
  const auto integers = [&](Type own) {
    attribute.kind = AttributeKind::kIntegers;
    attribute.own = own;
    return &attribute.integers;
  };
#if NV_TENSORRT_MAJOR >= 10
  constexpr Type kBrain = Type::kBF16, kLong = Type::kINT64;
#else
  constexpr Type kBrain = Type::kFLOAT32, kLong = Type::kINT32;
#endif
  switch (tensor.type.dtype) {
    case octet::Dtype::f16:
      return append<octet::f16>(tensor.raw, *reals(Type::kFLOAT16));
    case octet::Dtype::bf16:
      return append<octet::bf16>(tensor.raw, *reals(kBrain));
    case octet::Dtype::f32:
      return append<float>(tensor.raw, *reals(Type::kFLOAT32));
    case octet::Dtype::f64:
      return append<double>(tensor.raw, *reals(Type::kFLOAT64));
    case octet::Dtype::s8:
      return append<int8_t>(tensor.raw, *integers(Type::kINT8));
    case octet::Dtype::s16:
      return append<int16_t>(tensor.raw, *integers(Type::kINT16));
    case octet::Dtype::s32:
      return append<int32_t>(tensor.raw, *integers(Type::kINT32));
    case octet::Dtype::s64:
      return append<int64_t>(tensor.raw, *integers(kLong));
    default:
      return;
  }
}

// Nothing where its type is none that networks have, as a tensor of texts.
std::optional<OnnxTensor> read_known(std::string_view bytes) {
  try {
    return read_tensor(bytes);
  } catch (const octet::Error& error) {
    if (error.code() != octet::Error::Code::unsupported) throw;
    return std::nullopt;
  }
}

void read_tensor_attribute(std::string_view bytes, NodeAttribute& attribute) {
  const std::optional<OnnxTensor> read = read_known(bytes);
  if (!read) return;
  const OnnxTensor& tensor = *read;
  attribute.onnx += " of " + std::string(octet::dtype_name(tensor.type.dtype));
  if (static_cast<int64_t>(tensor.raw.size()) != tensor.type.bytes()) {
    throw octet::Error(octet::Error::Code::invalid_model,
                       "attribute '" + attribute.name + "' is a tensor of " +
                           std::to_string(tensor.type.bytes()) + " bytes, and has " +
                           std::to_string(tensor.raw.size()) +
                           " (those of another file are not read)");
  }
  read_elements(tensor, attribute);
}

// A number of zero and an empty text may be left out of a message.
void read_left_out(int field, NodeAttribute& attribute) {
  if (field == kFloatField && attribute.reals.empty()) attribute.reals.push_back(0);
  if (field == kIntField && attribute.integers.empty()) attribute.integers.push_back(0);
}

PluginFieldType type_of_kind(AttributeKind kind) {
  if (kind == AttributeKind::kText) return PluginFieldType::kCHAR;
  return kind == AttributeKind::kReals ? PluginFieldType::kFLOAT32 : PluginFieldType::kINT32;
}

NodeAttribute read_attribute(std::string_view bytes) {
  const Form& form = form_of(bytes);
  NodeAttribute attribute;
  attribute.onnx = form.name;
  attribute.kind = form.kind;
  attribute.own = type_of_kind(form.kind);
  std::optional<std::string_view> tensor;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number == kNameField) attribute.name = field->bytes;
    if (field->number != form.field) continue;
    if (form.kind == AttributeKind::kReals) read_floats(*field, attribute);
    if (form.kind == AttributeKind::kIntegers) read_integers(*field, attribute);
    if (form.kind == AttributeKind::kText) read_texts(*field, attribute);
    if (form.field == kTensorField) tensor = field->bytes;
  }
  if (tensor) read_tensor_attribute(*tensor, attribute);
  read_left_out(form.field, attribute);
  return attribute;
}

}  // namespace

std::vector<NodeAttribute> attributes_of(const OnnxNode& node) {
  std::vector<NodeAttribute> attributes;
  WireReader reader(node.rest);
  while (const auto field = reader.next())
    if (field->number == 5) attributes.push_back(read_attribute(field->bytes));
  return attributes;
}

std::string text_attribute(const OnnxNode& node, const std::string& name,
                           const std::string& otherwise) {
  for (const NodeAttribute& attribute : attributes_of(node))
    if (attribute.name == name && attribute.kind == AttributeKind::kText) return attribute.text;
  return otherwise;
}

std::vector<int64_t> integers_attribute(const OnnxNode& node, const std::string& name) {
  for (const NodeAttribute& attribute : attributes_of(node)) {
    if (attribute.name != name) continue;
    if (attribute.kind != AttributeKind::kIntegers && attribute.kind != AttributeKind::kNothing)
      refuse("attribute '" + name + "' of node '" + node.name + "' is no list of integers");
    return attribute.integers;
  }
  return {};
}

}  // namespace octet_trt

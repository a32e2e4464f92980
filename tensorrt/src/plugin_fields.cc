// SPDX-License-Identifier: Apache-2.0
#include "plugin_fields.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "wire.h"

namespace octet_trt {
namespace {

// A creator that declares more has not set its list.
constexpr int32_t kMostFields = 4096;
// Their lists are read no further than this.
constexpr int32_t kMostValues = 1 << 28;

size_t field_bytes(PluginFieldType type) {
  switch (type) {
    case PluginFieldType::kFLOAT64:
      return 8;
    case PluginFieldType::kFLOAT32:
    case PluginFieldType::kINT32:
      return 4;
    case PluginFieldType::kFLOAT16:
    case PluginFieldType::kINT16:
      return 2;
    case PluginFieldType::kDIMS:
      return sizeof(Dims);
#if NV_TENSORRT_MAJOR >= 10
    case PluginFieldType::kBF16:
      return 2;
    case PluginFieldType::kINT64:
      return 8;
#endif
    default:
      return 1;
  }
}

// An attribute of a node: its numbers, or its text.
struct NodeAttribute {
  std::string name, text;
  std::vector<int64_t> integers;
  std::vector<float> reals;
  bool is_text = false, is_real = false, is_other = false;
};

float real_of(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }

float real_of(std::string_view bytes) {
  uint32_t bits = 0;
  std::memcpy(&bits, bytes.data(), std::min(bytes.size(), sizeof bits));
  return real_of(bits);
}

void read_reals(const WireField& field, NodeAttribute& attribute) {
  attribute.is_real = true;
  for (size_t at = 0; at + sizeof(float) <= field.bytes.size(); at += sizeof(float))
    attribute.reals.push_back(real_of(field.bytes.substr(at)));
}

void read_integers(const WireField& field, NodeAttribute& attribute) {
  if (field.type == 0) {
    attribute.integers.push_back(static_cast<int64_t>(field.integer));
    return;
  }
  for (const uint64_t value : read_packed(field.bytes))
    attribute.integers.push_back(static_cast<int64_t>(value));
}

// Fields of ONNX's AttributeProto.
NodeAttribute read_attribute(std::string_view bytes) {
  NodeAttribute attribute;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number == 1) attribute.name = field->bytes;
    if (field->number == 2 || field->number == 7) read_reals(*field, attribute);
    if (field->number == 3 || field->number == 8) read_integers(*field, attribute);
    if (field->number == 4) {
      attribute.is_text = true;
      attribute.text = field->bytes;
    }
    if (field->number == 5 || field->number == 6 || field->number == 9 || field->number == 10)
      attribute.is_other = true;
  }
  return attribute;
}

std::vector<NodeAttribute> attributes_of(const OnnxNode& node) {
  std::vector<NodeAttribute> attributes;
  WireReader reader(node.rest);
  while (const auto field = reader.next())
    if (field->number == 5) attributes.push_back(read_attribute(field->bytes));
  return attributes;
}

template <class T>
bool is_in_range(int64_t number) {
  if constexpr (std::is_integral_v<T>) return std::in_range<T>(number);
  return true;
}

// What is no number is in the range of no integers.
template <class T>
bool is_in_range(float number) {
  constexpr auto kLowest = static_cast<double>(std::numeric_limits<T>::lowest());
  return !std::is_integral_v<T> || (number >= kLowest && number < -kLowest);
}

template <class T>
std::string bytes_of_numbers(const NodeAttribute& attribute) {
  std::string bytes;
  const auto put = [&](auto number) {
    if (!is_in_range<T>(number))
      refuse("attribute '" + attribute.name + "': the field cannot hold " + std::to_string(number));
    const T value = static_cast<T>(number);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (const float value : attribute.reals) put(value);
  for (const int64_t value : attribute.integers) put(value);
  return bytes;
}

std::string dims_bytes(const NodeAttribute& attribute) {
  const Dims dims = to_dims(attribute.integers);
  return std::string(reinterpret_cast<const char*>(&dims), sizeof dims);
}

PluginFieldType natural_type(const NodeAttribute& attribute) {
  if (attribute.is_text) return PluginFieldType::kCHAR;
  return attribute.is_real ? PluginFieldType::kFLOAT32 : PluginFieldType::kINT32;
}

std::string field_value(const NodeAttribute& attribute, PluginFieldType type) {
  if (attribute.is_text) {
    if (type == PluginFieldType::kCHAR) return attribute.text;
    refuse("attribute '" + attribute.name + "' is a text, and the field is of kind " +
           std::to_string(static_cast<int>(type)));
  }
  switch (type) {
    case PluginFieldType::kFLOAT64:
      return bytes_of_numbers<double>(attribute);
    case PluginFieldType::kFLOAT32:
      return bytes_of_numbers<float>(attribute);
    case PluginFieldType::kINT32:
      return bytes_of_numbers<int32_t>(attribute);
    case PluginFieldType::kINT16:
      return bytes_of_numbers<int16_t>(attribute);
    case PluginFieldType::kINT8:
      return bytes_of_numbers<int8_t>(attribute);
    case PluginFieldType::kDIMS:
      return dims_bytes(attribute);
#if NV_TENSORRT_MAJOR >= 10
    case PluginFieldType::kINT64:
      return bytes_of_numbers<int64_t>(attribute);
#endif
    default:
      refuse("attribute '" + attribute.name + "' cannot become a field of kind " +
             std::to_string(static_cast<int>(type)));
  }
}

// The list that a creator declares; creators that never set theirs have any pointer there.
const PluginField* declared_field(const PluginFieldCollection* declared, const std::string& name) {
  if (declared == nullptr || declared->fields == nullptr || declared->nbFields > kMostFields)
    return nullptr;
  for (int32_t i = 0; i < declared->nbFields; ++i) {
    const PluginField& field = declared->fields[i];
    if (field.name != nullptr && name == field.name) return &field;
  }
  return nullptr;
}

void put(std::string& out, const void* from, size_t bytes) {
  out.append(static_cast<const char*>(from), bytes);
}

// What read_fields() reads: numbers and counted texts, never more than there is.
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : left_(bytes) {}

  uint32_t number() {
    uint32_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(take(number())); }
  bool done() const { return left_.empty(); }

 private:
  std::string_view take(size_t bytes) {
    if (bytes > left_.size()) {
      throw octet::Error(octet::Error::Code::invalid_model,
                         "the fields of a plugin in the plan are damaged");
    }
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return taken;
  }
  std::string_view left_;
};

}  // namespace

void FieldStore::add(const std::string& name, PluginFieldType type, std::string bytes,
                     int32_t length) {
  const std::string& kept_name = texts_.emplace_back(name);
  const std::string& kept = texts_.emplace_back(std::move(bytes));
  fields_.emplace_back(kept_name.c_str(), kept.data(), type, length);
}

PluginFieldCollection FieldStore::collection() const {
  return {static_cast<int32_t>(fields_.size()), fields_.data()};
}

std::string text_attribute(const OnnxNode& node, const std::string& name,
                           const std::string& otherwise) {
  for (const NodeAttribute& attribute : attributes_of(node))
    if (attribute.name == name && attribute.is_text) return attribute.text;
  return otherwise;
}

std::vector<int64_t> integers_attribute(const OnnxNode& node, const std::string& name) {
  for (const NodeAttribute& attribute : attributes_of(node)) {
    if (attribute.name != name) continue;
    if (attribute.is_text || attribute.is_real || attribute.is_other)
      refuse("attribute '" + name + "' of node '" + node.name + "' is no list of integers");
    return attribute.integers;
  }
  return {};
}

FieldStore fields_of_node(const OnnxNode& node, const PluginFieldCollection* declared) {
  FieldStore store;
  for (const NodeAttribute& attribute : attributes_of(node)) {
    const bool is_parsers = attribute.name == kPluginVersion ||
                            attribute.name == kPluginNamespace ||
                            attribute.name == kShapeInputIndices;
    const PluginField* asked = declared_field(declared, attribute.name);
    if (is_parsers && asked == nullptr) continue;
    if (attribute.is_other)
      refuse("attribute '" + attribute.name + "' of node '" + node.name +
             "' is neither a number, a list of numbers nor a text");
    const bool is_known = asked != nullptr && asked->type != PluginFieldType::kUNKNOWN;
    const PluginFieldType type = is_known ? asked->type : natural_type(attribute);
    std::string value = field_value(attribute, type);
    const auto length =
        static_cast<int32_t>(value.size() / (attribute.is_text ? 1 : field_bytes(type)));
    store.add(attribute.name, type, std::move(value), length);
  }
  return store;
}

std::string write_fields(const PluginName& name, const PluginFieldCollection& fields) {
  if (fields.nbFields < 0 || fields.nbFields > kMostFields ||
      (fields.nbFields > 0 && fields.fields == nullptr))
    plugin_failed(name, "its list of fields has " + std::to_string(fields.nbFields) + " entries");
  std::string out;
  const auto number = [&](uint32_t value) { put(out, &value, sizeof value); };
  for (int32_t i = 0; i < fields.nbFields; ++i) {
    const PluginField& field = fields.fields[i];
    if (field.name == nullptr || field.length < 0 || field.length > kMostValues ||
        (field.length > 0 && field.data == nullptr))
      plugin_failed(name, "field " + std::to_string(i) + " of " + std::to_string(fields.nbFields) +
                              " has no name, no data or a length of " +
                              std::to_string(field.length));
    const std::string_view text(field.name);
    const size_t bytes = static_cast<size_t>(field.length) * field_bytes(field.type);
    number(static_cast<uint32_t>(text.size()));
    put(out, text.data(), text.size());
    number(static_cast<uint32_t>(field.type));
    number(static_cast<uint32_t>(field.length));
    number(static_cast<uint32_t>(bytes));
    put(out, field.data, bytes);
  }
  return out;
}

FieldStore read_fields(std::string_view bytes) {
  FieldStore store;
  FieldReader reader(bytes);
  while (!reader.done()) {
    const std::string name = reader.text();
    const auto type = static_cast<PluginFieldType>(reader.number());
    const auto length = static_cast<int32_t>(reader.number() & 0x7fffffff);
    std::string value = reader.text();
    if (value.size() != static_cast<size_t>(length) * field_bytes(type)) {
      throw octet::Error(octet::Error::Code::invalid_model,
                         "field '" + name + "' of a plugin in the plan is damaged");
    }
    store.add(name, type, std::move(value), length);
  }
  return store;
}

}  // namespace octet_trt

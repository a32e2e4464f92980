// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/plugins/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "tensorrt/plugins/attributes.h"

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

std::string text_of(int64_t number) { return std::to_string(number); }
std::string text_of(double number) {
  char text[32];
  return {text, std::to_chars(text, std::end(text), number).ptr};
}

// The same number in another type of its kind; nothing where that has none.
template <class T>
std::optional<T> exactly(int64_t number) {
  if constexpr (std::is_integral_v<T>) {
    if (!std::in_range<T>(number)) return std::nullopt;
    return static_cast<T>(number);
  } else {
    return number == 0 ? std::optional(T{}) : std::nullopt;
  }
}

template <class T>
std::optional<T> exactly(double number) {
  if constexpr (std::is_integral_v<T>) {
    return std::nullopt;
  } else {
    if constexpr (std::is_same_v<T, double>) return number;
    const bool is_wide =
        std::isfinite(number) && std::abs(number) > std::numeric_limits<float>::max();
    const T value(is_wide ? 0 : static_cast<float>(number));
    const bool is_same = static_cast<float>(value) == number || std::isnan(number);
    return is_same ? std::optional(value) : std::nullopt;
  }
}

bool is_real(PluginFieldType type) {
#if NV_TENSORRT_MAJOR >= 10
  if (type == PluginFieldType::kBF16) return true;
#endif
  return type == PluginFieldType::kFLOAT16 || type == PluginFieldType::kFLOAT32 ||
         type == PluginFieldType::kFLOAT64;
}

bool is_integer(PluginFieldType type) {
#if NV_TENSORRT_MAJOR >= 10
  if (type == PluginFieldType::kINT64) return true;
#endif
  return type == PluginFieldType::kINT8 || type == PluginFieldType::kINT16 ||
         type == PluginFieldType::kINT32 || type == PluginFieldType::kDIMS;
}

const char* field_type_name(PluginFieldType type) {
  constexpr const char* kNames[] = {"kFLOAT16", "kFLOAT32", "kFLOAT64", "kINT8",    "kINT16",
                                    "kINT32",   "kCHAR",    "kDIMS",    "kUNKNOWN", "kBF16",
                                    "kINT64",   "kFP8",     "kINT4",    "kFP4"};
  const auto index = static_cast<size_t>(type);
  return index < std::size(kNames) ? kNames[index] : "of no known type";
}

// One attribute of one node on its way into a field of some type.
class FieldMaker {
 public:
  FieldMaker(const NodeAttribute& attribute, const std::string& node, const Reporter& reporter)
      : attribute_(attribute), node_(node), reporter_(reporter) {}

  // Numbers of the kind that is declared become the declared type, exactly or not at all. Where reals meet integers the field is the
  // attribute's own, as TensorRT's parser makes it: a creator may look at the type, and none is lied to.
  void add_to(FieldStore& store, const PluginField* declared) const {
    PluginFieldType type = attribute_.own;
    if (declared != nullptr && declared->type != PluginFieldType::kUNKNOWN)
      type = agreed_type(declared->type);
    std::string value = bytes_as(type, declared);
    const auto length = static_cast<int32_t>(value.size() / field_bytes(type));
    store.add(attribute_.name, type, std::move(value), length);
  }

  // One that nobody declares and that is no field of TensorRT's; its parser leaves out all that nobody declares.
  bool is_left_out(const PluginField* declared) const {
    const auto fits = [](int64_t number) { return std::in_range<int32_t>(number); };
    const bool is_wide = attribute_.own == PluginFieldType::kINT32 &&
                         !std::ranges::all_of(attribute_.integers, fits);
    if (declared != nullptr || (attribute_.kind != Kind::kOther && !is_wide)) return false;
    reporter_.warn(what() +
                   ", which its plugin's creator does not declare and no field can hold: "
                   "it is left out");
    return true;
  }

 private:
  using Kind = NodeAttribute::Kind;

  PluginFieldType agreed_type(PluginFieldType declared) const {
    if (attribute_.kind == Kind::kNothing) return declared;
    if (attribute_.kind == Kind::kOther) refuse_it("which is neither numbers nor a text");
    const bool has_text = attribute_.kind == Kind::kText;
    const bool wants_text = declared == PluginFieldType::kCHAR;
    if (has_text != wants_text || !(wants_text || is_real(declared) || is_integer(declared)))
      refuse_it(std::string("and its plugin's creator declares ") + field_type_name(declared));
    if (has_text || (attribute_.kind == Kind::kReals) == is_real(declared)) return declared;
    reporter_.warn(what() + ", and its plugin's creator declares " + field_type_name(declared) +
                   ": the field is " + field_type_name(attribute_.own));
    return attribute_.own;
  }

  std::string bytes_as(PluginFieldType type, const PluginField* declared) const {
    switch (type) {
      case PluginFieldType::kFLOAT64:
        return numbers<double>(declared);
      case PluginFieldType::kFLOAT32:
        return numbers<float>(declared);
      case PluginFieldType::kFLOAT16:
        return numbers<octet::f16>(declared);
      case PluginFieldType::kINT32:
        return numbers<int32_t>(declared);
      case PluginFieldType::kINT16:
        return numbers<int16_t>(declared);
      case PluginFieldType::kINT8:
        return numbers<int8_t>(declared);
      case PluginFieldType::kDIMS:
        return dims();
#if NV_TENSORRT_MAJOR >= 10
      case PluginFieldType::kBF16:
        return numbers<octet::bf16>(declared);
      case PluginFieldType::kINT64:
        return numbers<int64_t>(declared);
#endif
      default:
        return attribute_.text;
    }
  }

  // A model that leaves out types and zeros has nothing for a number of zero.
  template <class T>
  std::string numbers(const PluginField* declared) const {
    std::string bytes;
    for (const double value : attribute_.reals) put<T>(value, bytes);
    for (const int64_t value : attribute_.integers) put<T>(value, bytes);
    const bool is_zero =
        attribute_.kind == Kind::kNothing && declared != nullptr && declared->length == 1;
    if (is_zero) put<T>(int64_t{0}, bytes);
    return bytes;
  }

  template <class T, class Number>
  void put(Number number, std::string& bytes) const {
    const std::optional<T> value = exactly<T>(number);
    if (!value) refuse_it("and the field cannot hold " + text_of(number));
    bytes.append(reinterpret_cast<const char*>(&*value), sizeof *value);
  }

  std::string dims() const {
    Dims dims{};
    const std::vector<int64_t>& sizes = attribute_.integers;
    if (sizes.size() > Dims::MAX_DIMS)
      refuse_it("and kDIMS has no room for its " + std::to_string(sizes.size()) + " sizes");
    for (const int64_t size : sizes) {
      if (!std::in_range<OctetSize>(size))
        refuse_it("and the field cannot hold " + std::to_string(size));
      dims.d[dims.nbDims++] = static_cast<OctetSize>(size);
    }
    return std::string(reinterpret_cast<const char*>(&dims), sizeof dims);
  }

  std::string what() const {
    const bool is_listed = attribute_.kind == Kind::kIntegers || attribute_.kind == Kind::kReals;
    const std::string type = is_listed
                                 ? attribute_.onnx + " (" + field_type_name(attribute_.own) + ")"
                             : attribute_.kind == Kind::kText ? "a text"
                                                              : attribute_.onnx;
    return "node '" + node_ + "': attribute '" + attribute_.name + "' is " + type;
  }
  [[noreturn]] void refuse_it(const std::string& why) const { refuse(what() + ", " + why); }

  const NodeAttribute& attribute_;
  const std::string& node_;
  const Reporter& reporter_;
};

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
  // A creator that reads a wider type than it is told stays within memory.
  bytes.append(sizeof(Dims), '\0');
  const std::string& kept_name = texts_.emplace_back(name);
  const std::string& kept = texts_.emplace_back(std::move(bytes));
  fields_.emplace_back(kept_name.c_str(), kept.data(), type, length);
}

PluginFieldCollection FieldStore::collection() const {
  return {static_cast<int32_t>(fields_.size()), fields_.data()};
}

FieldStore fields_of_node(const OnnxNode& node, const std::string& shown,
                          const PluginFieldCollection* declared, const Reporter& reporter) {
  const auto asked = [&](const NodeAttribute& attribute) {
    return declared_field(declared, attribute.name);
  };
  std::vector<NodeAttribute> attributes = attributes_of(node);
  std::ranges::stable_sort(attributes, [&](const auto& a, const auto& b) {
    const PluginField* first = asked(a);
    const PluginField* second = asked(b);
    return first != nullptr && (second == nullptr || first < second);
  });
  FieldStore store;
  for (const NodeAttribute& attribute : attributes) {
    const bool is_parsers = attribute.name == kPluginVersion ||
                            attribute.name == kPluginNamespace ||
                            attribute.name == kShapeInputIndices;
    const PluginField* field = asked(attribute);
    if (is_parsers && field == nullptr) continue;
    const FieldMaker maker(attribute, shown, reporter);
    if (!maker.is_left_out(field)) maker.add_to(store, field);
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

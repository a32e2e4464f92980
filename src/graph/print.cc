// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/small_types.h"
#include "core/visit.h"
#include "graph/op_def.h"
#include "graph/text.h"

namespace octet {
namespace {

bool is_bare(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/' ||
           c == '-';
  });
}

// JSON-like: quotes, backslashes and control bytes escaped; other bytes as they are.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string value_name(std::string_view name) {
  return "%" + (is_bare(name) ? std::string(name) : in_quotes(name));
}

// Shortest text that reads back to the same float; always recognisable as a float.
std::string float_text(f64 value, bool is_f64) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = is_f64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<f32>(value));
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

template <class T>
std::string element_text(T value) {
  if constexpr (std::is_same_v<T, bool>)
    return value ? "1" : "0";
  else if constexpr (std::is_integral_v<T>)
    return fmt::format("{}", value);
  else
    return float_text(static_cast<f64>(static_cast<f32>(value)), false);
}
template <>
std::string element_text<f64>(f64 value) {
  return float_text(value, true);
}

// Codes of floats, values of integers.
std::string small_elements_text(const Tensor& tensor) {
  std::string text;
  const u8* bytes = reinterpret_cast<const u8*>(tensor.data());
  for (size_t i = 0; i < tensor.bytes(); ++i) {
    const bool negative = is_small_integer(tensor.dtype()) && bytes[i] > 127;
    text += fmt::format("{}{}", i == 0 ? "" : ", ", negative ? bytes[i] - 256 : bytes[i]);
  }
  return text;
}

std::string elements_text(const Tensor& tensor) {
  std::string text = "{";
  if (is_small_dtype(tensor.dtype())) return text + small_elements_text(tensor) + "}";
  visit_dtype(tensor.dtype(), [&]<class T>() {
    for (T value : tensor.as<T>()) {
      if (text.size() > 1) text += ", ";
      text += element_text(value);
    }
  });
  return text + "}";
}

template <class T, class F>
std::string list_text(const std::vector<T>& items, F&& text_of) {
  std::string text = "[";
  for (const T& item : items) {
    if (text.size() > 1) text += ", ";
    text += text_of(item);
  }
  return text + "]";
}

class Printer {
 public:
  Printer(const Graph& graph, const PrintOptions& options) : graph_(graph), options_(options) {}

  std::string run() {
    out_ = "graph " + in_quotes(graph_.name) + "(" + typed_names(graph_.inputs) + ") {\n";
    for (ValueId id = 0; id < graph_.value_count(); ++id) {
      if (!graph_.is_constant(id)) continue;
      out_ +=
          fmt::format("  const {} = {}\n", typed_name(id), tensor_text(graph_.value(id).constant));
    }
    for (const Node& node : graph_.nodes) print_node(node);
    out_ += "  return";
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      out_ += (i == 0 ? " " : ", ") + value_name(graph_.value(graph_.outputs[i]).name);
    }
    return out_ + "\n}\n";
  }

  std::string tensor_text(const Tensor& tensor) {
    if (tensor.elements() <= options_.inline_elements) return elements_text(tensor);
    if (options_.blobs == nullptr) return "...";
    options_.blobs->push_back(tensor);
    return fmt::format("#{}", options_.blobs->size() - 1);
  }

  std::string attr_text(const AttrValue& value) {
    struct Visitor {
      Printer& printer;
      std::string operator()(s64 v) const { return fmt::format("{}", v); }
      std::string operator()(f32 v) const { return float_text(static_cast<f64>(v), false); }
      std::string operator()(const std::string& v) const { return in_quotes(v); }
      std::string operator()(const std::vector<s64>& v) const {
        return "ints" + list_text(v, [](s64 x) { return fmt::format("{}", x); });
      }
      std::string operator()(const std::vector<f32>& v) const {
        return "floats" +
               list_text(v, [](f32 x) { return float_text(static_cast<f64>(x), false); });
      }
      std::string operator()(const std::vector<std::string>& v) const {
        return "strings" + list_text(v, in_quotes);
      }
      std::string operator()(const Tensor& v) const {
        return "tensor " + to_string(v.type()) + " " + printer.tensor_text(v);
      }
      std::string operator()(const GraphPtr& v) const { return printer.body_text(*v); }
    };
    return std::visit(Visitor{*this}, value);
  }

 private:
  std::string typed_name(ValueId id) const {
    const Value& value = graph_.value(id);
    std::string text = value_name(value.name) + ": " + to_string(value.type);
    if (value.quant) {
      text += fmt::format(" @({}, {})", float_text(static_cast<f64>(value.quant->scale), false),
                          value.quant->zero_point);
    }
    return text;
  }

  std::string typed_names(const std::vector<ValueId>& ids) const {
    std::string text;
    for (ValueId id : ids)
      text += (text.empty() ? "" : ", ") + (id == kNoValue ? "_" : typed_name(id));
    return text;
  }

  // One level further in; names and strings hold no line breaks.
  std::string body_text(const Graph& body) const {
    const std::string flat = Printer(body, options_).run();
    std::string text;
    for (char c : std::string_view(flat).substr(0, flat.size() - 1)) {
      text += c;
      if (c == '\n') text += "  ";
    }
    return text;
  }

  void print_node(const Node& node) {
    out_ += "  " + typed_names(node.outputs) + " = " + std::string(node.op->name) + "(";
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (i > 0) out_ += ", ";
      out_ += node.inputs[i] == kNoValue ? "_" : value_name(graph_.value(node.inputs[i]).name);
    }
    out_ += ")";
    if (!node.attrs.empty()) print_attrs(node.attrs);
    out_ += " name " + in_quotes(node.name);
    if (options_.decisions) {
      if (!node.origins.empty()) out_ += " from " + list_text(node.origins, in_quotes);
      if (node.decision.precision != Precision::none) print_decision(node.decision);
    }
    out_ += "\n";
  }

  void print_decision(const Decision& decision) {
    out_ += " as " + in_quotes(to_string(decision.precision)) + " ";
    if (decision.code != ReasonCode::none) out_ += std::string(to_string(decision.code)) + " ";
    out_ += in_quotes(decision.reason);
  }

  void print_attrs(const Attrs& attrs) {
    std::string separator = " {";
    for (const auto& [key, value] : attrs.entries()) {
      out_ += separator + (is_bare(key) ? key : in_quotes(key)) + "=" + attr_text(value);
      separator = ", ";
    }
    out_ += "}";
  }

  const Graph& graph_;
  const PrintOptions& options_;
  std::string out_;
};

}  // namespace

std::string print_attribute(const AttrValue& value) {
  return Printer(Graph(), {}).attr_text(value);
}

std::string print_elements(const Tensor& tensor) {
  return Printer(Graph(), {}).tensor_text(tensor);
}

std::string print(const Graph& graph, const PrintOptions& options) {
  return Printer(graph, options).run();
}

}  // namespace octet

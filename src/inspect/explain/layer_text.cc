// SPDX-License-Identifier: Apache-2.0
#include "inspect/explain/layer_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "core/check.h"
#include "graph/op_def.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "plan/format.h"

namespace octet {
namespace {

constexpr Layout kLayouts[] = {Layout::nhwc, Layout::nhwc_c32, Layout::nc32hw32};
constexpr std::string_view kConst = " const";

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// Where one of `marks` stands in the text outside of brackets and quotes; the end where there is none.
size_t find_outside(std::string_view text, std::string_view marks) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!quoted && depth == 0 && marks.find(c) != marks.npos) return i;
    if (c == '"') quoted = !quoted;
    if (c == '\\' && quoted) ++i;
    if (quoted) continue;
    if (c == '[' || c == '{' || c == '(') ++depth;
    if (c == ']' || c == '}' || c == ')') --depth;
  }
  return text.size();
}

std::vector<std::string_view> items_of(std::string_view list) {
  std::vector<std::string_view> items;
  while (!list.empty()) {
    const size_t comma = find_outside(list, ",");
    items.push_back(trimmed(list.substr(0, comma)));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return items;
}

void append(std::string& list, const std::string& item) {
  list += (list.empty() ? "" : ", ") + item;
}

// Takes the signature apart; its pieces are put together as the text of a graph, whose parser says what is wrong with them.
class Translator {
 public:
  explicit Translator(std::string_view signature) : rest_(signature) {}

  std::string run() {
    const std::string_view op = take_until("{(");
    const std::string_view attributes = rest_.starts_with('{') ? block('}') : "";
    for (std::string_view item : items_of(inside(block(')')))) add_input(item);
    rest_ = trimmed(rest_);
    if (!rest_.starts_with("->")) refuse("there is no '->'");
    for (std::string_view item : items_of(rest_.substr(2))) add_output(item);
    if (results_.empty()) refuse("there is no output");
    return fmt::format("graph \"layer\"({}) {{\n{}{} = {}({}) {} name \"layer\"\nreturn {}\n}}",
                       inputs_, constants_, outputs_, op, arguments_, attributes, results_);
  }

  std::vector<Layout> take_layouts() { return std::move(layouts_); }

 private:
  [[noreturn]] static void refuse(std::string_view why) {
    fail(Error::Code::invalid_argument, "{}", why);
  }
  static std::string_view inside(std::string_view block) {
    return block.substr(1, block.size() - 2);
  }

  std::string_view take_until(std::string_view marks) {
    const size_t end = find_outside(rest_, marks);
    const std::string_view taken = trimmed(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return taken;
  }

  // The brackets at the beginning with what they hold.
  std::string_view block(char close) {
    if (rest_.empty()) refuse("there are no inputs in brackets");
    const size_t end = 1 + find_outside(rest_.substr(1), std::string_view(&close, 1));
    if (end >= rest_.size()) refuse(fmt::format("there is no '{}'", close));
    const std::string_view taken = rest_.substr(0, end + 1);
    rest_.remove_prefix(end + 1);
    return taken;
  }

  void add_input(std::string_view item) {
    layouts_.push_back(Layout::linear);
    if (item == "_") return append(arguments_, "_");
    const std::string name = fmt::format("%in{}", layouts_.size() - 1);
    append(arguments_, name);
    const size_t constant = item.find(kConst);
    if (constant != item.npos) {
      const std::string_view elements = trimmed(item.substr(constant + kConst.size()));
      constants_ += fmt::format(
          "const {}: {} = {}\n", name, item.substr(0, constant),
          elements.empty() ? fmt::format("#{}", layouts_.size()) : std::string(elements));
      return;
    }
    for (const Layout layout : kLayouts) {
      const std::string suffix = fmt::format(" {}", layout_name(layout));
      if (!item.ends_with(suffix)) continue;
      layouts_.back() = layout;
      item.remove_suffix(suffix.size());
      break;
    }
    append(inputs_, fmt::format("{}: {}", name, item));
  }

  void add_output(std::string_view item) {
    if (item == "_") return append(outputs_, "_");
    const std::string name = fmt::format("%out{}", results_.size());
    append(outputs_, fmt::format("{}: {}", name, item));
    append(results_, name);
  }

  std::string_view rest_;
  std::string inputs_, constants_, arguments_, outputs_, results_;
  std::vector<Layout> layouts_;
};

// Plans store reals in 16 bits where all kernels of a value can; as a layer alone, that is another layer or none.
bool stores_halves(const Graph& graph) {
  const Node& node = graph.nodes[0];
  const auto is_half = [&](ValueId id) {
    if (id == kNoValue) return false;
    const Dtype dtype = graph.value(id).type.dtype;
    return dtype == Dtype::f16 || dtype == Dtype::bf16;
  };
  return std::ranges::any_of(node.inputs, is_half) || std::ranges::any_of(node.outputs, is_half);
}

// The types are those that the operator gives for its inputs.
void check_types(const Graph& graph) {
  const Node& node = graph.nodes[0];
  std::vector<TensorType> types;
  std::vector<const Tensor*> values;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool given = node.inputs[i] != kNoValue;
    types.push_back(given ? graph.value(node.inputs[i]).type : TensorType{});
    values.push_back(graph.constant_input(node, i));
    if (!types.back().shape.is_static())
      fail(Error::Code::invalid_argument, "input {} has no fixed size", i);
  }
  const std::vector<TensorType> results = infer_node(node, types, values);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNoValue || graph.value(node.outputs[i]).type == results[i]) continue;
    fail(Error::Code::invalid_argument, "output {} would be {}", i, to_string(results[i]));
  }
}

}  // namespace

Tensor random_tensor(const TensorType& type, u32 seed) {
  std::mt19937 random(seed);
  Tensor tensor(type.dtype, type.shape);
  if (type.dtype == Dtype::f32) {
    for (f32& x : tensor.mutable_as<f32>())
      x = static_cast<f32>(static_cast<s32>(random() % 2001) - 1000) / 1000.0f;
  } else if (type.dtype == Dtype::u8) {
    for (u8& x : tensor.mutable_as<u8>()) x = static_cast<u8>(random());
  } else if (type.dtype == Dtype::s8) {
    for (s8& x : tensor.mutable_as<s8>())
      x = static_cast<s8>(static_cast<s32>(random() % 255) - 127);
  } else {
    std::fill_n(tensor.mutable_data(), tensor.bytes(), std::byte{0});
  }
  return tensor;
}

LayerText parse_layer(std::string_view signature) try {
  Translator translator(signature);
  const std::string text = translator.run();
  const auto weights = [](s64 index, const TensorType& type) {
    Tensor tensor = random_tensor(type, static_cast<u32>(index));
    // Scales and multipliers are positive.
    if (type.dtype == Dtype::f32) {
      for (f32& x : tensor.mutable_as<f32>()) x = (1.5f + x) / 64.0f;
    }
    return tensor;
  };
  LayerText layer{parse_graph(text, find_op, weights), translator.take_layouts()};
  if (layer.graph.nodes.size() != 1) fail(Error::Code::invalid_argument, "it is not one layer");
  try {
    check_types(layer.graph);
  } catch (const Error& error) {
    if (!stores_halves(layer.graph)) throw;
    fail(Error::Code::invalid_argument,
         "{}, as its network's plan stores values in 16 bits; alone it cannot be run so, and is "
         "measured with its whole network",
         error.message());
  }
  return layer;
} catch (const Error& error) {
  fail(
      Error::Code::invalid_argument,
      "'{}' is no layer's signature: {}; expected OPERATOR{{attributes}}(inputs) -> outputs, as an "
      "inspection gives it for each layer, such as Relu(f32[1,8]) -> f32[1,8]",
      signature, error.message());
}

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
// Graphs of attention of 16-bit floats as builds leave them, in the forms that exporters write, and inputs for them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "graph/text.h"
#include "half_text.h"
#include "ops/registry.h"

namespace octet::test {

enum class MaskForm { none, keys, rows, shared, constant, chosen };
enum class ScaleForm { none, after, both, query, divided };

struct RealAttentionCase {
  s64 batch = 1, heads = 2, queries = 17, keys = 17, size = 16;
  const char* type = "f16";
  MaskForm mask = MaskForm::none;
  ScaleForm scale = ScaleForm::after;
  f32 hidden = -10000.0f;  // what the mask has at keys that are left out
  bool codes = false;      // queries, keys and values are codes, and so is the result
  bool joined = false;     // heads of all images are one axis of products and Softmax
  bool packed = false;     // one value for all three
  bool stored = true;      // the result is read by a function of 16 bits
  f32 spread = 2.0f;       // of queries and keys
  bool layers = true;      // beside the CPU's, whose roundings of larger scores leave no bound
  bool guarded = false;    // shares that are NaN become 0; row 0 hides every key
  char activated = 0;      // the product behind which a Relu is folded in: 's' of scores, 'o'

  std::string text() const {
    return fmt::format(
        "{} {}x{} heads of {}, {} queries, {} keys, mask {} {}, scale {}, packed {}, stored {}, "
        "codes {}",
        type, batch, heads, size, queries, keys, static_cast<int>(mask), hidden,
        static_cast<int>(scale), packed, stored, codes);
  }
  f64 factor() const { return scale == ScaleForm::none ? 1.0 : 0.25; }
  Shape mask_shape() const {
    switch (mask) {
      case MaskForm::keys:
        return {batch, 1, 1, keys};
      case MaskForm::rows:
        return {batch, 1, queries, keys};
      default:
        return {1, 1, queries, keys};
    }
  }
};

// Zeros, and what is hidden; row 1 hides all but a key.
inline std::vector<f32> mask_of(const RealAttentionCase& c) {
  const Shape shape = c.mask_shape();
  std::vector<f32> values(static_cast<size_t>(shape.elements()));
  std::mt19937 random(5);
  for (f32& x : values) {
    const u32 chance = random() % 4;
    const bool adds = c.mask != MaskForm::chosen;
    x = chance == 0 ? c.hidden : chance == 1 && adds ? rounded(0.375f, c.type) : 0.0f;
  }
  if (shape[2] > 1) {
    for (s64 k = 0; k < c.keys; ++k)
      values[static_cast<size_t>(c.keys + k)] = k == c.keys - 1 ? 0.0f : c.hidden;
  } else {
    values[0] = 0.0f;
  }
  if (c.guarded) std::fill_n(values.begin(), c.keys, c.hidden);
  return values;
}

class AttentionWriter {
 public:
  explicit AttentionWriter(const RealAttentionCase& c) : c_(c) {}

  std::string text() {
    const s64 width = c_.heads * c_.size;
    head_ = "graph \"g\"(";
    if (c_.packed) {
      input("x", {c_.batch, c_.queries, 3 * width});
    } else {
      input("q", {c_.batch, c_.queries, width});
      input("k", {c_.batch, c_.keys, width});
      input("v", {c_.batch, c_.keys, width});
    }
    if (c_.mask != MaskForm::none && c_.mask != MaskForm::constant) input("m", c_.mask_shape());
    operands();
    const std::string o = attend();
    node(fmt::format("Transpose(%{}) {{perm=ints[0, 2, 1, 3]}}", o), "ot",
         {c_.batch, c_.queries, c_.heads, c_.size}, false);
    const std::string sizes = constant_sizes("sizes", {c_.batch, c_.queries, width});
    std::string y =
        node(fmt::format("Reshape(%ot, %{})", sizes), "y", {c_.batch, c_.queries, width}, false);
    if (c_.codes) y = recoded(y, {c_.batch, c_.queries, width});
    if (c_.stored && !c_.codes) y = node("Neg(%y)", "z", {c_.batch, c_.queries, width}, false);
    const char* factor = c_.scale == ScaleForm::divided ? "4.0"
                         : c_.scale == ScaleForm::both  ? "0.5"
                                                        : "0.25";
    constants_ += fmt::format("  const %c: f32[] = {{{}}}\n", factor);
    return head_ + ") {\n" + constants_ + nodes_ + "  return %" + y + "\n}";
  }

 private:
  // From queries, keys and values to the heads' results.
  std::string attend() {
    const Shape scores{c_.batch, c_.heads, c_.queries, c_.keys};
    const Shape context{c_.batch, c_.heads, c_.queries, c_.size};
    const Shape one{c_.batch * c_.heads, c_.queries, c_.keys};  // axis of the batch
    if (c_.joined) join();
    std::string s = node("MatMul(%qh, %kt)" + activation('s'), "s", c_.joined ? one : scores, true);
    if (c_.scale == ScaleForm::after)
      s = node(fmt::format("Mul(%{}, %c)", s), "ss", c_.joined ? one : scores, true);
    if (c_.scale == ScaleForm::divided)
      s = node(fmt::format("Div(%{}, %c)", s), "ss", scores, true);
    if (c_.mask != MaskForm::none) {
      if (c_.joined) s = reshaped(s, "s4", scores);
      s = c_.mask == MaskForm::chosen
              ? chosen(s, scores)
              : node(fmt::format("Add(%{}, %{})", s, mask()), "sm", scores, true);
      if (c_.joined) s = reshaped(s, "s3", one);
    }
    std::string p =
        node(fmt::format("Softmax(%{}) {{axis=-1}}", s), "p", c_.joined ? one : scores, true);
    if (c_.guarded) p = without_nan(p, scores);
    std::string o =
        node(fmt::format("MatMul(%{}, %vh)", p) + activation('o'), "o",
             c_.joined ? Shape{c_.batch * c_.heads, c_.queries, c_.size} : context, true);
    if (c_.joined) o = reshaped(o, "o4", context);
    return o;
  }
  std::string activation(char product) const {
    return c_.activated == product ? " {activation=\"relu\"}" : "";
  }
  std::string without_nan(const std::string& shares, const Shape& shape) {
    constants_ += "  const %nothing: f32[1] = {0}\n";
    nodes_ += fmt::format("  %nan: bool[{}] = IsNaN(%{})\n", dims(shape), shares);
    return node(fmt::format("Where(%nan, %nothing, %{})", shares), "pg", shape, true);
  }
  void input(const std::string& name, const Shape& shape) {
    head_ += fmt::format("{}%{}in: f32[{}]", head_.back() == '(' ? "" : ", ", name, dims(shape));
    std::string real = name + "in";
    if (c_.codes && name != "m") real = recoded(real, shape);
    node(fmt::format("RoundTo(%{}) {{to=\"{}\"}}", real, c_.type), name, shape, false);
  }
  std::string reshaped(const std::string& from, const std::string& to, const Shape& shape) {
    const std::string sizes = constant_sizes(to + "sizes", shape);
    return node(fmt::format("Reshape(%{}, %{})", from, sizes), to, shape, false);
  }
  // Numbers in the place of hidden scores: where the mask is low, or unless it is high.
  std::string chosen(const std::string& s, const Shape& shape) {
    const bool hides = std::string(c_.type) == "f16";
    constants_ +=
        fmt::format("  const %low: f32[] = {{-1}}\n  const %hid: f32[] = {{{}}}\n", c_.hidden);
    nodes_ += fmt::format("  %mb: bool[{}] = {}(%m, %low)\n", dims(c_.mask_shape()),
                          hides ? "Less" : "Greater");
    return node(
        hides ? fmt::format("Where(%mb, %hid, %{})", s) : fmt::format("Where(%mb, %{}, %hid)", s),
        "sm", shape, true);
  }
  // Heads of all images as one axis.
  void join() {
    const s64 batch = c_.batch * c_.heads;
    for (const char* name : {"%qh", "%kt", "%vh"}) {
      for (size_t at = 0; (at = nodes_.find(fmt::format("  {}:", name), at)) != nodes_.npos;)
        nodes_.insert(at + 5, "4"), at += 6;
    }
    reshaped("qh4", "qh", {batch, c_.queries, c_.size});
    reshaped("kt4", "kt", {batch, c_.size, c_.keys});
    reshaped("vh4", "vh", {batch, c_.keys, c_.size});
  }
  // As codes and back.
  std::string recoded(const std::string& real, const Shape& shape) {
    if (constants_.find("%cs:") == constants_.npos)
      constants_ += "  const %cs: f32[] = {0.03125}\n  const %cz: s8[] = {5}\n";
    nodes_ += fmt::format("  %{0}q: s8[{1}] = QuantizeLinear(%{0}, %cs, %cz)\n", real, dims(shape));
    return node(fmt::format("DequantizeLinear(%{}q, %cs, %cz)", real), real + "d", shape, false);
  }
  std::string constant_sizes(const std::string& name, const Shape& shape) {
    constants_ += fmt::format("  const %{}: s64[{}] = {{{}}}\n", name, shape.rank(), dims(shape));
    return name;
  }
  std::string node(const std::string& call, const std::string& name, const Shape& shape,
                   bool rounds) {
    nodes_ += fmt::format("  %{}: f32[{}] = {}\n", name, dims(shape), call);
    if (!rounds) return name;
    nodes_ += fmt::format("  %{0}r: f32[{1}] = RoundTo(%{0}) {{to=\"{2}\"}}\n", name, dims(shape),
                          c_.type);
    return name + "r";
  }
  void operands() {
    const std::string turned = "perm=ints[0, 2, 1, 3]", across = "perm=ints[0, 2, 3, 1]";
    if (c_.packed) {
      const Shape parts{c_.batch, c_.queries, 3, c_.heads, c_.size};
      node(fmt::format("Reshape(%x, %{})", constant_sizes("parts", parts)), "x5", parts, false);
      const Shape apart{3, c_.batch, c_.heads, c_.queries, c_.size};
      node("Transpose(%x5) {perm=ints[2, 0, 3, 1, 4]}", "xt", apart, false);
      const Shape one{1, c_.batch, c_.heads, c_.queries, c_.size},
          own{c_.batch, c_.heads, c_.queries, c_.size};
      constants_ += "  const %ones: s64[3] = {1, 1, 1}\n";
      nodes_ += fmt::format(
          "  %x0: f32[{0}], %x1: f32[{0}], %x2: f32[{0}] = Split(%xt, %ones) {{axis=0}}\n",
          dims(one));
      constants_ += "  const %first: s64[1] = {0}\n";
      const char* names[] = {"qs", "ks", "vh"};
      for (int i = 0; i < 3; ++i)
        node(fmt::format("Squeeze(%x{}, %first)", i), names[i], own, false);
    } else {
      for (const char name : {'q', 'k', 'v'}) {
        const Shape split{c_.batch, name == 'q' ? c_.queries : c_.keys, c_.heads, c_.size};
        const std::string sizes = constant_sizes(fmt::format("{}sizes", name), split);
        node(fmt::format("Reshape(%{}, %{})", name, sizes), fmt::format("{}4", name), split, false);
      }
      node(fmt::format("Transpose(%q4) {{{}}}", turned), "qs",
           {c_.batch, c_.heads, c_.queries, c_.size}, false);
      node(fmt::format("Transpose(%v4) {{{}}}", turned), "vh",
           {c_.batch, c_.heads, c_.keys, c_.size}, false);
    }
    const Shape queries{c_.batch, c_.heads, c_.queries, c_.size},
        keys{c_.batch, c_.heads, c_.size, c_.keys};
    if (c_.packed) {
      node("Transpose(%ks) {perm=ints[0, 1, 3, 2]}", "kf", keys, false);
    } else {
      node(fmt::format("Transpose(%k4) {{{}}}", across), "kf", keys, false);
    }
    scaled("qs", "qh", queries, c_.scale == ScaleForm::both || c_.scale == ScaleForm::query);
    scaled("kf", "kt", keys, c_.scale == ScaleForm::both);
  }
  void scaled(const std::string& from, const std::string& to, const Shape& shape, bool scales) {
    if (!scales) {
      node(fmt::format("Identity(%{})", from), to, shape, false);
      return;
    }
    node(fmt::format("Mul(%{}, %c)", from), to + "s", shape, false);
    node(fmt::format("RoundTo(%{}s) {{to=\"{}\"}}", to, c_.type), to, shape, false);
  }
  std::string mask() {
    if (c_.mask != MaskForm::constant) return "m";
    constants_ += fmt::format("  const %mc: f32[{}] = {{", dims(c_.mask_shape()));
    const std::vector<f32> values = mask_of(c_);
    for (size_t i = 0; i < values.size(); ++i)
      constants_ += fmt::format("{}{}", i > 0 ? ", " : "", values[i]);
    constants_ += "}\n";
    return "mc";
  }

  const RealAttentionCase& c_;
  std::string head_, constants_, nodes_;
};

inline Graph graph_of(const RealAttentionCase& c) {
  return parse_graph(AttentionWriter(c).text(), find_op);
}

// Queries, keys, values and a mask as the graph's inputs, of numbers that the type holds.
inline std::vector<Tensor> inputs_of(const RealAttentionCase& c, const Graph& graph, u32 seed) {
  std::mt19937 random(seed);
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    Tensor tensor(Dtype::f32, value.type.shape);
    if (value.name == "min") {
      const std::vector<f32> mask = mask_of(c);
      std::ranges::copy(mask, tensor.mutable_as<f32>().begin());
    } else {
      for (f32& x : tensor.mutable_as<f32>())
        x = rounded((static_cast<f32>(random() % 2001) / 1000.0f - 1.0f) * c.spread, c.type);
      constexpr f32 kStep = 0.03125f;  // codes tell no more
      for (f32& x : tensor.mutable_as<f32>()) x = c.codes ? std::nearbyint(x / kStep) * kStep : x;
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

}  // namespace octet::test

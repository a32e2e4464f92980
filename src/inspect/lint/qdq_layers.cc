// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "inspect/lint/qdq_view.h"

namespace octet {
namespace {

class Layers {
 public:
  Layers(const QdqView& view, std::vector<QdqNote>& notes) : view_(view), notes_(notes) {}

  void run() {
    for (const Node& node : view_.graph.nodes) {
      if (is_quantize(node) || is_dequantize(node)) continue;
      if (view_.is_weighted(node)) {
        note_weighted(node);
      } else if (node.op->quant.kind == QuantKind::arithmetic) {
        note_arithmetic(node);
      }
    }
  }

 private:
  void add(const char* rule, const char* runtime, bool blocks, std::string text) {
    notes_.push_back({rule, runtime, blocks, std::move(text)});
  }

  // The only reader of what the node gives; null for several or none.
  const Node* only_reader(const Node& node) const {
    const s32 at = node.outputs.empty() ? -1 : view_.uses.only_consumer(node.outputs[0]);
    return at < 0 ? nullptr : &view_.graph.nodes[static_cast<size_t>(at)];
  }

  // Whether a QuantizeLinear reads the result, or what functions of it give.
  bool is_quantized(const Node& node) const {
    const Node* at = &node;
    while (at != nullptr && !at->outputs.empty()) {
      for (u32 reader : view_.uses.consumers(at->outputs[0])) {
        if (is_quantize(view_.graph.nodes[reader])) return true;
      }
      at = only_reader(*at);
      if (at != nullptr && !is_activation_function(*at)) return false;
    }
    return false;
  }

  static bool is_activation_function(const Node& node) {
    return node.op->quant.kind == QuantKind::table;
  }

  void note_weighted(const Node& node) {
    const bool x = view_.dequantize_of(node.input(0)) != nullptr;
    const bool w = view_.dequantize_of(node.input(1)) != nullptr;
    if (x && !w && view_.graph.is_constant(node.input(1))) {
      const std::string text =
          fmt::format("{} reads codes, but its weights have no DequantizeLinear; it stays real",
                      describe(node));
      for (const char* runtime : {kTensorRT, kOnnxRuntime}) add("R4", runtime, true, text);
      add("R4", kOctet, false,
          fmt::format("{} has real weights; Octet gives them codes, one scale a channel",
                      describe(node)));
    }
    if (w && !x && view_.is_activation(node.input(0))) {
      for (const char* runtime : {kOctet, kTensorRT, kOnnxRuntime})
        add("R4", runtime, true,
            fmt::format(
                "{} has weights in codes, but its input has no Q/DQ; it computes in real numbers",
                describe(node)));
    }
    if (x && w) note_result(node);
  }

  // Convolution, then sum and activation function, then QuantizeLinear is one step.
  void note_result(const Node& product) {
    const Node* next = only_reader(product);
    const Node* last = &product;
    if (next != nullptr && next->op->traits->elementwise && next->inputs.size() == 2) {
      note_skip(product, *next);
      last = next;
    }
    if (is_quantized(*last)) return;
    add("R4", kTensorRT, false,
        fmt::format("no QuantizeLinear follows {}; its result is real", describe(product)));
  }

  void note_skip(const Node& product, const Node& sum) {
    for (ValueId id : sum.inputs) {
      if (id == product.outputs[0] || !view_.is_activation(id)) continue;
      if (view_.dequantize_of(id) != nullptr) continue;
      add("R9", kTensorRT, true,
          fmt::format("{} adds a real skip connection to {}; the sum is real and the "
                      "QuantizeLinear behind it a step of its own: put "
                      "Q/DQ on the skip connection",
                      describe(sum), describe(product)));
    }
  }

  void note_arithmetic(const Node& node) {
    size_t codes = 0;
    std::string real;
    for (ValueId id : node.inputs) {
      if (!view_.is_activation(id)) continue;
      if (view_.dequantize_of(id) != nullptr) {
        ++codes;
      } else if (real.empty()) {
        real = view_.graph.value(id).name;
      }
    }
    if (codes == 0) return;
    if (!real.empty() && !is_product_sum(node)) {
      for (const char* runtime : {kTensorRT, kOnnxRuntime})
        add("R5", runtime, true,
            fmt::format("input '{}' of {} has no Q/DQ beside one that has; it stays real", real,
                        describe(node)));
    } else if (!is_quantized(node)) {
      add("R5", kTensorRT, true,
          fmt::format("no QuantizeLinear follows {}; it stays real", describe(node)));
    }
  }

  // Its real operand comes from a product that takes the sum in.
  bool is_product_sum(const Node& node) const {
    return std::ranges::any_of(node.inputs, [&](ValueId id) {
      const Node* producer = view_.producer(id);
      return producer != nullptr && view_.is_weighted(*producer);
    });
  }

  const QdqView& view_;
  std::vector<QdqNote>& notes_;
};

}  // namespace

void note_layers(const QdqView& view, std::vector<QdqNote>& notes) { Layers(view, notes).run(); }

}  // namespace octet

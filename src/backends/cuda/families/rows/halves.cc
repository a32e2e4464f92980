// SPDX-License-Identifier: Apache-2.0
// Softmax and normalizations of rows with what stands around them in layers of 16 bits: casts of what they read, a sum in front, the rounding of their result.
#include "backends/cuda/lower/halves.h"

#include <algorithm>

#include "backends/cuda/lower/code_reals.h"
#include "backends/cuda/lower/codes.h"
#include "backends/cuda/lower/heads.h"
#include "backends/cuda/lower/rows.h"
#include "ops/shared/activation.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

bool is_rows(const Node& node) {
  constexpr std::string_view kRows[] = {"Softmax", "QSoftmax", "LayerNormalization",
                                        "QLayerNormalization", "RMSNormalization"};
  return std::ranges::find(kRows, node.op->name) != std::end(kRows);
}

// Of two values of one shape.
bool is_sum(const Graph& graph, const Node& node) {
  if (node.op->name != "Add" || node.inputs.size() != 2 || node.inputs[0] == node.inputs[1])
    return false;
  const Shape& shape = graph.value(node.outputs[0]).type.shape;
  return activation_of(node).kind == Activation::Kind::none &&
         std::ranges::all_of(node.inputs, [&](ValueId id) {
           return !graph.is_constant(id) && graph.value(id).type.shape == shape;
         });
}

class Finder {
 public:
  Finder(const Graph& graph, const Uses& uses) : graph_(graph), uses_(uses) {}

  std::vector<u32> find(u32 last) {
    take(last);
    if (narrows(node(last))) {
      const s32 from = own_producer(node(last).inputs[0]);
      if (from < 0) return {};
      take(last = static_cast<u32>(from));
    }
    if (!is_rows(node(last)) || node(last).outputs.size() != 1) return {};
    take_before(node(last).inputs[0]);
    std::ranges::sort(chain_);
    return std::move(chain_);
  }

 private:
  const Node& node(u32 n) const { return graph_.nodes[n]; }
  bool narrows(const Node& node) const {
    return node.op->name == "RoundTo" || is_narrowing(graph_, node);
  }
  void take(u32 n) { chain_.push_back(n); }
  s32 own_producer(ValueId id) const {
    return is_read_once(graph_, uses_, id) ? uses_.producer(id) : -1;
  }
  // The cast that reads a value of 16 bits: what it reads.
  ValueId take_cast(ValueId id) {
    const s32 from = own_producer(id);
    if (from < 0 || !is_widening(graph_, node(static_cast<u32>(from)))) return id;
    take(static_cast<u32>(from));
    return node(static_cast<u32>(from)).inputs[0];
  }
  void take_before(ValueId id) {
    id = take_cast(id);
    const s32 rounding = own_producer(id);
    if (rounding < 0) return;
    s32 sum = rounding;
    const bool rounds = narrows(node(static_cast<u32>(rounding)));
    if (rounds) sum = own_producer(node(static_cast<u32>(rounding)).inputs[0]);
    if (sum < 0 || !is_sum(graph_, node(static_cast<u32>(sum)))) return;
    if (rounds) take(static_cast<u32>(rounding));
    take(static_cast<u32>(sum));
    for (const ValueId operand : node(static_cast<u32>(sum)).inputs) take_cast(operand);
  }

  const Graph& graph_;
  const Uses& uses_;
  std::vector<u32> chain_;
};

class Reader {
 public:
  explicit Reader(const LowerRequest& chain) : chain_(chain), body_(chain_body(chain.node)) {}

  std::string read(RowsRequest& rows) {
    size_t at = 0;
    while (!is_rows(body_.nodes[at])) ++at;
    const Node& own = body_.nodes[at];
    for (size_t i = 1; i < own.inputs.size(); ++i) {
      if (own.inputs[i] != kNoValue && !body_.is_constant(own.inputs[i]))
        return "a run brings scale or bias";
    }
    if (std::string reason = read_rows(part_request(chain_, at), rows); !reason.empty())
      return reason;
    read_before(own.inputs[0], rows);
    rows.values.codes_too = body_.outputs.size() > 1;
    const ValueId y = body_.outputs.back();
    const Node& end = *producer(y);
    if (&end != &own) rows.values.rounded = rounding_of(body_, end);
    if (!rows.values.y_codes) rows.values.y_real = number_of(body_.value(y).type.dtype);
    if (rows.values.codes_too) rows.values.y = quantization_of(body_.nodes.back());
    return {};
  }

 private:
  Quantization quantization_of(const Node& quantize) const {
    const CodeScale own = *code_scale_of(body_, quantize);
    const CodeRange range = code_range(body_.value(quantize.outputs[0]).type.dtype);
    return {.scale = bits_of(own.scale),
            .reciprocal = bits_of(reciprocal_of(own.scale)),
            .zero_point = own.zero_point,
            .lo = range.lo,
            .hi = range.hi};
  }
  const Node* producer(ValueId id) const {
    for (const Node& node : body_.nodes) {
      if (node.outputs[0] == id) return &node;
    }
    return nullptr;
  }
  // An input of the chain, perhaps behind its cast.
  size_t input_of(ValueId id, Number& type) const {
    const Node* cast = producer(id);
    const ValueId from = cast != nullptr ? cast->inputs[0] : id;
    type = number_of(body_.value(from).type.dtype);
    return *chain_input(chain_.node, from);
  }
  void read_before(ValueId id, RowsRequest& rows) const {
    RowSum& sum = rows.values.sum;
    const Node* before = producer(id);
    ValueId read = id;
    while (before != nullptr && is_rounding(body_, *before)) {
      read = before->inputs[0];
      if (!is_widening(body_, *before)) sum.rounded = rounding_of(body_, *before);
      before = producer(read);
    }
    if (before == nullptr) {
      rows.x_input = input_of(id, rows.values.x_real);
      return;
    }
    sum.exists = true;
    rows.x_input = input_of(before->inputs[0], rows.values.x_real);
    rows.added_input = input_of(before->inputs[1], sum.added);
  }

  const LowerRequest& chain_;
  const Graph& body_;
};

}  // namespace

std::vector<u32> find_half_rows(const Graph& graph, const Uses& uses, u32 last) {
  return Finder(graph, uses).find(last);
}

std::vector<u32> find_coded_rows(const Graph& graph, const Uses& uses, u32 last) {
  const Node& quantize = graph.nodes[last];
  if (!is_plain_quantize(graph, quantize) || !is_read_once(graph, uses, quantize.inputs[0]))
    return {};
  const s32 read = uses.producer(quantize.inputs[0]);
  if (read < 0 || !is_widening(graph, graph.nodes[static_cast<size_t>(read)])) return {};
  const s32 stored = uses.producer(graph.nodes[static_cast<size_t>(read)].inputs[0]);
  if (stored < 0 || !is_narrowing(graph, graph.nodes[static_cast<size_t>(stored)])) return {};
  std::vector<u32> chain = Finder(graph, uses).find(static_cast<u32>(stored));
  if (chain.empty() || !std::ranges::any_of(chain, [&](u32 n) {
        return graph.nodes[n].op->name == "LayerNormalization" ||
               graph.nodes[n].op->name == "RMSNormalization";
      }))
    return {};
  chain.push_back(static_cast<u32>(read));
  chain.push_back(last);
  std::ranges::sort(chain);
  return chain;
}

Offer offer_half_rows(const LowerRequest& chain) {
  RowsRequest rows;
  rows.values.sum.rounded = Number::f32;
  if (std::string reason = Reader(chain).read(rows); !reason.empty()) return Reject{reason};
  return rows_offer(chain, rows);
}

}  // namespace octet::cuda

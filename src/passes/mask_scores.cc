// SPDX-License-Identifier: Apache-2.0
// Scores of attention that a Where hides become scores to which a mask is added, as kernels of attention take them: Where(hidden, c, scores) is
// scores + Where(hidden, c, 0). Both are c where c is infinite, or so far beyond all scores that codes can make that a sum with it is rounded
// to c; the sign of a zero, which the sum may change, Softmax does not see. Runs when products are integer.
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "ops/attributes/products.h"
#include "ops/quantized/epilogue.h"
#include "ops/registry.h"
#include "passes/graph_pass.h"
#include "passes/match.h"

namespace octet {
namespace {

class ScoreMasker : EditingPass {
 public:
  using EditingPass::EditingPass;

  void run() {
    for (at_ = 0; at_ < graph_.nodes.size(); ++at_) {
      const std::optional<Hidden> hidden = hidden_scores(graph_.nodes[at_]);
      if (!hidden || !rewrites_.allow()) continue;
      replace(*hidden);
    }
    edit_.apply();
  }

 private:
  struct Hidden {
    size_t scores = 0;  // which input of Where they are; 3 - scores is the number
    f32 number = 0;
  };

  std::optional<Hidden> hidden_scores(const Node& where) {
    if (!is_op(where, "Where")) return {};
    const Node* reader = only_reader(graph_, uses_, where.outputs[0]);
    if (reader == nullptr || !is_softmax(*reader)) return {};
    for (size_t scores = 1; scores < 3; ++scores) {
      const std::optional<f32> number = scalar_constant(graph_, where.inputs[3 - scores]);
      if (!number || !(*number < 0.0f)) continue;
      const ValueId id = where.inputs[scores];
      const bool whole = graph_.value(id).type.shape == graph_.value(where.outputs[0]).type.shape;
      if (whole && largest(id) < -f64{*number} * kRoundedAway) return Hidden{scores, *number};
    }
    return {};
  }

  static bool is_softmax(const Node& node) {
    const bool of_codes = is_op(node, "QSoftmax");
    return of_codes || is_op(node, "Softmax");
  }

  // The magnitude of the scores that codes make; infinite where they are not made of codes.
  f64 largest(ValueId id) {
    constexpr f64 kUnknown = std::numeric_limits<f64>::infinity();
    constexpr f64 kLargestProduct = 255.0 * 255.0;
    const Node* product = producer_of(graph_, uses_, id);
    if (product == nullptr || !is_op(*product, "QMatMul")) return kUnknown;
    for (const size_t i : {kProductBias, kProductResidual, kProductTable, kProductAddend})
      if (product->input(i) != kNoValue) return kUnknown;
    const Tensor* multiplier = graph_.constant_input(*product, kProductMultiplier);
    const Shape& a = graph_.value(product->inputs[kProductX]).type.shape;
    if (multiplier == nullptr || multiplier->elements() != 1 || a.is_unknown() || a.rank() == 0)
      return kUnknown;
    const std::vector<s64> perm = attribute_of<&MatMulAttributes::perm_a>(*product).value_or(
        std::vector<s64>{s64{a.rank()} - 1});
    const s64 depth = a[static_cast<int>(perm.back())];
    if (depth < 0) return kUnknown;
    return static_cast<f64>(depth) * kLargestProduct * std::fabs(f64{multiplier->as<f32>()[0]});
  }

  // One for each condition and number: layers share it.
  ValueId mask_of(const Node& where, const Hidden& hidden) {
    const auto key = std::tuple(where.inputs[0], hidden.number, hidden.scores);
    const auto [at, fresh] = masks_.try_emplace(key, kNoValue);
    if (!fresh) return at->second;
    const std::string name = where.name + ".mask";
    const auto number = [&](std::string_view what, f32 value) {
      return graph_.add_constant(name + std::string(what), Tensor::scalar(value));
    };
    const ValueId zero = number(".zero", 0.0f), least = number(".least", hidden.number);
    Node mask = node_beside(
        where, find_op("Where"), name,
        {where.inputs[0], hidden.scores == 2 ? least : zero, hidden.scores == 2 ? zero : least});
    mask.origins = {};
    const Shape shape = graph_.value(where.inputs[0]).type.shape;
    mask.outputs = {graph_.add_value(name, TensorType{Dtype::f32, shape})};
    at->second = mask.outputs[0];
    edit_.insert_before(at_, std::move(mask));
    return at->second;
  }

  void replace(const Hidden& hidden) {
    Node& where = graph_.nodes[at_];
    const ValueId scores = where.inputs[hidden.scores], mask = mask_of(where, hidden);
    where.op = find_op("Add");
    where.inputs = {scores, mask};
  }

  // A sum with what is below this part of a number is rounded back to it.
  static constexpr f64 kRoundedAway = 0x1p-26;

  std::map<std::tuple<ValueId, f32, size_t>, ValueId> masks_;
};

}  // namespace

void mask_scores(Graph& graph, Rewrites& rewrites) { ScoreMasker(graph, rewrites).run(); }

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "passes/check_declared.h"

#include <algorithm>

#include "core/check.h"
#include "graph/op_def.h"
#include "graph/propagate.h"
#include "passes/infer_types.h"

namespace octet {
namespace {

constexpr f64 kFoldedSteps = 1 << 24;  // as for a plan

bool sizes_fit(const Shape& declared, const Shape& computed) {
  if (declared.rank() != computed.rank()) return false;
  for (int d = 0; d < declared.rank(); ++d) {
    if (declared[d] >= 0 && computed[d] >= 0 && declared[d] != computed[d]) return false;
  }
  return true;
}

std::string words(const DeclaredType& declared) {
  if (declared.known && declared.shape)
    return to_string(TensorType{*declared.known, *declared.shape});
  if (declared.known) return std::string(dtype_name(*declared.known));
  return declared.dtype + (declared.shape ? " of " + to_string(*declared.shape) : "");
}

class Checker {
 public:
  Checker(const Graph& graph, const SampledTypes& types, bool sizes)
      : graph_(graph), uses_(graph), types_(types), sizes_(sizes) {}

  void check(const DeclaredType& declared) const {
    const TensorType& computed = graph_.value(declared.id).type;
    if (computed.shape.is_unknown()) return;  // only a run tells, the element type too
    if (!declared.dtype.empty() && declared.known != computed.dtype) refuse(declared);
    const bool from_data = types_.first.from_data[declared.id];
    if (!declared.shape || from_data || !sizes_) return;
    if (!sizes_fit(*declared.shape, computed.shape)) refuse(declared);
  }

 private:
  [[noreturn]] void refuse(const DeclaredType& declared) const {
    const Value& value = graph_.value(declared.id);
    const s32 producer = uses_.producer(declared.id);
    fail(Error::Code::invalid_model,
         "the file declares {} '{}' as {}, but {} gives {}; export the model again",
         declared.is_output ? "output" : "value", value.name, words(declared),
         producer < 0 ? "it" : describe(graph_.nodes[static_cast<size_t>(producer)]),
         to_string(value.type));
  }

  const Graph& graph_;
  const Uses uses_;
  const SampledTypes& types_;
  bool sizes_;
};

}  // namespace

void check_declared(Graph& graph, std::span<const DeclaredType> declared, bool sizes) {
  if (declared.empty()) return;
  FoldingBudget budget(kFoldedSteps);
  const SampledTypes types = infer_types(graph, {.keep_dequantize = true, .budget = &budget});
  const Checker checker(graph, types, sizes);
  for (const DeclaredType& type : declared) checker.check(type);
}

}  // namespace octet

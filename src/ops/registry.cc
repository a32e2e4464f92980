// SPDX-License-Identifier: Apache-2.0
#include "ops/registry.h"

#include <algorithm>
#include <vector>

namespace octet {

#define OP(name) extern const OpDef k##name;
#include "ops/ops.def"
#undef OP

namespace {

constexpr const OpDef* kOps[] = {
#define OP(name) &k##name,
#include "ops/ops.def"
#undef OP
};

// Sorted by name once, on first use: no code runs before main.
const std::vector<const OpDef*>& by_name() {
  static const std::vector<const OpDef*> sorted = [] {
    std::vector<const OpDef*> ops(std::begin(kOps), std::end(kOps));
    std::sort(ops.begin(), ops.end(),
              [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
    return ops;
  }();
  return sorted;
}

}  // namespace

std::span<const OpDef* const> all_ops() { return kOps; }

const OpDef* find_op(std::string_view name) {
  const auto& ops = by_name();
  auto at = std::lower_bound(ops.begin(), ops.end(), name,
                             [](const OpDef* op, std::string_view n) { return op->name < n; });
  return at != ops.end() && (*at)->name == name ? *at : nullptr;
}

const OpDef* find_onnx_op(std::string_view domain, std::string_view name) {
  if (domain == "ai.onnx") domain = "";
  const OpDef* op = find_op(name);
  return op != nullptr && op->domain == domain ? op : nullptr;
}

}  // namespace octet

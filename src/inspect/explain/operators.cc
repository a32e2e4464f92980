// SPDX-License-Identifier: Apache-2.0
#include "octet/operators.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

#include "backends/backends.h"
#include "ops/registry.h"
#include "plan/backend.h"

namespace octet {
namespace {

// Better kernels come first in the table.
std::string f32_kernel(const OpDef& op) {
  if (op.eval == nullptr) return "that of its form";
  for (const Lowering& lowering : find_device("cpu").backend().lowerings) {
    if (lowering.op == op.name && !lowering.f32_kernel.empty())
      return std::string(lowering.f32_kernel);
  }
  return "reference";
}

std::string int8_form(const OpDef& op) {
  if (op.eval == nullptr) return "that of its form";
  constexpr std::array kNames = {"none", "compute", "arithmetic", "moves codes", "table"};
  return kNames[static_cast<size_t>(op.quant.kind)];
}

std::string import_form(const OpDef& op) {
  if (op.eval == nullptr) return "read as other operators";
  return op.parse != nullptr ? "brought to one canonical form" : "as it is";
}

// As files call it: a name that ONNX has too is kept with its domain.
std::string file_name(const OpDef& op) {
  const std::string prefix = std::string(op.domain) + '/';
  return std::string(op.name.starts_with(prefix) ? op.name.substr(prefix.size()) : op.name);
}

}  // namespace

std::vector<OpSupport> supported_operators() {
  std::vector<OpSupport> table;
  for (const OpDef* op : op_registry().all()) {
    if (op->domain == "octet") continue;
    table.push_back({file_name(*op), std::string(op->domain), import_form(*op), f32_kernel(*op),
                     int8_form(*op)});
  }
  table.push_back({"Constant", "", "becomes a constant of the graph", "none needed", "none"});
  std::ranges::sort(table, [](const OpSupport& a, const OpSupport& b) {
    return std::tie(a.domain, a.name) < std::tie(b.domain, b.name);
  });
  return table;
}

}  // namespace octet

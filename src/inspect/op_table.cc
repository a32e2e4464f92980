// SPDX-License-Identifier: Apache-2.0
#include "inspect/op_table.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

#include "backends/backends.h"
#include "ops/registry.h"
#include "plan/backend.h"

namespace octet {
namespace {

// Which kernels a lowering brings to f32 data. Unlisted names say it by their prefix: f_ and linear_ are our own kernels,
// q_ works on codes.
struct KernelFamily {
  std::string_view lowering;
  std::string_view f32_kernel;
};

constexpr std::array kFamilies = {
    KernelFamily{"lower_f_conv", "oneDNN"},
    KernelFamily{"lower_f_conv_transpose", "oneDNN"},
    KernelFamily{"lower_f_depthwise", "oneDNN, own (depthwise 3x3)"},
    KernelFamily{"lower_f_matmul", "oneDNN"},
    KernelFamily{"lower_q_concat", "own"},
    KernelFamily{"lower_q_dequantize", "own"},
    KernelFamily{"lower_q_dynamic", "own"},
    KernelFamily{"lower_q_interleave", "own (DCR), reference"},
    KernelFamily{"lower_q_pad", "own"},
    KernelFamily{"lower_q_quantize", "own"},
    KernelFamily{"lower_q_reshape", "own"},
    KernelFamily{"lower_q_resize", "own (nearest), reference"},
    KernelFamily{"lower_q_slice", "own"},
    KernelFamily{"lower_q_split", "own"},
    KernelFamily{"lower_q_transpose", "own"},
};

std::string_view family_of(std::string_view lowering) {
  for (const KernelFamily& family : kFamilies) {
    if (family.lowering == lowering) return family.f32_kernel;
  }
  return lowering.starts_with("lower_q_") ? "" : "own";
}

// Better kernels come first in the table, and a float kernel beats what serves any type.
std::string f32_kernel(const OpDef& op) {
  if (op.eval == nullptr) return "that of its form";
  std::string_view kernel;
  for (const Lowering& lowering : find_device("cpu").backend().lowerings) {
    if (lowering.op != op.name) continue;
    const bool better = lowering.name.starts_with("lower_f_");
    if (kernel.empty() || better) kernel = family_of(lowering.name);
    if (better) break;
  }
  return std::string(kernel.empty() ? "reference" : kernel);
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

}  // namespace

std::vector<OpSupport> support_table() {
  std::vector<OpSupport> table;
  for (const OpDef* op : all_ops()) {
    if (op->domain == "octet") continue;
    table.push_back({std::string(op->name), std::string(op->domain), import_form(*op),
                     f32_kernel(*op), int8_form(*op)});
  }
  table.push_back({"Constant", "", "becomes a constant of the graph", "none needed", "none"});
  std::ranges::sort(table, [](const OpSupport& a, const OpSupport& b) {
    return std::tie(a.domain, a.name) < std::tie(b.domain, b.name);
  });
  return table;
}

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "inspect/macs.h"

#include <array>
#include <string_view>

#include "graph/op_def.h"

namespace octet {
namespace {

using Types = std::span<const TensorType>;

s64 product(std::span<const s64> dims) {
  s64 result = 1;
  for (const s64 dim : dims) result *= dim;
  return result;
}

// Every output element reads one filter: C/g x KH x KW.
s64 convolution(const Node&, Types inputs, Types outputs) {
  const auto weight = inputs[1].shape.dims();
  return weight.empty() ? 0 : product(outputs[0].shape.dims()) * product(weight.subspan(1));
}

// Every input element meets one filter: O/g x KH x KW.
s64 transposed_convolution(const Node&, Types inputs, Types) {
  const auto weight = inputs[1].shape.dims();
  return weight.empty() ? 0 : product(inputs[0].shape.dims()) * product(weight.subspan(1));
}

s64 matrix_product(const Node&, Types inputs, Types outputs) {
  const auto a = inputs[0].shape.dims();
  return a.empty() ? 0 : product(outputs[0].shape.dims()) * a.back();
}

s64 gemm(const Node& node, Types inputs, Types outputs) {
  const auto a = inputs[0].shape.dims();
  if (a.size() != 2) return 0;
  return product(outputs[0].shape.dims()) * (node.attrs.i("transA", 0) != 0 ? a[0] : a[1]);
}

// Every step multiplies its input and its state by all gates' weights.
s64 recurrence(const Node&, Types inputs, Types) {
  const auto x = inputs[0].shape.dims();
  const auto w = inputs[1].shape.dims(), r = inputs[2].shape.dims();
  if (x.size() != 3 || w.size() != 3 || r.size() != 3) return 0;
  return x[0] * x[1] * (product(w) + product(r));
}

struct Rule {
  std::string_view op;
  s64 (*count)(const Node&, Types, Types);
};

constexpr std::array kRules = {
    Rule{"Conv", convolution},
    Rule{"QConv", convolution},
    Rule{"ConvTranspose", transposed_convolution},
    Rule{"MatMul", matrix_product},
    Rule{"QMatMul", matrix_product},
    Rule{"Gemm", gemm},
    Rule{"ConvInteger", convolution},
    Rule{"DeformConv", convolution},
    Rule{"GRU", recurrence},
    Rule{"LSTM", recurrence},
    Rule{"MatMulInteger", matrix_product},
    Rule{"RNN", recurrence},
};

}  // namespace

s64 count_macs(const Node& node, Types inputs, Types outputs) {
  for (const Rule& rule : kRules) {
    if (node.op != nullptr && node.op->name == rule.op) return rule.count(node, inputs, outputs);
  }
  return 0;
}

}  // namespace octet

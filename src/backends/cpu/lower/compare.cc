// SPDX-License-Identifier: Apache-2.0
// Comparisons of f32 and of integers of 32 and 64 bits, and logic of bools, with broadcasting, in linear order. Plain loops over rows, which the
// compiler makes vectors of.
#include <array>
#include <functional>

#include "backends/cpu/device.h"
#include "backends/cpu/lower/f_rows.h"
#include "backends/host/queue.h"

namespace octet {
namespace {

// A row of the result; an operand that stands steps by 0.
struct TruthRow {
  const std::byte* x;
  const std::byte* y;
  bool* dst;
  s64 count;
};
using RowFunction = void (*)(const TruthRow&);

template <class T, class F, s64 kStepX, s64 kStepY>
void truth_row(const TruthRow& row) {
  const T* x = reinterpret_cast<const T*>(row.x);
  const T* y = reinterpret_cast<const T*>(row.y);
  for (s64 i = 0; i < row.count; ++i) row.dst[i] = F{}(x[i * kStepX], y[i * kStepY]);
}

// By the steps of x and y as bits.
template <class T, class F>
constexpr RowFunction kTruthRows[] = {truth_row<T, F, 0, 0>, truth_row<T, F, 0, 1>,
                                      truth_row<T, F, 1, 0>, truth_row<T, F, 1, 1>};

struct NotSecond {
  bool operator()(bool, bool y) const { return !y; }
};

const RowFunction* find_logic(std::string_view op) {
  if (op == "And") return kTruthRows<bool, std::logical_and<bool>>;
  if (op == "Or") return kTruthRows<bool, std::logical_or<bool>>;
  if (op == "Xor") return kTruthRows<bool, std::not_equal_to<bool>>;
  if (op == "Equal") return kTruthRows<bool, std::equal_to<bool>>;
  if (op == "Not") return kTruthRows<bool, NotSecond>;
  return nullptr;
}

template <class T>
const RowFunction* find_comparison(std::string_view op) {
  if (op == "Equal") return kTruthRows<T, std::equal_to<T>>;
  if (op == "Less") return kTruthRows<T, std::less<T>>;
  if (op == "LessOrEqual") return kTruthRows<T, std::less_equal<T>>;
  if (op == "Greater") return kTruthRows<T, std::greater<T>>;
  if (op == "GreaterOrEqual") return kTruthRows<T, std::greater_equal<T>>;
  return nullptr;
}

const RowFunction* find_rows(std::string_view op, Dtype dtype) {
  switch (dtype) {
    case Dtype::boolean:
      return find_logic(op);
    case Dtype::f32:
      return find_comparison<f32>(op);
    case Dtype::s32:
      return find_comparison<s32>(op);
    case Dtype::s64:
      return find_comparison<s64>(op);
    default:
      return nullptr;
  }
}

struct TruthStep {
  const RowFunction* functions;
  s64 bytes;                        // of an element
  std::array<Tensor, 2> constants;  // empty where a run brings the operand
  size_t second;                    // the input that is y: of Not, which has no x, the first
  Rows rows;                        // the output, then x and y

  const std::byte* operand(const StepArgs& step, size_t i) const {
    return constants[i] ? constants[i].data() : step.inputs[i];
  }

  void operator()(const StepArgs& step) const noexcept {
    const std::byte *x = operand(step, 0), *y = operand(step, second);
    bool* dst = reinterpret_cast<bool*>(step.outputs[0]);
    const RowFunction function = functions[rows.step(1) * 2 + rows.step(2)];
    rows.for_each(pool_of(step), [&](const Rows::Offsets& at, s64 count) {
      function({x + at[1] * bytes, y + at[2] * bytes, dst + at[0], count});
    });
  }
};

}  // namespace

Offer lower_compare(const LowerRequest& request) {
  const Dtype dtype = request.inputs[0].dtype;
  const RowFunction* functions = find_rows(request.node.op->name, dtype);
  if (functions == nullptr)
    return Reject{"only f32, s32, s64 and bool are compared, and bools joined"};
  const size_t second = request.inputs.size() == 1 ? 0 : 1;
  const std::array<RowOperand, 3> operands = {{{request.outputs[0].shape, {}},
                                               {request.inputs[0].shape, {}},
                                               {request.inputs[second].shape, {}}}};
  if (!Rows::possible(operands)) return Reject{"an input steps by more than one element in a row"};
  TruthStep step{functions, static_cast<s64>(dtype_bytes(dtype)), {}, second, Rows(operands)};
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (const Tensor* constant = request.constant(i)) step.constants[i] = *constant;
  }
  Candidate candidate;
  candidate.kernel = "compare";
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.outputs = {Layout::linear};
  candidate.holds = request.constants();
  candidate.bind = [step](const BindArgs&) -> RunStep { return step; };
  return candidate;
}

}  // namespace octet

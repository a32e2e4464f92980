// SPDX-License-Identifier: Apache-2.0
// f32 elementwise operators of two inputs with broadcasting. The output takes the layout of a full-size input; constants
// are copied into it once.
#include <algorithm>
#include <array>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/float/binary.h"
#include "backends/cpu/lower/bf16_values.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_rows.h"
#include "backends/cpu/lower/rounding.h"
#include "backends/host/queue.h"
#include "ops/shared/activation.h"

namespace octet {
namespace {

struct Choice {
  std::string name;  // of the table row
  f32 a = 0.0f;
  f32 b = 0.0f;
};

Choice choose(const Node& node) {
  const Activation activation = activation_of(node);
  if (activation.is_clamp()) return {"add_clamp", activation.min, activation.max};
  if (activation.kind == Activation::Kind::leaky_relu)
    return {"add_leaky_relu", activation.alpha, 0.0f};
  for (const BinaryKernel& kernel : kBinaryKernels) {
    if (node.op->name == kernel.op) return {kernel.name, 0.0f, 0.0f};
  }
  return {};
}

const BinaryKernel* find_row(std::string_view name) {
  for (const BinaryKernel& kernel : kBinaryKernels) {
    if (name == kernel.name) return &kernel;
  }
  return nullptr;
}

// Both layouts are the same bytes.
bool layouts_agree(const Shape& shape) { return shape[1] == 1 || shape[2] * shape[3] == 1; }

struct Layouts {
  Layout output = Layout::linear;
  std::array<Layout, 2> inputs{};
};

Layouts with_output(const LowerRequest& request, Layout output) {
  Layouts layouts{output, {Layout::linear, Layout::linear}};
  for (size_t i = 0; i < 2; ++i) {
    if (request.constant(i) != nullptr || request.inputs[i].shape.rank() != 4) continue;
    layouts.inputs[i] = layouts_agree(request.inputs[i].shape) ? request.layouts[i] : output;
  }
  return layouts;
}

Placement constant_placement(const Shape& shape, Layout layout) {
  return {.layout = shape.rank() == 4 ? layout : Layout::linear};
}

bool possible(const LowerRequest& request, const Layouts& layouts) {
  std::array<RowOperand, 3> operands;
  operands[0] = {request.outputs[0].shape, {.layout = layouts.output}};
  for (size_t i = 0; i < 2; ++i) {
    const Shape& shape = request.inputs[i].shape;
    const bool constant = request.constant(i) != nullptr;
    operands[i + 1] = {shape, constant ? constant_placement(shape, layouts.output)
                                       : Placement{.layout = layouts.inputs[i]}};
  }
  return Rows::possible(operands);
}

// nhwc when an input of the output's size lies so and the other can be walked in that order.
Layouts choose_layouts(const LowerRequest& request) {
  for (size_t i = 0; i < 2 && request.outputs[0].shape.rank() == 4; ++i) {
    const bool full = request.inputs[i].shape == request.outputs[0].shape;
    if (!full || request.constant(i) != nullptr || request.layouts[i] != Layout::nhwc) continue;
    const Layouts layouts = with_output(request, Layout::nhwc);
    if (possible(request, layouts)) return layouts;
  }
  return with_output(request, Layout::linear);
}

// Whether operands of a run, and the result, are stored as bf16.
struct Halves {
  std::array<bool, 2> inputs;
  bool output;

  bool any() const { return inputs[0] || inputs[1] || output; }
};

struct Bound {
  BinaryFunction function;
  int rounds;
  f32 a, b;
  std::array<Tensor, 2> constants;
  Halves halves;
  Rows rows;

  const std::byte* operand(const StepArgs& step, size_t i) const {
    return constants[i] ? constants[i].data() : step.inputs[i];
  }
  void operator()(const StepArgs& step) const {
    const std::byte* x = operand(step, 0);
    const std::byte* y = operand(step, 1);
    const s64 step_x = rows.step(1), step_y = rows.step(2);
    rows.for_each(pool_of(step), [&](const Rows::Offsets& at, s64 count) {
      const BinaryArgs args{x + at[1] * element_bytes(halves.inputs[0]),
                            y + at[2] * element_bytes(halves.inputs[1]),
                            step.outputs[0] + at[0] * element_bytes(halves.output),
                            count,
                            step_x,
                            step_y,
                            a,
                            b,
                            rounds,
                            halves.inputs[0],
                            halves.inputs[1],
                            halves.output};
      function(&args);
    });
  }
};

struct Operands {
  Shape output;
  std::array<Shape, 2> inputs;
  std::array<Tensor, 2> constants;  // as the graph has them; empty where a run brings the operand
  Layout layout;                    // of the output, in whose memory order they are read
  Halves halves;
};

// Of each constant, its elements in the output's order.
std::vector<Preparation> prepare_constants(const Operands& operands) {
  std::vector<Preparation> result;
  for (const Tensor& constant : operands.constants) {
    if (!constant) continue;
    const std::string key = operands.layout == Layout::nhwc ? "nhwc" : "linear";
    result.push_back(preparation<Tensor>(
        key, {constant}, [constant, to = operands.layout] { return in_layout(constant, to); }));
  }
  return result;
}

struct Ends {
  BinaryFunction function;
  int rounds;
};

RunStep bind_binary(const Ends& ends, const Choice& choice, const Operands& operands,
                    const BindArgs& bind) {
  std::array<RowOperand, 3> row{{{operands.output, bind.outputs[0]}}};
  std::array<Tensor, 2> constants;
  size_t prepared = 0;
  for (size_t i = 0; i < 2; ++i) {
    const bool constant = static_cast<bool>(operands.constants[i]);
    const Placement packed = constant_placement(operands.inputs[i], bind.outputs[0].layout);
    row[i + 1] = {operands.inputs[i], constant ? packed : bind.inputs[i]};
    if (constant) constants[i] = prepared_tensor(bind, prepared++);
  }
  return Bound{ends.function, ends.rounds,     choice.a, choice.b,
               constants,     operands.halves, Rows(row)};
}

}  // namespace

Offer lower_f_binary(const LowerRequest& request) {
  if (std::string reason = halves_reject(request); !reason.empty()) return Reject{reason};
  if (request.inputs.size() != 2) return Reject{"more than two inputs"};
  const Choice choice = choose(request.node);
  const BinaryKernel* row = find_row(choice.name);
  if (row == nullptr) return Reject{"no f32 kernel computes this operator"};
  const Layouts layouts = choose_layouts(request);
  if (!possible(request, layouts))
    return Reject{"an input steps by more than one element in a row"};

  Operands operands{request.outputs[0].shape,
                    {request.inputs[0].shape, request.inputs[1].shape},
                    {},
                    layouts.output,
                    {{is_stored_half(request.inputs[0]), is_stored_half(request.inputs[1])},
                     is_stored_half(request.outputs[0])}};
  for (size_t i = 0; i < 2; ++i) {
    if (const Tensor* t = request.constant(i)) operands.constants[i] = *t;
  }
  Candidate candidate;
  candidate.kernel = kernel_name("f32", choice.name, isa_of(request.target));
  candidate.inputs.assign(layouts.inputs.begin(), layouts.inputs.end());
  candidate.outputs = {layouts.output};
  candidate.holds = request.constants();
  candidate.strided = layouts.output == Layout::nhwc && operands.output[1] != 1;
  for (size_t i = 0; i < 2; ++i) {
    if (operands.inputs[i] == operands.output &&
        operands.halves.inputs[i] == operands.halves.output)
      candidate.overwrites.push_back(i);
  }
  candidate.prepare = [operands](const BindArgs&) { return prepare_constants(operands); };
  const Ends ends{operands.halves.any() ? row->bf16 : kernel_for(*row, isa_of(request.target)),
                  rounding_code(request.node)};
  candidate.note = rounding_note(request.node);
  candidate.bind = [ends, choice, operands](const BindArgs& bind) {
    return bind_binary(ends, choice, operands, bind);
  };
  return candidate;
}

}  // namespace octet

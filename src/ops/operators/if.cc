// SPDX-License-Identifier: Apache-2.0
// If(condition, captures...) {then_branch, else_branch}: the outputs of the branch that the condition chooses. Both take
// all captures.
#include "graph/op_traits.h"
#include "ops/shared/control_flow.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

const Graph& branch(const Node& node, bool condition) {
  const size_t inputs = node.inputs.size() - 1;
  const Graph& then_branch = checked_body(node, "then_branch", inputs, -1);
  const s64 outputs = static_cast<s64>(then_branch.outputs.size());
  const Graph& else_branch = checked_body(node, "else_branch", inputs, outputs);
  if (then_branch.outputs.size() < node.outputs.size()) {
    fail(Error::Code::invalid_model, "the branches have {} outputs, the node {}", outputs,
         node.outputs.size());
  }
  return condition ? then_branch : else_branch;
}

void parse(NodeParser& parser) {
  parser.node.attrs.erase("captures");
  branch(parser.node, true);  // checks the structure
}

std::vector<TensorType> infer_branch(const Inference& inference, bool condition) {
  const std::vector<Tensor> known = known_inputs(inference, 1);
  return infer_body(branch(inference.node, condition), std::span(inference.inputs).subspan(1),
                    known, inference.sample);
}

void infer(Inference& inference) {
  if (inference.inputs[0].dtype != Dtype::boolean || inference.inputs[0].shape.elements() != 1) {
    fail(Error::Code::invalid_model, "the condition is {}, expected one bool",
         to_string(inference.inputs[0]));
  }
  branch(inference.node, true);
  if (const Tensor* condition = inference.value(0)) {
    inference.outputs = infer_branch(inference, condition_of(*condition));
    return;
  }
  try {
    inference.outputs = infer_branch(inference, true);
    const std::vector<TensorType> others = infer_branch(inference, false);
    for (size_t i = 0; i < others.size(); ++i) {
      inference.outputs[i] = either_type(inference.outputs[i], others[i]);
    }
  } catch (const Error&) {
    // Only the branch that is taken has to fit.
    Inference::needs_data(0, "the condition");
  }
}

void eval(const Eval& eval) {
  std::vector<Tensor> inputs;
  for (size_t i = 1; i < eval.inputs.size(); ++i) inputs.push_back(borrowed_input(eval, i));
  const Graph& body = branch(eval.node, condition_of(borrowed_input(eval, 0)));
  const std::vector<Tensor> results = run_body(body, inputs, eval.max_bytes);
  for (size_t i = 0; i < results.size(); ++i) give(eval, i, results[i]);
}

constexpr std::string_view kBodies[] = {"else_branch", "then_branch"};

}  // namespace

extern constinit const OpDef kIf = runs_bodies<kBodies>(
    {.name = "If", .inputs = {1, -1}, .parse = parse, .infer = infer, .eval = eval});
}  // namespace octet

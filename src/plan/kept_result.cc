// SPDX-License-Identifier: Apache-2.0
#include "plan/kept_result.h"

#include <cstring>
#include <memory>
#include <utility>

#include "core/thread_pool.h"
#include "graph/op_traits.h"
#include "graph/text.h"
#include "ops/quantized/zero_points.h"
#include "plan/bind.h"
#include "plan/device.h"
#include "plan/select.h"

namespace octet {
namespace {

// The node in a graph of its own, where it reads its first input from memory as kernels do.
struct Alone {
  Graph graph;
  Tensor x;
  Target target;

  explicit Alone(const LowerRequest& asked) : x(*asked.constant(0)), target(asked.target) {
    graph.nodes.push_back(asked.node);
    Node& node = graph.nodes[0];
    const auto copied = [&](ValueId id) {
      if (id == kNoValue) return id;
      const Value& value = asked.graph.value(id);
      const ValueId own = graph.add_value(value.name, value.type);
      graph.value(own).quant = value.quant;
      return own;
    };
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Tensor* constant = asked.constant(i);
      node.inputs[i] = copied(node.inputs[i]);
      if (i > 0 && constant != nullptr) graph.value(node.inputs[i]).constant = *constant;
    }
    for (ValueId& id : node.outputs) id = copied(id);
    if (asked.target.device->backend().relabel_s8) take_u8();
    graph.inputs = {node.inputs[0]};
    graph.outputs = {node.outputs[0]};
    target.keep_others = false;
  }

  LowerRequest request(const LowerRequest& asked) const {
    LowerRequest alone{graph,
                       graph.nodes[0],
                       asked.inputs,
                       asked.outputs,
                       std::vector<Layout>(asked.inputs.size(), Layout::linear),
                       target};
    alone.inputs[0] = x.type();
    return alone;
  }

  // What the kernel finds in memory at input i, or null.
  const Tensor* read(const Candidate& kernel, size_t i) const {
    if (i == 0) return &x;
    return kernel.holds_input(i) ? nullptr : graph.constant_input(graph.nodes[0], i);
  }

  bool reads_linear(const Candidate& kernel) const {
    for (size_t i = 0; i < kernel.inputs.size(); ++i) {
      if (read(kernel, i) != nullptr && kernel.inputs[i] != Layout::linear) return false;
    }
    return kernel.outputs[0] == Layout::linear;
  }

 private:
  // As activations are.
  void take_u8() {
    Node& node = graph.nodes[0];
    if (x.dtype() != Dtype::s8 || node.op->traits->codes != CodeMeaning::attributes) return;
    read_as_u8(node, 0);
    x = codes_as_u8(x);
    graph.value(node.inputs[0]).type = x.type();
    graph.value(node.inputs[0]).quant.reset();
  }
};

// `kernel` reads x, constants that it does not hold, and what it prepared.
Tensor computed(const Candidate& kernel, const Alone& alone, const TensorType& type) {
  const Device& device = *alone.target.device;
  const auto queue = device.make_queue(std::make_shared<ThreadPool>(1));
  const auto memory = [&](s64 bytes) { return device.allocate(bytes, "a product of constants"); };
  const std::shared_ptr<std::byte> output = memory(type.bytes());
  const std::shared_ptr<std::byte> workspace = memory(kernel.workspace_bytes);
  std::vector<std::shared_ptr<std::byte>> owned;
  std::vector<const std::byte*> inputs(kernel.inputs.size(), nullptr);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor* read = alone.read(kernel, i);
    if (read == nullptr) continue;
    owned.push_back(memory(read->type().bytes()));
    std::memcpy(owned.back().get(), read->data(), read->bytes());
    inputs[i] = owned.back().get();
  }
  std::byte* outputs[] = {output.get()};
  BindArgs args;
  args.inputs.resize(inputs.size());
  args.outputs.resize(1);
  bind_alone(kernel, std::move(args))({inputs.data(), outputs, workspace.get(), *queue});
  queue->synchronize();
  return {type, output};
}

std::string key_of(const LowerRequest& asked, const Candidate& kernel) {
  std::string key = kernel.kernel + " " + std::string(asked.node.op->name);
  for (const auto& [name, value] : asked.node.attrs.entries())
    key += " " + std::string(name) + "=" + print_attribute(value);
  for (size_t i = 0; i < asked.inputs.size(); ++i)
    key += asked.has_input(i) ? " " + to_string(asked.inputs[i]) : " _";
  return key;
}

}  // namespace

bool has_kept_result(const Node& node) {
  return node.op->quant.kind == QuantKind::compute || node.op->domain == "octet";
}

std::optional<Candidate> kept_result(const LowerRequest& asked, const Backend& backend) {
  const bool one = asked.node.outputs.size() == 1 && asked.outputs[0].shape.elements() > 0;
  if (backend.reference == nullptr || !has_kept_result(asked.node) || !one) return {};
  if (!asked.target.device->has_host_memory()) return {};
  if (!asked.has_input(0) || asked.constant(0)->elements() == 0) return {};
  const auto alone = std::make_shared<const Alone>(asked);
  Candidate kernel = select_kernel(alone->request(asked), backend).chosen;
  if (!alone->reads_linear(kernel)) kernel = backend.reference(alone->request(asked));
  std::vector<Tensor> constants;
  for (size_t i = 0; i < asked.inputs.size(); ++i) {
    if (asked.has_input(i)) constants.push_back(*asked.constant(i));
  }
  Candidate kept;
  kept.kernel = kernel.kernel;
  kept.note = "its inputs are constants: computed once, copied in each run";
  kept.inputs.assign(asked.inputs.size(), Layout::linear);
  kept.outputs = {Layout::linear};
  kept.holds = asked.constants();
  const TensorType type = asked.outputs[0];
  kept.prepare = [alone, kernel, type, constants, key = key_of(asked, kernel)](const BindArgs&) {
    return std::vector<Preparation>{preparation<Tensor>(
        key, constants, [alone, kernel, type] { return computed(kernel, *alone, type); })};
  };
  kept.bind = [](const BindArgs& bind) -> RunStep {
    return [result = bind.prepared_as<Tensor>()](const StepArgs& args) {
      args.queue.copy(args.outputs[0], result->data(), result->type().bytes());
    };
  };
  return kept;
}

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
// Checks of an operator without running it: shapes, state.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "core/check.h"
#include "plugin/check_trials.h"
#include "plugin/isolated.h"

namespace octet {
namespace {

std::vector<Shape> shapes_of(const PluginOp& op, const CheckCase& c) {
  const Declaration& d = op.declaration;
  const PluginCombination& first = d.reals() != nullptr ? *d.reals() : d.combinations[0];
  const Trial trial = make_trial(op, first, c, 1);
  std::vector<Shape> shapes;
  for (const TensorType& type : trial.outputs) shapes.push_back(type.shape);
  return shapes;
}

Tensor bytes_of(const std::vector<std::byte>& bytes) {
  Tensor tensor(Dtype::u8, Shape{static_cast<s64>(bytes.size())});
  if (!bytes.empty()) std::memcpy(tensor.mutable_data(), bytes.data(), bytes.size());
  return tensor;
}

void check_capacity(const PluginOp& op, const Node& node, s64 bytes) {
  const PluginInstance instance(op, node);
  const GuardedMemory small(std::max<s64>(bytes - 1, 0), "the buffer for its state",
                            GuardedMemory::At::end);
  note_stage("serialize into a buffer that is too small");
  op.declaration.raw.serialize(op.declaration.given, instance.get(), small.data(),
                               static_cast<u64>(small.bytes()));
  if (!small.slack_is_untouched()) fail(kWrong, "serialize writes more than its buffer holds");
}

}  // namespace

namespace {

// Other sizes: at half of the tries one that all inputs share, at half any.
CheckCase odd_case(const PluginOp& op, CheckCase odd, std::mt19937_64& random) {
  std::uniform_int_distribution<s64> size(0, 5);
  const bool shared = random() % 2 == 0;
  const u64 place = random() % OCTET_PLUGIN_MAX_RANK;
  const s64 other = size(random);
  for (size_t p = 0; p < odd.inputs.size(); ++p) {
    Shape& shape = odd.inputs[p];
    if (odd.omits(p)) continue;
    const int rank = shape.rank();
    if (shared && rank > 0) shape[static_cast<int>(place) % rank] = other;
    if (!shared) {
      const PluginPort& port = op.declaration.input(p);
      std::uniform_int_distribution<int> any(port.min_rank, port.max_rank);
      shape = {};
      for (int r = any(random); r > 0; --r) shape.push_back(size(random));
    }
  }
  odd.text = case_text(odd);
  return odd;
}

}  // namespace

std::string check_shapes(const PluginOp& op, u64 seed) {
  constexpr int kTries = 200;
  const std::vector<CheckCase> cases = cases_of(op, seed);
  for (const CheckCase& c : cases) {
    note_stage("the shape rule, case " + c.text);
    if (shapes_of(op, c) != shapes_of(op, c))
      fail(kWrong, "case {}: other shapes at the second call", c.text);
  }
  std::mt19937_64 random(seed);
  int refused = 0;
  for (int i = 0; i < kTries; ++i) {
    const CheckCase odd = odd_case(op, cases[static_cast<size_t>(i) % cases.size()], random);
    note_stage("the shape rule, inputs " + odd.text);
    try {
      shapes_of(op, odd);
    } catch (const Error& error) {
      if (error.code() != Error::Code::invalid_model)
        fail(kWrong, "inputs {}: {}", odd.text, error.message());
      ++refused;
    }
  }
  return fmt::format("{} cases, {} odd shapes, {} of them refused", cases.size(), kTries, refused);
}

std::string check_state(const PluginOp& op, u64 seed) {
  const CheckCase from = cases_of(op, seed).front();
  if (op.declaration.raw.serialize == nullptr) return "declared to have none";
  note_stage("serialize");
  const std::vector<std::byte> state = PluginInstance(op, from.node).state();
  if (!state.empty()) check_capacity(op, from.node, static_cast<s64>(state.size()));
  CheckCase restored = from;
  restored.node.attrs.set(kPluginState, bytes_of(state));
  note_stage("create from its own state");
  if (PluginInstance(op, restored.node).state() != state)
    fail(kWrong, "its state changes when it is restored");
  for (const PluginCombination& c : op.declaration.combinations) {
    if (c.device != OCTET_DEVICE_HOST) continue;
    const Trial a = make_trial(op, c, from, seed), b = make_trial(op, c, restored, seed);
    const auto first = run_plain(a, step_of(a)), second = run_plain(b, step_of(b));
    for (size_t i = 0; i < first.size(); ++i) {
      if (first_difference(first[i], second[i]) >= 0)
        fail(kWrong, "combination '{}' gives other results after its state was restored", c.name);
    }
  }
  // State lies in an engine file, which may come from anywhere.
  std::mt19937_64 random(seed);
  for (int i = 0; i < 64; ++i) {
    std::vector<std::byte> odd = state;
    odd.resize(random() % (state.size() + 16));
    for (std::byte& b : odd) {
      if (random() % 2 == 0) b = static_cast<std::byte>(random());
    }
    Node node = from.node;
    node.attrs.set(kPluginState, bytes_of(odd));
    note_stage(fmt::format("create from {} foreign bytes of state", odd.size()));
    takes_instance(op, node, "foreign bytes of state");
  }
  return fmt::format("{} bytes, 64 changed ones", state.size());
}

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
// The helpers of probe.h. The file ends in _test.cc so that it is part of the test program alone.
#include "backends/cpu/lower/probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "backends/cpu/device.h"
#include "backends/host/queue.h"
#include "core/check.h"
#include "graph/op_traits.h"
#include "ops/registry.h"
#include "plan/bind.h"

namespace octet {
namespace {

Placement placement_of(const Shape& shape, Layout layout, s64 spread) {
  if (layout == Layout::linear) return {};
  const s64 pixel = shape[1] + spread, row = shape[3] * pixel + spread;
  return {Layout::nhwc, pixel, row, shape[2] * row, 0};
}

s64 storage_elements(const Shape& shape, const Placement& placement) {
  if (placement.layout == Layout::linear) return shape.elements();
  return shape[0] * placement.image_stride;
}

// Calls f(linear index, index in memory) for each element.
template <class F>
void for_each_element(const Shape& shape, const Placement& p, const F& f) {
  if (p.layout == Layout::linear) {
    for (s64 i = 0; i < shape.elements(); ++i) f(i, i);
    return;
  }
  s64 i = 0;
  for (s64 n = 0; n < shape[0]; ++n) {
    for (s64 c = 0; c < shape[1]; ++c) {
      for (s64 h = 0; h < shape[2]; ++h) {
        for (s64 w = 0; w < shape[3]; ++w) {
          f(i++, n * p.image_stride + h * p.row_stride + w * p.pixel_stride + c);
        }
      }
    }
  }
}

// A value in the memory of a run: raw bytes, filled with a pattern that must not be read as a number.
struct Storage {
  Storage(const TensorType& value, const Placement& where)
      : type(value),
        placement(where),
        memory(Dtype::u8, Shape{std::max<s64>(1, storage_elements(value.shape, where)) * width()}) {
    std::memset(memory.mutable_data(), 0xff, memory.bytes());
  }
  s64 width() const { return static_cast<s64>(dtype_bytes(type.dtype)); }

  void write(const Tensor& linear) {
    for_each_element(type.shape, placement, [&](s64 from, s64 to) {
      std::memcpy(memory.mutable_data() + to * width(), linear.data() + from * width(),
                  static_cast<size_t>(width()));
    });
  }
  Tensor read() const {
    Tensor linear(type.dtype, type.shape);
    for_each_element(type.shape, placement, [&](s64 to, s64 from) {
      std::memcpy(linear.mutable_data() + to * width(), memory.data() + from * width(),
                  static_cast<size_t>(width()));
    });
    return linear;
  }

  TensorType type;
  Placement placement;
  Tensor memory;
};

std::vector<Storage> store_inputs(const Probe& probe, const ProbeSetting& s,
                                  const Candidate& candidate) {
  std::vector<Storage> storage;
  for (size_t i = 0; i < probe.inputs.size(); ++i) {
    const s64 spread = candidate.strided ? probe.spread : 0;
    storage.emplace_back(s.inputs[i], placement_of(s.inputs[i].shape, candidate.inputs[i], spread));
    if (probe.inputs[i].tensor) storage.back().write(probe.inputs[i].tensor);
  }
  return storage;
}

}  // namespace

ProbeSetting probe_setting(const Probe& probe) {
  ProbeSetting s;
  s.node.op = find_op(probe.op);
  OCTET_CHECK(s.node.op != nullptr);
  s.node.name = "probe";
  s.node.attrs = probe.attrs;
  s.node.decision.precision = probe.precision;
  std::vector<const Tensor*> values;
  for (const ProbeInput& input : probe.inputs) {
    s.layouts.push_back(input.layout);
    s.inputs.push_back(input.tensor ? input.tensor.type() : TensorType{});
    values.push_back(input.constant ? &input.tensor : nullptr);
    if (!input.tensor) {
      s.node.inputs.push_back(kNoValue);
    } else if (input.constant) {
      s.node.inputs.push_back(s.graph.add_constant("constant", input.tensor));
    } else {
      s.node.inputs.push_back(s.graph.add_value("input", input.tensor.type()));
    }
  }
  for (size_t i = 0; i < probe.outputs; ++i) {
    s.node.outputs.push_back(s.graph.add_value("output", {}));
  }
  s.outputs = infer_node(s.node, s.inputs, values);
  return s;
}

std::vector<Tensor> Probe::reference() const {
  const ProbeSetting s = probe_setting(*this);
  std::vector<Tensor> tensors;
  for (const ProbeInput& input : inputs) tensors.push_back(input.tensor);
  return eval_node(s.node, tensors);
}

ProbeResult run_probe(const Probe& probe, Offer (*lowering)(const LowerRequest&)) {
  const ProbeSetting s = probe_setting(probe);
  const Target target = cpu_target(probe.isa, probe.threads);
  Offer offer = lowering({s.graph, s.node, s.inputs, s.outputs, s.layouts, target});
  if (const Reject* reject = std::get_if<Reject>(&offer)) return {reject->reason, {}, {}};
  ProbeResult result{{}, std::get<Candidate>(offer), {}};
  // What multiplies names the rate of its unit.
  EXPECT_EQ(result.candidate.macs_per_cycle > 0, s.node.op->traits->macs != nullptr);
  const Candidate& candidate = result.candidate;

  std::vector<Storage> inputs = store_inputs(probe, s, candidate), outputs;
  BindArgs bind;
  std::vector<const std::byte*> sources;
  std::vector<std::byte*> destinations;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool given = probe.inputs[i].tensor && !candidate.holds_input(i);
    bind.inputs.push_back(inputs[i].placement);
    sources.push_back(given ? inputs[i].memory.data() : nullptr);
  }
  for (size_t i = 0; i < s.outputs.size(); ++i) {
    const s64 spread = candidate.strided ? probe.spread : 0;
    outputs.emplace_back(s.outputs[i],
                         placement_of(s.outputs[i].shape, candidate.outputs[i], spread));
    bind.outputs.push_back(outputs[i].placement);
  }
  for (Storage& output : outputs) destinations.push_back(output.memory.mutable_data());
  Tensor workspace(Dtype::u8, Shape{candidate.workspace_bytes});
  HostQueue queue(probe.threads);
  const RunStep step = bind_alone(candidate, bind);
  // Twice: the second run must not see what the first one left.
  for (int i = 0; i < 2; ++i) {
    step({sources.data(), destinations.data(), workspace.mutable_data(), queue});
  }
  for (const Storage& output : outputs) result.outputs.push_back(output.read());
  return result;
}

Tensor random_f32(const Shape& shape, u64 seed, f32 size) {
  Tensor tensor(Dtype::f32, shape);
  std::mt19937_64 random(seed);
  for (f32& x : tensor.mutable_as<f32>()) {
    f32 sum = -6.0f;
    for (int i = 0; i < 12; ++i) sum += static_cast<f32>(random() >> 40) * 0x1p-24f;
    x = sum * size;
  }
  return tensor;
}

std::vector<Isa> simd_levels() {
  std::vector<Isa> levels;
  for (Isa isa : {Isa::avx2, Isa::avx_vnni, Isa::vnni, Isa::neon}) {
    if (hardware_has(isa)) levels.push_back(isa);
  }
  return levels;
}

Isa first_simd_level() {
  const std::vector<Isa> levels = simd_levels();
  return levels.empty() ? Isa::none : levels.front();
}

void expect_same_f32(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.shape(), want.shape()) << what;
  const auto a = got.as<f32>(), b = want.as<f32>();
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same = std::bit_cast<u32>(a[i]) == std::bit_cast<u32>(b[i]);
    ASSERT_TRUE(same || (std::isnan(a[i]) && std::isnan(b[i])))
        << what << ": element " << i << " is " << a[i] << ", the reference has " << b[i];
  }
}

void expect_close_f32(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.shape(), want.shape()) << what;
  const auto a = got.as<f32>(), b = want.as<f32>();
  f32 largest = 0.0f;
  for (f32 x : b) largest = std::max(largest, std::fabs(x));
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_LE(std::fabs(a[i] - b[i]), 1e-4f * largest)
        << what << ": element " << i << " is " << a[i] << ", the reference has " << b[i];
  }
}

}  // namespace octet

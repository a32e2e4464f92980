// SPDX-License-Identifier: Apache-2.0
#include "gpu_probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

#include "backends/backends.h"
#include "compile_only.h"
#include "core/check.h"
#include "core/divide.h"
#include "graph/op_traits.h"
#include "ops/quantized/epilogue.h"
#include "ops/registry.h"
#include "plan/bind.h"
#include "plan/device.h"

namespace octet {
namespace {

// A value in the device's memory, with a copy of all its bytes on the host. Offsets in elements.
struct DeviceValue {
  TensorType type;
  Placement placement;
  s64 origin = 0;
  std::vector<std::byte> bytes;
  std::shared_ptr<std::byte> memory;

  s64 width() const { return static_cast<s64>(dtype_bytes(type.dtype)); }
  std::byte* data() const { return memory.get() + origin * width(); }

  // f(offset in the linear tensor, offset in `bytes`), of each element's bytes.
  template <class F>
  void for_each(const F& f) const {
    const Shape& s = type.shape;
    for (s64 i = 0; i < s.elements(); ++i) {
      s64 at = i;
      if (placement.layout == Layout::nhwc) {
        const s64 w = i % s[3], h = i / s[3] % s[2], c = i / (s[3] * s[2]) % s[1];
        const s64 n = i / (s[3] * s[2] * s[1]);
        at = origin + n * placement.image_stride + h * placement.row_stride +
             w * placement.pixel_stride + c;
      }
      f(i * width(), at * width());
    }
  }
};

constexpr auto kUntouched = std::byte{0xa5};

// How far apart pixels lie, and rows once more, in elements; and pixels around an image.
struct Gaps {
  s64 spread = 0, row = 0, border = 0;
};

DeviceValue value_of(const Device& device, const TensorType& type, Layout layout,
                     const Gaps& gaps) {
  DeviceValue value{type, {.layout = layout}, 0, {}, nullptr};
  s64 elements = type.shape.elements();
  if (layout == Layout::nhwc) {
    const Shape& s = type.shape;
    const s64 pixel = s[1] + gaps.spread, border = gaps.border;
    const s64 row = (s[3] + 2 * border) * pixel + gaps.row;
    const s64 image = (s[2] + 2 * border) * row;
    value.placement = {Layout::nhwc, pixel, row, image, border};
    value.origin = border * row + border * pixel;
    elements = s[0] * image;
  }
  value.bytes.assign(static_cast<size_t>(std::max<s64>(1, elements * value.width())), kUntouched);
  value.memory = device.allocate(std::ssize(value.bytes), "a value of a test");
  return value;
}

struct Run {
  const Device& device;
  std::unique_ptr<Queue> queue;
  std::vector<DeviceValue> inputs, outputs;
  std::shared_ptr<std::byte> workspace;

  void upload(DeviceValue& value, const Tensor* linear) {
    if (linear != nullptr) {
      value.for_each([&](s64 from, s64 to) {
        std::memcpy(value.bytes.data() + to, linear->data() + from,
                    static_cast<size_t>(value.width()));
      });
    }
    queue->copy(value.memory.get(), value.bytes.data(), std::ssize(value.bytes));
    queue->synchronize();
  }
  // Expects all other bytes as they were.
  Tensor download(DeviceValue& value) {
    queue->copy(value.bytes.data(), value.memory.get(), std::ssize(value.bytes));
    queue->synchronize();
    Tensor linear(value.type.dtype, value.type.shape);
    value.for_each([&](s64 to, s64 from) {
      std::memcpy(linear.mutable_data() + to, value.bytes.data() + from,
                  static_cast<size_t>(value.width()));
      std::memset(value.bytes.data() + from, static_cast<int>(kUntouched),
                  static_cast<size_t>(value.width()));
    });
    EXPECT_TRUE(std::ranges::all_of(value.bytes, [](std::byte b) { return b == kUntouched; }))
        << "bytes beside the output's elements were written";
    return linear;
  }
};

Run prepare_run(const Probe& probe, const ProbeSetting& s, const Candidate& candidate, s64 border) {
  Run run{find_device("cuda"), nullptr, {}, {}, nullptr};
  run.queue = run.device.make_queue(nullptr);
  const s64 spread = candidate.strided ? probe.spread : 0;
  border = candidate.strided ? border : 0;
  for (size_t i = 0; i < probe.inputs.size(); ++i) {
    const ProbeInput& input = probe.inputs[i];
    const bool given = input.tensor && !input.constant;
    const TensorType type = given ? s.inputs[i] : TensorType{Dtype::u8, Shape{1}};
    const Layout layout = given ? candidate.inputs[i] : Layout::linear;
    // What the tensor memory accelerator brings: aligned pixels, rows of which are as dense as plans place them.
    const s64 apart = ceil_div(spread, candidate.alignment) * candidate.alignment;
    const s64 gap = candidate.alignment > 1 ? 0 : spread;
    run.inputs.push_back(value_of(run.device, type, layout, {apart, gap, border}));
    run.upload(run.inputs.back(), given ? &input.tensor : nullptr);
  }
  for (size_t i = 0; i < s.outputs.size(); ++i) {
    run.outputs.push_back(
        value_of(run.device, s.outputs[i], candidate.outputs[i], {spread, spread, border}));
    run.upload(run.outputs.back(), nullptr);
  }
  run.workspace = run.device.allocate(candidate.workspace_bytes + 1, "a test's workspace");
  return run;
}

}  // namespace

const std::string& missing_gpu() {
  static const std::string missing = [] {
    try {
      find_device("cuda");
      return std::string();
    } catch (const Error& error) {
      return std::string("no GPU, emulated or other: ") + error.what();
    }
  }();
  return missing;
}

ProbeResult run_on_gpu(const Probe& probe, LowerFunction lowering, s64 border) {
  const ProbeSetting s = probe_setting(probe);
  const Target target{.device = &find_device("cuda"), .host = &find_device("cpu")};
  Offer offer = lowering({s.graph, s.node, s.inputs, s.outputs, s.layouts, target});
  if (const Reject* reject = std::get_if<Reject>(&offer)) return {reject->reason, {}, {}};
  if (auto* all = std::get_if<Candidates>(&offer)) offer = Candidate(all->front());
  ProbeResult result{{}, std::get<Candidate>(offer), {}};
  Run run = prepare_run(probe, s, result.candidate, border);
  BindArgs bind;
  std::vector<const std::byte*> sources;
  std::vector<std::byte*> destinations;
  for (size_t i = 0; i < run.inputs.size(); ++i) {
    const bool given = probe.inputs[i].tensor && !probe.inputs[i].constant;
    bind.inputs.push_back(run.inputs[i].placement);
    bind.input_offsets.push_back(run.inputs[i].origin * run.inputs[i].width() % 64);
    sources.push_back(given ? run.inputs[i].data() : nullptr);
  }
  for (const DeviceValue& output : run.outputs) {
    bind.outputs.push_back(output.placement);
    bind.output_offsets.push_back(output.origin * output.width() % 64);
    destinations.push_back(output.data());
  }
  if (test::only_compiles()) {
    test::compile_kernels(run.device, result.candidate, bind);
    result.outputs = probe.reference();
    return result;
  }
  const RunStep step = bind_alone(result.candidate, bind);
  // Twice: the second run must not see what the first one left.
  for (int i = 0; i < 2; ++i)
    step({sources.data(), destinations.data(), run.workspace.get(), *run.queue});
  run.queue->synchronize();
  for (DeviceValue& output : run.outputs) result.outputs.push_back(run.download(output));
  return result;
}

namespace {

void expect_on_gpu(const Probe& probe, LowerFunction lowering, bool close,
                   const std::string& what) {
  const std::vector<Tensor> wanted = probe.reference();
  const ProbeResult result = run_on_gpu(probe, lowering);
  ASSERT_EQ(result.reject, "") << what;
  EXPECT_EQ(result.candidate.close, close) << what;
  // Several kernels take them: each says what it costs.
  const bool multiplies = find_op(probe.op)->traits->product_epilogue;
  EXPECT_TRUE(!multiplies || result.candidate.cost > 0) << what;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Tensor &got = result.outputs[i], &want = wanted[i];
    if (want.dtype() == Dtype::f32) {
      close ? expect_close_f32(got, want, what) : expect_same_f32(got, want, what);
      continue;
    }
    ASSERT_EQ(got.type(), want.type()) << what;
    for (size_t b = 0; b < want.bytes(); ++b)
      ASSERT_EQ(got.data()[b], want.data()[b]) << what << ", byte " << b;
  }
}

}  // namespace

void expect_exact_on_gpu(const Probe& probe, LowerFunction lowering, const std::string& what) {
  expect_on_gpu(probe, lowering, false, what);
}

void expect_close_on_gpu(const Probe& probe, LowerFunction lowering, const std::string& what) {
  expect_on_gpu(probe, lowering, true, what);
}

Probe with_lines(Probe probe, test::Lines lines) {
  constexpr f32 kFiner = 250;
  std::mt19937 random(23);
  probe.inputs.resize(std::max<size_t>(probe.inputs.size(), kProductTable + 1));
  probe.inputs[kProductTable] = constant(test::random_lines(random, lines, 0, 255));
  const Tensor& given = probe.inputs[kProductMultiplier].tensor;
  Tensor finer(Dtype::f32, given.shape());
  std::ranges::transform(given.as<f32>(), finer.mutable_as<f32>().begin(),
                         [](f32 m) { return m * kFiner; });
  probe.inputs[kProductMultiplier] = constant(std::move(finer));
  probe.attrs.set("residual_multiplier", kFiner / 4);
  probe.attrs.set("fine_zero_point", s64{31007});
  return probe;
}

}  // namespace octet

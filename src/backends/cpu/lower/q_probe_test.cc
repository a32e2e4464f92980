// SPDX-License-Identifier: Apache-2.0
// The helpers of q_probe.h. The file ends in _test.cc so that it is part of the test program alone.
#include "backends/cpu/lower/q_probe.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

#include "backends/cpu/device.h"
#include "backends/host/queue.h"
#include "graph/op_traits.h"
#include "plan/bind.h"

namespace octet {
namespace {

constexpr u8 kUntouched = 0xa5;

// Bytes with an unreadable page before and behind.
class GuardedBytes {
 public:
  GuardedBytes(size_t bytes, bool at_front) : bytes_(bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t inside = (bytes + page - 1) / page * page;
    size_ = inside + 2 * page;
    base_ = static_cast<u8*>(
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(static_cast<void*>(base_), MAP_FAILED);
    mprotect(base_, page, PROT_NONE);
    mprotect(base_ + page + inside, page, PROT_NONE);
    data_ = at_front ? base_ + page : base_ + page + inside - bytes;
    std::memset(data_, kUntouched, bytes);
  }
  ~GuardedBytes() { munmap(base_, size_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  u8* data() { return data_; }
  size_t size() const { return bytes_; }

 private:
  u8* base_ = nullptr;
  u8* data_ = nullptr;
  size_t size_ = 0, bytes_ = 0;
};

// A value in guarded memory. All offsets in elements.
struct Stored {
  TensorType type;
  Placement placement;
  s64 origin = 0;
  std::unique_ptr<GuardedBytes> memory;

  s64 width() const { return static_cast<s64>(dtype_bytes(type.dtype)); }
  std::byte* data() { return reinterpret_cast<std::byte*>(memory->data()) + origin * width(); }

  // f(linear index, offset from data())
  template <class F>
  void for_each(const F& f) const {
    const Shape& s = type.shape;
    if (placement.layout == Layout::linear) {
      for (s64 i = 0; i < s.elements(); ++i) f(i, i);
      return;
    }
    for (s64 i = 0; i < s.elements(); ++i) {
      const s64 w = i % s[3], h = i / s[3] % s[2], c = i / (s[3] * s[2]) % s[1];
      const s64 n = i / (s[3] * s[2] * s[1]);
      f(i, n * placement.image_stride + h * placement.row_stride + w * placement.pixel_stride + c);
    }
  }
  void write(const Tensor& linear) {
    for_each([&](s64 from, s64 to) {
      std::memcpy(data() + to * width(), linear.data() + from * width(),
                  static_cast<size_t>(width()));
    });
  }
  // Reads the elements and overwrites them, so that only untouched bytes should be left.
  Tensor take() {
    Tensor linear(type.dtype, type.shape);
    for_each([&](s64 to, s64 from) {
      std::memcpy(linear.mutable_data() + to * width(), data() + from * width(),
                  static_cast<size_t>(width()));
    });
    for_each([&](s64, s64 at) {
      std::memset(data() + at * width(), kUntouched, static_cast<size_t>(width()));
    });
    return linear;
  }
  bool untouched() const {
    const u8* bytes = memory->data();
    return std::all_of(bytes, bytes + memory->size(), [](u8 b) { return b == kUntouched; });
  }
};

struct Where {
  Layout layout;
  s64 spread, border;
  bool at_front;
};

Stored store(const TensorType& type, const Where& where) {
  Stored stored{type, {.layout = where.layout}, 0, nullptr};
  s64 elements = type.shape.elements();
  if (where.layout == Layout::nhwc) {
    const Shape& s = type.shape;
    const s64 b = where.border, pixel = s[1] + where.spread;
    const s64 row = (s[3] + 2 * b) * pixel + where.spread, image = (s[2] + 2 * b) * row;
    stored.placement = {Layout::nhwc, pixel, row, image, b};
    stored.origin = b * row + b * pixel;
    if (elements > 0) {
      elements = (s[0] - 1) * image + (s[2] - 1 + 2 * b) * row + (s[3] - 1 + 2 * b) * pixel + s[1];
    }
  }
  stored.memory = std::make_unique<GuardedBytes>(static_cast<size_t>(elements * stored.width()),
                                                 where.at_front);
  return stored;
}

// The zero point around an image of codes.
void fill_border(Stored& stored, s32 zero_point) {
  const Placement& p = stored.placement;
  const Shape& s = stored.type.shape;
  for (s64 n = 0; n < s[0] && p.border > 0; ++n) {
    for (s64 h = -p.border; h < s[2] + p.border; ++h) {
      for (s64 w = -p.border; w < s[3] + p.border; ++w) {
        u8* pixel = reinterpret_cast<u8*>(stored.data()) + n * p.image_stride + h * p.row_stride +
                    w * p.pixel_stride;
        std::memset(pixel, zero_point, static_cast<size_t>(s[1]));
      }
    }
  }
}

// Activations are inputs of the graph: what enters it is told from what a layer wrote.
ProbeSetting setting_of(const Probe& probe) {
  ProbeSetting s = probe_setting(probe);
  for (const ValueId id : s.node.inputs) {
    if (id != kNoValue && !s.graph.is_constant(id)) s.graph.inputs.push_back(id);
  }
  return s;
}

s32 first_zero_point(const Node& node) {
  const std::vector<s64> all = node.attrs.ints("input_zero_points", {0});
  return all.empty() ? 0 : static_cast<s32>(all[0]);
}

Candidates candidates_of(Offer offer) {
  if (Candidates* several = std::get_if<Candidates>(&offer)) return std::move(*several);
  return {std::get<Candidate>(std::move(offer))};
}

}  // namespace

ProbeResult run_guarded(const Probe& probe, LowerFunction lowering, const Surroundings& around) {
  const ProbeSetting s = setting_of(probe);
  const Target target = cpu_target(probe.isa, probe.threads);
  Offer offer = lowering({s.graph, s.node, s.inputs, s.outputs, s.layouts, target});
  if (const Reject* reject = std::get_if<Reject>(&offer)) return {reject->reason, {}, {}};
  const Candidates offered = candidates_of(std::move(offer));
  ProbeResult result{{}, offered[around.candidate], {}, offered.size()};
  // What multiplies names the rate of its unit.
  EXPECT_EQ(result.candidate.macs_per_cycle > 0, s.node.op->traits->macs != nullptr);
  const Candidate& candidate = result.candidate;
  const s64 spread = candidate.strided ? probe.spread : 0;

  BindArgs bind;
  std::vector<Stored> inputs, outputs;
  std::vector<const std::byte*> sources;
  std::vector<std::byte*> destinations;
  for (size_t i = 0; i < probe.inputs.size(); ++i) {
    const bool given = probe.inputs[i].tensor && !candidate.holds_input(i);
    const bool bordered = i == 0 && candidate.wanted_border > 0;
    inputs.push_back(store(given ? s.inputs[i] : TensorType{Dtype::u8, Shape{1}},
                           {given ? candidate.inputs[i] : Layout::linear, spread,
                            bordered ? around.border : 0, around.at_front}));
    if (given) fill_border(inputs.back(), first_zero_point(s.node));
    if (given) inputs.back().write(probe.inputs[i].tensor);
    bind.inputs.push_back(inputs.back().placement);
    sources.push_back(given ? inputs.back().data() : nullptr);
  }
  for (size_t i = 0; i < s.outputs.size(); ++i) {
    const s64 border = candidate.strided ? around.border : 0;
    outputs.push_back(store(s.outputs[i], {candidate.outputs[i], spread, border, around.at_front}));
    bind.outputs.push_back(outputs.back().placement);
    destinations.push_back(outputs.back().data());
  }
  GuardedBytes workspace(static_cast<size_t>((candidate.workspace_bytes + 63) / 64 * 64),
                         around.at_front);
  HostQueue queue(probe.threads);
  const RunStep step = bind_alone(candidate, bind);
  // Twice: the second run must not see what the first one left.
  for (int i = 0; i < 2; ++i) {
    step({sources.data(), destinations.data(), reinterpret_cast<std::byte*>(workspace.data()),
          queue});
  }
  for (Stored& output : outputs) {
    result.outputs.push_back(output.take());
    EXPECT_TRUE(output.untouched()) << "bytes beside the output were written";
  }
  return result;
}

namespace {

void expect_equal(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(to_string(got.type()), to_string(want.type())) << what;
  const s64 width = static_cast<s64>(dtype_bytes(got.dtype()));
  for (s64 i = 0; i < got.elements(); ++i) {
    const auto* a = got.data() + i * width;
    const auto* b = want.data() + i * width;
    ASSERT_EQ(std::memcmp(a, b, static_cast<size_t>(width)), 0)
        << what << ": element " << i << " begins with byte " << std::to_integer<int>(*a)
        << ", the reference's with " << std::to_integer<int>(*b);
  }
}

void expect_outputs(const ProbeResult& result, const std::vector<Tensor>& want,
                    const std::string& name) {
  EXPECT_EQ(result.reject, "") << name;
  if (!result.reject.empty()) return;
  for (size_t i = 0; i < want.size(); ++i) expect_equal(result.outputs[i], want[i], name);
}

}  // namespace

std::vector<std::string> expect_exact(Probe probe, LowerFunction lowering,
                                      const std::string& what) {
  const std::vector<Tensor> want = probe.reference();
  // {spread, border, threads, at_front}
  struct Variant {
    s64 spread, border;
    int threads;
    bool at_front;
  };
  constexpr Variant kVariants[] = {
      {0, 0, 1, false}, {0, 3, 2, true}, {5, 0, 3, true}, {5, 3, 1, false}};
  std::vector<std::string> kernels;
  for (Isa isa : all_levels()) {
    for (const Variant& v : kVariants) {
      probe.isa = isa;
      probe.threads = v.threads;
      probe.spread = v.spread;
      for (size_t candidate = 0, offered = 1; candidate < offered; ++candidate) {
        const ProbeResult result = run_guarded(probe, lowering, {v.border, v.at_front, candidate});
        expect_outputs(result, want,
                       what + " on " + result.candidate.kernel + " with spread " +
                           std::to_string(v.spread) + ", border " + std::to_string(v.border) +
                           ", " + std::to_string(v.threads) + " threads");
        if (!result.reject.empty() || testing::Test::HasFatalFailure()) return kernels;
        kernels.push_back(result.candidate.kernel);
        offered = result.offered;
      }
    }
  }
  return kernels;
}

void expect_exact_above_none(Probe probe, LowerFunction lowering, const std::string& what) {
  const Tensor want = probe.reference()[0];
  for (Isa isa : simd_levels()) {
    for (int threads : {1, 3}) {
      for (bool at_front : {false, true}) {
        probe.isa = isa;
        probe.threads = threads;
        const ProbeResult got = run_guarded(probe, lowering, {0, at_front});
        ASSERT_EQ(got.reject, "") << what;
        ASSERT_EQ(std::memcmp(got.outputs[0].data(), want.data(), want.bytes()), 0)
            << what << " " << got.candidate.kernel;
      }
    }
  }
}

std::vector<Isa> all_levels() {
  std::vector<Isa> levels;
  for (Isa isa : kIsaLevels) {
    if (hardware_has(isa)) levels.push_back(isa);
  }
  return levels;
}

Tensor random_u8(const Shape& shape, u64 seed, Codes codes) {
  Tensor tensor(Dtype::u8, shape);
  std::mt19937_64 random(seed);
  for (u8& x : tensor.mutable_as<u8>()) {
    const u64 bits = random();
    x = static_cast<u8>(codes == Codes::any ? bits >> 56 : (bits >> 63) * 255);
    if (codes == Codes::highest) x = 255;
  }
  return tensor;
}

Tensor random_s8(const Shape& shape, u64 seed, bool extremes) {
  Tensor tensor(Dtype::s8, shape);
  std::mt19937_64 random(seed);
  for (s8& x : tensor.mutable_as<s8>()) {
    const u64 bits = random();
    const s32 value = static_cast<s32>(bits % 255) - 127;
    x = static_cast<s8>(extremes ? ((bits >> 63) != 0 ? 127 : -127) : value);
  }
  return tensor;
}

Tensor random_s32(const Shape& shape, u64 seed, s32 size) {
  Tensor tensor(Dtype::s32, shape);
  std::mt19937_64 random(seed);
  for (s32& x : tensor.mutable_as<s32>()) {
    x = static_cast<s32>(random() % (2 * static_cast<u64>(size) + 1)) - size;
  }
  return tensor;
}

Tensor random_multipliers(s64 count, u64 seed, f32 size) {
  Tensor tensor(Dtype::f32, Shape{count});
  std::mt19937_64 random(seed);
  for (f32& x : tensor.mutable_as<f32>()) {
    x = size * (0.5f + static_cast<f32>(random() >> 40) * 0x1.8p-24f);
  }
  return tensor;
}

ProbeInput activation(Tensor tensor, Layout layout) { return {std::move(tensor), false, layout}; }
ProbeInput constant(Tensor tensor) { return {std::move(tensor), true, Layout::linear}; }

}  // namespace octet

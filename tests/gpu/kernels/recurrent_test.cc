// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN on the device against the scalar reference, to the bit: each way of sharing steps among blocks, all forms of the operators,
// sizes around those of tiles, weights that do not fit into shared memory.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "backends/cuda/device.h"
#include "backends/cuda/families/recurrent_steps/lower.h"
#include "backends/cuda/families/recurrent_steps/shape.h"
#include "backends/cuda/lowerings.h"
#include "compile_only.h"
#include "gpu_probe.h"

namespace octet {
namespace {

struct Sizes {
  s64 steps, batch, input, hidden;
};

s64 gates_of(const std::string& op) { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }

// The kernel of that name alone.
Offer only(Offer offer, const std::string& kernel) {
  auto* all = std::get_if<Candidates>(&offer);
  if (all == nullptr) return offer;
  for (const Candidate& candidate : *all) {
    if (candidate.kernel == kernel) return candidate;
  }
  return Reject{"not shared so"};
}
Offer by_walk(const LowerRequest& request) {
  return only(cuda::lower_recurrent(request), "recurrent_walk");
}
Offer by_steps(const LowerRequest& request) {
  return only(cuda::lower_recurrent(request), "recurrent_steps");
}
// In pieces of a few steps.
constexpr s64 kFewBytes = 3000;
Offer by_pieces(const LowerRequest& request) {
  return only(cuda::offer_recurrent(request, kFewBytes), "recurrent_walk");
}
Offer by_steps_of_pieces(const LowerRequest& request) {
  return only(cuda::offer_recurrent(request, kFewBytes), "recurrent_steps");
}

Tensor reals(const Shape& shape, u32 seed, f32 scale = 1.0f) {
  return random_f32(shape, seed, scale);
}

// Inputs up to the initial states.
Probe probe_of(const std::string& op, const Sizes& z, const std::string& direction, bool states) {
  const s64 d = direction == "bidirectional" ? 2 : 1, rows = gates_of(op) * z.hidden;
  const bool lstm = op == "LSTM";
  Probe probe{.op = op, .outputs = lstm ? 3u : 2u};
  probe.inputs = {activation(reals({z.steps, z.batch, z.input}, 1)),
                  constant(reals({d, rows, z.input}, 2, 0.5f)),
                  constant(reals({d, rows, z.hidden}, 3, 0.5f))};
  probe.attrs.set("direction", direction);
  if (!states) return probe;
  probe.inputs.push_back(constant(reals({d, 2 * rows}, 4)));
  probe.inputs.push_back({});
  probe.inputs.push_back(activation(reals({d, z.batch, z.hidden}, 5)));
  if (lstm) probe.inputs.push_back(activation(reals({d, z.batch, z.hidden}, 6)));
  return probe;
}

void expect_all_ways(const Probe& probe, const std::string& what) {
  expect_exact_on_gpu(probe, by_walk, what + ", a walk");
  expect_exact_on_gpu(probe, by_pieces, what + ", in pieces");
  if (run_on_gpu(probe, by_steps).reject != "") return;
  expect_exact_on_gpu(probe, by_steps, what + ", single steps");
  expect_exact_on_gpu(probe, by_steps_of_pieces, what + ", steps of pieces");
}

TEST(GpuRecurrent, SizesAndDirections) {
  NEEDS_GPU();
  constexpr Sizes kSizes[] = {{1, 1, 1, 1},  {3, 1, 16, 8},  {5, 1, 7, 16},   {4, 2, 40, 15},
                              {3, 9, 5, 17}, {2, 3, 48, 40}, {33, 1, 20, 20}, {2, 33, 3, 6}};
  size_t number = 0;
  for (const std::string op : {"LSTM", "GRU", "RNN"}) {
    for (const Sizes& z : kSizes) {
      const char* directions[] = {"forward", "reverse", "bidirectional"};
      const char* direction = directions[++number % 3];
      expect_all_ways(
          probe_of(op, z, direction, number % 2 == 0),
          fmt::format("{} {} {}x{}x{}x{}", op, direction, z.steps, z.batch, z.input, z.hidden));
    }
  }
}

TEST(GpuRecurrent, ResetGateOnProducts) {
  NEEDS_GPU();
  for (const Sizes& z : {Sizes{4, 2, 10, 19}, Sizes{3, 5, 6, 8}}) {
    Probe probe = probe_of("GRU", z, "bidirectional", true);
    probe.attrs.set("linear_before_reset", s64{1});
    EXPECT_EQ(run_on_gpu(probe, by_steps).reject, "");
    expect_all_ways(probe, fmt::format("linear {}x{}", z.batch, z.hidden));
  }
  // With the gate on the state a step is two, which blocks of some units do not take.
  EXPECT_EQ(run_on_gpu(probe_of("GRU", {4, 2, 10, 19}, "forward", true), by_steps).reject,
            "not shared so");
}

// An LSTM of 104 units needs 173 KB of weights, of 160 400 KB: some of it is kept in registers, some read where it lies.
TEST(GpuRecurrent, WeightsBeyondSharedMemory) {
  NEEDS_GPU();
  expect_all_ways(probe_of("LSTM", {3, 1, 8, 104}, "bidirectional", true), "104 units");
  expect_all_ways(probe_of("LSTM", {3, 2, 8, 126}, "forward", true), "126 units");
  expect_all_ways(probe_of("LSTM", {2, 1, 8, 160}, "forward", true), "160 units");
  expect_all_ways(probe_of("GRU", {2, 3, 8, 261}, "reverse", true), "261 units");
  expect_all_ways(probe_of("RNN", {2, 2, 5, 700}, "forward", true), "700 units");
}

TEST(GpuRecurrent, EveryFunction) {
  NEEDS_GPU();
  const std::vector<std::string> names = {
      "Affine",          "Elu",        "HardSigmoid", "LeakyRelu", "Relu", "Sigmoid",
      "ThresholdedRelu", "ScaledTanh", "Softplus",    "Softsign",  "Tanh"};
  for (size_t i = 0; i < names.size(); ++i) {
    Probe probe = probe_of("RNN", {4, 2, 5, 9}, "bidirectional", true);
    probe.attrs.set("activations", std::vector<std::string>{names[i], "tanh"});
    expect_exact_on_gpu(probe, by_walk, names[i]);
    if (i % 2 == 1) continue;
    probe.attrs.set("activation_alpha", std::vector<f32>{0.7f});
    probe.attrs.set("activation_beta", std::vector<f32>{0.2f});
    expect_exact_on_gpu(probe, by_walk, names[i] + " with parameters");
  }
  Probe lstm = probe_of("LSTM", {4, 2, 5, 9}, "bidirectional", true);
  lstm.attrs.set("activations", std::vector<std::string>{"HardSigmoid", "Softsign", "Relu",
                                                         "Sigmoid", "Tanh", "Elu"});
  expect_all_ways(lstm, "functions of both directions");
}

TEST(GpuRecurrent, ClipPeepholesAndCoupledGates) {
  NEEDS_GPU();
  for (int form = 0; form < 8; ++form) {
    Probe probe = probe_of("LSTM", {3, 3, 5, 9}, form % 2 ? "forward" : "bidirectional", true);
    const s64 d = form % 2 ? 1 : 2;
    if ((form & 1) != 0) probe.inputs.push_back(constant(reals({d, 27}, 8)));
    if ((form & 2) != 0) probe.attrs.set("clip", 0.4f);
    if ((form & 4) != 0) probe.attrs.set("input_forget", s64{1});
    expect_all_ways(probe, fmt::format("form {}", form));
  }
  for (const std::string op : {"GRU", "RNN"}) {
    Probe probe = probe_of(op, {3, 3, 5, 9}, "forward", true);
    probe.attrs.set("clip", 0.4f);
    expect_all_ways(probe, op + " clipped");
  }
}

TEST(GpuRecurrent, Lengths) {
  NEEDS_GPU();
  size_t number = 0;
  for (const std::string op : {"LSTM", "GRU", "RNN"}) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      Probe probe = probe_of(op, {7, 5, 6, 9}, direction, true);
      const s32 lengths[] = {7, 0, 5, 1, 6}, full[] = {7, 7, 7, 7, 7};
      probe.inputs[4] = constant(Tensor::of<s32>(Shape{5}, lengths));
      if (++number % 2 == 0) probe.inputs[4].constant = false;
      expect_all_ways(probe, fmt::format("{} {} with lengths", op, direction));
      if (number % 2 == 0) continue;
      probe.inputs[4] = constant(Tensor::of<s32>(Shape{5}, full));
      expect_exact_on_gpu(probe, by_walk, "all steps");
    }
  }
}

TEST(GpuRecurrent, SequencesFirst) {
  NEEDS_GPU();
  for (const std::string op : {"LSTM", "GRU", "RNN"}) {
    Probe probe = probe_of(op, {5, 3, 6, 9}, "bidirectional", true);
    probe.inputs[0] = activation(reals({3, 5, 6}, 7));
    for (size_t i = 5; i < probe.inputs.size(); ++i)
      probe.inputs[i] = activation(reals({3, 2, 9}, static_cast<u32>(i)));
    probe.attrs.set("layout", s64{1});
    expect_all_ways(probe, op + " with sequences first");
  }
}

TEST(GpuRecurrent, OperandsOfARun) {
  NEEDS_GPU();
  for (const Sizes& z : {Sizes{4, 2, 8, 12}, Sizes{3, 2, 7, 13}}) {
    Probe probe = probe_of("LSTM", z, "bidirectional", true);
    for (ProbeInput& input : probe.inputs) input.constant = false;
    expect_all_ways(probe, "weights of a run");
    for (ProbeInput& input : probe.inputs) input.constant = true;
    probe.inputs[0].constant = false;
    expect_all_ways(probe, "constant states");
  }
}

// Of codes: x, W and R; multipliers behind what LSTM has.
Probe codes_of(const std::string& op, const Sizes& z, const std::string& direction, Dtype dtype) {
  Probe probe = probe_of(op, z, direction, true);
  const s64 d = direction == "bidirectional" ? 2 : 1, rows = gates_of(op) * z.hidden;
  probe.op = "Q" + op;
  const Shape x{z.steps, z.batch, z.input};
  probe.inputs[0] = activation(dtype == Dtype::u8 ? random_u8(x, 1) : random_s8(x, 1));
  probe.inputs[1] = constant(random_s8({d, rows, z.input}, 2));
  probe.inputs[2] = constant(random_s8({d, rows, z.hidden}, 3));
  probe.inputs.resize(8);
  probe.inputs.push_back(
      constant(random_multipliers(2 * d * rows, 7, 0.0002f).reshaped({2, d, rows})));
  probe.attrs.set("state_scale", 1.0f / 127.0f);
  probe.attrs.set("input_zero_points", std::vector<s64>{dtype == Dtype::u8 ? 119 : -9});
  return probe;
}

TEST(GpuRecurrent, Codes) {
  NEEDS_GPU();
  constexpr Sizes kSizes[] = {{1, 1, 1, 1}, {5, 1, 7, 16}, {4, 2, 40, 15}, {3, 9, 5, 17}};
  size_t number = 0;
  for (const std::string op : {"LSTM", "GRU", "RNN"}) {
    for (const Sizes& z : kSizes) {
      const char* directions[] = {"forward", "reverse", "bidirectional"};
      const char* direction = directions[++number % 3];
      Probe probe = codes_of(op, z, direction, number % 2 == 0 ? Dtype::u8 : Dtype::s8);
      if (op == "GRU" && number % 2 == 0) probe.attrs.set("linear_before_reset", s64{1});
      // A state that is no number is multiplied as 0.
      probe.inputs[5].tensor.mutable_as<f32>()[0] = std::numeric_limits<f32>::quiet_NaN();
      expect_all_ways(
          probe, fmt::format("codes of {} {}x{}x{}x{}", op, z.steps, z.batch, z.input, z.hidden));
    }
  }
}

// 24 bits hold 518 products of any u8 by any s8, and 971 where the zero point lies near the middle, as here.
TEST(GpuRecurrent, SumsBeyond24Bits) {
  NEEDS_GPU();
  Probe probe = codes_of("RNN", {2, 1, 1000, 4}, "forward", Dtype::u8);
  EXPECT_EQ(run_on_gpu(probe, cuda::lower_recurrent).reject, "");
  for (s8& w : probe.inputs[1].tensor.mutable_as<s8>()) w = 127;
  EXPECT_EQ(run_on_gpu(probe, cuda::lower_recurrent).reject,
            "sums of so many products of codes do not fit into 24 bits");
}

TEST(GpuRecurrent, SaysWhyNot) {
  NEEDS_GPU();
  Probe probe = probe_of("LSTM", {4, 2, 5, 9}, "forward", true);
  const s32 lengths[] = {2, 5};
  probe.inputs[4] = constant(Tensor::of<s32>(Shape{2}, lengths));
  EXPECT_EQ(run_on_gpu(probe, cuda::lower_recurrent).reject, "a sequence is longer than the input");
}

// Who has few sequences of many units wants all multiprocessors at each step; who has many of few, none to wait for another.
TEST(GpuRecurrent, ChoosesByEstimate) {
  cuda::Chip chip;
  chip.architecture = &architecture(cuda::ArchitectureId::sm_90);
  chip.multiprocessors = 132, chip.threads = 2048, chip.registers = 65536;
  chip.shared_bytes = 228 << 10, chip.shared_bytes_per_block = 227 << 10;
  chip.reserved_shared_bytes = 1024;
  const auto best = [&](s64 batch, s64 hidden) {
    return recurrent_shapes({100, batch, hidden, 1, 4, false}, 100, chip).front();
  };
  EXPECT_GT(best(1, 1024).unit_blocks, 1);
  EXPECT_GT(best(64, 512).unit_blocks, 1);
  EXPECT_EQ(best(1, 32).unit_blocks, 1);
  EXPECT_EQ(best(500, 64).unit_blocks, 1);
  EXPECT_EQ(best(64, 64).shared_chunks, 4);
  EXPECT_EQ(best(1, 128).shared_chunks + best(1, 128).kept_chunks, 8);
  for (const cuda::RecurrentShape& shape :
       recurrent_shapes({100, 64, 700, 2, 4, false}, 100, chip)) {
    EXPECT_LE(shape.shared_bytes, chip.shared_bytes_per_block);
    EXPECT_GE(shape.unit_blocks * shape.units, 700);
  }
  // 60,000 units: not even a state fits.
  EXPECT_TRUE(recurrent_shapes({100, 1, 60000, 1, 4, true}, 100, chip).empty());
}

}  // namespace
}  // namespace octet

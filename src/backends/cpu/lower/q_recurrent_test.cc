// SPDX-License-Identifier: Apache-2.0
// QLSTM, QGRU and QRNN against the scalar reference, to the bit: all outputs, directions, layouts and the edges of vectors and blocks.
#include <gtest/gtest.h>

#include <limits>

#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/q_probe.h"

namespace octet {
namespace {

struct Sizes {
  s64 steps, batch, input, hidden;
};

constexpr Sizes kSizes[] = {{1, 1, 1, 1},   {3, 1, 16, 8},   {16, 1, 7, 16},  {17, 2, 40, 15},
                            {33, 9, 5, 17}, {5, 17, 33, 31}, {2, 3, 48, 130}, {20, 5, 64, 64}};

struct Layer {
  const char* op;
  LowerFunction lower;
  s64 gates;
  bool linear = false;  // linear_before_reset
};
const Layer kLayers[] = {{"QLSTM", lower_q_lstm, 4},
                         {"QGRU", lower_q_gru, 3},
                         {"QGRU", lower_q_gru, 3, true},
                         {"QRNN", lower_q_rnn, 1}};

Probe probe_of(const Layer& layer, const Sizes& z, const std::string& direction, bool states,
               bool extremes = false) {
  const s64 d = direction == "bidirectional" ? 2 : 1, rows = layer.gates * z.hidden;
  Probe probe{.op = layer.op, .outputs = layer.gates == 4 ? 3u : 2u};
  const Codes codes = extremes ? Codes::extremes : Codes::any;
  probe.inputs = {activation(random_u8({z.steps, z.batch, z.input}, 1, codes)),
                  constant(random_s8({d, rows, z.input}, 2, extremes)),
                  constant(random_s8({d, rows, z.hidden}, 3, extremes))};
  probe.inputs.resize(8);
  if (states) {
    probe.inputs[3] = constant(random_f32(Shape{d, 2 * rows}, 4));
    probe.inputs[5] = activation(random_f32(Shape{d, z.batch, z.hidden}, 5));
    if (layer.gates == 4) probe.inputs[6] = activation(random_f32(Shape{d, z.batch, z.hidden}, 6));
  }
  Tensor multipliers = random_multipliers(2 * d * rows, 7, 0.0002f).reshaped({2, d, rows});
  probe.inputs.push_back(constant(std::move(multipliers)));
  probe.attrs.set("direction", direction);
  probe.attrs.set("state_scale", 1.0f / 127.0f);
  probe.attrs.set("input_zero_points", std::vector<s64>{119, 0, 0, 0, 0, 0, 0, 0, 0});
  if (layer.linear) probe.attrs.set("linear_before_reset", s64{1});
  return probe;
}

void expect_exact_outputs(const Layer& layer, Probe probe, const std::string& what) {
  const std::vector<Tensor> want = probe.reference();
  for (Isa isa : simd_levels()) {
    for (int threads : {1, 3}) {
      probe.isa = isa;
      probe.threads = threads;
      const ProbeResult result = run_probe(probe, layer.lower);
      ASSERT_EQ(result.reject, "") << what;
      for (size_t i = 0; i < want.size(); ++i)
        expect_same_f32(result.outputs[i], want[i],
                        fmt::format("{} {} output {}", layer.op, what, i));
    }
  }
}

TEST(QRecurrent, EqualsTheReference) {
  for (const Layer& layer : kLayers) {
    for (const Sizes& z : kSizes) {
      for (const char* direction : {"forward", "reverse", "bidirectional"}) {
        for (bool states : {false, true}) {
          expect_exact_outputs(layer, probe_of(layer, z, direction, states),
                               fmt::format("{} {}x{}x{}x{} states {}", direction, z.steps, z.batch,
                                           z.input, z.hidden, states));
        }
      }
    }
  }
}

// Pairs of products that would saturate in s16, and states beyond their codes.
TEST(QRecurrent, TheLargestProducts) {
  for (const Layer& layer : kLayers)
    expect_exact_outputs(layer, probe_of(layer, {3, 2, 96, 33}, "forward", true, true), "extremes");
}

TEST(QRecurrent, SequencesOfSeveralLengths) {
  for (const Layer& layer : kLayers) {
    Probe probe = probe_of(layer, {9, 3, 20, 16}, "bidirectional", true);
    const s32 lengths[] = {4, 9, 0};
    probe.inputs[4] = constant(Tensor::of<s32>({3}, lengths));
    expect_exact_outputs(layer, probe, "lengths");
    probe.inputs[4].constant = false;
    expect_exact_outputs(layer, probe, "lengths of a run");
  }
}

TEST(QRecurrent, BatchFirst) {
  for (const Layer& layer : kLayers) {
    Probe probe = probe_of(layer, {4, 6, 20, 16}, "forward", false);
    probe.attrs.set("layout", s64{1});
    expect_exact_outputs(layer, probe, "batch first");
  }
}

// NaN has the code of 0 where it is multiplied, and passes where it is not.
TEST(QRecurrent, StatesThatAreNoNumbers) {
  for (const Layer& layer : kLayers) {
    Probe probe = probe_of(layer, {3, 2, 20, 16}, "forward", true);
    const auto h = probe.inputs[5].tensor.mutable_as<f32>();
    h[3] = std::numeric_limits<f32>::quiet_NaN();
    h[20] = std::numeric_limits<f32>::infinity();
    expect_exact_outputs(layer, probe, "NaN and infinity");
  }
}

}  // namespace
}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN in f32 against the scalar reference, to the bit: all outputs, directions, layouts and the edges of vectors and blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/probe.h"

namespace octet {
namespace {

using ::testing::HasSubstr;

struct Sizes {
  s64 steps, batch, input, hidden;
};

constexpr Sizes kSizes[] = {{1, 1, 1, 1},   {3, 1, 16, 8},   {16, 1, 7, 16},  {17, 2, 40, 15},
                            {33, 9, 5, 17}, {5, 17, 33, 31}, {2, 3, 48, 130}, {20, 5, 20, 64}};

s64 gates_of(const std::string& op) { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }

// Inputs up to the initial states; weights are constant.
Probe probe_of(const std::string& op, const Sizes& z, const std::string& direction, bool states) {
  const s64 d = direction == "bidirectional" ? 2 : 1, rows = gates_of(op) * z.hidden;
  const bool lstm = op == "LSTM";
  Probe probe{.op = op, .outputs = lstm ? 3u : 2u};
  probe.inputs = {{random_f32(Shape{z.steps, z.batch, z.input}, 1)},
                  {random_f32(Shape{d, rows, z.input}, 2, 0.5f), true},
                  {random_f32(Shape{d, rows, z.hidden}, 3, 0.5f), true}};
  probe.attrs.set("direction", direction);
  if (!states) return probe;
  probe.inputs.push_back({random_f32(Shape{d, 2 * rows}, 4), true});
  probe.inputs.push_back({});
  probe.inputs.push_back({random_f32(Shape{d, z.batch, z.hidden}, 5)});
  if (lstm) probe.inputs.push_back({random_f32(Shape{d, z.batch, z.hidden}, 6)});
  return probe;
}

void expect_exact(Probe probe, const std::string& what) {
  const std::vector<Tensor> want = probe.reference();
  for (Isa isa : simd_levels()) {
    for (int threads : {1, 3}) {
      probe.isa = isa;
      probe.threads = threads;
      const ProbeResult result = run_probe(probe, lower_f_recurrent);
      ASSERT_EQ(result.reject, "") << what;
      for (size_t i = 0; i < want.size(); ++i)
        expect_same_f32(result.outputs[i], want[i], fmt::format("{} output {}", what, i));
    }
  }
}

std::string reject_of(Probe probe) {
  probe.isa = first_simd_level();
  return run_probe(probe, lower_f_recurrent).reject;
}

TEST(FloatRecurrent, EqualsTheReference) {
  for (const std::string op : {"LSTM", "GRU", "RNN"}) {
    for (const Sizes& z : kSizes) {
      for (const char* direction : {"forward", "reverse", "bidirectional"}) {
        for (bool states : {false, true}) {
          expect_exact(probe_of(op, z, direction, states),
                       fmt::format("{} {} {}x{}x{}x{} states {}", op, direction, z.steps, z.batch,
                                   z.input, z.hidden, states));
        }
      }
    }
  }
}

TEST(FloatRecurrent, GatesBeforeOrAfterTheState) {
  for (const Sizes& z : kSizes) {
    Probe probe = probe_of("GRU", z, "bidirectional", true);
    probe.attrs.set("linear_before_reset", s64{1});
    expect_exact(probe, fmt::format("linear {}x{}", z.batch, z.hidden));
  }
}

TEST(FloatRecurrent, FunctionsByName) {
  Probe probe = probe_of("RNN", {4, 2, 5, 19}, "bidirectional", true);
  probe.attrs.set("activations", std::vector<std::string>{"Relu", "relu"});
  expect_exact(probe, "relu");
  probe.attrs.set("activations", std::vector<std::string>{"Relu", "Tanh"});
  EXPECT_EQ(reject_of(probe), "its functions are not those of the kernel");
  Probe lstm = probe_of("LSTM", {4, 2, 5, 19}, "forward", true);
  lstm.attrs.set("activations", std::vector<std::string>{"sigmoid", "TANH", "Tanh"});
  expect_exact(lstm, "names in any case");
  lstm.attrs.set("activations", std::vector<std::string>{"HardSigmoid", "Tanh", "Tanh"});
  EXPECT_EQ(reject_of(lstm), "its functions are not those of the kernel");
}

TEST(FloatRecurrent, SequencesOfSeveralLengths) {
  for (const char* direction : {"forward", "reverse", "bidirectional"}) {
    Probe probe = probe_of("LSTM", {19, 3, 6, 9}, direction, true);
    const s32 lengths[] = {19, 0, 17}, full[] = {19, 19, 19};
    probe.inputs[4] = {Tensor::of<s32>(Shape{3}, lengths), true};
    expect_exact(probe, fmt::format("lengths {}", direction));
    probe.inputs[4] = {Tensor::of<s32>(Shape{3}, full), true};
    expect_exact(probe, fmt::format("full {}", direction));
  }
}

TEST(FloatRecurrent, LengthsOfARun) {
  const s32 lengths[] = {19, 0, 17, 1, 4};
  const s64 wide[] = {3, 19, 18, 0, 19};
  for (const std::string op : {"LSTM", "GRU", "RNN"}) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      Probe probe = probe_of(op, {19, 5, 6, 9}, direction, true);
      probe.inputs[4] = {Tensor::of<s32>(Shape{5}, lengths)};
      expect_exact(probe, fmt::format("{} {} lengths of a run", op, direction));
      probe.inputs[4] = {Tensor::of<s64>(Shape{5}, wide)};
      expect_exact(probe, fmt::format("{} {} wide lengths of a run", op, direction));
    }
  }
}

TEST(FloatRecurrent, LengthsThatAreNone) {
  OCTET_NEEDS_VECTORS();
  for (const s32 length : {-1, 5, std::numeric_limits<s32>::min()}) {
    Probe probe = probe_of("LSTM", {4, 2, 3, 5}, "forward", true);
    const s32 lengths[] = {4, length};
    probe.inputs[4] = {Tensor::of<s32>(Shape{2}, lengths)};
    probe.isa = first_simd_level();
    try {
      run_probe(probe, lower_f_recurrent);
      ADD_FAILURE() << length;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Error::Code::invalid_argument);
      EXPECT_THAT(error.message(), HasSubstr(fmt::format("sequence 1 has length {} of 4", length)));
    }
  }
}

TEST(FloatRecurrent, SequencesFirst) {
  for (const std::string op : {"LSTM", "GRU"}) {
    Probe probe = probe_of(op, {5, 3, 6, 9}, "bidirectional", false);
    probe.inputs[0] = {random_f32(Shape{3, 5, 6}, 7)};
    probe.attrs.set("layout", s64{1});
    expect_exact(probe, op + " with sequences first");
  }
}

TEST(FloatRecurrent, SaysWhyNot) {
  Probe clipped = probe_of("LSTM", {2, 1, 3, 4}, "forward", true);
  clipped.attrs.set("clip", 3.0f);
  EXPECT_EQ(reject_of(clipped), "the sums are clipped");
  Probe peepholes = probe_of("LSTM", {2, 1, 3, 4}, "forward", true);
  peepholes.inputs.push_back({random_f32(Shape{1, 12}, 8), true});
  EXPECT_EQ(reject_of(peepholes), "there are peepholes");
  Probe coupled = probe_of("LSTM", {2, 1, 3, 4}, "forward", true);
  coupled.attrs.set("input_forget", s64{1});
  EXPECT_EQ(reject_of(coupled), "the input gate is the forget gate too");
}

}  // namespace
}  // namespace octet

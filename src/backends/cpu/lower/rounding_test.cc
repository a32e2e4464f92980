// SPDX-License-Identifier: Apache-2.0
// A kernel that rounds its own result gives the bits of the two steps.
#include "backends/cpu/lower/rounding.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>

#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/probe.h"
#include "core/small_types.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "plan/plan.h"

namespace octet {
namespace {

struct Case {
  Probe probe;
  Offer (*lowering)(const LowerRequest&);

  bool is_dnnl() const { return lowering == lower_f_conv || lowering == lower_f_matmul; }
};

ProbeInput image(const Shape& shape, f32 size = 1.0f) {
  return {random_f32(shape, 1, size), false, shape.rank() == 4 ? Layout::nhwc : Layout::linear};
}

ProbeInput constant(const Shape& shape, u64 seed) { return {random_f32(shape, seed), true}; }

Probe clipped(Probe probe) {
  probe.attrs.set("activation", std::string("clip"));
  probe.attrs.set("activation_min", -0.5f);
  probe.attrs.set("activation_max", 1.0f);
  return probe;
}

Probe depthwise(s64 channels) {
  Probe probe{.op = "Conv",
              .inputs = {image({1, channels, 11, 13}), constant({channels, 1, 3, 3}, 2)}};
  probe.attrs.set("group", channels);
  probe.attrs.set("pads", std::vector<s64>{1, 1, 1, 1});
  return clipped(probe);
}

// Results of more than one piece, and of a part of one; beyond 65504, and below what is normal in f16.
std::vector<Case> cases() {
  const Probe conv{.op = "Conv", .inputs = {image({1, 8, 20, 19}), constant({24, 8, 1, 1}, 2)}};
  const Probe line{.op = "Conv", .inputs = {image({1, 8, 50}), constant({24, 8, 3}, 2)}};
  const Probe matmul{.op = "MatMul",
                     .inputs = {{random_f32({9, 40}, 1, 1e4f)}, constant({40, 130}, 2)}};
  Probe columns{.op = "Softmax", .inputs = {{random_f32({2, 7, 90}, 1, 9.0f)}}};
  columns.attrs.set("axis", s64{1});
  const Probe rows{.op = "Softmax", .inputs = {{random_f32({70, 33}, 1, 9.0f)}}};
  Probe log_rows = rows;
  log_rows.op = "LogSoftmax";
  const Probe norm{.op = "LayerNormalization",
                   .inputs = {{random_f32({50, 48}, 1)}, constant({48}, 2), constant({48}, 3)}};
  const Probe rms{.op = "RMSNormalization",
                  .inputs = {{random_f32({3, 1500}, 1)}, constant({1500}, 2)}};
  return {{conv, lower_f_conv},
          {conv, lower_f_conv_panels},
          {clipped(conv), lower_f_conv},
          {clipped(line), lower_f_conv_volumes},
          {depthwise(16), lower_f_depthwise_taps},
          {depthwise(5), lower_f_depthwise_taps},
          {matmul, lower_f_matmul},
          {{.op = "HardSwish", .inputs = {image({1, 19, 20, 20}, 3e-6f)}}, lower_f_unary},
          {{.op = "Exp", .inputs = {{random_f32({3000}, 1, 8.0f)}}}, lower_f_unary},
          {{.op = "Mul",
            .inputs = {{random_f32({4, 700}, 1, 300.0f)}, {random_f32({4, 700}, 2, 300.0f)}}},
           lower_f_binary},
          {{.op = "Add", .inputs = {{random_f32({2, 1500}, 1)}, {random_f32({2, 1}, 2)}}},
           lower_f_binary},
          {columns, lower_f_softmax},
          {rows, lower_f_softmax},
          {log_rows, lower_f_log_softmax},
          {norm, lower_f_layer_norm},
          {rms, lower_f_rms_norm}};
}

Tensor rounded(const Tensor& whole, const std::string& to) {
  Tensor result(Dtype::f32, whole.shape());
  for (size_t i = 0; i < whole.as<f32>().size(); ++i) {
    const f32 x = whole.as<f32>()[i];
    result.mutable_as<f32>()[i] =
        to == "f16" ? static_cast<f32>(f16(x)) : static_cast<f32>(bf16(x));
  }
  return result;
}

TEST(Rounding, KernelsGiveTheBitsOfTheTwoSteps) {
  for (const Case& c : cases()) {
    for (const Isa isa : simd_levels()) {
      for (const int threads : {1, 3}) {
        Probe probe = c.probe;
        probe.isa = isa;
        probe.threads = threads;
        const ProbeResult whole = run_probe(probe, c.lowering);
        if (c.is_dnnl() && !isa.has(Isa::avx2)) {
          EXPECT_EQ(whole.reject, "the instruction set has no AVX2");
          continue;
        }
        ASSERT_EQ(whole.reject, "") << probe.op;
        for (const std::string to : {"f16", "bf16"}) {
          probe.attrs.set(std::string(kRounds), to);
          const ProbeResult result = run_probe(probe, c.lowering);
          ASSERT_EQ(result.reject, "") << probe.op;
          EXPECT_NE(result.candidate.note.find("rounds to " + to), std::string::npos) << probe.op;
          expect_same_f32(result.outputs[0], rounded(whole.outputs[0], to), probe.op + " " + to);
        }
      }
    }
  }
}

// Planes of an image become rounded pixels at once: more than a piece of them, and a part of one.
TEST(Rounding, OfAnImageGivesPixels) {
  for (const Shape& shape : {Shape{2, 3, 23, 31}, Shape{1, 2, 1, 5}, Shape{1, 8, 16, 16}}) {
    for (const std::string to : {"f16", "bf16"}) {
      for (const Isa isa : simd_levels()) {
        Probe probe{.op = "RoundTo", .inputs = {{random_f32(shape, 1)}}, .isa = isa, .threads = 2};
        probe.attrs.set("to", to);
        EXPECT_NE(run_probe(probe, lower_f_round_image).reject, "");
        probe.attrs.set(std::string(kGivesPixels), s64{1});
        const ProbeResult result = run_probe(probe, lower_f_round_image);
        ASSERT_EQ(result.reject, "");
        EXPECT_EQ(result.candidate.outputs[0], Layout::nhwc);
        expect_same_f32(result.outputs[0], rounded(probe.inputs[0].tensor, to), to);
      }
    }
  }
}

Offer reference(const LowerRequest& request) { return rounding_reference(request); }

TEST(Rounding, TheReferenceRoundsToo) {
  Probe probe{.op = "Add", .inputs = {{random_f32({9, 5}, 1)}, {random_f32({5}, 2)}}};
  const Tensor whole = probe.reference()[0];
  for (const std::string to : {"f16", "bf16"}) {
    probe.attrs.set(std::string(kRounds), to);
    expect_same_f32(run_probe(probe, reference).outputs[0], rounded(whole, to), to);
  }
}

TEST(Rounding, TheReferenceRoundsRealsAlone) {
  Probe probe{.op = "Equal", .inputs = {{random_f32({9, 5}, 1)}, {random_f32({9, 5}, 1)}}};
  const Tensor want = probe.reference()[0];
  probe.attrs.set(std::string(kRounds), std::string("f16"));
  const ProbeResult result = run_probe(probe, reference);
  EXPECT_EQ(result.candidate.note.find("rounds"), std::string::npos) << result.candidate.note;
  EXPECT_EQ(std::memcmp(result.outputs[0].data(), want.data(), want.bytes()), 0);
}

// A file's own attribute of the name is no rounding, of whatever kind it is; the node may be that which a rounding alone follows.
TEST(Rounding, WhatAFileSaysIsNotBelieved) {
  for (const std::string value : {"\"f16\"", "3"}) {
    const Graph graph = parse_graph(
        "graph \"g\"(%x: f32[2,3]) {\n  %a: f32[2,3] = Exp(%x) {octet.rounds=" + value +
            "}\n  %b: f32[2,3] = RoundTo(%a) {to=\"bf16\"}\n  %c: bool[2,3] = Equal(%a, %b) "
            "{octet.rounds=" +
            value + "}\n  %d: f32[2,3] = Exp(%b) {octet.rounds=" + value +
            "}\n  %e: f32[2,3] = RoundTo(%d) {to=\"bf16\"}\n  return %c, %e\n}\n",
        find_op);
    Graph planned = specialize(graph, std::vector<Shape>{Shape{2, 3}});
    join_roundings(planned);
    const std::string text = print(planned);
    EXPECT_EQ(text.find("octet.rounds=" + value), std::string::npos) << text;
    EXPECT_NE(text.find("%e: f32[2,3] = Exp(%b) {octet.rounds=\"bf16\"}"), std::string::npos)
        << text;
  }
}

// A kernel that knows nothing of it is not taken.
TEST(Rounding, OtherLoweringsRefuse) {
  Probe probe{.op = "Reshape", .inputs = {{random_f32({4, 6}, 1)}}, .isa = first_simd_level()};
  Tensor shape(Dtype::s64, Shape{1});
  shape.mutable_as<s64>()[0] = 24;
  probe.inputs.push_back({shape, true});
  probe.attrs.set(std::string(kRounds), std::string("f16"));
  size_t asked = 0;
  for (const Lowering& lowering : cpu_lowerings()) {
    if (lowering.op != "Reshape") continue;
    ++asked;
    EXPECT_EQ(run_probe(probe, lowering.offer).reject, "its kernel does not round the result");
  }
  EXPECT_GT(asked, 0U);
}

std::string joined(const std::string& body) {
  Graph graph = parse_graph("graph \"g\"(%x: f32[2,3], %z: f32[2,3]) {\n" + body + "}\n", find_op);
  join_roundings(graph);
  return print(graph);
}

TEST(Rounding, GoesIntoTheNodeThatItAloneFollows) {
  const std::string text = joined(
      "  %a: f32[2,3] = Add(%x, %z) name \"add\"\n"
      "  %b: f32[2,3] = RoundTo(%a) {to=\"f16\"} name \"round\"\n"
      "  %c: f32[2,3] = Relu(%b) name \"relu\"\n"
      "  return %c\n");
  EXPECT_EQ(text.find("RoundTo"), std::string::npos) << text;
  EXPECT_NE(text.find("%b: f32[2,3] = Add(%x, %z) {octet.rounds=\"f16\"}"), std::string::npos)
      << text;
}

TEST(Rounding, StaysWhereOthersReadWhatIsNotRoundedOrNoKernelRounds) {
  const std::string bodies[] = {
      // An input, a value that is read twice, a result of the caller, and a move.
      "  %b: f32[2,3] = RoundTo(%x) {to=\"f16\"}\n  return %b\n",
      "  %a: f32[2,3] = Add(%x, %z)\n  %b: f32[2,3] = RoundTo(%a) {to=\"f16\"}\n"
      "  %c: f32[2,3] = Sub(%a, %b)\n  return %c\n",
      "  %a: f32[2,3] = Add(%x, %z)\n  %b: f32[2,3] = RoundTo(%a) {to=\"f16\"}\n  return %a, %b\n",
      "  %a: f32[3,2] = Transpose(%x)\n  %b: f32[3,2] = RoundTo(%a) {to=\"f16\"}\n  return %b\n",
  };
  for (const std::string& body : bodies) {
    const std::string text = joined(body);
    EXPECT_NE(text.find("RoundTo"), std::string::npos) << text;
    EXPECT_EQ(text.find("rounds="), std::string::npos) << text;
  }
}

// Two roundings in a row: the second is not that of the node.
TEST(Rounding, OneGoesIntoANode) {
  const std::string text = joined(
      "  %a: f32[2,3] = Add(%x, %z)\n  %b: f32[2,3] = RoundTo(%a) {to=\"f16\"}\n"
      "  %c: f32[2,3] = RoundTo(%b) {to=\"bf16\"}\n  return %c\n");
  EXPECT_NE(text.find("{octet.rounds=\"f16\"}"), std::string::npos) << text;
  EXPECT_NE(text.find("RoundTo(%b) {to=\"bf16\"}"), std::string::npos) << text;
}

}  // namespace
}  // namespace octet

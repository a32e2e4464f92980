// SPDX-License-Identifier: Apache-2.0
#include "inspect/explain/layer_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "backends/cpu/device.h"
#include "graph/node_types.h"
#include "graph/op_def.h"
#include "graph/text.h"
#include "octet/error.h"
#include "octet/selection.h"
#include "ops/registry.h"
#include "pipeline/float_model.h"
#include "plan/plan.h"
#include "plan/select.h"
#include "plan/tuning.h"

namespace octet {
namespace {

using ::testing::HasSubstr;

LowerRequest request_for(const LayerText& layer, const Target& target) {
  const Node& node = layer.graph.nodes.at(0);
  return {
      layer.graph,   node,  types_of(layer.graph, node.inputs), types_of(layer.graph, node.outputs),
      layer.layouts, target};
}

// The graphs of tests/plans, quantized as there.
Graph quantized(const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(OCTET_SOURCE_DIR) / "tests/plans";
  std::ifstream in(folder / (name + ".txt"));
  std::stringstream text;
  text << in.rdbuf();
  const auto weights = [](s64 index, const TensorType& type) {
    return random_tensor(type, static_cast<u32>(index));
  };
  PrecisionPlan plan;
  plan.int8 = true;
  return quantize(with_assumed_ranges(optimize(parse_graph(text.str(), find_op, weights), {})),
                  plan)
      .graph;
}

std::vector<Shape> shapes_of(const Graph& graph) {
  std::vector<Shape> shapes;
  for (ValueId id : graph.inputs) {
    Shape shape = graph.value(id).type.shape;
    for (int d = 0; d < shape.rank(); ++d) shape[d] = shape[d] == Shape::kDynamic ? 12 : shape[d];
    shapes.push_back(shape);
  }
  return shapes;
}

// What stands for a layer asks the lowerings the same question as the layer in its network.
TEST(LayerText, StandsForEveryLayerOfWholeNetworks) {
  for (const char* name : {"attention", "neck", "recurrent", "residual", "separable"}) {
    const Graph graph = quantized(name);
    for (const Isa isa : kIsaLevels) {
      const CpuDevice device(isa, 1 << 20);
      const Target target = cpu_target(device);
      const Plan plan = make_plan(graph, shapes_of(graph), target);
      for (const PlanStep& step : plan.steps) {
        const std::string signature = signature_of(plan, step);
        if (step.node >= plan.graph.nodes.size()) {
          EXPECT_EQ(signature, "");
          continue;
        }
        const LayerText layer = parse_layer(signature);
        const LowerRequest asked = request_for(layer, target);
        EXPECT_EQ(layer_signature(asked), signature);
        EXPECT_EQ(select_kernel(asked, device.backend()).chosen.kernel, step.kernel) << signature;
      }
    }
  }
}

TEST(LayerText, ReadsWhatSignaturesSay) {
  const Target target = cpu_target(Isa::none);
  for (const std::string text :
       {"Clip(f32[2,3], f32[] const {-0.5}, f32[] const {inf}) -> f32[2,3]",
        "Reshape(u8[1,6] , s64[2] const {2, 3}) -> u8[2,3]",
        "Einsum{equation=\"ij,jk->ik\"}(f32[2,3], f32[3,4]) -> f32[2,4]",
        "LSTM{hidden_size=8}(f32[4,1,3], f32[1,32,3] const, f32[1,32,8] const) -> f32[4,1,1,8], _, "
        "f32[1,1,8]"}) {
    std::string canonical = text;
    if (const size_t blank = canonical.find(" ,"); blank != canonical.npos)
      canonical.erase(blank, 1);
    EXPECT_EQ(layer_signature(request_for(parse_layer(text), target)), canonical);
  }
}

TEST(LayerText, SaysWhatIsWrong) {
  for (const char* text : {"",
                           " ",
                           "Conv",
                           "Conv(",
                           "Conv(f32[1]",
                           "Conv{a=1(f32[1]) -> f32[1]",
                           "Relu(f32[1])",
                           "Nothing(f32[1]) -> f32[1]",
                           "Relu(f32[-1]) -> f32[1]",
                           "Relu(f32[1]) -> f32[1] and more",
                           "Relu(f32[1]) -> ",
                           "Relu(f32[1] sideways) -> f32[1]",
                           "Relu(f32[1) -> f32[1]",
                           "Cast{to=\"f32}(f32[1]) -> f32[1]",
                           "Relu(x) -> f32[1]",
                           "-> f32[1]",
                           "{}() -> f32[1]",
                           "Relu(f32[2,3]) -> f32[2,4]",
                           "Relu(f32[?]) -> f32[?]",
                           "Relu(f32[*]) -> f32[*]",
                           "MatMul(f32[2,3], f32[4,5]) -> f32[2,5]",
                           "Reshape(f32[4], s64[1]) -> f32[4]",
                           "Relu(f32[1]) -> f32[1] = Relu(%in0) name \"a\" %b: f32[1]"}) {
    try {
      parse_layer(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Error::Code::invalid_argument);
      EXPECT_THAT(error.message(), HasSubstr("is no layer's signature"));
      EXPECT_THAT(error.message(), HasSubstr("expected OPERATOR{attributes}(inputs) -> outputs"));
    }
  }
}

TEST(LayerText, SaysThatAPlanStoresHalves) {
  for (const char* text : {"RoundTo{to=\"bf16\"}(f32[4]) -> bf16[4]",
                           "Conv(bf16[1,1,2,2] nhwc, f32[1,1,1,1] const) -> bf16[1,1,2,2]"}) {
    try {
      parse_layer(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Error::Code::invalid_argument);
      EXPECT_THAT(error.message(), HasSubstr("plan stores values in 16 bits"));
    }
  }
}

// Any cut of a signature is read or refused.
TEST(LayerText, SurvivesEveryCut) {
  const std::string whole =
      "QConv{group=1,mode=\"a,b\",pads=ints[1, 1, 1, 1]}(u8[1,4,8,8] nhwc, s8[4,4,3,3] const, _) "
      "-> "
      "u8[1,4,8,8]";
  for (size_t size = 0; size < whole.size(); ++size) {
    try {
      parse_layer(whole.substr(0, size));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Error::Code::invalid_argument) << size;
    }
  }
}

TEST(MeasureLayer, RunsEveryKernelThatAcceptsIt) {
  const LayerSelection relu = measure_layer("Relu(f32[1,64,8,8]) -> f32[1,64,8,8]");
  ASSERT_GE(relu.kernels.size(), 1u);
  EXPECT_EQ(relu.layer.op, "Relu");
  EXPECT_TRUE(relu.same_results());
  const LayerSelection conv = measure_layer(
      "QConv{hi=255,input_zero_points=ints[3, 0, 0, "
      "0],lo=0,output_dtype=\"u8\",output_zero_point=4,"
      "pads=ints[1, 1, 1, 1]}(u8[1,32,14,14] nhwc, s8[32,32,3,3] const, _, f32[32] const) -> "
      "u8[1,32,14,14]");
  EXPECT_EQ(conv.kernels[0].kernel, conv.layer.kernel);
  EXPECT_TRUE(conv.same_results());
}

TEST(MeasureLayer, RefusesWhatNoMachineHolds) {
  EXPECT_THROW(
      measure_layer("MatMul(f32[1,8], f32[1000000000,1000000000] const) -> f32[1,1000000000]"),
      Error);
}

}  // namespace
}  // namespace octet

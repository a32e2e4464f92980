// SPDX-License-Identifier: Apache-2.0
// What the inspector, the profile and the comparison of kernels say of an engine on another device.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "graph/text.h"
#include "octet/inspect.h"
#include "octet/machine.h"
#include "octet/profile.h"
#include "octet/selection.h"
#include "ops/registry.h"
#include "runtime/inside.h"
#include "runtime/model.h"

namespace octet {
namespace {

constexpr const char* kDevice = "test:0";

Engine small_engine() {
  auto model = std::make_shared<Model>();
  model->graph = parse_graph(R"(graph "g"(%x: u8[?,4,8,8]) {
    const %w: s8[4,4,1,1] = {1, -2, 3, -4, 5, -6, 7, -8, 9, 10, 11, 12, 13, 14, 15, 16}
    const %m: f32[4] = {0.02, 0.05, 0.03, 0.01}
    %y: u8[?,4,8,8] @(0.1, 7) = QConv(%x, %w, _, %m) {hi=255, input_zero_points=ints[0, 0, 0, 0], lo=0, output_dtype="u8", output_zero_point=7} name "conv"
    %z: u8[?,4,8,8] @(0.1, 7) = MaxPool(%y) {kernel_shape=ints[3, 3], pads=ints[1, 1, 1, 1]} name "pool"
    return %z
  })",
                             find_op);
  return Inside::engine(model);
}

std::vector<Tensor> inputs() { return {Tensor(Dtype::u8, {3, 4, 8, 8})}; }

TEST(DeviceInspect, CopiesAreLayersWithTheirBytes) {
  const Inspection inspection =
      inspect(small_engine(), {.input_shapes = {{3, 4, 8, 8}}, .device = kDevice});
  int64_t copies = 0, bytes = 0;
  for (const LayerInfo& layer : inspection.layers) {
    EXPECT_EQ(layer.device, kDevice) << layer.name;
    EXPECT_EQ(layer.crossing_bytes > 0, layer.op == "Copy") << layer.name;
    copies += layer.op == "Copy" ? 1 : 0;
    bytes += layer.crossing_bytes;
  }
  EXPECT_EQ(copies, 2);
  EXPECT_EQ(bytes, 2 * 3 * 4 * 8 * 8);
  // They are no layers of the model.
  const Inspection cpu = inspect(small_engine(), {.input_shapes = {{3, 4, 8, 8}}});
  EXPECT_EQ(inspection.coverage.layers, cpu.coverage.layers);
}

TEST(DeviceInspect, TheCpuCopiesNothing) {
  const Inspection inspection = inspect(small_engine(), {.input_shapes = {{3, 4, 8, 8}}});
  for (const LayerInfo& layer : inspection.layers) {
    EXPECT_EQ(layer.device, "cpu");
    EXPECT_EQ(layer.crossing_bytes, 0);
  }
}

TEST(DeviceInspect, LayersAreTimedThere) {
  const std::vector<LayerTime> times =
      profile(small_engine(), inputs(), {.runs = 2, .device = kDevice});
  EXPECT_TRUE(std::ranges::any_of(times, [](const LayerTime& t) { return t.layer.op == "Copy"; }));
  EXPECT_TRUE(std::ranges::all_of(times, [](const LayerTime& t) { return t.microseconds >= 0; }));
}

TEST(DeviceInspect, KernelsAreComparedThere) {
  const SelectionReport report = measure_selection(small_engine(), inputs(), {.device = kDevice});
  for (const LayerSelection& layer : report.layers)
    EXPECT_TRUE(layer.same_results()) << layer.layer.name;
  EXPECT_EQ(report.single + std::ssize(report.layers), 2);
}

// A layer that the device left to the host is the host's also among the choices.
TEST(DeviceInspect, ChoicesAreForTheDeviceThatRanTheLayer) {
  SelectionReport report;
  for (const char* device : {kDevice, "cpu"}) {
    LayerSelection& layer = report.layers.emplace_back();
    layer.layer.device = device;
    layer.layer.signature = device;
    layer.kernels = {{"kernel", 1}};
  }
  Tuning tuning;
  tune(report, 2, tuning);
  ASSERT_EQ(tuning.kernels().size(), 2u);
  EXPECT_NE(tuning.find({"test device", "test", 2, kDevice}), nullptr);
  const DeviceInfo cpu = device_info("cpu");
  EXPECT_EQ(cpu.level, cpu_isa());
  EXPECT_NE(tuning.find({cpu_identity(), cpu.level, 2, "cpu"}), nullptr);
}

TEST(DeviceInspect, ADeviceThatIsNotThereIsNamed) {
  try {
    (void)inspect(small_engine(), {.input_shapes = {{3, 4, 8, 8}}, .device = "gpu:0"});
    FAIL() << "there is no such device";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("'gpu:0'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace octet

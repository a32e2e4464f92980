// SPDX-License-Identifier: Apache-2.0
// What each stage of a build costs, and what a second variant of the same model does: import and calibration are paid once, and
// weights are quantized once. One thread. Usage: variants_bench MODEL.onnx CALIBRATION_DATA [samples]
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <string>

#include "graph/op_def.h"
#include "octet/source_model.h"
#include "onnx/import.h"
#include "pipeline/float_model.h"

namespace {

using namespace octet;

// Prints the CPU time of work(), which other work on the machine does not change, and passes its result on.
template <typename Work>
auto timed(const char* what, const Work& work) {
  const std::clock_t start = std::clock();
  auto result = work();
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  fmt::print("{:<28} {:8.1f} ms\n", what, seconds * 1e3);
  return result;
}

// The same for a program, by the installed headers.
void run_public(const char* file, const CalibrationOptions& data) {
  CompileOptions options;
  options.calibration = data;
  const SourceModel source =
      timed("SourceModel::read", [&] { return SourceModel::read(file, options); });
  PrecisionPlan plan;
  plan.int8 = true;
  timed("its first INT8 engine", [&] { return source.build(plan); });
  plan.f16 = true;
  timed("another, the rest in f16", [&] { return source.build(plan); });
  timed("its FP32 engine", [&] { return source.build({}); });
}

void run(const char* file, const CalibrationOptions& data) {
  Graph graph = timed("import", [&] { return import_onnx(file); });
  FloatModel model = timed("optimize", [&] { return optimize(std::move(graph), {}); });
  PrecisionPlan plan;
  timed("FP32 variant", [&] { return quantize(model, plan); });
  plan.int8 = true;
  if (!model.carries_qdq) model = timed("calibrate", [&] { return calibrate(model, data); });
  timed("first INT8 variant", [&] { return quantize(model, plan); });
  timed("the same again", [&] { return quantize(model, plan); });
  plan.keep_float = {model.graph->nodes.front().name};
  timed("its first layer in f32", [&] { return quantize(model, plan); });
  if (model.carries_qdq) return;
  const FloatModel other =
      timed("ranges of another method", [&] { return with_method(model, RangeRule::minmax); });
  timed("a variant of them", [&] { return quantize(other, plan); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: variants_bench MODEL.onnx CALIBRATION_DATA [samples]\n");
    return 2;
  }
  try {
    CalibrationOptions data;
    data.data = argv[2];
    if (argc > 3) data.max_samples = std::atol(argv[3]);
    run(argv[1], data);
    run_public(argv[1], data);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}

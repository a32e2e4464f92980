// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/bench_inputs.h"

#include <fmt/format.h>

#include "cli/fail.h"
#include "cli/flags/engine_flags.h"
#include "cli/samples/engine_source.h"
#include "cli/samples/random_inputs.h"
#include "octet/data.h"

namespace octet::cli {
namespace {

std::vector<Tensor> read_bench_inputs(const Engine& engine, const std::filesystem::path& file) {
  const std::vector<TensorInfo> inputs = engine.inputs();
  if (auto arrays = read_inputs(file, inputs)) return std::move(*arrays);
  std::string expected;
  for (const TensorInfo& input : inputs)
    expected += fmt::format("{}'{}' {}", expected.empty() ? "" : ", ", input.name,
                            to_string(input.type.shape));
  fail(Error::Code::invalid_argument,
       "'{}' does not hold the arrays of one run, batch included; expected {}", file.string(),
       expected);
}

}  // namespace

std::vector<Tensor> bench_inputs(const Engine& engine, const BenchInputFlags& flags) {
  if (!flags.data.empty()) return read_bench_inputs(engine, flags.data);
  const auto shapes = concrete_shapes(engine, parse_shapes(flags.shapes), flags.batch);
  if (flags.batch != 1) warn_of_fixed_batch(engine, shapes, flags.batch);
  return random_inputs(engine, shapes, 0);
}

std::vector<Shape> shapes_of(const std::vector<Tensor>& tensors) {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(tensor.shape());
  return shapes;
}

}  // namespace octet::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/bench_inputs.h"

#include "cli/fail.h"
#include "cli/flags/engine_flags.h"
#include "cli/samples/engine_source.h"
#include "cli/samples/random_inputs.h"
#include "octet/data.h"

namespace octet::cli {
namespace {

std::vector<Tensor> read_bench_inputs(const Engine& engine, const std::filesystem::path& file) {
  auto arrays = read_inputs(file, engine.inputs());
  if (!arrays)
    fail(Error::Code::invalid_argument,
         "'{}' holds samples of several runs; expected the arrays of one, in the inputs' own "
         "shapes (octet inspect prints them), batch included",
         file.string());
  return std::move(*arrays);
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

// SPDX-License-Identifier: Apache-2.0
// Any bytes as a model: import, what it declares, every graph pass, the engine file of the result, its plan and one run.
#include "fuzz/bounded_run.h"
#include "onnx/import.h"
#include "passes/check_declared.h"
#include "passes/pass.h"
#include "precision/precision.h"
#include "runtime/engine_file.h"
#include "runtime/forge_testing.h"

namespace octet::fuzz {
namespace {

// `octet check` goes on after an error, to list them all.
void list_problems(std::span<const std::byte> bytes) {
  std::vector<Error> problems;
  ImportOptions options;
  options.problems = &problems;
  import_onnx(bytes, options);
  for (const Error& problem : problems) {
    if (problem.code() == Error::Code::internal) found(problem.what());
  }
}

void run(std::span<const std::byte> bytes) {
  ImportInfo info;
  Graph graph = import_onnx(bytes, {}, &info);
  if (!is_small(graph)) return;
  check_declared(graph, info.declared, true);
  run_passes(graph, float_passes(), {}, nullptr);
  run_passes(graph, quantize_passes(), {}, nullptr);
  finish_decisions(graph);
  auto model = std::make_shared<Model>();
  model->graph = std::move(graph);
  const std::vector<std::byte> file = write_engine(*model);
  try {
    read_engine(test::exact_copy(file), file.size());
  } catch (const Error& error) {
    found(error.what());
  }
  plan_and_run(std::move(model));
}

void test_one(const Input& input) {
  survives([&] { run(input.bytes()); });
  survives([&] { list_problems(input.bytes()); });
}

}  // namespace

const Target kTarget{.memory = s64{1} << 20, .run = test_one};

}  // namespace octet::fuzz

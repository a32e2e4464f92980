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

constexpr s64 kMemory = s64{1} << 20;

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

}  // namespace
}  // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace octet;
  fuzz::limit_memory(fuzz::kMemory);
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  fuzz::survives([&] { fuzz::run(bytes); });
  fuzz::survives([&] { fuzz::list_problems(bytes); });
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "suite.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <span>

#include "compare.h"
#include "graph/interpret.h"
#include "octet/compile.h"
#include "octet/engine.h"
#include "octet/error.h"
#include "onnx/import.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kArchive = "conformance/onnx-node-tests.tar.xz";
constexpr const char* kDebianFolder = "/usr/share/libonnx-testdata/data/node";

fs::path unpack(const fs::path& archive, const fs::path& scratch) {
  const fs::path done = scratch / "onnx-node-tests";
  if (fs::exists(done / "node")) return done / "node";
  const fs::path partial = scratch / fmt::format("onnx-node-tests.{}", ::getpid());
  fs::create_directories(partial);
  const std::string command =
      fmt::format("tar -xJf '{}' -C '{}'", archive.string(), partial.string());
  if (std::system(command.c_str()) != 0) {
    fs::remove_all(partial);
    return {};
  }
  std::error_code taken;  // by a concurrent run: its copy is as good
  fs::rename(partial, done, taken);
  if (taken) fs::remove_all(partial);
  return done / "node";
}

std::vector<Tensor> read_set(const fs::path& folder, std::string_view kind) {
  std::vector<Tensor> tensors;
  for (int i = 0;; ++i) {
    const fs::path file = folder / fmt::format("{}_{}.pb", kind, i);
    if (!fs::exists(file)) return tensors;
    tensors.push_back(import_tensor(file));
  }
}

// Editions before ONNX 1.13 store bf16 test data as its 16-bit patterns.
Tensor as_declared(const Tensor& stored, Dtype dtype) {
  if (stored.dtype() != Dtype::u16 || dtype != Dtype::bf16) return stored;
  Tensor tensor(dtype, stored.shape());
  std::memcpy(tensor.mutable_data(), stored.data(), stored.bytes());
  return tensor;
}

using Run = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

std::string run_set(const Graph& graph, const Run& run, const fs::path& folder, double absolute) {
  std::vector<Tensor> inputs = read_set(folder, "input");
  for (size_t i = 0; i < inputs.size() && i < graph.inputs.size(); ++i) {
    inputs[i] = as_declared(inputs[i], graph.value(graph.inputs[i]).type.dtype);
  }
  const std::vector<Tensor> expected = read_set(folder, "output");
  const std::vector<Tensor> got = run(inputs);
  if (got.size() != expected.size()) {
    return fmt::format("{} outputs, expected {}", got.size(), expected.size());
  }
  for (size_t i = 0; i < got.size(); ++i) {
    const std::string wrong =
        difference(got[i], as_declared(expected[i], got[i].dtype()), absolute);
    if (!wrong.empty()) return fmt::format("output {}: {}", i, wrong);
  }
  return {};
}

// Wholly on the device where the name's length is a multiple of four.
std::string device_of(const fs::path& model) {
  const size_t length = model.parent_path().filename().string().size();
  return fmt::format("test:{}", length % 4 == 0 ? 0 : length);
}

Run make_run(const Graph& graph, const fs::path& model, Runner runner) {
  if (runner == Runner::interpreter) {
    return [&](std::span<const Tensor> inputs) { return interpret(graph, inputs); };
  }
  ContextOptions options;
  if (runner == Runner::test) options.device = device_of(model);
  if (runner == Runner::cuda) options.device = "cuda:0";
  const auto context = std::make_shared<Context>(compile(model).make_context(options));
  return [context](std::span<const Tensor> inputs) { return context->run(inputs); };
}

void run_sets(const fs::path& folder, Runner runner, double absolute, TestResult& result,
              ImportInfo& info) {
  const Graph graph = import_onnx(folder / "model.onnx", {}, &info);
  const Run run = make_run(graph, folder / "model.onnx", runner);
  int sets = 0;
  for (int n = 0; fs::exists(folder / fmt::format("test_data_set_{}", n)); ++n, ++sets) {
    result.message = run_set(graph, run, folder / fmt::format("test_data_set_{}", n), absolute);
    if (!result.message.empty()) return;
  }
  if (sets == 0) {
    result.message = "has no test data";
  } else {
    result.outcome = Outcome::pass;
  }
}

}  // namespace

TestData find_test_data(const fs::path& shared, const fs::path& scratch) {
  if (const char* named = std::getenv("OCTET_ONNX_TESTS")) return {named, false};
  if (fs::exists(shared / kArchive)) {
    fs::create_directories(scratch);
    return {unpack(shared / kArchive, scratch), true};
  }
  if (fs::exists(kDebianFolder)) return {kDebianFolder, false};
  return {};
}

TestResult run_test(const fs::path& folder, Runner runner, double absolute_tolerance) {
  TestResult result;
  result.name = folder.filename().string();
  ImportInfo info;
  try {
    run_sets(folder, runner, absolute_tolerance, result, info);
  } catch (const Error& error) {
    result.message = error.what();
    // Outside what Octet implements: sequences, strings, operators that it lacks.
    if (error.code() == Error::Code::unsupported) result.outcome = Outcome::skip;
  } catch (const std::exception& error) {
    result.message = fmt::format("foreign exception: {}", error.what());
  }
  for (const auto& node : info.unsupported) result.missing_ops.push_back(node.op);
  for (const auto& [op, count] : info.op_counts) result.ops.push_back(op);
  return result;
}

}  // namespace octet

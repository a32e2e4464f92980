// SPDX-License-Identifier: Apache-2.0
// In the manner of SQLite: a scenario runs with its first fault, its second, and so on until none is left to inject. Each
// time it either succeeds with the right result or throws one Error; an output file that was there stays whole; the leak
// sanitizer sees what was lost.
#include "faults.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>

#include "core/file.h"
#include "core/folder_testing.h"
#include "core/memory.h"
#include "data/npy.h"
#include "data/npz.h"
#include "graph/text.h"
#include "octet/compile.h"
#include "octet/engine.h"
#include "octet/threads.h"
#include "ops/registry.h"
#include "runtime/inside.h"
#include "runtime/model.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using faults::Kind;

const fs::path kSeeds = fs::path(OCTET_SOURCE_DIR) / "fuzz" / "corpus" / "onnx";

class Faults : public test::InFolder {
 protected:
  void every_fault(Kind kind, const std::function<void()>& scenario) {
    scenario();  // whatever the process allocates once
    const s64 before = counted_bytes();
    long failed = 0;
    for (long n = 1;; ++n) {
      faults::arm(kind, n);
      try {
        scenario();
      } catch (const Error& error) {
        ++failed;
        ASSERT_NE(error.code(), Error::Code::internal) << "fault " << n << ": " << error.what();
      }
      const bool reached = faults::disarm();
      ASSERT_EQ(counted_bytes(), before) << "fault " << n;
      if (!reached) {
        RecordProperty(fmt::format("faults_{}", static_cast<int>(kind)), static_cast<int>(n));
        EXPECT_TRUE(failed > 0 || kind == Kind::short_call);
        return;
      }
    }
  }

  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
};

Engine convolution() { return compile(kSeeds / "conv_bn_relu.onnx"); }

TEST_F(Faults, ImportAndCompile) {
  const fs::path model = kSeeds / "attention.onnx";
  const auto scenario = [&] { compile(model); };
  for (Kind kind : {Kind::error, Kind::short_call, Kind::early_end}) every_fault(kind, scenario);
  every_fault(Kind::allocation, scenario);
}

TEST_F(Faults, Functions) {
  const fs::path model = kSeeds / "function.onnx";
  every_fault(Kind::allocation, [&] { compile(model); });
}

TEST_F(Faults, CompileWithCalibration) {
  const fs::path data = folder_ / "data.npz";
  Tensor samples(Dtype::f32, {4, 3, 6, 6});
  f32 value = -1;
  for (f32& x : samples.mutable_as<f32>()) x = value = value > 1 ? -1 : value + 0.3f;
  write_npz(data, std::vector<std::pair<std::string, Tensor>>{{"x", samples}});
  const fs::path model = kSeeds / "conv_bn_relu.onnx";
  CompileOptions options;
  options.plan.int8 = true;
  options.calibration.emplace();
  options.calibration->data = data;
  const auto scenario = [&] { compile(model, options); };
  for (Kind kind : {Kind::error, Kind::short_call, Kind::early_end}) every_fault(kind, scenario);
  every_fault(Kind::allocation, scenario);
}

TEST_F(Faults, SaveKeepsWhatWasThere) {
  const Engine engine = convolution();
  const fs::path path = folder_ / "e.octet";
  engine.save(path);
  const std::vector<u8> whole = read_file(path, 1 << 20);
  const auto scenario = [&] { engine.save(path); };
  for (Kind kind : {Kind::error, Kind::short_call}) {
    every_fault(kind, scenario);
    EXPECT_EQ(read_file(path, 1 << 20), whole);
    EXPECT_EQ(files(), 1u);
  }
}

TEST_F(Faults, Load) {
  const fs::path path = folder_ / "e.octet";
  convolution().save(path);
  const auto scenario = [&] { Engine::load(path); };
  for (Kind kind : {Kind::error, Kind::short_call, Kind::early_end}) every_fault(kind, scenario);
}

// Allocations are tried on the graph alone, not on whole files: the JSON library of the manifest allocates in its destructors,
// where a failure ends the process.
TEST_F(Faults, GraphText) {
  const Engine engine = convolution();
  every_fault(Kind::allocation, [&] {
    without_bad_alloc([&] {
      std::vector<Tensor> blobs;
      const std::string text = print(Inside::model(engine).graph, {.blobs = &blobs});
      parse_graph(text, find_op,
                  [&](s64 i, const TensorType&) { return blobs.at(static_cast<size_t>(i)); });
    });
  });
}

TEST_F(Faults, PlanAndRun) {
  for (const char* model : {"qdq_conv.onnx", "indices.onnx"}) {
    const Engine engine = compile(kSeeds / model);
    std::vector<Tensor> inputs;
    for (const TensorInfo& input : engine.inputs()) {
      inputs.emplace_back(input.type.dtype, input.type.shape);
    }
    const std::vector<Tensor> expected = engine.make_context().run(inputs);
    every_fault(Kind::allocation, [&] {
      const std::vector<Tensor> outputs = engine.make_context().run(inputs);
      ASSERT_EQ(outputs.size(), expected.size());
      ASSERT_EQ(std::memcmp(outputs[0].data(), expected[0].data(), expected[0].bytes()), 0);
    });
  }
}

// Each time nothing ran, the threads that were there have ended, and what was made before is as good as it was.
TEST_F(Faults, Threads) {
  const Engine engine = compile(kSeeds / "qdq_conv.onnx");
  std::vector<Tensor> inputs;
  for (const TensorInfo& input : engine.inputs())
    inputs.emplace_back(input.type.dtype, input.type.shape);
  const std::vector<Tensor> expected = engine.make_context().run(inputs);
  for (const char* device : {"cpu", "test:1"}) {
    every_fault(Kind::thread, [&] {
      const std::vector<Tensor> outputs =
          engine.make_context({.threads = 5, .device = device}).run(inputs);
      ASSERT_EQ(std::memcmp(outputs[0].data(), expected[0].data(), expected[0].bytes()), 0);
    });
  }
  std::atomic<int> calls = 0;
  every_fault(Kind::thread, [&] {
    calls = 0;
    run_threads(5, [&](int) { ++calls; });
    ASSERT_EQ(calls, 5);
  });
  faults::arm(Kind::thread, 3);
  EXPECT_THROW(run_threads(5, [&](int) { FAIL(); }), Error);
  EXPECT_TRUE(faults::disarm());
}

TEST_F(Faults, Arrays) {
  const fs::path npy = folder_ / "a.npy", npz = folder_ / "a.npz";
  const Tensor tensor(Dtype::f32, {3, 4});
  const std::vector<std::pair<std::string, Tensor>> arrays = {{"x", tensor}};
  for (Kind kind : {Kind::error, Kind::short_call}) {
    every_fault(kind, [&] { write_npy(npy, tensor); });
    every_fault(kind, [&] { write_npz(npz, arrays); });
    every_fault(kind, [&] { read_npy(npy); });
    every_fault(kind, [&] { read_npz(npz); });
  }
  EXPECT_EQ(files(), 2u);
  EXPECT_EQ(read_npz(npz).at("x").type(), tensor.type());
}

}  // namespace
}  // namespace octet

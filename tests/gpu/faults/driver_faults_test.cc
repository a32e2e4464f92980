// SPDX-License-Identifier: Apache-2.0
// Each call of the driver fails once: one Error of a type, nothing stays behind, and what comes next is right. Then each takes the device
// with it: one Error, and the CPU goes on.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "backends/backends.h"
#include "graph/text.h"
#include "octet/profile.h"
#include "octet/selection.h"
#include "ops/registry.h"
#include "runtime/device_memory_testing.h"
#include "runtime/inside.h"

namespace octet {
namespace {

using test::DeviceTensor;

constexpr const char* kFunctions[] = {
#define DRIVER(name, symbol, parameters) #symbol,
#include "backends/cuda/driver_functions.def"
#undef DRIVER
};
// Who fails to free keeps it.
constexpr std::string_view kFree[] = {"cuMemFree_v2",       "cuMemFreeHost",  "cuStreamDestroy_v2",
                                      "cuGraphExecDestroy", "cuGraphDestroy", "cuModuleUnload",
                                      "cuEventDestroy_v2",  "cuCtxSetCurrent"};

// Kernels of several tiles, weights, indices that a run brings and a graph of the driver's; the running sum is the CPU's, so that copies and
// waits are steps.
constexpr std::string_view kText = R"(graph "g"(%x: f32[1,16,6,5]) {
  const %s: f32[] = {0.05}
  const %z: u8[] = {3}
  const %m: f32[] = {0.01}
  const %axis: s64[] = {3}
  const %t: f32[5,5] = {1, 2, 3, 4, 5, 2, 3, 4, 5, 6, 3, 4, 5, 6, 7, 4, 5, 6, 7, 8, 5, 6, 7, 8, 9}
  %q: u8[1,16,6,5] @(0.05, 3) = QuantizeLinear(%x, %s, %z) name "q"
  %c: u8[1,16,6,5] @(0.05, 4) = QConv(%q, %w, _, %m) {hi=255, input_zero_points=ints[3, 0, 0, 0], lo=0, output_dtype="u8", output_zero_point=4} name "conv"
  %d: f32[1,16,6,5] = DequantizeLinear(%c, %s, %z) name "d"
  %i: s64[1,16,6] = ArgMax(%d) {axis=3, keepdims=0} name "most"
  %e: f32[1,16,6,5] = Gather(%t, %i) {axis=0} name "pick"
  %y: f32[1,16,6,5] = CumProd(%e, %axis) name "product"
  return %y, %d
})";

Engine engine_of_text() {
  constexpr int kWeights = 16 * 16;
  std::string weights;
  for (int i = 0; i < kWeights; ++i) weights += (i > 0 ? ", " : "") + std::to_string(i % 97 - 48);
  std::string text(kText);
  text.insert(text.find("%q: u8"), "const %w: s8[16,16,1,1] = {" + weights + "}\n  ");
  auto model = std::make_shared<Model>();
  model->graph = parse_graph(text, find_op);
  return Inside::engine(model);
}

Tensor image() {
  Tensor x(Dtype::f32, {1, 16, 6, 5});
  f32 next = -6;
  for (f32& value : x.mutable_as<f32>()) value = next = next > 6 ? -6 : next + 0.37f;
  return x;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

// What a program does with an engine on a device: plans, runs, runs where the data lie, measures, tunes. Whether all results are right.
bool use(const std::string& device, const std::vector<Tensor>& want) {
  const Engine engine = engine_of_text();
  const std::vector<Tensor> inputs = {image()};
  Context context = engine.make_context({.device = device});
  context.prepare(std::vector<Shape>{inputs[0].shape()});
  const auto right = [&](const std::vector<Tensor>& got) {
    return std::ranges::equal(got, want, same_bytes);
  };
  bool all = true;
  for (int run = 0; run < 3; ++run) all = right(context.run(inputs)) && all;
  if (device == "cpu") return all;
  const Device& there = find_device(device);
  const DeviceTensor x(there, inputs[0]), y(there, want[0].type()), d(there, want[1].type());
  const std::array<TensorView, 1> from = {x.view()};
  const std::array<MutableTensorView, 2> to = {y.view(), d.view()};
  for (int run = 0; run < 2; ++run) context.run_into(from, to, {.stream = nullptr});
  context.synchronize();
  all = right({y.read(), d.read()}) && all;
  profile(engine, inputs, {.runs = 1, .device = device});
  for (const LayerSelection& layer : measure_selection(engine, inputs, {.device = device}).layers)
    all = layer.same_results() && all;
  return all;
}

struct Outcome {
  bool right = false;
  std::string error = {};
  Error::Code code = Error::Code::internal;
};

Outcome outcome_of(const std::string& device, const std::vector<Tensor>& want) {
  try {
    return {use(device, want)};
  } catch (const Error& error) {
    return {false, error.message(), error.code()};
  }
}

class DriverFaults : public testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("OCTET_CUDA_DRIVER");
    if (path == nullptr || std::strstr(path, "emulated") == nullptr)
      GTEST_SKIP() << "the GPU is not emulated";
    void* const library = dlopen(path, RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    live_ = reinterpret_cast<size_t (*)()>(dlsym(library, "octet_emulated_live_objects"));
    calls_ = reinterpret_cast<long (*)(const char*)>(dlsym(library, "octet_emulated_calls"));
    want_ = engine_of_text().make_context().run(std::vector<Tensor>{image()});
  }
  void TearDown() override { unsetenv("OCTET_EMULATED_FAIL"); }

  static void fail_at(const std::string& function, long call, const char* how) {
    const std::string text = function + ':' + std::to_string(call) + ':' + how;
    setenv("OCTET_EMULATED_FAIL", text.c_str(), 1);
  }

  // Every one of the first calls (OCTET_TEST_CASES); then ever fewer, for what is measured is repeated many times.
  static long next(long call, long share) {
    constexpr long kEach = 24;
    const char* asked = std::getenv("OCTET_TEST_CASES");
    const long each = asked != nullptr ? std::atol(asked) : kEach;
    return call < each / share ? call + 1 : call * 8;
  }

  // In a process of its own, since the device is lost there. 0: as it should be; 3: there was no such call.
  int end_of_lost_device(const std::string& function, long call) const {
    const pid_t child = fork();
    if (child == 0) {
      fail_at(function, call, "719:*");
      const Outcome lost = outcome_of("cuda:0", want_);
      if (calls_(function.c_str()) < call) _exit(3);
      unsetenv("OCTET_EMULATED_FAIL");
      const Outcome later = outcome_of("cuda:0", want_), cpu = outcome_of("cpu", want_);
      const bool said = (lost.right || lost.error.find("cuda:0") != lost.error.npos) &&
                        later.error.find("cuda:0") != later.error.npos;
      if (!said || !cpu.right)
        std::fprintf(stderr, "%s\nthen %s\nthen on the CPU %s\n", lost.error.c_str(),
                     later.error.c_str(), cpu.error.c_str());
      _exit(said && cpu.right ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  size_t (*live_)() = nullptr;
  long (*calls_)(const char*) = nullptr;
  std::vector<Tensor> want_;
};

TEST_F(DriverFaults, EachIsOneErrorAndLeavesNothing) {
  ASSERT_TRUE(outcome_of("cuda:0", want_).right);
  long failed = 0;
  for (const std::string function : kFunctions) {
    for (long call = 1;; call = next(call, 1)) {
      const size_t live = live_();
      fail_at(function, call, "2");
      const Outcome outcome = outcome_of("cuda:0", want_);
      if (calls_(function.c_str()) < call) break;
      ++failed;
      SCOPED_TRACE(function + " " + std::to_string(call) + ": " + outcome.error);
      EXPECT_TRUE(outcome.right || outcome.code == Error::Code::out_of_memory);
      const bool keeps = std::ranges::find(kFree, function) != std::end(kFree);
      EXPECT_TRUE(keeps || live_() == live) << live_() - live << " objects stayed";
    }
    unsetenv("OCTET_EMULATED_FAIL");
    ASSERT_TRUE(outcome_of("cuda:0", want_).right) << "after " << function;
  }
  EXPECT_GT(failed, std::ssize(kFunctions));
}

TEST_F(DriverFaults, TheCpuGoesOnWithoutTheDevice) {
  for (const std::string function : kFunctions) {
    int end = 0;
    for (long call = 1; end == 0; call = next(call, 4)) {
      end = end_of_lost_device(function, call);
      EXPECT_TRUE(end == 0 || end == 3) << function << ' ' << call << " ended with " << end;
    }
  }
}

}  // namespace
}  // namespace octet

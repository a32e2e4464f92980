// SPDX-License-Identifier: Apache-2.0
// Time from an engine file to an engine that can run: Engine::load (read and check every byte), then the first run, which
// plans the engine for this machine; the same for a second context beside the first; and what eight contexts take. CPU time is
// printed too: other work on the machine does not change it. Usage: load_bench ENGINE.octet [repetitions]; dynamic dimensions
// become 1.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "octet/engine.h"

namespace {

struct Times {
  std::vector<double> wall, cpu;  // ms
};

// Appends the time of work(), and passes its result on.
template <typename Work>
auto timed(Times& times, Work work) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu_start = std::clock();
  auto result = work();
  times.cpu.push_back(1e3 * static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC);
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - start;
  times.wall.push_back(wall.count());
  return result;
}

std::vector<octet::Tensor> zero_inputs(const octet::Engine& engine) {
  std::vector<octet::Tensor> inputs;
  for (const octet::TensorInfo& info : engine.inputs()) {
    std::vector<int64_t> dims(info.type.shape.begin(), info.type.shape.end());
    for (int64_t& dim : dims) dim = std::max<int64_t>(dim, 1);
    octet::Tensor tensor(info.type.dtype, octet::Shape(dims));
    std::fill_n(tensor.mutable_data(), tensor.bytes(), std::byte{0});
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

void print(const char* name, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  fmt::print("{:16} median {:.2f} ms, min {:.2f}, max {:.2f}\n", name, values[values.size() / 2],
             values.front(), values.back());
}

// Of this process now, from the kernel's account: VmRSS.
double resident_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmRSS:") break;
  }
  double kib = 0;
  status >> kib;
  return kib / 1024;
}

void print_memory(const octet::Engine& engine, const std::vector<octet::Tensor>& inputs) {
  constexpr size_t kContexts = 8;
  fmt::print("memory           loaded {:.1f} MiB, with contexts that have run:", resident_mib());
  std::vector<octet::Context> contexts;
  while (contexts.size() < kContexts) {
    contexts.push_back(engine.make_context());
    contexts.back().run(inputs);
    fmt::print(" {:.1f}", resident_mib());
  }
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int repetitions = argc > 2 ? std::max(1, std::atoi(argv[2])) : 11;
  const auto first = octet::Engine::load(argv[1]);
  print_memory(first, zero_inputs(first));
  Times load, first_run, second_run;
  for (int i = 0; i < repetitions; ++i) {
    const auto engine = timed(load, [&] { return octet::Engine::load(argv[1]); });
    const std::vector<octet::Tensor> inputs = zero_inputs(engine);
    octet::Context context = engine.make_context();
    (void)timed(first_run, [&] { return context.run(inputs); });
    (void)timed(second_run, [&] { return engine.make_context().run(inputs); });
  }
  print("load", load.wall);
  print("load, CPU", load.cpu);
  print("first run", first_run.wall);
  print("first run, CPU", first_run.cpu);
  print("second context", second_run.wall);
  print("its CPU", second_run.cpu);
  return 0;
}

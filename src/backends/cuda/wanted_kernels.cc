// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/wanted_kernels.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "backends/cuda/arch/boards.h"
#include "backends/cuda/kernel_cache.h"
#include "backends/cuda/lower/step.h"
#include "backends/cuda/nvrtc.h"
#include "core/check.h"
#include "core/monitor.h"
#include "core/side_by_side.h"
#include "octet/machine.h"
#include "plan/bind.h"

namespace octet::cuda {
namespace {

Chip chip_of(const Board& board) {
  constexpr s64 kKilo = 1024;
  const Architecture& generation = architecture(board.architecture);
  const ArchitectureLimits& limits = generation.limits;
  Chip chip;
  chip.name = board.product;
  chip.capability = generation.capability;
  chip.multiprocessors = board.multiprocessors;
  chip.threads = limits.threads;
  chip.registers = limits.registers;
  chip.shared_bytes = limits.shared_bytes;
  chip.shared_bytes_per_block = limits.shared_bytes_per_block;
  chip.reserved_shared_bytes = limits.reserved_shared_bytes;
  chip.l2_bytes = board.l2_megabytes * kKilo * kKilo;
  chip.memory_bytes = board.memory_gigabytes * kKilo * kKilo * kKilo;
  chip.clock_hertz = 1e6 * board.clock_megahertz;
  chip.memory_bytes_per_second = 1e9 * board.memory_gigabytes_per_second;
  return chip;
}

// "a100, ..., or all known of sm80, ... or sm120"
std::string all_names() {
  std::string names, generations;
  for (const Board& board : boards()) names += fmt::format("{}, ", board.name);
  for (const Architecture* each : architectures()) {
    if (!each->is_plain())
      generations +=
          fmt::format("{}sm{}", generations.empty() ? "" : ", ", each->capability.number());
  }
  return names + "or all known of " + generations;
}

std::vector<const Board*> boards_of(std::span<const std::string> names) {
  std::vector<const Board*> found;
  for (const std::string& name : names) {
    bool known = false;
    for (const Board& board : boards()) {
      if (!is_meant(board, name)) continue;
      known = true;
      if (std::ranges::find(found, &board) == found.end()) found.push_back(&board);
    }
    if (!known)
      fail(Error::Code::invalid_argument, "no GPU '{}' is known; expected {}", name, all_names());
  }
  if (found.empty())
    fail(Error::Code::invalid_argument, "no GPU is named; expected {}", all_names());
  return found;
}

// Of the two things that steps prepare (lower/step.h), a kernel.
bool is_kernel(const Preparation& preparation) {
  return preparation.key.starts_with(typeid(HeldKernel).name() + std::string(" "));
}

}  // namespace

std::string compiler_version() { return fmt::format("{}.{}", nvrtc().major, nvrtc().minor); }

WantedKernels::WantedKernels(std::span<const std::string> names) {
  for (const Board* board : boards_of(names)) {
    // Filled in behind: kernels are asked for when there are plans.
    const auto arch = std::make_shared<std::string>();
    devices_.push_back(std::make_unique<const CudaDevice>(
        chip_of(*board), [this, arch](const KernelSource& source) {
          sources_.try_emplace(*arch + ' ' + source.key(), Wanted{source, *arch});
        }));
    *arch = devices_.back()->arch();
    gpus_.push_back({board->name, board->product, *arch});
  }
}

void WantedKernels::add(const Plan& plan) {
  for (const PlanStep& step : plan.steps) {
    if (step.device == kHost || step.candidate.prepare == nullptr) continue;
    for (const Preparation& preparation : step.candidate.prepare(placements(plan, step))) {
      if (is_kernel(preparation)) preparation.make();
    }
  }
}

s64 WantedKernels::compile_into(const std::filesystem::path& folder, const Monitor& monitor) const {
  constexpr int kMost = 32;
  const int threads = compiles_apart() ? std::min(kMost, usable_processors()) : 1;
  std::vector<const Wanted*> all;
  for (const auto& [key, wanted] : sources_) all.push_back(&wanted);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<s64> done = 0, compiled = 0;
  report_progress(monitor, "compile", 0, size());
  side_by_side(all.size(), threads, [&](size_t i) {
    check_stop(monitor);
    const auto& [source, arch] = *all[i];
    const KernelImage image = image_of(source, arch);
    if (!share_kernel(folder, image)) {
      write_shared_kernel(folder, image, compile_kernel(source, arch));
      ++compiled;
    }
    const s64 now = ++done;
    if (std::this_thread::get_id() == caller) report_progress(monitor, "compile", now, size());
  });
  report_progress(monitor, "compile", size(), size());
  return compiled;
}

}  // namespace octet::cuda

namespace octet {

std::vector<KnownGpu> known_gpus() {
  std::vector<KnownGpu> gpus;
  for (const cuda::Board& board : cuda::boards())
    gpus.push_back({board.name, board.product, cuda::architecture(board.architecture).target});
  return gpus;
}

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/wanted_kernels.h"

#include <algorithm>
#include <atomic>
#include <thread>

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

// What distinguishes products of one architecture, as their driver says it.
struct Board {
  const char* name;
  const char* product;
  int major, minor;
  int multiprocessors;
  int clock_megahertz;
  s64 memory_gigabytes;
  f64 memory_gigabytes_per_second;
  s64 l2_megabytes;
};

constexpr Board kBoards[] = {
    {"a100", "NVIDIA A100-SXM4-40GB", 8, 0, 108, 1410, 40, 1555.2, 40},
    {"a100_80gb", "NVIDIA A100-SXM4-80GB", 8, 0, 108, 1410, 80, 2039.04, 40},
    {"a10", "NVIDIA A10", 8, 6, 72, 1695, 24, 600.096, 6},
    {"rtx3090", "NVIDIA GeForce RTX 3090", 8, 6, 82, 1695, 24, 936.096, 6},
    {"l4", "NVIDIA L4", 8, 9, 58, 2040, 24, 300.048, 48},
    {"l40s", "NVIDIA L40S", 8, 9, 142, 2520, 48, 864.096, 96},
    {"rtx4090", "NVIDIA GeForce RTX 4090", 8, 9, 128, 2520, 24, 1008.096, 72},
    {"h100", "NVIDIA H100 80GB HBM3", 9, 0, 132, 1980, 80, 3352.32, 50},
    {"h100_pcie", "NVIDIA H100 PCIe", 9, 0, 114, 1755, 80, 2039.04, 50},
    {"h200", "NVIDIA H200", 9, 0, 132, 1980, 141, 4814.304, 60},
};

// Of a multiprocessor of an architecture.
struct Limits {
  s64 threads, shared_kilobytes, shared_kilobytes_per_block;
};
Limits limits_of(int major, int minor) {
  if (major == 9) return {2048, 228, 227};
  if (minor == 0) return {2048, 164, 163};
  return {1536, 100, 99};
}

Chip chip_of(const Board& board) {
  constexpr s64 kKilo = 1024;
  const Limits limits = limits_of(board.major, board.minor);
  Chip chip;
  chip.name = board.product;
  chip.major = board.major;
  chip.minor = board.minor;
  chip.multiprocessors = board.multiprocessors;
  chip.threads = limits.threads;
  chip.registers = 64 * kKilo;
  chip.shared_bytes = limits.shared_kilobytes * kKilo;
  chip.shared_bytes_per_block = limits.shared_kilobytes_per_block * kKilo;
  chip.reserved_shared_bytes = kKilo;
  chip.l2_bytes = board.l2_megabytes * kKilo * kKilo;
  chip.memory_bytes = board.memory_gigabytes * kKilo * kKilo * kKilo;
  chip.clock_hertz = 1e6 * board.clock_megahertz;
  chip.memory_bytes_per_second = 1e9 * board.memory_gigabytes_per_second;
  return chip;
}

// "sm90", "sm_90", "sm_90a" and "9.0" are the same wish.
bool is_meant(const Board& board, std::string_view wish) {
  if (wish == board.name) return true;
  const std::string number = fmt::format("{}{}", board.major, board.minor);
  for (const std::string& name : {"sm" + number, "sm_" + number, "sm_" + number + "a",
                                  fmt::format("{}.{}", board.major, board.minor)}) {
    if (wish == name) return true;
  }
  return false;
}

std::string all_names() {
  std::string names;
  for (const Board& board : kBoards) names += fmt::format("{}, ", board.name);
  return names + "or all known of sm80, sm86, sm89 or sm90";
}

std::vector<const Board*> boards_of(std::span<const std::string> names) {
  std::vector<const Board*> found;
  for (const std::string& name : names) {
    bool known = false;
    for (const Board& board : kBoards) {
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

KnownGpu described(const Board& board) {
  return {board.name, board.product, CudaDevice(chip_of(board), [](const auto&) {}).arch()};
}

// Of the two things that steps prepare (lower/step.h), a kernel.
bool is_kernel(const Preparation& preparation) {
  return preparation.key.starts_with(typeid(HeldKernel).name() + std::string(" "));
}

}  // namespace

std::string compiler_version() { return fmt::format("{}.{}", nvrtc().major, nvrtc().minor); }

WantedKernels::WantedKernels(std::span<const std::string> names) {
  for (const Board* board : boards_of(names)) {
    gpus_.push_back(described(*board));
    const std::string arch = gpus_.back().arch;
    devices_.push_back(std::make_unique<const CudaDevice>(
        chip_of(*board), [this, arch](const KernelSource& source) {
          sources_.try_emplace(arch + ' ' + source.key(), Wanted{source, arch});
        }));
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
  for (const cuda::Board& board : cuda::kBoards) gpus.push_back(cuda::described(board));
  return gpus;
}

}  // namespace octet

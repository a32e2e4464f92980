// SPDX-License-Identifier: Apache-2.0
// A device for tests of planning: its levels are numbers, and nothing runs on it.
#pragma once

#include <array>
#include <string>

#include "core/memory.h"
#include "plan/backend.h"
#include "plan/device.h"

namespace octet::test {

class PaperDevice : public Device {
 public:
  explicit PaperDevice(int number, const Device* lesser = nullptr)
      : number_(number), level_(std::to_string(number)), lesser_(lesser) {}

  int number() const { return number_; }
  std::string_view name() const override { return "paper"; }
  const std::string& identity() const override {
    static const std::string identity = "paper 1.0";
    return identity;
  }
  std::string_view level() const override { return level_; }
  const Backend& backend() const override {
    static const Backend backend{.name = "paper", .lowerings = {}};
    return backend;
  }
  const DeviceCosts& costs() const override {
    static constexpr DeviceCosts kCosts{
        .short_cycles = 12000, .short_bytes = 96 << 10, .convert_bytes_per_cycle = 2};
    return kCosts;
  }
  const Device* lesser() const override { return lesser_; }
  bool has_host_memory() const override { return true; }
  std::shared_ptr<std::byte> allocate(s64 bytes, const char* what) const override {
    return allocate_counted(bytes, 64, what);
  }
  std::unique_ptr<Queue> make_queue(std::shared_ptr<ThreadPool>) const override { return nullptr; }

 private:
  const int number_;
  const std::string level_;
  const Device* const lesser_;
};

// Levels 1 to 3, each with those before it.
inline const PaperDevice& paper_device(int number) {
  static const PaperDevice one(1), two(2, &one), three(3, &two);
  return *std::array{&one, &two, &three}[static_cast<size_t>(number - 1)];
}

inline Target paper_target(int number = 3, int threads = 1) {
  const Device& device = paper_device(number);
  return {.device = &device, .host = &device, .threads = threads};
}

}  // namespace octet::test

// SPDX-License-Identifier: Apache-2.0
// What a kernel finds wrong with data that a run brings: the host hears of it when it waits for the kernel, as an Error.
#pragma once

#include <functional>
#include <memory>

#include "core/types.h"

namespace octet::cuda {

class CudaDevice;

// Two words of the host's memory that kernels write where they lie, by atomicMin. Of one step.
class Report {
 public:
  static constexpr u64 kNothing = ~u64{0};

  // `raise(number, value)` throws: of the first thing that is wrong, for which each word has the 32 bits of its number above half of its value.
  using Raise = std::function<void(u32 number, s64 value)>;
  Report(const CudaDevice& device, Raise raise);

  u64* words() const { return words_.get(); }
  // Only while no kernel writes it.
  bool is_empty() const { return words_.get()[0] == kNothing; }
  void clear();
  // Throws the Error of what was found; then it is empty.
  void deliver();

 private:
  std::shared_ptr<u64> words_;
  Raise raise_;
};

}  // namespace octet::cuda

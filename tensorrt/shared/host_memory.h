// SPDX-License-Identifier: Apache-2.0
// Bytes that the library hands out: plans.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "tensorrt/shared/handed.h"

namespace octet_trt {

class HostMemory final : public Handed<IHostMemory> {
 public:
  explicit HostMemory(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  void* data() const noexcept override { return const_cast<std::byte*>(bytes_.data()); }
  std::size_t size() const noexcept override { return bytes_.size(); }
  DataType type() const noexcept override { return DataType::kINT8; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace octet_trt

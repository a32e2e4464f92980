// SPDX-License-Identifier: Apache-2.0
// Memory of the GPU as ONNX Runtime asks for it: what it is called, who allocates it, and who copies to and from it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "host.h"

namespace octet_ort {

// How ONNX Runtime names the memory of a CUDA device: other providers of the same GPU name it alike, so that tensors pass between
// them as they are.
class GpuMemory {
 public:
  // `device` is one of Octet's: "cuda:0".
  GpuMemory(const Host& host, std::string device);
  ~GpuMemory();
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;

  const std::string& device() const { return device_; }
  const OrtMemoryInfo* info() const { return info_; }
  bool holds(const OrtMemoryDevice* device) const;

 private:
  const Host& host_;
  std::string device_;
  OrtMemoryInfo* info_ = nullptr;
};

// Blocks that were freed are kept for the next run, which asks for the same sizes.
class GpuAllocator : public OrtAllocator {
 public:
  GpuAllocator(const Host& host, const GpuMemory& memory);

 private:
  struct Block {
    std::shared_ptr<std::byte> memory;
    size_t bytes = 0;
  };

  void* allocate(size_t bytes);
  std::shared_ptr<std::byte> fresh(size_t bytes);
  void free(void* block);
  void drop(std::multimap<size_t, Block>::iterator kept);

  static constexpr size_t kMostKept = 16;
  static constexpr size_t kMostKeptBytes = size_t{256} << 20;

  const Host& host_;
  const GpuMemory& memory_;
  std::mutex mutex_;
  std::map<void*, Block> used_;
  std::multimap<size_t, Block> kept_;
  size_t kept_bytes_ = 0;
};

class GpuCopies : public OrtDataTransferImpl {
 public:
  GpuCopies(const Host& host, const GpuMemory& memory);

 private:
  bool can_copy(const OrtMemoryDevice* from, const OrtMemoryDevice* to) const;
  void copy(const OrtValue* from, OrtValue* to) const;

  const Host& host_;
  const GpuMemory& memory_;
};

}  // namespace octet_ort

// SPDX-License-Identifier: Apache-2.0
#include "gpu_memory.h"

#include <charconv>
#include <iterator>
#include <utility>

#include "octet/device_memory.h"

namespace octet_ort {
namespace {

int number_of(const std::string& device) {
  int number = 0;
  const size_t colon = device.find(':');
  if (colon != device.npos)
    std::from_chars(device.data() + colon + 1, device.data() + device.size(), number);
  return number;
}

}  // namespace

GpuMemory::GpuMemory(const Host& host, std::string device)
    : host_(host), device_(std::move(device)) {
  host_.check(host_.CreateMemoryInfo_V2("OctetCuda", kMemoryOfGpu, kNvidia, number_of(device_),
                                        kDefaultMemory, 0, kDeviceAllocator, &info_));
}

GpuMemory::~GpuMemory() { host_.ReleaseMemoryInfo(info_); }

bool GpuMemory::holds(const OrtMemoryDevice* device) const {
  return host_.MemoryDevice_AreEqual(device, host_.MemoryInfo_GetMemoryDevice(info_));
}

GpuAllocator::GpuAllocator(const Host& host, const GpuMemory& memory)
    : OrtAllocator{}, host_(host), memory_(memory) {
  version = host.version;
  Alloc = [](OrtAllocator* self, size_t bytes) {
    return static_cast<GpuAllocator*>(self)->allocate(bytes);
  };
  Reserve = Alloc;
  Free = [](OrtAllocator* self, void* block) { static_cast<GpuAllocator*>(self)->free(block); };
  Info = [](const OrtAllocator* self) {
    return static_cast<const GpuAllocator*>(self)->memory_.info();
  };
}

// Null where there is no memory, which ONNX Runtime makes an error of.
void* GpuAllocator::allocate(size_t bytes) {
  void* found = nullptr;
  OrtStatus* status = host_.guarded([&] {
    if (bytes == 0) return;
    const std::lock_guard lock(mutex_);
    Block block{nullptr, bytes};
    if (const auto kept = kept_.find(bytes); kept != kept_.end()) {
      block = std::move(kept->second);
      drop(kept);
    } else {
      block.memory = fresh(bytes);
    }
    void* const at = block.memory.get();
    used_.emplace(at, std::move(block));
    found = at;
  });
  if (status != nullptr) host_.ReleaseStatus(status);
  return found;
}

std::shared_ptr<std::byte> GpuAllocator::fresh(size_t bytes) {
  const auto wanted = static_cast<int64_t>(bytes);
  try {
    return octet::allocate_on(memory_.device(), wanted);
  } catch (const octet::Error& error) {
    if (error.code() != octet::Error::Code::out_of_memory || kept_.empty()) throw;
    kept_.clear();
    kept_bytes_ = 0;
    return octet::allocate_on(memory_.device(), wanted);
  }
}

void GpuAllocator::drop(std::multimap<size_t, Block>::iterator kept) {
  kept_bytes_ -= kept->first;
  kept_.erase(kept);
}

void GpuAllocator::free(void* block) {
  OrtStatus* status = host_.guarded([&] {
    const std::lock_guard lock(mutex_);
    const auto used = used_.find(block);
    if (used == used_.end()) return;
    Block freed = std::move(used->second);
    used_.erase(used);
    const size_t bytes = freed.bytes;
    kept_bytes_ += bytes;
    kept_.emplace(bytes, std::move(freed));
    while (kept_.size() > kMostKept || kept_bytes_ > kMostKeptBytes) drop(std::prev(kept_.end()));
  });
  if (status != nullptr) host_.ReleaseStatus(status);
}

GpuCopies::GpuCopies(const Host& host, const GpuMemory& memory)
    : OrtDataTransferImpl{}, host_(host), memory_(memory) {
  ort_version_supported = host.version;
  Release = [](OrtDataTransferImpl* self) { delete static_cast<GpuCopies*>(self); };
  CanCopy = [](const OrtDataTransferImpl* self, const OrtMemoryDevice* from,
               const OrtMemoryDevice* to) {
    return static_cast<const GpuCopies*>(self)->can_copy(from, to);
  };
  CopyTensors = [](OrtDataTransferImpl* self, const OrtValue** from, OrtValue** to,
                   void** /*streams*/, size_t count) {
    const auto* copies = static_cast<GpuCopies*>(self);
    return copies->host_.guarded([&] {
      for (size_t i = 0; i < count; ++i) copies->copy(from[i], to[i]);
    });
  };
}

bool GpuCopies::can_copy(const OrtMemoryDevice* from, const OrtMemoryDevice* to) const {
  const bool from_gpu = memory_.holds(from), to_gpu = memory_.holds(to);
  const auto on_host = [&](const OrtMemoryDevice* device) {
    return host_.MemoryDevice_GetDeviceType(device) == kMemoryOfHost;
  };
  return (from_gpu && (to_gpu || on_host(to))) || (to_gpu && on_host(from));
}

void GpuCopies::copy(const OrtValue* from, OrtValue* to) const {
  const void* data = nullptr;
  void* target = nullptr;
  size_t bytes = 0;
  host_.check(host_.GetTensorSizeInBytes(from, &bytes));
  host_.check(host_.GetTensorData(from, &data));
  host_.check(host_.GetTensorMutableData(to, &target));
  if (bytes > 0) octet::copy_memory(target, data, static_cast<int64_t>(bytes), memory_.device());
}

}  // namespace octet_ort

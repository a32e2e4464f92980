// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "backends/cuda/backend.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/kernel.h"
#include "backends/cuda/nvrtc.h"
#include "backends/cuda/queue.h"
#include "core/check.h"
#include "core/memory.h"
#include "octet/machine.h"

namespace octet {
namespace cuda {
namespace {

constexpr auto kRefused = Error::Code::unsupported;

int attribute(CUdevice device, DeviceAttribute which) {
  int value = 0;
  check(driver().cuDeviceGetAttribute(&value, which, device), "to describe the device");
  return value;
}

Chip read_chip(CUdevice device) {
  Chip chip;
  std::array<char, 256> name{};
  check(driver().cuDeviceGetName(name.data(), name.size(), device), "to name the device");
  chip.name = name.data();
  chip.capability = {attribute(device, kComputeMajor), attribute(device, kComputeMinor)};
  chip.multiprocessors = attribute(device, kMultiprocessors);
  chip.threads = attribute(device, kThreadsOfMultiprocessor);
  chip.registers = attribute(device, kRegistersOfMultiprocessor);
  chip.shared_bytes = attribute(device, kSharedBytesOfMultiprocessor);
  chip.shared_bytes_per_block = attribute(device, kSharedBytesPerBlock);
  chip.reserved_shared_bytes = attribute(device, kReservedSharedBytes);
  chip.l2_bytes = attribute(device, kL2Bytes);
  chip.clock_hertz = 1e3 * attribute(device, kClockKilohertz);
  // Two transfers in a clock.
  chip.memory_bytes_per_second =
      2e3 * attribute(device, kMemoryClockKilohertz) * attribute(device, kMemoryBusBits) / 8;
  size_t bytes = 0;
  check(driver().cuDeviceTotalMem(&bytes, device), "to measure the device's memory");
  chip.memory_bytes = static_cast<s64>(bytes);
  return chip;
}

CUdevice find_device(int ordinal) {
  int count = 0;
  check(driver().cuDeviceGetCount(&count), "to count devices");
  if (ordinal >= count)
    fail(Error::Code::invalid_argument,
         "there is no device cuda:{}; the NVIDIA driver knows {} device{}", ordinal, count,
         count == 1 ? "" : "s");
  CUdevice device = 0;
  check(driver().cuDeviceGet(&device, ordinal), "to open the device");
  return device;
}

// Without a compiler nothing runs, which its own error says when a kernel is needed.
std::vector<int> what_the_compiler_knows() {
  try {
    return compiler_targets();
  } catch (const Error&) {
    return {};
  }
}

// As if the chip were one of an older architecture.
void limit_to(const Architecture& older, Chip& chip) {
  const ArchitectureLimits& limits = older.limits;
  if (limits.threads == 0) return;
  chip.threads = std::min(chip.threads, limits.threads);
  chip.shared_bytes = std::min(chip.shared_bytes, limits.shared_bytes);
  chip.shared_bytes_per_block =
      std::min(chip.shared_bytes_per_block, limits.shared_bytes_per_block);
}

// Behind these no call of this process to the device works.
bool is_sticky(CUresult result) {
  constexpr CUresult kFirst = 700, kLast = 721, kUnavailable = 46, kEcc = 214, kUnknown = 999;
  return (result >= kFirst && result <= kLast && result != 701) || result == kUnavailable ||
         result == kEcc || result == kUnknown;
}

}  // namespace

std::string Chip::reject_without(std::initializer_list<Instruction> needed) const {
  for (const Instruction each : needed) {
    if (!has(each)) return fmt::format("the chip has no {}", text_of(each));
  }
  return {};
}

std::shared_ptr<const Kernel> LoadedKernels::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto at = kernels_.find(key);
  return at != kernels_.end() ? at->second.lock() : nullptr;
}

std::shared_ptr<const Kernel> LoadedKernels::add(const std::string& key,
                                                 std::shared_ptr<const Kernel> kernel) {
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const Kernel>& slot = kernels_[key];
  if (std::shared_ptr<const Kernel> known = slot.lock()) return known;
  slot = kernel;
  return kernel;
}

CudaDevice::CudaDevice(int ordinal)
    : ordinal_(ordinal),
      name_("cuda:" + std::to_string(ordinal)),
      device_(find_device(ordinal)),
      chip_(read_chip(device_)) {
  set_architecture(true);
  check(driver().cuDevicePrimaryCtxRetain(&context_, device_), "to open the device");
}

CudaDevice::CudaDevice(Chip chip, Take take)
    : ordinal_(0), name_("cuda:0"), chip_(std::move(chip)), take_(std::move(take)) {
  set_architecture(false);
}

void CudaDevice::set_architecture(bool may_be_older) {
  const auto asked = may_be_older ? compilation_as_asked(chip_.capability) : std::nullopt;
  if (asked) limit_to(*asked->architecture, chip_);
  const auto found = asked ? asked : compilation_for(chip_.capability, what_the_compiler_knows);
  if (!found)
    fail(kRefused, "device {} ({}) has compute capability {}; Octet's kernels need {}", name_,
         chip_.name, chip_.capability.text(), needs_of_all_kernels());
  chip_.architecture = found->architecture;
  arch_ = found->target;
  identity_ = chip_.name;
  costs_.convert_bytes_per_cycle = chip_.costs().device_convert_rate;
}

void CudaDevice::make_current() const {
  if (take_ != nullptr) fail(kRefused, "a chip that is planned for ({}) runs nothing", chip_.name);
  if (has_failed_) {
    const std::lock_guard lock(mutex_);
    fail(kRefused,
         "device {} failed before ({}) and takes no more work in this process; the CPU does", name_,
         failure_);
  }
  check_call(driver().cuCtxSetCurrent(context_), "to be used");
}

bool CudaDevice::try_make_current() const noexcept {
  return !has_failed_ && driver().cuCtxSetCurrent(context_) == kSuccess;
}

void CudaDevice::check_call(CUresult result, const std::string& doing) const {
  if (result == kSuccess) return;
  const std::string why = error_text(result);
  if (is_sticky(result)) {
    const std::lock_guard lock(mutex_);
    if (!has_failed_) failure_ = why;
    has_failed_ = true;
  }
  fail(result == kOutOfMemory ? Error::Code::out_of_memory : kRefused,
       "device {} ({}) failed {}: {}{}", name_, chip_.name, doing, why,
       is_sticky(result) ? "; it takes no more work in this process, the CPU does" : "");
}

const Backend& CudaDevice::backend() const { return cuda_backend(); }

std::shared_ptr<std::byte> CudaDevice::allocate(s64 bytes, const char* what) const {
  make_current();
  CUdeviceptr pointer = 0;
  const size_t size =
      static_cast<size_t>(std::max<s64>(bytes, 1));  // the driver has no memory of no bytes
  const CUresult result = driver().cuMemAlloc(&pointer, size);
  if (result == kOutOfMemory) {
    size_t free = 0, total = 0;
    driver().cuMemGetInfo(&free, &total);
    fail(Error::Code::out_of_memory, "{} takes {}, and {} has {} free of {}", what,
         human_memory(bytes), name_, human_memory(static_cast<s64>(free)),
         human_memory(static_cast<s64>(total)));
  }
  check_call(result, "to give memory");
  std::shared_ptr<std::byte> memory(reinterpret_cast<std::byte*>(pointer), [this](std::byte* at) {
    if (try_make_current()) driver().cuMemFree(reinterpret_cast<CUdeviceptr>(at));
  });
  check_call(driver().cuMemsetD8Async(pointer, 0, size, nullptr), "to clear memory");
  check_call(driver().cuStreamSynchronize(nullptr), "to clear memory");
  return memory;
}

std::shared_ptr<std::byte> CudaDevice::allocate_host(s64 bytes, const char* what) const {
  // Kernels of the CPU may read a little past the end.
  constexpr s64 kSlack = 4096;
  check_fits(bytes, what);
  make_current();
  const auto counted = std::make_shared<const Reserved>(bytes + kSlack, what);
  void* memory = nullptr;
  const size_t size = static_cast<size_t>(bytes + kSlack);
  if (driver().cuMemHostAlloc(&memory, size, 0) != kSuccess)
    return Device::allocate_host(bytes, what);
  std::memset(memory, 0, size);
  return {static_cast<std::byte*>(memory), [this, counted](std::byte* at) {
            const CurrentDevice unchanged(*this);
            if (try_make_current()) driver().cuMemFreeHost(at);
          }};
}

// The driver does not know what it has neither made nor locked: that is the host's.
std::string CudaDevice::memory_of(const std::byte* address) const {
  const auto pointer = reinterpret_cast<CUdeviceptr>(address);
  unsigned type = 0, managed = 0;
  int ordinal = 0;
  make_current();
  const auto asked = [&](auto* value, PointerAttribute which) {
    const CUresult result = driver().cuPointerGetAttribute(value, which, pointer);
    if (result != kInvalidValue) check_call(result, "to tell whose memory an address is");
    return result == kSuccess;
  };
  if (!asked(&type, kPointerMemoryType)) return "cpu";
  if (asked(&managed, kPointerIsManaged) && managed != 0) return "";
  if (type != kMemoryOfDevice || !asked(&ordinal, kPointerDevice)) return "cpu";
  return ordinal == ordinal_ ? name_ : "cuda:" + std::to_string(ordinal);
}

void* CudaDevice::current() const {
  CUcontext context = nullptr;
  driver().cuCtxGetCurrent(&context);
  return context;
}

void CudaDevice::restore(void* context) const noexcept {
  driver().cuCtxSetCurrent(static_cast<CUcontext>(context));
}

// Each waits for a process that compiles.
int CudaDevice::preparations() const {
  constexpr int kMost = 32;
  return compiles_apart() ? std::min(kMost, usable_processors()) : 1;
}

std::unique_ptr<Queue> CudaDevice::make_queue(std::shared_ptr<ThreadPool>) const {
  return std::make_unique<CudaQueue>(*this);
}

}  // namespace cuda

// "cuda" is "cuda:0". Devices live as long as the process.
const Device* find_cuda_device(std::string_view name) {
  constexpr std::string_view kName = "cuda";
  if (!name.starts_with(kName)) return nullptr;
  name.remove_prefix(kName.size());
  int ordinal = 0;
  if (!name.empty()) {
    const char* end = name.data() + name.size();
    const auto [at, error] = std::from_chars(name.data() + 1, end, ordinal);
    if (name[0] != ':' || name.size() < 2 || error != std::errc() || at != end || ordinal < 0)
      return nullptr;
  }
  static std::mutex mutex;
  static std::map<int, std::unique_ptr<cuda::CudaDevice>> devices;
  const std::lock_guard lock(mutex);
  std::unique_ptr<cuda::CudaDevice>& device = devices[ordinal];
  if (device == nullptr) device = std::make_unique<cuda::CudaDevice>(ordinal);
  return device.get();
}

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

namespace octet::emulator {
namespace {

constexpr int kMostDevices = 16;
bool initialized = false;
thread_local CUcontext current_context = nullptr;

struct Failure {
  std::string function;
  long call;
  CUresult error;
  bool always;
  int device;  // whose calls count; -1: those of all
};

struct Failures {
  std::string text;
  std::vector<Failure> list;
  std::map<std::string, long> calls;
  std::map<std::pair<std::string, int>, long> calls_of;  // one device
};

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == by)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

// FUNCTION:CALL:ERROR, FUNCTION:CALL:ERROR:* or FUNCTION:CALL:ERROR:*:DEVICE
void read_failures(Failures& failures, const std::string& text) {
  failures = {text, {}, {}, {}};
  for (const std::string& one : split(text, ',')) {
    const std::vector<std::string> parts = split(one, ':');
    if (parts.size() < 3) continue;
    failures.list.push_back({parts[0], std::strtol(parts[1].c_str(), nullptr, 10),
                             static_cast<CUresult>(std::strtol(parts[2].c_str(), nullptr, 10)),
                             parts.size() > 3 && parts[3] == "*",
                             parts.size() > 4 ? std::atoi(parts[4].c_str()) : -1});
  }
}

Failures& failures() {
  static auto* all = new Failures;
  return *all;
}

}  // namespace

size_t& live_objects() {
  static size_t count = 0;
  return count;
}

std::recursive_mutex& machine_lock() {
  static auto* lock = new std::recursive_mutex;  // until the process ends
  return *lock;
}

long environment_number(const char* name, long otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0 ? std::strtol(value, nullptr, 10) : otherwise;
}

int devices() {
  static const long count = environment_number("OCTET_EMULATED_DEVICES", 1);
  return static_cast<int>(count < 0 ? 0 : count > kMostDevices ? kMostDevices : count);
}

CUcontext context_of(int ordinal) {
  static auto* contexts = new CUctx_st[kMostDevices];
  contexts[ordinal].ordinal = ordinal;
  return contexts + ordinal;
}

CUcontext current() { return current_context; }

bool late() { return environment_number("OCTET_EMULATED_LATE", 0) != 0; }

int driver_version() {
  return static_cast<int>(environment_number("OCTET_EMULATED_DRIVER_VERSION", 13000));
}

namespace {

// What a list has for a device: an entry for each, of which the last is for all others too.
std::string entry_of(const char* name, int device, const char* otherwise) {
  const char* value = std::getenv(name);
  const std::vector<std::string> all =
      split(value != nullptr && *value != 0 ? value : otherwise, ',');
  return all[std::min(static_cast<size_t>(device), all.size() - 1)];
}

int current_device() { return current_context != nullptr ? current_context->ordinal : 0; }

size_t memory_bytes_of(int device) {
  static auto* const known = new std::map<int, size_t>;
  const auto [at, is_new] = known->emplace(device, 0);
  if (is_new) {
    const std::string megabytes = entry_of("OCTET_EMULATED_MEMORY_MB", device, "4096");
    at->second = static_cast<size_t>(std::strtol(megabytes.c_str(), nullptr, 10)) << 20;
  }
  return at->second;
}

}  // namespace

Within::Within(CUcontext context) : before_(current_context) { current_context = context; }
Within::~Within() { current_context = before_; }

size_t memory_bytes() { return memory_bytes_of(current_device()); }

size_t most_memory_bytes() {
  size_t most = 0;
  for (int i = 0; i < devices(); ++i) most = std::max(most, memory_bytes_of(i));
  return most;
}

// An error with `*` stays for all functions, as when the device is lost.
CUresult injected(const char* function) {
  const char* value = std::getenv("OCTET_EMULATED_FAIL");
  const std::string text = value != nullptr ? value : "";
  if (text != failures().text) read_failures(failures(), text);
  if (failures().list.empty()) return 0;
  const int device = current() != nullptr ? current()->ordinal : 0;
  const long call = ++failures().calls[function],
             call_of_device = ++failures().calls_of[{function, device}];
  for (const Failure& failure : failures().list) {
    const bool counts = failure.device < 0 || failure.device == device;
    if (!counts || failure.function != function ||
        failure.call != (failure.device < 0 ? call : call_of_device))
      continue;
    if (failure.always && current() != nullptr) current()->sticky = failure.error;
    return failure.error;
  }
  return 0;
}

CUresult enter(const char* function, Needs needs) {
  if (needs != Needs::nothing && !initialized) return kNotInitialized;
  if (needs == Needs::context && current() == nullptr) return kInvalidContext;
  if (needs == Needs::context && current()->sticky != 0) return current()->sticky;
  return injected(function);
}

}  // namespace octet::emulator

using namespace octet::emulator;

size_t octet_emulated_live_objects() { return live_objects(); }

long octet_emulated_calls(const char* function) {
  const std::lock_guard machine(machine_lock());
  return failures().calls[function];
}

CUresult cuInit(unsigned flags) {
  EMULATED_ENTER("cuInit", nothing);
  if (flags != 0) return kInvalidValue;
  if (devices() == 0) return octet::cuda::kNoDevice;
  initialized = true;
  return 0;
}

CUresult cuDriverGetVersion(int* version) {
  EMULATED_ENTER("cuDriverGetVersion", nothing);
  *version = driver_version();
  return 0;
}

namespace {

struct ErrorText {
  CUresult error;
  const char *name, *text;
};

constexpr ErrorText kErrors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
    {907, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "invalid cluster size"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

CUresult look_up(CUresult error, const char* ErrorText::*member, const char** answer) {
  *answer = nullptr;
  for (const ErrorText& one : kErrors)
    if (one.error == error) *answer = one.*member;
  return *answer != nullptr ? 0 : kInvalidValue;
}

}  // namespace

CUresult cuGetErrorName(CUresult error, const char** name) {
  return look_up(error, &ErrorText::name, name);
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  return look_up(error, &ErrorText::text, text);
}

CUresult cuDeviceGetCount(int* count) {
  EMULATED_ENTER("cuDeviceGetCount", driver);
  *count = devices();
  return 0;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  EMULATED_ENTER("cuDeviceGet", driver);
  if (ordinal < 0 || ordinal >= devices()) return 101;
  *device = ordinal;
  return 0;
}

CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  EMULATED_ENTER("cuDeviceGetName", driver);
  if (device < 0 || device >= devices()) return 101;
  if (bytes <= 0) return kInvalidValue;
  const std::string asked = entry_of("OCTET_EMULATED_NAME", device, "Emulated GPU");
  std::snprintf(name, static_cast<size_t>(bytes), "%s", asked.c_str());
  return 0;
}

namespace {

// OCTET_EMULATED_CAPABILITY, "8.0" unless set.
struct CapabilityOf {
  explicit CapabilityOf(int device) {
    const std::string text = entry_of("OCTET_EMULATED_CAPABILITY", device, "8.0");
    std::sscanf(text.c_str(), "%d.%d", &major, &minor);
  }
  int major = 8, minor = 0;

  int number() const { return 10 * major + minor; }
  bool is_turing() const { return number() == 75; }
  // As Hopper's and the large Blackwell's.
  bool has_large_multiprocessors() const {
    constexpr int kHopper = 9, kSmallBlackwell = 12;
    return major >= kHopper && major < kSmallBlackwell;
  }
  int threads_of_multiprocessor() const {
    if (is_turing()) return 1024;
    return has_large_multiprocessors() ? 2048 : 1536;
  }
  // Of a block, kept by the system.
  int reserved_shared_bytes() const { return is_turing() ? 0 : 1 << 10; }
  size_t shared_bytes_opt_in() const {
    constexpr size_t kOthers = 99 << 10, kTuring = 64 << 10;
    if (is_turing()) return kTuring;
    return has_large_multiprocessors() ? kMostSharedBytes : kOthers;
  }
};

}  // namespace

bool octet::emulator::is_hopper() { return CapabilityOf(current_device()).major >= 9; }

namespace {

// OCTET_EMULATED_ATTRIBUTES, "16:132,13:1980000": of another chip, by the numbers of CUdevice_attribute.
std::map<int, int> with_asked(std::map<int, int> values) {
  const char* at = std::getenv("OCTET_EMULATED_ATTRIBUTES");
  for (int key = 0, value = 0; at != nullptr && std::sscanf(at, "%d:%d", &key, &value) == 2;) {
    values[key] = value;
    at = std::strchr(at, ',');
    if (at != nullptr) ++at;
  }
  return values;
}

const std::map<int, int>& attributes(int device) {
  static auto* const known = new std::map<int, std::map<int, int>>;
  const auto [at, is_new] = known->emplace(device, std::map<int, int>());
  if (!is_new) return at->second;
  const CapabilityOf chip(device);
  at->second = with_asked({
      {octet::cuda::kMaxThreadsPerBlock, 1024},
      {2, 1024},
      {3, 1024},
      {4, 64},  // block
      {5, 0x7fffffff},
      {6, 65535},
      {7, 65535},  // grid
      {8, static_cast<int>(kSharedBytes)},
      {10, 32},     // warp
      {12, 65536},  // registers of a block
      {octet::cuda::kClockKilohertz, 1000000},
      {octet::cuda::kMultiprocessors, 4},
      {18, 0},  // integrated
      {octet::cuda::kHasEcc, 1},
      {octet::cuda::kMemoryClockKilohertz, 1000000},
      {octet::cuda::kMemoryBusBits, 64},
      {octet::cuda::kL2Bytes, 1 << 20},
      {octet::cuda::kThreadsOfMultiprocessor, chip.threads_of_multiprocessor()},
      {41, 1},  // unified addresses
      {octet::cuda::kComputeMajor, chip.major},
      {octet::cuda::kComputeMinor, chip.minor},
      {octet::cuda::kSharedBytesOfMultiprocessor,
       static_cast<int>(chip.shared_bytes_opt_in()) + chip.reserved_shared_bytes()},
      {octet::cuda::kRegistersOfMultiprocessor, 65536},
      {octet::cuda::kSharedBytesPerBlock, static_cast<int>(chip.shared_bytes_opt_in())},
      {106, 32},  // blocks of a multiprocessor
      {octet::cuda::kReservedSharedBytes, chip.reserved_shared_bytes()},
  });
  return at->second;
}

}  // namespace

int octet::emulator::capability_number() { return CapabilityOf(current_device()).number(); }

size_t octet::emulator::shared_bytes_opt_in() {
  return CapabilityOf(current_device()).shared_bytes_opt_in();
}

CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
  EMULATED_ENTER("cuDeviceGetAttribute", driver);
  if (device < 0 || device >= devices()) return 101;
  const auto at = attributes(device).find(attribute);
  if (at == attributes(device).end()) return kInvalidValue;
  *value = at->second;
  return 0;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  EMULATED_ENTER("cuDeviceGetUuid_v2", driver);
  if (device < 0 || device >= devices()) return 101;
  for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<unsigned char>(16 * device + i);
  return 0;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  EMULATED_ENTER("cuDeviceTotalMem_v2", driver);
  if (device < 0 || device >= devices()) return 101;
  *bytes = memory_bytes_of(device);
  return 0;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  EMULATED_ENTER("cuDevicePrimaryCtxRetain", driver);
  if (device < 0 || device >= devices()) return 101;
  *context = context_of(device);
  return (*context)->sticky;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  EMULATED_ENTER("cuCtxGetCurrent", driver);
  *context = current_context;
  return 0;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  EMULATED_ENTER("cuCtxSetCurrent", driver);
  if (context != nullptr && (context < context_of(0) || context >= context_of(0) + devices()))
    return kInvalidContext;
  current_context = context;
  return 0;
}

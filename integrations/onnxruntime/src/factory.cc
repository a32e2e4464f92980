// SPDX-License-Identifier: Apache-2.0
// The library's two entries, and the factory behind them.
#include <memory>
#include <string>
#include <utility>

#include "context_node.h"
#include "ep.h"
#include "gpu_memory.h"
#include "host.h"
#include "octet/machine.h"
#include "octet/provenance.h"

namespace octet_ort {
namespace {

using octet::Error;

// The first GPU that can be used; where there is none, why the first one cannot.
octet::DeviceEntry first_gpu() {
  octet::DeviceEntry first{{}, "this build of Octet has no CUDA"};
  for (const octet::DeviceEntry& entry : octet::list_devices()) {
    if (!entry.info.name.starts_with("cuda")) continue;
    if (entry.missing.empty()) return entry;
    if (first.info.name.empty()) first = entry;
  }
  return first;
}

void check_count(size_t devices) {
  if (devices == 1) return;
  throw Error(Error::Code::invalid_argument, "a session runs on one device of Octet's, " +
                                                 std::to_string(devices) + " were given");
}

class KeyValues {
 public:
  explicit KeyValues(const Host& host) : host_(host) { host_.CreateKeyValuePairs(&pairs_); }
  ~KeyValues() { host_.ReleaseKeyValuePairs(pairs_); }
  KeyValues(const KeyValues&) = delete;
  KeyValues& operator=(const KeyValues&) = delete;
  void add(const char* key, const std::string& value) {
    host_.AddKeyValuePair(pairs_, key, value.c_str());
  }
  const OrtKeyValuePairs* get() const { return pairs_; }

 private:
  const Host& host_;
  OrtKeyValuePairs* pairs_ = nullptr;
};

class Factory : public OrtEpFactory {
 public:
  Factory(std::unique_ptr<Host> host, const OrtLogger* logger);
  ~Factory();
  Factory(const Factory&) = delete;
  Factory& operator=(const Factory&) = delete;

 private:
  void offer_devices();
  void offer_sessions();
  void offer_memory();
  void devices(const OrtHardwareDevice* const* hardware, size_t count, OrtEpDevice** to,
               size_t most, size_t* made);
  bool is_gpu(const OrtHardwareDevice* hardware) const;
  OrtEpDevice* device_for(const OrtHardwareDevice* hardware);
  OrtEpDevice* unlisted_gpu();
  Options options_for(const OrtHardwareDevice* hardware, const OrtSessionOptions* session) const;
  void explain(const OrtHardwareDevice* hardware, OrtDeviceEpIncompatibilityDetails* details) const;

  std::unique_ptr<Host> host_;
  Log log_;
  std::string version_;
  std::unique_ptr<GpuMemory> memory_;          // of the GPU that is offered
  OrtHardwareDevice* unlisted_gpu_ = nullptr;  // which ONNX Runtime does not list
};

Factory::Factory(std::unique_ptr<Host> host, const OrtLogger* logger)
    : OrtEpFactory{},
      host_(std::move(host)),
      log_(*host_, logger),
      version_(octet::octet_version()) {
  ort_version_supported = host_->version;
  GetName = [](const OrtEpFactory* /*self*/) { return kProviderName; };
  GetVendor = [](const OrtEpFactory* /*self*/) { return "Octet"; };
  GetVendorId = [](const OrtEpFactory* /*self*/) -> uint32_t { return 0; };
  GetVersion = [](const OrtEpFactory* self) {
    return static_cast<const Factory*>(self)->version_.c_str();
  };
  offer_devices();
  offer_sessions();
  offer_memory();
}

void Factory::offer_devices() {
  GetSupportedDevices = [](OrtEpFactory* self, const OrtHardwareDevice* const* hardware,
                           size_t count, OrtEpDevice** to, size_t most, size_t* made) {
    auto* factory = static_cast<Factory*>(self);
    *made = 0;
    return factory->host_->guarded([&] { factory->devices(hardware, count, to, most, made); });
  };
  GetHardwareDeviceIncompatibilityDetails = [](OrtEpFactory* self,
                                               const OrtHardwareDevice* hardware,
                                               OrtDeviceEpIncompatibilityDetails* details) {
    auto* factory = static_cast<Factory*>(self);
    return factory->host_->guarded([&] { factory->explain(hardware, details); });
  };
}

void Factory::offer_sessions() {
  CreateEp = [](OrtEpFactory* self, const OrtHardwareDevice* const* hardware,
                const OrtKeyValuePairs* const* /*metadata*/, size_t count,
                const OrtSessionOptions* session, const OrtLogger* session_logger, OrtEp** ep) {
    const Host& functions = *static_cast<Factory*>(self)->host_;
    *ep = nullptr;
    return functions.guarded([&] {
      check_count(count);
      Options options = static_cast<Factory*>(self)->options_for(hardware[0], session);
      *ep = std::make_unique<Ep>(functions, std::move(options), session_logger).release();
    });
  };
  ReleaseEp = [](OrtEpFactory* /*self*/, OrtEp* ep) { delete static_cast<Ep*>(ep); };
  ValidateCompiledModelCompatibilityInfo =
      [](OrtEpFactory* /*self*/, const OrtHardwareDevice* const* /*hardware*/, size_t /*count*/,
         const char* info, int* compatibility) -> OrtStatus* {
    *compatibility = compatibility_of(info);
    return nullptr;
  };
  GetNumCustomOpDomains = [](OrtEpFactory* /*self*/, size_t* count) -> OrtStatus* {
    *count = 0;
    return nullptr;
  };
}

// Tensors of sessions of the GPU lie in its memory; of the processor's sessions in the host's, whatever they run on.
void Factory::offer_memory() {
  CreateAllocator = [](OrtEpFactory* self, const OrtMemoryInfo* info,
                       const OrtKeyValuePairs* /*options*/, OrtAllocator** out) {
    const auto* factory = static_cast<Factory*>(self);
    *out = nullptr;
    return factory->host_->guarded([&] {
      const Host& host = *factory->host_;
      if (info == nullptr || factory->memory_ == nullptr ||
          !factory->memory_->holds(host.MemoryInfo_GetMemoryDevice(info)))
        return;
      *out = std::make_unique<GpuAllocator>(host, *factory->memory_).release();
    });
  };
  ReleaseAllocator = [](OrtEpFactory* /*self*/, OrtAllocator* allocator) {
    delete static_cast<GpuAllocator*>(allocator);
  };
  CreateDataTransfer = [](OrtEpFactory* self, OrtDataTransferImpl** out) {
    const auto* factory = static_cast<Factory*>(self);
    *out = nullptr;
    return factory->host_->guarded([&] {
      if (factory->memory_ == nullptr) return;
      *out = std::make_unique<GpuCopies>(*factory->host_, *factory->memory_).release();
    });
  };
  IsStreamAware = [](const OrtEpFactory* /*self*/) { return false; };
}

Factory::~Factory() {
  if (unlisted_gpu_ != nullptr) host_->ReleaseHardwareDevice(unlisted_gpu_);
}

Options Factory::options_for(const OrtHardwareDevice* hardware,
                             const OrtSessionOptions* session) const {
  const Entries entries = entries_of(*host_, session);
  if (host_->HardwareDevice_Type(hardware) != kHardwareGpu || memory_ == nullptr)
    return parse_options(entries, "cpu");
  Options options = parse_options(entries, memory_->device());
  if (options.device != memory_->device()) {
    throw Error(Error::Code::invalid_argument,
                "octet.device is '" + options.device +
                    "', and tensors of sessions of the GPU lie in '" + memory_->device() +
                    "': choose the provider's CPU device, which runs on any");
  }
  options.memory = options.device;
  return options;
}

bool Factory::is_gpu(const OrtHardwareDevice* hardware) const {
  return host_->HardwareDevice_Type(hardware) == kHardwareGpu &&
         host_->HardwareDevice_VendorId(hardware) == kNvidia;
}

OrtEpDevice* Factory::device_for(const OrtHardwareDevice* hardware) {
  const bool gpu = is_gpu(hardware);
  if (host_->HardwareDevice_Type(hardware) != kHardwareCpu && !gpu) return nullptr;
  KeyValues metadata(*host_);
  KeyValues options(*host_);
  if (gpu) {
    const octet::DeviceEntry entry = first_gpu();
    if (!entry.missing.empty()) {
      log_.write(kInfo, "a GPU is not offered: " + entry.missing);
      return nullptr;
    }
    metadata.add("octet.chip", entry.info.chip);
    options.add("device", entry.info.name);
  } else {
    metadata.add("octet.level", octet::cpu_isa());
  }
  OrtEpDevice* device = nullptr;
  host_->check(host_->CreateEpDevice(this, hardware, metadata.get(), options.get(), &device));
  if (gpu) {
    if (memory_ == nullptr) memory_ = std::make_unique<GpuMemory>(*host_, first_gpu().info.name);
    host_->check(host_->EpDevice_AddAllocatorInfo(device, memory_->info()));
  }
  return device;
}

// In many containers ONNX Runtime lists no GPU, and CUDA's driver has one.
OrtEpDevice* Factory::unlisted_gpu() {
  const octet::DeviceEntry entry = first_gpu();
  if (!entry.missing.empty()) return nullptr;
  if (unlisted_gpu_ == nullptr) {
    const KeyValues none(*host_);
    host_->check(host_->CreateHardwareDevice(kHardwareGpu, kNvidia, 0, "NVIDIA", none.get(),
                                             &unlisted_gpu_));
  }
  return device_for(unlisted_gpu_);
}

void Factory::devices(const OrtHardwareDevice* const* hardware, size_t count, OrtEpDevice** to,
                      size_t most, size_t* made) {
  // Nothing tells which of ONNX Runtime's GPUs is which of the driver's: one of them stands for the first that can be used.
  bool has_gpu = false;
  for (size_t i = 0; i < count && *made < most; ++i) {
    if (is_gpu(hardware[i]) && std::exchange(has_gpu, true)) continue;
    if (OrtEpDevice* device = device_for(hardware[i])) to[(*made)++] = device;
  }
  if (has_gpu || *made >= most) return;
  if (OrtEpDevice* device = unlisted_gpu()) to[(*made)++] = device;
}

void Factory::explain(const OrtHardwareDevice* hardware,
                      OrtDeviceEpIncompatibilityDetails* details) const {
  const int type = host_->HardwareDevice_Type(hardware);
  std::string notes;
  uint32_t reasons = kDeviceIncompatible;
  if (type == kHardwareCpu) {
    if (octet::cpu_isa() == "none") notes = "there are only scalar kernels for the processor";
  } else if (is_gpu(hardware)) {
    notes = first_gpu().missing;
    reasons = kDriverIncompatible | kMissingDependency;
  } else {
    notes = "Octet runs on x86-64 and aarch64 processors and NVIDIA's GPUs";
  }
  if (notes.empty()) return;
  host_->check(
      host_->DeviceEpIncompatibilityDetails_SetDetails(details, reasons, 0, notes.c_str()));
}

}  // namespace
}  // namespace octet_ort

OrtStatus* CreateEpFactories(const char* /*registered_name*/, const OrtApiBase* base,
                             const OrtLogger* logger, OrtEpFactory** factories, size_t most,
                             size_t* count) {
  using namespace octet_ort;
  *count = 0;
  OrtStatus* status = nullptr;
  std::unique_ptr<Host> host = negotiate(*base, status);
  if (host == nullptr || most == 0) return status;
  const Host& functions = *host;
  return functions.guarded([&] {
    factories[0] = std::make_unique<Factory>(std::move(host), logger).release();
    *count = 1;
  });
}

OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<octet_ort::Factory*>(factory);
  return nullptr;
}

// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/builder/builder.h"

#include <algorithm>

#include "octet/machine.h"
#include "tensorrt/builder/build.h"
#include "tensorrt/engine/engine.h"
#include "tensorrt/network/order_10_8.h"
#include "tensorrt/plugins/registry.h"
#include "tensorrt/shared/host_memory.h"

namespace octet_trt {

int Builder::threads() const {
  return std::clamp(max_threads_ > 0 ? max_threads_ : octet::usable_processors(), 1, 256);
}

bool Builder::platformHasFastFp16() const noexcept { return true; }
bool Builder::platformHasFastInt8() const noexcept { return true; }
bool Builder::platformHasTf32() const noexcept { return false; }
int32_t Builder::getMaxDLABatchSize() const noexcept { return 0; }
int32_t Builder::getNbDLACores() const noexcept { return 0; }
void Builder::setGpuAllocator(IGpuAllocator*) noexcept {}

IBuilderConfig* Builder::createBuilderConfig() noexcept { return new Config(reporter); }

INetworkDefinition* Builder::createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept {
#if NV_TENSORRT_MAJOR >= 10
  auto* network = new Network(*this, reporter, false, flags);
  if (has_order_10_8(client_)) order_as_10_8(*network);
  return network;
#else
  return new Network(*this, reporter, (flags & 1U) == 0, flags);
#endif
}

IOptimizationProfile* Builder::createOptimizationProfile() noexcept {
  profiles_.push_back(std::make_unique<Profile>(reporter));
  return profiles_.back().get();
}

void Builder::setErrorRecorder(IErrorRecorder* recorder) noexcept { reporter.recorder = recorder; }
IErrorRecorder* Builder::getErrorRecorder() const noexcept { return reporter.recorder; }
void Builder::reset() noexcept { max_threads_ = 0; }

octet::Engine Builder::built(INetworkDefinition* network, IBuilderConfig* config) const {
  need(network, "network");
  need(config, "configuration");
  return build_engine(static_cast<Network&>(*network), static_cast<Config&>(*config), threads(),
                      max_batch_);
}

IHostMemory* Builder::buildSerializedNetwork(INetworkDefinition& network,
                                             IBuilderConfig& config) noexcept {
  return guarded(
      reporter, "IBuilder::buildSerializedNetwork", static_cast<IHostMemory*>(nullptr),
      [&]() -> IHostMemory* { return new HostMemory(built(&network, &config).to_bytes()); });
}

ICudaEngine* Builder::buildEngineWithConfig(INetworkDefinition& network,
                                            IBuilderConfig& config) noexcept {
  return guarded(reporter, "IBuilder::buildEngineWithConfig", static_cast<ICudaEngine*>(nullptr),
                 [&]() -> ICudaEngine* { return make_engine(built(&network, &config), reporter); });
}

bool Builder::isNetworkSupported(INetworkDefinition const& network,
                                 IBuilderConfig const& config) const noexcept {
  return guarded(reporter, "IBuilder::isNetworkSupported", false, [&] {
    need(&network, "network");
    need(&config, "configuration");
    const_cast<Network&>(static_cast<const Network&>(network)).write();
    return true;
  });
}

ILogger* Builder::getLogger() const noexcept { return reporter.logger; }

bool Builder::setMaxThreads(int32_t maxThreads) noexcept {
  if (maxThreads < 1) {
    reporter.error(ErrorCode::kINVALID_ARGUMENT,
                   "IBuilder::setMaxThreads: " + std::to_string(maxThreads) + " threads");
    return false;
  }
  max_threads_ = maxThreads;
  return true;
}
int32_t Builder::getMaxThreads() const noexcept { return threads(); }
IPluginRegistry& Builder::getPluginRegistry() noexcept { return registry(); }

#if NV_TENSORRT_MAJOR >= 10
bool Builder::buildSerializedNetworkToStream(INetworkDefinition& network, IBuilderConfig& config,
                                             IStreamWriter& writer) noexcept {
  const std::unique_ptr<IHostMemory> plan(buildSerializedNetwork(network, config));
  if (plan == nullptr) return false;
  return guarded(reporter, "IBuilder::buildSerializedNetworkToStream", false, [&] {
    need(&writer, "writer");
    const auto bytes = static_cast<int64_t>(plan->size());
    const int64_t taken = writer.write(plan->data(), bytes);
    if (taken != bytes)
      refuse("the writer says that it took " + std::to_string(taken) + " bytes of a plan of " +
             std::to_string(bytes));
    return true;
  });
}
IHostMemory* Builder::buildSerializedNetworkWithKernelText(INetworkDefinition& network,
                                                           IBuilderConfig& config,
                                                           IHostMemory*& kernelText) noexcept {
  return guarded(reporter, "IBuilder::buildSerializedNetworkWithKernelText",
                 static_cast<IHostMemory*>(nullptr), [&] {
                   need(&kernelText, "place of a text");
                   kernelText = nullptr;
                   return buildSerializedNetwork(network, config);
                 });
}
#else
void Builder::setMaxBatchSize(int32_t batchSize) noexcept { max_batch_ = std::max(1, batchSize); }
int32_t Builder::getMaxBatchSize() const noexcept { return max_batch_; }
#endif

}  // namespace octet_trt

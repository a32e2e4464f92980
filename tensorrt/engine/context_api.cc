// SPDX-License-Identifier: Apache-2.0
// What clients set and ask of a context.
#include <algorithm>

#include "tensorrt/engine/border.h"
#include "tensorrt/engine/context.h"
#include "tensorrt/engine/stream.h"

namespace octet_trt {
namespace {

Dims strides_of(const octet::Shape& shape) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.rank()));
  int64_t step = 1;
  for (int32_t i = shape.rank() - 1; i >= 0; --i) {
    strides[static_cast<size_t>(i)] = step;
    step *= std::max<int64_t>(1, shape[i]);
  }
  return to_dims(strides);
}

}  // namespace

void Context::setDebugSync(bool sync) noexcept { debug_sync_ = sync; }
bool Context::getDebugSync() const noexcept { return debug_sync_; }
void Context::setProfiler(IProfiler* profiler) noexcept { profiler_ = profiler; }
IProfiler* Context::getProfiler() const noexcept { return profiler_; }
ICudaEngine const& Context::getEngine() const noexcept { return engine(); }
void Context::setName(char const* name) noexcept { name_ = name == nullptr ? "" : name; }
char const* Context::getName() const noexcept { return name_.c_str(); }
void Context::setDeviceMemory(void*) noexcept {}

Dims Context::getTensorStrides(char const* tensorName) const noexcept {
  if (state_->binding_index(tensorName) < 0) return no_dims();
  return guarded(reporter_, "IExecutionContext::getTensorStrides", no_dims(),
                 [&] { return strides_of(to_shape(getTensorShape(tensorName))); });
}

int32_t Context::getOptimizationProfile() const noexcept { return profile_; }

bool Context::setInputShape(char const* tensorName, Dims const& dims) noexcept {
  return guarded(reporter_, "IExecutionContext::setInputShape", false, [&] {
    const int i = index_of(tensorName, "IExecutionContext::setInputShape");
    return i >= 0 && set_shape(static_cast<size_t>(i), dims);
  });
}

Dims Context::getTensorShape(char const* tensorName) const noexcept {
  return guarded(reporter_, "IExecutionContext::getTensorShape", no_dims(), [&] {
    const int i = index_of(tensorName, "IExecutionContext::getTensorShape");
    if (i < 0) return no_dims();
    const bool open = !prepared_ && !info(static_cast<size_t>(i)).is_input;
    if (open && allInputDimensionsSpecified()) const_cast<Context*>(this)->prepare(default_batch());
    const Dims dims = to_dims(shape_of(static_cast<size_t>(i)));
#if NV_TENSORRT_MAJOR < 10
    if (state_->info.implicit_batch) return without_front(dims);
#endif
    return dims;
  });
}

bool Context::allInputDimensionsSpecified() const noexcept {
  for (size_t i = 0; i < slots_.size(); ++i)
    if (info(i).is_input && !slots_[i].known && !state_->info.implicit_batch) return false;
  return true;
}
bool Context::allInputShapesSpecified() const noexcept { return allInputDimensionsSpecified(); }
void Context::setErrorRecorder(IErrorRecorder* recorder) noexcept { reporter_.recorder = recorder; }
IErrorRecorder* Context::getErrorRecorder() const noexcept { return reporter_.recorder; }

bool Context::has_bindings(void* const* bindings, const char* where) const noexcept {
  return guarded(reporter_, where, false, [&] {
    need(bindings, "list of bindings");
    return true;
  });
}

bool Context::executeV2(void* const* bindings) noexcept {
  if (!has_bindings(bindings, "IExecutionContext::executeV2")) return false;
  return run(Addresses(bindings, bindings + slots_.size()), default_batch(), nullptr) &&
         finish("IExecutionContext::executeV2");
}

// What was given is done.
bool Context::finish(const char* where) noexcept {
  return guarded(reporter_, where, false, [&] {
    context().synchronize();
    return true;
  });
}

bool Context::setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t) noexcept {
  return guarded(reporter_, "IExecutionContext::setOptimizationProfileAsync", false, [&] {
    if (profileIndex < 0 || profileIndex >= engine().getNbOptimizationProfiles()) {
      refuse("there is no optimization profile " + std::to_string(profileIndex));
    }
    if (profileIndex != profile_) use_profile(profileIndex);
    return true;
  });
}

void Context::setEnqueueEmitsProfile(bool enqueueEmitsProfile) noexcept {
  emits_profile_ = enqueueEmitsProfile;
}
bool Context::getEnqueueEmitsProfile() const noexcept { return emits_profile_; }

bool Context::reportToProfiler() const noexcept {
  if (profiler_ == nullptr || last_inputs_.empty()) return false;
  return guarded(reporter_, "IExecutionContext::reportToProfiler", false, [&] {
    emit_profile(last_inputs_);
    return true;
  });
}

bool Context::setTensorAddress(char const* tensorName, void* data) noexcept {
  return guarded(reporter_, "IExecutionContext::setTensorAddress", false, [&] {
    const int i = index_of(tensorName, "IExecutionContext::setTensorAddress");
    if (i < 0) return false;
    slots_[static_cast<size_t>(i)].address = data;
    return true;
  });
}

void const* Context::getTensorAddress(char const* tensorName) const noexcept {
  const int i = state_->binding_index(tensorName);
  return i < 0 ? nullptr : slots_[static_cast<size_t>(i)].address;
}

bool Context::setInputTensorAddress(char const* tensorName, void const* data) noexcept {
  if (engine().getTensorIOMode(tensorName) != TensorIOMode::kINPUT) {
    reporter_.error(ErrorCode::kINVALID_ARGUMENT,
                    "IExecutionContext::setInputTensorAddress: no input of that name");
    return false;
  }
  return setTensorAddress(tensorName, const_cast<void*>(data));
}

void* Context::getOutputTensorAddress(char const* tensorName) const noexcept {
  if (engine().getTensorIOMode(tensorName) != TensorIOMode::kOUTPUT) return nullptr;
  return const_cast<void*>(getTensorAddress(tensorName));
}

int32_t Context::inferShapes(int32_t nbMaxNames, char const** tensorNames) noexcept {
  return guarded(reporter_, "IExecutionContext::inferShapes", int32_t{-1}, [&] {
    int32_t missing = 0;
    for (size_t i = 0; i < slots_.size(); ++i) {
      const bool has_numbers =
          !state_->is_shape_input(info(i).name.c_str()) || slots_[i].address != nullptr;
      const bool is_told = slots_[i].known && has_numbers;
      if (!info(i).is_input || is_told || state_->info.implicit_batch) continue;
      if (tensorNames != nullptr && missing < nbMaxNames)
        tensorNames[missing] = info(i).name.c_str();
      ++missing;
    }
    if (missing > 0) return missing;
    prepare(default_batch());
    // Numbers that make no sizes are told here.
    for (size_t i = 0; i < slots_.size(); ++i) static_cast<void>(shape_of(i));
    return 0;
  });
}

bool Context::setInputConsumedEvent(cudaEvent_t event) noexcept {
  consumed_ = event;
  return true;
}
cudaEvent_t Context::getInputConsumedEvent() const noexcept { return consumed_; }

bool Context::setOutputAllocator(char const* tensorName, IOutputAllocator* allocator) noexcept {
  const int i = index_of(tensorName, "IExecutionContext::setOutputAllocator");
  if (i < 0 || info(static_cast<size_t>(i)).is_input) return false;
  slots_[static_cast<size_t>(i)].allocator = allocator;
  return true;
}

IOutputAllocator* Context::getOutputAllocator(char const* tensorName) OCTET_TRT_CONST_8 noexcept {
  const int i = state_->binding_index(tensorName);
  return i < 0 ? nullptr : slots_[static_cast<size_t>(i)].allocator;
}

int64_t Context::getMaxOutputSize(char const* tensorName) const noexcept {
  const int i = state_->binding_index(tensorName);
  if (i < 0 || info(static_cast<size_t>(i)).is_input) return -1;
  return guarded(reporter_, "IExecutionContext::getMaxOutputSize", int64_t{-1}, [&] {
    const octet::Shape shape = to_shape(getTensorShape(tensorName));
    if (!shape.is_static()) return int64_t{-1};
    return client_bytes(info(static_cast<size_t>(i)), shape);
  });
}

bool Context::setTemporaryStorageAllocator(IGpuAllocator* allocator) noexcept {
  storage_ = allocator;
  return true;
}
IGpuAllocator* Context::getTemporaryStorageAllocator() const noexcept { return storage_; }

bool Context::enqueueV3(cudaStream_t stream) noexcept {
  const bool done = run(own_addresses(), default_batch(), stream);
  record(consumed_, stream);
  return done;
}

void Context::setPersistentCacheLimit(std::size_t size) noexcept { cache_limit_ = size; }
std::size_t Context::getPersistentCacheLimit() const noexcept { return cache_limit_; }
bool Context::setNvtxVerbosity(ProfilingVerbosity verbosity) noexcept {
  return guarded(reporter_, "IExecutionContext::setNvtxVerbosity", false, [&] {
    need_right(verbosity, "verbosity");
    nvtx_ = verbosity;
    return true;
  });
}
ProfilingVerbosity Context::getNvtxVerbosity() const noexcept { return nvtx_; }
void Context::setAuxStreams(cudaStream_t*, int32_t) noexcept {}

#if NV_TENSORRT_MAJOR >= 10
bool Context::setOutputTensorAddress(char const* tensorName, void* data) noexcept {
  if (engine().getTensorIOMode(tensorName) != TensorIOMode::kOUTPUT) return false;
  return setTensorAddress(tensorName, data);
}
void Context::setDeviceMemoryV2(void*, int64_t) noexcept {}
std::size_t Context::updateDeviceMemorySizeForShapes() noexcept {
  return engine().getDeviceMemorySize();
}

// No tensor inside of an engine can be watched while it runs.
bool Context::refuse_watching(const char* function, bool asked) noexcept {
  if (asked)
    reporter_.error(ErrorCode::kUNSUPPORTED_STATE,
                    std::string("IExecutionContext::") + function +
                        ": tensors inside of an engine cannot be watched; mark them as outputs");
  return !asked;
}
// What is refused is to mark a tensor (INetworkDefinition::markDebug): a listener is kept and has nothing to hear, and all of none are on.
bool Context::setDebugListener(IDebugListener* listener) noexcept {
  listener_ = listener;
  return true;
}
IDebugListener* Context::getDebugListener() noexcept { return listener_; }
bool Context::setTensorDebugState(char const*, bool flag) noexcept {
  return refuse_watching("setTensorDebugState", flag);
}
bool Context::setAllTensorsDebugState(bool) noexcept { return true; }
bool Context::getDebugState(char const*) const noexcept { return false; }
// The context's own, with what it was made by: the client's may be gone.
IRuntimeConfig* Context::getRuntimeConfig() const noexcept { return &runtime_config_; }
bool Context::setUnfusedTensorsDebugState(bool flag) noexcept {
  return refuse_watching("setUnfusedTensorsDebugState", flag);
}
bool Context::getUnfusedTensorsDebugState() const noexcept { return false; }
bool Context::setCommunicator(void* communicator) noexcept {
  if (communicator == nullptr) return true;
  reporter_.error(ErrorCode::kUNSUPPORTED_STATE,
                  "IExecutionContext::setCommunicator: an engine runs in one process");
  return false;
}
#else
bool Context::execute(int32_t batchSize, void* const* bindings) noexcept {
  return enqueue(batchSize, bindings, nullptr, nullptr) && finish("IExecutionContext::execute");
}

bool Context::enqueue(int32_t batchSize, void* const* bindings, cudaStream_t stream,
                      cudaEvent_t* inputConsumed) noexcept {
  if (!has_bindings(bindings, "IExecutionContext::enqueue")) return false;
  if (batchSize < 1 || batchSize > state_->info.max_batch) {
    reporter_.error(ErrorCode::kINVALID_ARGUMENT, "IExecutionContext::enqueue: a batch of " +
                                                      std::to_string(batchSize) +
                                                      " for an engine of batches up to " +
                                                      std::to_string(state_->info.max_batch));
    return false;
  }
  const bool done = run(Addresses(bindings, bindings + slots_.size()), batchSize, stream);
  if (inputConsumed != nullptr) record(*inputConsumed, stream);
  return done;
}

bool Context::enqueueV2(void* const* bindings, cudaStream_t stream,
                        cudaEvent_t* inputConsumed) noexcept {
  if (!has_bindings(bindings, "IExecutionContext::enqueueV2")) return false;
  const bool done = run(Addresses(bindings, bindings + slots_.size()), default_batch(), stream);
  if (inputConsumed != nullptr) record(*inputConsumed, stream);
  return done;
}

bool Context::setOptimizationProfile(int32_t profileIndex) noexcept {
  return setOptimizationProfileAsync(profileIndex, nullptr);
}

bool Context::setBindingDimensions(int32_t bindingIndex, Dims dimensions) noexcept {
  return setInputShape(engine().getBindingName(bindingIndex), dimensions);
}
Dims Context::getBindingDimensions(int32_t bindingIndex) const noexcept {
  return getTensorShape(engine().getBindingName(bindingIndex));
}
Dims Context::getStrides(int32_t bindingIndex) const noexcept {
  return getTensorStrides(engine().getBindingName(bindingIndex));
}
bool Context::setInputShapeBinding(int32_t, int32_t const*) noexcept { return false; }
bool Context::getShapeBinding(int32_t, int32_t*) const noexcept { return false; }
#endif

}  // namespace octet_trt

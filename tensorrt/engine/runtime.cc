// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/engine/runtime.h"

#include <span>
#include <vector>

#include "tensorrt/engine/engine.h"
#include "tensorrt/plugins/registry.h"

namespace octet_trt {

ICudaEngine* Runtime::deserializeCudaEngine(void const* blob, std::size_t size) noexcept {
  return guarded(
      reporter_, "IRuntime::deserializeCudaEngine", static_cast<ICudaEngine*>(nullptr), [&] {
        if (blob == nullptr) refuse("the plan is a null pointer");
        const octet::Engine engine = load_plan({static_cast<const std::byte*>(blob), size});
        return make_engine(engine, reporter_);
      });
}

#if NV_TENSORRT_MAJOR < 10
ICudaEngine* Runtime::deserializeCudaEngine(void const* blob, std::size_t size, void*) noexcept {
  return deserializeCudaEngine(blob, size);
}
#else
namespace {

constexpr int64_t kChunk = int64_t{1} << 20;

// Reads to the end, which a reader tells by giving fewer bytes than were asked for. One that is wrong about what it gave is not asked again.
template <class Read>
std::vector<std::byte> read_all(const Read& read) {
  std::vector<std::byte> bytes;
  for (int64_t got = kChunk; got == kChunk;) {
    const size_t at = bytes.size();
    bytes.resize(at + kChunk);
    got = read(bytes.data() + at, kChunk);
    if (got < 0 || got > kChunk)
      refuse("the reader says that it gave " + std::to_string(got) + " bytes, and " +
             std::to_string(kChunk) + " were asked for");
    bytes.resize(at + static_cast<size_t>(got));
  }
  return bytes;
}

}  // namespace

ICudaEngine* Runtime::deserializeCudaEngine(IStreamReader& streamReader) noexcept {
  return guarded(
      reporter_, "IRuntime::deserializeCudaEngine", static_cast<ICudaEngine*>(nullptr), [&] {
        need(&streamReader, "reader");
        const auto bytes =
            read_all([&](void* to, int64_t count) { return streamReader.read(to, count); });
        return deserializeCudaEngine(bytes.data(), bytes.size());
      });
}

ICudaEngine* Runtime::deserializeCudaEngineV2(IStreamReaderV2& streamReader) noexcept {
  return guarded(
      reporter_, "IRuntime::deserializeCudaEngine", static_cast<ICudaEngine*>(nullptr), [&] {
        need(&streamReader, "reader");
        const auto bytes = read_all(
            [&](void* to, int64_t count) { return streamReader.read(to, count, nullptr); });
        return deserializeCudaEngine(bytes.data(), bytes.size());
      });
}

// There is one registry.
void Runtime::setPluginRegistryParent(IPluginRegistry*) noexcept {}

EngineValidity plan_validity(void const* blob, int64_t size, uint64_t* diagnostics) noexcept {
  try {
    if (blob == nullptr || size < 0) refuse("no plan");
    load_plan({static_cast<const std::byte*>(blob), static_cast<size_t>(size)});
    if (diagnostics != nullptr) *diagnostics = 0;
    return EngineValidity::kVALID;
  } catch (const std::exception&) {
    if (diagnostics != nullptr)
      *diagnostics = static_cast<uint64_t>(EngineInvalidityDiagnostics::kMALFORMED_ENGINE);
    return EngineValidity::kINVALID;
  }
}
#endif

void Runtime::setDLACore(int32_t dlaCore) noexcept { dla_core_ = dlaCore; }
int32_t Runtime::getDLACore() const noexcept { return dla_core_; }
int32_t Runtime::getNbDLACores() const noexcept { return 0; }
void Runtime::setGpuAllocator(IGpuAllocator*) noexcept {}
void Runtime::setErrorRecorder(IErrorRecorder* recorder) noexcept { reporter_.recorder = recorder; }
IErrorRecorder* Runtime::getErrorRecorder() const noexcept { return reporter_.recorder; }
ILogger* Runtime::getLogger() const noexcept { return reporter_.logger; }
bool Runtime::setMaxThreads(int32_t maxThreads) noexcept {
  if (maxThreads < 1) return false;
  max_threads_ = maxThreads;
  return true;
}
int32_t Runtime::getMaxThreads() const noexcept { return max_threads_; }
void Runtime::setTemporaryDirectory(char const* path) noexcept {
  temporary_ = path == nullptr ? "" : path;
}
char const* Runtime::getTemporaryDirectory() const noexcept { return temporary_.c_str(); }
void Runtime::setTempfileControlFlags(TempfileControlFlags flags) noexcept { tempfiles_ = flags; }
TempfileControlFlags Runtime::getTempfileControlFlags() const noexcept { return tempfiles_; }
IPluginRegistry& Runtime::getPluginRegistry() noexcept { return registry(); }

// Plans are data here: one runtime reads those of all versions.
IRuntime* Runtime::loadRuntime(char const*) noexcept { return new Runtime(reporter_.logger); }
void Runtime::setEngineHostCodeAllowed(bool allowed) noexcept { host_code_ = allowed; }
bool Runtime::getEngineHostCodeAllowed() const noexcept { return host_code_; }

}  // namespace octet_trt

// SPDX-License-Identifier: Apache-2.0
// A GPU for the checks of plugins.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/backends.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/queue.h"
#include "octet/plugins.h"
#include "plugin/check_plugin.h"

namespace octet {
namespace cuda {
namespace {

// A function of the host in a stream, which returns when it is opened.
class Gate {
 public:
  // False where it did not wait so long.
  bool open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
    return !late_;
  }
  static void wait(void* gate) { static_cast<Gate*>(gate)->wait(); }

 private:
  void wait() {
    // Calls of a plugin take no such time: kernels were loaded before.
    constexpr std::chrono::seconds kPatience{3};
    std::unique_lock lock(mutex_);
    late_ = !changed_.wait_for(lock, kPatience, [this] { return open_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false, late_ = false;
};

class CudaCheckStream final : public CheckStream {
 public:
  explicit CudaCheckStream(const CudaDevice& device) : queue_(device) {}
  ~CudaCheckStream() override {
    for (const auto& gate : gates_) gate->open();
    if (queue_.device().try_make_current()) driver().cuStreamSynchronize(queue_.stream());
  }
  CudaCheckStream(const CudaCheckStream&) = delete;
  CudaCheckStream& operator=(const CudaCheckStream&) = delete;

  void* handle() override {
    queue_.device().make_current();
    return queue_.stream();
  }
  void copy(std::byte* to, const std::byte* from, s64 bytes) override {
    queue_.copy(to, from, bytes);
  }
  void hold() override {
    queue_.device().make_current();
    Gate& gate = *gates_.emplace_back(std::make_unique<Gate>());
    queue_.check_call(driver().cuLaunchHostFunc(queue_.stream(), Gate::wait, &gate),
                      "to hold a stream");
  }
  bool release() override { return gates_.back()->open(); }
  void begin_after(CheckStream& other) override { queue_.begin_after(other.handle()); }
  void synchronize() override { queue_.synchronize(); }

 private:
  CudaQueue queue_;
  std::vector<std::unique_ptr<Gate>>
      gates_;  // the driver may come to them as long as the stream is
};

class CudaCheckDevice final : public CheckDevice {
 public:
  explicit CudaCheckDevice(const CudaDevice& device) : device_(device) { device_.make_current(); }

  std::string name() const override {
    return std::string(device_.name()) + " (" + device_.chip().name + ")";
  }
  int index() const override { return device_.ordinal(); }
  std::shared_ptr<std::byte> allocate(s64 bytes) const override {
    return device_.allocate(bytes, "a tensor that is checked");
  }
  s64 free_bytes() const override {
    size_t free = 0, total = 0;
    device_.make_current();
    device_.check_call(driver().cuMemGetInfo(&free, &total), "to measure its memory");
    return static_cast<s64>(free);
  }
  std::unique_ptr<CheckStream> make_stream() const override {
    return std::make_unique<CudaCheckStream>(device_);
  }
  // The default stream waits for those that wait for it; others have a moment.
  void let_others_work() const override {
    constexpr std::chrono::milliseconds kMoment{10};
    device_.make_current();
    device_.check_call(driver().cuStreamSynchronize(nullptr),
                       "while work of the default stream was running");
    std::this_thread::sleep_for(kMoment);
  }

 private:
  const CudaDevice& device_;
};

std::unique_ptr<CheckDevice> open_check_device(const std::string& name) {
  return std::make_unique<CudaCheckDevice>(cuda_device(&find_device(name)));
}

}  // namespace

}  // namespace cuda

PluginCheck check_plugin(const std::filesystem::path& library, const PluginCheckOptions& options) {
  if (options.device.empty()) return check_plugin(library, options, nullptr);
  if (!options.device.starts_with("cuda"))
    fail(Error::Code::invalid_argument,
         "combinations of plugins are for CUDA pointers; '{}' is no device of CUDA (cuda, cuda:1)",
         options.device);
  return check_plugin(library, options, [&] { return cuda::open_check_device(options.device); });
}

}  // namespace octet

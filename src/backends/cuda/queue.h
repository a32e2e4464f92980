// SPDX-License-Identifier: Apache-2.0
// A stream of a GPU, and what steps put into it.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "backends/cuda/device.h"
#include "backends/cuda/kernel.h"
#include "backends/cuda/report.h"
#include "plan/device.h"
#include "plan/offer.h"
#include "plan/stream_guest.h"

namespace octet::cuda {

// Blocks, threads, and what else a launch says.
struct LaunchShape {
  s64 blocks = 1;
  int threads = 256;
  s64 shared_bytes = 0;
  // May begin before its predecessor has ended; the kernel waits itself.
  bool programmatic_dependent = false;
};

class CudaQueue final : public Queue, public StreamGuest {
 public:
  explicit CudaQueue(const CudaDevice& device);
  ~CudaQueue() override;
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  const CudaDevice& device() const { return device_; }
  CUstream stream() const { return stream_; }

  // `parameters`: the Params that the kernel takes, read before the call returns.
  template <class P>
  void launch(const Kernel& kernel, const LaunchShape& shape, const P& parameters) {
    launch_bytes(kernel, shape, &parameters);
  }
  // The struct of those that a step's kernels take.
  template <class... P>
  void launch(const Kernel& kernel, const LaunchShape& shape,
              const std::variant<P...>& parameters) {
    std::visit([&](const auto& p) { launch(kernel, shape, p); }, parameters);
  }

  // Memory of the device for work that the queue gets now: at least so many bytes, until the next call.
  std::byte* scratch(s64 bytes, const char* what);
  // What kernels of this queue may write from now on, until it is gone.
  void watch(const std::shared_ptr<Report>& report);
  // Throws what is reported. The kernels that report it are done.
  void check_reports();

  void copy(std::byte* to, const std::byte* from, s64 bytes) override;
  std::unique_ptr<Event> make_event() override;
  void record(Event& event) override;
  // The second time as a graph of the driver's, which starts a kernel for a fraction of what a call costs.
  void repeat(std::unique_ptr<KeptWork>& kept, const std::function<void()>& give) override;
  void begin_after(void* stream) override;
  void end_before(void* stream) override;
  bool enter(void* stream) override;
  void leave() override;
  void synchronize() override;

  void check_call(CUresult result, const std::string& doing) const {
    device_.check_call(result, doing);
  }

 private:
  struct Empty {};
  CudaQueue(const CudaDevice& device, Empty) : device_(device) {}
  CUgraphExec capture(const std::function<void()>& give);
  void wait_for_all();
  // `second` goes on when what `first` was given is done; one of them is the caller's.
  void order(CUstream first, CUstream second);
  void launch_bytes(const Kernel& kernel, const LaunchShape& shape, const void* parameters);

  const CudaDevice& device_;
  CUstream own_ = nullptr;
  CUstream stream_ =
      nullptr;  // what work is given to: its own one, or the caller's that it has entered
  CUstream known_ = nullptr;  // of the device, as the driver said
  bool is_own_behind_ =
      false;  // of all work: nothing was given to the own stream since the last leave()
  CUevent mark_ = nullptr;  // of order()
  CUevent left_ = nullptr;  // of leave()
  std::shared_ptr<std::byte> scratch_;
  s64 scratch_bytes_ = 0;
  std::vector<std::weak_ptr<Report>> reports_;
};

inline CudaQueue& cuda_queue(const StepArgs& args) { return static_cast<CudaQueue&>(args.queue); }

}  // namespace octet::cuda

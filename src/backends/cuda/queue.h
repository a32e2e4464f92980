// SPDX-License-Identifier: Apache-2.0
// A stream of a GPU, and what steps put into it.
#pragma once

#include <memory>
#include <string>

#include "backends/cuda/device.h"
#include "backends/cuda/kernel.h"
#include "plan/device.h"
#include "plan/offer.h"

namespace octet::cuda {

// Blocks, threads, and what else a launch says.
struct LaunchShape {
  s64 blocks = 1;
  int threads = 256;
  s64 shared_bytes = 0;
  // May begin before its predecessor has ended; the kernel waits itself.
  bool programmatic_dependent = false;
};

class CudaQueue final : public Queue {
 public:
  explicit CudaQueue(const CudaDevice& device);
  ~CudaQueue() override;
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  const CudaDevice& device() const { return device_; }
  CUstream stream() const { return stream_; }

  // `parameters`: the struct of params.inc that the kernel takes, read before the call returns.
  template <class P>
  void launch(const Kernel& kernel, const LaunchShape& shape, const P& parameters) {
    launch_bytes(kernel, shape, &parameters);
  }

  void copy(std::byte* to, const std::byte* from, s64 bytes) override;
  std::unique_ptr<Event> make_event() override;
  void record(Event& event) override;
  // The second time as a graph of the driver's, which starts a kernel for a fraction of what a call costs.
  void repeat(std::unique_ptr<KeptWork>& kept, const std::function<void()>& give) override;
  void begin_after(void* stream) override;
  void end_before(void* stream) override;
  void synchronize() override;

  // Throws Error for a failed call; the device serves nobody after one that it does not recover from.
  void check_call(CUresult result, const char* doing) const;

 private:
  CUgraphExec capture(const std::function<void()>& give);
  // `second` goes on when what `first` was given is done; one of them is the caller's.
  void order(CUstream first, CUstream second);
  void launch_bytes(const Kernel& kernel, const LaunchShape& shape, const void* parameters);

  const CudaDevice& device_;
  CUstream stream_ = nullptr;
  CUevent mark_ = nullptr;  // of order()
};

inline CudaQueue& cuda_queue(const StepArgs& args) { return static_cast<CudaQueue&>(args.queue); }

}  // namespace octet::cuda

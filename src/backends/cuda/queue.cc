// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/queue.h"

#include <algorithm>
#include <utility>

#include "backends/cuda/driver.h"
#include "core/check.h"

namespace octet::cuda {
namespace {

CUdeviceptr address(const std::byte* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

struct CudaEvent final : Event {
  explicit CudaEvent(CudaQueue& owner) : queue(owner) {
    queue.device().make_current();
    queue.check_call(driver().cuEventCreate(&event, kEventWithTime), "to make an event");
  }
  ~CudaEvent() override {
    if (queue.device().try_make_current()) driver().cuEventDestroy(event);
  }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  void synchronize() override {
    queue.check_call(driver().cuEventSynchronize(event), "while work was running");
    queue.check_reports();
  }
  f64 microseconds_since(const Event& earlier) const override {
    float milliseconds = 0;
    auto* const begin = static_cast<const CudaEvent&>(earlier).event;
    queue.check_call(driver().cuEventElapsedTime(&milliseconds, begin, event), "to read a clock");
    return 1e3 * static_cast<f64>(milliseconds);
  }

  CudaQueue& queue;
  CUevent event = nullptr;
};

struct GraphWork final : KeptWork {
  explicit GraphWork(const CudaDevice& owner) : device(owner) {}
  ~GraphWork() override {
    if (graph != nullptr && device.try_make_current()) driver().cuGraphExecDestroy(graph);
  }
  GraphWork(const GraphWork&) = delete;
  GraphWork& operator=(const GraphWork&) = delete;

  const CudaDevice& device;
  CUgraphExec graph = nullptr;  // null: given once, not yet kept
};

}  // namespace

// The destructor cleans up behind a failure, too.
CudaQueue::CudaQueue(const CudaDevice& device) : CudaQueue(device, Empty{}) {
  device_.make_current();
  check_call(driver().cuStreamCreate(&own_, kStreamNonBlocking), "to make a stream");
  stream_ = own_;
  check_call(driver().cuEventCreate(&mark_, kEventWithoutTime), "to make an event");
  check_call(driver().cuEventCreate(&left_, kEventWithoutTime), "to make an event");
}

// Work that was given before lies before in the stream.
std::byte* CudaQueue::scratch(s64 bytes, const char* what) {
  if (scratch_ != nullptr && bytes <= scratch_bytes_) return scratch_.get();
  synchronize();
  scratch_.reset();
  scratch_bytes_ = 0;
  scratch_ = device_.allocate(bytes, what);
  scratch_bytes_ = bytes;
  return scratch_.get();
}

CudaQueue::~CudaQueue() {
  if (!device_.try_make_current()) return;
  if (left_ != nullptr) driver().cuEventDestroy(left_);
  if (mark_ != nullptr) driver().cuEventDestroy(mark_);
  if (own_ != nullptr) driver().cuStreamDestroy(own_);
}

void CudaQueue::launch_bytes(const Kernel& kernel, const LaunchShape& shape,
                             const void* parameters) {
  if (shape.blocks == 0) return;
  device_.make_current();
  is_own_behind_ = false;
  CUlaunchAttribute attribute{};
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>(shape.blocks);
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = static_cast<unsigned>(shape.threads);
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = static_cast<unsigned>(shape.shared_bytes);
  config.hStream = stream_;
  config.attrs = &attribute;
  if (shape.programmatic_dependent && device_.chip().has(Instruction::pdl)) {
    config.numAttrs = 1;
    attribute.id = kLaunchProgrammaticDependent;
    attribute.value.flag = 1;
  }
  // The driver reads the struct, and copies it, before the call returns.
  void* list[] = {const_cast<void*>(parameters)};
  const CUresult result = driver().cuLaunchKernelEx(&config, kernel.function(), list, nullptr);
  if (result != kSuccess) check_call(result, "to start kernel " + kernel.name());
}

void CudaQueue::copy(std::byte* to, const std::byte* from, s64 bytes) {
  if (bytes == 0) return;
  device_.make_current();
  is_own_behind_ = false;
  check_call(
      driver().cuMemcpyAsync(address(to), address(from), static_cast<size_t>(bytes), stream_),
      "to copy");
}

std::unique_ptr<Event> CudaQueue::make_event() { return std::make_unique<CudaEvent>(*this); }

void CudaQueue::record(Event& event) {
  device_.make_current();
  check_call(driver().cuEventRecord(static_cast<CudaEvent&>(event).event, stream_),
             "to record an event");
}

// Nothing is kept of what runs once. What is given while a stream is captured does not run; a stream of the caller that is captured
// takes this one along, and then its graph keeps the work.
void CudaQueue::repeat(std::unique_ptr<KeptWork>& kept, const std::function<void()>& give) {
  if (kept == nullptr) {
    kept = std::make_unique<GraphWork>(device_);
    return give();
  }
  device_.make_current();
  int capturing = 0;
  is_own_behind_ = false;
  check_call(driver().cuStreamIsCapturing(stream_, &capturing), "to look at a stream");
  if (capturing != 0) return give();
  auto& work = static_cast<GraphWork&>(*kept);
  if (work.graph == nullptr) work.graph = capture(give);
  check_call(driver().cuGraphLaunch(work.graph, stream_), "to start a graph of kernels");
}

// In its own stream: others may be giving work to the caller's.
CUgraphExec CudaQueue::capture(const std::function<void()>& give) {
  const Driver& api = driver();
  struct Back {
    CUstream& now;
    CUstream before;
    ~Back() { now = before; }
  } const back{stream_, std::exchange(stream_, own_)};
  check_call(api.cuStreamBeginCapture(stream_, kCaptureThreadLocal), "to record kernels");
  CUgraph graph = nullptr;
  try {
    give();
  } catch (...) {
    api.cuStreamEndCapture(stream_, &graph);
    if (graph != nullptr) api.cuGraphDestroy(graph);
    throw;
  }
  check_call(api.cuStreamEndCapture(stream_, &graph), "to record kernels");
  CUgraphExec executable = nullptr;
  const CUresult made = api.cuGraphInstantiate(&executable, graph, 0);
  api.cuGraphDestroy(graph);
  check_call(made, "to make a graph of kernels");
  return executable;
}

void CudaQueue::order(CUstream first, CUstream second) {
  device_.make_current();
  CUresult result = driver().cuEventRecord(mark_, first);
  if (result == kSuccess) result = driver().cuStreamWaitEvent(second, mark_, 0);
  if (result == kInvalidHandle || result == kInvalidContext)
    fail(Error::Code::invalid_argument, "the stream that a run is given is none of {}: {}",
         device_.name(), error_text(result));
  check_call(result, "to wait for a stream");
}

void CudaQueue::begin_after(void* stream) {
  is_own_behind_ = false;
  order(static_cast<CUstream>(stream), stream_);
}

void CudaQueue::end_before(void* stream) { order(stream_, static_cast<CUstream>(stream)); }

// A stream of another device is told by what waits for it. What the last run left behind its stream is waited for by name, as a new stream may
// have the handle of that one; in the same stream the driver has nothing to wait for.
bool CudaQueue::enter(void* stream) {
  const auto callers = static_cast<CUstream>(stream);
  device_.make_current();
  int capturing = 0;
  if (driver().cuStreamIsCapturing(callers, &capturing) != kSuccess || capturing != 0) return false;
  if (callers != known_) order(callers, own_);
  known_ = callers;
  if (is_own_behind_)
    check_call(driver().cuStreamWaitEvent(callers, left_, 0), "to wait for the last run");
  else
    order(own_, callers);
  stream_ = callers;
  return true;
}

void CudaQueue::leave() {
  auto* const callers = std::exchange(stream_, own_);
  is_own_behind_ = false;
  device_.make_current();
  check_call(driver().cuEventRecord(left_, callers), "to record an event");
  check_call(driver().cuStreamWaitEvent(own_, left_, 0), "to wait for a stream");
  is_own_behind_ = true;
}

void CudaQueue::synchronize() {
  wait_for_all();
  check_reports();
}

void CudaQueue::wait_for_all() {
  device_.make_current();
  check_call(driver().cuStreamSynchronize(stream_), "while work was running");
}

void CudaQueue::watch(const std::shared_ptr<Report>& report) {
  const auto is_report = [&](const std::weak_ptr<Report>& r) { return r.lock() == report; };
  if (std::ranges::any_of(reports_, is_report)) return;
  std::erase_if(reports_, [](const std::weak_ptr<Report>& r) { return r.expired(); });
  reports_.push_back(report);
}

// Behind an event kernels may still run that write to them, too. The first in the order of steps counts; of what follows from it, and of the
// runs behind it, nothing is told.
void CudaQueue::check_reports() {
  std::shared_ptr<Report> first;
  for (const std::weak_ptr<Report>& watched : reports_) {
    const std::shared_ptr<Report> report = watched.lock();
    if (report == nullptr || report->is_empty()) continue;
    if (first != nullptr) {
      report->clear();
      continue;
    }
    wait_for_all();
    first = report;
  }
  if (first != nullptr) first->deliver();
}

}  // namespace octet::cuda

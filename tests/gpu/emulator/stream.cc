// SPDX-License-Identifier: Apache-2.0
// Streams, events, captures and graphs. Work is done when it is given, or when somebody waits for it: with OCTET_EMULATED_LATE, and in
// streams that are held because a function of the host stands in them.
#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "device.h"

struct CUgraph_st {
  std::vector<octet::emulator::Task> tasks;  // in the order in which they were given
  bool valid = true;
};

struct CUgraphExec_st {
  CUcontext context;
  std::vector<octet::emulator::Task> tasks;
};

namespace octet::emulator {

using Clock = std::chrono::steady_clock;

// Outlives its event where work is pending.
struct Mark {
  CUstream stream = nullptr;
  unsigned long long until = 0;  // work of the stream
  bool done = false;
  Clock::time_point time;
};

struct Work {
  Task task;
  std::shared_ptr<Mark> after = nullptr;  // of work that waits
  bool calls_host = false;

  bool can_begin() const { return !calls_host && (after == nullptr || after->done); }
};

}  // namespace octet::emulator

struct CUstream_st {
  CUcontext context;
  unsigned flags;
  std::deque<octet::emulator::Work> pending;
  unsigned long long given = 0, done = 0;
  bool held = false;  // what it is given is not done at once
  bool busy = false;
  CUgraph capture = nullptr;
  bool captures_here = false;  // began the capture, and did not join it
};

namespace octet::emulator {
namespace {

thread_local int captures_of_thread = 0;

Handles<CUstream_st>& streams() {
  static auto* all = new Handles<CUstream_st>;
  return *all;
}

Handles<CUgraph_st>& graphs() {
  static auto* all = new Handles<CUgraph_st>;
  return *all;
}

Handles<CUgraphExec_st>& execs() {
  static auto* all = new Handles<CUgraphExec_st>;
  return *all;
}

CUstream resolve(CUstream stream) {
  if (stream != nullptr) return stream;
  CUcontext context = current();
  if (context->default_stream == nullptr)
    context->default_stream = streams().make(CUstream_st{context, 0, {}});
  return context->default_stream;
}

void perform(CUcontext context, const Task& task) {
  if (context->sticky != 0) return;
  const Within device(context);
  context->sticky = task();
}

void finish_one(CUstream stream) {
  const Work work = std::move(stream->pending.front());
  stream->pending.pop_front();
  ++stream->done;
  stream->busy = true;
  perform(stream->context, work.task);
  stream->busy = false;
  if (stream->pending.empty()) stream->held = false;
}

// Streams that were held together go on together.
void go_on_beside(CUstream stream) {
  if (late()) return;
  for (CUstream other : streams().all()) {
    const bool may = other != stream && other->context == stream->context && other->held &&
                     !other->busy && !other->pending.empty();
    if (may && other->pending.front().can_begin()) finish_one(other);
  }
}

void finish_until(CUstream stream, unsigned long long until) {
  while (stream->done < until && !stream->pending.empty()) {
    finish_one(stream);
    go_on_beside(stream);
  }
}

// The default stream waits for those that do not say otherwise.
void finish_blocking(CUcontext context) {
  for (CUstream stream : streams().all())
    if (stream->context == context && stream->flags == 0) finish_until(stream, stream->given);
}

void wait_for(const std::shared_ptr<Mark>& mark) {
  if (mark != nullptr && !mark->done && streams().has(mark->stream))
    finish_until(mark->stream, mark->until);
}

CUresult give(CUstream stream, Work work) {
  if (stream->capture != nullptr) {
    stream->capture->tasks.push_back(std::move(work.task));
    return 0;
  }
  stream->held |= work.calls_host || !work.can_begin();
  stream->pending.push_back(std::move(work));
  ++stream->given;
  if (!late() && !stream->held) finish_until(stream, stream->given);
  return 0;
}

// The default stream begins behind those that do not say otherwise.
CUstream ready_stream(CUstream stream) {
  if (stream == nullptr) finish_blocking(current());
  return resolve(stream);
}

}  // namespace

CUresult check_stream(CUstream stream) {
  if (stream == nullptr) return 0;
  if (!streams().has(stream) || stream->context != current()) return kInvalidHandle;
  return stream->capture != nullptr && !stream->capture->valid ? kCaptureInvalidated : 0;
}

bool is_capturing(CUstream stream) { return stream != nullptr && stream->capture != nullptr; }

CUresult submit(CUstream stream, Task task) {
  return give(ready_stream(stream), {std::move(task)});
}

void finish(CUstream stream) {
  stream = ready_stream(stream);
  finish_until(stream, stream->given);
}

void finish_all(CUcontext context) {
  for (CUstream stream : streams().all())
    if (stream->context == context) finish_until(stream, stream->given);
}

CUresult refuse_in_capture() {
  if (captures_of_thread == 0) return 0;
  for (CUstream stream : streams().all())
    if (stream->capture != nullptr) stream->capture->valid = false;
  return kCaptureUnsupported;
}

}  // namespace octet::emulator

using namespace octet::emulator;

struct CUevent_st {
  CUcontext context;
  unsigned flags;
  std::shared_ptr<Mark> mark;
  CUgraph captured = nullptr;
};

namespace {

constexpr unsigned kNoTime = 2;

Handles<CUevent_st>& events() {
  static auto* all = new Handles<CUevent_st>;
  return *all;
}

}  // namespace

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  EMULATED_ENTER("cuStreamCreate", context);
  if (flags > octet::cuda::kStreamNonBlocking) return kInvalidValue;
  *stream = streams().make(CUstream_st{current(), flags, {}});
  return 0;
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  EMULATED_ENTER("cuStreamDestroy_v2", context);
  if (!streams().has(stream)) return kInvalidHandle;
  finish_until(stream, stream->given);
  streams().destroy(stream);
  return 0;
}

CUresult cuStreamSynchronize(CUstream stream) {
  EMULATED_ENTER("cuStreamSynchronize", context);
  if (const CUresult error = check_stream(stream)) return error;
  if (is_capturing(stream)) {
    stream->capture->valid = false;
    return kCaptureUnsupported;
  }
  finish(stream);
  return current()->sticky;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  EMULATED_ENTER("cuStreamWaitEvent", context);
  if (const CUresult error = check_stream(stream)) return error;
  if (!events().has(event)) return kInvalidHandle;
  if (event->captured != nullptr) {
    if (stream == nullptr || (is_capturing(stream) && stream->capture != event->captured))
      return kCaptureIllegal;
    stream->capture = event->captured;  // it takes part in the capture now
    return 0;
  }
  if (is_capturing(stream)) return kCaptureIllegal;
  if (event->mark == nullptr) return 0;
  const auto wait = [mark = event->mark] {
    wait_for(mark);
    return 0;
  };
  return give(ready_stream(stream), {wait, event->mark});
}

CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void*), void* user) {
  EMULATED_ENTER("cuLaunchHostFunc", context);
  if (const CUresult error = check_stream(stream)) return error;
  if (function == nullptr) return kInvalidValue;
  const auto call = [=] {
    function(user);
    return 0;
  };
  return give(ready_stream(stream), {call, nullptr, true});
}

CUresult cuStreamIsCapturing(CUstream stream, int* status) {
  EMULATED_ENTER("cuStreamIsCapturing", context);
  if (const CUresult error = check_stream(stream)) return error;
  *status = is_capturing(stream) ? 1 : 0;
  return 0;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
  EMULATED_ENTER("cuStreamBeginCapture_v2", context);
  if (stream == nullptr) return kCaptureUnsupported;
  if (const CUresult error = check_stream(stream)) return error;
  if (is_capturing(stream) || mode < 0 || mode > 2) return kInvalidValue;
  stream->capture = graphs().make();
  stream->captures_here = true;
  ++captures_of_thread;
  return 0;
}

namespace {

CUgraph end_capture(CUstream stream) {
  CUgraph captured = stream->capture;
  --captures_of_thread;
  stream->captures_here = false;
  for (CUstream other : streams().all())
    if (other->capture == captured) other->capture = nullptr;
  for (CUevent event : events().all())
    if (event->captured == captured) event->captured = nullptr;
  return captured;
}

}  // namespace

// A capture has ended also where this fails.
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  const std::lock_guard machine(machine_lock());
  *graph = nullptr;
  const CUresult failed = enter("cuStreamEndCapture", Needs::context);
  if (stream == nullptr || !streams().has(stream) || stream->context != current())
    return kInvalidHandle;
  if (!is_capturing(stream) || !stream->captures_here) return kInvalidValue;
  if (captures_of_thread == 0) return kCaptureWrongThread;
  CUgraph captured = end_capture(stream);
  if (captured->valid && failed == 0) {
    *graph = captured;
    return 0;
  }
  graphs().destroy(captured);
  return failed != 0 ? failed : kCaptureInvalidated;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  EMULATED_ENTER("cuGraphInstantiateWithFlags", context);
  if (!graphs().has(graph)) return kInvalidHandle;
  *exec = execs().make(CUgraphExec_st{current(), graph->tasks});
  return 0;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  EMULATED_ENTER("cuGraphLaunch", context);
  if (const CUresult error = check_stream(stream)) return error;
  if (!execs().has(exec) || exec->context != current()) return kInvalidHandle;
  for (const Task& task : exec->tasks)
    if (const CUresult error = submit(stream, task)) return error;
  return 0;
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  EMULATED_ENTER("cuGraphExecDestroy", context);
  return execs().destroy(exec) ? 0 : kInvalidHandle;
}

CUresult cuGraphDestroy(CUgraph graph) {
  EMULATED_ENTER("cuGraphDestroy", context);
  return graphs().destroy(graph) ? 0 : kInvalidHandle;
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  EMULATED_ENTER("cuEventCreate", context);
  *event = events().make(CUevent_st{current(), flags, nullptr});
  return 0;
}

CUresult cuEventDestroy_v2(CUevent event) {
  EMULATED_ENTER("cuEventDestroy_v2", context);
  return events().destroy(event) ? 0 : kInvalidHandle;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  EMULATED_ENTER("cuEventRecord", context);
  if (const CUresult error = check_stream(stream)) return error;
  if (!events().has(event) || event->context != current()) return kInvalidHandle;
  if (is_capturing(stream)) {
    event->captured = stream->capture;
    return 0;
  }
  event->captured = nullptr;
  const auto mark = std::make_shared<Mark>();
  event->mark = mark;
  mark->stream = resolve(stream);
  mark->until = mark->stream->given + 1;
  return submit(stream, [mark] {
    mark->done = true;
    mark->time = Clock::now();
    return 0;
  });
}

CUresult cuEventSynchronize(CUevent event) {
  EMULATED_ENTER("cuEventSynchronize", context);
  if (!events().has(event)) return kInvalidHandle;
  if (event->captured != nullptr) return kCapturedEvent;
  wait_for(event->mark);
  return event->context->sticky;
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  EMULATED_ENTER("cuEventElapsedTime", context);
  for (CUevent event : {begin, end}) {
    if (!events().has(event) || event->mark == nullptr || (event->flags & kNoTime) != 0)
      return kInvalidHandle;
    if (event->captured != nullptr) return kCapturedEvent;
  }
  if (!begin->mark->done || !end->mark->done) return kNotReady;
  const std::chrono::duration<float, std::milli> elapsed = end->mark->time - begin->mark->time;
  *milliseconds = elapsed.count();
  return 0;
}

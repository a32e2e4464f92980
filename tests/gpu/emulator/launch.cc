// SPDX-License-Identifier: Apache-2.0
#include "launch.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstring>

#include "device.h"
#include "order.h"
#include "watch.h"

namespace octet::emulator {
namespace {

constexpr size_t kSharedUnit = 128, kSignalStack = 64 << 10;
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

// Of the one kernel that runs.
struct Running {
  const Launch* launch;
  sigjmp_buf escape;
  CUresult error;
};
Running running;

unsigned char* map_with_guard(size_t bytes) {
  void* address = mmap(nullptr, bytes + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  mprotect(address, bytes, PROT_READ | PROT_WRITE);
  return static_cast<unsigned char*>(address);
}

// Pages that nobody can touch lie behind both.
struct SharedMemory {
  static constexpr size_t kAll = (kMostSharedBytes + kPage - 1) / kPage * kPage;
  unsigned char* const written = map_with_guard(kAll);
  unsigned char* const published = map_with_guard(kAll);
};

void give_shared_memory(EmulatedState& state, size_t bytes) {
  static const SharedMemory all;
  const size_t begin = SharedMemory::kAll - (bytes + kSharedUnit - 1) / kSharedUnit * kSharedUnit;
  state.shared = all.written + begin;
  state.published = all.published + begin;
  state.shared_bytes = static_cast<unsigned>(bytes);
}

const char* described(int signal, const siginfo_t& info) {
  static char text[128];
  if (signal == SIGFPE || signal == SIGILL)
    return signal == SIGFPE ? "it divides by zero" : "it runs an illegal instruction";
  if (in_fiber_guard(info.si_addr)) return "its local memory is larger than the emulator's stacks";
  std::snprintf(text, sizeof text, "it touches the address %p, which it may not", info.si_addr);
  return text;
}

void on_signal(int signal, siginfo_t* info, void*) {
  const Fault fault = fault_at(info->si_addr);
  if (fault == Fault::first_write) return;
  if (fault == Fault::before_wait)
    stop_kernel(kIllegalAddress, "it touches memory before it waits for the kernel in front of it");
  stop_kernel(kIllegalAddress, described(signal, *info));
}

// Takes over the signals of faults, on a stack of its own, while a kernel runs.
class FaultGuard {
 public:
  FaultGuard() {
    static void* const stack = map_with_guard(kSignalStack);
    const stack_t own = {stack, 0, kSignalStack};
    sigaltstack(&own, &old_stack_);
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, old_ + i);
  }
  FaultGuard(const FaultGuard&) = delete;
  FaultGuard& operator=(const FaultGuard&) = delete;
  ~FaultGuard() {
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], old_ + i, nullptr);
    sigaltstack(&old_stack_, nullptr);
  }

 private:
  stack_t old_stack_;
  struct sigaction old_[std::size(kSignals)];
};

void run_block(const Launch& launch, EmulatedDim at, void** values, bool hides) {
  const EmulatedModule& module = launch.module;
  module.state->block = at;
  const auto fixed = static_cast<size_t>(module.static_end - module.static_begin);
  if (fixed != 0) std::memset(module.static_begin, 0xA5, fixed);
  if (launch.shared != 0) {
    std::memset(module.state->shared, 0xA5, launch.shared);
    std::memset(module.state->published, 0xA5, launch.shared);
  }
  if (module.cooperates || hides)
    run_fibers(launch, values, hides);
  else
    launch.kernel->whole_block(values);
}

// From any block on around.
void run_blocks(const Launch& launch, void** values) {
  constexpr unsigned kHiding = 4;  // blocks that show whether a kernel waits
  const EmulatedDim& grid = launch.grid;
  const size_t all = size_t{grid.x} * grid.y * grid.z, first = any_below(grid.x);
  for (size_t i = 0; i < all; ++i) {
    const size_t at = (first + i) % all, row = at / grid.x;
    const EmulatedDim block = {static_cast<unsigned>(at % grid.x),
                               static_cast<unsigned>(row % grid.y),
                               static_cast<unsigned>(row / grid.y)};
    run_block(launch, block, values, launch.watched && launch.programmatic && i < kHiding);
  }
}

}  // namespace

void stop_kernel(CUresult error, const char* why) {
  const EmulatedState& state = *running.launch->module.state;
  std::fprintf(stderr, "emulated GPU: %s, block (%u, %u, %u), thread (%u, %u, %u): %s\n",
               running.launch->name.c_str(), state.block.x, state.block.y, state.block.z,
               state.thread.x, state.thread.y, state.thread.z, why);
  running.error = error;
  siglongjmp(running.escape, 1);
}

bool in_shared_memory(const void* at, size_t bytes) {
  const EmulatedModule& module = running.launch->module;
  const auto* from = static_cast<const unsigned char*>(at);
  const unsigned char* dynamic = module.state->shared;
  const unsigned char* end = dynamic + running.launch->shared;
  return (from >= dynamic && from + bytes <= end) ||
         (from >= module.static_begin && from + bytes <= module.static_end);
}

CUresult run_grid(const Launch& launch) {
  std::vector<void*> values;
  for (const std::vector<char>& value : launch.values)
    values.push_back(const_cast<char*>(value.data()));
  EmulatedState& state = *launch.module.state;
  state = {};
  state.block_dim = launch.block;
  state.grid_dim = launch.grid;
  give_shared_memory(state, launch.shared);
  state.services = &services();
  running.launch = &launch;
  running.error = 0;
  const FaultGuard guard;
  set_peers(false);
  if (launch.watched) begin_watch();
  if (sigsetjmp(running.escape, 1) == 0) run_blocks(launch, values.data());
  end_watch();
  set_peers(true);
  return running.error;
}

}  // namespace octet::emulator

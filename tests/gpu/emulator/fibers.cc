// SPDX-License-Identifier: Apache-2.0
// Threads of a block that wait for each other. Each has a stack and runs until it must wait; then another that can go on does. Warps have
// ranks by chance (order.h): what relies on an order is found. Threads that have returned count as arrived.
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <map>
#include <utility>

#include "device.h"
#include "later.h"
#include "launch.h"
#include "matrix.h"
#include "order.h"
#include "watch.h"

// Saves what a function must keep, and goes on where the other stack was left.
extern "C" void emulated_switch(void** left, void* to);
asm(R"(
.text
.globl emulated_switch
.hidden emulated_switch
.type emulated_switch, @function
emulated_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emulated_switch, .-emulated_switch
)");

namespace octet::emulator {
namespace {

constexpr unsigned kMostThreads = 1024, kLanes = 32, kNamedBarriers = 16;
constexpr size_t kStack = 64 << 10, kGuard = 64 << 10;

struct Fiber {
  void* at;  // where its stack was left
  EmulatedDim index;
};

// Lanes that come together for one thing.
struct Meeting {
  EmulatedWork work;
  unsigned mask, arrived;
  void* lanes[kLanes];
};

struct Warp {
  unsigned alive, ready, parked;  // parked: wait for the predecessor
  std::vector<Meeting> meetings;
};

struct NamedBarrier {
  unsigned arrived, phase;
};

struct Block {
  const Launch* launch;
  void** values;
  unsigned threads, alive, at_barrier, current;
  void* caller;
  Fiber fibers[kMostThreads];
  Warp warps[kMostThreads / kLanes];
  NamedBarrier named[kNamedBarriers];
  unsigned ranks[kMostThreads / kLanes];  // warps, those before others first
  unsigned long yields;                   // since something came
  bool hides;                             // what kernels wrote
};
Block block;
// What was given away: by each thread, and at barriers of shared memory by their address.
LaterQueue own[kMostThreads][kEmulatedLoads];
std::map<unsigned, LaterQueue> loads;

unsigned char* stacks() {
  static unsigned char* const all = [] {
    const size_t bytes = kMostThreads * (kStack + kGuard);
    void* address =
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    auto* first = static_cast<unsigned char*>(address);
    for (unsigned i = 0; i < kMostThreads; ++i)
      mprotect(first + i * (kStack + kGuard) + kGuard, kStack, PROT_READ | PROT_WRITE);
    return first;
  }();
  return all;
}

void* top_of_stack(unsigned thread) { return stacks() + (thread + 1) * (kStack + kGuard); }

// The lane of `warp` that goes on, from `first` on around.
unsigned ready_lane(const Warp& warp, unsigned first) {
  const unsigned turned = std::rotr(warp.ready, static_cast<int>(first % kLanes));
  return (static_cast<unsigned>(std::countr_zero(turned)) + first) % kLanes;
}

unsigned warps_of_block() { return (block.threads + kLanes - 1) / kLanes; }

void shuffle_warps() {
  const unsigned warps = warps_of_block();
  for (unsigned i = 0; i < warps; ++i) block.ranks[i] = i;
  for (unsigned i = 0; i < warps; ++i)
    std::swap(block.ranks[i], block.ranks[i + any_below(warps - i)]);
}

// The warp that asked for something in vain goes behind all others.
void go_behind(unsigned warp) {
  unsigned* end = block.ranks + warps_of_block();
  unsigned* at = std::find(block.ranks, end, warp);
  std::rotate(at, at + 1, end);
}

// A thread that can go on, or kMostThreads: one of the first warp that has any, so that a warp comes as far before others as it can.
unsigned next_thread() {
  for (unsigned i = 0; i < warps_of_block(); ++i) {
    const unsigned w = block.ranks[i];
    if (block.warps[w].ready == 0) continue;
    return w * kLanes + ready_lane(block.warps[w], any_below(kLanes));
  }
  return kMostThreads;
}

void enter_thread(unsigned thread) {
  block.current = thread;
  block.launch->module.state->thread = block.fibers[thread].index;
  block.launch->module.state->lane = thread % kLanes;
}

[[noreturn]] void stop_waiting() {
  static char text[96];
  std::snprintf(text, sizeof text, "no thread can go on: %u of %u wait at a barrier",
                block.at_barrier, block.alive);
  stop_kernel(kLaunchFailed, text);
}

// All that could be done before the predecessor has ended was done.
void end_hiding() {
  block.hides = false;
  show_written();
  for (Warp& warp : block.warps) warp.ready |= std::exchange(warp.parked, 0);
}

// The current thread waits, or has returned.
void leave() {
  const unsigned from = block.current;
  unsigned to = next_thread();
  if (to == kMostThreads && block.hides) {
    end_hiding();
    to = next_thread();
    if (to == from) return;
  }
  if (to == kMostThreads && block.alive != 0) stop_waiting();
  if (to == kMostThreads) {
    emulated_switch(&block.fibers[from].at, block.caller);
    return;
  }
  enter_thread(to);
  emulated_switch(&block.fibers[from].at, block.fibers[to].at);
}

Warp& current_warp() { return block.warps[block.current / kLanes]; }
unsigned current_bit() { return 1u << block.current % kLanes; }

bool open_barrier() {
  if (block.at_barrier == 0 || block.at_barrier < block.alive) return false;
  block.at_barrier = 0;
  for (Warp& warp : block.warps) warp.ready = warp.alive;
  return true;
}

void barrier() {
  ++block.at_barrier;
  if (open_barrier()) return;
  current_warp().ready &= ~current_bit();
  leave();
}

// Does the work of a meeting that is complete.
bool hold(Warp& warp, size_t which) {
  const Meeting& complete = warp.meetings[which];
  if ((complete.mask & warp.alive & ~complete.arrived) != 0) return false;
  const Meeting meeting = complete;
  warp.meetings.erase(warp.meetings.begin() + static_cast<std::ptrdiff_t>(which));
  warp.ready |= meeting.arrived;
  meeting.work(const_cast<void**>(meeting.lanes), meeting.arrived);
  return true;
}

size_t meeting_of(Warp& warp, unsigned mask, EmulatedWork work) {
  size_t i = 0;
  while (i < warp.meetings.size() &&
         (warp.meetings[i].mask != mask || warp.meetings[i].work != work))
    ++i;
  if (i == warp.meetings.size()) warp.meetings.push_back({work, mask, 0, {}});
  return i;
}

void exchange(unsigned mask, EmulatedWork work, void* mine) {
  Warp& warp = current_warp();
  if ((mask & current_bit()) == 0)
    stop_kernel(kLaunchFailed, "it is no lane of the mask that it gives");
  const size_t which = meeting_of(warp, mask, work);
  warp.meetings[which].arrived |= current_bit();
  warp.meetings[which].lanes[block.current % kLanes] = mine;
  if (hold(warp, which)) return;
  warp.ready &= ~current_bit();
  leave();
}

void progress() { block.yields = 0; }

void yield() {
  constexpr unsigned long kForever = 10'000'000;
  if (++block.yields > kForever) stop_kernel(kLaunchFailed, "threads wait for what never comes");
  const unsigned long turns =
      8ul * block.threads;  // threads that only ask again can go on for ever
  if (block.hides && block.yields > turns) end_hiding();
  go_behind(block.current / kLanes);
  const unsigned from = block.current, to = next_thread();
  if (to == from) return;
  enter_thread(to);
  emulated_switch(&block.fibers[from].at, block.fibers[to].at);
}

void named(unsigned id, unsigned threads, bool waits) {
  NamedBarrier& barrier = block.named[id % kNamedBarriers];
  const unsigned phase = barrier.phase;
  if (++barrier.arrived == threads) {
    barrier = {0, phase + 1};
    progress();
  }
  while (waits && barrier.phase == phase) yield();
}

LaterQueue& queue_of(unsigned queue) {
  return queue < kEmulatedLoads ? own[block.current][queue] : loads[queue - kEmulatedLoads];
}

void later(unsigned queue, EmulatedLater work, const void* what, unsigned bytes) {
  queue_of(queue).give(work, what, bytes);
}
void end_group(unsigned queue) { queue_of(queue).end_group(); }
void come(unsigned queue, unsigned left) { queue_of(queue).come(left); }

void wait_for_predecessor() {
  if (!block.hides) return;
  current_warp().ready &= ~current_bit();
  current_warp().parked |= current_bit();
  leave();
}

void trap(const char* why) { stop_kernel(kLaunchFailed, why); }

// A thread that returns may be the last that others wait for.
void run_thread() {
  block.launch->kernel->thread(block.values);
  Warp& warp = current_warp();
  warp.alive &= ~current_bit();
  warp.ready &= ~current_bit();
  --block.alive;
  open_barrier();
  for (size_t i = 0; i < warp.meetings.size();)
    if (!hold(warp, i)) ++i;
  leave();
}

// Laid out as emulated_switch leaves a stack: six registers, where to go on, and the place of a caller that is never returned to.
void prepare(unsigned thread) {
  auto** top = static_cast<void**>(top_of_stack(thread)) - 8;
  std::memset(top, 0, 8 * sizeof *top);
  top[6] = reinterpret_cast<void*>(run_thread);
  const EmulatedDim size = block.launch->block;
  block.fibers[thread] = {top,
                          {thread % size.x, thread / size.x % size.y, thread / size.x / size.y}};
}

}  // namespace

const EmulatedServices& services() {
  static constexpr EmulatedServices all = {barrier,
                                           exchange,
                                           trap,
                                           mma,
                                           mma_m8n8k16,
                                           ldmatrix,
                                           mma_float,
                                           mma_f16_m16n8k8,
                                           yield,
                                           progress,
                                           named,
                                           later,
                                           end_group,
                                           come,
                                           wait_for_predecessor,
                                           sum_of_16};
  return all;
}

bool in_fiber_guard(const void* at) {
  const auto* address = static_cast<const unsigned char*>(at);
  if (address < stacks() || address >= stacks() + kMostThreads * (kStack + kGuard)) return false;
  return static_cast<size_t>(address - stacks()) % (kStack + kGuard) < kGuard;
}

void run_fibers(const Launch& launch, void** values, bool hides) {
  block.launch = &launch;
  block.values = values;
  block.threads = block.alive = launch.block.x * launch.block.y * launch.block.z;
  block.at_barrier = 0;
  block.yields = 0;
  block.hides = hides;
  if (hides) hide_written();
  for (NamedBarrier& barrier : block.named) barrier = {};
  for (unsigned i = 0; i < kMostThreads / kLanes; ++i) {
    const unsigned first = i * kLanes;
    const unsigned count = block.threads > first ? std::min(block.threads - first, kLanes) : 0;
    const unsigned lanes = count == 0 ? 0 : ~0u >> (kLanes - count);
    block.warps[i].alive = block.warps[i].ready = lanes;
    block.warps[i].parked = 0;
    block.warps[i].meetings.clear();
  }
  for (unsigned thread = 0; thread < block.threads; ++thread) {
    prepare(thread);
    for (LaterQueue& queue : own[thread]) queue.clear();
  }
  loads.clear();
  shuffle_warps();
  enter_thread(next_thread());
  emulated_switch(&block.caller, block.fibers[block.current].at);
  for (const auto& [barrier, queue] : loads)
    if (!queue.is_empty())
      stop_kernel(kLaunchFailed, "a copy into shared memory was not waited for");
}

}  // namespace octet::emulator

// SPDX-License-Identifier: Apache-2.0
// Threads of a block that wait for each other. Each has a stack and runs until it must wait; then the next one that can go on does,
// first those of the same warp. Threads that have returned count as arrived.
#include <emmintrin.h>
#include <sys/mman.h>

#include <bit>
#include <cstdio>
#include <cstring>

#include "device.h"
#include "launch.h"

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
  unsigned alive, ready;
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
  unsigned turns[kMostThreads / kLanes];  // of each warp: the lane whose turn it is after a yield
  NamedBarrier named[kNamedBarriers];
  unsigned long yields;  // since something came
};
Block block;

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

// A thread that can go on, or kMostThreads.
unsigned next_thread() {
  const unsigned warps = (block.threads + kLanes - 1) / kLanes;
  const unsigned first = block.current / kLanes;
  for (unsigned i = 0; i < warps; ++i) {
    const unsigned w = (first + i) % warps;
    if (block.warps[w].ready == 0) continue;
    return w * kLanes + ready_lane(block.warps[w], i == 0 ? block.current % kLanes + 1 : 0);
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

// The current thread waits, or has returned.
void leave() {
  const unsigned from = block.current, to = next_thread();
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

// Warps in turn, and the lanes of each.
void yield() {
  constexpr unsigned long kForever = 10'000'000;
  if (++block.yields > kForever) stop_kernel(kLaunchFailed, "threads wait for what never comes");
  const unsigned warps = (block.threads + kLanes - 1) / kLanes, from = block.current;
  unsigned w = (from / kLanes + 1) % warps;
  while (block.warps[w].ready == 0) w = (w + 1) % warps;
  const unsigned to = w * kLanes + ready_lane(block.warps[w], block.turns[w]);
  block.turns[w] = (to + 1) % kLanes;
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

void all_lanes(unsigned present, const char* what) {
  if (present != ~0u) stop_kernel(kLaunchFailed, what);
}

// Two codes of neighboring k in one word, as pmaddwd multiplies them.
struct Tile {
  int a[16][16];  // row, pair of k
  int b[16][8];   // pair of k, column
};

// Bytes 2h and 2h + 1 of `word`, widened to 16 bits.
int widened(unsigned word, int h, bool is_signed) {
  const unsigned low = word >> (16 * h) & 255, high = word >> (16 * h + 8) & 255;
  if (!is_signed) return static_cast<int>(low | high << 16);
  return static_cast<int>((((low ^ 128) - 128) & 0xffff) | ((high ^ 128) - 128) << 16);
}

void gather(Tile& tile, const EmulatedMma& mine, int lane) {
  const int group = lane / 4, k = lane % 4 * 2;
  for (int h = 0; h < 2; ++h) {
    for (int part = 0; part < 4; ++part)
      tile.a[group + part % 2 * 8][k + part / 2 * 8 + h] = widened(mine.a[part], h, mine.a_signed);
    for (int part = 0; part < 2; ++part)
      tile.b[k + part * 8 + h][group] = widened(mine.b[part], h, true);
  }
}

// The fragments of mma.m16n8k32 for 8-bit types, as the PTX manual draws them.
void mma(void** lanes, unsigned present) {
  all_lanes(present, "lanes of the warp are missing at mma");
  Tile tile;
  for (int lane = 0; lane < 32; ++lane)
    gather(tile, *static_cast<const EmulatedMma*>(lanes[lane]), lane);
  alignas(16) int sums[16][8];
  for (int row = 0; row < 16; ++row) {
    __m128i left = _mm_setzero_si128(), right = left;
    for (int k = 0; k < 16; ++k) {
      const __m128i a = _mm_set1_epi32(tile.a[row][k]);
      const auto* b = reinterpret_cast<const __m128i*>(tile.b[k]);
      left = _mm_add_epi32(left, _mm_madd_epi16(a, _mm_loadu_si128(b)));
      right = _mm_add_epi32(right, _mm_madd_epi16(a, _mm_loadu_si128(b + 1)));
    }
    _mm_store_si128(reinterpret_cast<__m128i*>(sums[row]), left);
    _mm_store_si128(reinterpret_cast<__m128i*>(sums[row] + 4), right);
  }
  for (int lane = 0; lane < 32; ++lane) {
    int* d = static_cast<const EmulatedMma*>(lanes[lane])->d;
    for (int i = 0; i < 4; ++i)
      d[i] =
          static_cast<int>(static_cast<unsigned>(d[i]) +
                           static_cast<unsigned>(sums[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2]));
  }
}

void ldmatrix(void** lanes, unsigned present) {
  all_lanes(present, "lanes of the warp are missing at ldmatrix");
  const unsigned char* rows[32];
  for (int lane = 0; lane < 32; ++lane) {
    const void* row = static_cast<const EmulatedLdmatrix*>(lanes[lane])->row;
    if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0)
      stop_kernel(kMisaligned, "a row for ldmatrix is not aligned to 16 bytes");
    if (!in_shared_memory(row, 16))
      stop_kernel(kIllegalAddress, "a row for ldmatrix is outside of shared memory");
    rows[lane] = static_cast<const unsigned char*>(row);
  }
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i)
      std::memcpy(static_cast<EmulatedLdmatrix*>(lanes[lane])->d + i,
                  rows[8 * i + lane / 4] + lane % 4 * 4, 4);
}

}  // namespace

const EmulatedServices& services() {
  static constexpr EmulatedServices all = {barrier,  exchange, trap,     mma,
                                           ldmatrix, yield,    progress, named};
  return all;
}

bool in_fiber_guard(const void* at) {
  const auto* address = static_cast<const unsigned char*>(at);
  if (address < stacks() || address >= stacks() + kMostThreads * (kStack + kGuard)) return false;
  return static_cast<size_t>(address - stacks()) % (kStack + kGuard) < kGuard;
}

void run_fibers(const Launch& launch, void** values) {
  block.launch = &launch;
  block.values = values;
  block.threads = block.alive = launch.block.x * launch.block.y * launch.block.z;
  block.at_barrier = 0;
  block.yields = 0;
  for (NamedBarrier& barrier : block.named) barrier = {};
  for (unsigned i = 0; i < kMostThreads / kLanes; ++i) {
    block.turns[i] = 0;
    const unsigned first = i * kLanes;
    const unsigned count = block.threads > first ? std::min(block.threads - first, kLanes) : 0;
    const unsigned lanes = count == 0 ? 0 : ~0u >> (kLanes - count);
    block.warps[i].alive = block.warps[i].ready = lanes;
    block.warps[i].meetings.clear();
  }
  for (unsigned thread = 0; thread < block.threads; ++thread) prepare(thread);
  enter_thread(0);
  emulated_switch(&block.caller, block.fibers[0].at);
}

}  // namespace octet::emulator

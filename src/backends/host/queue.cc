// SPDX-License-Identifier: Apache-2.0
#include "backends/host/queue.h"

#include <chrono>
#include <cstring>

namespace octet {
namespace {

using Clock = std::chrono::steady_clock;

struct HostEvent final : Event {
  Clock::time_point at;

  void synchronize() override {}
  f64 microseconds_since(const Event& earlier) const override {
    return std::chrono::duration<f64, std::micro>(at - static_cast<const HostEvent&>(earlier).at)
        .count();
  }
};

}  // namespace

void HostQueue::copy(std::byte* to, const std::byte* from, s64 bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

std::unique_ptr<Event> HostQueue::make_event() { return std::make_unique<HostEvent>(); }

void HostQueue::record(Event& event) { static_cast<HostEvent&>(event).at = Clock::now(); }

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <array>
#include <atomic>
#include <csignal>

namespace octet::cli {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM};
std::array<struct sigaction, kSignals.size()> before;
// The handler may run in any thread, and any may ask.
std::atomic<int> interrupted = 0;
static_assert(std::atomic<int>::is_always_lock_free);

void remember(int) { interrupted = 1; }

}  // namespace

InterruptWatch::InterruptWatch() {
  interrupted = 0;
  struct sigaction action = {};
  action.sa_handler = remember;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before[i]);
    // Who is told to ignore it (a background job) goes on doing so.
    if (before[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

InterruptWatch::~InterruptWatch() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before[i], nullptr);
}

bool InterruptWatch::came() { return interrupted != 0; }

void InterruptWatch::forget() { interrupted = 0; }

}  // namespace octet::cli

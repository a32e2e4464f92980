// SPDX-License-Identifier: Apache-2.0
// Tells the processor that a loop waits for another thread: the other half of its core gets the time, and some tens of cycles pass.
#pragma once

namespace octet {

inline void pause_spin() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // `yield` takes no time on most cores
#else
  asm volatile("" ::: "memory");
#endif
}

}  // namespace octet

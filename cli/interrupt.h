// SPDX-License-Identifier: Apache-2.0
// Ctrl-C of a command that has something to save.
#pragma once

namespace octet::cli {

// While it lives the first SIGINT or SIGTERM is remembered, and the next one ends the process as ever.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  static bool came();
  // What follows is not to be ended by it.
  static void forget();
};

}  // namespace octet::cli

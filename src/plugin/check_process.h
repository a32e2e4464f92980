// SPDX-License-Identifier: Apache-2.0
// What a library may not change in the process that loads it.
#pragma once

#include <string>

#include "core/types.h"

namespace octet {

// How floats are rounded and whether small ones count, the locale, the working folder, and who handles crashes.
class ProcessState {
 public:
  ProcessState();
  // Throws Error naming what `who` has changed since.
  void hold(const std::string& who) const;

 private:
  u64 floats_ = 0;
  std::string locale_, folder_;
  void* handlers_[4] = {};
};

}  // namespace octet

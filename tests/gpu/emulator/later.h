// SPDX-License-Identifier: Apache-2.0
// What threads of the running block gave away and what has not come: copies into shared memory, products. It comes as late as it may,
// when a thread waits for it, so that a missing wait, or memory that is written too early, gives other bytes.
#pragma once

#include <cstddef>
#include <vector>

#include "abi.h"

namespace octet::emulator {

// Groups in the order in which they were given.
class LaterQueue {
 public:
  void give(EmulatedLater work, const void* what, unsigned bytes);
  void end_group();
  // All groups but the last `left` come.
  void come(unsigned left);
  bool is_empty() const { return items_.empty(); }
  void clear();

 private:
  struct Item {
    EmulatedLater work;
    size_t at;  // in words_
  };

  std::vector<Item> items_;
  std::vector<unsigned long long> words_;
  std::vector<size_t> groups_;  // where each ends in items_
  size_t done_ = 0, done_groups_ = 0;
};

}  // namespace octet::emulator

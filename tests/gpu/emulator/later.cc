// SPDX-License-Identifier: Apache-2.0
#include "later.h"

#include <cstring>

namespace octet::emulator {

void LaterQueue::give(EmulatedLater work, const void* what, unsigned bytes) {
  items_.push_back({work, words_.size()});
  words_.resize(words_.size() + (bytes + sizeof words_[0] - 1) / sizeof words_[0]);
  std::memcpy(words_.data() + items_.back().at, what, bytes);
}

void LaterQueue::end_group() { groups_.push_back(items_.size()); }

void LaterQueue::come(unsigned left) {
  for (; groups_.size() - done_groups_ > left; ++done_groups_)
    for (; done_ < groups_[done_groups_]; ++done_)
      items_[done_].work(words_.data() + items_[done_].at);
  if (done_ == items_.size() && done_groups_ == groups_.size()) clear();
}

void LaterQueue::clear() {
  items_.clear();
  words_.clear();
  groups_.clear();
  done_ = done_groups_ = 0;
}

}  // namespace octet::emulator

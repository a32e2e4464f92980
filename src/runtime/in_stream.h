// SPDX-License-Identifier: Apache-2.0
// A run in a stream of the caller: its work comes behind what the stream was given before, and before what it is given next.
#pragma once

#include <optional>
#include <utility>

#include "plan/device.h"
#include "plan/stream_guest.h"

namespace octet {

class InStream {
 public:
  // Without a stream it is nothing.
  InStream(Queue& queue, std::optional<void*> stream) : queue_(queue), stream_(stream) {
    if (!stream_) return;
    if (auto* guest = dynamic_cast<StreamGuest*>(&queue);
        guest != nullptr && guest->enter(*stream_))
      guest_ = guest;
    else
      queue_.begin_after(*stream_);
  }
  // Behind a failure.
  ~InStream() {
    try {
      if (guest_ != nullptr) guest_->leave();
    } catch (...) {  // the first one is told
    }
  }
  InStream(const InStream&) = delete;
  InStream& operator=(const InStream&) = delete;

  void end() {
    if (!stream_) return;
    if (guest_ == nullptr) return queue_.end_before(*stream_);
    std::exchange(guest_, nullptr)->leave();
  }

 private:
  Queue& queue_;
  std::optional<void*> stream_;
  StreamGuest* guest_ = nullptr;
};

}  // namespace octet

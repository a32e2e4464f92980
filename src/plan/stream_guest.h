// SPDX-License-Identifier: Apache-2.0
// A queue whose work can go into a stream of the caller itself: then neither of two streams waits for the other.
#pragma once

namespace octet {

class StreamGuest {
 public:
  virtual ~StreamGuest() = default;
  // What the queue is given until leave() goes into `stream`, behind what the queue was given before. False where it cannot, as of a stream that
  // is captured: Queue::begin_after() and end_before() are for that. Throws as these do.
  virtual bool enter(void* stream) = 0;
  // What the queue is given from now on comes behind that. Whatever it throws, the queue has left.
  virtual void leave() = 0;
};

}  // namespace octet

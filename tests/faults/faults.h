// SPDX-License-Identifier: Apache-2.0
// Makes one call fail: the n-th allocation, the n-th system call that reads or writes a file, or the n-th start of a thread.
#pragma once

namespace octet::faults {

enum class Kind {
  allocation,  // operator new throws std::bad_alloc, aligned_alloc gives null
  error,       // read, pread, write, fsync, rename fail with EIO
  short_call,  // read, pread and write move one byte less, as the system may at any time
  early_end,   // read and pread meet the file's end
  thread,      // pthread_create fails with EAGAIN
};

// From now on the n-th call (from 1) of this kind fails, once. Only calls of this thread count.
void arm(Kind kind, long n);
// Ends that; true when the call was reached.
bool disarm();

}  // namespace octet::faults

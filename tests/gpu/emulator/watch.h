// SPDX-License-Identifier: Apache-2.0
// Which memory of the device kernels wrote, by pages, and whose memory they may touch. A kernel that may begin before the one in front of it has ended (programmatic
// dependent launch) touches none of that, and writes nothing, before it waits.
#pragma once

namespace octet::emulator {

// Whether the kernel that runs may touch memory of other devices: it may not, as where nobody asked for peer access.
void set_peers(bool open);

void begin_watch();  // a kernel runs: the first write to a page faults
void end_watch();

void hide_written();  // until it waits, what kernels wrote faults, and every write
void show_written();

// What a fault at `at` means.
enum class Fault {
  first_write,
  before_wait,
  other
};  // first_write: is noted, and may be done again
Fault fault_at(const void* at);

}  // namespace octet::emulator

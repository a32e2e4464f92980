// SPDX-License-Identifier: Apache-2.0
// What the checker needs of a device for whose pointers combinations are declared. Each process opens its own (isolated.h): what a driver
// has opened serves no process that is forked from there.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "core/types.h"

namespace octet {

// Work in order, done later. All members throw the device's Error, which names it and what went wrong.
class CheckStream {
 public:
  virtual ~CheckStream() = default;
  // As the device's own library knows it; the device is current in the calling thread afterwards.
  virtual void* handle() = 0;
  // Between memory of the host, not to be changed until it is done, and of the device, or within either.
  virtual void copy(std::byte* to, const std::byte* from, s64 bytes) = 0;
  // What is given from now on begins when release() was called, or after a time, so that nobody waits forever.
  virtual void hold() = 0;
  // False where the time was over: somebody has waited for the stream.
  virtual bool release() = 0;
  // What is given from now on begins after what `other` was given.
  virtual void begin_after(CheckStream& other) = 0;
  // Throws what went wrong since the last call.
  virtual void synchronize() = 0;
};

class CheckDevice {
 public:
  virtual ~CheckDevice() = default;
  virtual std::string name() const = 0;  // "cuda:0 (NVIDIA H200)"
  virtual int index() const = 0;
  // Throws Error(out_of_memory).
  virtual std::shared_ptr<std::byte> allocate(s64 bytes) const = 0;
  virtual s64 free_bytes() const = 0;
  virtual std::unique_ptr<CheckStream> make_stream() const = 0;
  // Gives work outside of held streams the time to be done.
  virtual void let_others_work() const = 0;
};

using OpenCheckDevice = std::function<std::unique_ptr<CheckDevice>()>;

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
// What runs steps: a device with its memory and its queues of work. Planning and running know devices by this interface alone
// (docs/adr/0012-devices.md).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/types.h"

namespace octet {

struct Backend;    // plan/backend.h
class ThreadPool;  // core/thread_pool.h

// A point in the work of one queue.
class Event {
 public:
  virtual ~Event() = default;
  // Returns when everything that the queue was given before the event was recorded is done.
  virtual void synchronize() = 0;
  // By the device's own clock, between two events of one queue that have happened.
  virtual f64 microseconds_since(const Event& earlier) const = 0;
};

// Work that a queue has kept to do again.
class KeptWork {
 public:
  virtual ~KeptWork() = default;
};

// Work in order. A device may do it later than it is given: whoever reads the result on the host synchronizes first. A step's
// function (RunStep) puts its own work into the queue of its arguments, which it finds by its backend's own cast.
class Queue {
 public:
  virtual ~Queue() = default;
  // Between the device's memory and the host's, or within one. Neither side may change until it is done.
  virtual void copy(std::byte* to, const std::byte* from, s64 bytes) = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
  virtual void record(Event& event) = 0;
  // Does what give() gives to this queue. It is the same each time: pointers included, and no event. So a queue may keep it, where it
  // does work that it knows sooner than work that is given step by step.
  virtual void repeat(std::unique_ptr<KeptWork>& kept, const std::function<void()>& give);
  // A stream of the caller, as the device's own library knows it (a cudaStream_t): what this queue is given from now on begins after
  // what the stream was given, and the other way round. Throw Error(invalid_argument) for what is no stream of the device.
  virtual void begin_after(void* stream);
  virtual void end_before(void* stream);
  // Returns when all is done; throws the first error since the last call, an Error that names its step.
  virtual void synchronize() = 0;
};

// What the planner's own estimates must know of a device.
struct DeviceCosts {
  // A group of images pays where its working set fits into so much cache of one core; 0: groups never pay (groups.h).
  s64 cache_bytes = 0;
  // To start a step once more costs as much as moving so many bytes, and so many more where threads meet at its end.
  f64 start_bytes = 0;
  f64 meeting_bytes = 0;
  // A step of fewer cycles, or which touches fewer bytes and names no cost, is done sooner by one thread (sharing.cc).
  f64 short_cycles = 0;
  s64 short_bytes = 0;
  // A change of layout, both sides counted.
  f64 convert_bytes_per_cycle = 2;
};

// What a device does at best, by what it says of itself; zeros where only measuring tells (inspect/explain/floor.h).
struct DeviceRates {
  f64 cycles_per_us = 0;  // of the clock that Candidate::macs_per_cycle counts
  f64 bytes_per_us = 0;   // of its memory
};

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string_view name() const = 0;  // as a user asks for it: "cpu", "test:1"
  // What measured choices hold for: the chip, and which of its abilities are used ("amx").
  virtual const std::string& identity() const = 0;
  virtual std::string_view level() const = 0;
  virtual const Backend& backend() const = 0;
  virtual const DeviceCosts& costs() const = 0;
  virtual DeviceRates rates() const { return {}; }
  // The same with fewer abilities, whose kernels run here too; null when there is none. Only measuring asks for it.
  virtual const Device* lesser() const { return nullptr; }

  // Whether host code may read and write its memory at any time. Else what crosses is copied by a step of the plan.
  virtual bool has_host_memory() const = 0;
  // How many of its kernels may be prepared at the same time, where that is no matter of the host's threads.
  virtual int preparations() const { return 1; }
  // Zeroed, at a multiple of 4096. Throws Error(out_of_memory) naming `what` when the device's budget would be passed.
  virtual std::shared_ptr<std::byte> allocate(s64 bytes, const char* what) const = 0;
  // The same in memory of the host that copies to and from the device are fastest with.
  virtual std::shared_ptr<std::byte> allocate_host(s64 bytes, const char* what) const;
  // The name of the device in whose memory an address lies, as far as this one knows: "cpu" for the host; empty for memory of all.
  virtual std::string memory_of(const std::byte* address) const;
  // `pool`: the host's threads that its work may take, where it takes any.
  virtual std::unique_ptr<Queue> make_queue(std::shared_ptr<ThreadPool> pool) const = 0;

  // Which device the calling thread works with, where the device's library has such a state: runs leave it as it was.
  virtual void* current() const { return nullptr; }
  virtual void restore(void*) const noexcept {}
};

class CurrentDevice {
 public:
  explicit CurrentDevice(const Device& device) : device_(device), before_(device.current()) {}
  ~CurrentDevice() { device_.restore(before_); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  const Device& device_;
  void* const before_;
};

}  // namespace octet

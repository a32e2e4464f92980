// SPDX-License-Identifier: Apache-2.0
// What of Python is called during a long call, which holds no lock: progress and samples. What such a function throws passes through.
#pragma once

#include <memory>
#include <vector>

#include "module.h"
#include "octet/data.h"
#include "octet/progress.h"

namespace octet::python {

// A reference that any thread may let go, and is read with the interpreter's lock.
class Held {
 public:
  explicit Held(nb::object object);
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held();

  nb::handle get() const { return object_; }

 private:
  nb::object object_;
};
std::shared_ptr<const Held> hold(nb::object object);

// `progress(stage, done, total)` or None; False ends the call. Ctrl-C ends it in any case.
Monitor monitor_of(nb::object progress);

// An iterator over sequences of arrays, one for each input, which are copied.
SampleSource samples_of(nb::iterator batches, std::vector<TensorInfo> inputs);

}  // namespace octet::python

// SPDX-License-Identifier: Apache-2.0
// The contexts of one instance: those whose plans were made while the model was loaded, which nothing drives out, and one for sizes that turn
// up later. All share the instance's threads.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "octet/engine.h"

namespace octet::triton {

class Runner {
 public:
  // Plans for inputs of these shapes, and for inputs and outputs in the memory of the host or of the device.
  struct Prepared {
    std::vector<Shape> shapes;
    bool on_device = false;
    std::vector<TensorType> outputs;
    Context* context = nullptr;

    // Then there is no memory to run into before the run.
    bool sized_by_data() const;
  };

  Runner(const Engine& engine, const std::string& device, int threads);

  const std::string& device() const { return device_; }
  bool is_gpu() const { return device_ != "cpu"; }
  // Of the device where memory of its own matters: "cuda:1" is 1.
  int owner() const;
  // Of the host, copied fastest to and from the device.
  Tensor host_memory(int64_t bytes) const;

  // Kept for good. Throws Error where the engine does not take the shapes.
  const Prepared& prepare(const std::vector<Shape>& shapes, bool on_device);
  // What was prepared, or plans that are made now and may make room for others later; valid until the next call.
  const Prepared& find(const std::vector<Shape>& shapes, bool on_device);
  // By all contexts so far.
  int64_t plans() const;

 private:
  Context& roomy_context();

  const Engine& engine_;
  ContextOptions options_;
  std::string device_;
  std::deque<Context> contexts_;
  std::deque<Prepared> prepared_;
  Context others_;
  Prepared other_;
};

}  // namespace octet::triton

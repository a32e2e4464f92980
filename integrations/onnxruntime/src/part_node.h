// SPDX-License-Identifier: Apache-2.0
// A part of a model as the node that ONNX Runtime runs in its place.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "build.h"
#include "host.h"
#include "options.h"
#include "slots.h"

namespace octet_ort {

// What a node shares with the others of its session.
struct Session {
  const Host& host;
  Log log;
  Options options;
  std::unique_ptr<Slots> slots;
};

class PartNode : public OrtNodeComputeInfo {
 public:
  // `inputs` and `outputs` are the node's names, in its order. Throws Error(invalid_model) where the engine has others.
  // Of `graph` those constants count that a run may replace, which the engine has inside.
  PartNode(Session& session, std::shared_ptr<Built> built, const Graph& graph,
           const OrtNode* fused);
  ~PartNode();
  PartNode(const PartNode&) = delete;
  PartNode& operator=(const PartNode&) = delete;

  // As it was built; of use until the first run.
  const octet::Engine& engine() const { return built_->engine; }

 private:
  // What a slot has made of an engine.
  struct Bound {
    std::shared_ptr<const octet::Engine> engine;
    octet::Context context;
    std::vector<octet::Shape> shapes = {};        // prepared last
    std::vector<octet::TensorType> outputs = {};  // then
    bool open = false;                            // only the data tell a size
  };

  // A constant that is an input of the node as well.
  struct Held {
    std::string name;
    size_t place = 0;
    size_t fingerprint = 0;
  };

  void run(OrtKernelContext* context);
  void check_held(OrtKernelContext* context) const;
  size_t fingerprint_in_session(const OrtValue* value) const;
  bool on_gpu() const { return session_.options.memory != "cpu"; }  // where tensors lie
  Bound& bound(int slot);
  std::string_view memory_of(const OrtValue* value) const;
  octet::TensorView input(OrtKernelContext* context, size_t index) const;
  // Memory for the engine's output `i`. Throws Error(invalid_model) where the model declares another type.
  octet::MutableTensorView output(OrtKernelContext* context, size_t i,
                                  const octet::TensorType& type) const;
  void prepare(Bound& bound, std::span<const octet::TensorView> inputs) const;
  void observe(std::span<const octet::TensorView> inputs);
  void learn();
  void keep(const octet::CalibrationCache& cache) const;

  Session& session_;
  std::shared_ptr<Built> built_;
  std::vector<size_t> inputs_;      // of the engine's inputs, each one's place among the node's
  std::vector<size_t> outputs_;     // likewise
  std::vector<std::string> names_;  // of the engine's outputs
  std::vector<Held> held_;
  std::vector<std::optional<Bound>> bound_;  // one for each slot, which its holder alone looks at
  std::mutex mutex_;                         // of what follows
  std::shared_ptr<const octet::Engine> current_;
  std::jthread learner_;  // ends first
};

}  // namespace octet_ort

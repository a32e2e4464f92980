// SPDX-License-Identifier: Apache-2.0
// Calls into a plugin: what it is asked with, and what its answers are held to.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/thread_pool.h"
#include "plugin/codes.h"
#include "plugin/plugin_op.h"

namespace octet {

// The types of the outputs by the plugin's shape rule. `values` holds what is known of constants. Throws Error.
std::vector<Shape> plugin_shapes(const PluginOp& op, const Node& node, const CodesForm& form,
                                 std::span<const TensorType> inputs,
                                 std::span<const Tensor* const> values);

// What a call may use beside its tensors.
struct PluginRun {
  ThreadPool* pool = nullptr;  // the threads of the run, or none
  // Of a combination for a device's pointers: where it puts its work, and how the host waits for that before another call of an
  // operator that is not concurrent.
  void* stream = nullptr;
  int device = 0;
  const std::function<void()>* wait = nullptr;
};

// One combination for one node and concrete types, ready to run: immutable, so any threads run it.
class PluginStep {
 public:
  struct Tensors {
    std::vector<TensorType> inputs, outputs;  // as the values of the graph are
    std::vector<Tensor> constants;            // one for each input; empty where a run brings it
  };
  PluginStep(const PluginOp& op, const Node& node, const CodesForm& form,
             const PluginCombination& combination, Tensors tensors);

  // Bytes that run() needs, at a multiple of 64: the plugin's own, and copies of codes whose highest bit the host turns.
  s64 workspace_bytes() const { return workspace_bytes_; }
  // Cycles by the plugin, or by the bytes that it touches.
  f64 cost() const;
  // How many tensors the host turns between u8 and s8.
  size_t turned() const { return turns_.size(); }
  // Throws Error naming plugin and operator. Inputs that are null are the constants that the step has.
  void run(const void* const* inputs, void* const* outputs, std::byte* workspace,
           const PluginRun& with) const;

 private:
  struct Turn {
    size_t tensor;
    bool output;
    s64 offset;  // in the workspace; of inputs
    s64 bytes;
  };
  octet_plugin_tensor describe_tensor(const PortCodes& port, const PluginFormat& format,
                                      const TensorType& type);
  void plan_turn(size_t tensor, bool output, const PortCodes& port, const TensorType& type);
  void call(octet_plugin_call& call) const;

  const PluginOp& op_;
  std::shared_ptr<const PluginInstance> instance_;
  const PluginCombination& combination_;
  CodesForm form_;
  Tensors tensors_;
  std::vector<std::vector<s32>>
      zero_points_;  // of each tensor with codes, as the plugin reads them
  std::vector<octet_plugin_tensor> inputs_, outputs_;  // without data
  std::vector<Turn> turns_;
  s64 plugin_bytes_ = 0, workspace_bytes_ = 0;
};

// Calls a function of the plugin; what it throws or says becomes an Error naming it.
void check_plugin_status(const PluginOp& op, std::string_view what, s32 status,
                         const char* message);
inline constexpr size_t kPluginMessageBytes = 512;

template <class Function>
auto guard_plugin(const PluginOp& op, std::string_view what, const Function& function) {
  try {
    return function();
  } catch (const std::exception& error) {
    check_plugin_status(op, what, OCTET_PLUGIN_FAILED,
                        (std::string("it let an exception out: ") + error.what()).c_str());
  } catch (...) {
    check_plugin_status(op, what, OCTET_PLUGIN_FAILED, "it let an exception out");
  }
  return decltype(function())();
}

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
// Calls into a plugin: what it is asked with, and what its answers are held to.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/thread_pool.h"
#include "plugin/codes.h"
#include "plugin/plugin_op.h"

namespace octet {

// Of an output: what each dimension is, or the most that it may be where data tell it.
struct PluginShape {
  Shape most;
  u64 open = 0;  // bit i: data tell dimension i

  // Shape::kDynamic where data tell.
  Shape known() const;
};

// The shapes of the outputs by the plugin's shape rule. `values` holds what is known of constants. Throws Error.
std::vector<PluginShape> plugin_shapes(const PluginOp& op, const Node& node, const CodesForm& form,
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
  // Of each output, as the run says: for steps on the host with outputs that data size.
  std::vector<Shape>* sizes = nullptr;
  // Of each output on a device, if data size any: where the work writes the dimensions (PluginStep::told_sizes).
  s64* const* told_dims = nullptr;
};

// One combination for one node and concrete types, ready to run: immutable, so any threads run it.
class PluginStep {
 public:
  struct Tensors {
    std::vector<TensorType> inputs, outputs;  // as the values of the graph are
    std::vector<Tensor> constants;            // one for each input; empty where a run brings it
    std::vector<u64> open = {};               // PluginShape::open of each output; empty: none
  };
  PluginStep(const PluginOp& op, const Node& node, const CodesForm& form,
             const PluginCombination& combination, Tensors tensors);

  // Bytes that run() needs, at a multiple of 64: the plugin's own, and copies of codes whose highest bit the host turns.
  s64 workspace_bytes() const { return workspace_bytes_; }
  // What the plugin says that it costs; nothing where it leaves that to the host.
  std::optional<f64> own_cost() const;
  // Cycles by the plugin, or by the bytes that it touches.
  f64 cost() const;
  const Tensors& tensors() const { return tensors_; }
  // Of each output, when the work of a run on a device is done and has written these dimensions (empty where data do not size it). Throws
  // Error for what the shape rule does not allow.
  std::vector<Shape> told_sizes(std::span<const std::vector<s64>> dims) const;
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
  void plan_turn(size_t tensor, bool output, const TensorType& type);
  void call(octet_plugin_call& call) const;
  void give_data(octet_plugin_tensor* tensors, const void* const* inputs,
                 std::byte* workspace) const;
  // Of outputs, as a run has set them. Nothing of it is believed.
  Shape checked_size(size_t output, const octet_plugin_tensor& said) const;
  std::vector<Shape> checked_sizes(const octet_plugin_tensor* said) const;

  const PluginOp& op_;
  std::shared_ptr<const PluginInstance> instance_;
  const PluginCombination& combination_;
  CodesForm form_;
  Tensors tensors_;
  std::vector<std::vector<s32>>
      zero_points_;  // of each tensor with codes, as the plugin reads them
  std::vector<octet_plugin_tensor> inputs_, outputs_;  // without data
  std::vector<Turn> turns_;
  std::vector<s64> spares_;  // in the workspace, of each output: where it goes if nobody reads it
  s64 plugin_bytes_ = 0, workspace_bytes_ = 0;
};

// Calls a function of the plugin; what it throws or says becomes an Error naming it.
void check_plugin_status(const PluginOp& op, std::string_view what, s32 status,
                         const char* message);
inline constexpr size_t kPluginMessageBytes = 512;

// What a plugin says when it refuses or fails, with memory behind it that shows who writes more than he may.
class PluginMessage {
 public:
  PluginMessage() : text_{} { std::ranges::fill(slack_, kMark); }
  char* data() { return text_; }
  const char* data() const { return text_; }
  // Throws as check_plugin_status() does.
  void check(const PluginOp& op, std::string_view what, s32 status) const;

 private:
  static constexpr char kMark = '\x5a';
  char text_[kPluginMessageBytes];
  char slack_[kPluginMessageBytes];
};

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

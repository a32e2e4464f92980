// SPDX-License-Identifier: Apache-2.0
#include "plugin/call.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "core/check.h"
#include "plugin/evaluate.h"

namespace octet {
namespace {

constexpr s64 kAlign = 64;
constexpr s64 kMostWorkspace = s64{1} << 40;

s64 aligned(s64 bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

octet_plugin_call empty_call(const PluginOp& op, PluginMessage& message) {
  octet_plugin_call call = {};
  call.size = sizeof call;
  call.op = op.declaration.given;
  call.threads = 1;
  call.message = message.data();
  call.message_capacity = kPluginMessageBytes;
  return call;
}

octet_plugin_tensor tensor_of(const PluginFormat& format, const Shape& shape, bool constant) {
  octet_plugin_tensor tensor = {};
  tensor.size = sizeof tensor;
  tensor.type = format.type;
  tensor.layout = format.layout;
  tensor.params = format.params;
  tensor.axis = format.axis;
  tensor.flags = constant ? OCTET_TENSOR_CONSTANT : 0;
  tensor.rank = shape.rank();
  std::copy(shape.begin(), shape.end(), tensor.dims);
  return tensor;
}

// What a node leaves out at the end of its list has a tensor, too.
void add_omitted(const Declaration& d, std::vector<octet_plugin_tensor>& inputs) {
  while (inputs.size() < d.fixed_inputs()) inputs.push_back(tensor_of({}, {}, false));
}

void check_rank(const PluginPort& port, const char* side, int rank) {
  if (rank >= port.min_rank && rank <= port.max_rank) return;
  fail(Error::Code::invalid_model, "{} '{}' has {} dimensions; the plugin declares {} to {}", side,
       port.name, rank, port.min_rank, port.max_rank);
}

// What the shape rule wrote. Nothing of it is believed.
PluginShape checked_shape(const PluginOp& op, size_t i, const octet_plugin_tensor& tensor) {
  const PluginPort& port = op.declaration.output(i);
  const auto nonsense = [&](const std::string& what) {
    check_plugin_status(
        op, "infer", OCTET_PLUGIN_FAILED,
        fmt::format("its shape rule gives output '{}' {}", port.name, what).c_str());
  };
  if (tensor.rank < 0 || tensor.rank > OCTET_PLUGIN_MAX_RANK)
    nonsense(tensor.rank == -1 ? "no shape" : fmt::format("{} dimensions", tensor.rank));
  const std::span<const s64> dims(tensor.dims, static_cast<size_t>(tensor.rank));
  f64 elements = 1;
  for (s64 dim : dims) {
    if (dim < 0) nonsense(fmt::format("a dimension of {}", dim));
    elements *= static_cast<f64>(dim);
  }
  if (elements > 1e15) nonsense(fmt::format("{} elements", elements));
  if (tensor.rank < port.min_rank || tensor.rank > port.max_rank)
    nonsense(fmt::format("{} dimensions; it declares {} to {}", tensor.rank, port.min_rank,
                         port.max_rank));
  const u64 all = (u64{1} << tensor.rank) - 1;
  if ((tensor.open_dims & ~(port.data_sized ? all : 0)) != 0)
    nonsense(
        fmt::format("dimensions that data tell ({:#x}), which are not declared", tensor.open_dims));
  return {Shape(dims), tensor.open_dims};
}

// Fans a plugin's pieces out over the run's threads. Its exceptions stop here.
struct Fan {
  ThreadPool* pool;
  std::atomic<bool> failed = false;

  static void parallel(void* host, s64 count, void (*piece)(void*, s64, s64), void* user) {
    Fan& fan = *static_cast<Fan*>(host);
    const auto body = [&](s64 begin, s64 end, int) {
      try {
        piece(user, begin, end);
      } catch (...) {
        fan.failed = true;
      }
    };
    if (fan.pool == nullptr) return body(0, count, 0);
    fan.pool->parallel_for(count, body);
  }
};

}  // namespace

void check_plugin_status(const PluginOp& op, std::string_view what, s32 status,
                         const char* message) {
  if (status == OCTET_PLUGIN_OK) return;
  const Declaration& d = op.declaration;
  const std::string_view said(message, strnlen(message, kPluginMessageBytes));
  const bool refused = status == OCTET_PLUGIN_REFUSED;
  fail(
      refused ? Error::Code::invalid_model : Error::Code::unsupported,
      "plugin '{}' {}: {} of {} {}: {}", d.plugin, d.plugin_version, what, d.full_name(),
      refused ? "refuses" : "failed",
      said.empty() ? fmt::format("status {}, and it does not say why", status) : std::string(said));
}

void PluginMessage::check(const PluginOp& op, std::string_view what, s32 status) const {
  if (std::ranges::any_of(slack_, [](char c) { return c != kMark; }))
    check_plugin_status(
        op, what, OCTET_PLUGIN_FAILED,
        fmt::format("its message is longer than message_capacity, {} bytes", kPluginMessageBytes)
            .c_str());
  check_plugin_status(op, what, status, text_);
}

Shape PluginShape::known() const {
  Shape shape = most;
  for (int d = 0; d < shape.rank(); ++d) {
    if ((open >> d & 1) != 0) shape[d] = Shape::kDynamic;
  }
  return shape;
}

std::vector<PluginShape> plugin_shapes(const PluginOp& op, const Node& node, const CodesForm& form,
                                       std::span<const TensorType> inputs,
                                       std::span<const Tensor* const> values) {
  std::vector<Tensor> constants;  // as declared
  const auto instance = op.instance_of(node);
  PluginMessage message;
  octet_plugin_call call = empty_call(op, message);
  std::vector<octet_plugin_tensor> in, out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor* value = i < values.size() ? values[i] : nullptr;
    const PluginPort& port = op.declaration.input(i);
    if (node.input(i) == kNoValue) {
      in.push_back(tensor_of({}, {}, false));
      continue;
    }
    check_rank(port, "input", inputs[i].shape.rank());
    if (port.constant && value == nullptr) Inference::needs_data(i, "input '" + port.name + "'");
    in.push_back(tensor_of(form.inputs[i].format, inputs[i].shape, value != nullptr));
    if (!port.constant) continue;
    constants.push_back(kept_as(*value, *dtype_of(form.inputs[i].format.type)));
    in.back().data = const_cast<std::byte*>(constants.back().data());
  }
  add_omitted(op.declaration, in);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    out.push_back(tensor_of(form.outputs[i].format, {}, false));
    out.back().rank = -1;
  }
  call.instance = instance->get();
  call.input_count = in.size();
  call.output_count = out.size();
  call.inputs = in.data();
  call.outputs = out.data();
  const s32 status = guard_plugin(op, "infer", [&] { return op.declaration.raw.infer(&call); });
  message.check(op, "infer", status);
  std::vector<PluginShape> shapes;
  for (size_t i = 0; i < out.size(); ++i) shapes.push_back(checked_shape(op, i, out[i]));
  return shapes;
}

PluginStep::PluginStep(const PluginOp& op, const Node& node, const CodesForm& form,
                       const PluginCombination& combination, Tensors tensors)
    : op_(op),
      instance_(op.instance_of(node)),
      combination_(combination),
      form_(form),
      tensors_(std::move(tensors)) {
  zero_points_.reserve(tensors_.inputs.size() + tensors_.outputs.size());  // tensors point to these
  for (size_t i = 0; i < tensors_.inputs.size(); ++i) {
    const PluginFormat format =
        node.input(i) == kNoValue ? PluginFormat{} : format_of(combination.inputs, i);
    inputs_.push_back(describe_tensor(form_.inputs[i], format, tensors_.inputs[i]));
    if (tensors_.constants[i]) inputs_.back().flags |= OCTET_TENSOR_CONSTANT;
    if (form_.inputs[i].is_turned()) plan_turn(i, false, tensors_.inputs[i]);
  }
  add_omitted(op.declaration, inputs_);
  for (size_t i = 0; i < tensors_.outputs.size(); ++i) {
    const PluginFormat& format = format_of(combination.outputs, i);
    outputs_.push_back(describe_tensor(form_.outputs[i], format, tensors_.outputs[i]));
    if (!tensors_.open.empty()) outputs_.back().open_dims = tensors_.open[i];
    if (form_.outputs[i].is_turned()) plan_turn(i, true, tensors_.outputs[i]);
    spares_.push_back(workspace_bytes_);
    if (node.outputs[i] == kNoValue) workspace_bytes_ += aligned(tensors_.outputs[i].bytes());
  }
  if (combination_.raw.workspace == nullptr) return;
  PluginMessage message;
  octet_plugin_call asked = empty_call(op_, message);
  call(asked);
  plugin_bytes_ =
      guard_plugin(op_, "workspace", [&] { return combination_.raw.workspace(&asked); });
  message.check(op_, "workspace", OCTET_PLUGIN_OK);
  if (plugin_bytes_ < 0 || plugin_bytes_ > kMostWorkspace)
    check_plugin_status(op_, "workspace", OCTET_PLUGIN_FAILED,
                        message.data()[0] != '\0'
                            ? message.data()
                            : fmt::format("it asks for {} bytes", plugin_bytes_).c_str());
  workspace_bytes_ += aligned(plugin_bytes_);
}

octet_plugin_tensor PluginStep::describe_tensor(const PortCodes& port, const PluginFormat& format,
                                                const TensorType& type) {
  octet_plugin_tensor tensor = tensor_of(format, type.shape, false);
  if (format.type == OCTET_TYPE_NONE || !port.is_codes()) return tensor;
  zero_points_.emplace_back(port.scales.size(), port.declared_zero_point());
  tensor.param_count = port.scales.size();
  tensor.scales = port.scales.data();
  tensor.zero_points = zero_points_.back().data();
  return tensor;
}

void PluginStep::plan_turn(size_t tensor, bool output, const TensorType& type) {
  turns_.push_back({tensor, output, workspace_bytes_, type.bytes()});
  if (!output) workspace_bytes_ += aligned(type.bytes());
}

// What every question about this step says.
void PluginStep::call(octet_plugin_call& call) const {
  call.combination = combination_.given;
  call.instance = instance_->get();
  call.input_count = inputs_.size();
  call.output_count = outputs_.size();
  call.inputs = inputs_.data();
  call.outputs = const_cast<octet_plugin_tensor*>(outputs_.data());
}

std::optional<f64> PluginStep::own_cost() const {
  if (combination_.raw.cost == nullptr) return std::nullopt;
  PluginMessage message;
  octet_plugin_call asked = empty_call(op_, message);
  call(asked);
  const f64 cycles = guard_plugin(op_, "cost", [&] { return combination_.raw.cost(&asked); });
  message.check(op_, "cost", OCTET_PLUGIN_OK);
  return cycles;
}

f64 PluginStep::cost() const {
  constexpr f64 kCyclesPerByte = 1;
  const f64 cycles = own_cost().value_or(0);
  if (std::isfinite(cycles) && cycles > 0) return cycles;
  f64 bytes = 1;
  for (const TensorType& type : tensors_.inputs) bytes += static_cast<f64>(type.bytes());
  for (const TensorType& type : tensors_.outputs) bytes += static_cast<f64>(type.bytes());
  return bytes * kCyclesPerByte;
}

Shape PluginStep::checked_size(size_t output, const octet_plugin_tensor& said) const {
  const octet_plugin_tensor& most = outputs_[output];
  const Shape& whole = tensors_.outputs[output].shape;
  if (most.open_dims == 0) return whole;
  bool fits = said.rank == most.rank;
  for (int d = 0; fits && d < most.rank; ++d) {
    const bool open = (most.open_dims >> d & 1) != 0;
    fits = open ? said.dims[d] >= 0 && said.dims[d] <= most.dims[d] : said.dims[d] == most.dims[d];
  }
  const int rank = std::clamp(said.rank, 0, OCTET_PLUGIN_MAX_RANK);
  const Shape size(std::span<const s64>(said.dims, static_cast<size_t>(rank)));
  if (!fits)
    check_plugin_status(
        op_, "run", OCTET_PLUGIN_FAILED,
        fmt::format("it gives output '{}' the sizes {}, its shape rule at most {}",
                    op_.declaration.output(output).name, to_string(size), to_string(whole))
            .c_str());
  return size;
}

std::vector<Shape> PluginStep::checked_sizes(const octet_plugin_tensor* said) const {
  std::vector<Shape> sizes;
  for (size_t i = 0; i < outputs_.size(); ++i) sizes.push_back(checked_size(i, said[i]));
  return sizes;
}

std::vector<Shape> PluginStep::told_sizes(std::span<const std::vector<s64>> dims) const {
  std::vector<octet_plugin_tensor> said = outputs_;
  for (size_t i = 0; i < said.size(); ++i) std::ranges::copy(dims[i], said[i].dims);
  return checked_sizes(said.data());
}

namespace {

void turn(std::byte* to, const std::byte* from, s64 bytes) {
  for (s64 i = 0; i < bytes; ++i) to[i] = from[i] ^ std::byte{0x80};
}

// The tensors of one call: on the stack, for steps are shared and run without allocating.
class CallTensors {
 public:
  CallTensors(std::span<const octet_plugin_tensor> in, std::span<const octet_plugin_tensor> out) {
    const size_t count = in.size() + out.size();
    if (count > kInline) heap_ = std::make_unique<octet_plugin_tensor[]>(count);
    inputs = count > kInline ? heap_.get() : inline_;
    outputs = inputs + in.size();
    std::ranges::copy(in, inputs);
    std::ranges::copy(out, outputs);
  }
  octet_plugin_tensor *inputs, *outputs;

 private:
  static constexpr size_t kInline = 16;
  octet_plugin_tensor inline_[kInline];
  std::unique_ptr<octet_plugin_tensor[]> heap_;
};

}  // namespace

// Codes of the other byte type go by way of the workspace.
void PluginStep::give_data(octet_plugin_tensor* tensors, const void* const* inputs,
                           std::byte* workspace) const {
  for (size_t i = 0; i < tensors_.inputs.size(); ++i) {
    const void* data = inputs[i] == nullptr ? tensors_.constants[i].data() : inputs[i];
    tensors[i].data = const_cast<void*>(data);
  }
  for (const Turn& t : turns_) {
    if (t.output) continue;
    turn(workspace + t.offset, static_cast<const std::byte*>(tensors[t.tensor].data), t.bytes);
    tensors[t.tensor].data = workspace + t.offset;
  }
}

void PluginStep::run(const void* const* inputs, void* const* outputs, std::byte* workspace,
                     const PluginRun& with) const {
  CallTensors tensors(inputs_, outputs_);
  give_data(tensors.inputs, inputs, workspace);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    tensors.outputs[i].data = outputs[i] != nullptr ? outputs[i] : workspace + spares_[i];
    if (with.told_dims != nullptr) tensors.outputs[i].told_dims = with.told_dims[i];
  }
  PluginMessage message;
  octet_plugin_call asked = empty_call(op_, message);
  call(asked);
  Fan fan{with.pool};
  asked.inputs = tensors.inputs;
  asked.outputs = tensors.outputs;
  asked.workspace =
      plugin_bytes_ > 0 ? workspace + workspace_bytes_ - aligned(plugin_bytes_) : nullptr;
  asked.workspace_bytes = static_cast<u64>(plugin_bytes_);
  asked.stream = with.stream;
  asked.device_index = with.device;
  asked.threads = with.pool != nullptr ? with.pool->size() : 1;
  asked.parallel = Fan::parallel;
  asked.host = &fan;
  std::unique_lock<std::mutex> alone;
  if (!op_.declaration.concurrent()) alone = std::unique_lock(op_.running);
  const s32 status = guard_plugin(op_, "run", [&] { return combination_.raw.run(&asked); });
  message.check(op_, "run", status);
  if (alone.owns_lock() && with.wait != nullptr) (*with.wait)();
  if (with.sizes != nullptr) *with.sizes = checked_sizes(tensors.outputs);
  if (fan.failed)
    check_plugin_status(op_, "run", OCTET_PLUGIN_FAILED,
                        "a piece of its work let an exception out");
  for (const Turn& t : turns_) {
    auto* data = static_cast<std::byte*>(tensors.outputs[t.tensor].data);
    if (t.output) turn(data, data, t.bytes);
  }
}

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/engine/context.h"

#include <algorithm>

#include "octet/error.h"
#include "octet/machine.h"
#include "octet/output_types.h"
#include "octet/profile.h"
#include "tensorrt/engine/border.h"
#include "tensorrt/engine/stream.h"
#include "tensorrt/shared/gpu.h"

namespace octet_trt {
namespace {

// Contexts share the machine's processors: one run at a time has all of them.
std::shared_ptr<octet::ThreadPool> all_processors() {
  static const std::shared_ptr<octet::ThreadPool> pool =
      octet::make_thread_pool(octet::usable_processors());
  return pool;
}

octet::Shape unknown_sizes(const std::vector<int64_t>& sizes) {
  return octet::Shape(std::span<const int64_t>(sizes));
}

// Whether sizes that are told, some of them open, leave room for those of a run.
bool may_be(const octet::Shape& told, const octet::Shape& sizes) {
  if (told.is_unknown()) return true;
  return std::ranges::equal(told, sizes, [](int64_t a, int64_t b) { return a < 0 || a == b; });
}

}  // namespace

Context::Context(const Engine& engine, [[maybe_unused]] ExecutionContextAllocationStrategy strategy)
    : engine_(engine.watched),
      state_(engine.state()),
      reporter_(engine.reporter),
#if NV_TENSORRT_MAJOR >= 10
      runtime_config_(reporter_),
#endif
      device_(run_device()),
      owners_(state_->info.bindings.size(), "cpu") {
  slots_.resize(state_->info.bindings.size());
#if NV_TENSORRT_MAJOR >= 10
  runtime_config_.setExecutionContextAllocationStrategy(strategy);
#endif
  use_profile(0);
  context();
}

const Engine& Context::engine() const {
  if (const Engine* clients = engine_.get(); clients != nullptr) return *clients;
  if (own_engine_ == nullptr) own_engine_ = std::make_unique<const Engine>(state_, reporter_);
  return *own_engine_;
}

octet::Context& Context::context() {
  if (!context_ || context_changes_ != state_->changes) {
    octet::ContextOptions options;
    options.pool = all_processors();
    options.device = device_;
    options.tuning = state_->tuning();
    context_.emplace(state_->engine.make_context(options));
    context_changes_ = state_->changes;
    prepared_ = false;
  }
  return *context_;
}

int Context::index_of(const char* name, const char* where) const {
  const int i = state_->binding_index(name);
  if (i < 0) {
    reporter_.error(
        ErrorCode::kINVALID_ARGUMENT,
        std::string(where) + ": the engine has no tensor '" + (name == nullptr ? "" : name) + "'");
  }
  return i;
}

void Context::use_profile(int32_t index) {
  ++shape_changes_;
  profile_ = index;
  prepared_ = false;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const std::vector<int64_t>& dims = info(i).dims;
    slots_[i].known =
        info(i).is_input && std::ranges::all_of(dims, [](int64_t d) { return d >= 0; });
    if (info(i).is_input) slots_[i].shape = dims;
    // A profile of one size leaves nothing to set.
    const auto* least = state_->profile_shape(info(i).name, index, OptProfileSelector::kMIN);
    const auto* most = state_->profile_shape(info(i).name, index, OptProfileSelector::kMAX);
    if (!slots_[i].known && least != nullptr && most != nullptr && *least == *most) {
      slots_[i].shape = *least;
      slots_[i].known = true;
    }
  }
}

bool Context::is_inside_profile(size_t i, const std::vector<int64_t>& shape) const {
  const auto* least = state_->profile_shape(info(i).name, profile_, OptProfileSelector::kMIN);
  const auto* most = state_->profile_shape(info(i).name, profile_, OptProfileSelector::kMAX);
  if (least == nullptr || most == nullptr || least->size() != shape.size()) return true;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] < (*least)[axis] || shape[axis] > (*most)[axis]) return false;
  return true;
}

bool Context::set_shape(size_t i, const Dims& dims) {
  const BindingInfo& binding = info(i);
  need_right(dims, "sizes");
  if (!binding.is_input) refuse("'" + binding.name + "' is an output: its sizes follow");
  const std::vector<int64_t> shape = to_vector(dims);
  bool fits = shape.size() == binding.dims.size();
  for (size_t axis = 0; fits && axis < shape.size(); ++axis)
    fits = shape[axis] >= 0 && (binding.dims[axis] < 0 || binding.dims[axis] == shape[axis]);
  if (!fits) {
    refuse("Static dimension mismatch while setting input shape: '" + binding.name + "' is " +
           to_string(to_dims(binding.dims)) + ", and " + to_string(dims) + " was given");
  }
  if (!is_inside_profile(i, shape)) {
    refuse("the sizes " + to_string(dims) + " of '" + binding.name +
           "' do not satisfy optimization profile " + std::to_string(profile_));
  }
  if (slots_[i].known && slots_[i].shape == shape) return true;
  slots_[i].shape = shape;
  slots_[i].known = true;
  prepared_ = false;
  ++shape_changes_;
  return true;
}

std::vector<octet::Shape> Context::known_input_shapes() const {
  return input_shapes(default_batch());
}

// In the order of the engine's inputs, which is that of the bindings.
std::vector<octet::Shape> Context::input_shapes(int64_t batch) const {
  std::vector<octet::Shape> shapes;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!info(i).is_input) continue;
    std::vector<int64_t> sizes = slots_[i].shape;
    if (state_->info.implicit_batch && !slots_[i].known && !sizes.empty()) sizes[0] = batch;
    if (std::ranges::any_of(sizes, [](int64_t size) { return size < 0; }))
      refuse("the sizes of input '" + info(i).name + "' were not set");
    shapes.push_back(unknown_sizes(sizes));
  }
  return shapes;
}

void Context::prepare(int64_t batch) {
  octet::Context& own = context();
  const std::vector<octet::Shape> shapes = input_shapes(batch);
  // Runs plan again where a client's memory is another.
  const bool direct = std::ranges::all_of(state_->info.bindings, is_direct);
  own.prepare(shapes, direct ? device_ : "cpu");
  planned_types_ = own.output_types();
  output_types_ = planned_types_;
  prepared_ = true;
}

octet::Shape Context::shape_of(size_t i) const {
  if (info(i).is_input) return unknown_sizes(slots_[i].shape);
  const size_t inputs = state_->engine.inputs().size();
  if (prepared_ && i - inputs < planned_types_.size()) {
    const octet::Shape& shape = planned_types_[i - inputs].shape;
    if (shape.is_static()) return shape;
    const octet::Shape told = told_shape_of(i), &last = output_types_[i - inputs].shape;
    if (last.is_static() && may_be(told, last)) return last;
    if (!told.is_unknown()) return told;
  }
  return unknown_sizes(info(i).dims);
}

octet::Shape Context::told_shape_of(size_t i) const {
  const std::vector<octet::TensorInfo> inputs = state_->engine.inputs();
  const std::vector<octet::Shape> shapes = known_input_shapes();
  std::vector<octet::Tensor> known(inputs.size());
  bool any = false;
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!state_->is_shape_input(info(k).name.c_str()) || slots_[k].address == nullptr) continue;
    known[k] = from_client(k, {inputs[k].type.dtype, shapes[k]}, slots_[k].address, nullptr);
    any = true;
  }
  if (!any) return planned_types_[i - inputs.size()].shape;
  return octet::output_types(state_->engine, shapes, known)[i - inputs.size()].shape;
}

Context::Addresses Context::own_addresses() const {
  Addresses addresses;
  for (const Slot& slot : slots_) addresses.push_back(slot.address);
  return addresses;
}

void* Context::output_address(size_t i, void* given, const octet::TensorType& type) {
  IOutputAllocator* allocator = slots_[i].allocator;
  if (allocator == nullptr) return given;
  const auto bytes = static_cast<uint64_t>(std::max<int64_t>(1, client_bytes(info(i), type.shape)));
#if NV_TENSORRT_MAJOR >= 10
  void* memory = allocator->reallocateOutputAsync(info(i).name.c_str(), given, bytes, 256, nullptr);
#else
  void* memory = allocator->reallocateOutput(info(i).name.c_str(), given, bytes, 256);
#endif
  if (memory == nullptr) refuse("the allocator of output '" + info(i).name + "' gave no memory");
  slots_[i].address = memory;
  allocator->notifyShape(info(i).name.c_str(), to_dims(type.shape));
  return memory;
}

void Context::write_outputs(const Addresses& addresses, const std::vector<octet::Tensor>& outputs,
                            cudaStream_t stream) {
  const size_t inputs = slots_.size() - outputs.size();
  std::vector<octet::TensorType> types;
  for (size_t i = 0; i < outputs.size(); ++i) {
    void* memory = output_address(inputs + i, addresses[inputs + i], outputs[i].type());
    types.push_back(outputs[i].type());
    if (!is_on_gpu()) {
      write_client(info(inputs + i), outputs[i], memory);
      continue;
    }
    const int64_t bytes = client_bytes(info(inputs + i), outputs[i].shape());
    std::vector<std::byte> host(static_cast<size_t>(bytes));
    write_client(info(inputs + i), outputs[i], host.data());
    copy_client(memory, host.data(), bytes, {memory, device_, stream});
  }
  output_types_ = std::move(types);  // an allocator that failed leaves those that were planned
}

octet::Tensor Context::from_client(size_t i, const octet::TensorType& type, const void* memory,
                                   cudaStream_t stream) const {
  if (!is_on_gpu()) return read_client(info(i), type, memory);
  const int64_t bytes = client_bytes(info(i), type.shape);
  std::vector<std::byte> host(static_cast<size_t>(bytes));
  copy_client(host.data(), memory, bytes, {memory, device_, stream});
  return read_client(info(i), type, host.data());
}

octet::Tensor Context::on_host(const octet::TensorView& view, cudaStream_t stream) const {
  if (view.device == "cpu") return octet::to_tensor(view);
  octet::Tensor tensor(view.type.dtype, view.type.shape);
  copy_client(tensor.mutable_data(), view.data, view.type.bytes(), {view.data, device_, stream});
  return tensor;
}

// Where inputs lie: in the client's memory, or converted in `staged`.
std::vector<octet::TensorView> Context::input_views(const Addresses& addresses,
                                                    const std::vector<octet::Shape>& shapes,
                                                    std::vector<octet::Tensor>& staged,
                                                    cudaStream_t stream) const {
  const std::vector<octet::TensorInfo> inputs = state_->engine.inputs();
  std::vector<octet::TensorView> views;
  staged.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (addresses[i] == nullptr && shapes[i].elements() > 0)
      refuse("Neither address or allocator is set for input tensor " + info(i).name);
    const octet::TensorType type{inputs[i].type.dtype, shapes[i]};
    if (is_direct(info(i))) {
      owners_[i] = owner_of(addresses[i], device_);
      views.push_back({type, static_cast<const std::byte*>(addresses[i]), {}, owners_[i]});
    } else {
      staged.push_back(from_client(i, type, addresses[i], stream));
      views.push_back(octet::view_of(staged.back()));
    }
  }
  return views;
}

// Where outputs go, if all go straight into the client's memory.
std::optional<std::vector<octet::MutableTensorView>> Context::output_views(
    const Addresses& addresses) const {
  const size_t first = slots_.size() - planned_types_.size();
  std::vector<octet::MutableTensorView> views;
  bool is_plain = true;
  for (size_t i = first; i < slots_.size(); ++i) {
    if (addresses[i] == nullptr && slots_[i].allocator == nullptr)
      refuse("Neither address or allocator is set for output tensor " + info(i).name);
    const octet::TensorType& type = planned_types_[i - first];
    is_plain = is_plain && type.shape.is_static() && !slots_[i].allocator && is_direct(info(i));
    owners_[i] = owner_of(addresses[i], device_);
    views.push_back({type, static_cast<std::byte*>(addresses[i]), {}, owners_[i]});
  }
  if (!is_plain) return std::nullopt;
  return views;
}

void Context::run_now(const Addresses& addresses, int64_t batch, cudaStream_t stream) {
  octet::Context& own = context();
  const std::vector<octet::Shape> shapes = input_shapes(batch);
  if (!prepared_ || state_->info.implicit_batch) prepare(batch);
  std::vector<octet::Tensor> staged;
  const std::vector<octet::TensorView> inputs = input_views(addresses, shapes, staged, stream);
  octet::RunOptions options;
  if (is_on_gpu()) options.stream = stream;
  if (const auto outputs = output_views(addresses)) {
    own.run_into(inputs, *outputs, options);
  } else {
    write_outputs(addresses, own.run(inputs, options), stream);
  }
  if (profiler_ == nullptr) return;
  last_inputs_.clear();
  for (const octet::TensorView& view : inputs) last_inputs_.push_back(on_host(view, stream));
  if (emits_profile_) emit_profile(last_inputs_);
}

// The inspector and the profile have the layers in the same order, and clients know them by the inspector's names.
void Context::emit_profile(const std::vector<octet::Tensor>& inputs) const {
  octet::ProfileOptions options;
  options.runs = 1;
  options.device = device_;
  options.threads = octet::usable_processors();
  if (!names_ || names_changes_ != shape_changes_) {
    octet::InspectorOptions shown;
    shown.threads = options.threads;
    shown.device = device_;
    shown.profiles.push_back({});
    for (const octet::Tensor& input : inputs) shown.profiles[0].opt.push_back(input.shape());
    names_.emplace(state_->engine, shown);
    names_changes_ = shape_changes_;
  }
  const std::vector<octet::LayerTime> times = octet::profile(state_->engine, inputs, options);
  for (size_t i = 0; i < times.size() && i < names_->layer_count(); ++i) {
    const auto milliseconds = static_cast<float>(times[i].microseconds / 1000);
    profiler_->reportLayerTime(names_->layer_name(i).c_str(), milliseconds);
  }
}

bool Context::run(const Addresses& addresses, int64_t batch, cudaStream_t stream) {
  const auto work = [this, addresses, batch, stream] {
    current_stream() = stream;
    return guarded(reporter_, "IExecutionContext::enqueue", false, [&] {
      run_now(addresses, batch, stream);
      return true;
    });
  };
  return is_on_gpu() ? work() : run_on(stream, work);
}

}  // namespace octet_trt

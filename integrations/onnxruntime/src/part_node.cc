// SPDX-License-Identifier: Apache-2.0
#include "part_node.h"

#include <algorithm>
#include <cstring>

#include "graph.h"
#include "octet/calibration_cache.h"
#include "octet/compile.h"
#include "octet/device_memory.h"
#include "octet/provenance.h"

namespace octet_ort {
namespace {

using octet::Error;
using octet::Shape;
using octet::TensorType;

// Of each of the engine's tensors the place among the node's names.
std::vector<size_t> places(const std::vector<octet::TensorInfo>& infos,
                           const std::vector<std::string>& names, const char* what) {
  std::vector<size_t> result;
  for (const octet::TensorInfo& info : infos) {
    const auto found = std::find(names.begin(), names.end(), info.name);
    if (found == names.end()) {
      throw Error(Error::Code::invalid_model, std::string("the engine has an ") + what + " '" +
                                                  info.name + "' that the node of the model lacks");
    }
    result.push_back(static_cast<size_t>(found - names.begin()));
  }
  return result;
}

Shape shape_of(const Host& host, OrtTensorTypeAndShapeInfo* info) {
  size_t rank = 0;
  host.check(host.GetDimensionsCount(info, &rank));
  if (rank > static_cast<size_t>(Shape::kMaxRank)) {
    throw Error(Error::Code::unsupported, "a tensor of " + std::to_string(rank) + " dimensions");
  }
  std::array<int64_t, Shape::kMaxRank> dims{};
  if (rank > 0) host.check(host.GetDimensions(info, dims.data(), rank));
  return Shape(std::span<const int64_t>(dims.data(), rank));
}

TensorType type_of_value(const Host& host, const OrtValue* value) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  host.check(host.GetTensorTypeAndShape(value, &info));
  const std::unique_ptr<OrtTensorTypeAndShapeInfo, void (*)(OrtTensorTypeAndShapeInfo*)> held(
      info, host.ReleaseTensorTypeAndShapeInfo);
  int element_type = 0;
  host.check(host.GetTensorElementType(info, &element_type));
  const octet::Dtype* dtype = dtype_of(element_type);
  if (dtype == nullptr) {
    throw Error(Error::Code::unsupported,
                "a tensor of ONNX's type " + std::to_string(element_type));
  }
  return {*dtype, shape_of(host, info)};
}

// To the host's memory or a device's.
void copy_result(const octet::Tensor& result, const octet::MutableTensorView& to) {
  if (result.bytes() == 0) return;
  if (to.device == "cpu")
    std::memcpy(to.data, result.data(), result.bytes());
  else
    octet::copy_memory(to.data, result.data(), static_cast<int64_t>(result.bytes()),
                       std::string(to.device));
}

// Likewise from there.
octet::Tensor host_copy(const octet::TensorView& view) {
  if (view.device == "cpu") return octet::to_tensor(view);
  octet::Tensor copy(view.type.dtype, view.type.shape);
  if (copy.bytes() > 0)
    octet::copy_memory(copy.mutable_data(), view.data, static_cast<int64_t>(copy.bytes()),
                       std::string(view.device));
  return copy;
}

OrtStatus* create_state(OrtNodeComputeInfo* info, OrtNodeComputeContext* /*context*/,
                        void** state) {
  *state = info;  // runs share what the node has
  return nullptr;
}

void release_state(OrtNodeComputeInfo* /*info*/, void* /*state*/) {}

}  // namespace

PartNode::PartNode(Session& session, std::shared_ptr<Built> built, const Graph& graph,
                   const OrtNode* fused)
    : OrtNodeComputeInfo{},
      session_(session),
      built_(std::move(built)),
      bound_(static_cast<size_t>(session.slots->size())),
      current_(std::make_shared<const octet::Engine>(built_->engine)) {
  const std::vector<std::string> inputs = names_of(session.host, fused, false);
  const std::vector<std::string> outputs = names_of(session.host, fused, true);
  inputs_ = places(built_->engine.inputs(), inputs, "input");
  outputs_ = places(built_->engine.outputs(), outputs, "output");
  for (const octet::TensorInfo& info : built_->engine.outputs()) names_.push_back(info.name);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!graph.replaceable.contains(inputs[i])) continue;
    Held& held = held_.emplace_back();
    held.name = inputs[i];
    held.place = i;
    held.fingerprint = fingerprint_of_constant(session.host, graph, inputs[i]);
  }
  if (outputs.size() != outputs_.size()) {
    throw Error(Error::Code::invalid_model,
                "the node of the model has outputs that the engine lacks");
  }
  ort_version_supported = session.host.version;
  CreateState = create_state;
  ReleaseState = release_state;
  Compute = [](OrtNodeComputeInfo* self, void* /*state*/, OrtKernelContext* context) {
    auto* node = static_cast<PartNode*>(self);
    return node->session_.host.guarded([&] { node->run(context); });
  };
}

PartNode::~PartNode() {
  if (built_->stop.stop_possible()) built_->stop.request_stop();
}

PartNode::Bound& PartNode::bound(int slot) {
  std::shared_ptr<const octet::Engine> engine;
  {
    const std::lock_guard lock(mutex_);
    engine = current_;
  }
  std::optional<Bound>& bound = bound_[static_cast<size_t>(slot)];
  if (!bound || bound->engine != engine) {
    bound.reset();  // its memory goes before the next one's comes
    octet::ContextOptions options;
    options.pool = session_.slots->pool(slot);
    options.device = session_.options.device;
    bound.emplace(Bound{engine, engine->make_context(options)});
  }
  return *bound;
}

// Whoever is before or behind this node may be ONNX Runtime's on the host.
std::string_view PartNode::memory_of(const OrtValue* value) const {
  const Host& host = session_.host;
  if (!on_gpu()) return session_.options.memory;
  const OrtMemoryDevice* device = host.Value_GetMemoryDevice(value);
  return host.MemoryDevice_GetDeviceType(device) == kMemoryOfHost
             ? "cpu"
             : std::string_view(session_.options.memory);
}

octet::TensorView PartNode::input(OrtKernelContext* context, size_t index) const {
  const Host& host = session_.host;
  const OrtValue* value = nullptr;
  const void* data = nullptr;
  host.check(host.KernelContext_GetInput(context, index, &value));
  if (value == nullptr) {
    throw Error(Error::Code::invalid_argument, "input " + std::to_string(index) + " is missing");
  }
  host.check(host.GetTensorData(value, &data));
  return {type_of_value(host, value), static_cast<const std::byte*>(data), {}, memory_of(value)};
}

octet::MutableTensorView PartNode::output(OrtKernelContext* context, size_t i,
                                          const TensorType& type) const {
  const Host& host = session_.host;
  OrtValue* value = nullptr;
  void* data = nullptr;
  const auto dims = type.shape.dims();
  host.check(host.KernelContext_GetOutput(context, outputs_[i], dims.data(), dims.size(), &value));
  // Its memory is what the model declares, which may be changed after the engine was written.
  const TensorType declared = value == nullptr ? TensorType{} : type_of_value(host, value);
  if (value == nullptr || declared != type) {
    throw Error(Error::Code::invalid_model, "output '" + names_[i] + "' is " +
                                                (value ? to_string(declared) : "absent") +
                                                " in the model, the engine gives " +
                                                to_string(type) + ": compile the model again");
  }
  host.check(host.GetTensorMutableData(value, &data));
  return {type, static_cast<std::byte*>(data), {}, memory_of(value)};
}

void PartNode::prepare(Bound& bound, std::span<const octet::TensorView> inputs) const {
  const bool same = bound.shapes.size() == inputs.size() &&
                    std::equal(inputs.begin(), inputs.end(), bound.shapes.begin(),
                               [](const octet::TensorView& view, const Shape& shape) {
                                 return view.type.shape == shape;
                               });
  if (same && !inputs.empty()) return;
  bound.shapes.clear();  // should this fail
  std::vector<Shape> shapes;
  for (const octet::TensorView& view : inputs) shapes.push_back(view.type.shape);
  bound.context.prepare(shapes, session_.options.memory);
  bound.outputs = bound.context.output_types();
  bound.open = std::any_of(bound.outputs.begin(), bound.outputs.end(),
                           [](const TensorType& type) { return !type.shape.is_static(); });
  bound.shapes = std::move(shapes);
}

size_t PartNode::fingerprint_in_session(const OrtValue* value) const {
  const Host& host = session_.host;
  const std::string memory(memory_of(value));
  if (memory == "cpu") return fingerprint(host, value);
  size_t bytes = 0;
  const void* data = nullptr;
  host.check(host.GetTensorSizeInBytes(value, &bytes));
  host.check(host.GetTensorData(value, &data));
  std::string copy(bytes, '\0');
  octet::copy_memory(copy.data(), data, static_cast<int64_t>(bytes), memory);
  return fingerprint(copy);
}

void PartNode::check_held(OrtKernelContext* context) const {
  const Host& host = session_.host;
  for (const Held& held : held_) {
    const OrtValue* value = nullptr;
    host.check(host.KernelContext_GetInput(context, held.place, &value));
    // Whenever it runs: the same memory may hold something else by now.
    if (value == nullptr || fingerprint_in_session(value) != held.fingerprint) {
      throw Error(
          Error::Code::unsupported,
          "the run gives initializer '" + held.name +
              "' another value than the model, whose engine has it inside: make it an input "
              "without an initializer");
    }
  }
}

void PartNode::run(OrtKernelContext* context) {
  check_held(context);
  const Slots::Lease lease(*session_.slots);
  Bound& bound = this->bound(lease.slot());
  std::vector<octet::TensorView> inputs;
  for (const size_t place : inputs_) inputs.push_back(input(context, place));
  prepare(bound, inputs);
  if (bound.open) {
    const std::vector<octet::Tensor> results = bound.context.run(inputs);
    for (size_t i = 0; i < results.size(); ++i) {
      const auto to = output(context, i, results[i].type());
      copy_result(results[i], to);
    }
  } else {
    std::vector<octet::MutableTensorView> outputs;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      outputs.push_back(output(context, i, bound.outputs[i]));
    }
    bound.context.run_into(inputs, outputs);
  }
  if (built_->observation != nullptr) observe(inputs);
}

// The run has succeeded, and stays so whatever happens here.
void PartNode::observe(std::span<const octet::TensorView> inputs) {
  try {
    std::vector<octet::Tensor> sample;
    if (built_->observation->open())
      for (const octet::TensorView& input : inputs) sample.push_back(host_copy(input));
    if (!built_->observation->add(std::move(sample))) return;
    const std::lock_guard lock(mutex_);
    learner_ = std::jthread([this] { learn(); });
  } catch (const std::exception& error) {
    built_->observation->close();
    session_.log.write(kWarning,
                       std::string("no more runs are observed, all stay FP32: ") + error.what());
  }
}

// The engine is there without its cache, too.
void PartNode::keep(const octet::CalibrationCache& cache) const {
  if (built_->cache.empty()) return;
  try {
    octet::save_calibration_cache(cache, built_->cache);
  } catch (const Error& error) {
    session_.log.write(kWarning,
                       std::string("the calibration cache was not kept: ") + error.what());
  }
}

void PartNode::learn() {
  const Log& log = session_.log;
  Observation& seen = *built_->observation;
  try {
    log.write(kInfo,
              std::to_string(seen.runs()) + " runs were observed" +
                  (seen.short_of_memory() ? ", as many as octet.observe_megabytes allows" : "") +
                  "; the INT8 engine is being built");
    octet::PrecisionPlan plan;
    plan.int8 = true;
    plan.accuracy_time = built_->accuracy_time;
    octet::CompileReport report;
    auto engine = std::make_shared<const octet::Engine>(built_->source->build(plan, &report));
    if (report.cache != nullptr) keep(*report.cache);
    const std::lock_guard lock(mutex_);
    built_->engine = *engine;
    current_ = std::move(engine);
    log.write(kInfo, "INT8 from the next run on");
  } catch (const Error& error) {
    if (error.code() != Error::Code::cancelled) {
      log.write(kError, std::string("the INT8 engine was not built, FP32 stays: ") + error.what());
    }
  } catch (const std::exception& error) {
    log.write(kError, std::string("the INT8 engine was not built, FP32 stays: ") + error.what());
  }
  seen.close();
  built_->source.reset();  // nothing else is built of it
}

}  // namespace octet_ort

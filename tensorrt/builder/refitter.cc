// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/builder/refitter.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "integrations/wire/wire.h"
#include "octet/compile.h"
#include "octet/machine.h"
#include "octet/refit.h"
#include "tensorrt/network/emission.h"
#include "tensorrt/parser/parser.h"

namespace octet_trt {

using octet_wire::WireReader;
using octet_wire::WireWriter;
namespace {

const char* role_name(WeightsRole role) {
  switch (role) {
    case WeightsRole::kKERNEL:
      return "kernel";
    case WeightsRole::kBIAS:
      return "bias";
    case WeightsRole::kSHIFT:
      return "shift";
    case WeightsRole::kSCALE:
      return "scale";
    case WeightsRole::kCONSTANT:
      return "constant";
    default:
      return "";
  }
}

WeightsRole role_of(const std::string& weight) {
  for (int32_t i = 0; i < EnumMax<WeightsRole>(); ++i) {
    const std::string end = std::string(".") + role_name(static_cast<WeightsRole>(i));
    if (end.size() > 1 && weight.ends_with(end)) return static_cast<WeightsRole>(i);
  }
  return WeightsRole::kANY;
}

std::string layer_of(const std::string& weight) {
  const WeightsRole role = role_of(weight);
  if (role == WeightsRole::kANY) return weight;
  return weight.substr(0, weight.size() - std::strlen(role_name(role)) - 1);
}

}  // namespace

Refitter::Refitter(Engine& engine, ILogger* logger)
    : state_(engine.state()), reporter_{logger, engine.reporter.recorder} {
  const OnnxModel model = read_onnx(state_->info.refit_model);
  for (size_t i = 0; i < model.initializers.size(); ++i) {
    OnnxTensor tensor = read_tensor(model.initializers[i]);
    // Constants that the library made for a layer are no weights of the client, and what has no values cannot get others.
    if (tensor.name.find(".weights~") != std::string::npos || tensor.type.shape.elements() == 0)
      continue;
    weights_[tensor.name] = {tensor.name, tensor.type, i, std::move(tensor.raw), false};
  }
}

Refitter::Weight* Refitter::find(const std::string& name) const {
  const auto found = weights_.find(name);
  return found == weights_.end() ? nullptr : &found->second;
}

bool Refitter::set(const std::string& name, const Weights& weights) {
  Weight* weight = find(name);
  if (weight == nullptr) refuse("the engine has no weights '" + name + "'");
  const int64_t expected = weight->type.shape.elements();
  if (weights.values == nullptr) refuse("weights '" + name + "' were given as a null pointer");
  if (weights.count != expected) {
    refuse("weights '" + name + "' have " + std::to_string(expected) + " values, and " +
           std::to_string(weights.count) + " were given");
  }
  const bool is_real = weight->type.dtype == octet::Dtype::f32;
  if (!is_real && to_octet(weights.type) != weight->type.dtype)
    refuse("weights '" + name + "' are of type " + std::string(dtype_name(weight->type.dtype)));
  const auto bytes = static_cast<size_t>(weight->type.bytes());
  weight->values =
      is_real ? as_f32(weights) : std::string(static_cast<const char*>(weights.values), bytes);
  weight->is_set = true;
  return true;
}

bool Refitter::setWeights(char const* layerName, WeightsRole role, Weights weights) noexcept {
  return guarded(reporter_, "IRefitter::setWeights", false, [&] {
    const std::string layer = layerName == nullptr ? "" : layerName;
    // The weights of a parsed model have names of their own.
    const std::string named = layer + "." + role_name(role);
    return set(find(named) != nullptr ? named : layer, weights);
  });
}

bool Refitter::setNamedWeights(char const* name, Weights weights) noexcept {
  return guarded(reporter_, "IRefitter::setNamedWeights", false,
                 [&] { return set(name == nullptr ? "" : name, weights); });
}

// The graph with the weights that were set.
std::string Refitter::changed_graph(std::string_view graph) const {
  std::string text;
  WireReader inside(graph);
  while (const auto part = inside.next()) {
    const OnnxTensor old = part->number == 5 ? read_tensor(part->bytes) : OnnxTensor{};
    const Weight* weight = part->number == 5 ? find(old.name) : nullptr;
    if (weight == nullptr || !weight->is_set) {
      text += part->whole;
      continue;
    }
    WireWriter changed;
    changed.bytes(5, tensor_proto(weight->name, weight->type, weight->values));
    text += changed.text();
  }
  return text;
}

bool Refitter::rebuild() {
  const std::shared_ptr<EngineState>& state = state_;
  std::string bytes;
  WireReader reader(state->info.refit_model);
  while (const auto field = reader.next()) {
    WireWriter graph;
    if (field->number == 7) graph.bytes(7, changed_graph(field->bytes));
    bytes += field->number == 7 ? graph.text() : std::string(field->whole);
  }
  octet::CompileOptions options = octet::refit_options(state->info.refit_options);
  options.threads = octet::usable_processors();
  for (const auto& [name, range] : ranges_) {
    if (!options.calibration) continue;
    options.calibration->ranges.insert(options.calibration->ranges.begin(),
                                       {name, range[0], range[1]});
  }
  const octet::Engine engine = octet::compile(std::as_bytes(std::span(bytes)), options);
  PlanInfo info = state->info;
  info.refit_model = bytes;
  state->engine = with_plan_info(engine, info);
  // All else stays where it is: clients keep the names that they were given.
  state->info.refit_model = std::move(info.refit_model);
  ++state->changes;
  return true;
}

bool Refitter::refitCudaEngine() noexcept {
  return guarded(reporter_, "IRefitter::refitCudaEngine", false, [&] { return rebuild(); });
}

// A plan has all of its weights: none is missing.
int32_t Refitter::getMissing(int32_t, char const**, WeightsRole*) noexcept { return 0; }
int32_t Refitter::getMissingWeights(int32_t, char const**) noexcept { return 0; }

int32_t Refitter::getAll(int32_t size, char const** layerNames, WeightsRole* roles) noexcept {
  int32_t count = 0;
  for (const auto& [name, weight] : weights_) {
    if (count < size && layerNames != nullptr)
      layerNames[count] = layers_.insert(layer_of(name)).first->c_str();
    if (count < size && roles != nullptr) roles[count] = role_of(name);
    ++count;
  }
  return count;
}

int32_t Refitter::getAllWeights(int32_t size, char const** weightsNames) noexcept {
  int32_t count = 0;
  for (const auto& entry : weights_) {
    if (count < size && weightsNames != nullptr) weightsNames[count] = entry.first.c_str();
    ++count;
  }
  return count;
}

bool Refitter::setDynamicRange(char const* tensorName, float min, float max) noexcept {
  return guarded(reporter_, "IRefitter::setDynamicRange", false, [&] {
    need(tensorName, "name of a tensor");
    if (!(min <= max))
      refuse("no range from " + std::to_string(min) + " to " + std::to_string(max));
    ranges_[tensorName] = {min, max};
    return true;
  });
}
float Refitter::getDynamicRangeMin(char const* tensorName) const noexcept {
  const auto found = ranges_.find(tensorName == nullptr ? "" : tensorName);
  return found == ranges_.end() ? std::nanf("") : found->second[0];
}
float Refitter::getDynamicRangeMax(char const* tensorName) const noexcept {
  const auto found = ranges_.find(tensorName == nullptr ? "" : tensorName);
  return found == ranges_.end() ? std::nanf("") : found->second[1];
}
int32_t Refitter::getTensorsWithDynamicRange(int32_t size,
                                             char const** tensorNames) const noexcept {
  int32_t count = 0;
  for (const auto& entry : ranges_) {
    if (count < size && tensorNames != nullptr) tensorNames[count] = entry.first.c_str();
    ++count;
  }
  return count;
}

void Refitter::setErrorRecorder(IErrorRecorder* recorder) noexcept {
  reporter_.recorder = recorder;
}
IErrorRecorder* Refitter::getErrorRecorder() const noexcept { return reporter_.recorder; }
ILogger* Refitter::getLogger() const noexcept { return reporter_.logger; }
bool Refitter::setMaxThreads(int32_t maxThreads) noexcept {
  if (maxThreads < 1) return false;
  max_threads_ = maxThreads;
  return true;
}
int32_t Refitter::getMaxThreads() const noexcept { return max_threads_; }

#if NV_TENSORRT_MAJOR >= 10
bool Refitter::setNamedWeightsWithLocation(char const* name, Weights weights,
                                           TensorLocation) noexcept {
  return setNamedWeights(name, weights);
}
Weights Refitter::getNamedWeights(char const* weightsName) const noexcept {
  const Weight* weight = find(weightsName == nullptr ? "" : weightsName);
  if (weight == nullptr || !weight->is_set) return {DataType::kFLOAT, nullptr, 0};
  return {to_trt(weight->type.dtype), weight->values.data(), weight->type.shape.elements()};
}
TensorLocation Refitter::getWeightsLocation(char const*) const noexcept {
  return TensorLocation::kHOST;
}
bool Refitter::unsetNamedWeights(char const* weightsName) noexcept {
  Weight* weight = find(weightsName == nullptr ? "" : weightsName);
  if (weight == nullptr) return false;
  weight->is_set = false;
  return true;
}
void Refitter::setWeightsValidation(bool weightsValidation) noexcept {
  validates_ = weightsValidation;
}
bool Refitter::getWeightsValidation() const noexcept { return validates_; }
bool Refitter::refitCudaEngineAsync(cudaStream_t) noexcept { return refitCudaEngine(); }
Weights Refitter::getWeightsPrototype(char const* weightsName) const noexcept {
  const Weight* weight = find(weightsName == nullptr ? "" : weightsName);
  if (weight == nullptr) return {DataType::kFLOAT, nullptr, -1};
  return {to_trt(weight->type.dtype), nullptr, weight->type.shape.elements()};
}
#endif

void* make_refitter(ICudaEngine& engine, ILogger* logger) noexcept {
  const Reporter reporter{logger == nullptr ? &error_output() : logger, nullptr};
  return guarded(reporter, "createInferRefitter", static_cast<void*>(nullptr), [&]() -> void* {
    need(logger, "logger");
    auto& own = static_cast<Engine&>(engine);
    if (!own.isRefittable()) refuse("the engine was built without BuilderFlag::kREFIT");
    return static_cast<IRefitter*>(new Refitter(own, logger));
  });
}

#if NV_TENSORRT_MAJOR >= 10
IRefitter* Engine::createRefitter(ILogger& logger) noexcept {
  return guarded(reporter, "ICudaEngine::createRefitter", static_cast<IRefitter*>(nullptr), [&] {
    need(&logger, "logger");
    return static_cast<IRefitter*>(make_refitter(*this, &logger));
  });
}
namespace {

class ParserRefitter final : public Padded<nvonnxparser::IParserRefitter> {
 public:
  ParserRefitter(IRefitter& refitter, ILogger* logger)
      : refitter_(static_cast<Refitter&>(refitter).watched), reporter_{logger, nullptr} {}

  bool refitFromBytes(void const* serializedOnnxModel, size_t serializedOnnxModelSize,
                      char const*) noexcept override {
    return told("IParserRefitter::refitFromBytes", [&] {
      need(serializedOnnxModel, "model");
      return take({static_cast<const char*>(serializedOnnxModel), serializedOnnxModelSize});
    });
  }
  bool refitFromFile(char const* onnxModelFile) noexcept override {
    return told("IParserRefitter::refitFromFile",
                [&] { return take(read_file(onnxModelFile == nullptr ? "" : onnxModelFile)); });
  }
  bool loadModelProto(void const* serializedOnnxModel, size_t serializedOnnxModelSize,
                      char const*) noexcept override {
    return told("IParserRefitter::loadModelProto", [&] {
      need(serializedOnnxModel, "model");
      loaded_.load({static_cast<const char*>(serializedOnnxModel), serializedOnnxModelSize}, "");
      return true;
    });
  }
  bool loadInitializer(char const* name, void const* data, size_t size) noexcept override {
    return told("IParserRefitter::loadInitializer", [&] {
      loaded_.set(name, data, size);
      return true;
    });
  }
  bool refitModelProto() noexcept override {
    return told("IParserRefitter::refitModelProto", [&] { return take(loaded_.bytes()); });
  }
  int32_t getNbErrors() const noexcept override { return errors_.count(); }
  nvonnxparser::IParserError const* getError(int32_t index) const noexcept override {
    return errors_.at(index);
  }
  void clearErrors() noexcept override { errors_.clear(); }

 private:
  // Every weight of the model that the engine has.
  bool take(std::string_view bytes) {
    Refitter* refitter = refitter_.get();
    if (refitter == nullptr) refuse("the refitter was destroyed before its parser");
    bool all = true;
    const OnnxModel model = read_onnx(bytes);
    for (const std::string& initializer : model.initializers) {
      const OnnxTensor tensor = read_tensor(initializer);
      all = refitter->setNamedWeights(
                tensor.name.c_str(),
                {to_trt(tensor.type.dtype), tensor.raw.data(), tensor.type.shape.elements()}) &&
            all;
    }
    return all;
  }

  // What is thrown is kept as an error, too.
  template <class Work>
  bool told(const char* function, const Work& work) noexcept {
    return guarded(reporter_, function, false, [&] {
      try {
        return work();
      } catch (const std::exception& error) {
        errors_.add(nvonnxparser::ErrorCode::kREFIT_FAILED, error.what());
        throw;
      }
    });
  }

  Watch<Refitter> refitter_;
  Reporter reporter_;
  ParserErrors errors_;
  LoadedModel loaded_;
};

}  // namespace

void* make_parser_refitter(IRefitter& refitter, ILogger* logger) noexcept {
  return static_cast<nvonnxparser::IParserRefitter*>(new ParserRefitter(refitter, logger));
}
#endif

}  // namespace octet_trt

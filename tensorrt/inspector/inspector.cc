// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/inspector/inspector.h"

#include <algorithm>

#include "octet/machine.h"
#include "tensorrt/engine/context.h"

namespace octet_trt {

IEngineInspector* Engine::createEngineInspector() const noexcept {
  return new Inspector(state_, reporter);
}

Inspector::Inspector(std::shared_ptr<const EngineState> state, Reporter told)
    : state_(std::move(state)), reporter_(told) {}

bool Inspector::setExecutionContext(IExecutionContext const* context) noexcept {
  context_ = context == nullptr ? Watch<const Context>()
                                : Watch(static_cast<const Context*>(context)->watched);
  inspector_.reset();
  return true;
}
IExecutionContext const* Inspector::getExecutionContext() const noexcept { return context_.get(); }

// Made when it is asked, for the sizes that the context has then.
const octet::EngineInspector& Inspector::inspector() const {
  const Context* context = context_.get();
  const int64_t changes = context == nullptr ? 0 : context->shape_changes();
  if (inspector_ && changes_ == changes) return *inspector_;
  octet::InspectorOptions options;
  options.schema = 10;
  options.has_context = context != nullptr;
  options.threads = octet::usable_processors();
  options.tuning = state_->tuning();
  options.verbosity = static_cast<octet::InspectorVerbosity>(state_->info.verbosity % 3);
  const bool is_sized = context != nullptr && context->allInputDimensionsSpecified();
  const std::vector<octet::Shape> shapes =
      is_sized ? context->known_input_shapes() : state_->usual_shapes();
  if (!shapes.empty()) options.profiles.push_back({shapes});
  inspector_.emplace(state_->engine, options);
  changes_ = changes;
  return *inspector_;
}

AsciiChar const* Inspector::getLayerInformation(int32_t layerIndex,
                                                LayerInformationFormat format) const noexcept {
  return guarded(reporter_, "IEngineInspector::getLayerInformation",
                 static_cast<AsciiChar const*>(nullptr), [&]() -> AsciiChar const* {
                   need_right(format, "format");
                   const auto layer = static_cast<size_t>(layerIndex);
                   if (layerIndex < 0 || layer >= inspector().layer_count())
                     refuse("there is no layer " + std::to_string(layerIndex));
                   text_ = inspector().layer_information(
                       layer, static_cast<octet::InspectorFormat>(format));
                   return text_.c_str();
                 });
}

AsciiChar const* Inspector::getEngineInformation(LayerInformationFormat format) const noexcept {
  return guarded(reporter_, "IEngineInspector::getEngineInformation",
                 static_cast<AsciiChar const*>(nullptr), [&]() -> AsciiChar const* {
                   need_right(format, "format");
                   text_ =
                       inspector().engine_information(static_cast<octet::InspectorFormat>(format));
                   return text_.c_str();
                 });
}

void Inspector::setErrorRecorder(IErrorRecorder* recorder) noexcept {
  reporter_.recorder = recorder;
}
IErrorRecorder* Inspector::getErrorRecorder() const noexcept { return reporter_.recorder; }

}  // namespace octet_trt

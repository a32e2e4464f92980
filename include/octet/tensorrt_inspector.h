// SPDX-License-Identifier: Apache-2.0
// An engine's layers in the words of TensorRT's engine inspector, for tools that read those (NVIDIA's TREX, Polygraphy, scripts).
// docs/tensorrt.md says what stands for what. octet/json.h has the same layers in Octet's own words.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "octet/engine.h"
#include "octet/tuning.h"

namespace octet {

enum class InspectorFormat { oneline, json };                        // TensorRT's kONELINE, kJSON
enum class InspectorVerbosity { layer_names_only, none, detailed };  // its ProfilingVerbosity

// The sizes that one of TensorRT's optimization profiles allows, one for each input.
struct InspectorProfile {
  std::vector<Shape> opt;       // what its layers are shown for
  std::vector<Shape> min = {};  // empty: as `opt`
  std::vector<Shape> max = {};
};

struct InspectorOptions {
  // Of the second profile on, names end with " [profile N]". None: one, of sample_shapes().
  std::vector<InspectorProfile> profiles = {};
  // Without a context, sizes that the engine leaves open are -1; formats are those of the profile, since scripts read them of every value.
  bool has_context = true;
  InspectorVerbosity verbosity = InspectorVerbosity::detailed;
  int schema =
      10;  // 10: "Bindings" and "Format/Datatype"; 11: "I/O Tensors", "Format" and "DataType"
  int threads = 1;
  std::shared_ptr<const Tuning> tuning = nullptr;
  std::string device = "cpu";
};

// Immutable; it keeps no hold of the engine.
class EngineInspector {
 public:
  // Throws Error(invalid_argument) for another schema and for shapes that the engine does not take.
  explicit EngineInspector(const Engine& engine, const InspectorOptions& options = {});
  ~EngineInspector();
  EngineInspector(EngineInspector&&) noexcept;
  EngineInspector& operator=(EngineInspector&&) noexcept;

  // In the order of execution, as octet::inspect() and octet::profile() have them.
  size_t layer_count() const;
  // In TensorRT's manner: "conv1 + relu1", "PWN(sigmoid)", "Reformatting CopyNode for Input Tensor 0 to conv1". No two are equal.
  const std::string& layer_name(size_t layer) const;
  // "CaskConvolution", "Reformat"; "NoOp" for what only gives memory another shape, and takes no time.
  const std::string& layer_type(size_t layer) const;

  // getLayerInformation and getEngineInformation. Nothing where verbosity is none.
  std::string layer_information(size_t layer, InspectorFormat format) const;
  std::string engine_information(InspectorFormat format) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
// The middle of the pipeline as a value: what every engine of a model starts from, whatever its precisions. A FloatModel can be
// kept, and copied for next to nothing, since copies share graph, data and codes; each function gives a new one.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "octet/compile.h"
#include "ops/quantized/weight_codes.h"
#include "pipeline/observe.h"
#include "precision/equalize.h"
#include "precision/layer_losses.h"
#include "precision/precision.h"
#include "preprocess/found_preprocess.h"
#include "runtime/equalized.h"
#include "runtime/model.h"

namespace octet {

// What one run over the data saw. Ranges of any method follow from it.
struct Calibration {
  std::filesystem::path data;  // as the user named it; empty where samples came from the caller
  std::string data_hash;       // of all samples as the model gets them, in any order
  std::string cache_hash;      // of the scales of a cache; empty where there is none
  std::optional<Preprocess> preprocess;
  s64 samples = 0;
  s64 rows = 1;                          // of a run
  std::string device;                    // the chip that ran them; empty: the CPU
  std::vector<InputSummary> inputs;      // one for each input of the graph
  std::vector<InputProfile> profiles;    // likewise, or none: an older cache does not say
  std::optional<DataHandling> handling;  // of files
  std::vector<std::string> skipped;      // "name: reason"
  std::vector<std::string> notes;        // about the data
  bool equalize = true;                  // as it was asked for
  // Of the float graph's channels. What was seen of values, and ranges, are of what they are then.
  ChannelExponents exponents;
  std::vector<ValueId> values;  // of the float graph, in its order; those that codes may need
  std::vector<TensorObservation> observations;                      // one for each
  std::vector<std::shared_ptr<const TensorStatistics>> statistics;  // one for each
  std::vector<std::vector<Tensor>> tried_samples;     // runs of some, where a method tries them
  std::vector<std::vector<Tensor>> compared_samples;  // likewise, for the outputs of an engine
  std::vector<LayerLoss> losses;             // of layers that were tried on these; empty: none was
  std::shared_ptr<const Ranges> own_ranges;  // of the data, before those by hand; null: a cache's
};

struct FloatModel;

// A body of a node of control flow, which is a model of its own: optimized, calibrated over all rounds, quantized, and put back.
struct FloatBody {
  std::shared_ptr<const FloatModel> model;  // its graph is the one that the node's attribute holds
};

struct FloatModel {
  std::string place;  // of a body: "loop1.body/", before its names; empty for the model itself
  std::vector<FloatBody> bodies;       // those in which something multiplies
  std::shared_ptr<const Graph> graph;  // after the float passes; nodes name the ONNX nodes in them
  std::string producer;
  std::string hash;  // of the ONNX model with its weights; empty where it is not known
  std::map<std::string, Shape> input_shapes;  // that the caller fixed
  // The names of its tensors before any pass; null where they are not known.
  std::shared_ptr<const std::vector<std::string>> tensors;
  // The operators of its ONNX nodes before any pass, by the nodes' names; null where they are not known.
  std::shared_ptr<const std::unordered_map<std::string, std::string_view>> operators;
  std::optional<Preprocess> preprocess;  // remembered where calibration has none
  std::optional<FoundPreprocess> found;  // what the file, or one beside it, says
  bool carries_qdq = false;              // the model brings scales of its activations
  EqualizedValues equalized;             // of a file of ours that holds an equalized network
  std::vector<PassTrace> passes;         // that made the graph
  std::vector<std::string> notes;        // for the user, about the graph
  std::shared_ptr<const Calibration> calibration;  // null: none yet
  std::shared_ptr<const Ranges> ranges;            // null: none yet
  std::shared_ptr<WeightCodes> weight_codes;       // filled by whoever quantizes first
  // Of layers whose weights f16 does not hold, by the names of their ONNX nodes; null: none.
  std::shared_ptr<const std::unordered_map<std::string, Decision>> instead_of_f16;
};

// How a stage runs and whom it tells.
struct StageOptions {
  int threads = 1;
  Monitor monitor = {};
  std::string device = "cpu";
};

// Name and type of each input, in order.
std::vector<TensorInfo> input_infos(const Graph& graph);

// What the model's makers say of photos counts where the caller says nothing. Arrays are what they are.
CalibrationOptions with_found(CalibrationOptions options, const FloatModel& model);

// The float passes over an imported graph.
FloatModel optimize(Graph graph, const RewriteOptions& rewrites, const Monitor& monitor = {});

// Ranges for every tensor that codes may need: by running the data through the graph, once, or from a cache; then what is given by
// hand. Throws for bad data as DataSource does. For models without Q/DQ of their own.
FloatModel calibrate(const FloatModel& model, const CalibrationOptions& options,
                     const StageOptions& stage = {});

// Ranges of another method, for all tensors, from what calibration saw; of the caller, whatever it saw; and as good data would give them:
// positive, negative, the same everywhere.
FloatModel with_method(const FloatModel& model, const RangeMethod& method);
FloatModel with_ranges(const FloatModel& model, Ranges ranges);
FloatModel with_assumed_ranges(const FloatModel& model);

// One variant of the model: precisions, Q/DQ, integer operators. Imports nothing, calibrates nothing, and quantizes weights that
// no variant has quantized before. `report`, where given, gets passes and ranges. Throws Error(invalid_argument) where INT8 is asked
// for and neither ranges nor Q/DQ are there.
Model quantize(const FloatModel& model, const PrecisionPlan& plan, CompileReport* report = nullptr,
               const Monitor& monitor = {});
// The same with what is asked of each node of the model's graph in place of the plan's constraints; empty: with those.
Model quantize_layers(const FloatModel& model, const PrecisionPlan& plan,
                      std::vector<LayerRequest> layers, CompileReport* report = nullptr,
                      const Monitor& monitor = {});

}  // namespace octet

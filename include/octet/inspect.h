// SPDX-License-Identifier: Apache-2.0
// What an engine consists of, and why: layers, precisions, kernels, reasons, coverage, and errors against a float engine.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "octet/constraints.h"
#include "octet/data.h"
#include "octet/engine.h"
#include "octet/precision.h"
#include "octet/progress.h"
#include "octet/tensor.h"
#include "octet/tolerances.h"
#include "octet/tuning.h"

namespace octet {

// What the codes of a tensor mean: real = scale * (code - zero_point). Of weights there may be a scale for each output channel.
struct CodeScale {
  std::vector<float>
      scales;  // one, or one for each channel; empty: the tensor is no codes, or they have no scale
  int zero_point = 0;
};

// A constant that a layer reads: weights, bias, a table.
struct ConstantInfo {
  std::string name;
  TensorType type;
  CodeScale codes;
};

// One node of the built graph as this machine would run it.
struct LayerInfo {
  std::string name;
  std::string op;
  Precision precision = Precision::none;
  std::string kernel;  // "conv_u8s8_vnni", "reference"
  std::string device;  // that runs it: "cpu"
  ReasonCode reason_code = ReasonCode::none;
  std::string reason;  // why this precision, in one sentence
  std::string
      kernel_reason;  // what the kernel is about, and why no faster one took the layer; may be empty
  KernelChoice choice;
  // What tuning knows the layer by, and measure_layer() runs; empty for layers that are no node.
  std::string signature;
  std::vector<std::string> rejected;  // "name: reason" for every other kernel that was asked
  std::vector<std::string> nodes;     // the ONNX nodes in it
  std::vector<std::string> inputs;    // names of the values that a run computes, constants apart
  std::vector<std::string> outputs;
  std::vector<TensorType> input_types;  // concrete, in the order of `inputs`
  std::vector<TensorType> output_types;
  std::vector<CodeScale> input_codes;  // one for each of `inputs`
  std::vector<CodeScale> output_codes;
  std::vector<ConstantInfo> constants;
  // It brings a value into another type or layout and computes nothing: QuantizeLinear, DequantizeLinear, Reorder.
  bool conversion = false;
  // A node of control flow, whose bodies' layers follow: it is no layer of its own. Their names begin with its name and that of the body.
  bool holds_layers = false;
  int64_t macs = 0;  // in a body: of one round
  double macs_per_cycle =
      0;  // of the kernel's unit at best; 0 for kernels that only move or look up
  int64_t crossing_bytes = 0;  // copied between the memories of two devices
  int64_t constant_bytes = 0;  // weights and other constants that it reads
  double us = 0;  // median of a run on random inputs, by measure_coverage(); 0: not measured
};

// Conversions (QuantizeLinear, DequantizeLinear) and shape arithmetic are not layers.
struct Coverage {
  int64_t int8_layers = 0;
  int64_t layers = 0;
  int64_t int8_macs = 0;
  int64_t macs = 0;
  int64_t int8_bytes = 0;  // that layers read and write, weights included
  int64_t bytes = 0;
  // Of all steps, conversions too: what measure_coverage() found.
  double int8_us = 0;
  double us = 0;  // 0: not measured

  // Shares from 0 to 1; NaN where there is nothing to share: no layer, no multiplication, no time measured.
  double layer_share() const;
  double mac_share() const;
  double byte_share() const;
  double time_share() const;
};

// What coverage counts: neither a conversion nor arithmetic of shapes.
bool counts_as_layer(const LayerInfo& layer);

struct Inspection {
  std::vector<LayerInfo> layers;
  Coverage coverage;
  // One for each ONNX node in the engine, in its order: what was asked of it, and what it got.
  std::vector<NodePrecision> nodes;
  std::vector<PrecisionConstraint> constraints;  // that the build was given
  ConstraintMode constraint_mode = ConstraintMode::prefer;
  std::string isa;  // of the kernels, on the CPU: "vnni"; on another device what it calls its level
  int64_t weight_bytes = 0;  // constants of the built graph
  int64_t arena_bytes = 0;   // activations and workspace of one context, on all its devices
};

struct EngineMemory {
  int64_t weight_bytes = 0;  // as in Inspection
  int64_t arena_bytes = 0;
};

struct InspectOptions {
  std::vector<Shape> input_shapes;  // empty: sample_shapes()
  int threads = 1;
  std::shared_ptr<const Tuning> tuning = nullptr;
  std::string device = "cpu";
  bool chains = true;  // as in ContextOptions
};

// One shape for each input: the engine's own, with batch 1, images of 224 x 224 and 8 for whatever else is dynamic.
std::vector<Shape> sample_shapes(const Engine& engine);

Inspection inspect(const Engine& engine, const InspectOptions& options = {});

// What an inspection says of memory alone.
EngineMemory memory_of(const Engine& engine, const InspectOptions& options = {});

// Difference between a value of one engine and the value of that name in another, over all samples.
struct ValueError {
  std::string value;
  std::string layer;  // the layer of the tested engine that computes it
  Precision precision = Precision::none;
  double sqnr_db = 0;  // 10 log10(sum of squares of the reference / sum of squared differences)
  double max_abs = 0;
  double cosine = 0;
  int64_t elements = 0;
  int64_t order = 0;   // of its layer among those of the tested engine, as they run
  int64_t beyond = 0;  // elements that differ beyond both tolerances, or are NaN on one side
};

// The engine with every inner value that stands for real numbers as an output too, after its own: dequantized, under the value's name. The
// layers and their kernels' results are those of the engine.
Engine with_inner_values(const Engine& engine);

struct CompareOptions {
  int threads = 1;
  Tolerance tolerance = {};  // of ValueError::beyond, element by element
  Monitor monitor = {};      // told of each sample as stage "compare"
};

// Runs both engines on every sample (inputs in the order of Engine::inputs()) and compares the values that both compute,
// dequantized, worst SQNR first. `next` returns false at the end of the data.
std::vector<ValueError> compare(const Engine& reference, const Engine& tested,
                                const SampleSource& next, const CompareOptions& options = {});

// The names of all values that compare() can look at, as they are computed.
std::vector<std::string> inner_values(const Engine& engine);
// f32 tensors of these values, in that order, for inputs of the tested engine.
using ValueRunner = std::function<std::vector<Tensor>(std::span<const Tensor> inputs)>;
// The same against values that somebody else computes, ONNX Runtime say; `names` are among inner_values(). Values of another shape there
// are left out.
std::vector<ValueError> compare(std::span<const std::string> names, const ValueRunner& reference,
                                const Engine& tested, const SampleSource& next,
                                const CompareOptions& options = {});

// The first of the layers, as they run, that has elements beyond the tolerances; null: none has.
const ValueError* first_difference(std::span<const ValueError> errors);

}  // namespace octet

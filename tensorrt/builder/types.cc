// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/builder/types.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

namespace octet_trt {
namespace {

// What a client asks of a layer, in Octet's words; types that no layer computes in here are left to it.
octet::Precision precision_of(DataType type) {
  if (type == DataType::kINT8) return octet::Precision::int8;
  if (type == DataType::kFLOAT) return octet::Precision::f32;
  if (type == DataType::kHALF) return octet::Precision::f16;
  return to_octet(type) == octet::Dtype::bf16 ? octet::Precision::bf16 : octet::Precision::none;
}

// Shapes, indices and constants cannot be asked for a type.
bool computes(const LayerCore& layer) {
  return layer.kind() != LayerType::kCONSTANT && !layer.outputs.empty() &&
         layer.outputs[0]->model_type().dtype == octet::Dtype::f32;
}

// Whether the model's own graph has a node of the layer's name.
bool has_node(const LayerCore& layer, const std::set<const LayerCore*>& outside) {
  return outside.contains(&layer) && layer.boundary().scope == nullptr;
}

void say_inside(const Config& config, const LayerCore& layer) {
  config.reporter.warn("layer '" + layer.name +
                       "' and others inside of loops and conditions have types of their own asked "
                       "for, which are not taken there");
}

std::vector<octet::PrecisionConstraint> constraints_of(const Network& network,
                                                       const Config& config) {
  std::vector<octet::PrecisionConstraint> constraints;
  const std::set<const LayerCore*> outside = network.layers_outside();
  const LayerCore* inside = nullptr;
  for (const LayerCore* layer : network.layers_of_model()) {
    if (!computes(*layer)) continue;
    if (!has_node(*layer, outside)) {
      if (layer->precision || !layer->output_types.empty()) inside = layer;
      continue;
    }
    const auto ask = [&](const std::optional<DataType>& type, bool output) {
      const auto precision = type ? precision_of(*type) : octet::Precision::none;
      if (precision != octet::Precision::none)
        constraints.push_back({layer->name, precision, output});
    };
    ask(layer->precision, false);
    if (!layer->output_types.empty()) ask(layer->output_types[0], true);
  }
  if (inside != nullptr) say_inside(config, *inside);
  return constraints;
}

void say_halves(const std::string& types, const Config& config) {
  config.reporter.log(Severity::kINFO,
                      types +
                          ": layers of f16 have its values and half the bytes of weights; on a CPU "
                          "they are multiplied in f32, which takes no less time");
}

// Whether a layer may compute in INT8: its type says what it gives then.
bool reads_codes(const LayerCore& layer, const std::set<const Tensor*>& dequantized) {
  return std::ranges::any_of(layer.inputs,
                             [&](const Tensor* input) { return dequantized.contains(input); });
}

// The real type that a layer of a strongly typed network gives, which its inputs, weights and conversions carry; none of what computes nothing.
octet::Precision carried_type(const LayerCore& layer) {
  using enum LayerType;
  const LayerType kind = layer.kind();
  const bool moves = kind == kCAST || kind == kIDENTITY || kind == kCONSTANT;
  if (moves || layer.outputs.size() != 1) return octet::Precision::none;
  const octet::Precision type = precision_of(layer.outputs[0]->getType());
  return type == octet::Precision::int8 ? octet::Precision::none : type;
}

// One type for all, and another one for each layer that carries it. Those that read codes are left to the ranges that come with these.
void choose_carried(const Network& network, const Config& config, octet::PrecisionPlan& plan) {
  for (const LayerCore* layer : network.layers_of_model()) {
    const octet::Precision type = carried_type(*layer);
    plan.f16 = plan.f16 || type == octet::Precision::f16;
    plan.bf16 = plan.bf16 || type == octet::Precision::bf16;
  }
  if (plan.f16) say_halves("a strongly typed network of kHALF", config);
  if (!plan.f16 && !plan.bf16) return;
  const octet::Precision common = plan.f16 ? octet::Precision::f16 : octet::Precision::bf16;
  std::set<const Tensor*> dequantized;
  const std::set<const LayerCore*> outside = network.layers_outside();
  const LayerCore* inside = nullptr;
  for (const LayerCore* layer : network.layers_of_model()) {
    if (layer->kind() == LayerType::kDEQUANTIZE && !layer->outputs.empty())
      dequantized.insert(layer->outputs[0].get());
    const octet::Precision type = carried_type(*layer);
    const bool is_other = type != octet::Precision::none && type != common && computes(*layer) &&
                          !reads_codes(*layer, dequantized);
    if (!is_other) continue;
    if (has_node(*layer, outside)) {
      plan.constraints.push_back({layer->name, type, false});
    } else {
      inside = layer;
    }
  }
  if (inside != nullptr) say_inside(config, *inside);
  if (!plan.constraints.empty()) plan.constraint_mode = octet::ConstraintMode::prefer;
}

// "kFP16 and kBF16", those that are set.
std::string half_flags(const Config& config) {
  std::string flags = config.has(BuilderFlag::kFP16) ? "kFP16" : "";
#if NV_TENSORRT_MAJOR >= 10
  if (config.has(BuilderFlag::kBF16)) flags += flags.empty() ? "kBF16" : " and kBF16";
#endif
  return flags;
}

// What octet trtexec makes of --fp16 and --bf16: the types of layers that are not INT8.
void choose_halves(const Config& config, octet::PrecisionPlan& plan) {
  plan.f16 = config.has(BuilderFlag::kFP16);
#if NV_TENSORRT_MAJOR >= 10
  plan.bf16 = config.has(BuilderFlag::kBF16);
#endif
  if (plan.f16) say_halves(half_flags(config), config);
}

void warn_of_flags(const Config& config) {
  const std::string flags = half_flags(config);
  if (flags.empty()) return;
  config.reporter.warn(flags +
                       " without effect: the network is strongly typed, and each layer computes "
                       "in the type that it has there");
}

}  // namespace

void choose_types(const Network& network, const Config& config, octet::PrecisionPlan& plan) {
  const bool obeys = config.has(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
  if (network.is_strongly_typed()) {
    warn_of_flags(config);
    return choose_carried(network, config, plan);
  }
  choose_halves(config, plan);
  if (!obeys && !config.has(BuilderFlag::kPREFER_PRECISION_CONSTRAINTS)) return;
  plan.constraint_mode = obeys ? octet::ConstraintMode::obey : octet::ConstraintMode::prefer;
  plan.constraints = constraints_of(network, config);
  if (obeys && plan.constraints.empty()) {
    config.reporter.warn(
        "kOBEY_PRECISION_CONSTRAINTS is set, and no layer has a precision or type of output: it "
        "binds nothing");
    plan.constraint_mode = octet::ConstraintMode::prefer;  // the compiler would say so once more
  }
}

}  // namespace octet_trt

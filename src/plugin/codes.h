// SPDX-License-Identifier: Apache-2.0
// What a plugin's node on codes says of them: for each tensor the declared format and the parameters of the codes that lie there. This
// file alone knows the attributes ("octet.in_scales" and so on).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "plugin/declaration.h"

namespace octet {

struct PluginOp;

// Of one tensor. A value of the graph may be u8 where the plugin wants s8: then zero_point is that of the value, and the host turns the
// highest bit when it calls (u8 = s8 + 128 is the same real value).
struct PortCodes {
  PluginFormat format;       // as declared; its layout means nothing
  Dtype stored = Dtype::u8;  // the type of the value: of codes the other byte type, of halves f32
  std::vector<f32> scales;   // empty: numbers that stand for themselves
  s32 zero_point = 0;

  bool is_codes() const { return !scales.empty(); }
  bool is_turned() const;
  // As the plugin is told it, whichever byte type stores the codes.
  s32 declared_zero_point() const;
};

struct CodesForm {
  std::vector<PortCodes> inputs, outputs;  // one for each tensor of the node
};

void write_codes(Node& node, const CodesForm& form);
// Throws Error(invalid_model) for a node whose attributes contradict each other or the declaration.
CodesForm read_codes(const Node& node);
// Whether a value of f32 goes to or comes from a port of f16 or bf16, with a conversion: evaluation has one, models get Cast nodes
// (passes/plugin_halves.cc).
bool is_widened(const PluginFormat& format, Dtype dtype);

// Of a node of reals: formats by the types of its tensors; where none fit, f32 is taken for halves. Throws Error(invalid_model) with the
// matrix of what is declared.
CodesForm reals_form(const Node& node, std::span<const TensorType> inputs);
// Codes that an operator moves without knowing their parameters: the first combination for these types, with parameters that mean nothing.
// Nothing where the first input is no codes, or other inputs are of other types than that.
std::optional<CodesForm> moved_form(const Node& node, std::span<const TensorType> inputs);

// A node that is given u8 or s8 where the plugin declares codes: the combination for these types, one that gives codes before one that
// gives reals. Codes go out as the type that the first ones come in. Null where the types are those of reals, or of nothing.
const PluginCombination* codes_combination(const Node& node, std::span<const TensorType> inputs);

// The first combination on this device that takes and gives these numbers, or null. Later ones: those that means_same() as it.
const PluginCombination* find_combination(const Declaration& declaration, const CodesForm& form,
                                          u32 device);

// Throws Error(invalid_model) where a tensor is of another type than the node says of it, or has not a scale for each channel: the plugin
// would read elsewhere.
void check_inputs(const CodesForm& form, std::span<const TensorType> inputs);

// s8 codes of value input or output i become u8 codes (plan/relabel.cc).
void plugin_reads_as_u8(Node& node, size_t input);
void plugin_writes_as_u8(Node& node, size_t output);
// OpTraits::verify of codes: the parameters of values are those of the node.
void verify_plugin_codes(const Graph& graph, const Node& node);

// A table for people: the types that a node offers, and of each combination that is declared types, parameters, layouts and device, with
// the cells that do not match in brackets.
std::string format_matrix(const Declaration& declaration, const std::vector<std::string>& offered,
                          const std::vector<std::vector<bool>>& matches);

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "inspect/lint/qdq_lint.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "graph/op_def.h"
#include "inspect/lint/qdq_fate.h"
#include "inspect/lint/qdq_rules.h"
#include "inspect/lint/qdq_view.h"
#include "ops/attributes/codes.h"

namespace octet {
namespace {

constexpr std::array<std::string_view, 4> kRoles{"activation", "weights", "bias", "lone_quantize"};

class Linter {
 public:
  Linter(const Graph& imported, const Graph& built, std::span<const std::string> defaults)
      : graph_(imported), view_(imported), fates_(built), rules_(imported, view_, defaults) {}

  QdqLint run() {
    for (const Node& node : graph_.nodes) {
      if (is_dequantize(node)) add_pair(node);
      if (is_quantize(node) && is_lone(node)) add_lone(node);
    }
    note_layers(view_, lint_.notes);
    if (!lint_.pairs.empty()) note_model();
    return std::move(lint_);
  }

 private:
  std::vector<const Node*> readers(const Node& node) const {
    std::vector<const Node*> nodes;
    for (u32 at : view_.uses.consumers(node.outputs[0])) nodes.push_back(&graph_.nodes[at]);
    return nodes;
  }

  bool is_lone(const Node& quantize) const {
    return std::ranges::none_of(readers(quantize),
                                [](const Node* node) { return is_dequantize(*node); });
  }

  void add_pair(const Node& dequantize) {
    QdqPair pair;
    pair.dequantize = dequantize.name;
    const Node* quantize = view_.producer(dequantize.input(kLinearX));
    if (quantize != nullptr && is_quantize(*quantize)) pair.quantize = quantize->name;
    const ValueId source =
        pair.quantize.empty() ? dequantize.input(kLinearX) : quantize->input(kLinearX);
    pair.tensor = source == kNoValue ? "" : graph_.value(source).name;
    pair.role = role_of(dequantize);
    const std::vector<const Node*> by = readers(dequantize);
    tell_fate(pair, by);
    rules_.note_pair(pair.quantize.empty() ? nullptr : quantize, dequantize, by, pair);
    lint_.pairs.push_back(std::move(pair));
  }

  void add_lone(const Node& quantize) {
    QdqPair pair;
    pair.role = QdqRole::lone_quantize;
    pair.quantize = quantize.name;
    pair.tensor = graph_.value(quantize.input(kLinearX)).name;
    pair.int8 = true;
    pair.fate = view_.uses.is_output(quantize.outputs[0]) ? "its codes are an output of the model"
                                                          : "its codes are read as they are";
    rules_.note_parameters(quantize, pair);
    lint_.pairs.push_back(std::move(pair));
  }

  QdqRole role_of(const Node& dequantize) const {
    if (!view_.is_constant_codes(dequantize)) return QdqRole::activation;
    for (const Node* reader : readers(dequantize)) {
      if (view_.is_weighted(*reader) && reader->input(2) == dequantize.outputs[0])
        return QdqRole::bias;
    }
    return QdqRole::weights;
  }

  void tell_fate(QdqPair& pair, const std::vector<const Node*>& by) const {
    std::vector<std::string> codes, reals;
    for (const Node* reader : by) {
      const bool inside = fates_.computes_on_codes(reader->name) || is_quantize(*reader);
      (inside ? codes : reals).push_back(fates_.describe(reader->name));
    }
    pair.int8 = reals.empty() && !codes.empty();
    std::string text;
    if (!codes.empty()) text = fmt::format("its codes are read by {}", listed(codes));
    if (!reals.empty())
      text += fmt::format("{}made real for {}", text.empty() ? "" : "; ", listed(reals));
    if (by.empty()) text = "nobody reads it but the caller";
    const Node* quantize = pair.quantize.empty() ? nullptr : fates_.find(pair.quantize);
    if (quantize != nullptr && is_quantize(*quantize))
      text += "; the codes are made by a step of their own";
    pair.fate = std::move(text);
  }

  static std::string listed(std::vector<std::string> names) {
    constexpr size_t kShown = 3;
    const size_t count = names.size();
    if (count > kShown) names.resize(kShown);
    return fmt::format("{}{}", fmt::join(names, ", "),
                       count > kShown ? fmt::format(" and {} more", count - kShown) : "");
  }

  void note_model() {
    const bool biases = std::ranges::any_of(
        lint_.pairs, [](const QdqPair& pair) { return pair.role == QdqRole::bias; });
    lint_.notes.push_back({"R1", kTensorRT, false,
                           "Q/DQ in the model: calibrators, caches and ranges by hand are ignored, "
                           "and INT8 must be allowed up to version 10"});
    if (!biases)
      lint_.notes.push_back({"R6", kOnnxRuntime, false,
                             "biases are real: ONNX Runtime makes codes of them when it loads the "
                             "model; an export for ONNX Runtime writes them"});
    lint_.notes.push_back({"", kOnnxRuntime, false,
                           "on x86 without VNNI sums of u8 by s8 saturate at 16 bits there; "
                           "results differ from those of other machines and from Octet's"});
  }

  const Graph& graph_;
  const QdqView view_;
  const Fates fates_;
  const PairRules rules_;
  QdqLint lint_;
};

}  // namespace

std::string_view to_string(QdqRole role) { return kRoles.at(static_cast<size_t>(role)); }

int64_t count_blocking(const QdqLint& lint, std::string_view runtime) {
  const auto blocks = [&](const QdqNote& note) { return note.blocks && note.runtime == runtime; };
  int64_t count = std::ranges::count_if(lint.notes, blocks);
  for (const QdqPair& pair : lint.pairs) count += std::ranges::count_if(pair.notes, blocks);
  return count;
}

QdqLint lint_qdq(const Graph& imported, const Graph& built,
                 std::span<const std::string> default_zero_points) {
  return Linter(imported, built, default_zero_points).run();
}

}  // namespace octet

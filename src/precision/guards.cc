// SPDX-License-Identifier: Apache-2.0
#include "precision/guards.h"

#include "ops/attributes/window.h"
#include "ops/quantized/quantize_recurrent.h"
#include "passes/match.h"
#include "precision/decide.h"
#include "precision/level_channels.h"

namespace octet {
namespace {

// Beyond this share of the model's outputs, a layer is worth its time in f32 (docs/adr/0030); a depthwise one, which takes little of it in
// either type, beyond an eighth of that.
constexpr f64 kMostLost = 0.02;
constexpr f64 kMostLostDepthwise = 0.0025;
// Of what a normalization reads (docs/adr/0010).
constexpr f64 kMostLostBeforeNorm = 0.0004;
// Of a recurrent layer's, which the next layer rounds again: 20 dB.
constexpr f64 kMostLostOfState = 0.01;

}  // namespace

LossGuards::LossGuards(const Graph& graph, const Uses& uses, const Ranges& ranges,
                       const AskedTypes& asked, const PrecisionOptions& options)
    : graph_(graph), uses_(uses), ranges_(ranges), asked_(asked), overruled_(options.overruled) {
  if (!options.most_slower) return;
  std::unordered_map<std::string_view, const LayerLoss*> losses;
  for (const LayerLoss& loss : options.measured) losses.emplace(loss.layer, &loss);
  // The time is for layers whose type is open; of others it is only said what they lose.
  std::vector<LayerLoss> open;
  for (const Node& node : graph.nodes) {
    if (node.op->quant.kind != QuantKind::compute) continue;
    const auto at = losses.find(node.name);
    if (at == losses.end()) continue;
    const LayerLoss& layer = *at->second;
    // Time for accuracy comes on top of what the default gives it: what the estimate keeps stays real for its reason, and takes none of the time.
    Loss loss = *options.most_slower > 0 ? estimated_loss(node) : Loss{};
    if (loss.sentence.empty()) {
      if (is_open(node))
        open.push_back(layer);
      else if (worth_reals({&layer, 1}, *options.most_slower)[0])
        loss = measured_loss(layer);
    }
    measured_.emplace(layer.layer, std::move(loss));
  }
  const std::vector<bool> real = worth_reals(open, *options.most_slower);
  for (size_t i = 0; i < real.size(); ++i)
    if (real[i]) measured_.at(open[i].layer) = measured_loss(open[i]);
}

bool LossGuards::is_open(const Node& node) const {
  const auto input = ranges_.find(node.inputs[0]);
  return input != ranges_.end() && input->second.method != RangeMethod(RangeRule::given) &&
         !asked_.int8(node) && !asked_.real(node);
}

LossGuards::Loss LossGuards::measured_loss(const LayerLoss& layer) {
  return {layer.lost,
          fmt::format("its codes alone cost {:.3g} % of the model's outputs, for {:.2g} % of its "
                      "multiplications",
                      layer.lost * 100, layer.macs * 100)};
}

// Whether it keeps the node real: whoever asks for INT8 has it, and is told.
bool LossGuards::guards(const Node& node, const Loss& loss) const {
  if (loss.sentence.empty()) return false;
  if (!asked_.int8(node)) return true;
  if (overruled_ != nullptr) overruled_->push_back({node.name, loss.lost, loss.sentence});
  return false;
}

const Relevance& LossGuards::relevance() const {
  if (!relevance_) relevance_.emplace(graph_, ranges_);
  return *relevance_;
}

bool LossGuards::is_depthwise(const Node& node) const {
  const Shape& weights = graph_.value(node.input(1)).type.shape;
  return conv_groups(node) > 1 && weights.rank() == 4 && weights[1] == 1;
}

// A convolution whose input loses too much in codes.
LossGuards::Loss LossGuards::channel_loss(const Node& node) const {
  if (node.op->quant.kind != QuantKind::compute) return {};
  const auto input = ranges_.find(node.inputs[0]), output = ranges_.find(node.outputs[0]);
  if (input == ranges_.end() || output == ranges_.end()) return {};
  // What a user gave has the last word.
  if (input->second.method == RangeMethod(RangeRule::given)) return {};
  if (const auto at = measured_.find(node.name); at != measured_.end()) return at->second;
  return estimated_loss(node);
}

// Of a convolution.
LossGuards::Loss LossGuards::estimated_loss(const Node& node) const {
  const auto input = ranges_.find(node.inputs[0]), output = ranges_.find(node.outputs[0]);
  if (input == ranges_.end() || output == ranges_.end()) return {};
  const f64 lost =
      lost_share(graph_, node, input->second, output->second, relevance().of(node.outputs[0]));
  const f64 most = is_depthwise(node) ? kMostLostDepthwise : kMostLost;
  if (lost <= most) return {};
  return {lost, fmt::format(
                    "one scale for all channels of '{}' would cost {:.1f} % of the model's outputs",
                    graph_.value(node.inputs[0]).name, lost * 100)};
}

// A normalization of each channel by itself takes the rounding of its input along, which adds up where many stand in a row.
LossGuards::Loss LossGuards::normalization_loss(const Node& node) const {
  if (!is_op(node, "InstanceNormalization")) return {};
  const std::string& name = graph_.value(node.inputs[0]).name;
  const std::optional<f64> lost = lost_by_normalization(graph_, uses_, node, ranges_);
  if (!lost)
    return {1,
            fmt::format("calibration does not know what codes of '{}' would cost (docs/adr/0010)",
                        name)};
  if (*lost <= kMostLostBeforeNorm) return {};
  return {*lost, fmt::format("codes of '{}' would cost {:.3f} % of what it reads, more than "
                             "{:.3f} (docs/adr/0010)",
                             name, *lost * 100, kMostLostBeforeNorm * 100)};
}

// A recurrent layer without a form of codes, or whose state loses too much in them.
std::optional<Decision> LossGuards::keeps_recurrence(const Node& node) const {
  if (node.op->traits->recurrence_of_codes == nullptr) return std::nullopt;
  if (std::string why = no_recurrence_of_codes(graph_, node); !why.empty())
    return decide_real(ReasonCode::refused_by_operator, std::move(why));
  const f64 lost = lost_by_recurrence(graph_, node, ranges_.at(node.inputs[0]));
  if (lost <= kMostLostOfState) return std::nullopt;
  const Loss loss{lost,
                  fmt::format("codes of '{}' and of its state would cost {:.1f} % of its result",
                              graph_.value(node.inputs[0]).name, lost * 100)};
  if (!guards(node, loss)) return std::nullopt;
  return decide_real(ReasonCode::kept_for_accuracy, loss.sentence);
}

std::optional<Decision> LossGuards::keeps(const Node& node) const {
  const bool is_of_no_use = asked_.int8(node) && overruled_ == nullptr;
  if (is_of_no_use) return keeps_recurrence(node);
  if (const Loss loss = channel_loss(node); guards(node, loss))
    return decide_real(ReasonCode::channel_loss, loss.sentence);
  if (const Loss loss = normalization_loss(node); guards(node, loss))
    return decide_real(ReasonCode::kept_for_accuracy, loss.sentence);
  return keeps_recurrence(node);
}

}  // namespace octet

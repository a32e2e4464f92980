// SPDX-License-Identifier: Apache-2.0
// Layers that stay real since INT8 would cost too much of what they give, as far as calibration can tell. Who asks for INT8 has it all the
// same, and is told.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "precision/asked.h"
#include "precision/precision.h"
#include "precision/relevance.h"

namespace octet {

class LossGuards {
 public:
  LossGuards(const Graph& graph, const Uses& uses, const Ranges& ranges, const AskedTypes& asked,
             const PrecisionOptions& options);

  // That it stays real; nothing where INT8 costs little.
  std::optional<Decision> keeps(const Node& node) const;

 private:
  // What INT8 would cost; no sentence: little.
  struct Loss {
    f64 lost = 0;
    std::string sentence = {};
  };

  static Loss measured_loss(const LayerLoss& layer);
  bool guards(const Node& node, const Loss& loss) const;
  Loss channel_loss(const Node& node) const;
  Loss estimated_loss(const Node& node) const;
  Loss normalization_loss(const Node& node) const;
  std::optional<Decision> keeps_recurrence(const Node& node) const;
  const Relevance& relevance() const;
  bool is_depthwise(const Node& node) const;
  // Whether a range that was seen may be the reason of its type, and nobody asks for one.
  bool is_open(const Node& node) const;

  const Graph& graph_;
  const Uses& uses_;
  const Ranges& ranges_;
  const AskedTypes& asked_;
  std::vector<OverruledGuard>* const overruled_;
  mutable std::optional<Relevance>
      relevance_;  // made when a layer is estimated: trials ask for all types
  // Of layers that calibration measured: why each stays real, if it does.
  std::unordered_map<std::string_view, Loss> measured_;
};

}  // namespace octet

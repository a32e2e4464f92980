// SPDX-License-Identifier: Apache-2.0
// Layers that stay real since INT8 would cost too much of what they give, as far as calibration can tell. Who asks for INT8 has it all the
// same, and is told.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "precision/asked.h"
#include "precision/precision.h"
#include "precision/relevance.h"

namespace octet {

class LossGuards {
 public:
  // `overruled`: told of guards that requests overrule; null: nobody asks.
  LossGuards(const Graph& graph, const Uses& uses, const Ranges& ranges, const AskedTypes& asked,
             std::vector<OverruledGuard>* overruled)
      : graph_(graph),
        uses_(uses),
        ranges_(ranges),
        asked_(asked),
        overruled_(overruled),
        relevance_(graph, ranges) {}

  // That it stays real; nothing where INT8 costs little.
  std::optional<Decision> keeps(const Node& node) const;

 private:
  // What INT8 would cost; no sentence: little.
  struct Loss {
    f64 lost = 0;
    std::string sentence = {};
  };

  bool guards(const Node& node, const Loss& loss) const;
  Loss channel_loss(const Node& node) const;
  Loss normalization_loss(const Node& node) const;
  std::optional<Decision> keeps_recurrence(const Node& node) const;
  bool is_depthwise(const Node& node) const;

  const Graph& graph_;
  const Uses& uses_;
  const Ranges& ranges_;
  const AskedTypes& asked_;
  std::vector<OverruledGuard>* const overruled_;
  const Relevance relevance_;
};

}  // namespace octet

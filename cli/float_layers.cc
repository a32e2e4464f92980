// SPDX-License-Identifier: Apache-2.0
#include "cli/float_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "cli/terminal.h"

namespace octet::cli {
namespace {

// Of a layer that is not INT8; NaN where layers were not timed.
double time_share(const LayerInfo& layer, const Inspection& inspection) {
  return inspection.coverage.us > 0 ? layer.us / inspection.coverage.us : std::nan("");
}

// Those that take most time first.
std::vector<const LayerInfo*> float_layers(const Inspection& inspection) {
  std::vector<const LayerInfo*> layers;
  for (const LayerInfo& layer : inspection.layers) {
    if (layer.precision != Precision::int8 && counts_as_layer(layer)) layers.push_back(&layer);
  }
  std::ranges::stable_sort(layers, std::greater(), &LayerInfo::us);
  return layers;
}

}  // namespace

void print_float_layers(const Inspection& inspection) {
  constexpr size_t kShown = 12;
  const std::vector<const LayerInfo*> layers = float_layers(inspection);
  if (layers.empty()) return;
  Table table({{"  NOT IN INT8", false, 44},
               {"OP"},
               {"TIME", true},
               {"WHY", false, 100},
               {"WHAT HELPS", false, 80}});
  for (const LayerInfo* layer : std::span(layers).first(std::min(layers.size(), kShown))) {
    const double share = time_share(*layer, inspection);
    const std::string_view remedy = remedy_of(layer->reason_code);
    table.add({"  " + layer->name, layer->op, std::isnan(share) ? "-" : percent(share),
               layer->reason, remedy.empty() ? "-" : std::string(remedy)});
  }
  table.print();
  if (layers.size() > kShown)
    fmt::print("  and {} more; octet inspect shows all\n", layers.size() - kShown);
}

nlohmann::ordered_json float_layers_json(const Inspection& inspection) {
  auto list = nlohmann::ordered_json::array();
  for (const LayerInfo* layer : float_layers(inspection)) {
    list.push_back({{"name", layer->name},
                    {"op", layer->op},
                    {"precision", to_string(layer->precision)},
                    {"time_share", time_share(*layer, inspection)},
                    {"reason_code", to_string(layer->reason_code)},
                    {"reason", layer->reason},
                    {"remedy", remedy_of(layer->reason_code)}});
  }
  return list;
}

}  // namespace octet::cli

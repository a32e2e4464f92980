// SPDX-License-Identifier: Apache-2.0
#include "cli/output/float_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/output/terminal.h"

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

void print_float_layers(const Inspection& inspection, size_t most, std::string_view others) {
  const std::vector<const LayerInfo*> layers = float_layers(inspection);
  if (layers.empty()) return;
  const bool timed = inspection.coverage.us > 0;
  std::vector<Table::Column> columns = {{"  NOT IN INT8", false, 44}, {"OP"}};
  if (timed) columns.push_back({"TIME", true});
  columns.push_back({"WHY", false, 100});
  columns.push_back({"WHAT HELPS", false, 80});
  Table table(std::move(columns));
  for (const LayerInfo* layer : std::span(layers).first(std::min(layers.size(), most))) {
    const std::string_view remedy = remedy_of(layer->reason_code);
    std::vector<std::string> cells = {"  " + layer->name, layer->op};
    if (timed) cells.push_back(percent(time_share(*layer, inspection)));
    cells.push_back(layer->reason);
    cells.push_back(remedy.empty() ? "-" : std::string(remedy));
    table.add(std::move(cells));
  }
  table.print();
  if (layers.size() > most) fmt::print("  and {} more; {}\n", layers.size() - most, others);
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

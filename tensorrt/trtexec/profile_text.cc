// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/trtexec/profile_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tensorrt/trtexec/report.h"

namespace octet::cli::trtexec {
namespace {

float total_of(const LayerTimes& layer) {
  return std::accumulate(layer.ms.begin(), layer.ms.end(), 0.0f);
}

float average_of(const LayerTimes& layer) {
  return layer.ms.empty() ? 0 : total_of(layer) / static_cast<float>(layer.ms.size());
}

float median_time(std::vector<float> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return median_of(values);
}

size_t iterations_of(const std::vector<LayerTimes>& layers) {
  return layers.empty() ? 0 : layers.front().ms.size();
}

float total_of(const std::vector<LayerTimes>& layers) {
  float total = 0;
  for (const LayerTimes& layer : layers) total += total_of(layer);
  return total;
}

// Of the sums over all layers of each iteration.
float median_of_all(const std::vector<LayerTimes>& layers) {
  std::vector<float> sums(iterations_of(layers));
  for (const LayerTimes& layer : layers) {
    for (size_t i = 0; i < sums.size() && i < layer.ms.size(); ++i) sums[i] += layer.ms[i];
  }
  return median_time(std::move(sums));
}

}  // namespace

std::vector<std::string> profile_table(const std::vector<LayerTimes>& layers) {
  const size_t count = iterations_of(layers);
  const float total = total_of(layers);
  std::vector<std::string> lines = {"", fmt::format("=== Profile ({} iterations ) ===", count),
                                    "   Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer"};
  constexpr const char* kRow = "{:>11.2f}{:>13.4f}{:>13.4f}{:>10.1f}   {}";
  for (const LayerTimes& layer : layers) {
    const float time = total_of(layer);
    if (time == 0) continue;
    lines.push_back(fmt::format(fmt::runtime(kRow), time, average_of(layer), median_time(layer.ms),
                                time / total * 100, layer.name));
  }
  lines.push_back(fmt::format(fmt::runtime(kRow), total,
                              count == 0 ? 0 : total / static_cast<float>(count),
                              median_of_all(layers), 100.0, "Total"));
  lines.emplace_back();
  return lines;
}

std::string profile_json(const std::vector<LayerTimes>& layers) {
  const float total = total_of(layers);
  std::string text = fmt::format("[\n  {{ \"count\" : {} }}\n", iterations_of(layers));
  for (const LayerTimes& layer : layers) {
    const float time = total_of(layer);
    text += fmt::format(
        ", {{ \"name\" : {}, \"timeMs\" : {:g}, \"averageMs\" : {:g}, \"medianMs\" : {:g}, "
        "\"percentage\" : {:g} }}\n",
        nlohmann::json(layer.name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
        time, average_of(layer), median_time(layer.ms), total > 0 ? time / total * 100 : 0);
  }
  return text + "]\n";
}

}  // namespace octet::cli::trtexec

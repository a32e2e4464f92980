// SPDX-License-Identifier: Apache-2.0
#include "inspect/report/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "inspect/report/text.h"

namespace octet {
namespace {

constexpr size_t kMostAdvice = 8;
constexpr double kWorthSaying = 0.02;  // of the time, or of the multiplications

std::string percent_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.2f} %", 100 * *share) : "";
}

std::string row_of(const StageRow& row, const StageRow& slowest) {
  std::string out = "<tr>" + text_cell(row.name);
  if (!row.missing.empty())
    return out + fmt::format("<td colspan=\"9\">none: {}</td></tr>\n", escape_html(row.missing));
  const auto optional = [](const std::optional<double>& value, const std::string& shown) {
    return value ? number_cell(*value, shown) : std::string("<td></td>");
  };
  out += optional(row.top1, percent_text(row.top1));
  out += optional(row.agreement, percent_text(row.agreement));
  out += optional(row.sqnr_db, row.sqnr_db ? decibels_text(*row.sqnr_db) : "");
  out += bar_cell(row.latency_ms, fmt::format("{:.3f} ms", row.latency_ms),
                  slowest.latency_ms > 0 ? row.latency_ms / slowest.latency_ms : 0);
  out += bar_cell(
      static_cast<double>(row.bytes),
      fmt::format("{:.1f} KB", static_cast<double>(row.bytes) / 1e3),
      slowest.bytes > 0 ? static_cast<double>(row.bytes) / static_cast<double>(slowest.bytes) : 0);
  out += number_cell(row.coverage.mac_share(), share_text(row.coverage.mac_share(), 1));
  out += number_cell(row.coverage.byte_share(), share_text(row.coverage.byte_share(), 1));
  out += row.coverage.us > 0
             ? number_cell(row.coverage.time_share(), share_text(row.coverage.time_share(), 1))
             : "<td></td>";
  return out + number_cell(row.build_seconds, fmt::format("{:.2f} s", row.build_seconds)) +
         "</tr>\n";
}

// One reason over all layers that have it.
struct Cause {
  double time = 0, macs = 0;
  size_t layers = 0;
  std::string example;
};

std::map<ReasonCode, Cause> causes_of(const ReportInput& input) {
  std::map<std::string, double> times;
  double time = 0, macs = 0;
  for (const LayerTime& one : input.times) {
    times[one.layer.name] += one.microseconds;
    time += one.microseconds;
  }
  for (const LayerInfo& layer : input.inspection.layers) macs += static_cast<double>(layer.macs);
  std::map<ReasonCode, Cause> causes;
  for (const LayerInfo& layer : input.inspection.layers) {
    if (layer.conversion || layer.precision == Precision::int8) continue;
    Cause& cause = causes[layer.reason_code];
    if (cause.layers++ == 0) cause.example = layer.reason;
    const auto at = times.find(layer.name);
    if (at != times.end() && time > 0) cause.time += at->second / time;
    if (macs > 0) cause.macs += static_cast<double>(layer.macs) / macs;
  }
  return causes;
}

}  // namespace

std::string stages_section(std::span<const StageRow> stages) {
  if (stages.empty()) return "";
  constexpr std::array<std::string_view, 10> kTitles = {
      "type",    "top-1", "agrees with FP32",        "SQNR",
      "latency", "size",  "INT8 of multiplications", "of bytes",
      "of time", "build"};
  StageRow most;
  for (const StageRow& row : stages) {
    most.latency_ms = std::max(most.latency_ms, row.latency_ms);
    most.bytes = std::max(most.bytes, row.bytes);
  }
  std::string out = "<h2>Types side by side</h2>\n<div class=\"scroll\"><table id=\"stages\">" +
                    table_head(kTitles) + "<tbody>\n";
  for (const StageRow& row : stages) out += row_of(row, most);
  return out + "</tbody></table></div>\n";
}

std::string advice_section(const ReportInput& input) {
  const std::map<ReasonCode, Cause> causes = causes_of(input);
  std::vector<std::pair<ReasonCode, Cause>> list(causes.begin(), causes.end());
  std::erase_if(list, [](const auto& entry) {
    return std::max(entry.second.time, entry.second.macs) < kWorthSaying ||
           entry.first == ReasonCode::none;
  });
  std::ranges::stable_sort(list, std::greater(), [](const auto& entry) {
    return std::max(entry.second.time, entry.second.macs);
  });
  list.resize(std::min(list.size(), kMostAdvice));
  std::string items;
  for (const auto& [code, cause] : list) {
    const std::string_view remedy = remedy_of(code);
    items += fmt::format(
        "<li>{} layer{} not in INT8 ({}): {:.1f} % of the time, {:.1f} % of the multiplications. "
        "{}{}{}</li>\n",
        cause.layers, cause.layers == 1 ? "" : "s", to_string(code), 100 * cause.time,
        100 * cause.macs, escape_html(cause.example),
        remedy.empty() ? "" : ". What helps: ", escape_html(remedy));
  }
  if (input.inspection.coverage.int8_layers > 0) {
    items +=
        "<li>Where accuracy is lost: octet sensitivity measures it at the outputs, layer by layer, "
        "and ends with the layer that is best kept in float.</li>\n";
  }
  if (items.empty()) return "";
  return "<h2>What to do next</h2>\n<ul id=\"advice\">\n" + items + "</ul>\n";
}

}  // namespace octet

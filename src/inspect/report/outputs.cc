// SPDX-License-Identifier: Apache-2.0
#include "inspect/report/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/types.h"
#include "inspect/report/text.h"

namespace octet {
namespace {

constexpr size_t kMostMaps = 12;
constexpr s64 kMapWidth = 480;  // units of the drawing

std::string error_number(f64 value) {
  return number_cell(value, std::isnan(value) ? "NaN" : fmt::format("{:.4g}", value));
}

std::string spread_cells(const ErrorSpread& spread) {
  return error_number(spread.max) + error_number(spread.mean) + error_number(spread.median) +
         error_number(spread.quantile);
}

std::string output_row(const OutputComparison& output) {
  const auto not_finite = output.tested.count() + output.reference.count();
  return "<tr>" + text_cell(output.name) + spread_cells(output.absolute) +
         spread_cells(output.relative) +
         number_cell(static_cast<f64>(output.beyond),
                     fmt::format("{} of {}", output.beyond, output.elements)) +
         number_cell(static_cast<f64>(not_finite), fmt::format("{}", not_finite)) + "</tr>\n";
}

// What the cell covers of `size` elements, first and last.
std::string interval_of(s64 cell, s64 cells, s64 size) {
  const s64 first = (cell * size + cells - 1) / cells;
  const s64 last = std::max(first, ((cell + 1) * size + cells - 1) / cells - 1);
  return first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last);
}

std::string map_cells(const ErrorMap& map, s64 side) {
  std::string out;
  for (s64 row = 0; row < map.rows; ++row) {
    for (s64 column = 0; column < map.columns; ++column) {
      const ErrorMap::Cell& cell = map.cells[static_cast<size_t>(row * map.columns + column)];
      out += fmt::format(
          "<rect class=\"cell\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" "
          "data-r=\"{}\" data-c=\"{}\" data-mean=\"{:.3g}\" data-largest=\"{:.3g}\" "
          "data-relative=\"{:.3g}\"/>",
          column * side, row * side, side, side, interval_of(row, map.rows, map.height),
          interval_of(column, map.columns, map.width), cell.mean(), cell.largest, cell.relative());
    }
  }
  return out;
}

std::string map_figure(const OutputComparison& output) {
  const ErrorMap& map = output.map;
  const s64 side = std::max<s64>(1, kMapWidth / std::max(map.columns, map.rows));
  return fmt::format(
      "<figure class=\"heat\"><figcaption><b>{0}</b><br><span>{1} rows, {2} columns of "
      "elements</span></figcaption>\n<svg viewBox=\"0 0 {3} {4}\" role=\"img\" "
      "aria-label=\"errors of {0} by place\">{5}</svg>\n<p class=\"note told\" "
      "aria-live=\"polite\">No cell is chosen.</p></figure>\n",
      escape_html(output.name), map.height, map.width, map.columns * side, map.rows * side,
      map_cells(map, side));
}

std::string maps_section(std::span<const OutputComparison> outputs) {
  std::string figures;
  size_t count = 0;
  for (const OutputComparison& output : outputs) {
    if (!output.map.cells.empty() && count++ < kMostMaps) figures += map_figure(output);
  }
  if (figures.empty()) return "";
  std::string out =
      "<h2>Where the errors lie</h2>\n<p class=\"note\">Each output over its last two dimensions "
      "(one cell for several elements where there are many), all samples together; white: none, "
      "dark: the largest, by its square root, black: not finite. A click tells about a cell.</p>\n"
      "<p id=\"heatkinds\">";
  for (const std::string_view kind : {"mean", "largest", "relative"}) {
    out += fmt::format("<button data-kind=\"{0}\" aria-pressed=\"{1}\">{0} error</button> ", kind,
                       kind == "mean");
  }
  out += "</p>\n<div class=\"cards wide\">\n" + figures + "</div>\n";
  if (count > kMostMaps)
    out += fmt::format("<p class=\"note\">{} more outputs are not drawn.</p>\n", count - kMostMaps);
  return out;
}

}  // namespace

std::string outputs_section(const ReportInput& input) {
  if (input.outputs.empty()) return "";
  constexpr std::array<std::string_view, 11> kTitles = {
      "output",       "max abs",       "mean abs",        "median abs",        "quantile abs",
      "max relative", "mean relative", "median relative", "quantile relative", "beyond tolerance",
      "not finite"};
  std::string out = fmt::format(
      "<h2>Outputs</h2>\n<p class=\"note\">Against {}: the errors of one sample, the largest of "
      "{} samples.</p>\n<div class=\"scroll\"><table id=\"outputs\">",
      escape_html(input.against), input.outputs[0].samples);
  out += table_head(kTitles) + "<tbody>\n";
  for (const OutputComparison& output : input.outputs) out += output_row(output);
  return out + "</tbody></table></div>\n" + maps_section(input.outputs);
}

}  // namespace octet

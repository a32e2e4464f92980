// SPDX-License-Identifier: Apache-2.0
#include "octet/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/types.h"
#include "inspect/report/assets.h"
#include "inspect/report/graph.h"
#include "inspect/report/outputs.h"
#include "inspect/report/stages.h"
#include "inspect/report/text.h"
#include "octet/output.h"

namespace octet {
namespace {

constexpr int kPlotWidth = 280;
constexpr int kPlotHeight = 80;
constexpr size_t kColumns = 140;  // histogram columns drawn; more bins are summed

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::string summary_section(const ReportInput& input) {
  std::string out = fmt::format("<h1>{}</h1>\n<dl>", escape_html(input.title));
  const auto add = [&](std::string_view term, std::string_view value) {
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escape_html(term), escape_html(value));
  };
  const Coverage& coverage = input.inspection.coverage;
  add("layers in INT8", fmt::format("{} of {} ({})", coverage.int8_layers, coverage.layers,
                                    share_text(coverage.layer_share(), 1)));
  add("multiplications in INT8", share_text(coverage.mac_share(), 2));
  add("bytes in INT8", share_text(coverage.byte_share(), 1));
  if (coverage.us > 0) add("time in INT8", share_text(coverage.time_share(), 1) + " (measured)");
  for (const auto& [term, value] : input.summary) add(term, value);
  return out + "</dl>\n";
}

// What is known of a layer beside the inspection, and the largest of all layers.
struct Measures {
  std::map<std::string, const ValueError*> errors;
  std::map<std::string, double> times;
  double slowest = 0, worst = 0;

  explicit Measures(const ReportInput& input) {
    for (const ValueError& error : input.errors) {
      errors.emplace(error.layer, &error);
      worst = std::max(worst, noise_of(error.sqnr_db));
    }
    for (const LayerTime& time : input.times) {
      times[time.layer.name] += time.microseconds;
      slowest = std::max(slowest, times[time.layer.name]);
    }
  }
  // Part of a tensor that is error: of amplitudes, 0 to 1.
  static double noise_of(double sqnr_db) {
    return std::isfinite(sqnr_db) ? std::min(1.0, std::pow(10.0, -sqnr_db / 20)) : 0.0;
  }
};

std::string error_cell(const Measures& measures, const LayerInfo& layer) {
  const auto at = measures.errors.find(layer.name);
  if (at == measures.errors.end()) return "<td></td>";
  const double sqnr = at->second->sqnr_db;
  const double share = measures.worst > 0 ? Measures::noise_of(sqnr) / measures.worst : 0;
  return bar_cell(sqnr, decibels_text(sqnr), share);
}

std::string time_cell(const Measures& measures, const LayerInfo& layer) {
  const auto at = measures.times.find(layer.name);
  if (at == measures.times.end()) return "<td></td>";
  return bar_cell(at->second, fmt::format("{:.1f} us", at->second),
                  measures.slowest > 0 ? at->second / measures.slowest : 0);
}

std::string layer_row(const LayerInfo& layer, const Measures& measures) {
  std::string kernel = layer.kernel;
  if (!layer.kernel_reason.empty()) kernel += " (" + layer.kernel_reason + ")";
  const std::string output =
      layer.output_types.empty() ? std::string() : to_string(layer.output_types[0]);
  const std::string tensor = layer.outputs.empty() ? std::string() : layer.outputs[0];
  return fmt::format("<tr data-tensor=\"{}\">", escape_html(tensor)) + text_cell(layer.name) +
         text_cell(layer.op) + precision_cell(layer.precision) + text_cell(output) +
         number_cell(static_cast<f64>(layer.macs), fmt::format("{}", layer.macs)) +
         time_cell(measures, layer) + error_cell(measures, layer) + text_cell(kernel) +
         text_cell(layer.reason) + text_cell(joined(layer.nodes)) + "</tr>\n";
}

std::string layers_section(const ReportInput& input) {
  const Measures measures(input);
  constexpr std::array<std::string_view, 10> kTitles = {"layer", "operator",  "precision", "output",
                                                        "MACs",  "time",      "SQNR",      "kernel",
                                                        "why",   "ONNX nodes"};
  std::string out =
      "<h2>Layers</h2>\n<input id=\"filter\" type=\"search\" aria-label=\"Filter layers and "
      "tensors\" placeholder=\"filter by name, operator, reason\">\n"
      "<div class=\"scroll\"><table id=\"layers\">" +
      table_head(kTitles) + "<tbody>\n";
  for (const LayerInfo& layer : input.inspection.layers) out += layer_row(layer, measures);
  return out + "</tbody></table></div>\n";
}

std::string graph_section(const Inspection& inspection) {
  const std::string drawing = graph_drawing(inspection);
  if (drawing.empty()) return "";
  std::string legend;
  for (const std::string_view type : {"int8", "f16", "bf16", "f32", "other"})
    legend += fmt::format("<span class=\"tag {0}\">{0}</span> ", type);
  return "<h2>Graph</h2>\n<p class=\"note\">The layers in the color of their type; pale boxes "
         "only convert. A click (or Enter) tells about one. " +
         legend + "</p>\n<div class=\"split\"><div class=\"scroll drawing\">" + drawing +
         "</div><aside id=\"detail\" aria-live=\"polite\"><p class=\"note\">No layer is "
         "chosen.</p></aside></div>\n";
}

// What was asked of each ONNX node beside what it got.
std::string nodes_section(const Inspection& inspection) {
  if (inspection.nodes.empty()) return "";
  constexpr std::array<std::string_view, 7> kTitles = {"ONNX node",    "layer",      "asked", "got",
                                                       "result asked", "result got", "why"};
  std::string out =
      "<h2>ONNX nodes</h2>\n<p class=\"note\">The type that each node of the model was asked to "
      "have, and what it got.</p>\n<div class=\"scroll\"><table id=\"nodes\">" +
      table_head(kTitles) + "<tbody>\n";
  for (const NodePrecision& node : inspection.nodes) {
    out += fmt::format("<tr{}>", node.violated() ? " class=\"violated\"" : "");
    out += text_cell(node.node) + text_cell(node.layer);
    for (const Precision type :
         {node.requested, node.resolved, node.requested_output, node.resolved_output})
      out += type == Precision::none ? "<td></td>" : precision_cell(type);
    out += text_cell(node.reason) + "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string errors_section(std::span<const ValueError> errors) {
  if (errors.empty()) return "";
  constexpr std::array<std::string_view, 6> kTitles = {"tensor", "layer",         "precision",
                                                       "SQNR",   "max abs error", "cosine"};
  std::string out =
      "<h2>Error per layer</h2>\n<p class=\"note\">Each tensor of the INT8 engine, dequantized, "
      "against the same tensor of the float model on calibration samples; worst first. Errors of "
      "earlier layers are included.</p>\n<div class=\"scroll\"><table id=\"errors\">" +
      table_head(kTitles) + "<tbody>\n";
  for (const ValueError& error : errors) {
    out += "<tr>" + text_cell(error.value) + text_cell(error.layer) +
           precision_cell(error.precision) +
           number_cell(error.sqnr_db, decibels_text(error.sqnr_db)) +
           number_cell(error.max_abs, fmt::format("{:.4g}", error.max_abs)) +
           number_cell(error.cosine, fmt::format("{:.5f}", error.cosine)) + "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

// Bins summed into at most kColumns columns; trailing empty bins are not drawn.
std::vector<f64> columns_of(const TensorStatistics& seen, f64* column_width) {
  size_t used = seen.histogram.size();
  while (used > 0 && seen.histogram[used - 1] == 0) --used;
  const size_t step = std::max<size_t>(1, (used + kColumns - 1) / kColumns);
  std::vector<f64> columns((used + step - 1) / step, 0.0);
  for (size_t i = 0; i < used; ++i) columns[i / step] += static_cast<f64>(seen.histogram[i]);
  *column_width = static_cast<f64>(seen.bin_width) * static_cast<f64>(step);
  return columns;
}

std::string histogram_plot(const Range& range) {
  if (range.seen == nullptr) return "";
  f64 column_width = 0;
  const std::vector<f64> columns = columns_of(*range.seen, &column_width);
  if (columns.empty()) return "";
  const f64 top = std::log10(1 + *std::max_element(columns.begin(), columns.end()));
  const f64 end =
      std::max(column_width * static_cast<f64>(columns.size()), static_cast<f64>(range.threshold));
  const auto x_of = [&](f64 value) { return value / end * kPlotWidth; };
  std::string path;
  for (size_t i = 0; i < columns.size(); ++i) {
    const f64 height = std::log10(1 + columns[i]) / top * kPlotHeight;
    const f64 left = x_of(column_width * static_cast<f64>(i));
    const f64 right = x_of(column_width * static_cast<f64>(i + 1));
    path += fmt::format("M{:.1f} {}V{:.1f}H{:.1f}V{}Z", left, kPlotHeight, kPlotHeight - height,
                        right, kPlotHeight);
  }
  const f64 cut = x_of(static_cast<f64>(range.threshold));
  return fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" role=\"img\" aria-label=\"histogram of absolute values, "
      "logarithmic counts\"><path class=\"bins\" d=\"{2}\"/><line class=\"axis\" x1=\"0\" "
      "y1=\"{3}\" x2=\"{0}\" y2=\"{3}\"/><line class=\"cut\" x1=\"{4:.1f}\" y1=\"0\" "
      "x2=\"{4:.1f}\" y2=\"{3}\"/><text x=\"0\" y=\"{5}\">0</text><text x=\"{0}\" y=\"{5}\" "
      "text-anchor=\"end\">{6:.4g}</text></svg>",
      kPlotWidth, kPlotHeight + 12, path, kPlotHeight, cut, kPlotHeight + 10, end);
}

std::string ranges_section(std::span<const Range> ranges) {
  if (ranges.empty()) return "";
  std::string out =
      "<h2>Ranges</h2>\n<p class=\"note\">What calibration saw of each tensor: absolute values, "
      "counts on a logarithmic scale. Values beyond the red threshold saturate.</p>\n"
      "<div class=\"cards\">\n";
  for (const Range& range : ranges) {
    out += fmt::format(
        "<figure data-tensor=\"{1}\">{0}<figcaption><b>{1}</b><br><span>threshold {2:.5g}, seen "
        "{3:.5g} to "
        "{4:.5g}</span></figcaption></figure>\n",
        histogram_plot(range), escape_html(range.tensor), range.threshold, range.min, range.max);
  }
  return out + "</div>\n";
}

}  // namespace

std::string html_report(const ReportInput& input) {
  // The policy forbids every load, so that no model name can ever make the page fetch something.
  return fmt::format(
             "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
             "<meta name=\"generator\" content=\"octet\">\n<meta "
             "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
             "'unsafe-inline'; script-src 'unsafe-inline'\">\n<meta name=\"viewport\" "
             "content=\"width=device-width\">\n<title>{}</title>\n<style>{}</style></head><body>\n",
             escape_html(input.title), kReportStyle) +
         summary_section(input) + stages_section(input.stages) + outputs_section(input) +
         advice_section(input) + graph_section(input.inspection) + layers_section(input) +
         nodes_section(input.inspection) + errors_section(input.errors) +
         ranges_section(input.ranges) +
         fmt::format("<footer>Written by octet.</footer>\n<script>{}</script>\n</body></html>\n",
                     kReportScript);
}

void save_report(const ReportInput& input, const std::filesystem::path& path) {
  write_text(html_report(input), path);
}

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "inspect/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/types.h"

namespace octet {

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<u8>(c) < 0x20 && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return out;
}

std::string table_head(std::span<const std::string_view> titles) {
  std::string out = "<thead><tr>";
  for (const std::string_view title : titles) {
    out += fmt::format("<th scope=\"col\"><button>{}</button></th>", title);
  }
  return out + "</tr></thead>";
}

std::string text_cell(std::string_view text) {
  return fmt::format("<td class=\"w\">{}</td>", escape_html(text));
}

std::string number_cell(double value, const std::string& shown) {
  const f64 finite = std::isfinite(value) ? value : (value > 0 ? 1e300 : -1e300);
  return fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>", finite, shown);
}

std::string bar_cell(double value, const std::string& shown, double share) {
  const f64 finite = std::isfinite(value) ? value : (value > 0 ? 1e300 : -1e300);
  return fmt::format(
      "<td class=\"n bar\" data-v=\"{}\" style=\"background-size:{:.1f}% 4px\">{}</td>", finite,
      100 * std::clamp(share, 0.0, 1.0), shown);
}

std::string_view precision_class(Precision precision) {
  for (const Precision known : {Precision::int8, Precision::f16, Precision::bf16, Precision::f32}) {
    if (precision == known) return to_string(known);
  }
  return "other";
}

std::string precision_cell(Precision precision) {
  return fmt::format("<td><span class=\"tag {}\">{}</span></td>", precision_class(precision),
                     to_string(precision));
}

std::string share_text(f64 share, int decimals) {
  return std::isnan(share) ? "none" : fmt::format("{:.{}f} %", 100 * share, decimals);
}

std::string decibels_text(f64 value) {
  if (!std::isfinite(value)) return value > 0 ? "exact" : "none";
  return fmt::format("{:.1f} dB", value);
}

}  // namespace octet

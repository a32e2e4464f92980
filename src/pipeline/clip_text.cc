// SPDX-License-Identifier: Apache-2.0
// Prometheus' text format.
#include <fmt/format.h>

#include <iterator>

#include "core/memory.h"
#include "octet/clipping.h"

namespace octet {
namespace {

std::string escaped(const std::string& label) {
  std::string text;
  for (const char c : label) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
  return text;
}

std::string labels_of(const ClipReport& report, const ClippedTensor& tensor) {
  return fmt::format("model=\"{}\",version=\"{}\",tensor=\"{}\"", escaped(report.model),
                     escaped(report.version), escaped(tensor.tensor));
}

class Text {
 public:
  void family(const char* name, const char* kind, const char* help) {
    add("# HELP {} {}\n# TYPE {} {}\n", name, help, name, kind);
  }
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string prometheus_text(std::span<const ClipReport> reports) {
  return without_bad_alloc([&] {
    Text text;
    text.family("octet_values_total", "counter",
                "Values that became codes, in the runs that were counted");
    for (const ClipReport& report : reports) {
      for (const ClippedTensor& tensor : report.tensors)
        text.add("octet_values_total{{{}}} {}\n", labels_of(report, tensor), tensor.values);
    }
    text.family("octet_clipped_values_total", "counter", "Values of these beyond their codes");
    for (const ClipReport& report : reports) {
      for (const ClippedTensor& tensor : report.tensors) {
        const std::string labels = labels_of(report, tensor);
        text.add("octet_clipped_values_total{{{},side=\"low\"}} {}\n", labels, tensor.below);
        text.add("octet_clipped_values_total{{{},side=\"high\"}} {}\n", labels, tensor.above);
      }
    }
    text.family("octet_calibration_clipped_share", "gauge",
                "The part of calibration's values beyond their codes");
    for (const ClipReport& report : reports) {
      for (const ClippedTensor& tensor : report.tensors) {
        if (tensor.calibrated)
          text.add("octet_calibration_clipped_share{{{}}} {}\n", labels_of(report, tensor),
                   *tensor.calibrated);
      }
    }
    return text.take();
  });
}

}  // namespace octet

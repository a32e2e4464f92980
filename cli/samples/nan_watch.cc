// SPDX-License-Identifier: Apache-2.0
#include "cli/samples/nan_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "octet/data.h"

namespace octet::cli {
namespace {

// "'relu1' (Relu), element [0, 3, 7] of 'relu1_out'; 12 of 4096".
std::string place_text(const NotFiniteOrigin& origin) {
  const std::string place =
      fmt::format("element [{}] of '{}' ({} of {})", fmt::join(origin.element, ", "), origin.value,
                  origin.count, origin.elements);
  if (origin.layer.empty()) return "the input, " + place;
  const std::string layer = fmt::format("layer '{}' ({}), {}", origin.layer, origin.op, place);
  if (origin.constant.empty()) return layer;
  return fmt::format("{}; its constant '{}' holds such values", layer, origin.constant);
}

nlohmann::ordered_json origin_json(const std::optional<NotFiniteOrigin>& origin) {
  if (!origin) return nullptr;
  return {{"layer", origin->layer},      {"op", origin->op},       {"value", origin->value},
          {"element", origin->element},  {"count", origin->count}, {"elements", origin->elements},
          {"constant", origin->constant}};
}

}  // namespace

NanWatch::NanWatch(const Engine& engine, TraceOptions options, std::string what)
    : engine_(engine),
      options_(std::move(options)),
      what_(std::move(what)),
      first_(may_hide_nan(engine)) {}

bool NanWatch::look_at(const std::string& name, std::span<const Tensor> inputs,
                       std::span<const Tensor> outputs) {
  if (trace_) return false;
  const bool bad = any_not_finite(outputs);
  if (!bad && !std::exchange(first_, false)) return false;
  if (std::ranges::any_of(inputs, [](const Tensor& tensor) { return !tensor; })) return false;
  const std::vector<std::vector<Tensor>> sample = {{inputs.begin(), inputs.end()}};
  const int64_t rows = samples_of_run(engine_.inputs(), inputs);
  NanTrace trace = trace_nan(engine_, stack_samples(sample, rows), options_);
  // Infinities that end nowhere are no news: masks hold them.
  if (!(bad ? trace.found() : trace.nan.has_value())) return false;
  trace_ = std::move(trace);
  sample_ = name;
  return true;
}

std::vector<std::string> NanWatch::warnings() const {
  std::vector<std::string> lines;
  const std::string where = what_.empty() ? sample_ : fmt::format("{}, {}", what_, sample_);
  const auto add = [&](const char* what, const std::optional<NotFiniteOrigin>& origin) {
    if (origin)
      lines.push_back(fmt::format("{}: {} first comes from {}", where, what, place_text(*origin)));
  };
  add("NaN", trace_->nan);
  add("an infinity", trace_->infinity);
  if (trace_->quantized > 0) {
    lines.push_back(fmt::format(
        "{}: {} NaN became the code of 0 in layer '{}'{}: what follows looks healthy and is not",
        where, trace_->quantized, trace_->quantizing_layer,
        trace_->quantized > trace_->nan->count ? " and others" : ""));
  }
  return lines;
}

NanReport NanWatch::report() const {
  if (!trace_) return {};
  return {warnings(),
          {{"sample", sample_},
           {"nan", origin_json(trace_->nan)},
           {"infinity", origin_json(trace_->infinity)},
           {"quantized_nan", trace_->quantized},
           {"quantizing_layer", trace_->quantizing_layer}}};
}

}  // namespace octet::cli

// SPDX-License-Identifier: Apache-2.0
// Ranges from a calibration cache: our own, whose details give the ranges that the data gave; or TensorRT's, which says a scale for
// each tensor and no more.
#include <unordered_map>
#include <unordered_set>

#include "core/check.h"
#include "core/content_hash.h"
#include "passes/match.h"
#include "pipeline/choose_ranges.h"

namespace octet {
namespace {

// "3 tensors ('a', 'b', 'c')".
std::string counted_list(const std::vector<std::string>& names) {
  return fmt::format("{} tensor{} ({})", names.size(), names.size() == 1 ? "" : "s",
                     quoted_list(names));
}

f32 scale_of(const Range& range) { return static_cast<f32>(range.threshold / 127); }

// A line of the text holds such a name.
bool fits_in_line(std::string_view name) {
  return !name.empty() && name.find_first_of("\r\n") == std::string_view::npos &&
         name.find_first_of(" \t") != 0 && name.find_last_of(" \t") != name.size() - 1;
}

class CacheReader {
 public:
  CacheReader(const FloatModel& model, const CalibrationCache& cache, bool any_model)
      : model_(model), cache_(cache), any_model_(any_model) {
    for (const auto& entry : cache.scales) {
      if (entry.tells_range()) {
        scales_.emplace(entry.tensor, entry.scale);
      } else {
        without_range_.insert(entry.tensor);
      }
    }
    result_.calibration = std::make_shared<Calibration>();
  }

  CachedCalibration read() {
    const std::string scales = to_text(cache_);
    result_.calibration->cache_hash = digest_of(std::as_bytes(std::span(scales))).hex();
    if (!cache_.details.empty()) read_details();
    const std::vector<ValueId> values = values_to_observe(*model_.graph);
    for (ValueId id : values) take(id);
    complete_exponents();
    share_with_moves();
    size_t found = 0;
    for (ValueId id : values) found += has_range(id) || is_named(id) ? size_t{1} : size_t{0};
    refuse_other_model(found, values);
    tell(values);
    return std::move(result_);
  }

 private:
  void read_details() {
    const std::string name = details_path(cache_.name).string();
    CacheDetails details = read_cache_details(cache_.details, name);
    if (!any_model_ && details.model_hash != model_.hash) {
      fail_about(
          "CalibrationOptions.cache_of_any_model", Error::Code::invalid_argument,
          "{}: the cache was made for another model (hash {}, this model's is {}); calibrate "
          "again, or take it nevertheless",
          cache_.name, details.model_hash, model_.hash);
    }
    Calibration& calibration = *result_.calibration;
    calibration.samples = details.samples;
    calibration.data = details.data;
    calibration.device = std::move(details.device);
    calibration.data_hash = details.data_hash;
    calibration.preprocess = details.preprocess;
    calibration.losses = std::move(details.losses);
    if (details.inputs.size() == model_.graph->inputs.size())
      calibration.profiles = std::move(details.inputs);
    for (TensorDetails& tensor : details.tensors) {
      std::string key = tensor.range.tensor;
      details_.emplace(std::move(key), std::move(tensor));
    }
  }

  // What the scales of equalized tensors mean, whatever is edited.
  void complete_exponents() {
    std::string misfit;
    ChannelExponents& exponents = result_.calibration->exponents;
    exponents = completed_exponents(*model_.graph, exponents, misfit);
    if (misfit.empty()) return;
    fail_about("CalibrationOptions.cache", Error::Code::invalid_argument,
               "{}: its exponents do not fit the model: {}; calibrate again",
               details_path(cache_.name).string(), misfit);
  }

  void take(ValueId id) {
    const std::string& name = model_.graph->value(id).name;
    const auto scale = scales_.find(name);
    const auto details = details_.find(name);
    const bool known = details != details_.end();
    if (known && !details->second.exponents.empty())
      result_.calibration->exponents[id] = details->second.exponents;
    const bool agrees =
        known && (scale != scales_.end() ? scale->second == scale_of(details->second.range)
                                         : !fits_in_line(name));
    if (agrees) return take_details(id, details->second);
    if (scale == scales_.end()) return;
    if (known) edited_.push_back(name);
    // 24 bits times 127: the scale of its codes will be the cache's to the bit.
    const f64 threshold = f64{scale->second} * 127;
    result_.ranges[id] = {.tensor = name,
                          .min = static_cast<f32>(-threshold),
                          .max = static_cast<f32>(threshold),
                          .threshold = threshold,
                          .method = RangeRule::cache};
  }

  void take_details(ValueId id, TensorDetails& details) {
    Calibration& calibration = *result_.calibration;
    result_.ranges[id] = details.range;
    calibration.values.push_back(id);
    calibration.statistics.push_back(details.range.seen);
    calibration.observations.push_back({std::move(details.histogram), {}, {}});
  }

  // What only moves has one range before and after; a cache may have either.
  void share_with_moves() {
    const auto& nodes = model_.graph->nodes;
    for (const Node& node : nodes) share(node);
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) share(*node);
    for (const Node& node : nodes) share(node);
  }

  void share(const Node& node) {
    if (node.op->quant.kind != QuantKind::move_codes || node.outputs.empty()) return;
    const std::vector<size_t> moved = moved_inputs(node);
    if (moved.size() != 1) return;
    share(node.inputs[moved[0]], node.outputs[0]);
    share(node.outputs[0], node.inputs[moved[0]]);
  }

  void share(ValueId from, ValueId to) {
    const auto range = result_.ranges.find(from);
    if (range == result_.ranges.end() || result_.ranges.contains(to)) return;
    Range copy = range->second;
    copy.tensor = model_.graph->value(to).name;
    copy.seen = nullptr;
    result_.ranges.emplace(to, std::move(copy));
  }

  void refuse_other_model(size_t found, std::span<const ValueId> values) const {
    if (any_model_ || found * 2 >= values.size()) return;
    fail_about("CalibrationOptions.cache_of_any_model", Error::Code::invalid_argument,
               "{}: the cache was made for another model: it names {} of the {} tensors whose "
               "ranges this model needs, and not {}; calibrate again, or take it nevertheless",
               cache_.name, found, values.size(), counted_list(missing(values, false)));
  }

  bool has_range(ValueId id) const { return result_.ranges.contains(id); }
  // In the cache, without a range.
  bool is_named(ValueId id) const { return without_range_.contains(model_.graph->value(id).name); }

  // Tensors without a range that the cache names, or does not name.
  std::vector<std::string> missing(std::span<const ValueId> values, bool named) const {
    std::vector<std::string> names;
    for (ValueId id : values) {
      if (!has_range(id) && is_named(id) == named) names.push_back(model_.graph->value(id).name);
    }
    return names;
  }

  std::vector<std::string> extra() const {
    std::vector<std::string> names;
    if (model_.tensors == nullptr) return names;
    const std::unordered_set<std::string_view> known(model_.tensors->begin(),
                                                     model_.tensors->end());
    for (const auto& entry : cache_.scales) {
      if (!known.contains(entry.tensor)) names.push_back(entry.tensor);
    }
    return names;
  }

  void tell(std::span<const ValueId> values) {
    std::vector<std::string>& notes = result_.calibration->notes;
    const auto note = [&](const std::vector<std::string>& names, const char* what) {
      if (!names.empty())
        notes.push_back(fmt::format("{}: {}{}", cache_.name, counted_list(names), what));
    };
    note(missing(values, false),
         " of the model are missing in the cache; layers that need them stay in f32");
    note(missing(values, true),
         " of the model have no range in the cache, which says 0 or next to it; layers that need "
         "one stay in f32");
    note(extra(), " of the cache are not in the model");
    note(edited_, " have another scale than the details beside the cache; the cache's is taken");
  }

  const FloatModel& model_;
  const CalibrationCache& cache_;
  bool any_model_;
  std::unordered_map<std::string, f32> scales_;
  std::unordered_set<std::string> without_range_;  // that the cache names nevertheless
  std::unordered_map<std::string, TensorDetails> details_;
  std::vector<std::string> edited_;
  CachedCalibration result_;
};

// As TensorRT's builder writes it where the rule is one that it has.
const char* header_of(const Range& range) {
  return range.method == RangeMethod(RangeRule::minmax) ? "TRT-8601-MinMaxCalibration"
                                                        : "TRT-8601-EntropyCalibration2";
}

}  // namespace

CachedCalibration read_cache(const FloatModel& model, const CalibrationCache& cache,
                             bool any_model) {
  return CacheReader(model, cache, any_model).read();
}

CalibrationCache make_cache(const FloatModel& model) {
  const Calibration& calibration = *model.calibration;
  CacheDetails details{.model_hash = model.hash,
                       .data_hash = calibration.data_hash,
                       .data = calibration.data.string(),
                       .samples = calibration.samples,
                       .device = calibration.device,
                       .preprocess = calibration.preprocess,
                       .inputs = calibration.profiles,
                       .losses = calibration.losses,
                       .tensors = {}};
  CalibrationCache cache;
  for (size_t i = 0; i < calibration.values.size(); ++i) {
    const auto own = calibration.own_ranges->find(calibration.values[i]);
    if (own == calibration.own_ranges->end()) continue;  // it holds infinities
    const Range& range = own->second;
    if (details.tensors.empty()) cache.header = header_of(range);
    if (fits_in_line(range.tensor)) cache.scales.push_back({range.tensor, scale_of(range)});
    const auto exponents = calibration.exponents.find(calibration.values[i]);
    details.tensors.push_back({range, calibration.observations[i].histogram});
    if (exponents != calibration.exponents.end())
      details.tensors.back().exponents = exponents->second;
  }
  cache.details = write_cache_details(details);
  return cache;
}

}  // namespace octet

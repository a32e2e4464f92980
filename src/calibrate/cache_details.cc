// SPDX-License-Identifier: Apache-2.0
#include "calibrate/cache_details.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "calibrate/range.h"
#include "core/bounded_json.h"
#include "core/channel_exponent.h"
#include "core/memory.h"
#include "preprocess/profile_json.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "octet-calibration";
constexpr s64 kVersion = 1;
constexpr int kMaxDepth = 4;
// What a parsed number takes for each byte of its text, at most.
constexpr s64 kParsedBytes = 12;
// The counts of all bins together stay below 2^63.
constexpr s64 kMaxCount = s64{1} << 50;
constexpr f64 kPercentiles[] = {50, 99, 99.9, 99.99};

Json numbers(std::span<const u64> counts) {
  size_t used = counts.size();
  while (used > 0 && counts[used - 1] == 0) --used;
  return Json(std::vector<u64>(counts.begin(), counts.begin() + static_cast<ptrdiff_t>(used)));
}

Json percentiles_of(const Histogram& histogram) {
  Json object = Json::object();
  for (f64 percent : kPercentiles)
    object[fmt::format("{}", percent)] = quantile_of(histogram, percent / 100);
  return object;
}

Json to_json(const TensorDetails& tensor) {
  const Range& range = tensor.range;
  const Histogram& histogram = tensor.histogram;
  Json json = {{"name", range.tensor},
               {"min", range.min},
               {"max", range.max},
               {"threshold", range.threshold},
               {"method", to_string(range.method.value_or(RangeMethod()))},
               {"zeros", histogram.zeros()},
               {"percentiles", percentiles_of(histogram)},
               {"channel_mean", range.seen->channel_mean},
               {"channel_power", range.seen->channel_power},
               {"channel_min", range.seen->channel_min},
               {"channel_max", range.seen->channel_max},
               {"bin_width", histogram.bin_width()},
               {"histogram", numbers(histogram.counts())}};
  if (!tensor.exponents.empty())
    json["exponents"] = std::vector<int>(tensor.exponents.begin(), tensor.exponents.end());
  return json;
}

Json losses_json(const std::vector<LayerLoss>& losses) {
  Json list = Json::array();
  for (const LayerLoss& loss : losses) {
    list.push_back(
        {{"name", loss.layer}, {"lost", loss.lost}, {"slower", loss.slower}, {"macs", loss.macs}});
  }
  return list;
}

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

constexpr const char* kExpected = "what a calibration writes beside its cache";

struct Reader : JsonFields {
  f32 single(const char* key) const {
    const f64 value = number(at(key), key);
    if (static_cast<f64>(static_cast<f32>(value)) != value)
      wrong("'{}' is no number of single precision", key);
    return static_cast<f32>(value);
  }

  RangeMethod method(const char* key) const {
    const std::string name = text(key);
    try {
      return parse_range_method(name);
    } catch (const Error& error) {
      wrong("{}", error.message());
    }
  }

  std::vector<f64> reals(const char* key) const {
    std::vector<f64> values;
    for (const Json& value : list(key)) values.push_back(number(value, key));
    return values;
  }

  std::vector<u64> counts(const char* key) const {
    const Json& given = list(key);
    if (given.size() > Histogram::kBins)
      wrong("'{}' has more than {} counts", key, Histogram::kBins);
    std::vector<u64> values;
    for (const Json& value : given) {
      if (!value.is_number_unsigned() || value.get<u64>() > static_cast<u64>(kMaxCount))
        wrong("'{}' holds something that is not a count", key);
      values.push_back(value.get<u64>());
    }
    return values;
  }
};

Histogram read_histogram(const Reader& reader, const Range& range) {
  Histogram::Parts parts;
  parts.counts = reader.counts("histogram");
  parts.bin_width = reader.number(reader.at("bin_width"), "bin_width");
  parts.zeros = static_cast<u64>(reader.integer("zeros", 0, kMaxCount));
  parts.min = range.min;
  parts.max = range.max;
  const std::optional<Histogram> histogram = Histogram::restored(parts);
  if (!histogram) reader.wrong("its histogram contradicts itself");
  return *histogram;
}

// Older files have none.
void read_extremes(const Reader& reader, TensorStatistics& seen) {
  if (!reader.object.contains("channel_min")) return;
  seen.channel_min = reader.reals("channel_min");
  seen.channel_max = reader.reals("channel_max");
  const size_t channels = seen.channel_power.size();
  const size_t lows = seen.channel_min.size(), highs = seen.channel_max.size();
  if (lows != highs || (lows != channels && lows != 0))
    reader.wrong("it has {} and {} extremes of {} channels", lows, highs, channels);
  constexpr f64 kMost = std::numeric_limits<f32>::max();
  const auto holds = [](f64 low, f64 high) {
    return -kMost <= low && low <= high && high <= kMost;
  };
  if (!std::ranges::equal(seen.channel_min, seen.channel_max, holds))
    reader.wrong("the extremes of a channel are none");
}

// Of tensors that were equalized.
std::vector<s8> read_exponents(const Reader& reader, size_t channels) {
  std::vector<s8> exponents;
  if (!reader.object.contains("exponents")) return exponents;
  for (const Json& value : reader.list("exponents")) {
    const f64 exponent = reader.number(value, "exponents");
    if (exponent < 0 || exponent > kMostExponent || exponent != std::floor(exponent))
      reader.wrong("'exponents' holds something that is none");
    exponents.push_back(static_cast<s8>(exponent));
  }
  if (exponents.size() != channels)
    reader.wrong("it has {} exponents of {} channels", exponents.size(), channels);
  return exponents;
}

TensorDetails read_tensor(const Reader& reader) {
  TensorDetails tensor;
  Range& range = tensor.range;
  range.tensor = reader.text("name");
  range.min = reader.single("min");
  range.max = reader.single("max");
  range.threshold = reader.number(reader.at("threshold"), "threshold");
  if (!(range.threshold > 0)) reader.wrong("'threshold' is not positive");
  range.method = reader.method("method");
  tensor.histogram = read_histogram(reader, range);
  auto seen = std::make_shared<TensorStatistics>();
  seen->bin_width = static_cast<f32>(tensor.histogram.bin_width());
  seen->histogram = {tensor.histogram.counts().begin(), tensor.histogram.counts().end()};
  seen->channel_mean = reader.reals("channel_mean");
  seen->channel_power = reader.reals("channel_power");
  const size_t channels = seen->channel_power.size();
  if (seen->channel_mean.size() != channels)
    reader.wrong("it has {} means and {} powers of channels", seen->channel_mean.size(), channels);
  read_extremes(reader, *seen);
  tensor.exponents = read_exponents(reader, channels);
  range.seen = std::move(seen);
  return tensor;
}

std::vector<TensorDetails> read_tensors(const Reader& reader) {
  const Json& list = reader.list("tensors");
  std::vector<TensorDetails> tensors;
  std::unordered_set<std::string> names;
  for (size_t i = 0; i < list.size(); ++i) {
    const Reader entry{{list[i], reader.file, kExpected, fmt::format("tensor {}: ", i)}};
    entry.check_object();
    tensors.push_back(read_tensor(entry));
    if (!names.insert(tensors.back().range.tensor).second)
      entry.wrong("'{}' stands there before", tensors.back().range.tensor);
  }
  return tensors;
}

std::vector<LayerLoss> read_losses(const Reader& reader) {
  const Json& list = reader.list("layers");
  std::vector<LayerLoss> losses;
  std::unordered_set<std::string> names;
  for (size_t i = 0; i < list.size(); ++i) {
    const Reader entry{{list[i], reader.file, kExpected, fmt::format("layer {}: ", i)}};
    entry.check_object();
    const auto part = [&](const char* key) {
      const f64 value = entry.number(entry.at(key), key);
      if (!(value >= 0)) entry.wrong("'{}' is no part of anything", key);
      return value;
    };
    losses.push_back({entry.text("name"), part("lost"), part("slower"), part("macs")});
    if (!names.insert(losses.back().layer).second)
      entry.wrong("'{}' stands there before", losses.back().layer);
  }
  return losses;
}

}  // namespace

std::string write_cache_details(const CacheDetails& details) {
  Json head = {{"format", kFormat},
               {"version", kVersion},
               {"model_hash", details.model_hash},
               {"data_hash", details.data_hash},
               {"data", details.data},
               {"samples", details.samples},
               {"bins", Histogram::kBins}};
  if (!details.device.empty()) head["device"] = details.device;
  if (details.preprocess) head["preprocess"] = Json::parse(to_json(*details.preprocess));
  if (!details.inputs.empty()) head["inputs"] = profiles_json(details.inputs);
  std::string text = dumped(head);
  text.pop_back();
  if (!details.losses.empty()) text += ",\"layers\":" + dumped(losses_json(details.losses));
  text += ",\"tensors\":[";
  for (size_t i = 0; i < details.tensors.size(); ++i)
    text += (i == 0 ? "\n" : ",\n") + dumped(to_json(details.tensors[i]));
  return text + "\n]}\n";
}

CacheDetails read_cache_details(std::string_view text, const std::string& file) {
  check_fits(static_cast<s64>(text.size()) * kParsedBytes, "the parsed text of " + file);
  const OrderedJsonTree tree = parse_bounded_json(text, file, kMaxDepth);
  const Json& json = tree.value;
  const Reader reader{{json, file, kExpected}};
  reader.check_object();
  if (reader.text("format") != kFormat) reader.wrong("'format' is not {}", kFormat);
  reader.integer("version", kVersion, kVersion);
  CacheDetails details;
  details.model_hash = reader.text("model_hash");
  details.data_hash = reader.text("data_hash");
  details.data = reader.text("data");
  details.samples = reader.integer("samples", 0, kMaxCount);
  if (json.contains("device")) details.device = reader.text("device");
  if (json.contains("preprocess"))
    details.preprocess = preprocess_from_json(dumped(json["preprocess"]), file);
  if (json.contains("inputs")) details.inputs = profiles_from_json(json["inputs"], file);
  if (json.contains("layers")) details.losses = read_losses(reader);
  details.tensors = read_tensors(reader);
  return details;
}

}  // namespace octet

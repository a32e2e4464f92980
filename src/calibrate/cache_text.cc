// SPDX-License-Identifier: Apache-2.0
// TensorRT's calibration cache: a header line, then "tensor: " and the hexadecimal digits of the scale's bits on each line. TensorRT
// leaves leading zeros out: "tensor: 0" is one that it found no range for.
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "calibrate/lines.h"
#include "core/check.h"
#include "core/file.h"
#include "octet/calibration_cache.h"

namespace octet {
namespace {

constexpr u64 kMaxBytes = u64{256} << 20;  // histograms of thousands of tensors
constexpr size_t kMaxHeader = 256;
constexpr size_t kMaxDigits = 8;

std::optional<u32> hexadecimal(std::string_view digits) {
  u32 bits = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, bits, 16);
  if (digits.size() > kMaxDigits || error != std::errc() || stop != end) return std::nullopt;
  return bits;
}

// Names may have colons: the last one counts.
struct Entry {
  std::string_view tensor;
  std::string_view digits;
};
std::optional<Entry> split(std::string_view line) {
  const size_t colon = line.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  return Entry{line.substr(0, colon), trimmed(line.substr(colon + 1))};
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : lines_(text), wrong_(name) {
    cache_.name = name;
  }

  CalibrationCache parse() {
    read_header();
    while (const auto line = lines_.next()) {
      if (!line->empty()) read_entry(*line);
    }
    wrong_.throw_if_any("'tensor: ' and the hexadecimal digits of its scale, 8 at most");
    if (cache_.scales.empty()) {
      fail(Error::Code::invalid_argument,
           "{}: a calibration cache with no tensor in it; expected a header such as "
           "'TRT-8601-EntropyCalibration2', then a line 'tensor: 3c010a14' for each tensor",
           cache_.name);
    }
    return std::move(cache_);
  }

 private:
  void read_header() {
    const auto line = lines_.next();
    const bool is_entry = line && split(*line) && hexadecimal(split(*line)->digits);
    if (!line || line->empty() || line->size() > kMaxHeader || is_entry) {
      fail(Error::Code::invalid_argument,
           "{}: line 1 is {}; expected the header of a calibration cache, such as "
           "'TRT-8601-EntropyCalibration2'",
           cache_.name, is_entry ? "a tensor's scale" : "no header");
    }
    cache_.header = *line;
  }

  void read_entry(std::string_view line) {
    const auto entry = split(line);
    if (!entry) return wrong_.add(lines_.number(), "no 'tensor: scale'");
    const auto bits = hexadecimal(entry->digits);
    if (!bits) {
      return wrong_.add(lines_.number(), fmt::format("tensor '{}' has the scale '{}'",
                                                     entry->tensor, entry->digits.substr(0, 40)));
    }
    const f32 scale = std::bit_cast<f32>(*bits);
    if (!std::isfinite(scale) || std::signbit(scale)) {
      return wrong_.add(lines_.number(), fmt::format("tensor '{}' has the scale {}, which is no "
                                                     "positive number",
                                                     entry->tensor, scale));
    }
    add(entry->tensor, scale);
  }

  void add(std::string_view tensor, f32 scale) {
    const auto [at, is_new] = seen_.try_emplace(std::string(tensor), lines_.number(), scale);
    if (is_new) {
      cache_.scales.push_back({std::string(tensor), scale});
    } else if (at->second.second != scale) {
      wrong_.add(lines_.number(), fmt::format("tensor '{}' has the scale {}, and {} in line {}",
                                              tensor, scale, at->second.second, at->second.first));
    }
  }

  Lines lines_;
  WrongLines wrong_;
  CalibrationCache cache_;
  std::unordered_map<std::string, std::pair<s64, f32>> seen_;  // line and scale
};

std::string text_of(const std::vector<u8>& bytes) { return {bytes.begin(), bytes.end()}; }

void write_text(const std::filesystem::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write({reinterpret_cast<const u8*>(text.data()), text.size()});
  file.commit();
}

}  // namespace

bool CalibrationCache::Scale::tells_range() const { return scale >= 0x1p-95f; }

CalibrationCache parse_calibration_cache(std::string_view text, const std::string& name) {
  return Parser(text, name).parse();
}

std::string to_text(const CalibrationCache& cache) {
  std::string text = cache.header + "\n";
  for (const CalibrationCache::Scale& entry : cache.scales)
    text += fmt::format("{}: {:08x}\n", entry.tensor, std::bit_cast<u32>(entry.scale));
  return text;
}

std::filesystem::path details_path(const std::filesystem::path& cache) {
  std::filesystem::path path = cache;
  path += ".json";
  return path;
}

CalibrationCache load_calibration_cache(const std::filesystem::path& path) {
  CalibrationCache cache =
      parse_calibration_cache(text_of(read_file(path, kMaxBytes)), path.string());
  const std::filesystem::path details = details_path(path);
  std::error_code absent;
  if (std::filesystem::exists(details, absent))
    cache.details = text_of(read_file(details, kMaxBytes));
  return cache;
}

void save_calibration_cache(const CalibrationCache& cache, const std::filesystem::path& path) {
  // The details first: a cache whose details are missing would be taken for TensorRT's.
  if (!cache.details.empty()) write_text(details_path(path), cache.details);
  write_text(path, to_text(cache));
}

}  // namespace octet

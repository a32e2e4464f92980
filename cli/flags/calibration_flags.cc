// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/calibration_flags.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "cli/fail.h"
#include "cli/output/terminal.h"
#include "octet/input.h"

namespace octet::cli {
namespace {

constexpr const char* kGroup = "Ranges of INT8 tensors";

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// "conv*=percentile:99.9": what stands before the last '=' is a pattern over tensors.
void add_method(const std::string& text, CalibrationOptions& options) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos) {
    options.method = parse_range_method(text);
  } else {
    options.methods.push_back(
        {text.substr(0, equals), parse_range_method(text.substr(equals + 1))});
  }
}

void check_header(const CalibrationFlags& flags, const CalibrationOptions& options) {
  const std::string& header = flags.cache_header;
  if (!options.make_cache) {
    fail(Error::Code::invalid_argument,
         "--cache-header: {} exists and is read, not written; remove it to calibrate anew",
         flags.cache->path().string());
  }
  if (header.empty() || header.size() > 256 || header.find_first_of("\r\n") != std::string::npos) {
    fail(Error::Code::invalid_argument, "--cache-header: expected one line of 1 to 256 bytes");
  }
}

// Left behind by a cache that was removed.
bool is_details(const std::filesystem::path& path) {
  constexpr std::string_view kBegins = "{\"format\":\"octet-calibration\"";
  return read_beginning(path, kBegins.size()) == kBegins;
}

void check_can_be_made(const CalibrationFlags& flags) {
  const std::filesystem::path& cache = flags.cache->path();
  if (flags.data.data.empty()) {
    fail(Error::Code::invalid_argument,
         "--calib-cache {}: no such file; --calib DIR calibrates and makes it", cache.string());
  }
  if (is_there(details_path(cache)) && !is_details(details_path(cache))) {
    fail(Error::Code::invalid_argument,
         "--calib-cache {}: its details would replace {}, which Octet did not write; name another "
         "file",
         cache.string(), details_path(cache).string());
  }
}

void add_cache(const CalibrationFlags& flags, CalibrationOptions& options) {
  const std::filesystem::path& cache = flags.cache->path();
  options.cache_of_any_model = flags.force_cache;
  if (!is_there(cache)) {
    check_can_be_made(flags);
    options.make_cache = true;
    return;
  }
  options.cache = std::make_shared<const CalibrationCache>(load_calibration_cache(cache));
  if (options.data.empty()) return;
  print_warning(
      fmt::format("ranges come from {}; the data in {} are not read (remove the cache to calibrate "
                  "anew)",
                  cache.string(), options.data.string()));
  options.data.clear();
}

bool chooses_ranges(const CalibrationFlags& flags) {
  return !flags.data.data.empty() || flags.cache->given() || !flags.ranges.empty();
}

// A flag that would change nothing was meant to change something.
void check_uses(const CalibrationFlags& flags) {
  const auto useless = [](const char* flag, const char* without) {
    fail(Error::Code::invalid_argument, "{} has no use without {}", flag, without);
  };
  if (!flags.methods.empty() && flags.data.data.empty() && !flags.cache->given())
    useless("--calib-method", "--calib or --calib-cache");
  if (!flags.cache_header.empty() && !flags.cache->given())
    useless("--cache-header", "--calib-cache");
  if (flags.force_cache && !flags.cache->given()) useless("--force-cache", "--calib-cache");
  if (flags.constant_data && flags.data.data.empty()) useless("--constant-data", "--calib");
  if (flags.device != "cpu" && flags.data.data.empty() && !flags.cache->given())
    useless("--device", "--calib or --calib-cache");
  if (flags.equalize != "on" && flags.data.data.empty() && !flags.cache->given())
    useless("--equalize", "--calib or --calib-cache");
}

// The share of all multiplications in these layers.
double mac_share(const MissingRange& missing, const std::unordered_map<std::string, int64_t>& macs,
                 int64_t total) {
  int64_t sum = 0;
  for (const std::string& layer : missing.layers) {
    const auto at = macs.find(layer);
    if (at != macs.end()) sum += at->second;
  }
  return total > 0 ? static_cast<double>(sum) / static_cast<double>(total) : 0;
}

struct MissingRow {
  const MissingRange* missing;
  double share;
};

// The most expensive first.
std::vector<MissingRow> missing_rows(const CompileReport& report, const Inspection& inspection) {
  if (report.missing_ranges.empty()) return {};
  std::unordered_map<std::string, int64_t> macs;
  for (const LayerInfo& layer : inspection.layers) macs[layer.name] += layer.macs;
  std::vector<MissingRow> rows;
  for (const MissingRange& missing : report.missing_ranges)
    rows.push_back({&missing, mac_share(missing, macs, inspection.coverage.macs)});
  std::ranges::stable_sort(rows, std::greater(), &MissingRow::share);
  return rows;
}

}  // namespace

void add_calibration_flags(CLI::App& app, Outputs& outputs, CalibrationFlags& flags) {
  add_data_flags(app, flags.data, "--calib", "calibration images or arrays");
  app.add_option("--calib-method", flags.methods,
                 "how ranges are chosen [entropy]; PATTERN=METHOD for the tensors that match; "
                 "repeatable")
      ->type_name("[PATTERN=]METHOD")
      ->allow_extra_args(false)
      ->group(kGroup);
  flags.cache = &outputs.add_flag(
      app,
      {"--calib-cache", "FILE", OutputKind::cache,
       "read ranges from this file, TensorRT's or our own; with --calib, make it where it does "
       "not exist"});
  app.add_option("--cache-header", flags.cache_header,
                 "first line of the cache that is made [TRT-8601-EntropyCalibration2]")
      ->type_name("TEXT")
      ->group(kGroup);
  app.add_flag("--force-cache", flags.force_cache, "take a cache that was made for another model")
      ->group(kGroup);
  app.add_flag("--constant-data", flags.constant_data,
               "calibrate on data in which an input never changes, such as zeros")
      ->group(kGroup);
  app.add_option("--equalize", flags.equalize,
                 "bring channels that share a scale nearer to each other, in the weights around "
                 "them [on]")
      ->type_name("on|off")
      ->check(CLI::IsMember({"on", "off"}))
      ->group(kGroup);
  app.add_option("--ranges", flags.ranges,
                 "ranges by hand: lines 'tensor: min max', or JSON; names may be patterns")
      ->type_name("FILE")
      ->group(kGroup);
  app.add_option("--device", flags.device,
                 "what runs the model over the calibration data: cpu, or cuda:N (an NVIDIA GPU)")
      ->type_name("NAME")
      ->capture_default_str()
      ->group(kGroup);
}

std::optional<CalibrationOptions> calibration_options(const CalibrationFlags& flags) {
  check_uses(flags);
  if (!chooses_ranges(flags)) return std::nullopt;
  CalibrationOptions options;
  static_cast<DataOptions&>(options) = data_options(flags.data);
  options.constant_data = flags.constant_data;
  options.equalize = flags.equalize == "on";
  options.device = flags.device;
  for (const std::string& method : flags.methods) add_method(method, options);
  if (flags.cache->given()) add_cache(flags, options);
  if (!flags.cache_header.empty()) check_header(flags, options);
  if (!flags.ranges.empty())
    options.ranges = parse_given_ranges(read_text_file(flags.ranges), flags.ranges.string());
  return options;
}

void save_cache(const CalibrationFlags& flags, const CompileReport& report) {
  if (report.cache == nullptr) return;
  CalibrationCache cache = *report.cache;
  if (!flags.cache_header.empty()) cache.header = flags.cache_header;
  try {
    write(*flags.cache, cache);
  } catch (const Error& error) {
    if (error.code() != Error::Code::io) throw;
    print_warning(fmt::format("the calibration cache was not kept: {}", error.message()));
  }
}

std::string methods_of(const CompileReport& report) {
  std::set<std::string> methods;
  for (const Range& range : report.ranges) {
    if (range.method) methods.insert(to_string(*range.method));
  }
  return fmt::format("{}", fmt::join(methods, ", "));
}

void print_missing_ranges(const CompileReport& report, const Inspection& inspection) {
  constexpr size_t kShown = 12;
  const std::vector<MissingRow> rows = missing_rows(report, inspection);
  if (rows.empty()) return;
  fmt::print(
      "  Missing scale and zero-point for {} tensor{}, expect fall back to non-int8 implementation "
      "for any layer\n  consuming or producing them (reason no_range). Data that reach them give "
      "a range, or --ranges.\n",
      rows.size(), rows.size() == 1 ? "" : "s");
  Table table({{"  TENSOR WITHOUT RANGE", false, 44},
               {"LAYERS", true},
               {"OF MULTIPLICATIONS", true},
               {"FOR EXAMPLE", false, 60}});
  for (size_t i = 0; i < std::min(rows.size(), kShown); ++i) {
    const MissingRange& missing = *rows[i].missing;
    table.add({"  " + missing.tensor, std::to_string(missing.layers.size()), percent(rows[i].share),
               missing.layers.front()});
  }
  table.print();
  if (rows.size() > kShown) fmt::print("  and {} more; --json lists all\n", rows.size() - kShown);
}

nlohmann::ordered_json missing_ranges_json(const CompileReport& report,
                                           const Inspection& inspection) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const MissingRow& row : missing_rows(report, inspection)) {
    list.push_back({{"tensor", row.missing->tensor},
                    {"layers", row.missing->layers},
                    {"mac_share", row.share}});
  }
  return list;
}

}  // namespace octet::cli

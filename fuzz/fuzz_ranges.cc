// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file of ranges, whose kind the first byte chooses: a calibration cache, its details, ranges by hand, and the names of
// methods. What is accepted is written and read back.
#include "calibrate/cache_details.h"
#include "fuzz/fuzz.h"
#include "octet/calibrate.h"

namespace octet::fuzz {
namespace {

void read_cache(std::string_view text) {
  const CalibrationCache cache = parse_calibration_cache(text, "fuzz.cache");
  const CalibrationCache again = parse_calibration_cache(to_text(cache), "again.cache");
  if (again.scales.size() != cache.scales.size()) found("a cache that reads back different");
}

void read_details(std::string_view text) {
  const CacheDetails details = read_cache_details(text, "fuzz.json");
  const std::string written = write_cache_details(details);
  if (write_cache_details(read_cache_details(written, "again.json")) != written)
    found("details that read back different");
}

void run(u8 kind, std::string_view text) {
  switch (kind & 3) {
    case 0:
      return read_cache(text);
    case 1:
      return read_details(text);
    case 2:
      parse_given_ranges(text, "fuzz.txt");
      return;
    default:
      if (!(parse_range_method(to_string(parse_range_method(text))) == parse_range_method(text)))
        found("a method that reads back different");
  }
}

void test_one(const Input& input) {
  survives_kind(input, [](u8 kind, const Input& rest) { run(kind, rest.text()); });
}

}  // namespace

const Target kTarget{.memory = s64{64} << 20, .run = test_one};

}  // namespace octet::fuzz

// SPDX-License-Identifier: Apache-2.0
// What a calibration found, kept in a file: TensorRT's text format, so that its caches build Octet's engines, and a JSON file
// beside it with all that a scale cannot say, so that a build from our own cache equals the build from data to the byte.
// docs/calibration.md has both formats.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

struct CalibrationCache {
  struct Scale {
    std::string tensor;
    float scale = 0;  // of s8 codes: threshold / 127

    // TensorRT writes 0 for a tensor that it found no range for. Scales whose bits have fewer than eight hexadecimal digits are as good as
    // that: of nothing but zeros, or of a line that lost a digit.
    bool tells_range() const;
  };

  std::string header = "TRT-8601-EntropyCalibration2";  // the first line of the text
  std::vector<Scale> scales;
  std::string details;  // the JSON file's text; empty where there is none, as with TensorRT's own
  std::string name;     // in errors
};

// The text alone. Accepts any header, tensors whose names have colons, scales without their leading zeros, CRLF, a byte order mark and
// blanks at the ends of lines. Throws one Error(invalid_argument) that lists every line that is wrong: digits, scales that are
// negative or no finite numbers, a tensor with two scales.
CalibrationCache parse_calibration_cache(std::string_view text, const std::string& name);
std::string to_text(const CalibrationCache& cache);

// The details of "calib.cache" lie in "calib.cache.json".
std::filesystem::path details_path(const std::filesystem::path& cache);
// With the details, where that file exists.
CalibrationCache load_calibration_cache(const std::filesystem::path& path);
// Both files, each whole or not at all.
void save_calibration_cache(const CalibrationCache& cache, const std::filesystem::path& path);

}  // namespace octet

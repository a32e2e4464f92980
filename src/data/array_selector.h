// SPDX-License-Identifier: Apache-2.0
// "digits.npz:train_images[0:200]:train_labels": which arrays of an archive, and which part of them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/types.h"

namespace octet {

// [begin:end] with Python's meaning of absent and negative bounds.
struct Slice {
  std::optional<s64> begin;
  std::optional<s64> end;
};

struct RowRange {
  s64 begin = 0;
  s64 count = 0;
};
RowRange resolve_slice(const Slice& slice, s64 rows);

struct ArraySelector {
  std::filesystem::path file;
  std::string array;   // empty: arrays named as the inputs
  std::string labels;  // empty: "labels" where there is such an array
  Slice slice;         // of both
};

// A path that exists is taken as it is, whatever characters it has.
ArraySelector parse_array_selector(const std::filesystem::path& data);

}  // namespace octet

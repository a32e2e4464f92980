// SPDX-License-Identifier: Apache-2.0
#include "onnx/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/types.h"

namespace octet {
namespace {

constexpr size_t kShown = 160;        // bytes of a name in a message
constexpr size_t kMaxDistance = 100;  // longer names are not searched for their neighbours
constexpr size_t kMaxCandidates = 20000;

// Length of the well-formed printable UTF-8 sequence at `i`, or 0.
size_t printable_at(std::string_view text, size_t i) {
  const auto byte = [&](size_t k) { return k < text.size() ? static_cast<u8>(text[k]) : u8{0}; };
  const u8 lead = byte(i);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  u32 code = lead & (0xffu >> (length + 1));
  for (size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i + k) & 0x3fu);
  }
  constexpr u32 kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool control = code < 0xa0 || code == 0x200e ||
                       code == 0x200f ||  // C1; bidirectional marks
                       (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < kSmallest[length] || code > 0x10ffff || surrogate || control ? 0 : length;
}

template <class Bad>
std::string transform(std::string_view text, Bad&& bad) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const size_t length = printable_at(text, i);
    if (length == 0) {
      bad(result, static_cast<u8>(text[i++]));
      continue;
    }
    result.append(text.substr(i, length));
    i += length;
  }
  return result;
}

size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

void check_name_length(std::string_view name) {
  constexpr size_t kMost = 64 * 1024;
  if (name.size() <= kMost) return;
  fail(Error::Code::invalid_model, "the name {} is longer than {} bytes", quote_name(name), kMost);
}

std::string quote_name(std::string_view name) {
  const auto escape = [](std::string& out, u8 byte) { out += fmt::format("\\x{:02x}", byte); };
  if (name.size() <= kShown) return "'" + transform(name, escape) + "'";
  return fmt::format("'{}...{}' ({} bytes)", transform(name.substr(0, kShown / 2), escape),
                     transform(name.substr(name.size() - kShown / 4), escape), name.size());
}

std::string clean_name(std::string_view name) {
  return transform(name, [](std::string& out, u8) { out += '?'; });
}

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  if (name.size() > kMaxDistance) return {};
  std::string_view best;
  size_t best_distance = std::max<size_t>(2, name.size() / 2) + 1;
  for (std::string_view candidate : candidates.first(std::min(candidates.size(), kMaxCandidates))) {
    if (candidate.size() > kMaxDistance) continue;
    const size_t d = distance(name, candidate);
    if (d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  }
  return best;
}

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "data/array_selector.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/check.h"

namespace octet {
namespace {

constexpr std::string_view kArchive = ".npz";

class SelectorParser {
 public:
  SelectorParser(std::string_view whole, std::string_view rest) : whole_(whole), rest_(rest) {}

  void parse(ArraySelector* selector) {
    if (accept(':')) selector->array = key();
    if (accept('[')) selector->slice = slice();
    if (accept(':')) selector->labels = key();
    if (!rest_.empty()) malformed();
  }

 private:
  [[noreturn]] void malformed() const {
    fail(Error::Code::invalid_argument,
         "'{}': expected FILE.npz[:ARRAY][[BEGIN:END]][:LABELS], for example "
         "digits.npz:train_images[0:200]:train_labels",
         whole_);
  }

  bool accept(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string key() {
    const std::string text(rest_.substr(0, rest_.find_first_of(":[")));
    if (text.empty()) malformed();
    rest_.remove_prefix(text.size());
    return text;
  }

  std::optional<s64> bound() {
    s64 value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error == std::errc::result_out_of_range) malformed();
    if (error != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }

  Slice slice() {
    Slice result;
    result.begin = bound();
    if (!accept(':')) malformed();
    result.end = bound();
    if (!accept(']')) malformed();
    return result;
  }

  std::string_view whole_;
  std::string_view rest_;
};

s64 resolve_bound(std::optional<s64> bound, s64 absent, s64 rows) {
  if (!bound) return absent;
  return std::clamp<s64>(*bound < 0 ? *bound + rows : *bound, 0, rows);
}

}  // namespace

RowRange resolve_slice(const Slice& slice, s64 rows) {
  const s64 begin = resolve_bound(slice.begin, 0, rows);
  const s64 end = resolve_bound(slice.end, rows, rows);
  return {begin, std::max<s64>(end - begin, 0)};
}

ArraySelector parse_array_selector(const std::filesystem::path& data) {
  ArraySelector selector;
  selector.file = data;
  std::error_code error;
  const std::string text = data.string();
  const size_t at = std::max(text.rfind(".npz:") + 1, text.rfind(".npz[") + 1);
  if (at == 0 || std::filesystem::exists(data, error)) return selector;
  const size_t end = at - 1 + kArchive.size();
  selector.file = text.substr(0, end);
  SelectorParser(text, std::string_view(text).substr(end)).parse(&selector);
  return selector;
}

}  // namespace octet

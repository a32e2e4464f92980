// SPDX-License-Identifier: Apache-2.0
#include "graph/attributes.h"

#include "core/check.h"

namespace octet::attributes_detail {

void read(const Attrs& attrs, std::string_view name, s64& member) {
  member = attrs.i(name, member);
}

void read(const Attrs& attrs, std::string_view name, bool& member) {
  member = attrs.i(name, member ? 1 : 0) != 0;
}

void read(const Attrs& attrs, std::string_view name, f32& member) {
  member = attrs.f(name, member);
}

void read(const Attrs& attrs, std::string_view name, std::string& member) {
  member = attrs.s(name, member);
}

void read(const Attrs& attrs, std::string_view name, Dtype& member) {
  if (!attrs.has(name)) return;
  const std::string word = attrs.s(name, "");
  for (int i = 0; i < kDtypeCount; ++i) {
    member = static_cast<Dtype>(i);
    if (dtype_name(member) == word) return;
  }
  fail(Error::Code::invalid_model, "attribute '{}' is '{}', which is no element type", name, word);
}

void read(const Attrs& attrs, std::string_view name, std::vector<s64>& member) {
  if (attrs.has(name)) member = attrs.ints(name);
}

void read(const Attrs& attrs, std::string_view name, std::vector<f32>& member) {
  if (attrs.has(name)) member = attrs.floats(name, {});
}

void read(const Attrs& attrs, std::string_view name, std::vector<std::string>& member) {
  const AttrValue* value = attrs.find(name);
  if (value == nullptr) return;
  const auto* list = std::get_if<std::vector<std::string>>(value);
  if (list == nullptr)
    fail(Error::Code::invalid_model, "attribute '{}' is no list of strings", name);
  member = *list;
}

void read(const Attrs& attrs, std::string_view name, Tensor& member) {
  if (std::optional<Tensor> value = attrs.tensor(name)) member = *std::move(value);
}

void read(const Attrs& attrs, std::string_view name, GraphPtr& member) {
  if (attrs.has(name)) member = attrs.graph(name);
}

void fail_word(std::string_view name, std::string_view word,
               std::span<const std::string_view> known) {
  std::vector<std::string_view> expected(known.begin(), known.end());
  std::erase(expected, "");  // as good as absent
  std::string words;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (i > 0) words += i + 1 < expected.size() ? ", " : " or ";
    words += expected[i];
  }
  fail(Error::Code::invalid_model, "attribute '{}' is '{}', expected {}", name, word, words);
}

void check_present(const Attrs& attrs, std::string_view name) {
  if (!attrs.has(name)) fail(Error::Code::invalid_model, "attribute '{}' is missing", name);
}

}  // namespace octet::attributes_detail

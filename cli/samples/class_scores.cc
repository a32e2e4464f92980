// SPDX-License-Identifier: Apache-2.0
#include "cli/samples/class_scores.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "cli/fail.h"
#include "cli/flags/data_flags.h"
#include "octet/data.h"
#include "octet/error_stats.h"

namespace octet::cli {
namespace {

bool is_real(Dtype dtype) {
  return dtype == Dtype::f32 || dtype == Dtype::f64 || dtype == Dtype::f16 || dtype == Dtype::bf16;
}

// What most often lies behind a file of the wrong length.
std::string hint(int64_t names, int64_t offset, int64_t classes) {
  if (classes == names + 1 && offset == 0)
    return "; --label-offset 1 where class 0 is a background without a name";
  if (classes == names && offset != 0) return "; leave out --label-offset";
  return {};
}

}  // namespace

bool is_class_scores(const TensorType& type) {
  const Shape& shape = type.shape;
  if (!is_real(type.dtype) || shape.rank() < 2 || shape[0] != 1) return false;
  const int64_t elements = type.shape.elements();
  const bool line = shape.rank() == 2 || shape.rank() == 4;
  return line && elements > 1 && (shape[1] == elements || shape[shape.rank() - 1] == elements);
}

std::vector<Tensor> score_rows(const Tensor& tensor, int64_t rows) {
  if (is_class_scores(tensor.type())) return {tensor};
  TensorType row = tensor.type();
  if (rows < 2 || row.shape.rank() < 2 || row.shape[0] != rows) return {};
  row.shape[0] = 1;
  if (!is_class_scores(row)) return {};
  std::vector<Tensor> scores;
  for (auto& part : split_outputs({&tensor, 1}, rows, rows)) scores.push_back(std::move(part[0]));
  return scores;
}

std::vector<Ranked> top_of(const Tensor& scores, int64_t count) {
  const std::vector<float> values = to_floats(scores);
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return values[static_cast<size_t>(a)] > values[static_cast<size_t>(b)];
  });
  order.resize(std::min(order.size(), static_cast<size_t>(count)));
  std::vector<Ranked> ranked;
  for (const int64_t index : order) ranked.push_back({index, values[static_cast<size_t>(index)]});
  return ranked;
}

ClassNames::ClassNames(const std::filesystem::path& file, int64_t offset)
    : file_(file.string()), offset_(offset) {
  std::istringstream lines(read_text_file(file));
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    names_.push_back(line);
  }
  while (!names_.empty() && names_.back().empty()) names_.pop_back();
  if (names_.empty()) fail(Error::Code::invalid_argument, "{}: holds no names", file_);
}

void ClassNames::check(std::span<const TensorInfo> outputs, std::span<const Tensor> values,
                       int64_t rows) const {
  if (!given()) return;
  const auto count = static_cast<int64_t>(names_.size());
  std::string found, hints;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::vector<Tensor> scores = score_rows(values[i], rows);
    if (scores.empty()) continue;
    const int64_t classes = scores[0].elements();
    if (classes == count + offset_) return;
    found += fmt::format("{}'{}' {}", found.empty() ? "" : ", ", outputs[i].name, classes);
    hints = hint(count, offset_, classes);
  }
  if (found.empty()) {
    fail(Error::Code::invalid_argument,
         "--labels {}: no output of this engine holds the scores of classes", file_);
  }
  const std::string with = offset_ == 0 ? "" : fmt::format(" and --label-offset {}", offset_);
  fail(Error::Code::invalid_argument, "--labels {}: {} names{}, but the classes are: {}{}", file_,
       count, with, found, hints);
}

std::string ClassNames::name(int64_t index, int64_t classes) const {
  const int64_t line = index - offset_;
  const auto count = static_cast<int64_t>(names_.size());
  return classes == count + offset_ && line >= 0 && line < count ? names_[static_cast<size_t>(line)]
                                                                 : std::string();
}

}  // namespace octet::cli

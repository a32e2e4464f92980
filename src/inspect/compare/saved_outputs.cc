// SPDX-License-Identifier: Apache-2.0
#include "octet/saved_outputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "core/check.h"
#include "core/types.h"
#include "octet/closest.h"
#include "octet/npz.h"
#include "octet/output_comparison.h"

namespace octet {
namespace {

constexpr size_t kMostProblems = 20;

Tensor one_after_another(const std::vector<Tensor>& parts) {
  if (parts.size() == 1) return parts[0];
  Shape shape = parts[0].shape();
  shape[0] = 0;
  for (const Tensor& part : parts) shape[0] += part.shape()[0];
  Tensor all(parts[0].dtype(), shape);
  std::byte* at = all.mutable_data();
  for (const Tensor& part : parts) {
    std::memcpy(at, part.data(), part.bytes());
    at += part.bytes();
  }
  return all;
}

std::string array_of_sample(const std::string& name, size_t i) {
  return fmt::format("{}[{}]", name, i);
}

// Part `i` of `parts` along the first axis. Shares the memory.
Tensor part_of(const Tensor& all, s64 i, s64 parts) {
  TensorType type = all.type();
  type.shape[0] /= parts;
  const auto owner = std::make_shared<const Tensor>(all);
  const size_t bytes = all.bytes() / static_cast<size_t>(parts);
  return {type, {owner, owner->data() + static_cast<size_t>(i) * bytes}};
}

// A file's arrays by the outputs that they belong to, and what is wrong with them.
class Finder {
 public:
  Finder(std::map<std::string, Tensor> arrays, s64 samples)
      : arrays_(std::move(arrays)), samples_(samples) {
    for (const auto& entry : arrays_) unknown_.insert(entry.first);
  }

  std::vector<Tensor> find(const TensorInfo& output) {
    if (const auto at = arrays_.find(output.name); at != arrays_.end()) {
      unknown_.erase(output.name);
      check_rows(output, at->second);
      return {at->second};
    }
    std::vector<Tensor> parts;
    for (s64 i = 0; i < samples_; ++i) {
      const std::string name = array_of_sample(output.name, static_cast<size_t>(i));
      const auto part = arrays_.find(name);
      if (part == arrays_.end()) break;
      unknown_.erase(name);
      check_type(output, name, part->second.type());
      parts.push_back(part->second);
    }
    if (parts.empty()) {
      add("there is no array '{}'", output.name);
    } else if (static_cast<s64>(parts.size()) < samples_) {
      add("there is no array '{}' of the {} samples", array_of_sample(output.name, parts.size()),
          samples_);
    }
    return parts;
  }

  // Throws where anything was wrong.
  void finish(const std::string& file, std::span<const TensorInfo> outputs) {
    std::vector<std::string> names;
    for (const TensorInfo& output : outputs) names.push_back(output.name);
    for (const std::string& name : unknown_) {
      add("array '{}' is no output; the outputs are {}{}", name, fmt::join(names, ", "),
          did_you_mean(name, names));
    }
    if (wrong_.empty()) return;
    const size_t count = wrong_.size();
    wrong_.resize(std::min(count, kMostProblems));
    fail(Error::Code::invalid_argument,
         "'{}' does not hold the outputs of these {} samples:\n  {}{}", file, samples_,
         fmt::join(wrong_, "\n  "),
         count > kMostProblems ? fmt::format("\n  and {} more", count - kMostProblems) : "");
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    wrong_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  void check_rows(const TensorInfo& output, const Tensor& all) {
    TensorType type = all.type();
    if (type.shape.rank() == 0 && samples_ > 1) {
      add("'{}' is one number, not one for each sample", output.name);
      return;
    }
    if (type.shape.rank() > 0) {
      if (type.shape[0] % samples_ != 0) {
        add("'{}' is {}: {} samples do not share its {} rows evenly", output.name, to_string(type),
            samples_, type.shape[0]);
        return;
      }
      type.shape[0] /= samples_;
    }
    check_type(output, output.name, type);
  }

  // Of one sample. The engine's first dimension may be a batch of several.
  void check_type(const TensorInfo& output, const std::string& name, const TensorType& type) {
    const Shape &wanted = output.type.shape, &got = type.shape;
    bool same = wanted.is_unknown() || wanted.rank() == got.rank();
    for (int i = 1; same && i < wanted.rank(); ++i)
      same = wanted[i] == Shape::kDynamic || wanted[i] == got[i];
    if (same && comparable(output.type.dtype, type.dtype)) return;
    add("'{}' is {} a sample, and the engine's output is {}", name, to_string(type),
        to_string(output.type));
  }

  const std::map<std::string, Tensor> arrays_;
  const s64 samples_;
  std::set<std::string> unknown_;
  std::vector<std::string> wrong_;
};

}  // namespace

void OutputArrays::add(std::span<const Tensor> outputs) {
  OCTET_CHECK(outputs.size() == names_.size());
  for (size_t i = 0; i < outputs.size(); ++i) samples_[i].push_back(outputs[i]);
}

bool OutputArrays::may_follow(const Tensor& first, const Tensor& next) const {
  TensorType type = next.type();
  if (type.shape.rank() == 0 || type.shape.rank() != first.shape().rank()) return false;
  if (join_ == Join::any_rows) type.shape[0] = first.shape()[0];
  return type == first.type();
}

std::vector<std::pair<std::string, Tensor>> OutputArrays::arrays() const {
  std::vector<std::pair<std::string, Tensor>> arrays;
  for (size_t i = 0; i < names_.size(); ++i) {
    const std::vector<Tensor>& parts = samples_[i];
    const auto fits = [&](const Tensor& part) { return may_follow(parts[0], part); };
    if (parts.size() == 1 || std::ranges::all_of(parts, fits)) {
      if (!parts.empty()) arrays.emplace_back(names_[i], one_after_another(parts));
      continue;
    }
    for (size_t k = 0; k < parts.size(); ++k)
      arrays.emplace_back(array_of_sample(names_[i], k), parts[k]);
  }
  return arrays;
}

SavedOutputs SavedOutputs::read(const std::filesystem::path& file,
                                std::span<const TensorInfo> outputs, int64_t samples) {
  OCTET_CHECK(samples > 0);
  SavedOutputs saved;
  saved.samples_ = samples;
  Finder finder(read_npz(file), samples);
  for (const TensorInfo& output : outputs) saved.outputs_.push_back(finder.find(output));
  finder.finish(file.string(), outputs);
  return saved;
}

std::vector<Tensor> SavedOutputs::sample(int64_t i) const {
  OCTET_CHECK(i >= 0 && i < samples_);
  std::vector<Tensor> sample;
  for (const std::vector<Tensor>& output : outputs_) {
    const bool whole = output.size() == 1 && output[0].shape().rank() > 0;
    sample.push_back(whole ? part_of(output[0], i, samples_) : output[static_cast<size_t>(i)]);
  }
  return sample;
}

}  // namespace octet

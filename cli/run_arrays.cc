// SPDX-License-Identifier: Apache-2.0
#include "cli/run_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace octet::cli {
namespace {

bool can_follow(const Tensor& a, const Tensor& b) {
  const Shape &x = a.shape(), &y = b.shape();
  return a.dtype() == b.dtype() && x.rank() == y.rank() && x.rank() > 0 &&
         std::equal(x.begin() + 1, x.end(), y.begin() + 1);
}

Tensor joined_rows(const std::vector<Tensor>& parts) {
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

}  // namespace

void RunArrays::add(std::span<const Tensor> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) results_[i].push_back(outputs[i]);
}

std::vector<std::pair<std::string, Tensor>> RunArrays::joined() const {
  std::vector<std::pair<std::string, Tensor>> arrays;
  for (size_t i = 0; i < infos_.size(); ++i) {
    const std::vector<Tensor>& parts = results_[i];
    const auto fits = [&](const Tensor& part) { return can_follow(parts[0], part); };
    if (parts.size() == 1) {
      arrays.emplace_back(infos_[i].name, parts[0]);
    } else if (std::all_of(parts.begin(), parts.end(), fits)) {
      if (!parts.empty()) arrays.emplace_back(infos_[i].name, joined_rows(parts));
    } else {
      for (size_t k = 0; k < parts.size(); ++k)
        arrays.emplace_back(fmt::format("{}[{}]", infos_[i].name, k), parts[k]);
    }
  }
  return arrays;
}

}  // namespace octet::cli

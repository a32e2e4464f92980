// SPDX-License-Identifier: Apache-2.0
#include "precision/asked.h"

#include "precision/decide.h"
#include "precision/roles.h"

namespace octet {
namespace {

bool is_real_type(Precision type) {
  return type == Precision::f32 || type == Precision::f16 || type == Precision::bf16;
}

}  // namespace

const LayerRequest& AskedTypes::request_of(const Node& node) const {
  static const LayerRequest kNothing;
  if (requests_.empty()) return kNothing;
  return requests_[static_cast<size_t>(&node - graph_.nodes.data())];
}

// The one that asks for reals, or for a result that codes are not.
std::string AskedTypes::real_constraint(const Node& node) const {
  const LayerRequest& request = request_of(node);
  if (is_real_type(request.precision)) return request.by;
  const bool real_result = is_real_type(request.output) && gives_codes_only(node, 0);
  return real_result && !int8(node) ? request.output_by : "";
}

std::optional<Decision> AskedTypes::real(const Node& node) const {
  if (kept_.keeper_of(node) != nullptr)
    return decide_real(ReasonCode::kept_by_user, "kept in f32 by the user");
  if (const std::string by = real_constraint(node); !by.empty())
    return decide_real(ReasonCode::kept_by_user, fmt::format("kept in f32 by the user: '{}'", by));
  return std::nullopt;
}

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
// Sizes as plugins compute with them.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "types.h"

namespace octet_trt {

// A size that may not be known yet; then nothing that is computed from it is.
class SizeExpr final : public IDimensionExpr {
 public:
  explicit SizeExpr(std::optional<int64_t> known) : value(known) {}
  bool isConstant() const noexcept override { return value.has_value(); }
  OctetSize getConstantValue() const noexcept override {
    return static_cast<OctetSize>(value.value_or(kUnknown));
  }
#if NV_TENSORRT_MAJOR >= 10
  bool isSizeTensor() const noexcept override { return false; }
#endif
  const std::optional<int64_t> value;

 private:
  static constexpr int64_t kUnknown = -(int64_t{1} << 31);
};

class SizeBuilder final : public IExprBuilder {
 public:
  IDimensionExpr const* constant(OctetSize value) noexcept override;
  IDimensionExpr const* operation(DimensionOperation op, IDimensionExpr const& first,
                                  IDimensionExpr const& second) noexcept override;
#if NV_TENSORRT_MAJOR >= 10
  IDimensionExpr const* declareSizeTensor(int32_t outputIndex, IDimensionExpr const& opt,
                                          IDimensionExpr const& upper) noexcept override;
#endif
  DimsExprs sizes(const Dims& dims);
  // Throws octet::Error, with what was wrong first, for null pointers and sizes of the data.
  Dims dims(const DimsExprs& sizes) const;

 private:
  const IDimensionExpr* add(std::optional<int64_t> value);
  std::deque<SizeExpr> all_;
  std::string problem_;
};

}  // namespace octet_trt

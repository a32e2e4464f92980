// SPDX-License-Identifier: Apache-2.0
// Sizes as plugins compute with them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensorrt/shared/handed.h"
#include "tensorrt/shared/types.h"

namespace octet_trt {

// What a size may be: one number, or where a plugin's output tells it, any between these.
struct SizeRange {
  int64_t low = 0, high = 0;
};

// A size that may not be known yet; then nothing that is computed from it is.
class SizeExpr final : public Handed<IDimensionExpr> {
 public:
  SizeExpr(std::optional<SizeRange> known, bool is_told, int32_t output = -1)
      : range(known), told(is_told), told_by(output) {}
  bool isConstant() const noexcept override { return range.has_value() && !told; }
  OctetSize getConstantValue() const noexcept override {
    return static_cast<OctetSize>(isConstant() ? range->low : kUnknown);
  }
#if NV_TENSORRT_MAJOR >= 10
  bool isSizeTensor() const noexcept override { return told_by >= 0; }
#endif
  const std::optional<SizeRange> range;
  const bool told;        // by outputs of the plugin
  const int32_t told_by;  // the output whose value it is, or -1

 private:
  static constexpr int64_t kUnknown = -(int64_t{1} << 31);
};

// `values`: of size tensors, as a run has written them. Without them the sizes that they tell have the bounds that were declared.
class SizeBuilder final : public Handed<IExprBuilder> {
 public:
  SizeBuilder() = default;
  explicit SizeBuilder(std::map<int32_t, int64_t> values) : values_(std::move(values)) {}

  IDimensionExpr const* constant(OctetSize value) noexcept override;
  IDimensionExpr const* operation(DimensionOperation op, IDimensionExpr const& first,
                                  IDimensionExpr const& second) noexcept override;
#if NV_TENSORRT_MAJOR >= 10
  IDimensionExpr const* declareSizeTensor(int32_t outputIndex, IDimensionExpr const& opt,
                                          IDimensionExpr const& upper) noexcept override;
#endif
  DimsExprs sizes(const Dims& dims);
  // As sizes, which is how plugins are told the numbers of a shape input. No more than a shape has dimensions.
  DimsExprs numbers(const std::vector<std::optional<int64_t>>& numbers);
  // Throws octet::Error, with what was wrong first, for null pointers and sizes that cannot be. Where outputs tell a size, what it is at
  // most.
  Dims dims(const DimsExprs& sizes) const;
  // Of each dimension whether outputs tell it.
  static std::vector<bool> told(const DimsExprs& sizes);
  // The outputs that were declared to tell sizes, once each.
  const std::vector<int32_t>& size_tensors() const { return size_tensors_; }

 private:
  const IDimensionExpr* add(std::optional<SizeRange> range, bool told = false,
                            int32_t told_by = -1);
  std::deque<SizeExpr> all_;
  std::map<int32_t, int64_t> values_;
  std::vector<int32_t> size_tensors_;
  std::string problem_;
};

}  // namespace octet_trt

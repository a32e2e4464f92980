// SPDX-License-Identifier: Apache-2.0
// com.microsoft MatMulNBits(a, codes, scales, zero points, groups, bias): a * B', B [N,K] of codes of 2, 4 or 8 bits, each block of a row
// with its own scale. Octet multiplies by the real numbers that they stand for.
#include <limits>
#include <optional>

#include "core/check.h"
#include "core/checked.h"
#include "ops/shared/contrib.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

enum : size_t { kA, kCodes, kScales, kZeroPoints, kGroups, kBias };

constexpr s64 kByte = 8;

struct Packing {
  s64 rows = 0, depth = 0;  // N and K
  s64 bits = 4, block = 0;  // of a code; codes that share a scale

  s64 blocks() const { return (depth - 1) / block + 1; }
  s64 row_bytes() const { return blocks() * block * bits / kByte; }
  s64 zero_bytes() const { return (blocks() * bits - 1) / kByte + 1; }
};

Packing packing_of(NodeParser& parser) {
  Attrs& attrs = parser.node.attrs;
  Packing packing{.rows = attrs.i("N"),
                  .depth = attrs.i("K"),
                  .bits = attrs.i("bits", 4),
                  .block = attrs.i("block_size")};
  for (const char* name : {"N", "K", "bits", "block_size", "accuracy_level", "weight_prepacked"})
    attrs.erase(name);
  constexpr s64 kMost = std::numeric_limits<s32>::max();
  const auto between = [&](s64 x, s64 least) { return x >= least && x <= kMost; };
  const bool known = packing.bits == 2 || packing.bits == 4 || packing.bits == 8;
  if (!known || !between(packing.rows, 1) || !between(packing.depth, 1) ||
      !between(packing.block, 16) || packing.block % 16 != 0) {
    fail(Error::Code::unsupported,
         "attributes N={}, K={}, bits={}, block_size={}; expected positive sizes, 2, 4 or 8 bits "
         "and "
         "blocks of a multiple of 16",
         packing.rows, packing.depth, packing.bits, packing.block);
  }
  return packing;
}

void check_elements(const Tensor& tensor, s64 rows, s64 columns, const char* what) {
  if (checked_mul(rows, columns) == std::optional<s64>(tensor.elements())) return;
  fail(Error::Code::invalid_model, "the {} are {}, expected {} for each of {} rows", what,
       to_string(tensor.type()), columns, rows);
}

class Weights {
 public:
  Weights(const NodeParser& parser, const Packing& packing)
      : packing_(packing),
        codes_(known_input(parser, kCodes, "codes")),
        scale_tensor_(known_reals(parser, kScales, "scales")),
        scales_(view(scale_tensor_)) {
    if (codes_.dtype() != Dtype::u8)
      fail(Error::Code::invalid_model, "the codes are {}, expected bytes",
           dtype_name(codes_.dtype()));
    check_elements(codes_, packing.rows, packing.row_bytes(), "codes");
    check_elements(scale_tensor_, packing.rows, packing.blocks(), "scales");
    read_zero_points(parser);
    read_groups(parser);
  }

  // [K,N], in the type of the scales.
  Tensor reals() const {
    Tensor result(scale_tensor_.dtype(), Shape{packing_.depth, packing_.rows});
    const FloatOutput y(mutable_view(result));
    for (s64 n = 0; n < packing_.rows; ++n) {
      for (s64 k = 0; k < packing_.depth; ++k) y[k * packing_.rows + n] = real(n, k);
    }
    y.store();
    return result;
  }

 private:
  void read_zero_points(const NodeParser& parser) {
    if (!parser.has_input(kZeroPoints)) return;
    const Tensor& zeros = known_input(parser, kZeroPoints, "zero points");
    if (zeros.dtype() == Dtype::u8) {
      check_elements(zeros, packing_.rows, packing_.zero_bytes(), "zero points");
      zero_codes_ = zeros.as<u8>();
      return;
    }
    check_elements(zeros, packing_.rows, packing_.blocks(), "zero points");
    zero_reals_.emplace(view(known_reals(parser, kZeroPoints, "zero points")));
  }

  void read_groups(const NodeParser& parser) {
    if (!parser.has_input(kGroups)) return;
    const Tensor& groups = known_input(parser, kGroups, "groups");
    if (groups.dtype() != Dtype::s32 || groups.elements() < packing_.depth)
      fail(Error::Code::invalid_model, "the groups are {}, expected {} of s32",
           to_string(groups.type()), packing_.depth);
    groups_ = groups.as<s32>();
    for (const s32 group : groups_) {
      if (group >= 0 && group < packing_.blocks()) continue;
      fail(Error::Code::invalid_model, "a group is {}, expected 0 to {}", group,
           packing_.blocks() - 1);
    }
  }

  s32 code(std::span<const u8> bytes, s64 row, s64 row_bytes, s64 i) const {
    const s64 bit = i * packing_.bits;
    const u8 byte = bytes[static_cast<size_t>(row * row_bytes + bit / kByte)];
    return (byte >> (bit % kByte)) & ((1 << packing_.bits) - 1);
  }

  f32 zero_point(s64 n, s64 block) const {
    if (zero_reals_) return (*zero_reals_)[n * packing_.blocks() + block];
    if (zero_codes_.empty()) return static_cast<f32>(1 << (packing_.bits - 1));
    return static_cast<f32>(code(zero_codes_, n, packing_.zero_bytes(), block));
  }

  f32 real(s64 n, s64 k) const {
    const s64 block = groups_.empty() ? k / packing_.block : groups_[static_cast<size_t>(k)];
    const f32 q = static_cast<f32>(code(codes_.as<u8>(), n, packing_.row_bytes(), k));
    return (q - zero_point(n, block)) * scales_[n * packing_.blocks() + block];
  }

  const Packing& packing_;
  const Tensor& codes_;
  const Tensor& scale_tensor_;
  FloatInput scales_;
  std::span<const u8> zero_codes_;
  std::optional<FloatInput> zero_reals_;
  std::span<const s32> groups_;
};

void parse(NodeParser& parser) {
  Node& node = parser.node;
  const Packing packing = packing_of(parser);
  const ValueId bias = node.input(kBias);
  const ValueId weights = parser.add_constant(Weights(parser, packing).reals());
  parser.note_real_weights();
  node.inputs = {parser.required(kA), weights};
  if (bias != kNoValue) parser.emit_after("Add", {bias});
  parser.become("MatMul");
}

}  // namespace

extern constinit const OpDef kMatMulNBits = contrib_operator("MatMulNBits", {3, 6}, parse);
}  // namespace octet

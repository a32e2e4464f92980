// SPDX-License-Identifier: Apache-2.0
#include "octet/tensor.h"

#include <bit>
#include <cstring>
#include <iterator>

#include "core/check.h"
#include "core/checked.h"
#include "core/memory.h"
#include "core/types.h"
#include "core/visit.h"

namespace octet {
namespace {

constexpr size_t kAlignment = 64;

struct DtypeFacts {
  std::string_view name;
  size_t bytes;
};
constexpr DtypeFacts kDtypes[] = {
    {"f32", 4},  {"f16", 2},    {"bf16", 2},     {"f64", 8},  {"s8", 1},       {"u8", 1},
    {"s16", 2},  {"u16", 2},    {"s32", 4},      {"u32", 4},  {"s64", 8},      {"u64", 8},
    {"bool", 1}, {"e4m3fn", 1}, {"e4m3fnuz", 1}, {"e5m2", 1}, {"e5m2fnuz", 1}, {"e8m0", 1},
    {"e2m1", 1}, {"s4", 1},     {"u4", 1},       {"s2", 1},   {"u2", 1}};
static_assert(std::size(kDtypes) == kDtypeCount);

}  // namespace

size_t dtype_bytes(Dtype dtype) { return kDtypes[static_cast<size_t>(dtype)].bytes; }
std::string_view dtype_name(Dtype dtype) { return kDtypes[static_cast<size_t>(dtype)].name; }

void check_dtype(Dtype expected, Dtype got) {
  if (expected != got) {
    fail(Error::Code::internal, "tensor read as {} but holds {}", dtype_name(expected),
         dtype_name(got));
  }
}

void fail_small_dtype(Dtype dtype) {
  fail(Error::Code::unsupported, "nothing is computed in {}; convert it with Cast first",
       dtype_name(dtype));
}

Shape::Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const int64_t> dims) {
  for (int64_t dim : dims) push_back(dim);
}

Shape Shape::unknown() {
  Shape shape;
  shape.rank_ = -1;
  return shape;
}

void Shape::push_back(int64_t dim) {
  OCTET_CHECK(rank_ >= 0);
  if (rank_ == kMaxRank) {
    fail(Error::Code::unsupported, "a tensor has more than {} dimensions", kMaxRank);
  }
  dims_[static_cast<size_t>(rank_++)] = dim;
}

bool Shape::is_static() const {
  if (is_unknown()) return false;
  for (int64_t dim : dims()) {
    if (dim < 0) return false;
  }
  return true;
}

int64_t Shape::elements() const {
  if (is_unknown()) fail(Error::Code::invalid_model, "a shape of unknown rank is not known here");
  int64_t product = 1;
  bool overflow = false;
  for (int64_t dim : dims()) {
    if (dim < 0) fail(Error::Code::invalid_model, "shape {} is not known here", to_string(*this));
    // A zero dimension makes the tensor empty whatever the others say, so keep scanning for it.
    auto next = checked_mul(product, dim);
    overflow = dim != 0 && (overflow || !next);
    product = next.value_or(1);
  }
  if (overflow) fail(Error::Code::invalid_model, "shape {} overflows 63 bits", to_string(*this));
  return product;
}

bool Shape::operator==(const Shape& other) const {
  return rank_ == other.rank_ &&
         std::memcmp(dims_.data(), other.dims_.data(), dims().size_bytes()) == 0;
}

std::string to_string(const Shape& shape) {
  if (shape.is_unknown()) return "unknown";
  if (shape.rank() == 0) return "scalar";
  std::string text;
  for (int64_t dim : shape) {
    if (!text.empty()) text += 'x';
    text += dim < 0 ? "?" : std::to_string(dim);
  }
  return text;
}

int64_t TensorType::bytes() const {
  auto bytes = checked_mul(shape.elements(), static_cast<int64_t>(dtype_bytes(dtype)));
  if (!bytes) fail(Error::Code::invalid_model, "tensor {} overflows 63 bits", to_string(*this));
  return *bytes;
}

std::string to_string(const TensorType& type) {
  std::string text(dtype_name(type.dtype));
  if (type.shape.is_unknown()) return text + "[*]";
  text += '[';
  for (int i = 0; i < type.shape.rank(); ++i) {
    if (i > 0) text += ',';
    text += type.shape[i] < 0 ? "?" : std::to_string(type.shape[i]);
  }
  return text + ']';
}

Tensor::Tensor(Dtype dtype, const Shape& shape) : type_{dtype, shape} {
  data_ = allocate_counted(type_.bytes(), kAlignment, "a tensor");
}

Tensor::Tensor(const TensorType& type, std::shared_ptr<const std::byte> owner)
    : type_(type), data_(std::move(owner)) {}

Tensor Tensor::reshaped(const Shape& shape) const {
  OCTET_CHECK(shape.elements() == elements());
  return {TensorType{type_.dtype, shape}, data_};
}

Tensor Tensor::clone() const {
  Tensor copy(type_.dtype, type_.shape);
  std::memcpy(copy.mutable_data(), data(), bytes());
  return copy;
}

f16::f16(float value) {
  const u32 f = std::bit_cast<u32>(value);
  const u32 sign = (f >> 16) & 0x8000u;
  const u32 magnitude = f & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {  // NaN: keep it quiet, keep the top payload bits
    bits = static_cast<u16>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
    return;
  }
  if (magnitude >= 0x477ff000u) {  // rounds to 65536 or beyond
    bits = static_cast<u16>(sign | 0x7c00u);
    return;
  }
  if (magnitude < 0x38800000u) {  // subnormal or zero: let the FPU round at 2^-24
    const float scaled = std::bit_cast<float>(magnitude) + 0.5f;
    bits = static_cast<u16>(sign | (std::bit_cast<u32>(scaled) - std::bit_cast<u32>(0.5f)));
    return;
  }
  const u32 odd = (magnitude >> 13) & 1u;
  bits = static_cast<u16>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

f16::operator float() const {
  const u32 sign = static_cast<u32>(bits & 0x8000u) << 16;
  const u32 exponent = (bits >> 10) & 0x1fu;
  const u32 mantissa = bits & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const u32 wide = exponent == 31 ? 0x7f800000u : (exponent + 112u) << 23;
  return std::bit_cast<float>(sign | wide | (mantissa << 13));
}

bf16::bf16(float value) {
  const u32 f = std::bit_cast<u32>(value);
  if ((f & 0x7fffffffu) > 0x7f800000u) {
    bits = static_cast<u16>((f >> 16) | 0x40u);
    return;
  }
  bits = static_cast<u16>((f + 0x7fffu + ((f >> 16) & 1u)) >> 16);
}

bf16::operator float() const { return std::bit_cast<float>(static_cast<u32>(bits) << 16); }

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "graph/literals.h"

#include "core/small_types.h"
#include "core/visit.h"

namespace octet {
namespace {

Dtype parse_dtype(const Lexer& lexer, const std::string& name) {
  for (int i = 0; i < kDtypeCount; ++i) {
    if (dtype_name(static_cast<Dtype>(i)) == name) return static_cast<Dtype>(i);
  }
  lexer.error("unknown element type '" + name + "'");
}

template <class T>
void fill(std::span<T> dst, const std::vector<f64>& floats, const std::vector<s64>& ints) {
  for (size_t i = 0; i < dst.size(); ++i) {
    if constexpr (std::is_integral_v<T>)
      dst[i] = static_cast<T>(ints[i]);
    else if constexpr (std::is_same_v<T, f64>)
      dst[i] = floats[i];
    else
      dst[i] = static_cast<T>(static_cast<f32>(floats[i]));
  }
}

void fill_small(const Lexer& lexer, Tensor& tensor, const std::vector<s64>& codes) {
  const Dtype dtype = tensor.dtype();
  const bool integer = is_small_integer(dtype);
  const SmallRange range =
      integer ? small_integer_range(dtype) : SmallRange{0, (1 << small_bits(dtype)) - 1};
  u8* bytes = reinterpret_cast<u8*>(tensor.mutable_data());
  for (size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] < range.lowest || codes[i] > range.highest) {
      lexer.error(fmt::format("{} is no code of {}", codes[i], dtype_name(dtype)));
    }
    bytes[i] = static_cast<u8>(codes[i]);
  }
}

}  // namespace

TensorType parse_type(Lexer& lexer) {
  TensorType type;
  type.dtype = parse_dtype(lexer, lexer.word());
  lexer.expect("[");
  if (lexer.accept("]")) return type;
  if (lexer.accept("*")) {
    type.shape = Shape::unknown();
    lexer.expect("]");
    return type;
  }
  do {
    const s64 dim = lexer.accept("?") ? Shape::kDynamic : lexer.integer();
    if (dim < Shape::kDynamic) lexer.error("negative dimension");
    type.shape.push_back(dim);
  } while (lexer.accept(","));
  lexer.expect("]");
  return type;
}

Tensor parse_tensor(Lexer& lexer, const TensorType& type, const BlobSource& blob) {
  if (!type.shape.is_static()) lexer.error("a constant needs a static shape");
  if (lexer.accept("#")) {
    const s64 index = lexer.integer();
    if (blob == nullptr) lexer.error("this text refers to data that is not here");
    return blob(index, type);
  }
  // One element takes two bytes of text at least, so a hostile shape cannot make this allocation large.
  std::vector<f64> floats;
  std::vector<s64> ints;
  const bool real = type.dtype <= Dtype::f64;
  lexer.expect("{");
  while (!lexer.accept("}")) {
    if (!floats.empty() || !ints.empty()) lexer.expect(",");
    if (real)
      floats.push_back(lexer.number());
    else if (type.dtype == Dtype::u64)
      ints.push_back(static_cast<s64>(lexer.unsigned_integer()));
    else
      ints.push_back(lexer.integer());
  }
  const s64 count = static_cast<s64>(floats.size() + ints.size());
  if (count != type.shape.elements()) {
    lexer.error(fmt::format("{} elements for type {}", count, to_string(type)));
  }
  Tensor tensor(type.dtype, type.shape);
  if (is_small_dtype(type.dtype)) {
    fill_small(lexer, tensor, ints);
    return tensor;
  }
  visit_dtype(type.dtype, [&]<class T>() { fill<T>(tensor.mutable_as<T>(), floats, ints); });
  return tensor;
}

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/shared/types.h"

#include <algorithm>
#include <utility>

#include "octet/error.h"

namespace octet_trt {

using octet::Dtype;

void need(const void* object, const char* what) {
  if (object == nullptr) refuse(std::string("a null ") + what);
}

std::string wrong_value(const Dims& dims) {
  if (&dims == nullptr) return "null sizes";
  if (dims.nbDims >= -1 && dims.nbDims <= Dims::MAX_DIMS) return {};
  return std::to_string(dims.nbDims) + " dimensions, of at most eight";
}

std::string wrong_value(const Weights& weights) {
  if (const std::string wrong = wrong_value(weights.type); !wrong.empty())
    return "weights of type " + wrong;
  if (weights.count < 0) return std::to_string(weights.count) + " weights";
  if (weights.count > 0 && weights.values == nullptr)
    return std::to_string(weights.count) + " weights at a null pointer";
  return {};
}

std::string wrong_value(const Permutation& permutation) {
  return &permutation == nullptr ? "a null permutation" : "";
}

void refuse(const std::string& text) {
  throw octet::Error(octet::Error::Code::invalid_argument, text);
}

DataType to_trt(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
      return DataType::kHALF;
    case Dtype::s8:
      return DataType::kINT8;
    case Dtype::u8:
      return DataType::kUINT8;
    case Dtype::s32:
      return DataType::kINT32;
    case Dtype::boolean:
      return DataType::kBOOL;
    case Dtype::e4m3fn:
      return DataType::kFP8;
#if NV_TENSORRT_MAJOR >= 10
    case Dtype::bf16:
      return DataType::kBF16;
    case Dtype::s64:
      return DataType::kINT64;
#else
    case Dtype::s64:
      return DataType::kINT32;
#endif
    default:
      return DataType::kFLOAT;
  }
}

Dtype to_octet(DataType type) {
  switch (type) {
    case DataType::kFLOAT:
      return Dtype::f32;
    case DataType::kHALF:
      return Dtype::f16;
    case DataType::kINT8:
      return Dtype::s8;
    case DataType::kINT32:
      return Dtype::s32;
    case DataType::kBOOL:
      return Dtype::boolean;
    case DataType::kUINT8:
      return Dtype::u8;
    case DataType::kFP8:
      return Dtype::e4m3fn;
#if NV_TENSORRT_MAJOR >= 10
    case DataType::kBF16:
      return Dtype::bf16;
    case DataType::kINT64:
      return Dtype::s64;
    default:
      break;
#endif
  }
  refuse(std::string("tensors of type ") + name_of(type) + " do not run on this device");
}

size_t bytes_of(DataType type) { return octet::dtype_bytes(to_octet(type)); }

bool is_integer(octet::Dtype dtype) {
  return dtype == octet::Dtype::s32 || dtype == octet::Dtype::s64;
}

const char* name_of(DataType type) {
  switch (type) {
    case DataType::kFLOAT:
      return "Float";
    case DataType::kHALF:
      return "Half";
    case DataType::kINT8:
      return "Int8";
    case DataType::kINT32:
      return "Int32";
    case DataType::kBOOL:
      return "Bool";
    case DataType::kUINT8:
      return "UInt8";
    case DataType::kFP8:
      return "FP8";
#if NV_TENSORRT_MAJOR >= 10
    case DataType::kBF16:
      return "BFloat16";
    case DataType::kINT64:
      return "Int64";
    case DataType::kINT4:
      return "Int4";
    case DataType::kFP4:
      return "FP4";
    case DataType::kE8M0:
      return "E8M0";
#endif
  }
  return "Unknown";
}

Dims to_dims(const std::vector<int64_t>& sizes) {
  if (sizes.size() > Dims::MAX_DIMS) refuse("a tensor has more than eight dimensions");
  Dims dims{};
  for (const int64_t size : sizes) {
    if (!std::in_range<OctetSize>(size))
      refuse("a dimension of " + std::to_string(size) + " does not fit");
    dims.d[dims.nbDims++] = static_cast<OctetSize>(size);
  }
  return dims;
}

Dims no_dims() {
  Dims none{};
  none.nbDims = -1;
  return none;
}

Dims to_dims(const octet::Shape& shape) {
  if (shape.is_unknown()) return no_dims();
  return to_dims(std::vector<int64_t>(shape.begin(), shape.end()));
}

bool is_valid(const Dims& dims) { return dims.nbDims >= 0 && dims.nbDims <= Dims::MAX_DIMS; }

std::vector<int64_t> to_vector(const Dims& dims) {
  if (!is_valid(dims)) refuse("a tensor has no dimensions yet");
  return {dims.d, dims.d + dims.nbDims};
}

octet::Shape to_shape(const Dims& dims) {
  if (!is_valid(dims)) return octet::Shape::unknown();
  return octet::Shape(std::span<const int64_t>(to_vector(dims)));
}

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (int32_t i = 0; i < dims.nbDims && i < Dims::MAX_DIMS; ++i)
    text += (i == 0 ? "" : ",") + std::to_string(dims.d[i]);
  return text + "]";
}

bool equal(const Dims& a, const Dims& b) {
  return a.nbDims == b.nbDims && (!is_valid(a) || std::equal(a.d, a.d + a.nbDims, b.d));
}

int64_t volume(const Dims& dims) {
  if (!is_valid(dims)) return -1;
  int64_t product = 1;
  for (int32_t i = 0; i < dims.nbDims; ++i) {
    if (dims.d[i] < 0) return -1;
    if (__builtin_mul_overflow(product, static_cast<int64_t>(dims.d[i]), &product))
      refuse("the sizes " + to_string(dims) + " are too large");
  }
  return product;
}

Dims with_front(int64_t front, const Dims& dims) {
  std::vector<int64_t> sizes = to_vector(dims);
  if (sizes.size() >= Dims::MAX_DIMS) refuse("a tensor has more than eight dimensions");
  sizes.insert(sizes.begin(), front);
  return to_dims(sizes);
}

Dims without_front(const Dims& dims) {
  if (dims.nbDims <= 0) return dims;
  std::vector<int64_t> sizes = to_vector(dims);
  sizes.erase(sizes.begin());
  return to_dims(sizes);
}

}  // namespace octet_trt

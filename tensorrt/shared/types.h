// SPDX-License-Identifier: Apache-2.0
// Between TensorRT's words and Octet's.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "NvInfer.h"
#include "octet/tensor.h"

namespace octet_trt {

using namespace nvinfer1;  // the interface that all of this implements

// Level 8 has no 64-bit integers: they are seen as 32-bit ones.
DataType to_trt(octet::Dtype dtype);
octet::Dtype to_octet(DataType type);  // throws octet::Error for types of fewer than eight bits
size_t bytes_of(DataType type);
bool is_integer(octet::Dtype dtype);  // as sizes and indices are: of 32 or 64 bits
const char* name_of(DataType type);

Dims no_dims();  // nbDims -1: not known, or no such tensor
// Refuse more than eight sizes, and sizes that do not fit.
Dims to_dims(const octet::Shape& shape);  // nbDims -1 where the rank is unknown
Dims to_dims(const std::vector<int64_t>& sizes);
octet::Shape to_shape(const Dims& dims);
std::vector<int64_t> to_vector(const Dims& dims);
std::string to_string(const Dims& dims);
bool is_valid(const Dims& dims);
bool equal(const Dims& a, const Dims& b);
int64_t volume(const Dims& dims);  // -1 where a size is not known
Dims with_front(int64_t front, const Dims& dims);
Dims without_front(const Dims& dims);

// Throws octet::Error(invalid_argument).
[[noreturn]] void refuse(const std::string& text);
// Programs that were compiled elsewhere may hand over a reference to nothing: refused as "a null tensor" where `what` is "tensor".
void need(const void* object, const char* what);

// What is wrong with a value that crosses the interface; empty: nothing.
template <class T>
std::string wrong_value(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    const auto number = static_cast<int32_t>(value);
    if (number < 0 || number >= EnumMax<T>())
      return std::to_string(number) + " has no name in its enumeration";
  }
  return {};
}
std::string wrong_value(const Dims& dims);  // null, or more than eight
std::string wrong_value(const Weights& weights);
std::string wrong_value(const Permutation& permutation);  // null

// Refuses such a value.
template <class T>
void need_right(const T& value, const char* what) {
  if (const std::string wrong = wrong_value(value); !wrong.empty())
    refuse(std::string(what) + ": " + wrong);
}

}  // namespace octet_trt

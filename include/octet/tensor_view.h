// SPDX-License-Identifier: Apache-2.0
// Memory of the caller as a tensor: the inputs that a run reads and the outputs that it writes, in place where they are dense.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "octet/tensor.h"

namespace octet {

// Of each axis: elements from one index to the next, as in DLPack. 0 repeats an element, negative strides run backwards.
using Strides = std::array<int64_t, Shape::kMaxRank>;

// `data` points to the first element. Of host memory it is read or written in place when the view is dense (is_dense) and `data` a
// multiple of the element's size; any other view costs one copy. Memory of the context's device must be dense; an input at a
// multiple of 256 that one kernel reads is read in place, other tensors there are copied within the device. Nothing is kept after the call.
template <class Byte>
struct BasicTensorView {
  TensorType type;  // every size is known
  Byte* data = nullptr;
  std::optional<Strides> strides;  // absent: dense, row-major
  std::string_view device =
      "cpu";  // whose memory it is: the host's, or the context's device ("cuda:0")

  // What may be written may be read.
  operator BasicTensorView<const std::byte>() const requires(!std::is_const_v<Byte>) {
    return {type, data, strides, device};
  }
};
using TensorView = BasicTensorView<const std::byte>;
using MutableTensorView = BasicTensorView<std::byte>;

// Views of host memory, which must outlive them.
TensorView view_of(const Tensor& tensor);
MutableTensorView view_of(Tensor& tensor);
template <class T>
TensorView view_of(std::span<const T> elements, const Shape& shape);
template <class T>
MutableTensorView view_of(std::span<T> elements, const Shape& shape) requires(!std::is_const_v<T>);

// Whether the elements lie one after another, row-major.
bool is_dense(const TensorView& view);

// Copies between views of host memory of one type. Throws Error(invalid_argument) for other memory, types that differ, no data, or
// elements of `to` that share memory.
void copy(const TensorView& from, const MutableTensorView& to);
Tensor to_tensor(const TensorView& view);

// Throws Error(invalid_argument) when `elements` are not what the shape has.
void check_element_count(const Shape& shape, size_t elements);

template <class T>
TensorView view_of(std::span<const T> elements, const Shape& shape) {
  check_element_count(shape, elements.size());
  return {{DtypeOf<T>::value, shape}, std::as_bytes(elements).data(), {}, "cpu"};
}

template <class T>
MutableTensorView view_of(std::span<T> elements, const Shape& shape) requires(!std::is_const_v<T>) {
  check_element_count(shape, elements.size());
  return {{DtypeOf<T>::value, shape}, std::as_writable_bytes(elements).data(), {}, "cpu"};
}

}  // namespace octet

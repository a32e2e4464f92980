// SPDX-License-Identifier: Apache-2.0
// Arrays of Python as views of memory, and tensors as arrays of NumPy: nothing is copied in either direction.
#pragma once

#include <nanobind/ndarray.h>

#include <string>
#include <string_view>

#include "module.h"
#include "octet/tensor_view.h"

namespace octet::python {

// Keeps the memory of a view alive; may be let go without the interpreter's lock.
struct InputArray {
  nb::ndarray<nb::ro> array;
  std::string device;
  Dtype dtype = Dtype::f32;

  TensorView view() const;  // valid as long as this object stays where it is
};
struct OutputArray {
  nb::ndarray<> array;
  std::string device;
  Dtype dtype = Dtype::f32;

  MutableTensorView view() const;
};

// Who reads and writes memory of a GPU.
struct DeviceAccess {
  int64_t stream = 1;  // as DLPack counts: 1 is CUDA's default stream, others are handles
  int device = 0;      // of arrays that do not say it
};

// Anything with __dlpack__, __cuda_array_interface__ or the buffer protocol. `what` names it in errors: "input 'x'". Memory of a GPU may
// be used behind what the stream was given. Throws Error(invalid_argument) for other objects, for types that Octet has not, and where
// memory to write is read-only.
InputArray input_array(nb::handle object, std::string_view what, const DeviceAccess& access);
OutputArray output_array(nb::handle object, std::string_view what, const DeviceAccess& access);

// An array of NumPy over the tensor's memory. Types that NumPy lacks are those of ml_dtypes where it is installed, else their codes.
nb::object to_numpy(const Tensor& tensor);

// A tuple, with None for a size that is open; None where even the rank is.
nb::object sizes_of(const Shape& shape);

// What NumPy or ml_dtypes call the type: "float32", "bfloat16".
std::string_view numpy_name(Dtype dtype);

}  // namespace octet::python

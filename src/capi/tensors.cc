// SPDX-License-Identifier: Apache-2.0
#include "capi/tensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "capi/call.h"

namespace octet::capi {
namespace {

// Their numbers stay, whatever order C++ has.
static_assert(static_cast<int>(Dtype::f32) + 1 == OCTET_DTYPE_F32);
static_assert(static_cast<int>(Dtype::f64) + 1 == OCTET_DTYPE_F64);
static_assert(static_cast<int>(Dtype::boolean) + 1 == OCTET_DTYPE_BOOL);
static_assert(static_cast<int>(Dtype::e8m0) + 1 == OCTET_DTYPE_E8M0);
static_assert(static_cast<int>(Dtype::u2) + 1 == OCTET_DTYPE_U2);
static_assert(Shape::kMaxRank == OCTET_MAX_RANK && Shape::kDynamic == OCTET_DYNAMIC);

bool is_dtype(octet_dtype number) { return number >= OCTET_DTYPE_F32 && number <= OCTET_DTYPE_U2; }

// a += b * c for numbers that are not negative.
void add_product(int64_t& a, int64_t b, int64_t c, const Place& place) {
  int64_t product = 0;
  if (__builtin_mul_overflow(b, c, &product) || __builtin_add_overflow(a, product, &a))
    refuse(fmt::format("{} is larger than any memory", place.name()));
}

// How many bytes the tensor reaches from its first element on.
int64_t reach(const TensorType& type, const Strides* strides, const Place& place) {
  const bool empty = std::ranges::any_of(type.shape.dims(), [](int64_t dim) { return dim == 0; });
  if (empty) return 0;
  int64_t last = 0, dense = 1;
  for (int i = type.shape.rank() - 1; i >= 0; --i) {
    const int64_t stride = strides != nullptr ? (*strides)[static_cast<size_t>(i)] : dense;
    add_product(last, stride, type.shape[i] - 1, place);
    if (__builtin_mul_overflow(dense, type.shape[i], &dense))
      refuse(fmt::format("{} is larger than any memory", place.name()));
  }
  int64_t bytes = 0;
  add_product(last, 1, 1, place);
  add_product(bytes, last, static_cast<int64_t>(dtype_bytes(type.dtype)), place);
  return bytes;
}

Strides strides_of(const octet_tensor& tensor, const Place& place) {
  Strides strides{};
  std::copy_n(tensor.strides, tensor.rank, strides.begin());
  if (std::ranges::any_of(strides, [](int64_t stride) { return stride < 0; }))
    refuse(
        fmt::format("{} has a negative stride; give the memory in ascending order", place.name()));
  return strides;
}

}  // namespace

octet_dtype number_of(Dtype dtype) { return static_cast<octet_dtype>(dtype) + 1; }

Dtype dtype_of(octet_dtype number, const std::string& of) {
  if (!is_dtype(number))
    refuse(fmt::format("{} has dtype {}; expected one of OCTET_DTYPE_...", of, number));
  return static_cast<Dtype>(number - 1);
}

std::string Place::name() const {
  return index < infos.size() ? fmt::format("{} '{}'", kind, infos[index].name)
                              : fmt::format("{} {}", kind, index);
}

Shape shape_of(int32_t rank, const int64_t* dims, const Place& place) {
  if (rank < 0 || rank > OCTET_MAX_RANK)
    refuse(fmt::format("{} has rank {}; expected 0 to {}", place.name(), rank, OCTET_MAX_RANK));
  Shape shape;
  for (int32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0)
      refuse(fmt::format("{} has size {} in dimension {}; expected 0 or more", place.name(),
                         dims[i], i));
    shape.push_back(dims[i]);
  }
  return shape;
}

MutableTensorView view_of(const octet_tensor& tensor, const Place& place) {
  MutableTensorView view;
  view.type.shape = shape_of(tensor.rank, tensor.dims, place);
  if (!is_dtype(tensor.dtype)) dtype_of(tensor.dtype, place.name());
  view.type.dtype = static_cast<Dtype>(tensor.dtype - 1);
  if (tensor.strides != nullptr) view.strides = strides_of(tensor, place);
  const int64_t needed = reach(view.type, view.strides ? &*view.strides : nullptr, place);
  const int64_t given = checked_bytes(tensor.bytes);
  if (view.strides ? given < needed : given != needed) {
    refuse(fmt::format(
        "{} is given as {}, which takes {} bytes, in memory of {}; give bytes, dims and dtype "
        "that agree",
        place.name(), to_string(view.type), needed, given));
  }
  if (tensor.data == nullptr && needed > 0)
    refuse(fmt::format("{} is given as {}, and its data are NULL", place.name(),
                       to_string(view.type)));
  view.data = static_cast<std::byte*>(tensor.data);
  if (tensor.device != nullptr) view.device = tensor.device;
  return view;
}

octet_tensor_info describe(const TensorInfo& info) {
  octet_tensor_info described{};
  described.size = sizeof described;
  described.name = info.name.c_str();
  described.dtype = number_of(info.type.dtype);
  described.rank = info.type.shape.rank();
  std::ranges::transform(info.type.shape, described.dims,
                         [](int64_t dim) { return dim < 0 ? OCTET_DYNAMIC : dim; });
  return described;
}

octet_tensor describe(const Tensor& tensor) {
  octet_tensor described{};
  described.size = sizeof described;
  described.data = const_cast<std::byte*>(tensor.data());
  described.bytes = tensor.bytes();
  described.dtype = number_of(tensor.dtype());
  described.rank = tensor.shape().rank();
  std::ranges::copy(tensor.shape(), described.dims);
  return described;
}

const TensorInfo& at(const Place& place) {
  if (place.index >= place.infos.size())
    refuse(fmt::format("there is no {} {}; the engine has {}", place.kind, place.index,
                       place.infos.size()));
  return place.infos[place.index];
}

void check_count(const void* tensors, uint64_t count, const Place& place) {
  if (count != place.infos.size())
    refuse(fmt::format("got {} {}s; the engine has {}", count, place.kind, place.infos.size()));
  if (count > 0 && tensors == nullptr) refuse(fmt::format("{}s is NULL", place.kind));
}

}  // namespace octet::capi

const char* octet_dtype_name(octet_dtype dtype) {
  if (!octet::capi::is_dtype(dtype)) return "unknown";
  return octet::dtype_name(static_cast<octet::Dtype>(dtype - 1)).data();
}

uint64_t octet_dtype_bytes(octet_dtype dtype) {
  return octet::capi::is_dtype(dtype) ? octet::dtype_bytes(static_cast<octet::Dtype>(dtype - 1))
                                      : 0;
}

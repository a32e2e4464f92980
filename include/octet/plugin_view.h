// SPDX-License-Identifier: Apache-2.0
// What a plugin's class sees of a call, in C++17 over octet/plugin.h: attributes, tensors, shapes. Part of octet/plugin_cpp.h.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "octet/plugin.h"

namespace octet::plugin {

// Thrown by a class of the plugin for attributes or shapes that are none of its operator's; whatever else it throws is a failure.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Formats of tensors.
inline octet_plugin_format format(uint32_t type, uint32_t params = OCTET_PARAMS_NONE) {
  return {sizeof(octet_plugin_format), type, OCTET_LAYOUT_LINEAR, params, 0, 0, 0};
}
inline octet_plugin_format f32() { return format(OCTET_TYPE_F32); }
inline octet_plugin_format s32() { return format(OCTET_TYPE_S32); }
inline octet_plugin_format s64() { return format(OCTET_TYPE_S64); }
// Codes with a scale and a zero point.
inline octet_plugin_format u8() { return format(OCTET_TYPE_U8, OCTET_PARAMS_PER_TENSOR); }
inline octet_plugin_format s8() { return format(OCTET_TYPE_S8, OCTET_PARAMS_PER_TENSOR); }
inline octet_plugin_format symmetric(octet_plugin_format of) {
  of.flags |= OCTET_FORMAT_SYMMETRIC;
  return of;
}
inline octet_plugin_format per_channel(octet_plugin_format of, int32_t axis) {
  of.params = OCTET_PARAMS_PER_CHANNEL;
  of.axis = axis;
  return of;
}
inline octet_plugin_format nhwc(octet_plugin_format of) {
  of.layout = OCTET_LAYOUT_NHWC;
  return of;
}

// A node's attributes as declared: all are there.
class Attributes {
 public:
  explicit Attributes(const octet_plugin_creation& creation) : creation_(creation) {}

  int64_t i(const char* name) const { return find(name, OCTET_ATTRIBUTE_INT).ints[0]; }
  float f(const char* name) const { return find(name, OCTET_ATTRIBUTE_FLOAT).floats[0]; }
  std::string text(const char* name) const {
    const octet_plugin_value& value = find(name, OCTET_ATTRIBUTE_TEXT);
    return std::string(value.text, value.count);
  }
  std::vector<int64_t> ints(const char* name) const {
    const octet_plugin_value& value = find(name, OCTET_ATTRIBUTE_INTS);
    return std::vector<int64_t>(value.ints, value.ints + value.count);
  }
  std::vector<float> floats(const char* name) const {
    const octet_plugin_value& value = find(name, OCTET_ATTRIBUTE_FLOATS);
    return std::vector<float>(value.floats, value.floats + value.count);
  }
  // What state() wrote when the engine was built; empty while it is built.
  std::string state() const {
    return std::string(static_cast<const char*>(creation_.state), creation_.state_bytes);
  }

 private:
  const octet_plugin_value& find(const char* name, uint32_t type) const {
    const char* at = reinterpret_cast<const char*>(creation_.attributes);
    for (uint64_t i = 0; i < creation_.attribute_count; ++i) {
      const auto& value = *reinterpret_cast<const octet_plugin_value*>(at);
      if (std::strcmp(value.name, name) == 0 && value.type == type) return value;
      at += value.size;
    }
    throw std::logic_error(std::string("no attribute '") + name + "' of that kind is declared");
  }

  const octet_plugin_creation& creation_;
};

using Dims = std::vector<int64_t>;

class Tensor {
 public:
  explicit Tensor(const octet_plugin_tensor& tensor) : tensor_(&tensor) {}

  bool given() const { return tensor_->type != OCTET_TYPE_NONE; }
  uint32_t type() const { return tensor_->type; }
  bool is_nhwc() const { return tensor_->layout == OCTET_LAYOUT_NHWC; }
  int rank() const { return tensor_->rank; }
  int64_t dim(int i) const { return tensor_->dims[i]; }
  Dims dims() const { return Dims(tensor_->dims, tensor_->dims + tensor_->rank); }
  int64_t elements() const {
    int64_t count = 1;
    for (int i = 0; i < tensor_->rank; ++i) count *= tensor_->dims[i];
    return count;
  }
  bool is_codes() const { return tensor_->params != OCTET_PARAMS_NONE; }
  float scale(int64_t channel = 0) const { return tensor_->scales[channel]; }
  int32_t zero_point(int64_t channel = 0) const { return tensor_->zero_points[channel]; }
  // Null where only shapes are asked about.
  template <class T>
  T* data() const {
    return static_cast<T*>(tensor_->data);
  }
  // Of an output that data size, on a GPU: where in its memory the work writes the dimensions.
  int64_t* told_dims() const { return tensor_->told_dims; }

 private:
  const octet_plugin_tensor* tensor_;
};

class Call {
 public:
  explicit Call(octet_plugin_call& call) : call_(call) {}

  uint64_t inputs() const { return call_.input_count; }
  uint64_t outputs() const { return call_.output_count; }
  Tensor input(uint64_t i) const { return Tensor(at(call_.inputs, i)); }
  Tensor output(uint64_t i) const { return Tensor(at(call_.outputs, i)); }
  // Of an output that data size, on the host: at most the dimensions that it has when the call begins.
  void set_dims(uint64_t output, const Dims& dims) const {
    octet_plugin_tensor& tensor = at(call_.outputs, output);
    if (dims.size() != static_cast<size_t>(tensor.rank))
      throw std::logic_error("sizes of another rank than the shape rule's");
    for (size_t i = 0; i < dims.size(); ++i) tensor.dims[i] = dims[i];
  }
  void* workspace() const { return call_.workspace; }
  void* stream() const { return call_.stream; }
  int threads() const { return call_.threads; }

  // body(begin, end) for pieces of 0..count, on the run's threads. It must not throw.
  template <class Body>
  void parallel(int64_t count, const Body& body) const {
    if (call_.parallel == nullptr) return body(int64_t{0}, count);
    call_.parallel(
        call_.host, count,
        [](void* user, int64_t begin, int64_t end) {
          (*static_cast<const Body*>(user))(begin, end);
        },
        const_cast<Body*>(&body));
  }

 protected:
  template <class T>
  static T& at(T* first, uint64_t i) {
    using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
    return *reinterpret_cast<T*>(reinterpret_cast<Byte*>(first) + i * first->size);
  }

  octet_plugin_call& call_;
};

// The shape rule's view: inputs are known, outputs are to be set.
class Shapes : public Call {
 public:
  using Call::Call;

  void set(uint64_t output, const Dims& dims) {
    if (dims.size() > OCTET_PLUGIN_MAX_RANK) throw Refused("a result of more than 8 dimensions");
    octet_plugin_tensor& tensor = at(call_.outputs, output);
    tensor.rank = static_cast<int32_t>(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) tensor.dims[i] = dims[i];
  }
  // Dimension `open` of the output is told by data, and at most what `dims` has.
  void at_most(uint64_t output, const Dims& dims, int open) {
    set(output, dims);
    at(call_.outputs, output).open_dims |= uint64_t{1} << open;
  }
  void same(uint64_t output, uint64_t input) { set(output, this->input(input).dims()); }
};

}  // namespace octet::plugin

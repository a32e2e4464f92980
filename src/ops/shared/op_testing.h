// SPDX-License-Identifier: Apache-2.0
// For the tests of this folder: builds one call of an operator step by step, and deterministic random tensors.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/op_def.h"
#include "ops/shared/testing.h"

namespace octet::testing {

class OpCall {
 public:
  explicit OpCall(std::string_view op) {
    node_.op = find_op(op);
    EXPECT_NE(node_.op, nullptr) << op;
    node_.name = "test";
    node_.outputs = {1000};
  }
  OpCall& attr(std::string_view name, AttrValue value) {
    node_.attrs.set(name, std::move(value));
    return *this;
  }
  OpCall& ints(std::string_view name, std::vector<s64> value) {
    return attr(name, std::move(value));
  }
  OpCall& in(Tensor input) {
    node_.inputs.push_back(static_cast<ValueId>(node_.inputs.size()));
    inputs_.push_back(std::move(input));
    return *this;
  }
  OpCall& omit() {
    node_.inputs.push_back(kNoValue);
    inputs_.emplace_back();
    return *this;
  }
  OpCall& outputs(size_t count) {
    node_.outputs.resize(count, 1001);
    return *this;
  }

  std::vector<Tensor> run_all() const { return eval_node(node_, inputs_); }
  Tensor run() const { return run_all().at(0); }
  // The message of the Error that inference throws; "" when it does not.
  std::string error() const {
    std::vector<TensorType> types;
    std::vector<const Tensor*> known;
    for (const Tensor& input : inputs_) {
      types.push_back(input.type());
      known.push_back(input ? &input : nullptr);
    }
    try {
      infer_node(node_, types, known);
    } catch (const Error& e) {
      EXPECT_NE(e.code(), Error::Code::internal) << e.what();
      return e.message();
    }
    return "";
  }

 private:
  Node node_;
  std::vector<Tensor> inputs_;
};

// Deterministic random numbers; a failing case is found again by its seed.
class Random {
 public:
  explicit Random(u32 seed) : engine_(seed) {}
  s64 integer(s64 lo, s64 hi) {
    return lo + static_cast<s64>(engine_() % static_cast<u64>(hi - lo + 1));
  }
  f32 real(f32 lo, f32 hi) {
    return lo + (hi - lo) * (static_cast<f32>(engine_()) / 4294967296.0f);
  }
  bool coin() { return integer(0, 1) == 1; }

  template <class T>
  Tensor codes(const Shape& shape, s64 lo, s64 hi) {
    Tensor t(DtypeOf<T>::value, shape);
    for (T& v : t.mutable_as<T>()) v = static_cast<T>(integer(lo, hi));
    return t;
  }
  Tensor codes(Dtype dtype, const Shape& shape) {
    return dtype == Dtype::u8 ? codes<u8>(shape, 0, 255) : codes<s8>(shape, -128, 127);
  }
  Tensor reals(const Shape& shape, f32 lo, f32 hi) {
    Tensor t(Dtype::f32, shape);
    for (f32& v : t.mutable_as<f32>()) v = real(lo, hi);
    return t;
  }

 private:
  std::mt19937 engine_;
};

// Code i of a u8 or s8 tensor.
inline s64 code(const Tensor& t, s64 i) {
  const size_t at = static_cast<size_t>(i);
  return t.dtype() == Dtype::u8 ? s64{t.as<u8>()[at]} : s64{t.as<s8>()[at]};
}

}  // namespace octet::testing

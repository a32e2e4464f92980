// SPDX-License-Identifier: Apache-2.0
// Unique(x) {axis?, sorted=1}: the different elements of the flattened tensor, or slices along an axis; and of each its
// first index, the place of every element among them, and how often each occurs. NaN is larger than any number.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "graph/attributes.h"
#include "graph/op_def.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/node_parser.h"
#include "ops/shared/work.h"

namespace octet {
namespace {

struct UniqueAttributes {
  std::optional<s64> axis;
  bool sorted = true;

  OCTET_ATTRIBUTES(axis, sorted)
};

int axis_of(const Node& node, const Shape& shape) {
  const std::optional<s64> axis = attribute_of<&UniqueAttributes::axis>(node);
  return axis ? normalize_axis(*axis, shape.rank()) : -1;
}

void infer(Inference& inference) {
  const TensorType& x = inference.inputs[0];
  const int axis = axis_of(inference.node, x.shape);
  Shape values = axis < 0 ? Shape{Shape::kDynamic} : x.shape;
  if (axis >= 0) values[axis] = Shape::kDynamic;
  inference.output(x.dtype, values);
  inference.output(Dtype::s64, {Shape::kDynamic});
  inference.output(Dtype::s64, {axis < 0 ? x.shape.elements() : x.shape[axis]});
  inference.output(Dtype::s64, {Shape::kDynamic});
}

// -1, 0 or 1; NaN equals NaN here, else every one would be unique and no order total.
template <class T>
int compare(T a, T b) {
  const Wide<T> x = static_cast<Wide<T>>(a), y = static_cast<Wide<T>>(b);
  if constexpr (kIsReal<T>) {
    if (std::isnan(x) || std::isnan(y))
      return static_cast<int>(std::isnan(x)) - static_cast<int>(std::isnan(y));
  }
  return static_cast<int>(y < x) - static_cast<int>(x < y);
}

// The slices of the axis; without one, the elements.
template <class T>
class Slices {
 public:
  Slices(const ConstView& x, int axis)
      : data_(x.as<T>().data()),
        outer_(axis < 0 ? 1 : dims_product(x.shape, 0, axis)),
        count_(axis < 0 ? x.shape.elements() : x.shape[axis]),
        inner_(axis < 0 ? 1 : dims_product(x.shape, axis + 1, x.shape.rank())) {}

  s64 count() const { return count_; }

  int order(s64 a, s64 b) const {
    for (s64 o = 0; o < outer_; ++o) {
      for (s64 i = 0; i < inner_; ++i) {
        const int result = compare(*at(o, a, i), *at(o, b, i));
        if (result != 0) return result;
      }
    }
    return 0;
  }

  void copy(std::span<const s64> chosen, T* dst) const {
    for (s64 o = 0; o < outer_; ++o) {
      for (s64 slice : chosen) dst = std::copy_n(at(o, slice, 0), inner_, dst);
    }
  }

 private:
  const T* at(s64 outer, s64 slice, s64 inner) const {
    return data_ + (outer * count_ + slice) * inner_ + inner;
  }
  const T* data_;
  s64 outer_, count_, inner_;
};

struct Groups {
  std::vector<s64> first;   // the lowest index of each group
  std::vector<s64> member;  // the group of each slice
  std::vector<s64> size;
};

template <class T>
Groups group(const Slices<T>& slices, bool sorted) {
  const auto count = static_cast<size_t>(slices.count());
  std::vector<s64> order(count);
  std::iota(order.begin(), order.end(), s64{0});
  std::sort(order.begin(), order.end(), [&](s64 a, s64 b) {
    const int result = slices.order(a, b);
    return result != 0 ? result < 0 : a < b;
  });
  std::vector<s64> starts;  // in `order`, of each group
  for (size_t i = 0; i < count; ++i) {
    if (i == 0 || slices.order(order[i - 1], order[i]) != 0) starts.push_back(static_cast<s64>(i));
  }
  const auto first_of = [&](s64 start) { return order[static_cast<size_t>(start)]; };
  std::vector<s64> rank(starts.size());
  std::iota(rank.begin(), rank.end(), s64{0});
  if (!sorted) {
    std::ranges::sort(rank, {}, [&](s64 g) { return first_of(starts[static_cast<size_t>(g)]); });
  }
  Groups groups;
  groups.member.resize(count);
  for (s64 g : rank) {
    const auto at = static_cast<size_t>(g);
    const s64 start = starts[at];
    const s64 end = at + 1 < starts.size() ? starts[at + 1] : slices.count();
    for (s64 i = start; i < end; ++i) {
      groups.member[static_cast<size_t>(first_of(i))] = static_cast<s64>(groups.first.size());
    }
    groups.first.push_back(first_of(start));
    groups.size.push_back(end - start);
  }
  return groups;
}

void store(const Eval& eval, size_t i, const std::vector<s64>& values) {
  if (i >= eval.node.outputs.size() || eval.node.outputs[i] == kNoValue) return;
  const TensorType type{Dtype::s64, {static_cast<s64>(values.size())}};
  const MutableView view = eval.outputs[i].data != nullptr ? eval.outputs[i] : eval.make(i, type);
  std::ranges::copy(values, view.as<s64>().begin());
}

template <class T>
void unique(const Eval& eval) {
  const ConstView& x = eval.inputs[0];
  const int axis = axis_of(eval.node, x.shape);
  const Slices<T> slices(x, axis);
  const Groups groups = group(slices, attribute_of<&UniqueAttributes::sorted>(eval.node));
  const auto count = static_cast<s64>(groups.first.size());
  Shape shape = axis < 0 ? Shape{count} : x.shape;
  if (axis >= 0) shape[axis] = count;
  slices.copy(groups.first, eval.make(0, {x.dtype, shape}).as<T>().data());
  store(eval, 1, groups.first);
  store(eval, 2, groups.member);
  store(eval, 3, groups.size);
}

void eval(const Eval& eval) {
  visit_dtype(eval.inputs[0].dtype, [&]<class T>() { unique<T>(eval); });
}

f64 work(const Node&, TensorTypes inputs, TensorTypes) {
  return 2 * sorting_work(element_count(inputs[0].shape));
}

constexpr OpTraits kTraits{.work = work};

}  // namespace

extern constinit const OpDef kUnique{
    .name = "Unique", .outputs = {1, 4}, .infer = infer, .eval = eval, .traits = &kTraits};
}  // namespace octet

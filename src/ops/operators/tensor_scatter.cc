// SPDX-License-Identifier: Apache-2.0
// TensorScatter(cache, update, indices?): each batch entry's update overwrites the cache along attribute axis from that
// entry's index on; with mode circular it goes on at the beginning.
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "core/check.h"
#include "graph/attributes.h"
#include "graph/op_def.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

enum class CacheMode : u8 { linear, circular };

constexpr auto attribute_words(CacheMode) {
  return std::to_array<AttributeWord<CacheMode>>(
      {{"linear", CacheMode::linear}, {"circular", CacheMode::circular}});
}

struct TensorScatterAttributes {
  s64 axis = -2;
  CacheMode mode = CacheMode::linear;

  OCTET_ATTRIBUTES(axis, mode)
};

enum : size_t { kCache, kUpdate, kIndices };

bool is_circular(const Node& node) {
  return attribute_of<&TensorScatterAttributes::mode>(node) == CacheMode::circular;
}

int axis_of(const Node& node, const Shape& cache) {
  const int axis = normalize_axis(attribute_of<&TensorScatterAttributes::axis>(node), cache.rank());
  if (axis == 0) fail(Error::Code::invalid_model, "the axis is 0, which is the batch");
  return axis;
}

void infer(Inference& inference) {
  const Shape &cache = inference.inputs[kCache].shape, &update = inference.inputs[kUpdate].shape;
  is_circular(inference.node);
  const int axis = axis_of(inference.node, cache);
  Shape expected = cache;
  if (update.rank() == cache.rank()) expected[axis] = update[axis];
  if (update != expected || update[axis] > cache[axis] ||
      inference.inputs[kCache].dtype != inference.inputs[kUpdate].dtype) {
    fail(Error::Code::invalid_model, "the update {} does not fit the cache {} along axis {}",
         to_string(inference.inputs[kUpdate]), to_string(inference.inputs[kCache]), axis);
  }
  if (inference.has_input(kIndices)) {
    require_dtype(inference, kIndices, DtypeClass::index);
    if (inference.inputs[kIndices].shape != Shape{cache[0]}) {
      fail(Error::Code::invalid_model, "the indices are {}, expected one for each of {}",
           to_string(inference.inputs[kIndices]), cache[0]);
    }
  }
  inference.same_as_input(kCache);
}

// Where row `i` of an update that begins at `first` lies in the cache.
s64 target(s64 first, s64 i, s64 length, bool circular) {
  const s64 at = first >= 0 && first <= length ? first + i : length;
  if (first >= 0 && circular) return (first % length + i) % length;
  if (first >= 0 && at < length) return at;
  fail(Error::Code::invalid_argument, "row {} from index {} on lies outside the cache of length {}",
       i, first, length);
}

void eval(const Eval& eval) {
  const Shape &cache = eval.inputs[kCache].shape, &update = eval.inputs[kUpdate].shape;
  const TensorType type{eval.inputs[kCache].dtype, cache};
  if (type.bytes() == 0) return;
  auto* dst = static_cast<std::byte*>(eval.outputs[0].data);
  std::memcpy(dst, eval.inputs[kCache].data, static_cast<size_t>(type.bytes()));
  const int axis = axis_of(eval.node, cache);
  const bool circular = is_circular(eval.node);
  const std::vector<s64> indices = read_ints(eval, kIndices);
  const s64 entry = dims_product(cache, 1, axis);
  const size_t bytes =
      static_cast<size_t>(dims_product(cache, axis + 1, cache.rank())) * dtype_bytes(type.dtype);
  const auto* src = static_cast<const std::byte*>(eval.inputs[kUpdate].data);
  const s64 rows = cache[0] * entry * update[axis];
  for (s64 row = 0; row < rows; ++row, src += bytes) {
    const s64 outer = row / update[axis];
    const s64 first = indices.empty() ? 0 : indices[static_cast<size_t>(outer / entry)];
    const s64 at = target(first, row % update[axis], cache[axis], circular);
    std::memcpy(dst + static_cast<size_t>(outer * cache[axis] + at) * bytes, src, bytes);
  }
}

}  // namespace

extern constinit const OpDef kTensorScatter{
    .name = "TensorScatter", .inputs = {2, 3}, .infer = infer, .eval = eval};
}  // namespace octet

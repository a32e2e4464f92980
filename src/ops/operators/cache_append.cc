// SPDX-License-Identifier: Apache-2.0
// CacheAppend(past, update, length) {axis}: the first `length` rows of the past along the axis, then those of the update, then zeros up to the
// past's size. Plans for many lengths make it of a decoder's Concat (plan/growing.h).
#include <cstring>

#include "core/check.h"
#include "graph/op_def.h"
#include "ops/attributes/moves.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

enum : size_t { kPast, kUpdate, kLength };

void infer(Inference& inference) {
  const TensorType &past = inference.inputs[kPast], &update = inference.inputs[kUpdate];
  const int axis =
      normalize_axis(attribute_of<&CacheAppendAttributes::axis>(inference.node), past.shape.rank());
  Shape expected = past.shape;
  if (update.shape.rank() == past.shape.rank()) expected[axis] = update.shape[axis];
  if (update != TensorType{past.dtype, expected} || expected[axis] > past.shape[axis]) {
    fail(Error::Code::invalid_model, "the update {} does not fit the cache {} along axis {}",
         to_string(update), to_string(past), axis);
  }
  if (inference.inputs[kLength] != TensorType{Dtype::s64, {}}) {
    fail(Error::Code::invalid_model, "the length is {}, expected one s64",
         to_string(inference.inputs[kLength]));
  }
  inference.same_as_input(kPast);
}

void eval(const Eval& eval) {
  const Shape &past = eval.inputs[kPast].shape, &update = eval.inputs[kUpdate].shape;
  const int axis =
      normalize_axis(attribute_of<&CacheAppendAttributes::axis>(eval.node), past.rank());
  const s64 length = eval.inputs[kLength].as<s64>()[0], rows = update[axis];
  if (length < 0 || length > past[axis] - rows) {
    fail(Error::Code::invalid_argument, "{} rows behind {} do not fit a cache of {}", rows, length,
         past[axis]);
  }
  const auto bytes = static_cast<s64>(dtype_bytes(eval.inputs[kPast].dtype)) *
                     dims_product(past, axis + 1, past.rank());
  const auto* from = static_cast<const std::byte*>(eval.inputs[kPast].data);
  const auto* fresh = static_cast<const std::byte*>(eval.inputs[kUpdate].data);
  auto* to = static_cast<std::byte*>(eval.outputs[0].data);
  const s64 kept = length * bytes, added = rows * bytes, all = past[axis] * bytes;
  if (all == 0) return;
  for (s64 outer = dims_product(past, 0, axis); outer > 0; --outer) {
    std::memmove(to, from, static_cast<size_t>(kept));
    std::memcpy(to + kept, fresh, static_cast<size_t>(added));
    std::memset(to + kept + added, 0, static_cast<size_t>(all - kept - added));
    from += all, to += all, fresh += added;
  }
}

}  // namespace

extern constinit const OpDef kCacheAppend{
    .name = "CacheAppend", .domain = "octet", .inputs = {3, 3}, .infer = infer, .eval = eval};
}  // namespace octet

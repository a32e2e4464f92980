// SPDX-License-Identifier: Apache-2.0
// CacheAppend: rows behind those that a cache has. Where the caller gives one memory for the cache before and after, only they are written.
#include <cstring>

#include "backends/cpu/lower/lowerings.h"
#include "backends/host/queue.h"
#include "core/check.h"
#include "ops/attributes/moves.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

enum : size_t { kPast, kUpdate, kLength };

constexpr s64 kSerial = 32768;  // fewer bytes cost less than waking a thread

struct AppendStep {
  s64 outer = 1;
  s64 rows = 0;    // of the cache
  s64 update = 0;  // of what comes to it
  s64 row_bytes = 1;

  void one(const StepArgs& args, s64 index, s64 length) const noexcept {
    const s64 all = rows * row_bytes, kept = length * row_bytes, added = update * row_bytes;
    std::byte* to = args.outputs[0] + index * all;
    const std::byte* from = args.inputs[kPast] + index * all;
    if (from != to) std::memcpy(to, from, static_cast<size_t>(kept));
    std::memcpy(to + kept, args.inputs[kUpdate] + index * added, static_cast<size_t>(added));
    std::memset(to + kept + added, 0, static_cast<size_t>(all - kept - added));
  }

  void operator()(const StepArgs& args) const {
    s64 length = 0;
    std::memcpy(&length, args.inputs[kLength], sizeof(length));
    if (length < 0 || length > rows - update) {
      fail(Error::Code::invalid_argument, "{} rows behind {} do not fit a cache of {}", update,
           length, rows);
    }
    const bool in_place = args.inputs[kPast] == args.outputs[0];
    const s64 bytes = outer * (rows - (in_place ? length : 0)) * row_bytes;
    const auto body = [&](s64 begin, s64 end, int) {
      for (s64 i = begin; i < end; ++i) one(args, i, length);
    };
    bytes < kSerial ? body(0, outer, 0) : pool_of(args).parallel_for(outer, body);
  }
};

}  // namespace

Offer lower_cache_append(const LowerRequest& request) {
  for (size_t i : {size_t{kPast}, size_t{kUpdate}, size_t{kLength}}) {
    if (request.constant(i) != nullptr) return Reject{"an operand is constant"};
  }
  const Shape& past = request.inputs[kPast].shape;
  if (past.elements() == 0) return Reject{"the cache is empty"};
  const int axis =
      normalize_axis(attribute_of<&CacheAppendAttributes::axis>(request.node), past.rank());
  const AppendStep step{.outer = dims_product(past, 0, axis),
                        .rows = past[axis],
                        .update = request.inputs[kUpdate].shape[axis],
                        .row_bytes = static_cast<s64>(dtype_bytes(request.inputs[kPast].dtype)) *
                                     dims_product(past, axis + 1, past.rank())};
  Candidate candidate;
  candidate.kernel = "cache_append";
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.outputs = {Layout::linear};
  candidate.overwrites = {kPast};
  candidate.bind = [step](const BindArgs&) -> RunStep { return step; };
  return candidate;
}

}  // namespace octet

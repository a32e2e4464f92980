// SPDX-License-Identifier: Apache-2.0
// Gather, GatherElements, GatherND, ScatterElements and ScatterND whose indices are constants (relative positions, slices that an
// exporter writes as scatters): the definition moves the numbers of the elements once, and runs copy by these.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "backends/cpu/device.h"
#include "backends/host/queue.h"
#include "graph/op_def.h"
#include "ops/attributes/moves.h"
#include "ops/shared/dtypes.h"
#include "plan/offer.h"

namespace octet {
namespace {

constexpr s64 kMostElements = s64{1} << 26;  // of all tensors; they are numbered with 32 bits
constexpr s64 kSerial = 16384;
constexpr s64 kPiece = 4096;
constexpr s64 kShortRun = 4;  // mean length below which single elements are cheaper

// Elements of `source` (0: the data, 1: updates) that stay neighbours.
struct Run {
  s32 source, from, to, count;
};

struct KnownMoves {
  std::vector<Run> runs;
  std::vector<s32> elements;  // of the data, one for each of the output; instead of short runs
};

// The node as it is given, on numbers in place of elements.
struct Numbering {
  Node node;
  std::vector<TensorType> inputs;
  std::vector<Tensor> constants;
  TensorType output;
  bool scatters = false;

  std::string key() const {
    return fmt::format(
        "{} {} {} {} to {} by {} along {} in {}", node.op->name, to_string(inputs[0].shape),
        to_string(constants[1].shape()), dtype_name(constants[1].dtype()), to_string(output.shape),
        scatters ? to_string(inputs[2].shape) : "", attribute_of<&AxisAttributes::axis>(node),
        attribute_of<&GatherNDAttributes::batch_dims>(node));
  }

  Tensor sources() const {
    std::vector<Tensor> tensors;
    s32 number = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (i == 1) {
        tensors.push_back(constants[1]);
        continue;
      }
      tensors.emplace_back(Dtype::s32, inputs[i].shape);
      for (s32& x : tensors.back().mutable_as<s32>()) x = number++;
    }
    std::vector<ConstView> views;
    for (const Tensor& tensor : tensors) views.push_back(view(tensor));
    Tensor result(Dtype::s32, output.shape);
    const MutableView out{Dtype::s32, output.shape, result.mutable_data()};
    node.op->eval({node, views, {&out, 1}});
    return result;
  }

  KnownMoves moves() const {
    const Tensor numbers = sources();
    const auto of_data = static_cast<s32>(inputs[0].shape.elements());
    KnownMoves known;
    s32 at = 0, next = -1;
    for (const s32 number : numbers.as<s32>()) {
      const s32 source = number < of_data ? 0 : 1;
      if (number == next && number != of_data) {
        ++known.runs.back().count;
      } else {
        known.runs.push_back({source, source == 0 ? number : number - of_data, at, 1});
      }
      ++at, next = number + 1;
    }
    if (scatters || std::ssize(known.runs) * kShortRun < at) return known;
    known.runs.clear();
    known.elements.assign(numbers.as<s32>().begin(), numbers.as<s32>().end());
    return known;
  }
};

struct MoveKnown {
  std::shared_ptr<const KnownMoves> moves;
  std::vector<Tensor> constants;
  s64 elements;
  size_t size;  // of an element

  const std::byte* source(const StepArgs& step, s32 i) const noexcept {
    const auto at = static_cast<size_t>(2 * i);  // the updates are input 2
    return at < constants.size() && constants[at] ? constants[at].data() : step.inputs[at];
  }

  void copy(const StepArgs& step, const Run& run) const noexcept {
    const std::byte* from = source(step, run.source) + static_cast<size_t>(run.from) * size;
    std::byte* to = step.outputs[0] + static_cast<size_t>(run.to) * size;
    if (from != to) std::memcpy(to, from, static_cast<size_t>(run.count) * size);
  }

  void gather(const StepArgs& step, s64 begin, s64 end) const noexcept {
    visit_bytes([&]<class T>() {
      const T* from = reinterpret_cast<const T*>(source(step, 0));
      T* to = reinterpret_cast<T*>(step.outputs[0]);
      const s32* index = moves->elements.data();
      for (s64 i = begin; i < end; ++i) to[i] = from[index[i]];
    });
  }

  void operator()(const StepArgs& step) const noexcept {
    const bool single = !moves->elements.empty();
    const s64 runs = std::ssize(moves->runs);
    const s64 items = single ? (elements + kPiece - 1) / kPiece : runs;
    const auto body = [&](s64 begin, s64 end, int) {
      if (single) return gather(step, begin * kPiece, std::min(elements, end * kPiece));
      for (s64 i = begin; i < end; ++i) copy(step, moves->runs[static_cast<size_t>(i)]);
    };
    if (elements < kSerial) return body(0, items, 0);
    pool_of(step).parallel_for(items, body);
  }

 private:
  template <class F>
  void visit_bytes(const F& f) const noexcept {
    if (size == 1) return f.template operator()<u8>();
    if (size == 2) return f.template operator()<u16>();
    if (size == 4) return f.template operator()<u32>();
    return f.template operator()<u64>();
  }
};

std::string reject(const LowerRequest& request) {
  if (request.constant(1) == nullptr) return "the indices are not constant";
  if (attribute_of<&ScatterAttributes::reduction>(request.node) != ScatterReduction::none)
    return "elements are combined";
  s64 elements = request.outputs[0].shape.elements();
  if (elements == 0) return "the output is empty";
  for (const TensorType& input : request.inputs) elements += input.shape.elements();
  return elements > kMostElements ? "there are more than 2^26 elements" : "";
}

}  // namespace

Offer lower_known_moves(const LowerRequest& request) {
  if (std::string reason = reject(request); !reason.empty()) return Reject{reason};
  auto numbering = std::make_shared<Numbering>();
  numbering->node = request.node;
  numbering->inputs = request.inputs;
  numbering->output = request.outputs[0];
  numbering->scatters = request.inputs.size() == 3;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const Tensor* constant = request.constant(i);
    numbering->constants.push_back(constant != nullptr ? *constant : Tensor());
  }
  Candidate candidate;
  candidate.kernel = numbering->scatters ? "scatter_known" : "gather_known";
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.outputs = {Layout::linear};
  candidate.holds = request.constants();
  if (numbering->scatters && !numbering->constants[0]) candidate.overwrites = {0};
  candidate.prepare = [numbering](const BindArgs&) {
    return std::vector<Preparation>{preparation<KnownMoves>(
        numbering->key(), {numbering->constants[1]}, [numbering] { return numbering->moves(); })};
  };
  candidate.bind = [numbering](const BindArgs& bind) -> RunStep {
    return MoveKnown{bind.prepared_as<KnownMoves>(), numbering->constants,
                     numbering->output.shape.elements(), dtype_bytes(numbering->output.dtype)};
  };
  return candidate;
}

}  // namespace octet

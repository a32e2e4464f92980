// SPDX-License-Identifier: Apache-2.0
#include "backends/test/backend.h"

#include <algorithm>

#include "backends/cpu/lower/convert.h"
#include "backends/cpu/lower/lowerings.h"
#include "backends/reference/reference.h"
#include "backends/test/device.h"
#include "backends/test/queue.h"
#include "backends/test/repack.h"

namespace octet {
namespace {

// The step in the queue of its arguments.
RunStep later(TestStep work) {
  return [step = std::make_shared<const TestStep>(std::move(work))](const StepArgs& args) {
    static_cast<TestQueue&>(args.queue).run(step, args);
  };
}

Candidate on_device(Candidate candidate, std::string name) {
  candidate.bind = [bind = std::move(candidate.bind),
                    name = std::move(name)](const BindArgs& args) {
    return later({name, args.inputs.size(), args.outputs.size(), bind(args)});
  };
  return candidate;
}

// The same for one node of one device in every plan.
u32 chance(const LowerRequest& request) {
  u32 hash = 2166136261u ^ static_cast<const TestDevice*>(request.target.device)->number();
  for (const char c : request.node.name) hash = (hash ^ static_cast<u8>(c)) * 16777619u;
  return hash >> 8;
}

// The CPU's lowerings know no blocks.
LowerRequest without_blocks(LowerRequest request) {
  for (Layout& layout : request.layouts) layout = layout == Layout::nhwc ? layout : Layout::linear;
  return request;
}

// The CPU's candidate as the device runs it, a part of the nodes in blocks of channels.
Candidate brought(Candidate candidate, const LowerRequest& request) {
  constexpr Layout kLayouts[] = {Layout::nhwc_c32, Layout::nc32hw32};
  if (chance(request) % 4 == 1) {
    const u32 which = chance(request) / 4;
    candidate =
        with_blocks(std::move(candidate), request, kLayouts[which % 2], kLayouts[which / 2 % 2]);
  }
  return on_device(std::move(candidate), request.node.name);
}

Offer offer_of(const LowerRequest& request, Offer (*lowering)(const LowerRequest&)) {
  const u32 number = static_cast<const TestDevice*>(request.target.device)->number();
  if (number > 0 && chance(request) % 3 == 0)
    return Reject{"the device's number leaves it to the host"};
  Offer offer = lowering(without_blocks(request));
  if (Candidate* candidate = std::get_if<Candidate>(&offer))
    return brought(std::move(*candidate), request);
  if (Candidates* several = std::get_if<Candidates>(&offer)) {
    for (Candidate& candidate : *several) candidate = brought(std::move(candidate), request);
  }
  return offer;
}

template <Offer (*kLowering)(const LowerRequest&)>
Offer lower_for_test(const LowerRequest& request) {
  return offer_of(request, kLowering);
}

constexpr Lowering kLowerings[] = {
#define LOWERING(op, function, f32) {op, #function, lower_for_test<function>},
#include "backends/cpu/lower/lowerings.def"
#undef LOWERING
};

Candidate test_reference(const LowerRequest& request) {
  return on_device(reference_candidate(request), request.node.name);
}

Candidate test_convert(const TensorType& type, Layout from, Layout to, const Target& target) {
  const bool blocks = std::max(from, to) > Layout::nhwc;
  return on_device((blocks ? reference_convert : cpu_convert)(type, from, to, target),
                   "a change of layout");
}

RunStep test_fill_border(const BorderFill& border) {
  return later({"a border", 0, border.output + 1, reference_fill_border(border)});
}

Backend backend_of(bool mixed) {
  return {.name = "test",
          .lowerings = kLowerings,
          .reference = mixed ? nullptr : test_reference,
          .convert = test_convert,
          .fill_border = test_fill_border,
          .channel_blocks = true,
          .relabel_s8 = true};
}

}  // namespace

const Backend& test_backend(bool mixed) {
  static const Backend whole = backend_of(false), part = backend_of(true);
  return mixed ? part : whole;
}

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
// A model's image of planes rounded to 16 bits and turned into pixels in one pass, where only kernels that want pixels read it.
#include <algorithm>
#include <array>
#include <string_view>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/codes/move/move.h"
#include "backends/cpu/kernels/float/unary.h"
#include "backends/cpu/lower/bf16_values.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_unary.h"
#include "backends/cpu/lower/rounding.h"
#include "backends/host/queue.h"
#include "plan/own_attributes.h"

namespace octet {
namespace {

// Pixels at a time, and channels that they have at most: what is turned stays in the first cache.
constexpr s64 kPixels = 256, kMostChannels = 8;

struct RoundImageStep {
  UnaryChoice choice;
  Isa isa;
  s64 images, channels, plane;
  bool halves;  // are what is stored; else f32

  void piece(const f32* src, std::byte* dst, s64 pixels) const noexcept {
    alignas(64) std::array<f32, kPixels * kMostChannels> turned;
    const s64 count = pixels * channels;
    transpose_matrix({src, plane, turned.data(), channels, channels, pixels, isa}, sizeof(f32));
    const UnaryArgs args{turned.data(), dst, count, choice.a, choice.b, 0, false, halves};
    (halves ? choice.halves : choice.function)(&args);
  }

  void operator()(const StepArgs& step) const noexcept {
    const s64 pieces = (plane + kPixels - 1) / kPixels;
    pool_of(step).parallel_for(images * pieces, [&](s64 begin, s64 end, int) {
      for (s64 i = begin; i < end; ++i) {
        const s64 first = i % pieces * kPixels, image = i / pieces * channels * plane;
        piece(f32_input(step, 0) + image + first,
              step.outputs[0] + (image + first * channels) * element_bytes(halves),
              std::min(kPixels, plane - first));
      }
    });
  }
};

// Kernels of f32 that read an image by pixels.
bool wants_pixels(const Node& node) {
  constexpr std::string_view kReaders[] = {"Conv", "MaxPool", "AveragePool"};
  return std::ranges::find(kReaders, node.op->name) != std::end(kReaders);
}

}  // namespace

void mark_pixels(Graph& graph) {
  const Uses uses(graph);
  for (Node& node : graph.nodes) {
    if (node.op->name != "RoundTo") continue;
    const ValueId from = node.inputs[0], to = node.outputs[0];
    const Shape& shape = graph.value(from).type.shape;
    const bool image = shape.rank() == 4 && shape[1] > 1 && shape[1] <= kMostChannels;
    if (image && uses.producer(from) < 0 && !graph.is_constant(from) && !uses.is_output(to) &&
        std::ranges::all_of(uses.consumers(to),
                            [&](u32 n) { return wants_pixels(graph.nodes[n]); }))
      node.attrs.set(kGivesPixels, s64{1});
  }
}

Offer lower_f_round_image(const LowerRequest& request) {
  if (std::string reason = halves_reject(request); !reason.empty()) return Reject{reason};
  if (request.node.attrs.i(kGivesPixels, 0) == 0) return Reject{"not all that read it want pixels"};
  if (request.layouts[0] != Layout::linear) return Reject{"the image is no planes"};
  const UnaryChoice choice = choose_unary(request);
  if (!choice.reject.empty()) return Reject{choice.reject};
  const Isa isa = isa_of(request.target);
  const Shape& shape = request.inputs[0].shape;
  Candidate candidate;
  candidate.kernel = kernel_name("f32", choice.name + "_pixels", isa);
  candidate.inputs = {Layout::linear};
  candidate.outputs = {Layout::nhwc};
  const RoundImageStep step{
      choice, isa, shape[0], shape[1], shape[2] * shape[3], is_stored_half(request.outputs[0])};
  candidate.bind = [step](const BindArgs&) -> RunStep { return step; };
  return candidate;
}

}  // namespace octet

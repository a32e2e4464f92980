// SPDX-License-Identifier: Apache-2.0
// QInstanceNormalization of images of reals: the f32 normalization, whose reals become codes in registers.
#include <numeric>
#include <vector>

#include "backends/cpu/lower/f_channel_moments.h"
#include "backends/cpu/lower/q_common.h"
#include "ops/attributes/normalization.h"
#include "ops/quantized/code_rows.h"

namespace octet {
namespace {

std::string reject(const LowerRequest& request) {
  if (std::string reason = vectors_reject(isa_of(request.target)); !reason.empty()) return reason;
  if (request.constant(0) != nullptr) return "the input is a constant";
  if (request.inputs[0].dtype != Dtype::f32) return "the input is not f32";
  if (request.inputs[0].shape.rank() != 4) return "only images are normalized";
  if (request.inputs[0].shape.elements() == 0) return "there is nothing to normalize";
  for (size_t i : {1u, 2u}) {
    if (request.constant(i) == nullptr) return "scale or bias is not constant";
    if (request.constant(i)->dtype() != Dtype::f32) return "scale or bias is not f32";
  }
  if (epilogue_of(request.node).output_dtype != Dtype::u8) return "the output codes are not u8";
  return {};
}

// Pixels that are taken as one of more channels, so that few channels fill the registers of a row.
s64 group_of(s64 channels) {
  constexpr s64 kRow = 64, kWidest = 192;
  const s64 group = kRow / std::gcd(channels, kRow);
  return channels * group <= kWidest ? group : 1;
}

struct CodeNormStep {
  void (*normalize)(const CodeNormalizeArgs*);
  ChannelMoments moments;
  Tensor scale, bias;
  RowScales scales;
  CodeRange range;
  s64 group = 1;

  s64 wide() const { return group * moments.channels(); }
  // Behind the moments: mean, factor, scale and bias of a group of pixels, of each image.
  s64 bytes() const { return moments.bytes() + moments.shape[0] * 4 * wide() * s64{sizeof(f32)}; }

  void spread(const f32* room, f32* parameters, s64 image) const noexcept {
    const s64 channels = moments.channels();
    const f32* each[] = {moments.means(room, image), moments.factors(room, image),
                         reinterpret_cast<const f32*>(scale.data()),
                         reinterpret_cast<const f32*>(bias.data())};
    for (const f32* of : each) {
      for (s64 g = 0; g < group; ++g, parameters += channels) std::copy_n(of, channels, parameters);
    }
  }

  void operator()(const StepArgs& step) const noexcept {
    f32* room = reinterpret_cast<f32*>(step.workspace);
    f32* parameters = room + moments.bytes() / s64{sizeof(f32)};
    moments.measure(f32_input(step, 0), room, step);
    const s64 images = moments.shape[0], channels = moments.channels();
    for (s64 image = 0; image < images; ++image)
      spread(room, parameters + image * 4 * wide(), image);
    const s64 groups = (moments.pixels() + group - 1) / group;
    pool_of(step).parallel_for(images * groups, [&](s64 begin, s64 end, int) {
      while (begin < end) {
        const s64 image = begin / groups, first = begin % groups * group;
        const s64 last = std::min(first + (end - begin) * group, moments.pixels());
        const f32* of_image = parameters + image * 4 * wide();
        const s64 at = (image * moments.pixels() + first) * channels;
        run(f32_input(step, 0) + at, u8_output(step, 0) + at, last - first, of_image);
        begin += (last - first + group - 1) / group;
      }
    });
  }

  void run(const f32* src, u8* dst, s64 pixels, const f32* parameters) const noexcept {
    const s64 rows = pixels / group, rest = pixels % group * moments.channels();
    CodeNormalizeArgs args{src,
                           dst,
                           wide(),
                           rows,
                           parameters,
                           parameters + wide(),
                           parameters + 2 * wide(),
                           parameters + 3 * wide(),
                           scales.y,
                           static_cast<f32>(range.zero_point),
                           static_cast<f32>(range.lo),
                           static_cast<f32>(range.hi)};
    normalize(&args);
    if (rest == 0) return;
    args.src += rows * wide();
    args.dst += rows * wide();
    args.count = rest;
    args.rows = 1;
    normalize(&args);
  }
};

}  // namespace

Offer lower_q_instance_norm_reals(const LowerRequest& request) {
  if (std::string reason = reject(request); !reason.empty()) return Reject{reason};
  const Isa isa = isa_of(request.target);
  const Shape& shape = request.inputs[0].shape;
  const CodeNormStep step{
      kernel_for(kInstanceNormU8, isa),
      {kernel_for(kColumnSumF32, isa), shape, attribute_of<&NormAttributes::epsilon>(request.node)},
      *request.constant(1),
      *request.constant(2),
      row_scales(request.node),
      epilogue_of(request.node).range,
      group_of(shape[1])};
  Candidate candidate;
  candidate.kernel = kernel_name("u8", kInstanceNormU8.name, isa);
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.holds = request.constants();
  candidate.inputs[0] = Layout::nhwc;
  candidate.outputs = {Layout::nhwc};
  candidate.workspace_bytes = step.bytes();
  candidate.bind = [step](const BindArgs&) -> RunStep { return step; };
  return candidate;
}

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/families/fold/fold.h"

#include <algorithm>
#include <vector>

#include "core/divide.h"

namespace octet::cuda {
namespace {

constexpr s64 kUnit = 16;  // bytes

Launch launch_of(const fold::Spec& spec) {
  return {.source = source_of("fold", spec),
          .shape = {.blocks = ceil_div(cells(spec), s64{fold::kThreads}),
                    .threads = fold::kThreads,
                    .programmatic_dependent = true}};
}

s64 used_numbers(const ConvGeometry& geometry) {
  return geometry.window.h().stride * geometry.window.h().stride * geometry.in_channels;
}

}  // namespace

Fold::Fold(const ConvGeometry& geometry, Number number)
    : step(geometry.window.h().stride),
      taps_h(ceil_div(geometry.window.h().kernel, step)),
      taps_w(ceil_div(geometry.window.w().kernel, step)),
      height(geometry.window.h().out + taps_h - 1),
      width(geometry.window.w().out + taps_w - 1),
      number_bytes(bytes_of(number)) {
  cell = ceil_div(used_numbers(geometry) * number_bytes, kUnit) * kUnit / number_bytes;
}

ConvGeometry Fold::folded(ConvGeometry geometry) const {
  const WindowAxis h = geometry.window.h(), w = geometry.window.w();
  geometry.in_channels = taps_w * cell;
  geometry.window.axes[1] = {.in = height, .out = h.out, .kernel = taps_h};
  geometry.window.axes[2] = {.in = w.out, .out = w.out};
  return geometry;
}

s64 Fold::place(const ConvGeometry& geometry, s64 k) const {
  const s64 channels = geometry.in_channels, c = k % channels, tap = k / channels;
  const s64 r = tap / geometry.window.w().kernel, s = tap % geometry.window.w().kernel;
  return (r / step * taps_w + s / step) * cell + (r % step * step + s % step) * channels + c;
}

std::string reject_fold(const ConvGeometry& geometry, Number number) {
  const WindowAxis &h = geometry.window.h(), &w = geometry.window.w();
  const auto plain = [&](const WindowAxis& axis) {
    return axis.stride == h.stride && axis.dilation == 1 && axis.kernel >= axis.stride;
  };
  constexpr s64 kMostNumbers = 16;
  const s64 used = used_numbers(geometry);
  if (geometry.groups != 1) return "it has groups";
  if (!plain(h) || !plain(w)) return "the window is dilated, or not square in its steps";
  if (used > kMostNumbers) return "a block of pixels has more than 16 channels";
  if (4 * used * bytes_of(number) < kUnit) return "a block of pixels has few channels";
  const Fold fold(geometry, number);
  return fold.cells(geometry.batch) > fold::kMostCells ? "there are 2^31 blocks of pixels" : "";
}

fold::Spec fold_spec(const ConvGeometry& geometry, const Fold& fold) {
  const WindowAxis &h = geometry.window.h(), &w = geometry.window.w();
  return {.images = field_of(geometry.batch),
          .in_h = field_of(h.in),
          .in_w = field_of(w.in),
          .channels = field_of(geometry.in_channels),
          .x = {},
          .x_channel = 1,
          .zero_point = 0,
          .number = Number::u8,
          .step = field_of(fold.step),
          .pad_top = field_of(h.pad_begin),
          .pad_left = field_of(w.pad_begin),
          .cell = field_of(fold.cell * fold.number_bytes),
          .height = field_of(fold.height),
          .width = field_of(fold.width)};
}

Candidate behind_fold(const LowerRequest& request, const FoldedInput& folded, Candidate inner) {
  const CudaDevice& device = device_of(request);
  Candidate candidate = inner;
  candidate.kernel = "folded_" + inner.kernel;
  candidate.alignment = 1;
  candidate.workspace_bytes = folded.fold.bytes(folded.images);
  const auto place = [folded](BindArgs bind) {
    bind.inputs[folded.input] = folded.fold.placement();
    if (!bind.input_offsets.empty()) bind.input_offsets[folded.input] = 0;
    return bind;
  };
  candidate.prepare = [=, &device](const BindArgs& bind) {
    std::vector<Preparation> all = inner.prepare(place(bind));
    all.push_back(prepare_kernel(device, launch_of(folded.spec(bind)).source));
    return all;
  };
  candidate.bind = [=](const BindArgs& bind) -> RunStep {
    BindArgs own = place(bind);
    own.prepared.pop_back();
    return [run = inner.bind(own), shape = launch_of(folded.spec(bind)).shape,
            held = bind.prepared_as<HeldKernel>(bind.prepared.size() - 1), input = folded.input,
            inputs = bind.inputs.size()](const StepArgs& args) {
      const auto* x = reinterpret_cast<const u8*>(args.inputs[input]);
      cuda_queue(args).launch(*held->kernel, shape,
                              fold::Params{x, reinterpret_cast<u8*>(args.workspace)});
      std::vector<const std::byte*> from(args.inputs, args.inputs + inputs);
      from[input] = args.workspace;
      run({from.data(), args.outputs, args.workspace, args.queue});
    };
  };
  return candidate;
}

}  // namespace octet::cuda

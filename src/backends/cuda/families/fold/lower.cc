// SPDX-License-Identifier: Apache-2.0
// QConv of few channels, as the first of a network: blocks of pixels become pixels of many channels (the kernel of this folder), whose convolution
// has stride 1 and no padding. Neighbouring cells of a row lie together, so all taps of a row are channels of one pixel.
#include <algorithm>
#include <array>

#include "backends/cuda/families/fold/spec.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/conv_request.h"
#include "core/divide.h"

namespace octet::cuda {
namespace {

// Bytes of a cell: what the tensor memory accelerator's strides are multiples of.
constexpr s32 kCell = 16;

struct Fold {
  s64 step = 1;                // of the window
  s64 taps_h = 1, taps_w = 1;  // cells of a window
  s64 height = 1, width = 1;   // cells of an image

  explicit Fold(const ConvRequest& conv)
      : step(conv.h().stride),
        taps_h(ceil_div(conv.h().kernel, step)),
        taps_w(ceil_div(conv.w().kernel, step)),
        height(conv.h().out + taps_h - 1),
        width(conv.w().out + taps_w - 1) {}

  s64 cells(s64 images) const { return images * height * width; }
  s64 bytes(s64 images) const { return cells(images) * kCell; }
  Placement placement() const {
    return {.layout = Layout::nhwc,
            .pixel_stride = kCell,
            .row_stride = width * kCell,
            .image_stride = height * width * kCell};
  }
};

std::string reject(const ConvRequest& conv) {
  const auto plain = [&](const WindowAxis& axis) {
    return axis.stride == conv.h().stride && axis.dilation == 1 && axis.kernel >= axis.stride;
  };
  const s64 used = conv.h().stride * conv.h().stride * conv.cin();
  if (conv.geometry.groups != 1) return "it has groups";
  if (!plain(conv.h()) || !plain(conv.w()))
    return "the window is dilated, or not square in its steps";
  if (used > kCell) return "a block of pixels has more than 16 channels";
  if (4 * used < kCell) return "a block of pixels has few channels";
  const Fold fold(conv);
  if (fold.cells(conv.geometry.batch) > fold::kMostCells) return "there are 2^31 blocks of pixels";
  return {};
}

// Cells are pixels whose channels are the cells of a row of the window, which overlap from pixel to pixel.
ConvRequest folded(const ConvRequest& conv, const Fold& fold) {
  ConvRequest result = conv;
  const s64 channels = fold.taps_w * kCell, outputs = conv.geometry.out_channels;
  result.geometry.in_channels = channels;
  result.geometry.window.axes[1] = {.in = fold.height, .out = conv.h().out, .kernel = fold.taps_h};
  result.geometry.window.axes[2] = {.in = conv.w().out, .out = conv.w().out};
  result.x = {conv.geometry.batch, channels, fold.height, conv.w().out};
  result.strides = {.channel = fold.taps_h * channels, .cin = 1, .tap = channels};
  result.weights = Tensor(Dtype::s8, {outputs, fold.taps_h, 1, channels});
  s8* to = result.weights.mutable_as<s8>().data();
  for (s64 i = 0; i < outputs * conv.k(); ++i) {
    const s64 k = i % conv.k(), c = k % conv.cin(), tap = k / conv.cin();
    const s64 r = tap / conv.w().kernel, s = tap % conv.w().kernel;
    const s64 cell = r / fold.step * fold.taps_w + s / fold.step;
    const s64 in_cell = (r % fold.step * fold.step + s % fold.step) * conv.cin() + c;
    to[i / conv.k() * fold.taps_h * channels + cell * kCell + in_cell] =
        conv.weight(i / conv.k(), k);
  }
  return result;
}

Launch fold_launch(const ConvRequest& conv, const Fold& fold, const BindArgs& bind) {
  const fold::Spec spec{.images = field_of(conv.geometry.batch),
                        .in_h = field_of(conv.h().in),
                        .in_w = field_of(conv.w().in),
                        .channels = field_of(conv.cin()),
                        .x = conv.input_strides(bind.inputs[kProductX]),
                        .zero_point = conv.product.epilogue.zero_point(kProductX),
                        .step = field_of(fold.step),
                        .pad_top = field_of(conv.h().pad_begin),
                        .pad_left = field_of(conv.w().pad_begin),
                        .cell = kCell,
                        .height = field_of(fold.height),
                        .width = field_of(fold.width)};
  return {.source = source_of("fold", spec),
          .shape = {.blocks = ceil_div(cells(spec), s64{fold::kThreads}),
                    .threads = fold::kThreads,
                    .programmatic_dependent = true}};
}

// The candidate of the folded convolution behind the step that folds.
Candidate behind_fold(const LowerRequest& request, const ConvRequest& conv, Candidate inner) {
  const Fold fold(conv);
  const CudaDevice& device = device_of(request);
  Candidate candidate = inner;
  candidate.kernel = "folded_" + inner.kernel;
  candidate.alignment = 1;
  candidate.workspace_bytes = fold.bytes(conv.geometry.batch);
  const auto place = [fold](BindArgs bind) {
    bind.inputs[kProductX] = fold.placement();
    if (!bind.input_offsets.empty()) bind.input_offsets[kProductX] = 0;
    return bind;
  };
  candidate.prepare = [=, &device](const BindArgs& bind) {
    std::vector<Preparation> all = inner.prepare(place(bind));
    all.push_back(prepare_kernel(device, fold_launch(conv, fold, bind).source));
    return all;
  };
  candidate.bind = [=](const BindArgs& bind) -> RunStep {
    BindArgs own = place(bind);
    own.prepared.pop_back();
    return [run = inner.bind(own), shape = fold_launch(conv, fold, bind).shape,
            held = bind.prepared_as<HeldKernel>(bind.prepared.size() - 1),
            inputs = bind.inputs.size()](const StepArgs& args) {
      const auto* x = reinterpret_cast<const u8*>(args.inputs[kProductX]);
      cuda_queue(args).launch(*held->kernel, shape,
                              fold::Params{x, reinterpret_cast<u8*>(args.workspace)});
      std::array<const std::byte*, kProductAddend + 1> from{};
      std::copy_n(args.inputs, inputs, from.begin());
      from[kProductX] = args.workspace;
      run({from.data(), args.outputs, args.workspace, args.queue});
    };
  };
  return candidate;
}

}  // namespace

Offer lower_conv_folded(const LowerRequest& request) {
  ConvRequest conv;
  if (std::string reason = read_conv(request, conv); !reason.empty()) return Reject{reason};
  if (std::string reason = reject(conv); !reason.empty()) return Reject{reason};
  const Fold fold(conv);
  Offer offer = conv_wgmma_offer(request, folded(conv, fold), Layout::nhwc);
  Candidates* candidates = std::get_if<Candidates>(&offer);
  if (candidates == nullptr) return offer;
  for (Candidate& candidate : *candidates) {
    candidate = behind_fold(request, conv, std::move(candidate));
    candidate.cost +=
        bytes_cost(static_cast<f64>(fold.bytes(conv.geometry.batch) + conv.x.elements()),
                   device_of(request).chip());
  }
  return offer;
}

}  // namespace octet::cuda

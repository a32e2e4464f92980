// SPDX-License-Identifier: Apache-2.0
// DepthToSpace of nhwc images. In mode DCR the channels of a pixel for one row of its block lie next to each other already, so every
// pixel gives one run of bytes to each row of the output; in mode CRD they lie apart and are picked.
#include <cstring>

#include "backends/cpu/lower/q_common.h"
#include "backends/host/queue.h"
#include "ops/shared/space_depth.h"

namespace octet {
namespace {

struct Interleave {
  Shape input;
  s64 block;
  bool apart;  // the channels of an output pixel
  s64 bytes;   // of an output pixel
  size_t element;
  Placement from, to;

  void operator()(const StepArgs& args) const noexcept {
    pool_of(args).parallel_for(input[0] * input[2], [&](s64 begin, s64 end, int) {
      for (s64 row = begin; row < end; ++row) copy_row(args, row / input[2], row % input[2]);
    });
  }

 private:
  static s64 at(const Placement& place, s64 image, s64 row) {
    return image * place.image_stride + row * place.row_stride;
  }

  void copy_row(const StepArgs& args, s64 image, s64 y) const noexcept {
    const auto size = static_cast<s64>(element);
    const std::byte* row = args.inputs[0] + at(from, image, y) * size;
    for (s64 i = 0; i < block; ++i) {
      std::byte* dst = args.outputs[0] + at(to, image, y * block + i) * size;
      if (!apart) {
        copy_runs(row + i * block * bytes, dst);
      } else if (element == sizeof(u8)) {
        pick<u8>(row, i, dst);
      } else {
        pick<f32>(row, i, dst);
      }
    }
  }

  // Row `i` of the blocks.
  template <class T>
  void pick(const std::byte* row, s64 i, std::byte* to_row) const noexcept {
    const s64 channels = bytes / static_cast<s64>(sizeof(T)), area = block * block;
    const T* src = reinterpret_cast<const T*>(row) + i * block;
    T* dst = reinterpret_cast<T*>(to_row);
    for (s64 x = 0; x < input[3]; ++x, src += from.pixel_stride) {
      for (s64 j = 0; j < block; ++j, dst += to.pixel_stride) {
        for (s64 c = 0; c < channels; ++c) dst[c] = src[c * area + j];
      }
    }
  }

  void copy_runs(const std::byte* src, std::byte* dst) const noexcept {
    const s64 from_step = from.pixel_stride * static_cast<s64>(element);
    const s64 to_step = to.pixel_stride * static_cast<s64>(element);
    // Output pixels without gaps between them are one run.
    const bool dense = to_step == bytes;
    const s64 runs = dense ? 1 : block, length = dense ? bytes * block : bytes;
    const s64 next = dense ? length : to_step;
    for (s64 x = 0; x < input[3]; ++x, src += from_step) {
      for (s64 i = 0; i < runs; ++i, dst += next) copy_run(src + i * bytes, dst, length);
    }
  }

  // Calls to memcpy would cost more than the copies of short runs.
  static void copy_run(const std::byte* src, std::byte* dst, s64 length) noexcept {
    constexpr s64 kStep = 16, kShort = 128;
    if (length % kStep != 0 || length > kShort) {
      std::memcpy(dst, src, static_cast<size_t>(length));
      return;
    }
    for (s64 i = 0; i < length; i += kStep) std::memcpy(dst + i, src + i, kStep);
  }
};

}  // namespace

Offer lower_q_interleave(const LowerRequest& request) {
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  if (common_layout(request) == Layout::linear) return Reject{"the input is not nhwc"};
  const SpaceDepth depth = space_depth_of(request.node, request.inputs[0].shape);
  const size_t element = dtype_bytes(request.inputs[0].dtype);
  const bool apart = !depth.depth_first;
  if (apart && request.outputs[0].shape[1] == 1)
    return Reject{"the mode is CRD and the result has one channel: planes are copied faster"};
  if (apart && element != sizeof(u8) && element != sizeof(f32))
    return Reject{"in mode CRD elements of one or four bytes are picked"};
  if (request.outputs[0].shape.elements() == 0) return Reject{"the result is empty"};
  Candidate candidate = candidate_of(request, "interleave_pixels", Layout::nhwc);
  candidate.strided = candidate.by_image = true;
  candidate.bind = [input = request.inputs[0], output = request.outputs[0].shape,
                    block = depth.block, apart](const BindArgs& bind) -> RunStep {
    Interleave step;
    step.input = input.shape;
    step.block = block;
    step.apart = apart;
    step.element = dtype_bytes(input.dtype);
    step.bytes = output[1] * static_cast<s64>(step.element);
    step.from = nhwc_placement(input.shape, bind.inputs[0]);
    step.to = nhwc_placement(output, bind.outputs[0]);
    return step;
  };
  return candidate;
}

}  // namespace octet

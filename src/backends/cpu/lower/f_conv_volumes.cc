// SPDX-License-Identifier: Apache-2.0
// f32 convolution of one or three dimensions by the kernels of images (kernels/float/panel.h). Such values lie as the graph has them: strips of the
// input are turned into pixels of all channels, with zeros around them, and results are turned back. What this does not take is f_conv.cc's.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/codes/move/move.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_dnnl.h"
#include "backends/cpu/lower/f_panels.h"
#include "backends/cpu/lower/f_sum_end.h"
#include "backends/cpu/lower/q_common.h"
#include "backends/cpu/lower/unit_rates.h"
#include "backends/host/queue.h"

namespace octet {
namespace {

enum : size_t { kX, kWeights, kBias, kResidual };

constexpr s64 kBytes = sizeof(f32);
// Below this many multiply-adds, waking a thread costs more than it saves.
constexpr s64 kSerialMacs = 500000;
// Pixels of a strip, at least where there are so many: a block of the kernels.
constexpr s64 kFewestColumns = 14;

s64 parts(s64 count, s64 of) { return (count + of - 1) / of; }
s64 up(s64 count, s64 to) { return parts(count, to) * to; }

// What outputs read along an axis.
s64 read_by(const WindowAxis& axis, s64 outputs) {
  return (outputs - 1) * axis.stride + axis.extent();
}

struct VolumeSpec {
  ConvGeometry geometry;
  PanelKernel kernel;
  Isa isa;
  SumEndArgs end;
  bool residual;
  int threads;
};

// Outputs of one plane that are computed at once, and what they read: the kernel's planes, in each the rows and columns under the strip.
struct Strips {
  s64 rows, columns;
  s64 pixel, row, plane;  // elements from one to the next
  s64 copied;             // elements
  s64 results;            // elements of a panel's row of outputs
  s64 in_plane, count;    // strips of a plane, and of all

  explicit Strips(const VolumeSpec& spec) {
    const ConvGeometry& g = spec.geometry;
    const WindowAxis &h = g.window.h(), &w = g.window.w();
    rows = h.out;
    columns = w.out;
    pixel = spread_pixels(g.in_channels);
    const s64 room = core_cache_bytes() / 4 / kBytes;
    const s64 planes = g.batch * g.window.d().out;
    const auto too_large = [&] { return g.window.d().kernel * plane_elements(h, w) > room; };
    const auto too_few = [&] {
      return macs(g) > kSerialMacs && planes * strips(h, w) < spec.threads;
    };
    while (rows > 1 && (too_large() || too_few())) rows = parts(rows, 2);
    while (columns > kFewestColumns && (too_large() || too_few())) columns = parts(columns, 2);
    row = pixel * read_by(w, columns);
    plane = row * read_by(h, rows);
    copied = up(plane * g.window.d().kernel, 16);
    results = up(columns * spec.kernel.lanes * kPanelVectors, 16);
    in_plane = strips(h, w);
    count = planes * in_plane;
  }

  static s64 macs(const ConvGeometry& g) {
    return g.batch * g.out_channels * g.in_channels_per_group() * g.window.kernel_elements() *
           g.window.out_elements();
  }

 private:
  s64 plane_elements(const WindowAxis& h, const WindowAxis& w) const {
    return pixel * read_by(w, columns) * read_by(h, rows);
  }
  s64 strips(const WindowAxis& h, const WindowAxis& w) const {
    return parts(h.out, rows) * parts(w.out, columns);
  }
};

class VolumeProduct {
 public:
  VolumeProduct(const VolumeSpec& spec, const BindArgs& bind)
      : spec_(spec), strips_(spec), packed_(bind.prepared_as<PackedPanels>()) {
    const ConvGeometry& g = spec.geometry;
    const auto& [d, h, w] = g.window.axes;
    const s64 channels = g.in_channels_per_group();
    const bool joined = g.groups == 1 && w.dilation == 1 && strips_.pixel == channels;
    run_length_ = channels * (joined ? w.kernel : 1);
    for (s64 z = 0; z < d.kernel; ++z) {
      for (s64 y = 0; y < h.kernel; ++y) {
        const s64 first = z * strips_.plane + y * h.dilation * strips_.row;
        for (s64 x = 0; x < (joined ? 1 : w.kernel); ++x)
          runs_.push_back(first + x * w.dilation * strips_.pixel);
      }
    }
  }

  static s64 workspace_bytes(const VolumeSpec& spec) {
    const Strips strips(spec);
    return (strips.copied + (spec.residual ? 2 : 1) * strips.results) * kBytes * spec.threads;
  }

  void operator()(const StepArgs& args) const noexcept {
    const auto body = [&](s64 begin, s64 end, int thread) {
      for (s64 i = begin; i < end; ++i) run(args, unit_at(i), thread);
    };
    if (Strips::macs(spec_.geometry) <= kSerialMacs) return body(0, strips_.count, 0);
    pool_of(args).parallel_for(strips_.count, body);
  }

 private:
  struct Unit {
    s64 image, plane, row, rows, column, columns;
  };

  Unit unit_at(s64 index) const noexcept {
    const auto& [d, h, w] = spec_.geometry.window.axes;
    const s64 of_row = parts(w.out, strips_.columns), planes = index / strips_.in_plane;
    const s64 row = index % strips_.in_plane / of_row * strips_.rows;
    const s64 column = index % of_row * strips_.columns;
    return {planes / d.out,
            planes % d.out,
            row,
            std::min(strips_.rows, h.out - row),
            column,
            std::min(strips_.columns, w.out - column)};
  }

  void run(const StepArgs& args, const Unit& unit, int thread) const noexcept {
    const s64 of_thread = strips_.copied + (spec_.residual ? 2 : 1) * strips_.results;
    f32* const pixels = reinterpret_cast<f32*>(args.workspace) + thread * of_thread;
    copy(reinterpret_cast<const f32*>(args.inputs[kX]), unit, pixels);
    const s64 width = spec_.kernel.lanes * kPanelVectors;
    for (s64 group = 0; group < spec_.geometry.groups; ++group) {
      for (s64 first = 0; first < spec_.geometry.out_channels_per_group(); first += width)
        run_panel(args, unit, pixels, {group, first});
    }
  }

  void copy(const f32* x, const Unit& unit, f32* to) const noexcept {
    const ConvGeometry& g = spec_.geometry;
    const auto& [d, h, w] = g.window.axes;
    const f32* image = x + unit.image * g.in_channels * g.window.in_elements();
    const s64 rows = read_by(h, unit.rows);
    for (s64 k = 0; k < d.kernel; ++k) {
      const s64 z = unit.plane * d.stride - d.pad_begin + k * d.dilation;
      for (s64 i = 0; i < rows; ++i) {
        const s64 y = unit.row * h.stride - h.pad_begin + i;
        const bool inside = z >= 0 && z < d.in && y >= 0 && y < h.in;
        copy_row(inside ? image + (z * h.in + y) * w.in : nullptr, unit,
                 to + k * strips_.plane + i * strips_.row);
      }
    }
  }

  // Null: zeros.
  void copy_row(const f32* from, const Unit& unit, f32* to) const noexcept {
    const ConvGeometry& g = spec_.geometry;
    const WindowAxis& w = g.window.w();
    const s64 width = read_by(w, unit.columns), first = unit.column * w.stride - w.pad_begin;
    const s64 begin = std::clamp<s64>(-first, 0, width);
    const s64 end = from == nullptr ? begin : std::clamp<s64>(w.in - first, begin, width);
    const s64 pixel = strips_.pixel;
    std::memset(to, 0, static_cast<size_t>(begin * pixel * kBytes));
    std::memset(to + end * pixel, 0, static_cast<size_t>((width - end) * pixel * kBytes));
    if (end > begin)
      transpose_matrix({from + first + begin, g.window.in_elements(), to + begin * pixel, pixel,
                        g.in_channels, end - begin, spec_.isa},
                       sizeof(f32));
  }

  struct Panel {
    s64 group, first;  // output channel of the group
  };

  void run_panel(const StepArgs& args, const Unit& unit, f32* pixels,
                 const Panel& at) const noexcept {
    const ConvGeometry& g = spec_.geometry;
    const WindowAxis &h = g.window.h(), &w = g.window.w();
    const s64 lanes = spec_.kernel.lanes, width = lanes * kPanelVectors;
    const s64 outs = g.out_channels_per_group(), padded = at.group * up(outs, lanes);
    const s64 values = g.in_channels_per_group() * g.window.kernel_elements();
    f32* const results = pixels + strips_.copied;
    f32* const residual = spec_.residual ? results + strips_.results : nullptr;
    PanelArgs panel{.src = pixels + at.group * g.in_channels_per_group(),
                    .src_step = w.stride * strips_.pixel,
                    .runs = runs_.data(),
                    .run_count = static_cast<s64>(runs_.size()),
                    .run_length = run_length_,
                    .weights = packed_->weights.as<f32>().data() + (padded + at.first) * values,
                    .bias = packed_->bias.as<f32>().data() + padded + at.first,
                    .residual = residual,
                    .dst = results,
                    .dst_step = width,
                    .residual_step = width,
                    .count = unit.columns,
                    .channels = std::min(width, outs - at.first),
                    .end = spec_.end,
                    .residual_halves = false,
                    .dst_halves = false};
    const s64 plane = g.window.out_elements();
    const s64 channel = unit.image * g.out_channels + at.group * outs + at.first;
    for (s64 r = 0; r < unit.rows; ++r, panel.src += h.stride * strips_.row) {
      const s64 first = channel * plane + (unit.plane * h.out + unit.row + r) * w.out + unit.column;
      if (residual != nullptr)
        transpose_matrix({reinterpret_cast<const f32*>(args.inputs[kResidual]) + first, plane,
                          residual, width, panel.channels, unit.columns, spec_.isa},
                         sizeof(f32));
      spec_.kernel.function(&panel);
      transpose_matrix({results, width, reinterpret_cast<f32*>(args.outputs[0]) + first, plane,
                        unit.columns, panel.channels, spec_.isa},
                       sizeof(f32));
    }
  }

  VolumeSpec spec_;
  Strips strips_;
  std::shared_ptr<const PackedPanels> packed_;
  std::vector<long> runs_;
  s64 run_length_;
};

std::string reject(const LowerRequest& request) {
  if (std::string reason = float_reject(request); !reason.empty()) return reason;
  if (request.inputs[kX].shape.rank() == 4) return "the input is an image";
  if (request.constant(kWeights) == nullptr) return "the weights are not constant";
  if (request.has_input(kBias) && request.constant(kBias) == nullptr)
    return "the bias is not constant";
  if (request.constant(kX) != nullptr) return "the input is constant";
  if (request.constant(kResidual) != nullptr) return "the residual is constant";
  if (request.outputs[0].shape.elements() == 0) return "the output is empty";
  if (multiplies_bf16(request)) return "the products are of bf16";
  return {};
}

}  // namespace

Offer lower_f_conv_volumes(const LowerRequest& request) {
  if (std::string reason = reject(request); !reason.empty()) return Reject{reason};
  const Isa isa = isa_of(request.target);
  const VolumeSpec spec{
      conv_geometry(request.node, request.inputs[kX].shape, request.inputs[kWeights].shape),
      panel_kernel(isa),
      isa,
      sum_end_of(request.node),
      request.has_input(kResidual),
      request.target.threads};
  const ConvGeometry& g = spec.geometry;
  const s64 outs = g.out_channels_per_group(), ins = g.in_channels_per_group();
  // A vector of which most lanes are idle; where nothing else has vectors they are faster than none.
  if (g.groups > 1 && 2 * outs < spec.kernel.lanes && dnnl_reject(request).empty())
    return Reject{"groups have too few channels"};
  Candidate candidate;
  candidate.kernel = kernel_name("f32", "conv_volume", isa);
  candidate.note = rounding_note(request.node);
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.outputs = {Layout::linear};
  candidate.holds = {false, true, request.has_input(kBias)};
  candidate.macs_per_cycle = real_unit_rate(isa);
  candidate.close = true;
  candidate.workspace_bytes = VolumeProduct::workspace_bytes(spec);
  const s64 taps = g.window.kernel_elements();
  const PanelWeights from{g.groups, outs, taps, ins, ins * taps, 1, taps};
  const Tensor weights = *request.constant(kWeights);
  const Tensor bias = request.has_input(kBias) ? *request.constant(kBias) : Tensor();
  candidate.prepare = [=, kernel = spec.kernel](const BindArgs&) {
    return std::vector<Preparation>{panels_preparation(weights, bias, from, kernel)};
  };
  candidate.bind = [spec](const BindArgs& bind) -> RunStep { return VolumeProduct(spec, bind); };
  return candidate;
}

}  // namespace octet

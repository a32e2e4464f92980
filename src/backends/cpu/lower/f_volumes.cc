// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/lower/f_volumes.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/codes/move/move.h"
#include "backends/cpu/lower/f_panels.h"
#include "backends/cpu/lower/q_common.h"
#include "backends/cpu/lower/rounding.h"
#include "backends/cpu/lower/unit_rates.h"
#include "backends/host/queue.h"
#include "core/divide.h"

namespace octet {
namespace {

enum : size_t { kX, kWeights, kBias, kResidual };

constexpr s64 kBytes = sizeof(f32);
// Pixels of a strip, at least where there are so many: a block of the kernels.
constexpr s64 kFewestColumns = 14;

}  // namespace

VolumeProduct::Strips::Strips(const VolumeSpec& spec) {
  const ConvGeometry& g = spec.geometry;
  const WindowAxis &d = g.window.d(), &h = g.window.h(), &w = g.window.w();
  rows = h.out;
  columns = w.out;
  pixel = spread_pixels(g.in_channels);
  const s64 room = core_cache_bytes() / 4 / kBytes, planes = g.batch * d.out;
  const auto measure = [&] {
    row = pixel * read_by(w, columns);
    plane = row * read_by(h, rows);
    in_plane = ceil_div(h.out, rows) * ceil_div(w.out, columns);
  };
  const auto too_large = [&] {
    measure();
    const bool few = is_worth_threads(g) && planes * in_plane < spec.threads;
    return few || d.kernel * plane > room;
  };
  while (rows > 1 && too_large()) rows = ceil_div(rows, 2);
  // Narrower strips would read mostly what their neighbours read, too.
  const s64 fewest = std::max(kFewestColumns, w.extent());
  while (columns > fewest && too_large()) columns = ceil_div(columns, 2);
  measure();
  copied = rounded_up(plane * d.kernel, 16);
  results = rounded_up(columns * spec.kernel.lanes * kPanelVectors, 16);
  count = planes * in_plane;
}

namespace {

// Panels of weights of a group.
s64 group_panels(const VolumeSpec& spec) {
  return ceil_div(spec.geometry.out_channels_per_group(), spec.kernel.lanes * kPanelVectors);
}

}  // namespace

VolumeProduct::VolumeProduct(const VolumeSpec& spec, const BindArgs& bind)
    : spec_(spec),
      strips_(spec),
      packed_(bind.prepared_as<PackedPanels>(spec.prepared)),
      out_elements_(spec.out[0].size * spec.out[1].size * spec.out[2].size) {
  const ConvGeometry& g = spec.geometry;
  const auto& [d, h, w] = g.window.axes;
  const s64 channels = g.in_channels_per_group();
  const bool joined = g.groups == 1 && w.dilation == 1 && strips_.pixel == channels;
  if (is_worth_threads(g))
    panel_parts_ = std::min(g.groups * group_panels(spec), ceil_div(spec.threads, strips_.count));
  run_length_ = channels * (joined ? w.kernel : 1);
  for (s64 z = 0; z < d.kernel; ++z) {
    for (s64 y = 0; y < h.kernel; ++y) {
      const s64 first = z * strips_.plane + y * h.dilation * strips_.row;
      for (s64 x = 0; x < (joined ? 1 : w.kernel); ++x)
        runs_.push_back(first + x * w.dilation * strips_.pixel);
    }
  }
}

s64 VolumeProduct::elements(const VolumeSpec& spec, const Strips& strips) {
  return strips.copied + (spec.residual ? 2 : 1) * strips.results;
}

s64 VolumeProduct::workspace_bytes(const VolumeSpec& spec) {
  return elements(spec, Strips(spec)) * kBytes * spec.threads;
}

void VolumeProduct::operator()(const StepArgs& args) const noexcept {
  const auto body = [&](s64 begin, s64 end, int thread) {
    for (s64 i = begin; i < end; ++i) run(args, i, thread);
  };
  if (!is_worth_threads(spec_.geometry)) return body(0, strips_.count, 0);
  pool_of(args).parallel_for(strips_.count * panel_parts_, body);
}

VolumeProduct::Unit VolumeProduct::unit_at(s64 index) const noexcept {
  const auto& [d, h, w] = spec_.geometry.window.axes;
  const s64 of_row = ceil_div(w.out, strips_.columns), planes = index / strips_.in_plane;
  const s64 row = index % strips_.in_plane / of_row * strips_.rows;
  const s64 column = index % of_row * strips_.columns;
  return {planes / d.out,
          planes % d.out,
          row,
          std::min(strips_.rows, h.out - row),
          column,
          std::min(strips_.columns, w.out - column)};
}

void VolumeProduct::run(const StepArgs& args, s64 index, int thread) const noexcept {
  f32* const pixels = reinterpret_cast<f32*>(args.workspace) + thread * elements(spec_, strips_);
  const Unit unit = unit_at(index / panel_parts_);
  copy(reinterpret_cast<const f32*>(args.inputs[kX]), unit, pixels);
  const s64 width = spec_.kernel.lanes * kPanelVectors, of_group = group_panels(spec_);
  const s64 panels = spec_.geometry.groups * of_group, part = index % panel_parts_;
  const s64 end = panels * (part + 1) / panel_parts_;
  for (s64 panel = panels * part / panel_parts_; panel < end; ++panel)
    run_panel(args, unit, pixels, {panel / of_group, panel % of_group * width});
}

void VolumeProduct::copy(const f32* x, const Unit& unit, f32* to) const noexcept {
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
void VolumeProduct::copy_row(const f32* from, const Unit& unit, f32* to) const noexcept {
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

void VolumeProduct::run_panel(const StepArgs& args, const Unit& unit, f32* pixels,
                              const Panel& at) const noexcept {
  const ConvGeometry& g = spec_.geometry;
  const WindowAxis &h = g.window.h(), &w = g.window.w();
  const auto& [planes, rows, columns] = spec_.out;
  const s64 lanes = spec_.kernel.lanes, width = lanes * kPanelVectors;
  const s64 outs = g.out_channels_per_group(), padded = at.group * rounded_up(outs, lanes);
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
  const s64 channel = unit.image * g.out_channels + at.group * outs + at.first;
  const s64 plane = planes.first + unit.plane * planes.step;
  for (s64 r = 0; r < unit.rows; ++r, panel.src += h.stride * strips_.row) {
    const s64 row = rows.first + (unit.row + r) * rows.step;
    const s64 first = channel * out_elements_ + (plane * rows.size + row) * columns.size +
                      columns.first + unit.column * columns.step;
    if (residual != nullptr)
      transpose_matrix({reinterpret_cast<const f32*>(args.inputs[kResidual]) + first, out_elements_,
                        residual, width, panel.channels, unit.columns, spec_.isa},
                       sizeof(f32));
    spec_.kernel.function(&panel);
    give(results, unit, panel.channels, reinterpret_cast<f32*>(args.outputs[0]) + first);
  }
}

// A row of outputs, pixel by pixel, to its channels.
void VolumeProduct::give(const f32* results, const Unit& unit, s64 channels,
                         f32* to) const noexcept {
  const s64 width = spec_.kernel.lanes * kPanelVectors, step = spec_.out[2].step;
  if (step == 1)
    return transpose_matrix({results, width, to, out_elements_, unit.columns, channels, spec_.isa},
                            sizeof(f32));
  for (s64 c = 0; c < channels; ++c, to += out_elements_) {
    for (s64 i = 0; i < unit.columns; ++i) to[i * step] = results[i * width + c];
  }
}

Candidate volumes_candidate(const LowerRequest& request, const std::vector<VolumeSpec>& specs) {
  Candidate candidate;
  candidate.note = rounding_note(request.node);
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.outputs = {Layout::linear};
  candidate.holds = {false, true, request.has_input(kBias)};
  candidate.macs_per_cycle = real_unit_rate(isa_of(request.target));
  candidate.close = true;
  for (const VolumeSpec& spec : specs)
    candidate.workspace_bytes =
        std::max(candidate.workspace_bytes, VolumeProduct::workspace_bytes(spec));
  return candidate;
}

}  // namespace octet

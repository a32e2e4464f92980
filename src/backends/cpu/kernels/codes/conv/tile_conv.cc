// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/conv/tile_conv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "backends/cpu/kernels/codes/conv/tile_merge.h"
#include "backends/cpu/kernels/codes/conv/tile_pack.h"
#include "backends/cpu/kernels/codes/epilogue_bounds.h"
#include "core/divide.h"

namespace octet {
namespace {

// Weights of all channels that stay in L1 beside the activations: below this the activations are read once.
constexpr s64 kSmallWeights = 24 << 10;
// Results of a few tiles of pixels that stay in L1 until all channels are there.
constexpr s64 kResultBudget = 24 << 10;
// Activations that stay in L2 while one block of weights after the other meets them.
constexpr s64 kActivationBudget = 512 << 10;
// A longer window's weights for four tiles of channels would not stay in L1.
constexpr s64 kWideSteps = 8;
// Tiles whose channels fill a cache line of codes.
constexpr s64 kLineTiles = 4;
// Of one tile: a step's multiplication, and its sums becoming codes.
constexpr f64 kStepCycles = 16, kFinishCycles = 30;

PaddedRows padded_rows(const ConvGeometry& g) { return {g.window, g.in_channels}; }

// Room for the copies of a block's windows.
s64 window_bytes(s64 steps) { return 4 * kTileRows * steps * kTileStep; }

ImageStrides strides_read(const ConvGeometry& g, const Placement& input) {
  if (window_border(g.window) > input.border) return padded_rows(g).strides();
  return {input.pixel_stride, input.row_stride};
}

// Tiles as few and as equal as they can be.
TileGrid line_grid(s64 positions) {
  const s64 tiles = ceil_div(positions, kTileRows);
  return {ceil_div(positions, tiles), positions, tiles, 1, positions, positions};
}

// One line over all rows where windows are evenly spaced from row to row, unless too many would straddle two.
TileGrid choose_grid(const ConvGeometry& g, const ImageStrides& in, s64 rows) {
  const s64 width = g.window.w().out;
  const s64 pixel = g.window.w().stride * in.pixel;
  const s64 row = g.window.h().stride * in.row;
  if (pixel <= 0 || row % pixel != 0) return line_grid(width);
  const s64 pitch = row / pixel;
  const s64 positions = (rows - 1) * pitch + width;
  if (pitch < width || tile_line_cost(positions) > rows * tile_line_cost(width))
    return line_grid(width);
  TileGrid grid = line_grid(positions);
  grid.run = width;
  grid.pitch = pitch;
  return grid;
}

// Steps of a window whose adjacent taps touch, as they do in dense pixels.
s64 dense_steps(const ConvGeometry& g) {
  const s64 run_bytes = conv_run_bytes(g, {g.in_channels, 0});
  const s64 taps = g.window.h().kernel * g.window.w().kernel;
  return taps * g.in_channels_per_group() / run_bytes * ceil_div(run_bytes, kTileStep);
}

// Short runs and few channels fill tiles with zeros; of large weights that would cost memory.
bool pads_too_much(const ConvGeometry& g, s64 depth) {
  constexpr f64 kMost = 16, kSmall = 1 << 20;
  const s64 tiles = ceil_div(g.out_channels_per_group(), kTileColumns);
  const f64 given = static_cast<f64>(depth) * static_cast<f64>(g.out_channels);
  const f64 packed = static_cast<f64>(dense_steps(g)) * static_cast<f64>(tiles * g.groups) *
                     static_cast<f64>(kTileWeights);
  return packed > kSmall && packed > kMost * given;
}

}  // namespace

const char* tile_conv_reject(const ConvGeometry& g, Isa isa) {
  if (!isa.has(Isa::amx)) return "the instruction set has no matrix tiles";
  if (g.window.rank != 2) return "only 2-D convolutions have a kernel";
  if (g.batch == 0 || g.window.out_elements() == 0) return "the output is empty";
  const s64 depth = g.in_channels_per_group() * g.window.h().kernel * g.window.w().kernel;
  if (depth < 8) return "windows of fewer than 8 bytes leave tiles empty";
  if (g.groups > 1 && g.out_channels_per_group() < kTileColumns)
    return "groups of fewer than 16 output channels leave tiles empty";
  if (pads_too_much(g, depth)) return "filled with zeros the weights would be 16 times as large";
  return padded_rows_reject(g.window, g.in_channels);
}

namespace {

bool overlap(const TileGrid& grid) { return grid.tiles * grid.rows != grid.line; }

// Images may follow one another in a line; whether they do, the output decides.
bool tiles_overlap(const ConvGeometry& g, const Placement& input) {
  const TileGrid grid = choose_grid(g, strides_read(g, input), g.window.h().out);
  return overlap(grid) || overlap(line_grid(g.batch * grid.line));
}

s64 thread_workspace_bytes(const ConvGeometry& g) {
  const s64 taps = g.window.h().kernel * g.window.w().kernel;
  const s64 most_steps = taps * ceil_div(g.in_channels_per_group(), kTileStep);
  const bool whole_steps = g.in_channels_per_group() % kTileStep == 0;
  const s64 windows = whole_steps ? 0 : window_bytes(most_steps);
  const s64 rows = window_border(g.window) > 0 ? padded_rows(g).buffer_bytes() : 0;
  return kTileSumBytes + windows + rows;
}

}  // namespace

bool tile_conv_overlaps(const ConvGeometry& g, const Placement& input) {
  if (folds(g)) return true;
  if (window_border(g.window) > input.border) return true;  // bands of rows, each with its own grid
  return tiles_overlap(g, input) || tiles_overlap(merged_geometry(g, merged_pixels(g)), input);
}

s64 tile_conv_workspace_bytes(const ConvGeometry& geometry, int threads) {
  const ConvGeometry g = tile_geometry(geometry);
  s64 bytes =
      thread_workspace_bytes(g) + window_bytes(dense_steps(merged_geometry(g, merged_pixels(g))));
  if (folds(geometry)) {
    const FoldedInput input(geometry, {}, 0);
    bytes += input.buffer_bytes() + input.scratch_bytes();
  }
  return threads * bytes;
}

namespace {

TileOrder order_of(const ConvSpec& spec) {
  const ImageStrides in = strides_read(spec.geometry, spec.input);
  const s64 run_bytes = conv_run_bytes(spec.geometry, in);
  const auto steps = static_cast<s64>(step_offsets(spec.geometry, in, run_bytes).size());
  return {run_bytes, steps, steps <= kWideSteps && !spec.epilogue.real};
}

}  // namespace

PackedTiles TileConv::pack(const TileKernel& kernel, const ConvSpec& spec) {
  return pack_tiles(spec.geometry, order_of(spec), spec.constants(), kernel.isa);
}

std::string TileConv::pack_key(const TileKernel& kernel, const ConvSpec& spec) {
  const TileOrder order = order_of(spec);
  return fmt::format("{} {} runs of {}{}", kernel.name,
                     constants_key(spec.geometry, spec.constants()), order.run_bytes,
                     order.wide ? " wide" : "");
}

TileConv::TileConv(const TileKernel& kernel, const ConvSpec& spec,
                   std::shared_ptr<const Packed> packed, const std::optional<FoldedInput>& folded)
    : kernel_(kernel),
      conv_(spec),
      folded_(folded),
      copy_(folded || window_border(spec.geometry.window) > spec.input.border),
      bounded_(
          epilogue_bounded(spec.multiplier, spec.epilogue, largest_sum(spec.geometry, spec.bias))),
      padding_(static_cast<u8>(spec.input_zero_point)),
      packed_(std::move(packed)) {
  const ConvGeometry& g = conv_.geometry;
  const auto [run_bytes, steps, wide] = order_of(spec);
  inside_ = run_bytes % kTileStep == 0;
  wide_ = wide;
  offsets_ = step_offsets(g, strides_read(g, conv_.input), run_bytes);
  for (s64 s = 0; s < steps; ++s) copied_offsets_.push_back(s * kTileStep);
  rows_bytes_ = folded_ ? folded_->buffer_bytes() : copy_ ? padded_rows(g).buffer_bytes() : 0;
  thread_bytes_ = kTileSumBytes + (inside_ ? 0 : window_bytes(steps)) + rows_bytes_ +
                  (folded_ ? folded_->scratch_bytes() : 0);
}

s64 TileConv::blocks() const {
  return ceil_div(packed_->padded_channels, block_tiles() * kTileColumns);
}

TileConv::Rows TileConv::all_rows(const Call& call) const noexcept {
  const WindowAxis& h = conv_.geometry.window.h();
  const WindowAxis& w = conv_.geometry.window.w();
  Rows rows{0,
            conv_.geometry.batch,
            0,
            h.out,
            nullptr,
            nullptr,
            {conv_.input.pixel_stride, conv_.input.row_stride}};
  rows.src = call.x - h.pad_begin * conv_.input.row_stride - w.pad_begin * conv_.input.pixel_stride;
  rows.src_end = rows.src + (span_of(h) - 1) * conv_.input.row_stride +
                 (span_of(w) - 1) * conv_.input.pixel_stride + conv_.geometry.in_channels;
  return rows;
}

namespace {

// Where a line's rows follow one another in all that it reads and writes, they are one run.
void join_rows(bool residual, TileJob& job) {
  const s64 pitch = job.grid.pitch;
  const auto even = [&](const TileStrides& s) { return s.row == pitch * s.pixel; };
  if (job.grid.run == pitch && even(job.out) && (!residual || even(job.residual_strides)))
    job.grid.run = job.grid.pitch = job.grid.line;
}

// Likewise the images, each one run, become one line.
bool join_images(bool residual, s64 images, TileJob& job) {
  const s64 line = job.grid.line;
  const auto even = [&](const TileStrides& s) { return s.image == line * s.pixel; };
  const bool joined = job.grid.lines == 1 && job.grid.run == line && even(job.in) &&
                      even(job.out) && (!residual || even(job.residual_strides));
  if (joined) job.grid = line_grid(images * line);
  return joined;
}

}  // namespace

TileJob TileConv::job_of(const Call& call, const Rows& rows, int thread) const noexcept {
  const s64 element = conv_.epilogue.real ? 4 : 1;
  std::byte* workspace = call.workspace + thread * thread_bytes_;
  TileJob job{};
  job.grid = choose_grid(conv_.geometry, rows.strides, rows.rows);
  job.grid.lines = job.grid.line > conv_.geometry.window.w().out ? 1 : rows.rows;
  const auto strides_of = [&](const Placement& p, s64 size) {
    return TileStrides{size * p.pixel_stride, size * p.row_stride, size * p.row_stride,
                       size * p.image_stride};
  };
  const auto first = [&](const Placement& p) {
    return rows.image * p.image_stride + rows.first * p.row_stride;
  };
  job.src = rows.src;
  job.src_end = inside_ ? reinterpret_cast<const u8*>(UINTPTR_MAX)
                        : rows.src_end + (rows.images - 1) * conv_.input.image_stride;
  job.in = {conv_.geometry.window.w().stride * rows.strides.pixel, 0,
            conv_.geometry.window.h().stride * rows.strides.row, conv_.input.image_stride};
  job.out = strides_of(conv_.output, element);
  job.residual_strides = strides_of(conv_.residual, 1);
  join_rows(call.residual != nullptr, job);
  const s64 images = join_images(call.residual != nullptr, rows.images, job) ? 1 : rows.images;
  job.dst = call.y + element * first(conv_.output);
  if (call.residual != nullptr) job.residual = call.residual + first(conv_.residual);
  job.first_tile = 0;
  job.last_tile = job.grid.tiles * job.grid.lines * images;
  job.copied_offsets = copied_offsets_.data();
  job.steps = static_cast<s64>(copied_offsets_.size());
  job.bounded = bounded_;
  job.sums = reinterpret_cast<s32*>(workspace);
  job.windows = reinterpret_cast<u8*>(workspace) + kTileSumBytes;
  job.epilogue = &conv_.epilogue;
  return job;
}

void TileConv::run_job(TileJob job, Range tiles, Range blocks) const noexcept {
  job.first_tile = tiles.begin;
  job.last_tile = tiles.end;
  const s64 tile_bytes = job.steps * kTileWeights;
  const s64 weight_bytes = (blocks.end - blocks.begin) * block_tiles() * tile_bytes;
  job.widest = wide_ ? 4 : 2;
  const auto fitting = [&](s64 budget, s64 pixel) {
    return std::max<s64>(4, budget / (job.grid.rows * std::max<s64>(pixel, 1)) / 4 * 4);
  };
  job.chunk_tiles = weight_bytes <= kSmallWeights ? fitting(kResultBudget, job.out.pixel)
                                                  : fitting(kActivationBudget, job.in.pixel);
  const s64 outputs = conv_.geometry.out_channels_per_group();
  const u8* src = job.src;
  u8* dst = job.dst;
  const u8* residual = job.residual;
  for (s64 group = 0; group < conv_.geometry.groups; ++group) {
    job.src = src + group * conv_.geometry.in_channels_per_group();
    job.dst = dst + group * outputs * (conv_.epilogue.real ? 4 : 1);
    if (residual != nullptr) job.residual = residual + group * outputs;
    job.offsets = offsets_.data();
    job.weights =
        packed_->weights.data() + group * packed_->padded_channels / kTileColumns * tile_bytes;
    job.bias = packed_->bias.data() + group * packed_->padded_channels;
    job.multiplier = packed_->multiplier.data() + group * packed_->padded_channels;
    job.first_channel = blocks.begin * block_tiles() * kTileColumns;
    job.last_channel = std::min(blocks.end * block_tiles() * kTileColumns, outputs);
    kernel_.run(job);
  }
}

void TileConv::run(const Call& call) const noexcept {
  const s64 images = conv_.geometry.batch;
  if (copy_) {
    call.pool.parallel_for(images * conv_.geometry.window.h().out,
                           [&](s64 begin, s64 end, int thread) {
                             run_copied(call, {begin, end}, thread);
                           });
    return;
  }
  const s64 tiles = job_of(call, all_rows(call), 0).last_tile, threads = call.pool.size();
  const ThreadGrid grid = grid_of(tiles, threads);
  const ThreadGrid cut = threads == 1 ? ThreadGrid{} : cut_of(grid, tiles);
  // By value, so that what other threads read of it lies in one place.
  const auto share = [this, call, grid, cut, tiles](s64 begin, s64 end, int thread) {
    const s64 cuts = cut.rows * cut.columns;
    for (s64 i = begin; i < end;) {
      const s64 piece = i / cuts, stop = std::min(end, (piece + 1) * cuts);
      const Range all{0, 1}, taken{i - piece * cuts, stop - piece * cuts};
      const s64 row = piece / grid.columns, column = piece % grid.columns;
      const Range rows = part({0, tiles}, {row, row + 1}, grid.rows),
                  lines = part({0, column_lines()}, {column, column + 1}, grid.columns);
      run_job(job_of(call, all_rows(call), thread),
              part(rows, cut.rows > 1 ? taken : all, cut.rows),
              blocks_of(part(lines, cut.rows > 1 ? all : taken, cut.columns)));
      i = stop;
    }
  };
  call.pool.parallel_for(grid.rows * grid.columns * cut.rows * cut.columns, share);
}

// Of equal parts of a range.
TileConv::Range TileConv::part(Range whole, Range taken, s64 parts) {
  const s64 size = whole.end - whole.begin;
  return {whole.begin + size * taken.begin / parts, whole.begin + size * taken.end / parts};
}

// What threads may take of a thread's piece is one job: neighbouring pixels, as long as so few lose nothing, or neighbouring
// channels.
ThreadGrid TileConv::cut_of(const ThreadGrid& grid, s64 tiles) const {
  constexpr s64 kMostCuts = 4, kLeastTiles = 4;
  // Less than a thread that is done waits before it helps is not worth a call of the kernel for each part.
  constexpr f64 kShortPiece = 12000;
  const s64 rows = tiles / grid.rows, lines = column_lines() / grid.columns;
  if (static_cast<f64>(rows * lines) * line_cycles() < kShortPiece) return {};
  if (rows >= 2 * kLeastTiles) return {std::min(rows / kLeastTiles, kMostCuts), 1};
  return {1, std::clamp<s64>(lines, 1, kMostCuts)};
}

TileConv::Range TileConv::blocks_of(Range lines) const {
  return {lines.begin * line_blocks(), std::min(lines.end * line_blocks(), blocks())};
}

// Channels are cut between cache lines of results, so that no two threads write the same line.
s64 TileConv::line_blocks() const { return kLineTiles / block_tiles(); }

s64 TileConv::column_lines() const { return ceil_div(blocks(), line_blocks()); }

// Of a tile of pixels and a line of channels.
f64 TileConv::line_cycles() const {
  return kLineTiles * (static_cast<f64>(offsets_.size()) * kStepCycles + kFinishCycles);
}

ThreadGrid TileConv::grid_of(s64 tiles, s64 threads) const {
  const s64 input_bytes =
      conv_.geometry.batch * conv_.geometry.window.in_elements() * conv_.geometry.in_channels;
  return choose_thread_grid({tiles, conv_.geometry.groups == 1 ? column_lines() : 1, line_cycles(),
                             input_bytes, static_cast<s64>(packed_->weights.size())},
                            threads);
}

// Band by band: the rows that the next output rows read into this thread's buffer, then their tiles.
void TileConv::run_copied(const Call& call, Range range, int thread) const noexcept {
  const WindowAxis& h = conv_.geometry.window.h();
  const PaddedRows padded = padded_rows(conv_.geometry);
  const s64 band = folded_ ? folded_->band_rows() : padded.band_rows();
  u8* end = reinterpret_cast<u8*>(call.workspace) + (thread + 1) * thread_bytes_;
  u8* buffer = end - rows_bytes_;
  for (s64 row = range.begin; row < range.end;) {
    const s64 image = row / h.out, first = row % h.out;
    const s64 rows = std::min({band, h.out - first, range.end - row});
    if (folded_) {
      u8* scratch = buffer - folded_->scratch_bytes();
      folded_->copy(kernel_.fold, {call.x, image, first, rows, scratch, buffer});
    } else {
      padded.copy({call.x + image * conv_.input.image_stride, conv_.input, padding_}, first, rows,
                  buffer);
    }
    const TileJob job =
        job_of(call, {image, 1, first, rows, buffer, end, padded.strides()}, thread);
    run_job(job, {0, job.last_tile}, {0, blocks()});
    row += rows;
  }
}

}  // namespace octet

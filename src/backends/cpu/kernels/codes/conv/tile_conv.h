// SPDX-License-Identifier: Apache-2.0
// Dense and grouped 2-D convolution of u8 by s8 on matrix tiles, channels last: lays the tiles over the
// output, and hands ranges of them to the kernel. A matrix product by constant weights is its 1x1 case.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/kernels/codes/conv/conv.h"
#include "backends/cpu/kernels/codes/conv/tile_args.h"
#include "backends/cpu/kernels/codes/conv/tile_fold.h"
#include "backends/cpu/kernels/codes/conv/tile_pack.h"
#include "backends/cpu/kernels/codes/thread_grid.h"

namespace octet {

struct TileKernel {
  const char* name;
  Isa isa;
  void (*run)(const TileJob&);
  void (*fold)(const FoldJob&);
};

inline constexpr TileKernel kTileKernels[] = {
    {"conv_u8s8_tiles_amx", Isa::amx, conv_u8s8_tiles_amx, fold_rows_amx},
};

// Why tiles cannot serve this geometry, or another kernel is faster; else null.
const char* tile_conv_reject(const ConvGeometry& geometry, Isa isa);
s64 tile_conv_workspace_bytes(const ConvGeometry& geometry, int threads);

// Whether some output pixels belong to two tiles, which then both compute them.
bool tile_conv_overlaps(const ConvGeometry& geometry, const Placement& input);

class TileConv {
 public:
  using Packed = PackedTiles;
  // See DenseConv. The spec's constants are those of its geometry.
  static Packed pack(const TileKernel&, const ConvSpec& spec);
  static std::string pack_key(const TileKernel& kernel, const ConvSpec& spec);

  // `folded`: the image of which the spec's input is made.
  TileConv(const TileKernel& kernel, const ConvSpec& spec, std::shared_ptr<const Packed> packed,
           const std::optional<FoldedInput>& folded = {});

  using Call = ConvCall;
  void run(const Call& call) const noexcept;

 private:
  // Output rows [first, first + rows) of images from `image` on, and where the windows of the first lie.
  struct Rows {
    s64 image, images, first, rows;
    const u8* src;
    const u8* src_end;
    ImageStrides strides;
  };
  struct Range {
    s64 begin, end;
  };

  TileJob job_of(const Call& call, const Rows& rows, int thread) const noexcept;
  void run_job(TileJob job, Range tiles, Range blocks) const noexcept;
  s64 block_tiles() const { return wide_ ? 4 : 1; }  // of channels that threads may share out
  s64 blocks() const;
  s64 line_blocks() const;
  s64 column_lines() const;
  f64 line_cycles() const;
  ThreadGrid grid_of(s64 tiles, s64 threads) const;
  ThreadGrid cut_of(const ThreadGrid& grid, s64 tiles) const;
  static Range part(Range whole, Range taken, s64 parts);
  Range blocks_of(Range lines) const;
  void run_copied(const Call& call, Range rows, int thread) const noexcept;
  Rows all_rows(const Call& call) const noexcept;

  const TileKernel& kernel_;
  ConvProblem conv_;
  std::optional<FoldedInput> folded_;
  // The input is folded, or the border is missing: rows are copied into a padded buffer first.
  bool copy_;
  bool bounded_;      // see TileJob
  bool inside_;       // windows are whole steps: nothing is read behind them
  bool wide_;         // blocks of four tiles of channels, interleaved; see TileJob
  s64 rows_bytes_;    // of workspace: copied rows
  s64 thread_bytes_;  // of workspace
  u8 padding_;
  std::vector<s64> offsets_;         // [steps]
  std::vector<s64> copied_offsets_;  // [steps]
  std::shared_ptr<const Packed> packed_;
};

}  // namespace octet

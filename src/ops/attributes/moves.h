// SPDX-License-Identifier: Apache-2.0
// Attributes of what moves elements.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "graph/attributes.h"

namespace octet {

struct TransposeAttributes {
  std::optional<std::vector<s64>> perm;  // absent: the axes reversed

  OCTET_ATTRIBUTES(perm)
};

// Split, Gather, GatherElements, ScatterElements.
struct AxisAttributes {
  s64 axis = 0;

  OCTET_ATTRIBUTES(axis)
};

struct ConcatAttributes {
  s64 axis = 0;

  OCTET_REQUIRED_ATTRIBUTES(axis)
};

struct CacheAppendAttributes {
  s64 axis = 0;  // of the rows

  OCTET_REQUIRED_ATTRIBUTES(axis)
};

struct SplitAttributes : AxisAttributes {
  std::optional<s64> num_outputs;  // pieces may then be uneven

  OCTET_MORE_ATTRIBUTES(AxisAttributes, num_outputs)
};

struct GatherNDAttributes {
  s64 batch_dims = 0;

  OCTET_ATTRIBUTES(batch_dims)
};

struct GatherChannelsAttributes {
  std::vector<s64> channels;

  OCTET_REQUIRED_ATTRIBUTES(channels)
};

enum class ScatterReduction : u8 { none, add, mul, max, min };

constexpr auto attribute_words(ScatterReduction) {
  return std::to_array<AttributeWord<ScatterReduction>>({{"none", ScatterReduction::none},
                                                         {"add", ScatterReduction::add},
                                                         {"mul", ScatterReduction::mul},
                                                         {"max", ScatterReduction::max},
                                                         {"min", ScatterReduction::min}});
}

// ScatterElements, ScatterND.
struct ScatterAttributes {
  ScatterReduction reduction = ScatterReduction::none;

  OCTET_ATTRIBUTES(reduction)
};

enum class PadMode : u8 { constant, reflect, edge, wrap };

constexpr auto attribute_words(PadMode) {
  return std::to_array<AttributeWord<PadMode>>({{"constant", PadMode::constant},
                                                {"reflect", PadMode::reflect},
                                                {"edge", PadMode::edge},
                                                {"wrap", PadMode::wrap}});
}

struct PadAttributes {
  PadMode mode = PadMode::constant;

  OCTET_ATTRIBUTES(mode)
};

enum class BlockOrder : u8 { depth_first, column_first };

constexpr auto attribute_words(BlockOrder) {
  return std::to_array<AttributeWord<BlockOrder>>(
      {{"DCR", BlockOrder::depth_first}, {"CRD", BlockOrder::column_first}});
}

// DepthToSpace, SpaceToDepth.
struct BlocksAttributes {
  s64 blocksize = 1;
  BlockOrder mode = BlockOrder::depth_first;

  OCTET_ATTRIBUTES(mode)
  OCTET_REQUIRED_ATTRIBUTES(blocksize)
};

struct ShapeAttributes {
  s64 start = 0;
  std::optional<s64> end;  // absent: the rank

  OCTET_ATTRIBUTES(start, end)
};

struct ConstantOfShapeAttributes {
  std::optional<Tensor> value;  // absent: 0 of f32

  OCTET_ATTRIBUTES(value)
};

}  // namespace octet

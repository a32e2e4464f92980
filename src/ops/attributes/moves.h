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

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("perm", self.perm);
  }
};

// Split, Gather, GatherElements, ScatterElements.
struct AxisAttributes {
  s64 axis = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("axis", self.axis);
  }
};

struct ConcatAttributes {
  s64 axis = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("axis", self.axis, kRequired);
  }
};

struct SplitAttributes : AxisAttributes {
  std::optional<s64> num_outputs;  // pieces may then be uneven

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    AxisAttributes::fields(self, field);
    field("num_outputs", self.num_outputs);
  }
};

struct GatherNDAttributes {
  s64 batch_dims = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("batch_dims", self.batch_dims);
  }
};

struct GatherChannelsAttributes {
  std::vector<s64> channels;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("channels", self.channels, kRequired);
  }
};

enum class ScatterReduction : u8 { none, add, mul, max, min };

inline AttributeNames<ScatterReduction> attribute_names(ScatterReduction) {
  static constexpr std::array<std::pair<std::string_view, ScatterReduction>, 5> kNames{
      {{"none", ScatterReduction::none},
       {"add", ScatterReduction::add},
       {"mul", ScatterReduction::mul},
       {"max", ScatterReduction::max},
       {"min", ScatterReduction::min}}};
  return kNames;
}

// ScatterElements, ScatterND.
struct ScatterAttributes {
  ScatterReduction reduction = ScatterReduction::none;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("reduction", self.reduction);
  }
};

enum class PadMode : u8 { constant, reflect, edge, wrap };

inline AttributeNames<PadMode> attribute_names(PadMode) {
  static constexpr std::array<std::pair<std::string_view, PadMode>, 4> kNames{
      {{"constant", PadMode::constant},
       {"reflect", PadMode::reflect},
       {"edge", PadMode::edge},
       {"wrap", PadMode::wrap}}};
  return kNames;
}

struct PadAttributes {
  PadMode mode = PadMode::constant;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("mode", self.mode);
  }
};

enum class BlockOrder : u8 { depth_first, column_first };

inline AttributeNames<BlockOrder> attribute_names(BlockOrder) {
  static constexpr std::array<std::pair<std::string_view, BlockOrder>, 2> kNames{
      {{"DCR", BlockOrder::depth_first}, {"CRD", BlockOrder::column_first}}};
  return kNames;
}

// DepthToSpace, SpaceToDepth.
struct BlocksAttributes {
  s64 blocksize = 1;
  BlockOrder mode = BlockOrder::depth_first;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("blocksize", self.blocksize, kRequired);
    field("mode", self.mode);
  }
};

struct ShapeAttributes {
  s64 start = 0;
  std::optional<s64> end;  // absent: the rank

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("start", self.start);
    field("end", self.end);
  }
};

struct ConstantOfShapeAttributes {
  std::optional<Tensor> value;  // absent: 0 of f32

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("value", self.value);
  }
};

}  // namespace octet

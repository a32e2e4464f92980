// SPDX-License-Identifier: Apache-2.0
// RotaryEmbedding(x, cos, sin, positions?): turns pairs of elements of each head by the angles of the token's position. x is
// [N, heads, length, size] or [N, length, heads * size]; the caches are [positions, half] or, without positions,
// [N, length, half].
#include "core/check.h"
#include "graph/attributes.h"
#include "ops/shared/attention.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

enum : size_t { kX, kCos, kSin, kPositions };

struct RotaryAttributes {
  bool interleaved = false;
  s64 num_heads = 0;             // of an input of three axes
  s64 rotary_embedding_dim = 0;  // elements of a head that turn; 0: all

  OCTET_ATTRIBUTES(interleaved, num_heads, rotary_embedding_dim)
};

struct Rotation {
  AttentionHeads x;
  s64 half = 0;  // pairs that turn; the rest of the head stays
};

Rotation rotation_of(const Node& node, const Shape& x) {
  const auto attributes = attributes_of<RotaryAttributes>(node);
  const s64 heads = attributes.num_heads;
  Rotation rotation;
  if (x.rank() == 4) {
    rotation.x = {x[0], x[1], x[2], x[3], false};
  } else if (x.rank() == 3 && heads >= 1 && x[2] % heads == 0) {
    rotation.x = {x[0], heads, x[1], x[2] / heads, true};
  } else {
    fail(Error::Code::invalid_model, "the input is {} and attribute 'num_heads' {}", to_string(x),
         heads);
  }
  const s64 size = rotation.x.size;
  const s64 given = attributes.rotary_embedding_dim;
  const s64 turned = given == 0 ? size : given;
  if (size < 1 || turned < 0 || turned > size || turned % 2 != 0) {
    fail(Error::Code::invalid_model, "{} of {} elements of each head cannot turn in pairs", turned,
         size);
  }
  rotation.half = turned / 2;
  return rotation;
}

void infer(Inference& inference) {
  for (size_t i : {kX, kCos, kSin}) require_dtype(inference, i, DtypeClass::real);
  const Rotation rotation = rotation_of(inference.node, inference.inputs[kX].shape);
  const Shape& cos = inference.inputs[kCos].shape;
  const Shape tokens{rotation.x.batch, rotation.x.length};
  bool fits = cos == inference.inputs[kSin].shape && cos.rank() >= 1 &&
              cos[cos.rank() - 1] == rotation.half;
  if (inference.has_input(kPositions)) {
    require_dtype(inference, kPositions, DtypeClass::index);
    fits = fits && cos.rank() == 2 && inference.inputs[kPositions].shape == tokens;
  } else {
    fits = fits && cos.rank() == 3 && cos[0] == tokens[0] && cos[1] == tokens[1];
  }
  if (!fits) {
    fail(Error::Code::invalid_model, "the caches are {} and {}; they do not fit the input {}",
         to_string(cos), to_string(inference.inputs[kSin]), to_string(inference.inputs[kX]));
  }
  inference.same_as_input(kX);
}

// The row of the caches for each token.
std::vector<s64> cache_rows(const Eval& eval, s64 tokens) {
  std::vector<s64> rows = read_ints(eval, kPositions);
  if (!eval.has_input(kPositions)) {
    for (s64 i = 0; i < tokens; ++i) rows.push_back(i);
    return rows;
  }
  const s64 most = eval.inputs[kCos].shape[0];
  for (s64 row : rows) {
    if (row >= 0 && row < most) continue;
    fail(Error::Code::invalid_argument, "a position is {}, expected 0 to {}", row, most - 1);
  }
  return rows;
}

void eval(const Eval& eval) {
  const Rotation rotation = rotation_of(eval.node, eval.inputs[kX].shape);
  const AttentionHeads& heads = rotation.x;
  const bool interleaved = attribute_of<&RotaryAttributes::interleaved>(eval.node);
  const FloatInput x(eval, kX), cos(eval, kCos), sin(eval, kSin);
  const FloatOutput y(eval.outputs[0]);
  if (y.values().empty()) return;
  const std::vector<s64> rows = cache_rows(eval, heads.batch * heads.length);
  for (s64 i = 0; i < std::ssize(y.values()) / heads.size; ++i) {
    const s64 image = i / heads.length / heads.heads, token = i % heads.length;
    const s64 at = heads.row(image, i / heads.length % heads.heads, token);
    const s64 angles = rows[static_cast<size_t>(image * heads.length + token)] * rotation.half;
    for (s64 k = 2 * rotation.half; k < heads.size; ++k) y[at + k] = x[at + k];
    for (s64 k = 0; k < rotation.half; ++k) {
      const s64 first = at + (interleaved ? 2 * k : k);
      const s64 second = first + (interleaved ? 1 : rotation.half);
      const f32 c = cos[angles + k], s = sin[angles + k];
      y[first] = c * x[first] - s * x[second];
      y[second] = s * x[first] + c * x[second];
    }
  }
  y.store();
}

}  // namespace

extern constinit const OpDef kRotaryEmbedding{
    .name = "RotaryEmbedding", .inputs = {3, 4}, .infer = infer, .eval = eval};
}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "inspect/selftest/networks.h"

namespace octet {
namespace {

// A stem with its pool, blocks with a residual sum, a dilation, strides, a classifier.
constexpr std::string_view kResidual = R"(graph "residual"(%image: f32[2,3,64,64]) {
  const %spatial: s64[2] = {2, 3}
  const %w0: f32[64,3,7,7] = #0
  const %w1: f32[64,64,3,3] = #1
  const %w2: f32[64,64,3,3] = #2
  const %w3: f32[128,64,3,3] = #3
  const %w4: f32[128,128,3,3] = #4
  const %w5: f32[128,64,1,1] = #5
  const %w6: f32[128,10] = #6
  %s: f32[2,64,32,32] = Conv(%image, %w0) {pads=ints[3, 3, 3, 3], strides=ints[2, 2]} name "stem"
  %sr: f32[2,64,32,32] = Relu(%s) name "stem_relu"
  %p: f32[2,64,16,16] = MaxPool(%sr) {kernel_shape=ints[3, 3], pads=ints[1, 1, 1, 1], strides=ints[2, 2]} name "pool"
  %a: f32[2,64,16,16] = Conv(%p, %w1) {pads=ints[1, 1, 1, 1]} name "a1"
  %ar: f32[2,64,16,16] = Relu(%a) name "a1_relu"
  %b: f32[2,64,16,16] = Conv(%ar, %w2) {pads=ints[1, 1, 1, 1]} name "a2"
  %c: f32[2,64,16,16] = Add(%b, %p) name "a_add"
  %cr: f32[2,64,16,16] = Relu(%c) name "a_relu"
  %d: f32[2,128,8,8] = Conv(%cr, %w3) {pads=ints[1, 1, 1, 1], strides=ints[2, 2]} name "b1"
  %dr: f32[2,128,8,8] = Relu(%d) name "b1_relu"
  %e: f32[2,128,8,8] = Conv(%dr, %w4) {dilations=ints[2, 2], pads=ints[2, 2, 2, 2]} name "b2"
  %f: f32[2,128,8,8] = Conv(%cr, %w5) {strides=ints[2, 2]} name "shortcut"
  %g: f32[2,128,8,8] = Add(%e, %f) name "b_add"
  %gr: f32[2,128,8,8] = Relu(%g) name "b_relu"
  %h: f32[2,128,1,1] = ReduceMean(%gr, %spatial) name "mean"
  %i: f32[2,128] = Flatten(%h) name "flat"
  %y: f32[2,10] = MatMul(%i, %w6) name "classes"
  return %y
})";

// Many channels over few pixels, a bottleneck: the tiles of large products, with ends that fill none.
constexpr std::string_view kWide = R"(graph "wide"(%map: f32[3,256,15,15]) {
  const %w0: f32[64,256,1,1] = #0
  const %w1: f32[64,64,3,3] = #1
  const %w2: f32[256,64,1,1] = #2
  const %w3: f32[192,256,3,3] = #3
  const %w4: f32[72,192,1,1] = #4
  %a: f32[3,64,15,15] = Conv(%map, %w0) name "reduce"
  %ar: f32[3,64,15,15] = Relu(%a) name "reduce_relu"
  %b: f32[3,64,15,15] = Conv(%ar, %w1) {pads=ints[1, 1, 1, 1]} name "middle"
  %br: f32[3,64,15,15] = Relu(%b) name "middle_relu"
  %c: f32[3,256,15,15] = Conv(%br, %w2) name "widen"
  %d: f32[3,256,15,15] = Add(%c, %map) name "add"
  %dr: f32[3,256,15,15] = Relu(%d) name "add_relu"
  %e: f32[3,192,8,8] = Conv(%dr, %w3) {pads=ints[1, 1, 1, 1], strides=ints[2, 2]} name "down"
  %er: f32[3,192,8,8] = Relu(%e) name "down_relu"
  %y: f32[3,72,8,8] = Conv(%er, %w4) name "head"
  return %y
})";

// Depthwise and pointwise convolutions, clipped and swished, and an attention over channels.
constexpr std::string_view kSeparable = R"(graph "separable"(%image: f32[2,24,28,28]) {
  const %spatial: s64[2] = {2, 3}
  const %e: f32[144,24,1,1] = #0
  const %d: f32[144,1,3,3] = #1
  const %p: f32[24,144,1,1] = #2
  const %d2: f32[24,1,5,5] = #3
  const %s1: f32[8,24,1,1] = #4
  const %s2: f32[24,8,1,1] = #5
  const %p2: f32[40,24,1,1] = #6
  const %zero: f32[] = {0.0}
  const %six: f32[] = {6.0}
  %a: f32[2,144,28,28] = Conv(%image, %e) name "expand"
  %ac: f32[2,144,28,28] = Clip(%a, %zero, %six) name "expand_clip"
  %b: f32[2,144,28,28] = Conv(%ac, %d) {group=144, pads=ints[1, 1, 1, 1]} name "depthwise1"
  %bc: f32[2,144,28,28] = Clip(%b, %zero, %six) name "depthwise1_clip"
  %c: f32[2,24,28,28] = Conv(%bc, %p) name "project"
  %cs: f32[2,24,28,28] = Add(%c, %image) name "add"
  %fs: f32[2,24,28,28] = Sigmoid(%cs) name "sigmoid"
  %fm: f32[2,24,28,28] = Mul(%cs, %fs) name "swish"
  %g: f32[2,24,14,14] = Conv(%fm, %d2) {group=24, pads=ints[2, 2, 2, 2], strides=ints[2, 2]} name "depthwise2"
  %gr: f32[2,24,14,14] = HardSwish(%g) name "depthwise2_swish"
  %h: f32[2,24,1,1] = ReduceMean(%gr, %spatial) name "squeeze"
  %i: f32[2,8,1,1] = Conv(%h, %s1) name "narrow"
  %ir: f32[2,8,1,1] = Relu(%i) name "narrow_relu"
  %j: f32[2,24,1,1] = Conv(%ir, %s2) name "widen"
  %js: f32[2,24,1,1] = HardSigmoid(%j) name "gate"
  %k: f32[2,24,14,14] = Mul(%gr, %js) name "excite"
  %y: f32[2,40,14,14] = Conv(%k, %p2) name "project2"
  return %y
})";

// Two scales of a detector that meet: groups, a transposed convolution, pools that keep the size, concatenations, pieces, other axes.
constexpr std::string_view kNeck = R"(graph "neck"(%image: f32[2,16,32,32]) {
  const %w0: f32[32,16,3,3] = #0
  const %w1: f32[64,8,3,3] = #1
  const %w2: f32[64,32,2,2] = #2
  const %w3: f32[48,64,3,3] = #3
  const %w4: f32[33,48,1,1] = #4
  const %scales: f32[4] = {1.0, 1.0, 2.0, 2.0}
  const %halves: s64[2] = {24, 24}
  const %rows: s64[3] = {2, 33, 1024}
  %a: f32[2,32,32,32] = Conv(%image, %w0) {pads=ints[1, 1, 1, 1]} name "high"
  %ar: f32[2,32,32,32] = LeakyRelu(%a) {alpha=0.1} name "high_relu"
  %b: f32[2,64,16,16] = Conv(%ar, %w1) {group=4, pads=ints[1, 1, 1, 1], strides=ints[2, 2]} name "low"
  %br: f32[2,64,16,16] = Relu(%b) name "low_relu"
  %p: f32[2,64,16,16] = MaxPool(%br) {kernel_shape=ints[5, 5], pads=ints[2, 2, 2, 2]} name "wide_pool"
  %t: f32[2,32,32,32] = ConvTranspose(%p, %w2) {strides=ints[2, 2]} name "up"
  %j: f32[2,64,32,32] = Concat(%t, %ar) {axis=1} name "join"
  %d: f32[2,48,32,32] = Conv(%j, %w3) {pads=ints[1, 1, 1, 1]} name "merge"
  %e: f32[2,24,32,32], %f: f32[2,24,32,32] = Split(%d, %halves) {axis=1} name "pieces"
  %er: f32[2,24,32,32] = Tanh(%e) name "tanh"
  %q: f32[2,24,16,16] = AveragePool(%f) {kernel_shape=ints[2, 2], strides=ints[2, 2]} name "average"
  %u: f32[2,24,32,32] = Resize(%q, _, %scales) {coordinate_transformation_mode="asymmetric", mode="nearest", nearest_mode="floor"} name "resize"
  %k: f32[2,48,32,32] = Concat(%er, %u) {axis=1} name "join2"
  %h: f32[2,33,32,32] = Conv(%k, %w4) name "head"
  %r: f32[2,33,1024] = Reshape(%h, %rows) name "rows"
  %y: f32[2,1024,33] = Transpose(%r) {perm=ints[0, 2, 1]} name "turn"
  return %y
})";

// Attention with its projections, a norm, a feed-forward layer.
constexpr std::string_view kAttention = R"(graph "attention"(%tokens: f32[2,67,128]) {
  const %wq: f32[128,128] = #0
  const %wk: f32[128,128] = #1
  const %wv: f32[128,128] = #2
  const %wo: f32[128,128] = #3
  const %w1: f32[128,320] = #4
  const %w2: f32[320,128] = #5
  const %g: f32[128] = #6
  const %b: f32[128] = #7
  const %heads: s64[4] = {2, 67, 4, 32}
  const %whole: s64[3] = {2, 67, 128}
  const %root: f32[] = {0.1767767}
  %q: f32[2,67,128] = MatMul(%tokens, %wq) name "q"
  %k: f32[2,67,128] = MatMul(%tokens, %wk) name "k"
  %v: f32[2,67,128] = MatMul(%tokens, %wv) name "v"
  %qr: f32[2,67,4,32] = Reshape(%q, %heads) name "q_heads"
  %kr: f32[2,67,4,32] = Reshape(%k, %heads) name "k_heads"
  %vr: f32[2,67,4,32] = Reshape(%v, %heads) name "v_heads"
  %qt: f32[2,4,67,32] = Transpose(%qr) {perm=ints[0, 2, 1, 3]} name "q_turn"
  %kt: f32[2,4,32,67] = Transpose(%kr) {perm=ints[0, 2, 3, 1]} name "k_turn"
  %vt: f32[2,4,67,32] = Transpose(%vr) {perm=ints[0, 2, 1, 3]} name "v_turn"
  %s: f32[2,4,67,67] = MatMul(%qt, %kt) name "scores"
  %sm: f32[2,4,67,67] = Mul(%s, %root) name "scale"
  %pr: f32[2,4,67,67] = Softmax(%sm) {axis=-1} name "softmax"
  %c: f32[2,4,67,32] = MatMul(%pr, %vt) name "context"
  %ct: f32[2,67,4,32] = Transpose(%c) {perm=ints[0, 2, 1, 3]} name "context_turn"
  %cr: f32[2,67,128] = Reshape(%ct, %whole) name "context_rows"
  %o: f32[2,67,128] = MatMul(%cr, %wo) name "out"
  %r: f32[2,67,128] = Add(%o, %tokens) name "residual"
  %n: f32[2,67,128] = LayerNormalization(%r, %g, %b) {axis=-1, epsilon=1e-05} name "norm"
  %f: f32[2,67,320] = MatMul(%n, %w1) name "up"
  %fg: f32[2,67,320] = Gelu(%f) name "gelu"
  %y: f32[2,67,128] = MatMul(%fg, %w2) name "down"
  return %y
})";

// Frames through a convolution over time and recurrent layers.
constexpr std::string_view kRecurrent = R"(graph "recurrent"(%frames: f32[2,40,24]) {
  const %w0: f32[64,40,3] = #0
  const %w1: f32[2,256,64] = #1
  const %w2: f32[2,256,64] = #2
  const %w3: f32[1,96,128] = #3
  const %w4: f32[1,96,32] = #4
  const %w5: f32[32,9] = #5
  const %rows: s64[3] = {12, 2, 128}
  const %one: s64[1] = {1}
  %a: f32[2,64,12] = Conv(%frames, %w0) {pads=ints[1, 1], strides=ints[2]} name "encode"
  %ar: f32[2,64,12] = Relu(%a) name "encode_relu"
  %t: f32[12,2,64] = Transpose(%ar) {perm=ints[2, 0, 1]} name "turn"
  %l: f32[12,2,2,64], %lh: f32[2,2,64], %lc: f32[2,2,64] = LSTM(%t, %w1, %w2) {direction="bidirectional", hidden_size=64} name "lstm"
  %lt: f32[12,2,2,64] = Transpose(%l) {perm=ints[0, 2, 1, 3]} name "directions"
  %lr: f32[12,2,128] = Reshape(%lt, %rows) name "both"
  %g: f32[12,1,2,32], %gh: f32[1,2,32] = GRU(%lr, %w3, %w4) {hidden_size=32} name "gru"
  %s: f32[12,2,32] = Squeeze(%g, %one) name "squeeze"
  %m: f32[12,2,9] = MatMul(%s, %w5) name "letters"
  %y: f32[12,2,9] = Softmax(%m) {axis=-1} name "softmax"
  return %y
})";

// Functions of single elements, sums along axes, and places.
constexpr std::string_view kElements = R"(graph "elements"(%x: f32[2,24,10,12]) {
  const %w0: f32[24,24,1,1] = #0
  const %slope: f32[24,1,1] = #1
  const %shift: f32[1,24,1,1] = #2
  const %last: s64[1] = {3}
  const %first: s64[1] = {1}
  const %k: s64[1] = {3}
  %a: f32[2,24,10,12] = Conv(%x, %w0) name "mix"
  %b: f32[2,24,10,12] = PRelu(%a, %slope) name "prelu"
  %c: f32[2,24,10,12] = Elu(%b) name "elu"
  %d: f32[2,24,10,12] = Add(%c, %shift) name "shift"
  %e: f32[2,24,10,12] = Softplus(%d) name "softplus"
  %f: f32[2,24,10,12] = Mul(%e, %a) name "product"
  %g: f32[2,24,10,12] = Sub(%f, %x) name "difference"
  %h: f32[2,24,10,12] = Max(%g, %b) name "larger"
  %i: f32[2,24,10,1] = ReduceMax(%h, %last) name "largest"
  %j: f32[2,1,10,12] = ReduceSum(%h, %first) name "sum"
  %m: f32[2,24,10,12] = Softmax(%h) {axis=1} name "softmax"
  %t: f32[2,24,10,3], %n: s64[2,24,10,3] = TopK(%h, %k) {axis=-1} name "top"
  return %i, %j, %m, %t, %n
})";

constexpr SelfTestNetwork kNetworks[] = {
    {"residual", kResidual}, {"wide", kWide},           {"separable", kSeparable},
    {"neck", kNeck},         {"attention", kAttention}, {"recurrent", kRecurrent},
    {"elements", kElements},
};

}  // namespace

std::span<const SelfTestNetwork> self_test_networks() { return kNetworks; }

}  // namespace octet

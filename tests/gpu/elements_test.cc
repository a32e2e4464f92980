// SPDX-License-Identifier: Apache-2.0
// What multiplies no matrices on a GPU: every operator, with codes of both types and images in both layouts, gives the CPU's bytes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>

#include "graph/text.h"
#include "one_node.h"
#include "ops/registry.h"

namespace octet::test {
namespace {

// Inputs as "name type sizes...": images (rank 4) lie in nhwc or linear. In both, T is the codes' type, Z a zero point, LO its lowest
// code. The last line is the node in question.
struct Case {
  std::vector<std::string> inputs;
  std::string nodes;
};

const Case kCases[] = {
    // Quantization: divisions, ties, channels, all sizes of rows.
    {{"x f32 2 3 5 7"},
     "%s: f32[] = {0.05}; %z: T[] = {Z}; %y: T[2,3,5,7] = QuantizeLinear(%x, %s, %z)"},
    {{"x f32 1 64 9 8"},
     "%s: f32[] = {0.0625}; %z: T[] = {Z}; %y: T[1,64,9,8] = QuantizeLinear(%x, %s, %z)"},
    {{"x f32 3 1001"},
     "%s: f32[] = {0.037}; %z: T[] = {Z}; %y: T[3,1001] = QuantizeLinear(%x, %s, %z)"},
    {{"x f32 2 4 3 5"},
     "%s: f32[4] = {0.05, 0.1, 0.25, 0.013}; %z: T[4] = {1, 2, 3, 4}; %y: T[2,4,3,5] = "
     "QuantizeLinear(%x, %s, %z) {axis=1}"},
    {{"x f32 6 3"},
     "%s: f32[3] = {0.05, 0.1, 0.25}; %z: T[3] = {0, 0, 5}; %y: T[6,3] = QuantizeLinear(%x, %s, "
     "%z) {axis=-1}"},
    {{"x T 2 16 5 7"},
     "%s: f32[] = {0.05}; %z: T[] = {Z}; %y: f32[2,16,5,7] = DequantizeLinear(%x, %s, %z)"},
    {{"x T 2 5 4 3"},
     "%s: f32[5] = {0.05, 0.1, 0.25, 0.013, 2.0}; %z: T[5] = {1, 2, 3, 4, 5}; %y: f32[2,5,4,3] = "
     "DequantizeLinear(%x, %s, %z) {axis=1}"},
    {{"x T 4099"},
     "%s: f32[] = {0.05}; %z: T[] = {0}; %y: f32[4099] = DequantizeLinear(%x, %s, %z)"},
    // Sums, products, minima, with broadcast.
    {{"a T 2 32 5 7", "b T 2 32 5 7"},
     "%y: T[2,32,5,7] = QAdd(%a, %b) {input_zero_points=ints[Z, 0], multipliers=floats[0.61, "
     "0.37], output_dtype=\"T\", output_zero_point=Z}"},
    {{"a T 2 6 5 7", "b T 1 6 1 1"},
     "%y: T[2,6,5,7] = QAdd(%a, %b) {input_zero_points=ints[0, Z], multipliers=floats[0.5, -0.5], "
     "output_dtype=\"T\", lo=5, hi=100}"},
    {{"a T 2 16 5 7", "b T 2 1 5 7"},
     "%y: T[2,16,5,7] = QMul(%a, %b) {input_zero_points=ints[Z, Z], multiplier=0.0078125, "
     "output_dtype=\"T\", output_zero_point=Z}"},
    {{"a T 3 1 20", "b T 6 1"},
     "%y: T[3,6,20] = QMul(%a, %b) {input_zero_points=ints[Z, 0], multiplier=0.013, "
     "output_dtype=\"T\"}"},
    {{"a T 2 8 5 7"}, "%c: T[8,1,1] = {1, 100, 3, 4, 90, 6, 7, 127}; %y: T[2,8,5,7] = Min(%a, %c)"},
    {{"a T 2 3 4", "b T 2 3 4", "c T 4"}, "%y: T[2,3,4] = Min(%a, %b, %c)"},
    // Moves.
    {{"x T 2 5 6 8"}, "%y: T[2,6,8,5] = Transpose(%x) {perm=ints[0, 2, 3, 1]}"},
    {{"x T 2 20 36 3"}, "%y: T[2,3,20,36] = Transpose(%x) {perm=ints[0, 3, 1, 2]}"},
    {{"x T 3 70 50"}, "%y: T[3,50,70] = Transpose(%x) {perm=ints[0, 2, 1]}"},
    {{"x T 3 36 68"}, "%y: T[3,68,36] = Transpose(%x) {perm=ints[0, 2, 1]}"},
    {{"x f32 3 36 41"}, "%y: f32[41,36,3] = Transpose(%x)"},
    {{"x f32 2 3 4 5 6"}, "%y: f32[2,5,4,3,6] = Transpose(%x) {perm=ints[0, 3, 2, 1, 4]}"},
    {{"x T 2 3 40"}, "%y: T[2,40,3] = Transpose(%x) {perm=ints[0, 2, 1]}"},
    {{"x T 2 40 3"}, "%y: T[2,3,40] = Transpose(%x) {perm=ints[0, 2, 1]}"},
    {{"x f32 2 41 2"}, "%y: f32[2,2,41] = Transpose(%x) {perm=ints[0, 2, 1]}"},
    {{"x T 2 8 6 8"}, "%y: T[2,384] = Flatten(%x)"},
    {{"a T 2 16 5 7", "b T 2 4 5 7", "c T 2 3 5 7"},
     "%y: T[2,23,5,7] = Concat(%a, %b, %c) {axis=1}"},
    {{"a T 2 16 5 7", "b T 2 16 2 7"}, "%y: T[2,16,7,7] = Concat(%a, %b) {axis=2}"},
    {{"a f32 3 5"}, "%c: f32[1,5] = {1, 2, 3, 4, 5}; %y: f32[4,5] = Concat(%a, %c) {axis=0}"},
    {{"x T 2 24 5 7"},
     "%n: s64[3] = {16, 5, 3}; %y: T[2,16,5,7], %y2: T[2,5,5,7], %y3: T[2,3,5,7] = Split(%x, %n) "
     "{axis=1}"},
    {{"x T 2 24 9 7"},
     "%s: s64[3] = {4, -1, 1}; %e: s64[3] = {20, -10, 6}; %a: s64[3] = {1, 2, 3}; %t: s64[3] = {1, "
     "-2, 2}; %y: T[2,16,5,3] = Slice(%x, %s, %e, %a, %t)"},
    {{"x f32 7 9"}, "%s: s64[1] = {2}; %e: s64[1] = {6}; %y: f32[4,9] = Slice(%x, %s, %e)"},
    {{"x T 2 24 9 7"}, "%i: s64[3] = {8, 0, -3}; %y: T[2,24,3,7] = Gather(%x, %i) {axis=2}"},
    {{"x f32 5 8"}, "%i: s64[2,2] = {4, 0, -3, 1}; %y: f32[2,2,8] = Gather(%x, %i) {axis=0}"},
    {{"x f32 5 8 3"}, "%i: s64[] = {2}; %y: f32[5,3] = Gather(%x, %i) {axis=1}"},
    {{"x T 1 24 1 7"}, "%n: s64[4] = {3, 24, 5, 7}; %y: T[3,24,5,7] = Expand(%x, %n)"},
    {{"x T 2 16 5 7"},
     "%p: s64[8] = {0, 0, 1, 2, 0, 0, 3, 1}; %v: T[] = {7}; %y: T[2,16,9,10] = Pad(%x, %p, %v)"},
    {{"x f32 2 3 5 7"},
     "%p: s64[8] = {0, 1, 1, 2, 0, 1, 3, 1}; %y: f32[2,5,9,10] = Pad(%x, %p) {mode=\"constant\"}"},
    {{"x T 2 16 5 7"},
     "%p: s64[8] = {0, 0, 1, 2, 0, 0, 3, 1}; %y: T[2,16,9,10] = Pad(%x, %p) {mode=\"reflect\"}"},
    {{"x T 2 16 5 7"},
     "%n: s64[4] = {2, 16, 10, 14}; %y: T[2,16,10,14] = Resize(%x, _, _, %n) {mode=\"nearest\", "
     "coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"floor\"}"},
    {{"x T 2 3 9 8"},
     "%n: s64[4] = {2, 3, 5, 12}; %y: T[2,3,5,12] = Resize(%x, _, _, %n) {mode=\"nearest\"}"},
    {{"x T 2 16 3 5"}, "%y: T[2,4,6,10] = DepthToSpace(%x) {blocksize=2}"},
    {{"x f32 2 18 3 5"}, "%y: f32[2,2,9,15] = DepthToSpace(%x) {blocksize=3, mode=\"CRD\"}"},
    {{"x T 2 5 6 4"}, "%y: T[2,20,3,2] = SpaceToDepth(%x) {blocksize=2}"},
    {{"a T 2 6 5 7", "b T 2 6 5 7"},
     "%y: T[2,12,5,7] = GatherChannels(%a, %b) {channels=ints[0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, "
     "11]}"},
    {{"a T 2 6 5 7", "b T 2 7 5 7"},
     "%y: T[2,5,5,7] = GatherChannels(%a, %b) {channels=ints[4, 5, 6, 7, 0]}"},
    // Windows and means.
    {{"x T 2 16 9 8"},
     "%y: T[2,16,5,4] = MaxPool(%x) {kernel_shape=ints[3, 3], strides=ints[2, 2], pads=ints[1, 1, "
     "1, 1]}"},
    {{"x T 1 6 9 8"},
     "%y: T[1,6,9,8] = MaxPool(%x) {kernel_shape=ints[5, 5], pads=ints[2, 2, 2, 2]}"},
    {{"x T 2 32 9 11"},
     "%y: T[2,32,9,11] = MaxPool(%x) {kernel_shape=ints[13, 9], pads=ints[6, 4, 6, 4]}"},
    {{"x T 1 16 14 9"},
     "%y: T[1,16,6,4] = MaxPool(%x) {kernel_shape=ints[4, 5], strides=ints[2, 3], dilations=ints["
     "1, 2], pads=ints[0, 5, 1, 4]}"},
    {{"x T 1 3 11 9"},
     "%y: T[1,3,4,5] = MaxPool(%x) {kernel_shape=ints[2, 3], strides=ints[3, 2], dilations=ints[2, "
     "2], pads=ints[1, 2, 0, 2]}"},
    {{"x f32 2 8 7 6"},
     "%y: f32[2,8,3,3] = MaxPool(%x) {kernel_shape=ints[3, 2], strides=ints[2, 2]}"},
    {{"x f32 2 6 7 6"},
     "%y: f32[2,6,4,3] = AveragePool(%x) {kernel_shape=ints[3, 3], strides=ints[2, 2], "
     "pads=ints[1, 1, 1, 0]}"},
    {{"x T 2 16 9 8"},
     "%y: T[2,16,5,4] = QAveragePool(%x) {kernel_shape=ints[3, 3], strides=ints[2, 2], "
     "pads=ints[1, 1, 1, 1], scales=floats[0.05, 0.04], input_zero_points=ints[Z], "
     "output_dtype=\"T\", output_zero_point=Z}"},
    {{"x T 1 3 9 8"},
     "%y: T[1,3,9,8] = QAveragePool(%x) {kernel_shape=ints[3, 3], pads=ints[1, 1, 1, 1], "
     "count_include_pad=1, scales=floats[0.05, 0.04], input_zero_points=ints[Z], "
     "output_dtype=\"T\"}"},
    {{"x T 1 4 18 18"},
     "%y: T[1,4,1,1] = QAveragePool(%x) {kernel_shape=ints[18, 18], scales=floats[0.05, 0.01], "
     "input_zero_points=ints[Z], output_dtype=\"T\"}"},
    {{"x T 2 20 7 9"},
     "%y: T[2,20,1,1] = QReduceMean(%x) {axes=ints[2, 3], scales=floats[0.05, 0.02], "
     "input_zero_points=ints[Z], output_dtype=\"T\", output_zero_point=Z}"},
    {{"x T 3 33 40"},
     "%y: T[3,40] = QReduceMean(%x) {axes=ints[1], keepdims=0, scales=floats[0.05, 0.02], "
     "input_zero_points=ints[Z], output_dtype=\"T\"}"},
    {{"x T 3 33 41"},
     "%y: T[3,33,1] = QReduceMean(%x) {axes=ints[2], scales=floats[0.05, 0.02], "
     "input_zero_points=ints[Z], output_dtype=\"T\"}"},
    {{"x T 3 4 5 6"},
     "%y: T[1,4,1,6] = QReduceMean(%x) {axes=ints[0, 2], scales=floats[0.05, 0.02], "
     "input_zero_points=ints[0], output_dtype=\"T\"}"},
    {{"x f32 2 20 7 9"}, "%a: s64[2] = {2, 3}; %y: f32[2,20,1,1] = ReduceMean(%x, %a)"},
    {{"x f32 3 33 41"}, "%a: s64[1] = {-1}; %y: f32[3,33] = ReduceSum(%x, %a) {keepdims=0}"},
    {{"x f32 3 33 8"}, "%a: s64[1] = {1}; %y: f32[3,1,8] = ReduceMean(%x, %a)"},
    {{"x f32 2 20 7 9"}, "%a: s64[2] = {2, 3}; %y: f32[2,20,1,1] = ReduceMax(%x, %a)"},
    {{"x f32 3 33 8"}, "%a: s64[1] = {1}; %y: f32[3,1,8] = ReduceL2(%x, %a)"},
    {{"x f32 2 20 7 9"}, "%y: s64[2,7,9] = ArgMax(%x) {axis=1, keepdims=0}"},
    {{"x f32 3 33"}, "%k: s64[1] = {5}; %y: f32[3,5], %i: s64[3,5] = TopK(%x, %k)"},
    // Masks, and what indices of a run pick.
    {{"a f32 2 8 5 7", "b f32 8 1 1"},
     "%c: f32[] = {0.5}; %m: bool[2,8,5,7] = Less(%a, %b); %y: f32[2,8,5,7] = Where(%m, %a, %c)"},
    {{"a f32 2 8 5 7", "b f32 2 8 5 7"},
     "%m: bool[2,8,5,7] = GreaterOrEqual(%a, %b); %n: bool[2,8,5,7] = IsNaN(%a); %y: "
     "bool[2,8,5,7] = Or(%m, %n)"},
    {{"x f32 6 5"},
     "%c: f32[5,3] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; %i: s64[6] = ArgMax(%x) "
     "{axis=1, keepdims=0}; %y: f32[6,3] = Gather(%c, %i) {axis=0}"},
    {{"x f32 2 3 5 7", "g f32 2 4 6 2"}, "%y: f32[2,3,4,6] = GridSample(%x, %g)"},
    {{"x T 2 3 5 7"}, "%n: s64[4] = {1, 2, 3, 1}; %y: T[2,6,15,7] = Tile(%x, %n)"},
    {{"x f32 2 6 5 7"},
     "%s: f32[6] = {1, 2, 3, 4, 5, 6}; %b: f32[6] = {0, 1, 2, 0, 1, 2}; %y: f32[2,6,5,7] = "
     "GroupNormalization(%x, %s, %b) {num_groups=2}"},
    // Recurrent layers: all steps of a sequence in one block, and a launch for each step. No sum is infinite.
    {{"x0 f32 5 3 6", "w f32 2 40 6", "r f32 2 40 10", "b f32 2 80", "h0 f32 2 3 10",
      "c f32 2 3 10"},
     "%x: f32[5,3,6] = Tanh(%x0); %h: f32[2,3,10] = Tanh(%h0); %l: s32[3] = {5, 2, 4}; %y: "
     "f32[5,2,3,10], %y2: f32[2,3,10], %y3: f32[2,3,10] = LSTM(%x, %w, %r, %b, %l, %h, %c) "
     "{direction=\"bidirectional\"}"},
    {{"x0 f32 5 3 8", "w f32 1 36 8", "r f32 1 36 12"},
     "%x: f32[5,3,8] = Tanh(%x0); %y: f32[5,1,3,12] = GRU(%x, %w, %r) {linear_before_reset=1}"},
    {{"x0 f32 5 3 8", "w f32 1 36 8", "r f32 1 36 12"},
     "%x: f32[5,3,8] = Tanh(%x0); %y: f32[5,1,3,12] = GRU(%x, %w, %r) {direction=\"reverse\"}"},
    {{"x0 f32 4 1 7", "w f32 1 33 7", "r f32 1 33 33"},
     "%x: f32[4,1,7] = Tanh(%x0); %y: f32[4,1,1,33] = RNN(%x, %w, %r)"},
    {{"x T 4 3 3", "h0 f32 1 3 2", "c f32 1 3 2"},
     "%w: s8[1,8,3] = {-127, 3, 50, 9, 127, -8, 1, 2, -77, 20, 6, 0, 31, -31, 15, 4, 4, 90, -60, "
     "12, 7, 100, -100, 5}; %r: s8[1,8,2] = {127, -9, 4, 33, -127, 8, 61, 0, 17, 20, -5, 70, 1, "
     "-2, 99, 40}; %m: f32[2,1,8] = {0.001, 0.002, 0.003, 0.001, 0.0005, 0.002, 0.001, 0.001, "
     "0.0001, 0.0002, 0.0003, 0.0001, 0.00005, 0.0002, 0.0001, 0.0001}; %l: s32[3] = {4, 0, 3}; "
     "%h: f32[1,3,2] = Tanh(%h0); %y: f32[4,1,3,2], %y2: f32[1,3,2], %y3: f32[1,3,2] = QLSTM(%x, "
     "%w, %r, _, %l, %h, %c, _, %m) {input_zero_points=ints[Z], output_dtype=\"f32\", "
     "state_scale=0.0078125, direction=\"reverse\"}"},
    {{"x T 2 16 5 7"},
     "%n: s64[4] = {2, 16, 10, 11}; %y: T[2,16,10,11] = QInterpolate(%x, _, _, %n) "
     "{mode=\"linear\", multiplier=0.9, input_zero_points=ints[Z], output_dtype=\"T\", "
     "output_zero_point=Z}"},
    {{"x T 1 3 9 7"},
     "%n: s64[4] = {1, 3, 9, 12}; %y: T[1,3,9,12] = QInterpolate(%x, _, _, %n) {mode=\"cubic\", "
     "multiplier=1.1, input_zero_points=ints[Z], output_dtype=\"T\"}"},
    {{"x f32 2 8 5 7"},
     "%n: s64[4] = {2, 8, 3, 11}; %y: f32[2,8,3,11] = Interpolate(%x, _, _, %n) {mode=\"linear\", "
     "antialias=1}"},
    // Much larger: rows of y have pixels of x in common.
    {{"x f32 2 5 4 6"},
     "%n: s64[4] = {2, 5, 41, 180}; %y: f32[2,5,41,180] = Interpolate(%x, _, _, %n) "
     "{mode=\"linear\"}"},
    {{"x T 2 8 4 6"},
     "%n: s64[4] = {2, 8, 41, 840}; %y: T[2,8,41,840] = QInterpolate(%x, _, _, %n) "
     "{mode=\"linear\", multiplier=0.9, input_zero_points=ints[Z], output_dtype=\"T\", "
     "output_zero_point=Z}"},
    // Reals and types.
    {{"a f32 2 8 5 7", "b f32 8 1 1"}, "%y: f32[2,8,5,7] = Add(%a, %b)"},
    {{"a f32 2 8 5 7", "b f32 2 8 5 7"}, "%y: f32[2,8,5,7] = Sub(%a, %b)"},
    {{"a f32 40 3", "b f32 40 1"}, "%y: f32[40,3] = Div(%a, %b)"},
    {{"a f32 2 8 5 7"}, "%c: f32[] = {0.3}; %y: f32[2,8,5,7] = Mul(%c, %a)"},
    {{"a f32 2 8 5 7", "b f32 8 1 1"}, "%y: f32[2,8,5,7] = PRelu(%a, %b)"},
    {{"a f32 2 8 5 7"}, "%y: f32[2,8,5,7] = Relu(%a)"},
    {{"a f32 2 3 5 7"}, "%y: f32[2,3,5,7] = Sigmoid(%a)"},
    {{"a f32 2 3 5 7"}, "%y: f32[2,3,5,7] = Tanh(%a)"},
    {{"a f32 2 3 5 7"}, "%y: f32[2,3,5,7] = Exp(%a)"},
    {{"a f32 2 3 5 7"}, "%y: f32[2,3,5,7] = Log(%a)"},
    {{"a f32 2 3 5 7"}, "%y: f32[2,3,5,7] = Erf(%a)"},
    {{"a f32 2 3 5 7"}, "%y: f32[2,3,5,7] = Gelu(%a)"},
    {{"a f32 2 3 5 7"}, "%y: f32[2,3,5,7] = Gelu(%a) {approximate=\"tanh\"}"},
    {{"a f32 2 3 5 7"}, "%y: f32[2,3,5,7] = Swish(%a) {alpha=1.5}"},
    {{"a f32 2 3 5 7"}, "%y: f32[2,3,5,7] = HardSwish(%a)"},
    {{"a f32 2 3 5 7"}, "%y: f32[2,3,5,7] = HardSigmoid(%a) {alpha=0.3}"},
    {{"a f32 2 3 5 7"}, "%y: f32[2,3,5,7] = LeakyRelu(%a) {alpha=0.1}"},
    {{"a f32 2 3 5 7"}, "%p: f32[2,3,5,7] = Abs(%a); %y: f32[2,3,5,7] = Sqrt(%p)"},
    {{"a f32 2 3 5 7"}, "%y: f32[2,3,5,7] = Reciprocal(%a)"},
    {{"a f32 2 3 5 7"}, "%y: f32[2,3,5,7] = Round(%a)"},
    {{"a f32 2 3 5 7"}, "%y: f32[2,3,5,7] = Floor(%a)"},
    {{"a f32 2 3 5 7"}, "%y: f32[2,3,5,7] = Ceil(%a)"},
    {{"a f32 2 3 5 7"}, "%y: f32[2,3,5,7] = Abs(%a)"},
    {{"a f32 2 3 5 7"}, "%y: f32[2,3,5,7] = Neg(%a)"},
    {{"a f32 2 3 5 7"},
     "%l: f32[] = {-1.5}; %h: f32[] = {2.5}; %y: f32[2,3,5,7] = Clip(%a, %l, %h)"},
    {{"a f32 2 3 5 7", "b f32 3 1 1"}, "%y: f32[2,3,5,7] = Max(%a, %b)"},
    {{"a f32 2 3 5 7", "b f32 2 3 5 7"}, "%y: f32[2,3,5,7] = Min(%a, %b)"},
    {{"a f32 2 3 5 7"},
     "%y: T[2,3,5,7] = QFunction(%a) {function=\"Sigmoid\", scale=0.004, output_dtype=\"T\", "
     "output_zero_point=Z}"},
    {{"a T 2 8 5 7"}, "%y: f32[2,8,5,7] = Cast(%a) {to=\"f32\"}"},
    {{"a T 2 8 5 7"}, "%y: s32[2,8,5,7] = Cast(%a) {to=\"s32\"}"},
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    const bool whole = (at == 0 || !is_word(text[at - 1])) &&
                       (at + from.size() == text.size() || !is_word(text[at + from.size()]));
    if (whole) text.replace(at, from.size(), to);
  }
  return text;
}

struct Made {
  Graph graph;
  std::vector<Tensor> inputs;
};

Tensor random_tensor(Dtype dtype, const Shape& shape, std::mt19937& random) {
  Tensor tensor(dtype, shape);
  if (dtype != Dtype::f32) {
    for (std::byte* at = tensor.mutable_data(); at < tensor.mutable_data() + tensor.bytes(); ++at)
      *at = static_cast<std::byte>(random() >> 8);
    return tensor;
  }
  // Ties of the scales above, values that saturate, and whatever lies between.
  for (f32& v : tensor.mutable_as<f32>()) {
    const f32 any = static_cast<f32>(random() % 20001) * 0.001f - 10.0f;
    v = random() % 3 == 0 ? std::round(any * 32.0f) / 32.0f : any;
    if (random() % 50 == 0) v = std::ldexp(v, static_cast<int>(random() % 200) - 100);
  }
  return tensor;
}

// Inputs of rank 4 in nhwc come through a Transpose that changes their layout alone.
Made make(const Case& c, bool is_signed, bool nhwc, u32 seed) {
  std::mt19937 random(seed);
  Made made;
  std::string arguments, nodes;
  for (const std::string& input : c.inputs) {
    std::istringstream words(input);
    std::string name, type, dims;
    Shape shape;
    words >> name >> type;
    for (s64 size = 0; words >> size;) shape.push_back(size);
    const Dtype dtype = type == "f32" ? Dtype::f32 : is_signed ? Dtype::s8 : Dtype::u8;
    if (nhwc && shape.rank() == 4) {
      nodes += fmt::format("  %{}: {}[{},{},{},{}] = Transpose(%{}0) {{perm=ints[0, 3, 1, 2]}}\n",
                           name, type, shape[0], shape[1], shape[2], shape[3], name);
      shape = {shape[0], shape[2], shape[3], shape[1]};
      name += '0';
    }
    for (const s64 size : shape) dims += fmt::format("{}{}", dims.empty() ? "" : ",", size);
    arguments += fmt::format("{}%{}: {}[{}]", arguments.empty() ? "" : ", ", name, type, dims);
    made.inputs.push_back(random_tensor(dtype, shape, random));
  }
  std::istringstream lines(c.nodes);
  for (std::string line; std::getline(lines, line, ';');) {
    line.erase(0, line.find_first_not_of(' '));
    nodes += (line.find('(') == std::string::npos ? "  const " : "  ") + line + '\n';
  }
  const std::string results = nodes.find("%y3") != std::string::npos ? "%y, %y2, %y3" : "%y";
  std::string text =
      fmt::format("graph \"t\"({}) {{\n{}  return {}\n}}\n", arguments, nodes, results);
  text = replaced(replaced(std::move(text), "T", is_signed ? "s8" : "u8"), "Z",
                  is_signed ? "-37" : "117");
  made.graph = parse_graph(text, find_op);
  return made;
}

TEST(GpuElements, EveryOperatorGivesTheBytesOfTheCpu) {
  std::string why;
  if (gpu_device(why) == nullptr) GTEST_SKIP() << why;
  std::vector<std::string> kernels;
  u32 number = 0;
  for (const Case& c : kCases) {
    for (const bool is_signed : {false, true}) {
      const bool nhwc = is_signed == (number % 2 == 0);
      const std::string what = fmt::format("case {}{}{}: {}", number, is_signed ? ", s8" : "",
                                           nhwc ? ", nhwc" : "", c.nodes);
      try {
        const Made made = make(c, is_signed, nhwc, number);
        expect_cpu_bytes(made.graph, made.graph.nodes.size() - 1, made.inputs, what, kernels);
      } catch (const std::exception& error) {
        ADD_FAILURE() << what << ": " << error.what();
      }
    }
    ++number;
  }
}

}  // namespace
}  // namespace octet::test

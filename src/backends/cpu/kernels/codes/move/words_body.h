// SPDX-License-Identifier: Apache-2.0
// The loops of words.h for one instruction set. The including file defines OCTET_ISA(name), least(a, b), kSide,
// and turn(from, from_stride, to, to_stride, extent), which transposes a block of kSide x kSide; with kFastEdges, of less too.
#pragma once

namespace octet {
namespace {

inline void turn_block(const WordMatrix& m, long r, long c) {
  const long rows = least(kSide, m.rows - r), columns = least(kSide, m.columns - c);
  const unsigned* from = m.src + r * m.src_stride + c;
  unsigned* to = m.dst + c * m.dst_stride + r;
  if (kFastEdges || (rows == kSide && columns == kSide))
    return turn(from, m.src_stride, to, m.dst_stride, {rows, columns});
  for (long y = 0; y < rows; ++y) {
    for (long x = 0; x < columns; ++x) to[x * m.dst_stride + y] = from[y * m.src_stride + x];
  }
}

}  // namespace

// One cache line of columns at a time: each line is read once, and few enough lines are written at a time to stay in L1, whatever
// the stride between them.
void OCTET_ISA(transpose_words)(const WordMatrix& m) {
  constexpr long kLine = 16;
  for (long line = 0; line < m.columns; line += kLine) {
    const long end = least(line + kLine, m.columns);
    for (long r = 0; r < m.rows; r += kSide) {
      for (long c = line; c < end; c += kSide) turn_block(m, r, c);
    }
  }
}

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "inspect/compare/error_map.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace octet {
namespace {

struct Picture {
  s64 height = 1, width = 1;
};

Picture picture_of(const Shape& shape) {
  Picture picture;
  int found = 0;
  for (int i = shape.rank(); i-- > 0 && found < 2;) {
    if (shape[i] == 1) continue;
    (found++ == 0 ? picture.width : picture.height) = shape[i];
  }
  return picture;
}

void add_element(f64 absolute, f64 reference, ErrorMap::Cell& cell) {
  ++cell.elements;
  const bool finite = std::isfinite(absolute);
  cell.largest = finite ? std::max(cell.largest, absolute) : std::numeric_limits<f64>::infinity();
  if (finite) cell.absolute += absolute;
  if (std::isfinite(reference)) cell.reference += std::abs(reference);
}

}  // namespace

double ErrorMap::Cell::relative() const {
  if (absolute == 0) return 0;
  return absolute / std::max(reference, std::numeric_limits<f64>::min());
}

void add_to_map(const Shape& shape, const SampleErrors& errors, ErrorMap& map) {
  if (errors.absolute.empty()) return;
  const auto [height, width] = picture_of(shape);
  if (map.cells.empty()) {
    map.height = height;
    map.width = width;
    map.rows = std::min(height, ErrorMap::kMostRows);
    map.columns = std::min(width, ErrorMap::kMostColumns);
    map.cells.resize(static_cast<size_t>(map.rows * map.columns));
  }
  const auto pictures = static_cast<s64>(errors.absolute.size()) / (height * width);
  size_t at = 0;
  for (s64 row = 0; row < pictures * height; ++row) {
    const s64 first = row % height * map.rows / height * map.columns;
    for (s64 column = 0; column < width; ++column, ++at) {
      const s64 cell = first + column * map.columns / width;
      add_element(errors.absolute[at], errors.reference[at], map.cells[static_cast<size_t>(cell)]);
    }
  }
}

}  // namespace octet

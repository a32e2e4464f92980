// SPDX-License-Identifier: Apache-2.0
#include "inspect/report/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "inspect/report/text.h"

namespace octet {
namespace {

constexpr size_t kMostLayers = 1500;
constexpr int kWidth = 148, kHeight = 34, kAcross = 168, kDown = 58, kMargin = 12;
constexpr int kBeside = kAcross - kWidth;  // between the boxes of a row
constexpr size_t kLongestName = 22;

// Whole characters.
std::string end_of(const std::string& name) {
  if (name.size() <= kLongestName) return name;
  size_t at = name.size() - kLongestName;
  while (at < name.size() && (static_cast<unsigned char>(name[at]) & 0xc0) == 0x80) ++at;
  return "..." + name.substr(at);
}

// Layers by rows: each below all that it reads; in a row, near what they read.
class Drawing {
 public:
  explicit Drawing(const Inspection& inspection) : layers_(inspection.layers) {
    find_edges();
    find_rows();
    for (auto& row : rows_) order(row);
  }

  std::string svg() const {
    size_t widest = 1;
    for (const auto& row : rows_) widest = std::max(widest, row.size());
    const int width = static_cast<int>(widest) * kAcross + 2 * (kMargin + kBeside);
    const int height = static_cast<int>(rows_.size()) * kDown + 2 * kMargin;
    std::string out = fmt::format(
        "<svg id=\"graph\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\" "
        "aria-label=\"the layers as a graph\">",
        width, height);
    std::string boxes;
    for (size_t r = 0; r < rows_.size(); ++r) {
      for (size_t at = 0; at < rows_[r].size(); ++at) boxes += box(rows_[r][at], width);
    }
    for (size_t i = 0; i < layers_.size(); ++i) {
      for (const size_t from : reads_[i]) out += edge(from, i, width);
    }
    return out + boxes + "</svg>";
  }

 private:
  struct Place {
    size_t row = 0, at = 0;
  };

  void find_edges() {
    std::unordered_map<std::string_view, size_t> writer;
    reads_.resize(layers_.size());
    for (size_t i = 0; i < layers_.size(); ++i) {
      for (const std::string& input : layers_[i].inputs) {
        const auto at = writer.find(input);
        if (at != writer.end()) reads_[i].push_back(at->second);
      }
      for (const std::string& output : layers_[i].outputs) writer[output] = i;
    }
  }

  void find_rows() {
    place_.resize(layers_.size());
    for (size_t i = 0; i < layers_.size(); ++i) {
      size_t row = 0;
      for (const size_t from : reads_[i]) row = std::max(row, place_[from].row + 1);
      place_[i].row = row;
      if (rows_.size() <= row) rows_.resize(row + 1);
      rows_[row].push_back(i);
    }
  }

  void order(std::vector<size_t>& row) {
    const auto wanted = [&](size_t i) {
      double sum = 0;
      for (const size_t from : reads_[i]) sum += middle(from);
      return reads_[i].empty() ? 0.0 : sum / static_cast<double>(reads_[i].size());
    };
    std::ranges::stable_sort(row, std::less(), wanted);
    for (size_t at = 0; at < row.size(); ++at) place_[row[at]].at = at;
  }

  // From the middle of the drawing, in boxes.
  double middle(size_t i) const {
    const Place& place = place_[i];
    return static_cast<double>(place.at) - static_cast<double>(rows_[place.row].size() - 1) / 2;
  }

  int x_of(size_t i, int width) const {
    return width / 2 + static_cast<int>(middle(i) * kAcross) - kWidth / 2;
  }
  int y_of(size_t i) const { return kMargin + static_cast<int>(place_[i].row) * kDown; }

  // Whether a straight line between the two lies behind a box of a row between: a skip connection past a column of layers.
  bool is_covered(size_t from, size_t to) const {
    const auto first = static_cast<double>(place_[from].row);
    const auto rows = static_cast<double>(place_[to].row) - first;
    for (size_t r = place_[from].row + 1; r < place_[to].row; ++r) {
      const double part = (static_cast<double>(r) - first) / rows;
      const double x = middle(from) + part * (middle(to) - middle(from));
      const auto covers = [&](size_t i) { return std::abs(middle(i) - x) * kAcross < kWidth / 2; };
      if (std::ranges::any_of(rows_[r], covers)) return true;
    }
    return false;
  }

  // From side to side, through the gap beside the boxes.
  std::string skip(size_t from, size_t to, int width) const {
    const int x0 = x_of(from, width) + kWidth, x1 = x_of(to, width) + kWidth;
    const int y0 = y_of(from) + kHeight / 2, y1 = y_of(to) + kHeight / 2;
    const int beside = std::max(x0, x1) + kBeside / 2;
    return fmt::format(
        "<path class=\"edge skip\" d=\"M{0} {1}C{2} {1} {2} {1} {2} {3}L{2} {4}C{2} {5} {2} {5} "
        "{6} "
        "{5}\"/>",
        x0, y0, beside, y0 + kDown / 2, y1 - kDown / 2, y1, x1);
  }

  std::string edge(size_t from, size_t to, int width) const {
    if (is_covered(from, to)) return skip(from, to, width);
    const int x0 = x_of(from, width) + kWidth / 2, y0 = y_of(from) + kHeight;
    const int x1 = x_of(to, width) + kWidth / 2, y1 = y_of(to);
    const int bend = std::max(12, (y1 - y0) / 2);
    return fmt::format("<path class=\"edge\" d=\"M{} {}C{} {} {} {} {} {}\"/>", x0, y0, x0,
                       y0 + bend, x1, y1 - bend, x1, y1);
  }

  std::string box(size_t i, int width) const {
    const LayerInfo& layer = layers_[i];
    const std::string name = end_of(layer.name);
    return fmt::format(
        "<g class=\"box {}{}\" data-i=\"{}\" tabindex=\"0\" role=\"button\" "
        "transform=\"translate({},{})\"><title>{}</title><rect width=\"{}\" height=\"{}\" "
        "rx=\"6\"/><text x=\"{}\" y=\"14\">{}</text><text class=\"small\" x=\"{}\" "
        "y=\"27\">{}</text></g>",
        precision_class(layer.precision), layer.conversion ? " move" : "", i, x_of(i, width),
        y_of(i), escape_html(layer.name), kWidth, kHeight, kWidth / 2, escape_html(layer.op),
        kWidth / 2, escape_html(name));
  }

  const std::vector<LayerInfo>& layers_;
  std::vector<std::vector<size_t>> reads_;  // of each layer, those whose values it reads
  std::vector<Place> place_;
  std::vector<std::vector<size_t>> rows_;
};

}  // namespace

std::string graph_drawing(const Inspection& inspection) {
  if (inspection.layers.empty() || inspection.layers.size() > kMostLayers) return "";
  return Drawing(inspection).svg();
}

}  // namespace octet

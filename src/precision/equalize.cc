// SPDX-License-Identifier: Apache-2.0
#include "precision/equalize.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/channel_exponent.h"
#include "core/side_by_side.h"
#include "passes/match.h"
#include "precision/channel_classes.h"
#include "precision/precision.h"
#include "precision/product_weights.h"

namespace octet {
namespace {

// Beyond it, means of squares are no longer exact.
constexpr f64 kLargestReach = 0x1p19;
// Exponents move by one a round; a few more let classes that share rows of weights settle.
constexpr int kRounds = kMostExponent + 4;
// From so many on it pays to share them among threads, each round anew.
constexpr size_t kManyWeights = size_t{1} << 16;
// Of the codes of a weight.
constexpr f64 kWeightCodes = 127;

// What rounding takes away, of what there is.
f64 share(f64 noise, f64 power) { return power > 0 ? noise / (power + noise) : 0.0; }

// 2^-2k.
f64 quarter(int exponent) { return std::ldexp(1.0, -2 * exponent); }

// A value with codes.
struct Coded {
  ValueId id = kNoValue;
  const ChannelFacts* facts = nullptr;
  f64 noise = 0;  // mean square of rounding
};

f64 reach_of(const ChannelFacts& facts, size_t channel) {
  return std::max(std::fabs(facts.min[channel]), std::fabs(facts.max[channel]));
}

std::optional<Coded> tensor_of(ValueId id, const std::unordered_map<ValueId, ChannelFacts>& seen) {
  const auto at = seen.find(id);
  if (at == seen.end() || at->second.power.empty()) return std::nullopt;
  const ChannelFacts& facts = at->second;
  Range range;
  range.min = static_cast<f32>(*std::ranges::min_element(facts.min));
  range.max = static_cast<f32>(*std::ranges::max_element(facts.max));
  range.threshold = std::max(std::fabs(f64{range.min}), std::fabs(f64{range.max}));
  if (!(range.threshold > 0x1p-60) || range.threshold > kLargestReach) return std::nullopt;
  const f64 step{code_type_of(range).params.scale};
  return Coded{id, &facts, step * step / 12};
}

// A product's input as it stands now, channel by channel.
struct Now {
  std::vector<f64> halved, noise, power;  // 2^-k; of codes, in the model's own scale; mean square
};

// Of an output channel of a product.
struct Noise {
  f64 codes = 0, weights = 0;
  f64 scale_noise = 0;  // of one weight
  size_t widest = 0;    // the input channel with the largest weight
};

// A product that reads a tensor, as far as the exponents of that tensor matter to it.
struct Reader {
  Coded input;
  ProductWeights weights;
  std::vector<f64> power;  // of its output channels

  // As exponents stand.
  Now now = {};
  std::vector<Noise> noises = {};           // of its output channels
  f64 cost = 0;                             // what they lose, as a mean
  std::vector<f64> falls = {}, rises = {};  // of its input channels
};

// Of a node for which separates_channels() holds.
struct Product {
  const Node* node;
  std::optional<ProductWeights> weights;
};

std::vector<Product> products_of(const Graph& graph, int threads) {
  std::vector<Product> products;
  for (const Node& node : graph.nodes) {
    if (separates_channels(graph, node)) products.push_back({&node, std::nullopt});
  }
  side_by_side(products.size(), threads,
               [&](size_t i) { products[i].weights.emplace(graph, *products[i].node); });
  return products;
}

// A sum that reads a tensor: its rounding stands in the result as it is.
struct Sum {
  Coded input;
};

// The largest exponent of each class at which weights stay normal numbers; 0 of those that are fixed.
std::vector<int> most_by_weights(const ChannelClasses& classes,
                                 const std::vector<Product>& products) {
  std::vector<int> most(classes.count(), kMostExponent);
  for (size_t c = 0; c < most.size(); ++c) most[c] = classes.is_fixed(c) ? 0 : most[c];
  for (const Product& product : products) {
    const ProductWeights& weights = *product.weights;
    const ValueId in = product.node->inputs[0], out = product.node->outputs[0];
    for (size_t c = 0; c < std::min(classes.channels(in), weights.inputs()); ++c) {
      int& own = most[classes.class_of(in, c)];
      own = std::min(own, weights.shrinks_by(c));
    }
    for (size_t o = 0; o < std::min(classes.channels(out), weights.outputs()); ++o) {
      int& own = most[classes.class_of(out, o)];
      own = std::min(own, weights.grows_by(o));
    }
  }
  return most;
}

ChannelExponents of_values(const Graph& graph, const ChannelClasses& classes,
                           const std::vector<int>& of_class) {
  ChannelExponents exponents;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    std::vector<s8> own(classes.channels(id));
    for (size_t c = 0; c < own.size(); ++c)
      own[c] = static_cast<s8>(of_class[classes.class_of(id, c)]);
    if (std::ranges::any_of(own, [](s8 k) { return k != 0; }))
      exponents.emplace(id, std::move(own));
  }
  return exponents;
}

class Chooser {
 public:
  Chooser(const Graph& graph, const std::unordered_map<ValueId, ChannelFacts>& seen,
          const std::unordered_set<ValueId>& fixed, int threads)
      : graph_(graph), seen_(seen), classes_(graph), threads_(threads) {
    std::vector<Product> products = products_of(graph, threads);
    most_ = most_by_weights(classes_, products);
    limit(fixed);
    auto next = products.begin();
    for (const Node& node : graph.nodes)
      add_readers(node, next != products.end() && next->node == &node ? &*next++ : nullptr);
    join_components();
    size_t weights = 0;
    for (const Reader& reader : readers_)
      weights += reader.weights.outputs() * reader.weights.inputs_of_group();
    if (weights < kManyWeights) threads_ = 1;
  }

  ChannelExponents run() {
    exponents_.assign(classes_.count(), 0);
    best_ = exponents_;
    std::vector<f64> least = costs();
    for (int round = 0; round < kRounds; ++round) {
      if (!step()) break;
      const std::vector<f64> now = costs();
      for (size_t c = 0; c < classes_.count(); ++c) {
        const size_t part = component_of_class_[c];
        if (part < now.size() && now[part] < least[part]) best_[c] = exponents_[c];
      }
      for (size_t part = 0; part < least.size(); ++part)
        least[part] = std::min(least[part], now[part]);
    }
    return of_values(graph_, classes_, best_);
  }

 private:
  // No channel of a tensor grows beyond the widest, nor beyond f16 where it was within; weights stay normal numbers.
  void limit(const std::unordered_set<ValueId>& fixed) {
    for (ValueId id = 0; id < graph_.value_count(); ++id) {
      const auto tensor = tensor_of(id, seen_);
      const bool fits = tensor && tensor->facts->power.size() == classes_.channels(id);
      const bool stays = fixed.contains(id) || (seen_.contains(id) && !fits);
      f64 reach = 0;
      for (size_t c = 0; fits && c < classes_.channels(id); ++c)
        reach = std::max(reach, reach_of(*tensor->facts, c));
      for (size_t c = 0; c < classes_.channels(id); ++c) {
        int& most = most_[classes_.class_of(id, c)];
        if (stays) most = 0;
        if (!fits) continue;
        const f64 own = reach_of(*tensor->facts, c);
        const f64 end = own <= kMostOfHalf ? std::min(reach, f64{kMostOfHalf}) : reach;
        most = own > 0 ? std::min(most, std::ilogb(end / own)) : 0;
      }
    }
  }

  std::optional<Coded> read_tensor(ValueId id) const {
    if (classes_.channels(id) == 0) return std::nullopt;
    const auto tensor = tensor_of(id, seen_);
    if (!tensor || tensor->facts->power.size() != classes_.channels(id)) return std::nullopt;
    return tensor;
  }

  // `product`: what the node is, if it is one.
  void add_readers(const Node& node, Product* product) {
    if (product != nullptr) {
      if (const auto input = read_tensor(node.inputs[0])) add_product(*product, *input);
      if (const auto residual = read_tensor(node.input(3))) sums_.push_back({*residual});
    } else if (is_op(node, "Add")) {
      for (ValueId id : node.inputs) {
        if (const auto input = read_tensor(id)) sums_.push_back({*input});
      }
    }
  }

  void add_product(Product& product, const Coded& input) {
    Reader reader{input, std::move(*product.weights), {}};
    if (reader.weights.inputs() != input.facts->power.size()) return;
    const auto result = read_tensor(product.node->outputs[0]);
    reader.power = result && result->facts->power.size() == reader.weights.outputs()
                       ? result->facts->power
                       : reader.weights.power_of(input.facts->power);
    readers_.push_back(std::move(reader));
  }

  // What is decided together: tensors with channels of one class, and classes of one tensor.
  void join_components() {
    std::vector<size_t> parent(classes_.count());
    std::iota(parent.begin(), parent.end(), size_t{0});
    const auto root = [&](size_t c) {
      while (parent[c] != c) c = parent[c] = parent[parent[c]];
      return c;
    };
    for (ValueId id = 0; id < graph_.value_count(); ++id) {
      for (size_t c = 1; c < classes_.channels(id); ++c)
        parent[root(classes_.class_of(id, c))] = root(classes_.class_of(id, 0));
    }
    for (size_t c = 0; c < parent.size(); ++c) component_of_class_.push_back(root(c));
  }

  int exponent(const Coded& tensor, size_t channel) const {
    return exponents_[classes_.class_of(tensor.id, channel)];
  }

  Now now_of(const Reader& reader) const {
    Now now;
    const std::vector<f64>& power = reader.input.facts->power;
    for (size_t c = 0; c < power.size(); ++c) {
      const int k = exponent(reader.input, c);
      now.halved.push_back(std::ldexp(1.0, -k));
      now.noise.push_back(std::min(reader.input.noise * quarter(k), power[c]));
      now.power.push_back(power[c] * quarter(-k));
    }
    return now;
  }

  static Noise noise_of(const ProductWeights& w, const Now& now, size_t o) {
    Noise noise;
    f64 largest = 0, power = 0;
    for (size_t i = 0; i < w.inputs_of_group(); ++i) {
      const size_t c = w.input_of(o, i);
      noise.codes += w.squares(o, i) * now.noise[c];
      power += now.power[c];
      const f64 wide = w.largest(o, i) * now.halved[c];
      if (wide > largest) {
        largest = wide;
        noise.widest = c;
      }
    }
    const f64 step = largest / kWeightCodes;
    noise.scale_noise = step * step / 12 * w.taps();
    noise.weights = noise.scale_noise * power;
    return noise;
  }

  // Readers know nothing of each other, and what they find is added up in their order.
  void look(void (Chooser::*at)(Reader&) const) {
    side_by_side(readers_.size(), threads_, [&](size_t r) { (this->*at)(readers_[r]); });
  }

  void find_noise(Reader& reader) const {
    reader.now = now_of(reader);
    reader.noises.clear();
    f64 sum = 0;
    for (size_t o = 0; o < reader.weights.outputs(); ++o) {
      const Noise noise = noise_of(reader.weights, reader.now, o);
      sum += share(noise.codes + noise.weights, reader.power[o]);
      reader.noises.push_back(noise);
    }
    reader.cost = sum / static_cast<f64>(reader.weights.outputs());
  }

  std::vector<f64> costs() {
    look(&Chooser::find_noise);
    std::vector<f64> cost(classes_.count(), 0.0);
    for (const Reader& reader : readers_) cost[component_of(reader.input)] += reader.cost;
    for (const Sum& reader : sums_) {
      const std::vector<f64>& power = reader.input.facts->power;
      f64 sum = 0;
      for (size_t c = 0; c < power.size(); ++c)
        sum += share(reader.input.noise * quarter(exponent(reader.input, c)), power[c]);
      cost[component_of(reader.input)] += sum / static_cast<f64>(power.size());
    }
    return cost;
  }

  size_t component_of(const Coded& tensor) const {
    return component_of_class_[classes_.class_of(tensor.id, 0)];
  }

  // Of each class the noise is falling / 4^k + rising * 4^k, as far as first order goes. False where none moves. Behind costs() of the same
  // exponents.
  bool step() {
    look(&Chooser::find_slopes);
    std::vector<f64> falling(classes_.count(), 0.0), rising(classes_.count(), 0.0);
    for (const Reader& reader : readers_) {
      for (size_t c = 0; c < reader.weights.inputs(); ++c) {
        const size_t of = classes_.class_of(reader.input.id, c);
        falling[of] += reader.falls[c];
        rising[of] += reader.rises[c];
      }
    }
    for (const Sum& reader : sums_) {
      const std::vector<f64>& power = reader.input.facts->power;
      for (size_t c = 0; c < power.size(); ++c) {
        const size_t of = classes_.class_of(reader.input.id, c);
        const f64 total = power[c] + reader.input.noise * quarter(exponents_[of]);
        falling[of] += reader.input.noise / total / static_cast<f64>(power.size());
      }
    }
    const std::vector<int> before = exponents_;
    for (size_t c = 0; c < classes_.count(); ++c) move(c, falling[c], rising[c]);
    return exponents_ != before;
  }

  void find_slopes(Reader& reader) const {
    const ProductWeights& w = reader.weights;
    std::vector<f64>&down = reader.falls, &up = reader.rises;
    down.assign(w.inputs(), 0.0);
    up.assign(w.inputs(), 0.0);
    for (size_t o = 0; o < w.outputs(); ++o) {
      if (!(reader.power[o] > 0)) continue;
      const Noise& noise = reader.noises[o];
      const f64 weight = 1 / (reader.power[o] + noise.codes + noise.weights);
      for (size_t i = 0; i < w.inputs_of_group(); ++i) {
        const size_t c = w.input_of(o, i);
        down[c] += weight * w.squares(o, i);
        // The widest weight takes its step along.
        if (c != noise.widest) up[c] += weight * noise.scale_noise;
      }
    }
    const auto outputs = static_cast<f64>(w.outputs());
    for (size_t c = 0; c < w.inputs(); ++c) {
      down[c] = down[c] * reader.input.noise / outputs;
      up[c] = up[c] * reader.input.facts->power[c] / outputs;
    }
  }

  // At most one octave a round, so that classes that share a row of weights do not overtake each other.
  void move(size_t c, f64 falling, f64 rising) {
    if (!(falling > 0)) return;
    const auto cost = [&](int k) { return falling * quarter(k) + rising * quarter(-k); };
    const int now = exponents_[c];
    const int low = std::max(0, now - 1), high = std::min(most_[c], now + 1);
    for (int k = low; k <= high; ++k) {
      if (cost(k) < cost(exponents_[c])) exponents_[c] = k;
    }
  }

  const Graph& graph_;
  const std::unordered_map<ValueId, ChannelFacts>& seen_;
  const ChannelClasses classes_;
  int threads_;
  std::vector<int> most_, exponents_, best_;  // of each class
  std::vector<size_t> component_of_class_;
  std::vector<Reader> readers_;
  std::vector<Sum> sums_;
};

int exponent_of(const ChannelExponents& exponents, ValueId id, size_t channel) {
  const auto at = id == kNoValue ? exponents.end() : exponents.find(id);
  return at == exponents.end() ? 0 : at->second[channel];
}

}  // namespace

ChannelExponents choose_exponents(const Graph& graph,
                                  const std::unordered_map<ValueId, ChannelFacts>& seen,
                                  const std::unordered_set<ValueId>& fixed, int threads) {
  return Chooser(graph, seen, fixed, threads).run();
}

ChannelExponents completed_exponents(const Graph& graph, const ChannelExponents& known,
                                     std::string& misfit) {
  const ChannelClasses classes(graph);
  const std::vector<int> most = most_by_weights(classes, products_of(graph, 1));
  constexpr int kUnknown = -1;
  std::vector<int> of_class(classes.count(), kUnknown);
  for (const auto& [id, own] : known) {
    if (own.size() != classes.channels(id)) {
      misfit = fmt::format("'{}' has {} exponents, and {} channels that can be multiplied",
                           graph.value(id).name, own.size(), classes.channels(id));
      return {};
    }
    for (size_t c = 0; c < own.size(); ++c) {
      int& exponent = of_class[classes.class_of(id, c)];
      const bool other = exponent != kUnknown && exponent != own[c];
      exponent = own[c];
      if (!other && own[c] <= most[classes.class_of(id, c)]) continue;
      misfit = fmt::format("channel {} of '{}' cannot be multiplied by 2^{}", c,
                           graph.value(id).name, own[c]);
      return {};
    }
  }
  for (int& exponent : of_class) exponent = std::max(exponent, 0);
  return of_values(graph, classes, of_class);
}

ChannelExponents without_exponents(const Graph& graph, const ChannelExponents& exponents,
                                   const std::unordered_set<ValueId>& ids) {
  const ChannelClasses classes(graph);
  std::vector<int> of_class(classes.count(), 0);
  for (const auto& [id, own] : exponents) {
    for (size_t c = 0; c < own.size(); ++c) of_class[classes.class_of(id, c)] = own[c];
  }
  for (ValueId id : ids) {
    for (size_t c = 0; c < classes.channels(id); ++c) of_class[classes.class_of(id, c)] = 0;
  }
  return of_values(graph, classes, of_class);
}

void apply_exponents(Graph& graph, const ChannelExponents& exponents) {
  if (exponents.empty()) return;
  for (Node& node : graph.nodes) {
    if (!separates_channels(graph, node)) continue;
    const ValueId in = node.inputs[0], out = node.outputs[0];
    if (!exponents.contains(in) && !exponents.contains(out)) continue;
    scale_product(
        graph, node, [&](size_t c) { return exponent_of(exponents, in, c); },
        [&](size_t o) { return exponent_of(exponents, out, o); });
  }
}

}  // namespace octet

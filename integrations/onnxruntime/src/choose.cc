// SPDX-License-Identifier: Apache-2.0
#include "choose.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>
#include <utility>

#include "octet/operators.h"

namespace octet_ort {
namespace {

using octet::Error;

using Left = std::map<size_t, std::string>;  // node -> why it is left

// Nodes that the importer refuses are found one at a time, each with another import.
constexpr int kMostRefusals = 24;

const std::set<std::pair<std::string, std::string>>& known_operators() {
  static const auto known = [] {
    std::set<std::pair<std::string, std::string>> names;
    for (const octet::OpSupport& op : octet::supported_operators()) {
      names.emplace(op.domain, op.name);
    }
    return names;
  }();
  return known;
}

bool has_our_type(const Host& host, const Graph& graph, const std::string& name) {
  if (name.empty() || graph.constants.contains(name)) return true;
  return dtype_of(type_of(host, graph.values.at(name)).element_type) != nullptr;
}

// What can be said of a node by itself; empty: nothing against it.
std::string against(const Host& host, const Graph& graph, const GraphNode& node) {
  if (node.has_bodies) return "control flow stays with ONNX Runtime";
  if (!known_operators().contains({node.domain, node.op})) {
    return "Octet has no operator " + (node.domain.empty() ? "" : node.domain + ".") + node.op;
  }
  const auto ours = [&](const std::string& name) { return has_our_type(host, graph, name); };
  if (!std::all_of(node.inputs.begin(), node.inputs.end(), ours) ||
      !std::all_of(node.outputs.begin(), node.outputs.end(), ours)) {
    return "values of a type that Octet's borders do not have";
  }
  return {};
}

// The node that an error of the importer is about; nothing where it is about none of them.
std::optional<size_t> blamed(const Graph& graph, const Part& part, const Error& error) {
  const std::vector<size_t> nodes = part.engine_nodes();
  for (const std::string& line : error.context()) {
    for (const size_t i : nodes) {
      if (line.starts_with("importing node '" + graph.nodes[i].name + "' (")) return i;
    }
  }
  return std::nullopt;
}

std::string percent(double share) { return std::to_string(std::lround(share * 100)) + " %"; }

// Why ONNX Runtime is the better place for a part; empty: it is not.
std::string better_left(const Built& built, const Options& options) {
  if (options.take_all) return {};
  if (!built.has_multiplications) return "nothing in it multiplies";
  if (built.observation != nullptr) return {};
  if (std::isnan(built.int8_share)) return {};
  if (built.int8_share == 0) {
    return "it has no INT8 layer: no Q/DQ nodes, no octet.calibration_cache and no "
           "octet.int8=observe:N";
  }
  if (built.int8_share < 0.5)
    return "INT8 is " + percent(built.int8_share) + " of its multiplications";
  return {};
}

bool draws_numbers(const GraphNode& node) {
  return node.op.starts_with("Random") || node.op == "Bernoulli" || node.op == "Multinomial" ||
         node.op == "Dropout";
}

// What is made of constants alone, the same whenever and wherever it is made.
class Remade {
 public:
  explicit Remade(const Graph& graph) : graph_(graph) {
    std::set<std::string> known = graph.constants;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const GraphNode& node = graph.nodes[i];
      const bool constant = !node.has_bodies && !draws_numbers(node) && !node.inputs.empty() &&
                            std::all_of(node.inputs.begin(), node.inputs.end(), [&](auto& name) {
                              return name.empty() || known.contains(name);
                            });
      if (!constant) continue;
      known.insert(node.outputs.begin(), node.outputs.end());
      for (const std::string& name : node.outputs) makers_[name] = i;
    }
  }

  // A part whose weights come from another part would not know that they are codes: it makes them itself, where nobody in `left` has to.
  void add_to(Part& part, const Left& left) const {
    std::set<size_t> all;
    std::erase_if(part.inputs, [&](const std::string& name) {
      std::set<size_t> chain;
      if (!collect(name, left, chain)) return false;
      all.insert(chain.begin(), chain.end());
      return true;
    });
    for (const size_t i : part.nodes) all.erase(i);
    part.repeated.assign(all.begin(), all.end());
    std::set<std::string> held(part.constants.begin(), part.constants.end());
    for (const size_t i : part.repeated) {
      for (const std::string& name : graph_.nodes[i].inputs) {
        if (graph_.constants.contains(name) && held.insert(name).second)
          part.constants.push_back(name);
      }
    }
  }

 private:
  // The nodes that it takes to make a value; false where it cannot be made. Chains may be as long as the model.
  bool collect(const std::string& name, const Left& left, std::set<size_t>& chain) const {
    std::vector<std::string> open = {name};
    while (!open.empty()) {
      const auto maker = makers_.find(open.back());
      open.pop_back();
      if (maker == makers_.end() || left.contains(maker->second)) return false;
      if (!chain.insert(maker->second).second) continue;
      for (const std::string& input : graph_.nodes[maker->second].inputs) {
        if (!input.empty() && !graph_.constants.contains(input)) open.push_back(input);
      }
    }
    return true;
  }

  const Graph& graph_;
  std::map<std::string, size_t> makers_;
};

class Chooser {
 public:
  Chooser(const Host& host, const Graph& graph, const Options& options, const PartBuilder& builder)
      : host_(host), graph_(graph), options_(options), builder_(builder), remade_(graph) {}

  Choice run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const std::string reason = against(host_, graph_, graph_.nodes[i]);
      if (!reason.empty()) left_[i] = reason;
    }
    for (int refusals = 0; !settled(); ++refusals) {
      if (refusals == kMostRefusals) {
        leave_all("too many of its nodes were refused");
        break;
      }
    }
    Choice choice;
    for (auto& [key, chosen] : taken_) choice.parts.push_back(std::move(chosen));
    for (const auto& [node, reason] : left_) {
      choice.left[reason].push_back(graph_.nodes[node].name + " (" + graph_.nodes[node].op + ")");
    }
    return choice;
  }

 private:
  // Whether all parts that there are now were built, or left as a whole; false: a node was left, and parts are others.
  bool settled() {
    std::vector<bool> wanted(graph_.nodes.size());
    for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = !left_.contains(i);
    std::map<size_t, Chosen> now;
    for (auto& nodes : parts_of(graph_, wanted)) {
      Part part = part_of(graph_, std::move(nodes));
      remade_.add_to(part, left_);
      const size_t first = part.nodes.front();
      const auto before = taken_.find(first);
      if (before != taken_.end() && before->second.part.key == part.key &&
          before->second.part.repeated == part.repeated) {
        now[first] = before->second;
      } else if (!build(std::move(part), now)) {
        taken_ = std::move(now);
        return false;
      }
    }
    taken_ = std::move(now);
    return true;
  }

  bool build(Part part, std::map<size_t, Chosen>& now) {
    const size_t first = part.nodes.front();
    try {
      auto built = builder_.build(graph_, part, now.size());
      const std::string reason = better_left(*built, options_);
      if (reason.empty()) {
        now[first] = {std::move(part), std::move(built), {}};
      } else {
        leave(part, reason);
      }
      return true;
    } catch (const Error& error) {
      return refuse(std::move(part), error, now);
    }
  }

  // What the user asked for and cannot be is no reason to run without it: the session ends with it, in Compile().
  bool refuse(Part part, const Error& error, std::map<size_t, Chosen>& now) {
    if (error.code() == Error::Code::invalid_argument || error.code() == Error::Code::io) {
      const size_t first = part.nodes.front();
      now[first] = {std::move(part), nullptr, error.what()};
      return true;
    }
    const auto node = blamed(graph_, part, error);
    if (node) {
      left_[*node] = error.message();
      return false;
    }
    leave(part, error.message());
    return true;
  }

  void leave(const Part& part, const std::string& reason) {
    for (const size_t i : part.nodes) left_[i] = reason;
  }

  void leave_all(const std::string& reason) {
    taken_.clear();
    for (size_t i = 0; i < graph_.nodes.size(); ++i) left_.emplace(i, reason);
  }

  const Host& host_;
  const Graph& graph_;
  const Options& options_;
  const PartBuilder& builder_;
  const Remade remade_;
  Left left_;
  std::map<size_t, Chosen> taken_;  // by the first node of each
};

// Of each node those that read what it makes.
using Readers = std::vector<std::set<size_t>>;

Readers readers_of(const Graph& graph) {
  std::map<std::string, size_t> makers;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& name : graph.nodes[i].outputs) makers[name] = i;
  }
  Readers readers(graph.nodes.size());
  for (const auto& [name, all] : graph.readers) {
    const auto maker = makers.find(name);
    if (name.empty() || maker == makers.end()) continue;
    readers[maker->second].insert(all.begin(), all.end());
  }
  return readers;
}

// Nodes that make something of constants alone, such as the weights that codes stand for, for nodes that are wanted alone. They could run at any time, and
// belong to whoever reads them: a layer whose weights came from another part would not know that they are codes.
std::vector<bool> weights_of(const Graph& graph, const Readers& readers,
                             const std::vector<bool>& wanted) {
  std::set<std::string> known = graph.constants;
  std::vector<bool> weights(graph.nodes.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    const auto is_known = [&](const std::string& name) {
      return name.empty() || known.contains(name);
    };
    const auto is_wanted = [&](size_t reader) { return wanted[reader]; };
    weights[i] = wanted[i] && !readers[i].empty() &&
                 std::all_of(node.inputs.begin(), node.inputs.end(), is_known) &&
                 std::all_of(readers[i].begin(), readers[i].end(), is_wanted);
    if (weights[i]) known.insert(node.outputs.begin(), node.outputs.end());
  }
  return weights;
}

// Each of them goes into the first part that reads it: later ones may depend on that part, and make it once more (Remade). Readers come behind what they read.
void add_weights(const Readers& readers, const std::vector<bool>& weights,
                 std::vector<std::vector<size_t>>& parts) {
  std::vector<size_t> place(weights.size(), parts.size());
  for (size_t p = 0; p < parts.size(); ++p) {
    for (const size_t node : parts[p]) place[node] = p;
  }
  for (size_t i = weights.size(); i-- > 0;) {
    if (!weights[i]) continue;
    for (const size_t reader : readers[i]) place[i] = std::min(place[i], place[reader]);
    parts[place[i]].push_back(i);
  }
  for (auto& part : parts) std::sort(part.begin(), part.end());
}

}  // namespace

std::vector<std::vector<size_t>> parts_of(const Graph& graph, const std::vector<bool>& wanted) {
  const auto readers = readers_of(graph);
  const auto weights = weights_of(graph, readers, wanted);
  std::vector<size_t> missing(graph.nodes.size(), 0);
  for (size_t i = 0; i < missing.size(); ++i) {
    if (weights[i]) continue;
    for (const size_t reader : readers[i]) ++missing[reader];
  }
  std::set<size_t> ready[2];  // of nodes that are left, and of those that are wanted
  for (size_t i = 0; i < missing.size(); ++i) {
    if (missing[i] == 0 && !weights[i]) ready[wanted[i]].insert(i);
  }
  // Takes nodes of one side, whose inputs are all there, as long as there are any: so a part is closed before anything that needs it from outside
  // runs.
  const auto drain = [&](bool side) {
    std::vector<size_t> part;
    while (!ready[side].empty()) {
      const size_t node = *ready[side].begin();
      ready[side].erase(ready[side].begin());
      part.push_back(node);
      for (const size_t reader : readers[node]) {
        if (--missing[reader] == 0) ready[wanted[reader]].insert(reader);
      }
    }
    return part;
  };
  std::vector<std::vector<size_t>> parts;
  while (!ready[0].empty() || !ready[1].empty()) {
    drain(false);
    auto part = drain(true);
    if (!part.empty()) parts.push_back(std::move(part));
  }
  add_weights(readers, weights, parts);
  return parts;
}

Choice choose(const Host& host, const Graph& graph, const Options& options,
              const PartBuilder& builder) {
  return Chooser(host, graph, options, builder).run();
}

std::vector<std::string> reasons(const Choice& choice) {
  std::vector<std::string> lines;
  for (const auto& [reason, nodes] : choice.left) {
    std::string line = std::to_string(nodes.size()) +
                       (nodes.size() == 1 ? " node is" : " nodes are") +
                       " left to ONNX Runtime: " + reason + ": ";
    for (size_t i = 0; i < nodes.size() && i < 5; ++i) line += (i == 0 ? "" : ", ") + nodes[i];
    if (nodes.size() > 5) line += ", ...";
    lines.push_back(line);
  }
  return lines;
}

}  // namespace octet_ort

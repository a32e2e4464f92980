// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>

#include "graph/lexer.h"
#include "graph/literals.h"
#include "graph/op_def.h"
#include "graph/text.h"
#include "graph/verify.h"

namespace octet {
namespace {

class Parser {
 public:
  Parser(const Lexer& lexer, OpSource find_op, const BlobSource& blob, int depth)
      : lexer_(lexer), find_op_(find_op), blob_(blob), depth_(depth) {}

  Graph run() {
    lexer_.expect("graph");
    parse_rest();
    if (lexer_.peek() != '\0') lexer_.error("text after the graph's end");
    verify(graph_);
    return std::move(graph_);
  }

 private:
  // After the word "graph".
  void parse_rest() {
    if (lexer_.peek() == '"') graph_.name = lexer_.quoted();
    lexer_.expect("(");
    if (!lexer_.accept(")")) {
      do {
        graph_.inputs.push_back(declare());
      } while (lexer_.accept(","));
      lexer_.expect(")");
    }
    lexer_.expect("{");
    while (!lexer_.accept("return")) {
      if (lexer_.accept("const")) {
        parse_constant();
      } else {
        parse_node();
      }
    }
    while (lexer_.peek() == '%') {
      graph_.outputs.push_back(use());
      if (!lexer_.accept(",")) break;
    }
    lexer_.expect("}");
  }

  GraphPtr parse_body() {
    if (depth_ + 1 >= kMaxGraphDepth) {
      lexer_.error(fmt::format("graphs are nested deeper than {}", kMaxGraphDepth));
    }
    Parser body(lexer_, find_op_, blob_, depth_ + 1);
    body.parse_rest();
    lexer_ = body.lexer_;
    return std::make_shared<const Graph>(std::move(body.graph_));
  }

  ValueId declare() {
    lexer_.expect("%");
    const std::string name = lexer_.name();
    if (ids_.count(name) != 0) lexer_.error("value '" + name + "' is declared twice");
    lexer_.expect(":");
    const ValueId id = graph_.add_value(name, parse_type(lexer_));
    ids_[name] = id;
    if (lexer_.accept("@")) {
      lexer_.expect("(");
      QuantParams quant;
      quant.scale = static_cast<f32>(lexer_.number());
      lexer_.expect(",");
      quant.zero_point = static_cast<s32>(lexer_.integer());
      lexer_.expect(")");
      graph_.value(id).quant = quant;
    }
    return id;
  }

  ValueId use() {
    lexer_.expect("%");
    const std::string name = lexer_.name();
    const auto at = ids_.find(name);
    if (at == ids_.end()) lexer_.error("value '" + name + "' is not declared");
    return at->second;
  }

  void parse_constant() {
    const ValueId id = declare();
    lexer_.expect("=");
    graph_.value(id).constant = parse_tensor(lexer_, graph_.value(id).type, blob_);
  }

  void parse_node() {
    Node node;
    do {
      node.outputs.push_back(lexer_.accept("_") ? kNoValue : declare());
    } while (lexer_.accept(","));
    lexer_.expect("=");
    const std::string op = lexer_.word();
    node.op = find_op_(op);
    if (node.op == nullptr) lexer_.error("unknown operator '" + op + "'");
    lexer_.expect("(");
    if (!lexer_.accept(")")) {
      do {
        node.inputs.push_back(lexer_.accept("_") ? kNoValue : use());
      } while (lexer_.accept(","));
      lexer_.expect(")");
    }
    if (lexer_.accept("{")) parse_attrs(node.attrs);
    if (lexer_.accept("name")) node.name = lexer_.quoted();
    if (lexer_.accept("from")) node.origins = list<std::string>([&] { return lexer_.quoted(); });
    if (lexer_.accept("as")) node.decision = parse_decision();
    graph_.nodes.push_back(std::move(node));
  }

  // Texts of before reason codes have the sentence alone.
  Decision parse_decision() {
    Decision decision;
    const std::string name = lexer_.quoted();
    const auto precision = precision_from(name);
    if (!precision) lexer_.error("unknown precision '" + name + "'");
    decision.precision = *precision;
    if (lexer_.peek() != '"') {
      const std::string word = lexer_.word();
      const auto code = reason_code_from(word);
      if (!code) lexer_.error("unknown reason '" + word + "'");
      decision.code = *code;
    }
    decision.reason = lexer_.quoted();
    return decision;
  }

  template <class T, class F>
  std::vector<T> list(F&& element) {
    std::vector<T> items;
    lexer_.expect("[");
    while (!lexer_.accept("]")) {
      if (!items.empty()) lexer_.expect(",");
      items.push_back(element());
    }
    return items;
  }

  void parse_attrs(Attrs& attrs) {
    do {
      const std::string key = lexer_.name();
      lexer_.expect("=");
      attrs.set(key, parse_attr());
    } while (lexer_.accept(","));
    lexer_.expect("}");
  }

  AttrValue parse_attr() {
    if (lexer_.peek() == '"') return lexer_.quoted();
    if (lexer_.accept("ints")) return list<s64>([&] { return lexer_.integer(); });
    if (lexer_.accept("floats"))
      return list<f32>([&] { return static_cast<f32>(lexer_.number()); });
    if (lexer_.accept("strings")) return list<std::string>([&] { return lexer_.quoted(); });
    if (lexer_.accept("tensor")) {
      const TensorType type = parse_type(lexer_);
      return parse_tensor(lexer_, type, blob_);
    }
    if (lexer_.accept("graph")) return parse_body();
    return parse_scalar_attr();
  }

  AttrValue parse_scalar_attr() {
    Lexer ahead = lexer_;
    bool is_float = false;
    const f64 value = ahead.number(&is_float);
    if (!is_float) return lexer_.integer();
    lexer_ = ahead;
    return static_cast<f32>(value);
  }

  Lexer lexer_;
  OpSource find_op_;
  const BlobSource& blob_;
  Graph graph_;
  std::unordered_map<std::string, ValueId> ids_;
  int depth_;
};

}  // namespace

Graph parse_graph(std::string_view text, OpSource find_op, const BlobSource& blob) {
  return Parser(Lexer(text), find_op, blob, 0).run();
}

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
// Any numbers in the structs of a plugin's declaration (pointers are null or good), and any text as the attributes of a plugin's node, of
// reals or of codes, in an engine. What is declared well is declared the same when it is read again; what a node's attributes pass runs.
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "fuzz/fuzz.h"
#include "graph/interpret.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "plugin/declaration.h"
#include "plugin/library.h"

namespace octet::fuzz {
namespace {

// Numbers from the input, small ones more often than others; zeros when it is used up.
class Source {
 public:
  Source(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  u8 byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  u64 number(u64 usual) {
    const u8 kind = byte();
    if (kind < 200) return usual;
    if (kind < 250) return byte();
    u64 any = 0;
    for (int i = 0; i < 8; ++i) any = any << 8 | byte();
    return any;
  }
  s32 small(s32 usual) {
    return static_cast<s32>(static_cast<s8>(number(static_cast<u64>(usual))));
  }
  f64 real(f64 usual) {
    const u8 kind = byte();
    if (kind < 200) return usual;
    constexpr f64 kInf = std::numeric_limits<f64>::infinity();
    constexpr f64 kOdd[] = {0, -1, 1e300, -1e300, kInf, std::numeric_limits<f64>::quiet_NaN()};
    return kOdd[kind % std::size(kOdd)];
  }
  const char* text(const char* usual) {
    const u8 kind = byte();
    if (kind < 200) return usual;
    if (kind == 200) return nullptr;
    std::string any;
    for (int i = kind - 200; i > 0 && left_ > 0; --i) any += static_cast<char>(byte());
    return texts_.emplace_back(any).c_str();
  }
  // A number of elements that are there, or one that is refused before they are looked at.
  u64 count(u64 there, u64 most) { return byte() < 240 ? there : most + 1 + byte(); }

 private:
  const uint8_t* data_;
  size_t left_;
  std::deque<std::string> texts_;
};

int32_t no_shape(octet_plugin_call*) { return OCTET_PLUGIN_REFUSED; }
int32_t no_run(octet_plugin_call*) { return OCTET_PLUGIN_FAILED; }

// A declaration whose every field the input may change.
struct Declared {
  explicit Declared(Source& s) {
    const u64 ports = 1 + s.byte() % 3, results = 1 + s.byte() % 2, combos = 1 + s.byte() % 4;
    for (u64 i = 0; i < 2; ++i) add_attribute(s, i == 0 ? "a" : "b");
    for (u64 i = 0; i < ports; ++i) add_port(s, in);
    for (u64 i = 0; i < results; ++i) add_port(s, out);
    for (u64 i = 0; i < combos; ++i) add_combination(s, i);
    op = {s.number(sizeof op),
          s.text("Op"),
          s.text("fuzz.any"),
          s.byte(),
          s.byte(),
          s.count(2, 64),
          attributes.data(),
          s.count(ports, 64),
          in.data(),
          s.count(results, 64),
          out.data(),
          s.count(combos, 4096),
          combinations.data(),
          s.count(0, 4096),
          nullptr,
          s.byte() < 240 ? no_shape : nullptr,
          nullptr,
          nullptr,
          nullptr,
          nullptr};
    plugin = {sizeof plugin, OCTET_PLUGIN_ABI, 0, s.text("fuzz"), s.text("1"), 1, nullptr};
  }

  void add_attribute(Source& s, const char* name) {
    const u32 type = static_cast<u32>(s.number(1 + s.byte() % 5));
    const u64 numbers = s.byte() % 5;
    auto& i = ints.emplace_back(numbers + 1, static_cast<s64>(s.number(1)));
    auto& f = floats.emplace_back(numbers + 1, static_cast<f32>(s.real(0.5)));
    const char* text = s.text("x");
    const u64 length = type == OCTET_ATTRIBUTE_TEXT
                           ? (text == nullptr ? 0 : std::char_traits<char>::length(text))
                       : type <= OCTET_ATTRIBUTE_FLOAT ? 1
                                                       : numbers;
    values.push_back({s.number(sizeof(octet_plugin_value)), name, static_cast<u32>(s.number(type)),
                      0, s.count(length, 65536), i.data(), f.data(), text});
    attributes.push_back({s.number(sizeof(octet_plugin_attribute)), s.text(name), type, 0,
                          s.byte() < 200 ? &values.back() : nullptr, s.real(0), s.real(0),
                          s.number(0), s.number(0), s.text("x|y")});
    // Elements lie as far apart as the first says; only then is the second where it is looked for.
    if (attributes.size() > 1)
      attributes[0].size = attributes[1].size = sizeof(octet_plugin_attribute);
  }
  void add_port(Source& s, std::vector<octet_plugin_port>& to) {
    static const char* const kNames[] = {"p", "q", "r"};
    to.push_back({sizeof(octet_plugin_port), s.text(kNames[to.size() % 3]),
                  static_cast<u32>(s.number(s.byte() % 16)), static_cast<u32>(s.number(1)),
                  s.small(4), s.small(4)});
  }
  void add_combination(Source& s, u64 i) {
    static const char* const kNames[] = {"c", "d", "e", "f"};
    const auto formats_of = [&](size_t count) {
      auto& list = formats.emplace_back();
      for (size_t f = 0; f < count; ++f)
        list.push_back({sizeof(octet_plugin_format), static_cast<u32>(s.number(i == 0 ? 1 : 6)),
                        s.byte() % 3u, static_cast<u32>(s.number(i == 0 ? 0 : 1)), s.byte() % 2u,
                        s.small(0), 0});
      return list.data();
    };
    combinations.push_back({sizeof(octet_plugin_combination), s.text(kNames[i]), s.byte() % 3u, 0,
                            formats_of(in.size()), formats_of(out.size()),
                            s.byte() < 240 ? no_run : nullptr, nullptr, nullptr});
  }

  std::deque<std::vector<s64>> ints;
  std::deque<std::vector<f32>> floats;
  std::deque<octet_plugin_value> values;
  std::deque<std::vector<octet_plugin_format>> formats;
  std::vector<octet_plugin_attribute> attributes;
  std::vector<octet_plugin_port> in, out;
  std::vector<octet_plugin_combination> combinations;
  octet_plugin_operator op;
  octet_plugin plugin;
};

void declare(Source source) {
  Declared declared(source);
  const Declaration first = read_declaration(declared.op, declared.plugin);
  if (read_declaration(declared.op, declared.plugin).hash != first.hash)
    found("a declaration that is read twice");
}

// An operator whose nodes the input describes: it copies bytes, as reals or as codes.
int32_t same_shape(octet_plugin_call* call) {
  call->outputs[0].rank = call->inputs[0].rank;
  for (int i = 0; i < call->inputs[0].rank; ++i) call->outputs[0].dims[i] = call->inputs[0].dims[i];
  return OCTET_PLUGIN_OK;
}
template <class T>
int32_t copy(octet_plugin_call* call) {
  const octet_plugin_tensor& x = call->inputs[0];
  s64 count = 1;
  for (int i = 0; i < x.rank; ++i) count *= x.dims[i];
  if (x.params != OCTET_PARAMS_NONE && (x.param_count < 1 || !(x.scales[0] > 0)))
    found("codes without a scale");
  for (s64 i = 0; i < count; ++i)
    static_cast<T*>(call->outputs[0].data)[i] = static_cast<const T*>(x.data)[i];
  return OCTET_PLUGIN_OK;
}

const octet_plugin_attribute* copier_attributes() {
  static const s64 ints[] = {1, 2, 3};
  static const float floats[] = {0.5f};
  static const octet_plugin_value values[] = {
      {sizeof(octet_plugin_value), "i", OCTET_ATTRIBUTE_INT, 0, 1, ints, nullptr, nullptr},
      {sizeof(octet_plugin_value), "f", OCTET_ATTRIBUTE_FLOATS, 0, 1, nullptr, floats, nullptr},
      {sizeof(octet_plugin_value), "t", OCTET_ATTRIBUTE_TEXT, 0, 1, nullptr, nullptr, "x"}};
  static const octet_plugin_attribute attributes[] = {
      {sizeof(octet_plugin_attribute), "i", OCTET_ATTRIBUTE_INT, 0, &values[0], -5, 5, 0, 0,
       nullptr},
      {sizeof(octet_plugin_attribute), "f", OCTET_ATTRIBUTE_FLOATS, 0, &values[1], 0, 0, 0, 4,
       nullptr},
      {sizeof(octet_plugin_attribute), "t", OCTET_ATTRIBUTE_TEXT, 0, &values[2], 0, 0, 0, 0,
       "x|y"}};
  return attributes;
}

void add_copier() {
  static const octet_plugin_format real = {
      sizeof real, OCTET_TYPE_F32, 0, OCTET_PARAMS_NONE, 0, 0, 0};
  static const octet_plugin_format code = {
      sizeof code, OCTET_TYPE_U8, 0, OCTET_PARAMS_PER_TENSOR, 0, 0, 0};
  static const octet_plugin_combination combinations[] = {
      {sizeof(octet_plugin_combination), "reals", 0, 0, &real, &real, copy<float>, nullptr,
       nullptr},
      {sizeof(octet_plugin_combination), "codes", 0, 0, &code, &code, copy<u8>, nullptr, nullptr}};
  static const octet_plugin_port port = {sizeof port, "p", 0, 1, 0, 8};
  static const octet_plugin_operator op = {sizeof op,
                                           "Copy",
                                           "fuzz",
                                           1,
                                           OCTET_OPERATOR_CONCURRENT,
                                           3,
                                           copier_attributes(),
                                           1,
                                           &port,
                                           1,
                                           &port,
                                           2,
                                           combinations,
                                           0,
                                           nullptr,
                                           same_shape,
                                           nullptr,
                                           nullptr,
                                           nullptr,
                                           nullptr};
  static const octet_plugin_operator* const ops[] = {&op};
  static const octet_plugin plugin = {sizeof plugin, OCTET_PLUGIN_ABI, 0, "copier", "1", 1, ops};
  add_plugin(plugin);
}

void attributes(u8 kind, const std::string& text) {
  const bool codes = (kind & 1) != 0;
  const char* type = codes ? "u8[2,3]" : "f32[2,3]";
  const std::string graph = fmt::format(
      "graph \"g\"(%x: {0}) {{\n %y: {0} = fuzz/Copy{1}(%x) {{{2}}} name \"n\"\n return %y\n}}",
      type, codes ? ".codes" : "", text);
  const Graph parsed = parse_graph(graph, find_op);
  const Tensor x(codes ? Dtype::u8 : Dtype::f32, Shape{2, 3});
  if (parsed.inputs.size() == 1 && parsed.value(parsed.inputs[0]).type == x.type())
    interpret(parsed, {&x, 1});
}

void test_one(const Input& input) {
  static const bool once = [] {
    add_copier();
    return true;
  }();
  if (input.size == 0 || !once) return;
  survives([&] {
    const Input rest = input.rest();
    if ((input.data[0] & 2) != 0) return declare({rest.data, rest.size});
    attributes(input.data[0], std::string(rest.text()));
  });
}

}  // namespace

const Target kTarget{.memory = s64{64} << 20, .run = test_one};

}  // namespace octet::fuzz

// SPDX-License-Identifier: Apache-2.0
#include "plugin/codes.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "plugin/plugin_op.h"

namespace octet {
namespace {

constexpr auto kInvalid = Error::Code::invalid_model;
constexpr s32 kTopBit = 128;

// The attributes of one side of a node.
struct Names {
  const char *formats, *counts, *scales, *zero_points, *stored;
};
constexpr Names kIn = {"octet.in", "octet.in_counts", "octet.in_scales", "octet.in_zero_points",
                       "octet.in_stored"};
constexpr Names kOut = {"octet.out", "octet.out_counts", "octet.out_scales",
                        "octet.out_zero_points", "octet.out_stored"};

// A format without its layout, as one number: attributes hold lists of these.
s64 packed(const PluginFormat& f) {
  return s64{f.type} | s64{f.params} << 8 | s64{f.symmetric} << 16 | s64{f.axis} << 24;
}

PluginFormat unpacked(s64 number) {
  PluginFormat f;
  f.type = static_cast<u32>(number & 0xff);
  f.params = static_cast<u32>(number >> 8 & 0xff);
  f.symmetric = (number >> 16 & 1) != 0;
  f.axis = static_cast<int>(number >> 24 & 0xff);
  return f;
}

void write_side(Node& node, const Names& names, const std::vector<PortCodes>& ports) {
  std::vector<s64> formats, counts, zero_points, stored;
  std::vector<f32> scales;
  for (const PortCodes& port : ports) {
    formats.push_back(packed(port.format));
    counts.push_back(static_cast<s64>(port.scales.size()));
    zero_points.push_back(port.zero_point);
    stored.push_back(static_cast<s64>(plugin_type(port.stored)));
    scales.insert(scales.end(), port.scales.begin(), port.scales.end());
  }
  node.attrs.set(names.formats, std::move(formats));
  node.attrs.set(names.counts, std::move(counts));
  node.attrs.set(names.scales, std::move(scales));
  node.attrs.set(names.zero_points, std::move(zero_points));
  node.attrs.set(names.stored, std::move(stored));
}

bool is_byte(Dtype dtype) { return dtype == Dtype::u8 || dtype == Dtype::s8; }

// The type of a value may be the other byte type where it holds codes, and f32 where it holds halves.
bool stored_as(Dtype value, const PluginFormat& format) {
  return format.type == OCTET_TYPE_NONE || plugin_type(value) == format.type ||
         (format.is_codes() && is_byte(value)) || is_widened(format, value);
}

void check_port(const PortCodes& port, const char* side, size_t i) {
  if (!stored_as(port.stored, port.format))
    fail(kInvalid, "{} {}: {} stored as {}", side, i, to_string(port.format),
         dtype_name(port.stored));
  if (port.format.is_codes() != port.is_codes())
    fail(kInvalid, "{} {}: {} with {} scales", side, i, to_string(port.format), port.scales.size());
  if (port.format.params == OCTET_PARAMS_PER_TENSOR && port.scales.size() != 1)
    fail(kInvalid, "{} {}: {} scales for one tensor", side, i, port.scales.size());
  for (f32 scale : port.scales) {
    if (!std::isfinite(scale) || !(scale > 0))
      fail(kInvalid, "{} {} has the scale {}", side, i, scale);
  }
  if (port.zero_point < -kTopBit || port.zero_point > 255)
    fail(kInvalid, "{} {} has zero point {}", side, i, port.zero_point);
}

// `given`: of each tensor, whether it has a format; only inputs that the node leaves out have none.
std::vector<PortCodes> read_side(const Node& node, const Names& names,
                                 const std::vector<bool>& given) {
  const size_t tensors = given.size();
  const std::vector<s64> formats = node.attrs.ints(names.formats),
                         counts = node.attrs.ints(names.counts),
                         zero_points = node.attrs.ints(names.zero_points),
                         stored = node.attrs.ints(names.stored);
  const std::vector<f32> scales = node.attrs.floats(names.scales, std::vector<f32>{});
  if (formats.size() != tensors || counts.size() != tensors || zero_points.size() != tensors ||
      stored.size() != tensors)
    fail(kInvalid, "attribute '{}' is about {} of {} tensors", names.formats, formats.size(),
         tensors);
  std::vector<PortCodes> ports;
  size_t at = 0;
  for (size_t i = 0; i < tensors; ++i) {
    PortCodes port;
    port.format = unpacked(formats[i]);
    if (counts[i] < 0 || static_cast<u64>(counts[i]) > scales.size() - at)
      fail(kInvalid, "attribute '{}' holds {}", names.counts, counts[i]);
    const auto begin = scales.begin() + static_cast<s64>(at);
    port.scales.assign(begin, begin + counts[i]);
    at += static_cast<size_t>(counts[i]);
    if (zero_points[i] < -kTopBit || zero_points[i] > 255)
      fail(kInvalid, "attribute '{}' holds {}", names.zero_points, zero_points[i]);
    port.zero_point = static_cast<s32>(zero_points[i]);
    const auto dtype = dtype_of(static_cast<u32>(stored[i] & 0xff));
    if (!dtype) fail(kInvalid, "attribute '{}' holds {}", names.stored, stored[i]);
    port.stored = *dtype;
    check_port(port, names.formats, i);
    if (given[i] && port.format.type == OCTET_TYPE_NONE)
      fail(kInvalid, "{} {} is {} and has no type", names.formats, i, dtype_name(port.stored));
    ports.push_back(std::move(port));
  }
  if (at != scales.size()) fail(kInvalid, "attribute '{}' holds too many", names.scales);
  return ports;
}

void verify_side(const Graph& graph, const Node& node, std::span<const ValueId> ids,
                 const std::vector<PortCodes>& ports) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == kNoValue) continue;
    const Value& value = graph.value(ids[i]);
    if (!value.quant || !ports[i].is_codes() || value.quant->zero_point == ports[i].zero_point)
      continue;
    fail(kInvalid, "value '{}' has zero point {}, and {} takes it for {}; build the engine again",
         value.name, value.quant->zero_point, describe(node), ports[i].zero_point);
  }
}

bool matches(const std::vector<PortCodes>& ports, const std::vector<PluginFormat>& formats) {
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].format.type == OCTET_TYPE_NONE) continue;
    if (!ports[i].format.means_same(format_of(formats, i))) return false;
  }
  return true;
}

}  // namespace

bool PortCodes::is_turned() const { return is_codes() && plugin_type(stored) != format.type; }

s32 PortCodes::declared_zero_point() const {
  if (!is_turned()) return zero_point;
  return zero_point + (stored == Dtype::u8 ? -kTopBit : kTopBit);
}

void write_codes(Node& node, const CodesForm& form) {
  write_side(node, kIn, form.inputs);
  write_side(node, kOut, form.outputs);
}

CodesForm read_codes(const Node& node) {
  std::vector<bool> given;
  for (const ValueId id : node.inputs) given.push_back(id != kNoValue);
  return {read_side(node, kIn, given),
          read_side(node, kOut, std::vector(node.outputs.size(), true))};
}

const PluginCombination* find_combination(const Declaration& declaration, const CodesForm& form,
                                          u32 device) {
  for (const PluginCombination& c : declaration.combinations) {
    if (c.device == device && matches(form.inputs, c.inputs) && matches(form.outputs, c.outputs))
      return &c;
  }
  return nullptr;
}

const PluginCombination* codes_combination(const Node& node, std::span<const TensorType> inputs) {
  const Declaration& d = plugin_of(node)->declaration;
  const PluginCombination* best = nullptr;
  for (const PluginCombination& c : d.combinations) {
    bool fits = true;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const PluginFormat& format = format_of(c.inputs, i);
      // s8 is turned into u8 on the way, symmetric codes are not.
      const bool turned = format.is_codes() && !format.symmetric && is_byte(inputs[i].dtype);
      fits = fits &&
             (node.input(i) == kNoValue || turned || plugin_type(inputs[i].dtype) == format.type);
    }
    if (!fits) continue;
    if (std::ranges::none_of(c.inputs, &PluginFormat::is_codes)) return nullptr;
    const bool codes = std::ranges::any_of(c.outputs, &PluginFormat::is_codes);
    if (codes) return &c;
    if (best == nullptr) best = &c;
  }
  return best;
}

bool is_widened(const PluginFormat& format, Dtype dtype) {
  return dtype == Dtype::f32 && !format.is_codes() &&
         (format.type == OCTET_TYPE_F16 || format.type == OCTET_TYPE_BF16);
}

namespace {

bool takes_real(const PluginFormat& format, Dtype dtype, bool widened) {
  return !format.is_codes() &&
         (plugin_type(dtype) == format.type || (widened && is_widened(format, dtype)));
}

bool takes_reals(const Node& node, const PluginCombination& c, std::span<const TensorType> inputs,
                 bool widened) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (node.input(i) != kNoValue && !takes_real(format_of(c.inputs, i), inputs[i].dtype, widened))
      return false;
  }
  return !c.has_codes();
}

// Codes that an operator moves without knowing their parameters: one type of them for all of its ports.
bool takes_moved(const Node& node, const PluginCombination& c, std::span<const TensorType> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const PluginFormat& format = format_of(c.inputs, i);
    const Dtype dtype = inputs[i].dtype;
    const bool fits =
        format.is_codes() ? dtype == inputs[0].dtype : takes_real(format, dtype, true);
    if (node.input(i) != kNoValue && !fits) return false;
  }
  return c.has_codes();
}

CodesForm form_of_reals(const PluginCombination& c, std::span<const TensorType> inputs,
                        bool widened) {
  CodesForm form;
  for (size_t i = 0; i < inputs.size(); ++i)
    form.inputs.push_back({format_of(c.inputs, i), inputs[i].dtype, {}, 0});
  for (const PluginFormat& f : c.outputs) {
    const bool wide = widened && is_widened(f, Dtype::f32);
    form.outputs.push_back({f, wide ? Dtype::f32 : *dtype_of(f.type), {}, 0});
  }
  return form;
}

[[noreturn]] void refuse_types(const Node& node, std::span<const TensorType> inputs) {
  const Declaration& d = plugin_of(node)->declaration;
  std::vector<std::string> offered;
  std::vector<std::vector<bool>> cells;
  for (size_t i = 0; i < inputs.size(); ++i)
    offered.emplace_back(node.input(i) == kNoValue ? "none" : dtype_name(inputs[i].dtype));
  for (const PluginCombination& c : d.combinations) {
    cells.emplace_back();
    for (size_t i = 0; i < inputs.size(); ++i)
      cells.back().push_back(node.input(i) == kNoValue ||
                             takes_real(format_of(c.inputs, i), inputs[i].dtype, false));
  }
  const bool codes_alone =
      std::ranges::all_of(d.combinations, [](const PluginCombination& c) { return c.has_codes(); });
  fail(kInvalid, "{} takes no such types:\n{}{}", d.full_name(), format_matrix(d, offered, cells),
       codes_alone ? fmt::format("\n  it computes on codes alone: write Q -> {0} -> DQ, or declare "
                                 "a combination of reals, which calibration needs too",
                                 d.name)
                   : "");
}

}  // namespace

CodesForm reals_form(const Node& node, std::span<const TensorType> inputs) {
  const Declaration& d = plugin_of(node)->declaration;
  if (const PluginCombination* c = d.commutes() ? nullptr : codes_combination(node, inputs)) {
    // Of codes whose parameters nobody has told yet: enough for types.
    CodesForm form;
    for (size_t i = 0; i < inputs.size(); ++i)
      form.inputs.push_back({format_of(c->inputs, i), inputs[i].dtype, {}, 0});
    const auto codes =
        std::ranges::find_if(inputs, [](const TensorType& t) { return is_byte(t.dtype); });
    for (const PluginFormat& f : c->outputs) {
      const bool as_given = f.is_codes() && !f.symmetric && codes != inputs.end();
      form.outputs.push_back({f, as_given ? codes->dtype : *dtype_of(f.type), {}, 0});
    }
    return form;
  }
  for (const bool widened : {false, true}) {
    for (const PluginCombination& c : d.combinations) {
      if (takes_reals(node, c, inputs, widened)) return form_of_reals(c, inputs, widened);
    }
  }
  refuse_types(node, inputs);
}

std::optional<CodesForm> moved_form(const Node& node, std::span<const TensorType> inputs) {
  const Declaration& d = plugin_of(node)->declaration;
  if (!d.commutes() || inputs.empty() || !is_byte(inputs[0].dtype)) return std::nullopt;
  const auto fits = [&](const PluginCombination& c) { return takes_moved(node, c, inputs); };
  const auto c = std::ranges::find_if(d.combinations, fits);
  if (c == d.combinations.end()) return std::nullopt;
  const auto port = [](const PluginFormat& f, Dtype stored) {
    return PortCodes{f, stored, f.is_codes() ? std::vector{1.0f} : std::vector<f32>(), 0};
  };
  CodesForm form;
  for (size_t i = 0; i < inputs.size(); ++i)
    form.inputs.push_back(port(format_of(c->inputs, i), inputs[i].dtype));
  for (const PluginFormat& f : c->outputs)
    form.outputs.push_back(port(f, f.is_codes() ? inputs[0].dtype : *dtype_of(f.type)));
  return form;
}

void check_inputs(const CodesForm& form, std::span<const TensorType> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const PortCodes& port = form.inputs[i];
    const PluginFormat& format = port.format;
    if (format.type == OCTET_TYPE_NONE) continue;
    if (inputs[i].dtype != port.stored)
      fail(kInvalid, "input {} is {}, and is said to be {}", i, to_string(inputs[i]),
           dtype_name(port.stored));
    if (format.params != OCTET_PARAMS_PER_CHANNEL) continue;
    const Shape& shape = inputs[i].shape;
    const s64 scales = std::ssize(port.scales);
    if (format.axis < shape.rank() && shape[format.axis] == scales) continue;
    fail(kInvalid, "input {} is {}, and has {} scales for dimension {}", i, to_string(inputs[i]),
         scales, format.axis);
  }
}

void plugin_reads_as_u8(Node& node, size_t input) {
  CodesForm form = read_codes(node);
  form.inputs[input].zero_point += kTopBit;
  form.inputs[input].stored = Dtype::u8;
  write_codes(node, form);
}

void plugin_writes_as_u8(Node& node, size_t output) {
  CodesForm form = read_codes(node);
  form.outputs[output].zero_point += kTopBit;
  form.outputs[output].stored = Dtype::u8;
  write_codes(node, form);
}

void verify_plugin_codes(const Graph& graph, const Node& node) {
  const CodesForm form = read_codes(node);
  const Declaration& declaration = plugin_of(node)->declaration;
  const auto declared = [&](const PluginCombination& c) {
    return matches(form.inputs, c.inputs) && matches(form.outputs, c.outputs);
  };
  if (std::ranges::none_of(declaration.combinations, declared))
    fail(kInvalid, "{}: {} declares no such combination; build the engine again", describe(node),
         declaration.full_name());
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) continue;
    const Dtype dtype = graph.value(node.inputs[i]).type.dtype;
    if (dtype != form.inputs[i].stored)
      fail(kInvalid, "{}: input {} is {}, and is said to be {}", describe(node), i,
           dtype_name(dtype), dtype_name(form.inputs[i].stored));
  }
  verify_side(graph, node, node.inputs, form.inputs);
  verify_side(graph, node, node.outputs, form.outputs);
}

std::string format_matrix(const Declaration& declaration, const std::vector<std::string>& offered,
                          const std::vector<std::vector<bool>>& matches) {
  std::vector<std::vector<std::string>> rows(1, {"", "offered"});
  for (size_t i = 0; i < offered.size(); ++i) {
    std::vector<std::string> row = {declaration.input(i).name, offered[i]};
    if (i >= declaration.inputs.size())
      row[0] += fmt::format("[{}]", i - declaration.inputs.size() + 1);
    for (size_t c = 0; c < declaration.combinations.size(); ++c) {
      const PluginFormat& format = format_of(declaration.combinations[c].inputs, i);
      row.push_back(matches[c][i] ? to_string(format) : "[" + to_string(format) + "]");
    }
    rows.push_back(std::move(row));
  }
  rows.push_back({"device", ""});
  for (const PluginCombination& c : declaration.combinations) {
    rows[0].push_back(c.name);
    rows.back().push_back(c.device == OCTET_DEVICE_CUDA ? "cuda" : "host");
  }
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    text += " ";
    for (size_t i = 0; i < row.size(); ++i) text += fmt::format(" {:<{}} ", row[i], widths[i]);
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text + "  [ ]: does not match";
}

}  // namespace octet

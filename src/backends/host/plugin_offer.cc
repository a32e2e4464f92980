// SPDX-License-Identifier: Apache-2.0
#include "backends/host/plugin_offer.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "backends/host/queue.h"
#include "plan/device.h"
#include "plugin/call.h"
#include "plugin/evaluate.h"

namespace octet {
namespace {

Layout layout_of(const PluginFormat& format) {
  return format.layout == OCTET_LAYOUT_NHWC ? Layout::nhwc : Layout::linear;
}

// Formats and scales, for people: "features u8 nhwc 0.05@128".
std::string port_text(const PluginPort& port, const PortCodes& codes, const PluginFormat& format) {
  std::string text = port.name + ' ' + std::string(dtype_name(*dtype_of(format.type)));
  if (format.layout == OCTET_LAYOUT_NHWC) text += " nhwc";
  if (codes.scales.size() == 1)
    text += fmt::format(" {:.4g}@{}", codes.scales[0], codes.declared_zero_point());
  if (codes.scales.size() > 1) text += fmt::format(" {} scales", codes.scales.size());
  return text;
}

std::string note_of(const Declaration& d, const PluginCombination& c, const CodesForm& form,
                    size_t turned) {
  // Who moves codes is told nothing of what they mean.
  const auto told = [&](const PortCodes& port) { return d.commutes() ? PortCodes{} : port; };
  std::string text;
  for (size_t i = 0; i < form.inputs.size(); ++i) {
    if (form.inputs[i].format.type == OCTET_TYPE_NONE) continue;
    text += (text.empty() ? "" : ", ") +
            port_text(d.input(i), told(form.inputs[i]), format_of(c.inputs, i));
  }
  text += " -> ";
  for (size_t i = 0; i < form.outputs.size(); ++i)
    text += (i == 0 ? "" : ", ") +
            port_text(d.output(i), told(form.outputs[i]), format_of(c.outputs, i));
  if (turned > 0) text += fmt::format("; {} tensors turned between u8 and s8", turned);
  return text;
}

bool matches(const LowerRequest& asked, const CodesForm& form, const PluginCombination& c) {
  for (size_t i = 0; i < form.inputs.size(); ++i) {
    if (asked.has_input(i) && !form.inputs[i].format.means_same(format_of(c.inputs, i)))
      return false;
  }
  for (size_t i = 0; i < form.outputs.size(); ++i) {
    if (!form.outputs[i].format.means_same(format_of(c.outputs, i))) return false;
  }
  return true;
}

std::string refusal(const LowerRequest& asked, const CodesForm& form, const PluginCombination& c,
                    const PluginCalls& calls) {
  if (!matches(asked, form, c)) return "other element types or parameters than the engine has here";
  const auto halves = [](const PortCodes& port) { return is_widened(port.format, port.stored); };
  if (std::ranges::any_of(form.inputs, halves) || std::ranges::any_of(form.outputs, halves))
    return "it is for halves, and the engine has f32 here";
  if (c.device != calls.device)
    return c.device == OCTET_DEVICE_HOST ? "it is for pointers of the host"
                                         : "it is for CUDA pointers";
  if (c.device != OCTET_DEVICE_HOST && is_for_host(*plugin_of(asked.node), form, asked.inputs))
    return "a tensor has no elements, which the host computes";
  for (size_t i = 0; i < form.inputs.size(); ++i) {
    if (asked.constant(i) != nullptr && layout_of(format_of(c.inputs, i)) != Layout::linear)
      return fmt::format("constant input {} lies linear", i);
  }
  return {};
}

// The plan has no types of results that the model leaves out; the plugin writes them all the same.
void set_unread(const LowerRequest& asked, const CodesForm& form, PluginStep::Tensors& tensors) {
  if (std::ranges::find(asked.node.outputs, kNoValue) == asked.node.outputs.end()) return;
  std::vector<const Tensor*> values;
  for (size_t i = 0; i < asked.inputs.size(); ++i) values.push_back(asked.constant(i));
  const std::vector<PluginShape> shapes =
      plugin_shapes(*plugin_of(asked.node), asked.node, form, asked.inputs, values);
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (asked.node.outputs[i] == kNoValue)
      tensors.outputs[i] = {form.outputs[i].stored, shapes[i].most};
  }
}

Offer combination_offer(const LowerRequest& asked, const CodesForm& form,
                        const PluginCombination& c, const PluginCalls& calls) {
  const PluginOp& op = *plugin_of(asked.node);
  PluginStep::Tensors tensors{asked.inputs, asked.outputs, {}};
  for (size_t i = 0; i < asked.inputs.size(); ++i)
    tensors.constants.push_back(asked.constant(i) != nullptr ? *asked.constant(i) : Tensor());
  set_unread(asked, form, tensors);
  const auto step = std::make_shared<const PluginStep>(op, asked.node, form, c, std::move(tensors));
  if (step->turned() > 0 && !calls.turns_codes)
    return Reject{fmt::format("{} of its tensors are u8 here and s8 there, or the other way round",
                              step->turned())};
  Candidate candidate;
  candidate.kernel = op.declaration.plugin + ":" + c.name;
  for (size_t i = 0; i < asked.inputs.size(); ++i)
    candidate.inputs.push_back(layout_of(format_of(c.inputs, i)));
  for (size_t i = 0; i < asked.outputs.size(); ++i)
    candidate.outputs.push_back(layout_of(format_of(c.outputs, i)));
  candidate.holds = asked.constants();
  candidate.workspace_bytes = step->workspace_bytes();
  candidate.note = note_of(op.declaration, c, form, step->turned());
  candidate.cost = step->cost();
  calls.set_bind(candidate, asked, step);
  return candidate;
}

void set_host_bind(Candidate& candidate, const LowerRequest&,
                   const std::shared_ptr<const PluginStep>& step) {
  candidate.bind = [step](const BindArgs&) -> RunStep {
    return [step](const StepArgs& args) {
      step->run(reinterpret_cast<const void* const*>(args.inputs),
                reinterpret_cast<void* const*>(args.outputs), args.workspace, {&pool_of(args)});
    };
  };
}

}  // namespace

PluginOffers offer_plugins(const LowerRequest& asked, const PluginCalls& calls) {
  const Declaration& d = plugin_of(asked.node)->declaration;
  CodesForm form = form_of(asked.node, asked.inputs);
  PluginOffers offers;
  for (const PluginCombination& c : d.combinations) {
    const std::string no = refusal(asked, form, c, calls);
    offers.emplace_back(c.name,
                        no.empty() ? combination_offer(asked, form, c, calls) : Offer(Reject{no}));
  }
  return offers;
}

PluginOffers offer_plugin_on_host(const LowerRequest& asked) {
  return offer_plugins(asked, {OCTET_DEVICE_HOST, true, set_host_bind});
}

}  // namespace octet

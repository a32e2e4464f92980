// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/backend.h"

#include "backends/cpu/device.h"
#include "backends/cpu/lower/bf16_values.h"
#include "backends/cpu/lower/convert.h"
#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/rounding.h"
#include "backends/host/plugin_offer.h"
#include "backends/reference/reference.h"

namespace octet {

namespace {

void adapt(Graph& graph, const Target& target) {
  join_roundings(graph);
  mark_pixels(graph);
  store_bf16(graph, isa_of(target));
}

}  // namespace

const Backend& cpu_backend() {
  static const Backend backend{.name = "cpu",
                               .lowerings = cpu_lowerings(),
                               .reference = widened_reference,
                               .plugins = offer_plugin_on_host,
                               .convert = cpu_convert,
                               .constant = reference_constant,
                               .fill_border = reference_fill_border,
                               .adapt = adapt,
                               .relabel_s8 = true};
  return backend;
}

}  // namespace octet

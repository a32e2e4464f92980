// SPDX-License-Identifier: Apache-2.0
// Plugins as operators of Octet (octet/plugin.h): one for each signature.
#pragma once

#include <string>

#include "tensorrt/plugins/formats.h"

struct octet_plugin;

namespace octet_trt {

inline constexpr const char* kPluginDomain = "tensorrt.plugin";
// Its one attribute, a text: the key of a LivePlugin.
inline constexpr const char* kPluginKey = "plugin";

// The name of the operator in kPluginDomain, which Octet knows from then on. Throws octet::Error.
std::string declare_operator(const PluginSignature& signature);
// The same as it was declared, for another Octet in this process. It lives as long as the process.
const octet_plugin& declared_plugin(const PluginSignature& signature);

}  // namespace octet_trt

// SPDX-License-Identifier: Apache-2.0
// --plugins, --staticPlugins, --dynamicPlugins: libraries with operators of Octet's, or with plugins of TensorRT's.
#pragma once

#include "octet/error.h"
#include "tensorrt/trtexec/options.h"

namespace octet::cli::trtexec {

void load_plugins(const Options& options);
// Says which flag loads what a model or an engine lacks.
void advise_plugins(Error& error);

}  // namespace octet::cli::trtexec

// SPDX-License-Identifier: Apache-2.0
// Layers that rest on channels which one scale for all channels of a tensor rounds to nothing, depthwise convolutions above all. Calibration
// sees them in its data and leaves them in FP32. Where ranges come without data, from setDynamicRange() or from a cache, made-up inputs show
// them: how strong a channel is beside its neighbors follows from the weights more than from what a network is shown.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "octet/compile.h"
#include "tensorrt/builder/config.h"
#include "tensorrt/network/network.h"

namespace octet_trt {

struct MadeUpInput {
  octet::Shape shape;
  float most = 1;  // the largest magnitude
};

// What the model's inputs are in the first profile at kOPT; none where one is not of real numbers, or of unknown size.
std::vector<MadeUpInput> made_up_inputs(const Network& network, const Config& config,
                                        const std::vector<Binding>& bindings);

// ONNX names of such layers and why, of a model that is to be built with these options.
std::map<std::string, std::string> layers_of_quiet_channels(std::string_view model,
                                                            const octet::CompileOptions& options,
                                                            const std::vector<MadeUpInput>& inputs);

}  // namespace octet_trt

// SPDX-License-Identifier: Apache-2.0
// Image -> input tensor, by the steps of Preprocess; and the steps that follow from a model's input when none are given.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "data/image.h"
#include "octet/preprocess.h"
#include "octet/tensor.h"

namespace octet {

// f32 [C,H,W], or [H,W,C] for layout "nhwc". `name` is the image's name in errors.
// Geometry equals torchvision on Pillow: the shorter side decides (longer side rounded down), the crop offset is half the
// difference, ties to even. Color changes before resizing. A letterbox with the image in its corner equals YOLOX's, one with it in the center that of Ultralytics.
Tensor preprocess_image(Image image, const Preprocess& preprocess, const std::string& name);
Tensor load_image(const std::filesystem::path& path, const Preprocess& preprocess);

// Where an image lies in its letterbox, and its size there, in pixels.
struct LetterboxPlace {
  int width, height, left = 0, top = 0;
};
LetterboxPlace letterbox_place(const Preprocess::Size& image, const Preprocess::Size& box,
                               Preprocess::Align align);

// x / scale, - mean, / std in place, on a tensor [N,C,H,W] or [N,H,W,C] (lower ranks: mean and std of one value only).
void scale_array(Tensor* array, const Preprocess& preprocess, const std::string& name);

// Resize to the input's height and width where they are fixed; gray for one channel; divide by 255. Throws
// Error(unsupported) when the input is not an image: [N,C,H,W], [N,H,W,C], [C,H,W] or [H,W,C] with 1 or 3 channels.
Preprocess default_preprocess(const TensorType& input);

// Where the channels of an input are that images can feed: [N,C,H,W], [N,H,W,C], [C,H,W] or [H,W,C] with 1 or 3 of them; -1: none can.
int image_channel_axis(const Shape& input);

// What is applied for this input: `given`, made to fit (the model's size decides the resize when no geometry step is
// given) and checked against the input; or the default. Preprocess::fit becomes steps: 224 pixels, in letterboxes 640, where the input's size is open.
Preprocess resolve_preprocess(const std::optional<Preprocess>& given, const TensorType& input,
                              const std::string& input_name);

}  // namespace octet

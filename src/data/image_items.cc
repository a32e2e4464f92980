// SPDX-License-Identifier: Apache-2.0
// A folder of images as samples of a model with one image input.
#include "core/check.h"
#include "data/convert.h"
#include "data/data_items.h"
#include "data/folder_scan.h"
#include "data/preprocess.h"
#include "data/sample_axis.h"

namespace octet {
namespace fs = std::filesystem;
namespace {

// Of the default preprocessing.
constexpr std::string_view kGuess =
    "a guess: neither flags nor engine nor the model's metadata say how";

const TensorInfo& only_input(std::span<const TensorInfo> inputs) {
  if (inputs.size() == 1) return inputs.front();
  fail(Error::Code::invalid_argument,
       "images feed a model with one input, this one has {}; give an .npz with an array for each",
       inputs.size());
}

bool fits(const Shape& shape, const Shape& input) {
  if (shape.rank() != input.rank()) return false;
  for (int i = 0; i < shape.rank(); ++i) {
    // The leading dimension of a rank-4 input is the batch: assembling it is the caller's work.
    const bool batch = i == 0 && input.rank() == 4;
    if (!batch && input[i] >= 0 && input[i] != shape[i]) return false;
  }
  return true;
}

Tensor load_input(const fs::path& path, const Preprocess& preprocess, const TensorInfo& input) {
  Tensor image = load_image(path, preprocess);
  if (input.type.shape.rank() == 4) {
    const Shape& s = image.shape();
    image = image.reshaped({1, s[0], s[1], s[2]});
  }
  if (!fits(image.shape(), input.type.shape)) {
    fail(Error::Code::invalid_argument,
         "'{}': becomes {}, input '{}' needs {}; set resize, crop or letterbox to its size",
         path.string(), to_string(image.shape()), input.name, to_string(input.type.shape));
  }
  return convert_pixels(image, input.type.dtype, fmt::format("'{}'", path.string()));
}

// Photos become anything that has one or three channels, also what was never an image.
void note_odd_shape(const std::optional<Preprocess>& given, const Preprocess& used,
                    const TensorInfo& input, DataItems* data) {
  constexpr int kOddRatio = 4;
  const bool chosen =
      given && (given->resize || given->resize_short > 0 || given->letterbox || given->crop);
  if (chosen || !used.resize) return;
  const auto [width, height] = *used.resize;
  if (width < kOddRatio * height && height < kOddRatio * width) return;
  data->notes.push_back(
      fmt::format("images are squeezed to {}x{} for input '{}' {}; is it an image at all? give its "
                  "data as .npy or .npz, or say the size (resize) if it is",
                  width, height, input.name, to_string(input.type)));
}

void add_notes(const FolderFiles& folder, DataItems* data) {
  if (folder.ignored > 0) {
    data->notes.push_back(fmt::format("{} files are not images and were left out", folder.ignored));
  }
  for (const std::string& reason : folder.unreadable) {
    data->notes.push_back("cannot read folder " + reason);
  }
  bool one_class = data->items.size() > 1;
  for (const DataItem& item : data->items) {
    one_class = one_class && item.label >= 0 && item.label == data->items.front().label;
  }
  if (one_class) data->notes.push_back("all samples have the same label");
}

}  // namespace

DataItems list_images(const DataOptions& options, std::span<const TensorInfo> inputs) {
  const TensorInfo input = only_input(data_inputs(options, inputs).infos);
  const Preprocess preprocess = resolve_preprocess(options.preprocess, input.type, input.name);
  DataItems data;
  data.preprocess = preprocess;
  data.handling = {true, preprocess,
                   options.preprocess ? options.preprocess_from : std::string(kGuess)};
  fs::path root = options.data;
  FolderFiles folder;
  std::error_code unknown;
  if (fs::is_directory(root, unknown)) {
    folder = scan_folder(root);
  } else {
    folder.files = {root.filename().string()};
    root = root.parent_path();
  }
  for (const std::string& file : folder.files) {
    data.items.push_back(
        {.file = data.items.size(), .label = label_of(file, folder, options.labels).value_or(-1)});
  }
  add_notes(folder, &data);
  note_odd_shape(options.preprocess, preprocess, input, &data);
  data.load = [root, preprocess, input, files = folder.files, options,
               all = std::vector(inputs.begin(), inputs.end())](const DataItem& item) {
    return with_states({load_input(root / files[item.file], preprocess, input)}, options, all);
  };
  data.files = std::move(folder.files);
  return data;
}

}  // namespace octet

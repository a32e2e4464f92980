// SPDX-License-Identifier: Apache-2.0
// What a DataSource is made of: a list of samples and the function that loads one. Images and arrays each make their own.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/types.h"
#include "octet/data.h"
#include "octet/engine.h"
#include "octet/tensor.h"

namespace octet {

struct DataItem {
  size_t file = 0;  // index into DataItems::files
  s64 row = -1;     // of an array with a sample axis; -1: the file is the sample
  s64 label = -1;   // -1: none
};

struct DataItems {
  std::vector<std::string> files;
  std::vector<DataItem> items;
  std::function<std::vector<Tensor>(const DataItem&)> load;  // thread-safe
  std::optional<Preprocess> preprocess;
  DataHandling handling;
  std::vector<SkippedItem> bad;  // found while listing
  std::vector<std::string> notes;
};

// options.data is a folder of images, or one image.
DataItems list_images(const DataOptions& options, std::span<const TensorInfo> inputs);
// options.data is a folder of .npy or .npz files, or one of them, perhaps with a selector.
DataItems list_arrays(const DataOptions& options, std::span<const TensorInfo> inputs);

}  // namespace octet

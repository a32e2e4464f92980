// SPDX-License-Identifier: Apache-2.0
// Arrays as samples: a folder of .npy or .npz files, or one of them.
#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>

#include "core/check.h"
#include "core/memory.h"
#include "data/array_file.h"
#include "data/convert.h"
#include "data/data_items.h"
#include "data/folder_scan.h"
#include "data/preprocess.h"
#include "data/sample_axis.h"
#include "preprocess/preprocess_text.h"

namespace octet {
namespace fs = std::filesystem;
namespace {

using Arrays = std::vector<Tensor>;

// Keeps the file read last: consecutive samples mostly come from one file.
struct ArrayStore {
  std::vector<ArrayFile> files;
  std::vector<TensorInfo> inputs;
  std::optional<Preprocess> preprocess;
  std::mutex mutex;
  size_t cached_file = 0;
  std::shared_ptr<const Arrays> cached;

  std::shared_ptr<const Arrays> arrays(size_t file) {
    const std::lock_guard lock(mutex);
    if (!cached || cached_file != file) {
      cached = nullptr;  // before loading: never two files at once
      cached = std::make_shared<const Arrays>(load_arrays(files[file]));
      cached_file = file;
    }
    return cached;
  }
};

bool is_float(Dtype dtype) {
  return dtype == Dtype::f32 || dtype == Dtype::f64 || dtype == Dtype::f16 || dtype == Dtype::bf16;
}

// A view of one row; keeps its file's arrays alive.
Tensor row_view(const std::shared_ptr<const Arrays>& arrays, size_t input, s64 row,
                const Shape& sample) {
  const Tensor& array = (*arrays)[input];
  const TensorType type{array.dtype(), sample};
  const s64 offset = row * type.bytes();
  OCTET_CHECK(offset + type.bytes() <= array.type().bytes());
  return {type, std::shared_ptr<const std::byte>(arrays, array.data() + offset)};
}

std::vector<Tensor> load_sample(ArrayStore& store, const DataItem& item) {
  const ArrayFile& file = store.files[item.file];
  const std::shared_ptr<const Arrays> arrays = store.arrays(item.file);
  std::string name = file.path.string();
  if (item.row >= 0) name += fmt::format("[{}]", item.row);
  const std::string what = fmt::format("'{}'", name);
  std::vector<Tensor> sample;
  for (size_t i = 0; i < store.inputs.size(); ++i) {
    const TensorInfo& input = store.inputs[i];
    // One number may serve all samples.
    const bool one = (*arrays)[i].elements() == 1;
    const Tensor row = row_view(arrays, i, one ? 0 : std::max<s64>(item.row, 0), file.samples[i]);
    if (!store.preprocess) {
      sample.push_back(convert_array(row, input.type.dtype, what));
      continue;
    }
    Tensor values = convert_array(row, Dtype::f32, what);
    scale_array(&values, *store.preprocess, name);
    sample.push_back(convert_array(values, input.type.dtype, what));
  }
  return sample;
}

std::vector<ArraySelector> find_files(const fs::path& data, DataItems* result) {
  std::error_code unknown;
  if (!fs::is_directory(data, unknown)) {
    const ArraySelector selector = parse_array_selector(data);
    result->files.push_back(selector.file.filename().string());
    return {selector};
  }
  FolderFiles folder = scan_folder(data);
  std::vector<ArraySelector> selectors;
  for (const std::string& file : folder.files) selectors.push_back({data / file, "", "", {}});
  for (const std::string& reason : folder.unreadable) {
    result->notes.push_back("cannot read folder " + reason);
  }
  result->files = std::move(folder.files);
  return selectors;
}

void add_items(size_t index, const ArrayFile& file, DataItems* data) {
  for (s64 i = 0; i < file.rows.count; ++i) {
    const s64 row = file.rows.begin + i;
    const s64 label = file.labels.empty() ? -1 : file.labels[static_cast<size_t>(row)];
    data->items.push_back({.file = index, .row = file.single ? -1 : row, .label = label});
  }
}

// Infinity is a value that a run may want (a mask, the limit of a loop); NaN is a mistake.
Tensor as_run_input(const Tensor& array, Dtype dtype, const std::string& what) {
  if (array.dtype() != Dtype::f32 || dtype != Dtype::f32) return convert_array(array, dtype, what);
  const std::span<const f32> values = array.as<f32>();
  const auto nan = std::ranges::find_if(values, [](f32 value) { return std::isnan(value); });
  if (nan != values.end()) {
    fail(Error::Code::invalid_argument, "{}: NaN at element {}; values must be numbers", what,
         nan - values.begin());
  }
  return array;
}

}  // namespace

DataItems list_arrays(const DataOptions& options, std::span<const TensorInfo> model_inputs) {
  const DataInputs from_data = data_inputs(options, model_inputs);
  const std::vector<TensorInfo>& inputs = from_data.infos;
  if (options.preprocess) check_preprocess(*options.preprocess, "preprocessing");
  DataItems data;
  const auto store = std::make_shared<ArrayStore>();
  store->inputs.assign(inputs.begin(), inputs.end());
  const bool one_real = inputs.size() == 1 && is_float(inputs[0].type.dtype);
  if (!options.prepared_arrays && one_real) store->preprocess = options.preprocess;
  data.preprocess = options.preprocess;
  if (store->preprocess) data.handling = {false, store->preprocess, options.preprocess_from};
  const std::vector<ArraySelector> selectors = find_files(options.data, &data);
  for (size_t i = 0; i < selectors.size(); ++i) {
    ArrayFile file;
    try {
      file = open_array_file(selectors[i], inputs, from_data.axes);
      add_items(i, file, &data);
    } catch (const Error& error) {
      data.bad.push_back({data.files[i], error.message()});
    }
    store->files.push_back(std::move(file));
  }
  data.load = [store, options,
               all = std::vector(model_inputs.begin(), model_inputs.end())](const DataItem& item) {
    return with_states(load_sample(*store, item), options, all);
  };
  return data;
}

std::optional<std::vector<Tensor>> read_inputs(const fs::path& file,
                                               std::span<const TensorInfo> inputs) {
  return without_bad_alloc([&]() -> std::optional<Arrays> {
    const ArraySelector selector = parse_array_selector(file);
    std::optional<Arrays> arrays = load_whole_arrays(selector, inputs);
    for (size_t i = 0; arrays && i < inputs.size(); ++i) {
      const std::string what =
          fmt::format("'{}', input '{}'", selector.file.string(), inputs[i].name);
      Tensor& array = (*arrays)[i];
      array = as_run_input(array, inputs[i].type.dtype, what);
    }
    return arrays;
  });
}

}  // namespace octet

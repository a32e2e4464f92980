// SPDX-License-Identifier: Apache-2.0
#include "data/array_file.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/check.h"
#include "data/convert.h"
#include "data/npz.h"
#include "data/sample_axis.h"
#include "octet/input.h"
#include "octet/npz.h"

namespace octet {
namespace {

// Channels at the other end of an image.
const char* hint_of_layout(const Shape& array, const Shape& input) {
  if (array.rank() < 3 || input.rank() != 4) return "";
  const auto turned = [&](std::initializer_list<int> order) {
    std::vector<s64> dims = {input[0]};
    for (const int d : order) dims.push_back(array[array.rank() - 3 + d]);
    return fit_rows(Shape(dims), input).fits;
  };
  if (turned({2, 0, 1}))
    return ". Its axes are those of NHWC, the input's NCHW: transpose the array, do not reshape it";
  if (turned({1, 2, 0}))
    return ". Its axes are those of NCHW, the input's NHWC: transpose the array, do not reshape it";
  return "";
}

using Dims = std::vector<s64>;

bool matches(const Dims& dims, const Dims& wanted) {
  return std::equal(dims.begin(), dims.end(), wanted.begin(), wanted.end(),
                    [](s64 dim, s64 want) { return want < 0 || dim == want; });
}

Dims without_ones(const Dims& dims) {
  Dims result;
  std::copy_if(dims.begin(), dims.end(), std::back_inserter(result), [](s64 d) { return d != 1; });
  return result;
}

// The wanted dimensions, unknown ones taken in order from `dims` (both without ones).
Dims filled(const Dims& wanted, const Dims& dims) {
  Dims result;
  size_t next = 0;
  for (s64 want : wanted) result.push_back(want == 1 ? 1 : dims[next++]);
  return result;
}

RowFit make_fit(bool single, s64 rows, const Dims& sample, bool has_batch) {
  RowFit fit{true, single, rows, {}};
  if (has_batch) fit.sample.push_back(1);
  for (s64 dim : sample) fit.sample.push_back(dim);
  return fit;
}

// ".npz" and the like; of a file without an extension what its first bytes say.
std::string extension_of(const std::filesystem::path& path) {
  using namespace std::string_view_literals;
  const std::string extension = path.extension().string();
  if (!extension.empty()) return extension;
  const std::string begins = read_beginning(path, 6).value_or("");
  if (begins.starts_with("PK\x03\x04"sv)) return ".npz";
  return begins == "\x93NUMPY"sv ? ".npy" : "";
}

bool is_npz(const std::filesystem::path& path) {
  std::string extension = extension_of(path);
  return extension.size() == 4 && (extension[3] == 'z' || extension[3] == 'Z');
}

// `has_others`: inputs of more than one number, which tell how many samples there are.
void add_input(ArrayFile* file, const TensorInfo& input, const NpyHeader& header,
               const std::string& label, bool has_others) {
  const size_t index = file->samples.size();
  const int axis = index < file->axes.size() ? file->axes[index] : 0;
  const bool moves = axis > 0 && header.type.shape.rank() == input.type.shape.rank();
  const Shape stored = moves ? axis_to_front(header.type.shape, axis) : header.type.shape;
  if (!moves && axis > 0) file->axes[index] = 0;
  const RowFit fit = fit_rows(stored, input.type.shape);
  if (!fit.fits) {
    fail(Error::Code::invalid_argument,
         "'{}': {} does not fit input '{}' {}; its first axis may be the sample, the others must "
         "agree{}",
         label, to_string(header.type), input.name, to_string(input.type),
         hint_of_layout(stored, input.type.shape));
  }
  file->samples.push_back(fit.sample);
  const bool serves_all = input.type.shape.rank() == 0 && fit.single;
  if (serves_all && has_others) return;
  const bool first = file->rows.count == 0;
  if (!first && (fit.rows != file->rows.count || fit.single != file->single)) {
    fail(Error::Code::invalid_argument, "'{}': {} samples, the other arrays have {}", label,
         fit.rows, file->rows.count);
  }
  file->rows.count = fit.rows;
  file->single = fit.single;
}

// The array for an input that no array is named after: the only one, if there is one only.
std::string choose_array(const Npz& npz, const ArraySelector& selector,
                         std::span<const TensorInfo> inputs, const TensorInfo& input) {
  if (!selector.array.empty()) {
    if (inputs.size() != 1) {
      fail(Error::Code::invalid_argument,
           "'{}': an array can be chosen for a model with one input, this one has {}; name the "
           "arrays as the inputs",
           npz.name(), inputs.size());
    }
    return selector.array;
  }
  if (npz.has(input.name)) return input.name;
  std::vector<std::string> arrays = npz.arrays();
  std::erase(arrays, "labels");
  if (inputs.size() == 1 && arrays.size() == 1) return arrays.front();
  fail(Error::Code::invalid_argument,
       "'{}' has no array named as input '{}'; it has: {}; choose one by FILE.npz:ARRAY[:LABELS]",
       npz.name(), input.name, fmt::join(npz.arrays(), ", "));
}

std::vector<s64> read_labels(const Npz& npz, const std::string& array, s64 rows) {
  const std::string what = fmt::format("'{}:{}'", npz.name(), array);
  const s64 count = npz.header(array).type.shape.elements();
  if (count != rows) {
    fail(Error::Code::invalid_argument, "{}: {} labels for {} samples", what, count, rows);
  }
  const Tensor labels = convert_array(npz.read(array), Dtype::s64, what);
  const std::span<const s64> values = labels.as<s64>();
  for (s64 v : values) {
    if (v < 0) fail(Error::Code::invalid_argument, "{}: label {} is negative", what, v);
  }
  return {values.begin(), values.end()};
}

bool is_whole(const NpyHeader& header, const TensorInfo& input) {
  const Shape& array = header.type.shape;
  const Shape& wanted = input.type.shape;
  return matches(Dims(array.begin(), array.end()), Dims(wanted.begin(), wanted.end()));
}

// Arrays of the inputs' own shapes whose first dimensions are no number of samples, for they differ: the file is one sample.
bool open_whole(const Npz& npz, const ArraySelector& selector, std::span<const TensorInfo> inputs,
                ArrayFile* file) {
  std::set<s64> rows;
  for (const TensorInfo& input : inputs) {
    if (input.type.shape.rank() == 0) continue;
    if (!input.type.shape.is_static()) return false;
    rows.insert(input.type.shape[0]);
  }
  if (rows.size() < 2) return false;
  ArrayFile whole = *file;
  for (const TensorInfo& input : inputs) {
    whole.arrays.push_back(choose_array(npz, selector, inputs, input));
    const NpyHeader header = npz.header(whole.arrays.back());
    if (!is_whole(header, input)) return false;
    whole.samples.push_back(header.type.shape);
  }
  whole.rows.count = 1;
  whole.single = true;
  *file = std::move(whole);
  return true;
}

void open_npz(const ArraySelector& selector, std::span<const TensorInfo> inputs, ArrayFile* file) {
  const Npz npz(selector.file);
  if (open_whole(npz, selector, inputs, file)) return;
  const bool has_others = std::ranges::any_of(
      inputs, [](const TensorInfo& input) { return input.type.shape.rank() > 0; });
  for (const TensorInfo& input : inputs) {
    const std::string array = choose_array(npz, selector, inputs, input);
    add_input(file, input, npz.header(array), npz.name() + ':' + array, has_others);
    file->arrays.push_back(array);
  }
  const bool named = !selector.labels.empty();
  const bool is_input = std::count(file->arrays.begin(), file->arrays.end(), "labels") > 0;
  if (named || (npz.has("labels") && !is_input)) {
    file->labels = read_labels(npz, named ? selector.labels : "labels", file->rows.count);
  }
}

}  // namespace

bool is_array_file(const std::filesystem::path& path) {
  const std::string extension = extension_of(path);
  return extension == ".npy" || extension == ".npz" || extension == ".NPY" || extension == ".NPZ";
}

RowFit fit_rows(const Shape& array_shape, const Shape& input_shape) {
  const bool has_batch = input_shape.rank() > 0;
  const Dims array(array_shape.begin(), array_shape.end());
  const Dims wanted(input_shape.begin() + (has_batch ? 1 : 0), input_shape.end());
  if (matches(array, wanted)) return make_fit(true, 1, array, has_batch);
  if (!array.empty()) {
    const Dims row(array.begin() + 1, array.end());
    if (matches(row, wanted)) return make_fit(false, array[0], row, has_batch);
    const Dims dense = without_ones(row);
    if (matches(dense, without_ones(wanted))) {
      return make_fit(false, array[0], filled(wanted, dense), has_batch);
    }
  }
  const Dims dense = without_ones(array);
  if (matches(dense, without_ones(wanted))) {
    return make_fit(true, 1, filled(wanted, dense), has_batch);
  }
  return {};
}

ArrayFile open_array_file(const ArraySelector& selector, std::span<const TensorInfo> inputs,
                          std::span<const int> axes) {
  ArrayFile file;
  file.axes.assign(axes.begin(), axes.end());
  file.path = selector.file;
  if (is_npz(file.path)) {
    open_npz(selector, inputs, &file);
  } else {
    if (inputs.size() != 1) {
      fail(Error::Code::invalid_argument,
           "'{}' holds one array, the model has {} inputs; give an .npz with arrays named as them",
           file.path.string(), inputs.size());
    }
    add_input(&file, inputs.front(), read_npy_header(file.path), file.path.string(), false);
  }
  const s64 total = file.rows.count;
  file.rows = resolve_slice(selector.slice, total);
  if (file.rows.count == 0) {
    fail(Error::Code::invalid_argument, "'{}': no samples are chosen of {}", file.path.string(),
         total);
  }
  return file;
}

std::optional<std::vector<Tensor>> load_whole_arrays(const ArraySelector& selector,
                                                     std::span<const TensorInfo> inputs) {
  if (selector.slice.begin || selector.slice.end) return std::nullopt;
  if (!is_npz(selector.file)) {
    if (inputs.size() != 1 || !is_whole(read_npy_header(selector.file), inputs[0]))
      return std::nullopt;
    return std::vector<Tensor>{read_npy(selector.file)};
  }
  const Npz npz(selector.file);
  std::vector<std::string> names;
  for (const TensorInfo& input : inputs) {
    names.push_back(choose_array(npz, selector, inputs, input));
    if (!is_whole(npz.header(names.back()), input)) return std::nullopt;
  }
  std::vector<Tensor> arrays;
  for (const std::string& name : names) arrays.push_back(npz.read(name));
  return arrays;
}

std::vector<Tensor> load_arrays(const ArrayFile& file) {
  std::vector<Tensor> arrays;
  if (file.arrays.empty()) {
    arrays.push_back(read_npy(file.path));
  } else {
    const Npz npz(file.path);
    for (const std::string& array : file.arrays) arrays.push_back(npz.read(array));
  }
  for (size_t i = 0; i < std::min(arrays.size(), file.axes.size()); ++i) {
    if (file.axes[i] > 0) arrays[i] = axis_to_front(arrays[i], file.axes[i]);
  }
  return arrays;
}

}  // namespace octet

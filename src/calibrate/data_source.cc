// SPDX-License-Identifier: Apache-2.0
#include "calibrate/data_source.h"

#include <system_error>

#include "calibrate/folder_scan.h"
#include "core/check.h"

namespace octet {
namespace fs = std::filesystem;
namespace {

constexpr size_t kNamedInError = 5;

bool has_array_extension(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".npy" || extension == ".npz" || extension == ".NPY" || extension == ".NPZ";
}

bool is_array_data(const fs::path& data) {
  std::error_code error;
  const fs::file_status status = fs::status(data, error);
  if (fs::is_directory(status)) return !scan_folder(data).images;
  if (fs::exists(status)) return has_array_extension(data);
  const std::string text = data.string();
  if (text.find(".npz:") != text.npos || text.find(".npz[") != text.npos) return true;
  fail(Error::Code::io, "'{}' does not exist", text);
}

// Evenly spread, so that a part of a folder sorted by class still holds every class.
void keep_some(s64 wanted, DataItems* data) {
  const s64 found = static_cast<s64>(data->items.size());
  if (wanted > found) {
    data->notes.push_back(fmt::format("{} samples were asked for, {} found", wanted, found));
  }
  if (wanted <= 0 || wanted >= found) return;
  std::vector<DataItem> kept;
  for (s64 i = 0; i < wanted; ++i) {
    kept.push_back(data->items[static_cast<size_t>(i * found / wanted)]);
  }
  data->items = std::move(kept);
}

}  // namespace

DataSource::DataSource(DataItems data, const CalibrationOptions& options)
    : data_(std::move(data)), source_(options.data.string()), skip_bad_(options.skip_bad) {}

DataSource DataSource::open(const CalibrationOptions& options, std::span<const TensorInfo> inputs) {
  if (options.data.empty()) {
    fail(Error::Code::invalid_argument, "no data given: a folder of images, .npy or .npz files");
  }
  if (inputs.empty()) fail(Error::Code::invalid_argument, "the model has no inputs to feed");
  DataItems data =
      is_array_data(options.data) ? list_arrays(options, inputs) : list_images(options, inputs);
  DataSource source(std::move(data), options);
  source.settle_bad(source.data_.files.size());
  keep_some(options.max_samples, &source.data_);
  return source;
}

void DataSource::settle_bad(size_t total) {
  const std::vector<SkippedItem>& bad = data_.bad;
  if (bad.empty() || (skip_bad_ && !data_.items.empty())) return;
  std::string others;
  for (size_t i = 1; i < bad.size() && i < kNamedInError; ++i) {
    others += fmt::format("{} '{}'", i == 1 ? "; also" : ",", bad[i].name);
  }
  if (bad.size() > kNamedInError) {
    others += fmt::format(" and {} more", bad.size() - kNamedInError);
  }
  fail_about(skip_bad_ ? "" : "CalibrationOptions.skip_bad", Error::Code::invalid_argument,
             "{} of {} in '{}' cannot be used: {}{}; {}", bad.size(), total, source_,
             bad.front().reason, others,
             skip_bad_ ? "nothing is left" : "repair or remove them, or skip them");
}

void DataSource::validate(const std::function<void(s64, s64)>& progress) {
  const size_t total = data_.items.size();
  std::vector<DataItem> good;
  for (size_t i = 0; i < total; ++i) {
    try {
      sample(static_cast<s64>(i));
      good.push_back(data_.items[i]);
    } catch (const Error& error) {
      if (error.code() == Error::Code::internal) throw;
      data_.bad.push_back({name(static_cast<s64>(i)), error.message()});
    }
    if (progress) progress(static_cast<s64>(i) + 1, static_cast<s64>(total));
  }
  data_.items = std::move(good);
  settle_bad(total);
}

std::vector<Tensor> DataSource::sample(s64 i) const {
  OCTET_CHECK(i >= 0 && i < size());
  return data_.load(data_.items[static_cast<size_t>(i)]);
}

std::optional<s64> DataSource::label(s64 i) const {
  OCTET_CHECK(i >= 0 && i < size());
  const s64 label = data_.items[static_cast<size_t>(i)].label;
  return label < 0 ? std::nullopt : std::optional(label);
}

std::string DataSource::name(s64 i) const {
  OCTET_CHECK(i >= 0 && i < size());
  const DataItem& item = data_.items[static_cast<size_t>(i)];
  const std::string& file = data_.files[item.file];
  return item.row < 0 ? file : fmt::format("{}[{}]", file, item.row);
}

}  // namespace octet

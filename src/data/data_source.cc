// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <system_error>

#include "core/check.h"
#include "core/memory.h"
#include "core/side_by_side.h"
#include "data/data_items.h"
#include "data/folder_scan.h"
#include "data/input_statistics.h"
#include "octet/data.h"
#include "octet/npz.h"

namespace octet {
namespace fs = std::filesystem;
namespace {

constexpr size_t kNamedInError = 5;

bool is_array_data(const fs::path& data) {
  std::error_code error;
  const fs::file_status status = fs::status(data, error);
  if (error && status.type() == fs::file_type::none)
    fail(Error::Code::io, "'{}': {}", data.string(), error.message());
  if (fs::is_directory(status)) return !scan_folder(data).images;
  if (fs::exists(status)) return is_array_file(data);
  const std::string text = data.string();
  if (text.find(".npz:") != text.npos || text.find(".npz[") != text.npos) return true;
  fail(Error::Code::io, "'{}' does not exist", text);
}

// The inputs, or why there are none.
struct LoadedSample {
  std::vector<Tensor> inputs = {};
  std::optional<Error> error = std::nullopt;
};

LoadedSample load_sample(const DataSource& data, size_t i) {
  try {
    return {.inputs = data.sample(static_cast<s64>(i))};
  } catch (const Error& error) {
    if (error.code() == Error::Code::internal) throw;
    return {.error = error};
  }
}

bool has_no_room(const LoadedSample& loaded) {
  return loaded.error && loaded.error->code() == Error::Code::out_of_memory;
}

// Evenly spread, so that a part of a folder sorted by class still holds every class; of sequences the first steps.
void keep_some(s64 wanted, bool in_order, DataItems* data) {
  const s64 found = static_cast<s64>(data->items.size());
  if (wanted > found) {
    data->notes.push_back(fmt::format("{} samples were asked for, {} found", wanted, found));
  }
  if (wanted <= 0 || wanted >= found) return;
  std::vector<DataItem> kept;
  for (s64 i = 0; i < wanted; ++i) {
    kept.push_back(data->items[static_cast<size_t>(in_order ? i : i * found / wanted)]);
  }
  data->items = std::move(kept);
}

}  // namespace

struct DataSource::Impl {
  DataItems data;
  std::vector<TensorInfo> inputs;
  std::string source;
  bool skip_bad = false;
  bool raw_pixels = false;
  std::vector<StateLink> states;
  std::vector<InputSummary> summaries;
  std::vector<InputProfile> profiles;
  std::vector<InputWatch::Clipped> clipped;
  std::vector<std::optional<CodeSpan>> codes;

  // Throws if `data.bad` must not be skipped or nothing is left.
  void settle_bad(size_t total) const;
  const DataItem& item(s64 i) const {
    OCTET_CHECK(i >= 0 && i < static_cast<s64>(data.items.size()));
    return data.items[static_cast<size_t>(i)];
  }
};

DataSource::DataSource(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DataSource::~DataSource() = default;
DataSource::DataSource(DataSource&&) noexcept = default;
DataSource& DataSource::operator=(DataSource&&) noexcept = default;

DataSource DataSource::open(const DataOptions& options, std::span<const TensorInfo> inputs) {
  if (options.data.empty()) {
    fail(Error::Code::invalid_argument, "no data given: a folder of images, .npy or .npz files");
  }
  if (inputs.empty()) fail(Error::Code::invalid_argument, "the model has no inputs to feed");
  return without_bad_alloc([&] {
    auto impl = std::make_unique<Impl>();
    impl->source = options.data.string();
    impl->skip_bad = options.skip_bad;
    impl->raw_pixels = options.raw_pixels;
    impl->inputs.assign(inputs.begin(), inputs.end());
    impl->data =
        is_array_data(options.data) ? list_arrays(options, inputs) : list_images(options, inputs);
    impl->settle_bad(impl->data.files.size());
    keep_some(options.max_samples, !options.states.empty(), &impl->data);
    impl->states = options.states;
    impl->codes = options.input_codes;
    return DataSource(std::move(impl));
  });
}

void DataSource::Impl::settle_bad(size_t total) const {
  const std::vector<SkippedItem>& bad = data.bad;
  if (bad.empty() || (skip_bad && !data.items.empty())) return;
  if (total == 1 && !skip_bad) fail(Error::Code::invalid_argument, "{}", bad.front().reason);
  std::string others;
  for (size_t i = 1; i < bad.size() && i < kNamedInError; ++i) {
    others += fmt::format("{} '{}'", i == 1 ? "; also" : ",", bad[i].name);
  }
  if (bad.size() > kNamedInError) {
    others += fmt::format(" and {} more", bad.size() - kNamedInError);
  }
  fail_about(skip_bad ? "" : "DataOptions.skip_bad", Error::Code::invalid_argument,
             "{} of {} in '{}' cannot be used: {}{}; {}", bad.size(), total, source,
             bad.front().reason, others, skip_bad ? "nothing is left" : "repair or remove them");
}

void DataSource::validate(const std::function<void(int64_t, int64_t)>& progress) {
  validate(progress, 1);
}

void DataSource::validate(const std::function<void(int64_t, int64_t)>& progress, int threads) {
  std::vector<DataItem>& items = impl_->data.items;
  const size_t total = items.size();
  std::vector<DataItem> good;
  InputStatistics statistics(impl_->inputs);
  InputWatch watch(KnownInputs{impl_->inputs, {}, impl_->codes});
  // In their order: sums of reals are taken.
  const auto look_at = [&](size_t i, const LoadedSample& loaded) {
    if (loaded.error) {
      impl_->data.bad.push_back({name(static_cast<s64>(i)), loaded.error->message()});
    } else {
      statistics.add(loaded.inputs);
      watch.add(loaded.inputs);
      good.push_back(items[i]);
    }
    if (progress) progress(static_cast<s64>(i) + 1, static_cast<s64>(total));
  };
  const auto at_once = static_cast<size_t>(std::max(threads, 1));
  for (size_t first = 0; first < total; first += at_once) {
    std::vector<LoadedSample> block(std::min(at_once, total - first));
    side_by_side(block.size(), threads,
                 [&](size_t k) { block[k] = load_sample(*this, first + k); });
    // What has no room beside others has some alone.
    const bool one_by_one = block.size() > 1 && std::ranges::any_of(block, has_no_room);
    for (size_t k = 0; one_by_one && k < block.size(); ++k) block[k] = {};
    for (size_t k = 0; k < block.size(); ++k) {
      if (one_by_one) block[k] = load_sample(*this, first + k);
      look_at(first + k, block[k]);
      block[k] = {};
    }
  }
  items = std::move(good);
  impl_->settle_bad(total);
  impl_->summaries = statistics.summaries();
  impl_->profiles = watch.profiles();
  impl_->clipped = watch.clipped();
  const auto is_state = [&](const std::string& doubt) {
    return std::ranges::any_of(impl_->states, [&](const StateLink& link) {
      return doubt.starts_with("input '" + link.input + "'");
    });
  };
  for (std::string& doubt : statistics.doubts(impl_->raw_pixels)) {
    if (!is_state(doubt)) impl_->data.notes.push_back(std::move(doubt));
  }
}

int64_t DataSource::size() const { return static_cast<int64_t>(impl_->data.items.size()); }

std::vector<Tensor> DataSource::sample(int64_t i) const {
  return without_bad_alloc([&] { return impl_->data.load(impl_->item(i)); });
}

std::optional<int64_t> DataSource::label(int64_t i) const {
  const s64 label = impl_->item(i).label;
  return label < 0 ? std::nullopt : std::optional(label);
}

std::string DataSource::name(int64_t i) const {
  const DataItem& item = impl_->item(i);
  const std::string& file = impl_->data.files[item.file];
  return item.row < 0 ? file : fmt::format("{}[{}]", file, item.row);
}

bool DataSource::begins_sequence(int64_t i) const {
  return impl_->states.empty() || i == 0 || impl_->item(i).file != impl_->item(i - 1).file;
}

const std::optional<Preprocess>& DataSource::preprocess() const { return impl_->data.preprocess; }
const DataHandling& DataSource::handling() const { return impl_->data.handling; }
const std::vector<SkippedItem>& DataSource::skipped() const { return impl_->data.bad; }
const std::vector<std::string>& DataSource::notes() const { return impl_->data.notes; }
const std::vector<InputSummary>& DataSource::summaries() const { return impl_->summaries; }
const std::vector<InputProfile>& DataSource::profiles() const { return impl_->profiles; }
const std::vector<InputWatch::Clipped>& DataSource::clipped() const { return impl_->clipped; }

std::string DataHandling::line() const {
  if (!applied) return "arrays: taken as they are";
  std::string text = (photos ? "photos: " : "arrays: ") + describe(*applied, !photos);
  if (from.empty()) return text;
  return text + (guessed() ? " (" + from + ")" : ", from " + from);
}

}  // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "data/sample_feed.h"

#include <atomic>
#include <mutex>

#include "core/check.h"
#include "data/array_file.h"
#include "data/convert.h"

namespace octet {
namespace {

class FileFeed : public SampleFeed {
 public:
  explicit FileFeed(const DataSource& data) : data_(data) {}

  std::optional<FedSample> next() override {
    const s64 i = next_.fetch_add(1);
    if (i >= data_.size()) return std::nullopt;
    FedSample sample{data_.name(i), data_.sample(i)};
    sample.begins = data_.begins_sequence(i);
    return sample;
  }
  s64 total() const override { return data_.size(); }

 private:
  const DataSource& data_;
  std::atomic<s64> next_{0};
};

class CallerFeed : public SampleFeed {
 public:
  CallerFeed(SampleSource source, std::span<const TensorInfo> inputs, InputStatistics* seen,
             InputWatch* watch)
      : source_(std::move(source)),
        inputs_(inputs.begin(), inputs.end()),
        seen_(seen),
        watch_(watch) {}

  std::optional<FedSample> next() override {
    std::vector<Tensor> rows;
    s64 number = 0;
    {
      const std::lock_guard lock(mutex_);
      if (row_ == rows_ && !read_batch()) return std::nullopt;
      for (size_t i = 0; i < inputs_.size(); ++i) rows.push_back(row_of(i));
      ++row_;
      number = given_++;
    }
    FedSample sample{fmt::format("sample {}", number), {}};
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const std::string what = fmt::format("{}, input '{}'", sample.name, inputs_[i].name);
      sample.inputs.push_back(convert_array(rows[i], inputs_[i].type.dtype, what));
    }
    if (seen_ != nullptr || watch_ != nullptr) {
      const std::lock_guard lock(mutex_);
      if (seen_ != nullptr) seen_->add(sample.inputs);
      if (watch_ != nullptr) watch_->add(sample.inputs);
    }
    return sample;
  }
  s64 total() const override { return 0; }

 private:
  // False at the end of the data.
  bool read_batch() {
    std::vector<Tensor> batch;
    do {
      batch.clear();
      if (ended_ || !source_(batch)) {
        ended_ = true;
        return false;
      }
      take(std::move(batch));
    } while (rows_ == 0);
    return true;
  }

  void take(std::vector<Tensor> batch) {
    if (batch.size() != inputs_.size()) {
      fail(Error::Code::invalid_argument,
           "after {} samples the data give {} tensors; the model has {} inputs", given_,
           batch.size(), inputs_.size());
    }
    samples_.clear();
    for (size_t i = 0; i < batch.size(); ++i) fit(i, batch[i]);
    batch_ = std::move(batch);
    row_ = 0;
  }

  void fit(size_t i, const Tensor& tensor) {
    const TensorInfo& input = inputs_[i];
    const RowFit rows = tensor ? fit_rows(tensor.shape(), input.type.shape) : RowFit{};
    if (!rows.fits) {
      fail(Error::Code::invalid_argument,
           "after {} samples the data give {} for input '{}' {}; its first axis may be the sample, "
           "the others must agree",
           given_, tensor ? to_string(tensor.type()) : "nothing", input.name,
           to_string(input.type));
    }
    if (i > 0 && rows.rows != rows_) {
      fail(Error::Code::invalid_argument,
           "after {} samples the data give {} samples of input '{}' and {} of '{}'", given_,
           rows.rows, input.name, rows_, inputs_[0].name);
    }
    rows_ = rows.rows;
    samples_.push_back(rows.sample);
  }

  // A view that keeps the caller's tensor alive.
  Tensor row_of(size_t i) const {
    const auto owner = std::make_shared<const Tensor>(batch_[i]);
    const TensorType type{batch_[i].dtype(), samples_[i]};
    return {type, std::shared_ptr<const std::byte>(owner, owner->data() + row_ * type.bytes())};
  }

  const SampleSource source_;
  const std::vector<TensorInfo> inputs_;
  InputStatistics* const seen_;
  InputWatch* const watch_;
  std::mutex mutex_;
  std::vector<Tensor> batch_;   // given last
  std::vector<Shape> samples_;  // one for each input: the shape of one sample
  s64 rows_ = 0;                // of batch_
  s64 row_ = 0;                 // handed out next
  s64 given_ = 0;
  bool ended_ = false;
};

// As many samples at a time as a run takes. Those of a run follow each other in the data, whichever thread takes them, so that what is
// repeated in the last does not depend on threads.
class RunFeed : public SampleFeed {
 public:
  RunFeed(std::unique_ptr<SampleFeed> samples, std::span<const TensorInfo> inputs)
      : samples_(std::move(samples)), inputs_(inputs.begin(), inputs.end()) {}

  std::optional<FedSample> next() override {
    if (rows_.load() == 1) return samples_->next();
    const std::lock_guard lock(mutex_);
    std::optional<FedSample> first = samples_->next();
    if (!first) return std::nullopt;
    if (rows_.load() == 0) rows_ = samples_of_run(inputs_, first->inputs);
    if (rows_.load() == 1) return first;
    std::vector<std::vector<Tensor>> rows = {std::move(first->inputs)};
    while (static_cast<s64>(rows.size()) < rows_.load()) {
      std::optional<FedSample> more = samples_->next();
      if (!more) break;
      rows.push_back(std::move(more->inputs));
    }
    return FedSample{first->name, stack_samples(rows, rows_.load()), static_cast<s64>(rows.size()),
                     rows_.load()};
  }
  s64 total() const override { return samples_->total(); }

 private:
  const std::unique_ptr<SampleFeed> samples_;
  const std::vector<TensorInfo> inputs_;
  std::mutex mutex_;
  std::atomic<s64> rows_{0};  // 0: not known before the first sample
};

}  // namespace

std::unique_ptr<SampleFeed> feed_of(const DataSource& data, std::span<const TensorInfo> inputs) {
  return std::make_unique<RunFeed>(std::make_unique<FileFeed>(data), inputs);
}

std::unique_ptr<SampleFeed> feed_of(SampleSource source, std::span<const TensorInfo> inputs,
                                    InputStatistics* seen, InputWatch* watch) {
  auto samples = std::make_unique<CallerFeed>(std::move(source), inputs, seen, watch);
  return std::make_unique<RunFeed>(std::move(samples), inputs);
}

}  // namespace octet

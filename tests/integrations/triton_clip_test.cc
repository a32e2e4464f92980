// SPDX-License-Identifier: Apache-2.0
// Requests whose data have drifted raise the counters of clipped values.
#include <vector>

#include "octet/compile.h"
#include "octet/npz.h"
#include "octet/range.h"
#include "tests/integrations/triton_models.h"

namespace octet::triton_test {
namespace {

using Json = nlohmann::json;

const std::filesystem::path kDigits = std::filesystem::path(OCTET_SOURCE_DIR) / "examples/digits";

// Rows of the images that the engine is calibrated on, times `factor`.
Tensor digits(float factor, int64_t first, int64_t rows) {
  const Tensor all = read_npz(kDigits / "digits.npz", "train_images");
  Tensor some(Dtype::f32, {rows, 1, 8, 8});
  const auto from = all.as<uint8_t>().subspan(static_cast<size_t>(first) * 64);
  const auto to = some.mutable_as<float>();
  for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(from[i]) * factor;
  return some;
}

// Whose codes hold all that calibration saw.
const Engine& digits_engine() {
  static const Engine engine = [] {
    CompileOptions options;
    options.plan.int8 = true;
    CalibrationOptions& calibration = options.calibration.emplace();
    calibration.samples = [done = false](std::vector<Tensor>& inputs) mutable {
      inputs = {digits(1, 0, 60)};
      return !std::exchange(done, true);
    };
    calibration.method = parse_range_method("minmax");
    return compile(kDigits / "digits.onnx", options);
  }();
  return engine;
}

Json with_watch(const std::string& percent) {
  return {{"parameters", {{"clip_watch", {{"string_value", percent}}}}}};
}

// Until so many values more were counted: by a thread of the backend's, while it has room for another request.
void send_until(Served& served, const Tensor& sent, double values) {
  const Tensor want = answers(digits_engine(), {sent})[0];
  const std::string output = digits_engine().outputs()[0].name;
  while (metric("octet_values_total") < values) {
    TRITONBACKEND_Request one = request({{digits_engine().inputs()[0].name, sent}}, {output});
    served.execute({&one});
    expect_answer(one, output, want);
  }
}

TEST(TritonClipping, DriftedRequestsRaiseTheCounters) {
  const Server server("default-max-batch-size", "4");
  const SavedModel model("drift", digits_engine());
  Served served(server, model.folder, with_watch("100"));
  const double values = metric("octet_values_total");
  const double clipped = metric("octet_clipped_values_total");
  EXPECT_EQ(metric("octet_calibration_clipped_share"), 0);
  send_until(served, digits(1, 0, 2), values + 1);
  EXPECT_GE(metric("octet_values_total"), values + 64);
  const double before = metric("octet_clipped_values_total");
  // Of the input and what is computed from it float sums alone may lie beyond, by their last bits.
  EXPECT_LE(before - clipped, (metric("octet_values_total") - values) / 100);
  send_until(served, digits(4, 2, 2), metric("octet_values_total") + 10'000);
  EXPECT_GT(metric("octet_clipped_values_total") - before, before - clipped);
}

TEST(TritonClipping, IsOffWhereItIsAskedFor) {
  const Server server("clip-watch", "0");
  const SavedModel model("no-drift", digits_engine());
  const int64_t metrics = counts().metrics;
  int64_t plain = 0;
  {
    Served served(server, model.folder);
    plain = counts().metrics - metrics;
  }
  Served served(server, model.folder, with_watch("50"));
  EXPECT_GT(counts().metrics - metrics, plain);
}

TEST(TritonClipping, SharesOfTimeAreChecked) {
  const Server server;
  const SavedModel model("bad-share", digits_engine());
  for (const char* wrong : {"-1", "101", "much", "", "nan"}) {
    try {
      const Served refused(server, model.folder, with_watch(wrong));
      ADD_FAILURE() << wrong;
    } catch (const Failed& failed) {
      EXPECT_EQ(failed.code(), TRITONSERVER_ERROR_INVALID_ARG);
      EXPECT_NE(std::string(failed.what()).find("clip_watch"), std::string::npos) << failed.what();
    }
  }
}

}  // namespace
}  // namespace octet::triton_test

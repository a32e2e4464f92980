// SPDX-License-Identifier: Apache-2.0
// Text of pages: escaped names, and cells of tables.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "octet/precision.h"

namespace octet {

std::string escape_html(std::string_view text);
std::string table_head(std::span<const std::string_view> titles);
std::string text_cell(std::string_view text);
// `value` sorts, `shown` is read.
std::string number_cell(double value, const std::string& shown);
// The same over a bar of this share of the cell, 0 to 1.
std::string bar_cell(double value, const std::string& shown, double share);
std::string precision_cell(Precision precision);
// Of the style: "int8", "f32", "f16", "bf16", "other".
std::string_view precision_class(Precision precision);
// "93.9 %"; "none" of NaN, the share of nothing.
std::string share_text(double share, int decimals);
std::string decibels_text(double value);  // "38.2 dB", "exact"

}  // namespace octet

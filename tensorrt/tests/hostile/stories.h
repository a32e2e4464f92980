// SPDX-License-Identifier: Apache-2.0
// Each returns where the library did what it should, and ends the process with 1 and a line where it did not.
#pragma once

namespace hostile::stories {

#define STORY(name) void name();
#include "stories.def"
#undef STORY

}  // namespace hostile::stories

// SPDX-License-Identifier: Apache-2.0
// Moved to core/file.h, where the engine file uses it too.
#pragma once
#include "core/file.h"

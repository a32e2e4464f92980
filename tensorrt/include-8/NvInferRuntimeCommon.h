// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../include/trt_plugin_registry.h"

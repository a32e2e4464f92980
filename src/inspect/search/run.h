// SPDX-License-Identifier: Apache-2.0
// search() over measurements that somebody holds.
#pragma once

#include "octet/search.h"

namespace octet {

class TrialRuns;  // inspect/search/trials.h

// Throws Error(invalid_argument) for options that are none of a search.
void check_search(const SearchOptions& options);

// `runs` are of this source and these options, and have begun.
SearchResult search_by(TrialRuns& runs, const SourceModel& source, const SearchOptions& options);

}  // namespace octet

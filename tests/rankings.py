# SPDX-License-Identifier: Apache-2.0
"""How alike two orders are."""


def kendall(one, other):
    """Kendall's tau of values by the same keys, which are all different."""
    keys, agree, pairs = sorted(one), 0, 0
    for i, a in enumerate(keys):
        for b in keys[:i]:
            pairs += 1
            agree += 1 if (one[a] - one[b]) * (other[a] - other[b]) > 0 else -1
    return agree / pairs

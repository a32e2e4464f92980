# SPDX-License-Identifier: Apache-2.0
"""How a guard ends."""


def verdict(problems, looked_at, enough=True):
    """Prints the problems and what was looked at, and says how to exit: a guard that saw too little has failed, too."""
    print("\n".join([*problems, f"{looked_at}, {len(problems)} problems"]))
    return 1 if problems or not enough else 0

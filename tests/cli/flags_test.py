# SPDX-License-Identifier: Apache-2.0
"""Every flag that a message, a help text or a document names exists, in the command that it is said of."""

import functools
import re
import unittest

import harness
from harness import ROOT, commands, flags_of

COMMANDS = tuple(name for name in commands() if name != "trtexec")  # whose flags tests/cli/trtexec_test.py looks at
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
# Neighbouring literals are one string, as for the compiler.
LITERALS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*')
# What belongs to other programs, in documents that show several.
OTHERS = {"--preset", "--build", "--target", "--smoke", "--hours", "--tsan"}


@functools.cache
def all_flags():
    return frozenset().union(*map(flags_of, COMMANDS), {"--version", "--help"})


def strings(path):
    text = re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.M)
    for literal in LITERALS.findall(text):
        yield "".join(part for part in re.findall(r'"((?:[^"\\\n]|\\.)*)"', literal)).replace("\\n", "\n")


def unknown(text, owner):
    """Flags of `text` that do not exist; those after 'octet COMMAND' are that command's."""
    command, found = owner, []
    for word in re.finditer(r"(?<![\w.])octet (\w+)|\n|(?<![\w-])--[a-z][a-z0-9-]*", text):
        if word.group(1):
            command = word.group(1) if word.group(1) in COMMANDS else owner
        elif word.group(0) == "\n":
            command = owner
        elif word.group(0) not in (flags_of(command) if command else all_flags()):
            found.append((command, word.group(0)))
    return found


class Flags(unittest.TestCase):
    def test_messages_and_help(self):
        wrong, seen = [], 0
        for path in sorted((ROOT / "cli").rglob("*.cc")):
            owner = next((c for c in COMMANDS if path.stem == c or path.stem.startswith(c + "_")), None)
            for text in strings(path):
                seen += len(FLAG.findall(text))
                # The literal of add_option or add_flag is the flag itself.
                if FLAG.fullmatch(text) or re.fullmatch(r"-\w,--[\w-]+", text):
                    continue
                wrong += [(path.name, *one) for one in unknown(text, owner)]
        self.assertEqual(wrong, [])
        self.assertGreater(seen, 100)

    def test_documents(self):
        wrong, seen = [], 0
        for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]:
            for line in path.read_text().splitlines():
                for start in re.finditer(r"(?:^|`|\$ |; )\s*octet (" + "|".join(COMMANDS) + r")\b([^`|]*)", line):
                    flags = [f for f in FLAG.findall(start.group(2)) if f not in OTHERS]
                    seen += len(flags)
                    wrong += [(path.name, start.group(1), f) for f in flags if f not in flags_of(start.group(1))]
        self.assertEqual(wrong, [])
        self.assertGreater(seen, 10)

    def test_the_page_of_the_command_line_has_every_flag(self):
        page = (ROOT / "docs/cli.md").read_text()
        named = set(FLAG.findall(page))
        short = {"--output": "-o", "--help": "--help"}
        for command in COMMANDS:
            missing = [flag for flag in flags_of(command) if flag not in named and f"`{short.get(flag, flag)} " not in page]
            self.assertEqual(missing, [], command)
            self.assertIn(f"octet {command}", page)
        self.assertEqual(named - all_flags() - {"--install"}, set())

    def test_one_name_limits_what_is_read_of_data(self):
        readers = [command for command in COMMANDS if "--skip-bad" in flags_of(command)]
        self.assertEqual([command for command in readers if "--max-samples" not in flags_of(command)], [])
        self.assertGreaterEqual(set(readers), {"build", "eval", "compare", "report", "bundle"})

    def test_former_names_are_taken_and_not_shown(self):
        for command, former in (("build", "--max-calib"), ("compare", "--max-calib"), ("bundle", "--count")):
            self.assertNotIn(former, flags_of(command))
            for words in ((former, "-1"), (f"{former}=-1",)):
                self.assertIn("--max-samples: -1 is not from 0 on", harness.octet(command, "x", *words, code=2).err)

    def test_advice_is_given_where_its_flag_exists(self):
        table = (ROOT / "cli/advice.cc").read_text()
        rows = re.findall(r'\{"[\w.]+",\s*"(--[\w-]+)",\s*((?:"[^"]*"\s*)+)\}', table)
        self.assertGreater(len(rows), 4)
        for flag, line in rows:
            self.assertTrue(flag in line or "--" not in line, line)
            self.assertIn(flag, all_flags())


if __name__ == "__main__":
    harness.main()

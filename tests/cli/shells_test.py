# SPDX-License-Identifier: Apache-2.0
"""Completions and manual pages: made of the tables that parse the flags, and taken by bash, zsh and man."""

import re
import shutil
import subprocess
import unittest

import harness
from harness import flags_of, octet, scratch

COMMANDS = ("check", "build", "inspect", "run", "eval", "compare", "bench", "report", "plugin", "export", "devices", "selftest", "bundle", "reproduce", "sensitivity", "warm")


class Bash(unittest.TestCase):
    def complete(self, *words):
        """What bash offers for the last word."""
        script = octet("completion", "bash").out
        quoted = " ".join(f"'{word}'" for word in ("octet", *words))
        script += f"\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _octet; printf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=scratch())
        self.assertEqual(done.stderr, "")
        return set(done.stdout.split())

    def test_commands(self):
        self.assertEqual(self.complete("b"), {"build", "bench", "bundle"})
        self.assertEqual(self.complete("help", "ins"), {"inspect"})

    def test_every_flag_of_every_command(self):
        for command in COMMANDS:
            self.assertEqual(flags_of(command) - self.complete(command, "--"), set(), command)

    def test_choices_and_files(self):
        self.assertEqual(self.complete("eval", "--labels", "f"), {"folder"})
        self.assertEqual(self.complete("build", "--color", ""), {"rgb", "bgr", "gray"})
        self.assertEqual(self.complete("bench", "--threads", ""), set())
        (scratch() / "some.onnx").write_text("")
        self.assertIn("some.onnx", self.complete("build", "so"))


class Zsh(unittest.TestCase):
    def test_it_parses_and_knows_the_flags(self):
        text = octet("completion", "zsh").out
        self.assertTrue(text.startswith("#compdef octet\n"))
        for command in COMMANDS:
            for flag in flags_of(command):
                self.assertIn(f"'*{flag}[", text)
        if shutil.which("zsh") is None:
            self.skipTest("zsh is absent")
        file = scratch() / "_octet"
        file.write_text(text)
        done = subprocess.run(["zsh", "-n", file], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_other_shells(self):
        self.assertIn("none of bash, zsh", octet("completion", "fish", code=2).err)


class Manual(unittest.TestCase):
    def test_every_flag_is_in_its_page(self):
        for command in COMMANDS:
            page = octet("manual", command).out.replace("\\-", "-")
            for flag in flags_of(command):
                self.assertIn(flag, page)
        main = octet("manual").out
        for command in COMMANDS:
            self.assertIn(f"octet\\-{command}", main)
        self.assertIn("did you mean", octet("manual", "bulid", code=2).err)

    def test_man_takes_them_without_a_warning(self):
        if shutil.which("groff") is None:
            self.skipTest("groff is absent")
        for page in ([], *([command] for command in COMMANDS)):
            done = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=octet("manual", *page).out, capture_output=True,
                                  text=True, check=True)
            self.assertEqual(done.stderr, "", page)


if __name__ == "__main__":
    harness.main()

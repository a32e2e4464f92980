# SPDX-License-Identifier: Apache-2.0
"""What the guards of this folder know of C++: the sources, and the functions in a text."""

import dataclasses
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOT_A_FUNCTION = re.compile(r"^\s*(?:namespace|struct|class|union|enum|extern\s+\"C\")\b|=\s*$")
FUNCTION_NAME = re.compile(r"([~\w]+(?:\s*[=<>!+\-*/()\[\]]{1,2})?)\s*\(")


@dataclasses.dataclass
class Function:
    name: str
    head: str  # from the name on
    body: str  # with its braces
    lines: int  # of the body that hold code


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


STRING = r'"(?:\\.|[^"\\\n])*"'
TOKEN = re.compile(r'R"(?P<end>\w*)\(.*?\)(?P=end)"|' + STRING + r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|(?P<comment>//[^\n]*|/\*.*?\*/)", re.S)


def code_of(text):
    """Comments become blanks, strings stay; every line stays where it was. What guards look at: nobody's code depends on words beside it."""
    return TOKEN.sub(lambda match: blank(match) if match.group("comment") else match.group(0), text)


def code_lines(text):
    """Lines that hold more than a comment."""
    return sum(1 for line in code_of(text).splitlines() if line.strip())


def without_comments(text):
    """Comments, strings and preprocessor lines become blanks; every line stays where it was."""
    text = re.sub(r'R"(\w*)\(.*?\)\1"', blank, text, flags=re.S)
    token = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'"
    text = re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", " ", text)
    text = re.sub(token, blank, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)


def name_and_head(head):
    """The function's name and its head from there on, or None when `head` opens a type, a namespace or an initializer."""
    head = re.sub(r"\btemplate\s*<[^{}]*?>(?=\s*[\w\[])", " ", head)
    if NOT_A_FUNCTION.search(head.strip()) or "(" not in head:
        return None
    head = re.sub(r"__attribute__\s*\(\(.*?\)\)|\balignas\s*\([^)]*\)", " ", head)
    match = FUNCTION_NAME.search(head)
    return (match.group(1), head[match.start() :]) if match else None


def functions(text):
    """Yields every outermost function."""
    text = without_comments(text)
    head, depth, opened = "", 0, None
    for at, char in enumerate(text):
        if opened is not None:
            depth += {"{": 1, "}": -1}.get(char, 0)
            if depth == 0:
                name, signature, start = opened
                body = text[start : at + 1]
                yield Function(name, signature, body, code_lines(body) - 1)
                opened, head = None, ""
            continue
        if char == "{":
            found = name_and_head(head)
            if found:
                opened, depth = (*found, at), 1
            head = ""
        elif char in ";}":
            head = ""
        else:
            head += char


def sources():
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", "*.cc", "*.h"],
        cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return [ROOT / name for name in listed.stdout.split() if (ROOT / name).exists()]
    folders = ("include", "src", "cli", "tensorrt/trtexec", "tests", "bench", "examples")
    return sorted(p for f in folders for s in ("*.cc", "*.h") for p in (ROOT / f).rglob(s))


def read_exceptions(file, words):
    """Maps the first `words` words of each line to the limit after them; a reason follows."""
    limits = {}
    for line in (ROOT / file).read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            *key, limit, reason = line.split(None, words + 1)
            limits[tuple(key) if words > 1 else key[0]] = int(limit)
            assert reason
    return limits


def compare(sizes, exceptions, unit):
    """What is over its budget or exception, and what exceptions are needed no more. `sizes`: key -> (number, budget)."""
    problems = []
    exceptions = dict(exceptions)
    for key, (number, budget) in sorted(sizes.items()):
        limit = exceptions.pop(key, None)
        shown = key if isinstance(key, str) else " ".join(key)
        if limit is not None and number <= budget:
            problems.append(f"{shown}: {number} {unit} fit the budget of {budget}; remove its exception")
        elif number > (limit or budget):
            problems.append(f"{shown}: {number} {unit}, budget {limit or budget}")
    problems += [f"{key}: has an exception, but does not exist" for key in exceptions]
    return problems

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cpp_exports.py FOLDER NODE OUT: a version script that shows what the C++ headers of a folder declare, and hides everything else.

Octet's own sources share one namespace with the installed headers, so names alone do not tell what is public. The headers are plain
declarations (tests/cli/install_test.py holds them to it): classes whole, functions and variables by name.
"""
import pathlib
import re
import sys

NAMESPACE = re.compile(r"\s*namespace\s+([\w:]+)\s*$")
TYPE = re.compile(r"\s*(?:class|struct|union|enum(?:\s+class)?)\s+(\w+)\b(?![^:{]*\()")
FUNCTION = re.compile(r"(operator\s*[^\w\s(]+|operator\s*\(\)|operator\s+\w+|~?\w+)\s*\(")
VARIABLE = re.compile(r"\s*(?:extern|static)\s+[^()=]*?(\w+)\s*$")
# In every program that uses them, or nowhere.
NOT_SHOWN = re.compile(r"\s*(?:template|using|typedef|inline|constexpr|friend|static_assert|static\s+constexpr)\b|.*=\s*(?:default|delete|0)\s*$", re.S)


def without_comments(text):
    token = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'"
    text = re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "", text)
    text = re.sub(token, " ", text, flags=re.S)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", " ", text, flags=re.M)
    return re.sub(r"\b(?:public|private|protected)\s*:(?!:)", " ", text)


def declarations(text):
    """(scope, declaration, whether a body follows) of everything in namespaces and types; scopes of others are ""."""
    scopes, kinds, head, parentheses = [], [], "", 0
    for char in without_comments(text):
        parentheses += {"(": 1, ")": -1}.get(char, 0)
        if parentheses == 0 and char == "{":
            found, type_ = NAMESPACE.match(head), TYPE.match(head)
            name = found or type_
            scopes.append(name[1] if name and "" not in scopes else "")
            kinds.append("namespace" if found else "type" if type_ else "body" if is_function(head) else "value")
            yield "::".join(scopes[:-1]) if "" not in scopes[:-1] else "", head, True
            head = head if kinds[-1] == "value" else ""
        elif parentheses == 0 and char == "}":
            scopes.pop()
            if kinds.pop() != "value":
                head = ""
        elif parentheses == 0 and char == ";":
            yield "::".join(scopes) if "" not in scopes else "", head, False
            head = ""
        else:
            head += char


def is_function(head):
    """Whether what follows is its body; else it is a value, `= {}`."""
    outside = re.sub(r"\([^()]*\)", "()", re.sub(r"\([^()]*\)", "", head))
    return "(" in head and not re.search(r"(?<!operator)(?<![=!<>])=(?!=)", outside)


def arguments(head, types):
    """Of a function's: the headers' types in their order, so that functions of the same name over Octet's own types stay hidden."""
    named = re.findall(r"\b[A-Z]\w*", re.sub(r"=[^,]*", "", head))
    return "*".join(["(", *(name for name in named if name in types), ""])


def patterns(text, types):
    """What the demangled names of a header's symbols look like."""
    for scope, head, has_body in declarations(text):
        if not scope or NOT_SHOWN.match(head) or NAMESPACE.match(head):
            continue
        if found := TYPE.match(head):
            if has_body and "enum" not in head:
                yield from (f"{kind}?for?{scope}::{found[1]}" for kind in ("typeinfo", "typeinfo?name", "vtable"))
        elif not has_body and (found := FUNCTION.search(head)):
            name = re.sub(r"\s+", "?", re.sub(r"operator\s+(?=\W)", "operator", found[1]))
            tail = arguments(head[found.end():], types)
            yield f"{scope}::{name}{tail}"
            yield f"{scope}::{name}?abi?cxx11?{tail}"
        elif not has_body and (found := VARIABLE.match(head)):
            yield f"{scope}::{found[1]}"


def as_word(pattern):
    """As GNU ld reads patterns: few characters, and a parenthesis, which ends a name, is one of $ to *."""
    return re.sub(r"[^\w:*?$\[\]-]", "?", pattern.replace("(", "[$-*]"))


def main(folder, node, out):
    texts = [header.read_text(encoding="utf-8") for header in sorted(pathlib.Path(folder).glob("*.h"))]
    types = {found[1] for text in texts for _, head, has_body in declarations(text) if has_body and (found := TYPE.match(head))}
    found = {pattern for text in texts for pattern in patterns(text, types)}
    lines = "".join(f"      {as_word(pattern)};\n" for pattern in sorted(found))
    pathlib.Path(out).write_text(f"{node} {{\n  global:\n    extern \"C++\" {{\n{lines}    }};\n  local:\n    *;\n}};\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])

# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What headers of the interface declare: the preprocessor expands them, the compiler lays them out.

Enumerators are made by macros, so that only the preprocessor sees them all; offsets and values are
the compiler's own. Between the two stands a reader of the C that these headers are written in:
structs of one declarator a member, enums, typedefs, prototypes and macros. It refuses all else.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

_MARKER = re.compile(r'^# \d+ "([^"]*)"')
_MACRO = re.compile(r"^#define (\w+)(\([^)]*\))?\s*(.*)$")
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\w+|\.\.\.|[^\s\w]')
_WORD = re.compile(r"\w+$")
_OPEN, _CLOSE = "({[", ")}]"


class DeclarationError(ValueError):
    """A header that can't be read, in one line."""


@dataclass(frozen=True)
class Member:
    """A member of a struct; its type without the names of parameters."""

    name: str
    type: str


@dataclass
class Declarations:
    """All that headers declare, by name."""

    structs: dict[str, tuple[Member, ...]] = field(default_factory=dict)
    enums: list[tuple[str, ...]] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    macros: dict[str, str] = field(default_factory=dict)
    maps: dict[str, tuple[str, ...]] = field(default_factory=dict)  # the rows of X macros
    numbers: dict[str, int] = field(default_factory=dict)  # enumerator, struct, "struct.member"


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _split(tokens: Iterable[str], at: str) -> Iterator[list[str]]:
    """Yields what stands between tokens `at` that are in no bracket."""
    depth, part = 0, list[str]()
    for token in tokens:
        depth += (token in _OPEN) - (token in _CLOSE)
        if token == at and depth == 0:
            yield part
            part = []
        else:
            part.append(token)
    if part:
        yield part


def _inside(tokens: list[str], start: int) -> tuple[list[str], int]:
    """Returns what stands in the bracket that opens at `start`, and where it is closed."""
    depth = 0
    for place in range(start, len(tokens)):
        depth += (tokens[place] in _OPEN) - (tokens[place] in _CLOSE)
        if depth == 0:
            return tokens[start + 1 : place], place
    raise DeclarationError(f"a bracket is open: {' '.join(tokens)}")


def _without_attributes(tokens: list[str]) -> list[str]:
    while "__attribute__" in tokens:
        start = tokens.index("__attribute__")
        _, end = _inside(tokens, start + 1)
        tokens = tokens[:start] + tokens[end + 1 :]
    return tokens


def _declarator(tokens: list[str]) -> tuple[str, str]:
    """Returns the name that is declared, "" where there is none, and the type without it."""
    if "(" in tokens:
        first = tokens.index("(")
        named, end = _inside(tokens, first)
        pointer = named[:1] == ["*"]
        name = named[-1] if pointer else tokens[first - 1]
        parameters = _inside(tokens, end + 1)[0] if pointer else named
        of = [_declarator(one)[1] for one in _split(parameters, ",")]
        returns = tokens[: first if pointer else first - 1]
        return name, f"{' '.join(returns)} {'(*)' if pointer else ''}({', '.join(of)})"
    end = tokens.index("[") if "[" in tokens else len(tokens)
    bare = [token for token in tokens[:end] if token not in ("const", "struct")]
    if len(bare) == 1 or not _WORD.match(tokens[end - 1]):
        return "", " ".join(tokens)
    return tokens[end - 1], " ".join([*tokens[: end - 1], *tokens[end:]])


def _struct(tokens: list[str], into: Declarations) -> None:
    start = tokens.index("{")
    body, _ = _inside(tokens, start)
    members = tuple(Member(*_declarator(one)) for one in _split(body, ";"))
    into.structs[tokens[start - 1]] = members


def _take(tokens: list[str], into: Declarations) -> None:
    """Takes one declaration."""
    kind = tokens[1:] if tokens[0] == "typedef" else tokens
    if kind[0] == "struct" and "{" in kind:
        _struct(kind, into)
    elif kind[0] == "enum" and "{" in kind:
        body, _ = _inside(kind, kind.index("{"))
        into.enums.append(tuple(one[0] for one in _split(body, ",")))
    elif tokens[0] == "typedef":
        name, of = _declarator(kind)
        into.types[name] = of
    elif "(" in tokens and tokens[0] != "static":
        name, of = _declarator(tokens)
        into.functions[name] = of
    else:
        raise DeclarationError(f"no declaration that the interface has: {' '.join(tokens)}")


def _take_macro(line: str, into: Declarations) -> None:
    found = _MACRO.match(line)
    if not found or not found[3]:
        return  # the guard of a header
    name, parameters, body = found.groups()
    if parameters == "(X)":
        rows = " ".join(_tokens(body)).split("X ( ")[1:]
        into.maps[name] = tuple(row.strip().removesuffix(")").strip() for row in rows)
    else:
        into.macros[name] = " ".join(_tokens((parameters or "") + body))


def read(preprocessed: str, include: Path) -> Declarations:
    """Returns what the files below `include` declare, of the preprocessor's output with -dD."""
    into, code, ours = Declarations(), list[str](), False
    for line in preprocessed.splitlines():
        if marker := _MARKER.match(line):
            ours = marker[1].startswith(f"{include}/")
        elif not ours:
            continue
        elif line.startswith("#define "):
            _take_macro(line, into)
        elif line.startswith("#undef "):
            into.macros.pop(line.split()[1], None)
        else:
            code.append(line)
    for tokens in _split(_without_attributes(_tokens("\n".join(code))), ";"):
        _take(tokens, into)
    return into


# ------------------------------------------------------------------------------------- compiler --


def compiler() -> str:
    """Returns the C compiler: CC, or what the system calls cc."""
    return os.environ.get("CC") or "cc"


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        raise DeclarationError(next(iter(errors), f"{command[0]} fails"))
    return done.stdout


def _program(of: Declarations) -> str:
    """Returns a program that prints all numbers."""
    pairs = [(name, f"(long long){name}") for one in of.enums for name in one]
    for name, members in of.structs.items():
        pairs.append((name, f"(long long)sizeof(struct {name})"))
        pairs += [
            (f"{name}.{one.name}", f"(long long)offsetof(struct {name}, {one.name})")
            for one in members
        ]
    lines = [f'  printf("{name} %lld\\n", {value});\n' for name, value in pairs]
    return "#include <stdio.h>\nint main(void) {\n" + "".join(lines) + "  return 0;\n}\n"


def load(include: Path, names: Iterable[str]) -> Declarations:
    """Returns what the headers with these names, such as "tbk/core.h", declare."""
    include = include.resolve()
    head = "".join(f"#include <{name}>\n" for name in names)
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "all.c", Path(folder) / "all"
        flags = ("-std=c11", f"-I{include}", str(source))
        source.write_text(head)
        of = read(_run(compiler(), "-E", "-dD", *flags), include)
        source.write_text(head + _program(of))
        _run(compiler(), *flags, "-o", str(program))
        for line in _run(str(program)).splitlines():
            name, _, value = line.partition(" ")
            of.numbers[name] = int(value)
    return of

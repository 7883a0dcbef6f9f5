# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The map of tables and functions, read from tbk.h and its parts: what is said there is said once.

What a reader of the header sees, stands here as data: a table's place in `tbk_backend_t`, what it
needs, its functions in their order, which may be NULL, what each is called with, and the clauses
that it states. docs/adr/0010 says which words of the header count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tbk_contracts.header import INCLUDE, Block, HeaderLine, header_files, parse_header
from tbk_contracts.places import contracts_root

BACKEND = "tbk_backend"
ENTRY = "tbk_backend_create"

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_STRUCT = re.compile(r"^(?:typedef )?struct (\w+) \{$(.*?)^\}", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(
    r"^\s*const (tbk_\w+_t)\* (\w+);[ \t]*(?:/\* needs ([\w, ]+) \*/)?", re.MULTILINE
)
_FLAG = re.compile(r"\bTBK_DEVICE_(\w+) = 1 << \d+")
_DECLARATION = re.compile(
    r"^(?:TBK_EXPORT )?(?P<returns>.+?)\s*(?:\(\*(?P<member>\w+)\)|\b(?P<function>\w+))"
    r"\((?P<parameters>.*)\)(?: TBK_MUST_CHECK)?$"
)
_PARAMETER = re.compile(r"^(?P<type>.+?)\s*\b(?P<name>\w+)$")
_MAY_BE_NULL = "May be NULL."
_OPEN = re.compile(r"\bhas got (?:the device|both devices) open\b")


class HeaderError(ValueError):
    """A header that does not follow its own rules, in one line."""


@dataclass(frozen=True)
class Parameter:
    """A parameter as the header declares it."""

    type: str
    name: str

    @property
    def is_out(self) -> bool:
        """Returns whether the call writes through it."""
        return self.name.startswith("out_")


@dataclass(frozen=True)
class Function:
    """A function of the interface: an entry of a table, of a kernel, or the one exported symbol."""

    name: str
    struct: str  # that it is an entry of, without _t; "" for the exported symbol
    returns: str
    parameters: tuple[Parameter, ...]
    optional: bool  # its entry may be NULL though the table is there
    lines: tuple[HeaderLine, ...]
    file: str
    number: int

    @property
    def fallible(self) -> bool:
        """Returns whether it answers with a status."""
        return self.returns == "tbk_status_t"

    @property
    def clauses(self) -> tuple[str, ...]:
        """Returns the ids of the clauses that it states, in order."""
        return tuple(line.clause for line in self.lines if line.clause)

    @property
    def needs_open_device(self) -> bool:
        """Returns whether it asks that its device, or both, be open."""
        return any(_OPEN.search(line.text) for line in self.lines if line.label == "Requires")

    def of_type(self, name: str) -> tuple[Parameter, ...]:
        """Returns its parameters that take an object of this type, such as "tbk_stream_t"."""
        return tuple(
            one
            for one in self.parameters
            if not one.is_out and one.type.removeprefix("const ").rstrip("*") == name
        )

    @property
    def devices(self) -> tuple[Parameter, ...]:
        """Returns its parameters that name a device."""
        return tuple(
            one
            for one in self.parameters
            if one.type == "int32_t" and re.search(r"(^|_)(device|peer)$", one.name)
        )

    @property
    def streams(self) -> tuple[Parameter, ...]:
        """Returns its parameters that name a stream."""
        return self.of_type("tbk_stream_t")

    @property
    def events(self) -> tuple[Parameter, ...]:
        """Returns its parameters that name an event."""
        return self.of_type("tbk_event_t")

    @property
    def enqueues(self) -> bool:
        """Returns whether what it does takes its place in the order of a stream."""
        ordering = [line.text for line in self.lines if line.label == "Ordering"]
        return any(text.startswith(("enqueued", "with a stream: enqueued")) for text in ordering)


@dataclass(frozen=True)
class Table:
    """A table of functions: a member of `tbk_backend_t`."""

    name: str
    type: str
    mandatory: bool
    needs: tuple[str, ...]
    functions: tuple[Function, ...]

    @property
    def mandatory_functions(self) -> tuple[Function, ...]:
        """Returns those that are there where the table is."""
        return tuple(one for one in self.functions if not one.optional)

    @property
    def optional_functions(self) -> tuple[Function, ...]:
        """Returns those whose entry may be NULL."""
        return tuple(one for one in self.functions if one.optional)

    def word(self, function: Function) -> str:
        """Returns what `needs` calls an optional function: its name without that of its table."""
        return function.name.removeprefix(f"{self.name}_")


@dataclass(frozen=True)
class Interface:
    """All that the header says as data."""

    tables: tuple[Table, ...]
    functions: tuple[Function, ...]  # in the order of the header, with those of no table
    flags: tuple[str, ...]  # of a device, in small letters: "flat_address"

    def table(self, name: str) -> Table:
        """Returns the table with this name."""
        return next(one for one in self.tables if one.name == name)

    def function(self, name: str) -> Function:
        """Returns the function with this name."""
        return next(one for one in self.functions if one.name == name)

    def stating(self, clause_id: str) -> tuple[Function, ...]:
        """Returns the functions that state a clause: with it, the units of proof."""
        return tuple(one for one in self.functions if clause_id in one.clauses)

    @property
    def words(self) -> tuple[str, ...]:
        """Returns the words of `needs` that follow from the header: tables, optional entries,
        flags."""
        optional = [one for one in self.tables if not one.mandatory]
        entries = [one.word(entry) for one in self.tables for entry in one.optional_functions]
        return (*(one.name for one in optional), *entries, *self.flags)


def _parameter(text: str) -> Parameter:
    found = _PARAMETER.match(text.strip())
    if not found:
        raise HeaderError(f"not a parameter: {text}")
    return Parameter(found["type"], found["name"])


def _function(block: Block, struct: str) -> Function:
    found = _DECLARATION.match(block.declaration)
    if not found:
        raise HeaderError(f"{block.file}:{block.number}: not a function: {block.declaration}")
    return Function(
        name=block.function,
        struct=struct,
        returns=found["returns"],
        parameters=tuple(_parameter(part) for part in found["parameters"].split(",")),
        optional=_MAY_BE_NULL in block.brief,
        lines=block.lines,
        file=block.file,
        number=block.number,
    )


def _functions(text: str, file: str) -> list[Function]:
    """Returns the functions of one part, each with the struct that it stands in."""
    spans = [
        (text.count("\n", 0, found.start()), text.count("\n", 0, found.end()), found[1])
        for found in _STRUCT.finditer(text)
    ]
    functions = []
    for block in parse_header(text, file):
        inside = [name for first, last, name in spans if first < block.number <= last]
        functions.append(_function(block, inside[0] if inside else ""))
    return functions


def _tables(body: str, functions: list[Function]) -> list[Table]:
    """Returns the tables among the members of tbk_backend_t; those before `instance` are
    mandatory."""
    instance = body.find("* instance;")
    tables = []
    for found in _TABLE.finditer(body):
        type_name, name, needs = found.groups()
        entries = tuple(one for one in functions if one.struct == type_name.removesuffix("_t"))
        words = tuple(word.strip() for word in needs.split(",")) if needs else ()
        tables.append(Table(name, type_name, found.start() < instance, words, entries))
    return tables


def load_interface(root: Path) -> Interface:
    """Returns the map of the header and its parts under `root` (contracts/)."""
    functions: list[Function] = []
    tables: list[Table] = []
    flags: list[str] = []
    for path in header_files(root):
        text = path.read_text(encoding="utf-8")
        functions += _functions(text, path.relative_to(root / INCLUDE).as_posix())
        flags += [name.lower() for name in _FLAG.findall(_COMMENT.sub(" ", text))]
        for found in _STRUCT.finditer(text):
            if found[1] == BACKEND:
                tables = _tables(found[2], functions)
    return Interface(tuple(tables), tuple(functions), tuple(flags))


@cache
def interface() -> Interface:
    """Returns the map of the contract that this package belongs to."""
    return load_interface(contracts_root())

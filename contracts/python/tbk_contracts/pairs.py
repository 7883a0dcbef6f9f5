# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The units of proof: pairs of clause and function, and the kinds of fault that befall them.

`spec/pairs.yml` has the kinds and the rules by which they are crossed with the functions of the
header. Nothing lists functions: a new one gets its pairs, and its mutants, from what is said of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tbk_contracts.clause import Clause, SpecError, load_clauses
from tbk_contracts.interface import Function, Interface, load_interface

PAIRS = Path("spec") / "pairs.yml"
STATUSES = ("INVALID_STATE", "INVALID", "OUT_OF_MEMORY", "UNSUPPORTED", "UNAVAILABLE", "FAILED",
            "DEVICE_LOST", "NOT_READY")  # fmt: skip
OBJECTS = ("tbk_memory_t", "tbk_stream_t", "tbk_event_t", "tbk_plan_t")
WORDS = ("asks_of_devices", "cannot_fail", "closes", "device", "ends_instance", "exported",
         "fallible", "gives_back", "has_error", "has_out", "host_only", "makes", "makes_on_host",
         "needs_open", "null_stream", "opens", "refuses_no_out_alone", "stream",
         "takes_object")  # fmt: skip
_AS_REQUIRES = "INVALID as Requires says"
_NO_OUT = re.compile(r"^out_\w+( and out_\w+)* != NULL; else")
_ENDED = re.compile(r"^takes the (?!instance)")
_NAMED = re.compile(rf"\b({'|'.join(STATUSES)})\b")


@dataclass(frozen=True)
class Kind:
    """A kind of fault, and by which rule functions can have it."""

    name: str
    area: str
    what: str
    clause: str  # "": the clauses of `lines` that say `says`
    lines: tuple[str, ...]
    says: str
    of: tuple[str, ...]
    unless: Mapping[str, str]  # word: why the kind is without meaning there


@dataclass(frozen=True)
class Pair:
    """A clause at a function, with a kind of fault that a test citing the clause has to notice."""

    kind: Kind
    clause: Clause
    function: Function
    statuses: tuple[str, ...]  # that the function's line names
    options: str  # for the reference

    @property
    def name(self) -> str:
        """Returns what its mutant is called."""
        return f"{self.function.name}/{self.kind.name}/{self.clause.id}"


def words_of(function: Function) -> frozenset[str]:
    """Returns what the header says of a function, in the words of pairs.yml."""
    said = {label: [one.text for one in function.lines if one.label == label]
            for label in ("Requires", "Ordering", "Ownership", "Errors")}  # fmt: skip
    names = {one.name for one in function.parameters}
    errors = [text for text in said["Requires"] + said["Errors"]
              if _NAMED.search(text) and not text.startswith(_AS_REQUIRES)]  # fmt: skip
    makes = any(text.startswith("the caller owns *out_") for text in said["Ownership"])
    host_only = any(text.startswith("host only") for text in said["Ordering"])
    found = {
        "fallible": function.fallible,
        "cannot_fail": not errors,
        "refuses_no_out_alone": bool(errors) and all(_NO_OUT.match(text) for text in errors),
        "needs_open": function.needs_open_device,
        "exported": not function.struct,
        "has_error": "error" in names,
        "has_out": any(one.is_out for one in function.parameters),
        "stream": "stream" in names and function.enqueues,
        "null_stream": any(text.startswith("stream NULL:") for text in said["Ordering"]),
        "device": [one.name for one in function.devices] == ["device"],
        "gives_back": any(_ENDED.match(text) for text in said["Ownership"]),
        "ends_instance": any(text.startswith("takes the instance") for text in said["Ownership"]),
        "makes": makes,
        "makes_on_host": makes and host_only,
        "takes_object": any(function.of_type(one) for one in OBJECTS) or "pointer" in names,
        "host_only": host_only,
        "asks_of_devices": any("opens no device" in text for text in said["Ordering"]),
        "opens": any("has not got it open" in text for text in said["Requires"]),
        "closes": any(text.startswith("giving back what came") for text in said["Ownership"]),
    }
    return frozenset(word for word in WORDS if found[word])


def is_traced(function: Function) -> bool:
    """Returns whether the toolkit sees its calls: those of entries of tables. Mutants prove the
    others.
    """
    return bool(function.struct)


def _named(clause: Clause, function: Function) -> tuple[str, ...]:
    """Returns the errors that the clause says the function answers."""
    text = next((one.text for one in function.lines if one.clause == clause.id), "")
    before, _, otherwise = text.partition("; else ")
    return tuple(dict.fromkeys(_NAMED.findall(otherwise or before.partition(";")[0])))


@dataclass(frozen=True)
class Pairs:
    """All pairs, and the rules that made them."""

    kinds: tuple[Kind, ...]
    options: Mapping[str, str]
    clauses: Mapping[str, Clause]
    interface: Interface

    def stated(self) -> Iterator[tuple[Clause, Function]]:
        """Yields the units of proof that the header has: checked musts of the C layer by
        function."""
        for function in self.interface.functions:
            for clause_id in dict.fromkeys(function.clauses):
                clause = self.clauses.get(clause_id)
                if clause is not None and clause.checked_must and "c" in clause.layer:
                    yield clause, function

    def is_shared(self, clause: Clause) -> bool:
        """Returns whether several functions state it; the mutants of any other are of its one
        function.
        """
        return len(self.interface.stating(clause.id)) > 1

    def of_kind(self, kind: Kind) -> Iterator[Pair]:
        """Yields the pairs of one kind, in the order of the header."""
        for function in self.interface.functions:
            words = words_of(function)
            if words & set(kind.unless):
                continue
            for clause in self._befallen(kind, function):
                if (words | self._states(clause, function)).issuperset(kind.of):
                    yield self._pair(kind, clause, function)

    def _states(self, clause: Clause, function: Function) -> frozenset[str]:
        if clause.id not in function.clauses:
            return frozenset()
        return frozenset({"states", "names_error"} if _named(clause, function) else {"states"})

    def _befallen(self, kind: Kind, function: Function) -> Iterator[Clause]:
        if kind.clause:
            yield from filter(None, [self.clauses.get(kind.clause)])
            return
        for line in function.lines:
            clause = self.clauses.get(line.clause or "")
            if clause is None or not clause.checked_must or line.label not in kind.lines:
                continue
            if re.search(kind.says, line.text) and self._can_be_had(clause):
                yield clause

    def _can_be_had(self, clause: Clause) -> bool:
        """Returns whether the reference can be made such that the clause's tests run."""
        needs = set((clause.needs or "").split())
        return not needs & {"exclusive", "!cross_device_wait"}

    def _pair(self, kind: Kind, clause: Clause, function: Function) -> Pair:
        named = _named(clause, function)
        needs = (clause.needs or "").split()
        options = [self.options[word] for word in needs if word in self.options]
        return Pair(kind, clause, function, named, ",".join(options))

    def all(self) -> list[Pair]:
        """Returns every pair of every kind."""
        return [pair for kind in self.kinds for pair in self.of_kind(kind)]


def _kind(entry: Mapping[str, Any]) -> Kind:
    return Kind(
        name=str(entry["kind"]),
        area=str(entry["area"]),
        what=str(entry["what"]),
        clause=str(entry.get("clause", "")),
        lines=tuple(entry.get("line", ())),
        says=str(entry.get("says", "")),
        of=tuple(entry["of"]),
        unless=dict(entry.get("unless", {})),
    )


def load_pairs(root: Path) -> Pairs:
    """Returns the pairs under `root` (contracts/)."""
    path = root / PAIRS
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        kinds = tuple(_kind(entry) for entry in data["kinds"])
    except (OSError, KeyError, TypeError, yaml.YAMLError) as error:
        raise SpecError(f"{path}: {' '.join(str(error).split())}") from error
    clauses = {one.id: one for one in load_clauses(root)}
    return Pairs(kinds, data.get("options") or {}, clauses, load_interface(root))

# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Which clause builds on which: where that one is broken, tests of this one may fail with it.

Most of it follows from the header: what else a function promises builds on what it does, its first
Ensures that builds on no other one of it. `builds_on` in the spec says the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from tbk_contracts.clause import Clause, clauses
from tbk_contracts.header import load_header
from tbk_contracts.places import contracts_root

_REFUSALS = re.compile(r"\b(?:UNSUPPORTED|OUT_OF_MEMORY|INVALID_STATE|INVALID|FAILED)\b")
_ANSWERS = re.compile(r"\b(?:UNSUPPORTED|OUT_OF_MEMORY|INVALID_STATE|INVALID|FAILED|DEVICE_LOST)\b")
_HOW_MANY = re.compile(r"\bat a time\b|\bany number\b")
_BECOMES = re.compile(r"\bbecomes OK\b")
_IS_OPEN = re.compile(r"has got the device open; else (\w+)")
_MAY_BE_MADE = "every call that names the device may be made"
_ANY_REFUSAL = ("INVALID", "INVALID_STATE", "UNSUPPORTED", "OUT_OF_MEMORY", "UNAVAILABLE", "FAILED")


def main_clauses(root: Path, clauses: Iterable[Clause]) -> dict[str, str]:
    """Returns, by function, the clause that says what it does: its first checked Ensures that
    builds on no other one of it."""
    checked = {one.id: set(one.builds_on) for one in clauses if one.kind == "checked"}
    ensures: dict[str, list[str]] = {}
    for line in (line for block in load_header(root) for line in block.lines):
        if line.label == "Ensures" and line.clause in checked:
            ensures.setdefault(line.function, []).append(str(line.clause))
    return {
        function: next((one for one in found if checked[one].isdisjoint(found)), found[0])
        for function, found in ensures.items()
    }


def load_bases(root: Path, clauses: Iterable[Clause]) -> dict[str, tuple[str, ...]]:
    """Returns, by clause, those that it builds on directly; by `root` (contracts/)."""
    known = list(clauses)
    main = main_clauses(root, known)
    of_functions = set(main.values())
    found: dict[str, tuple[str, ...]] = {}
    for one in known:
        does = (
            () if one.id in of_functions else [main[name] for name in one.functions if name in main]
        )
        found[one.id] = tuple(dict.fromkeys([*one.builds_on, *does]))
    return found


def refused_clauses(root: Path, clauses: Iterable[Clause]) -> dict[tuple[str, str], str]:
    """Returns, by function and status, the clause of which a refusal of a legal call is a breach
    before it is one of what the function does: it names the status, says how many of what is made
    can be there, that NOT_READY comes to an end, or that it succeeds or works. What a function
    answers where a device is not open is a breach of what opening promises where it is.
    """
    by_id = {one.id: one for one in clauses if one.kind == "checked"}
    opened = next((one.id for one in by_id.values() if one.text.startswith(_MAY_BE_MADE)), "")
    found: dict[tuple[str, str], str] = {}
    lines = [line for block in load_header(root) for line in block.lines]
    for line in lines:
        if line.label != "Ensures" or line.clause not in by_id:
            continue
        text = by_id[str(line.clause)].text
        how_many = ["OUT_OF_MEMORY"] if _HOW_MANY.search(text) else []
        ends = ["NOT_READY"] if _BECOMES.search(text) else []
        succeeds = _ANY_REFUSAL if text.startswith(("succeeds", "works")) else ()
        for status in (*_REFUSALS.findall(text), *how_many, *ends, *succeeds):
            found.setdefault((line.function, status), str(line.clause))
    for line in lines:
        if line.label == "Requires" and opened:
            for status in _IS_OPEN.findall(line.text):
                found.setdefault((line.function, status), opened)
    return found


def answered_clauses(root: Path, clauses: Iterable[Clause]) -> dict[tuple[str, str], str]:
    """Returns, by function and status, the one clause that says that it answers with that status
    when a call is not legal, or in trouble.
    """
    by_id = {one.id: one for one in clauses if one.kind == "checked"}
    found: dict[tuple[str, str], set[str]] = {}
    for line in (line for block in load_header(root) for line in block.lines):
        if line.label not in ("Requires", "Errors") or line.clause not in by_id:
            continue
        for status in _ANSWERS.findall(by_id[str(line.clause)].text):
            found.setdefault((line.function, status), set()).add(str(line.clause))
    return {key: ids.pop() for key, ids in found.items() if len(ids) == 1}


def circle(bases: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Returns clauses of which each builds on the next, the last on the first; empty for none."""
    done: set[str] = set()

    def visit(one: str, path: tuple[str, ...]) -> tuple[str, ...]:
        if one in path:
            return path[path.index(one) :]
        if one in done:
            return ()
        for base in bases.get(one, ()):
            found = visit(base, (*path, one))
            if found:
                return found
        done.add(one)
        return ()

    return next(filter(None, (visit(one, ()) for one in bases)), ())


@cache
def _known() -> tuple[dict[str, str], dict[str, tuple[str, ...]], dict[tuple[str, str], str]]:
    root = contracts_root()
    known = clauses()
    refused = refused_clauses(root, known)
    return main_clauses(root, known), load_bases(root, known), refused


@cache
def _answered() -> dict[tuple[str, str], str]:
    root = contracts_root()
    return answered_clauses(root, clauses())


def answered_clause(function: str, status: str) -> str:
    """Returns the clause that says that a function answers with a status; empty for none, or for
    several.
    """
    return _answered().get((function, status), "")


def main_clause(function: str) -> str:
    """Returns the clause that says what a function does; empty for none."""
    return _known()[0].get(function, "")


def refused_clause(function: str, status: str) -> str:
    """Returns the clause that says that a function does not refuse a legal call with a status;
    empty for none.
    """
    return _known()[2].get((function, status), "")


def refusing(clause_id: str) -> tuple[str, ...]:
    """Returns the functions that break a clause by refusing a legal call."""
    return tuple(
        dict.fromkeys(one for (one, _), named in _known()[2].items() if named == clause_id)
    )


def bases_of(clause_id: str) -> tuple[str, ...]:
    """Returns the clauses that this one builds on, directly."""
    return _known()[1].get(clause_id, ())


@cache
def all_bases(clause_id: str) -> frozenset[str]:
    """Returns the clauses that this one builds on, also through others."""
    direct = bases_of(clause_id)
    return frozenset(direct).union(*map(all_bases, direct))

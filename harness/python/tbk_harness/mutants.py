# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The broken backends, as tbk-mutants lists them, and those that are equivalent to a sound one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tbk_contracts.torch_rows import TorchMutant, torch_mutants
from tbk_reports.given import read_given

from tbk_harness.locate import binary, checkout

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class MutantError(RuntimeError):
    """The list of mutants or of equivalents can't be had."""


@dataclass(frozen=True)
class Mutant:
    name: str
    clauses: tuple[str, ...]
    kind: str  # mutant, pair (of clause and function), anti, cheat, or frozen: no gate, a measure
    operator: str
    narrow: bool
    note: str

    @property
    def function(self) -> str:
        """Returns the function that a pair's fault befalls; "" of others."""
        return self.name.partition("/")[0] if self.kind == "pair" else ""

    @property
    def words(self) -> frozenset[str]:
        """Returns all that it can be chosen by."""
        pair = {"pair", self.function, self.fault} if self.kind == "pair" else set()
        return frozenset({self.name, *self.clauses, *pair})

    @property
    def fault(self) -> str:
        """Returns the kind of fault of a pair, as spec/pairs.yml calls it; "" of others."""
        return self.name.split("/")[1] if self.kind == "pair" else ""


def parse(text: str) -> list[Mutant]:
    found = []
    for number, row in enumerate(text.splitlines(), 1):
        if not row.strip():
            continue
        try:
            entry = json.loads(row)
            clauses = str(entry.get("clause") or "").replace(",", " ").split()
            found.append(
                Mutant(
                    name=str(entry["name"]),
                    clauses=tuple(clauses),
                    kind=str(entry["kind"]),
                    operator=str(entry.get("operator") or ""),
                    narrow=bool(entry.get("narrow")),
                    note=str(entry.get("note") or ""),
                )
            )
        except (ValueError, KeyError, AttributeError) as error:
            raise MutantError(f"tbk-mutants, line {number}: {error}") from error
    names = [mutant.name for mutant in found]
    if len(set(names)) != len(names):
        raise MutantError("tbk-mutants lists a name twice")
    return found


def load() -> list[Mutant]:
    program = binary("tbk-mutants", "TBK_MUTANTS")
    if program is None:
        raise MutantError("tbk-mutants was not found; build the checkout first")
    ended = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    if ended.returncode:
        raise MutantError(f"tbk-mutants ended with status {ended.returncode}")
    return parse(ended.stdout)


def choose(everything: list[Mutant], frozen: bool) -> list[Mutant]:
    """Returns those that are gates; or the frozen ones alone, as mutants."""
    if not frozen:
        return [one for one in everything if one.kind != "frozen"]
    return [replace(one, kind="mutant") for one in everything if one.kind == "frozen"]


def first_of_each(everything: Sequence[Mutant]) -> list[Mutant]:
    """Returns the first mutant of each clause, the first pair of each clause and kind of fault, and
    all anti-mutants and cheats."""
    seen: set[tuple[str, str]] = set()
    found = []
    for one in everything:
        defends = {(clause, one.fault) for clause in one.clauses}
        if one.kind not in ("mutant", "pair") or not defends <= seen:
            found.append(one)
            seen |= defends
    return found


def next_of(
    clauses: Iterable[str], everything: Sequence[Mutant], done: Collection[str]
) -> list[Mutant]:
    """Returns the next mutant of each of these clauses that is not among those done."""
    left = [one for one in everything if one.kind == "mutant" and one.name not in done]
    found = (next((one for one in left if clause in one.clauses), None) for clause in clauses)
    return list(dict.fromkeys(one for one in found if one is not None))


def named(
    everything: list[Mutant], words: Sequence[str], areas: Mapping[str, str]
) -> tuple[list[Mutant], list[str]]:
    """Returns those that one of the words means, all for no words; and the words that mean none.

    A word is one of a mutant's own, the letters of its clauses, or the area that they are of."""

    def meant(one: Mutant) -> frozenset[str]:
        around = {word for id in one.clauses for word in (id.split("-")[0], areas.get(id, id))}
        return one.words | around

    found = [one for one in everything if not words or meant(one) & set(words)]
    known_words = {word for one in found for word in meant(one)}
    return found, [word for word in words if word not in known_words]


def known() -> list[Mutant]:
    """Returns the mutants where they are built, and none elsewhere."""
    try:
        return load()
    except (MutantError, OSError):
        return []


def of_torch_layer() -> list[TorchMutant]:
    """Returns those of the torch layer, in a checkout; they are never shipped."""
    root = checkout()
    tables = root / "bridge" / "tests" / "mutants" / "tbk_torch_mutants" if root else None
    return list(torch_mutants(tables, root)) if root and tables else []


def equivalents_file() -> Path | None:
    root = checkout()
    path = root / "reference_backends" / "mutants" / "equivalents.toml" if root else None
    return path if path and path.is_file() else None


def load_equivalents(path: Path) -> dict[str, str]:
    """Returns what `parse_equivalents` finds in a file. Raises MutantError."""
    try:
        text = read_given(path).decode("utf-8")
    except (OSError, ValueError) as error:
        raise MutantError(f"{path.name}: {error}") from error
    return parse_equivalents(text, path.name)


def parse_equivalents(text: str, name: str) -> dict[str, str]:
    """Name and reason of each mutant that no test can kill: [[equivalent]] name, reason."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise MutantError(f"{name}: {error}") from error
    unknown = sorted(set(document) - {"equivalent"})
    if unknown:
        raise MutantError(f"{name}: unknown key {unknown[0]!r}")
    found: dict[str, str] = {}
    entries = document.get("equivalent", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise MutantError(f"{name}: 'equivalent' is no list of tables")
    for number, entry in enumerate(entries, 1):
        mutant = entry.get("mutant") or entry.get("name")
        reason = entry.get("reason")
        extra = sorted(set(entry) - {"mutant", "name", "reason", "reviewed", "clause"})
        if extra or not isinstance(mutant, str) or not isinstance(reason, str) or not reason:
            raise MutantError(f"{name}, entry {number}: needs mutant and reason, and nothing else")
        if mutant in found:
            raise MutantError(f"{name}, entry {number}: {mutant} is there twice")
        found[mutant] = reason
    return found

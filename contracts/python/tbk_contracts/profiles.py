# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Profiles as data: what a device is for, and which clauses, operators and dtypes that asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tbk_contracts.clause import Clause, clauses
from tbk_contracts.places import contracts_root

ALL = "all"
DTYPES = (
    "float32", "float16", "bfloat16", "float64", "complex64", "complex128", "int64", "int32",
    "int16", "int8", "uint8", "bool",
)  # fmt: skip
KEYS = frozenset({"name", "text", "extends", "areas", "operators", "dtypes"})


@dataclass(frozen=True)
class Profile:
    """With all of what it extends. Where `operators` or `dtypes` is None, all are asked for."""

    name: str
    text: str
    clauses: tuple[str, ...]  # ids of mandatory checked clauses, of both layers
    operators: tuple[str, ...] | None
    dtypes: tuple[str, ...] | None

    def document(self) -> dict[str, Any]:
        """Returns it as data, for those who see no spec."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def load_entries(root: Path) -> list[dict[str, Any]]:
    """Returns the entries of the file under `root` (contracts/) as they stand there."""
    found = yaml.safe_load((root / "spec" / "profiles.yml").read_text("utf-8"))
    return list(found) if isinstance(found, list) else []


def _joined(chain: Sequence[Mapping[str, Any]], name: str) -> tuple[str, ...] | None:
    values = [entry.get(name, []) for entry in chain]
    if ALL in values:
        return None
    return tuple(dict.fromkeys(word for words in values for word in words))


def _chain(entry: Mapping[str, Any], by_name: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns the entry behind all that it extends, which check_spec keeps to earlier ones."""
    base = entry.get("extends")
    return [*(_chain(by_name[base], by_name) if base else []), entry]


def make(entries: Sequence[Mapping[str, Any]], among: Sequence[Clause]) -> list[Profile]:
    """Returns the profiles of entries that have no faults."""
    by_name = {entry["name"]: entry for entry in entries}
    found = []
    for entry in entries:
        chain = _chain(entry, by_name)
        areas = _joined(chain, "areas")
        asked = tuple(
            one.id for one in among if one.checked_must and (areas is None or one.area in areas)
        )
        found.append(
            Profile(entry["name"], entry["text"], asked, _joined(chain, "operators"),
                    _joined(chain, "dtypes"))
        )  # fmt: skip
    return found


def faults(entries: Sequence[Mapping[str, Any]], among: Sequence[Clause]) -> Iterator[str]:
    """Yields what is wrong with the entries, a line each."""
    areas = {one.area for one in among if one.checked_must}
    earlier: set[str] = set()
    if not entries:
        yield "profiles.yml: no list of profiles"
    for entry in entries:
        where = f"profiles.yml: {entry.get('name', 'a profile')}"
        for key in sorted((KEYS - {"extends"}) ^ (set(entry) - {"extends"})):
            yield f"{where}: {'unknown key' if key in entry else 'lacks'} {key}"
        if entry.get("name") in earlier:
            yield f"{where} is there twice"
        if entry.get("extends", next(iter(earlier), "")) not in earlier and "extends" in entry:
            yield f"{where} extends {entry['extends']}, which is no earlier profile"
        for key, known in (("areas", areas), ("dtypes", set(DTYPES)), ("operators", None)):
            words = entry.get(key)
            if words == ALL:
                continue
            if not isinstance(words, list) or not words or len(set(words)) != len(words):
                yield f"{where}: {key} is no list of different words"
            elif known is not None:
                for word in words:
                    if word not in known:
                        yield f"{where}: {key}: there is no {word} of which a clause is tested"
        earlier.add(str(entry.get("name")))


@cache
def profiles() -> tuple[Profile, ...]:
    """Returns the profiles of the contract that this package belongs to, the least one first."""
    return tuple(make(load_entries(contracts_root()), clauses()))
